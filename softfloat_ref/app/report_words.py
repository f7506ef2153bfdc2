"""Words of reports: numbers with their units, names of bounded length, lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_MAX_NAME: Final = 60  # characters of a tensor's name among others


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def level_of(sqnr: float) -> str:
    """An SQNR with its unit."""
    return "exact" if sqnr == math.inf else f"{sqnr:.1f} dB"


def megabytes(x: float) -> str:
    """A size in megabytes, of small ones two digits."""
    return f"{x:.2g}" if x < 0.01 else f"{x:.3f}" if x < 100 else f"{x:,.0f}"


def short(name: str, most: int = _MAX_NAME) -> str:
    """A name of bounded length: its beginning and its end."""
    half = (most - 3) // 2
    return name if len(name) <= most else f"{name[:half]}...{name[-half:]}"


def counted_plural(count: int, one: str, many: str) -> str:
    """A number of things whose plural is irregular."""
    return f"{count} {one if count == 1 else many}"
