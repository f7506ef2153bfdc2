"""Terms are simplified as they are made, and mean the same as before."""

from __future__ import annotations

import itertools
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softfloat_ref.symbolic.build import concat, extract, ite, make, sext, substitute, zext
from softfloat_ref.symbolic.terms import TRUE, Term, const, evaluator, signed, subterms, var

BINARY = ("and", "or", "xor", "add", "sub", "mul", "udiv", "urem")
SHIFTS = ("shl", "lshr", "ashr")
ORDERS = ("eq", "ult", "slt")


def meaning(op: str, width: int, a: int, b: int, by_width: int) -> int:
    """SMT-LIB's meaning of an operator, written down once more."""
    mask, n = (1 << width) - 1, signed(a, width)
    match op:
        case "and" | "or" | "xor":
            return {"and": a & b, "or": a | b, "xor": a ^ b}[op]
        case "add" | "sub" | "mul":
            return {"add": a + b, "sub": a - b, "mul": a * b}[op] & mask
        case "udiv" | "urem":
            return (a // b if b else mask) if op == "udiv" else (a % b if b else a)
        case "shl":
            return a * 2**b & mask
        case "lshr" | "ashr":
            return (a if op == "lshr" else n) // 2**b & mask
        case "eq" | "ult":
            return int(a == b if op == "eq" else a < b)
    return int(n < signed(b, by_width))


@given(st.data())
def test_an_operator_means_the_same_with_constants_variables_and_one_of_each(data: st.DataObject) -> None:
    op = data.draw(st.sampled_from([*BINARY, *SHIFTS, *ORDERS]))
    width = data.draw(st.integers(1, 70))
    by_width = data.draw(st.integers(1, 8)) if op in SHIFTS else width
    edges = st.sampled_from([0, 1, (1 << width) - 1, 1 << (width - 1)])
    a = data.draw(edges | st.integers(0, (1 << width) - 1))
    b = data.draw(st.sampled_from([0, 1, (1 << by_width) - 1]) | st.integers(0, (1 << by_width) - 1))
    want = meaning(op, width, a, b, by_width)
    x, y = var("x", width), var("y", by_width)
    for left in (x, const(a, width)):
        for right in (y, const(b, by_width)):
            term = make(op, 1 if op in ORDERS else width, left, right)  # type: ignore[arg-type]
            assert evaluator([term])({"x": a, "y": b}) == [want]
    if op not in SHIFTS:
        same = make(op, 1 if op in ORDERS else width, x, x)  # type: ignore[arg-type]
        assert evaluator([same])({"x": a}) == [meaning(op, width, a, a, width)]


def grown(rnd: random.Random, size: int) -> list[Term]:
    """Random terms, each made of earlier ones."""
    forest: list[Term] = [var(name, rnd.choice((1, 3, 8))) for name in "abcd"] + [
        const(rnd.getrandbits(4), 3),
        TRUE,
    ]
    for _ in range(size):
        a = rnd.choice(forest)
        alike = [t for t in forest if t.width == a.width]
        bits = [t for t in forest if t.width == 1]
        high = rnd.randrange(a.width)
        forest.append(
            rnd.choice(
                [
                    lambda a=a, alike=alike: make(rnd.choice(BINARY), a.width, a, rnd.choice(alike)),
                    lambda a=a: make(rnd.choice(SHIFTS), a.width, a, rnd.choice(forest)),
                    lambda a=a, alike=alike: make(rnd.choice(ORDERS), 1, a, rnd.choice(alike)),
                    lambda a=a, alike=alike, bits=bits: ite(rnd.choice(bits), a, rnd.choice(alike)),
                    lambda a=a: make(rnd.choice(("not", "neg")), a.width, a),
                    lambda a=a, high=high: extract(a, high, rnd.randint(0, high)),
                    lambda a=a: rnd.choice((zext, sext))(a, min(a.width + rnd.randrange(9), 24)),
                    lambda a=a: concat(a, rnd.choice(forest)) if a.width < 12 else a,
                ]
            )()
        )
    return forest


@pytest.mark.parametrize("seed", range(20))
def test_terms_made_anew_of_constants_are_the_values_of_the_variables(seed: int) -> None:
    """With constants in place of variables every rule meets other arguments, and the meaning is the same."""
    rnd = random.Random(seed)
    terms = grown(rnd, 120)
    variables = [t for t in terms if t.op == "var"]
    for _ in range(5):
        values = {t.value: rnd.getrandbits(t.width) for t in variables}
        some = {t: const(values[t.value], t.width) for t in variables if rnd.random() < 0.7}
        assert evaluator(terms)(values) == evaluator(substitute(terms, some))(values)


def test_arguments_stand_before_what_is_made_of_them() -> None:
    terms = grown(random.Random(3), 200)
    order = subterms(terms)
    assert all(a.number < b.number for a, b in pairwise(order))
    assert all(a.number < t.number for t in order for a in t.args)


def test_equal_terms_are_one_object() -> None:
    x, y = var("x", 8), var("y", 8)
    assert make("add", 8, x, y) is make("add", 8, y, x)
    assert make("sub", 8, x, y) is not make("sub", 8, y, x)


def test_extensions_and_shifts_are_the_same_by_another_way() -> None:
    """A sign that is flipped and subtracted; low bits of what is shifted or extended; amounts with zeros above."""
    x, by = var("x", 8), var("by", 6)
    sign = const(0x80, 8)
    pairs = [
        (make("sub", 8, make("xor", 8, x, sign), sign), x),
        (extract(make("sext", 20, x), 6, 2), extract(x, 6, 2)),
        (extract(make("shl", 20, make("zext", 20, x), by), 4, 0), make("shl", 5, extract(x, 4, 0), by)),
        (make("shl", 8, x, make("zext", 12, by)), make("shl", 8, x, by)),
        (make("lshr", 8, x, make("zext", 12, by)), make("lshr", 8, x, by)),
    ]
    other = make("sub", 8, make("xor", 8, x, const(0x40, 8)), const(0x40, 8))
    assert other.op == "sub"
    for made, simple in pairs:
        assert made is simple
    for value, amount in itertools.product(range(0, 256, 5), range(64)):
        signed = value - (value >> 7 << 8)
        right = [value, signed >> 2 & 31, value << amount & 31, value << amount & 255, value >> amount]
        assert evaluator([made for made, _ in pairs])({"x": value, "by": amount}) == right
        assert evaluator([other])({"x": value}) == [(value ^ 0x40) - 0x40 & 255]
