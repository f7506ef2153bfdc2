"""Decides a case of a proof: by one question to the solver, or with equal products cut."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from softfloat_ref.proof.cut import LEVELS, shared_products
from softfloat_ref.proof.queries import query_hash
from softfloat_ref.proof.question import Counterexample, Posed, Problem
from softfloat_ref.proof.solver import Result, confirm, solve
from softfloat_ref.symbolic.terms import Term, and_, replaced

Verdict = Literal["proved", "counterexample", "undecided"]
WHOLE: Final = "whole"
CUT: Final = "product cut"


@dataclass(frozen=True)
class Query:
    """A question to the solver, and its answer. confirmed: another solver's answer, by its name."""

    how: str
    sha256: str
    result: Result
    seconds: float
    confirmed: Mapping[str, Result] = field(default_factory=dict)


@dataclass(frozen=True)
class Decided:
    """A case, what came of it, and the questions that decided it. seconds: with the making of the reference. undefined:
    whether inputs without a defined result are left out."""

    case: str
    verdict: Verdict
    queries: tuple[Query, ...]
    seconds: float
    counterexample: Counterexample | None = None
    note: str = ""
    undefined: bool = False


@dataclass(frozen=True)
class How:
    """How cases are decided. limit_s: for each question; cut: whether products are cut; confirm: another solver, by
    name, that must agree with each proof."""

    limit_s: float
    cut: bool = True
    confirm: str = ""


def decide(problem: Problem, name: str, how: How) -> Decided:
    """Decide a case. Raises Error for what is not supported."""
    begin = time.monotonic()
    posed = problem.posed(problem.case(name))
    asked: list[Query] = []

    def done(verdict: Verdict, found: Counterexample | None = None, note: str = "") -> Decided:
        return Decided(name, verdict, tuple(asked), time.monotonic() - begin, found, note, posed.undefined)

    note = ""
    for kind, assertions in _attempts(posed, how.cut):
        query, model = _ask(kind, assertions, how)
        asked.append(query)
        if query.result == "unknown":
            return done("undecided", note=f"no answer within {how.limit_s:g} s")
        if query.result == "unsat":
            other = query.confirmed.get(how.confirm, "unsat")
            return done("proved") if other == "unsat" else done("undecided", note=f"{how.confirm} says {other}")
        if real := posed.tried(model):
            return done("counterexample", real)
        note = "the solver's counterexample is none of the oracle"
    return done("undecided", note=note)


def _attempts(posed: Posed, cut: bool) -> Iterator[tuple[str, list[Term]]]:
    """The questions to ask one after the other, until one decides: with products cut, if both sides have some."""
    asserted = [*posed.assumed, posed.wrong]
    if cut:
        by, products = shared_products(posed.ours, posed.theirs, posed.assumed)
        for level in LEVELS if products else ():
            facts = and_(*(fact for p in products for fact in p.facts(level)))
            yield f"{CUT}, facts {level}", [*replaced(asserted, by), facts]
    yield WHOLE, asserted


def _ask(kind: str, assertions: Sequence[Term], how: How) -> tuple[Query, Mapping[str, int]]:
    """A question to the solver, with its answer, and the model, if there is one."""
    found = solve(assertions, how.limit_s)
    others: dict[str, Result] = {}
    if how.confirm and found.result == "unsat":
        others[how.confirm] = confirm(assertions, how.confirm, how.limit_s).result
    return Query(kind, query_hash(assertions), found.result, found.seconds, others), found.model
