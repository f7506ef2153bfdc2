"""Compilation by Numba, cached on disk until any source that is compiled in changes.

Numba's own cache looks at the file of the loop alone. The loops compile in functions of other files, rounding.py's
above all, and stale code would give wrong bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from numba import njit

_PACKAGE: Final = Path(__file__).parents[1]


@lru_cache(maxsize=1)
def _sources() -> str:
    """A hash of every file whose functions are compiled."""
    files = [_PACKAGE / "rounding.py", _PACKAGE / "golden" / "cases.py", _PACKAGE / "golden" / "compiled.py"]
    found = hashlib.sha256()
    for path in [*files, *sorted((_PACKAGE / "kernels").glob("*.py"))]:
        found.update(path.read_bytes())
    return found.hexdigest()


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Numba's njit with its cache bound to all sources; without a cache where they cannot be read."""

    def decorate(function: Any) -> Any:
        try:
            stamp = _sources()
        except OSError:  # in a zip archive, say
            return njit(**options)(function)
        made = njit(cache=True, **options)(function)
        index = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if index is None:  # nowhere to write: nothing is cached
            return made
        if not hasattr(index, "_source_stamp"):  # a Numba that keeps it elsewhere: rather no cache than a stale one
            return njit(**options)(function)
        index._source_stamp = (index._source_stamp, stamp)
        return made

    return decorate
