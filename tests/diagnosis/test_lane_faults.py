"""Faults of some lanes of a block or a vector only, lanes left out or moved, and scales by a rounded logarithm."""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Callable, Sequence

import pytest
from diagnosing import defect, diagnosis, names

from softfloat_ref.diagnosis.defects import Faulty, replaced
from softfloat_ref.diagnosis.hypotheses import Inputs, Model, Output
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.blocks.scale_rules import WantedScale
from softfloat_ref.oracle.blocks.scales import wanted_scale
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.rounding_steps import Destination
from softfloat_ref.oracle.steps import Function, Traced
from softfloat_ref.units import DotUnit, MatmulUnit, QuantizeUnit, VectorUnit

BLOCKS = VectorSet.make("quantize", "fp8_e4m3@e8m0/8", 200)
VALUES = VectorSet.make("dequantize", "fp8_e4m3@e8m0/8", 100)
NORM = of_unit(VectorUnit.make("layer_norm", "bf16", length=4), 120)
MATMUL = of_unit(MatmulUnit(DotUnit.make("fp16", "fp32", "fp32-sequential", 4), 2, 2), 60)


def only(vectors: VectorSet, name: str, holds: Callable[[Value, Destination], bool]) -> Model:
    """A listed defect of the rounding, for some numbers only."""
    faulty = defect(vectors, name)
    assert isinstance(faulty, Faulty)
    (change,) = faulty.changes

    def wrong(here: Traced, right: Function, x: Value, r: int, to: Destination) -> object:
        return change.wrong(here, right, x, r, to) if x.significand and holds(x, to) else right(x, r, to)

    return Faulty(faulty.unit, (change._replace(wrong=wrong),))


def is_tiny(x: Value, to: Destination) -> bool:
    return exact.top(x) < to.fmt.emin


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("vectors", "name", "holds", "where"),
    [
        (BLOCKS, "sticky dropped", is_tiny, "the element is below the smallest normal number"),
        (BLOCKS, "sticky dropped", lambda x, to: x.sign, "the element is negative"),
        (
            BLOCKS,
            "guard one bit low",
            lambda x, to: exact.top(x) == 7,
            "the magnitude of the element before rounding is at least 2^7",
        ),
        (NORM, "sticky dropped", lambda x, to: x.sign, "the element is negative"),
    ],
    ids=["subnormal", "negative", "binade", "vector"],
)
def test_a_rounding_fault_of_some_elements(vectors: VectorSet, name: str, holds, where: str) -> None:  # type: ignore[no-untyped-def]
    """By size, sign and binade; in a quantizer and in a function of vectors, which raises flags."""
    d = diagnosis(vectors, only(vectors, name, holds))
    assert d.complete
    assert any(x.startswith(f"{name}, where {where}") for x in names(d))


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("lane", [0, 3, 7])
def test_a_rounding_fault_of_one_lane(lane: int) -> None:
    faulty = defect(BLOCKS, "sticky dropped")
    assert isinstance(faulty, Faulty)
    (change,) = faulty.changes
    d = diagnosis(BLOCKS, Faulty(faulty.unit, (change._replace(parts=(("elements", lane),)),)))
    assert d.complete
    assert f"sticky dropped, where the lane is {lane}" in names(d)


def always(vectors: VectorSet, first: int, lanes: Sequence[int], code: int) -> Model:
    places = {first + k for k in lanes}
    return lambda inputs: tuple(code if i in places else x for i, x in enumerate(vectors.unit.answer(inputs)))


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("vectors", "first", "lanes", "code", "name"),
    [
        (BLOCKS, 1, [7], 0, "the last lane = 00"),
        (BLOCKS, 1, [0], 0x38, "the first lane = 38"),
        (BLOCKS, 1, [4, 5, 6, 7], 0, "lanes 4 to 7 = 00"),
        (VectorSet.make("quantize", "mxfp4", 100), 1, [31], 0, "the last lane = 0"),
        (VALUES, 0, [2], 0, "lane 2 = 00000000"),
        (NORM, 0, [3], 0, "the last lane = 0000"),
        (MATMUL, 0, [1, 3], 0, "lanes 1, 3 = 00000000"),
    ],
)
def test_lanes_that_are_always_the_same(vectors: VectorSet, first: int, lanes: list[int], code: int, name: str) -> None:
    """The last, the first, a half and one lane; of every kind of unit with lanes."""
    d = diagnosis(vectors, always(vectors, first, lanes, code))
    assert d.complete
    assert names(d)[0] == name


@pytest.mark.parametrize("lane", [0, 7])
def test_a_lane_read_as_zero(lane: int) -> None:
    """The scale lacks it, too."""
    d = diagnosis(BLOCKS, lambda inputs: tuple(BLOCKS.unit.answer((*inputs[:lane], 0, *inputs[lane + 1 :]))))
    assert d.complete
    assert f"the {'last' if lane else 'first'} lane left out" in names(d)


@pytest.mark.parametrize(("vectors", "first"), [(BLOCKS, 1), (NORM, 0)], ids=["block", "vector"])
def test_a_lane_in_place_of_another(vectors: VectorSet, first: int) -> None:
    def model(inputs: Inputs) -> Output:
        codes = list(vectors.unit.answer(inputs))
        codes[first + 2] = codes[first]
        return tuple(codes)

    assert names(diagnosis(vectors, model)) == ["lane 0 for 2"]


# -- scales ------------------------------------------------------------------------------------------------------------


def in_fp32(x: float) -> float:
    return float(struct.unpack("f", struct.pack("f", x))[0])


def log2(x: float) -> float:
    return in_fp32(math.log2(x)) if x else -200.0


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("profile", "name", "exponent"),
    [
        (
            "torchao-rceil",
            "ceil(log2(amax / largest)) in fp32",
            lambda x: math.ceil(log2(in_fp32(x / 6))),
        ),
        ("torchao-ceil", "ceil(log2(amax)) in fp32", lambda x: math.ceil(log2(x)) - 2),
        ("torchao-floor", "floor(log2(amax)) in fp32", lambda x: math.floor(log2(x)) - 2),
    ],
)
def test_a_scale_by_a_logarithm_in_fp32(profile: str, name: str, exponent: Callable[[float], int]) -> None:
    vectors = of_unit(QuantizeUnit.make(get_block_format("mxfp4"), profile=profile), 150)

    def wanted(here: Traced, right: Function, amax: Value, *args: object) -> object:
        return WantedScale(exact.finite(0, 1, exponent(float(amax)))) if amax.significand else right(amax, *args)

    assert isinstance(vectors.unit, QuantizeUnit)
    d = diagnosis(vectors, Faulty(dataclasses.replace(vectors.unit), (replaced(wanted_scale, wanted),)))
    assert d.complete
    assert name in names(d)
