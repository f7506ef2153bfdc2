"""Diagnosis of devices with two and three faults: each is named, with the mismatches that it explains."""

from __future__ import annotations

import pytest
from diagnosing import defect, diagnosis

from softfloat_ref.diagnosis import report
from softfloat_ref.diagnosis.defects import Faulty, where
from softfloat_ref.diagnosis.findings import Diagnosis
from softfloat_ref.diagnosis.hypotheses import Inputs, Model, Output, expected_model
from softfloat_ref.diagnosis.kinds.operation import OperationSpace
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.units import OperationUnit

FMA = VectorSet.make("fma", "fp16", 1000)
ADD = VectorSet.make("add", "fp32", 1000)
MUL = VectorSet.make("mul", "bf16", 1000)
TO_E4M3 = VectorSet.make("convert", "fp32", 1000, out="fp8_e4m3")
BLOCKS = VectorSet.make("quantize", "fp8_e4m3@e8m0/8", 300)
ADD16 = VectorSet.make("add", "fp16", 2000)
DOTS = VectorSet.make("dot", "fp8_e4m3@e8m0/4", 300)


def device(vectors: VectorSet, *faults: str | Model) -> Model:
    """A device with several faults, each in the codes and flags that it changes, the later ones after the others."""
    right = expected_model(vectors.unit)
    models = [defect(vectors, x) if isinstance(x, str) else x for x in faults]
    results = len(vectors.unit.result_formats)

    def model(inputs: Inputs) -> Output | None:
        expected = right(inputs)
        assert expected is not None
        output = list(expected)
        for faulty in models:
            for i, (x, y) in enumerate(zip(expected, faulty(inputs) or expected, strict=True)):
                if x != y:
                    output[i] = y if i < results else output[i] ^ (x ^ y) & (y ^ output[i])
        return tuple(output)

    return model


def named(d: Diagnosis) -> set[str]:
    assert d.several is not None
    return {x.hypothesis.name for x in d.several.faults}


@pytest.mark.full(gate=4)
@pytest.mark.parametrize(
    ("vectors", "faults"),
    [
        (FMA, ("sticky dropped, inexact kept", "zero without sign", "no underflow")),
        (FMA, ("carry lost", "x - x is -0", "signalling NaN not invalid")),
        (FMA, ("FTZ, flags kept", "not fused, product in fp16")),
        (ADD, ("subnormals flushed of a", "zero negative", "overflow without inexact")),
        (MUL, ("carry lost", "underflow when exact", "subnormals flushed of b, flags kept")),
        (MUL, ("NaN not quieted", "FTZ after rounding", "sticky dropped, inexact kept")),
        (TO_E4M3, ("NaN code a number", "FTZ after rounding, flags kept", "no inexact")),
        (BLOCKS, ("scale byte +1", "FTZ, flags kept")),
    ],
)
def test_each_of_several_faults_is_named(vectors: VectorSet, faults: tuple[str, ...]) -> None:
    d = diagnosis(vectors, device(vectors, *faults))
    assert named(d) == set(faults)
    assert d.several is not None
    assert d.several.explained == d.examined
    assert sum(x.mismatches for x in d.several.faults) == d.wrong
    assert all(x.mismatches >= 3 for x in d.several.faults)
    lines = report.lines(d, vectors.unit)
    head = f"diagnosis: the device has {len(faults)} faults; together they explain all {d.examined} cases"
    assert lines[0] == f"{head}, {d.wrong} of them mismatches"
    for number, fault in enumerate(d.several.faults, 1):
        assert f"  {number}. it {fault.hypothesis.description}" in lines
    assert report.sentence(d, vectors.unit).count(d.several.faults[0].hypothesis.description) == 1


@pytest.mark.full
def test_a_policy_and_two_defects() -> None:
    """One after the other, as in a circuit: truncation, then zeros without sign, then no overflow flag."""
    rtz = Faulty(OperationUnit.make("fma", "fp16", None, {"rounding": "rtz"}))

    def model(inputs: Inputs) -> Output | None:
        output = rtz(inputs)
        assert output is not None
        code, flags = output
        return (code if code & 0x7FFF else 0), flags & ~4

    d = diagnosis(FMA, model)
    assert named(d) == {"rounding = rtz", "zero without sign", "no overflow"}


@pytest.mark.full(gate=3)
@pytest.mark.parametrize(
    ("vectors", "first", "second"),
    [
        (BLOCKS, "amax without the last lane", "sign ignored"),
        (BLOCKS, "scale +1", "lanes one up"),
        (BLOCKS, "sticky dropped", "neighbours exchanged"),
        (DOTS, "scale of a ignored", "first lane left out"),
        (DOTS, "sticky dropped of its sums", "subnormals flushed"),
        (DOTS, "zero negative of the last sum", "lane 2 left out"),
    ],
)
def test_two_faults_that_act_on_each_other(vectors: VectorSet, first: str, second: str) -> None:
    """The second step works on what the first, wrong one gives."""
    one, other = defect(vectors, first), defect(vectors, second)
    assert isinstance(one, Faulty)
    both = one.joined(other)
    assert both is not None
    d = diagnosis(vectors, both)
    assert named(d) == {first, second}
    assert d.several is not None
    assert d.several.explained == d.examined


@pytest.mark.full
def test_a_rounding_and_a_defect_of_a_block() -> None:
    """The scale is one too high, and the elements, divided by that scale, are rounded toward zero."""
    truncating = VectorSet.make("quantize", "fp8_e4m3@e8m0/8", 1, policy={"rounding": "rtz"})
    d = diagnosis(BLOCKS, defect(truncating, "scale +1"))
    sentence = report.sentence(d, BLOCKS.unit)
    assert "rtz" in sentence
    assert "has its scale one step too high" in sentence


@pytest.mark.full
def test_no_second_fault_without_evidence() -> None:
    """A fault, and two wrong answers besides: two are too few for another fault."""
    faulty, spoiled = defect(FMA, "carry lost"), set(list(FMA.inputs())[100:1000:450])

    def model(inputs: Inputs) -> Output | None:
        output = faulty(inputs)
        assert output is not None
        return (output[0] ^ 0x155, output[1]) if tuple(inputs) in spoiled else output

    d = diagnosis(FMA, model)
    assert d.several is None
    assert d.best[0].hypothesis.name == "carry lost"


@pytest.mark.full
def test_one_fault_stays_one() -> None:
    for vectors, name in ((FMA, "sticky dropped"), (BLOCKS, "lanes reversed"), (DOTS, "lane 2 left out")):
        assert diagnosis(vectors, defect(vectors, name)).several is None


def test_the_number_of_explained_cases_is_that_of_the_right_device_at_least() -> None:
    """A device with an unlisted fault in half of its cases: what is said explains more than no fault does."""
    fp16 = get_format("fp16")
    decode, encode = decoder(fp16), encoder(fp16, get_policy(None))
    right = expected_model(FMA.unit)

    def model(inputs: Inputs) -> Output | None:
        output = right(inputs)
        assert output is not None
        value = decode(output[0])
        odd = value.is_finite and value.significand & 3 == 3
        return (encode(value._replace(significand=value.significand ^ 2), 0)[0] if odd else output[0]), output[1]

    d = diagnosis(FMA, model)
    least = d.examined - d.wrong
    assert all(f.explained > least for f in d.findings)
    assert d.several is None or d.several.explained > least


@pytest.mark.full
def test_defects_of_a_device_that_rounds_otherwise() -> None:
    """A defect changes operands before a wrong rounding, so that both show in one case."""
    vectors = VectorSet.make("fma", "fp16", 2000, policy={"rounding": "rup"})
    space = OperationSpace(OperationUnit.make("fma", "fp16"))
    low = next(h.model for h in space.defects(space.base) if h.name == "subnormals with exponent 0 of c")

    def model(inputs: Inputs) -> Output | None:
        code, flags = low(inputs) or (0, 0)
        return code if code & 0x7FFF else 0, flags

    d = diagnosis(vectors, model)
    assert named(d) == {"rounding = rne", "subnormals with exponent 0 of c", "zero without sign"}
    assert d.several is not None
    assert d.several.explained == d.examined


@pytest.mark.full
@pytest.mark.parametrize(("first", "second"), [("sticky dropped", "carry lost"), ("carry lost", "zero negative")])
def test_a_condition_wraps_any_fault_and_composes(first: str, second: str) -> None:
    """A fault where operands have different signs, and another fault of the same rounding."""
    one, other = defect(ADD16, first), defect(ADD16, second)
    assert isinstance(one, Faulty)
    opposite = where(lambda inputs, right: bool((inputs[0] ^ inputs[1]) >> 15), one.changes)
    both = Faulty(one.unit, opposite).joined(other)
    assert both is not None
    d = diagnosis(ADD16, both)
    assert named(d) == {f"{first}, where operands a and b have different signs", second}
    assert d.several is not None
    assert d.several.explained == d.examined
