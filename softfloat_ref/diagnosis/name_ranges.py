"""Names of models that differ in one number only, as one name with the range of that number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

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
