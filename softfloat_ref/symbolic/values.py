"""What is not a number: values chosen by a symbolic condition, and sequences of which some items may be absent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from softfloat_ref.symbolic.bounds import Facts
from softfloat_ref.symbolic.build import and_, not_, or_
from softfloat_ref.symbolic.choice import chosen
from softfloat_ref.symbolic.integers import Symbolic, SymBool, SymInt, boolean, equal, number
from softfloat_ref.symbolic.paths import Unsupported, here
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
        from softfloat_ref.symbolic.integers import bit

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
        return chosen(condition, a, b, facts_a, facts_b)
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
    return Sparse(_either_list(condition, pairs(a), pairs(b)))


def pairs(x: Any) -> list[tuple[Term, Any]]:
    """The items of a sequence, each with the bit that says whether it is there."""
    if isinstance(x, Sparse):
        return x.items
    if isinstance(x, Either):
        return _either_list(x.condition, pairs(resolved(x.yes)), pairs(resolved(x.no)))
    return [(TRUE, item) for item in x]


def _either_list(condition: Term, x: list[tuple[Term, Any]], y: list[tuple[Term, Any]]) -> list[tuple[Term, Any]]:
    """The items of one of two sequences; those with which both begin stand once."""
    same = 0
    while same < min(len(x), len(y)) and x[same][0] is y[same][0] and x[same][1] is y[same][1]:
        same += 1
    only_x = [(and_(condition, there), item) for there, item in x[same:]]
    only_y = [(and_(not_(condition), there), item) for there, item in y[same:]]
    return x[:same] + only_x + only_y
