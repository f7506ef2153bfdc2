"""Dot products as circuits: sums of products in fixed point, as circuits have them, and a sum of two with a sticky bit.

What is rounded on the way to the result is noted, so that a proof can go from one rounding to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from softfloat_ref.oracle.accumulate.evaluate import TreeEvaluator
from softfloat_ref.oracle.accumulate.terms import Term as Addend
from softfloat_ref.oracle.accumulate.terms import product
from softfloat_ref.oracle.accumulate.trees import RESULT, Fuse, Round, To, children
from softfloat_ref.oracle.exact import Value, multiply
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.symbolic.bounds import Fact
from softfloat_ref.symbolic.integers import SymInt, add, bounds_here, subtract
from softfloat_ref.symbolic.paths import at, here
from softfloat_ref.symbolic.reader import returns
from softfloat_ref.symbolic.reading import Returned, Rounded, SumOfTwo, current_reading, full_name, substituting
from softfloat_ref.symbolic.shortcuts import far_dot_sum, near_dot_sum, placed_sum, short_dot_sum
from softfloat_ref.symbolic.terms import Term

Substitutes = Mapping[str, Callable[..., list[Returned]] | None]
_SUM: Final = full_name(TreeEvaluator.sum)
_PRODUCT: Final = full_name(product)
_ROUND: Final = full_name(TreeEvaluator.rounded)
_TO_FORMAT: Final = full_name(TreeEvaluator.to_format)


class _Product(NamedTuple):
    """A product, with the exponent that it has as a number; scale: the part of that from the blocks' scales."""

    value: Value
    scale: Any


class DotSums:
    """How the sums of a dot product are read. distance: of the exponents of a sum of two; None: any."""

    def __init__(self, distance: tuple[int, int] | None) -> None:
        self.distance = distance
        self.products: dict[str, _Product | None] = {}  # by label; None: of several
        self.precision = 0  # of what a sum is rounded to at once; 0: it may not be
        self.where: Term | None = None  # the sum that was read last is one of products

    @property
    def substitutes(self) -> Substitutes:
        """What stands in place of the oracle's functions."""
        return {_PRODUCT: self.product, _ROUND: self.round, _SUM: self.sum, _TO_FORMAT: self.to_format}

    def product(
        self, outer: Any, a: Value, b: Value, shift: int, scale: Any, limit: int | None, label: str
    ) -> list[Returned]:
        """Of numbers, it has its exponent where it is zero, too."""
        value = multiply(multiply(a, b), scale.value)
        self.products[label] = None if label in self.products else _Product(value, scale.value.exponent)
        with substituting({_PRODUCT: None}):
            return returns(product, a, b, shift, scale, limit, label)

    def round(self, outer: Any, step: TreeEvaluator, node: Round) -> list[Returned]:
        """The sums right below it are rounded at once."""
        at_once = not any(isinstance(x, Fuse) for x in children(node.node))
        before, self.precision = self.precision, at_once and _format_of(step, node.choice(step.result.name)).precision
        with substituting({_ROUND: None}):
            results = returns(TreeEvaluator.rounded, step, node)
        self.precision = before
        return results

    def sum(self, outer: Any, step: TreeEvaluator, node: Any, terms: list[Any], largest: Any) -> list[Returned]:
        """The exact ones; others as the oracle has them."""
        products = [p for x, _ in terms if (p := self.products.get(x.label)) is not None]
        self.where = here().whole if len(products) == len(terms) else None
        if len(terms) > 1 and node.bits is None and all(part.bits is None for _, part in terms):
            if self.where is not None:
                return _in_fixed_point(products)
            if self.precision and len(terms) == 2:
                return self._of_two(*(x.value for x, _ in terms))
        with substituting({_SUM: None}):
            return returns(TreeEvaluator.sum, step, node, terms, largest)

    def _of_two(self, a: Value, b: Value) -> list[Returned]:
        distance, more = subtract(a.exponent, b.exponent), self.precision + 3
        first, second = (bounds_here(x.significand)[1].bit_length() for x in (a, b))
        from_here, to_here = second + more, -(first + more)
        if not isinstance(distance, SymInt):
            return returns(near_dot_sum, a, b)
        current_reading().sums.append(SumOfTwo(here(), distance, (from_here, to_here)))
        if self.distance is None:
            return returns(short_dot_sum, a, b, from_here, to_here, more)
        low, high = self.distance
        with at(here()._replace(facts=(*here().facts, Fact(distance.sum, low, high)))):
            if low >= from_here or high <= to_here:
                return returns(far_dot_sum, a, b, low >= from_here, more)
            return returns(near_dot_sum, a, b)

    def to_format(self, outer: Any, step: TreeEvaluator, term: Addend, to: To, last: bool) -> list[Returned]:
        """What is rounded of a sum of products is noted."""
        where, self.where = self.where, None
        with substituting({_TO_FORMAT: None}):
            results = returns(TreeEvaluator.to_format, step, term, to, last)
        if where is not None and isinstance(step.code, SymInt) and isinstance(step.flags, SymInt):
            current_reading().rounded.append(Rounded(where, step.code, step.flags, _format_of(step, to)))
        return results


def _format_of(step: TreeEvaluator, to: To) -> Format:
    """The format of a rounding."""
    return step.result if to.fmt == RESULT else get_format(to.fmt)


def _in_fixed_point(products: Sequence[_Product]) -> list[Returned]:
    """The sum of products with one scale, in units of the lowest bit that any of them has."""
    scale = products[0].scale
    apart = [bounds_here(subtract(x.value.exponent, scale))[0] for x in products]
    return returns(placed_sum, [x.value for x in products], add(scale, min(apart)))
