"""quantize from .npy to .npy in chunks: the same bytes and summary as at once, in little memory."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command import TOP, ok, refused, run
from numpy.typing import NDArray

import softfloat_ref as sf
from softfloat_ref.app import main, quantize, quantize_stream
from softfloat_ref.app.quantize_output import ArraySummary
from softfloat_ref.oracle.sources import Lfsr

DRAW = np.random.default_rng(5)
SHAPES = ((1,), (1000,), (40, 32), (7, 3, 48), (5, 400), (300, 1), (2, 3, 4, 16))
FORMATS = (
    "fp8_e4m3",
    "fp16",
    "i8",
    "e8m0",
    "mxfp8",
    "mxint8",
    "nvfp4",
    "fp4_e2m1@ue4m3/48",
    "fp8_e5m2@e8m0/axis",
    "msfp12",
)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -3e38, 448.0, 65504.0, 1e-7]


def values(shape: tuple[int, ...]) -> NDArray[np.float32]:
    x = (DRAW.standard_normal(shape) * np.exp2(DRAW.integers(-20, 12, shape))).astype(np.float32)
    flat = x.reshape(-1)
    at = DRAW.integers(0, flat.size, flat.size // 60)
    flat[at] = DRAW.choice(np.array(SPECIAL, np.float32), at.size)
    return x


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Quantizes an array in small chunks and at once; asserts that bytes and summary agree, and says if it was cut."""

    def compare(x: NDArray[np.generic], *options: str) -> bool:
        source, cut, whole = (tmp_path / f"{n}.npy" for n in ("x", "cut", "whole"))
        np.save(source, x)
        read = []
        quantize_chunk = quantize_stream.NpyStream._quantize

        def counted(self, x, part, *rest):  # type: ignore[no-untyped-def]
            read.append(part)
            return quantize_chunk(self, x, part, *rest)

        with monkeypatch.context() as patch:
            patch.setattr(quantize_stream, "_CHUNK", 96)
            patch.setattr(quantize_stream.NpyStream, "_quantize", counted)
            main._run(["quantize", *options, "-i", str(source), "-o", str(cut)])
            first = capsys.readouterr().err
        with monkeypatch.context() as patch:
            patch.setattr(quantize, "stream", lambda *_: False)
            main._run(["quantize", *options, "-i", str(source), "-o", str(whole)])
        assert capsys.readouterr().err == first
        assert cut.read_bytes() == whole.read_bytes()
        assert sum(p.shape[0] * p.shape[1] for p in read) in (0, x.size)
        assert all(p.shape[0] * p.shape[1] <= 96 for p in read)
        return len(read) > 0

    return compare


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("form", ["value", "hex"])
def test_same_bytes_as_at_once(fmt: str, form: str, both) -> None:  # type: ignore[no-untyped-def]
    for shape in SHAPES:
        x = values(shape)
        if fmt.startswith("msfp"):  # has neither NaN nor Inf
            x[~np.isfinite(x)] = 1
        was_cut = both(x, "--fmt", fmt, "--as", form)
        assert was_cut == ("axis" not in fmt or shape[-1] <= 96)


@pytest.mark.full
@pytest.mark.parametrize("fmt", ["fp8_e4m3", "mxfp4", "nvfp4"])
@pytest.mark.parametrize("source", ["philox:seed=3", "lfsr:width=16,taps=16.14.13.11,seed=7"])
@pytest.mark.parametrize("mode", ["sr", "sr-c"])
def test_random_bits_are_by_position(fmt: str, source: str, mode: str, both) -> None:  # type: ignore[no-untyped-def]
    for shape in ((1000,), (7, 3, 48), (5, 400)):
        assert both(values(shape), "--fmt", fmt, "--round", mode, "--sr-bits", "7", "--random-source", source)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("dtype", ["f2", ">f4", "f8", ">f8", "i1", "u2", ">i4", "i8", "?"])
@pytest.mark.parametrize("fmt", ["fp8_e5m2", "mxfp8", "nvfp4"])
def test_every_type_of_array(dtype: str, fmt: str, both) -> None:  # type: ignore[no-untyped-def]
    assert both(np.clip(np.nan_to_num(values((9, 70))), 0, 100).astype(dtype), "--fmt", fmt)


@pytest.mark.parametrize("profile", ["torchao-rceil", "microxcaling", "nvidia", "ocp,tail=flatten", "ocp,flush=never"])
def test_profiles(profile: str, both) -> None:  # type: ignore[no-untyped-def]
    for shape in ((640,), (9, 64), (3, 320)):
        assert both(values(shape), "--fmt", "mxfp8", "--profile", profile)
    if "flatten" in profile:
        assert both(values((9, 50)), "--fmt", "mxfp8", "--profile", profile)


@pytest.mark.full
def test_what_is_taken_whole(both) -> None:  # type: ignore[no-untyped-def]
    x = values((20, 30))
    assert not both(np.asfortranarray(x), "--fmt", "fp8_e4m3")
    assert not both(x, "--fmt", "mxfp8", "--axis", "0")
    assert not both(x, "--fmt", "fp8_e4m3@e8m0/tensor")
    assert not both(x[:1, :3], "--fmt", "fp8_e4m3", "--round", "sr", "--sr-bits", "4", "--random-bits", "0,5,f")
    assert both(x, "--fmt", "mxfp8", "--axis", "1")


def test_saturated_is_by_the_format() -> None:
    """Not by the largest value that came out: 0.32 becomes 0.3125, which nothing held there."""
    x = np.array([0.32, 0.1, 500, -449, np.inf], np.float32)
    for array, count in ((x, 3), (x[:2], 0)):
        tally = ArraySummary(sf.get_format("fp8_e4m3"))
        tally.add(array, quantize_values(array))
        assert f" {count} saturated" in tally.text(array.dtype, array.shape)


def quantize_values(x: NDArray[np.float32]) -> NDArray[np.floating]:
    from softfloat_ref import arrays

    return arrays.quantize(x, "fp8_e4m3")


def test_refusals_name_the_file_and_leave_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", values((4, 70)))
    np.save(tmp_path / "big.npy", np.array([1, 1 << 60]))
    common = ("-o", "y.npy", "--fmt")
    shown = refused("quantize", "-i", "x.npy", *common, "mxfp8", "--profile", "torchao-floor", cwd=tmp_path)
    assert "x.npy: axis 1 has 70 values" in shown
    assert "x.npy: axis 5" in refused("quantize", "-i", "x.npy", *common, "mxfp8", "--axis", "5", cwd=tmp_path)
    assert "x.npy: rounding sr" in refused("quantize", "-i", "x.npy", *common, "fp16", "--round", "sr", cwd=tmp_path)
    assert "big.npy: array of int64" in refused("quantize", "-i", "big.npy", *common, "fp16", cwd=tmp_path)
    no_folder = refused("quantize", "-i", "x.npy", "-o", "no/y.npy", "--fmt", "fp16", cwd=tmp_path)
    assert no_folder.startswith("softfloat-ref: ")
    assert "x.npy" not in no_folder
    assert sorted(p.name for p in tmp_path.iterdir()) == ["big.npy", "x.npy"]


def test_a_file_onto_itself(tmp_path: Path) -> None:
    x = values((50, 64))
    np.save(tmp_path / "x.npy", x)
    ok("quantize", "--fmt", "bf16", "-i", "x.npy", "-o", "x.npy", cwd=tmp_path)
    original = np.load(tmp_path / "x.npy")
    assert original.shape == x.shape
    assert not (original.view(np.uint32) & 0xFFFF).any()


def big_file(path: Path, mebibytes: int) -> None:
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(mebibytes, 1 << 18))
    array[:] = DRAW.standard_normal(1 << 18, dtype=np.float32)
    array.flush()


PEAK = """
import re, sys
from softfloat_ref.app.main import main
try:
    main(sys.argv[1:])
finally:
    print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    "options", [("fp8_e4m3",), ("mxfp8",), ("nvfp4",), ("fp8_e4m3", "--round", "sr", "--sr-bits", "8", "--seed", "1")]
)
def test_memory_does_not_grow_with_the_file(options: tuple[str, ...], tmp_path: Path) -> None:
    """112 MiB in, 112 MiB out. At most 300 MiB for any size; at once it would be more than that for this one."""
    big_file(tmp_path / "x.npy", 112)
    command = [sys.executable, "-c", PEAK, "quantize", "--fmt", *options, "-i", "x.npy", "-o", "y.npy"]
    env = {**os.environ, "PYTHONPATH": str(TOP)}
    done = subprocess.run(command, cwd=tmp_path, env=env, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "y.npy", mmap_mode="r").shape == (112, 1 << 18)
    assert int(done.stdout) < 250


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_in_the_middle(number: int, tmp_path: Path) -> None:
    big_file(tmp_path / "x.npy", 256)
    running = subprocess.Popen(
        [sys.executable, "-m", "softfloat_ref", "quantize", "--fmt", "mxfp8", "-i", "x.npy", "-o", "y.npy"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    for _ in range(3000):
        if any(p.suffix == ".part" for p in tmp_path.iterdir()):
            break
        time.sleep(0.01)
    running.send_signal(number)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (128 + number, b"")
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]


def test_a_register_from_any_step() -> None:
    draw = random.Random(3)
    for width in (1, 2, 5, 16, 67, 256):
        taps = tuple(draw.sample(range(1, width + 1), min(width, 4)))
        source = Lfsr(width, taps, draw.randrange(1, 1 << width), width - 1, 0)
        every = source.bits(width, 0, 300)
        for start in (1, 2, 63, 64, 255):
            assert source.bits(width, start, 40) == every[start : start + 40]
    assert run("quantize", "--fmt", "fp16", "1").returncode == 0
