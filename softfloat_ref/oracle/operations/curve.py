"""The shape of a real function, as data: where it rises or falls. Other packages find operands for a result by it."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

Parity = Literal["odd", "even", ""]


class Piece(NamedTuple):
    """An open interval on which a function only rises, or only falls; None for an end: without bound."""

    low: Fraction | None
    high: Fraction | None


class Curve:
    """A function of one operand that is monotone between its `ends`, decimals from the first to the last.

    whole: whether that is the whole domain; of periodic functions it is the part near zero. most: no |f(x)| is larger.
    negative: whether any result is. exact: the only results, beside zero, that are binary fractions, limits at the
    infinities included; None if there are many. parity: "odd", if f(-x) = -f(x), or "even", if f(-x) =
    f(x). period: f(x + period) = f(x). doubling: f(x + doubling) = 2 f(x).
    """

    def __init__(
        self,
        *ends: str | None,
        whole: bool = True,
        most: int | None = None,
        negative: bool = True,
        exact: tuple[str, ...] | None = None,
        parity: Parity = "",
        period: str = "",
        doubling: str = "",
    ) -> None:
        self._ends = ends or (None, None)
        self.whole = whole
        self.most = most
        self.negative = negative
        self.parity = parity
        self.period = period
        self.doubling = doubling
        self.exact = None if exact is None else tuple(map(Fraction, exact))

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        ends = [None if x is None else Fraction(x) for x in self._ends]
        return tuple(Piece(a, b) for a, b in pairwise(ends))
