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
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import write_file
from softfloat_ref.base.sources import stamp

VARIABLE: Final = "SOFTFLOAT_REF_CACHE"


def place(module: str, key: Any) -> Path | None:
    """The file of a result that depends only on `key`, which is JSON, and on the sources of a module of this package
    and its imports; None if nothing is kept."""
    folder = _folder()
    try:
        return folder and folder / f"{_hash([stamp(module), key])}.json"
    except (OSError, TypeError, ValueError):  # no sources, or a key that is not JSON
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
