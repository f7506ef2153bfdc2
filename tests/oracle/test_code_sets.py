"""Sets of codes as ranges: every code of every narrow format against its decoded value and the oracle's predicates."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from softfloat_ref.oracle.code_sets import CLASSES, COMPARISONS, compared_codes, compared_exponents, compared_values
from softfloat_ref.oracle.code_sets import of_class as class_codes
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.units import make_unit

# Every format of the catalogue with at most 9 bits; each kind of special codes and of subnormals with few bits; FP16.
NARROW = [f for f in CATALOGUE.values() if f.width <= 9]
MADE = ["s1e4m3b3", "s1e1m3b0", "s0e4m3b2", "s1e3m0b2", "s1e5m2b1fn", "s1e4m3b10fnuz", "s1e3m2b-4finite", "binary6p3se"]
KINDS = [
    Format("nosub", 3, 3, 3, subnormals="none"),
    Format("more", 3, 3, 3, subnormals="normal"),
    Format("nosubnuz", 3, 3, 2, nan="negative-zero", infinity=False, subnormals="none", overflow="nan"),
]
FORMATS = [*NARROW, *map(get_format, MADE), *KINDS]
PREDICATES = {"normal": "is_normal", "subnormal": "is_subnormal", "zero": "is_zero", "inf": "is_infinite",
              "nan": "is_nan", "finite": "is_finite", "negative": "is_sign_minus"}  # fmt: skip


def number(x: Value) -> Fraction | float:
    return x.as_fraction() if x.kind == FINITE else -math.inf if x.sign else math.inf


def is_of(name: str, fmt: Format) -> Callable[[int], bool]:
    """The definition: by the oracle's predicate, or by the decoded value."""
    if name in PREDICATES:
        unit = make_unit(PREDICATES[name], fmt)
        return lambda code: bool(unit.answer((code,))[0])
    if name == "positive":
        return lambda code: not is_of("negative", fmt)(code)
    decode = decoder(fmt)
    if name in ("snan", "qnan"):
        return lambda code: decode(code).kind == NAN and decode(code).signaling == (name == "snan")
    wanted = {"integer": (0, 1), "odd": (1,), "even": (0,)}[name]

    def integral(code: int) -> bool:
        x = decode(code)
        return x.kind == FINITE and (value := x.as_fraction()).denominator == 1 and value.numerator % 2 in wanted

    return integral


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
def test_every_class_of_every_narrow_format(fmt: Format) -> None:
    for name in CLASSES:
        holds, codes = is_of(name, fmt), class_codes(fmt, name)
        for code in range(1 << fmt.width):
            assert sum(code in r for r in codes) == holds(code), (name, fmt.hex(code))  # in one range at most


COMPARE: dict[str, Callable[[Fraction | float, Fraction | float], bool]] = {
    "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
    "=": lambda x, y: x == y, "!=": lambda x, y: x != y,
}  # fmt: skip


@pytest.mark.full(keep=15)
@pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("magnitude", [False, True])
def test_comparisons_of_values(fmt: Format, magnitude: bool) -> None:
    """With bounds at values of the format, between them, and beyond all."""
    decode = decoder(fmt)
    values = [number(x) for code in range(1 << fmt.width) if (x := decode(code)).kind != NAN]
    finite = sorted({x for x in values if isinstance(x, Fraction)})
    picked = finite[:: max(1, len(finite) // 7)]
    bounds = [Fraction(0), *picked, *(x + Fraction(1, 1 << 12) for x in picked), -finite[-1] * 3, math.inf, -math.inf]
    for comparison in COMPARISONS:
        for bound in bounds:
            codes = compared_values(fmt, comparison, bound, magnitude)
            for code in range(1 << fmt.width):
                x = decode(code)
                value = math.nan if x.kind == NAN else abs(number(x)) if magnitude else number(x)
                right = comparison == "!=" if x.kind == NAN else COMPARE[comparison](value, bound)
                assert any(code in r for r in codes) == right, (comparison, bound, fmt.hex(code))


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_comparisons_of_codes_and_exponents(comparison: str) -> None:
    fmt = get_format("fp8_e4m3")
    for bound in (0, 1, 5, 0x7F, 0x80, 0xFF):
        for magnitude in (False, True):
            codes = compared_codes(fmt, comparison, bound, magnitude)
            for code in range(256):
                mine = code & 0x7F if magnitude else code
                assert any(code in r for r in codes) == COMPARE[comparison](Fraction(mine), Fraction(bound))
    for bound in (0, 1, 7, 15, 16):
        codes = compared_exponents(fmt, comparison, bound)
        for code in range(256):
            right = COMPARE[comparison](Fraction(code >> 3 & 15), Fraction(bound))
            assert any(code in r for r in codes) == right


def test_classes_of_fp16() -> None:
    fmt = get_format("fp16")
    for name in ("integer", "odd", "even"):
        holds, codes = is_of(name, fmt), class_codes(fmt, name)
        assert all(any(code in r for r in codes) == holds(code) for code in range(0, 1 << 16, 7))
    assert [decoder(fmt)(class_codes(fmt, name)[0].low).kind for name in ("inf", "nan")] == [INF, NAN]
