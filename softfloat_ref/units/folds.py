"""Folds: many items combined into one, two at a time, in a named order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from softfloat_ref.base.errors import unknown

T = TypeVar("T")
ORDERS: Final = ("sequential", "backward", "pairs", "halves", "interleaved/N")
MAX_WAYS: Final = 4096
_INTERLEAVED: Final = "interleaved/"


def check_order(order: str) -> None:
    """Raise Error for an order of a fold that there is not."""
    ways = order.removeprefix(_INTERLEAVED)
    if order not in ORDERS[:-1] and not (
        order.startswith(_INTERLEAVED) and ways.isdecimal() and 1 < int(ways) <= MAX_WAYS
    ):
        raise unknown("order", order, ORDERS)


def folded(order: str, items: Sequence[T], combined: Callable[[T, T], T]) -> T:
    """The items combined two at a time.

    sequential: from the first; backward: from the last; pairs: neighbours, then neighbours of these; halves: item i
    with that half of the number, rounded up, further on, and again; interleaved/N: every N-th from the first,
    the second, ... sequentially, and these in pairs.
    """
    if order == "pairs":
        rest = list(items)
        while len(rest) > 1:
            ends = rest[len(rest) // 2 * 2 :]
            rest = [*(combined(rest[i], rest[i + 1]) for i in range(0, len(rest) - 1, 2)), *ends]
        return rest[0]
    if order == "halves":
        rest = list(items)
        while len(rest) > 1:
            half = -(-len(rest) // 2)
            alone = rest[len(rest) - half : half]
            rest = [*(combined(rest[i], rest[i + half]) for i in range(len(rest) - half)), *alone]
        return rest[0]
    if order.startswith(_INTERLEAVED):
        ways = min(int(order.removeprefix(_INTERLEAVED)), len(items))
        return folded("pairs", [folded("sequential", items[i::ways], combined) for i in range(ways)], combined)
    first, *others = items if order == "sequential" else items[::-1]
    for item in others:
        first = combined(first, item)
    return first
