"""Compilation by Numba, cached on disk until any source file that a loop is compiled from changes.

Numba's own cache checks only the file of the loop itself. The loops also compile functions of other modules, above all
rounding.py, and stale code would give wrong bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from softfloat_ref.base.sources import stamp


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Numba's njit with a cache that depends on all sources; without a cache if the sources cannot be read."""

    def decorate(function: Any) -> Any:
        try:
            sources = stamp(function.__module__)
        except OSError:  # for example in a zip archive
            return njit(**options)(function)
        dispatcher = njit(cache=True, **options)(function)
        index = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if index is None:  # no writable folder: nothing is cached
            return dispatcher
        if not hasattr(index, "_source_stamp"):  # a Numba that stores it elsewhere: no cache is better than a stale one
            return njit(**options)(function)
        index._source_stamp = (index._source_stamp, sources)
        return dispatcher

    return decorate
