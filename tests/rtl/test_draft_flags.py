"""Names of flags, as public units have them, in all the ways in which they are written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from test_draft import design

import softfloat_ref as sf
from softfloat_ref.rtl.draft import draft

FLAGS = ("invalid", "divide_by_zero", "overflow", "underflow", "inexact")
# A row for each naming: invalid, divide by zero, overflow, underflow, inexact; '' where it has none. From public units
# (FPnew, HardFloat, the opencores FPUs, vendors' floating-point operators) and from status registers.
ROWS = {
    "long": ("invalid", "divide_by_zero", "overflow", "underflow", "inexact"),
    "RISC-V": ("NV", "DZ", "OF", "UF", "NX"),
    "opencores": ("", "div_by_zero", "overflow", "underflow", "ine"),
    "FPU100": ("", "div_zero_o", "overflow_o", "underflow_o", "ine_o"),
    "HardFloat": ("invalid", "infinite", "overflow", "underflow", "inexact"),
    "LogiCORE": ("invalid_op", "divide_by_zero", "overflow", "underflow", ""),
    "ALTFP": ("", "division_by_zero", "overflow", "underflow", ""),
    "short": ("inv", "dbz", "ovf", "unf", "inx"),
    "shorter by a letter": ("invld", "div0", "ovfl", "unfl", "inex"),
    "Arm": ("ioc", "dzc", "ofc", "ufc", "ixc"),
    "SPARC": ("nvc", "dzc", "ofc", "ufc", "nxc"),
    "x86": ("ie", "ze", "oe", "ue", "pe"),
    "Power": ("vx", "zx", "ox", "ux", "xx"),
}
WRITTEN = [
    "{}",
    "{}_flag",
    "flag_{}",
    "is_{}",
    "{}_o",
    "o_{}",
    "exc_{}",
    "{}_exception",
    "fp_{}_detected",
    "{}Flag",
    "io_out_{}",
]


def ports_of(names: list[str], tmp_path: Path, op: str = "div") -> dict[str, str]:
    outputs = ", ".join(f"output {name}" for name in names)
    text = f"module m(input [15:0] a, b, output [15:0] result, {outputs}); endmodule"
    table = tomllib.loads(draft(design(text, "m", tmp_path), sf.vectors(op, "fp16", 10)).text)
    return {port: field for port, field in table["outputs"].items() if port != "result"}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_flags_by_their_names(row: tuple[str, ...], written: str, tmp_path: Path) -> None:
    flags = {written.format(name.removesuffix("_o")): flag for name, flag in zip(row, FLAGS, strict=True) if name}
    assert ports_of([*flags], tmp_path) == flags


@pytest.mark.parametrize(
    "names",
    [["oe"], ["pe", "ie"], ["ox", "oe"], ["zero", "nan", "inf"], ["snan", "qnan"], ["overlap", "inverse"], ["is_f"]],
)
def test_names_that_mean_something_else(names: list[str], tmp_path: Path) -> None:
    """Two letters of a row mean nothing unless three of them are there."""
    assert ports_of(names, tmp_path) == {}
