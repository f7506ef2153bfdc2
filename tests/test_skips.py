"""The line at the end of a run that says what was skipped for want of what."""

from __future__ import annotations

import pytest
from skips import summary

ICARUS = "Skipped: needs Icarus; Verilator runs the same benches"
GHDL = "Skipped: needs GHDL (apt-get install ghdl)"
TORCH = ["Skipped: could not import 'torch.ao.quantization': No module named 'torch'", "Skipped: needs torch"]
OTHER = "Skipped: the profile refuses this block"


@pytest.mark.parametrize(
    ("reasons", "line"),
    [
        ([GHDL], "1 skipped: 1 for want of GHDL"),
        (
            [OTHER, GHDL, ICARUS, ICARUS],
            "4 skipped: 2 for want of Icarus, 1 of GHDL, 1 for other reasons (-rs lists them)",
        ),
        ([*TORCH, "needs torchao 0.18.0"], "3 skipped: 2 for want of torch, 1 of torchao 0.18.0"),
        ([OTHER, OTHER], "2 skipped: 2 for other reasons (-rs lists them)"),
    ],
)
def test_summary(reasons: list[str], line: str) -> None:
    assert summary(reasons) == line
