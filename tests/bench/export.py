"""`bench export`: an exported C function, called with arrays and, one prediction at a time, through DPI."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from softfloat_ref.base.errors import Error

from .rates import Row, median_rate, show

ARRAY: Final = 1 << 16
CALLS: Final = 5_000_000
NAME: Final = "fp16_fma"
_MODULE: Final = """module rate;
  import "DPI-C" function void fp16_fma(input longint unsigned a, input longint unsigned b, input longint unsigned c,
      output longint unsigned result, output longint unsigned flags);
  longint unsigned state = 64'd88172645463325252, result, flags, sum = 0;
  initial begin
    for (int i = 0; i < {calls}; i++) begin
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      fp16_fma({{48'd0, state[15:0]}}, {{48'd0, state[31:16]}}, {{48'd0, state[47:32]}}, result, flags);
      sum += result ^ flags;
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
        if (row := _dpi(source)) is not None:
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


def _dpi(source: Path) -> Row | None:
    """A whole run of a simulation that does little else; None without Verilator."""
    from softfloat_ref.rtl.simulators import find

    try:
        simulator = find("verilator")
    except Error as e:
        print(f"through DPI: not measured, {e}")
        return None
    module = source.with_name("rate.sv")
    module.write_text(_MODULE.format(calls=CALLS))
    options = ["-O3", "-Wno-WIDTHEXPAND", "-CFLAGS", "-O2"]
    build = simulator.build([module, source], "rate", work_dir=source.with_name("work"), arguments=options)
    build.make()
    rate = median_rate(CALLS, lambda: subprocess.run(build.command, check=True, stdout=subprocess.DEVNULL))
    return Row("fp16 fma with flags, exported C, DPI", rate, "predictions/s")
