"""`bench arrays`: conversions of arrays against a plain copy and the peers that are installed. One thread."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from . import peers
from .quantized import report
from .rates import one_thread, show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VALUES: Final = 1 << 22
MORE: Final = 16  # factor on the number of values, when threads share them
MX8: Final = "mxfp8_e4m3"
TURNS: Final = 3
RUNS: Final = 4  # per turn
SIZES: Final = tuple(range(10, 29, 2))


class Work(NamedTuple):
    """Something to measure: bytes moved per value, our function, and the peers' functions for the same work."""

    name: str
    moved: int
    ours: Callable[[], Any]
    peers: dict[str, Callable[[], Any]]


def run() -> None:
    """Measure and print: one line per work, with each peer's ratio and the rate that the memory's speed would allow."""
    one_thread()
    import numpy as np

    x = np.random.default_rng(1).standard_normal(VALUES).astype(np.float32)
    y = np.empty_like(x)
    copy = _seconds(lambda: np.copyto(y, x))
    print(f"{VALUES} float32 values, one thread; a plain copy: {VALUES / copy / 1e6:,.0f} M/s")
    for work in [*_conversions(x), *_blocks(x)]:
        _print(work, copy)
    for line in report(lambda *works: _each(*works, clock=time.thread_time)):  # long works lose their turns to others
        print(line)
    from .operations import rows

    show(*rows())
    print(_threads(x))
    print(_threads(np.tile(x, MORE)))
    print(_first_call())
    print("quantize to fp8_e4m3 by size, ns per value:", _curve(), sep="\n")


def _first_call() -> str:
    """The extra cost of a process's first call over its second, with the compiled code on disk."""
    lines = (
        "import time, numpy as np",
        "from softfloat_ref.arrays import convert",
        "x, now = np.ones(1 << 17, np.float32), time.perf_counter",
        "a = now(); convert.encode(x, 'fp8_e4m3')",
        "b = now(); convert.encode(x, 'fp8_e4m3')",
        "print(b - a - (now() - b))",
    )
    code = "\n".join(lines)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return f"first call of a process: {float(done.stdout):.2f} s more than the second"


def _seconds(work: Callable[[], Any]) -> float:
    """The median of several runs, after one that warms up."""
    return _each(work)[0]


def _each(*works: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """The medians of works that take turns, so that a disturbance of the machine affects all of them.

    A turn begins with an uncounted run, which brings the work's arrays into the caches.
    """
    times: list[list[float]] = [[] for _ in works]
    for _turn in range(TURNS):
        for work, own in zip(works, times, strict=True):
            work()
            for _run in range(RUNS):
                start = clock()
                work()
                own.append(clock() - start)
    return [statistics.median(own) for own in times]


def _print(work: Work, copy: float) -> None:
    ours, *theirs = _each(work.ours, *work.peers.values())
    limit = copy * work.moved / 8  # a copy of float32 moves 8 bytes per value
    rate, most = VALUES / ours / 1e6, VALUES / limit / 1e6
    text = f"{work.name:36}{rate:>7,.0f} M/s {copy / ours:5.2f} x copy, limit {most:>6,.0f}"
    for name, seconds in zip(work.peers, theirs, strict=True):
        text += f"  {name} {VALUES / seconds / 1e6:,.0f}, ratio {seconds / ours:.2f}"
    print(text)


def _conversions(x: NDArray[np.float32]) -> list[Work]:
    import numpy as np

    from softfloat_ref.arrays import convert
    from softfloat_ref.oracle.policies import Policy
    from softfloat_ref.oracle.sources import Philox

    casts = peers.casts(x)
    out8, out16, out32 = np.empty(x.size, np.uint8), np.empty(x.size, np.uint16), np.empty(x.size, np.float32)
    out64 = np.empty(x.size, np.uint64)
    random = (Policy(rounding="sr", sr_bits=8), Philox(1))  # type: ignore[arg-type]
    drawn = lambda: convert.quantize(x, "fp8_e4m3", *random, out=out32)  # noqa: E731
    codes = convert.encode(x, "fp8_e4m3")
    return [
        Work("fp8_e4m3 codes", 5, lambda: convert.encode(x, "fp8_e4m3", out=out8), casts["e4m3"]),
        Work("fp8_e4m3 and back", 8, lambda: convert.quantize(x, "fp8_e4m3", out=out32), casts["back"]),
        Work("fp8_e4m3 and back, sr, Philox", 8, drawn, casts["sr"]),
        Work("bf16 codes", 6, lambda: convert.encode(x, "bf16", out=out16), casts["bf16"]),
        Work("fp16 codes", 6, lambda: convert.encode(x, "fp16", out=out16), casts["fp16"]),
        Work("fp64 codes", 12, lambda: convert.encode(x, "fp64", out=out64), casts["fp64"]),
        Work("tf32 and back", 8, lambda: convert.quantize(x, "tf32", out=out32), {}),
        Work("s1e6m9 and back", 8, lambda: convert.quantize(x, "s1e6m9", out=out32), {}),
        Work("fp8_e4m3 codes to values", 5, lambda: convert.decode(codes, "fp8_e4m3", out=out32), {}),
    ]


def _blocks(x: NDArray[np.float32]) -> list[Work]:
    import numpy as np

    from softfloat_ref.arrays import blocks

    rows = x.reshape(-1, 1024)
    others, out = peers.blocks(rows), np.empty(rows.shape, np.float32)
    mx8, mx4, down = (blocks.encode(rows, f, axis=axis) for f, axis in ((MX8, 1), ("mxfp4_e2m1", 1), (MX8, 0)))
    return [
        Work(f"{MX8} codes and scales", 5, lambda: blocks.encode(rows, MX8, out=mx8), others["mxfp8"]),
        Work(f"{MX8}, into new arrays", 5, lambda: blocks.encode(rows, MX8), others["mxfp8"]),
        Work("mxfp4_e2m1 codes and scales", 5, lambda: blocks.encode(rows, mx4.fmt, out=mx4), others["mxfp4"]),
        Work(f"{MX8} codes and scales, axis 0", 5, lambda: blocks.encode(rows, MX8, axis=0, out=down), {}),
        Work(f"{MX8} to values", 5, lambda: mx8.decode(out=out), {}),
    ]


def _threads(x: NDArray[np.float32]) -> str:
    """The speedup of two threads, and that of a copy, which is the limit that memory sets."""
    import numpy as np

    from softfloat_ref.arrays import blocks, convert
    from softfloat_ref.arrays.slabs import run_slices

    out, rows = np.empty_like(x), x.reshape(-1, 1024)
    result = blocks.encode(rows, MX8)
    ways: dict[str, Callable[[int], Any]] = {
        "a copy": lambda n: run_slices(x.size, 1, n, lambda part: np.copyto(out[part], x[part])),
        "fp8_e4m3 and back": lambda n: convert.quantize(x, "fp8_e4m3", out=out, threads=n),
        "fp16 and back": lambda n: convert.quantize(x, "fp16", out=out, threads=n),
        f"{MX8} codes and scales": lambda n: blocks.encode(rows, MX8, out=result, threads=n),
    }
    ratios = []
    for name, way in ways.items():
        one, two = _each(lambda way=way: way(1), lambda way=way: way(2))  # type: ignore[misc]
        ratios.append(f"{name} {one / two:.2f} x")
    return f"two threads against one, {x.size} values: {', '.join(ratios)}"


def _curve() -> str:
    """The cost per value for each size."""
    import numpy as np

    from softfloat_ref.arrays import convert

    lines = []
    for power in SIZES:
        x = np.random.default_rng(2).standard_normal(1 << power, np.float32)
        out = np.empty_like(x)
        repeat = max(1, (1 << 18) >> power)
        took = _seconds(lambda: [convert.quantize(x, "fp8_e4m3", out=out) for _ in range(repeat)])  # noqa: B023
        lines.append(f"  2^{power}: {took / repeat / x.size * 1e9:.3f}")
    return "\n".join(lines)
