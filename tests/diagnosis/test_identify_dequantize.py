"""Identified block dequantizers, right and with a defect; and what is said of a device that no model explains."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import pytest

from softfloat_ref.diagnosis import identified
from softfloat_ref.diagnosis.asking import ask_model
from softfloat_ref.diagnosis.block_defects import moved, value_defects
from softfloat_ref.diagnosis.candidates import with_ranges
from softfloat_ref.diagnosis.hypotheses import Inputs, Model, Output, expected_model
from softfloat_ref.diagnosis.identify import Examiner, Identification
from softfloat_ref.diagnosis.kinds import confirming, examiner
from softfloat_ref.diagnosis.selftest import subject
from softfloat_ref.units import DequantizeUnit

FORMATS = ("mxfp8_e4m3", "nvfp4", "mxint8", "int8@fp32/8")  # nvfp4: with a tensor scale


@cache
def examined(fmt: str) -> Examiner[Any]:
    return examiner(subject("dequantize", fmt, None))


def unit_of(fmt: str, overflow: str) -> DequantizeUnit:
    unit = examined(fmt).vectors.unit
    assert isinstance(unit, DequantizeUnit)
    return dataclasses.replace(unit, profile=unit.profile.replace(dequantize_overflow=overflow))


def asked(fmt: str, model: Model) -> Identification[Any]:
    e = examined(fmt)
    return e.identify(ask_model(e.vectors.unit, model), confirming(e.vectors, 100, 1))


@pytest.mark.parametrize("overflow", ["inf", "saturate"])
@pytest.mark.parametrize("fmt", FORMATS)
def test_a_right_dequantizer(fmt: str, overflow: str) -> None:
    result = asked(fmt, expected_model(unit_of(fmt, overflow)))
    assert [c.name for c in result.candidates] == [f"dequantize_overflow = {overflow}"]
    assert result.confirmed == result.tried == 100


def test_a_dequantizer_without_values_beyond_fp32() -> None:
    result = asked("int8@ue4m3/16", expected_model(unit_of("int8@ue4m3/16", "inf")))
    assert [c.names for c in result.candidates] == [["dequantize_overflow = saturate", "dequantize_overflow = inf"]]
    text = identified.lines(result, unit_of("int8@ue4m3/16", "inf"))
    assert text[1] == "  identical for this operation and format: dequantize_overflow = inf"


@pytest.mark.full(keep=1, gate=6)
@pytest.mark.parametrize("overflow", ["inf", "saturate"])
@pytest.mark.parametrize("defect", ["scale +1", "NaN scale a number", "lanes reversed", "neighbours exchanged"])
@pytest.mark.parametrize("fmt", FORMATS[:3])
def test_a_defect_is_named_with_the_choice_it_stands_on(fmt: str, defect: str, overflow: str) -> None:
    model = next(h.model for h in value_defects(unit_of(fmt, overflow)) if h.name == defect)
    result = asked(fmt, model)
    assert result.complete
    assert result.confirmed == 0
    assert f"dequantize_overflow = {overflow}; {defect}" in result.names


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("overflow", ["inf", "saturate"])
def test_numbers_that_the_answers_suggest(overflow: str) -> None:
    unit = unit_of("mxfp8_e4m3", overflow)
    right = expected_model(unit)
    result = asked("mxfp8_e4m3", lambda i: right((moved(-3, i[0], unit.block.scale), *i[1:])))
    assert result.name == f"dequantize_overflow = {overflow}; scale 3 low"

    def stuck(inputs: Inputs) -> Output | None:
        values = right(inputs)
        return values and (*values[:5], 0x3F800000, *values[6:])

    assert asked("mxfp8_e4m3", stuck).name == f"dequantize_overflow = {overflow}; lane 5 = 3f800000"


def test_nothing_is_confirmed_where_no_candidate_is_left() -> None:
    right = expected_model(unit_of("mxint8", "inf"))

    def model(inputs: Inputs) -> Output | None:
        values = right(inputs)
        return values and tuple(x ^ (inputs[1] % 7 == 3) for x in values)

    result = asked("mxint8", model)
    assert (result.complete, result.confirmed, result.tried) == (False, 0, 100)
    data = identified.as_dict(result, examined("mxint8").vectors.unit)
    assert (data["identified"], data["confirmed"]) == (False, 0)
    assert not any("confirmed" in x for x in identified.lines(result, examined("mxint8").vectors.unit))


def test_no_model_explains_any_answer() -> None:
    unit = examined("mxint8").vectors.unit
    result = asked("mxint8", lambda _: (0x3F800001,) * 32)
    text = identified.lines(result, unit)
    assert result.name == "none"
    assert text[0] == "dequantize mxint8: no model explains any answer, for example"
    assert "came as 3f800001" in text[1]


@pytest.mark.parametrize(
    ("names", "ranges"),
    [
        ([], []),
        (["F = 24", "F = 26", "F = 25"], ["F = 24 to 26"]),
        (["F = 24", "F = 25"], ["F = 24 or 25"]),
        (["F = 24", "F = 25", "F = 29"], ["F = 24, 25 or 29"]),
        (["scale -1", "scale +1"], ["scale -1 or 1"]),
        (
            ["x, F = 24, n = 3", "rtz", "x, F = 25, n = 3", "x, F = 24, n = 4"],
            ["x, F = 24 or 25, n = 3", "rtz", "x, F = 24, n = 4"],
        ),
        (["fp16", "fp32", "2^3", "2^4", "F = 24", "F = 24"], ["fp16", "fp32", "2^3", "2^4", "F = 24"]),
        (["{} of 3", "{} of 4"], ["{} of 3 or 4"]),
    ],
)
def test_an_open_number_is_said_as_a_range(names: list[str], ranges: list[str]) -> None:
    assert with_ranges(names) == ranges


def test_a_width_that_the_answers_leave_open() -> None:
    """Few questions do not tell how many bits an aligned sum keeps."""
    e = examiner(subject("dot", "fp8_e4m3", None, k=4))
    e = dataclasses.replace(e, questions=[q for q in e.questions if len({x for x in q if x}) > 2][:1])
    form = "accumulator fp32-sequential, the last fuse with F ="
    device = next(c for c in e.candidates.values() if c.name == f"{form} 25")
    result = e.identify(ask_model(e.vectors.unit, device.model), [])
    assert any(x.startswith(f"{form} 2") and x.endswith((" to 29", " or 29")) for x in result.names), result.names
