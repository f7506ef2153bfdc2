"""selftest --exhaustive: the oracle's thresholds, every format and rounding on a slice, and that it can fail."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ok, refused, run

from softfloat_ref.app import output, selftest
from softfloat_ref.arrays import exhaustive
from softfloat_ref.arrays.exhaustive import BLOCK, PATTERNS, changes, default_formats, runs, shards, steps
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import CATALOGUE, get_format
from softfloat_ref.oracle.rounding import Rounding

RUNS = runs(default_formats(), Rounding)
EDGES = (0, 1, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF, 0x80000000, 0xC3E00000, 0xFF800000, PATTERNS - 1)


def test_what_is_checked() -> None:
    names = [f.name for f in default_formats()]
    assert {f.name for f in CATALOGUE.values() if f.width <= 8} | {"bf16", "fp16", "tf32"} == set(names)
    assert len(RUNS) == len(names) * (8 + 3 * len(exhaustive.SR_WORDS))


def test_slices_are_a_partition() -> None:
    every = [b for i in range(1, 8) for s in shards(RUNS[0], i, 7) for b in s.blocks]
    assert sorted(every) == list(range(PATTERNS // BLOCK))
    assert [b for s in shards(RUNS[0]) for b in s.blocks] == list(range(PATTERNS // BLOCK))


@pytest.mark.parametrize("name", ["fp8_e4m3", "e8m0", "fp6_e2m3", "int8", "i8", "ue5m3", "fp16", "bf16", "tf32"])
def test_thresholds_are_the_oracle_pattern_by_pattern(name: str) -> None:
    draw = random.Random(name)
    decode = decoder(CATALOGUE["fp32"])
    for one in runs([get_format(name)], Rounding):
        encode, word = encoder(one.fmt, one.policy), one.word or 0
        for _ in range(4):
            middle = draw.choice((*EDGES, draw.randrange(PATTERNS)))
            low, high = max(0, middle - 120), min(PATTERNS, middle + 120)
            wide = steps(one, max(0, low - draw.randrange(BLOCK)), min(PATTERNS, high + draw.randrange(BLOCK)))
            expected = [encode(decode(p), word)[0] for p in range(low, high)]
            assert wide.expected(low, high).tolist() == expected, (one.name, hex(low))


def test_changes_finds_every_step() -> None:
    assert list(changes(lambda x: x // 7, 3, 30)) == [(3, 0), (7, 1), (14, 2), (21, 3), (28, 4)]
    assert list(changes(lambda x: 5, 8, 8)) == [(8, 5)]


@pytest.mark.full
def test_a_slice_of_everything() -> None:
    """33 blocks of each run; the whole takes hours. SOFTFLOAT_SLICE=I/N takes another one."""
    lines = ok("selftest", "--exhaustive", "--slice", os.environ.get("SOFTFLOAT_SLICE", "3/1997"), "--jobs", "1")
    *each, last = lines.splitlines()
    assert last == "selftest passed"
    assert [line.split(":")[0] for line in each] == [r.name for r in RUNS]
    assert all(", 0 wrong, " in line for line in each)


@pytest.mark.parametrize("at", [0x3F80, 0xC0A0])
def test_one_wrong_code_is_found(at: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A defect of a single input, among those of a slice."""
    bits = at << 16 | 0x1234
    right = exhaustive.convert.encode

    def wrong(x: Any, *more: Any) -> Any:
        codes = right(x, *more)
        codes[x.view(np.uint32) == bits] ^= 1
        return codes

    monkeypatch.setattr(exhaustive.convert, "encode", wrong)
    code = selftest.run_exhaustive(["fp8_e4m3"], ["rtz", "sr"], f"{at + 1}/{PATTERNS // BLOCK}", 1, None)
    shown = capsys.readouterr().out
    assert code == 1
    assert shown.count(f"\n  {bits:08x}: ") == 1 + len(exhaustive.SR_WORDS)
    assert "FAILED: 4 disagreements" in shown


def test_a_shifted_rounding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = exhaustive.convert.encode
    monkeypatch.setattr(exhaustive.convert, "encode", lambda x, f, p, w: right(x, f, p.replace(rounding="rna"), w))
    (one,) = runs([get_format("bf16")], [Rounding.RNE])
    combined = exhaustive.combine(map(exhaustive.check, shards(one, 3, 997)))
    assert 0 < combined.wrong <= combined.inputs >> 17  # ties with an even code below
    assert len(combined.first) == exhaustive.MAX_SHOWN


@pytest.mark.full
def test_bad_input() -> None:
    assert "at most 19" in refused("selftest", "--exhaustive", "--fmt", "fp32")
    assert "block format" in refused("selftest", "--exhaustive", "--fmt", "mxfp8")
    assert "unknown rounding" in refused("selftest", "--exhaustive", "--round", "up")
    for piece in ("0/3", "4/3", "1", "1/99999999", "x/y"):
        assert "--slice" in refused("selftest", "--exhaustive", "--slice", piece)
    assert "--exhaustive" in refused("selftest", "--fmt", "fp16")
    assert "--jobs" in refused("selftest", "--exhaustive", "--jobs", "2", "--scheduler", "tcp://localhost:1")


def test_no_bar_without_a_terminal() -> None:
    done = run("selftest", "--exhaustive", "--fmt", "fp4_e2m1", "--round", "rne", "--slice", "1/64", "--jobs", "1")
    assert done.returncode == 0
    assert "\r" not in done.stderr
    assert "left" not in done.stderr


def test_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(output, "_REDRAW_S", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with open(tmp_path / "screen", "w+", newline="") as screen:
        screen.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stderr", screen)
        with output.progress(4) as bar:
            for _ in range(3):
                bar.advance("fp16 rne", 1)
        screen.seek(0)
        shown = screen.read()
    assert "fp16 rne" in shown
    assert " 75 %  0:00 left  fp16 rne" in shown
    assert shown.endswith("\r\x1b[K")


def test_durations() -> None:
    assert [output.duration(s) for s in (0.9, 61, 3599, 3600, 7325)] == [
        "0:00",
        "1:01",
        "59:59",
        "1:00:00",
        "2:02:05",
    ]
