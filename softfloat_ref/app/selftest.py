"""`selftest`: checks this installation's arithmetic against exact rationals (gmpy2's) or, for every float32 through the
arrays layer, against the oracle's thresholds."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from softfloat_ref.app.options import SCALAR, SCHEDULERS, NameType, scalar_format
from softfloat_ref.app.output import progress
from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import in_order, workers
from softfloat_ref.golden.cases import cases
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS, parse_rounding
from softfloat_ref.oracle.rounding import Rounding

if TYPE_CHECKING:
    from softfloat_ref.arrays.exhaustive import ConversionRun, ShardResult

FORMATS: Final = ("fp8_e5m2", "fp16", "bf16", "fp32", "fp64")
CASES: Final = 2000


@click.command("selftest")
@click.option("--exhaustive", is_flag=True, help="Every float32, through the arrays layer.")
@click.option(
    "--fmt", "formats", multiple=True, type=SCALAR, help="Exhaustive: a format (default: all up to 8 bits, and more)."
)
@click.option(
    "--round",
    "roundings",
    multiple=True,
    type=NameType("MODE", ROUNDINGS),
    help="Exhaustive: a rounding (default: all).",
)
@click.option("--slice", "piece", metavar="I/N", help="Exhaustive: the I-th of N slices of the inputs.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    help="Exhaustive: number of processes (default: one per processor).",
)
@click.option("--scheduler", metavar=SCHEDULERS, help="Exhaustive: on a Dask cluster.")
def command(
    exhaustive: bool,
    formats: tuple[str, ...],
    roundings: tuple[str, ...],
    piece: str | None,
    jobs: int | None,
    scheduler: str | None,
) -> int:
    """Check this installation: every code round trip, and results against exact rational arithmetic.

    With --exhaustive: all 2^32 float32 through the arrays layer, for every format up to 8 bits, bf16, fp16 and tf32
    and every rounding (stochastic ones with fixed random bits), compared with the oracle's thresholds. Exit code 1 if
    anything disagrees.
    """
    if exhaustive:
        return run_exhaustive(formats, roundings, piece, jobs, scheduler)
    if formats or roundings or piece or jobs or scheduler:
        raise Error("--fmt, --round, --slice, --jobs and --scheduler only apply to --exhaustive")
    return _by_rationals()


def _by_rationals() -> int:
    from gmpy2 import mpq

    failures = _round_trips() + sum(_arithmetic(CATALOGUE[name], mpq) for name in FORMATS)
    print("selftest passed" if failures == 0 else f"selftest FAILED: {failures} disagreements")
    return int(failures > 0)


def _round_trips() -> int:
    """Every non-NaN code of every format up to 16 bits decodes and encodes to itself without raising a flag."""
    failures = checked = 0
    for fmt in CATALOGUE.values():
        if fmt.width <= 16:
            decode, encode = decoder(fmt), encoder(fmt, POLICIES["ieee"])
            for code in range(1 << fmt.width):
                if not fmt.is_nan(code):
                    checked += 1
                    failures += encode(decode(code), 0) != (code, 0)
    print(f"round trips: {checked} codes, {failures} wrong")
    return failures


def _arithmetic(fmt: Format, mpq: Any) -> int:
    """Each finite result of add, mul and fma is at least as close to the exact one as its neighbours."""
    failures = checked = 0
    decode = decoder(fmt)
    for op, arity in (("add", 2), ("mul", 2), ("fma", 3)):
        sig = signature(op, fmt)
        run = evaluator(sig, POLICIES["ieee"])
        for case in cases((fmt,) * arity, 1, CASES):
            values = [decode(code) for code in case]
            result = run(case, 0)[0]
            if not all(v.is_finite for v in (*values, decode(result))):
                continue
            x = [mpq(v.as_fraction()) for v in values]
            exact = x[0] + x[1] if op == "add" else x[0] * x[1] + (x[2] if arity == 3 else 0)
            checked += 1
            failures += not _is_nearest(result, exact, fmt)
    print(f"{fmt.name}: {checked} results, {failures} wrong")
    return failures


def _is_nearest(code: int, exact: Any, fmt: Format) -> bool:
    magnitude = code & fmt.magnitude_mask
    around = [magnitude + d for d in (-1, 1) if 0 <= magnitude + d <= fmt.max_code]
    error = abs(_rational(code, fmt) - exact)
    return all(error <= abs(_rational(n | code & fmt.sign_bit, fmt) - exact) for n in around)


def _rational(code: int, fmt: Format) -> Fraction:
    return decoder(fmt)(code).as_fraction()


# -- exhaustive --------------------------------------------------------------------------------------------------------


def run_exhaustive(
    formats: Sequence[str], roundings: Sequence[str], piece: str | None, jobs: int | None, scheduler: str | None
) -> int:
    """Check the formats under the roundings, by default all of them; returns the exit code.

    Prints one line per run to stdout, without times, so that the output is the same on every machine.
    """
    from softfloat_ref.arrays import exhaustive

    index, of = _slice(piece)
    targets = [scalar_format(f) for f in formats] or exhaustive.default_formats()
    runs = exhaustive.runs(targets, [parse_rounding(r) for r in roundings] or Rounding)
    shards = [exhaustive.shards(r, index, of) for r in runs]
    begin = time.monotonic()
    total = sum(len(s.blocks) for part in shards for s in part)
    wrong = 0
    with workers(jobs, scheduler) as pool, progress(total) as bar:
        results = in_order(pool, exhaustive.check, (s for part in shards for s in part))
        for run, part in zip(runs, shards, strict=True):
            parts = []
            for shard, checked in zip(part, islice(results, len(part)), strict=True):
                bar.advance(run.name, len(shard.blocks))
                parts.append(checked)
            combined = exhaustive.combine(parts)
            bar.clear()
            _report(run, combined)
            wrong += combined.wrong
    print(f"all: {time.monotonic() - begin:.1f} s", file=sys.stderr)
    print("selftest passed" if wrong == 0 else f"selftest FAILED: {wrong} disagreements")
    return int(wrong > 0)


def _slice(text: str | None) -> tuple[int, int]:
    """`I/N` as two numbers."""
    if text is None:
        return 1, 1
    match = re.fullmatch(r"([0-9]{1,5})/([0-9]{1,5})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise Error(f"--slice {text!r}: give I/N with I from 1 to N, such as 3/997")
    return int(match[1]), int(match[2])


def _report(run: ConversionRun, combined: ShardResult) -> None:
    print(f"{run.name}: {combined.inputs} inputs, {combined.wrong} wrong, sha256 {combined.digest.hex()[:16]}")
    digits = -(-run.fmt.width // 4)
    for bits, expected, code in combined.first:
        print(f"  {bits:08x}: {code:0{digits}x}, should be {expected:0{digits}x}")
    sys.stdout.flush()
    rate = combined.inputs / max(combined.seconds, 1e-6) / 1e6
    print(f"{run.name}: {combined.seconds:.1f} s of a worker, {rate:.0f} M inputs/s", file=sys.stderr)
