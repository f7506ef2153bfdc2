"""Reports of a check: for people, as JSON, as JUnit XML."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from softfloat_ref.codec import decoder
from softfloat_ref.explain import flag_text, value_text
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.sets import Field, VectorSet
from softfloat_ref.policies import Policy
from softfloat_ref.testing import block_answers, dots, ulp
from softfloat_ref.testing.check import SHOWN, Checkable, Mismatch, Report


def describe(mismatch: Mismatch, vectors: Checkable) -> list[str]:
    """The lines that show a mismatch: operands, both answers, and what would have given the device's."""
    op = "dot" if isinstance(vectors, DotSet) else vectors.op
    if isinstance(vectors, VectorSet) and vectors.block is not None:
        lanes = block_answers.operand_lines(vectors, mismatch.operands, mismatch.expected, mismatch.got)
        return [f"case {mismatch.number}: {op}: {mismatch.kind}", *lanes, f"  {explain_command(mismatch, vectors)}"]
    off = f", {mismatch.error} ulp" if mismatch.error else ""
    lines = [f"case {mismatch.number}: {op}: {mismatch.kind}{off}", *_operand_lines(mismatch, vectors)]
    lines.append(f"  expected {_answer(mismatch.expected[0], mismatch.expected[1], vectors)}")
    lines.append(f"  got      {_answer(mismatch.got.result, mismatch.got.flags, vectors)}")
    lines += [f"           as by {text}" for change in mismatch.changes[:SHOWN] if (text := changes_text(change))]
    return [*lines, f"  {explain_command(mismatch, vectors)}"]


def _operand_lines(mismatch: Mismatch, vectors: Checkable) -> list[str]:
    if isinstance(vectors, DotSet):
        return dots.operand_lines(vectors, mismatch.operands)
    names, lines = [f for f in vectors.fields if f.role in ("operand", "random")], []
    for f, code, fmt in itertools.zip_longest(names, mismatch.operands, vectors.formats):
        shown = f" = {value_text(decoder(fmt)(code))}" if fmt is not None else ""
        lines.append(f"  {f.name:9}{code:0{f.digits}x}{shown}")
    return lines


def changes_text(change: dict[str, str]) -> str:
    """The changed fields of a policy."""
    return ", ".join(f"{k} = {v}" for k, v in change.items() if v != "None")


def explain_command(mismatch: Mismatch, vectors: Checkable) -> str:
    """The command that shows every step of this case."""
    if isinstance(vectors, DotSet):
        return dots.trace_command(vectors, mismatch.operands)
    if vectors.block is not None:
        options = [x for x in policy_options(vectors.policy) if x.startswith("--round")]
        return block_answers.explain_command(vectors, mismatch.operands, mismatch.got, options)
    formats = ",".join(f"{letter}={f.name}" for letter, f in zip("abcdefghi", vectors.formats, strict=False))
    operands = " ".join(f.hex(x) for f, x in zip(vectors.formats, mismatch.operands, strict=False))
    options = [f"--fmt {formats}", f"--out {vectors.out.name}", *policy_options(vectors.policy)]
    if vectors.policy.random_count:
        options.append(f"--random-bits {mismatch.operands[-1]:x}")
    got = f"{mismatch.got.result:x}" + ("" if mismatch.got.flags is None else f" --got-flags {mismatch.got.flags:02x}")
    return f"softfloat-ref explain {vectors.op} {' '.join(options)} {operands} --got {got}"


def policy_options(policy: Policy) -> list[str]:
    """The command-line options that make this policy of the default one."""
    fields, default = policy.to_dict(), Policy().to_dict()
    names = {"rounding": "round"}
    shown = {True: "on", False: "off"}
    return [
        f"--{names.get(k, k).replace('_', '-')} {shown.get(v, v) if isinstance(v, bool) else v}"
        for k, v in fields.items()
        if v != default[k] and k != "bare_widening"
    ]


def _answer(result: int, flags: int | None, vectors: Checkable) -> str:
    fmt = vectors.out
    value = value_text(decoder(fmt)(result)) if not result >> fmt.width else f"does not fit {fmt.width} bits"
    return f"{fmt.hex(result)} = {value}" + ("" if flags is None else f", flags {flag_text(flags)}")


def summary(report: Report) -> str:
    """One line: what was compared and how it went."""
    head = f"{report.vectors.name}: {report.compared} compared, {report.mismatched} mismatched"
    no_flags = report.has_flags or not report.compared or getattr(report.vectors, "block", None) is not None
    head += "" if no_flags else ", results only: the device gives no flags"
    kinds = ", ".join(f"{n} {kind}" for kind, n in report.kinds.most_common())
    errors = ulp.summary(report.errors) if report.errors and report.compared else ""
    return head + (f" ({kinds})" if kinds else "") + errors


def text(report: Report) -> list[str]:
    """The mismatches, and what the device did that no device may do."""
    lines = [line for m in report.mismatches for line in describe(m, report.vectors)]
    rest = report.mismatched - len(report.mismatches)
    if rest:
        lines.append(f"... and {rest} more mismatches")
    if report.errors and report.compared and isinstance(report.vectors, VectorSet):
        lines += ulp.text(report.errors, report.vectors)
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
        "mismatches": [_mismatch(m, report.vectors) for m in report.mismatches],
        **(more or {}),
    }
    if report.errors and isinstance(report.vectors, VectorSet):
        out["ulp"] = ulp.to_dict(report.errors, report.vectors)
    return json.dumps(out, indent=1)


def _mismatch(m: Mismatch, vectors: Checkable) -> dict[str, Any]:
    names = [f for f in vectors.fields if f.role in ("operand", "random")]
    if m.got.codes and isinstance(vectors, VectorSet):
        return _block_mismatch(m, vectors, names)
    result, flags = m.expected[0], m.expected[1]
    return {
        "case": m.number,
        "kind": m.kind,
        **({"error_ulp": m.error} if m.error else {}),
        "operands": _operand_codes(names, m.operands),
        "expected": {"result": vectors.out.hex(result), "flags": f"{flags:02x}"},
        "got": {
            "result": vectors.out.hex(m.got.result),
            "flags": None if m.got.flags is None else f"{m.got.flags:02x}",
        },
        "as_by": m.changes,
        "explain": explain_command(m, vectors),
    }


def _block_mismatch(m: Mismatch, vectors: VectorSet, names: list[Field]) -> dict[str, Any]:
    formats = block_answers.formats(vectors)
    shown = [[f.hex(x) for f, x in zip(formats, codes, strict=True)] for codes in (m.expected, m.got.codes)]
    return {
        "case": m.number,
        "kind": m.kind,
        "operands": _operand_codes(names, m.operands),
        "expected": {"codes": shown[0]},
        "got": {"codes": shown[1]},
        "explain": explain_command(m, vectors),
    }


def _operand_codes(names: list[Field], operands: tuple[int, ...]) -> dict[str, Any]:
    """Each field's code, or codes where it has lanes, in hexadecimal."""
    found, at = {}, 0
    for f in names:
        codes = [f"{x:0{f.digits}x}" for x in operands[at : at + f.lanes]]
        found[f.name] = codes[0] if f.lanes == 1 else codes
        at += f.lanes
    return found


def to_junit(report: Report, more: Sequence[str] = ()) -> str:
    """The report as JUnit XML: one test case, with what went wrong as its failure. more: lines that follow."""
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
    """Without the characters that XML cannot hold."""
    return "".join(
        c if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "?" for c in text_
    )


def _xml_text(text_: str) -> str:
    return _clean(text_).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
