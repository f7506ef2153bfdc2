"""What is not a number: values chosen by a symbolic condition, and sequences of which some items may be absent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from softfloat_ref.symbolic.bounds import Facts
from softfloat_ref.symbolic.integers import Symbolic, SymBool, SymInt, boolean, chosen, equal, here, number
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, and_, not_, or_


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
        *others, (_, found) = self.items
        for there, item in reversed(others):
            found = merged(there, item, found)
        return found

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
            raise TypeError
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
    if is_dataclass(x) and not getattr(type(x), "__dataclass_params__").frozen:  # noqa: B009
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
    return Either(condition, a, b)


def _merged_lists(condition: Term, a: Any, b: Any, facts_a: Facts, facts_b: Facts) -> Any:
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [merged(condition, x, y, facts_a, facts_b) for x, y in zip(a, b, strict=True)]
    x, y = _items(a), _items(b)
    same = 0
    while same < min(len(x), len(y)) and x[same][0] is y[same][0] and x[same][1] is y[same][1]:
        same += 1
    only_a = [(and_(condition, there), item) for there, item in x[same:]]
    only_b = [(and_(not_(condition), there), item) for there, item in y[same:]]
    return Sparse(x[:same] + only_a + only_b)


def _items(x: Sequence[Any] | Sparse) -> list[tuple[Term, Any]]:
    return x.items if isinstance(x, Sparse) else [(TRUE, item) for item in x]
