"""Properties of roundings: on which side, how far, in which order, how often."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.testing.conformance.operation import (
    NEAREST,
    STOCHASTIC,
    OperationCase,
    OperationSetup,
    OperationTrial,
    fraction_text,
    range_of,
)
from softfloat_ref.testing.conformance.table import arithmetic, prop
from softfloat_ref.testing.ulp import Exact, is_within, ulp_of

MAX_WORDS: Final = 10  # bits of a random word whose values are all tried
_BETWEEN_DIRECTED: Final = ("rtz", "rne", "rna", "rnu", "rhz", "rto")  # all between rdn and rup
_SIDES: Final = {"rdn": (-1, -1), "rup": (1, 1), "rtz": (-1, 1)}  # of the exact result: a positive one, a negative one


def _ordinary(t: OperationTrial, case: OperationCase) -> Exact | None:
    """The exact result, if the format has numbers on each side of it and flushes none; else None."""
    x, out = t.setup.exact(case), t.setup.rounded
    if not x.is_finite or (x.sign and not out.signed) or not (out.zero or x.value):
        return None
    limits = range_of(out)
    size = x._replace(value=abs(x.value))
    least = Fraction(0) if limits.gradual and not case.policy.flush_outputs else limits.least
    if size.compare(limits.largest) > 0 or (size.compare(least) < 0 and x.value):
        return None
    return x


@prop(arithmetic, roundings=NEAREST)
def half_ulp(t: OperationTrial, case: OperationCase) -> None:
    """The error is at most half an ulp."""
    _bounded(t, case, Fraction(1, 2))


@prop(arithmetic)
def one_ulp(t: OperationTrial, case: OperationCase) -> None:
    """The error is less than an ulp."""
    _bounded(t, case, Fraction(1))


def _bounded(t: OperationTrial, case: OperationCase, most: Fraction) -> None:
    x = _ordinary(t, case)
    if x is None:
        return
    (answer,) = t.ask(case)
    got, ulp = t.value(answer), ulp_of(t.setup.rounded, x)
    near = got.is_finite and is_within(x, got.as_fraction(), most * ulp)
    if most == 1:  # the next value but one is never right
        near = near and x.compare(got.as_fraction() - ulp) > 0 > x.compare(got.as_fraction() + ulp)
    t.require(near, f"a number at most {most} ulp from {_shown(x)}")


def _shown(x: Exact) -> str:
    text = fraction_text(x.value)
    return f"the square root of {text}" if x.root else text


@prop(arithmetic, roundings=frozenset(_SIDES))
def side(t: OperationTrial, case: OperationCase) -> None:
    """The result lies on the side of the exact one that the rounding says."""
    x = _ordinary(t, case)
    if x is None:
        return
    wanted = _SIDES[t.setup.rounded_as(case)][x.sign]
    (answer,) = t.ask(case)
    got = t.value(answer)
    above = -x.compare(got.as_fraction()) if got.is_finite else 0
    word = "above" if wanted > 0 else "below"
    t.require(
        got.is_finite and above in (0, wanted),
        f"a number not {'below' if wanted > 0 else 'above'} {_shown(x)}: {word} or at it",
    )


# -- several roundings -----------------------------------------------------------------------------------------------


def _both_ends(setup: OperationSetup) -> str:
    return "" if {"rdn", "rup"} <= setup.roundings else "the model does not have both rdn and rup (roundings = ...)"


@prop(arithmetic, when=(_both_ends,))
def order_of_roundings(t: OperationTrial, case: OperationCase) -> None:
    """Every rounding lies between rdn and rup, and is one of these two."""
    x = _ordinary(t, case)
    if x is None:
        return
    policies = {name: p for p in t.setup.policies if (name := case._replace(policy=p).rounding) not in STOCHASTIC}
    answers = dict(zip(policies, t.ask(*(OperationCase(case.operands, 0, p) for p in policies.values())), strict=True))
    values = {name: t.value(answer) for name, answer in answers.items()}
    low, high = (values[x] for x in (("rup", "rdn") if t.setup.sig.operation.negated else ("rdn", "rup")))
    t.require(not (low.is_nan or high.is_nan) and exact.compare(low, high) <= 0, "rdn's result on its side of rup's")
    for name in _BETWEEN_DIRECTED:
        if name in values:
            t.require(
                answers[name].result in (answers["rdn"].result, answers["rup"].result), f"{name}: rdn's result or rup's"
            )


# -- stochastic rounding ---------------------------------------------------------------------------------------------


def _few_words(setup: OperationSetup) -> str:
    n = max(p.random_count for p in setup.policies)
    return f"{n} random bits are too many to try every word (at most {MAX_WORDS})" if n > MAX_WORDS else ""


@prop(arithmetic, roundings=STOCHASTIC, when=(_few_words,), cases=lambda s: s.cases(STOCHASTIC))
def unbiased(t: OperationTrial, case: OperationCase) -> None:
    """Over all random words the mean is the exact result, as near as they allow; a larger word goes no less far."""
    x = _ordinary(t, case)
    if x is None:
        return
    n = case.policy.random_count
    cases = [case._replace(random_bits=r) for r in range(1 << n)]
    answers = t.ask(*cases)
    places = [abs(v.as_fraction()) if (v := t.value(a)).is_finite else None for a in answers]
    finite = [p for p in places if p is not None]
    if len(finite) < len(places):  # some words round past the largest value
        t.require(bool(finite) or x.compare(range_of(t.setup.rounded).largest) > 0, "numbers")
        return
    for word in range(1, len(finite)):
        if finite[word] < finite[word - 1]:
            t.questions = t.questions[word - 1 : word + 1]
            t.fail("the larger word's result at least as far from zero")
    size = x._replace(value=abs(x.value))
    t.questions = t.questions[-1:]
    _mean(t, case, size, sum(finite, Fraction(0)) / len(finite))


def _mean(t: OperationTrial, case: OperationCase, size: Exact, mean: Fraction) -> None:
    """sr cuts the discarded fraction to n bits, sr-b and sr-c take the nearest n bits (IEEE P3109 4.7.4)."""
    step = ulp_of(t.setup.rounded, size) / (1 << case.policy.random_count)
    n = case.policy.random_count
    if case.rounding == "sr":
        holds = size.compare(mean) >= 0 > size.compare(mean + step)
        near = f"less than 2^-{n} ulp below"
    else:
        holds = is_within(size, mean, step / 2)
        near = f"within half of 2^-{n} ulp of"
    t.require(holds, f"a mean over all words {near} {_shown(size)}, not {fraction_text(mean)}")
