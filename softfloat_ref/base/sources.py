"""Hashes of this package's source files, with which cached results are checked."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

PACKAGE: Final = __name__.partition(".")[0]
_IMPORT: Final = re.compile(rf"^\s*from ({PACKAGE}[.\w]*) import (\([^)]*\)|[^\n]*)", re.M)


@lru_cache(maxsize=64)
def stamp(module: str) -> str:
    """A hash of the source of a module and of all modules of this package that it imports, directly or indirectly.

    Raises OSError if a source cannot be read, for example in a zip archive.
    """
    found, waiting = {}, [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _path(name).read_bytes()
            waiting += _imported(found[name].decode())
    return hashlib.sha256(b"".join(found[name] for name in sorted(found))).hexdigest()


def _imported(text: str) -> Iterator[str]:
    """The modules that a source imports: `from a.b import c` names a.b.c if that is a module, else a.b."""
    for parent, names in _IMPORT.findall(text):
        inner = [f"{parent}.{name}" for name in re.findall(r"\w+", names)]
        modules = [name for name in inner if _path(name).exists()]
        yield from modules
        if len(modules) < len(inner):
            yield parent


def _path(module: str) -> Path:
    place = Path(sys.modules[PACKAGE].__file__ or "").parent.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
