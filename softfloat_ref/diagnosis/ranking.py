"""Diagnosis: hypotheses run over a device's cases, and ranked by how many they explain."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Final, Generic

from softfloat_ref.diagnosis.conditions import Common, Condition
from softfloat_ref.diagnosis.hypotheses import Case, Hypothesis, Inputs, Lens, Model, Output
from softfloat_ref.diagnosis.spaces import P, Space, hypothesis

SAMPLE: Final = 96  # mismatches, and as many cases that agree, that every hypothesis is tried on
SAMPLE_WIDE: Final = 40  # of blocks and dot products
_WIDE: Final = 9  # operands that make a case wide
FINALISTS: Final = 6
_CLIMBED: Final = 3  # points whose neighbours are tried
_STEPS: Final = 4  # changes on top of one another
_LONG_S: Final = 20.0  # seconds of search after which no more changes are put on top of others
_SHOWN: Final = 4  # codes of an answer
_PROBES: Final = 16  # mismatches of which a hypothesis must explain one, to be looked at further
_RESTRICTED: Final = 16  # hypotheses that are tried under conditions
_FEWEST: Final = 8  # cases of which anything is said without a "perhaps"
_EVIDENCE: Final = 8  # mismatches that a hypothesis under a condition must explain
_TRIED: Final = 512  # mismatches, and twice as many cases that agree, on which they are


@dataclass(frozen=True)
class Finding:
    """A hypothesis and how many of the cases it explains; mismatches: how many of these the device got wrong."""

    hypothesis: Hypothesis
    explained: int
    mismatches: int = 0

    @property
    def rank(self) -> tuple[int, int]:
        """The better one is less: more explained, then simpler."""
        return -self.explained, self.hypothesis.size


@dataclass(frozen=True)
class Diagnosis:
    """What the device seems to do.

    findings: best first; those that explain as many as the best are all possible. examined: how many cases they were
    run over, of which the device got `wrong` wrong. simplest: the simplest mismatch; asked: questions it took; alone:
    whether the device gets it wrong when asked just that, where it was asked. shared: what all mismatches have in
    common; codes: what the wrong codes of blocks have, in words. late: by how many lines the answers come late (early:
    less than 0), where that explains nearly all, `in_order` of them.
    """

    examined: int
    wrong: int
    findings: tuple[Finding, ...] = ()
    refutation: Case | None = None
    exception: Case | None = None
    simplest: Case | None = None
    asked: int = 0
    alone: bool | None = None
    shared: Common | None = None
    codes: str = ""
    late: int = 0
    in_order: int = 0

    @property
    def best(self) -> tuple[Finding, ...]:
        """The findings that explain as many cases as the first."""
        return tuple(f for f in self.findings if f.explained == self.findings[0].explained)

    @property
    def runner_up(self) -> Finding | None:
        """The best of those that explain fewer."""
        return next((f for f in self.findings if f.explained < self.findings[0].explained), None)

    @property
    def sure(self) -> bool:
        """Whether nearly everything is explained, and there is enough of it."""
        first = self.findings[0]
        few = 20 * (self.examined - first.explained) <= self.wrong
        return few and self.wrong >= first.hypothesis.evidence and self.examined >= _FEWEST

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
    """A search for what explains cases, over a space and its defects.

    start, start_size: what the space's base is called, where nothing is expected of the device: its defects are named
    with it; and its size.
    """

    space: Space[P]
    lens: Lens
    cases: Sequence[Case]
    start: str = ""
    start_size: int = 0
    scores: dict[str, Finding] = field(default_factory=dict)
    points: dict[str, P] = field(default_factory=dict)  # those tried, by their names

    def __post_init__(self) -> None:
        self.few = sample(self.cases)
        self.wrong = sum(not c.agrees for c in self.few)
        self.best: list[int] = []  # what the best hypotheses explain
        self.bar = 0  # what one must explain to be a finalist

    def score(self, h: Hypothesis) -> Finding | None:
        """How many of the sample it explains; None where it explains none of some mismatches spread over the sample.

        Of one that can no longer be among the finalists, not all cases that agree are looked at.
        """
        wrong, right = self.few[: self.wrong], self.few[self.wrong :]
        probes = spread(wrong, _PROBES)
        if wrong and not any(explains(h, c, self.lens) for c in probes):
            return None
        mismatches = count = sum(explains(h, c, self.lens) for c in wrong)
        for left, c in zip(range(len(right), 0, -1), right, strict=True):
            if count + left < self.bar:
                break
            count += explains(h, c, self.lens)
        return Finding(h, count, mismatches)

    def try_all(self, hypotheses: Iterable[Hypothesis | None]) -> None:
        """Score hypotheses that have not been scored yet."""
        for h in hypotheses:
            if h is not None and h.name not in self.scores and (found := self.score(h)) is not None:
                self.scores[h.name] = found
                self.best = sorted([*self.best, found.explained], reverse=True)[:FINALISTS]
                self.bar = self.best[-1] if len(self.best) == FINALISTS else 0

    def ranked(self) -> list[Finding]:
        """Best first."""
        return sorted(self.scores.values(), key=lambda f: f.rank)

    def run(self) -> list[Finding]:
        """The finalists over all cases, best first."""
        space, base = self.space, self.space.base
        points, begin = self.points, time.monotonic()
        points |= {space.text(p): p for p in (*space.named(), *space.changes(base)) if space.key(p) != space.key(base)}
        self.try_all(hypothesis(space, p) for p in points.values())
        self.try_all(self._defects())
        for _ in range(_STEPS):
            before = self.ranked()
            if not before or before[0].explained == len(self.few) or time.monotonic() - begin > _LONG_S:
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
        found = self._finals()
        if not found or found[0].explained < len(self.cases):
            missed = [c for c in self.cases if not found or not explains(found[0].hypothesis, c, self.lens)]
            pairs = islice(self._two_defects(spread(missed, _PROBES) + self.few), FINALISTS)
            found = sorted([*found, *(self.over_all(h) for h in pairs)], key=lambda f: f.rank)
        return found

    def _defects(self) -> Iterator[Hypothesis]:
        """The listed defects of the base."""
        for d in self.space.defects(self.space.base):
            yield d._replace(name=f"{self.start}; {d.name}", size=self.start_size + d.size) if self.start else d

    def _two_defects(self, some: Sequence[Case]) -> Iterator[Hypothesis]:
        """A listed defect and one of the answer, where the two explain all of some cases.

        Less than that is no evidence: of so many pairs some always explain a few cases more than their first.
        """
        for first in self._defects():
            if first.also is not None:
                continue
            known = cache(first.model)
            for second in self.space.answer_defects(lambda inputs, known=known: known(tuple(inputs))):  # type: ignore[misc]
                if all(explains(second, c, self.lens) for c in some):
                    says = f"{first.says}, and {second.says}"
                    size = first.size + second.size
                    yield Hypothesis(f"{first.name}; {second.name}", says, second.model, size=size, evidence=_EVIDENCE)

    def _finals(self) -> list[Finding]:
        ranked = self.ranked()
        least = sum(c.agrees for c in self.few)  # what doing nothing explains
        good = [f for f in ranked if f.explained > least] or ranked[:1]
        tied = [f for f in good if f.explained == good[0].explained][:FINALISTS]
        rest = [f for f in good if f.explained < good[0].explained][: max(FINALISTS - len(tied), 2)]
        found = [self.over_all(f.hypothesis) for f in tied + rest]
        return sorted(found, key=lambda f: f.rank)

    def over_all(self, h: Hypothesis) -> Finding:
        """How many of all cases it explains."""
        explained = [c for c in self.cases if explains(h, c, self.lens)]
        return Finding(h, len(explained), sum(not c.agrees for c in explained))

    def restricted(self, found: Sequence[Condition]) -> list[Finding]:
        """The hypotheses that explain nearly all mismatches, of a device that does so only under a condition."""
        right = self.space.model(self.space.base)
        ranked = sorted(self.scores.values(), key=lambda f: (-f.mismatches, f.hypothesis.size, -f.explained))
        best = [f.hypothesis for f in ranked if 10 * f.mismatches >= 9 * self.wrong][:_RESTRICTED]
        if right is None or not found or not best:
            return []
        some = spread(self.cases[: sum(not c.agrees for c in self.cases)], _TRIED) + spread(
            [c for c in self.cases if c.agrees], 2 * _TRIED
        )
        under = {tuple(x.holds(c.inputs, c.expected) for c in some): x for x in reversed(found)}  # the first of alike
        scored: list[tuple[int, int, int, Hypothesis, Condition]] = []
        for h in best:
            fits = [explains(h, c, self.lens) for c in some]
            for holds, x in under.items():
                count = sum(fit if held else c.agrees for fit, held, c in zip(fits, holds, some, strict=True))
                scored.append((-count, h.size, len(scored), h, x))
        top = sorted(scored, key=lambda t: t[:3])[:FINALISTS]
        return [self.over_all(_only_where(h, x, right)) for *_, h, x in top]


def _only_where(h: Hypothesis, condition: Condition, right: Model) -> Hypothesis:
    def model(inputs: Inputs) -> Output | None:
        expected = right(inputs)
        return h.model(inputs) if expected is not None and condition.holds(inputs, expected) else expected

    text = f"where {condition.text}"
    return Hypothesis(f"{h.name}, {text}", f"{h.says}, but only {text}", model, "defect", h.size + 2, None, _EVIDENCE)


def _on_top(space: Space[P], point: P, defect: Hypothesis) -> Hypothesis:
    says = f"{space.says(point)}, and {defect.says}"
    return Hypothesis(
        f"{space.text(point)}; {defect.name}", says, defect.model, "defect", space.size(point) + defect.size
    )


def _constant(answer: Output, count: int, wrong: int) -> Finding:
    shown = " ".join(f"{x:x}" for x in answer[:_SHOWN]) + (" ..." if len(answer) > _SHOWN else "")
    return Finding(Hypothesis("one answer", f"gives {shown} whatever it is asked", lambda _: answer), count, wrong)


def diagnose(space: Space[P], lens: Lens, cases: Sequence[Case], found: Sequence[Condition] = ()) -> Diagnosis:
    """What explains the cases, best first, with the case that refutes the runner-up.

    What explains no more cases than a device that is right but for its mismatches is left out. found: conditions that
    all mismatches fulfil, under which alone a device may do something.
    """
    wrong = sum(not c.agrees for c in cases)
    if not wrong:
        return Diagnosis(len(cases), 0)
    answers = {c.got for c in cases}
    if len(answers) == 1 and len(cases) >= _FEWEST:
        return Diagnosis(len(cases), wrong, (_constant(answers.pop(), len(cases), wrong),))
    search = Search(space, lens, cases)
    findings = search.run()
    right = len(cases) - wrong
    least = max([right, *(f.explained for f in findings[:1])])
    if least < len(cases):
        more = [f for f in search.restricted(found) if f.explained > least]
        findings = sorted([*findings, *more], key=lambda f: f.rank)
    findings = [f for f in findings if f.explained > right]
    made = Diagnosis(len(cases), wrong, tuple(findings))
    if not findings:
        return made
    best, second = findings[0].hypothesis, made.runner_up
    refutes = (c for c in cases if second and not explains(second.hypothesis, c, lens))
    refutation = next((c for c in refutes if explains(best, c, lens)), None)
    exception = next((c for c in cases if not explains(best, c, lens)), None)
    return Diagnosis(len(cases), wrong, tuple(findings), refutation, exception)
