"""check, within an operand range: what is asked, what is compared, what is left out and said to be."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from command import refused, run

from softfloat_ref.diagnosis.parts import explanation
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing import report as reports
from softfloat_ref.testing.check import check_arrays, check_command, check_lines, check_results
from softfloat_ref.units.ranges.operand_range import OperandRange

WHERE = "a is normal and b is normal"
SET = VectorSet.make("mul", "fp16", 600, seed=3)
LINES = list(SET.lines())
WITHIN = OperandRange(WHERE, SET.unit)
INSIDE = [line for line in LINES if WITHIN.holds(line[:2])]

# It ends when it is asked what it is not made for. mask: of the bits that both operands have, which are inverted.
DEVICE = """
import sys
sys.path.insert(0, {path!r})
from softfloat_ref.golden.sets import VectorSet
unit = VectorSet.make("mul", "fp16", 1).unit
for line in sys.stdin:
    a, b = (int(x, 16) for x in line.split())
    if not all(0x0400 <= x & 0x7fff < 0x7c00 for x in (a, b)):
        sys.exit(9)
    code, flags = unit.answer((a, b))
    print(f"{{code ^ (a & b & {mask}):x}} {{flags:x}}", flush=True)
"""


def device(folder: Path, mask: int = 0) -> str:
    script = folder / "device.py"
    script.write_text(DEVICE.format(path=str(Path(__file__).parents[2]), mask=mask))
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"


def test_only_cases_within_are_asked(tmp_path: Path) -> None:
    whole = check_command(SET, device(tmp_path))
    assert "exit code 9" in whole.failure
    report = check_command(SET, device(tmp_path), where=WHERE)
    assert (report.passed, report.compared, report.left_out) == (True, len(INSIDE), len(LINES) - len(INSIDE))
    assert reports.summary(report) == (
        f"mul_fp16_rne: {len(INSIDE)} compared within {WHERE}, 0 mismatched, {len(LINES) - len(INSIDE)} left out"
    )
    made_so = check_command(VectorSet.make("mul", "fp16", 300, where=WHERE), device(tmp_path))
    assert (made_so.passed, made_so.compared, made_so.left_out) == (True, 300, 0)
    assert "300 compared within a is normal and b is normal, 0 mismatched" in reports.summary(made_so)


def test_a_simpler_mismatch_is_looked_for_within(tmp_path: Path) -> None:
    """The device would stop at a zero, which is simpler than anything within."""
    from softfloat_ref.diagnosis.asking import ask_command

    vectors = VectorSet.make("mul", "fp16", 300, where=WHERE)
    command = device(tmp_path, mask=1)
    report = check_command(vectors, command)
    with ask_command(vectors.unit, command) as ask:
        found = explanation(report, ask)
    assert found is not None
    assert found.whole is not None
    assert found.whole.simplest is not None
    assert found.whole.alone  # it was asked, and answered
    assert WITHIN.holds(found.whole.simplest.inputs)


def test_results_and_lines(tmp_path: Path) -> None:
    """A wrong answer outside is no mismatch; one inside is."""
    outside = next(i for i, line in enumerate(LINES) if not WITHIN.holds(line[:2]))
    inside = next(i for i, line in enumerate(LINES) if WITHIN.holds(line[:2]))
    for wrong, mismatched in ((outside, 0), (inside, 1)):
        texts = [f"{line[2] ^ (i == wrong):x} {line[3]:x}" for i, line in enumerate(LINES)]
        (tmp_path / "log").write_text("\n".join(texts))
        report = check_results(SET, tmp_path / "log", where=WHERE)
        assert (report.mismatched, report.compared, report.failure) == (mismatched, len(INSIDE), "")
        own = [f"{a:x} {b:x} {t}" for (a, b, *_), t in zip(LINES, texts, strict=True)]
        lines = check_lines(SET, own, where=WHERE, count=len(own))
        assert (lines.mismatched, lines.compared, lines.left_out) == (mismatched, len(INSIDE), len(LINES) - len(INSIDE))
        (tmp_path / "log").write_text("\n".join(reversed(own)))
        assert check_results(SET, tmp_path / "log", where=WHERE).mismatched == mismatched
    texts[outside] = "xxxx xx"  # what a simulator prints there does not matter
    (tmp_path / "log").write_text("\n".join(texts))
    assert check_results(SET, tmp_path / "log", where=WHERE).mismatched == 1


def test_both_ranges_hold() -> None:
    vectors = VectorSet.make("mul", "fp16", 300, where="a is normal")
    seen = []

    def right(a: object, b: object) -> object:
        seen.append((a, b))
        return a

    report = check_arrays(vectors, right, where="b is subnormal")
    assert report.within is not None
    assert report.within.text == "a is normal and b is subnormal"
    assert 0 < report.compared < 300
    assert report.compared + report.left_out == len(list(vectors.lines()))


def test_where_nothing_is_within(tmp_path: Path) -> None:
    report = check_command(VectorSet.make("mul", "fp16", 50), device(tmp_path), where="a = 0x1234 and b = 0x4321")
    assert (report.passed, report.compared, report.left_out) == (False, 0, 50)
    assert "nothing was compared" in reports.report_lines(report)[0]


@pytest.mark.full
def test_the_command(tmp_path: Path) -> None:
    folder, log = str(tmp_path / "v"), tmp_path / "log"
    generate(SET, folder)
    log.write_text("\n".join(f"{line[2]:x} {line[3]:x}" for line in LINES))
    done = run("check", "--golden", folder, "--results", str(log), "--where", WHERE, "--json", "-")
    table = json.loads(done.stdout)
    assert (done.returncode, table["where"], table["left_out"]) == (0, WHERE, len(LINES) - len(INSIDE))
    done = run("check", "mul", "--fmt", "fp16", "-n", "100", "--where", WHERE, "--dut", device(tmp_path))
    assert (done.returncode, done.stderr) == (0, f"mul_fp16_rne: 100 compared within {WHERE}, 0 mismatched\n")
    said = refused("check", "mul", "--fmt", "fp16", "--where", "a is nan and a is zero", "--dut", device(tmp_path))
    assert "no case is such that a is nan and a is zero" in said
