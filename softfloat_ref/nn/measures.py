"""What a training is measured by on test data, besides the loss."""

from __future__ import annotations

import math
from typing import Final, NamedTuple


class Score(NamedTuple):
    """The mean loss over some data, and what was counted: the share of right predictions, or the distance of generated
    images."""

    loss: float
    counted: float

    @property
    def accuracy(self) -> float:
        """The share of right predictions."""
        return self.counted

    @property
    def distance(self) -> float:
        """The distance between the features of data and of generated images."""
        return self.counted

    @property
    def perplexity(self) -> float:
        """exp(loss)."""
        return math.exp(self.loss) if self.loss < 700 else math.inf


class ScoreMeasure(NamedTuple):
    """name: the property of a score. better: 1 where more is, else -1. shown: in a column of its own. factor: of means,
    as they are shown."""

    name: str
    better: int
    shown: str
    factor: int = 1

    def of(self, score: Score) -> float:
        """Its number."""
        number: float = getattr(score, self.name)
        return number

    def text(self, score: Score, width: int | None = None) -> str:
        """Its number as text."""
        return f"{self.of(score):{'' if width is None else width}{self.shown}}"


MEASURES: Final = {
    m.name: m
    for m in (
        ScoreMeasure("accuracy", 1, ".2%", 100),
        ScoreMeasure("perplexity", -1, ".2f"),
        ScoreMeasure("distance", -1, ".2f"),
    )
}
