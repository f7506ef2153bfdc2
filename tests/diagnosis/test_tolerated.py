"""What a port map tolerates is no mismatch for anyone: a bench, the comparison of its log, and the diagnosis agree."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from softfloat_ref.app.testbench import print_failure
from softfloat_ref.diagnosis.checked import cases_of, comparator_of
from softfloat_ref.diagnosis.parts import explanation
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.testing.check import check_results
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.judge import CheckReport, ComparisonOptions, Judge
from softfloat_ref.testing.kappa import Allowance
from softfloat_ref.units import Line, MixedUnit, OperationUnit

FP16 = get_format("fp16")
ADD, MUL = (OperationUnit.make(op, "fp16") for op in ("add", "mul"))
BOTH = MixedUnit((ADD, MUL))
FLUSHED = OperationUnit.make("mul", "fp16", policy=get_policy({"flush_outputs": True}))
BLOCKS = VectorSet.make("quantize", "mxfp4", 300)
Device = Callable[[Line], Line]


def log(path: Path, vectors: VectorSet, device: Device, *notes: str) -> Path:
    """The log of a bench that found this device: the device's outputs, from the right line, after its notes."""
    lines = [line for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None]
    width = vectors.unit.input_width
    rows = [" ".join(f"{x:x}" for x in (*line[:width], *device(line))) for line in lines]
    path.write_text("\n".join([*(f"// {n}" for n in notes), *rows]) + "\n")
    return path


def nan_operand_else(other: Callable[[int], int]) -> Device:
    """A device that returns a NaN operand as it is; it has no flags."""

    def device(line: Line) -> Line:
        *_, a, b, result, _ = line
        return (next((x for x in (a, b) if FP16.is_nan(x)), other(result)),)

    return device


def one_low(code: int) -> int:
    """Results above 2 with an odd last bit are one too low."""
    return code - 1 if 0x4000 < code & 0x7FFF < 0x7C00 and code & 1 else code


@pytest.mark.full
@pytest.mark.parametrize("unit", [BOTH, ADD, MUL])
def test_a_nan_operand_that_is_tolerated_is_no_mismatch_of_the_diagnosis(
    unit: OperationUnit | MixedUnit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = VectorSet(unit, 2000)
    path = log(tmp_path / "log", vectors, nan_operand_else(one_low), "compare_nan = any", "flags = none")
    report = agreed(check_results(vectors, path))
    assert {*report.kinds} == {"off by one ulp"}
    cause = explanation(report)
    assert cause is not None
    assert len(cause.parts) == len(unit.parts) * (unit is BOTH)
    print_failure(["lines of a bench"], vectors, path)
    assert "diagnosis:" in capsys.readouterr().out


def agreed(report: CheckReport) -> CheckReport:
    """A report that has as many mismatches as the cases that its diagnosis examines, in every part."""
    assert not report.failure
    for r in report.parts.values() or [report]:
        assert sum(not c.agrees for c in cases_of(r, comparator_of(r))) == r.mismatched
    return report


def canonical(line: Line) -> Line:
    return (line[-2],)


def without_inexact(line: Line) -> Line:
    """A multiplier that flushes, with a log in which two flags are always 0."""
    inputs = line[:-2]
    result, flags = FLUSHED.answer(inputs)
    return result, flags & ~0x09


def other_elements(line: Line) -> Line:
    scale, *codes = line[32:]
    return scale, *(c ^ 1 if scale == 0xFF else c for c in codes)


def other_elements_and_scales(line: Line) -> Line:
    """Under a NaN scale any elements; other scales are one too high where they are even."""
    scale, *codes = other_elements(line)
    return scale + (scale % 2 == 0), *codes


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("vectors", "device", "notes", "text"),
    [
        (VectorSet(MUL, 500), nan_operand_else(int), ("compare_nan = any", "flags = none"), None),
        (VectorSet(BOTH, 500), nan_operand_else(int), ("compare_nan = quiet", "flags = none"), ""),
        (VectorSet(BOTH, 500), nan_operand_else(int), ("flags = none",), ""),
        (VectorSet(MUL, 500), canonical, ("flags = none",), None),
        (VectorSet(MUL, 2000), without_inexact, ("flags = invalid overflow underflow",), "flush_outputs = on"),
        (BLOCKS, other_elements, ("nan_scale_elements = any",), None),
        (BLOCKS, other_elements, (), ""),
        (BLOCKS, other_elements_and_scales, ("nan_scale_elements = any",), ""),
    ],
)
def test_comparison_and_diagnosis_count_the_same(
    vectors: VectorSet, device: Device, notes: tuple[str, ...], text: str | None, tmp_path: Path
) -> None:
    """text: what the diagnosis says; None where nothing is wrong."""
    report = agreed(check_results(vectors, log(tmp_path / "log", vectors, device, *notes)))
    cause = explanation(report)
    assert (cause is None) == (text is None) == (not report.mismatched)
    assert cause is None or text in "\n".join(cause.lines())


FLUSHING = OperationUnit.make("rsqrt", "bf16", policy=get_policy({"flush_inputs": True}))


@pytest.mark.full
@pytest.mark.parametrize("how", [{"limit": Fraction(3, 2)}, {"kappa": Allowance(1)}])
def test_an_error_that_is_allowed_is_no_mismatch_of_the_diagnosis(how: ComparisonOptions) -> None:
    """An approximate reciprocal root, often one too low, that flushes subnormal operands: only that is a fault."""
    vectors = VectorSet(OperationUnit.make("rsqrt", "bf16"), 1000)
    judge = Judge(vectors, shown=0, **how)
    for inputs in vectors.inputs():
        code, flags = FLUSHING.answer(inputs)
        low = inputs[0] % 3 == 0 and 0x80 < code < 0x7F80
        judge.compare((*inputs, *vectors.unit.answer(inputs)), Answer((code - low,), flags))
    report = agreed(judge.report)
    assert 0 < report.mismatched < 100
    cause = explanation(report)
    assert cause is not None
    assert "flush_inputs = on" in "\n".join(cause.lines())
    assert "explains all" in "\n".join(cause.lines())
