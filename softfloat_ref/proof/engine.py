"""Decides a case of a proof: by one question to the solver, one for each output, or with equal products cut."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from softfloat_ref.proof.built import Samples, built_products, by_values
from softfloat_ref.proof.carry_save import added_products
from softfloat_ref.proof.cut import FACT_LEVELS, Product, products_in, shared_products
from softfloat_ref.proof.maxima import largest_numbers
from softfloat_ref.proof.merge import merged
from softfloat_ref.proof.question import Counterexample, Obligation, OutputPart, Problem
from softfloat_ref.proof.quotients import Quotient, built_quotients, quotients_in
from softfloat_ref.proof.solver import Result, confirm, query_hash, solve
from softfloat_ref.proof.sweep import Held, held_bits, samples_of, sweep_constants
from softfloat_ref.symbolic.build import and_, not_, substitute
from softfloat_ref.symbolic.terms import Term

Verdict = Literal["proved", "counterexample", "undecided"]
WHOLE: Final = "whole"
INSIDE: Final = "rounded inside, as a variable"
CUT: Final = "product cut"
ADDED: Final = "product of adders cut"
LARGEST: Final = ", largest numbers as variables"
BUILT: Final = "built product or quotient cut"
ADDER: Final = "{} adder, equal terms merged"
ELSEWHERE: Final = "zeros and special operands"
_SWEEP_S: Final = 120.0  # to make the terms of a case smaller
_MERGED_S: Final = 10.0  # for what is left after terms were merged


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
class Tactics:
    """How cases are decided. limit_s: for each question; cut: whether products are cut, and equal terms merged; apart:
    whether many outputs are compared one after the other; confirm: another solver, by name, that must agree with each
    proof."""

    limit_s: float
    cut: bool = True
    apart: bool = True
    confirm: str = ""


class _Outcome(NamedTuple):
    verdict: Verdict
    counterexample: Counterexample | None = None
    note: str = ""


def decide(problem: Problem, name: str, tactics: Tactics) -> Decided:
    """Decide a case. Raises Error for what is not supported."""
    begin = time.monotonic()
    posed = problem.posed(problem.case(name))
    asked: list[Query] = []
    outcome = _by_adders(posed, tactics, asked)
    if outcome is None:
        outcome = _in_parts(posed, tactics, asked)
    seconds = time.monotonic() - begin
    return Decided(name, outcome.verdict, tuple(asked), seconds, outcome.counterexample, outcome.note, posed.undefined)


def _in_parts(posed: Obligation, tactics: Tactics, asked: list[Query]) -> _Outcome:
    """What comes of the parts, until one is not proved."""
    outcome = _Outcome("proved")
    for part in posed.apart() if tactics.apart and posed.apart else [OutputPart("", posed.wrong, posed.ours)]:
        outcome = _decide_part(posed, part, tactics, asked)
        if outcome.verdict != "proved":
            break
    return outcome


def _by_adders(posed: Obligation, tactics: Tactics, asked: list[Query]) -> _Outcome | None:
    """What comes of a sum by an adder that circuits have, after equal terms of both sides are merged; None if that does
    not decide it. Another solver could not confirm what was merged."""
    if posed.adders is None or not tactics.cut or tactics.confirm:
        return None
    brief = replace(tactics, limit_s=min(_MERGED_S, tactics.limit_s))
    for adder, numbers, ours, wrong, samples in posed.adders():
        assumed = [*posed.assumed, numbers]
        if not samples or (got := merged(ours, posed.theirs, assumed, samples)) is None:
            continue
        query, model = _ask(ADDER.format(adder), [*assumed, wrong(*got)], brief)
        if query.result == "sat" and (real := posed.tried(model)):
            asked.append(query)
            return _Outcome("counterexample", real)
        if query.result == "unsat":
            rest, _ = _ask(ELSEWHERE, [*posed.assumed, not_(numbers), posed.wrong], tactics)
            if rest.result == "unsat":
                asked += [query, rest]
                return _Outcome("proved")
            return None
    return None


def _decide_part(posed: Obligation, part: OutputPart, tactics: Tactics, asked: list[Query]) -> _Outcome:
    """Decide a part, with the questions that it takes."""
    note, largest = "", largest_numbers([*part.reference, *posed.theirs])
    if largest:
        by = {t: number.value for t, number in largest.items()}
        wrong = and_(*substitute([part.wrong], by), *(number.facts for number in largest.values()))
        part = part._replace(wrong=wrong)
    for kind, assertions in _attempts(posed, part, tactics.cut):
        kind += LARGEST if largest else ""
        query, model = _ask(f"{part.name}: {kind}" if part.name else kind, assertions, tactics)
        asked.append(query)
        if query.result == "unknown":
            return _Outcome(
                "undecided", note=f"{part.name}: no answer".removeprefix(": ") + f" within {tactics.limit_s:g} s"
            )
        if query.result == "unsat":
            other = query.confirmed.get(tactics.confirm, "unsat")
            return (
                _Outcome("proved")
                if other == "unsat"
                else _Outcome("undecided", note=f"{tactics.confirm} says {other}")
            )
        if real := posed.tried(model):
            return _Outcome("counterexample", real)
        note = "the solver's counterexample is none of the oracle"
    return _Outcome("undecided", note=note)


def _attempts(posed: Obligation, part: OutputPart, cut: bool) -> Iterator[tuple[str, list[Term]]]:
    """The questions to ask one after the other, until one decides: with products cut, if both sides have some, if the
    circuit has trees of adders for them, or if it builds those of the reference; then as it is."""
    asserted, kind = list[Term](), CUT
    if posed.inside is not None:
        by, facts = posed.inside
        yield INSIDE, [*substitute([*posed.assumed, part.wrong], by), facts]
    if cut and part.reference:
        by, products = shared_products(part.reference, posed.theirs, posed.assumed)
        if not products and (added := added_products(part.reference, posed.theirs)):
            *theirs, wrong = substitute([*posed.theirs, part.wrong], added)
            posed, part, kind = posed._replace(theirs=theirs), part._replace(wrong=wrong), ADDED
            by, products = shared_products(part.reference, theirs, posed.assumed)
        yield from _abstract(kind, posed.assumed, part.wrong, by, products)
        if posed.held is not None:
            asserted = yield from _built(posed, part, posed.held)
    yield WHOLE, asserted or [*posed.assumed, part.wrong]


def _abstract(
    kind: str,
    assumed: Sequence[Term],
    wrong: Term,
    by: Mapping[Term, Term],
    cut: Sequence[Product | Quotient],
) -> Iterator[tuple[str, list[Term]]]:
    """The questions with variables for products and quotients, if there are some, of which more and more is known."""
    for level in FACT_LEVELS if cut else ():
        facts = and_(*(fact for p in cut for fact in p.facts(level)))
        yield f"{kind}, facts {level}", [*assumed, *substitute([wrong], by), facts]


def _built(posed: Obligation, part: OutputPart, held: Held) -> Generator[tuple[str, list[Term]], None, list[Term]]:
    """The questions with what the circuit builds of the reference's products or quotients. Returns what is asserted,
    made smaller by what holds in the case, if that was needed."""
    count, asserted = len(posed.assumed), [*posed.assumed, part.wrong]
    divides = quotients_in(part.reference)
    if not divides and not products_in(part.reference):
        return asserted
    roots = [*posed.assumed, part.wrong, *part.reference, *posed.theirs]
    roots = substitute(roots, held_bits(roots, held))
    assumed = [t for t in roots[:count] if not t.is_const]
    samples = samples_of(roots, assumed, held)
    if not samples:
        return asserted
    if divides:  # at once: it may divide in one cycle, which nothing makes smaller
        yield from _with_built_parts(posed, part, roots[count:], assumed, samples)
    small = sweep_constants(roots, assumed, samples, _SWEEP_S)
    roots = [small[t] for t in roots]
    yield from _with_built_parts(posed, part, roots[count:], assumed, samples)
    return [*posed.assumed, roots[count]]


def _with_built_parts(
    posed: Obligation, part: OutputPart, roots: Sequence[Term], assumed: Sequence[Term], samples: Samples
) -> Iterator[tuple[str, list[Term]]]:
    """The questions with the products and quotients that are found. roots: what is wrong, ours and theirs."""
    wrong, *others = roots
    ours, theirs = others[: len(part.reference)], others[len(part.reference) :]
    places = by_values(theirs, samples)
    by, products = shared_products(ours, theirs, assumed)
    yield from _abstract(f"{CUT} in the case", posed.assumed, wrong, by, products)
    by, products = built_products(ours, places, assumed, samples)
    more, quotients = built_quotients(ours, places, assumed, samples)
    yield from _abstract(BUILT, posed.assumed, wrong, by | more, [*products, *quotients])


def _ask(kind: str, assertions: Sequence[Term], tactics: Tactics) -> tuple[Query, Mapping[str, int]]:
    """A question to the solver, with its answer, and the model, if there is one."""
    answer = solve(assertions, tactics.limit_s)
    others: dict[str, Result] = {}
    if tactics.confirm and answer.result == "unsat":
        others[tactics.confirm] = confirm(assertions, tactics.confirm, tactics.limit_s).result
    return Query(kind, query_hash(assertions), answer.result, answer.seconds, others), answer.model
