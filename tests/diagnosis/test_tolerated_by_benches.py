"""What a port map tolerates or leaves out is no mismatch for the bench, for the comparison of its log, nor for the
diagnosis: one case for each key of a port map that does so, with a device that errs there and elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from played import Device, mismatches, played

from softfloat_ref.diagnosis.checked import cases_of, comparator_of
from softfloat_ref.diagnosis.parts import explanation
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.rtl.bundle import FLAG_NAMES
from softfloat_ref.testing.check import check_results
from softfloat_ref.testing.judge import EARLIER_FLAGS, UNKNOWN_BITS
from softfloat_ref.units import Line, MixedUnit, OperationUnit, RoundingsUnit, Unit
from softfloat_ref.units.requests import make_unit

pytestmark = pytest.mark.sim

FP16, BF16 = get_format("fp16"), get_format("bf16")
MUL, NEG, DIV = (OperationUnit.make(op, "fp16") for op in ("mul", "neg", "div"))
BOTH = MixedUnit((MUL, OperationUnit.make("mul", "fp32")))
QUANTIZE = make_unit("quantize", "mxfp4")
QUANTIZE_MODES = RoundingsUnit.of(QUANTIZE, ("rne", "rtz"))
FLUSHED = OperationUnit.make("mul", "fp16", policy=get_policy({"flush_outputs": True}))
INPUTS: Final = {
    MUL: '[inputs]\na = "a"\nb = "b"\n',
    DIV: '[inputs]\na = "a"\nb = "b"\n',
    NEG: '[inputs]\na = "a"\n',
    BOTH: '[inputs]\na = "a"\nb = "b"\nfmt = { of = "fmt", codes = { fp16 = 0, fp32 = 1 } }\n',
    QUANTIZE: '[inputs]\nvalues = "values"\n',
    QUANTIZE_MODES: '[inputs]\nvalues = "values"\nrm = { of = "rounding", codes = { rne = 0, rtz = 1 } }\n',
}


def digits(code: int, width: int) -> str:
    return f"{code:0{width}b}"


def flags_but(ignored: str, wrong: bool) -> Device:
    """A multiplier without a flag; wrong: it flushes, too."""

    def device(line: Line) -> dict[str, str]:
        result, flags = FLUSHED.answer(line[:2]) if wrong else line[2:]
        bits = {name: str(flags >> bit & 1) for name, bit in FLAG_NAMES.items() if name != ignored}
        return {"result": digits(result, 16), **bits}

    return device


def nan_operand(wrong: bool) -> Device:
    """A NaN operand as it is, or a NaN of its own; wrong: other results above 2 with an odd last bit one too low."""

    def device(line: Line) -> dict[str, str]:
        *inputs, result, _ = line
        if FP16.is_nan(result):
            result = next((x | 0x200 for x in inputs if FP16.is_nan(x)), 0xFFFF)
        elif wrong and 0x4000 < result & 0x7FFF < 0x7C00:
            result -= result & 1
        return {"result": digits(result, 16)}

    return device


def flags_only(wrong: bool) -> Device:
    """No result; wrong: no overflow."""
    return lambda line: {"flags": digits(line[-1] & ~(4 * wrong), 5)}


def above(bits: str, wrong: bool) -> Device:
    """Other bits above a narrower result; wrong: results of fp16 above 2 with an odd last bit are one too low."""

    def device(line: Line) -> dict[str, str]:
        word, flags = digits(line[-2], 32), line[-1]
        if line[1] == 0:  # the format
            word = bits * 16 + digits(line[-2] - (wrong and 0x4000 < line[-2] & 0x7FFF < 0x7C00), 32)[16:]
        return {"result": word, "flags": digits(flags, 5)}

    return device


def elements(digit: str, wrong: bool, first: int = 32) -> Device:
    """Other elements under a NaN scale; wrong: other scales one too high where they are even."""

    def device(line: Line) -> dict[str, str]:
        scale, *codes = line[first:]
        shown = digit * (128 // len(digit)) if scale == 0xFF else "".join(digits(x, 4) for x in reversed(codes))
        return {"scale": digits(scale + (wrong and scale != 0xFF and not scale & 1), 8), "elements": shown}

    return device


def accumulating(wrong: bool) -> Device:
    """Flags of all operations so far; wrong: it never raises underflow, and some results are one too low."""
    so_far = 0

    def device(line: Line) -> dict[str, str]:
        nonlocal so_far
        so_far |= line[-1] & ~(2 * wrong)
        return {
            "result": digits(line[-2] - (wrong and 0x4000 < line[-2] & 0x7FFF < 0x4400), 16),
            "flags": digits(so_far, 5),
        }

    return device


def merged(wrong: bool) -> Device:
    """Two lanes with their flags in one port; wrong: results as above."""
    first: list[Line] = []

    def device(line: Line) -> dict[str, str]:
        first.append(line)
        low = [x[-2] - (wrong and 0x4000 < x[-2] & 0x7FFF < 0x4400) for x in first[-2:]]
        return {"result": digits(low[-1] << 16 | low[0], 32), "flags": digits(first[-1][-1] | first[-2:][0][-1], 5)}

    return device


def only(name: str, device: Device) -> Device:
    return lambda line: {name: device(line)[name]}


RESULT, SCALED = '[outputs]\nresult = "result"\n', '[outputs]\nscale = "scale"\nelements = "elements"\n'
ALL_FLAGS = RESULT + 'flags = "flags"\n'
ANY_ABOVE = '[outputs]\nresult = { result = "31:0", fill = "any" }\nflags = "flags"\n'
ANY_ELEMENTS = 'nan_scale_elements = "any"\n'
CASES = [
    *(
        (MUL, f'ignore = ["{name}"]\n', RESULT + "".join(f'{n} = "{n}"\n' for n in FLAG_NAMES if n != name),
         lambda wrong, name=name: flags_but(name, wrong), "flush_outputs = on")
        for name in FLAG_NAMES
    ),
    *(
        (unit, f'ignore = ["flags"]\ncompare_nan = "{rule}"\n', RESULT, nan_operand, None)
        for unit in (MUL, NEG) for rule in ("any", "quiet")
    ),
    (MUL, 'ignore = ["result"]\n', '[outputs]\nflags = "flags"\n', flags_only, "no overflow"),
    (MUL, "[sticky]\n", ALL_FLAGS, accumulating, "no underflow"),
    (MUL, "lanes = 2\n", RESULT + 'flags = { flags = "4:0", merge = true }\n', merged, None),
    (BOTH, "", ANY_ABOVE, lambda wrong: above("0", wrong), None),
    (BOTH, "", ANY_ABOVE, lambda wrong: above("x", wrong), None),
    (QUANTIZE, ANY_ELEMENTS, SCALED, lambda wrong: elements("10", wrong), None),
    (QUANTIZE, ANY_ELEMENTS, SCALED, lambda wrong: elements("x", wrong), None),
    (QUANTIZE_MODES, ANY_ELEMENTS, SCALED, lambda wrong: elements("10", wrong, 33), None),
    (QUANTIZE, 'ignore = ["elements"]\n', '[outputs]\nscale = "scale"\n',
     lambda wrong: only("scale", elements("x", wrong)), None),
    (QUANTIZE, 'ignore = ["scale"]\n', '[outputs]\nelements = "elements"\n',
     lambda wrong: only("elements", elements("10", True)), None),
]  # fmt: skip


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize(("unit", "keys", "outputs", "device", "name"), CASES)
def test_bench_comparison_and_diagnosis_count_the_same(
    unit: Unit, keys: str, outputs: str, device: object, name: str | None, wrong: bool, tmp_path: Path
) -> None:
    count = 240 if unit in (QUANTIZE, QUANTIZE_MODES) else 400
    vectors = VectorSet(unit, count)
    run, log = played(vectors, device(wrong), keys + INPUTS[unit] + outputs, tmp_path)  # type: ignore[operator]
    report = check_results(vectors, log)
    assert not report.failure
    assert report.mismatched == mismatches(run), run.output
    assert UNKNOWN_BITS not in report.kinds
    for part in report.parts.values() or [report]:
        counted = part.mismatched - part.kinds[EARLIER_FLAGS]
        assert sum(not c.agrees for c in cases_of(part, comparator_of(part))) == counted
    if wrong and name is not None:
        cause = explanation(report)
        assert cause is not None
        assert name in "\n".join(cause.lines())
        if cause.whole and cause.whole.simplest:  # which the bench refuses
            assert cause.whole.simplest.inputs in {line[: unit.input_width] for line, _ in report.wrong}
