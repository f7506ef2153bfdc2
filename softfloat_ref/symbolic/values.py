"""Values that a symbolic condition chooses, and sequences of which some items may be absent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from softfloat_ref.symbolic.bounds import Fact, Facts, Infeasible, Sum, Unknown
from softfloat_ref.symbolic.build import and_, ite, make, not_, or_
from softfloat_ref.symbolic.integers import (
    Symbolic,
    SymBool,
    SymInt,
    bit,
    bit_and,
    bit_or,
    bits,
    boolean,
    bounds_here,
    equal,
    inverse,
    less,
    lifted,
    number,
    number_of,
    shift_left,
    shift_right,
    sum_of,
    width_of,
    with_bounds_here,
)
from softfloat_ref.symbolic.paths import Unsupported, at, here
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term


@dataclass(eq=False)
class Either(Symbolic):
    """One of two values that have nothing in common: `yes` where the bit `condition` is set, else `no`."""

    condition: Term
    yes: Any
    no: Any

    __hash__ = object.__hash__


@dataclass(eq=False)
class Sparse(Symbolic):
    """A sequence, each item of which is there where its bit is set. distinct: equal items count once."""

    items: list[tuple[Term, Any]]
    distinct: bool = False

    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[tuple[Term, Any]]:
        return iter(self.items)

    @property
    def some(self) -> Term:
        """Whether any item is there."""
        return or_(*(there for there, _ in self.items))

    @property
    def first(self) -> Any:
        """The first item that is there; anything if there is none."""
        *others, (_, choice) = self.items
        for there, item in reversed(others):
            choice = merged(there, item, choice)
        return choice

    def pop(self) -> Any:
        """An item of a set of equal ones."""
        return self.first

    def has(self, item: Any) -> Term:
        """Whether an item is there that equals a given one."""
        return or_(*(and_(there, bit(equal(x, item))) for there, x in self.items))

    def size(self) -> Any:
        """How many items there are; of a set, of bits only."""
        if not self.distinct:
            total: Any = 0
            for there, _ in self.items:
                total = total + boolean(there)
            return total
        if not all(
            isinstance(x, (bool, int, SymBool)) or (isinstance(x, SymInt) and x.hi <= 1 and x.lo >= 0)
            for _, x in self.items
        ):
            raise Unsupported("the size of a set of symbolic numbers")
        return boolean(self.has(0)) + boolean(self.has(1))


def resolved(x: Any) -> Any:
    """A value without the choices that are known here."""
    while isinstance(x, Either):
        if x.condition in here().known:
            x = x.yes
        elif not_(x.condition) in here().known:
            x = x.no
        else:
            return x
    return x


def symbolic(x: Any, depth: int = 4) -> bool:
    """Whether a value, or what it holds, is symbolic."""
    if isinstance(x, Symbolic):
        return True
    if not depth or isinstance(x, (int, str, float, type)):
        return False
    if isinstance(x, (tuple, list, set, frozenset)):
        return any(symbolic(item, depth - 1) for item in x)
    if isinstance(x, dict):
        return any(symbolic(item, depth - 1) for item in x.values())
    if is_dataclass(x):
        return any(symbolic(getattr(x, f.name, None), depth - 1) for f in fields(x))
    return False


def merged(condition: Term, a: Any, b: Any, facts_a: Facts | None = None, facts_b: Facts | None = None) -> Any:
    """The value a where the bit is set, else b. facts: of the paths on which these were computed."""
    known = here().facts
    facts_a, facts_b = known if facts_a is None else facts_a, known if facts_b is None else facts_b
    if condition is TRUE or a is b:
        return a
    if condition is FALSE:
        return b
    if number(a) and number(b):
        return _chosen_number(condition, a, b, facts_a, facts_b)
    if type(a) is type(b) and isinstance(a, tuple) and len(a) == len(b):
        items = [merged(condition, x, y, facts_a, facts_b) for x, y in zip(a, b, strict=True)]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, (list, Sparse)) and isinstance(b, (list, Sparse)):
        return _merged_lists(condition, a, b, facts_a, facts_b)
    if not symbolic(a) and not symbolic(b) and type(a) is type(b) and a == b:
        return a
    if (optional := _merged_optional(condition, a, b, facts_a, facts_b)) is not None:
        return optional
    return Either(condition, a, b)


def _merged_optional(condition: Term, a: Any, b: Any, facts_a: Facts, facts_b: Facts) -> Any:
    """A choice between values that may be None: one choice between None and something else."""
    if not any(x is None or isinstance(x, Either) for x in (a, b)):
        return None
    parts = [(FALSE, None) if x is None else _optional(x) for x in (a, b)]
    if any(x is None and there is not FALSE for there, x in parts):
        return None
    (there_a, x), (there_b, y) = parts
    there = or_(and_(condition, there_a), and_(not_(condition), there_b))
    value = y if x is None else x if y is None else merged(condition, x, y, facts_a, facts_b)
    return value if there is TRUE else Either(there, value, None)


def _optional(x: Any) -> tuple[Term, Any]:
    """Where a value is there, and the value; (TRUE, None) for a choice between other things."""
    if isinstance(x, Either):
        return (x.condition, x.yes) if x.no is None and not isinstance(x.yes, Either) else (TRUE, None)
    return TRUE, x


def _merged_lists(condition: Term, a: Any, b: Any, facts_a: Facts, facts_b: Facts) -> Any:
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [merged(condition, x, y, facts_a, facts_b) for x, y in zip(a, b, strict=True)]
    return Sparse(_items_of_either(condition, pairs(a), pairs(b)))


def pairs(x: Any) -> list[tuple[Term, Any]]:
    """The items of a sequence, each with the bit that says whether it is there."""
    if isinstance(x, Sparse):
        return x.items
    if isinstance(x, Either):
        return _items_of_either(x.condition, pairs(resolved(x.yes)), pairs(resolved(x.no)))
    return [(TRUE, item) for item in x]


def _items_of_either(condition: Term, x: list[tuple[Term, Any]], y: list[tuple[Term, Any]]) -> list[tuple[Term, Any]]:
    """The items of one of two sequences; those with which both begin stand once."""
    same = 0
    while same < min(len(x), len(y)) and x[same][0] is y[same][0] and x[same][1] is y[same][1]:
        same += 1
    only_x = [(and_(condition, there), item) for there, item in x[same:]]
    only_y = [(and_(not_(condition), there), item) for there, item in y[same:]]
    return x[:same] + only_x + only_y


# -- numbers ---------------------------------------------------------------------------------------------------------


def _chosen_number(condition: Term, a: Any, b: Any, facts_a: Facts, facts_b: Facts) -> Any:
    """The number a where the bit is set, else b; with the facts that hold on the two paths."""
    if isinstance(a, (bool, SymBool)) and isinstance(b, (bool, SymBool)):
        return boolean(ite(condition, bit(a), bit(b)))
    a, b = lifted(a), lifted(b)
    ends = []
    for x, facts in ((a, facts_a), (b, facts_b)):
        try:
            with at(here()._replace(facts=facts)):
                ends.append(bounds_here(x))
        except Infeasible:
            return b if not ends else a
    lo, hi = min(ends[0][0], ends[1][0]), max(ends[0][1], ends[1][1])
    width = width_of(lo, hi)
    node = ite(condition, bits(a, width), bits(b, width))
    if lo != hi and not node.is_const and node is bits(a, width) and node is bits(b, width):
        return a
    choices = ((sum_of(a), facts_a), (sum_of(b), facts_b))
    return number_of(node, lo, hi, Sum(0, {Unknown(lo, hi, choices): 1}))


def extreme(x: Any, of: Sequence[tuple[Term, Any]], *, largest: bool) -> Any:
    """The number x, known to be the largest or smallest of numbers, each of which counts where its bit is set."""
    if not isinstance(x, SymInt):
        return x
    unknown = Unknown(x.lo, x.hi, ((x.sum, ()),))
    total = Sum(0, {unknown: 1})
    for there, y in of:
        difference = total.plus(sum_of(lifted(y)), -1)
        unknown.laws += ((there, Fact(difference, 0, None) if largest else Fact(difference, None, 0)),)
    return SymInt(x.node, total, x.lo, x.hi)


def square_root(x: Any) -> Any:
    """floor(sqrt(x)), digit by digit."""
    x = with_bounds_here(x)
    digits = (x.hi.bit_length() + 1) // 2
    root: Any = 0
    rest: Any = 0
    for k in range(digits - 1, -1, -1):
        rest = bit_or(shift_left(rest, 2), bit_and(shift_right(x, 2 * k), 3))
        trial = bit_or(shift_left(root, 2), 1)
        fits = inverse(less(rest, trial))
        width = digits - k + 1  # the rest is at most twice the root
        left = make("sub", width + 1, bits(rest, width + 1), bits(trial, width + 1))
        rest = number_of(ite(bit(fits), left, bits(rest, width + 1)), 0, (1 << width) - 1)
        root = bit_or(shift_left(root, 1), lifted(fits))
    return root
