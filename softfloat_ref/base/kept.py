"""Results kept on disk from one run to the next, as JSON, until a source they were computed from changes.

The folder is `$SOFTFLOAT_REF_CACHE`, or softfloat_ref in the user's folder of caches ($XDG_CACHE_HOME, else ~/.cache).
Nothing is kept if the variable is "off", or where the folder cannot be written.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import write_file
from softfloat_ref.base.sources import stamp

VARIABLE: Final = "SOFTFLOAT_REF_CACHE"
WORTH_S: Final = 0.1  # what is found in less time is not worth keeping


class Origin(NamedTuple):
    """What a result follows from. module: of this package, its sources and those of its imports; definition: JSON."""

    module: str
    definition: str


def place(origin: Origin | None, *what: Any) -> Path | None:
    """The file of a result that follows from an origin; what: JSON that tells it from the others of that origin.

    None if nothing is kept.
    """
    folder = _folder() if origin else None
    if origin is None or folder is None:
        return None
    try:
        return folder / f"{_hash([stamp(origin.module), origin.definition, what])}.json"
    except OSError:  # no sources, as in a zip archive
        return None


def read(file: Path | None) -> Any:
    """The result that is kept there; None if there is none, or the file is damaged. Its sequences are lists."""
    if file is not None:
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            stored = json.loads(file.read_bytes())
            if stored["sha256"] == _hash(stored["result"]):
                return stored["result"]
    return None


def keep(file: Path | None, result: Any) -> None:
    """Keep a result, which is JSON, if that can be done."""
    if file is not None:
        with suppress(OSError, Error):
            file.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"sha256": _hash(result), "result": result}).encode("ascii")
            write_file(file, lambda stream: stream.write(text))


def _hash(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode("ascii")).hexdigest()


def _folder() -> Path | None:
    chosen = os.environ.get(VARIABLE, "")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    with suppress(RuntimeError):  # no home
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "softfloat_ref"
    return None
