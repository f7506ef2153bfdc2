"""Checking a device: feed it cases, compare its answers with the oracle, and report."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import text_lines
from softfloat_ref.golden.readers import (
    ANSWERS,
    WHOLE,
    AmbiguousDigits,
    LineReader,
    Misread,
    NumberedLines,
    Row,
    Shape,
    WaveSignals,
    rows,
    wave_lines,
    wave_rows,
)
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers import text_line
from softfloat_ref.testing.answers import AnswerReader, array_types, check_flags, columns
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.devices import CommandDevice, DeviceError, Late
from softfloat_ref.testing.judge import CheckReport, ComparisonOptions, Judge
from softfloat_ref.units import Line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.unsignedinteger[Any]]
    ArrayDevice = Callable[..., Codes | tuple[Codes, Codes]]

_BATCH: Final = 4096
_MAX_COUNTED: Final = 1 << 16  # missing answers are counted exactly up to this number


def check_command(
    vectors: VectorSet,
    command: str,
    *,
    timeout_s: float = 10.0,
    base: str | None = None,
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
            feed = (as_operands(line[:width]) for line in judge.lines())
            _judge_lines(judge, AnswerReader(vectors.unit, base), device.answers(feed))
            device.finish()
        except DeviceError as e:
            ended = "" if isinstance(e, Late) else f"; {device.how_it_ended()}"
            judge.report.failure = f"after {judge.report.compared} answers: {e}{ended}"
    return judge.report


def _judge_lines(judge: Judge, reader: AnswerReader, answers: Iterator[str]) -> None:
    """Compare answers with cases in order. Raises DeviceError for too few, too many and unreadable answers."""
    cases = _within(judge)
    for text in answers:
        if not text.strip():
            continue
        line = next(cases, None)
        if line is None:
            raise DeviceError(f"it answered more lines than it was asked: {text[:80]!r}")
        judge.compare_row(line, reader.row(text, line[: judge.inputs]))
    judge.report.form = reader.reader.form
    if missing := _missing(cases):
        raise DeviceError(f"it closed its output {missing} answers too early")


def _within(judge: Judge) -> Iterator[Line]:
    """The cases that the device was asked; the others are counted."""
    return (line for line in judge.report.vectors.lines() if not judge.leaves_out(line))


def _missing(cases: Iterator[Line]) -> str:
    """The number of cases without an answer; '' if there are none."""
    missing = sum(1 for _ in itertools.islice(cases, _MAX_COUNTED))
    return f"at least {missing}" if missing == _MAX_COUNTED else str(missing or "")


def check_results(
    vectors: VectorSet,
    results: str | Path,
    base: str | None = None,
    signals: WaveSignals | None = None,
    **how: Unpack[ComparisonOptions],
) -> CheckReport:
    """Compare a file of a simulator's answers: in the set's order, or in any order if lines begin with their operands,
    as in the log of a bench. base: of plain digits, if they do not say it; signals: of a waveform. Raises Error if it
    is unreadable."""
    judge = Judge(vectors, **how)
    opened = nullcontext(text_lines(results)) if signals is None else wave_lines(results)
    with opened as texts, _reading(judge, vectors, ANSWERS, base) as reader:
        lines = NumberedLines(texts)
        try:
            _judge_log(judge, reader, rows(reader, lines) if signals is None else wave_rows(reader, lines, signals))
        except (DeviceError, Misread) as e:
            at = f" (line {lines.number})" if isinstance(e, Misread) else ""
            judge.report.failure = f"{results}, after {judge.report.compared} answers: {e}{at}"
        except AmbiguousDigits as e:
            raise Error(f"{results}:{lines.number}: {e}") from None
    return judge.report


@contextmanager
def _reading(judge: Judge, vectors: VectorSet, shapes: Sequence[Shape], base: str | None) -> Iterator[LineReader]:
    """A reader whose comments the judge notes, and what it read, in the report."""

    def note(comment: str) -> None:
        judge.note(comment)
        if judge.without_flags:
            reader.without_flags()

    reader = LineReader(vectors.unit, shapes, base, missing=True, selective=True, note=note)
    yield reader
    judge.report.form, judge.report.not_compared = reader.form, reader.left_out


def _judge_log(judge: Judge, reader: LineReader, answers: Iterator[Row]) -> None:
    """Compare the rows of a log. Raises DeviceError for too few, too many and unreadable answers, Misread."""
    vectors, width = judge.report.vectors, judge.inputs
    cases, owed = vectors.lines(), Counter[Line]()
    for row in answers:
        line = next(cases, None)
        if line is None:
            raise DeviceError("it has more lines than the set has cases")
        if row.inputs is not None and not reader.same_operands(row.inputs, line[:width]):
            owed.update([line[:width]])
            owed.subtract([row.inputs])
            line = vectors.line(row.inputs)
            if line is None:
                raise Misread("its operands are of no case of this set")
        judge.compare_row(line, row)
    if missing := _missing(cases):
        raise DeviceError(f"it ends {missing} answers too early")
    if other := -sum(n for n in owed.values() if n < 0):
        raise DeviceError(f"lines with operands that are not in the set, or more often than in the set: {other}")


def check_lines(
    vectors: VectorSet,
    lines: Iterable[str],
    *,
    count: int | None = None,
    base: str | None = None,
    **how: Unpack[ComparisonOptions],
) -> CheckReport:
    """Compare lines that carry their own operands, such as TestFloat's: `operands result flags`; policy and formats are
    the set's, its cases are not used. count: the expected number of lines. Without `flags`, lines may omit flags. base:
    of plain digits, if they do not say it. Raises Error for digits that several bases can have."""
    judge, numbered = Judge(vectors, **how), NumberedLines(lines)
    came = 0
    with _reading(judge, vectors, WHOLE, base) as reader:
        try:
            for row in rows(reader, numbered):
                came += 1
                _judge_own(judge, row)
        except (DeviceError, Misread) as e:
            judge.report.failure = f"line {numbered.number}: {e}"
            return judge.report
        except AmbiguousDigits as e:
            raise Error(f"line {numbered.number}: {e}") from None
    if count is not None and came != count:
        judge.report.failure = f"{came} lines arrived, but {count} were expected"
    return judge.report


def _judge_own(judge: Judge, row: Row) -> None:
    """Compare a line that carries its operands; skip it if no result is defined. Raises DeviceError, Misread."""
    unit, inputs = judge.report.vectors.unit, row.inputs
    assert inputs is not None
    widths = [f.width for f in unit.inputs for _ in range(f.lanes)]
    if any(x >> w for x, w in zip(inputs, widths, strict=True)):
        raise Misread(f"operands {' '.join(f'{x:x}' for x in inputs)[:80]} are wider than their fields")
    if judge.report.tolerance.flags and unit.has_flags and not row.has_flags:
        raise DeviceError("no flags; a line has operands, result and flags")
    line = unit.line(inputs)
    if line is None and judge.has_parts:
        raise DeviceError("control fields or operands that no case of this set has")
    if line is not None:
        judge.compare_row(line, row)
    else:
        check_flags(row.flags)


def check_arrays(
    vectors: VectorSet,
    device: ArrayDevice,
    **how: Unpack[ComparisonOptions],
) -> CheckReport:
    """Call a function of arrays: codes of each operand (and random bits) in, result codes or (result, flags) out."""
    import numpy as np

    if len(vectors.unit.result_formats) != 1:
        raise Error(
            "check block conversions with a command, or from results; arrays and lines are for scalar operations"
        )
    judge = Judge(vectors, **how)
    kinds, width = array_types(vectors.unit), vectors.unit.input_width
    cases = _within(judge)
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
