"""Compilation by Numba, cached on disk until any source that a loop is made of changes.

Numba's own cache looks at the file of the loop alone. The loops compile in functions of other modules, rounding.py's
above all, and stale code would give wrong bits.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from numba import njit

_PACKAGE: Final = __name__.partition(".")[0]
_IMPORT: Final = re.compile(rf"^\s*from ({_PACKAGE}[.\w]*) import (\([^)]*\)|[^\n]*)", re.M)


@lru_cache(maxsize=64)
def _stamp(module: str) -> str:
    """A hash of the source of a module, and of every module of this package that it imports, and those import."""
    found, waiting = {}, [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _path(name).read_bytes()
            waiting += _imported(found[name].decode())
    return hashlib.sha256(b"".join(found[name] for name in sorted(found))).hexdigest()


def _imported(text: str) -> Iterator[str]:
    """The modules that a source imports: `from a.b import c` names a.b.c where that is a module, else a.b."""
    for parent, names in _IMPORT.findall(text):
        inner = [f"{parent}.{name}" for name in re.findall(r"\w+", names)]
        modules = [name for name in inner if _path(name).exists()]
        yield from modules
        if len(modules) < len(inner):
            yield parent


def _path(module: str) -> Path:
    place = Path(sys.modules[_PACKAGE].__file__ or "").parent.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Numba's njit with its cache bound to all sources; without a cache where they cannot be read."""

    def decorate(function: Any) -> Any:
        try:
            stamp = _stamp(function.__module__)
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
