"""The simplest counterexample of a case: further questions to the solver, each with one more wish of the inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.codec import encode
from softfloat_ref.oracle.formats import Format
from softfloat_ref.proof.equal import Equality
from softfloat_ref.proof.question import Counterexample, Obligation, Problem, input_names
from softfloat_ref.proof.solver import Wishes
from softfloat_ref.symbolic.build import and_, eq, extract, or_
from softfloat_ref.symbolic.classes import is_in
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import Term, const, evaluate, evaluator, var
from softfloat_ref.units import Unit
from softfloat_ref.units.unit import Field, lanes_of

_EACH_S: Final = 2.0  # for a question
_VECTOR_COUNT: Final = 2000  # of each unit
Wish = Sequence[Term]  # alternatives, the best first


def simplest(problem: Problem, case: str, counterexample: Counterexample, limit_s: float) -> Counterexample:
    """A counterexample of the same case with as simple inputs as are found within the limit.

    As many operands as possible are finite, few lanes are not 0, as many operands as possible are 0 or 1, then normal
    and positive, with few significant bits and an exponent of 0. The given one, of units that cannot be read. Raises
    Error, as decide.
    """
    unit = problem.unit
    try:
        posed = problem.posed(problem.case(case))
    except Unsupported:  # it was found without terms
        return counterexample
    values = dict(zip(input_names(unit), counterexample.inputs, strict=True))
    model = _wished(posed, [*([x] for x in posed.wishes), *wishes(unit)], {**counterexample.others, **values}, limit_s)
    return posed.tried(model) or counterexample


def _wished(posed: Obligation, wished: Sequence[Wish], model: Mapping[str, int], limit_s: float) -> Mapping[str, int]:
    """A model in which as many wishes come true as possible, the first ones first."""
    begin = time.monotonic()
    solver = Wishes([*posed.assumed, posed.wrong])
    for wish in wished:
        for term in wish:
            if evaluate([term], model)[0]:
                solver.keep(term)
                break
            rest = limit_s - (time.monotonic() - begin)
            if rest > 0 and (better := solver.model(term, min(rest, _EACH_S))) is not None:
                model = better
                solver.keep(term)
                break
    return model


def told_by_vectors(problem: Equality, limit_s: float) -> Counterexample | None:
    """The simplest of the vectors that tell two units apart, as far as these are tried in time."""
    end = time.monotonic() + limit_s
    names = input_names(problem.unit)
    assumed, simple = evaluator([problem.assumption]), _simplicity(problem.unit)
    best: tuple[tuple[int, ...], Counterexample] | None = None
    for inputs in _vectors(problem):
        if time.monotonic() > end:
            break
        counterexample, values = problem.told_apart(inputs), dict(zip(names, inputs, strict=True))
        if counterexample is not None and assumed(values)[0]:
            rank = (problem.by_results(counterexample), *simple(values))
            best = max(best or (rank, counterexample), (rank, counterexample), key=lambda pair: pair[0])
    return best and best[1]


def _simplicity(unit: Unit) -> Callable[[Mapping[str, int]], tuple[int, ...]]:
    """How well each wish comes true for inputs: 0, or more for better alternatives."""
    runs = [evaluator(wish) for wish in wishes(unit) if wish]

    def rank(bits: Sequence[int]) -> int:
        return max((len(bits) - i for i, bit in enumerate(bits) if bit), default=0)

    return lambda values: tuple(rank(run(values)) for run in runs)


def _vectors(problem: Equality) -> Iterator[tuple[int, ...]]:
    """The vectors of both units."""
    for unit in (problem.unit, problem.other):
        yield from VectorSet(unit, _VECTOR_COUNT).inputs()


def wishes(unit: Unit) -> Iterator[Wish]:
    """What makes an input simple, what matters most first."""
    codes = [(var(n, f.width), f) for f in unit.inputs for n in lanes_of(f)][::-1]
    operands = [(code, f.fmt) for code, f in codes if f.fmt is not None]
    floats = [(code, fmt) for code, fmt in operands if fmt.exponent_bits]
    finite = [is_in("finite", code, fmt) for code, fmt in floats]
    yield [and_(*finite)]
    yield from ([x] for x in finite)
    yield from (list(_few_lanes(f)) for f in unit.inputs)
    yield from ([or_(*(eq(code, x) for x in _plain(fmt)))] for code, fmt in operands)
    yield from ([and_(is_in("normal", code, fmt), is_in("positive", code, fmt))] for code, fmt in floats)
    yield from ([is_in("positive", code, fmt)] for code, fmt in floats)
    yield from (list(_short(code, fmt)) for code, fmt in operands)
    yield from (list(_near_one(code, fmt)) for code, fmt in operands)
    yield from ([eq(code, const(0, f.width))] for code, f in codes if _is_free(f))


def _few_lanes(f: Field) -> Iterator[Term]:
    """Zeros in all lanes but the first few."""
    names = lanes_of(f)
    sizes = [n for n in (1, 2, 4, 8, 16, 32) if n < f.lanes and f.role == "operand"]
    yield from (and_(*(eq(var(name, f.width), const(0, f.width)) for name in names[n:])) for n in sizes)


def _is_free(f: Field) -> bool:
    return f.fmt is None and f.role in ("operand", "random")


def _plain(fmt: Format) -> Iterator[Term]:
    """The codes of 0 and 1, of those that the format has."""
    if fmt.zero:
        yield const(0, fmt.width)
    try:
        yield const(encode(1, fmt).bits, fmt.width)
    except Error:  # such as a format of random bits
        return


def _short(code: Term, fmt: Format) -> Iterator[Term]:
    """Few bits of the significand below the leading one; of an integer, few bits."""
    if not fmt.exponent_bits:
        sizes = [n for n in (1, 2, 4, 8, 16, 32, 64) if n < fmt.width]
        yield from (eq(extract(code, fmt.width - 1, n), const(0, fmt.width - n)) for n in sizes)
        return
    sizes = [n for n in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64) if n < fmt.mantissa_bits]
    cuts = [fmt.mantissa_bits - n for n in sizes]
    yield from (eq(extract(code, cut - 1, 0), const(0, cut)) for cut in cuts)


def _near_one(code: Term, fmt: Format) -> Iterator[Term]:
    """An exponent of 0, or one below the bias."""
    if fmt.exponent_bits:
        exponent = extract(code, fmt.field_shift + fmt.exponent_bits - 1, fmt.field_shift)
        yield eq(exponent, const(fmt.bias % (1 << fmt.exponent_bits), fmt.exponent_bits))
