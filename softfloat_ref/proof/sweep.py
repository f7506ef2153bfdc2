"""Terms made smaller by what holds in a case: bits that never change there are constants.

A circuit that takes many cycles is a term of thousands of choices, most of which a case decides: how long it
normalises, in which cycle it adds what. Inputs of the case show which bits may be constant; a solver proves it,
arguments first, so that what follows from them is constant by itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import groupby
from random import Random
from typing import Final

from softfloat_ref.proof.solver import Wishes
from softfloat_ref.symbolic.build import concat, extract, make
from softfloat_ref.symbolic.terms import Term, const, evaluator, subterms, variables

_QUESTION_S: Final = 0.5  # for a bit
_SAMPLE_COUNT: Final = 64  # samples
_TRIES: Final = 4000  # for them
Held = Mapping[str, tuple[int, int]]  # bits of variables that are known: a mask, and their values


def held_bits(roots: Sequence[Term], held: Held) -> dict[Term, Term]:
    """The variables below the roots of which bits are known, and what they are with these."""
    names = {str(v.value): v for v in variables(roots)}
    return {names[name]: _with_bits(names[name], *bits) for name, bits in held.items() if name in names}


def _with_bits(v: Term, mask: int, value: int) -> Term:
    """A variable with some of its bits constant."""
    runs = groupby(reversed(range(v.width)), lambda i: mask >> i & 1)
    spans = [(known, list(places)) for known, places in runs]
    parts = [
        const(value >> places[-1], len(places)) if known else extract(v, places[0], places[-1])
        for known, places in spans
    ]
    return reduce(concat, parts)


def samples_of(
    roots: Sequence[Term], assumed: Sequence[Term], held: Held, count: int = _SAMPLE_COUNT
) -> list[dict[str, int]]:
    """Values of the variables below the roots for which assumptions hold; none if they hardly ever do."""
    free, words, samples = variables([*roots, *assumed]), Random(0), []
    run = evaluator(assumed)
    for _ in range(_TRIES):
        values = {str(v.value): words.getrandbits(v.width) for v in free}
        values |= {name: values[name] & ~mask | value for name, (mask, value) in held.items() if name in values}
        if all(run(values)):
            samples.append(values)
        if len(samples) == count:
            return samples
    return []


def sweep_constants(
    roots: Sequence[Term], assumed: Sequence[Term], samples: Sequence[Mapping[str, int]], limit_s: float
) -> dict[Term, Term]:
    """What each term below the roots is where the assumptions hold.

    samples: values of the variables, for which they do. limit_s: for all questions; terms that come later stay.
    """
    order = subterms(roots)
    run, begin = evaluator(order), time.monotonic()
    constant = dict(zip(order, run(samples[0]), strict=True))
    for values in samples[1:]:
        constant = _still(constant, dict(zip(order, run(values), strict=True)))
    solver = Wishes(assumed)
    by: dict[Term, Term] = {}
    for t in order:
        new = make(t.op, t.width, *(by[a] for a in t.args), value=t.value) if t.args else t
        if t.width == 1 and not new.is_const and t in constant and time.monotonic() - begin < limit_s:
            answer = solver.ask([make("xor", 1, new, const(constant[t], 1))], _QUESTION_S)
            if answer.result == "unsat":
                new = const(constant[t], 1)
            elif answer.result == "sat":
                values = {**samples[0], **answer.model}
                constant = _still(constant, dict(zip(order, run(values), strict=True)))
        by[t] = new
    return by


def _still(constant: Mapping[Term, int], now: Mapping[Term, int]) -> dict[Term, int]:
    """The terms that have the same value again."""
    return {t: x for t, x in constant.items() if now[t] == x}
