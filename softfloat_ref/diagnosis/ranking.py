"""Diagnosis: hypotheses run over a device's cases, and ranked by how many they explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic

from softfloat_ref.diagnosis.hypotheses import Case, Hypothesis, Lens
from softfloat_ref.diagnosis.spaces import P, Space, hypothesis

SAMPLE: Final = 96  # mismatches, and as many cases that agree, that every hypothesis is tried on
SAMPLE_WIDE: Final = 40  # of blocks and dot products
_WIDE: Final = 9  # operands that make a case wide
FINALISTS: Final = 6
_CLIMBED: Final = 3  # points whose neighbours are tried
_STEPS: Final = 4  # changes on top of one another


@dataclass(frozen=True)
class Finding:
    """A hypothesis and how many of the cases it explains."""

    hypothesis: Hypothesis
    explained: int

    @property
    def rank(self) -> tuple[int, int]:
        """The better one is less: more explained, then simpler."""
        return -self.explained, self.hypothesis.size


@dataclass(frozen=True)
class Diagnosis:
    """What the device seems to do.

    findings: best first; those that explain as many as the best are all possible. examined: how many cases they were
    run over, of which the device got `wrong` wrong. simplest: the simplest mismatch; asked: questions it took.
    """

    examined: int
    wrong: int
    findings: tuple[Finding, ...] = ()
    refutation: Case | None = None
    exception: Case | None = None
    simplest: Case | None = None
    asked: int = 0

    @property
    def best(self) -> tuple[Finding, ...]:
        """The findings that explain as many cases as the first."""
        return tuple(f for f in self.findings if f.explained == self.findings[0].explained)

    @property
    def runner_up(self) -> Finding | None:
        """The best of those that explain fewer."""
        return next((f for f in self.findings if f.explained < self.findings[0].explained), None)

    @property
    def complete(self) -> bool:
        """Whether the best explains every case."""
        return bool(self.findings) and self.findings[0].explained == self.examined


def explains(h: Hypothesis, case: Case, lens: Lens) -> bool:
    """Whether such a device gives this answer."""
    output = h.model(case.inputs)
    if output is not None and lens(output) == case.got:
        return True
    return h.also is not None and any(lens(x) == case.got for x in h.also(case.inputs))


def spread(cases: Sequence[Case], count: int) -> list[Case]:
    """So many of the cases, spread evenly."""
    if len(cases) <= count:
        return list(cases)
    return [cases[i * len(cases) // count] for i in range(count)]


def sample(cases: Sequence[Case]) -> list[Case]:
    """Mismatches and cases that agree, as many of each as there are up to a count; mismatches first."""
    count = SAMPLE_WIDE if cases and len(cases[0].inputs) > _WIDE else SAMPLE
    wrong, right = [c for c in cases if not c.agrees], [c for c in cases if c.agrees]
    return spread(wrong, count) + spread(right, count)


@dataclass
class Search(Generic[P]):
    """A search for what explains cases, over a space and its defects."""

    space: Space[P]
    lens: Lens
    cases: Sequence[Case]
    scores: dict[str, Finding] = field(default_factory=dict)
    points: dict[str, P] = field(default_factory=dict)  # those tried, by their names

    def __post_init__(self) -> None:
        self.few = sample(self.cases)
        self.wrong = sum(not c.agrees for c in self.few)

    def score(self, h: Hypothesis) -> Finding | None:
        """How many of the sample it explains; None where it explains no mismatch."""
        found = sum(explains(h, c, self.lens) for c in self.few[: self.wrong])
        if self.wrong and not found:
            return None
        found += sum(explains(h, c, self.lens) for c in self.few[self.wrong :])
        return Finding(h, found)

    def try_all(self, hypotheses: Iterable[Hypothesis | None]) -> None:
        """Score hypotheses that have not been scored yet."""
        for h in hypotheses:
            if h is not None and h.name not in self.scores and (found := self.score(h)) is not None:
                self.scores[h.name] = found

    def ranked(self) -> list[Finding]:
        """Best first."""
        return sorted(self.scores.values(), key=lambda f: f.rank)

    def run(self) -> list[Finding]:
        """The finalists over all cases, best first."""
        space, base = self.space, self.space.base
        points = self.points
        points |= {space.text(p): p for p in (*space.named(), *space.changes(base)) if space.key(p) != space.key(base)}
        self.try_all(hypothesis(space, p) for p in points.values())
        self.try_all(space.defects(base))
        for _ in range(_STEPS):
            before = self.ranked()
            if not before or before[0].explained == len(self.few):
                break
            nearest = [points[f.hypothesis.name] for f in before if f.hypothesis.name in points][:_CLIMBED]
            for p in nearest:
                more = {space.text(x): x for x in space.changes(p)}
                points |= more
                self.try_all(hypothesis(space, x) for x in more.values())
            if nearest:
                top = nearest[0]
                self.try_all(_on_top(space, top, d) for d in space.defects(top))
            if self.ranked()[0].explained == before[0].explained:
                break
        return self._finals()

    def _finals(self) -> list[Finding]:
        ranked = self.ranked()
        least = sum(c.agrees for c in self.few)  # what doing nothing explains
        good = [f for f in ranked if f.explained > least] or ranked[:1]
        tied = [f for f in good if f.explained == good[0].explained][:FINALISTS]
        rest = [f for f in good if f.explained < good[0].explained][: max(FINALISTS - len(tied), 2)]
        found = [Finding(f.hypothesis, self._count(f.hypothesis)) for f in tied + rest]
        return sorted(found, key=lambda f: f.rank)

    def _count(self, h: Hypothesis) -> int:
        return sum(explains(h, c, self.lens) for c in self.cases)


def _on_top(space: Space[P], point: P, defect: Hypothesis) -> Hypothesis:
    says = f"{space.says(point)}, and {defect.says}"
    return Hypothesis(
        f"{space.text(point)}; {defect.name}", says, defect.model, "defect", space.size(point) + defect.size
    )


def diagnose(space: Space[P], lens: Lens, cases: Sequence[Case]) -> Diagnosis:
    """What explains the cases, best first, with the case that refutes the runner-up."""
    wrong = sum(not c.agrees for c in cases)
    if not wrong:
        return Diagnosis(len(cases), 0)
    findings = Search(space, lens, cases).run()
    found = Diagnosis(len(cases), wrong, tuple(findings))
    if not findings:
        return found
    best, second = findings[0].hypothesis, found.runner_up
    refutes = (c for c in cases if second and not explains(second.hypothesis, c, lens))
    refutation = next((c for c in refutes if explains(best, c, lens)), None)
    exception = next((c for c in cases if not explains(best, c, lens)), None)
    return Diagnosis(len(cases), wrong, tuple(findings), refutation, exception)
