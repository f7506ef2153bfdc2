"""Diagnosis of mixed sets, part by part: from a device, from the log of a bench, from a scoreboard."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from command import refused, run
from diagnosing import defect, diagnosis

from softfloat_ref import evaluate
from softfloat_ref.app.testbench import print_failure
from softfloat_ref.diagnosis.hypotheses import Inputs
from softfloat_ref.diagnosis.parts import ReportDiagnosis, explanation
from softfloat_ref.diagnosis.report import case_text
from softfloat_ref.golden.cases import cases
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.testing.cocotb import Scoreboard
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.judge import Judge
from softfloat_ref.testing.mixed import UNBOXED, UNBOXED_FLAGS
from softfloat_ref.testing.report import mismatch_lines
from softfloat_ref.units import MixedUnit, OperationUnit

RISCV = "riscv"
PARTS = (
    *(OperationUnit.make("fma", "fp16", policy=get_policy({"like": RISCV, "rounding": m})) for m in ("rne", "rtz")),
    OperationUnit.make("add", "fp16", policy=RISCV),
    OperationUnit.make("mul", "fp32", policy=RISCV),
    OperationUnit.make("convert", "fp32", out="i8", policy=RISCV),
)
MIXED = MixedUnit(PARTS)
VECTORS = VectorSet(MIXED, 1500, seed=3, unboxed=10)
Device = Callable[[Inputs], tuple[int, int]]


def faulty(**faults: str) -> Device:
    """A device with a listed defect in some operations."""
    models = {p: defect(VectorSet(p, 1), faults[p.op]) for p in MIXED.operations if p.op in faults}

    def device(inputs: Inputs) -> tuple[int, int]:
        part, own = MIXED.selected(inputs)
        code, flags = models[part](own) if part in models else part.answer(own)  # type: ignore[misc]
        return MIXED.padded(code, part.out, MIXED.fields[-2].width), flags

    return device


def lines() -> list[tuple[int, ...]]:
    return [line for inputs in VECTORS.inputs() if (line := VECTORS.line(inputs)) is not None]


def explained(device: Device) -> tuple[ReportDiagnosis, Judge]:
    judge = Judge(VECTORS)
    for line in lines():
        code, flags = device(line[: MIXED.input_width])
        judge.compare(line, Answer((code,), flags))
    cause = explanation(judge.report)
    assert cause is not None
    return cause, judge


def sentences(cause: ReportDiagnosis) -> dict[str, str]:
    return {p.unit.label: p.sentence for p in cause.parts if p.report.mismatched}


def test_each_part_has_its_diagnosis() -> None:
    cause, judge = explained(faulty(fma="sticky dropped", add="no inexact", mul="zero without sign"))
    assert sentences(cause) == {
        "fma fp16 rne": "the device has no sticky bit: bits below the guard bit are lost",
        "fma fp16 rtz": "the device has no sticky bit: bits below the guard bit are lost",
        "add fp16 rne": "the device never raises inexact",
        "mul fp32 rne": "the device loses the sign of zero results",
    }
    shown = cause.lines()
    assert shown[0] == "diagnosis: 4 of 5 parts have mismatches"
    assert shown[1].split() == ["part", "cases", "mismatches", "kinds"]
    [row] = [x for x in shown if x.startswith("  add fp16 rne ")]
    part = judge.report.parts[PARTS[2]]
    assert row.split()[3:5] == [str(part.compared), str(part.mismatched)]
    assert f"{part.kinds['flags only']} flags only" in row
    assert shown[-1] == "  without a mismatch: convert fp32 to i8 rne"
    commands = [x.split() for x in shown if x.startswith("    softfloat-ref explain ")]
    assert [x[2] for x in commands] == ["fma", "add", "mul"]  # one for each diagnosis
    [row] = [x for x in shown if x.startswith("  2 parts: fma fp16 in rne, rtz ")]
    both = [judge.report.parts[p] for p in PARTS[:2]]
    assert row.split()[7:9] == [str(sum(r.compared for r in both)), str(sum(r.mismatched for r in both))]
    assert [x["says"] for x in cause.as_dict()["parts"]][:2] == [sentences(cause)["fma fp16 rne"]] * 2
    assert run(*commands[0][1:]).returncode == 0
    assert sum(r.compared for r in judge.report.parts.values()) == judge.report.compared
    first = mismatch_lines(judge.report.mismatches[0], MIXED)
    assert first[0].split(":")[1].strip() in sentences(cause)  # the part is named
    assert "softfloat-ref explain" in first[-1]


@pytest.mark.full
def test_parts_with_one_cause_share_a_row() -> None:
    """Formats and operations stand together where their roundings are the same; many roundings are counted."""
    modes = ("rne", "rtz", "rdn", "rup")
    requests = [("add", "fp16", modes), ("add", "bf16", modes), ("mul", "fp16", ("rne",)), ("add", "fp32", ("rne",))]
    requests += [("sub", "fp16", modes), ("sub", "bf16", modes)]
    units = [OperationUnit.make(op, fmt, policy={"rounding": m}) for op, fmt, some in requests for m in some]
    judge = Judge(VectorSet(MixedUnit(tuple(units)), 600))
    for inputs in judge.report.vectors.inputs():
        line = judge.report.vectors.line(inputs)
        assert line is not None
        judge.compare(line, Answer((line[-2],), line[-1] ^ 1))
    cause = explanation(judge.report)
    assert cause is not None
    parts = [p._replace(diagnosis=None) for p in cause.parts]
    shown = ReportDiagnosis(cause.unit, None, parts).lines()
    names = "add, sub fp16, bf16 in 4 roundings; mul fp16 in rne; add fp32 in rne"
    assert shown[0] == "diagnosis: 18 of 18 parts have mismatches"
    assert shown[2].startswith(f"  18 parts: {names} ")
    assert shown[2].split()[-5:-3] == ["600", "600"]
    assert len(shown) == 3


def test_what_surrounds_a_part_is_a_kind_of_its_own() -> None:
    """A device that ignores boxing, and pads integers with zeros; neither disturbs the diagnosis of the part."""

    def device(inputs: Inputs) -> tuple[int, int]:
        part, _ = MIXED.selected(inputs)
        code, flags = part.answer(MIXED.unchecked(inputs))
        return (code if part.op == "convert" else MIXED.padded(code, part.out, 32)), flags

    cause, judge = explained(device)
    kinds = {p.unit.label: set(p.report.kinds) for p in cause.parts}
    assert kinds["add fp16 rne"] == {UNBOXED, UNBOXED_FLAGS}  # the latter: a signaling NaN
    assert kinds["convert fp32 to i8 rne"] == {"zeros above the result"}
    assert kinds["mul fp32 rne"] == set()
    assert set(sentences(cause).values()) == {""}
    assert judge.report.mismatched == sum(p.report.mismatched for p in cause.parts)


def test_a_right_answer_for_an_unboxed_operand_tells_nothing() -> None:
    """The device may have taken it for another number: here, a signalling NaN in place of the quiet one."""
    unit = MixedUnit(tuple(OperationUnit.make("lt", f, policy=RISCV) for f in ("fp16", "fp32")))
    judge = Judge(VectorSet(unit, 2))
    quiet = OperationUnit.make("lt_quiet", "fp16", policy=RISCV)
    fields = next(codes for codes, part in unit.by_codes.items() if part.formats[0].name == "fp16")
    boxed, other = 0xFFFF0000, 0x12340000
    lines = [(boxed | a, boxed | b) for a in (0x7E00, 0, 0x7C01) for b in (0x7E01, 0x4000, 0xFE00, 0x0000)]
    for operands in (*lines, (other | 0x7C01, boxed | 0x3C00)):
        inputs = (*fields, *operands)
        line = unit.line(inputs)
        assert line is not None
        code, flags = quiet.answer(unit.unchecked(inputs))
        judge.compare(line, Answer((code,), flags))
    assert judge.report.kinds.keys() == {"flags only"}
    [part] = judge.report.parts.values()
    assert (part.compared, len(part.wrong) + len(part.right)) == (13, 12)
    cause = explanation(judge.report)
    assert cause is not None
    assert sentences(cause) == {"lt fp16 rne": "the device computes lt_quiet"}


@pytest.fixture
def log(tmp_path: Path) -> tuple[Path, Path]:
    """A folder, and the log of a bench: results in another order than the vectors."""
    generate(VECTORS, tmp_path / "golden")
    device, words = faulty(fma="sticky dropped"), []
    for line in lines():
        code, flags = device(line[: MIXED.input_width])
        words.append(" ".join(f"{x:x}" for x in (*line[: MIXED.input_width], code, flags)))
    random.Random(1).shuffle(words)
    (tmp_path / "results.txt").write_text("\n".join(words) + "\n")
    return tmp_path / "golden", tmp_path / "results.txt"


@pytest.mark.full
def test_a_benchs_log(log: tuple[Path, Path]) -> None:
    folder, results = log
    args = ("check", "--golden", str(folder), "--results", str(results), "--show", "0")
    done = run(*args)
    assert done.returncode == 1
    assert "diagnosis: 2 of 5 parts have mismatches" in done.stdout
    assert done.stdout.count("the device has no sticky bit") == 1
    table = json.loads(run(*args, "--json", "-").stdout)["parts"]
    assert [x["part"]["op"] for x in table if x["mismatched"]] == ["fma", "fma"]
    assert table[0]["diagnosis"]["findings"][0]["name"] == "sticky dropped"
    piped = run("vectors", "verify", "-", "--golden", str(folder), "-n", "1500", stdin=results.read_bytes())
    assert piped.returncode == 1
    assert "diagnosis: 2 of 5 parts have mismatches" in piped.stdout
    text = results.read_text().splitlines()
    results.write_text("\n".join([*text[:-1], text[0]]))
    assert "lines with operands that are not in the set, or more often than in the set: 1" in run(*args).stdout
    results.write_text("\n".join(text[:-1]))
    assert "1 answers too early" in run(*args).stdout


def test_unknown_bits_in_a_log_are_mismatches(log: tuple[Path, Path]) -> None:
    folder, results = log
    text = results.read_text().splitlines()
    words = text[0].split()
    results.write_text("\n".join([" ".join([*words[:-2], "xxxxXx3c", words[-1]]), *text[1:]]))
    done = run("check", "--golden", str(folder), "--results", str(results), "--show", "0")
    assert done.returncode == 1
    assert "1 X or Z bits" in done.stdout


def test_bad_usage(log: tuple[Path, Path]) -> None:
    folder, _ = log
    assert "leave --op out" in refused("vectors", "verify", "-", "--golden", str(folder), "--op", "mul")
    assert "only apply to -" in refused("vectors", "verify", str(folder), "--golden", str(folder))
    done = run("vectors", "verify", "-", "--golden", str(folder), stdin=b"3 0 0 0 0 0 0 0 0\n")
    assert "control fields" in done.stdout


def test_a_scoreboard() -> None:
    """A device without rup: the summary names the part, and the diagnosis is of that part."""
    board = Scoreboard("fma", "fp16", shown=1)
    modes = ("rne", "rtz", "rup")
    for i, case in enumerate(cases(board.signature.formats, 1, 900)):
        board.expect(*case, rounding=modes[i % 3])
        rounding = ("rne", "rtz", "rtz")[i % 3]
        result, flags = evaluate("fma", case, "fp16", policy=get_policy({"rounding": rounding}))
        board.check(result, int(flags))
    with pytest.raises(AssertionError, match="fma fp16 rne: 900 compared, ") as caught:
        board.finish()
    [row] = [x for x in str(caught.value).splitlines() if x.startswith("  fma fp16 ")]
    assert row.startswith("  fma fp16 rup: 300 compared, ")
    assert "off by one ulp" in row
    cause = explanation(board.report)
    assert cause is not None
    assert sentences(cause) == {"fma fp16 rup": "the device rounds toward zero (truncates)"}


def test_a_scoreboard_of_one_part_has_the_whole_diagnosis() -> None:
    board = Scoreboard.of(OperationUnit.make("mul", "fp16"))
    for case in cases(board.signature.formats, 1, 300):
        board.expect(*case)
        board.check(*map(int, evaluate("mul", case, "fp16", policy=get_policy({"rounding": "rtz"}))))
    cause = explanation(board.report)
    assert cause is not None
    assert cause.lines()[0] == "diagnosis: the device rounds toward zero (truncates)"


def test_a_failed_bench_of_blocks_is_shown_lane_by_lane(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In values, with what differs, in place of the bench's packed numbers; other units keep what the bench printed."""
    blocks = VectorSet.make("quantize", "fp8_e4m3@e8m0/4", 20)
    rows = [line for inputs in blocks.inputs() if (line := blocks.line(inputs)) is not None]
    wrong = next(i for i, line in enumerate(rows) if line[0] == 0x3F800000 and line[4] == 0x77)
    rows[wrong] = (*rows[wrong][:4], 0x70, rows[wrong][5] ^ 1, *rows[wrong][6:])
    log = tmp_path / "results.txt"
    log.write_text("".join(" ".join(f"{x:x}" for x in line) + "\n" for line in rows))
    packed = "blocks.memh:9: values=3f800000_0_0_0 expected scale=77 elements=00000078 got scale=70 elements=00000079"
    print_failure([packed, "FAIL: 1 mismatches, 20 of 20 vectors compared"], blocks, log)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("FAIL")
    assert "  scale: expected 77 = 0.00390625 (0x1p-8), got 70 = 0.000030517578125 (0x1p-15): 7 low" in shown
    [lane] = [x for x in shown if x.startswith("  element 0 of 3f800000 = 1.0 (0x1p+0): ")]
    assert ": off by one ulp; scaled, expected 1.0, got 0.0" in lane
    print_failure(["lines of a bench"], blocks, tmp_path / "none")
    assert capsys.readouterr().out == "lines of a bench\n"


@pytest.mark.full
def test_wrong_elements_are_told_in_values() -> None:
    blocks = VectorSet.make("quantize", "fp8_e4m3@e8m0/4", 60)
    d = diagnosis(blocks, lambda inputs: tuple(x ^ (i == 2) for i, x in enumerate(blocks.unit.answer(inputs))))
    assert d.simplest is not None
    assert "element 1 00 (0.0) came as 01 (0.001953125)" in case_text(d.simplest, blocks.unit)
