"""Shifters of subnormal results: by which distance they shift."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from softfloat_ref.diagnosis.roundings import Coded, is_tiny, rounding, underflow_of
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.flags import INEXACT, UNDERFLOW
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding_steps import Destination
from softfloat_ref.oracle.steps import Function, Traced
from softfloat_ref.units import OperationUnit


def conversion_source(here: Traced) -> Format | None:
    """The format of the operand of a conversion, whose subnormals are shifted by their exponent field."""
    unit = here.case.unit
    is_conversion = isinstance(unit, OperationUnit) and unit.signature.operation.is_conversion
    return unit.formats[0] if is_conversion else None


def shift_exponent(here: Traced, x: Value) -> int:
    """The exponent that decides by how much a number is shifted."""
    source = conversion_source(here)
    return max(exact.top(x), source.emin) if source is not None and not source.is_integer else exact.top(x)


def shifted_otherwise(distance: Callable[[int, int], int]) -> Function:
    """Tiny numbers shifted by another distance, a function of the right one and the precision; tininess is right."""

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
        if not is_tiny(x, to.fmt):
            return right(x, r, to)  # type: ignore[no-any-return]
        places = to.fmt.emin - shift_exponent(here, x)
        code, flags = right(x._replace(exponent=x.exponent + places - distance(places, to.fmt.precision)), r, to)
        return code, flags & ~UNDERFLOW | (underflow_of(x, r, to) if flags & INEXACT else 0)

    return wrong


# A shifter that stops with the leading one just below the guard bit: what is below is as right as with a longer one.
HELD: Final = rounding(shifted_otherwise(lambda places, precision: min(places, precision + 1)))
