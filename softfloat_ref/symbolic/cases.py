"""The cases into which a proof splits a unit's inputs, a kind of unit a function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import NamedTuple

from softfloat_ref.symbolic.terms import Term
from softfloat_ref.units import Unit


class Case(NamedTuple):
    """Inputs for which a proof is made by itself. assumption: the bit that says which, of the inputs' variables.

    The cases of a unit may overlap; that no input is left out is proved. The names are its own, and the same in each
    process: results of finished cases are found again by them.
    """

    name: str
    assumption: Term


@singledispatch
def cases(unit: Unit) -> Sequence[Case]:
    """The cases of a unit, the same ones in the same order each time; none for units that are not split."""
    return ()
