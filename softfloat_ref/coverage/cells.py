"""Cells: places where an exact result may lie. A point, or the open interval between two neighbours of a grid.

A cell is a finite Value: significand S, exponent q. Without a sticky it is the point S*2^q; with one, everything
strictly between S*2^q and (S+1)*2^q.
"""

from __future__ import annotations

from collections.abc import Iterator

from softfloat_ref.exact import FINITE, Value, finite

_FAR = 1 << 16


def point(sign: int, significand: int, exponent: int) -> Value:
    """The cell of one value."""
    return finite(sign, significand, exponent)


def between(sign: int, significand: int, exponent: int) -> Value:
    """The cell above significand * 2^exponent and below the next multiple."""
    return Value(FINITE, sign, significand, exponent, 1)


def inside(x: Value, cell: Value) -> bool:
    """Whether an exact number, which is not zero, lies in a cell."""
    if x.kind != FINITE or x.sign != cell.sign or x.significand == 0:
        return False
    whole, part = units(x, cell.exponent)
    return whole == cell.significand and part == bool(cell.sticky)


def units(x: Value, exponent: int) -> tuple[int, bool]:
    """|x| in units of 2^exponent: whole units, and whether there is a part of one. -1 for very many."""
    shift = x.exponent - exponent
    if shift >= 0:
        return (-1, False) if shift > _FAR else (x.significand << shift, bool(x.sticky))
    whole = x.significand >> -shift
    return whole, bool(x.sticky) or whole << -shift != x.significand


def refined(cell: Value) -> Iterator[Value]:
    """Points inside a cell, the middle first, then ever closer to its ends; a point is itself."""
    if not cell.sticky:
        yield cell
        return
    for t in (1, 2, 3, 5, 8, 4, 6, 7, 9, 10, 11, 12, 13, 16, 24, 32, 53):
        low = cell.significand << t
        yield finite(cell.sign, low + 1, cell.exponent - t)
        yield finite(cell.sign, low + (1 << t) - 1, cell.exponent - t)
