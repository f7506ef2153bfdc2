"""What to suspect before the arithmetic, where nearly everything mismatches: what a port map assumes of the module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref.base.errors import counted
from softfloat_ref.diagnosis.findings import Diagnosis
from softfloat_ref.testing.compare import code_texts
from softfloat_ref.testing.judge import UNKNOWN_BITS, CheckReport

_FEWEST: Final = 16  # cases
_SHOWN_CODES: Final = 4


def suspicions(report: CheckReport, diagnosis: Diagnosis | None) -> tuple[str, ...]:
    """Lines that say so; none where enough cases agree, or where one fault of the arithmetic explains every case."""
    if report.failure and not report.compared and report.assumptions.clock:
        return (
            "diagnosis: no result came: suspect the connection of the module",
            *_indented(report.assumptions.lines()),
        )
    if report.compared < _FEWEST or 10 * report.mismatched < 9 * report.compared:
        return ()
    constant = _constant(report)
    one = diagnosis is not None and diagnosis.complete and diagnosis.several is None
    if (one and not constant) or not (constant or report.assumptions.clock):
        return ()
    share = f"{report.mismatched} of {report.compared} cases mismatch"
    return (
        f"diagnosis: {share}: suspect the connection of the module before its arithmetic",
        *_indented([*_seen(report, constant), *report.assumptions.lines()]),
    )


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _seen(report: CheckReport, constant: str) -> Iterator[str]:
    """What the answers show of it."""
    if constant:
        yield f"nearly every answer is {constant}: is the module held in reset, disabled, or without a clock?"
    if unknown := unknown_answers(report):
        yield unknown


def unknown_answers(report: CheckReport) -> str:
    """That answers have X or Z bits, which no hypothesis gives; '' if none has."""
    count = report.kinds[UNKNOWN_BITS]
    return f"{counted(count, 'answer')} with X or Z bits: an input or a register without a value" if count else ""


def _constant(report: CheckReport) -> str:
    """The answer that nearly all cases have, though they should not; '' without one."""
    if not report.first:
        return ""
    width, count = report.vectors.unit.input_width, len(report.first)
    code, times = Counter(answer.codes for _, answer in report.first).most_common(1)[0]
    expected = Counter(line[width : width + len(code)] for line, _ in report.first).most_common(1)[0][1]
    if 10 * times < 9 * count or 2 * expected > count:
        return ""
    shown = code_texts(report.vectors.unit.results, code)
    return " ".join(shown[:_SHOWN_CODES]) + " ..." * (len(shown) > _SHOWN_CODES)
