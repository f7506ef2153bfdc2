"""`eval -` on long streams: answered in bulk, to the same bytes; whatever is not plain goes line by line."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner
from command import TOP, ok, run

from softfloat_ref.app import evaluate
from softfloat_ref.golden.cases import cases
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.oracle.sources import Philox

LONG = evaluate._BULK_FROM + 10_000


def expected(op: str, fmt: str, out: str | None, listed, words=None, policy=None) -> list[str]:  # type: ignore[no-untyped-def]
    sig = signature(op, fmt, out)
    one, digits = evaluator(sig, get_policy(policy)), [f.digits for f in sig.formats]
    lines = []
    for case, r in zip(listed, words or itertools.repeat(0), strict=False):
        shown = [f"{c:0{d}X}" for c, d in zip(case, digits, strict=True)]
        bits, flags = one(case, r)
        lines.append(" ".join([*shown, *([f"{r:02X}"] if words else []), f"{bits:0{sig.out.digits}X}", f"{flags:02X}"]))
    return lines


@pytest.mark.full
@pytest.mark.parametrize(("op", "fmt"), [("fma", "fp32"), ("add", "tf32"), ("mul", "fp64"), ("lt", "bf16")])
def test_long_streams(op: str, fmt: str) -> None:
    sig = signature(op, fmt)
    listed = list(cases(sig.formats, 8, LONG))
    lines = "".join(" ".join(f"{c:0{f.digits}x}" for c, f in zip(x, sig.formats, strict=True)) + "\n" for x in listed)
    assert ok("eval", op, "--fmt", fmt, "-", stdin=lines).splitlines() == expected(op, fmt, None, listed)


def test_the_way_in_bulk_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """By all blocks but the first, and one with a blank line and odd spaces, which goes line by line."""
    listed = list(cases(signature("add", "fp16").formats, 8, 20_000))
    text = "".join(f"{a:04x} {b:04X}\n" for a, b in listed)
    text = text[:150_000] + "\n 0x3c00\t3c00 \n" + text[150_000:]
    counts: list[bool] = []
    whole = evaluate.bulk_answers

    def counted(*arguments):  # type: ignore[no-untyped-def]
        answers = whole(*arguments)
        counts.append(answers is not None)
        return answers

    monkeypatch.setattr(evaluate, "bulk_answers", counted)
    monkeypatch.setattr(evaluate, "_BULK_FROM", 1)
    shown = in_process(monkeypatch, text, ["add", "--fmt", "fp16", "-"])
    lines = text.split("\n")
    at = lines.index("")
    results = expected("add", "fp16", None, [*listed[:at], (0x3C00, 0x3C00), *listed[at:]])
    assert [line for line in shown.splitlines() if not line.startswith("read as")] == results
    assert counts.count(True) >= 1
    assert counts.count(False) == 1


def in_process(monkeypatch: pytest.MonkeyPatch, text: str, arguments: list[str]) -> str:
    """The command's output, its standard input being a pipe that is written as it is read."""
    read, write = os.pipe()
    monkeypatch.setattr(evaluate.os, "read", lambda _, n, original=os.read: original(read, n))

    def feed() -> None:
        with os.fdopen(write, "wb") as stream:
            stream.write(text.encode())

    feeder = threading.Thread(target=feed)
    feeder.start()
    done = CliRunner().invoke(evaluate.command, arguments, standalone_mode=False)
    feeder.join()
    os.close(read)
    assert done.exception is None, done.exception
    return done.output


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("drawn", [True, False])
def test_random_words(drawn: bool) -> None:
    """From a source by line number, across both ways; or as the lines' last operand."""
    args = ["eval", "convert", "--fmt", "fp32", "--out", "fp8_e4m3", "--round", "sr", "--sr-bits", "8"]
    policy = get_policy(None, rounding="sr", sr_bits=8)
    listed = list(cases(signature("convert", "fp32").formats, 8, LONG))
    words = Philox(7).bits(8, 0, LONG)
    rows = [f"{x:08x}" if drawn else f"{x:08x} {r:02x}" for (x,), r in zip(listed, words, strict=True)]
    rows.insert(20_000, "")  # counts as no line
    shown = ok(*args, *(["--seed", "7"] if drawn else []), "-", stdin="\n".join(rows) + "\n").splitlines()
    assert shown == expected("convert", "fp32", "fp8_e4m3", listed, words, policy)


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("3c00 3c0g", "'3c0g' is not a hexadecimal code"),
        ("3c00 13c0", ""),
        ("13c00 3c0", "13c00 does not fit 16 bits"),
        ("3c00  3c0", ""),
        ("3c00 /c00", "'/c00' is not a hexadecimal code"),
        ("3c00 :c00", "':c00' is not a hexadecimal code"),
        ("3c00 @c00", "'@c00' is not a hexadecimal code"),
        ("3c003c000", "1 field, but 2 operands are needed"),
        ("3c00 3 00", "3 fields, but 2 operands are needed"),
    ],
)
def test_bad_lines_in_a_long_stream(line: str, message: str) -> None:
    """The line's number and the same words, after all answers before it."""
    good = "3c00 3c00\n"
    done = run("eval", "add", "--fmt", "fp16", "-", stdin=good * (LONG - 1) + line + "\n" + good * 100)
    if message:
        assert f"stdin:{LONG}: {message}" in done.stderr
        assert (done.returncode, done.stdout) == (2, "3C00 3C00 4000 00\n" * (LONG - 1))
    else:
        assert (done.returncode, done.stdout.count("\n")) == (0, LONG + 100)


def test_a_case_without_result_in_a_long_stream() -> None:
    args = ["eval", "convert", "--fmt", "fp16", "--out", "fp4_e2m1", "--nan-missing", "error", "-"]
    done = run(*args, stdin="3c00\n" * (LONG - 1) + "7e00\n3c00\n")
    assert (done.returncode, done.stdout) == (2, "3C00 2 00\n" * (LONG - 1))
    assert f"stdin:{LONG}: fp4_e2m1 has no NaN" in done.stderr


def test_a_trickle_after_a_flood_is_answered_at_once() -> None:
    command = [sys.executable, "-m", "softfloat_ref", "eval", "add", "--fmt", "fp16", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=TOP) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin = process.stdin
        feeder = threading.Thread(target=lambda: (stdin.write(b"3c00 3c00\n" * LONG), stdin.flush()))
        feeder.start()
        for _ in range(LONG):
            assert process.stdout.readline() == b"3C00 3C00 4000 00\n"
        feeder.join()
        for _ in range(3):
            stdin.write(b"3c00 4000\n")
            stdin.flush()
            assert process.stdout.readline() == b"3C00 4000 4200 00\n"
        stdin.close()
        assert process.wait(20) == 0
