"""A report as text: which format, in a sentence and a table; then every tensor, or of a large model the worst ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from softfloat_ref.app.report_rows import ModelReport, decibels, notes, percent, shape, table
from softfloat_ref.app.report_summary import ReportSummary
from softfloat_ref.app.report_tally import Tally
from softfloat_ref.app.report_words import megabytes, short

_HEADS: Final = ("format", "scale", "bits", "MB", "SQNR dB", "worst dB", "saturated", "flushed")
_MAX_ROWS: Final = 40  # that are printed unless asked for
_WORST: Final = 10  # matrices


def lines(summary: ReportSummary, report: ModelReport, top: int | None, every_row: bool) -> Iterator[str]:
    """The answer first. report: its rows in the order to be printed; top: how many; every_row: however many."""
    yield from answer(summary)
    yield ""
    if every_row or top is not None or len(report.rows) <= _MAX_ROWS:
        yield from table(report, top)
        return
    yield from _kinds(summary)
    yield ""
    yield from _worst(summary)
    yield f"{len(report.rows)} rows with errors and counts: --top N, --sort KEY, or -o FILE.html, .csv, .json"
    yield from notes(report)
    for name, why in report.skipped:
        yield f"skipped {name}: {why}"


def answer(summary: ReportSummary) -> Iterator[str]:
    """Which format, in a sentence and a table; and what has to be known of the numbers."""
    yield summary.sentence()
    rows: list[tuple[str, ...]] = [(*_HEADS, f"worst {summary.subject}")]
    for x in summary.formats:
        e = x.tally.errors
        name = short(x.tally.worst.tensor.name) if x.tally.worst else ""
        shares = percent(e.saturated, e.values), percent(e.flushed, e.values)
        bits = f"{x.tally.bits_per_value:.4g}", megabytes(x.tally.megabytes)
        rows.append((x.name, x.scale, *bits, decibels(e.sqnr), decibels(x.tally.low), *shares, name))
    bits_per_value, size, names = summary.stored
    rows.append((names, "as stored", f"{bits_per_value:.4g}", megabytes(size), *[""] * 5))
    yield from columns(rows, "<<>>>>>><")
    for text in summary.remarks():
        yield f"note: {text}"


def _kinds(summary: ReportSummary) -> Iterator[str]:
    """The SQNR of each kind of matrix, with the lowest of its tensors."""
    rows: list[tuple[str, ...]] = [("kind: SQNR dB, worst", "number", *summary.report.formats)]
    for group in summary.largest_groups:
        total = summary.tallies(group.items)
        count = len({id(x.tensor) for x in total[summary.report.formats[0]].rows})
        rows.append((group.label, str(count), *(_both(x, count) for x in total.values())))
    yield from columns(rows, "<" + ">" * (len(rows[0]) - 1))
    if left := len(summary.groups) - len(rows) + 1:
        yield f"{left} more kinds, with fewer values"


def _both(x: Tally, count: int) -> str:
    return decibels(x.errors.sqnr) + (f", {decibels(x.low)}" if count > 1 else "")


def _worst(summary: ReportSummary) -> Iterator[str]:
    """The matrices with the lowest SQNR in the smallest format, in every format."""
    first = summary.smallest or summary.formats[0]
    by_tensor = summary.by_tensor(summary.counted)
    worst = summary.worst_first(first.name)[:_WORST]
    rows: list[tuple[str, ...]] = [(f"lowest SQNR in {first.name}", "shape", *summary.report.formats)]
    for x in worst:
        ratios = (decibels(y.measured.errors.sqnr) if not y.problem else "refused" for y in by_tensor[id(x.tensor)])
        rows.append((short(x.tensor.name), shape(x), *ratios))
    yield from columns(rows, "<<" + ">" * len(summary.report.formats))


def columns(rows: Sequence[Sequence[str]], alignments: str) -> Iterator[str]:
    """Cells in columns as wide as their widest, on the left (<) or on the right (>)."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{x:{side}{n}}" for x, side, n in zip(row, alignments, widths, strict=True))
        yield "  ".join(cells).rstrip()
