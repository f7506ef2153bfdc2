"""`python -m tests.campaigns.fuzz.bounds [READER...]`: the time and the memory that inputs take, each reader in a
process of its own, which is ended when an input takes too much; exit code 1 unless every input is accepted, or refused
in one line."""

from __future__ import annotations

import gc
import json
import mmap
import os
import resource
import signal
import struct
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from fuzz import guard
from fuzz.__main__ import all_readers, workplace
from fuzz.reader import Reader
from softfloat_ref.base.errors import Error

SECONDS: Final = 60.0  # of the clock, for one input: C code that does not end gets no signal that a function handles
EXAMPLE_SECONDS: Final = 120.0  # for the examples, by which loops are compiled
_PLACE: Final = struct.Struct("q")  # the number of the input that is being read
_SHOWN: Final = 20


@dataclass
class Found:
    """What came of some inputs. slowest: seconds, bytes, number; largest: MiB more than before, bytes, number."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    slowest: tuple[float, int, int] = (0.0, 0, 0)
    largest: tuple[float, int, int] = (0.0, 0, 0)
    faults: list[str] = field(default_factory=list)

    def __add__(self, other: Found) -> Found:
        return Found(
            self.inputs + other.inputs,
            self.accepted + other.accepted,
            self.refused + other.refused,
            max(self.slowest, other.slowest),
            max(self.largest, other.largest),
            self.faults + other.faults,
        )


def measured(reader: Reader, work: Path, first: int, count: int) -> Found:
    """What the inputs of those numbers take. A process that dies, or is ended, goes on with the next number."""
    total, number = Found(), first
    while number < first + count:
        part, number = _in_child(reader, work, number, first + count - number)
        total += part
    return total


def _in_child(reader: Reader, work: Path, first: int, count: int) -> tuple[Found, int]:
    """The result of a process, and the number to go on with."""
    place = mmap.mmap(-1, _PLACE.size)
    _PLACE.pack_into(place, 0, -1)
    with tempfile.TemporaryFile("w+") as results:  # no pipe: what is not read would fill it
        child = os.fork()
        if child == 0:
            status = 1
            with suppress(BaseException):
                _work(reader, work, range(first, first + count), place, results)
                status = 0
            os._exit(status)
        ended = _watched(child, place)
        results.seek(0)
        lines = results.readlines()
    parts = [
        Found(**{**x, "slowest": tuple(x["slowest"]), "largest": tuple(x["largest"])}) for x in map(json.loads, lines)
    ]
    total = sum(parts, Found())
    if ended == 0:
        return total, first + count
    number = max(first, _PLACE.unpack_from(place, 0)[0])
    what = f"ended by signal {-ended}" if ended < 0 else f"ended with code {ended}"
    if ended == -signal.SIGKILL:
        what = f"more than {SECONDS:g} s, or killed"
    fault = f"{reader.name} {number}: {what}\n  {reader.input(number)[:300]!r}"
    return total + Found(1, faults=[fault]), number + 1


def _watched(child: int, place: mmap.mmap) -> int:
    """The exit code of a process, minus the signal that ended it; it is killed if it stays at an input."""
    seen, since = None, time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        now = _PLACE.unpack_from(place, 0)[0]
        if now != seen:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > (EXAMPLE_SECONDS if now < 0 else SECONDS):
            os.kill(child, signal.SIGKILL)
        time.sleep(0.05)


def _work(reader: Reader, work: Path, numbers: range, place: mmap.mmap, out: IO[str]) -> None:
    """In the process: a line of JSON for each input."""
    with guard.limits(work):
        for example in reader.examples:  # modules are imported and loops compiled now
            with suppress(Error):
                reader.run(example, work)
        for number in numbers:
            data = reader.input(number)
            _PLACE.pack_into(place, 0, number)
            one, before = Found(1), _peak()
            begin = time.thread_time()
            try:
                accepted = guard.call(lambda: reader.run(data, work), reader.others)  # noqa: B023
                one.accepted, one.refused = int(accepted), int(not accepted)
            except guard.Fault as e:
                one.faults.append(f"{reader.name} {number}: {e}\n  {data[:300]!r}")
            one.slowest = (time.thread_time() - begin, len(data), number)
            one.largest = ((_peak() - before) / 1024, len(data), number)
            out.write(json.dumps(vars(one)) + "\n")
            out.flush()


def _peak() -> int:
    """The largest memory of this process so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _line(name: str, x: Found) -> str:
    other = x.inputs - x.accepted - x.refused
    seconds, size, _ = x.slowest
    memory, held, _ = x.largest
    return (
        f"{name:20}{x.inputs:8}{x.accepted:9}{x.refused:9}{other:7}{seconds * 1e3:10.1f} ms of {size:>7} B"
        f"{memory:9.1f} MiB of {held:>7} B"
    )


@click.command()
@click.argument("names", nargs=-1, metavar="[READER]...")
@click.option("-n", "count", default=1500, show_default=True, help="Inputs for each reader.")
@click.option("--first", default=0, show_default=True, help="Number of the first input; the number makes the input.")
@click.option("--show", is_flag=True, help="Print the numbers of the slowest and the largest input, too.")
def main(names: tuple[str, ...], count: int, first: int, show: bool) -> None:
    """Measure readers, all of them or those named, one after the other."""
    total, began = Found(), time.monotonic()
    print(f"{'reader':20}{'inputs':>8}{'accepted':>9}{'refused':>9}{'other':>7}{'the slowest':>26}{'the largest':>26}")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        work = workplace(Path(folder))
        readers = all_readers(work)
        if unknown := [n for n in names if n not in readers]:
            raise click.UsageError(f"unknown reader {unknown[0]}; there are {', '.join(readers)}")
        gc.freeze()
        for reader in (readers[n] for n in names or readers):
            one = measured(reader, work, first, count)
            numbers = f"  {one.slowest[2]} {one.largest[2]}" if show else ""
            print(_line(reader.name, one) + numbers, flush=True)
            for fault in one.faults[:_SHOWN]:
                print(f"  {fault}", flush=True)
            total += one
    print(_line("all", total))
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    sys.exit(bool(total.faults))


if __name__ == "__main__":
    main()
