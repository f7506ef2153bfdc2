"""What a line may have, what it has, and the lines of a file with their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from softfloat_ref.golden.readers.words import Code
from softfloat_ref.units import Line


class Row(NamedTuple):
    """A line: its operands, or None if it has none; its results, or none, with None for one that the device does not
    have; and its flags, if it has any."""

    inputs: Line | None
    results: tuple[Code | None, ...] = ()
    flags: Code | None = None
    unknown: bool = False

    @property
    def has_flags(self) -> bool:
        return self.flags is not None


class Shape(NamedTuple):
    """Which fields a line has, in their order."""

    inputs: bool
    results: bool
    flags: bool


ANSWERS: Final = (
    Shape(False, True, False),
    Shape(False, True, True),
    Shape(True, True, False),
    Shape(True, True, True),
)
WHOLE: Final = (Shape(True, True, True), Shape(True, True, False))
OPERANDS: Final = (Shape(True, False, False),)


class NumberedLines:
    """Lines, and the number of the last one that was taken."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self.number = 0
        self._back: list[str] = []

    def __iter__(self) -> NumberedLines:
        return self

    def __next__(self) -> str:
        for text in self._back or self._lines:
            self._back = []
            self.number += 1
            return text
        raise StopIteration

    def put_back(self, text: str) -> None:
        """The next line once more."""
        self._back = [text]
        self.number -= 1
