"""The folder of a library: its files, written all or none."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text, write_data
from softfloat_ref.export.library.constants import library_format
from softfloat_ref.export.library.policies import LibraryPolicy
from softfloat_ref.export.library.sources import LibrarySources
from softfloat_ref.oracle.formats import Format

_CORE: Final = Path(__file__).with_name("core")
CORE_FILES: Final = (
    "core.h",
    "core_wide.h",
    "core_round.h",
    "core_arithmetic.h",
    "core_divide.h",
    "core_convert.h",
    "core_integers.h",
)


def library_files(formats: Sequence[Format], policy: LibraryPolicy, prefix: str = "") -> dict[str, str]:
    """The texts of a library's files, by name. Raises Error."""
    if not re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]{0,30})?", prefix):
        raise Error(f"--prefix {prefix}: not the beginning of an identifier; use letters, digits and underscores")
    own = [library_format(fmt, policy) for fmt in formats]
    names = [x.name for x in own]
    if twice := [name for name in names if names.count(name) > 1]:
        raise Error(f"--fmt: {twice[0]} is given twice")
    sources = LibrarySources(own, policy, prefix)
    files = {name: read_text(_CORE / name, limits.SOURCE) for name in CORE_FILES}
    files[sources.header_name] = sources.header()
    files["core_library.h"] = sources.internals()
    files["softfloat_state.c"] = sources.state()
    return files | {f"{x.name}.c": sources.source(x) for x in own}


def write_library(folder: str | Path, files: dict[str, str]) -> None:
    """Write the files into a new or empty folder: all of them, or none. Raises Error."""
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Error(f"{place}: exists already; give a new or an empty folder")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.", ignore_cleanup_errors=True) as new:
            made = Path(new) / "library"
            made.mkdir()
            for name, text in files.items():
                write_data(made / name, text)
            made.rename(place)
    except OSError as e:
        raise Error(f"{place}: cannot be written: {e.strerror or e}") from None
