"""Candidates for an unknown device: the points of a space, with identical devices merged, their answers and names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic

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


# -- names that differ in one number ---------------------------------------------------------------------------------

_NUMBER: Final = re.compile(r"(?<![\w.^])[+-]?\d+(?![\w.^])")  # not a part of a word, of a fraction or of a power


def with_ranges(names: Sequence[str]) -> list[str]:
    """The names, in order; those that differ in one number only are one, where the first of them stands."""
    left, ranges = list(dict.fromkeys(names)), []
    while left:
        alike = max(_alike(left), key=lambda group: len(group[1]), default=("", {left[0]: 0}))
        form, numbers = alike
        ranges.append(left[0] if len(numbers) == 1 else form.format(_range(sorted(numbers.values()))))
        left = [x for x in left if x not in numbers]
    return ranges


def _alike(names: Sequence[str]) -> list[tuple[str, dict[str, int]]]:
    """For each number of the first name: the form of the name around it, and its values in the names of that form."""
    first, forms = names[0], []
    for number in _NUMBER.finditer(first):
        before, after = first[: number.start()], first[number.end() :]
        form = re.compile(f"{re.escape(before)}({_NUMBER.pattern}){re.escape(after)}")
        matches = {x: form.fullmatch(x) for x in names}
        numbers = {x: int(m[1]) for x, m in matches.items() if m}
        forms.append((f"{_literal(before)}{{}}{_literal(after)}", numbers))
    return forms


def _literal(text: str) -> str:
    """A text as a part of a format string."""
    return text.replace("{", "{{").replace("}", "}}")


def _range(numbers: Sequence[int]) -> str:
    """Some numbers in ascending order: a range if none is missing between them."""
    low, high = numbers[0], numbers[-1]
    if high - low == len(numbers) - 1:
        return f"{low} {'or' if len(numbers) == 2 else 'to'} {high}"
    return f"{', '.join(map(str, numbers[:-1]))} or {high}"
