"""ml_dtypes' types (0.6.0) against the same formats here: every code decoded; every boundary and many inputs encoded.

Inputs are float32: from float64, ml_dtypes rounds twice. It rounds to nearest even and overflows as sat-none does, in
every type. It departs from the numerics contract in what `Type` and the tests named after it say:
it keeps the sign of a NaN, its own and one that overflow makes; where a type has no NaN, it gives a zero of the other
sign; above 2^-127 it rounds a subnormal to E8M0 up too soon; to integers it cuts as C does.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import ml_dtypes
import numpy as np
import pytest

from softfloat_ref.oracle.codec import decode, encode, encoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.oracle.rounding import Rounding

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

RANDOM = 100_000  # float32 bit patterns beside the boundaries


@dataclass(frozen=True)
class Type:
    """What ml_dtypes does in a type: its overflow rule, and the NaN it makes of a NaN.

    signed: the canonical one, with the sign of the input (of a negative overflow too); only: the only one there is;
    zero: -0 for a positive one, +0 for a negative one.
    """

    overflow: Literal["sat-none", "sat-finite"]
    nan: Literal["signed", "only", "zero"]


FLOATS = {
    "bfloat16": Type("sat-none", "signed"),
    "float8_e5m2": Type("sat-none", "signed"),
    "float8_e4m3": Type("sat-none", "signed"),
    "float8_e3m4": Type("sat-none", "signed"),
    "float8_e4m3fn": Type("sat-none", "signed"),
    "float8_e4m3fnuz": Type("sat-none", "only"),
    "float8_e5m2fnuz": Type("sat-none", "only"),
    "float8_e4m3b11fnuz": Type("sat-none", "only"),
    "float8_e8m0fnu": Type("sat-none", "only"),
    "float6_e3m2fn": Type("sat-none", "zero"),
    "float6_e2m3fn": Type("sat-none", "zero"),
    "float4_e2m1fn": Type("sat-none", "zero"),
}
INTEGERS = ("int1", "int2", "int4", "uint1", "uint2", "uint4")
COMPLEX = ("bcomplex32", "complex32")  # pairs, no scalar format


def dtype(name: str) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def unsigned(name: str) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if dtype(name).itemsize == 2 else np.uint8


def test_every_type_is_here() -> None:
    scalars = [n for n in dir(ml_dtypes) if isinstance(t := getattr(ml_dtypes, n), type) and issubclass(t, np.generic)]
    assert sorted(scalars) == sorted((*FLOATS, *INTEGERS, *COMPLEX))


def all_values(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What ml_dtypes takes each code for."""
    codes = np.arange(1 << get_format(name).width).astype(unsigned(name))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return codes.view(dtype(name)).astype(np.float64)


def float64_bits(x: float) -> bytes:
    return struct.pack(">d", x)


@pytest.mark.parametrize("name", FLOATS)
def test_decode_every_code(name: str) -> None:
    fmt = get_format(name)
    for code, theirs in enumerate(all_values(name).tolist()):
        ours = decode(code, fmt)
        assert ours.is_nan == math.isnan(theirs), (name, code)
        assert ours.is_nan or float64_bits(float(ours)) == float64_bits(theirs), (name, code)


@pytest.mark.parametrize("name", INTEGERS)
def test_decode_every_integer(name: str) -> None:
    fmt = get_format(name)
    codes = np.arange(1 << fmt.width, dtype=np.uint8)
    theirs = codes.view(dtype(name)).astype(np.int32).tolist()
    assert theirs == [decode(code, fmt).as_fraction() for code in codes.tolist()]


# -- encode ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def random_inputs() -> tuple[Floats, list[Value]]:
    """Random bit patterns: every exponent, subnormals, Inf, NaNs of both kinds and signs."""
    bits = np.random.default_rng(754).integers(0, 1 << 32, RANDOM, dtype=np.uint32)
    bits[:8] = 0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001
    x = bits.view(np.float32)
    return x, values(x)


def values(x: Floats) -> list[Value]:
    """The inputs, exactly; from their bits, since a float64 would lose that a NaN signals."""
    return [decode(bits, "fp32") for bits in x.view(np.uint32).tolist()]


def boundary_inputs(name: str) -> Floats:
    """Each code's value, the midpoints, half the smallest and past the largest, and their float32 neighbours."""
    x = all_values(name)
    x = np.unique(x[np.isfinite(x)])
    gaps = np.diff(x)
    points = np.concatenate(
        [
            x,
            x[:-1] + gaps / 2,
            [x[0] - gaps[0] / 2, x[0] - gaps[0], x[-1] + gaps[-1] / 2, x[-1] + gaps[-1], 2.0**-128, 0.0, -0.0],
        ]
    )
    with np.errstate(all="ignore"):
        exact = points.astype(np.float32)
        return np.concatenate([exact, *(np.nextafter(exact, np.float32(d)) for d in (np.inf, -np.inf))])


def cast(x: Floats, name: str) -> list[int]:
    with np.errstate(all="ignore"):
        return [int(code) for code in x.astype(dtype(name)).view(unsigned(name)).tolist()]


def expected(x: Value, ours: int, name: str) -> int:
    """What ml_dtypes gives where the contract gives `ours`."""
    fmt = get_format(name)
    if x.is_nan and FLOATS[name].nan == "zero":
        return 0 if x.sign else fmt.sign_bit
    if fmt.is_nan(ours) and FLOATS[name].nan == "signed":
        return ours | (fmt.sign_bit if x.sign else 0)
    if name == "float8_e8m0fnu" and rounds_up_too_soon(x):
        return 1
    return ours


def rounds_up_too_soon(x: Value) -> bool:
    """E8M0, between 2^-127 and 1.5 * 2^-127, the midpoint to its next value: ml_dtypes gives 2^-126."""
    return x.is_finite and 2.0**-127 < float(x) < 1.5 * 2.0**-127


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", FLOATS)
def test_encode(name: str) -> None:
    encode_value = encoder(get_format(name), Policy(overflow=Overflow(FLOATS[name].overflow)))
    boundary = boundary_inputs(name)
    for x, exact in ((boundary, values(boundary)), random_inputs()):
        for value, theirs in zip(exact, cast(x, name), strict=True):
            ours = encode_value(value, 0)[0]
            assert expected(value, ours, name) == theirs, (name, value, float(value), ours, theirs)


# -- where ml_dtypes departs from the contract -------------------------------------------------------------------------

QUIET = np.array([0x7FC00000, 0xFFC00000], np.uint32).view(np.float32)


@pytest.mark.parametrize(
    ("name", "theirs", "ours"),
    [
        ("bfloat16", [0x7FC0, 0xFFC0], 0x7FC0),
        ("float8_e5m2", [0x7E, 0xFE], 0x7E),
        ("float8_e4m3", [0x7C, 0xFC], 0x7C),
        ("float8_e3m4", [0x78, 0xF8], 0x78),
        ("float8_e4m3fn", [0x7F, 0xFF], 0x7F),
        ("float8_e4m3fnuz", [0x80] * 2, 0x80),
        ("float8_e5m2fnuz", [0x80] * 2, 0x80),
        ("float8_e4m3b11fnuz", [0x80] * 2, 0x80),
        ("float8_e8m0fnu", [0xFF] * 2, 0xFF),
        ("float6_e3m2fn", [0x20, 0x00], 0x1F),
        ("float6_e2m3fn", [0x20, 0x00], 0x1F),
        ("float4_e2m1fn", [0x8, 0x0], 0x7),
    ],
)
def test_nan(name: str, theirs: list[int], ours: int) -> None:
    """The contract has one canonical NaN, positive; or, where there is none, the largest value and invalid."""
    assert cast(QUIET, name) == theirs
    assert [encode(x, name) for x in QUIET] == [(ours, 0 if get_format(name).has_nan else 0x10)] * 2


def test_negative_overflow_of_e4m3fn() -> None:
    """ml_dtypes: the NaN with the sign; the contract: the canonical one."""
    x = np.array([465, -465, np.inf, -np.inf], np.float32)
    assert cast(x, "float8_e4m3fn") == [0x7F, 0xFF, 0x7F, 0xFF]
    assert [encode(v, "fp8_e4m3", Policy(overflow=Overflow.SAT_NONE)).bits for v in x] == [0x7F] * 4


def test_e8m0_just_above_its_smallest_value() -> None:
    """ml_dtypes rounds all of (2^-127, 2^-126) up; the contract rounds to nearest, so only from the midpoint on.

    Elsewhere they agree: ties go up, zero and negative numbers give NaN, what is below 2^-127 gives 00.
    """
    smallest = 0x00400000  # 2^-127 in float32
    bits = [0, 1, smallest // 2, smallest - 1, smallest, smallest + 1, 0x005FFFFF, 0x00600000, 0x007FFFFF, 0x00800000]
    x = np.array(bits, np.uint32).view(np.float32)
    assert cast(x, "float8_e8m0fnu") == [0xFF, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert [encode(v, "e8m0", Policy(overflow=Overflow.SAT_NONE)).bits for v in x] == [0xFF, 0, 0, 0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_cut_as_in_c(name: str) -> None:
    """ml_dtypes goes through a C int: toward zero, then the low bits; the contract holds at the nearest integer."""
    fmt = get_format(name)
    x: Floats = np.arange(-512, 512, dtype=np.float32) / np.float32(8)
    for value, theirs in zip(x.tolist(), cast(x, name), strict=True):
        ours, flags = encode(value, fmt, Policy(rounding=Rounding.RTZ))
        whole = math.trunc(value)
        assert theirs == whole & ((1 << fmt.width) - 1), (name, value)
        if flags & 0x10:
            assert decode(ours, fmt).as_fraction() != whole
        else:
            assert ours == theirs, (name, value)
