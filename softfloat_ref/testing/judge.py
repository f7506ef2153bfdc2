"""Judging a device's answers one by one: right, or which kind of mismatch; and the report of all of them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypedDict

from softfloat_ref.explanation.scalar import MAX_FLAGS
from softfloat_ref.golden.readers import Row
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.within import check_runs
from softfloat_ref.rtl.assumptions import PortAssumptions
from softfloat_ref.rtl.tolerance import CLEAR, PAUSE, CompareNan, Tolerance
from softfloat_ref.testing import (  # noqa: F401  (their views enter the table)
    affine,
    block,
    dot,
    integer_dot,
    mixed,
    operation,
    requantize,
    vector,
)
from softfloat_ref.testing.answers import NO_FLAGS, check_flags, known_answer, with_expected
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.testing.kappa import Allowance, KappaJudge, Kappas
from softfloat_ref.testing.ulp import UlpErrors, UlpJudge
from softfloat_ref.testing.views import MismatchView, OwnCase, view_of
from softfloat_ref.units import Line, Unit
from softfloat_ref.units.ranges.operand_range import OperandRange, operand_range

SHOWN: Final = 10
MAX_DIAGNOSED: Final = 1 << 15  # mismatches kept for a diagnosis, and as many cases that agree
MAX_FIRST: Final = 1 << 12  # cases kept in their order
UNKNOWN_BITS: Final = "X or Z bits"
EARLIER_FLAGS: Final = "flags of earlier operations"  # with sticky flags


@dataclass
class Mismatch:
    """A case that the device got wrong. changes: policies that give its answer."""

    number: int
    operands: tuple[int, ...]
    expected: tuple[int, ...]
    got: Answer
    kind: str
    changes: list[dict[str, str]] = field(default_factory=list)
    error: str = ""  # in ulp, if errors are allowed


@dataclass
class CheckReport:
    """The findings of a check. failure: how the device broke the protocol, or ''. wrong, right: the first cases of each
    kind, with the device's answers, for a diagnosis; first: the first of both, in order; numbers: theirs, among all
    answers; pauses: cycles without an answer, before the one of a number. parts: of units with several parts, a report
    for each, with its own cases. tolerance: what was compared, and how; assumptions: those of the port map of a bench,
    in whose log they stand. within: the range of the operands, of the set and of this check, if there is one; left_out:
    cases outside of it, which were not compared. whole: of a part, the unit. form: what lines were read as, if not as
    hexadecimal digits; not_compared: how many were not compared, by their reason."""

    vectors: VectorSet
    compared: int = 0
    mismatched: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    mismatches: list[Mismatch] = field(default_factory=list)
    failure: str = ""
    has_flags: bool = False
    errors: UlpErrors | Kappas | None = None  # if errors are allowed, or measured
    wrong: list[tuple[Line, Answer]] = field(default_factory=list)
    right: list[tuple[Line, Answer]] = field(default_factory=list)
    first: list[tuple[Line, Answer]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    pauses: list[tuple[int, int]] = field(default_factory=list)
    parts: dict[Unit, CheckReport] = field(default_factory=dict)
    tolerance: Tolerance = field(default_factory=Tolerance)
    assumptions: PortAssumptions = field(default_factory=PortAssumptions)
    within: OperandRange | None = None
    left_out: int = 0
    whole: Unit | None = None
    form: str = ""
    not_compared: Counter[str] = field(default_factory=Counter)

    def note(self, line: Line, answer: Answer, kind: str, keep: bool = True, agrees: bool = False) -> None:
        """Count a case, with the kind of its mismatch or ''. kept: whether to keep it for a diagnosis; agrees: as one
        that agrees, although there is a mismatch."""
        self.has_flags = answer.flags is not None
        self.compared += 1
        self.mismatched += bool(kind)
        self.kinds.update([kind] if kind else [])
        cases = self.wrong if kind and not agrees else self.right
        if keep and len(cases) < MAX_DIAGNOSED:
            cases.append((line, answer))

    def note_own(self, own: OwnCase, kind: str, view: MismatchView) -> None:
        """Count a case in the report of its part. A right answer tells nothing of the part, where its operands are
        uncertain."""
        outside = kind in view.outside or kind == EARLIER_FLAGS
        keep = kind not in view.around if kind and not outside else own.certain
        self.part(own.unit).note((*own.inputs, *own.expected), own.got, kind, keep, outside)

    def allows(self, inputs: Sequence[int]) -> bool:
        """Whether a device may be asked such a case."""
        return self.within is None or self.within.holds(inputs)

    def part(self, unit: Unit) -> CheckReport:
        if unit not in self.parts:
            self.parts[unit] = CheckReport(VectorSet(unit, 1), tolerance=self.tolerance, whole=self.vectors.unit)
        return self.parts[unit]

    def cycles(self) -> list[int]:
        """When the first answers came, if each came in the cycle after the one before, except for known pauses."""
        waits, late, cycles = deque(sorted(self.pauses)), 0, []
        for number in self.numbers:
            while waits and waits[0][0] <= number:
                late += waits.popleft()[1]
            cycles.append(number + late)
        return cycles

    @property
    def passed(self) -> bool:
        """Whether every case agreed, there was at least one, and the device followed the protocol."""
        return self.compared > 0 and self.mismatched == 0 and not self.failure


class ComparisonOptions(TypedDict, total=False):
    """How answers are compared. flags: whether to compare flags. shown: number of mismatches that are kept in full.
    limit: the largest error allowed, in ulp; kappa: the largest allowed, or that it is measured; without these, answers
    must be exact. where: the range of the operands; cases outside are not compared."""

    nan: CompareNan
    flags: bool
    shown: int
    limit: Fraction | None
    kappa: Allowance | None
    where: str


def judge_like(report: CheckReport) -> Judge:
    """A judge that compares as the one of a report did."""
    errors = report.errors
    judge = Judge(
        report.vectors,
        shown=0,
        limit=errors.limit if isinstance(errors, UlpErrors) else None,
        kappa=errors.allowed if isinstance(errors, Kappas) else None,
    )
    judge.report.tolerance, judge.report.assumptions = report.tolerance, report.assumptions
    return judge


class Judge:
    """Compares answers one by one and keeps the report."""

    def __init__(
        self,
        vectors: VectorSet,
        nan: CompareNan = CompareNan.EXACT,
        flags: bool = True,
        shown: int = SHOWN,
        limit: Fraction | None = None,
        kappa: Allowance | None = None,
        where: str = "",
    ) -> None:
        texts = [text for text in dict.fromkeys((vectors.where, where)) if text.strip()]
        both = " and ".join(f"({x})" for x in texts) if len(texts) > 1 else "".join(texts)
        within = operand_range(both, vectors.unit)
        if within is not None:
            check_runs(vectors.unit)
        tolerance = Tolerance(nan, MAX_FLAGS if flags else 0)
        self.report = CheckReport(vectors, tolerance=tolerance, within=within)
        self.view = view_of(vectors.unit)
        self.view.check()
        self.measure: UlpJudge | KappaJudge | None = None
        self.inputs, self.shown = vectors.unit.input_width, shown
        self.without_flags = False  # whether a log says that its lines have none
        self._allow(limit, kappa)
        self.has_parts = len(vectors.unit.parts) > 1
        self.gathered = self.extra = self.shown_flags = 0  # sticky: those expected, those that came besides, the last
        self.left: int | None = None  # sticky flags that were there when they were cleared, until the next answer
        self.clears = False  # whether sticky flags were seen to go
        self._before: tuple[Line, Answer] | None = None
        self._number = 0  # of the answers so far

    def _allow(self, limit: Fraction | None, kappa: Allowance | None) -> None:
        """Allow an error. Raises Error for a unit that is compared exactly."""
        if kappa is not None:
            self.measure = KappaJudge(self.report.vectors.unit, kappa, self.shown)
        elif limit is not None:
            self.measure = self.view.tolerance(limit, self.shown)
        self.report.errors = None if self.measure is None else self.measure.errors

    def note(self, comment: str) -> None:
        """A comment of a log, which may say which flags the device has, and what else is accepted."""
        self.report.tolerance = tolerance = self.report.tolerance.noted(comment)
        if self.measure is None and not self.report.compared:  # else an option says it
            self._allow(tolerance.ulp, None if tolerance.kappa is None else Allowance(tolerance.kappa))
        self.report.assumptions = self.report.assumptions.noted(comment)
        if len(self.report.pauses) < MAX_FIRST and (pause := PAUSE.fullmatch(comment.strip())):
            self.report.pauses.append((int(pause[1]), int(pause[2])))
        if CLEAR.fullmatch(comment):
            self.gathered, self.left = 0, self.shown_flags
        self.without_flags |= bool(NO_FLAGS.fullmatch(comment))

    def lines(self) -> Iterator[Line]:
        """The cases of the set that a device is asked: those within the range."""
        return (line for line in self.report.vectors.lines() if self.report.allows(line[: self.inputs]))

    def leaves_out(self, line: Line) -> bool:
        """Whether a case is outside of the range; such cases are counted."""
        outside = not self.report.allows(line[: self.inputs])
        self.report.left_out += outside
        return outside

    def compare_row(self, line: Line, row: Row) -> None:
        """One case with the line of a device or a log, which may have unknown bits. Raises DeviceError."""
        unit = self.report.vectors.unit
        if self.leaves_out(line):
            self._before = None
            self._number += 1
            return
        results, absent = with_expected(row.results, unit, line, self.report.tolerance)
        if absent and not absent <= self.report.tolerance.absent:
            self.report.tolerance = self.report.tolerance.lacking(absent)
        if (answer := known_answer(results, row.flags)) is not None:
            check_flags(answer.flags)
            self.compare(line, answer)
            return
        self._before = None
        self._number += 1
        unknown = Answer((0,), 0 if row.has_flags else None)
        self.report.note(line, unknown, UNKNOWN_BITS, False)
        if self.has_parts:
            self.report.part(unit.selected(line[: self.inputs])[0]).note(line, unknown, UNKNOWN_BITS, False)

    def compare(self, line: Line, answer: Answer) -> None:
        """One case: operands, random bits, expected result and flags in `line`."""
        met, self._before = self.view.met(line, self._before), (line, answer)
        line = met
        has_flags, tolerance = answer.flags is not None, self.report.tolerance
        if answer.flags is not None and tolerance.flags:
            line = (*line[:-1], line[-1] & tolerance.flags)
            answer = answer._replace(flags=answer.flags & tolerance.flags)
        if self.report.compared and has_flags != self.report.has_flags:
            raise DeviceError("it gives flags with some answers only")
        if len(self.report.first) < MAX_FIRST:
            self.report.first.append((line, answer))
            self.report.numbers.append(self._number)
        self._number += 1
        expected, error, earlier = line[self.inputs :], "", False
        if tolerance.sticky and answer.flags is not None:
            answer, earlier = self._own_flags(expected[-1], answer, answer.flags)
        if self.measure is not None:
            kind, error = self.measure.kind(line, answer, tolerance)
        else:
            kind = self.view.kind(line[: self.inputs], expected, answer, tolerance)
        agrees = not kind and earlier
        kind = EARLIER_FLAGS if agrees else kind
        self.report.note(line, answer, kind, agrees=agrees)
        if self.has_parts:
            own = self.view.own(line[: self.inputs], expected, answer)
            self.report.note_own(own, kind, self.view)
        if not kind:
            return
        if len(self.report.mismatches) < self.shown:
            mismatch = Mismatch(self.report.compared, line[: self.inputs], expected, answer, kind, error=error)
            mismatch.changes = self.view.changes(mismatch.operands, answer, tolerance.flags == MAX_FLAGS)
            self.report.mismatches.append(mismatch)

    def _own_flags(self, expected: int, answer: Answer, flags: int) -> tuple[Answer, bool]:
        """An answer with the flags of its own operation, as far as sticky flags show them, and whether flags of earlier
        operations are wrong in it."""
        if self.left is not None:
            self.clears |= bool(self.left & ~flags)
            self.extra = 0 if self.clears else self.left  # a device that does not clear shows what was there
            self.left = None
        self.gathered |= expected
        self.shown_flags = flags
        missing, extra = self.gathered & ~flags, flags & ~self.gathered
        own = expected & ~missing | extra & ~self.extra
        self.extra = extra
        return answer._replace(flags=own), bool(missing | extra) and own == expected
