"""Reports of a check: as text, as JSON, as JUnit XML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from softfloat_ref.base.errors import counted
from softfloat_ref.testing.compare import Answer, code_texts
from softfloat_ref.testing.judge import SHOWN, CheckReport, Mismatch
from softfloat_ref.testing.views import MismatchView, view_of
from softfloat_ref.units import Unit
from softfloat_ref.units.unit import split

_NOT_XML: Final = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACES: Final = {ord(c): f"&#{ord(c)};" for c in "\t\n\r"}  # which readers would make plain spaces of


def mismatch_lines(mismatch: Mismatch, unit: Unit) -> list[str]:
    """The lines that show a mismatch: operands, both answers, and the changes that give the device's answer."""
    m, view = mismatch, view_of(unit)
    kind = f"{m.kind}, {m.error} ulp" if m.error else m.kind
    return case_lines(f"case {m.number}", view, m.operands, m.expected, m.got, kind, m.changes)


def case_lines(
    name: str,
    view: MismatchView,
    operands: Sequence[int],
    expected: Sequence[int],
    got: Answer,
    kind: str,
    changes: Sequence[dict[str, str]],
) -> list[str]:
    """The lines of a mismatch, given its parts."""
    case = view.own(operands, expected, got)
    title = view.title if case.unit == view.unit else case.unit.label
    view = view_of(case.unit)
    lines = [f"{name}: {title}: {kind}", *view.lines(case.inputs, case.expected, case.got)]
    texts = [", ".join(f"{k} = {v}" for k, v in change.items() if v != "None") for change in changes[:SHOWN]]
    lines += [f"           matches {text}" for text in texts if text]
    command = view.command(case.inputs, case.got)
    return [*lines, f"  {command}"] if command else lines


def summary(report: CheckReport) -> str:
    """One line: what was compared, and the result."""
    within = f" within {report.within.text}" if report.within else ""
    head = f"{report.vectors.name}: {report.compared} compared{within}, {report.mismatched} mismatched"
    head += f", {report.left_out} left out" if report.left_out else ""
    no_flags = report.has_flags or not report.compared or not report.vectors.unit.has_flags
    head += "" if no_flags else ", results only: the device gives no flags"
    kinds = ", ".join(f"{n} {kind}" for kind, n in report.kinds.most_common())
    errors = report.errors.summary() if report.errors and report.compared else ""
    return head + (f" ({kinds})" if kinds else "") + errors


def reading(form: str, left_out: Mapping[str, int]) -> list[str]:
    """What lines were read as, if not as plain hexadecimal digits, and which were not compared."""
    lines = [f"read as {form}"] if form else []
    return lines + [f"not compared: {counted(n, 'line')} {why}" for why, n in left_out.items()]


def part_summary(part: CheckReport) -> str:
    """One line: what was compared of a part, and the kinds of its mismatches."""
    kinds = ", ".join(f"{n} {kind}" for kind, n in part.kinds.most_common())
    head = f"{part.vectors.unit.label}: {part.compared} compared, {part.mismatched} mismatched"
    return head + (f" ({kinds})" if kinds else "")


def report_lines(report: CheckReport) -> list[str]:
    """The mismatches, and the device's failure, if any."""
    lines = [line for m in report.mismatches for line in mismatch_lines(m, report.vectors.unit)]
    rest = report.mismatched - len(report.mismatches)
    if rest:
        lines.append(f"... and {rest} more mismatches")
    if report.errors and report.compared:
        lines += report.errors.text()
    if report.failure:
        lines.append(f"device failure: {report.failure}")
    if report.compared == 0 and not report.failure:
        lines.append("nothing was compared: that is a failure")
    return lines


def to_json(report: CheckReport, more: Mapping[str, Any] | None = None) -> str:
    """The report as one JSON object. more: other keys."""
    out: dict[str, Any] = {
        "set": report.vectors.name,
        "passed": report.passed,
        "compared": report.compared,
        "mismatched": report.mismatched,
        "flags_compared": report.has_flags,
        "kinds": dict(report.kinds),
        **({"where": report.within.text, "left_out": report.left_out} if report.within else {}),
        "failure": report.failure or None,
        "mismatches": [_mismatch(m, report.vectors.unit) for m in report.mismatches],
        **({"read_as": report.form} if report.form else {}),
        **({"not_compared": dict(report.not_compared)} if report.not_compared else {}),
        **(more or {}),
    }
    if report.errors:
        out[report.errors.key] = report.errors.to_dict()
    return json.dumps(out, indent=1)


def _mismatch(m: Mismatch, unit: Unit) -> dict[str, Any]:
    view = view_of(unit)
    flags = m.expected[len(m.got.codes)] if unit.has_flags else None
    operands = [(f, code_texts([f], codes)) for f, codes in split(unit.inputs, m.operands)]
    own = view.own(m.operands, m.expected, m.got)
    return {
        "case": m.number,
        **({"part": own.unit.label} if own.unit != unit else {}),
        "kind": m.kind,
        **({"error_ulp": m.error} if m.error else {}),
        "operands": {f.name: x[0] if f.lanes == 1 else x for f, x in operands},
        "expected": _codes(m.expected, flags, unit),
        "got": _codes(m.got.codes, m.got.flags, unit),
        **({"as_by": m.changes} if len(unit.result_formats) == 1 else {}),
        "explain": view_of(own.unit).command(own.inputs, own.got),
    }


def _codes(codes: Sequence[int], flags: int | None, unit: Unit) -> dict[str, Any]:
    """An answer: result and flags, or all codes if there are several results."""
    shown = code_texts(unit.results, codes)
    table: dict[str, Any] = {"result": shown[0]} if len(shown) == 1 else {"codes": shown}
    return {**table, "flags": None if flags is None else f"{flags:02x}"} if unit.has_flags else table


def to_junit(report: CheckReport, more: Sequence[str] = ()) -> str:
    """The report as JUnit XML: one test case, with the mismatches as its failure. more: lines to append."""
    name = xml_attribute(report.vectors.name)
    failed = not report.passed
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuite name="softfloat-ref" tests="1" failures="{int(failed)}">')
    lines.append(f'  <testcase classname="check" name={name}>')
    if failed:
        shown = escape(xml_text("\n".join([summary(report), *report_lines(report), *more])), quote=False)
        lines.append(f"    <failure message={xml_attribute(summary(report))}>{shown}</failure>")
    return "\n".join([*lines, "  </testcase>", "</testsuite>"]) + "\n"


def xml_text(shown: str) -> str:
    """The text without characters that XML does not allow."""
    return _NOT_XML.sub("?", shown)


def xml_attribute(shown: str) -> str:
    """The text as a quoted value of an attribute. Of html: xml.sax.saxutils imports the client of the web, 0.1 s."""
    return f'"{escape(xml_text(shown)).translate(_SPACES)}"'
