"""Checking a device: feed it cases, compare its answers with the oracle, and report."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import text_lines
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers import text_line
from softfloat_ref.oracle.literals import code_or_none
from softfloat_ref.testing.answers import COMMENT_STARTS, array_types, columns, parse_answer
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
            _judge_lines(judge, device.answers(feed))
            device.finish()
        except DeviceError as e:
            ended = "" if isinstance(e, Late) else f"; {device.how_it_ended()}"
            judge.report.failure = f"after {judge.report.compared} answers: {e}{ended}"
    return judge.report


def _judge_lines(judge: Judge, answers: Iterator[str]) -> None:
    """Compare answers with cases in order. Raises DeviceError for too few, too many and unreadable answers."""
    cases = _within(judge)
    for text in answers:
        if not text.strip():
            continue
        line = next(cases, None)
        if line is None:
            raise DeviceError(f"it answered more lines than it was asked: {text[:80]!r}")
        judge.compare(line, parse_answer(text, judge.report.vectors.unit, line[: judge.inputs]))
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
            raise DeviceError(f"it has more lines than the set has cases: {text[:80]!r}")
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
    if missing := _missing(cases):
        raise DeviceError(f"it ends {missing} answers too early")
    if other := -sum(n for n in owed.values() if n < 0):
        raise DeviceError(f"lines with operands that are not in the set, or more often than in the set: {other}")


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
    if judge.report.tolerance.flags and unit.has_flags and len(words) - len(codes) == len(unit.result_formats):
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
