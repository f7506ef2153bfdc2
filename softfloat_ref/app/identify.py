"""`identify`: which policy, block profile, accumulator or affine rule an unknown device is."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from softfloat_ref.app.check import MAX_LIBRARY_WIDTH
from softfloat_ref.app.options import Name
from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis import identified
from softfloat_ref.diagnosis.asking import Asker, ask_arrays, ask_command
from softfloat_ref.diagnosis.kinds import confirming, examiner
from softfloat_ref.diagnosis.selftest import Summary, everything, selftest, subject
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.testing.compare import CompareNan
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.testing.library import load_library
from softfloat_ref.units import Unit

DEFAULT_COUNT: Final = 2000
DEFAULT_WIDE: Final = 200
REQUESTED: Final = ("quantize", "dequantize", "dot")  # subjects besides the operations


@click.command("identify")
@click.argument("op", required=False, type=Name("OP", [*OPERATIONS, *REQUESTED]))
@click.option("--fmt", default=None, help="Format, or one per operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32.")
@click.option("--out", default=None, help="The result's format.")
@click.option("--dut", default=None, metavar="CMD", help="A command: operand lines in, `result [flags]` lines out.")
@click.option("--dut-lib", default=None, metavar="SO:NAME", help="A C function of arrays in a shared library.")
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=0),
    default=None,
    help=f"Number of cases to confirm on [{DEFAULT_COUNT}; blocks and dot: {DEFAULT_WIDE}].",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of those cases.")
@click.option("--compare-nan", type=click.Choice([str(c) for c in CompareNan]), default="exact", show_default=True)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.01),
    default=10.0,
    show_default=True,
    help="Timeout per answer, in seconds.",
)
@click.option(
    "--sr-bits",
    type=click.IntRange(1, 64),
    default=None,
    help="Number of random bits per operation, an operand of the device.",
)
@click.option("--k", "k", type=click.IntRange(min=1), default=None, help="dot: elements [64].")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--selftest", "itself", is_flag=True, help="Identify every model of the library as if it were a device.")
@click.option("--verbose", "-v", is_flag=True, help="With --selftest, print each device, and those that are identical.")
def command(
    op: str | None,
    fmt: str | None,
    out: str | None,
    dut: str | None,
    dut_lib: str | None,
    count: int | None,
    seed: int,
    compare_nan: str,
    timeout: float,
    sr_bits: int | None,
    k: int | None,
    as_json: bool,
    itself: bool,
    verbose: bool,
) -> int:
    """Identify an unknown device for OP, without a golden model. Questions are chosen one by one; cases then confirm.

    Exit code 0 if a model explains every answer, 1 if not, or if the device dies, hangs or prints something else.
    """
    if itself:
        return _selftest(op, fmt, out, k, verbose)
    if op is None or fmt is None:
        raise Error("give the operation and --fmt, for example: identify fma --fmt fp16 --dut CMD; or --selftest")
    if (dut is None) == (dut_lib is None):
        raise Error("give one device: --dut CMD or --dut-lib PATH.so:NAME")
    vectors = subject(op.strip().lower().replace("-", "_"), fmt, out, k=k, sr_bits=sr_bits)
    count = (DEFAULT_WIDE if vectors.cases.wide else DEFAULT_COUNT) if count is None else count
    try:
        with _device(vectors.unit, dut, dut_lib, timeout) as ask:  # first, since the cases take seconds
            found = examiner(vectors, CompareNan(compare_nan)).identify(ask, confirming(vectors, count, seed))
    except DeviceError as e:
        print(f"device failure: {e}")
        return 1
    print(
        json.dumps(identified.as_dict(found, vectors.unit), indent=1)
        if as_json
        else "\n".join(identified.lines(found, vectors.unit))
    )
    return 0 if found.complete else 1


@contextmanager
def _device(unit: Unit, dut: str | None, dut_lib: str | None, timeout: float) -> Iterator[Asker]:
    if dut is not None:
        with ask_command(unit, dut, timeout) as ask:
            yield ask
        return
    fields = [*unit.inputs, *unit.results]
    if any(f.lanes > 1 for f in fields):
        raise Error("--dut-lib: functions of arrays take scalar operations; give a command, with --dut")
    widths = [f.width for f in fields]
    if max(widths) > MAX_LIBRARY_WIDTH:
        raise Error(f"--dut-lib: codes have up to {MAX_LIBRARY_WIDTH} bits there; give a command, with --dut")
    with load_library(str(dut_lib), len(widths) - 1, timeout) as device:
        yield ask_arrays(unit, device)


def _selftest(op: str | None, fmt: str | None, out: str | None, k: int | None, verbose: bool) -> int:
    """Print a table: for each operation and format, the devices, those identified, and the number of questions."""
    if (op is None) != (fmt is None):
        raise Error("--selftest: give the operation and --fmt, or neither")
    found = everything() if op is None or fmt is None else iter([selftest(op, fmt, out, k)])
    print(f"{'operation':28} {'devices':>7} {'recovered':>9}   questions: fewest, mean, most")
    missed = 0
    for summary in found:
        fewest, mean, most = summary.questions
        print(
            f"{summary.subject:28} {len(summary.devices):7} {summary.recovered:9}   {fewest:18} {mean:5.1f} {most:5}",
            flush=True,
        )
        missed += len(summary.devices) - summary.recovered
        if verbose:
            _details(summary)
    print("all recovered" if not missed else f"{missed} not recovered", file=sys.stderr)
    return int(missed > 0)


def _details(summary: Summary) -> None:
    for d in summary.devices:
        others = [x.name for x in d.result.found if x.name != d.name]
        more = f"  not told from: {' | '.join(others)}" if d.recovered and others else ""
        wrong = "" if d.recovered else f"  NOT RECOVERED: {d.result.name}"
        print(f"  {d.result.questions:3}  {d.name}{more}{wrong}")
    for names in summary.same:
        print(f"  the same device: {' = '.join(names)}")
