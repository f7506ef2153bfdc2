"""Identification of an unknown device: questions chosen one by one among candidates, then many confirming cases."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic

from softfloat_ref.diagnosis.asking import Asker
from softfloat_ref.diagnosis.candidates import Candidate, Question, best_question, classes, with_ranges
from softfloat_ref.diagnosis.findings import Finding
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Hypothesis, Output
from softfloat_ref.diagnosis.ranking import Search, explains
from softfloat_ref.diagnosis.spaces import P, Space
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.tolerance import CompareNan, Tolerance
from softfloat_ref.units import Unit

_CHALLENGES: Final = 4
# Whether two units answer alike, flags too or results only: True if proved, inputs that tell them apart, or None.
Judge = Callable[[Unit, Unit, bool], Question | bool | None]


@dataclass
class Identification(Generic[P]):
    """The identification of an unknown device.

    candidates: those that explain every answer, which no question tells apart. questions: how many
    were asked one by one; confirmed: number of further cases, of `tried`, on which the device agreed with these
    candidates; 0 if none is left. closest: if no candidate explains all, the closest models over all cases asked, best
    first; exception: a case that the best of them does not explain. proved: names of other candidates that are
    proved to answer as the first of `candidates` does."""

    candidates: list[Candidate[P]]
    questions: int
    confirmed: int
    tried: int
    has_flags: bool
    closest: list[Finding] = field(default_factory=list)
    examined: int = 0
    exception: AnsweredCase | None = None
    proved: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether a model explains every answer."""
        return bool(self.candidates) or (bool(self.closest) and self.closest[0].explained == self.examined)

    @property
    def names(self) -> list[str]:
        """The names of the models that explain the most answers, the best first; those that differ in one number are
        one, with the range of it. None, if no model explains any."""
        most = self.closest[0].explained if self.closest else 0
        closest = [f.hypothesis.name for f in self.closest if f.explained == most > 0]
        return with_ranges([c.name for c in self.candidates] or closest)

    @property
    def name(self) -> str:
        """The name of the best model."""
        return next(iter(self.names), "none")


@dataclass
class Examiner(Generic[P]):
    """Identifies devices for one operation and its formats; the answers of its candidates are cached between devices.

    space: neighbours are those of its base. questions: those to choose from. every: all
    operands, if they are few. judge: tells candidates apart by a proof, if there is a prover.
    """

    space: Space[P]
    vectors: VectorSet
    questions: Sequence[Question]
    every: Callable[[], Iterable[Question]] | None = None
    nan: CompareNan = CompareNan.EXACT
    judge: Judge | None = None

    def __post_init__(self) -> None:
        self.candidates = classes(
            self.space, (*self.space.named(), self.space.base, *self.space.changes(self.space.base))
        )
        self.neighbours: dict[Hashable, Candidate[P]] = {}
        self.splits: dict[Hashable, Question | None] = {}
        self.ties: dict[tuple[Candidate[P], Candidate[P]], bool] = {}

    def identify(self, ask: Asker, confirm: Sequence[Question]) -> Identification[P]:
        """Identify a device. Raises DeviceError if it breaks the protocol."""
        return _Session(self, ask).run(confirm)

    def extended(self, point: P) -> list[Candidate[P]]:
        """The neighbours of a point. New ones are kept separately: each device starts from the initial candidates."""
        return [self.candidate(key, c) for key, c in classes(self.space, self.space.changes(point)).items()]

    def candidate(self, key: Hashable, candidate: Candidate[P]) -> Candidate[P]:
        """The known candidate of that key, with its cached answers; otherwise this one is kept."""
        return self.candidates.get(key) or self.neighbours.setdefault(key, candidate)

    def best(self, alive: Sequence[Candidate[P]], comparator: Comparator) -> Question | None:
        """The question that splits these candidates best, cached; None if none distinguishes any."""
        key = (comparator, tuple(alive))
        if key not in self.splits:
            self.splits[key] = best_question(self.questions, alive, comparator)
        return self.splits[key]

    def same(self, a: Candidate[P], b: Candidate[P]) -> bool | None:
        """Whether two candidates answer alike for all operands; None if there are too many."""
        if self.every is None:
            return None
        key = (a, b)
        if key not in self.ties:
            self.ties[key] = all(a.model(q) == b.model(q) for q in self.every())
        return self.ties[key]


class _Session(Generic[P]):
    """The identification of one device."""

    def __init__(self, examiner: Examiner[P], ask: Asker) -> None:
        self.examiner, self.ask = examiner, ask
        self.comparator = self._comparator(True)
        self.asked: dict[Question, Output] = {}
        self.has_flags = True

    def _comparator(self, has_flags: bool) -> Comparator:
        return Comparator.of(self.examiner.vectors.unit, Tolerance(self.examiner.nan), has_flags)

    def put(self, questions: Sequence[Question]) -> list[Output]:
        """Ask the questions; the first answer shows whether the device gives flags."""
        answers = self.ask(questions)
        if answers and not self.asked and self.examiner.vectors.unit.has_flags:
            self.has_flags = answers[0].flags is not None
            self.comparator = self._comparator(self.has_flags)
        outputs = [self.comparator.answer(a) for a in answers]
        self.asked.update(zip(questions, outputs, strict=True))
        return outputs

    def run(self, confirm: Sequence[Question]) -> Identification[P]:
        alive = self.narrow(list(self.examiner.candidates.values()))
        questions, tried = len(self.asked), len(confirm)
        if confirm:
            self.put(confirm)
            alive = [c for c in alive if self._fits(c)]
        for _ in range(_CHALLENGES):
            alive = alive or self._climbed()
            if not alive:
                break
            before, count = alive, len(self.asked)
            known = {self.examiner.space.key(c.point) for c in alive}
            near = [c for c in self.examiner.extended(alive[0].point) if self.examiner.space.key(c.point) not in known]
            near = [c for c in near if self._fits(c)]
            alive = self.narrow(self._apart([*alive, *near]))
            questions += len(self.asked) - count
            if alive == before:
                break
        asked = len(self.asked)
        alive, proved = self._judged(alive)
        questions += len(self.asked) - asked
        identification = Identification(alive, questions, tried if alive else 0, tried, self.has_flags, proved=proved)
        if not alive:
            self._nearest(identification)
        return identification

    def _judged(self, alive: list[Candidate[P]]) -> tuple[list[Candidate[P]], list[str]]:
        """The candidates without those that are proved to be the first, and the names of these."""
        judge, space = self.examiner.judge, self.examiner.space
        if judge is None:
            return alive, []
        left: list[Candidate[P]] = alive[:1]
        proved: list[str] = []
        for c in alive[1:]:
            verdict = judge(space.unit_of(alive[0].point), space.unit_of(c.point), self.has_flags)
            if verdict is True:
                proved += c.names
                continue
            left.append(c)
            if isinstance(verdict, tuple) and verdict not in self.asked and self._differ(alive[0], c, verdict):
                [got] = self.put([verdict])
                return self._judged([x for x in alive if x.fits(verdict, got, self.comparator)])
        return left, proved

    def _fits(self, c: Candidate[P]) -> bool:
        return all(c.fits(q, got, self.comparator) for q, got in self.asked.items())

    def _apart(self, alive: list[Candidate[P]]) -> list[Candidate[P]]:
        """The candidates without those identical to the first for every operand, whose names join its names."""
        left = alive[:1]
        for c in alive[1:]:
            if self.examiner.same(left[0], c):
                left[0].names += [n for n in c.names if n not in left[0].names]
            else:
                left.append(c)
        return left

    def narrow(self, alive: list[Candidate[P]]) -> list[Candidate[P]]:
        """Ask the best question until no question distinguishes the remaining candidates."""
        while len(alive) > 1:
            question = self.examiner.best(alive, self.comparator)
            if question is None:
                return self._exhaust(alive)
            if question in self.asked:  # its answer left candidates whose own answer is undefined
                return alive
            [got] = self.put([question])
            alive = [c for c in alive if c.fits(question, got, self.comparator)]
        return alive

    def _exhaust(self, alive: list[Candidate[P]]) -> list[Candidate[P]]:
        """If all operands can be tried, ask the first question that distinguishes two candidates."""
        examiner = self.examiner
        if examiner.every is None:
            return alive
        first = alive[0]
        for other in alive[1:]:
            if examiner.same(first, other):
                continue
            question = next((q for q in examiner.every() if self._differ(first, other, q)), None)
            if question is not None and question not in self.asked:
                [got] = self.put([question])
                return self.narrow([c for c in alive if c.fits(question, got, self.comparator)])
        return self._apart(alive)

    def _differ(self, a: Candidate[P], b: Candidate[P], q: Question) -> bool:
        x, y = a.model(q), b.model(q)
        return x is not None and y is not None and self.comparator(x) != self.comparator(y)

    def _closest(self) -> Candidate[P]:
        """The candidate that explains most of the answers."""

        def score(c: Candidate[P]) -> int:
            return sum(c.fits(q, got, self.comparator) for q, got in self.asked.items())

        return max(self.examiner.candidates.values(), key=score)

    def _search(self, start: Candidate[P]) -> tuple[Search[P], list[Finding]]:
        """A search over several changes of a candidate, and defects, which are named together with the candidate."""
        cases = []
        for q, got in self.asked.items():
            own = start.answer(q)
            cases.append(AnsweredCase(q, got if own is None else self.comparator(own), got))
        size = self.examiner.space.size(start.point)
        search = Search(self.examiner.space.at(start.point), self.comparator, cases, start.name, size)
        return search, search.run()

    def _climbed(self) -> list[Candidate[P]]:
        """Points several changes away from every candidate that explain all answers."""
        search, findings = self._search(self._closest())
        good = [f.hypothesis.name for f in findings if f.explained == len(search.cases)]
        points = [search.points[name] for name in good if name in search.points]
        candidates = classes(self.examiner.space, points)
        return [self.examiner.candidate(key, c) for key, c in candidates.items()]

    def _nearest(self, identification: Identification[P]) -> None:
        """Find the closest models, including the listed defects and several changes at once."""
        nearest = self._closest()
        search, findings = self._search(nearest)
        default = self.examiner.candidates.get(self.examiner.space.key(self.examiner.space.base))
        # A defect may hide behind the choices of the nearest candidate.
        if default is not None and default is not nearest:
            other, its = self._search(default)
            if its and (not findings or its[0].rank < findings[0].rank):
                nearest, search, findings = default, other, its
        space, cases = search.space, search.cases
        right = sum(c.agrees for c in cases)
        if not findings or findings[0].explained < right:
            findings.insert(0, Finding(Hypothesis(nearest.name, "", nearest.model, space.kind, 0), right))
        if findings[0].explained == len(cases):
            findings, more = self._told_apart([f for f in findings if f.explained == len(cases)])
            identification.questions += more
            identification.examined = len(cases) + more
        else:
            identification.examined = len(cases)
        identification.closest = findings
        best = findings[0].hypothesis
        identification.exception = next((c for c in cases if not explains(best, c, self.comparator)), None)

    def _told_apart(self, tied: list[Finding]) -> tuple[list[Finding], int]:
        """The findings left after asking the questions that distinguish them, and the number of questions."""
        before = len(self.asked)
        as_candidates = [Candidate(self.examiner.space.base, f.hypothesis.model, [f.hypothesis.name]) for f in tied]
        left = [c.name for c in self.narrow(as_candidates)]
        more = len(self.asked) - before
        findings = [Finding(f.hypothesis, f.explained + more) for f in tied if f.hypothesis.name in left]
        return (findings or tied), (more if findings else 0)
