"""Faults of scales, special codes, NaNs and alignment that are named, by `check` and by `identify`."""

from __future__ import annotations

import dataclasses

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis import report
from softfloat_ref.diagnosis.asking import ask_model
from softfloat_ref.diagnosis.format_defects import twins
from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.diagnosis.kinds import confirming, examiner
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.units import QuantizeUnit

ADD = VectorSet.make("add", "fp16", 2000)
FMA = VectorSet.make("fma", "fp16", 2000)
BLOCKS = VectorSet.make("quantize", "mxfp8", 300)
VALUES = VectorSet.make("dequantize", "mxfp8", 200)
FOUR_OVER_SIX = VectorSet.make("quantize", "fp4_e2m1@ue4m3/4", 150, profile="nvfp4-4over6-mse")
DOTS = VectorSet.make("dot", "fp8_e4m3@e8m0/4", 200)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("vectors", "name"),
    [
        (ADD, "no borrow 1 place below the larger"),
        (VectorSet.make("sub", "fp16", 2000), "no borrow 2 places below the larger"),
        (ADD, "smaller addend cut 3 places below the larger"),
        (FMA, "invalid for every NaN"),
        (FMA, "every NaN the code after infinity"),
        (FMA, "NaN of its own the code after infinity"),
        (VectorSet.make("mul", "fp16", 1000), "underflow only with zero"),
        (FMA, "NaN with the sign of the product"),
        (VectorSet.make("div", "fp16", 1000), "NaN with the sign of the quotient"),
        (VectorSet.make("mul", "fp8_e4m3", 1000), "fp8_e4m3 operands as its IEEE twin"),
        (VectorSet.make("mul", "fp8_e4m3", 1000), "output as its IEEE twin"),
        (VectorSet.make("convert", "fp32", 1000, out="fp8_e5m2"), "output as its fn twin"),
        (BLOCKS, "elements as its IEEE twin"),
        (BLOCKS, "elements as its IEEE twin, scale kept"),
        (BLOCKS, "elements as its finite twin"),
        (VALUES, "elements as its IEEE twin"),
        (DOTS, "elements as its IEEE twin"),
        (DOTS, "elements of b as its finite twin"),
        (FOUR_OVER_SIX, "second scale"),
        (FOUR_OVER_SIX, "ties to the second scale"),
        (FOUR_OVER_SIX, "scale with the larger error"),
        (VectorSet.make("softmax", "fp16", 150, length=4), "lanes one up"),
        (VectorSet.make("quantize", "qint8", 1000, policy={"rounding": "sr", "sr_bits": 5}), "random bits reversed"),
        (VectorSet.make("dequantize", "qint8", 300), "bit 3 is 1"),
    ],
)
def test_it_is_named(vectors: VectorSet, name: str) -> None:
    d = diagnosis(vectors, defect(vectors, name))
    assert d.complete
    assert name in names(d)


def block(inputs: Inputs) -> tuple[int, ...]:
    return tuple(BLOCKS.unit.answer(inputs))


def lower(scale: int, by: int = 7) -> int:
    return scale if scale == 0xFF else max(scale - by, 0)


@pytest.mark.full
def test_a_scale_off_by_a_constant() -> None:
    d = diagnosis(BLOCKS, lambda inputs: (lower(block(inputs)[0]), *block(inputs)[1:]))
    assert names(d) == ["scale byte 7 low"]
    d = diagnosis(VALUES, lambda inputs: tuple(VALUES.unit.answer((lower(inputs[0]), *inputs[1:]))))
    assert names(d) == ["scale 7 low"]

    def low(inputs: Inputs) -> Output:
        return tuple(DOTS.unit.answer((lower(inputs[0], 5), *inputs[1:])))

    assert names(diagnosis(DOTS, low)) == ["scale of a 5 low"]


@pytest.mark.full
def test_a_scale_off_in_most_cases() -> None:
    """How far, and in how many mismatches; the elements are right."""

    def model(inputs: Inputs) -> Output:
        scale, *elements = block(inputs)
        right = sum(inputs) % 5 == 0
        return scale ^ 1 if right else lower(scale), *elements

    d = diagnosis(BLOCKS, model)
    assert not d.complete
    assert d.codes.startswith("only the scale is wrong, 7 low in ")
    assert d.codes in "\n".join(report.lines(d, BLOCKS.unit))


def test_elements_under_a_nan_scale() -> None:
    def zeros(inputs: Inputs) -> Output:
        codes = block(inputs)
        return (0xFF, *(0,) * 32) if codes[0] == 0xFF else codes

    assert names(diagnosis(BLOCKS, zeros)) == ["elements 00 under a NaN scale"]

    def garbage(inputs: Inputs) -> Output:
        codes = block(inputs)
        return (0xFF, *((x >> 23) * 7 & 0x7F for x in inputs)) if codes[0] == 0xFF else codes

    d = diagnosis(BLOCKS, garbage)
    assert d.codes == "the scale is NaN and right, and elements are wrong"


def test_no_flush() -> None:
    unit = BLOCKS.unit
    assert isinstance(unit, QuantizeUnit)
    other = dataclasses.replace(unit, profile=unit.profile.replace(flush="never"))
    d = diagnosis(BLOCKS, lambda inputs: tuple(other.answer(inputs)))
    assert report.lines(d, unit)[0] == "diagnosis: the device does not flush small values to zero"


@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e5m2", "fp4_e2m1", "fp6_e3m2"])
def test_twins_differ_in_their_special_codes_alone(name: str) -> None:
    fmt: Format = CATALOGUE[name]
    of_format = list(twins(fmt))
    assert len(of_format) == 2
    for twin in of_format:
        mine, other = decoder(fmt), decoder(twin.fmt)
        pairs = [(mine(x), other(x)) for x in range(1 << fmt.width)]
        assert all(x == y for x, y in pairs if x.is_finite and y.is_finite)
        assert any(x != y for x, y in pairs)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", ["NaN with the sign of the product", "invalid for every NaN"])
def test_identify_names_it(name: str) -> None:
    vectors = VectorSet.make("mul", "fp16", 1)
    result = examiner(vectors).identify(ask_model(vectors.unit, defect(vectors, name)), confirming(vectors, 500, 1))
    assert result.complete
    assert result.name == f"policy ieee; {name}"


@pytest.mark.full
def test_identify_names_a_scale_that_is_off() -> None:
    vectors = VectorSet.make("quantize", "mxfp4", 1)

    def model(inputs: Inputs) -> Output:
        scale, *elements = vectors.unit.answer(inputs)
        return lower(scale), *elements

    result = examiner(vectors).identify(ask_model(vectors.unit, model), confirming(vectors, 100, 1))
    assert result.complete
    assert result.name == "profile ocp; scale byte 7 low"
