"""A function of bit vectors, as terms: what is exported, and proved equal to a design."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from softfloat_ref.symbolic.reading import Rounded, SumOfTwo
from softfloat_ref.symbolic.terms import FALSE, Term, evaluator

Adder = Literal["aligned", "fixed-point"]


@dataclass(frozen=True)
class CircuitPort:
    """Codes that go in or out: `lanes` of `width` bits. Lane k is the variable or output `name_k`; `name`, of one."""

    name: str
    width: int
    lanes: int = 1
    comment: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each lane."""
        return (self.name,) if self.lanes == 1 else tuple(f"{self.name}_{k}" for k in range(self.lanes))


class ProofCase(NamedTuple):
    """Inputs for which a proof is made by itself. assumption: the bit that says which, of the inputs' variables.

    The cases of a unit may overlap; that no input is left out is proved. The names are its own, and the same in each
    process: results of finished cases are found again by them. What follows from the assumption: finite: whether all
    operands are finite; distance: the least and largest distance of the exponents of the two terms of a sum; part: the
    number of the only part that control fields select; held: bits of inputs that are the same for all inputs of the
    case, as a mask and their values; None: not known. inside: the case is no part of the inputs, but that a rounding
    inside the unit is the circuit's, which the other cases use. adder: how the reference adds two numbers, if not as
    the oracle does.
    """

    name: str
    assumption: Term
    finite: bool | None = None
    distance: tuple[int, int] | None = None
    part: int | None = None
    held: Mapping[str, tuple[int, int]] | None = None
    inside: bool = False
    adder: Adder | None = None

    @property
    def of_part(self) -> ProofCase | None:
        """The case of the part itself."""
        return None if self.finite is None and self.distance is None else self._replace(part=None)


@dataclass(frozen=True)
class Circuit:
    """Outputs as terms over the inputs' variables.

    terms: by the name of an output's lane. names: of some terms, after the oracle's functions and variables; several
    may have one. comment: for its text. undefined: the inputs for which no result is defined, as a bit. rounded, sums:
    what is inside a unit (reading.py).
    """

    name: str
    inputs: tuple[CircuitPort, ...]
    outputs: tuple[CircuitPort, ...]
    terms: Mapping[str, Term]
    names: Mapping[Term, str] = field(default_factory=dict)
    comment: str = ""
    undefined: Term = FALSE
    rounded: Sequence[Rounded] = ()
    sums: Sequence[SumOfTwo] = ()

    @property
    def roots(self) -> list[Term]:
        """The terms of the outputs' lanes, in order."""
        return [self.terms[name] for port in self.outputs for name in port.names]

    def function(self) -> Callable[[Sequence[int]], list[int]]:
        """The codes of the outputs from those of the inputs, in order: for checks against the oracle."""
        names = [name for port in self.inputs for name in port.names]
        run = evaluator(self.roots)
        return lambda codes: run(dict(zip(names, codes, strict=True)))
