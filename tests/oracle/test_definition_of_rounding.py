"""`encode` against the definition: on, just below and just above every code and midpoint."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
from definition import UNBOUNDED, Line, expected, magnitude, past_the_end, successor
from gmpy2 import mpq
from volume import FULL

from softfloat_ref.oracle.codec import encoder
from softfloat_ref.oracle.exact import finite
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import ROUNDINGS, Overflow, Policy

P3109 = [f"binary{k}p{p}{s}{d}" for k in range(3, 9) for s in "su" for d in "ef" for p in range(1, k + (s == "u"))]
IEEE = [f"s1e{e}m{m}" for e in range(1, 7) for m in range(8 - e) if (e, m) != (1, 0)]
OTHERS = [
    "s0e4m3",
    "s0e5m2",
    "s1e4m1fn",
    "s1e5m0fn",
    "s1e3m2fnuz",
    "s1e3m0finite",
    "s0e3m2finite",
    "s0e6m0fn",
    "s1e4m2b-3",
    "s1e3m3b20",
    "i5",
    "u5",
    "i8",
    "u8",
]
SMALL = [f for f in CATALOGUE.values() if f.width <= 8] + [get_format(n) for n in (*P3109, *IEEE, *OTHERS)]
SMALL += [  # no subnormals, three ways: as dlfloat16, exponent 0 all zero, and without a zero
    Format("gap", 4, 2, 7, nan="top", infinity=False, subnormals="normal", overflow="nan"),
    Format("none", 4, 2, 7, subnormals="none"),
    Format(
        "nozero", 5, 2, 15, signed=False, nan="top", infinity=False, zero=False, subnormals="normal", overflow="nan"
    ),
]
TINY = mpq(1, 1 << 300)
N = 3  # random bits


def around(values: list[mpq]) -> Iterator[mpq]:
    """Every value and midpoint, with a hair to each side; and well past the end."""
    points = list(values) + [(a + b) / 2 for a, b in itertools.pairwise(values)]
    points += [values[0] / 2, values[0] / 4, values[-1] * 2, values[-1] * 1000]
    for x in points:
        for y in (x, x + TINY, x - TINY):
            if y > 0:
                yield y


def check(fmt: Format, line: Line, given: list[mpq], negative: bool) -> int:
    compared = 0
    for turn, mode in enumerate(ROUNDINGS):
        n = N if mode.startswith("sr") else 0
        every = [(x, as_value(x, negative), number % (1 << n)) for number, x in enumerate(given)]
        for tininess in ("after", "before"):
            tried = every if FULL else every[turn % 2 :: 2]  # half of the inputs under one rule, half under the other
            turn += 1
            inputs, values, words = zip(*tried, strict=True)
            results = [
                expected(x, negative, line, fmt, mode, n, r, tininess) for x, r in zip(inputs, words, strict=True)
            ]
            for place, overflow in enumerate(Overflow):
                policy = Policy(mode, overflow, tininess=tininess, sr_bits=n or None)
                encode = encoder(fmt, policy)
                past = past_the_end(fmt, overflow, mode, negative), 0x10 if fmt.is_integer else 0x05
                for number, (value, r, result) in enumerate(zip(values, words, results, strict=True)):
                    if result[0] != UNBOUNDED and (number - place) % len(Overflow) and not FULL:
                        continue  # in range, where overflow has no say: under one of its values each
                    wanted = past if result[0] == UNBOUNDED else result
                    assert encode(value, r) == wanted, (fmt.name, policy, value, r)
                    compared += 1
    return compared


def as_value(x: mpq, negative: bool):  # type: ignore[no-untyped-def]
    return finite(int(negative), int(x.numerator), 1 - x.denominator.bit_length())


@pytest.mark.full(keep=12)
@pytest.mark.parametrize("fmt", SMALL, ids=lambda f: f.name)
def test_every_code_and_midpoint(fmt: Format) -> None:
    compared = 0
    for negative in (False, True):
        if negative and not fmt.zero:
            continue  # E8M0's signs: test_overflow.py
        line = Line.of(fmt, negative)
        compared += check(fmt, line, list(around(line.values)), negative)
    assert compared > 100


@pytest.mark.parametrize("mode", [m for m in ROUNDINGS if m.startswith("sr")])
@pytest.mark.parametrize("name", ["fp8_e4m3", "binary8p4se"])
def test_every_fraction_with_every_random_word(name: str, mode: str) -> None:
    """Between subnormal, normal and the largest values: fractions of twice the steps of the random word, with a hair to
    each side."""
    fmt = get_format(name)
    encode = encoder(fmt, Policy(mode, sr_bits=N))
    for negative in (False, True):
        line = Line.of(fmt, negative)
        for lower in (0, 1, 2, fmt.min_normal_code, 41, fmt.max_code - 1):
            a, b = line.values[lower : lower + 2]
            fractions = [a + (b - a) * k / (2 << N) for k in range(2 << N)]
            for x in (y for f in fractions for y in (f - TINY, f, f + TINY) if y > a):
                for r in range(1 << N):
                    wanted = expected(x, negative, line, fmt, mode, N, r)
                    assert encode(as_value(x, negative), r) == wanted, (x, negative, r)


@pytest.mark.parametrize("name", ["fp16", "bf16", "dlfloat16", "tf32"])
def test_samples_of_larger_formats(name: str) -> None:
    """A window of neighbouring codes at each end and at random places, as a line of its own."""
    fmt = get_format(name)
    rng = random.Random(name)
    windows = [0, fmt.min_normal_code - 2, fmt.max_code - 5, *(rng.randrange(fmt.max_code - 6) for _ in range(12))]
    for start in windows:
        first = max(start, 0)
        codes = range(first, min(first + 6, fmt.max_code) + 1)
        for negative in (False, True):
            line = window(fmt, codes, negative)
            inputs = [x for x in around(line.values) if line.values[0] <= x < line.values[-1]]
            assert check(fmt, line, inputs, negative) > 100


def window(fmt: Format, codes: range, negative: bool) -> Line:
    values = [magnitude(c, fmt) for c in codes]
    last = codes[-1] == fmt.max_code
    sign = fmt.sign_bit if negative else 0
    full = [c | sign for c in codes]
    return Line([*values, successor(values[-1], fmt)], [*full, UNBOUNDED if last else full[-1] + 1])
