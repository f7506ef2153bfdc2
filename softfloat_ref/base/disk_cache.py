"""Results cached on disk as JSON between runs, until a source file that they were computed from changes.

The folder is `$SOFTFLOAT_REF_CACHE`, or softfloat_ref in the user's cache folder ($XDG_CACHE_HOME, else ~/.cache).
Nothing is cached if the variable is "off" or the folder cannot be written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import write_data
from softfloat_ref.base.trees import read_json

VARIABLE: Final = "SOFTFLOAT_REF_CACHE"
PACKAGE: Final = __name__.partition(".")[0]
_COMMENT: Final = re.compile(r"#[^\n]*")  # one may hold a parenthesis, which would end a list of names
_IMPORT: Final = re.compile(rf"^\s*from ({PACKAGE}[.\w]*) import (\([^)]*\)|[^\n]*)", re.M)
WORTH_S: Final = 0.1  # results that take less time are not cached


class CacheKey(NamedTuple):
    """What a result depends on. module: of this package, with all its imports; definition: as JSON."""

    module: str
    definition: str


def path_for(key: CacheKey | None, *what: Any) -> Path | None:
    """The file for a result that depends on a key. what: JSON that identifies the result among those of the key.

    None if nothing is cached.
    """
    if key is None or (where := folder()) is None:
        return None
    try:
        return where / f"{_hash([stamp(key.module), key.definition, what])}.json"
    except OSError:  # no sources, for example in a zip archive
        return None


def load(file: Path | None) -> Any:
    """The cached result; None if there is none or the file is damaged. Its sequences are lists."""
    if file is not None:
        with suppress(Error, KeyError, TypeError):
            stored = read_json(file, limits.SOURCE)
            if stored["sha256"] == _hash(stored["result"]):
                return stored["result"]
    return None


def store(file: Path | None, result: Any) -> None:
    """Cache a result, which must be JSON, if possible."""
    if file is not None:
        with suppress(OSError, Error):
            file.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"sha256": _hash(result), "result": result}).encode("ascii")
            write_data(file, text)


def _hash(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode("ascii")).hexdigest()


def folder() -> Path | None:
    """The folder of what is cached; None if nothing is."""
    setting = os.environ.get(VARIABLE, "")
    if setting == "off":
        return None
    if setting:
        return Path(setting)
    with suppress(RuntimeError):  # no home folder
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "softfloat_ref"
    return None


# -- the sources that a result depends on ------------------------------------------------------------------------------


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
