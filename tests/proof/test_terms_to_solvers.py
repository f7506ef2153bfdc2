"""Terms as solvers read them: each operation against its meaning, by the library and by text."""

from __future__ import annotations

import subprocess
import sys
import time
from random import Random

import pytest
from command import ENVIRONMENT

from softfloat_ref.proof.solver import SOLVERS, answer_text, confirm, query_hash, solve
from softfloat_ref.symbolic.build import and_, concat, eq, extract, ite, make, not_, sext, zext
from softfloat_ref.symbolic.smtlib import expression, script
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, const, evaluator, var

pytestmark = pytest.mark.extra("bitwuzla")
A, B, C = var("a", 8), var("b c", 8), var("c", 3)  # a name that must be quoted, and another width
SAME = ("and", "or", "xor", "add", "sub", "mul", "udiv", "urem")
TERMS: dict[str, Term] = {
    **{op: make(op, 8, A, B) for op in SAME},  # type: ignore[arg-type]
    **{f"{op} by fewer bits": make(op, 8, A, C) for op in ("shl", "lshr", "ashr")},  # type: ignore[arg-type]
    **{f"{op} of fewer bits": make(op, 3, C, A) for op in ("shl", "lshr", "ashr")},  # type: ignore[arg-type]
    **{op: make(op, 1, A, B) for op in ("eq", "ult", "slt")},  # type: ignore[arg-type]
    "neg": make("neg", 8, A),
    "not": make("not", 8, A),
    "ite": ite(extract(C, 1, 1), A, B),
    "concat": concat(C, A),
    "extract": extract(A, 6, 2),
    "zext": zext(C, 8),
    "sext": sext(C, 8),
    "shared": make("mul", 8, make("add", 8, A, B), make("add", 8, A, B)),
}


def values(seed: int) -> dict[str, int]:
    words = Random(seed)
    return {
        "a": words.choice([0, 1, 127, 128, 255, words.getrandbits(8)]),
        "b c": words.choice([0, 1, 8, 255, words.getrandbits(8)]),
        "c": words.getrandbits(3),
    }


def given(env: dict[str, int]) -> list[Term]:
    return [eq(v, const(env[str(v.value)], v.width)) for v in (A, B, C)]


@pytest.mark.parametrize("name", TERMS)
def test_each_operation_means_the_same_to_the_solver(name: str) -> None:
    term = TERMS[name]
    for seed in range(20):
        env = values(seed)
        right = const(evaluator([term])(env)[0], term.width)
        assert solve([*given(env), not_(eq(term, right))], 10).result == "unsat"
        assert solve([*given(env), eq(term, right)], 10).result == "sat"


@pytest.mark.parametrize("name", TERMS)
def test_each_operation_means_the_same_as_text(name: str) -> None:
    term, env = TERMS[name], values(3)
    right = const(evaluator([term])(env)[0], term.width)
    assert answer_text(script([*given(env), not_(eq(term, right))]), "bitwuzla", 10).result == "unsat"
    declared = "".join(f"(declare-const {'|b c|' if v is B else v.value} (_ BitVec {v.width}))" for v in (A, B, C))
    differs = f"(assert (= {expression(not_(eq(term, right)))} #b1))"
    facts = "".join(f"(assert (= {expression(g)} #b1))" for g in given(env))
    assert answer_text(f"(set-logic QF_BV){declared}{facts}{differs}(check-sat)", "bitwuzla", 10).result == "unsat"


@pytest.mark.parametrize("solver", [pytest.param(s, marks=pytest.mark.extra(s)) for s in SOLVERS])
def test_other_solvers_answer(solver: str) -> None:
    commuted = not_(eq(make("sub", 8, A, B), make("neg", 8, make("sub", 8, B, A))))
    assert confirm([commuted], solver, 20).result == "unsat"
    assert confirm([eq(A, const(7, 8))], solver, 20).result == "sat"


def test_a_model_is_of_the_assertions() -> None:
    answer = solve([eq(make("mul", 8, A, const(3, 8)), const(21, 8)), make("ult", 1, A, const(20, 8))], 10)
    assert answer.result == "sat"
    assert answer.model["a"] == 7


def test_a_contradiction_needs_no_solver() -> None:
    assert solve([TRUE, FALSE], 0).result == "unsat"


def test_time_ends() -> None:
    a, b = var("x", 64), var("y", 64)
    hard = eq(make("mul", 64, a, b), const(0xC000_0000_0000_1D3B, 64))
    odd = and_(
        make("ult", 1, const(1, 64), a), make("ult", 1, a, const(1 << 33, 64)), make("ult", 1, b, const(1 << 33, 64))
    )
    assert solve([hard, odd, make("ult", 1, const(1, 64), b)], 0.05).result == "unknown"


def test_the_hash_is_of_what_is_asked_only() -> None:
    one = eq(make("add", 8, A, B), nine := const(9, 8))
    assert query_hash([one, TERMS["ult"]]) == query_hash([TERMS["ult"], one])
    assert query_hash([one]) != query_hash([eq(make("sub", 8, A, B), nine)])
    assert query_hash([one]) != query_hash([eq(make("add", 8, A, var("d", 8)), nine)])


STOPPED = """
from softfloat_ref.app.signals import Stopped, end_of_signals, on_signals
from softfloat_ref.proof.solver import solve
from softfloat_ref.symbolic.build import eq, make, zext
from softfloat_ref.symbolic.terms import const, var
factors = [zext(var(name, 32), 64) for name in "ab"]
hard = eq(make("mul", 64, *factors), const(2**61 - 1, 64))  # a prime number
on_signals()
print("ready", flush=True)
try:
    solve([hard], 60.0)
except Stopped as e:
    print("stopped by", *e.args)
end_of_signals()
"""


def test_a_signal_ends_a_question() -> None:
    """At once, and without the traceback of an exception in what the solver calls."""
    program = [sys.executable, "-c", STOPPED]
    running = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    time.sleep(1)
    running.terminate()
    out, err = running.communicate(timeout=30)
    assert (out, err) == ("stopped by 15\n", "")
