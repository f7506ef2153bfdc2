"""`identify`: which policy, block profile, accumulator or affine rule an unknown device is."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import click

from softfloat_ref.app.devices import DeviceChoice, device_options
from softfloat_ref.app.options import Seconds
from softfloat_ref.app.requests import OP, UnitRequest, request_options, where_option
from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis import identified
from softfloat_ref.diagnosis.asking import Asker, ask_arrays, ask_command
from softfloat_ref.diagnosis.identify import Judge
from softfloat_ref.diagnosis.kinds import confirming, examiner
from softfloat_ref.diagnosis.selftest import DOT_K, SelftestSummary, everything, selftest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.testing.devices import DeviceError
from softfloat_ref.units import OPTIONS, Unit
from softfloat_ref.workflow.units import fewest

DEFAULT_COUNT: Final = 2000
DEFAULT_WIDE: Final = 200
PROOF_S: Final = 5.0
MAX_PROVED: Final = 8  # input codes of a unit that is read in time for a proof
_HAS_PROVER: Final = importlib.util.find_spec("bitwuzla") is not None
_IDENTIFIED: Final = ("profile", "acc", "steps", "extrapolate", "scale_policy")
_ALLOWED: Final = ("fmt", "out", "seed", "sr_bits", *(name for name in OPTIONS if name not in _IDENTIFIED))


@click.command("identify")
@click.argument("op", required=False, type=OP)
@device_options
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=0),
    help=f"Number of cases to confirm on [{DEFAULT_COUNT}; blocks and dot: {DEFAULT_WIDE}].",
)
@where_option
@click.option(
    "--prove",
    "proof_s",
    type=Seconds(min=0),
    default=PROOF_S,
    show_default=True,
    help="Seconds to prove that the models left are the same; 0: none.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--selftest", "itself", is_flag=True, help="Identify every model of the library as if it were a device.")
@click.option("--verbose", "-v", is_flag=True, help="With --selftest, print each device, and those that are identical.")
@request_options
def command(
    request: UnitRequest,
    op: str | None,
    device: DeviceChoice,
    count: int | None,
    where: str | None,
    proof_s: float,
    as_json: bool,
    itself: bool,
    verbose: bool,
) -> int:
    """Identify an unknown device for OP, without a golden model. Questions are chosen one by one; cases then confirm.

    The policy, the block profile, the accumulator or the affine rule is what is found; --sr-bits is the number of
    random bits that the device takes, --k the elements of a dot product [64]. Exit code 0 if a model explains every
    answer, 1 if not, or if the device dies, hangs or prints something else.
    """
    if itself:
        request.refuse("--selftest makes its own devices", ("fmt", "out", "k"))
        if where is not None:
            raise Error("--selftest makes its own devices; leave --where out")
        return _selftest(op, request.fmt, request.out, request.options.get("k"), verbose)
    if op is None:
        raise Error("give the operation and --fmt, for example: identify fma --fmt fp16 --dut CMD; or --selftest")
    request.refuse("identify finds the policy, the profile and the accumulator", _ALLOWED)
    device.require()
    vectors = _base(request, op, where)
    count = (DEFAULT_WIDE if vectors.cases.wide else DEFAULT_COUNT) if count is None else count
    try:
        with _asker(vectors.unit, device) as ask:  # first, since the cases take seconds
            examining = examiner(vectors, device.nan)
            examining.judge = _judge(vectors, proof_s)
            result = examining.identify(ask, confirming(vectors, count, request.choices.seed or 0))
    except DeviceError as e:
        print(f"device failure: {e}")
        return 1
    print(
        json.dumps(identified.as_dict(result, vectors.unit), indent=1)
        if as_json
        else "\n".join(identified.lines(result, vectors.unit, vectors.where))
    )
    if len(result.candidates) > 1 and proof_s and not _HAS_PROVER and not as_json:
        print("  pip install 'softfloat-ref[prove]' to prove which of these give the same for every input")
    return 0 if result.complete else 1


def _base(request: UnitRequest, op: str, where: str | None) -> VectorSet:
    """The vectors of the device's unit, with defaults for what will be identified. Raises Error."""
    if own_name(op) == "dot":
        request = replace(request, options={"k": DOT_K, **request.options})
    if (bits := request.choices.table.get("sr_bits")) is not None:
        request = replace(request, choices=replace(request.choices, table={"sr_bits": bits, "rounding": "sr"}))
    vectors = request.vectors(op, None, where=where, default=fewest)
    for name in vectors.unit.held:
        raise Error(f"identify asks one question at a time, and {name} is what a register of the device holds")
    return vectors


def _judge(vectors: VectorSet, limit_s: float) -> Judge | None:
    """Proofs that take that long in all; None without a prover, or for a unit that is too wide."""
    if not limit_s or vectors.unit.input_width > MAX_PROVED or not _HAS_PROVER:
        return None
    from softfloat_ref.proof.equal import compare_units

    end: list[float] = []

    def judge(first: Unit, second: Unit, flags: bool) -> tuple[int, ...] | bool | None:
        end[:] = end or [time.monotonic() + limit_s]
        seconds = end[0] - time.monotonic()
        return compare_units(first, second, flags, seconds, vectors.where) if seconds > 0 else None

    return judge


@contextmanager
def _asker(unit: Unit, device: DeviceChoice) -> Iterator[Asker]:
    if device.command is not None:
        with ask_command(unit, device.command, device.timeout_s, device.base) as ask:
            yield ask
    else:
        with device.load(unit) as function:
            yield ask_arrays(unit, function)


def _selftest(op: str | None, fmt: str | None, out: str | None, k: int | None, verbose: bool) -> int:
    """Print a table: for each operation and format, the devices, those identified, and the number of questions."""
    if (op is None) != (fmt is None):
        raise Error("--selftest: give the operation and --fmt, or neither")
    summaries = everything() if op is None or fmt is None else iter([selftest(op, fmt, out, k)])
    print(f"{'operation':28} {'devices':>7} {'recovered':>9}   questions: fewest, mean, most")
    missed = 0
    for summary in summaries:
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


def _details(summary: SelftestSummary) -> None:
    for d in summary.devices:
        others = [x.name for x in d.result.candidates if x.name != d.name]
        more = f"  not told from: {' | '.join(others)}" if d.recovered and others else ""
        wrong = "" if d.recovered else f"  NOT RECOVERED: {d.result.name}"
        print(f"  {d.result.questions:3}  {d.name}{more}{wrong}")
    for names in summary.same:
        print(f"  the same device: {' = '.join(names)}")
