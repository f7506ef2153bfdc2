"""Candidates for an unknown device: the points of a space, those that are one device as one, and their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic

from softfloat_ref.diagnosis.hypotheses import Lens, Model, Output
from softfloat_ref.diagnosis.spaces import P, Space

Question = tuple[int, ...]


@dataclass
class Candidate(Generic[P]):
    """One device: a point, and the names of all points that no operands tell from it."""

    point: P
    model: Model
    names: list[str]
    outputs: dict[Question, Output | None] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """What it is called: by the first of its names."""
        return self.names[0]

    def answer(self, question: Question) -> Output | None:
        """What it answers, remembered."""
        if question not in self.outputs:
            self.outputs[question] = self.model(question)
        return self.outputs[question]

    def fits(self, question: Question, got: Output, lens: Lens) -> bool:
        """Whether it may have given an answer: whatever it is, where it has none itself."""
        own = self.answer(question)
        return own is None or lens(own) == got


def classes(space: Space[P], points: Iterable[P]) -> dict[Hashable, Candidate[P]]:
    """The points as candidates, by their keys, in the order in which they come."""
    found: dict[Hashable, Candidate[P]] = {}
    for point in points:
        key = space.key(point)
        if key in found:
            name = space.text(point)
            if name not in found[key].names:
                found[key].names.append(name)
            continue
        model = space.model(point)
        if model is not None:
            found[key] = Candidate(point, model, [space.text(point)])
    return found


@dataclass
class Pool(Generic[P]):
    """Questions that may be asked, and which of them splits candidates best; found once for the same candidates."""

    questions: Sequence[Question]
    known: dict[Hashable, Question | None] = field(default_factory=dict, repr=False)

    def best(self, alive: Sequence[Candidate[P]], lens: Lens) -> Question | None:
        """The question after whose answer the fewest candidates are to be expected; None where none tells any apart."""
        key = (lens, tuple(id(c) for c in alive))
        if key not in self.known:
            self.known[key] = self._best(alive, lens)
        return self.known[key]

    def _best(self, alive: Sequence[Candidate[P]], lens: Lens) -> Question | None:
        best, least = None, len(alive) ** 2
        for question in self.questions:
            answers = [c.answer(question) for c in alive]
            groups = Counter(lens(x) for x in answers if x is not None)
            silent = answers.count(None)
            expected = sum((n + silent) ** 2 for n in groups.values()) + (silent**2 if silent else 0)
            if len(groups) > 1 and expected < least:
                best, least = question, expected
                if least == len(alive):  # one answer each: none is better
                    break
        return best
