"""Decides a case of a proof: by one question to the solver, one for each output, or with equal products cut."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from softfloat_ref.proof.cut import LEVELS, shared_products
from softfloat_ref.proof.queries import query_hash
from softfloat_ref.proof.question import Counterexample, Question, check_reference, tried
from softfloat_ref.proof.solver import Result, confirm, solve
from softfloat_ref.symbolic.circuit import Case, Circuit
from softfloat_ref.symbolic.terms import FALSE, Term, and_, eq, in_order, not_, replaced

Verdict = Literal["proved", "counterexample", "undecided"]
WHOLE: Final = "whole"
CUT: Final = "product cut"
_FEW: Final = 2  # outputs that are compared at once


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
    """How cases are decided. limit_s: for each question; cut: whether products are cut; apart: whether many outputs are
    compared one after the other; confirm: another solver, by name, that must agree with each proof."""

    limit_s: float
    cut: bool = True
    apart: bool = True
    confirm: str = ""


class _Part(NamedTuple):
    """What may be wrong, with the reference's terms that it is about. name: of the output; empty for all."""

    name: str
    wrong: Term
    reference: Sequence[Term]


class _Outcome(NamedTuple):
    verdict: Verdict
    counterexample: Counterexample | None = None
    note: str = ""


def decide(question: Question, name: str, how: How) -> Decided:
    """Decide a case. Raises Error for what is not supported."""
    begin = time.monotonic()
    case = question.case(name)
    reference = question.reference(case)
    check_reference(question, case, reference)
    asked: list[Query] = []
    found = _Outcome("proved")
    for part in _parts(question, reference, how):
        found = _decide_part(question, case, reference, part, how, asked)
        if found.verdict != "proved":
            break
    seconds, undefined = time.monotonic() - begin, reference.undefined is not FALSE
    return Decided(name, found.verdict, tuple(asked), seconds, found.counterexample, found.note, undefined)


def _parts(question: Question, reference: Circuit, how: How) -> Iterator[_Part]:
    """All that may be wrong at once, or one output after the other, if there are many. The next part is taken once
    the one before is proved: an output is then the circuit's, where others are made of it (elements, of the scale)."""
    plan, terms = question.design, dict(reference.terms)
    if not how.apart or len(terms) <= _FEW:
        yield _Part("", plan.wrong(terms), reference.roots)
        return
    yield _Part("protocol", plan.broken, ())
    left = list(terms)
    while left:
        name = left.pop(0)
        want, got = terms[name], plan.code(name, terms[name])
        differs = plan.differs(name, terms)
        yield _Part(name, differs, [want])
        if differs is not_(eq(want, got)):  # else something else is accepted, too
            terms |= zip(left, _with(want, got, [terms[n] for n in left]), strict=True)


def _with(want: Term, got: Term, roots: list[Term]) -> list[Term]:
    """The roots with a term in place of another, if that is below them."""
    return replaced(roots, {want: got}) if want.args and want in in_order(roots) else roots


def _decide_part(
    question: Question, case: Case, reference: Circuit, part: _Part, how: How, asked: list[Query]
) -> _Outcome:
    """Decide a part, with the questions that it takes."""
    note = ""
    for kind, assertions in _attempts(question, case, reference, part, how.cut):
        query, model = _ask(f"{part.name}: {kind}" if part.name else kind, assertions, how)
        asked.append(query)
        if query.result == "unknown":
            return _Outcome(
                "undecided", note=f"{part.name}: no answer".removeprefix(": ") + f" within {how.limit_s:g} s"
            )
        if query.result == "unsat":
            other = query.confirmed.get(how.confirm, "unsat")
            return _Outcome("proved") if other == "unsat" else _Outcome("undecided", note=f"{how.confirm} says {other}")
        if real := tried(question, reference, model):
            return _Outcome("counterexample", real)
        note = "the solver's counterexample is none of the circuit and the oracle"
    return _Outcome("undecided", note=note)


def _attempts(
    question: Question, case: Case, reference: Circuit, part: _Part, cut: bool
) -> Iterator[tuple[str, list[Term]]]:
    """The questions to ask one after the other, until one decides: with products cut, if both sides have some."""
    observed = question.design.observed
    assumed = [question.assumption, case.assumption, observed.assumed, not_(reference.undefined)]
    asserted = [*assumed, part.wrong]
    if cut and part.reference:
        by, products = shared_products(part.reference, [observed.got], assumed)
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
