"""Libraries of modules: files, and folders in which the file of a module has its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

EXTENSIONS: Final = (".v", ".sv")  # as Verilator and slang have them


@dataclass(frozen=True)
class Libraries:
    """Where modules are searched that no source defines. extensions: of the files in the folders."""

    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    extensions: tuple[str, ...] = EXTENSIONS


NO_LIBRARIES: Final = Libraries()
