"""Formats with a stored integer bit (x87's extf80): their definition, their codes, and operations on them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from core.samples import Sample, said, sample
from softfloat_ref.oracle import encodings
from softfloat_ref.oracle.codec import decoder, encode, encoder
from softfloat_ref.oracle.exact import finite
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.oracle.operations import evaluate
from softfloat_ref.oracle.policies import Policy, Unnormals, get_policy

EXTENDED = get_format("extf80")
# Each by itself is what a format with a stored integer bit may not be.
REFUSED: tuple[dict[str, Any], ...] = (
    {"signed": False},
    {"subnormals": "none"},
    {"nan": "top", "signaling": False},
    {"mantissa_bits": 1, "exponent_bits": 20, "signaling": False},
    {"overflow": "max"},
    {"exponent_bits": 1, "bias": 1},
    {"zero": False},
    {"p3109": True},
    {"exponent_bits": 11, "mantissa_bits": 51},  # 64 bits
)
ALLOWED: tuple[dict[str, Any], ...] = (
    {"exponent_bits": 11, "mantissa_bits": 52, "bias": 1023},  # 65 bits
    {"exponent_bits": 2, "mantissa_bits": 61, "bias": 1},
    {"exponent_bits": 3, "mantissa_bits": 60, "bias": 4},
)


def _codes(fmt: Format) -> Iterator[int]:
    """Every kind of exponent field beside every kind of significand, canonical or not."""
    m, top = fmt.mantissa_bits, (1 << fmt.exponent_bits) - 1
    fields = dict.fromkeys((0, 1, 2, 3, top // 2, top - 1, top))
    bit = 1 << m
    significands = (0, 1, 3, bit >> 7, bit >> 2 | 5, bit >> 1, bit - 1, bit, bit | 1, bit | bit >> 1, 2 * bit - 1)
    for sign, field, significand in itertools.product((0, 1), fields, significands):
        yield (sign << fmt.exponent_bits | field) << (m + 1) | significand


@sample
def stored_integer_bits() -> Sample:
    """The definitions that are refused; names of formats with other precisions; codes with and without the bit."""
    for changes in REFUSED + ALLOWED:
        yield changes, said(replace, EXTENDED, name="changed", **changes)
    for fmt in (EXTENDED, *(replace(EXTENDED, name="changed", **changes) for changes in ALLOWED)):
        yield [fmt.rounded_to(bits) for bits in (2, 10, fmt.mantissa_bits)], fmt.hidden
        for code in _codes(fmt):
            hidden = fmt.unstored(code)
            yield code, fmt.is_canonical(code), hidden, fmt.stored(hidden)
    half = get_format("fp16")
    yield [(half.unstored(code), half.stored(code), half.is_canonical(code)) for code in (0, 0x3C00, 0xFFFF)]
    carried = encoder(EXTENDED, Policy("sr", sr_bits=3))(finite(0, (1 << 67) - 1, 0))
    yield carried  # by default no random bits, with which nothing carries


@sample
def extended_precision() -> Sample:
    """extf80: codes whose integer bit is not as the exponent has it; roundings to fewer bits."""
    fmt = EXTENDED
    codes = [code | sign for row in encodings.magnitudes(fmt).values() for code in row for sign in (0, fmt.sign_bit)]
    codes += [x for code in codes[::5] if fmt.is_canonical(x := encodings.flipped(fmt, code))]
    codes += [encode(parse_number(text), fmt).bits for text in ("0", "-0", "1", "-1.5", "inf", "nan", "1e-4940")]
    policies = ["x87", "softfloat-8086", *({"like": "x87", "rounding_precision": n} for n in (64, 32))]
    for code in codes:
        yield encodings.kind_of(fmt, code), [decoder(fmt, f, x)(code) for f in (False, True) for x in Unnormals]
        for op, operands in (("sqrt", (code,)), ("class", (code,)), ("next_up", (code,)), ("add", (code, codes[-5]))):
            yield op, [said(evaluate, op, operands, fmt, None, get_policy(p)) for p in policies]
    for pair in itertools.product(codes[::3], codes[1::4]):
        for op in ("mul", "div", "lt", "total_order", "minimum"):
            yield op, [said(evaluate, op, pair, fmt, None, get_policy(p)) for p in policies[1:3]]
    for out in ("fp32", "i64", "fp128"):
        yield out, [said(evaluate, "convert", (code,), fmt, out, get_policy(p)) for code in codes for p in policies]
