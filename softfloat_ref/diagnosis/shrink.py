"""The simplest operands that still show a mismatch, found by querying the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from softfloat_ref.diagnosis.cost import cost, moved_together, simpler_codes
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Inputs, Model, Output, expected_model
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import Unit

# From questions to the compared parts of the answers.
Ask = Callable[[Sequence[tuple[int, ...]]], Sequence[Output]]
ROUNDS: Final = 30
QUESTIONS: Final = 400  # per round
_PAIRED_OPERANDS: Final = 3  # up to this many operands, pairs are moved together


def simplest(cases: Sequence[AnsweredCase], unit: Unit) -> AnsweredCase | None:
    """The simplest of the mismatches."""
    formats = unit.input_formats
    wrong = [c for c in cases if not c.agrees]
    return min(wrong, key=lambda c: (cost(c.inputs, formats), c.inputs), default=None)


def shrink(
    case: AnsweredCase,
    unit: Unit,
    comparator: Comparator,
    ask: Ask,
    explained: Model | None,
    askable: Callable[[Inputs], bool],
) -> AnsweredCase:
    """The simplest mismatch reached by simplifying one step by step.

    explained: where given, the device must go on doing what this says, so that no other defect takes its place.
    askable: whether a question has an answer at all.
    """
    formats, expected = unit.input_formats, expected_model(unit)
    for _ in range(ROUNDS):
        questions = [x for x in _simpler(case.inputs, formats) if askable(x)]
        if not questions:
            break
        simpler = _failing(questions, ask(questions), expected, comparator, explained, case)
        if simpler is None:
            break
        case = simpler
    return case


def _simpler(inputs: tuple[int, ...], formats: Sequence[Format | None]) -> list[tuple[int, ...]]:
    """Simpler cases, the simplest first."""
    now = cost(inputs, formats)
    tried = {x: cost(x, formats) for x in _changed(inputs, formats)}
    return sorted((x for x, c in tried.items() if c < now), key=lambda x: (tried[x], x))[:QUESTIONS]


def _changed(inputs: tuple[int, ...], formats: Sequence[Format | None]) -> Iterator[tuple[int, ...]]:
    yield from _zeroed(inputs)
    for i, (code, fmt) in enumerate(zip(inputs, formats, strict=True)):
        for other in simpler_codes(code, fmt):
            yield (*inputs[:i], other, *inputs[i + 1 :])
    if len(inputs) <= _PAIRED_OPERANDS:
        yield from moved_together(inputs, formats)


def _zeroed(inputs: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Many operands set to zero at once: halves, quarters, ..."""
    size = len(inputs) // 2
    while size >= 2:
        for start in range(0, len(inputs), size):
            end = min(start + size, len(inputs))
            yield (*inputs[:start], *(0,) * (end - start), *inputs[end:])
        size //= 2


def _failing(
    questions: Sequence[tuple[int, ...]],
    answers: Sequence[Output],
    expected: Model,
    comparator: Comparator,
    explained: Model | None,
    case: AnsweredCase,
) -> AnsweredCase | None:
    """The first question that the device gets wrong in the same way."""
    for inputs, got in zip(questions, answers, strict=True):
        wanted = expected(inputs)
        if wanted is None:
            continue
        failing = AnsweredCase(inputs, comparator(wanted), got)
        if failing.agrees or not _alike(failing, case):
            continue
        output = explained(inputs) if explained is not None else None
        if explained is None or (output is not None and comparator(output) == got):
            return failing
    return None


def _alike(other: AnsweredCase, case: AnsweredCase) -> bool:
    """Whether the same part of the answer is wrong: the result, or only the flags."""
    return (other.expected[0] == other.got[0]) == (case.expected[0] == case.got[0])
