"""The diagnosis of a report: of a unit, or of each part of a unit with several; in words, as a table, and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from softfloat_ref.base.search import find_first
from softfloat_ref.diagnosis import report as texts
from softfloat_ref.diagnosis.asking import Asker
from softfloat_ref.diagnosis.checked import comparator_of, diagnosis_of
from softfloat_ref.diagnosis.findings import Diagnosis
from softfloat_ref.diagnosis.order_faults import OrderFault, order_fault
from softfloat_ref.diagnosis.suspicion import suspicions
from softfloat_ref.diagnosis.together import diagnoses
from softfloat_ref.testing.judge import CheckReport
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import Unit

_HEAD: Final = "diagnosis: "
_MOST_ORDER_FAULTS: Final = 3
_NAMED_PARTS: Final = 6  # parts without mismatches that are named
_NAMED_ROUNDINGS: Final = 3  # of parts with the same diagnosis: more are counted


class PartDiagnosis(NamedTuple):
    """A part's report, and what the device seems to do in this part; None without mismatches of its own."""

    report: CheckReport
    diagnosis: Diagnosis | None

    @property
    def unit(self) -> Unit:
        """The part."""
        return self.report.vectors.unit

    @property
    def sentence(self) -> str:
        """The diagnosis in a line; '' if there is none."""
        return "" if self.diagnosis is None else texts.sentence(self.diagnosis, self.unit)

    @property
    def command(self) -> str:
        """The command that shows every step of one mismatch, the simplest; '' if there is none."""
        if self.diagnosis is None or self.diagnosis.simplest is None:
            return ""
        inputs, width = self.diagnosis.simplest.inputs, self.unit.input_width
        answer = find_first(answer for line, answer in self.report.wrong if line[:width] == inputs)
        return view_of(self.unit).command(inputs, answer)


class ReportDiagnosis(NamedTuple):
    """The diagnosis of a report, or one for each of its parts. order: a fault of the order of answers, if there is one;
    the rest is then the diagnosis of the answers without it. suspected: what to suspect before the arithmetic; held:
    inputs that the port map holds constant."""

    unit: Unit
    whole: Diagnosis | None
    parts: list[PartDiagnosis]
    suspected: tuple[str, ...] = ()
    order: OrderFault | None = None
    rest: ReportDiagnosis | None = None
    held: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The diagnosis in words; for parts, a table."""
        if self.order is not None:
            first = [f"diagnosis: {self.order.sentence}", *(f"  {line}" for line in self.order.advice)]
            return [*first, *_renamed(self.rest.lines() if self.rest else [], f"diagnosis of {self.order.others}: ")]
        own = texts.lines(self.whole, self.unit) if self.whole else list(_table(self.parts)) if self.parts else []
        if self.suspected:
            return [*self.suspected, *_renamed(own, "diagnosis if the connection is right: ")]
        held = f"  held at a constant by the port map: {', '.join(self.held)}; does one of them choose this?"
        return [*own, held] if self.held else own

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis as data."""
        if self.order is not None:
            own = {"says": self.order.sentence, "advice": self.order.advice, "late": self.order.late, "findings": []}
            return {"diagnosis": own, "rest": self.rest.as_dict() if self.rest else None}
        suspected = {k: v for k, v in (("suspected", self.suspected), ("held", self.held)) if v}
        if self.whole:
            return {"diagnosis": texts.as_dict(self.whole, self.unit), **suspected}
        return {"parts": [_part_as_dict(x) for x in self.parts], **suspected}


def _renamed(lines: list[str], head: str) -> list[str]:
    """Lines whose first begins with another word than "diagnosis"."""
    return [head + lines[0].removeprefix(_HEAD), *lines[1:]] if lines else []


def explanation(
    report: CheckReport, ask: Asker | None = None, depth: int = _MOST_ORDER_FAULTS
) -> ReportDiagnosis | None:
    """What the device of a report seems to do; None if it got nothing wrong. ask: to simplify its mismatches, for units
    without parts. depth: the number of faults of the order that are looked for."""
    unit = report.vectors.unit
    if not report.mismatched:
        suspected = suspicions(report, None)
        return ReportDiagnosis(unit, None, [], suspected) if suspected else None
    fault = order_fault(report, comparator_of(report)) if depth else None
    is_one = list(report.parts) in ([], [unit])
    whole = diagnosis_of(report, ask) if is_one and (fault is None or fault.by_chance) else None
    if fault is not None and not (whole is not None and whole.complete):
        return ReportDiagnosis(unit, None, [], (), fault, explanation(fault.report, None, depth - 1))
    held = report.assumptions.marked_held
    if is_one:
        suspected = suspicions(report, whole)
        return ReportDiagnosis(unit, whole, [], suspected, held=held) if whole or suspected else None
    order = {part: i for i, part in enumerate(unit.parts)}
    parts = sorted(report.parts.values(), key=lambda r: order.get(r.vectors.unit, len(order)))
    own = list(map(PartDiagnosis, parts, diagnoses(parts)))
    return ReportDiagnosis(unit, None, own, suspicions(report, None), held=held)


def _table(parts: list[PartDiagnosis]) -> Iterator[str]:
    """A row for each diagnosis, with the parts that have it; below it the diagnosis, and the command for one case."""
    wrong = sum(p.report.mismatched > 0 for p in parts)
    labelled = list(zip(_labels(parts), parts, strict=True))
    right = [label for label, p in labelled if not p.report.mismatched]
    yield f"diagnosis: {wrong} of {len(parts)} parts have mismatches"
    groups: dict[object, list[tuple[str, PartDiagnosis]]] = {}
    for label, p in labelled:
        if p.report.mismatched:
            groups.setdefault(_cause(p), []).append((label, p))
    rows = [("part", "cases", "mismatches", "kinds"), *map(_row, groups.values())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    shown = [f"  {r[0]:{widths[0]}}  {r[1]:>{widths[1]}}  {r[2]:>{widths[2]}}  {r[3]}" for r in rows]
    yield shown[0]
    for group, row in zip(groups.values(), shown[1:], strict=True):
        yield row
        first = group[0][1]
        yield from (f"    {x}" for x in (first.sentence, first.command) if x)
    if right:
        more = f" and {len(right) - _NAMED_PARTS} more" if len(right) > _NAMED_PARTS else ""
        yield f"  without a mismatch: {', '.join(right[:_NAMED_PARTS])}{more}"


def _labels(parts: list[PartDiagnosis]) -> list[str]:
    """The parts in words, with the overflow rule where only that tells them apart."""
    labels = [p.unit.label for p in parts]
    return [
        f"{label} {p.unit.properties().get('overflow', '')}" if labels.count(label) > 1 else label
        for label, p in zip(labels, parts, strict=True)
    ]


def _cause(p: PartDiagnosis) -> object:
    """What parts that share a row have in common: the diagnosis; without an explanation, also the kinds."""
    explained = p.diagnosis is not None and bool(p.diagnosis.findings or p.diagnosis.several)
    return p.sentence, None if explained else frozenset(p.report.kinds)


def _row(group: list[tuple[str, PartDiagnosis]]) -> tuple[str, str, str, str]:
    """The cells of a row: the parts, and the sums of their numbers."""
    reports = [p.report for _, p in group]
    total = sum((r.kinds for r in reports), Counter[str]())
    kinds = ", ".join(f"{n} {kind}" for kind, n in total.most_common())
    label = group[0][0] if len(group) == 1 else f"{len(group)} parts: {_together([(x, p.unit) for x, p in group])}"
    return label, str(sum(r.compared for r in reports)), str(sum(r.mismatched for r in reports)), kinds


def _together(parts: list[tuple[str, Unit]]) -> str:
    """Several parts in words: operations with the same formats and roundings stand together, and formats with the same
    roundings."""
    modes: dict[tuple[str, str], list[str]] = {}  # the roundings of an operation in some formats
    for label, unit in parts:
        op, _, rest = label.partition(" ")
        formats, mode, overflow = rest.partition(f" {unit.properties().get('rounding', '')}")
        modes.setdefault((op, formats), []).append(f"{mode}{overflow}".strip())
    formats_of: dict[tuple[str, tuple[str, ...]], list[str]] = {}  # of an operation in some roundings
    for (op, formats), roundings in modes.items():
        formats_of.setdefault((op, tuple(roundings)), []).append(formats)
    ops_of: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}  # in some formats and roundings
    for (op, same), names in formats_of.items():
        ops_of.setdefault((tuple(names), same), []).append(op)
    return "; ".join(f"{', '.join(ops)} {', '.join(names)}{_few(same)}" for (names, same), ops in ops_of.items())


def _few(modes: tuple[str, ...]) -> str:
    """Roundings in words: a few by name."""
    if not any(modes):
        return ""
    return f" in {', '.join(modes) if len(modes) <= _NAMED_ROUNDINGS else f'{len(modes)} roundings'}"


def _part_as_dict(p: PartDiagnosis) -> dict[str, Any]:
    return {
        "part": p.unit.properties(),
        "compared": p.report.compared,
        "mismatched": p.report.mismatched,
        "kinds": dict(p.report.kinds),
        "says": p.sentence or None,
        "explain": p.command or None,
        "diagnosis": p.diagnosis and texts.as_dict(p.diagnosis, p.unit),
    }
