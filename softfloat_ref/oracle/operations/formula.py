"""What an operation computes, as data: the exact result for finite operands.

Other packages use the formula of an operation: to find operands for a wanted result, the terms of a sum, the result as
a fraction, or operands whose negation negates the result. Operations with one formula may differ in special cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Final, NamedTuple

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value


class Summand(NamedTuple):
    """A signed product of operands, which are given by index. Without factors it is 1."""

    factors: tuple[int, ...]
    minus: bool = False

    def value(self, operands: Sequence[Value]) -> Value:
        """The exact product."""
        product = reduce(exact.multiply, (operands[i] for i in self.factors[1:]), self._first(operands))
        return exact.negate(product) if self.minus else product

    def _first(self, operands: Sequence[Value]) -> Value:
        return operands[self.factors[0]] if self.factors else exact.finite(0, 1, 0)


class Formula(NamedTuple):
    """(sum of terms / divisor) * 2^power, or its square root (root). divisor, power: indices of operands."""

    terms: tuple[Summand, ...]
    divisor: int | None = None
    power: int | None = None
    root: bool = False

    @property
    def is_sum(self) -> bool:
        """Whether the formula adds several terms."""
        return len(self.terms) > 1

    @property
    def is_multiply_add(self) -> bool:
        """Whether it is a*b + c, with any signs of the two terms."""
        return self in MULTIPLY_ADDS

    @property
    def minus(self) -> tuple[bool, ...]:
        """Which terms are negated."""
        return tuple(term.minus for term in self.terms)

    def values(self, operands: Sequence[Value]) -> tuple[Value, ...]:
        """The exact values of the terms, for finite operands."""
        return tuple(term.value(operands) for term in self.terms)

    def fraction(self, operands: Sequence[Value]) -> Fraction:
        """The exact result for finite operands; for a root, its square."""
        total = sum((x.as_fraction() for x in self.values(operands)), Fraction(0))
        if self.divisor is not None:
            total /= operands[self.divisor].as_fraction()
        return total if self.power is None else total * Fraction(2) ** int(operands[self.power].as_fraction())

    def scaling(self, k: int) -> dict[int, int]:
        """For some operands, the power of two to multiply them by so that the result is multiplied by 2^k."""
        k = 2 * k if self.root else k
        scaled = {term.factors[0]: k for term in self.terms if term.factors}
        return scaled if scaled or self.divisor is None else {self.divisor: -k}


IDENTITY: Final = Formula((Summand((0,)),))
SUM: Final = Formula((Summand((0,)), Summand((1,))))
DIFFERENCE: Final = Formula((Summand((0,)), Summand((1,), minus=True)))
SUM_OF_THREE: Final = Formula((Summand((0,)), Summand((1,)), Summand((2,))))
PRODUCT: Final = Formula((Summand((0, 1)),))
MULTIPLY_ADD: Final = Formula((Summand((0, 1)), Summand((2,))))
MULTIPLY_SUBTRACT: Final = Formula((Summand((0, 1)), Summand((2,), minus=True)))
NEGATED_MULTIPLY_ADD: Final = Formula((Summand((0, 1), minus=True), Summand((2,), minus=True)))
NEGATED_MULTIPLY_SUBTRACT: Final = Formula((Summand((0, 1), minus=True), Summand((2,))))
MULTIPLY_ADDS: Final = (MULTIPLY_ADD, MULTIPLY_SUBTRACT, NEGATED_MULTIPLY_ADD, NEGATED_MULTIPLY_SUBTRACT)
QUOTIENT: Final = Formula((Summand((0,)),), divisor=1)
RECIPROCAL: Final = Formula((Summand(()),), divisor=0)
ROOT: Final = Formula((Summand((0,)),), root=True)
RECIPROCAL_ROOT: Final = Formula((Summand(()),), divisor=0, root=True)
SCALED: Final = Formula((Summand((0,)),), power=1)


def sum_of_products(n: int) -> Formula:
    """a*b + c*d + ...: n products and an addend."""
    return Formula((*(Summand((2 * i, 2 * i + 1)) for i in range(n)), Summand((2 * n,))))
