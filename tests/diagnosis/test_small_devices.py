"""Small converters, adders and multipliers in integers, as people write them, with several faults at once: each is
named, and nothing else.

Chosen: what such a circuit leaves out (subnormals, NaNs, signs of zeros, saturation, low bits) in each of a converter,
an adder and a multiplier; relatives of a carry that wraps: every integer width and sign.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from diagnosing import diagnosis, names

from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.golden.sets import VectorSet

Device = Callable[[Inputs], Output]
TO_I16 = VectorSet.make("convert", "fp32", 2000, out="i16")
TO_E4M3 = VectorSet.make("convert", "fp32", 2000, out="fp8_e4m3")
ADD = VectorSet.make("add", "fp8_e4m3", 2000)
MUL = VectorSet.make("mul", "fp8_e4m3", 1500)


def named_faults(vectors: VectorSet, model: Device) -> set[str]:
    """The names of all faults; every case must be explained."""
    result = diagnosis(vectors, model, flags=False)
    assert result.explained == result.examined
    return set(names(result)[:1]) if result.several is None else {f.hypothesis.name for f in result.several.faults}


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    "vectors",
    [TO_I16, *(VectorSet.make("convert", fmt, 2000, out=out) for fmt, out in [("fp32", "i8"), ("fp64", "i32")])],
    ids=["i16", "i8", "i32"],
)
@pytest.mark.parametrize("flags", [False, True])
def test_a_carry_of_rounding_that_wraps(vectors: VectorSet, flags: bool) -> None:
    """32767.5 becomes -32768: no integer is as x86 has it, and no other is wrong."""
    lowest = vectors.unit.out.sign_bit
    floor = VectorSet.make("convert", vectors.unit.formats[0].name, 1, out="i64", policy={"rounding": "rdn"}).unit

    def model(inputs: Inputs) -> Output:
        code, raised = vectors.unit.answer(tuple(inputs))
        fits = floor.answer(tuple(inputs))[0] == lowest - 1
        return (lowest, 1) if fits and raised & 16 else (code, raised)

    result = diagnosis(vectors, model, flags=flags)
    assert result.complete
    assert names(result)[0] == "integer carry wraps"


def converter(overflow: str, up: Callable[[int, int, int], int]) -> Device:
    """FP32 to E4M3: subnormals are zeros, zeros are positive, NaNs are numbers."""

    def model(inputs: Inputs) -> Output:
        s, e, f = inputs[0] >> 31, (inputs[0] >> 23 & 255) - 120, inputs[0] & 0x7FFFFF
        if e <= 0:
            return 0, 0
        k = (f >> 20) + up(f >> 20 & 1, f >> 19 & 1, int(f & 0x7FFFF > 0))
        e, k = e + (k >> 3), k & 7
        if e > 15 or (e == 15 and k == 7 and overflow == "saturates"):
            wrong = {"saturates": 0x7E, "wraps": (e & 15) << 3 | k, "limited": 0x78 | k}[overflow]
            return s << 7 | wrong, 0
        return s << 7 | e << 3 | k, 0

    return model


def to_even(odd: int, guard: int, sticky: int) -> int:
    return guard & (sticky | odd)


TINY = {"zero without sign", "FTZ, flags kept"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("model", "faults"),
    [
        (converter("saturates", to_even), {*TINY, "NaNs as numbers"}),
        (converter("wraps", to_even), {*TINY, "NaNs and infinities as numbers", "exponent wraps on overflow"}),
        (converter("limited", to_even), {*TINY, "NaNs and infinities as numbers", "overflow keeps its fraction"}),
    ],
    ids=["saturates", "wraps", "limited"],
)
def test_a_converter(model: Device, faults: set[str]) -> None:
    assert named_faults(TO_E4M3, model) == faults


def adder(guard: int, sticky: bool, up: Callable[[int, int, int], int]) -> Device:
    """E4M3: subnormals are zeros, zeros are positive, the code of NaN is a number; saturates."""

    def model(inputs: Inputs) -> Output:
        big, small = sorted((x & 0x7F, x >> 7) for x in inputs)[::-1]
        (x, s), (y, t) = big, small
        e, d = x >> 3, (x >> 3) - (y >> 3)
        m, n = ((8 | c & 7) << guard if c >> 3 else 0 for c in (x, y))
        n = n >> d | int(sticky and n & (1 << d) - 1 > 0)
        total = m + n if s == t else m - n
        if not total:
            return 0, 0
        if total >> 4 + guard:
            total, e = total >> 1 | (total & 1 if sticky else 0), e + 1
        while not total >> 3 + guard and e > 0:
            total, e = total << 1, e - 1
        if e <= 0:
            return 0, 0
        truncated, rest = total >> guard, total & (1 << guard) - 1
        half = 1 << guard >> 1
        truncated += up(truncated & 1, int(rest & half > 0), int(rest & half - 1 > 0)) if guard else 0
        e, truncated = e + (truncated >> 4), truncated >> (truncated >> 4)
        return s << 7 | min(e << 3 | truncated & 7, 0x7E), 0

    return model


NO_SUBNORMALS = {"flush_outputs = on", "flush_inputs = on", "zero without sign"}
NO_NAN = "fp8_e4m3 operands as its finite twin"


@pytest.mark.full(gate=1)
@pytest.mark.parametrize(
    ("model", "faults"),
    [
        (adder(3, True, to_even), {*NO_SUBNORMALS, NO_NAN}),
        (adder(3, False, to_even), {*NO_SUBNORMALS, NO_NAN, "smaller addend cut 3 places below the larger"}),
        (
            adder(3, False, lambda *_: 0),
            {*NO_SUBNORMALS, NO_NAN, "rounding = rtz", "smaller addend cut 3 places below the larger"},
        ),
    ],
    ids=["right", "no sticky bit", "truncates"],
)
def test_an_adder(model: Device, faults: set[str]) -> None:
    """Six faults at most: each by itself, none as a part of some machine's policy."""
    assert named_faults(ADD, model) == faults


def multiplier(flushes: bool) -> Device:
    """E4M3: truncates, exponents wrap around, the code of NaN is a number."""

    def model(inputs: Inputs) -> Output:
        a, b = inputs
        s = (a ^ b) & 0x80
        if any(not x & (0x78 if flushes else 0x7F) for x in inputs):
            return s, 0
        product = (8 | a & 7) * (8 | b & 7)
        carry = product >> 7
        e = (a >> 3 & 15) + (b >> 3 & 15) - 7 + carry
        return s | (e & 15) << 3 | product >> 3 + carry & 7, 0

    return model


@pytest.mark.full
@pytest.mark.parametrize(
    ("flushes", "of_subnormals"),
    [(True, "flush_inputs = on"), (False, "subnormals as normal of every operand")],
)
def test_a_multiplier(flushes: bool, of_subnormals: str) -> None:
    assert named_faults(MUL, multiplier(flushes)) == {"rounding = rtz", "exponent wraps", of_subnormals, NO_NAN}
