"""Generated modules under a simulator: every operand of definitions that together use each feature. One build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softfloat_ref.arrays.approximations import all_results
from softfloat_ref.oracle.approximation import Approximation, define_approximation
from softfloat_ref.rtl.approximation_module import module_text
from softfloat_ref.rtl.simulators import find

pytestmark = pytest.mark.sim

PART: dict[str, Any] = {"first": 0x3F00, "after": 0x4000, "small": "operand", "large": "3f80", "exponents": [-10]}
DEFINITIONS: dict[str, dict[str, Any]] = {
    "odd": {
        "fmt": "bf16",
        "out": "bf16",
        "symmetry": "odd",
        "shift": 7,
        "widths": [12, 8],
        "cuts": [7],
        "positive": PART | {"rows": [[470, 120], [780, 100]]},
    },
    "even_by_value": {
        "fmt": "bf16",
        "out": "fp16",
        "symmetry": "even",
        "address": "value",
        "unit": 10,
        "shift": 9,
        "widths": [12, 11, 7],
        "cuts": [9, 8],
        "rounding": "rtz",
        "positive": PART
        | {"small": "half", "large": "operand", "rows": [[470, 420, -30], [780, 300, -20], [900, -300, 10]]},
    },
    "two_parts": {
        "fmt": "fp16",
        "out": "fp8_e4m3",
        "shift": 8,
        "widths": [12, 8],
        "cuts": [6],
        "rounding": "rna",
        "positive": PART
        | {
            "first": 0x3C00,
            "small": "38",
            "large": "operand",
            "exponents": [-10, -2, -20, 3],
            "rows": [[470, 120], [780, 100], [-30, -50], [0, 1]],
        },
        "negative": PART | {"first": 0, "after": 0x100, "large": "8", "exponents": [-3], "rows": [[-2000, 127]]},
    },
    "complement": {
        "fmt": "fp8_e4m3",
        "out": "bf16",
        "symmetry": "complement",
        "shift": 3,
        "widths": [12],
        "cuts": [],
        "positive": PART
        | {
            "first": 0x20,
            "after": 0x48,
            "small": "3f00",
            "large": "3f7f",
            "exponents": [-11],
            "rows": [[1200], [1300], [1500], [1700], [2047]],
        },
    },
    "every_exponent": {
        "fmt": "bf16",
        "out": "fp8_e5m2",
        "symmetry": "odd",
        "shift": 7,
        "widths": [8],
        "cuts": [],
        "positive": PART
        | {
            "first": 0,
            "after": 0x7F80,
            "small": "0",
            "large": "3c",
            "exponents": [i - 270 for i in range(255)],
            "rows": [[i * 37 % 250 - 125] for i in range(255)],
        },
    },
}

BENCH = """
module check_NAME;
  logic [IN-1:0]  a;
  logic [OUT-1:0] result, expected[0:(1 << IN) - 1];
  int wrong;
  NAME dut (.a(a), .result(result));
  initial begin
    $readmemh("FOLDER/NAME.hex", expected);
    wrong = 0;
    for (int i = 0; i < 1 << IN; i = i + 1) begin
      a = i[IN-1:0];
      #1;
      if (result !== expected[i]) begin
        wrong = wrong + 1;
        if (wrong < 4) $display("NAME %h: expected %h got %h", a, expected[i], result);
      end
    end
    $display("NAME: %0d wrong of %0d", wrong, 1 << IN);
  end
endmodule
"""


def bench(a: Approximation, folder: Path) -> str:
    """The module's bench, and the file with the results of all operands."""
    results = all_results(a)
    np.savetxt(folder / f"{a.name}.hex", results, fmt=f"%0{a.out.digits}x")
    text = BENCH.replace("NAME", a.name).replace("FOLDER", str(folder))
    return text.replace("IN", str(a.fmt.width)).replace("OUT", str(a.out.width))


@pytest.mark.full
def test_every_operand(tmp_path: Path) -> None:
    approximations = [define_approximation({"function": "tanh"} | table, name) for name, table in DEFINITIONS.items()]
    benches = "".join(bench(a, tmp_path) for a in approximations)
    tops = "\n".join(f"  check_{a.name} {a.name}_bench ();" for a in approximations)
    (tmp_path / "all.sv").write_text(
        "".join(map(module_text, approximations)) + benches + f"module tb;\n{tops}\nendmodule\n"
    )
    run = find().run([tmp_path / "all.sv"], "tb", work_dir=tmp_path / "work")
    for a in approximations:
        assert f"{a.name}: 0 wrong of {1 << a.fmt.width}" in run.output, run.output
