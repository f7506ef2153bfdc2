"""The reports of a verification: Markdown, a self-contained HTML page, and JUnit XML for CI systems."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

from softfloat_ref.base.files import write_data
from softfloat_ref.testing.report import xml_attribute, xml_text
from softfloat_ref.workflow.verification import Stage, Verification

MARKDOWN: Final = "report.md"
HTML: Final = "report.html"
JUNIT: Final = "junit.xml"
_FENCE: Final = re.compile(r"`{3,}")
_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1c1c1c; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
pre { background: #f5f5f3; padding: .6rem .8rem; overflow-x: auto; font-size: .87rem; }
.passed { color: #14713d; } .failed { color: #b3261e; } .undecided { color: #8a5a00; }
"""


def write_reports(verification: Verification, folder: Path) -> Verification:
    """Write the three reports into a folder; the verification, with their names among its files."""
    for name, text in ((MARKDOWN, markdown), (HTML, html), (JUNIT, junit)):
        write_data(folder / name, text(verification))
    return dataclasses.replace(verification, files=(*verification.files, MARKDOWN, HTML, JUNIT))


def markdown(verification: Verification) -> str:
    """The report in Markdown."""
    parts = [f"# {verification.title}", f"Verdict: {verification.verdict}", _fenced(verification.lines)]
    for stage in verification.stages:
        parts += [f"## {_heading(stage)}", _fenced(stage.lines)]
        parts += [_fenced([stage.command])] if stage.command else []
    parts += ["## Files", *(f"- {name}" for name in verification.files)]
    return "\n\n".join(parts) + "\n"


def html(verification: Verification) -> str:
    """The report as a page that needs no other file."""
    title = escape(verification.title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f'<p class="{verification.verdict}">Verdict: {verification.verdict}</p>\n{_pre(verification.lines)}'
        f"{''.join(_sections(verification))}</body>\n</html>\n"
    )


def _sections(verification: Verification) -> Iterator[str]:
    for stage in verification.stages:
        yield f'<h2 class="{escape(stage.verdict)}">{escape(_heading(stage))}</h2>\n{_pre(stage.lines)}'
        if stage.command:
            yield _pre([stage.command])
    yield f"<h2>Files</h2>\n{_pre(verification.files)}"


def junit(verification: Verification) -> str:
    """The report as JUnit XML: a test case for each stage that passed, failed, or was left open or out."""
    shown = [stage for stage in verification.stages if stage.verdict != "done"]
    failed = sum(stage.verdict in ("failed", "undecided") for stage in shown)
    skipped = sum(stage.verdict == "left out" for stage in shown)
    name = xml_attribute(verification.title)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines += [f'<testsuite name={name} tests="{len(shown)}" failures="{failed}" skipped="{skipped}">']
    for stage in shown:
        case = f'  <testcase classname={name} name={xml_attribute(stage.name)} time="{stage.seconds:.3f}"'
        lines += [f"{case}>", *_outcome(stage), "  </testcase>"] if stage.verdict != "passed" else [f"{case}/>"]
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _outcome(stage: Stage) -> Iterator[str]:
    tag = "skipped" if stage.verdict == "left out" else "failure"
    first = xml_attribute(stage.lines[0] if stage.lines else stage.verdict)
    yield f"    <{tag} message={first}>{escape(xml_text(chr(10).join(stage.lines)))}</{tag}>"


def _heading(stage: Stage) -> str:
    return f"{stage.name[:1].upper()}{stage.name[1:]}: {stage.verdict}, {stage.seconds:.1f} s"


def _fenced(lines: object) -> str:
    text = "\n".join(lines)  # type: ignore[arg-type]
    longest = max((len(x) for x in _FENCE.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _pre(lines: object) -> str:
    return f"<pre>{escape(chr(10).join(lines))}</pre>\n"  # type: ignore[arg-type]
