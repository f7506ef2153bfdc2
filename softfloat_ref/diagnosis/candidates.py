"""Candidates for an unknown device: the points of a space, with identical devices merged, and their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic

from softfloat_ref.diagnosis.hypotheses import Comparator, Model, Output
from softfloat_ref.diagnosis.spaces import P, Space

Question = tuple[int, ...]


@dataclass(eq=False)
class Candidate(Generic[P]):
    """One device: a point, and the names of all points that no operands distinguish from it."""

    point: P
    model: Model
    names: list[str]
    outputs: dict[Question, Output | None] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The first of its names."""
        return self.names[0]

    def answer(self, question: Question) -> Output | None:
        """Its answer to a question, cached."""
        if question not in self.outputs:
            self.outputs[question] = self.model(question)
        return self.outputs[question]

    def fits(self, question: Question, got: Output, comparator: Comparator) -> bool:
        """Whether it may have given an answer; always true if its own answer is undefined."""
        own = self.answer(question)
        return own is None or comparator(own) == got


def classes(space: Space[P], points: Iterable[P]) -> dict[Hashable, Candidate[P]]:
    """The points as candidates, by their keys, in the given order."""
    candidates: dict[Hashable, Candidate[P]] = {}
    for point in points:
        key = space.key(point)
        if key in candidates:
            name = space.text(point)
            if name not in candidates[key].names:
                candidates[key].names.append(name)
            continue
        model = space.model(point)
        if model is not None:
            candidates[key] = Candidate(point, model, [space.text(point)])
    return candidates


def best_question(
    questions: Iterable[Question], alive: Sequence[Candidate[P]], comparator: Comparator
) -> Question | None:
    """The question that leaves the fewest candidates on average; None if none distinguishes any."""
    best, least = None, len(alive) ** 2
    for question in questions:
        answers = [c.answer(question) for c in alive]
        groups = Counter(comparator(x) for x in answers if x is not None)
        silent = answers.count(None)
        expected = sum((n + silent) ** 2 for n in groups.values()) + (silent**2 if silent else 0)
        if len(groups) > 1 and expected < least:
            best, least = question, expected
            if least == len(alive):  # all answers differ: no question is better
                break
    return best
