"""What devices answer, read: lines of codes, the logs of simulations, arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import text_lines
from softfloat_ref.explanation.scalar import MAX_FLAGS
from softfloat_ref.golden.readers import (
    ANSWERS,
    AmbiguousDigits,
    Code,
    LineReader,
    Misread,
    NotALine,
    NumberedLines,
    Row,
    Unknown,
    rows,
)
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.tolerance import Tolerance
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.units import Line, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_FLAGS: Final = re.compile(r"(?://|#)\s*flags = none\s*")  # of a bench, in its log


class AnswerReader:
    """Reads a device's answers, one line after the other: the codes of its results, then optional flags; the operands
    may come first. base: of plain digits, if the user says it."""

    def __init__(self, unit: Unit, base: str | None = None) -> None:
        self.reader = LineReader(unit, ANSWERS, base)

    def row(self, text: str, inputs: Sequence[int]) -> Row:
        """The row of a line. Raises DeviceError for another line, or one with other operands; AmbiguousDigits."""
        try:
            row = self.reader.row(text)
        except NotALine:
            row = None
        except Misread as e:
            raise DeviceError(f"it answered {text.strip()[:80]!r}: {e}") from None
        if row is None:
            raise DeviceError(f"it answered {' '.join(text.split())[:80]!r}, which is not {self.reader.expected}")
        if row.inputs is not None and row.inputs != tuple(inputs):
            raise DeviceError(f"it answered {text.strip()[:80]!r}, which repeats other operands than it was given")
        check_flags(row.flags)
        return row

    def answer(self, text: str, inputs: Sequence[int]) -> Answer:
        """An answer without unknown bits. Raises DeviceError, AmbiguousDigits."""
        row = self.row(text, inputs)
        if (answer := known_answer(row.results, row.flags)) is None:
            raise DeviceError(f"it answered {text.strip()[:80]!r}, which has X or Z bits")
        return answer


def check_flags(flags: Code | None) -> None:
    """Raise DeviceError for flags that are not five bits."""
    if isinstance(flags, int) and flags > MAX_FLAGS:
        raise DeviceError(f"it gives flags {flags:x}; flags come after the result, and are at most 1f")


def known_answer(results: Sequence[Code | None], flags: Code | None) -> Answer | None:
    """The answer of a line; None if bits of it are unknown."""
    codes = tuple(x for x in results if isinstance(x, int))
    if len(codes) < len(results) or isinstance(flags, Unknown):
        return None
    return Answer(codes, flags)


def with_expected(
    results: Sequence[Code | None], unit: Unit, line: Line, tolerance: Tolerance
) -> tuple[list[Code], frozenset[str]]:
    """The results of a logged answer, with what is expected for those that are not compared; and the names of those
    that the device does not have."""
    expected = line[unit.input_width :]
    absent = [i for i, code in enumerate(results) if code is None]
    free = tolerance.left_out(unit, expected) if tolerance.any_elements else ()
    codes = [
        expected[i] if code is None or (i in free and isinstance(code, Unknown)) else code
        for i, code in enumerate(results)
    ]
    if codes and tolerance.any_above and len(unit.parts) > 1:
        low = (1 << unit.selected(line[: unit.input_width])[0].results[0].width) - 1
        value, mask = codes[0] if isinstance(codes[0], Unknown) else (codes[0], 0)
        if not (value | mask) >> unit.results[0].stride:
            value = expected[0] & ~low | value & low
            codes[0] = Unknown(value, mask & low) if mask & low else value
    lanes = [f.name for f in unit.results for _ in range(f.lanes)]
    return codes, frozenset(lanes[i] for i in absent)


# -- logs --------------------------------------------------------------------------------------------------------------


def executed_cases(
    vectors: VectorSet,
    log: str | Path,
    base: str | None = None,
    done: Callable[[LineReader], object] = lambda reader: None,
) -> Iterator[Line]:
    """The inputs of each case with a result in a log.

    A line is `operands result [flags]`, or `result [flags]` alone, which belongs to the set's next case; `-` stands for
    a result that the device does not have. done: called with the reader at the end. Raises Error for other lines, for
    more results than cases, and for a log without results.
    """

    def note(comment: str) -> None:
        if NO_FLAGS.fullmatch(comment):
            reader.without_flags()

    reader = LineReader(vectors.unit, ANSWERS, base, missing=True, note=note)
    widths = [f.width for f in vectors.unit.inputs for _ in range(f.lanes)]
    cases = (inputs for inputs in vectors.inputs() if vectors.line(inputs) is not None)
    lines, answers = NumberedLines(text_lines(log)), 0
    try:
        for row in rows(reader, lines):
            if row.unknown:
                raise Misread("X or Z bits; it is not a line of hexadecimal numbers")
            answers += 1
            yield _inputs(row, widths, cases)
    except (Misread, AmbiguousDigits) as e:
        raise Error(f"{log}:{lines.number}: {e}") from None
    if not answers:
        raise Error(f"{log}: the log has no results")
    done(reader)


def _inputs(row: Row, widths: list[int], cases: Iterator[Line]) -> Line:
    if row.inputs is None:
        case = next(cases, None)
        if case is None:
            raise Misread("more results than the set has cases")
        return case
    if any(code >> width for code, width in zip(row.inputs, widths, strict=True)):
        raise Misread(f"an operand is wider than {' and '.join(map(str, widths))} bits")
    return row.inputs


# -- arrays ------------------------------------------------------------------------------------------------------------


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
