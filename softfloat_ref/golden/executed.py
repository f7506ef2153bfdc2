"""The cases that a simulation executed, from a result log, for coverage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import text_lines
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.literals import code_or_none
from softfloat_ref.units import Line, Unit

COMMENT_STARTS: Final = ("//", "#")
_NO_FLAGS: Final = re.compile(r"(?://|#)\s*flags = none\s*")  # of a bench, in its log
_NO_RESULT: Final = "-"  # a result that the device does not have


def without_flags(comment: str) -> bool:
    """Whether a comment of a log says that its lines have no flags."""
    return bool(_NO_FLAGS.fullmatch(comment))


def answer_lengths(unit: Unit, flags: bool = True) -> tuple[int, ...]:
    """How many codes an answer may have; flags: whether flags may follow its results."""
    results = len(unit.result_formats)
    return (results, results + 1) if unit.has_flags and flags else (results,)


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
            lengths = lengths[:1] if without_flags(text) else lengths
            continue
        operands = len(widths) if len(words) > lengths[-1] else 0
        codes = [0 if word == _NO_RESULT and i >= operands else code_or_none(word) for i, word in enumerate(words)]
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
