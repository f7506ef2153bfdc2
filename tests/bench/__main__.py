"""`python -m tests.bench NAME`: throughput on this machine, beside the peers that are installed: medians, ratios."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Final

import click

from softfloat_ref.app.options import Commands
from softfloat_ref.base.errors import Error

from .peers import installed
from .rates import Row, median_rate, show

CASES: Final = 20_000
STREAM_LINES: Final = 200_000
_COMMAND: Final = (sys.executable, "-m", "softfloat_ref")


@click.group("bench", cls=Commands)
def command() -> None:
    """Measure throughput on this machine, beside the peers that are installed."""


def _encode() -> Row:
    from softfloat_ref import encode

    values = [i * 0.37 - CASES * 0.18 for i in range(CASES)]
    ours, theirs = median_rate(CASES, lambda: [encode(x, "fp8_e4m3") for x in values]), None
    if installed("ml_dtypes"):
        import ml_dtypes

        theirs = median_rate(CASES, lambda: [ml_dtypes.float8_e4m3fn(x) for x in values])
    return Row("encode to fp8_e4m3, one value at a time", ours, "values/s", "ml_dtypes scalars", theirs)


def _cases(count: int) -> list[tuple[int, ...]]:
    """Operands of fp16 fma."""
    from softfloat_ref.golden.cases import random_cases
    from softfloat_ref.oracle.operations import signature

    return list(random_cases(signature("fma", "fp16").formats, 1, count))


def _evaluate() -> Row:
    from softfloat_ref.oracle.operations import evaluator, signature
    from softfloat_ref.oracle.policies import get_policy

    from .operations import softfloat

    run, operands = evaluator(signature("fma", "fp16"), get_policy()), _cases(CASES)
    ours, peer = median_rate(CASES, lambda: [run(x, 0) for x in operands]), softfloat("fma", operands, "fp16", None)
    theirs = None if peer is None else median_rate(CASES, peer)
    return Row("fp16 fma with flags, one at a time", ours, "results/s", "softfloatpy", theirs)


def _stream() -> Row:
    lines = "".join("%04x %04x %04x\n" % case for case in _cases(STREAM_LINES)).encode()  # noqa: UP031
    argv = [*_COMMAND, "eval", "fma", "--fmt", "fp16", "-"]

    def work() -> None:
        subprocess.run(argv, input=lines, stdout=subprocess.DEVNULL, check=True)

    return Row("eval fma --fmt fp16 - (whole process)", median_rate(STREAM_LINES, work), "lines/s")


def _quantize() -> Row:
    import tempfile
    from pathlib import Path

    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "x.npy"), Path(folder, "q.npy")
        np.save(source, np.random.default_rng(1).standard_normal((1024, 1024)).astype(np.float32))
        argv = [*_COMMAND, "quantize", "--fmt", "mxfp8", "-i", str(source), "-o", str(target)]

        def work() -> None:
            subprocess.run(argv, stderr=subprocess.DEVNULL, check=True)

        return Row("quantize --fmt mxfp8 (whole process)", median_rate(1 << 20, work), "values/s")


def _round_trips() -> Row:
    lines = [b"0 %x %x %x\n" % case for case in _cases(CASES)]
    argv = [*_COMMAND, "eval", "--serve"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        to, back = server.stdin.fileno(), server.stdout.fileno()

        def work() -> None:
            for line in lines:
                os.write(to, line)
                os.read(back, 4096)

        os.write(to, b"open fma --fmt fp16\n")
        os.read(back, 4096)
        return Row("eval --serve, fp16 fma, one round trip each", median_rate(CASES, work), "predictions/s")


def _module(name: str) -> Callable[[], None]:
    """Of a benchmark with a module of its own, which is loaded when it runs."""
    return lambda: importlib.import_module(f".{name}", __package__).run()


for _name, _text, _run in (
    (
        "scalar",
        "The scalar oracle: encode, evaluate, and `eval -` including the start of the process.",
        lambda: show(_encode(), _evaluate(), _stream()),
    ),
    (
        "quantize",
        "`quantize --fmt mxfp8` of a million values, including process start and file access.",
        lambda: show(_quantize()),
    ),
    ("dot", "Matrix products, one thread, against torch and MMA-Sim where they are installed.", _module("dot")),
    (
        "arrays",
        "Conversions of arrays, one thread, against a copy, and torch, torchao and ml_dtypes where they are installed.",
        _module("arrays"),
    ),
    (
        "checkpoints",
        "Quantized checkpoints: the values of a weight, from its file, one thread, against a copy of the values.",
        _module("checkpoints"),
    ),
    (
        "functions",
        "Elementary functions: the scalar oracle, and arrays, one thread, beside numpy, torch and MPFR (gmpy2).",
        _module("functions"),
    ),
    (
        "serve",
        "`eval --serve`: predictions through a pipe, each request sent after the previous answer.",
        lambda: show(_round_trips()),
    ),
    (
        "export",
        "`export --lang c`: the compiled function, with arrays and through DPI, where a C compiler and Verilator are.",
        _module("export"),
    ),
    (
        "blocks",
        "`export --library`: block quantizers and dequantizers, beside the compiled loops of arrays; one thread.",
        _module("blocks"),
    ),
    (
        "library",
        "`export --library`: calls and arrays, with flags, beside Berkeley SoftFloat 3e, built by its makefile in the "
        "checkout that the variable SOFTFLOAT_3 names.",
        _module("library"),
    ),
    (
        "train",
        "A step of each training recipe, and of large networks in each format, relative to the same step in FP32; FP32 "
        "relative to PyTorch; one thread.",
        _module("train"),
    ),
):
    command.command(_name, help=_text)(_run)


def main() -> None:
    """Run the command line; never returns."""
    try:
        command(prog_name="python -m tests.bench")
    except Error as e:
        print(f"bench: {e}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
