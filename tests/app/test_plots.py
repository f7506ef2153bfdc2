"""Exponents and shares against the scalar oracle; the `plot` commands' tables and pictures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from command import ok, refused
from hypothesis import given
from hypothesis import strategies as st

import softfloat_ref as sf
from softfloat_ref.arrays import exponents as ex
from softfloat_ref.nn.checkpoint import save
from softfloat_ref.nn.runlog import RunLog
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.flags import Flags

WIDE = [5e-324, 2.0**-1022, 2.0**-1060 * 3, 1.0, -1.5, 2.0**1023 * 1.99, 0.0, -0.0, math.inf, math.nan, 3.0]
NARROW = [1e-45, 2.0**-126, -(2.0**-140) * 3, 1.0, -3.999, 2.0**127, 0.0, -0.0, -math.inf, math.nan, math.nan]


def by_definition(values: list[float]) -> dict[int, int]:
    """frexp of Python's own floats, which are exact."""
    counts: dict[int, int] = {}
    for x in values:
        if math.isfinite(x) and x:
            counts[math.frexp(x)[1] - 1] = counts.get(math.frexp(x)[1] - 1, 0) + 1
    return counts


def shown(x: ex.ExponentCounts) -> dict[int, int]:
    return {x.first + i: n for i, n in enumerate(x.counts.tolist()) if n}


@pytest.mark.parametrize(
    "array",
    [
        np.array(WIDE),
        np.array(NARROW, np.float32),
        np.array([6e-8, -1.0, 65504, 0, np.inf], np.float16),
        np.array([[1, -4], [0, 1000]], np.int16),
        np.zeros(3, np.float32),
        np.zeros(0),
    ],
    ids=lambda a: f"{a.dtype}-{a.size}",
)
def test_exponents(array: np.ndarray) -> None:
    values = array.astype(float).reshape(-1).tolist()
    exponents = ex.exponents(array)
    assert shown(exponents) == by_definition(values)
    assert (exponents.zeros, exponents.specials) == (values.count(0.0), sum(not math.isfinite(x) for x in values))
    assert exponents.total == array.size
    twice = exponents + exponents
    assert shown(twice) == {k: 2 * n for k, n in shown(exponents).items()}
    assert shown(ex.EMPTY + exponents) == shown(exponents)


@given(st.lists(st.floats(width=32)), st.lists(st.floats(width=64)))
def test_exponents_add_up(a: list[float], b: list[float]) -> None:
    exponents = ex.exponents(np.array(a, np.float32)) + ex.exponents(np.array(b, np.float64))
    assert shown(exponents) == by_definition([*a, *b])


SCALARS = ["fp8_e4m3", "fp8_e5m2", "s1e6m1b46", "fp16", "fp6_e3m2", "fp4_e2m1", "fp8_e4m3fnuz", "ue4m3", "e8m0", "int8",
           "i8", "binary8p4se", "bf16"]  # fmt: skip


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("policy", [None, {"rounding": "rtz"}, {"flush_outputs": True}])
def test_shares_are_what_the_oracle_makes(name: str, policy: dict | None) -> None:
    fmt, rule = sf.get_format(name), sf.Policy(**(policy or {}))
    random = np.random.default_rng(4)
    x = (random.normal(size=400) * np.exp2(random.uniform(-24, 20, 400))).astype(np.float32)
    x[:4] = 0, np.nan, np.inf, 1.0
    zero = small = beyond = 0
    for value in [v for v in x.tolist() if v and math.isfinite(v)]:
        code, flags = encode(value, fmt, rule)
        result = decode(code, fmt)
        zero += result.is_finite and result.is_zero
        limit = abs(float(decode(fmt.min_normal_code, fmt))) if fmt.has_normals else 0
        small += result.is_finite and 0 < abs(float(result)) < limit
        beyond += bool(flags & (Flags.OVERFLOW | Flags.INVALID))
    assert ex.shares(x, fmt, rule) == (397, zero, small, beyond)


def test_shares_of_blocks_and_affine_integers() -> None:
    x = np.zeros((2, 64), np.float32)
    x[0, :3], x[1, 40:43] = (1.0, 2.0**-30, 1.99), (3.0, 1e-12, -5.0)
    shares = ex.shares(x, "mxfp8")
    assert (shares.values, shares.zero, shares.beyond) == (6, 2, 1)  # 1.99 saturates: 1.99 * 256 > 448
    assert ex.shares(x, "qint8")[:2] == (6, 2)
    assert ex.shares(np.zeros(3), "fp16") == (0, 0, 0, 0)
    assert ex.NOTHING.part(0) == 0


# -- the commands ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plots")
    g = np.array([2.0**-17, 2.0**-16, 1.0, -0.0, 3e-5, 1e6, np.inf], np.float32)
    np.save(folder / "g.npy", g)
    np.savez(folder / "g.npz", **{"conv1.error": g, "conv2.error": g[:3], "names": np.array(["a"])})
    (folder / "run").mkdir()
    save(folder / "run" / "gradients.npz", {"fc.error": g}, {"step": 3})
    np.savez(folder / "names.npz", names=np.array(["a"]))
    (folder / "cut.npz").write_bytes((folder / "g.npz").read_bytes()[:200])
    (folder / "empty").mkdir()
    np.save(folder / "zeros.npy", np.zeros(4))
    for recipe, measure in (("fp32", "accuracy"), ("fp8", "accuracy"), ("lstm", "perplexity")):
        for seed in (1, 2):
            run = folder / f"{recipe}-{seed}"
            run.mkdir()
            with RunLog(run / "log.jsonl") as log:
                log.write(recipe=recipe, seed=seed)
                log.write(step=1, epoch=1, loss=3.0)
                for epoch in (1, 2):
                    values = {"train_loss": seed / epoch, "test_loss": 2 * seed / epoch, measure: epoch / 4}
                    log.write(step=epoch, epoch=epoch, **values)
                log.write(averaged=True, test_loss=1.0)
    return folder


def test_histogram_table(files: Path) -> None:
    text = ok("plot", "histogram", "g.npy", "run", "--fmt", "fp8_e5m2", "--fmt", "mxfp8", cwd=files)
    lines = text.splitlines()
    assert lines[0] == "g.npy: 7 values, 1 zero, 1 Inf or NaN; exponents -17 to 19"
    # of five values, 2^-17 is half of the smallest and goes to zero; 2^-16 and 3e-5 are subnormal; 1e6 is too large
    assert lines[2].split() == ["fp8_e5m2", "1.53e-05", "57344.0", "20.000", "%", "40.000", "%", "20.000", "%"]
    assert lines[3].split()[:3] == ["mxfp8_e4m3", "scaled", "scaled"]
    assert lines[4] == "run: 7 values, 1 zero, 1 Inf or NaN; exponents -17 to 19"


def test_histogram_of_some_tensors(files: Path) -> None:
    both = ok("plot", "histogram", "g.npz", cwd=files)
    assert both == "g.npz: 10 values, 1 zero, 1 Inf or NaN; exponents -17 to 19\n"
    one = ok("plot", "histogram", "g.npz", "--tensor", "conv2*", "--scale", "4", cwd=files)
    assert one == "g.npz: 3 values, 0 zero; exponents -15 to 2\n"
    shares = ok("plot", "histogram", "g.npz", "--tensor", "*2*", "--scale", "2", "--fmt", "s1e5m2", cwd=files)
    assert "0.000 %" in shares.splitlines()[-1]
    drawn = ok(
        "plot", "histogram", "g.npy", "--fmt", "fp8_e5m2", "--round", "sr", "--sr-bits", "8", "--seed", "1", cwd=files
    )
    assert "fp8_e5m2" in drawn


def test_training_table(files: Path) -> None:
    text = ok("plot", "training", "fp32-1", "fp32-2", "fp8-1/log.jsonl", cwd=files)
    lines = text.splitlines()
    assert lines[0].split() == ["recipe", "runs", "epochs", "training", "loss", "test", "loss", "test", "accuracy"]
    cells = "  ".join(("0.7500 +- 0.3536", "1.5000 +- 0.7071", "0.5000 +- 0.0000"))
    assert " ".join(lines[1].split()) == " ".join(f"fp32 2 2 {cells}".split())
    assert lines[2].split() == ["fp8", "1", "2", "0.5000", "1.0000", "0.5000"]
    mixed = ok("plot", "training", "fp32-1", "lstm-1", cwd=files)
    assert "accuracy" not in mixed
    assert "perplexity" not in mixed


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("histogram g.npy -o x.jpg", "kind of picture 'x.jpg'"),
        ("histogram g.npy --fmt fp9", "unknown format 'fp9'"),
        ("histogram g.npy --scale 0", "--scale 0.0: give a number above 0"),
        ("histogram g.npz --tensor fc*", "unknown tensor in g.npz: 'fc*'; known: conv1.error, conv2.error"),
        ("histogram none.npy", "none.npy"),
        ("histogram none.npz", "none.npz"),
        ("histogram cut.npz", "cut.npz: not a readable .npz"),
        ("histogram names.npz", "names.npz: has no array of numbers"),
        ("histogram empty", "empty: has no gradients.npz"),
        ("training empty", "empty: not a training run: it has no log.jsonl"),
        ("training none", "none: not a training run"),
        ("training g.npy", "g.npy"),
        ("histogram", "Missing argument"),
    ],
)
def test_bad_usage(args: str, message: str, files: Path) -> None:
    assert message in refused("plot", *args.split(), cwd=files)
    assert not list(files.glob("x.*"))


def test_a_run_without_an_epoch(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"recipe": "a"}\n{"step": 1, "epoch": 1, "loss": 2}\n')
    assert "has no line of a complete epoch yet" in refused("plot", "training", str(tmp_path))
    (tmp_path / "log.jsonl").write_text('{"step": 1, "epoch": 1, "test_loss": [1]}\n')
    assert "test_loss of epoch 1 is [1], not a number" in refused("plot", "training", str(tmp_path))


@pytest.mark.extra("matplotlib")
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_pictures(suffix: str, files: Path, tmp_path: Path) -> None:
    """Two makings have the same bytes; nothing is left but the picture."""
    signature = {"png": b"\x89PNG", "svg": b"<?xml"}[suffix]
    formats = ["--fmt", "fp8_e5m2", "--fmt", "int8", "--fmt", "mxfp8", "--fmt", "qint8", "--title", "t"]
    pictures = [tmp_path / f"{name}.{suffix}" for name in ("a", "b", "c")[suffix != "svg" :]]
    for path in pictures[:-1]:
        ok("plot", "histogram", "g.npy", "run", *formats, "-o", str(path), cwd=files)
    ok("plot", "training", "fp32-1", "fp32-2", "fp8-1", "-o", str(pictures[-1]), cwd=files)
    assert all(p.read_bytes().startswith(signature) for p in pictures)
    assert sorted(p.name for p in tmp_path.iterdir()) == [p.name for p in pictures]
    if suffix == "svg":
        assert pictures[0].read_bytes() == pictures[1].read_bytes()
        assert "scaled block by block" in pictures[0].read_text()


@pytest.mark.extra("matplotlib")
def test_pictures_of_nothing(files: Path) -> None:
    assert "nothing to show" in refused("plot", "histogram", "zeros.npy", "-o", "x.png", cwd=files)
    assert not (files / "x.png").exists()
