"""Conversion and arithmetic against MPFR, through gmpy2: codes and flags, in formats that no processor has.

A gmpy2 context with MPFR's exponent range and `subnormalize` is an IEEE-style format. MPFR rounds the exact result
to p bits with an unbounded exponent and says on which side of it the result lies (the ternary value); its range check
and its subnormalization take that into account, so nothing is rounded twice, reciprocal square roots included.

MPFR's flags and IEEE 754's:
inexact, overflow, divide by zero: the same. Overflow is raised where the result rounded with unbounded exponent does
    not fit, whatever it then becomes.
underflow: MPFR raises it where the result of p bits is below the smallest normal, also where it is exact. With inexact
    it is IEEE's underflow, tininess detected after rounding. Asked toward zero, it says whether the exact result is
    tiny, which is IEEE's "before rounding".
invalid: MPFR raises it for every NaN result; so flags are compared where no operand is NaN.

MPFR differs in one result: rec_sqrt(-0) is +Inf where IEEE 754-2019 9.2.1 says -Inf.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import gmpy2
import pytest

from softfloat_ref.golden.cases import crossed, random_cases, specials
from softfloat_ref.oracle.codec import encode
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import get_policy

CASES = int(os.environ.get("MPFR_CASES", "5000"))  # per operation and group of formats

ROUNDINGS = {
    "rne": gmpy2.RoundToNearest,
    "rtz": gmpy2.RoundToZero,
    "rup": gmpy2.RoundUp,
    "rdn": gmpy2.RoundDown,
}
MODES = list(itertools.product(ROUNDINGS, ("after", "before")))
EXACT = gmpy2.context(precision=256)
INVALID, DIVIDE_BY_ZERO, OVERFLOW, UNDERFLOW, INEXACT = 0x10, 0x08, 0x04, 0x02, 0x01

# operation: what a context does for it
OPERATIONS: dict[str, tuple[int, Callable[[Any], Callable[..., Any]]]] = {
    "convert": (1, lambda c: c.plus),
    "add": (2, lambda c: c.add),
    "sub": (2, lambda c: c.sub),
    "mul": (2, lambda c: c.mul),
    "div": (2, lambda c: c.div),
    "rem": (2, lambda c: c.remainder),
    "fma": (3, lambda c: c.fma),
    "sqrt": (1, lambda c: c.sqrt),
    "recip": (1, lambda c: lambda x: c.div(1, x)),
    "rsqrt": (1, lambda c: lambda x: gmpy2.mpfr("-inf") if is_negative_zero(x, c) else c.rec_sqrt(x)),
    "scaleb": (2, lambda c: lambda x, n: c.mul_2exp(x, n) if n >= 0 else c.div_2exp(x, -n)),
}

# Biases that make everything a large integer or a tiny fraction, few exponents, no mantissa (and so no NaN).
UNUSUAL = ("s1e6m1b46", "s1e5m4b-3", "s1e3m2b20", "s1e2m6", "s1e8m13b100", "s1e12m9b4000", "s1e5m0", "s1e4m7b30")
GROUPS = {
    "half": ("fp16", "bf16"),
    "single": ("fp32", "tf32"),
    "double": ("fp64",),
    "eight": ("fp8_e5m2", "fp8_e3m4", "s1e4m3"),
    "quad": ("fp128",),
    "unusual": UNUSUAL,
}

# operand formats and result formats that differ: by arity
MIXED: dict[int, tuple[tuple[str, ...], ...]] = {
    1: (
        ("fp64", "fp32"),
        ("fp32", "bf16"),
        ("bf16", "s1e6m1b46"),
        ("tf32", "fp16"),
        ("fp16", "fp8_e5m2"),
        ("fp32", "fp8_e3m4"),
        ("s1e4m3", "s1e12m9b4000"),
        ("fp8_e5m2", "s1e5m0"),
        ("fp64", "s1e3m2b20"),
    ),
    2: (
        ("fp8_e5m2", "fp8_e3m4", "bf16"),
        ("fp8_e5m2", "fp8_e5m2", "fp8_e3m4"),
        ("fp64", "fp64", "fp32"),
        ("bf16", "fp32", "s1e6m1b46"),
        ("fp16", "s1e4m3", "tf32"),
        ("s1e5m4b-3", "s1e3m2b20", "fp16"),
    ),
    3: (
        ("fp8_e5m2", "fp8_e3m4", "fp32", "fp32"),
        ("s1e4m3", "s1e4m3", "fp16", "bf16"),
        ("fp16", "fp16", "fp32", "fp32"),
        ("bf16", "bf16", "fp32", "bf16"),
        ("fp64", "fp64", "fp64", "fp32"),
    ),
}


class Mpfr:
    """A format under a rounding as a gmpy2 context: the code and flags of a result."""

    def __init__(self, fmt: Format, rounding: str) -> None:
        p, self.m = fmt.mantissa_bits + 1, fmt.mantissa_bits
        self.lowest = 1 - fmt.bias  # the exponents as IEEE 754 counts them, significands in [1, 2)
        self.highest = (1 << fmt.exponent_bits) - 2 - fmt.bias
        self.infinity = ((1 << fmt.exponent_bits) - 1) << self.m
        self.sign = 1 << (fmt.exponent_bits + self.m)
        ranges = {"emin": self.lowest - p + 2, "emax": self.highest + 1, "subnormalize": True}
        self.context = gmpy2.context(precision=p, round=ROUNDINGS[rounding], **ranges)
        self.toward_zero = gmpy2.context(precision=p, round=gmpy2.RoundToZero, **ranges)

    def code(self, x: Any) -> int:
        if gmpy2.is_nan(x):  # a format without NaN gives its largest value
            return self.infinity | 1 << self.m >> 1 if self.m else self.infinity - 1
        sign = self.sign if gmpy2.is_signed(x) else 0
        if gmpy2.is_zero(x) or gmpy2.is_infinite(x):
            return sign if gmpy2.is_zero(x) else sign | self.infinity
        significand, exponent = map(int, x.as_mantissa_exp())
        significand = abs(significand)
        e = max(significand.bit_length() - 1 + exponent, self.lowest)
        shift = exponent - e + self.m
        kept = significand << shift if shift >= 0 else significand >> -shift
        return sign | ((e - self.lowest) << self.m) + kept

    def flags(self, tiny: bool) -> int:
        c = self.context
        raised = {
            INVALID: c.invalid,
            DIVIDE_BY_ZERO: c.divzero,
            OVERFLOW: c.overflow,
            UNDERFLOW: tiny and c.inexact,
            INEXACT: c.inexact,
        }
        return sum(flag for flag, is_raised in raised.items() if is_raised)

    def evaluate(self, make: Callable[[Any], Callable[..., Any]], tininess: str) -> Callable[..., tuple[int, int]]:
        c, z = self.context, self.toward_zero
        function, truncated = make(c), make(z)

        def run(*operands: Any) -> tuple[int, int]:
            c.clear_flags()
            code = self.code(function(*operands))
            if tininess == "after" or not c.inexact:
                return code, self.flags(c.underflow)
            z.clear_flags()
            truncated(*operands)
            return code, self.flags(z.underflow)

        return run


def is_negative_zero(x: Any, c: Any) -> bool:
    negative_zero = bool(gmpy2.is_zero(x) and gmpy2.is_signed(x))
    c.divzero = c.divzero or negative_zero
    return negative_zero


@lru_cache(maxsize=64)
def reader(fmt: Format) -> Callable[[int], Any]:
    """Codes to mpfr, from the definition of an IEEE-style format."""
    m, top = fmt.mantissa_bits, (1 << fmt.exponent_bits) - 1
    known: dict[int, Any] = {}

    def read(code: int) -> Any:
        if code not in known:
            known[code] = convert(code)
        return known[code]

    def convert(code: int) -> Any:
        field, fraction = code >> m & top, code & ((1 << m) - 1)
        if field == top:
            x = gmpy2.mpfr("nan" if fraction else "inf")
        else:
            significand = EXACT.plus(gmpy2.mpz(fraction | (1 << m if field else 0)))
            power = max(field, 1) - fmt.bias - m
            x = EXACT.mul_2exp(significand, power) if power >= 0 else EXACT.div_2exp(significand, -power)
        return EXACT.minus(x) if code >> (fmt.width - 1) else x

    def read_integer(code: int) -> int:
        return code - (1 << fmt.width) if code >> (fmt.width - 1) else code

    return read_integer if fmt.is_integer else read


def compare(op: str, operands: Sequence[str], out: str, count: int) -> int:
    """Cases through both, over the roundings and both tininess rules: how many were compared."""
    sig = signature(op, operands, out)
    readers = [reader(f) for f in sig.formats]
    compared = 0
    for number, (rounding, tininess) in enumerate(MODES):
        ours = evaluator(sig, get_policy(rounding=rounding, tininess=tininess))
        theirs = Mpfr(sig.out, rounding).evaluate(OPERATIONS[op][1], tininess)
        share = -(-count // len(MODES))
        directed = itertools.islice(crossed(sig.formats), number % 5, share // 2 * 5, 5)
        for case in itertools.chain(directed, random_cases(sig.formats, number, share)):
            values = [read(code) for read, code in zip(readers, case, strict=True)]
            expected, got = theirs(*values), ours(case, 0)
            if any(gmpy2.is_nan(x) for x in values):
                assert got[0] == expected[0], (op, operands, out, rounding, case)
            else:
                assert got == expected, (op, operands, out, rounding, tininess, case, got, expected)
            compared += 1
    return compared


def operand_formats(op: str, name: str) -> tuple[str, ...]:
    """One format for all operands; scaleb's exponents in few bits, so that many results are in range."""
    if op == "scaleb":
        return name, "i12" if get_format(name).exponent_bits > 8 else "i8"
    return (name,) * OPERATIONS[op][0]


@pytest.mark.full(keep=7)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("op", [name for name in OPERATIONS if name != "convert"])
def test_operation_within_a_format(op: str, group: str) -> None:
    share = -(-CASES // len(GROUPS[group]))
    assert sum(compare(op, operand_formats(op, name), name, share) for name in GROUPS[group]) >= CASES


@pytest.mark.parametrize("op", OPERATIONS)
def test_operation_between_formats(op: str) -> None:
    lines = MIXED[OPERATIONS[op][0]]
    share = -(-CASES // len(lines))
    compared = 0
    for *operands, out in lines:
        compared += compare(op, [operands[0], "i8"] if op == "scaleb" else operands, out, share)
    assert compared >= CASES


# -- encode: numbers that need not be codes of any format --------------------------------------------------------------


def boundaries(fmt: Format, rng: random.Random, count: int) -> Iterator[Fraction]:
    """Values of codes, special ones first, the midpoints above them, and a hair to each side of both."""
    read, unit = reader(fmt), Fraction(2) ** (1 - fmt.bias - fmt.mantissa_bits)
    top = fmt.max_code
    codes = [c & fmt.magnitude_mask for c in specials(fmt)] + [rng.randrange(top + 1) for _ in range(count)]
    for code in codes:
        if code > top:
            continue
        low = Fraction(*map(int, read(code).as_integer_ratio()))
        step = max(unit, Fraction(2) ** ((code >> fmt.mantissa_bits) - 1) * unit)
        point = rng.choice((low, low + step / 2, low + step))
        hair = step / rng.choice((3, 1 << 20, 1 << 200, (1 << 200) - 1))
        yield rng.choice((1, -1)) * (point + rng.choice((0, hair, -hair)))


def rationals(fmt: Format, rng: random.Random) -> Iterator[Fraction]:
    """Random quotients, from well below the smallest subnormal to well past the largest finite value."""
    low, high = 1 - fmt.bias - fmt.mantissa_bits - 4, (1 << fmt.exponent_bits) + 2 - fmt.bias
    while True:
        power = Fraction(2) ** rng.randint(low, high)
        yield rng.choice((1, -1)) * Fraction(rng.getrandbits(70) | 1, rng.getrandbits(70) | 1 << 69) * power


def doubles(rng: random.Random) -> Iterator[float]:
    """Random bit patterns of fp64 without NaN, half of them near 1."""
    while True:
        sign, field = rng.choice((1.0, -1.0)), rng.choice((rng.randrange(2047), rng.randrange(983, 1063)))
        yield from (0.0, -0.0, float("inf"), -float("inf")) if rng.random() < 0.01 else ()
        yield sign * float.fromhex(f"0x{int(field > 0)}.{rng.getrandbits(52):013x}p{max(field, 1) - 1023}")


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("group", GROUPS)
def test_encode(group: str) -> None:
    compared = 0
    for name in GROUPS[group]:
        fmt = get_format(name)
        rng = random.Random(name)
        share = -(-CASES // len(GROUPS[group]) // len(MODES))
        for rounding, tininess in MODES:
            policy = get_policy(rounding=rounding, tininess=tininess)
            theirs = Mpfr(fmt, rounding).evaluate(as_mpfr, tininess)
            inputs: Iterator[Fraction | float] = itertools.chain(
                boundaries(fmt, rng, share // 2),
                itertools.islice(rationals(fmt, rng), share // 4),
                itertools.islice(doubles(rng), share // 4 + 1),
            )
            for x in inputs:
                assert encode(x, fmt, policy) == theirs(x), (name, rounding, tininess, x)
                compared += 1
    assert compared >= CASES


def as_mpfr(context: Any) -> Callable[[Fraction | float], Any]:
    """A number rounded by a context, once (gmpy2's own conversion of a float ignores a precision of 1)."""

    def convert(x: Fraction | float) -> Any:
        if isinstance(x, float) and (x == 0 or math.isinf(x)):
            return context.plus(gmpy2.mpfr(x))
        return gmpy2.mpfr(gmpy2.mpq(*x.as_integer_ratio()), 0, context)

    return convert
