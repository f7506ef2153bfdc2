"""Operations on blocks against their definition in IEEE P3109 v4.0, clause 5, in rationals.

`python tests/oracle/test_operations_on_blocks.py` compares every one on every case of one-element blocks of the
smallest formats, in all roundings and saturations.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import gmpy2
import pytest
from gmpy2 import mpq

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1] / "support")]

from definition import UNBOUNDED, Line, expected, past_the_end

from softfloat_ref.oracle.blocks.evaluation import divided, dividend_bits
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.exact import Value, finite
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.p3109 import GROUPS, SCALED
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units import BlockOperationUnit, make_unit

Number = Any  # an mpq, or a float: an infinity or NaN
NAN, INF = math.nan, math.inf
HUGE = mpq(2) ** 100_000
BITS = 900  # of functions; a tie of a small format would need to be this near


# -- the definition ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def number(code: int, fmt: Format) -> Number:
    x = decode(code, fmt)
    if x.is_nan:
        return NAN
    return (-INF if x.sign else INF) if x.is_inf else mpq(x.as_fraction())


def special(x: Number) -> bool:
    return isinstance(x, float)


def multiply(x: Number, y: Number) -> Number:
    if special(x) or special(y):
        return NAN if x != x or y != y or 0 in (x, y) else INF * sign(x) * sign(y)
    return x * y


def sign(x: Number) -> int:
    return (x > 0) - (x < 0)


def add(x: Number, y: Number) -> Number:
    if special(x) or special(y):
        return (x if special(x) else 0.0) + (y if special(y) else 0.0)
    return x + y


def divide(x: Number, y: Number) -> Number:
    if x != x or y != y or y == 0 or (special(x) and special(y)):
        return NAN
    if special(y):
        return mpq(0)
    return x * sign(y) if special(x) else x / y


def clamp(x: Number, low: Number, high: Number) -> Number:
    if x != x or not low <= high:
        return NAN
    return low if x <= low else min(x, high)


def maximum_finite(x: Number, y: Number) -> Number:
    if x != x or y != y:
        return y if x != x else x
    if special(x) != special(y):
        return y if special(x) else x
    return max(x, y)


def function(name: str, plus: Number, minus: Number) -> Callable[[Number], Number]:
    """A function by MPFR, of many bits; and what it is at the infinities."""
    context = gmpy2.context(precision=BITS, emax=1 << 40, emin=-(1 << 40))

    def at(x: Number) -> Number:
        if special(x):
            return NAN if x != x else plus if x > 0 else minus
        found = getattr(context, name)(gmpy2.mpfr(x, BITS))
        if found.is_nan() or (name == "rec_sqrt" and x == 0):
            return NAN
        if x == 0:
            return mpq(found) if found.is_finite() else INF * sign(found)
        if found.is_infinite():  # beyond MPFR's range, but a number
            return HUGE * sign(found)
        if not found:
            return 1 / HUGE if found.rc else mpq(0)
        return mpq(found) * (1 - sign(found.rc * found) / HUGE)  # rc: the sign of its error

    return at


OPERATIONS: dict[str, Callable[..., Number]] = {
    "convert": lambda x: x,
    "neg_rounded": lambda x: -x,
    "add": add,
    "mul": multiply,
    "fma": lambda x, y, z: add(multiply(x, y), z),
    "div": divide,
    "recip": lambda x: divide(mpq(1), x),
    "clamp": clamp,
    "maximum_finite": maximum_finite,
    "exp": function("exp", INF, mpq(0)),
    "tanh": function("tanh", mpq(1), mpq(-1)),
    "rsqrt": function("rec_sqrt", mpq(0), NAN),
    "log2": function("log2", INF, NAN),
}


def quotient(x: Number, s: Number) -> Number:
    """BlockProject's Z (5.1.2)."""
    if s != s or x != x:
        return NAN
    if s == 0:
        return mpq(0)
    return mpq(sign(x) * sign(s)) if special(s) else divide(x, s)


@lru_cache
def line(fmt: Format, negative: bool) -> Line:
    return Line.of(fmt, negative)


def project(x: Number, fmt: Format, policy: Policy) -> int:
    """A number rounded and saturated, in a P3109 format."""
    mode, overflow = policy.rounding.name.lower(), str(policy.overflow)
    if x != x:
        return fmt.canonical_nan
    negative = x < 0
    if special(x):
        return infinity(fmt, overflow, negative)
    code, _ = expected(abs(x), negative, line(fmt, negative), fmt, mode)
    if code == UNBOUNDED:
        code = past_the_end(fmt, overflow, mode, negative)
    return code | fmt.sign_bit if negative and fmt.signed and code and not fmt.is_nan(code) else code


def infinity(fmt: Format, overflow: str, negative: bool) -> int:
    """4.7.5 for an infinity."""
    if negative and not fmt.signed:
        return fmt.canonical_nan if overflow == "sat-none" else 0
    code = fmt.max_code if overflow == "sat-finite" or not fmt.infinity else fmt.inf_code
    return code | (fmt.sign_bit if negative else 0)


def defined(unit: BlockOperationUnit, inputs: Sequence[int]) -> tuple[int, ...]:
    """The answer by clause 5."""
    row, out, size = unit.row, unit.evaluation.out, unit.size
    codes = iter(inputs)
    rows = []
    for side in unit.evaluation.sides:
        s = mpq(1) if side.scale is None else number(next(codes), side.scale)
        values = [number(next(codes), side.element) for _ in range(size)]
        rows.append(values if side.scale is None else [multiply(s, x) for x in values])
    exact = [OPERATIONS[row.op](*x) for x in zip(*rows, strict=True)]
    if row.fold:
        total: Number = mpq(row.start)
        for x in exact:
            total = add(total, x) if row.fold == "add" else multiply(total, x)
        return (project(total, out.element, unit.policy),)
    if out.scale is None:
        return tuple(project(x, out.element, unit.policy) for x in exact)
    if row.finds_scale:
        largest: Number = NAN
        for x in rows[0]:
            largest = maximum_finite(largest, x if x != x else abs(x))
        code = project(largest, out.scale, unit.scale_policy)
    else:
        code = next(codes)
    s = number(code, out.scale)
    return (code, *(project(quotient(x, s), out.element, unit.policy) for x in exact))


# -- samples -----------------------------------------------------------------------------------------------------------

NAMES = [f.name for f in BLOCK_OPERATIONS.values() if f.op in OPERATIONS]
MODES = ("rne", "rtz", "rup", "rdn", "rto", "rna")
OVERFLOWS = ("sat-none", "sat-propagate", "sat-finite")
SIDES = (
    ("binary8p4se", "binary8p1uf", "binary8p3se", "binary8p1uf"),
    ("binary5p3se", "binary5p3ue", "binary6p3sf", "binary6p4se"),
    ("binary6p2uf", "binary4p2se", "binary5p1se", "binary4p3uf"),
)


def unit_of(name: str, turn: int, size: int) -> BlockOperationUnit:
    row = BLOCK_OPERATIONS[name]
    element, scale, to, to_scale = SIDES[turn % len(SIDES)]
    size = 1 if row.single else size
    policy = Policy(MODES[turn % len(MODES)], overflow=OVERFLOWS[turn // 2 % 3])
    operand = f"{element}@{scale}/{size}" if row.scaled else element
    out = f"{to}@{to_scale}/{size}" if row.to == "block" else to
    found = Policy(MODES[turn // 3 % len(MODES)], overflow=OVERFLOWS[turn % 3]) if row.finds_scale else None
    return BlockOperationUnit.make(name, operand, out, policy, found)


@pytest.mark.full(keep=9)
@pytest.mark.parametrize("name", NAMES)
def test_they_are_their_definition(name: str) -> None:
    draw = random.Random(name)
    for turn in range(6):
        unit = unit_of(name, turn, 1 + turn % 3)
        if unit.row.finds_scale or unit.row.scaled or unit.row.takes_scale:
            for _ in range(40):
                inputs = tuple(draw.randrange(1 << f.width) for f in unit.inputs for _ in range(f.lanes))
                assert tuple(unit.answer(inputs)) == defined(unit, inputs), (unit.name, inputs)


def test_every_block_operation_of_annex_g_is_here() -> None:
    wanted = {own for group in ("KA", "KB", "KC", "E") for own in GROUPS[group][1].values()}
    assert wanted | set(SCALED.values()) <= set(BLOCK_OPERATIONS)
    assert sum(len(names) for _, names in GROUPS.values()) == 139
    assert len({name for _, names in GROUPS.values() for name in names}) == 139


# -- scales ------------------------------------------------------------------------------------------------------------

ONE = 0x40  # 1 in binary8p4se and in binary8p3se


@pytest.mark.parametrize(
    ("scale", "codes", "result"),
    [
        (0x80, (ONE, 0x80), (0x80, 0x80)),  # NaN
        (0x00, (ONE, 0x80), (0x00, 0x80)),  # zero: all but NaN are zero
        (0x00, (0x7F, 0xFF), (0x00, 0x00)),
        (0x7F, (0x01, 0x00), (ONE, 0x00)),  # an infinity: the signs
        (0xFF, (0x7F, 0x81), (ONE | 0x80, ONE)),
        (ONE | 0x80, (ONE, 0x7F), (ONE | 0x80, 0xFF)),
    ],
)
def test_special_scales(scale: int, codes: tuple[int, int], result: tuple[int, int]) -> None:
    unit = BlockOperationUnit.make("ConvertToBlock", "binary8p4se", "binary8p4se@binary8p4se/2")
    assert tuple(unit.answer((*codes, scale))) == (scale, *result)


@pytest.mark.parametrize("scale", [3, 5, 7, 15])
@pytest.mark.parametrize("above", [True, False])
def test_a_number_just_beside_a_multiple_of_the_scale(scale: int, above: bool) -> None:
    """scale (1 +- e), cut to the bits that are asked for: divided, it is 1 and a little, or a little less."""

    def cut(bits: int) -> Value:
        more = bits - scale.bit_length()
        return finite(0, (scale << more) - (not above), -more)._replace(sticky=1)

    divisor = finite(0, scale, 0)
    found = divided(cut(dividend_bits(divisor, 12)), divisor, 12)
    top = found.significand.bit_length()
    kept = found.significand >> (top - 12)
    assert (kept, found.exponent + top, found.sticky) == ((1 << 11, 1, 1) if above else ((1 << 12) - 1, 0, 1))


@pytest.mark.parametrize("scale", ["binary8p3ue", "binary8p1uf", "binary8p4se"])
def test_the_block_profile_finds_the_same(scale: str) -> None:
    """ConvertToBlockMaxAbsFinite is the quantizer of the profile p3109, which has code of its own."""
    fmt = f"binary6p3sf@{scale}/3"
    quantizer = make_unit("quantize", fmt, out="fp16")
    policy = Policy(overflow="sat-finite")  # type: ignore[arg-type]
    unit = BlockOperationUnit.make("ConvertToBlockMaxAbsFinite", "fp16", fmt, policy)
    draw = random.Random(scale)
    for _ in range(300):
        inputs = [draw.choice((draw.randrange(1 << 16), 0x7C00, 0x8000, 0x3C00)) for _ in range(3)]
        assert tuple(unit.answer(inputs)) == tuple(quantizer.answer(inputs)), inputs


# -- every case of the smallest formats --------------------------------------------------------------------------------


def exhaustive() -> Iterator[tuple[str, int, int]]:
    for name in NAMES:
        row = BLOCK_OPERATIONS[name]
        element, scale = ("binary4p2se", "binary3p1ue") if row.arity < 2 else ("binary3p2se", "binary3p2uf")
        sides = f"{element}@{scale}/1" if row.scaled else element
        outs = [f"{element}@{scale}/1"] if row.to == "block" else [element]
        wrong = count = 0
        for mode, overflow in itertools.product(MODES, OVERFLOWS):
            policy = Policy(mode, overflow=overflow)
            for out in outs:
                unit = BlockOperationUnit.make(name, sides, out, policy, policy if row.finds_scale else None)
                widths = [range(1 << f.width) for f in unit.inputs for _ in range(f.lanes)]
                step = 1 if row.arity < 3 else 61
                for inputs in itertools.islice(itertools.product(*widths), 0, None, step):
                    count += 1
                    wrong += tuple(unit.answer(inputs)) != defined(unit, inputs)
        yield name, count, wrong


if __name__ == "__main__":
    failed = 0
    for name, count, wrong in exhaustive():
        failed += wrong
        print(f"{name:34}{count:9} cases {wrong:6} wrong", flush=True)
    sys.exit(failed > 0)
