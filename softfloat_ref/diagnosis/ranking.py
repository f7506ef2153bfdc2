"""Diagnosis: hypotheses run over a device's cases, and ranked by how many they explain."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from softfloat_ref.diagnosis.conditions import Common, Condition
from softfloat_ref.diagnosis.hypotheses import Case, Comparator, Hypothesis, Inputs, Model, Output, Stepwise
from softfloat_ref.diagnosis.spaces import P, Space, hypothesis

SAMPLE: Final = 96  # mismatches, and as many agreeing cases, on which every hypothesis is tried
SAMPLE_WIDE: Final = 40  # for blocks and dot products
_WIDE: Final = 9  # number of operands from which a case is wide
FINALISTS: Final = 6
_CLIMBED: Final = 3  # number of points whose neighbours are tried
_STEPS: Final = 4  # number of successive changes
_LONG_S: Final = 20.0  # seconds of search after which no further changes are combined
_SHOWN: Final = 4  # codes shown of an answer
_PROBES: Final = 16  # mismatches of which a hypothesis must explain at least one
_RESTRICTED: Final = 16  # number of hypotheses tried under conditions
_FEWEST: Final = 8  # the fewest cases for a finding without "perhaps"
_EVIDENCE: Final = 8  # mismatches that a hypothesis with a condition must explain
WHERE: Final = ", where "  # between the name of a hypothesis and a condition
_TRIED: Final = 512  # mismatches, and twice as many agreeing cases, on which these are tried

T = TypeVar("T")


@dataclass(frozen=True)
class Finding:
    """A hypothesis and the number of cases that it explains; mismatches: how many of these the device got wrong."""

    hypothesis: Hypothesis
    explained: int
    mismatches: int = 0

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key, the best first: more explained cases, then simpler."""
        return -self.explained, self.hypothesis.size


class Fault(NamedTuple):
    """One of several faults. mismatches: how many it explains of those that the faults before it leave open."""

    hypothesis: Hypothesis
    mismatches: int


class Peeled(NamedTuple):
    """Several faults that together explain some cases; open: a case that they leave open."""

    faults: tuple[Fault, ...]
    explained: int
    open: Case | None = None


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of a device.

    findings: best first; all that explain as many as the best are possible. examined: the number of cases they were
    run on, of which the device got `wrong` wrong. simplest: the simplest mismatch; alone:
    whether the device also gets it wrong when asked only that, if it was asked. shared: what all mismatches have in
    common; codes: the same for wrong codes of blocks, in words. late: by how many lines the answers are late (early:
    less than 0), if a shift explains nearly all, `in_order` of them. several: faults that together explain more than
    the best finding.
    """

    examined: int
    wrong: int
    findings: tuple[Finding, ...] = ()
    refutation: Case | None = None
    exception: Case | None = None
    simplest: Case | None = None
    alone: bool | None = None
    shared: Common | None = None
    codes: str = ""
    late: int = 0
    in_order: int = 0
    several: Peeled | None = None

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
        """Whether nearly all cases are explained, and there are enough of them."""
        first = self.findings[0]
        few = 20 * (self.examined - first.explained) <= self.wrong
        return few and self.wrong >= first.hypothesis.evidence and self.examined >= _FEWEST

    @property
    def complete(self) -> bool:
        """Whether the best explains every case."""
        return bool(self.findings) and self.findings[0].explained == self.examined


def explains(h: Hypothesis, case: Case, comparator: Comparator) -> bool:
    """Whether the hypothesis gives this answer."""
    output = h.model(case.inputs)
    if output is not None and comparator(output) == case.got:
        return True
    return h.also is not None and any(comparator(x) == case.got for x in h.also(case.inputs))


def spread(cases: Sequence[T], count: int) -> list[T]:
    """`count` of the cases, spread evenly; none for a negative count."""
    if len(cases) <= count:
        return list(cases)
    return [cases[i * len(cases) // count] for i in range(count)]


def sample(cases: Sequence[Case]) -> list[Case]:
    """Mismatches and then agreeing cases, up to a maximum number of each."""
    count = SAMPLE_WIDE if cases and len(cases[0].inputs) > _WIDE else SAMPLE
    wrong, right = [c for c in cases if not c.agrees], [c for c in cases if c.agrees]
    return spread(wrong, count) + spread(right, count)


@dataclass
class Search(Generic[P]):
    """A search for hypotheses that explain cases, over a space and its defects.

    start, start_size: for a device without an expected model, the name of the space's base, which its defects are named
    with, and its size. under, stack, right: for the search of one more fault, the model of those already found, from
    which the cases' expected answers are, with and without a cache, and the right model.
    """

    space: Space[P]
    comparator: Comparator
    cases: Sequence[Case]
    start: str = ""
    start_size: int = 0
    under: Model | None = None
    right: Model | None = None
    stack: Model | None = None
    scores: dict[str, Finding] = field(default_factory=dict)
    points: dict[str, P] = field(default_factory=dict)  # the points tried, by their names

    def __post_init__(self) -> None:
        self.few = sample(self.cases)
        self.wrong = sum(not c.agrees for c in self.few)
        self.best: list[int] = []  # numbers of cases that the best hypotheses explain
        self.bar = 0  # number of cases that a finalist must explain

    def score(self, h: Hypothesis) -> Finding | None:
        """How much of the sample it explains; None if it explains none of some mismatches spread over the sample.

        Stops early if the hypothesis can no longer be among the finalists.
        """
        wrong, right = self.few[: self.wrong], self.few[self.wrong :]
        probes = spread(wrong, _PROBES)
        if wrong and not any(explains(h, c, self.comparator) for c in probes):
            return None
        mismatches = count = sum(explains(h, c, self.comparator) for c in wrong)
        for left, c in zip(range(len(right), 0, -1), right, strict=True):
            if count + left < self.bar:
                break
            count += explains(h, c, self.comparator)
        return Finding(h, count, mismatches)

    def try_all(self, hypotheses: Iterable[Hypothesis | None]) -> None:
        """Score hypotheses that have not been scored yet."""
        for h in hypotheses:
            if h is None or h.name in self.scores:
                continue
            scored = [found for form in self._forms(h) if (found := self.score(form)) is not None]
            if scored:
                found = self.scores[h.name] = min(scored, key=lambda f: f.rank)
                self.best = sorted([*self.best, found.explained], reverse=True)[:FINALISTS]
                self.bar = self.best[-1] if len(self.best) == FINALISTS else 0

    def _forms(self, h: Hypothesis) -> Iterator[Hypothesis]:
        """A hypothesis by itself; on top of the faults already found, the two ways to join them."""
        if self.under is None or self.right is None:
            yield h
            return
        yield h._replace(model=on_top(self.under, h.model, self.right, len(self.comparator.formats)))
        joined = self.stack.joined(h.model) if isinstance(self.stack, Stepwise) else None
        if joined is not None:
            yield h._replace(model=joined)

    def run_once(self) -> list[Finding]:
        """Try every single change and listed defect; return the finalists over all cases, best first."""
        self.try_singles()
        if self.under is not None:  # these act on the answer of the faults already found
            other = Search(self.space, self.comparator, self.cases)
            for name, found in other.scored(self.space.answer_defects(self.under)).items():
                self.scores[name] = min(self.scores.get(name, found), found, key=lambda f: f.rank)
        return self._finals()

    def try_singles(self) -> None:
        """Score every named point, every single change, and every listed defect."""
        space, base = self.space, self.space.base
        found = (*space.named(), *space.changes(base))
        self.points |= {space.text(p): p for p in found if space.key(p) != space.key(base)}
        self.try_all(hypothesis(space, p) for p in self.points.values())
        self.try_all(self._defects())

    def scored(self, hypotheses: Iterable[Hypothesis]) -> dict[str, Finding]:
        """The scores of some hypotheses, by their names."""
        self.try_all(hypotheses)
        return self.scores

    def ranked(self) -> list[Finding]:
        """Best first."""
        return sorted(self.scores.values(), key=lambda f: f.rank)

    def run(self) -> list[Finding]:
        """Search, and return the finalists over all cases, best first."""
        space, points, begin = self.space, self.points, time.monotonic()
        self.try_singles()
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
            missed = [c for c in self.cases if not found or not explains(found[0].hypothesis, c, self.comparator)]
            pairs = islice(self._two_defects(spread(missed, _PROBES) + self.few), FINALISTS)
            found = sorted([*found, *(self.over_all(h) for h in pairs)], key=lambda f: f.rank)
        return found

    def _defects(self) -> Iterator[Hypothesis]:
        """The listed defects of the base, and those that the cases suggest."""
        space = self.space
        for d in (*space.defects(space.base), *space.suggested(space.base, self.cases)):
            yield d._replace(name=f"{self.start}; {d.name}", size=self.start_size + d.size) if self.start else d

    def _two_defects(self, some: Sequence[Case]) -> Iterator[Hypothesis]:
        """Pairs of a listed defect and a defect of the answer that together explain all of some cases.

        Anything less is not evidence: among many pairs, some always explain a few cases more than their first defect.
        """
        for first in self._defects():
            if first.also is not None:
                continue
            known = cache(first.model)
            for second in self.space.answer_defects(lambda inputs, known=known: known(tuple(inputs))):  # type: ignore[misc]
                if all(explains(second, c, self.comparator) for c in some):
                    says = f"{first.says}, and {second.says}"
                    size = first.size + second.size
                    yield Hypothesis(f"{first.name}; {second.name}", says, second.model, size=size, evidence=_EVIDENCE)

    def _finals(self) -> list[Finding]:
        ranked = self.ranked()
        least = sum(c.agrees for c in self.few)  # the number of cases explained without a fault
        good = [f for f in ranked if f.explained > least] or ranked[:1]
        tied = [f for f in good if f.explained == good[0].explained][:FINALISTS]
        rest = [f for f in good if f.explained < good[0].explained][: max(FINALISTS - len(tied), 2)]
        found = [self.over_all(f.hypothesis) for f in tied + rest]
        return sorted(found, key=lambda f: f.rank)

    def over_all(self, h: Hypothesis) -> Finding:
        """The number of all cases that it explains."""
        explained = [c for c in self.cases if explains(h, c, self.comparator)]
        return Finding(h, len(explained), sum(not c.agrees for c in explained))

    def restricted(self, found: Sequence[Condition]) -> list[Finding]:
        """The hypotheses that explain nearly all mismatches, restricted to a condition."""
        right = self.under or self.space.model(self.space.base)
        ranked = sorted(self.scores.values(), key=lambda f: (-f.mismatches, f.hypothesis.size, -f.explained))
        best = [f.hypothesis for f in ranked if 10 * f.mismatches >= 9 * self.wrong][:_RESTRICTED]
        if right is None or not found or not best:
            return []
        wrong = sum(not c.agrees for c in self.cases)
        some = spread(self.cases[:wrong], _TRIED) + spread([c for c in self.cases if c.agrees], 2 * _TRIED)
        # Of equivalent conditions, the first.
        under = {tuple(x.holds(c.inputs, c.expected) for c in some): x for x in reversed(found)}
        scored: list[tuple[int, int, int, Hypothesis, Condition]] = []
        for h in best:
            fits = [explains(h, c, self.comparator) for c in some]
            for holds, x in under.items():
                count = sum(fit if held else c.agrees for fit, held, c in zip(fits, holds, some, strict=True))
                scored.append((-count, h.size, len(scored), h, x))
        top = sorted(scored, key=lambda t: t[:3])[:FINALISTS]
        return [self.over_all(_only_where(h, x, right)) for *_, h, x in top]


def on_top(under: Model, changed: Model, right: Model, results: int) -> Model:
    """A device with the faults of `under`, and those of `changed` where that differs from the right device.

    What it changes replaces the code there; of flags, only the bits that it changes. results: number of codes before
    the flags.
    """

    def model(inputs: Inputs) -> Output | None:
        below, expected, own = under(tuple(inputs)), right(tuple(inputs)), changed(inputs)
        if below is None or expected is None or own is None or own == expected:
            return below
        codes = (x if x != y else z for x, y, z in zip(own[:results], expected, below, strict=False))
        flags = (x ^ y ^ z for x, y, z in zip(own[results:], expected[results:], below[results:], strict=True))
        return (*codes, *flags)

    return model


def _only_where(h: Hypothesis, condition: Condition, right: Model) -> Hypothesis:
    def model(inputs: Inputs) -> Output | None:
        expected = right(inputs)
        return h.model(inputs) if expected is not None and condition.holds(inputs, expected) else expected

    text = f"where {condition.text}"
    return Hypothesis(
        f"{h.name}{WHERE}{condition.text}", f"{h.says}, but only {text}", model, "defect", h.size + 2, None, _EVIDENCE
    )


def _on_top(space: Space[P], point: P, defect: Hypothesis) -> Hypothesis:
    says = f"{space.says(point)}, and {defect.says}"
    size = space.size(point) + defect.size
    return Hypothesis(f"{space.text(point)}; {defect.name}", says, defect.model, size=size)


def _constant(answer: Output, count: int, wrong: int) -> Finding:
    shown = " ".join(f"{x:x}" for x in answer[:_SHOWN]) + (" ..." if len(answer) > _SHOWN else "")
    return Finding(Hypothesis("one answer", f"gives {shown} for every question", lambda _: answer), count, wrong)


def diagnose(
    space: Space[P], comparator: Comparator, cases: Sequence[Case], found: Sequence[Condition] = ()
) -> Diagnosis:
    """The hypotheses that explain the cases, best first, with the case that refutes the runner-up.

    A hypothesis that explains no more cases than assuming no fault is left out. found: conditions that
    all mismatches fulfil, to which a fault may be restricted.
    """
    wrong = sum(not c.agrees for c in cases)
    if not wrong:
        return Diagnosis(len(cases), 0)
    answers = {c.got for c in cases}
    if len(answers) == 1 and len(cases) >= _FEWEST:
        return Diagnosis(len(cases), wrong, (_constant(answers.pop(), len(cases), wrong),))
    search = Search(space, comparator, cases)
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
    refutes = (c for c in cases if second and not explains(second.hypothesis, c, comparator))
    refutation = next((c for c in refutes if explains(best, c, comparator)), None)
    exception = next((c for c in cases if not explains(best, c, comparator)), None)
    return replace(made, refutation=refutation, exception=exception)
