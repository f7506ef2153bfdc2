"""Checking a device: feed it cases, compare its answers with the oracle, and report."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import text_lines
from softfloat_ref.explanation.scalar import MAX_FLAGS
from softfloat_ref.golden.executed import COMMENT_STARTS, answer_lengths, without_flags
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers import text_line
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.literals import code_or_none
from softfloat_ref.testing import (  # noqa: F401  (their views enter the table)
    affine,
    block,
    block_operation,
    dot,
    mixed,
    operation,
    vector,
)
from softfloat_ref.testing.compare import Answer, CompareNan, compare_nan, without_unread
from softfloat_ref.testing.devices import CommandDevice, DeviceError, Late
from softfloat_ref.testing.kappa import Allowance, KappaJudge, Kappas
from softfloat_ref.testing.ulp import UlpErrors, UlpJudge
from softfloat_ref.testing.views import MismatchView, OwnCase, view_of
from softfloat_ref.units import Line, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.unsignedinteger[Any]]
    ArrayDevice = Callable[..., Codes | tuple[Codes, Codes]]

SHOWN: Final = 10
_BATCH: Final = 4096
# Of a bench, in its log of results.
_LOG_NOTE: Final = re.compile(r"(?://|#)\s*(flags|compare_nan|nan_scale_elements) = ([a-z_ ]+)")
_MAX_COUNTED: Final = 1 << 16  # missing answers are counted exactly up to this number
MAX_DIAGNOSED: Final = 1 << 15  # mismatches kept for a diagnosis, and as many cases that agree
MAX_FIRST: Final = 1 << 12  # cases kept in their order
UNKNOWN_BITS: Final = "X or Z bits"
_UNKNOWN_DIGITS: Final = re.compile("[0-9a-fA-F]*[xXzZ][0-9a-fA-FxXzZ]*")
_PREFIXED: Final = re.compile("0[xX][0-9a-fA-F]+")


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
    any_elements: whether any elements were accepted where their scale is NaN."""

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
        """The report of a part."""
        if unit not in self.parts:
            self.parts[unit] = CheckReport(VectorSet(unit, 1), nan=self.nan, flags=self.flags)
        return self.parts[unit]

    @property
    def passed(self) -> bool:
        """Whether every case agreed, there was at least one, and the device followed the protocol."""
        return self.compared > 0 and self.mismatched == 0 and not self.failure


class UnknownBits:
    """Finds the answers of simulations that have X or Z bits.

    `0x3c` may be a code, or what %h prints of 16 bits with an unknown digit: %h prints all digits of a field, so the
    length tells, and where it does not, what the same field looked like before, or the other words of the line.
    """

    def __init__(self, unit: Unit) -> None:
        self.digits = [f.digits for f in unit.outputs for _ in range(f.lanes)]
        self.has_prefix: dict[int, bool] = {}  # of a place in the answer, once a word has told it

    def among(self, words: Sequence[str], operands: Sequence[str]) -> bool:
        """Whether a word of an answer has X or Z bits."""
        others = all(w == "0" or _PREFIXED.fullmatch(w) for w in (*operands, *words))
        return any(self._unknown(i, w, others) for i, w in enumerate(words[: len(self.digits)]))

    def _unknown(self, place: int, word: str, others: bool) -> bool:
        if not _PREFIXED.fullmatch(word):
            if word != "0":  # which %#x prints without one
                self.has_prefix.setdefault(place, False)
            digits = word if len(word) <= self.digits[place] else word.lower().removeprefix("0x")
            return len(digits) <= self.digits[place] and bool(_UNKNOWN_DIGITS.fullmatch(digits))
        if len(word) != self.digits[place]:
            self.has_prefix[place] = True
        return not self.has_prefix.get(place, others)


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
            if without_flags(comment):
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


def _one_number_a_field(vectors: VectorSet) -> VectorSet:
    """The set, if each field has one code and there is one result. Raises Error otherwise."""
    if len(vectors.unit.result_formats) != 1:
        raise Error(
            "check block conversions with a command, or from results; arrays and lines are for scalar operations"
        )
    return vectors


def parse_answer(text: str, unit: Unit, inputs: Sequence[int]) -> Answer:
    """Read a device's line: the codes of its results, then optional flags; the operands may come first.

    Raises DeviceError for any other line.
    """
    words, lengths = text.split(), answer_lengths(unit)
    count = lengths[0]
    if len(words) - len(inputs) in lengths and len(words) not in lengths:
        echoed, words = words[: len(inputs)], words[len(inputs) :]
        if [code_or_none(w) for w in echoed] != list(inputs):
            raise DeviceError(f"it answered {text[:80]!r}, which repeats other operands than it was given")
    codes = [x for w in words if (x := code_or_none(w)) is not None]
    if len(words) not in lengths or len(codes) != len(words):
        what = "a result" if count == 1 else f"{count} codes"
        raise DeviceError(
            f"it answered {' '.join(words)[:80]!r}, which is not a line of {what}{' and flags' * unit.has_flags} "
            "in hexadecimal"
        )
    flags = codes[count] if len(codes) > count else None
    if flags is not None and flags > MAX_FLAGS:
        raise DeviceError(f"it answered {text[:80]!r}; flags come after the result, and are at most 1f")
    return Answer(tuple(codes[:count]), flags)


def check_command(
    vectors: VectorSet,
    command: str,
    *,
    timeout_s: float = 10.0,
    **how: Unpack[ComparisonOptions],
) -> CheckReport:
    """Feed the set's operands to a command and compare its answers.

    The cases are generated twice, for feeding and for comparing, so that memory stays constant however far the
    device lags behind. Raises Error if the command cannot be started.
    """
    as_operands, width = text_line(vectors.unit.inputs), vectors.unit.input_width
    judge = Judge(vectors, **how)
    with CommandDevice(command, timeout_s) as device:
        try:
            feed = (as_operands(line[:width]) for line in vectors.lines())
            _judge_lines(judge, device.answers(feed))
            device.finish()
        except DeviceError as e:
            ended = "" if isinstance(e, Late) else f"; {device.how_it_ended()}"
            judge.report.failure = f"after {judge.report.compared} answers: {e}{ended}"
    return judge.report


def _judge_lines(judge: Judge, answers: Iterator[str]) -> None:
    """Compare answers with cases in order. Raises DeviceError for too few, too many and unreadable answers."""
    cases = judge.report.vectors.lines()
    for text in answers:
        if not text.strip():
            continue
        line = next(cases, None)
        if line is None:
            raise DeviceError(f"it answered more lines than it was asked: {text[:80]!r}")
        judge.compare(line, parse_answer(text, judge.report.vectors.unit, line[: judge.inputs]))
    missing = sum(1 for _ in itertools.islice(cases, _MAX_COUNTED))
    if missing:
        least = "at least " if missing == _MAX_COUNTED else ""
        raise DeviceError(f"it closed its output {least}{missing} answers too early")


def check_results(
    vectors: VectorSet,
    results: str | Path,
    **how: Unpack[ComparisonOptions],
) -> CheckReport:
    """Compare a file of a simulator's answers, one per line: in the set's order, or in any order if lines begin with
    their operands, as in the log of a bench. Raises Error if it is unreadable."""
    judge = Judge(vectors, **how)
    try:
        _judge_log(judge, _without_comments(judge, text_lines(results)))
    except DeviceError as e:
        judge.report.failure = f"{results}, after {judge.report.compared} answers: {e}"
    return judge.report


def _without_comments(judge: Judge, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith(COMMENT_STARTS):
            judge.note(line)
        elif line.strip():
            yield line


def _judge_log(judge: Judge, answers: Iterator[str]) -> None:
    """Compare the lines of a log. Raises DeviceError for too few, too many and unreadable answers."""
    vectors, width = judge.report.vectors, judge.inputs
    cases, owed = vectors.lines(), Counter[Line]()
    for text in answers:
        line = next(cases, None)
        if line is None:
            raise DeviceError(f"it has more lines than it was asked: {text[:80]!r}")
        inputs = _own_operands(text, width, judge.lengths)
        if inputs is None:
            judge.compare_logged(line, text)
            continue
        if inputs != line[:width]:
            owed.update([line[:width]])
            owed.subtract([inputs])
            line = vectors.line(inputs)
            if line is None:
                raise DeviceError(f"{text.strip()[:80]!r} has operands of no case of this set")
        words = text.split()
        judge.compare_logged(line, " ".join(words[width:]), words[:width])
    missing = sum(1 for _ in itertools.islice(cases, _MAX_COUNTED))
    if missing:
        least = "at least " if missing == _MAX_COUNTED else ""
        raise DeviceError(f"it ends {least}{missing} answers too early")
    if other := -sum(n for n in owed.values() if n < 0):
        raise DeviceError(f"operands that the set has not, or not so often: {other} lines")


def _own_operands(text: str, width: int, lengths: Sequence[int]) -> Line | None:
    """The `width` operands that a line begins with; None for an answer alone, of one of these lengths."""
    words = text.split()
    if len(words) - width not in lengths or len(words) in lengths:
        return None
    codes = tuple(x for w in words[:width] if (x := code_or_none(w)) is not None)
    return codes if len(codes) == width else None


def check_lines(
    vectors: VectorSet,
    lines: Iterable[str],
    *,
    count: int | None = None,
    **how: Unpack[ComparisonOptions],
) -> CheckReport:
    """Compare TestFloat lines that carry their own operands: `operands result flags`; policy and formats are the
    set's, its cases are not used. count: the expected number of lines. Without `flags`, lines may omit flags."""
    judge = Judge(vectors, **how)
    came = 0
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        if text.startswith(COMMENT_STARTS):
            judge.note(text)
            continue
        came += 1
        try:
            _judge_own(judge, text)
        except DeviceError as e:
            judge.report.failure = f"line {number}: {e}"
            return judge.report
    if count is not None and came != count:
        judge.report.failure = f"{came} lines arrived, but {count} were expected"
    return judge.report


def _judge_own(judge: Judge, text: str) -> None:
    """Compare a line that carries its operands; skip it if no result is defined. Raises DeviceError."""
    unit = judge.report.vectors.unit
    words, widths = text.split(), [f.width for f in unit.inputs for _ in range(f.lanes)]
    inputs = [code_or_none(w) for w in words[: len(widths)]]
    if len(words) <= len(widths) or any(x is None or x >> w for x, w in zip(inputs, widths, strict=False)):
        raise DeviceError(f"{text.strip()[:80]!r} is not a line of {len(widths)} operands, a result and flags")
    codes = tuple(x for x in inputs if x is not None)
    if judge.report.flags and unit.has_flags and len(words) - len(codes) == len(unit.result_formats):
        raise DeviceError("no flags; a line has operands, result and flags")
    line = unit.line(codes)
    if line is None and judge.has_parts:
        raise DeviceError(f"{text.strip()[:80]!r} has control fields or operands that no case of this set has")
    if line is not None:
        judge.compare_logged(line, " ".join(words[len(codes) :]), words[: len(codes)])
    else:
        parse_answer(" ".join(words[len(codes) :]), unit, codes)


def check_arrays(
    vectors: VectorSet,
    device: ArrayDevice,
    **how: Unpack[ComparisonOptions],
) -> CheckReport:
    """Call a function of arrays: codes of each operand (and random bits) in, result codes or (result, flags) out."""
    import numpy as np

    judge = Judge(_one_number_a_field(vectors), **how)
    kinds, width = array_types(vectors.unit), vectors.unit.input_width
    cases = vectors.lines()
    while batch := list(itertools.islice(cases, _BATCH)):
        rows = zip(*(line[:width] for line in batch), strict=True)
        arrays = [np.array(column, kind) for column, kind in zip(rows, kinds, strict=True)]
        try:
            results, raised = columns(device(*arrays), len(batch))
            for line, result, flag in zip(batch, results, raised, strict=True):
                judge.compare(line, Answer((result,), flag))
        except DeviceError as e:
            judge.report.failure = f"after {judge.report.compared} answers: {e}"
            break
    return judge.report


def array_types(unit: Unit) -> list[np.dtype[Any]]:
    """The type of each array that a function of arrays gets. Raises Error for fields of several codes."""
    import numpy as np

    from softfloat_ref.arrays.convert import code_dtype

    if any(f.lanes > 1 for f in unit.inputs):
        op = unit.properties()["op"]
        raise Error(f"functions of arrays are for scalar operations; give a command for {op}")
    return [np.dtype(np.uint64) if f is None else code_dtype(f) for f in unit.input_formats]


def columns(answered: Any, count: int) -> tuple[list[int], list[int | None]]:
    """The results and flags that a function of arrays returned. Raises DeviceError for anything else."""
    import numpy as np

    pair = answered if isinstance(answered, tuple) else (answered, None)
    if not 1 <= len(pair) <= 2 or pair[0] is None:
        raise DeviceError("it returned neither an array of results nor a pair of results and flags")
    lists: list[list[int]] = []
    for column in pair:
        if column is None:
            continue
        lists.append(_codes(np.asarray(column), "flags" if lists else "results", count))
    return lists[0], [*lists[1]] if len(lists) > 1 else [None] * count


def _codes(array: NDArray[Any], what: str, count: int) -> list[int]:
    """An array as codes. Raises DeviceError for other contents, naming the type and the first index."""
    if array.shape != (count,) or array.dtype.kind not in "iub":
        raise DeviceError(f"it returned {array.dtype} of shape {array.shape}; codes are integers of shape ({count},)")
    if (array < 0).any():
        i, unsigned = int((array < 0).argmax()), f"uint{8 * array.dtype.itemsize}"
        raise DeviceError(
            f"it returned {what} of {array.dtype} with {array[i]} at index {i}; codes are not negative: "
            f"give .view(np.{unsigned})"
        )
    if what == "flags" and (array > MAX_FLAGS).any():
        i = int((array > MAX_FLAGS).argmax())
        raise DeviceError(f"it returned {what} of {array.dtype} with {array[i]} at index {i}; flags are at most 31")
    return [int(x) for x in array]
