"""quantize with affine integers, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command import ok, refused

from softfloat_ref import affine
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import Philox


def test_command(tmp_path: Path) -> None:
    values = [1.5, -2.25, 0.125]
    shown = json.loads(ok("quantize", "--fmt", "quint8", "--as", "json", *map(str, values)))
    q = affine.encode(values, "quint8")
    assert shown["integers"] == q.integers.tolist()
    assert (shown["scale"], shown["zero_point"]) == (f"{int(q.scales.view(np.uint32)):08x}", int(q.zero_points))
    assert [np.float32(v) for v in shown["values"]] == q.decode().tolist()
    assert ok("quantize", "--fmt", "quint8", "--as", "hex", "-i", "-", stdin="1.5 -2.25\n0.125\n").split() == [
        f"{c:02x}" for c in q.codes.tolist()
    ]
    x = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    for more, axis in (([], None), (["--axis", "0"], 0), (["--axis", "-1"], -1)):
        ok("quantize", "--fmt", "qint4", "--profile", "torch", "-i", "x.npy", "-o", "q.npz", *more, cwd=tmp_path)
        expected = affine.encode(x, "qint4", axis=axis, profile="torch")
        with np.load(tmp_path / "q.npz") as arrays:
            assert (arrays["integers"] == expected.integers).all()
            assert (arrays["scale"] == expected.scales).all()
            assert (arrays["values"] == expected.decode()).all()
    ok("quantize", "--fmt", "qint4", "-i", "x.npy", "-o", "q.npy", "--round", "rtz", cwd=tmp_path)
    assert (np.load(tmp_path / "q.npy") == affine.encode(x, "qint4", policy=Policy("rtz")).decode()).all()
    sr = ("--round", "sr", "--sr-bits", "5", "--seed", "3")
    ok("quantize", "--fmt", "qint4", "-i", "x.npy", "-o", "q.npy", "--as", "hex", *sr, cwd=tmp_path)
    drawn = affine.encode(x, "qint4", policy=Policy("sr", sr_bits=5), random_bits=Philox(3))
    assert (np.load(tmp_path / "q.npy") == drawn.codes).all()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--fmt qint99 1", "2 to 16 bits"),
        ("--fmt qintx 1", "unknown affine format"),
        ("--fmt qint8 --profile ocp 1", "unknown affine rule 'ocp'"),
        ("--fmt qint8 --profile torch 1/3", "take FP32 values"),
        ("--fmt qint8 --profile exact,nan=error nan", "a NaN"),
        ("--fmt qint8", "nothing to quantize"),
        ("--fmt qint8 1..2", "is not a number"),
        ("--fmt qint8 1 -o q.npy", "go to .txt, .csv or .json"),
        ("--fmt qint8 -i x.npy", "go to -o FILE.npy"),
        ("--fmt qint8 -i x.npy --axis 7 -o q.npy", "axis 7 is out of range"),
        ("--fmt qint8 -i missing.npy -o q.npy", "No such file"),
        ("--fmt qint8 --round sr --sr-bits 3 1", "none were given"),
    ],
)
def test_command_refuses(args: str, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    assert message in refused("quantize", *args.split(), cwd=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]
