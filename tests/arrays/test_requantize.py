"""Requantized arrays are the oracle's answers: every rule, channels, numbers that do not fit int64."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from requantize_definition import drawn_rules

import softfloat_ref as sf
from softfloat_ref.arrays import requantize as array_requantize
from softfloat_ref.arrays.kernels import dispatch
from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.coverage.requantize_cases import WORDS, drawn
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.requantization import RULES
from softfloat_ref.units import RequantizeUnit


def unit_of(name: str, **more: Any) -> RequantizeUnit:
    return RequantizeUnit.make("i48" if RULES[name].accumulator_bits == 48 else "i32", "i8", name, **more)


def lines(unit: RequantizeUnit, seed: int, count: int = 300) -> list[tuple[int, ...]]:
    """Cases at decisions, with their answers; scales are so small that products fit int64."""
    draw, found = random.Random(seed), []
    while len(found) < count:
        line = unit.line(drawn(unit, draw.getrandbits(64 * WORDS)))
        if line is not None and (unit.rule.has_shift or decode(line[1], unit.rule.multiplier).as_fraction() < 1 << 20):
            found.append(line)
    return found


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", RULES)
def test_arrays_are_the_oracle(name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the compiled loop and without."""
    monkeypatch.setattr(array_requantize, "use_compiled", lambda size: compiled)
    unit = unit_of(name)
    rows = np.array(lines(unit, 5), np.uint64)
    answers = unit.answers(rows[:, :-1])
    assert answers is not None
    assert answers.tolist() == rows[:, -1:].tolist()


@pytest.mark.parametrize(
    "rule",
    [
        "single,rounding=rtz",
        "single,rounding=rne,fraction=8,least_shift=-8,most_shift=7",
        "tflite,left=saturated,high=wrapped",
        "tflite,result=saturated,sum=wrapped",
        "single,multiplier=u16,fraction=16",
        "single,multiplier=bf16,rounding=rup",
        "onnxruntime,rounding=rna",
    ],
)
def test_rules_of_users(rule: str) -> None:
    unit = RequantizeUnit.make("i20", "u8", rule, clamped=True)
    rows = np.array(lines(unit, 6), np.uint64)
    answers = unit.answers(rows[:, :-1])
    assert answers is not None
    assert answers.tolist() == rows[:, -1:].tolist()


def test_what_is_left_to_the_oracle() -> None:
    assert RequantizeUnit.make("i64", "i8", "single").answers(np.zeros((3, 4), np.uint64)) is None
    assert unit_of("tflite").answers(np.array([[1, 1, 31, 0]], np.uint64)) is None  # undefined
    far = RequantizeUnit.make("i32", "i8", "single,fraction=0,shift=i8,most_shift=90")
    rows = np.array([[0x7FFFFFFF, 0x7FFFFFFF, 90, 0]], np.uint64)
    assert far.answers(rows) is None
    assert far.answer(rows[0].tolist()) == (127,)
    assert far.answers(np.array([[0, 0x7FFFFFFF, 60, 5]], np.uint64)).tolist() == [[5]]  # type: ignore[union-attr]


def test_shifts_beyond_a_word() -> None:
    """2^62 / 2^64 is no tie."""
    rule = "single,fraction=64,least_shift=-20,rounding=rna"
    unit = RequantizeUnit.make("i32", "i8", rule, "zero_point=0")
    rows = np.array([[0x80000000, 0x80000000, s & 63] for s in (2, 1, 0, -1)], np.uint64)
    assert unit.answers(rows).tolist() == [[1], [1], [0], [0]]  # type: ignore[union-attr]
    assert [list(unit.answer(row)) for row in rows.tolist()] == [[1], [1], [0], [0]]


def test_channels() -> None:
    """One multiplier, shift and zero point for each channel, or one for all."""
    draw = np.random.default_rng(1)
    sums = draw.integers(-(1 << 20), 1 << 20, (3, 4, 2)).astype(np.int32)
    multipliers, shifts = draw.integers(1 << 30, 1 << 31, 4), draw.integers(-14, -8, 4)
    found = sf.affine.requantize(sums, multipliers, shifts, -3, rule="tflite", axis=1)
    assert found.dtype == np.int8
    unit = unit_of("tflite")
    for (i, c, j), x in np.ndenumerate(sums):
        codes = [int(x) % (1 << 32), int(multipliers[c]), int(shifts[c]) % 64, 253]
        assert unit.answer(codes) == (int(found[i, c, j]) % 256,)
    assert (sf.affine.requantize(sums, multipliers, shifts, -3, rule="tflite", axis=-2) == found).all()
    assert (sf.affine.requantize(sums[:, 1], multipliers[1], shifts[1], -3, rule="tflite") == found[:, 1]).all()


def test_scales_and_ranges() -> None:
    sums = np.array([[100, -100, 5], [7, 1 << 30, -3]])
    found = sf.affine.requantize(
        sums, np.array([0.5, 0.25, 0.5], np.float32), None, 10, to="u8", rule="onnxruntime", axis=1
    )
    assert found.tolist() == [[60, 0, 12], [14, 255, 8]]
    assert sf.affine.requantize(sums, 0.5, zero_point=10, to="u8", rule="onnx-reference", low=10, high=40).max() == 40
    wide = sf.affine.requantize([1 << 40, -5], 1 << 30, -16, to="i32", fmt="i48", rule="tflite-int64")
    assert (wide.dtype, wide.tolist()) == (np.int32, [1 << 23, 0])
    assert sf.affine.requantize(np.int32(7984), 1583594044, -9, rule="tflite").tolist() == 12
    assert sf.affine.requantize([], 1, 0).tolist() == []


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        (([1.5], 1, 0), {}, "accumulators must be integers"),
        (([1 << 31], 1, 0), {}, "accumulators must fit i32"),
        (([1], 1 << 31, 0), {}, "multiplier must fit i32"),
        (([1], 1, 32), {}, "shift must fit i6"),
        (([1], 1, 31), {}, "no result is defined: rule single takes shifts from -31 to 30"),
        (([1], 1, 0, 128), {}, "zero_point must fit i8"),
        (([1], 1), {}, "rule single needs a multiplier and a shift"),
        (([1], 0.5, 0), {"rule": "onnx-reference"}, "rule onnx-reference takes a scale, without a shift"),
        (([1], -0.5), {"rule": "onnx-reference"}, "a scale must be a positive finite number"),
        (([[1, 2]], [1, 2, 3], 0), {"axis": 1}, "give one parameter for each of the 2 channels"),
        (([1, 2], [1, 2, 3], 0), {}, "cannot be broadcast"),
        (([1], [1, 2, 3], 0), {}, "the parameters have shape"),
        (([1], 1, 0), {"low": 3, "high": 2}, "the lower end of the range is above"),
        (([1], -1, 0), {"rule": "tosa"}, "takes shifts from 2"),
        (([1 << 30], 1 << 30, 2), {"rule": "tflite-single"}, "does not fit 32 bits"),
    ],
)
def test_what_is_refused(arguments: tuple[Any, ...], more: dict[str, Any], message: str) -> None:
    with pytest.raises(Error, match=message):
        sf.affine.requantize(*arguments, **more)


@pytest.mark.full
def test_a_large_array_is_compiled() -> None:
    size = max(dispatch.COMPILED_AFTER, 1 << 16) + 5
    draw = random.Random(2)
    sums = np.random.default_rng(3).integers(-(1 << 31), 1 << 31, size)
    found = sf.affine.requantize(sums, 1583594044, -22, 7, rule="tflite")
    unit = RequantizeUnit.make("i32", "i8", "tflite", "multiplier=1583594044,shift=-22,zero_point=7")
    for i in draw.sample(range(size), 500):
        try:
            assert unit.answer([int(sums[i]) % (1 << 32)]) == (int(found[i]) % 256,)
        except Undefined:
            pytest.fail("a case without a result")


def test_drawn_rules() -> None:
    """Every field of rules, on random codes, where a case has a result."""
    draw, compared = random.Random(4), 0
    for rule in drawn_rules(9, 60):
        unit = RequantizeUnit.make(
            draw.choice(["i8", "u8", "i11"]), draw.choice(["i6", "u6", "i13"]), rule, clamped=True
        )
        cases = [[draw.getrandbits(f.width) >> draw.choice([0, 0, 2]) for f in unit.inputs] for _ in range(40)]
        rows = np.array([line for case in cases if (line := unit.line(case)) is not None], np.uint64)
        answers = unit.answers(rows[:, :-1]) if len(rows) else None
        if answers is not None:
            assert answers.tolist() == rows[:, -1:].tolist(), rule
            compared += len(rows)
    assert compared > 200
