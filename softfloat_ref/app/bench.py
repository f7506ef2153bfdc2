"""`bench`: throughput on this machine, beside the peers that are installed. Medians of several runs, and ratios."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import Final

import click

from softfloat_ref.app.rates import Row, median_rate, show

CASES: Final = 20_000
STREAM_LINES: Final = 200_000


@click.group("bench")
def command() -> None:
    """Measure throughput on this machine."""


@command.command("scalar")
def scalar() -> None:
    """The scalar oracle: encode, evaluate, and `eval -` including the start of the process."""
    show([_encode(), _evaluate(), _stream()])


@command.command("quantize")
def quantize() -> None:
    """`quantize --fmt mxfp8` of a million values, including process start and file access."""
    show([_quantize()])


@command.command("dot")
def dot() -> None:
    """Matrix products, one thread, against torch and MMA-Sim where they are installed."""
    from softfloat_ref.app.bench_dot import run

    run()


@command.command("arrays")
def arrays() -> None:
    """Conversions of arrays, one thread, against a copy, and torch, torchao and ml_dtypes where they are installed."""
    from softfloat_ref.app.bench_arrays import run

    run()


@command.command("serve")
def serve() -> None:
    """`eval --serve`: predictions through a pipe, each request sent after the previous answer."""
    show([_round_trips()])


@command.command("train")
def train() -> None:
    """A training step in each format relative to the same step in FP32, and FP32 relative to PyTorch; one thread."""
    from softfloat_ref.app.bench_train import run

    run()


def _encode() -> Row:
    from softfloat_ref import encode

    values = [i * 0.37 - CASES * 0.18 for i in range(CASES)]
    ours = median_rate(CASES, lambda: [encode(x, "fp8_e4m3") for x in values])
    if importlib.util.find_spec("ml_dtypes") is None:
        return Row("encode to fp8_e4m3, one value at a time", ours, "values/s")
    import ml_dtypes

    peer = median_rate(CASES, lambda: [ml_dtypes.float8_e4m3fn(x) for x in values])
    return Row("encode to fp8_e4m3, one value at a time", ours, "values/s", "ml_dtypes scalars", peer)


def _evaluate() -> Row:
    from softfloat_ref.golden.cases import random_cases
    from softfloat_ref.oracle.operations import evaluator, signature
    from softfloat_ref.oracle.policies import get_policy

    sig = signature("fma", "fp16")
    run, operands = evaluator(sig, get_policy()), list(random_cases(sig.formats, 1, CASES))
    ours = median_rate(CASES, lambda: [run(x, 0) for x in operands])
    if importlib.util.find_spec("softfloatpy") is None:
        return Row("fp16 fma with flags, one at a time", ours, "results/s")
    import softfloatpy as soft

    make = soft.Float16.from_bytes
    packed = [tuple(x.to_bytes(2, "big") for x in case) for case in operands]

    def theirs() -> None:
        for a, b, c in packed:
            soft.set_exception_flags(0)
            soft.f16_mul_add(make(a), make(b), make(c)).to_bytes()
            soft.get_exception_flags()

    return Row("fp16 fma with flags, one at a time", ours, "results/s", "softfloatpy", median_rate(CASES, theirs))


def _stream() -> Row:
    from softfloat_ref.golden.cases import random_cases
    from softfloat_ref.oracle.operations import signature

    cases = random_cases(signature("fma", "fp16").formats, 1, STREAM_LINES)
    lines = "".join("%04x %04x %04x\n" % case for case in cases).encode()  # noqa: UP031
    argv = [sys.executable, "-m", "softfloat_ref", "eval", "fma", "--fmt", "fp16", "-"]

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
        argv = [
            sys.executable,
            "-m",
            "softfloat_ref",
            "quantize",
            "--fmt",
            "mxfp8",
            "-i",
            str(source),
            "-o",
            str(target),
        ]

        def work() -> None:
            subprocess.run(argv, stderr=subprocess.DEVNULL, check=True)

        return Row("quantize --fmt mxfp8 (whole process)", median_rate(1 << 20, work), "values/s")


def _round_trips() -> Row:
    from softfloat_ref.golden.cases import random_cases
    from softfloat_ref.oracle.operations import signature

    cases = random_cases(signature("fma", "fp16").formats, 1, CASES)
    lines = [b"0 %x %x %x\n" % case for case in cases]
    argv = [sys.executable, "-m", "softfloat_ref", "eval", "--serve"]
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
