"""Regions: sets in which an exact result may lie. A point, or the open interval between two neighbours of a grid.

A region is a finite Value: significand S, exponent q. Without a sticky it is the point S*2^q; with one, everything
strictly between S*2^q and (S+1)*2^q.
"""

from __future__ import annotations

from collections.abc import Iterator

from softfloat_ref.oracle.exact import FINITE, Value, finite

_MOST_SHIFT = 1 << 16


def between(sign: int, significand: int, exponent: int) -> Value:
    """The region above significand * 2^exponent and below the next multiple."""
    return Value(FINITE, sign, significand, exponent, 1)


def inside(x: Value, region: Value) -> bool:
    """Whether an exact number, which is not zero, lies in a region."""
    if x.kind != FINITE or x.sign != region.sign or x.significand == 0:
        return False
    whole, part = units(x, region.exponent)
    return whole == region.significand and part == bool(region.sticky)


def units(x: Value, exponent: int) -> tuple[int, bool]:
    """|x| in units of 2^exponent: whole units, and whether there is a fraction. -1 if there are very many."""
    shift = x.exponent - exponent
    if shift >= 0:
        return (-1, False) if shift > _MOST_SHIFT else (x.significand << shift, bool(x.sticky))
    whole = x.significand >> -shift
    return whole, bool(x.sticky) or whole << -shift != x.significand


def refined(region: Value) -> Iterator[Value]:
    """Points inside a region, the middle first, then ever closer to its ends; a point is itself."""
    if not region.sticky:
        yield region
        return
    for t in (1, 2, 3, 5, 8, 4, 6, 7, 9, 10, 11, 12, 13, 16, 24, 32, 53):
        low = region.significand << t
        yield finite(region.sign, low + 1, region.exponent - t)
        yield finite(region.sign, low + (1 << t) - 1, region.exponent - t)
