"""Faults that few inputs show, often a single one, in any term of an example circuit: none may be proved to be none.

What a proof finds by trying some inputs, such as the steps of a division, it has to prove for all inputs. A fault that
none of the tried ones shows is what could get past it.
"""

from __future__ import annotations

import dataclasses
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from softfloat_ref.proof.design import BoundDesign, Segment
from softfloat_ref.proof.engine import Tactics, decide
from softfloat_ref.proof.question import ALL, Question
from softfloat_ref.symbolic.build import and_, eq, ite, make, substitute
from softfloat_ref.symbolic.circuit import ProofCase
from softfloat_ref.symbolic.terms import Term, const, evaluator, subterms, variables

from .goals import groups
from .tasks import Task

PROVED: Final = "WRONGLY PROVED"
NONE: Final = "without effect"
_TRIES: Final = 2000  # for an input of a case
_PLACES: Final = 100  # for a fault
_REST: Final = 0.25  # of the faults: in all inputs at once, or in a case that is not split by bits that are known


class Fault(NamedTuple):
    """A faulty circuit, the case in which an input shows the fault, that input, and how the circuit was changed."""

    question: Question
    case: str
    shown: Mapping[str, int]
    text: str


def run(names: Sequence[str], count: int, first: int, limit_s: float) -> int:
    """Print a line for each circuit, and one for each fault that is proved to be none; 1 if there is one."""
    wrong = 0
    for task in (task for name in names for row in groups()[name] for task in row.tasks[:1]):
        begin, question, counts = time.process_time(), task.question(), Counter[str]()
        for seed in range(first, first + count):
            verdict, text = tried(question, seed, limit_s)
            counts[verdict] += 1
            if verdict == PROVED:
                wrong = 1
                print(f"{label(task)} {seed}: {text}", flush=True)
        words = ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items()))
        print(f"{label(task):30}{time.process_time() - begin:8.1f} s  {words}", flush=True)
    return wrong


def label(task: Task) -> str:
    """The circuit and the operation."""
    return f"{task.ports['module']} {getattr(task.fmt, 'name', task.fmt)} {task.op}"


def tried(question: Question, seed: int, limit_s: float) -> tuple[str, str]:
    """What a proof makes of a fault, and the fault."""
    fault = faulty(question, seed)
    if fault is None:
        return NONE, ""
    inside = [case.name for case in question.cases.values() if case.inside]  # on which the others rest
    for name in dict.fromkeys([fault.case, *inside]):
        decided = decide(fault.question, name, Tactics(limit_s, apart=bool(seed & 1)))
        if decided.verdict != "proved":
            break
    return (PROVED if decided.verdict == "proved" else decided.verdict), f"{fault.case}: {fault.text}; {fault.shown}"


def faulty(question: Question, seed: int) -> Fault | None:
    """The circuit with a fault; None if no input was found that shows one."""
    words, correct = random.Random(seed), question.design()
    case = _case(question, words)
    inputs = _input(question, correct, case, words)
    place = inputs and _place(correct, inputs, words)
    if not inputs or not place:
        return None
    term, flips = place
    seen = _seen(variables(question.reference(case).roots), inputs, words)
    other = make("xor", term.width, term, ite(seen, flips, const(0, term.width)))
    changed = dataclasses.replace(question)
    changed.__dict__.update(cases=question.cases, samples=question.samples)
    changed._designs[case.part or 0] = _with(correct, term, other)
    posed = changed.posed(case)
    if not all(evaluator([*posed.assumed, posed.wrong])(inputs)):
        return None
    return Fault(changed, case.name, inputs, f"bit {flips.value.bit_length() - 1} of a term {term.op}")


def _place(correct: BoundDesign, inputs: Mapping[str, int], words: random.Random) -> tuple[Term, Term] | None:
    """A term and a bit of it, which change what the circuit gives for an input; None if none was found."""
    got = correct.observed.got
    order = subterms([got])
    values = dict(zip(order, evaluator(order)(inputs), strict=True))
    for _ in range(_PLACES):
        term = words.choice(order)
        flips = 1 << words.randrange(term.width)
        (now,) = substitute([got], {term: const(values[term] ^ flips, term.width)})
        if not term.is_const and evaluator([now])(inputs) != [values[got]]:
            return term, const(flips, term.width)
    return None


def _case(question: Question, words: random.Random) -> ProofCase:
    """A case; of those where bits are known, if there are some, most of the time."""
    known = [c for c in question.cases.values() if c.held is not None]
    if known and words.random() > _REST:
        return words.choice(known)
    return words.choice([question.case(ALL), *question.cases.values()])


def _input(question: Question, correct: BoundDesign, case: ProofCase, words: random.Random) -> dict[str, int] | None:
    """Values of all variables for which the case's assumptions hold; None if that is rare."""
    assumed = [question.assumption, case.assumption, correct.observed.assumed]
    roots = [*question.reference(case).roots, correct.observed.got, correct.broken, *assumed]
    run, free = evaluator(assumed), variables(roots)
    for _ in range(_TRIES):
        values = {str(v.value): words.getrandbits(v.width) for v in free}
        for name, (mask, value) in (case.held or {}).items():
            values[name] = values[name] & ~mask | value
        if all(run(values)):
            return values
    return None


def _seen(free: Sequence[Term], inputs: Mapping[str, int], words: random.Random) -> Term:
    """Whether an input is this one; sometimes in some of the bits only."""
    few = words.random() < 0.5
    masks = {v: words.getrandbits(v.width) | words.getrandbits(v.width) if few else (1 << v.width) - 1 for v in free}
    return and_(
        *(
            eq(make("and", v.width, v, const(mask, v.width)), const(inputs[str(v.value)] & mask, v.width))
            for v, mask in masks.items()
        )
    )


def _with(design: BoundDesign, term: Term, other: Term) -> BoundDesign:
    """The design with another term in place of one."""
    segments = [s for parts in design.codes.values() for s in parts]
    roots = [design.observed.got, design.observed.wrong, design.fill, *(s.code for s in segments)]
    got, wrong, fill, *codes = substitute(roots, {term: other})
    terms: Iterator[Term] = iter(codes)
    parts = {name: tuple(Segment(s.low, next(terms)) for s in parts) for name, parts in design.codes.items()}
    observed = dataclasses.replace(design.observed, got=got, wrong=wrong)
    return dataclasses.replace(design, observed=observed, codes=parts, fill=fill)
