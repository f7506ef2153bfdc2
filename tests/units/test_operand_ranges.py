"""Operand ranges: what texts mean, by decoded values; what is refused; ranges of units with several parts."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.vector_recipes import set_of
from softfloat_ref.oracle.code_sets import COMPARISONS
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, NAN
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.units import make_unit
from softfloat_ref.units.ranges.grammar import MAX_DEPTH, parse_range
from softfloat_ref.units.ranges.operand_range import OperandRange

FMA = make_unit("fma", "fp16")
BLOCK = make_unit("dequantize", "mxfp8")
ONE, TWO, NAN16, TINY = 0x3C00, 0x4000, 0x7E00, 0x0001


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("a is normal", (ONE, 0, 0), (TINY, 0, 0)),
        ("a is normal and b is subnormal", (ONE, TINY, 0), (ONE, ONE, 0)),
        ("a is zero or b is zero", (0x8000, ONE, 0), (ONE, ONE, 0)),
        ("not a is nan", (ONE, 0, 0), (NAN16, 0, 0)),
        ("a is not nan", (ONE, 0, 0), (NAN16, 0, 0)),
        ("a is zero or b is zero and c is zero", (0, ONE, ONE), (ONE, 0, ONE)),  # `and` binds more tightly
        ("(a is zero or b is zero) and c is zero", (0, ONE, 0), (0, ONE, ONE)),
        ("not (a is zero or b is zero)", (ONE, ONE, 0), (0, ONE, 0)),
        ("exponent(a) in 14..16", (0x4300, 0, 0), (0x4400, 0, 0)),  # the stored field, sign ignored
        ("exponent(a) = 15", (0xBC00, 0, 0), (0x4000, 0, 0)),
        ("a >= 0x3c00", (0x8000, 0, 0), (0x3BFF, 0, 0)),  # a code, as it is stored
        ("a >= 1", (ONE, 0, 0), (0xBC00, 0, 0)),  # a value
        ("a == 0x1p0", (ONE, 0, 0), (TWO, 0, 0)),
        ("abs(a) < 2", (0xBFFF, 0, 0), (0xC000, 0, 0)),
        ("abs(a) < 0x4000", (0xBFFF, 0, 0), (0xC000, 0, 0)),
        ("a in -1..1/3", (0xBC00, 0, 0), (0x3556, 0, 0)),
        ("a != 1", (NAN16, 0, 0), (ONE, 0, 0)),
        ("a <= inf", (0x7C00, 0, 0), (NAN16, 0, 0)),
        ("a > -inf", (ONE, 0, 0), (0xFC00, 0, 0)),
        ("a is snan", (0x7C01, 0, 0), (NAN16, 0, 0)),
        ("a is odd", (0x4200, 0, 0), (TWO, 0, 0)),
        ("bits(a, 9..0) = 0x200", (0xBE00, 0, 0), (0x3E01, 0, 0)),
        ("bits(a, 15) = 1", (0xBE00, 0, 0), (0x3E00, 0, 0)),
        ("bits(a, 3..2) != 2", (0x0004, 0, 0), (0x000B, 0, 0)),
        ("abs(a) >= abs(b)", (0xC000, ONE, 0), (ONE, 0xC000, 0)),
        ("exponent(a) >= exponent(b)", (0xC000, 0x43FF, 0), (ONE, 0xC000, 0)),
    ],
)  # fmt: skip
def test_what_texts_mean(text: str, inside: tuple[int, ...], outside: tuple[int, ...]) -> None:
    within = OperandRange(text, FMA)
    assert within.holds(inside)
    assert not within.holds(outside)
    assert parse_range(within.text) == within.tree  # as it is stored


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("every elements is not nan", [0, *[1] * 32], [0, *[1] * 31, 0x7F]),
        ("any elements is nan", [0, *[1] * 31, 0x7F], [0, *[1] * 32]),
        ("not every elements is zero", [0, 1, *[0] * 31], [0, *[0] * 32]),
        ("any elements is not zero", [0, 1, *[0] * 31], [0, *[0] * 32]),
        ("every bits(elements, 2..0) = 0", [0, 8, *[0x70] * 31], [0, *[8] * 31, 9]),
        ("any bits(elements, 0) != 0", [0, *[8] * 31, 9], [0, 8, *[0x70] * 31]),
        ("bits(elements[1], 7) = 1", [0, 1, 0x80, *[1] * 30], [0, 0x80, *[1] * 31]),
        ("every elements <= elements[0]", [0, 2, *[1] * 31], [0, 1, 2, *[1] * 30]),
        ("scale in 0x70..0x80 and elements[31] is zero", [0x75, *[1] * 31, 0], [0x81, *[0] * 32]),
    ],
)
def test_lanes(text: str, inside: list[int], outside: list[int]) -> None:
    within = OperandRange(text, BLOCK)
    assert within.holds(inside)
    assert not within.holds(outside)
    assert parse_range(within.text) == within.tree


# A format for each way in which zeros, signs and NaNs are stored.
PAIRED = [get_format(x) for x in ("fp8_e4m3", "fp8_e4m3fnuz", "fp4_e2m1", "i5", "u5", "e8m0", "binary6p3se")]
PAIRED += [Format("nosub", 3, 2, 3, subnormals="none")]


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("fmt", PAIRED, ids=lambda f: f.name)
def test_comparisons_of_two_operands(fmt: Format) -> None:
    """Every comparison, of values and magnitudes, of codes of every kind."""
    unit, decode = make_unit("eq", (fmt, fmt)), decoder(fmt)
    codes = range(0, 1 << fmt.width, 3 if fmt.width > 7 else 1)
    values = {}
    for code in {*codes, (1 << fmt.width) - 1, 1 << fmt.width - 1}:
        x = decode(code)
        infinite = -math.inf if x.sign else math.inf
        values[code] = math.nan if x.kind == NAN else x.as_fraction() if x.kind == FINITE else infinite
    for comparison, by in itertools.product(COMPARISONS, ("{}", "abs({})")):
        text = f"{by.format('a')} {comparison} {by.format('b')}"
        if fmt.twos_complement and by != "{}":
            with pytest.raises(Error, match="two's complement"):
                OperandRange(text, unit)
            continue
        within = OperandRange(text, unit)
        for (a, x), (b, y) in itertools.product(values.items(), repeat=2):
            assert within.holds((a, b)) == _compares(comparison, *((abs(x), abs(y)) if "abs" in by else (x, y)))


def _compares(comparison: str, x: Fraction | float, y: Fraction | float) -> bool:
    return {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "=": x == y, "!=": x != y}[comparison]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "needs 'is CLASS', 'in LOW..HIGH' or a comparison at its end"),
        ("a is", "needs a class"),
        ("a is normal b", "needs 'and', 'or' or the end before 'b'"),
        ("(a is zero", r"needs '\)'"),
        ("d is zero", "unknown operand 'd'; known: a, b, c"),
        ("a is norml", "unknown class 'norml'"),
        ("a is ff", "a code is compared: a = 0xff"),
        ("b is 3c00", "a code is written 0x3c00, and compared: a = 0x3c00"),
        ("a = 0x13c00", "0x13c00 does not fit a, which has 16 bits"),
        ("a >= -0x3c00", "a code has no sign; write -0x3c00p0 for the number, or 0x3c00 for the code"),
        ("a = nan", "nothing compares with nan; say a is nan"),
        ("a = 1.2.3", "'.3' is not understood"),
        ("a = 1e999999", "out of range"),
        ("a[1] is zero", "a has 1 lanes"),
        ("every a is zero", "a has one lane; leave 'every' out"),
        ("exponent(a) = -1", "exponent.a. is a stored field"),
        ("abs(a) is zero", "classes are of operands"),
        ("abs(a) < b", "two operands of one format"),
        ("and is zero", "needs an operand"),
        ("bits(a, 16) = 1", "a has bits 15..0"),
        ("bits(a, 0..3) = 1", "bits are HIGH..LOW"),
        ("bits(a, 3..0) < 2", "bits are compared with = and !="),
        ("bits(a, 3..0) = 16", "not a number of 4 bits"),
        ("bits(a, 3..0) = 1.5", "not a number of 4 bits"),
        ("bits(a, 0) = b", "two operands of one format"),
        ("bits(a) = 1", "needs ','"),
        ("bits(a, 0) is zero", "classes are of operands"),
        ("", "needs an operand at its end"),
        ("a is zero; b is zero", "'; b' is not understood|';' is not understood"),
        ("(" * (MAX_DEPTH + 2) + "a is zero", "parentheses and nots"),
        (" or ".join(["a is zero"] * 300), "characters"),
    ],
)  # fmt: skip
def test_refused(text: str, said: str) -> None:
    with pytest.raises(Error, match=said):
        OperandRange(text, FMA)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("elements is zero", "elements has 32 lanes: say 'every elements', 'any elements' or 'elements.0.'"),
        ("any elements[0] is zero", "is one lane; leave 'any' out"),
        ("elements[32] is zero", "elements has 32 lanes"),
        ("scale < elements[0]", "two operands of one format"),
        ("every elements < elements", "say 'every elements'"),
    ],
)
def test_refused_of_blocks(text: str, said: str) -> None:
    with pytest.raises(Error, match=said):
        OperandRange(text, BLOCK)


def test_operands_of_several_operations() -> None:
    """Names are those of the unit's fields; what an operation lacks is left out, and boxes do not matter."""
    unit = set_of({
        "count": 9,
        "part": [
            {"op": "add", "fmt": "fp16", "place": "bc"},
            {"op": "fma", "fmt": "fp32"},
            {"op": "sqrt", "fmt": "fp16"},
        ],
    }).unit  # fmt: skip
    within = OperandRange("a is normal and c is zero", unit)
    assert [within.of_part(p) for p in unit.parts] == ["b is zero", "a is normal and c is zero", "a is normal"]
    add, fma, sqrt = unit.parts
    boxed = 0xFFFF0000
    assert within.holds(unit.assembled(add, (boxed | ONE, boxed)))
    assert not within.holds(unit.assembled(add, (boxed, boxed | ONE)))
    assert within.holds(unit.assembled(fma, (0x3F800000, 0, 0)))
    assert not within.holds(unit.assembled(fma, (0x3F800000, 0, 1)))
    assert not within.holds(unit.assembled(sqrt, (boxed,)))
    with pytest.raises(Error, match=r"unknown operand 'op'.*control field"):
        OperandRange("op is zero", unit)


def test_several_roundings() -> None:
    unit = make_unit("add", "fp16", roundings="rne,rtz")
    within = OperandRange("a is normal", unit)
    assert [within.holds((rounding, ONE, 0)) for rounding in (0, 1)] == [True, True]
    assert not within.holds((0, TINY, ONE))
