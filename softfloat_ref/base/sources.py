"""Hashes of this package's source files, with which cached results are checked."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

PACKAGE: Final = __name__.partition(".")[0]
_COMMENT: Final = re.compile(r"#[^\n]*")  # one may hold a parenthesis, which would end a list of names
_IMPORT: Final = re.compile(rf"^\s*from ({PACKAGE}[.\w]*) import (\([^)]*\)|[^\n]*)", re.M)


@lru_cache(maxsize=64)
def stamp(module: str) -> str:
    """A hash of the source of a module and of all modules of this package that it imports, directly or indirectly.

    Raises OSError if a source cannot be read, for example in a zip archive.
    """
    sources, waiting = {}, [module]
    while waiting:
        name = waiting.pop()
        if name not in sources:
            sources[name], imported = _read(name)
            waiting += imported
    return hashlib.sha256(b"".join(sources[name] for name in sorted(sources))).hexdigest()


@lru_cache(maxsize=1024)
def _read(module: str) -> tuple[bytes, tuple[str, ...]]:
    """A module's source, and the modules that it imports."""
    with open(_path(module), "rb") as stream:
        source = stream.read()
    return source, tuple(_imported(source.decode()))


def _imported(text: str) -> Iterator[str]:
    """The modules that a source imports: `from a.b import c` names a.b.c if that is a module, else a.b."""
    for parent, names in _IMPORT.findall(_COMMENT.sub("", text)):
        inner = [f"{parent}.{name}" for name in re.findall(r"\w+", names)]
        modules = [name for name in inner if _is_module(name)]
        yield from modules
        if len(modules) < len(inner):
            yield parent


@lru_cache(maxsize=4096)
def _is_module(name: str) -> bool:
    return os.path.exists(_path(name))


def _path(module: str) -> str:
    place = os.path.join(os.path.dirname(sys.modules[PACKAGE].__file__ or ""), *module.split(".")[1:])
    return os.path.join(place, "__init__.py") if os.path.isdir(place) else f"{place}.py"
