"""Reports of a check: as text, as JSON, as JUnit XML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from softfloat_ref.testing import ulp
from softfloat_ref.testing.check import SHOWN, Mismatch, Report
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import Field, Unit


def describe(mismatch: Mismatch, unit: Unit) -> list[str]:
    """The lines that show a mismatch: operands, both answers, and the changes that give the device's answer."""
    view = view_of(unit)
    off = f", {mismatch.error} ulp" if mismatch.error else ""
    lines = [f"case {mismatch.number}: {view.title}: {mismatch.kind}{off}"]
    lines += view.lines(mismatch.operands, mismatch.expected, mismatch.got)
    lines += [f"           matches {text}" for change in mismatch.changes[:SHOWN] if (text := changes_text(change))]
    command = view.command(mismatch.operands, mismatch.got)
    return [*lines, f"  {command}"] if command else lines


def changes_text(change: dict[str, str]) -> str:
    """The changed fields of a policy."""
    return ", ".join(f"{k} = {v}" for k, v in change.items() if v != "None")


def summary(report: Report) -> str:
    """One line: what was compared, and the result."""
    head = f"{report.vectors.name}: {report.compared} compared, {report.mismatched} mismatched"
    no_flags = report.has_flags or not report.compared or not report.vectors.unit.has_flags
    head += "" if no_flags else ", results only: the device gives no flags"
    kinds = ", ".join(f"{n} {kind}" for kind, n in report.kinds.most_common())
    errors = ulp.summary(report.errors) if report.errors and report.compared else ""
    return head + (f" ({kinds})" if kinds else "") + errors


def text(report: Report) -> list[str]:
    """The mismatches, and the device's failure, if any."""
    lines = [line for m in report.mismatches for line in describe(m, report.vectors.unit)]
    rest = report.mismatched - len(report.mismatches)
    if rest:
        lines.append(f"... and {rest} more mismatches")
    if report.errors and report.compared:
        lines += ulp.text(report.errors)
    if report.failure:
        lines.append(f"device failure: {report.failure}")
    if report.compared == 0 and not report.failure:
        lines.append("nothing was compared: that is a failure")
    return lines


def to_json(report: Report, more: Mapping[str, Any] | None = None) -> str:
    """The report as one JSON object. more: other keys."""
    out: dict[str, Any] = {
        "set": report.vectors.name,
        "passed": report.passed,
        "compared": report.compared,
        "mismatched": report.mismatched,
        "flags_compared": report.has_flags,
        "kinds": dict(report.kinds),
        "failure": report.failure or None,
        "mismatches": [_mismatch(m, report.vectors.unit) for m in report.mismatches],
        **(more or {}),
    }
    if report.errors:
        out["ulp"] = ulp.to_dict(report.errors)
    return json.dumps(out, indent=1)


def _mismatch(m: Mismatch, unit: Unit) -> dict[str, Any]:
    view = view_of(unit)
    flags = m.expected[len(m.got.codes)] if unit.has_flags else None
    return {
        "case": m.number,
        "kind": m.kind,
        **({"error_ulp": m.error} if m.error else {}),
        "operands": _hexadecimal(unit.inputs, m.operands),
        "expected": _codes(m.expected, flags, unit),
        "got": _codes(m.got.codes, m.got.flags, unit),
        **({"as_by": m.changes} if len(unit.result_formats) == 1 else {}),
        "explain": view.command(m.operands, m.got),
    }


def _codes(codes: Sequence[int], flags: int | None, unit: Unit) -> dict[str, Any]:
    """An answer: result and flags, or all codes if there are several results."""
    shown = [
        f"{x:0{f.digits}x}" for f, x in zip((f for f in unit.results for _ in range(f.lanes)), codes, strict=False)
    ]
    found: dict[str, Any] = {"result": shown[0]} if len(shown) == 1 else {"codes": shown}
    return {**found, "flags": None if flags is None else f"{flags:02x}"} if unit.has_flags else found


def _hexadecimal(fields: Sequence[Field], codes: Sequence[int]) -> dict[str, Any]:
    """Each field's code in hexadecimal, or a list of codes if it has lanes."""
    found, at = {}, 0
    for f in fields:
        shown = [f"{x:0{f.digits}x}" for x in codes[at : at + f.lanes]]
        found[f.name] = shown[0] if f.lanes == 1 else shown
        at += f.lanes
    return found


def to_junit(report: Report, more: Sequence[str] = ()) -> str:
    """The report as JUnit XML: one test case, with the mismatches as its failure. more: lines to append."""
    name = quoteattr(report.vectors.name)
    failed = not report.passed
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuite name="softfloat-ref" tests="1" failures="{int(failed)}">')
    lines.append(f'  <testcase classname="check" name={name}>')
    if failed:
        shown = _xml_text("\n".join([summary(report), *text(report), *more]))
        lines.append(f"    <failure message={quoteattr(_clean(summary(report)))}>{shown}</failure>")
    return "\n".join([*lines, "  </testcase>", "</testsuite>"]) + "\n"


def _clean(text_: str) -> str:
    """The text without characters that XML does not allow."""
    return "".join(
        c if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "?" for c in text_
    )


def _xml_text(text_: str) -> str:
    return _clean(text_).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
