"""Judging a device's answers one by one: right, or which kind of mismatch; and the report of all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypedDict

from softfloat_ref.explanation.scalar import MAX_FLAGS
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.testing import (  # noqa: F401  (their views enter the table)
    affine,
    block,
    dot,
    mixed,
    operation,
    vector,
)
from softfloat_ref.testing.answers import UnknownBits, answer_lengths, parse_answer
from softfloat_ref.testing.compare import Answer, CompareNan, compare_nan, without_unread
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.testing.kappa import Allowance, KappaJudge, Kappas
from softfloat_ref.testing.ulp import UlpErrors, UlpJudge
from softfloat_ref.testing.views import MismatchView, OwnCase, view_of
from softfloat_ref.units import Line, Unit

SHOWN: Final = 10
# Of a bench, in its log of results.
_LOG_NOTE: Final = re.compile(r"(?://|#)\s*(flags|compare_nan|nan_scale_elements) = ([a-z_ ]+)")
MAX_DIAGNOSED: Final = 1 << 15  # mismatches kept for a diagnosis, and as many cases that agree
MAX_FIRST: Final = 1 << 12  # cases kept in their order
UNKNOWN_BITS: Final = "X or Z bits"


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
    """The findings of a check. failure: how the device broke the protocol, or ''. wrong, right: the first cases of
    each kind, with the device's answers, for a diagnosis; first: the first of both, in order. parts: of units with
    several parts, a report for each, with its own cases. nan, flags: how NaNs were compared, and which flags.
    any_elements: whether any elements were accepted where their scale is NaN. whole: of a part, the unit."""

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
    parts: dict[Unit, CheckReport] = field(default_factory=dict)
    nan: CompareNan = CompareNan.EXACT
    flags: int = MAX_FLAGS
    any_elements: bool = False
    whole: Unit | None = None

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
        outside = kind in view.outside
        keep = kind not in view.around if kind and not outside else own.certain
        self.part(own.unit).note((*own.inputs, *own.expected), own.got, kind, keep, outside)

    def part(self, unit: Unit) -> CheckReport:
        if unit not in self.parts:
            self.parts[unit] = CheckReport(VectorSet(unit, 1), nan=self.nan, flags=self.flags, whole=self.vectors.unit)
        return self.parts[unit]

    @property
    def passed(self) -> bool:
        """Whether every case agreed, there was at least one, and the device followed the protocol."""
        return self.compared > 0 and self.mismatched == 0 and not self.failure


class ComparisonOptions(TypedDict, total=False):
    """How answers are compared. flags: whether to compare flags. shown: number of mismatches that are kept in full.
    limit: the largest error allowed, in ulp; kappa: the largest allowed, or that it is measured; without these, answers
    must be exact."""

    nan: CompareNan
    flags: bool
    shown: int
    limit: Fraction | None
    kappa: Allowance | None


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
    ) -> None:
        self.report = CheckReport(vectors, nan=nan, flags=MAX_FLAGS if flags else 0)
        self.view = view_of(vectors.unit)
        self.view.check()
        self.tolerance: UlpJudge | KappaJudge | None = None
        if kappa is not None:
            self.tolerance = KappaJudge(vectors.unit, kappa, shown)
        elif limit is not None:
            self.tolerance = self.view.tolerance(limit, shown)
        self.report.errors = None if self.tolerance is None else self.tolerance.errors
        self.inputs, self.shown = vectors.unit.input_width, shown
        self.lengths = answer_lengths(vectors.unit)
        self.unknown = UnknownBits(vectors.unit)
        self.has_parts = len(vectors.unit.parts) > 1

    def note(self, comment: str) -> None:
        """A comment of a log, which may say which flags the device has, and what else is accepted."""
        match = _LOG_NOTE.fullmatch(comment.strip())
        if match and match[1] == "flags":
            names = {name.upper() for name in match[2].split()} & {*Flags.__members__}  # none: "none"
            self.report.flags &= sum(Flags[name] for name in names)
            if match[2] == "none":
                self.lengths = self.lengths[:1]
        elif match and match[1] == "nan_scale_elements":
            self.report.any_elements = match[2] == "any"
        elif match and self.report.nan == CompareNan.EXACT:
            self.report.nan = compare_nan(match[2])

    def compare_logged(self, line: Line, answer: str, operands: Sequence[str] = ()) -> None:
        """One case with the answer of a simulation, which may have unknown bits. operands: the words before it. Raises
        DeviceError."""
        unit, words = self.report.vectors.unit, answer.split()
        if not self.unknown.among(words, operands):
            self.compare(line, parse_answer(answer, unit, line[: self.inputs]))
            return
        unknown = Answer((0,), 0 if len(words) > len(unit.result_formats) else None)
        self.report.note(line, unknown, UNKNOWN_BITS, False)
        if self.has_parts:
            self.report.part(unit.selected(line[: self.inputs])[0]).note(line, unknown, UNKNOWN_BITS, False)

    def compare(self, line: Line, answer: Answer) -> None:
        """One case: operands, random bits, expected result and flags in `line`."""
        has_flags, nan, flags = answer.flags is not None, self.report.nan, self.report.flags
        if answer.flags is not None and flags:
            line = (*line[:-1], line[-1] & flags)
        if self.report.compared and has_flags != self.report.has_flags:
            raise DeviceError("it gives flags with some answers only")
        expected, error = line[self.inputs :], ""
        if self.tolerance is not None:
            kind, error = self.tolerance.kind(line, answer, nan, bool(flags))
        else:
            kind = self.view.kind(line[: self.inputs], *self._compared(expected, answer), nan, bool(flags))
        self.report.note(line, answer, kind)
        if len(self.report.first) < MAX_FIRST:
            self.report.first.append((line, answer))
        if self.has_parts:
            own = self.view.own(line[: self.inputs], expected, answer)
            self.report.note_own(own, kind, self.view)
        if not kind:
            return
        if len(self.report.mismatches) < self.shown:
            mismatch = Mismatch(self.report.compared, line[: self.inputs], expected, answer, kind, error=error)
            mismatch.changes = self.view.changes(mismatch.operands, answer, bool(flags))
            self.report.mismatches.append(mismatch)

    def _compared(self, expected: Line, answer: Answer) -> tuple[Line, Answer]:
        """What of the expected outputs and of an answer is compared."""
        if not self.report.any_elements:
            return expected, answer
        unit, count = self.report.vectors.unit, len(answer.codes)
        known = (*without_unread(unit, expected[:count]), *expected[count:])
        return known, answer._replace(codes=without_unread(unit, answer.codes))
