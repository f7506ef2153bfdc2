"""The diagnosis of a report: of a unit, or of each part of a unit with several; in words, as a table, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from softfloat_ref.diagnosis import report as texts
from softfloat_ref.diagnosis.asking import Asker
from softfloat_ref.diagnosis.checked import diagnosis_of, late_diagnosis
from softfloat_ref.diagnosis.ranking import Diagnosis
from softfloat_ref.testing.check import Report
from softfloat_ref.testing.compare import CompareNan
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import Unit

_NAMED: Final = 6  # parts without mismatches that are named


class PartDiagnosis(NamedTuple):
    """A part's report, and what the device seems to do in this part; None without mismatches of its own."""

    report: Report
    found: Diagnosis | None

    @property
    def unit(self) -> Unit:
        """The part."""
        return self.report.vectors.unit

    @property
    def says(self) -> str:
        """The diagnosis in a line; '' if there is none."""
        return "" if self.found is None else texts.said(self.found, self.unit)

    @property
    def command(self) -> str:
        """The command that shows every step of one mismatch, the simplest; '' if there is none."""
        if self.found is None or self.found.simplest is None:
            return ""
        inputs, width = self.found.simplest.inputs, self.unit.input_width
        answer = next(answer for line, answer in self.report.wrong if line[:width] == inputs)
        return view_of(self.unit).command(inputs, answer)


class Explanation(NamedTuple):
    """The diagnosis of a report, or one for each of its parts."""

    unit: Unit
    whole: Diagnosis | None
    parts: list[PartDiagnosis]

    def lines(self) -> list[str]:
        """The diagnosis in words; for parts, a table."""
        return texts.lines(self.whole, self.unit) if self.whole else list(_table(self.parts))

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis as data."""
        if self.whole:
            return {"diagnosis": texts.as_dict(self.whole, self.unit)}
        return {"parts": [_part_as_dict(x) for x in self.parts]}


def explanation(
    report: Report, nan: CompareNan = CompareNan.EXACT, flags: bool = True, ask: Asker | None = None
) -> Explanation | None:
    """What the device of a report seems to do; None if it got nothing wrong. ask: to simplify its mismatches, for units
    without parts."""
    unit = report.vectors.unit
    if not report.mismatched:
        return None
    if list(report.parts) in ([], [unit]):
        whole = diagnosis_of(report, nan, flags, ask)
        return None if whole is None else Explanation(unit, whole, [])
    if late := late_diagnosis(report, nan, flags):
        return Explanation(unit, late, [])
    order = {part: i for i, part in enumerate(unit.parts)}
    parts = sorted(report.parts.values(), key=lambda r: order.get(r.vectors.unit, len(order)))
    return Explanation(unit, None, [PartDiagnosis(r, diagnosis_of(r, nan, flags)) for r in parts])


def _table(parts: list[PartDiagnosis]) -> Iterator[str]:
    """A row for each part with mismatches; below it the diagnosis, and the command for one case."""
    wrong = [p for p in parts if p.report.mismatched]
    labels = _labels(parts)
    right = [label for label, p in zip(labels, parts, strict=True) if not p.report.mismatched]
    yield f"diagnosis: {len(wrong)} of {len(parts)} parts have mismatches"
    cells = [_row(label, p.report) for label, p in zip(labels, parts, strict=True) if p.report.mismatched]
    rows = [("part", "cases", "mismatches", "kinds"), *cells]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    shown = [f"  {r[0]:{widths[0]}}  {r[1]:>{widths[1]}}  {r[2]:>{widths[2]}}  {r[3]}" for r in rows]
    yield shown[0]
    for p, row in zip(wrong, shown[1:], strict=True):
        yield row
        yield from (f"    {x}" for x in (p.says, p.command) if x)
    if right:
        more = f" and {len(right) - _NAMED} more" if len(right) > _NAMED else ""
        yield f"  without a mismatch: {', '.join(right[:_NAMED])}{more}"


def _labels(parts: list[PartDiagnosis]) -> list[str]:
    """The parts in words, with the overflow rule where only that tells them apart."""
    found = [p.unit.label for p in parts]
    return [
        f"{label} {p.unit.properties().get('overflow', '')}" if found.count(label) > 1 else label
        for label, p in zip(found, parts, strict=True)
    ]


def _row(label: str, report: Report) -> tuple[str, str, str, str]:
    kinds = ", ".join(f"{n} {kind}" for kind, n in report.kinds.most_common())
    return label, str(report.compared), str(report.mismatched), kinds


def _part_as_dict(p: PartDiagnosis) -> dict[str, Any]:
    return {
        "part": p.unit.properties(),
        "compared": p.report.compared,
        "mismatched": p.report.mismatched,
        "kinds": dict(p.report.kinds),
        "says": p.says or None,
        "explain": p.command or None,
        "diagnosis": p.found and texts.as_dict(p.found, p.unit),
    }
