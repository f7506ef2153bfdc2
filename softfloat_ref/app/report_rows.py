"""The rows of a report on a model: sorted, as a table, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from softfloat_ref.arrays.error_counts import Errors
from softfloat_ref.base.errors import counted
from softfloat_ref.nn.model_errors import ModelErrorRow
from softfloat_ref.nn.tensor_kinds import what_of
from softfloat_ref.oracle.blocks.formats import BlockFormat

TOTAL: Final = "all tensors"
HEADS: Final = ("SQNR dB", "max error", "relative", "saturated", "flushed", "lost", "scales")
COLUMNS: Final = (
    "tensor", "shape", "stored", "format", "values", "sqnr_db", "max_error", "max_relative_error", "rms_error", "rms",
    "amax", "saturated", "flushed", "lost", "specials", "blocks", "nan_blocks", "low_scale", "high_scale", "problem",
    "kind", "part", "layer", "matrix", "bits",
)  # fmt: skip


class ModelReport(NamedTuple):
    """models: names of the files. formats: their names. rows: each tensor in each format. skipped: names of other
    tensors, and why."""

    models: list[str]
    formats: list[str]
    rows: list[ModelErrorRow]
    skipped: list[tuple[str, str]]

    def ordered(self, key: str) -> ModelReport:
        """With rows in that order, of equal ones in the order of the file."""
        return self if key == "file" else self._replace(rows=sorted(self.rows, key=_KEYS[key]))

    def totals(self) -> list[tuple[str, Errors]]:
        """For each format, the errors of all tensors together."""
        totals = dict.fromkeys(self.formats, Errors())
        for x in self.rows:
            if not x.problem:
                totals[x.measure.fmt.name] += x.measured.errors
        return list(totals.items())


def _share(count: Callable[[Errors], int]) -> Callable[[ModelErrorRow], float]:
    return lambda x: -count(x.measured.errors) / max(1, x.measured.errors.values)


def _sqnr(x: ModelErrorRow) -> float:
    ratio = x.measured.errors.sqnr
    return math.inf if math.isnan(ratio) else ratio


_KEYS: Final[dict[str, Callable[[ModelErrorRow], Any]]] = {
    "name": lambda x: x.tensor.name,
    "size": lambda x: -x.tensor.size,
    "sqnr": _sqnr,
    "error": lambda x: -x.measured.errors.largest_error,
    "saturated": _share(lambda e: e.saturated),
    "flushed": _share(lambda e: e.flushed),
}


# -- text ------------------------------------------------------------------------------------------------------------


def table(report: ModelReport, top: int | None = None) -> Iterator[str]:
    """Lines: one per row, the totals, and the tensors that were skipped. top: the number of rows to print."""
    rows = [(x.tensor.name, shape(x), x.measure.fmt.name, x) for x in report.rows[:top]]
    totals = report.totals() if len({id(x.tensor) for x in report.rows}) > 1 else []
    names = [*(r[0] for r in rows), *([TOTAL] if totals else []), "tensor"]
    widths = [max(map(len, names)), max(map(len, [*(r[1] for r in rows), "shape"])),
              max(map(len, [*(r[2] for r in rows), *(name for name, _ in totals), "format"]))]  # fmt: skip
    lines: list[tuple[str, str, str, tuple[str, ...]]] = [("tensor", "shape", "format", HEADS)]
    lines += [(name, size, fmt, (x.problem,) if x.problem else cells(x.measured.errors)) for name, size, fmt, x in rows]
    lines += [(TOTAL, "", name, cells(errors)) for name, errors in totals]
    sizes = (7, 9, 8, 9, 9, 9, 0)
    for *head, texts in lines:
        text = "  ".join(f"{x:{width}}" for x, width in zip(head, widths, strict=True))
        parts = texts if len(texts) == 1 else [f"{x:>{size}}" for x, size in zip(texts, sizes, strict=True)]
        yield f"{text}  {'  '.join(parts)}".rstrip()
    if len(rows) < len(report.rows):
        yield f"{len(report.rows) - len(rows)} more rows: leave --top out, or write them with -o FILE.csv"
    yield from notes(report)
    for name, why in report.skipped:
        yield f"skipped {name}: {why}"


def notes(report: ModelReport) -> Iterator[str]:
    """Warnings for a comparison of the numbers: of blocks that their axis does not fill."""
    thin = [(x, axis) for x in report.rows if (axis := _fuller_axis(x)) is not None]
    if thin:
        first, axis = thin[0]
        names = list(dict.fromkeys(x.tensor.name for x, _ in thin))
        many = f" and {len(names) - 1} more" if len(names) > 1 else ""
        along = -1 if first.measure.axis is None else first.measure.axis
        held = counted(first.tensor.shape[along], "value")
        yield (
            f"note: blocks of {first.tensor.name} ({shape(first)}){many} hold {held}, too few for a full block; "
            f"--axis {axis} makes them longer"
        )


def _fuller_axis(x: ModelErrorRow) -> int | None:
    """The longest axis, where blocks lie along another one that does not fill them and is shorter by half."""
    if not isinstance(x.measure.fmt, BlockFormat) or x.problem:
        return None
    lengths, along = x.tensor.shape, -1 if x.measure.axis is None else x.measure.axis
    axis = max(range(len(lengths)), key=lengths.__getitem__)
    return axis if 2 * lengths[along] <= min(x.measure.fmt.size, lengths[axis]) else None


def shape(x: ModelErrorRow) -> str:
    """The shape of a row's tensor, as 3x4."""
    return "x".join(map(str, x.tensor.shape))


def cells(x: Errors) -> tuple[str, ...]:
    """What a table shows of errors."""
    shares = [percent(n, x.values) for n in (x.saturated, x.flushed, x.lost)]
    return (decibels(x.sqnr), f"{x.largest_error:.4g}", f"{x.largest_relative:.4g}", *shares, scales(x))


def decibels(x: float) -> str:
    """A ratio in dB; `exact` without any error."""
    return "exact" if x == math.inf else "-" if math.isnan(x) else f"{x:.2f}"


def in_decibels(x: float) -> str:
    """A ratio with its unit."""
    return f"{decibels(x)} dB" if math.isfinite(x) else decibels(x)


def percent(count: int, values: int) -> str:
    """A share of the values, as a table shows it."""
    if not count:
        return "0"
    part = 100 * count / max(1, values)
    return f"{part:.3f} %" if part >= 0.0005 else "< 0.001 %"


def scales(x: Errors) -> str:
    """The range of scales; nothing for formats without."""
    if math.isnan(x.low_scale):
        return ""
    return " to ".join(dict.fromkeys(_scale(s) for s in (x.low_scale, x.high_scale)))


def _scale(x: float) -> str:
    fraction, exponent = math.frexp(x)
    return f"2^{exponent - 1}" if fraction == 0.5 else f"{x:.4g}"


# -- files -----------------------------------------------------------------------------------------------------------


def entries(report: ModelReport) -> Iterator[dict[str, Any]]:
    """The rows as tables of COLUMNS; numbers that are not finite as text."""
    for x in report.rows:
        head = {"tensor": x.tensor.name, "shape": shape(x), "stored": x.tensor.fmt, "format": x.measure.fmt.name}
        numbers = _numbers(x.measured.errors) if not x.problem else {}
        yield {**head, **numbers, "problem": x.problem, **what_of(x.tensor.name, x.tensor.shape), **_bits(x)}


def _bits(x: ModelErrorRow) -> dict[str, int]:
    return {} if x.problem else {"bits": x.measure.stored_bits(x.tensor.shape)}


def _numbers(x: Errors) -> dict[str, Any]:
    numbers = {
        "values": x.values,
        "sqnr_db": float(f"{x.sqnr:.4f}"),
        "max_error": x.largest_error,
        "max_relative_error": x.largest_relative,
        "rms_error": x.rms_error,
        "rms": x.rms,
        "amax": x.amax,
        "saturated": x.saturated,
        "flushed": x.flushed,
        "lost": x.lost,
        "specials": x.specials,
    }
    if x.blocks:
        scales = {} if math.isnan(x.low_scale) else {"low_scale": x.low_scale, "high_scale": x.high_scale}
        numbers |= {"blocks": x.blocks, "nan_blocks": x.nan_blocks, **scales}
    return {k: v if math.isfinite(v) else str(v) for k, v in numbers.items()}


def csv_text(report: ModelReport) -> str:
    """The rows as CSV; tensors that were skipped are rows without a format."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(entries(report))
    writer.writerows({"tensor": name, "problem": why} for name, why in report.skipped)
    return text.getvalue()


def json_text(report: ModelReport, summary: dict[str, Any]) -> str:
    """The rows, the totals, the skipped tensors and which format as JSON."""
    whole = {
        "models": report.models,
        "formats": report.formats,
        "rows": [{k: v for k, v in x.items() if v != ""} for x in entries(report)],
        "totals": [{"format": name, **_numbers(errors)} for name, errors in report.totals()],
        "skipped": [{"tensor": name, "why": why} for name, why in report.skipped],
        "summary": summary,
    }
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"
