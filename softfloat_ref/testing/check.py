"""Checking a device: cases to it, its answers against the oracle, and a report."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.errors import Error
from softfloat_ref.explain import MAX_FLAGS, Tried
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.sets import Line, VectorSet
from softfloat_ref.golden.writers import text_line
from softfloat_ref.ops import Signature, evaluator, get_operation
from softfloat_ref.policies import Policy
from softfloat_ref.testing import block_answers, dots, ulp
from softfloat_ref.testing.compare import Answer, CompareNan, Rule, agrees, classify
from softfloat_ref.testing.devices import CommandDevice, DeviceError, Late

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.unsignedinteger[Any]]
    ArrayDevice = Callable[..., Codes | tuple[Codes, Codes]]

Checkable = VectorSet | DotSet
SHOWN: Final = 10
_BATCH: Final = 4096
_COUNTED: Final = 1 << 16  # missing answers that are counted exactly
KEPT: Final = 1 << 15  # mismatches, and as many cases that agree, that are kept for a diagnosis
FIRST: Final = 1 << 12  # cases that are kept in their order


@dataclass
class Mismatch:
    """A case the device got wrong. changes: policies that would have given its answer."""

    number: int
    operands: tuple[int, ...]
    expected: tuple[int, ...]
    got: Answer
    kind: str
    changes: list[dict[str, str]] = field(default_factory=list)
    error: str = ""  # in ulp, where errors are allowed


@dataclass
class Report:
    """What a check found. failure: what the device did that no device may do, or ''. wrong, right: the first cases of
    each kind, with the device's answers, for a diagnosis; first: the first of both, in order."""

    vectors: Checkable
    compared: int = 0
    mismatched: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    mismatches: list[Mismatch] = field(default_factory=list)
    failure: str = ""
    has_flags: bool = False
    errors: ulp.Errors | None = None  # where errors are allowed
    wrong: list[tuple[Line, Answer]] = field(default_factory=list)
    right: list[tuple[Line, Answer]] = field(default_factory=list)
    first: list[tuple[Line, Answer]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every case agreed, there was one, and the device behaved."""
        return self.compared > 0 and self.mismatched == 0 and not self.failure


class Judge:
    """Compares answers one by one and keeps the report."""

    def __init__(
        self, vectors: Checkable, nan: CompareNan, flags: bool, shown: int, limit: Fraction | None = None
    ) -> None:
        self.report = Report(vectors)
        self.tolerance = None if limit is None else ulp.Tolerance(vectors, limit, shown)
        self.report.errors = None if self.tolerance is None else self.tolerance.errors
        self.rule = Rule(vectors.out, nan, flags)
        self.shown = shown
        self.inputs = input_width(vectors)

    def compare(self, line: Line, answer: Answer) -> None:
        """One case: operands, random bits, expected result and flags in `line`."""
        has_flags = answer.flags is not None
        if self.report.compared and has_flags != self.report.has_flags:
            raise DeviceError("it gives flags with some answers and not with others")
        self.report.has_flags = has_flags
        self.report.compared += 1
        expected, error = line[self.inputs :], ""
        if self.tolerance is not None:
            kind, off = self.tolerance.kind(line, answer, self.rule)
            error = ulp.number(off)
        else:
            kind = self._kind(expected, answer)
        kept = self.report.wrong if kind else self.report.right
        if len(kept) < KEPT:
            kept.append((line, answer))
        if len(self.report.first) < FIRST:
            self.report.first.append((line, answer))
        if not kind:
            return
        self.report.mismatched += 1
        self.report.kinds[kind] += 1
        if len(self.report.mismatches) < self.shown:
            found = Mismatch(self.report.compared, line[: self.inputs], expected, answer, kind, error=error)
            found.changes = self._changes(found.operands, answer)
            self.report.mismatches.append(found)

    def _kind(self, expected: tuple[int, ...], answer: Answer) -> str:
        """The kind of a mismatch; '' where the answer is right."""
        vectors = self.report.vectors
        if answer.codes and isinstance(vectors, VectorSet):
            places = block_answers.differing(expected, answer.codes, vectors, self.rule.nan)
            return block_answers.kind(places, vectors) if places else ""
        result = expected[0], expected[1]
        return "" if agrees(result, answer, self.rule) else classify(result, answer, self.rule)

    def _changes(self, inputs: Sequence[int], answer: Answer) -> list[dict[str, str]]:
        vectors = self.report.vectors
        if isinstance(vectors, DotSet):
            return dots.changes(vectors, inputs, answer, self.rule.flags)
        if vectors.block is not None:
            return []
        sig = Signature(get_operation(vectors.op), vectors.formats, vectors.out)
        tried = _tried(sig, vectors.policy, tuple(inputs))
        return tried.matching(answer.result, answer.flags if self.rule.flags else None)


@lru_cache(maxsize=64)  # a case that fails once is often asked about again
def _tried(sig: Signature, policy: Policy, inputs: tuple[int, ...]) -> Tried:
    """A case under the policies near the set's."""
    arity = len(sig.formats)
    word = inputs[arity] if len(inputs) > arity else 0
    return Tried(lambda near: evaluator(sig, near)(inputs[:arity], word if near.random_count else 0), policy)


def _defined(vectors: Checkable) -> Iterator[Line]:
    """The cases that have a defined result."""
    return (line for inputs in vectors.inputs() if (line := vectors.line(inputs)) is not None)


def input_width(vectors: Checkable) -> int:
    """How many codes a case's operands and random words are."""
    return sum(f.lanes for f in vectors.fields if f.role in ("operand", "random"))


def _checked(vectors: Checkable) -> Checkable:
    """The set, if its lines are operands and one answer. Raises Error."""
    if isinstance(vectors, DotSet) and vectors.steps:
        raise Error("check compares results; leave the running results (steps) out")
    return vectors


def _scalar(vectors: Checkable) -> Checkable:
    """The set, if its lines end in one result and its flags. Raises Error."""
    if isinstance(vectors, VectorSet) and vectors.block is not None:
        raise Error("block conversions are checked with a command, or from results; arrays and lines are scalar")
    return _checked(vectors)


def parse_answer(text: str, vectors: Checkable, inputs: Sequence[int]) -> Answer:
    """A device's line: `result`, `result flags`, or the same after the operands; of a block, all its codes, as the
    vectors have them. Raises DeviceError for others."""
    words = text.split()
    if isinstance(vectors, VectorSet) and vectors.block is not None:
        return _block_answer(words, vectors, inputs)
    if len(words) > 2 and len(words) in (len(inputs) + 1, len(inputs) + 2):
        echoed, words = words[: len(inputs)], words[len(inputs) :]
        if [_hex(w) for w in echoed] != list(inputs):
            raise DeviceError(f"it answered {text[:80]!r}, which repeats other operands than were asked")
    codes = [_hex(w) for w in words]
    if len(codes) not in (1, 2) or any(c is None for c in codes):
        raise DeviceError(f"it answered {text[:80]!r}, which is no line of a result and flags in hexadecimal")
    result, flags = codes[0], codes[1] if len(codes) == 2 else None
    assert result is not None
    if flags is not None and flags > MAX_FLAGS:
        raise DeviceError(f"it answered {text[:80]!r}; flags come after the result, and are at most 1f")
    return Answer(result, flags)


def _block_answer(words: list[str], vectors: VectorSet, inputs: Sequence[int]) -> Answer:
    count = len(block_answers.formats(vectors))
    if len(words) == len(inputs) + count:
        if [_hex(w) for w in words[: len(inputs)]] != list(inputs):
            raise DeviceError("it answered a line that repeats other operands than were asked")
        words = words[len(inputs) :]
    codes = tuple(x for w in words if (x := _hex(w)) is not None)
    if len(words) != count or len(codes) != count:
        shown = " ".join(words)[:80]
        raise DeviceError(f"it answered {shown!r}, which is no line of {count} codes in hexadecimal")
    return Answer(codes[0], None, codes)


def _hex(word: str) -> int | None:
    digits = word.removeprefix("0x").removeprefix("0X")
    if not digits or len(digits) > 64 or any(c not in "0123456789abcdefABCDEF" for c in digits):
        return None
    return int(digits, 16)


def check_command(
    vectors: Checkable,
    command: str,
    *,
    nan: CompareNan = CompareNan.EXACT,
    flags: bool = True,
    shown: int = SHOWN,
    timeout_s: float = 10.0,
    limit: Fraction | None = None,
) -> Report:
    """Feed the set's operands to a command and compare its answers.

    The cases are made twice, once for feeding and once for judging, so that memory stays constant however far the
    device lags behind. limit: the largest error allowed, in ulp; without it, answers must be exact. Raises Error where
    the command cannot be started.
    """
    vectors = _checked(vectors)
    as_operands, width = text_line([f for f in vectors.fields if f.role in ("operand", "random")]), input_width(vectors)
    judge = Judge(vectors, nan, flags, shown, limit)
    with CommandDevice(command, timeout_s) as device:
        try:
            feed = (as_operands(line[:width]) for line in _defined(vectors))
            _judge_lines(judge, device.answers(feed))
            device.finish()
        except DeviceError as e:
            ended = "" if isinstance(e, Late) else f"; {device.how_it_ended()}"
            judge.report.failure = f"after {judge.report.compared} answers: {e}{ended}"
    return judge.report


def _judge_lines(judge: Judge, answers: Iterator[str]) -> None:
    """Answers in order against the cases in order. Raises DeviceError for too few, too many and unreadable ones."""
    cases = _defined(judge.report.vectors)
    for text in answers:
        if not text.strip():
            continue
        line = next(cases, None)
        if line is None:
            raise DeviceError(f"it answered more lines than were asked: {text[:80]!r}")
        judge.compare(line, parse_answer(text, judge.report.vectors, line[: judge.inputs]))
    missing = sum(1 for _ in itertools.islice(cases, _COUNTED))
    if missing:
        least = "at least " if missing == _COUNTED else ""
        raise DeviceError(f"it closed its output {least}{missing} answers too early")


def check_results(
    vectors: Checkable,
    results: str | Path,
    *,
    nan: CompareNan = CompareNan.EXACT,
    flags: bool = True,
    shown: int = SHOWN,
    limit: Fraction | None = None,
) -> Report:
    """Compare a file of answers, as a simulator wrote it, one a line in the set's order. Raises Error if unreadable."""
    judge = Judge(_checked(vectors), nan, flags, shown, limit)
    try:
        with open(results, encoding="ascii", errors="replace") as stream:
            _judge_lines(judge, (line for line in stream if not line.startswith(("//", "#"))))
    except OSError as e:
        raise Error(f"{results}: {e.strerror or e}") from None
    except DeviceError as e:
        judge.report.failure = f"{results}, after {judge.report.compared} answers: {e}"
    return judge.report


def check_lines(
    vectors: Checkable,
    lines: Iterable[str],
    *,
    nan: CompareNan = CompareNan.EXACT,
    flags: bool = True,
    shown: int = SHOWN,
    count: int | None = None,
) -> Report:
    """Compare TestFloat lines that carry their own operands: `operands result flags`; policy and formats are the
    set's, its cases are not used. count: how many lines must come. Without `flags`, lines may leave theirs out."""
    judge = Judge(_scalar(vectors), nan, flags, shown)
    came = 0
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        came += 1
        try:
            _judge_own(judge, text)
        except DeviceError as e:
            judge.report.failure = f"line {number}: {e}"
            return judge.report
    if count is not None and came != count:
        judge.report.failure = f"{came} lines came, where {count} were expected"
    return judge.report


def _judge_own(judge: Judge, text: str) -> None:
    """A line that carries its operands; those without a defined result are passed over. Raises DeviceError."""
    vectors = judge.report.vectors
    widths = [f.width for f in vectors.fields if f.role in ("operand", "random")]
    line, answer = _self_contained(text, vectors, widths)
    if answer.flags is None and judge.rule.flags:
        raise DeviceError("no flags; a line has operands, result and flags")
    if line is not None:
        judge.compare(line, answer)


def _self_contained(text: str, vectors: Checkable, widths: Sequence[int]) -> tuple[Line | None, Answer]:
    words = text.split()
    inputs = [_hex(w) for w in words[: len(widths)]]
    if len(words) <= len(widths) or any(x is None or x >> w for x, w in zip(inputs, widths, strict=False)):
        raise DeviceError(f"{text.strip()[:80]!r} is no line of {len(widths)} operands, a result and flags")
    codes = tuple(x for x in inputs if x is not None)
    return vectors.line(codes), parse_answer(" ".join(words[len(widths) :]), vectors, codes)


def check_arrays(
    vectors: Checkable,
    device: ArrayDevice,
    *,
    nan: CompareNan = CompareNan.EXACT,
    flags: bool = True,
    shown: int = SHOWN,
    limit: Fraction | None = None,
) -> Report:
    """Call a function of arrays: codes of each operand (and random bits) in, result codes or (result, flags) out."""
    import numpy as np

    from softfloat_ref.arrays import code_dtype

    judge = Judge(_scalar(vectors), nan, flags, shown, limit)
    if isinstance(vectors, DotSet):
        raise Error("functions of arrays take scalar operations; give a command for dot")
    kinds = [code_dtype(f) for f in vectors.formats]
    kinds += [np.dtype(np.uint64)] * (len(vectors.fields) - 2 - len(kinds))
    cases = _defined(vectors)
    while batch := list(itertools.islice(cases, _BATCH)):
        arrays = [np.array(c, k) for c, k in zip(zip(*(line[:-2] for line in batch), strict=True), kinds, strict=True)]
        try:
            results, raised = columns(device(*arrays), len(batch))
            for line, result, flag in zip(batch, results, raised, strict=True):
                judge.compare(line, Answer(result, flag))
        except DeviceError as e:
            judge.report.failure = f"after {judge.report.compared} answers: {e}"
            break
    return judge.report


def columns(answered: Any, count: int) -> tuple[list[int], list[int | None]]:
    """The results and flags that a function of arrays returned. Raises DeviceError where they are something else."""
    import numpy as np

    pair = answered if isinstance(answered, tuple) else (answered, None)
    if not 1 <= len(pair) <= 2 or pair[0] is None:
        raise DeviceError("it returned neither an array of results nor a pair of results and flags")
    found: list[list[int]] = []
    for column in pair:
        if column is None:
            continue
        found.append(_codes(np.asarray(column), "flags" if found else "results", count))
    return found[0], [*found[1]] if len(found) > 1 else [None] * count


def _codes(array: NDArray[Any], what: str, count: int) -> list[int]:
    """An array as codes. Raises DeviceError, naming the type and the first place, where it holds something else."""
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
