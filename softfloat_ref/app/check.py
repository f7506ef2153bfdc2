"""`check`: a device against the oracle."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softfloat_ref.app.devices import DeviceChoice, KappaChoice, device_options, kappa_options
from softfloat_ref.app.requests import OP, UnitRequest, request_options, where_option
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import check_place, write_data
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.readers import WaveSignals
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import check_hashes
from softfloat_ref.oracle.literals import ulp_limit
from softfloat_ref.testing import report as reports
from softfloat_ref.testing.check import check_arrays, check_command, check_results
from softfloat_ref.testing.judge import SHOWN, CheckReport
from softfloat_ref.workflow.units import DEFAULT_BLOCKS, DEFAULT_CASES, DEFAULT_LANES, default_cases

if TYPE_CHECKING:
    from softfloat_ref.diagnosis.parts import ReportDiagnosis


@click.command("check")
@click.argument("op", required=False, type=OP)
@device_options
@click.option("--golden", metavar="DIR", help="A folder of vectors, with --results, or with a device.")
@click.option("--results", metavar="FILE", help="What a simulator wrote: one answer per line, or an image of a memory.")
@click.option("--signal", "signals", metavar="FIELD=NAME", multiple=True, help="Of a waveform (--results FILE.vcd).")
@click.option("--clock", metavar="NAME", help="The clock at whose edges --signal is sampled; !NAME: falling edges.")
@click.option("--valid", metavar="NAME", help="The signal that is 1 where --signal has a result.")
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=1),
    help=f"Number of cases [{DEFAULT_CASES}; blocks, dot, qint: {DEFAULT_BLOCKS}; softmax, norms: {DEFAULT_LANES}].",
)
@click.option("--flags/--no-flags", default=True, show_default=True, help="Compare flags, if the device has any.")
@click.option("--exhaustive", is_flag=True, help="Every possible case, instead of a number of them.")
@click.option("--ulp", metavar="N", help="Largest error allowed, in ulp, such as 0.75.")
@kappa_options
@where_option
@click.option(
    "--show", type=click.IntRange(min=0), default=SHOWN, show_default=True, help="Number of mismatches to show."
)
@click.option("--diagnose/--no-diagnose", default=True, show_default=True, help="Report what the device seems to do.")
@click.option("--json", "json_file", metavar="FILE", help="Write the report as JSON (- for stdout).")
@click.option("--junit", metavar="FILE", help="Write the report as JUnit XML (- for stdout).")
@request_options
def command(
    request: UnitRequest,
    device: DeviceChoice,
    op: str | None,
    golden: str | None,
    results: str | None,
    signals: tuple[str, ...],
    clock: str | None,
    valid: str | None,
    count: int | None,
    flags: bool,
    exhaustive: bool,
    ulp: str | None,
    kappa: KappaChoice,
    where: str | None,
    show: int,
    diagnose: bool,
    json_file: str | None,
    junit: str | None,
) -> int:
    """Check a device for OP: directed cases first, then random cases. The first mismatches are explained.

    Exit code 0 if everything agrees, 1 for a mismatch or a device that dies, hangs or prints something else.
    """
    if json_file is not None and json_file == junit:
        raise Error(f"--json and --junit both write to {json_file}; give one of them another file")
    for path in (json_file, junit, kappa.file):
        if path not in (None, "-"):
            check_place(str(path))
    how: dict[str, Any] = {"nan": device.nan, "flags": flags, "shown": show}
    how |= {"limit": None if ulp is None else ulp_limit(ulp), "kappa": kappa.allowance}
    if None not in (ulp, kappa.allowance):
        raise Error("--ulp and --kappa are two measures of one error; give one of them")
    if exhaustive and count is not None:
        raise Error("--exhaustive checks every case; leave -n out")
    waves = WaveSignals.of_options(signals, clock, valid)
    if waves is not None and results is None:
        raise Error("--signal is for --results FILE, a waveform")
    if golden is not None or results is not None:
        request.refuse("--golden has its own cases and policy")
        for option, value in (("-n", count), ("--exhaustive", exhaustive or None)):
            if value is not None:
                raise Error(f"--golden has its own cases and policy; leave {option} out")
        report = _from_files(golden, results, op, device, how | {"where": where or "", "signals": waves})
    else:
        level = EXHAUSTIVE if exhaustive else None
        report = _from_device(request.vectors(op, count, level, where=where, default=default_cases), device, how)
    if "-" not in (json_file, junit):
        for line in reports.report_lines(report):
            print(line)
        sys.stdout.flush()  # a diagnosis may take a while
    cause = _diagnosis(report, device) if diagnose else None
    kappa.declare(report)
    _deliver(report, cause, json_file, junit)
    return 0 if report.passed else 1


def _from_files(
    golden: str | None, results: str | None, op: str | None, device: DeviceChoice, how: dict[str, Any]
) -> CheckReport:
    """The check of a folder's cases: of a file of results, or of a device."""
    if golden is None:
        raise Error("--results FILE needs --golden DIR, the vectors that it belongs to")
    if op is not None:
        raise Error("--golden has its own operation and formats; leave OP out")
    has_device = device.command is not None or device.library is not None
    if has_device == (results is not None):
        raise Error("--golden DIR needs --results FILE or a device (--dut CMD or --dut-lib), one of them")
    vectors = check_hashes(Path(golden), read_manifest(Path(golden))).compared()
    if has_device:
        return _from_device(vectors, device, {name: x for name, x in how.items() if name != "signals"})
    return check_results(vectors, str(results), device.base, **how)


def _from_device(vectors: VectorSet, device: DeviceChoice, how: dict[str, Any]) -> CheckReport:
    device.require(" (or --golden DIR --results FILE)")
    if device.command is not None:
        return check_command(vectors, device.command, timeout_s=device.timeout_s, base=device.base, **how)
    with device.load(vectors.unit) as function:
        return check_arrays(vectors, function, **how)


def _diagnosis(report: CheckReport, device: DeviceChoice) -> ReportDiagnosis | None:
    """What the device seems to do; a command that still answers is queried for simpler mismatches."""
    if not report.mismatched:
        return None
    from softfloat_ref.diagnosis.asking import ask_command
    from softfloat_ref.diagnosis.parts import explanation

    if device.command is None or report.failure or report.parts:
        return explanation(report)
    with ask_command(report.vectors.unit, device.command, device.timeout_s, device.base) as ask:
        return explanation(report, ask)


def _deliver(report: CheckReport, cause: ReportDiagnosis | None, json_file: str | None, junit: str | None) -> None:
    diagnosis, more = (cause.lines(), cause.as_dict()) if cause else ([], {})
    if "-" not in (json_file, junit):
        for line in diagnosis:
            print(line)
    for path, text, end in ((json_file, partial(reports.to_json, report, more), "\n"),
                            (junit, partial(reports.to_junit, report, diagnosis), "")):  # fmt: skip
        if path == "-":
            print(text(), end=end)
        elif path is not None:
            write_data(path, text())
    print("\n".join([*reports.reading(report.form, report.not_compared), reports.summary(report)]), file=sys.stderr)
