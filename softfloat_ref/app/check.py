"""`check`: a device against the oracle."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from softfloat_ref.app.options import Choices, Name, policy_options, profile_option
from softfloat_ref.app.requests import DOT, QUANTIZATIONS, dot_options, request
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import check_place, write_file
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import check_hashes
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.testing import report as reports
from softfloat_ref.testing.check import SHOWN, Report, check_arrays, check_command, check_results
from softfloat_ref.testing.compare import CompareNan
from softfloat_ref.testing.library import load_library
from softfloat_ref.units import REQUESTS

if TYPE_CHECKING:
    from softfloat_ref.diagnosis.ranking import Diagnosis

DEFAULT_COUNT: Final = 100_000
DEFAULT_WIDE: Final = 10_000
COUNT: Final = click.IntRange(min=1)
MAX_LIBRARY_WIDTH: Final = 64


@click.command("check")
@click.argument("op", required=False, type=Name("OP", [*OPERATIONS, *QUANTIZATIONS, DOT]))
@click.option("--fmt", default=None, help="Format, or one per operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32.")
@click.option("--out", default=None, help="The result's format.")
@click.option("--dut", default=None, metavar="CMD", help="A command: operand lines in, `result [flags]` lines out.")
@click.option("--dut-lib", default=None, metavar="SO:NAME", help="A C function of arrays in a shared library.")
@click.option("--golden", default=None, metavar="DIR", help="A folder of vectors, with --results.")
@click.option("--results", default=None, metavar="FILE", help="What a simulator wrote: one answer per line.")
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=1),
    default=None,
    help=f"Number of cases [{DEFAULT_COUNT}; blocks, dot: {DEFAULT_WIDE}].",
)
@click.option("--compare-nan", type=click.Choice([str(c) for c in CompareNan]), default="exact", show_default=True)
@click.option("--flags/--no-flags", default=True, show_default=True, help="Compare flags, if the device has any.")
@click.option("--ulp", default=None, metavar="N", help="Largest error allowed, in ulp, such as 0.75.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.01),
    default=10.0,
    show_default=True,
    help="Timeout per answer, in seconds.",
)
@click.option(
    "--show", type=click.IntRange(min=0), default=SHOWN, show_default=True, help="Number of mismatches to show."
)
@click.option("--diagnose/--no-diagnose", default=True, show_default=True, help="Report what the device seems to do.")
@click.option("--json", "json_file", default=None, metavar="FILE", help="Write the report as JSON (- for stdout).")
@click.option("--junit", default=None, metavar="FILE", help="Write the report as JUnit XML (- for stdout).")
@dot_options
@profile_option
@policy_options
def command(
    choices: Choices,
    seed: int | None,
    dots: dict[str, Any],
    profile: str | None,
    op: str | None,
    fmt: str | None,
    out: str | None,
    dut: str | None,
    dut_lib: str | None,
    golden: str | None,
    results: str | None,
    count: int | None,
    compare_nan: str,
    flags: bool,
    ulp: str | None,
    timeout: float,
    show: int,
    diagnose: bool,
    json_file: str | None,
    junit: str | None,
) -> int:
    """Check a device for OP: special cases first, then random cases. The first mismatches are explained.

    Exit code 0 if everything agrees, 1 for a mismatch or a device that dies, hangs or prints something else.
    """
    if json_file is not None and json_file == junit:
        raise Error(f"--json and --junit both write to {json_file}; give one of them another file")
    for path in (json_file, junit):
        if path not in (None, "-"):
            check_place(str(path))
    how: dict[str, Any] = {"nan": CompareNan(compare_nan), "flags": flags, "shown": show}
    how["limit"] = None if ulp is None else _limit(ulp)
    if golden is not None or results is not None:
        given = [
            *choices.given,
            *(k for k, v in (("fmt", fmt), ("out", out), ("seed", seed), ("n", count)) if v is not None),
        ]
        if given:
            option = "-n" if given[0] == "n" else f"--{given[0].replace('_', '-')}"
            raise Error(f"--golden has its own cases and policy; leave {option} out")
        found = _from_files(golden, results, op, dut or dut_lib, how)
    else:
        default = DEFAULT_WIDE if op in REQUESTS else DEFAULT_COUNT
        vectors = request(op, fmt, out, choices, profile, dots, count=count or default, seed=seed or 0)
        found = _from_device(vectors, dut, dut_lib, timeout, how)
    if "-" not in (json_file, junit):
        for line in reports.text(found):
            print(line)
        sys.stdout.flush()  # a diagnosis may take a while
    cause = _diagnosis(found, dut, timeout, how) if diagnose and ulp is None else None
    _deliver(found, cause, json_file, junit)
    return 0 if found.passed else 1


def _limit(text: str) -> Fraction:
    """The largest error allowed, in ulp. Raises Error."""
    try:
        limit = parse_number(text)
    except Error:
        limit = None
    if isinstance(limit, Fraction):
        return limit
    if limit is None or not limit.is_zero:
        raise Error(f"--ulp {text[:40]}: give a number of units in the last place, such as 1 or 0.75")
    return Fraction(0)


def _from_files(
    golden: str | None, results: str | None, op: str | None, device: str | None, how: dict[str, Any]
) -> Report:
    if golden is None or results is None:
        raise Error("--golden DIR and --results FILE go together")
    if op is not None or device is not None:
        raise Error("--golden has its own operation and formats, and no device; leave OP, --dut and --dut-lib out")
    manifest = read_manifest(Path(golden))
    return check_results(check_hashes(Path(golden), manifest).compared(), results, **how)


def _from_device(
    vectors: VectorSet, dut: str | None, dut_lib: str | None, timeout: float, how: dict[str, Any]
) -> Report:
    if (dut is None) == (dut_lib is None):
        raise Error("give one device: --dut CMD or --dut-lib PATH.so:NAME (or --golden DIR --results FILE)")
    if dut is not None:
        return check_command(vectors, dut, timeout_s=timeout, **how)
    words = [f.width for f in vectors.fields if f.role in ("operand", "random", "result")]
    if max(words) > MAX_LIBRARY_WIDTH:
        raise Error(f"--dut-lib: codes have up to {MAX_LIBRARY_WIDTH} bits there; give a command, with --dut")
    with load_library(str(dut_lib), len(words) - 1, timeout) as device:
        return check_arrays(vectors, device, **how)


def _diagnosis(found: Report, dut: str | None, timeout: float, how: dict[str, Any]) -> Diagnosis | None:
    """What the device seems to do; a command that still answers is queried for simpler mismatches."""
    if not found.wrong:
        return None
    from softfloat_ref.diagnosis.asking import ask_command
    from softfloat_ref.diagnosis.checked import diagnosis_of

    if dut is None or found.failure:
        return diagnosis_of(found, how["nan"], how["flags"])
    with ask_command(found.vectors.unit, dut, timeout) as ask:
        return diagnosis_of(found, how["nan"], how["flags"], ask)


def _deliver(found: Report, cause: Diagnosis | None, json_file: str | None, junit: str | None) -> None:
    from softfloat_ref.diagnosis import report as causes

    said = causes.lines(cause, found.vectors.unit) if cause else []
    more = {"diagnosis": causes.as_dict(cause, found.vectors.unit)} if cause else {}
    if json_file == "-":
        print(reports.to_json(found, more))
    elif junit != "-":
        for line in said:
            print(line)
    if junit == "-":
        print(reports.to_junit(found, said), end="")
    contents = (json_file, partial(reports.to_json, more=more)), (junit, partial(reports.to_junit, more=said))
    for path, content in contents:
        if path is not None and path != "-":
            data = content(found).encode()
            write_file(path, lambda stream, data=data: stream.write(data))  # type: ignore[misc]
    print(reports.summary(found), file=sys.stderr)
