"""The tests that an operand range consists of: codes are compared with bounds, and with each other, as circuits do it.
`Logic` says what these comparisons give: truth values here, terms in symbolic/."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import reduce
from math import prod
from typing import Final, NamedTuple, Protocol, TypeVar

from softfloat_ref.oracle import code_sets
from softfloat_ref.oracle.code_sets import CodeSet, common, others, united
from softfloat_ref.oracle.formats import Format

C = TypeVar("C")
K = TypeVar("K", contravariant=True)
B = TypeVar("B")


class Logic(Protocol[K, B]):
    """What comparisons of codes C give: B."""

    def among(self, code: K, codes: CodeSet) -> B:
        """Whether a code is one of a set."""

    def less(self, a: K, b: K, mask: int) -> B:
        """Whether a code is below another one, by the bits of a mask."""

    def equal(self, a: K, b: K, mask: int) -> B: ...
    def all(self, parts: Iterable[B]) -> B: ...
    def any(self, parts: Iterable[B]) -> B: ...
    def no(self, part: B) -> B: ...


class Truth:
    """Whether codes are as a range says."""

    all, any = staticmethod(all), staticmethod(any)

    @staticmethod
    def among(code: int, codes: CodeSet) -> bool:
        return any(low <= code <= high and code & mask == bits for low, high, mask, bits in codes)

    @staticmethod
    def less(a: int, b: int, mask: int) -> bool:
        return a & mask < b & mask

    @staticmethod
    def equal(a: int, b: int, mask: int) -> bool:
        return a & mask == b & mask

    @staticmethod
    def no(part: bool) -> bool:
        return not part


TRUTH: Final = Truth()


class Among(NamedTuple):
    """A test: every one, or any, of some codes of a case is in a set."""

    places: tuple[int, ...]
    every: bool
    codes: CodeSet

    def holds(self, case: Sequence[C], logic: Logic[C, B]) -> B:
        parts = (logic.among(case[i], self.codes) for i in self.places)
        return logic.all(parts) if self.every else logic.any(parts)


class Ordered(NamedTuple):
    """A test: every one, or any, of some codes compares so with another code. by: value, magnitude or exponent."""

    places: tuple[int, ...]
    every: bool
    comparison: str
    right: int
    by: str
    fmt: Format

    def holds(self, case: Sequence[C], logic: Logic[C, B]) -> B:
        parts = [self._compared(case[i], case[self.right], logic) for i in self.places]
        return logic.all(parts) if self.every else logic.any(parts)

    def _compared(self, a: C, b: C, logic: Logic[C, B]) -> B:
        numbers = [self._number(x, logic) for x in (a, b)]
        equal = logic.all([*numbers, self._equal(a, b, logic)])
        if self.comparison in ("=", "!="):
            return equal if self.comparison == "=" else logic.no(equal)
        first, second = (a, b) if "<" in self.comparison else (b, a)
        below = logic.all([*numbers, logic.no(equal), self._below(first, second, logic)])
        return logic.any([below, equal]) if self.comparison.endswith("=") else below

    def _number(self, code: C, logic: Logic[C, B]) -> B:
        """Whether a code has an order."""
        return logic.all([] if self.by == "exponent" else [logic.no(self._is(code, "nan", logic))])

    def _is(self, code: C, name: str, logic: Logic[C, B]) -> B:
        return logic.among(code, code_sets.of_class(self.fmt, name))

    def _equal(self, a: C, b: C, logic: Logic[C, B]) -> B:
        fmt = self.fmt
        if self.by == "exponent":
            return logic.equal(a, b, exponent_mask(fmt))
        zeros = logic.all([self._is(x, "zero", logic) for x in (a, b)])
        mask = fmt.magnitude_mask if self.by == "magnitude" else (1 << fmt.width) - 1
        return logic.any([zeros, logic.equal(a, b, mask)])

    def _below(self, a: C, b: C, logic: Logic[C, B]) -> B:
        """Whether a number is below another one, which it is not equal to."""
        fmt = self.fmt
        if self.by == "exponent":
            return logic.less(a, b, exponent_mask(fmt))
        if self.by == "magnitude":
            return logic.less(a, b, fmt.magnitude_mask)
        signs = [self._is(x, "negative", logic) for x in (a, b)]
        plus = logic.less(a, b, fmt.magnitude_mask)
        minus = plus if fmt.twos_complement else logic.less(b, a, fmt.magnitude_mask)
        return logic.any(
            [
                logic.all([signs[0], logic.no(signs[1])]),
                logic.all([logic.no(signs[0]), logic.no(signs[1]), plus]),
                logic.all([*signs, minus]),
            ]
        )


class Tree(NamedTuple):
    """Several tests: `and`, `or`, or `not` of one."""

    how: str
    parts: tuple[Node, ...]

    def holds(self, case: Sequence[C], logic: Logic[C, B]) -> B:
        parts = (p.holds(case, logic) for p in self.parts)
        if self.how == "not":
            return logic.no(next(parts))
        return logic.all(parts) if self.how == "and" else logic.any(parts)


Node = Among | Ordered | Tree


def exponent_mask(fmt: Format) -> int:
    """The bits of the exponent field."""
    return ((1 << fmt.exponent_bits) - 1) << fmt.mantissa_bits


# -- what tests say of single codes ------------------------------------------------------------------------------------


def conjuncts(node: Node) -> list[Node]:
    """The nodes that all must hold."""
    if isinstance(node, Tree) and node.how == "and":
        return [x for part in node.parts for x in conjuncts(part)]
    return [node]


def alternatives(node: Node, most: int) -> list[list[Node]]:
    """The nodes that all must hold, in each of the cases that `or` tells apart; none if these are more than `most`."""
    if not isinstance(node, Tree) or node.how == "not":
        return [[node]]
    ways = [alternatives(part, most) for part in node.parts]
    if not all(ways):
        return []
    if node.how == "or":
        listed = [way for part in ways for way in part]
    elif prod(map(len, ways)) > most:
        return []
    else:
        listed = [[x for way in choice for x in way] for choice in itertools.product(*ways)]
    return listed if len(listed) <= most else []


def tested_places(node: Node) -> set[int]:
    """The places of the codes that a node tests."""
    if isinstance(node, Tree):
        return set().union(*map(tested_places, node.parts))
    return {*node.places, *([node.right] if isinstance(node, Ordered) else [])}


def tested_alone(node: Node) -> set[int]:
    """The places of codes each of which a node tests by itself: it holds if all of these tests do."""
    inner, every = (node.parts[0], False) if isinstance(node, Tree) and node.how == "not" else (node, True)
    if isinstance(inner, Among) and inner.every == every:
        return set(inner.places)
    return places if len(places := tested_places(node)) == 1 else set()


def codes_of(node: Node, width: int) -> CodeSet | None:
    """The codes with which a node holds that tests each by itself; None if they are not ranges."""
    if isinstance(node, Among):
        return None if any(r.mask for r in node.codes) else node.codes
    if isinstance(node, Ordered):
        return None
    parts = [codes_of(p, width) for p in node.parts]
    known = [p for p in parts if p is not None]
    if len(known) < len(parts):
        return None
    if node.how == "or":
        return united(r for p in known for r in p)
    first, *more = known
    return others(first, width) if node.how == "not" else reduce(common, more, first)
