"""Operations on which a netlist is compared with its sources: directed, random, and found by a solver."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.base.files import read_text
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.proof.question import Question, input_names
from softfloat_ref.proof.solver import Wishes, solve
from softfloat_ref.rtl.bundle import ones
from softfloat_ref.symbolic.build import not_
from softfloat_ref.symbolic.terms import evaluator, subterms, variable_widths

EXHAUSTIVE_BITS: Final = 12  # inputs of no more bits are all tried
_LITERAL: Final = re.compile(r"'[sS]?([hHdDoObB])\s*([0-9a-fA-F_]+)|\b(\d+)\b(?!\s*')")  # a number before ' is a width
_BASES: Final = {"h": 16, "d": 10, "o": 8, "b": 2}
_MAX_LITERALS: Final = 200
MAX_OPERATIONS: Final = 3000  # where not all inputs are tried
_VECTOR_LANES: Final = 1500  # lanes of vectors of the unit, with its special and rounding cases,
_LEAST_VECTORS: Final = 30  # and vectors at least
_SOLVE_S: Final = 5.0
_DIRECTED_S: Final = 0.3  # for a solver, in all,
_ASK_S: Final = 0.1  # and for a question
_EXAMINED: Final = 300  # operations, for the conditions that they meet
_CONDITIONS: Final = ("eq", "ult", "slt", "and", "or", "xor", "not")


Lanes = Mapping[str, int]  # the codes of an operation's inputs, by lane


class Vector(NamedTuple):
    """An operation: the number of the unit's part, and its inputs."""

    part: int
    lanes: Lanes


def literals(files: Iterable[Path]) -> list[int]:
    """The numbers that sources name, each once, in order, up to some."""
    numbers: dict[int, None] = {}
    for file in files:
        for base, digits, plain in _LITERAL.findall(read_text(file, limits.SOURCE, errors="replace")):
            try:
                numbers[int(digits.replace("_", ""), _BASES[base.lower()]) if base else int(plain)] = None
            except ValueError:
                continue  # digits of another base
    return list(numbers)[:_MAX_LITERALS]


def vectors(question: Question, numbers: Sequence[int]) -> Iterator[Vector]:
    """Operations for which a proof is asked: all if they are few; else without end the unit's own directed and random
    vectors, each with another that differs from it in one lane: a code, one bit, or a number that the sources name."""
    unit, words = question.unit, Random(0)
    names = input_names(unit)
    widths = dict(zip(names, (f.width for f in unit.inputs for _ in range(f.lanes)), strict=True))
    chosen = evaluator([question.domain])
    base = _base(question, widths)
    if base is None:
        return

    def assumed(lanes: Lanes) -> bool:
        return bool(chosen(lanes)[0])

    def part(lanes: Lanes) -> int | None:
        try:
            return unit.parts.index(unit.selected([lanes[n] for n in names])[0]) if len(unit.parts) > 1 else 0
        except Undefined:
            return None

    if sum(widths.values()) <= EXHAUSTIVE_BITS:
        everything = list(range(1 << sum(widths.values())))
        order = words.sample(everything, len(everything))
        drawn: Iterator[Lanes] = (_split(code, widths) for code in chain(order, everything))
    else:
        drawn = islice(_drawn(question, widths, numbers, base, words), MAX_OPERATIONS)
    known = ((part(lanes), lanes) for lanes in drawn if assumed(lanes))
    yield from (Vector(number, lanes) for number, lanes in known if number is not None)


def _base(question: Question, widths: Mapping[str, int]) -> Lanes | None:
    """An operation that is assumed; None if none is found."""
    answer = solve([question.domain], _SOLVE_S)
    return {n: answer.model.get(n, 0) for n in widths} if answer.result == "sat" else None


def _split(code: int, widths: Mapping[str, int]) -> dict[str, int]:
    lanes, low = {}, 0
    for name, width in widths.items():
        lanes[name] = code >> low & ones(width)
        low += width
    return lanes


def _drawn(
    question: Question, widths: Mapping[str, int], numbers: Sequence[int], base: Lanes, words: Random
) -> Iterator[Lanes]:
    names = list(widths)
    before: Lanes = base
    for codes in chain(_golden(question), _random(widths, words)):
        lanes = dict(zip(names, codes, strict=True))
        yield lanes
        name = words.choice(names)
        kind, width = words.randrange(4), widths[name]
        if kind == 0 and numbers:
            number = words.choice(numbers)
            other = number << max(width - number.bit_length(), 0) if words.random() < 0.3 else number
        elif kind == 1:
            other = lanes[name] ^ 1 << words.randrange(width)
        else:
            other = before[name] if kind == 2 else words.getrandbits(width)
        yield {**lanes, name: other & ones(width)}
        if kind == 1:
            yield lanes
            yield lanes  # twice: a register may hold the same
        yield {**base, name: lanes[name]}  # where little is assumed, most of the others are not
        before = lanes


def _golden(question: Question) -> Iterator[Sequence[int]]:
    try:
        count = max(_VECTOR_LANES // question.unit.input_width, _LEAST_VECTORS)
        mixed = list(islice(VectorSet(question.unit, count).inputs(), count))
    except Error:  # a unit of which there are no vectors
        return
    Random(0).shuffle(mixed)
    yield from mixed


def _random(widths: Mapping[str, int], words: Random) -> Iterator[Sequence[int]]:
    while True:
        yield [words.getrandbits(width) for width in widths.values()]


def directed(question: Question, tried: Sequence[Vector]) -> Iterator[Vector]:
    """Operations for which a condition of the circuit is what it is for none of those tried, as a solver finds
    them, in limited time."""
    end = time.monotonic() + _DIRECTED_S
    for part in range(len(question.unit.parts)):
        plan = question.design(part)
        roots = [t for t in subterms([plan.observed.got]) if t.width == 1 and t.op in _CONDITIONS]
        lanes = [vector.lanes for vector in tried if vector.part == part]
        names = variable_widths([*roots, question.domain])
        run, seen = evaluator(roots), [0] * len(roots)  # 1: was 0; 2: was 1
        for some in lanes[:_EXAMINED]:
            for i, bit in enumerate(run({n: some.get(n, 0) for n in names})):
                seen[i] |= 1 << bit
        asked = Wishes([question.domain, plan.observed.assumed])
        for t, met in zip(roots, seen, strict=True):
            for missing in (t,) if met == 1 else (not_(t),) if met == 2 else (t, not_(t)) if not met else ():
                if time.monotonic() > end:
                    return
                if (model := asked.model(missing, _ASK_S)) is not None:
                    yield Vector(part, {n: model.get(n, 0) for n in input_names(question.unit)})
