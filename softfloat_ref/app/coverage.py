"""`coverage report`, `coverage from-results`, `coverage waive`, `coverage export-sv`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from softfloat_ref.app.options import Commands, base_option, with_options
from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.files import read_bytes, write_data
from softfloat_ref.coverage.engine import measure, page
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.engine.measure import read_waivers
from softfloat_ref.golden.manifest import SUITE, read_manifest
from softfloat_ref.golden.readers import LineReader
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import check_hashes
from softfloat_ref.testing.answers import executed_cases
from softfloat_ref.testing.report import reading

WAIVERS: Final = "waivers.toml"  # the file's name in a folder of vectors

_shown = with_options(
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON, with every bin."),
    click.option("--html", metavar="FILE", help="Write the report as one HTML page."),
    click.option("--bins", "every_bin", is_flag=True, help="In the text: every bin, not only the empty ones."),
    click.option("--waive", "waivers", metavar="FILE", help="TOML: bins that need not be hit, and why."),
    click.option("--require-coverage", "required", is_flag=True, help="Exit with code 1 if a reachable bin is empty."),
)


@click.group("coverage", cls=Commands)
def command() -> None:
    """Coverage of vectors and of simulations, bin by bin; waivers; covergroups."""


@command.command("report")
@click.argument("folder", metavar="DIR")
@click.option("--limit", type=click.IntRange(min=1), default=measure.MOST, show_default=True, help="Cases to examine.")
@_shown
def report(folder: str, limit: int, **how: Any) -> int:
    """List the bins of each coverage model and how often the vectors in DIR hit them.

    A bin is hit, empty, waived, or unreachable. Nothing can hit an unreachable bin; the report gives the reason. For a
    mixed set, the table has a row for each part; the ids of its bins begin with its name.
    """
    vectors, coverage = _set(folder)
    coverage_report = measure.set_report(vectors, _waived(folder, how["waivers"], coverage), limit)
    assert coverage_report is not None
    return _print(coverage_report, **how)


@command.command("from-results")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--golden", "folder", required=True, metavar="DIR", help="The vectors that were simulated.")
@base_option
@click.option("--merge", is_flag=True, help="Write one report of all runs together.")
@_shown
def from_results(runs: Sequence[str], folder: str, base: str | None, merge: bool, **how: Any) -> int:
    """Measure what a simulation executed. RUN is a log of its results.

    A line of a log is `operands result [flags]`, or `result [flags]` in the order of the vectors in DIR.
    """
    if not merge and len(runs) > 1 and (how["as_json"] or how["html"]):
        raise Error("several runs need --merge, which makes one report of them; or give one RUN")
    vectors, coverage = _set(folder)
    waived = _waived(folder, how["waivers"], coverage)
    counted = [measure.count(coverage, executed_cases(vectors, run, base, _print_reading)) for run in runs]
    if merge:
        hits = sum((hits for hits, _ in counted), Counter[str]())
        counted = [(hits, sum(cases for _, cases in counted))]
    titles = [f"{len(runs)} runs" if len(runs) > 1 else runs[0]] if merge else list(runs)
    failed = 0
    for title, hits_and_cases in zip(titles, counted, strict=True):
        coverage_report = measure.report(
            coverage, vectors.name, f"{hits_and_cases[1]} cases executed in {title}", hits_and_cases, waived
        )
        failed |= _print(coverage_report, **how)
    return failed


def _print_reading(reader: LineReader) -> None:
    for line in reading(reader.form, reader.left_out):
        print(line, file=sys.stderr)


@command.command("waive")
@click.argument("waivers", metavar="FILE")
@click.argument("folder", metavar="DIR")
def waive(waivers: str, folder: str) -> None:
    """Waive bins of the vectors in DIR. FILE is checked and copied there, and reports on DIR use it.

    FILE is TOML: tables [[waive]] with bin (an id, or a pattern with * and ?) and reason. It replaces earlier waivers.
    """
    _, coverage = _set(folder)
    waived = read_waivers(waivers, coverage)
    lost = _replaced(folder, waived, coverage)
    write_data(Path(folder, WAIVERS), read_bytes(waivers, limits.TOML))
    for name, reason in waived.items():
        print(f"waived: {name} ({reason})")
    print(f"{counted(len(waived), 'bin')} waived in {Path(folder, WAIVERS)}{lost}", file=sys.stderr)


def _replaced(folder: str, waived: dict[str, str], coverage: Coverage) -> str:
    """For the summary, how the new waivers change those that the folder has; '' if it has none."""
    path = Path(folder, WAIVERS)
    if not path.is_file():
        return ""
    try:
        before = read_waivers(path, coverage)
    except Error:  # a broken file is replaced by a valid one
        return "; replaced a file that did not hold waivers"
    lost = len(before.keys() - waived.keys())
    return f"; replaced the earlier waivers, {counted(len(before), 'bin')}, {lost} of them no longer waived"


@command.command("export-sv")
@click.argument("folder", metavar="DIR")
@click.option("-o", "--output", required=True, metavar="FILE.sv", help="The package to write, with the covergroups.")
def export_sv(folder: str, output: str) -> None:
    """Write SystemVerilog covergroups with the ids of the bins of the vectors in DIR.

    They are sampled with the fields of a case. docs/coverage.md lists the models they contain.
    """
    from softfloat_ref.coverage.operation.setting import OperationSetting
    from softfloat_ref.coverage.operation.sv_covergroups import package

    vectors, coverage = _set(folder)
    if not isinstance(coverage.where, OperationSetting):
        raise Error(f"export-sv writes covergroups of scalar operations, not of {vectors.name}")
    written = package(coverage, vectors.name)
    write_data(output, written.text.encode("ascii"))
    print(f"{output}: {written.bins} bins of {', '.join(written.models)}", file=sys.stderr)


def _set(folder: str) -> tuple[VectorSet, Coverage]:
    """The set of a folder and its coverage models. Raises Error if there are none."""
    path = Path(folder)
    if (path / SUITE).is_file():
        raise Error(f"{folder}: a suite; give the folder of one of its sets")
    vectors = check_hashes(path, read_manifest(path))
    coverage = vectors.coverage
    if coverage is None:
        raise Error(f"{folder}: there are no coverage models for {vectors.name}")
    return vectors, coverage


def _waived(folder: str, waivers: str | None, coverage: Coverage) -> dict[str, str]:
    """The waivers of the command, and those in the folder."""
    path = Path(folder, WAIVERS)
    waived = read_waivers(path, coverage) if path.is_file() else {}
    return {**waived, **(read_waivers(waivers, coverage) if waivers is not None else {})}


def _print(
    coverage_report: measure.CoverageReport,
    as_json: bool,
    html: str | None,
    every_bin: bool,
    required: bool,
    waivers: str | None,
) -> int:
    if html is not None:
        write_data(html, page.html(coverage_report))
    if as_json:
        print(json.dumps(coverage_report.to_dict(), indent=1))
    else:
        print("\n".join(page.text(coverage_report, every_bin)))
    return int(required and bool(coverage_report.empty))
