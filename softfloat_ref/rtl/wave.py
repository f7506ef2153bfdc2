"""Waveforms around the first failure of a generated bench: the first run finds its cycle, the second dumps."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.bench_runs import BenchRun, Build
from softfloat_ref.rtl.simulators import Simulator

FIND: Final = "+wave_find"  # the plusarg of the first run
BEFORE: Final = 64  # cycles before the failure
AFTER: Final = 8
_KINDS: Final = (".fst", ".vcd")
_FAILURE_CYCLE: Final = re.compile(r"^first failure in cycle (\d+)$", re.MULTILINE)
_HEADERS: Final = ("lz4.h", "zlib.h")  # that the writer of FST, which Verilator compiles, includes


def is_fst(wave: str) -> bool:
    """Whether a waveform is FST; VCD if not. Raises Error for another kind of file."""
    if Path(wave).suffix not in _KINDS:
        raise Error(f"--wave {wave}: the name must end in {' or '.join(_KINDS)}")
    return Path(wave).suffix == _KINDS[0]


def dump(
    simulator: Simulator, build: Build, plusargs: Iterable[str], wave: str, first: BenchRun, timeout_s: float
) -> str:
    """Dump around the first failure of a bench that was built for it; returns the result in words.

    first: the first run, with `FIND` among its plusargs. Raises Error if no file was written.
    """
    match = _FAILURE_CYCLE.search(first.output)
    if match is None:
        return f"{wave}: not written, since no cycle failed"
    bad = int(match[1])
    start, end = max(0, bad - BEFORE), bad + AFTER
    written = build.folder / f"{build.top}{Path(wave).suffix}"
    cycles = [f"+wave={written.resolve()}", f"+wave_from={start}", f"+wave_to={end}"]
    build.run([*plusargs, *cycles, *simulator.wave_arguments(is_fst(wave))[1]], timeout_s)
    if not written.is_file():
        raise Error(f"{wave}: {simulator.name} wrote no waveform")
    shutil.move(written, wave)
    return f"{wave}: cycles {start} to {end}; the first failure is in cycle {bad}"


def way_on(reason: str) -> str:
    """The reason why a build failed, with what to do if FST cannot be built."""
    if any(header in reason for header in _HEADERS):
        return f"{reason}; for FST, verilator needs liblz4-dev and zlib1g-dev: install them, or give --wave FILE.vcd"
    return reason
