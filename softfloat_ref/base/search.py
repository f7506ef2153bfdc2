"""Searches: for an item that must be there; by bisection, where a monotone predicate first holds and where a monotone
function changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
V = TypeVar("V")
Predicate = Callable[[int], bool]


def find_first(items: Iterable[T]) -> T:
    """The first item. Raises LookupError if there is none.

    The StopIteration of next() would end a generator with another error, and cut a map() short in silence.
    """
    for item in items:
        return item
    raise LookupError("no item is as searched for")


# -- bisection of integers ---------------------------------------------------------------------------------------------


def first_that(low: int, high: int, holds: Predicate, near: int | None = None) -> int:
    """The first integer of range(low, high) for which a monotone predicate holds; `high` if it holds for none.

    near: a guess of the answer. The search starts there and doubles its steps, so a good guess needs few calls.
    """
    if near is not None:
        low, high = _bracket(low, high, holds, min(max(near, low), high))
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def first_equal(low: int, high: int, value: Callable[[int], V], wanted: V, near: int) -> int:
    """The first integer with that value, from `low` on; its values rise to that of `high`, which has it."""
    return first_that(low, high, lambda i: value(i) == wanted, near)


def _bracket(low: int, high: int, holds: Predicate, near: int) -> tuple[int, int]:
    """A range around the guess that contains the answer, for `first_that` to search."""
    step = 1
    if near < high and not holds(near):
        while near + step < high and not holds(near + step):
            near, step = near + step, 2 * step
        return near + 1, min(near + step, high)
    while near - step >= low and holds(near - step):
        near, step = near - step, 2 * step
    return max(near - step + 1, low), near


def changes(value: Callable[[int], V], begin: int, end: int) -> Iterator[tuple[int, V]]:
    """Where a monotone function changes: `begin`, and each integer to `end` (inclusive) whose value differs from the
    one before, with the values. Monotone: if the ends of an interval have the same value, so has all of it."""
    last, step = value(end), 1
    while (current := value(begin)) != last:
        yield begin, current
        following = _next_change(value, begin, end, current, step)
        begin, step = following, following - begin
    yield begin, current


def _next_change(value: Callable[[int], V], begin: int, end: int, current: V, step: int) -> int:
    return first_that(begin + 1, end, lambda i: value(i) != current, begin + step)
