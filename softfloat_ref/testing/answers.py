"""What devices answer, read: lines of codes, the logs of simulations, arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import text_lines
from softfloat_ref.explanation.scalar import MAX_FLAGS
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.literals import code_or_none
from softfloat_ref.rtl.tolerance import Tolerance
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.units import Line, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COMMENT_STARTS: Final = ("//", "#")
NO_FLAGS: Final = re.compile(r"(?://|#)\s*flags = none\s*")  # of a bench, in its log
NO_RESULT: Final = "-"  # a result that the device does not have
_UNKNOWN_DIGITS: Final = re.compile("[0-9a-fA-F]*[xXzZ][0-9a-fA-FxXzZ]*")
_PREFIXED: Final = re.compile("0[xX][0-9a-fA-F]+")


def answer_lengths(unit: Unit) -> tuple[int, ...]:
    """How many codes an answer may have: its results, and flags or none."""
    results = len(unit.result_formats)
    return (results, results + 1) if unit.has_flags else (results,)


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


def with_expected(
    words: Sequence[str], unit: Unit, line: Line, tolerance: Tolerance
) -> tuple[list[str], frozenset[str]]:
    """The words of a logged answer, those that are not compared replaced by what is expected; and the names of the
    results that the device does not have, for which `-` stands."""
    count, expected = len(unit.result_formats), line[unit.input_width :]
    dashes = [i for i, word in enumerate(words[:count]) if word == NO_RESULT]
    left_out = tolerance.left_out(unit, expected) if tolerance.any_elements else ()
    free = [i for i in left_out if i < len(words) and code_or_none(words[i]) is None]
    shown = list(words)
    for i in (*dashes, *free):
        shown[i] = f"{expected[i]:x}"
    if shown and tolerance.any_above and len(unit.parts) > 1:
        width, digits = unit.selected(line[: unit.input_width])[0].results[0].width, unit.results[0].digits
        above = digits - width // 4
        if len(shown[0]) == digits and above and not width % 4:
            shown[0] = f"{expected[0] >> width:0{above}x}{shown[0][above:]}"
    if not dashes:
        return shown, frozenset()
    lanes = [f.name for f in unit.results for _ in range(f.lanes)]
    return shown, frozenset(lanes[i] for i in dashes)


# -- logs --------------------------------------------------------------------------------------------------------------


def executed_cases(vectors: VectorSet, log: str | Path) -> Iterator[Line]:
    """The inputs of each case with a result in a log.

    A line is `operands result [flags]`, or `result [flags]` alone, which belongs to the set's next case; `-` stands for
    a result that the device does not have. Raises Error for other lines, for more results than cases, and for a log
    without results.
    """
    widths = [f.width for f in vectors.unit.inputs for _ in range(f.lanes)]
    lengths = answer_lengths(vectors.unit)
    cases = (inputs for inputs in vectors.inputs() if vectors.line(inputs) is not None)
    answers = 0
    for number, text in enumerate(text_lines(log), 1):
        words = text.split()
        if not words or text.startswith(COMMENT_STARTS):
            lengths = lengths[:1] if NO_FLAGS.fullmatch(text) else lengths
            continue
        operands = len(widths) if len(words) > lengths[-1] else 0
        codes = [0 if word == NO_RESULT and i >= operands else code_or_none(word) for i, word in enumerate(words)]
        if any(x is None for x in codes):
            raise Error(f"{log}:{number}: {text.strip()[:80]!r} is not a line of hexadecimal numbers")
        answers += 1
        yield _inputs(f"{log}:{number}", [x for x in codes if x is not None], widths, lengths, cases)
    if not answers:
        raise Error(f"{log}: the log has no results")


def _inputs(where: str, codes: list[int], widths: list[int], lengths: tuple[int, ...], cases: Iterator[Line]) -> Line:
    n = len(widths)
    if len(codes) - n in lengths and len(codes) > lengths[-1]:
        if any(code >> width for code, width in zip(codes, widths, strict=False)):
            raise Error(f"{where}: an operand is wider than {' and '.join(map(str, widths))} bits")
        return tuple(codes[:n])
    if len(codes) not in lengths:
        raise Error(
            f"{where}: {len(codes)} numbers; expected {n} operands, {lengths[0]} for the result, and flags, "
            "or only the last two"
        )
    case = next(cases, None)
    if case is None:
        raise Error(f"{where}: more results than the set has cases")
    return case


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
