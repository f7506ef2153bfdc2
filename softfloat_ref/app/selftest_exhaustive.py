"""`selftest --exhaustive`: every float32 through the arrays layer, against the oracle's thresholds."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from softfloat_ref.app.options import scalar_format
from softfloat_ref.app.progress import progress
from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import in_order, workers
from softfloat_ref.oracle.policies import parse_rounding
from softfloat_ref.oracle.rounding import Rounding

if TYPE_CHECKING:
    from softfloat_ref.arrays.exhaustive import Checked, Run


def run(
    formats: Sequence[str], roundings: Sequence[str], piece: str | None, jobs: int | None, scheduler: str | None
) -> int:
    """Check the formats under the roundings, by default all of them; returns the exit code.

    Prints one line per run to stdout, without times, so that the output is the same on every machine.
    """
    from softfloat_ref.arrays import exhaustive

    index, of = _slice(piece)
    wanted = [scalar_format(f) for f in formats] or exhaustive.default_formats()
    runs = exhaustive.runs(wanted, [parse_rounding(r) for r in roundings] or Rounding)
    shards = [exhaustive.shards(r, index, of) for r in runs]
    begin = time.monotonic()
    total = sum(len(s.blocks) for part in shards for s in part)
    wrong = 0
    with workers(jobs, scheduler) as pool, progress(total) as bar:
        results = in_order(pool, exhaustive.check, (s for part in shards for s in part))
        for one, part in zip(runs, shards, strict=True):
            done = []
            for shard, checked in zip(part, islice(results, len(part)), strict=True):
                bar.advance(one.name, len(shard.blocks))
                done.append(checked)
            found = exhaustive.combine(done)
            bar.clear()
            _report(one, found)
            wrong += found.wrong
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


def _report(one: Run, found: Checked) -> None:
    print(f"{one.name}: {found.inputs} inputs, {found.wrong} wrong, sha256 {found.digest.hex()[:16]}")
    digits = -(-one.fmt.width // 4)
    for bits, expected, code in found.first:
        print(f"  {bits:08x}: {code:0{digits}x}, should be {expected:0{digits}x}")
    sys.stdout.flush()
    rate = found.inputs / max(found.seconds, 1e-6) / 1e6
    print(f"{one.name}: {found.seconds:.1f} s of a worker, {rate:.0f} M inputs/s", file=sys.stderr)
