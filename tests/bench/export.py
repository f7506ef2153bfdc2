"""`bench export`: an exported C function, called with arrays and, one prediction at a time, through DPI; and the
predictions of the files of `softfloat-ref dpi`."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from softfloat_ref.base import disk_cache
from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.simulators import find

from .rates import Row, median_rate, median_seconds, show

ARRAY: Final = 1 << 16
CALLS: Final = 5_000_000
NAME: Final = "fp16_fma"
_DIRECT: Final = """  import "DPI-C" function void fp16_fma(
      input longint unsigned a, input longint unsigned b, input longint unsigned c,
      output longint unsigned result, output longint unsigned flags);
  longint unsigned result, flags;"""
_PREDICTED: Final = """  import softfloat_ref_pkg::*;
  int fma = sf_open("fma", "fp16");
  sf_code_t result;
  sf_flags_t flags;"""
_MODULE: Final = """module rate;
{declared}
  longint unsigned state = 64'd88172645463325252, sum = 0;
  initial begin
    for (int i = 0; i < {calls}; i++) begin
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      {call};
      sum += 64'(result) ^ 64'(flags);
    end
    $display("%h", sum);
    $finish;
  end
endmodule
"""


def run() -> None:
    """Measure and print what the tools that are installed allow."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, f"{NAME}.c")
        _export(source)
        show(_arrays(source))
        for row in _through_dpi(source):
            show(row)


def _export(source: Path) -> None:
    """As `export fma --fmt fp16 --lang c -o fp16_fma.c`."""
    from softfloat_ref.export.c import header_text
    from softfloat_ref.export.languages import export_circuit, source_text
    from softfloat_ref.units import make_unit

    circuits, header = [export_circuit(make_unit("fma", "fp16"), NAME, "c")], source.with_suffix(".h")
    source.write_text(source_text(circuits, "c", header.name))
    header.write_text(header_text(circuits))


def _arrays(source: Path) -> Row:
    """Operands that are any codes, evenly."""
    import numpy as np

    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise Error("no C compiler is installed: apt-get install gcc")
    library = source.with_suffix(".so")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    function = getattr(ctypes.CDLL(str(library)), f"{NAME}_array")
    operands = np.random.default_rng(1).integers(0, 1 << 16, (3, ARRAY), np.uint64)
    results, flags = np.empty(ARRAY, np.uint64), np.empty(ARRAY, np.uint8)
    arguments = [ctypes.c_void_p(x.ctypes.data) for x in (*operands, results, flags)]
    rate = median_rate(ARRAY, lambda: function(ctypes.c_size_t(ARRAY), *arguments))
    return Row("fp16 fma with flags, exported C, arrays", rate, "predictions/s")


def _through_dpi(source: Path) -> Iterator[Row]:
    """Whole runs of simulations that do little else; none without Verilator."""
    from softfloat_ref.rtl.uvm import write_dpi

    try:
        find("verilator")
    except Error as e:
        print(f"through DPI: not measured, {e}")
        return
    words = "{48'd0, state[15:0]}, {48'd0, state[31:16]}, {48'd0, state[47:32]}"
    call = f"{NAME}({words}, result, flags)"
    yield Row("fp16 fma with flags, exported C, DPI", _simulated(source, [source], _DIRECT, call), "predictions/s")
    c_file, package = write_dpi(source.with_name("dpi"))
    program = source.with_name("softfloat-ref")
    program.write_text(
        f'#!/bin/sh\ncd "{Path(__file__).parents[2]}" && exec "{sys.executable}" -m softfloat_ref "$@"\n'
    )
    program.chmod(0o755)
    own = {**os.environ, "SOFTFLOAT_REF": str(program), disk_cache.VARIABLE: str(source.with_name("cache"))}
    call = "result = sf_predict3(fma, 128'(state[15:0]), 128'(state[31:16]), 128'(state[47:32]), flags)"
    rate = _simulated(package, [package, c_file], _PREDICTED, call, own)
    yield Row("fp16 fma with flags, sf_predict3, DPI", rate, "predictions/s")


def _simulated(
    place: Path, sources: list[Path], declared: str, call: str, environment: Mapping[str, str] | None = None
) -> float:
    module = place.with_name("rate.sv")
    module.write_text(_MODULE.format(declared=declared, call=call, calls=CALLS))
    options = ["-O3", "-Wno-WIDTHEXPAND", "-CFLAGS", "-O2"]
    build = find("verilator").build([*sources, module], "rate", work_dir=place.with_name("work"), arguments=options)
    build.make()
    run = partial(subprocess.run, build.command, check=True, stdout=subprocess.DEVNULL, env=environment)
    seconds = median_seconds(run, _of_children)
    return CALLS / seconds


def _of_children() -> float:
    """Seconds of processors."""
    return sum(os.times()[2:4])
