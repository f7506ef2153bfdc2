"""Functions that stand in place of some of the oracle's when it is read, against those."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.scales import largest_magnitude
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.symbolic.shortcuts import far_sum, largest_by_code
from softfloat_ref.symbolic.terms import subterms
from softfloat_ref.symbolic.units import _adders, circuit
from softfloat_ref.units import make_unit

FLOATS = [f for f in CATALOGUE.values() if f.signed and f.has_normals and f.exponent_bits and f.subnormals != "normal"]
FLOATS = [f for f in FLOATS if not f.explicit_bit]  # no format of blocks


@pytest.mark.parametrize("fmt", FLOATS, ids=lambda f: f.name)
def test_the_largest_code_is_the_largest_magnitude(fmt: Format) -> None:
    """Of each code with its neighbour in order, where the order could change, and of blocks of any codes."""
    words, decode = Random(1), decoder(fmt)
    codes = range(1 << fmt.width) if fmt.width <= 8 else [words.getrandbits(fmt.width) for _ in range(500)]
    blocks = [(x, x + 1 & (1 << fmt.width) - 1) for x in codes]
    blocks += [tuple(words.getrandbits(fmt.width) for _ in range(4)) for _ in range(300)]
    for block in [*blocks, ()]:
        values = [v for v in map(decode, block) if v.kind == FINITE and v.significand]
        largest, expected = largest_by_code(values, fmt), largest_magnitude(values)
        assert (largest is None) == (expected is None)
        if largest is not None and expected is not None:
            assert exact.compare(largest, expected) == 0, [f"{x:x}" for x in block]


@pytest.mark.parametrize("rounding", ["rne", "rna", "rtz", "rup", "rdn", "rto"])
def test_a_far_sum_is_rounded_as_the_exact_one(rounding: str) -> None:
    """Of fp8_e5m2 and numbers that are from a half to 1/64 of a unit in the sixth place below its last."""
    fmt, more = get_format("fp8_e5m2"), 6
    decode, encode = decoder(fmt), encoder(fmt, get_policy({"rounding": rounding}))
    finite = [v for v in map(decode, range(256)) if v.kind == FINITE]
    for large in finite:
        for small in [exact.zero(0), exact.zero(1)] + [
            exact.finite(sign, significand, large.exponent - more - below)
            for sign in (0, 1)
            for significand, below in ((1, 1), (1, 9), (3, 2), (7, 30))
        ]:
            for a, b, first in ((large, small, True), (small, large, False)):
                if large.significand or small.significand == 0:
                    total = far_sum(a, b, 0, first, more)
                    assert encode(total, 0) == encode(exact.add(a, b, 0), 0), (a, b)


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("fmt", [f.name for f in CATALOGUE.values() if f.width <= 8])
def test_sums_of_adders_are_rounded_as_the_exact_one(fmt: str) -> None:
    """Of any two numbers, and a result of the same format or of one with more or fewer bits, in three roundings."""
    words = Random(1)
    for out, rounding, n in product((fmt, "bf16", "fp8_e5m2"), ("rne", "rup", "sr"), (0, 2)):
        if (n > 0) == (rounding == "sr"):
            policy = {"rounding": rounding} | ({"sr_bits": n} if n else {})
            unit = make_unit("add", fmt, out=out, policy=policy)
            decode, encode = decoder(unit.formats[0]), encoder(unit.out, unit.policy)
            for function, place in _adders(unit).values():
                for _ in range(150):
                    a, b = (decode(words.getrandbits(unit.formats[0].width)) for _ in range(2))
                    if a.kind == b.kind == FINITE:
                        random, zero = words.getrandbits(max(n, 1)) if n else 0, words.getrandbits(1)
                        total, expected = function(a, b, zero, place), exact.add(a, b, zero)
                        assert total.is_zero == expected.is_zero
                        if not expected.is_zero:
                            assert encode(total, random) == encode(expected, random), (a, b)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("op", "fmt", "policy"),
    [
        ("add", "fp32", None),
        ("sub", "bf16", {"rounding": "rup", "tininess": "before"}),
        ("fma", "bf16", {"rounding": "rdn"}),
        ("fma", "fp64", "x86-sse"),
        ("fma", ("fp16", "fp16", "fp32"), {"rounding": "rto"}),
        ("fma", "tf32", {"rounding": "sr", "sr_bits": 7}),
        ("add", "fp128", {"rounding": "rtz"}),
    ],
)
def test_short_sums(op: str, fmt: Any, policy: Any) -> None:
    """With a sticky bit for the number far below: shorter, and the oracle's results and flags."""
    vectors = VectorSet.make(op, fmt, 1500, out=fmt[-1] if isinstance(fmt, tuple) else None, policy=policy)
    short = circuit(vectors.unit, short=True)
    assert max(t.width for t in subterms(short.roots)) < 500
    run = short.function()
    for inputs in vectors.inputs():
        assert run(inputs) == list(vectors.unit.answer(inputs)), [f"{x:x}" for x in inputs]


def test_sums_that_save_little_are_whole() -> None:
    unit = make_unit("fma", "fp16")
    assert circuit(unit, short=True).terms == circuit(unit).terms


@pytest.mark.full
def test_one_binade_beyond_is_no_code() -> None:
    """A profile in which Inf counts as 2^128: the largest magnitude is read as the oracle has it."""
    from softfloat_ref.symbolic.terms import evaluator

    unit = make_unit("quantize", "mxfp8_e4m3", profile="ocp,inf=binade")
    read = circuit(unit)
    for codes in ([0x7F800000] + [0] * 31, [0x7F7FFFFF] * 32, [0xFF800000, 0x7F7FFFFF] + [0x3F800000] * 30):
        outputs = evaluator(read.roots)({f"values_{i}": x for i, x in enumerate(codes)})
        assert tuple(outputs) == tuple(unit.answer(codes))
