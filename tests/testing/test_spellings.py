"""Codes as people write them, with or without 0x, in either case, read alike by every command; X and Z digits of
simulators are mismatches, other words are refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command import ok, refused, run

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing.check import check_lines, check_results
from softfloat_ref.testing.judge import UNKNOWN_BITS, CheckReport
from softfloat_ref.units import Field

VECTORS = VectorSet.make("mul", "fp16", 100, seed=1)
LINES = [line for inputs in VECTORS.inputs() if (line := VECTORS.line(inputs)) is not None]
assert any(0x10 <= line[2] < 0x100 for line in LINES)  # as 0x3c they are as long as all digits of a result
FIELDS = VECTORS.unit.fields
SPELLINGS: dict[str, Callable[[int, Field], str]] = {
    "%h": lambda code, f: f"{code:0{f.digits}x}",
    "%H": lambda code, f: f"{code:0{f.digits}X}",
    "%x": lambda code, f: f"{code:x}",
    "0x%h": lambda code, f: f"0x{code:0{f.digits}x}",
    "0X%H": lambda code, f: f"0X{code:0{f.digits}X}",
    "0x%x": lambda code, f: f"0x{code:x}",
    "%#x": lambda code, f: f"{code:#x}" if code else "0",
}


def written(spelling: str, first: int = 0, operands: str | None = None) -> list[str]:
    """The right lines, from a field on."""
    ways = [SPELLINGS[operands or spelling if f.role == "operand" else spelling] for f in FIELDS]
    return [" ".join(w(x, f) for w, x, f in list(zip(ways, line, FIELDS, strict=True))[first:]) for line in LINES]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_codes_are_read_in_any_spelling(spelling: str, tmp_path: Path) -> None:
    whole, answers = written(spelling), written(spelling, 2)
    assert check_lines(VECTORS, whole, count=len(LINES)).passed
    for rows in (whole, answers):
        (tmp_path / "log").write_text("\n".join(rows) + "\n")
        assert check_results(VECTORS, tmp_path / "log").passed
    shown = ok("vectors", "verify", "-", "--op", "mul", "--fmt", "fp16", stdin="\n".join(whole))
    assert shown == ""
    operands = "\n".join(" ".join(x.split()[:2]) for x in whole)
    assert ok("eval", "mul", "--fmt", "fp16", "-", stdin=operands).splitlines() == written("%H")


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_devices_answer_in_any_spelling(spelling: str, tmp_path: Path) -> None:
    (tmp_path / "answers").write_text("\n".join(written(spelling, 2)) + "\n")
    device = tmp_path / "device.py"
    device.write_text(f"import sys\nsys.stdin.read()\nprint(open({str(tmp_path / 'answers')!r}).read(), end='')\n")
    args = ("check", "mul", "--fmt", "fp16", "-n", "100", "--seed", "1", "--dut", f"{sys.executable} {device}")
    assert run(*args).returncode == 0


@pytest.mark.parametrize("spelling", ["0x%x", "0x%h", "%#x", "%h"])
@pytest.mark.parametrize("operands", ["%h", "0x%x"])
def test_operands_may_be_spelled_otherwise(spelling: str, operands: str) -> None:
    report = check_lines(VECTORS, written(spelling, 0, operands))
    assert report.passed, report.kinds


def checked(lines: list[str], first: int, path: Path) -> CheckReport:
    if not first:
        return check_lines(VECTORS, lines)
    path.write_text("\n".join(lines) + "\n")
    return check_results(VECTORS, path)


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("word", ["xxxx", "XXXX", "zzzz", "0x3c", "0X3c", "3cx0", "3Z00", "0x", "x"])
def test_unknown_digits_of_a_simulator_are_mismatches(word: str, first: int, tmp_path: Path) -> None:
    """Also where 0x3c would be the right result with a prefix: among 16 bits printed by %h, it has an unknown digit."""
    for at in (1, 30):
        lines = written("%h", first)
        words = lines[at].split()
        lines[at] = " ".join([*words[:-2], word, words[-1]])
        report = checked(lines, first, tmp_path / "log")
        assert (report.compared, dict(report.kinds)) == (len(LINES), {UNKNOWN_BITS: 1})


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("word", ["3c0g", "0x3c0g", "0x0x03c", "-1", "1.5", "nan", "3c_00x", "xxxxx", "--"])
def test_other_words_are_refused(word: str, first: int, tmp_path: Path) -> None:
    lines = written("%h", first)
    words = lines[7].split()
    lines[7] = " ".join([*words[:-2], word, words[-1]])
    report = checked(lines, first, tmp_path / "log")
    assert (report.compared, report.mismatched) == (7, 0)
    assert f"is not a line of {'' if first else '2 operands, '}a result and flags in hexadecimal" in report.failure


def test_a_line_by_itself() -> None:
    args = ("vectors", "verify", "-", "--op", "mul", "--fmt", "fp32")
    assert run(*args, stdin="0x3f800000 0x40000000 0x40000000 0x00\n").returncode == 0
    assert run(*args, stdin="0x0 0x0 0x0 0x0\n").returncode == 0
    assert "1 X or Z bits" in run(*args, stdin="3f800000 40000000 0x400000 00\n").stderr
    assert "not a hexadecimal code" in refused("eval", "mul", "--fmt", "fp16", "-", stdin="0x 3c00\n")
