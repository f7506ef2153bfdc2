"""The simplest operands that still show a mismatch, found by asking the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from softfloat_ref.diagnosis.cost import cost, moved_together, operand_formats, simpler_codes
from softfloat_ref.diagnosis.hypotheses import Case, Lens, Model, Output, expected_model
from softfloat_ref.formats import Format
from softfloat_ref.testing.check import Checkable

Ask = Callable[[Sequence[tuple[int, ...]]], Sequence[Output | None]]  # questions to what is compared of the answers
ROUNDS: Final = 30
QUESTIONS: Final = 400  # a round
_PAIRED: Final = 3  # operands up to which pairs are moved together


def simplest(cases: Sequence[Case], vectors: Checkable) -> Case | None:
    """The simplest of the mismatches."""
    formats = operand_formats(vectors)
    wrong = [c for c in cases if not c.agrees]
    return min(wrong, key=lambda c: (cost(c.inputs, formats), c.inputs), default=None)


def shrink(case: Case, vectors: Checkable, lens: Lens, ask: Ask, explained: Model | None) -> tuple[Case, int]:
    """The simplest mismatch that can be reached from one by making it simpler step by step; the questions asked.

    explained: where given, the device must go on doing what this says, so that no other defect takes its place.
    """
    formats, expected = operand_formats(vectors), expected_model(vectors)
    asked = 0
    for _ in range(ROUNDS):
        questions = _simpler(case.inputs, formats)
        if not questions:
            break
        asked += len(questions)
        found = _failing(questions, ask(questions), expected, lens, explained, case)
        if found is None:
            break
        case = found
    return case, asked


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
    if len(inputs) <= _PAIRED:
        yield from moved_together(inputs, formats)


def _zeroed(inputs: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Whole stretches of zeros, in halves, quarters, ...: of many operands at once."""
    size = len(inputs) // 2
    while size >= 2:
        for start in range(0, len(inputs), size):
            end = min(start + size, len(inputs))
            yield (*inputs[:start], *(0,) * (end - start), *inputs[end:])
        size //= 2


def _failing(
    questions: Sequence[tuple[int, ...]],
    answers: Sequence[Output | None],
    expected: Model,
    lens: Lens,
    explained: Model | None,
    case: Case,
) -> Case | None:
    """The first question that the device gets wrong in the same way."""
    for inputs, got in zip(questions, answers, strict=True):
        wanted = expected(inputs)
        if wanted is None or got is None or lens(wanted) == got:
            continue
        if not _alike(lens(wanted), got, case):
            continue
        if explained is not None:
            says = explained(inputs)
            if says is None or lens(says) != got:
                continue
        return Case(inputs, lens(wanted), got)
    return None


def _alike(expected: Output, got: Output, case: Case) -> bool:
    """Whether the same part of the answer is wrong: the result, or the flags alone."""
    return (expected[0] == got[0]) == (case.expected[0] == case.got[0])
