"""Ends of the range, normalisation and special operands gone wrong, alone and together, as in small units that treat
every code as a normal number.

Relatives: each end of the range with each thing that a field of some bits does there (wraps, goes on as a number,
counts as the other end, is zero); each kind of special operand taken for each other kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from diagnosing import diagnosis, names
from faulty_rounding import device

from softfloat_ref.diagnosis import report
from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE
from softfloat_ref.oracle.rounding import RNE, round_to_unit
from softfloat_ref.units import OperationUnit

FP16 = CATALOGUE["fp16"]
MUL = VectorSet.make("mul", "fp16", 1500)
UNIT = OperationUnit.make("mul", "fp16")
Stored = Callable[[int, int], "int | None"]  # an exponent field without limits and a fraction, to a magnitude


def rounded(x: Value) -> tuple[int, int, bool]:
    """The exponent field that a number needs, its fraction, and whether it is inexact."""
    top = exact.top(x)
    kept, lossy = round_to_unit(x.sign, x.significand, x.exponent - top + 10, x.significand.bit_length(), RNE, 0, 0)
    return (top + 15 + (kept >> 11), (kept >> kept // 2048) & 1023, lossy)


def storing(stored: Stored) -> Callable[[Value, int, int], tuple[int, int]]:
    """A rounding to FP16 that stores some results otherwise, with no flag but inexact."""

    def wrong(x: Value, code: int, flags: int) -> tuple[int, int]:
        if x.kind != FINITE or not x.significand:
            return code, flags
        field, fraction, lossy = rounded(x)
        magnitude = stored(field, fraction)
        return (code, flags) if magnitude is None else (x.sign << 15 | magnitude, int(lossy))

    return wrong


STORED: dict[str, Stored] = {
    "exponent wraps on overflow": lambda e, f: (e & 31) << 10 | f if e > 30 else None,
    "largest exponent a number": lambda e, f: 31 << 10 | f if e == 31 else None,
    "Inf with a fraction": lambda e, f: 31 << 10 | f if e > 30 else None,
    "overflow keeps its fraction": lambda e, f: 30 << 10 | f if e > 30 else None,
    "overflow is zero": lambda e, f: 0 if e > 30 else None,
    "exponent wraps on underflow": lambda e, f: (e & 31) << 10 | f if e < 1 else None,
    "exponent wraps": lambda e, f: (e & 31) << 10 | f if not 0 < e < 31 else None,
    "exponent 0 a number": lambda e, f: f if e == 0 else None,
    "negative exponent is zero": lambda e, f: 0 if e < 0 else None,
}


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("name", STORED)
def test_an_end_of_the_range(name: str) -> None:
    result = diagnosis(MUL, device(UNIT, change=storing(STORED[name])))
    assert result.complete
    assert name in names(result)


@pytest.mark.full
@pytest.mark.parametrize(
    "vectors",
    [
        VectorSet.make("convert", "fp32", 1000, out="fp8_e4m3"),
        VectorSet.make("convert", "fp32", 1000, out="fp8_e5m2"),
        VectorSet.make("mul", "binary8p3se", 1500),
        VectorSet.make("convert", "fp32", 1000, out="fp16", policy={"rounding": "sr", "sr_bits": 8}),
        VectorSet.make("mul", "fp16", 1000),
    ],
    ids=["e4m3", "e5m2", "p3109", "stochastic", "mul"],
)
def test_exponents_that_wrap_in_formats_of_every_kind(vectors: VectorSet) -> None:
    """One name for it, with the flags of an overflow, which saturates, becomes infinite or NaN elsewhere."""
    unit, fmt = vectors.unit, vectors.unit.out
    inner = OperationUnit(unit.op, unit.formats, replace(fmt, exponent_bits=9), unit.policy)

    def model(inputs: Inputs) -> Output:
        code, flags = unit.answer(tuple(inputs))
        low = inner.answer(tuple(inputs))[0]
        return (code & fmt.sign_bit | low & fmt.magnitude_mask if flags & 4 else code), flags

    result = diagnosis(vectors, model)
    assert result.complete
    assert names(result)[0] == "exponent wraps on overflow, flags kept"


@pytest.mark.full
@pytest.mark.parametrize(("name", "least"), [("negative exponent overflows", 0), ("exponent 0 overflows", 1)])
def test_exponents_compared_without_their_sign(name: str, least: int) -> None:
    def wrong(x: Value, code: int, flags: int) -> tuple[int, int]:
        tiny = x.kind == FINITE and x.significand and exact.top(x) < -14 and rounded(x)[0] < least
        return (x.sign << 15 | 0x7C00, 5) if tiny else (code, flags)

    result = diagnosis(MUL, device(UNIT, change=wrong))
    assert result.complete
    assert name in names(result)


def as_number(code: int) -> Value:
    return exact.finite(code >> 15, 1024 | code & 1023, (code >> 10 & 31) - 25)


READ: dict[str, Callable[[int, Value], Value]] = {
    "NaNs and infinities as numbers": lambda c, x: as_number(c) if x.kind in (NAN, INF) else x,
    "NaNs as numbers": lambda c, x: as_number(c) if x.kind == NAN else x,
    "infinities as numbers": lambda c, x: as_number(c) if x.kind == INF else x,
    "NaNs as infinities": lambda c, x: exact.inf(x.sign) if x.kind == NAN else x,
    "NaNs as zeros": lambda c, x: exact.zero(x.sign) if x.kind == NAN else x,
    "infinities as zeros": lambda c, x: exact.zero(x.sign) if x.kind == INF else x,
}


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("name", READ)
def test_special_operands_taken_for_others(name: str) -> None:
    decode = decoder(FP16)

    def reader(code: int) -> Value:
        return READ[name](code, decode(code))

    result = diagnosis(MUL, device(UNIT, [reader, reader]))
    assert result.complete
    assert f"{name} of every operand" in names(result)


# -- multipliers in integers -------------------------------------------------------------------------------------------


def fields(code: int) -> tuple[int, int, int]:
    return code >> 15, code >> 10 & 31, code & 1023


def unnormalised(inputs: Inputs) -> Output:
    """Truncates and flushes; subnormal operands have the exponent 0 and no leading one, and products of theirs are not
    normalised. Its results have no flags."""
    (s, e, f), (t, g, h) = map(fields, inputs)
    if 31 in (e, g):
        return UNIT.answer(tuple(inputs))[0], 0
    product = ((e > 0) << 10 | f) * ((g > 0) << 10 | h)
    carry, field = product >> 21, e + g - 15
    if not product or field + carry < 1:
        return (s ^ t) << 15, 0
    if field + carry > 30:
        return (s ^ t) << 15 | 0x7BFF, 0
    return (s ^ t) << 15 | field + carry << 10 | product >> 10 + carry & 1023, 0


def numbers_only(inputs: Inputs) -> Output:
    """Rounds to nearest, but knows neither NaN nor Inf: exponents wrap around, and only zeros are special."""
    (s, e, f), (t, g, h) = map(fields, inputs)
    if not e + f or not g + h:
        return (s ^ t) << 15, 0
    x = exact.finite(s ^ t, (1024 | f) * (1024 | h), e + g - 50)
    field, fraction, _ = rounded(x)
    return (s ^ t) << 15 | (field & 31) << 10 | fraction, 0


@pytest.mark.full
@pytest.mark.parametrize(
    ("model", "faults"),
    [
        (unnormalised, {"rounding = rtz", "not normalised, exponent 0"}),
        (numbers_only, {"NaNs and infinities as numbers of every operand", "exponent wraps"}),
    ],
)
def test_a_small_multiplier(model: Callable[[Inputs], Output], faults: set[str]) -> None:
    result = diagnosis(MUL, model, flags=False)
    several = result.several.faults if result.several else result.best
    named = ", ".join(f.hypothesis.name for f in several)
    assert all(name in named for name in faults)
    assert 50 * (result.examined - result.explained) <= result.wrong


def test_which_classes_are_left_open() -> None:
    """Subnormal operands with a hash are wrong: no fault does that."""
    right = UNIT.answer

    def model(inputs: Inputs) -> Output:
        code, flags = right(tuple(inputs))
        subnormal = any(0 < x & 0x7FFF < 0x400 for x in inputs)
        return (code ^ (inputs[0] * 40503 ^ inputs[1] * 9973) >> 5 & 0x3F0 if subnormal else code), flags

    result = diagnosis(MUL, model)
    row = next(x for x in report.lines(result, UNIT) if " by operands: " in x)
    assert "none of " in row
    assert "with normal numbers only" in row
    assert " with a subnormal" in row
