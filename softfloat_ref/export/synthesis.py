"""What Yosys makes of a module: cells and depth."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import NamedTuple

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text
from softfloat_ref.base.yosys import executed, first_error, quoted


class Synthesis(NamedTuple):
    """cells: gates of two inputs, inverters, multiplexers; depth: of them, on the longest way from input to output."""

    cells: int
    depth: int


def synthesized(text: str, module: str) -> Synthesis:
    """A module's cells and depth after Yosys' `synth`, without a cell library. Raises Error."""
    with tempfile.TemporaryDirectory() as name:
        source, report = (Path(name).resolve() / file for file in ("module.sv", "report.txt"))
        source.write_text(text, encoding="utf-8")
        script = f"read_verilog -sv {quoted(source)}; synth -flatten -top {module}"
        log = executed(f"{script}; tee -o {quoted(report)} stat; tee -a {quoted(report)} ltp")
        statistics = read_text(report, limits.SOURCE) if report.exists() else ""
    cells = re.search(r"^\s*(\d+) cells$", statistics, re.M)
    depth = re.search(r"\(length=(\d+)\)", statistics)
    if depth is None:
        raise Error(f"--stat: {module}: {first_error(log)}")
    return Synthesis(int(cells[1]) if cells else 0, int(depth[1]))
