"""The files with which SystemVerilog queries the oracle: a C file and a package, stored beside this module."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from softfloat_ref.base.files import make_folder, new_file

FILES: Final = ("softfloat_ref_dpi.c", "softfloat_ref_pkg.sv")


def write_dpi(folder: str | Path) -> list[Path]:
    """Write both files to a folder, created if needed; returns their paths. Raises Error."""
    target = make_folder(folder)
    written = []
    for name in FILES:
        with new_file(target / name) as stream:
            stream.write(Path(__file__).with_name(name).read_bytes())
        written.append(target / name)
    return written
