"""Diagnosis: hypotheses run over a device's cases, and ranked by how many they explain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, dropwhile, islice
from typing import Final, Generic, TypeVar

from softfloat_ref.diagnosis.conditions import CaseCondition
from softfloat_ref.diagnosis.defects import Faulty, where
from softfloat_ref.diagnosis.findings import FEWEST_CASES, WHERE, Diagnosis, Finding
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Hypothesis, Inputs, Model, Output
from softfloat_ref.diagnosis.lane_conditions import Lanes, restricted_to_lanes
from softfloat_ref.diagnosis.spaces import P, Space, hypothesis
from softfloat_ref.oracle.flags import UNDERFLOW

SAMPLE: Final = 96  # mismatches, and as many agreeing cases, on which every hypothesis is tried
SAMPLE_WIDE: Final = 40  # for blocks and dot products
_WIDE_INPUTS: Final = 9  # number of operands from which a case is wide
FINALISTS: Final = 6
_RUNNERS_UP: Final = 4  # finalists that explain fewer, beside one that explains all
_CLIMBED_POINTS: Final = 3  # number of points whose neighbours are tried
_MOST_CHANGES: Final = 4  # number of successive changes
_LONGEST_S: Final = 20.0  # seconds of computing after which no further changes are combined
_SHOWN_CODES: Final = 4  # codes shown of an answer
_PROBES: Final = 16  # mismatches of which a hypothesis must explain at least one
_FIRST_PROBES: Final = 4  # of these, of which one that must explain half of them must explain one
_RESTRICTED_HYPOTHESES: Final = 16  # number of hypotheses tried under conditions
_SHARE_OF_BOTH: Final = 0.5  # of some mismatches, that a change and a defect on top of it must explain
_LEAST_SHARE: Final = 4  # one mismatch in so many, that these must explain
_SCREENED: Final = 3  # finalists beside other faults that are run over all cases
_SCREENED_CASES: Final = 384  # mismatches, and as many agreeing cases, by which these are chosen
_EVIDENCE: Final = 8  # mismatches that a hypothesis with a condition must explain
_TRIED_CASES: Final = 512  # mismatches, and twice as many agreeing cases, on which these are tried

T = TypeVar("T")
Conditions = Callable[[Sequence[AnsweredCase]], Sequence[CaseCondition]]  # that all mismatches of some cases fulfil


def explains(h: Hypothesis, case: AnsweredCase, comparator: Comparator) -> bool:
    """Whether the hypothesis gives this answer."""
    output = h.model(case.inputs)
    if output is not None and comparator.gives(output, case):
        return True
    return h.also is not None and any(comparator.gives(x, case) for x in h.also(case.inputs))


def spread_out(cases: Sequence[T], count: int) -> list[T]:
    """`count` of the cases, spread evenly; none for a negative count."""
    if len(cases) <= count:
        return list(cases)
    return [cases[i * len(cases) // count] for i in range(count)]


def sample(cases: Sequence[AnsweredCase]) -> list[AnsweredCase]:
    """Mismatches and then agreeing cases, up to a maximum number of each."""
    count = SAMPLE_WIDE if cases and len(cases[0].inputs) > _WIDE_INPUTS else SAMPLE
    wrong, right = [c for c in cases if not c.agrees], [c for c in cases if c.agrees]
    return spread_out(wrong, count) + spread_out(right, count)


@dataclass
class Search(Generic[P]):
    """A search for hypotheses that explain cases, over a space and its defects.

    start, start_size: without an expected model, the name of the space's base, which precedes those of its defects, and
    its size. In a search for one more fault, stack is the model of the faults already found, under the same with a
    cache (the cases' expected answers are its own), right the model of the right device, and point the first of those
    faults, if that is a point of the space.
    """

    space: Space[P]
    comparator: Comparator
    cases: Sequence[AnsweredCase]
    start: str = ""
    start_size: int = 0
    under: Model | None = None
    right: Model | None = None
    stack: Model | None = None
    point: P | None = None
    scores: dict[str, Finding] = field(default_factory=dict)
    points: dict[str, P] = field(default_factory=dict)  # the points tried, by their names
    fits: dict[str, list[bool]] = field(default_factory=dict)  # which cases hypotheses explain, by their names
    tried: set[str] = field(default_factory=set)  # the names of all hypotheses scored
    equal: dict[str, list[Hypothesis]] = field(default_factory=dict)  # the forms with the best score, by their names
    forms: dict[str, list[Hypothesis]] = field(default_factory=dict)  # as they are tried, by their names
    apart: set[str] = field(default_factory=set)  # names of hypotheses tried with tininess apart, and of these

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
        probes = spread_out(wrong, _PROBES)
        if wrong and not self._may_be(h, probes):
            return None
        mismatches = count = sum(explains(h, c, self.comparator) for c in wrong)
        for left, c in zip(range(len(right), 0, -1), right, strict=True):
            if count + left < self.bar:
                break
            count += explains(h, c, self.comparator)
        return Finding(h, count, mismatches)

    def _may_be(self, h: Hypothesis, probes: Sequence[AnsweredCase]) -> bool:
        """Whether the hypothesis explains its share of some mismatches."""
        if h.may_give is not None and self._seen_exactly and not any(map(h.may_give, probes)):
            return False
        total = needed = max(1, int(h.share * len(probes)))
        left = len(probes)
        for c in probes:
            needed -= explains(h, c, self.comparator)
            left -= 1
            hopeless = needed == total and 2 * needed >= len(probes) == left + _FIRST_PROBES
            if hopeless or not 0 < needed <= left:
                break
        return needed <= 0

    def try_all(self, hypotheses: Iterable[Hypothesis | None]) -> None:
        """Score hypotheses that have not been scored yet."""
        for h in hypotheses:
            if h is None or h.name in self.tried:
                continue
            self.tried.add(h.name)
            scored = [finding for form in self._forms(h) if (finding := self.score(form)) is not None]
            if scored:
                best = self.scores[h.name] = min(scored, key=lambda f: f.rank)
                self.equal[h.name] = [f.hypothesis for f in scored if f.rank == best.rank]
                self.best = sorted([*self.best, best.explained], reverse=True)[:FINALISTS]
                self.bar = self.best[-1] if len(self.best) == FINALISTS else 0

    def _forms(self, h: Hypothesis) -> list[Hypothesis]:
        """A hypothesis by itself; on top of the faults already found, the ways to join them."""
        if h.name not in self.forms:
            self.forms[h.name] = list(self._new_forms(h))
        return self.forms[h.name]

    def _new_forms(self, h: Hypothesis) -> Iterator[Hypothesis]:
        if self.under is None or self.right is None:
            yield h
            return
        results = len(self.comparator.formats)
        joined = self.stack.joined(h.model, self.base) if isinstance(self.stack, Faulty) else None
        if joined is not None:
            yield h._replace(model=joined, alone=h.model)
        before = self.stack.preceded(h.model) if isinstance(self.stack, Faulty) else None
        if before is not None:
            yield h._replace(model=before, alone=h.model, early=True)
        yield h._replace(model=on_top(self.under, h.model, self.right, results))
        if joined is not None:
            return
        at_point, model = self._at_point
        if model is not None and h.name in at_point:
            yield h._replace(model=on_top(self.under, at_point[h.name], model, results))

    @cached_property
    def _seen_exactly(self) -> bool:
        """Whether the answers of cases are those of the right device and of the wrong one, bit by bit."""
        return self.under is None and self.comparator.is_plain and self.comparator.judge is None

    @cached_property
    def base(self) -> Model | None:
        """The model of the space's base."""
        return self.space.known_model(self.space.base)

    @cached_property
    def _at_point(self) -> tuple[dict[str, Model], Model | None]:
        """The defects of a device that is otherwise the point, by their names, and the point's model."""
        if self.point is None:
            return {}, None
        defects = (*self.space.defects(self.point), *self.space.suggested(self.point, self.cases))
        model = self.space.model(self.point)
        return {d.name: d.model for d in defects}, model and cache(model)

    def run_once(self) -> list[Finding]:
        """Try every single change and listed defect; return the finalists over all cases, best first."""
        self.try_singles()
        if self.under is not None:  # these act on the answer of the faults already found
            other = Search(self.space, self.comparator, self.cases)
            for name, finding in other.scored(self.space.answer_defects(self.under)).items():
                self.scores[name] = min(self.scores.get(name, finding), finding, key=lambda f: f.rank)
        return self._best()

    def _best(self) -> list[Finding]:
        """A few of the best hypotheses over all cases, chosen by a part of these."""
        wrong = sum(not c.agrees for c in self.cases)
        some = [*spread_out(self.cases[:wrong], _SCREENED_CASES), *spread_out(self.cases[wrong:], _SCREENED_CASES)]
        first = self._good()[: FINALISTS + _RUNNERS_UP]
        best = sorted((self._over(f.hypothesis, some) for f in first), key=lambda f: f.rank)[:_SCREENED]
        return sorted((self._best_form(f.hypothesis) for f in best), key=lambda f: f.rank)

    def _over(self, h: Hypothesis, some: Sequence[AnsweredCase]) -> Finding:
        return finding(h, ((explains(h, c, self.comparator), c) for c in some))

    def _best_form(self, h: Hypothesis) -> Finding:
        """Of the forms of a hypothesis that score alike, the first of the best over all cases."""
        best = self.over_all(h)
        for form in self.equal.get(h.name, [])[1:]:
            fits = [explains(form, c, self.comparator) for c in self.cases]
            if sum(fits) > best.explained:
                self.fits[h.name], self.scores[h.name] = fits, replace(self.scores[h.name], hypothesis=form)
                best = self.over_all(form)
        return best

    def _good(self) -> list[Finding]:
        """Those that explain more of the sample than no fault; without any, the best."""
        ranked = self.ranked()
        least = sum(c.agrees for c in self.few)  # the number of cases explained without a fault
        return [f for f in ranked if f.explained > least] or ranked[:1]

    def try_singles(self) -> None:
        """Score every named point, every single change, and every listed defect."""
        space, base = self.space, self.space.base
        points = (*space.named(), *space.changes(base))
        own = space.key(base)
        self.points |= {space.text(p): p for p in points if space.key(p) != own}
        self.try_all(hypothesis(space, p) for p in self.points.values())
        self.try_all(self._defects)
        ranked = self.ranked()
        if ranked and ranked[0].explained < len(self.few):
            by_mismatches = sorted(ranked, key=lambda f: (-f.mismatches, -f.explained))
            self.try_all(self._tininess_apart([*ranked[:FINALISTS], *by_mismatches[:FINALISTS]], self.few))

    def _tininess_apart(self, findings: Sequence[Finding], cases: Sequence[AnsweredCase]) -> list[Hypothesis]:
        """Of hypotheses that are wrong in some cases only in underflow: devices that detect tininess apart."""
        some = {f.hypothesis.name: f.hypothesis for f in findings if self.comparator.flags & UNDERFLOW}
        apart = {name: self.space.tininess_apart(h) for name, h in some.items() if name not in self.apart}
        self.apart |= {n for name, x in apart.items() if x is not None for n in (name, x.name)}
        return [x for name, x in apart.items() if x and any(self._wrong_in_underflow(some[name], c) for c in cases)]

    def _wrong_in_underflow(self, h: Hypothesis, case: AnsweredCase) -> bool:
        """Whether the hypothesis gives the answer of a case, but for underflow."""
        output = h.model(case.inputs)
        if output is None or output[-1] ^ UNDERFLOW != case.got[-1]:
            return False
        return self.comparator(output)[:-1] == case.got[:-1]

    def scored(self, hypotheses: Iterable[Hypothesis]) -> dict[str, Finding]:
        """The scores of some hypotheses, by their names."""
        self.try_all(hypotheses)
        return self.scores

    def ranked(self) -> list[Finding]:
        """Best first."""
        return sorted(self.scores.values(), key=lambda f: f.rank)

    def run(self) -> list[Finding]:
        """Search, and return the finalists over all cases, best first."""
        space, points, begin = self.space, self.points, time.thread_time()
        self.try_singles()
        for _ in range(_MOST_CHANGES):
            before = self.ranked()
            if not before or before[0].explained == len(self.few) or time.thread_time() - begin > _LONGEST_S:
                break
            nearest = [points[f.hypothesis.name] for f in before if f.hypothesis.name in points][:_CLIMBED_POINTS]
            for p in nearest:
                more = {space.text(x): x for x in space.changes(p)}
                points |= more
                self.try_all(hypothesis(space, x) for x in more.values())
            # The nearest may have several changes, by which it explains cases of a defect.
            simple = [
                points[f.hypothesis.name] for f in before if f.hypothesis.name in points and f.hypothesis.size <= 2
            ]
            for top in dict.fromkeys((*nearest[:1], *simple[:1])):
                self.try_all(_on_top(space, top, d) for d in space.defects(top))
            if self.ranked()[0].explained == before[0].explained:
                break
        findings = self._finals()
        if missed := self._missed(findings):
            findings = self._and(findings, self._tininess_apart(findings, missed))
        if missed := self._missed(findings):
            pairs = islice(self._two_defects(spread_out(missed, _PROBES) + self.few), FINALISTS)
            findings = self._and(findings, pairs)
        return findings

    def _missed(self, findings: Sequence[Finding]) -> list[AnsweredCase]:
        """The cases that the best of some findings does not explain."""
        fits = self._fits(findings[0].hypothesis) if findings else [False] * len(self.cases)
        return [c for c, fit in zip(self.cases, fits, strict=True) if not fit]

    def _and(self, findings: Sequence[Finding], more: Iterable[Hypothesis]) -> list[Finding]:
        """Findings and other hypotheses over all cases, best first."""
        return sorted([*findings, *map(self.over_all, more)], key=lambda f: f.rank)

    @cached_property
    def _defects(self) -> list[Hypothesis]:
        """The listed defects of the base, and those that the cases suggest."""
        space, start, size = self.space, self.start, self.start_size
        defects = (*space.listed, *space.suggested(space.base, self.cases))
        return [d._replace(name=f"{start}; {d.name}", size=size + d.size) if start else d for d in defects]

    def _two_defects(self, some: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        """Pairs of a listed defect and a defect of the answer that together explain all of some cases, or a defect that
        does so alone.

        Anything less is not evidence: among many pairs, some always explain a few cases more than their first defect.
        """
        below: list[Model] = [self.space.known_model(self.space.base) or (lambda _: None)]
        tried = list(self.space.answer_defects(lambda inputs: below[0](tuple(inputs))))  # of one device after another
        for first in self._defects:
            if first.also is not None:
                continue
            if all(explains(first, c, self.comparator) for c in some):  # one of many that explain the sample alike
                yield first
                continue
            below[0] = known = cache(first.model)
            fit = [i for i, h in enumerate(tried) if all(explains(h, c, self.comparator) for c in some)]
            under = partial(_of_tuple, known)
            seconds = list(self.space.answer_defects(under)) if fit else []
            for second in (seconds[i] for i in fit):
                text = f"{first.description}, and {second.description}"
                size = first.size + second.size
                yield Hypothesis(f"{first.name}; {second.name}", text, second.model, size=size, evidence=_EVIDENCE)

    def _finals(self) -> list[Finding]:
        good = self._good()
        tied = [f for f in good if f.explained == good[0].explained][:FINALISTS]
        findings = [self.over_all(f.hypothesis) for f in tied]
        complete = any(f.explained == len(self.cases) for f in findings)
        rest = [f for f in good if f.explained < good[0].explained]
        rest = rest[: _RUNNERS_UP if complete else max(FINALISTS - len(tied), _RUNNERS_UP)]
        return sorted([*findings, *(self.over_all(f.hypothesis) for f in rest)], key=lambda f: f.rank)

    def over_all(self, h: Hypothesis) -> Finding:
        """The number of all cases that it explains."""
        return finding(h, zip(self._fits(h), self.cases, strict=True))

    def _fits(self, h: Hypothesis) -> list[bool]:
        """Whether it explains each case, cached."""
        if h.name not in self.fits:
            self.fits[h.name] = [explains(h, c, self.comparator) for c in self.cases]
        return self.fits[h.name]

    def nearest(self) -> Finding | None:
        """The hypothesis that gives most of the wrong answers, whatever it does elsewhere; None if that is not half."""
        best = max(self.scores.values(), key=lambda f: (f.mismatches, f.explained), default=None)
        return None if best is None or 2 * best.mismatches < self.wrong else self.over_all(best.hypothesis)

    def restricted(self, conditions_of: Conditions) -> list[Finding]:
        """The hypotheses that explain many mismatches, each restricted to a condition that these fulfil and the cases
        that it would get wrong do not."""
        right = self.under or self.space.model(self.space.base)
        ranked = sorted(self.scores.values(), key=lambda f: (-f.mismatches, f.hypothesis.size, -f.explained))
        best = [f for f in ranked if _LEAST_SHARE * f.mismatches >= self.wrong][:_RESTRICTED_HYPOTHESES]
        if right is None:
            return []
        wrong = sum(not c.agrees for c in self.cases)
        some = spread_out(self.cases[:wrong], _TRIED_CASES) + spread_out(
            [c for c in self.cases if c.agrees], 2 * _TRIED_CASES
        )
        scored: list[tuple[int, int, int, Hypothesis, CaseCondition]] = []
        for finding in best:
            h, nearly_all = finding.hypothesis, 10 * finding.mismatches >= 9 * self.wrong
            fits = [explains(h, c, self.comparator) for c in some]
            explained = [c for c, fit in zip(some, fits, strict=True) if fit and not c.agrees]
            broken = [c for c, fit in zip(some, fits, strict=True) if not fit and c.agrees]
            of = [x for x in conditions_of([*explained, *broken]) if nearly_all or not x.fitted] if broken else []
            # Of equivalent conditions, the first.
            under = {tuple(x.holds(c.inputs, c.expected) for c in broken): x for x in reversed(of)}
            for held, x in under.items():
                scored.append((sum(held) - len(explained), h.size, len(scored), h, x))
        top = sorted(scored, key=lambda t: t[:3])[:FINALISTS]
        return [self._restricted_to(x, h, right) for *_, h, x in top] + self._restricted_to_lanes(right)

    def _restricted_to_lanes(self, right: Model) -> list[Finding]:
        """Hypotheses of some lanes of the result only, over all cases."""
        lanes = Lanes.of(self.space.unit) if len(self.comparator.formats) > 1 else None
        if lanes is None:
            return []
        points = (h for p in self.points.values() if (h := hypothesis(self.space, p)) is not None)
        tried = (form for h in chain(self._defects, points) for form in self._forms(h))
        restricted = restricted_to_lanes(tried, lanes, right, self.few, self.comparator)
        least = max((f.explained for f in self.scores.values()), default=0)
        return [self.over_all(h) for h in restricted if self._explained_of_few(h) > least]

    def _explained_of_few(self, h: Hypothesis) -> int:
        return sum(explains(h, c, self.comparator) for c in self.few)

    def _restricted_to(self, x: CaseCondition, h: Hypothesis, right: Model) -> Finding:
        """A hypothesis restricted to a condition, over all cases: where that does not hold, the device is right."""
        held = (x.holds(c.inputs, c.expected) for c in self.cases)
        fits = (fit if holds else c.agrees for fit, holds, c in zip(self._fits(h), held, self.cases, strict=True))
        return finding(
            _only_where(h, x, right, self.base, self.stack),
            zip(fits, self.cases, strict=True),
        )


def finding(h: Hypothesis, fits: Iterable[tuple[bool, AnsweredCase]]) -> Finding:
    """A hypothesis with the number of cases that it explains."""
    explained = [c for fit, c in fits if fit]
    return Finding(h, len(explained), sum(not c.agrees for c in explained))


def on_top(under: Model, changed: Model, right: Model, results: int) -> Model:
    """A device with the faults of `under`, and those of `changed` where that differs from the right device.

    What it changes replaces the code there; of flags, only the bits that it changes, which others may have changed
    likewise. results: number of codes before the flags.
    """

    def model(inputs: Inputs) -> Output | None:
        below, expected, own = under(tuple(inputs)), right(tuple(inputs)), changed(inputs)
        if below is None or expected is None or own is None or own == expected:
            return below
        codes = (x if x != y else z for x, y, z in zip(own[:results], expected, below, strict=False))
        flags = (
            z ^ (x ^ y) & (x ^ z) for x, y, z in zip(own[results:], expected[results:], below[results:], strict=True)
        )
        return (*codes, *flags)

    return model


def _only_where(
    h: Hypothesis, condition: CaseCondition, right: Model, base: Model | None, stack: Model | None
) -> Hypothesis:
    """A hypothesis where a condition holds. right: the model of other cases; base: of the expected device; stack: of
    the faults already found. A fault of one of these may be joined with others then, too."""

    def restricted(inputs: Inputs) -> Output | None:
        expected = right(inputs)
        return h.model(inputs) if expected is not None and condition.holds(inputs, expected) else expected

    model: Model = restricted
    alone: Model | None = None
    under = base if stack is None else stack
    if isinstance(h.own, Faulty) and h.own.changes and isinstance(base, Faulty) and h.own.unit == base.unit:
        holds = condition.holds if stack is None else lambda i, _: condition.holds(i, right(tuple(i)) or ())
        alone = Faulty(base.unit, where(holds, h.own.changes))
        joined = under.joined(alone) if isinstance(under, Faulty) else None
        model = joined or restricted
    text = f"where {condition.text}"
    return Hypothesis(
        f"{h.name}{WHERE}{condition.text}",
        f"{h.description}, but only {text}",
        model,
        size=h.size + 2,
        evidence=_EVIDENCE,
        alone=alone,
        wide=h,
        usual=h.usual,
    )


def _on_top(space: Space[P], point: P, defect: Hypothesis) -> Hypothesis:
    text = f"{space.description(point)}, and {defect.description}"
    size = space.size(point) + defect.size
    name, share = f"{space.text(point)}; {defect.name}", _SHARE_OF_BOTH
    return Hypothesis(name, text, defect.model, size=size, share=share, usual=defect.usual)


def _of_tuple(known: Model, inputs: Inputs) -> Output | None:
    return known(tuple(inputs))


def _constant(answer: Output, count: int, wrong: int) -> Finding:
    shown = " ".join(f"{x:x}" for x in answer[:_SHOWN_CODES]) + (" ..." if len(answer) > _SHOWN_CODES else "")
    return Finding(Hypothesis("one answer", f"gives {shown} for every question", lambda _: answer), count, wrong)


def ranked_diagnosis(
    space: Space[P], comparator: Comparator, cases: Sequence[AnsweredCase], conditions_of: Conditions = lambda _: ()
) -> Diagnosis:
    """The hypotheses that explain the cases, best first, with the case that refutes the runner-up.

    A hypothesis that tells no more than assuming no fault is left out. conditions_of: the conditions
    that all mismatches of some cases fulfil, to which a fault may be restricted.
    """
    wrong = sum(not c.agrees for c in cases)
    if not wrong:
        return Diagnosis(len(cases), 0)
    answers = {c.got for c in cases}
    if len(answers) == 1 and len(cases) >= FEWEST_CASES:
        return Diagnosis(len(cases), wrong, (_constant(answers.pop(), len(cases), wrong),))
    search = Search(space, comparator, cases)
    findings = search.run()
    right = len(cases) - wrong
    least = max([right, *(f.explained for f in findings[:1])])
    if least < len(cases):
        more = [f for f in search.restricted(conditions_of) if f.explained > least]
        findings = sorted([*findings, *more], key=lambda f: f.rank)
    diagnosis = diagnosis_from(findings, comparator, cases)
    if not diagnosis.findings:
        return replace(diagnosis, tried=len(search.tried), nearest=search.nearest())
    return diagnosis


def diagnosis_from(findings: Sequence[Finding], comparator: Comparator, cases: Sequence[AnsweredCase]) -> Diagnosis:
    """A diagnosis by findings, best first, from the first that tells more than assuming no fault."""
    right = sum(c.agrees for c in cases)
    explaining = dropwhile(lambda f: not f.is_telling(right), findings)
    findings = [f for f in explaining if f.explained > right]
    diagnosis = Diagnosis(len(cases), len(cases) - right, tuple(findings))
    if not findings:
        return diagnosis
    best, second = findings[0].hypothesis, diagnosis.runner_up
    refutes = (c for c in cases if second and not explains(second.hypothesis, c, comparator))
    refutation = next((c for c in refutes if explains(best, c, comparator)), None)
    exception = next((c for c in cases if not explains(best, c, comparator)), None)
    return replace(diagnosis, refutation=refutation, exception=exception)
