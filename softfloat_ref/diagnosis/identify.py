"""Which device an unknown one is: questions chosen one by one among candidates, then confirmed on many cases."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic

from softfloat_ref.diagnosis.asking import Asker
from softfloat_ref.diagnosis.candidates import Candidate, Pool, Question, classes
from softfloat_ref.diagnosis.hypotheses import Case, Hypothesis, Lens, Output
from softfloat_ref.diagnosis.ranking import Finding, Search, explains
from softfloat_ref.diagnosis.spaces import P, Space
from softfloat_ref.testing.check import Checkable
from softfloat_ref.testing.compare import CompareNan, Rule

_CHALLENGES: Final = 4


@dataclass
class Identification(Generic[P]):
    """What an unknown device is.

    found: the candidates that explain every answer; they are told apart by no question there is. questions: how many
    were asked one by one; confirmed: on how many further cases the device then agreed, of `tried`. closest: where no
    candidate explains all, what comes nearest, best first, over all cases asked; exception: a case that the best of
    them does not explain. tied: whether every operand was tried for what tells those found apart.
    """

    found: list[Candidate[P]]
    questions: int
    confirmed: int
    tried: int
    has_flags: bool
    closest: list[Finding] = field(default_factory=list)
    examined: int = 0
    exception: Case | None = None
    exhausted: bool = False

    @property
    def complete(self) -> bool:
        """Whether something explains every answer."""
        return bool(self.found) or (bool(self.closest) and self.closest[0].explained == self.examined)

    @property
    def name(self) -> str:
        """What it is called."""
        if self.found:
            return self.found[0].name
        return self.closest[0].hypothesis.name if self.closest else "none"


@dataclass
class Examiner(Generic[P]):
    """Identifies devices for one operation and its formats; what it learns of its candidates is kept between devices.

    space: its base is the default that neighbours are taken from. pool: questions to choose from. at: a space whose
    base is another point, for what is nearest. every: all operands there are, where these are few.
    """

    space: Space[P]
    vectors: Checkable
    questions: Sequence[Question]
    at: Callable[[P], Space[P]]
    every: Callable[[], Iterable[Question]] | None = None
    nan: CompareNan = CompareNan.EXACT

    def __post_init__(self) -> None:
        self.candidates = classes(
            self.space, (*self.space.named(), self.space.base, *self.space.changes(self.space.base))
        )
        self.neighbours: dict[Hashable, Candidate[P]] = {}
        self.pool: Pool[P] = Pool(self.questions)
        self.ties: dict[tuple[int, int], bool] = {}

    def identify(self, ask: Asker, confirm: Sequence[Question]) -> Identification[P]:
        """Ask a device. Raises DeviceError where it does not answer as a device must."""
        return _Session(self, ask).run(confirm)

    def extended(self, point: P) -> list[Candidate[P]]:
        """The candidates next to a point. Those that are new are kept aside: the next device starts from the first."""
        return [self.kept(key, c) for key, c in classes(self.space, self.space.changes(point)).items()]

    def kept(self, key: Hashable, candidate: Candidate[P]) -> Candidate[P]:
        """The candidate of that key that there is already, with what it has answered; else this one from now on."""
        return self.candidates.get(key) or self.neighbours.setdefault(key, candidate)

    def same(self, a: Candidate[P], b: Candidate[P]) -> bool | None:
        """Whether two candidates answer alike for all operands there are; None where these are too many."""
        if self.every is None:
            return None
        key = (id(a), id(b))
        if key not in self.ties:
            self.ties[key] = all(a.model(q) == b.model(q) for q in self.every())
        return self.ties[key]

    def key_of(self, point: P) -> Hashable:
        """What the point's answers depend on."""
        return self.space.key(point)


class _Session(Generic[P]):
    """One device being asked."""

    def __init__(self, examiner: Examiner[P], ask: Asker) -> None:
        self.examiner, self.ask = examiner, ask
        self.lens = self._lens(True)
        self.asked: dict[Question, Output] = {}
        self.has_flags = True
        self.first = True

    def _lens(self, has_flags: bool) -> Lens:
        vectors = self.examiner.vectors
        return Lens.of(vectors, Rule(vectors.out, self.examiner.nan), has_flags)

    def put(self, questions: Sequence[Question]) -> list[Output]:
        """Ask; the first answer says whether there are flags."""
        answers = self.ask(questions)
        if self.first and answers and not answers[0].codes:
            self.has_flags = answers[0].flags is not None
            self.lens = self._lens(self.has_flags)
        self.first = False
        found = [self.lens.answer(a) for a in answers]
        self.asked.update(zip(questions, found, strict=True))
        return found

    def run(self, confirm: Sequence[Question]) -> Identification[P]:
        alive = self.narrow(list(self.examiner.candidates.values()))
        questions = len(self.asked)
        tried, confirmed = len(confirm), 0
        if confirm:
            self.put(confirm)
            alive = [c for c in alive if self._fits(c)]
            confirmed = tried if alive else 0
        for _ in range(_CHALLENGES):
            alive = alive or self._climbed()
            if not alive:
                break
            before, count = alive, len(self.asked)
            known = {self.examiner.key_of(c.point) for c in alive}
            near = [c for c in self.examiner.extended(alive[0].point) if self.examiner.key_of(c.point) not in known]
            near = [c for c in near if self._fits(c)]
            alive = self.narrow(self._apart([*alive, *near]))
            questions += len(self.asked) - count
            if alive == before:
                break
        found = Identification(alive, questions, confirmed, tried, self.has_flags)
        if not alive:
            self._nearest(found)
        else:
            found.confirmed = tried
            found.exhausted = len(alive) > 1 and self.examiner.every is not None
        return found

    def _fits(self, c: Candidate[P]) -> bool:
        return all(c.fits(q, got, self.lens) for q, got in self.asked.items())

    def _apart(self, alive: list[Candidate[P]]) -> list[Candidate[P]]:
        """Without those that are, for every operand, the first: their names join its names."""
        kept = alive[:1]
        for c in alive[1:]:
            if self.examiner.same(kept[0], c):
                kept[0].names += [n for n in c.names if n not in kept[0].names]
            else:
                kept.append(c)
        return kept

    def narrow(self, alive: list[Candidate[P]]) -> list[Candidate[P]]:
        """Ask the best question until no question tells the candidates left apart."""
        while len(alive) > 1:
            question = self.examiner.pool.best(alive, self.lens)
            if question is None:
                return self._exhaust(alive)
            if question in self.asked:  # its answer left candidates that have none of their own
                return alive
            [got] = self.put([question])
            alive = [c for c in alive if c.fits(question, got, self.lens)]
        return alive

    def _exhaust(self, alive: list[Candidate[P]]) -> list[Candidate[P]]:
        """Where all operands can be tried: the first that tells two apart is asked."""
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
                return self.narrow([c for c in alive if c.fits(question, got, self.lens)])
        return self._apart(alive)

    def _differ(self, a: Candidate[P], b: Candidate[P], q: Question) -> bool:
        x, y = a.model(q), b.model(q)
        return x is not None and y is not None and self.lens(x) != self.lens(y)

    def _closest(self) -> Candidate[P]:
        """The candidate that explains most of the answers."""

        def score(c: Candidate[P]) -> int:
            return sum(c.fits(q, got, self.lens) for q, got in self.asked.items())

        return max(self.examiner.candidates.values(), key=score)

    def _default(self) -> Candidate[P] | None:
        """The candidate that is the default."""
        return self.examiner.candidates.get(self.examiner.key_of(self.examiner.space.base))

    def _search(self, start: Candidate[P]) -> tuple[Search[P], list[Finding]]:
        """What several changes of a candidate, and defects, explain; the defects are named with the candidate."""
        cases = []
        for q, got in self.asked.items():
            own = start.answer(q)
            cases.append(Case(q, got if own is None else self.lens(own), got))
        size = self.examiner.space.size(start.point)
        search = Search(self.examiner.at(start.point), self.lens, cases, start.name, size)
        return search, search.run()

    def _climbed(self) -> list[Candidate[P]]:
        """Points some changes away from every candidate that explain all answers."""
        search, findings = self._search(self._closest())
        good = [f.hypothesis.name for f in findings if f.explained == len(search.cases)]
        points = [search.points[name] for name in good if name in search.points]
        found = classes(self.examiner.space, points)
        return [self.examiner.kept(key, c) for key, c in found.items()]

    def _nearest(self, found: Identification[P]) -> None:
        """What explains most of the answers, the listed defects and several changes at once among it."""
        nearest = self._closest()
        search, findings = self._search(nearest)
        default = self._default()
        if default is not None and default is not nearest:  # a defect may hide what the nearest seems to have
            other, its = self._search(default)
            if its and (not findings or its[0].rank < findings[0].rank):
                nearest, search, findings = default, other, its
        space, cases = search.space, search.cases
        right = sum(c.agrees for c in cases)
        if not findings or findings[0].explained < right:
            findings.insert(0, Finding(Hypothesis(nearest.name, "", nearest.model, space.kind, 0), right))
        if findings[0].explained == len(cases):
            findings, more = self._told_apart([f for f in findings if f.explained == len(cases)])
            found.questions += more
            found.examined = len(cases) + more
        else:
            found.examined = len(cases)
        found.closest = findings
        best = findings[0].hypothesis
        found.exception = next((c for c in cases if not explains(best, c, self.lens)), None)

    def _told_apart(self, tied: list[Finding]) -> tuple[list[Finding], int]:
        """Those that are left when what tells them apart has been asked, and the questions that took."""
        before = len(self.asked)
        as_candidates = [Candidate(self.examiner.space.base, f.hypothesis.model, [f.hypothesis.name]) for f in tied]
        left = [c.name for c in self.narrow(as_candidates)]
        more = len(self.asked) - before
        kept = [Finding(f.hypothesis, f.explained + more) for f in tied if f.hypothesis.name in left]
        return (kept or tied), (more if kept else 0)
