"""Compilation by Numba, cached on disk until any source that a loop is made of changes.

Numba's own cache looks at the file of the loop alone. The loops compile in functions of other modules, rounding.py's
above all, and stale code would give wrong bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from softfloat_ref.base.sources import stamp


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Numba's njit with its cache bound to all sources; without a cache where they cannot be read."""

    def decorate(function: Any) -> Any:
        try:
            sources = stamp(function.__module__)
        except OSError:  # in a zip archive, say
            return njit(**options)(function)
        made = njit(cache=True, **options)(function)
        index = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if index is None:  # nowhere to write: nothing is cached
            return made
        if not hasattr(index, "_source_stamp"):  # a Numba that keeps it elsewhere: rather no cache than a stale one
            return njit(**options)(function)
        index._source_stamp = (index._source_stamp, sources)
        return made

    return decorate
