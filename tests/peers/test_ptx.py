"""What an H100 gave for instructions of PTX (vectors/captures), replayed: scalar ones, and matrix units."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import volume
from numpy.typing import NDArray
from peers.ptx import CAPTURES, expected, format_of, is_approximation
from support.command import ok

import softfloat_ref as sf
from softfloat_ref.arrays.captures import capture_of, replay
from softfloat_ref.arrays.operations import evaluate
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.operations.interpolation import Interpolation

sys.path.insert(0, str(CAPTURES))
from make_captures import mixed

SCALAR = np.load(CAPTURES / "H100_scalar.npz")
INSTRUCTIONS = [name for name in SCALAR.files if "/" not in name]
DOTS = sorted(CAPTURES.glob("H100_*mma*.npz"))
# Results that follow no rule of arithmetic: cvt.rna.tf32 cuts a NaN's payload, down to Inf, in place of making it
# canonical; cvt.ftz.f64.f32 makes FP32's canonical NaN first.
NANS_CUT = {"cvt.rna.tf32.f32": 0xFFFFE000, "cvt.ftz.f64.f32": 0}


def operands(name: str) -> list[NDArray[Any]]:
    """The captured operands of an instruction."""
    kind, op = name.rpartition(".")[2], name.partition(".")[0]
    count = {"fma": 3, "add": 2, "sub": 2, "mul": 2, "div": 2, "min": 2, "max": 2}.get(op, 1)
    return [SCALAR[f"{kind}/{count}/{x}"] for x in "abc"[:count]]


@pytest.mark.full(keep=102)
@pytest.mark.parametrize("name", [x for x in INSTRUCTIONS if not is_approximation(x)])
def test_scalar(name: str) -> None:
    """Every instruction that computes an operation of ours, rounded: 4 roundings, flushing, sat, relu, integers."""
    given, got = operands(name), SCALAR[name].astype(np.uint64)
    wanted = expected(name, given)
    differ = wanted != got
    if name in NANS_CUT:
        nan = (given[0] & 0x7FFFFFFF) > 0x7F800000
        assert not (differ & ~nan).any()
        assert differ.any()
        made = given[0][nan] & NANS_CUT[name] if NANS_CUT[name] else 0x7FFFFFFFE0000000
        assert (got[nan] == made).all()
        return
    rows = [tuple(f"{int(x[i]):x}" for x in (*given, wanted, got)) for i in np.nonzero(differ)[0][:3]]
    assert not rows, (name, int(differ.sum()), rows)


@pytest.mark.full(keep=19)
@pytest.mark.parametrize("path", DOTS, ids=lambda p: p.stem)
def test_dots(path: Path) -> None:
    """Subnormals, NaN, Inf, zero terms, cancellation and overflow through mma.sync and wgmma."""
    capture = capture_of(path.name)
    assert capture is not None
    count, wrong = replay(str(path), sf.get_accumulator(capture.accumulator), capture.fmt, capture.out)
    assert count >= 220
    assert not wrong, (path.name, len(wrong), wrong[:3])


@pytest.mark.parametrize(
    ("name", "unit", "fields", "least"),
    [
        # the floor that a zero term puts under an alignment, one off
        ("mma8_tf32_tf32_fp32", "nvidia-h100", {"tree": "fuse(p + c, F=25, rz, floor=-134) -> fp32:rz"}, 1),
        ("mma8_tf32_tf32_fp32", "nvidia-h100", {"tree": "fuse(p + c, F=25, rz, floor=-132) -> fp32:rz"}, 1),
        ("wgmma16_fp16_fp16_fp16", "nvidia-h100", {"tree": "fuse(p + c, F=25, rz, floor=-22) -> fp16:rne"}, 1),
        ("wgmma16_fp16_fp16_fp16", "nvidia-h100", {"tree": "fuse(p + c, F=25, rz, floor=-20) -> fp16:rne"}, 1),
        # other widths, another NaN, overflow to the largest number, subnormals flushed, -0 kept
        ("wgmma32_e4m3_e5m2_fp32", "nvidia-h100-fp8-wgmma", {"tree": "fuse(p + c, F=14, rz) -> fp32:rz:13"}, 20),
        ("wgmma32_e5m2_e4m3_fp32", "nvidia-h100-fp8-wgmma", {"nan": "canonical"}, 10),
        ("mma16_bf16_bf16_fp32", "nvidia-h100", {"overflow": "ieee"}, 5),
        ("wgmma16_bf16_bf16_fp32", "nvidia-h100", {"flush_inputs": "on"}, 5),
        ("mma16_fp16_fp16_fp16", "nvidia-h100", {"zero": "ieee"}, 1),
        # FP8 by mma.sync goes through FP16: E4M3's subnormals are normal there
        ("mma32_e4m3_e5m2_fp32", "nvidia-h100-fp8-mma", {"widened": ""}, 1),
        ("mma4_fp64_fp64_fp64", "nvidia-fp64", {"nan": "propagate,negative"}, 1),
    ],
)
def test_dots_tell_units_apart(name: str, unit: str, fields: dict[str, Any], least: int) -> None:
    """A captured file refutes a unit that differs a little."""
    capture = capture_of(f"H100_{name}.npz")
    assert capture is not None
    other = sf.get_accumulator(unit).replace(**fields)
    wrong = replay(str(CAPTURES / f"H100_{name}.npz"), other, capture.fmt, capture.out)[1]
    assert len(wrong) >= least


def test_replay_command() -> None:
    """The file's name tells the command what it is."""
    text = ok("dot", "--replay", str(CAPTURES / "H100_wgmma32_e4m3_e5m2_fp16.npz"))
    assert text.endswith("H100_wgmma32_e4m3_e5m2_fp16.npz: nvidia-h100-fp8-wgmma: 220 of 220 agree\n")


# -- approximations ----------------------------------------------------------------------------------------------------

APPROXIMATE = [
    x for x in INSTRUCTIONS if f"{x.partition('.')[0]}_h100" in OPERATIONS and ".approx" in x and "f64" not in x
]
DIGESTS = np.load(CAPTURES / "H100_digests.npz")
TABLES = np.load(CAPTURES / "H100_tables.npz")
BLOCK = 1 << 23
BLOCKS = volume.cases(4, 512)  # of the 512, which SOFTFLOAT_FULL=1 takes: an hour


def approximation(name: str) -> tuple[str, str, sf.Policy]:
    """The operation, format and policy of an instruction."""
    words = name.split(".")
    flush = "ftz" in words
    policy = sf.get_policy("ptx", flush_inputs=flush, flush_outputs=flush)
    return f"{words[0]}_h100", format_of(words[-1]).name, policy


@pytest.mark.parametrize("name", APPROXIMATE)
def test_approximation(name: str) -> None:
    """The scalar oracle, on specials, subnormals and numbers of every size."""
    op, fmt, policy = approximation(name)
    for code, got in zip(operands(name)[0].tolist(), SCALAR[name].tolist(), strict=True):
        assert sf.evaluate(op, (code,), fmt, policy=policy).bits == got, hex(code)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", TABLES.files)
def test_approximation_of_16_bits(name: str) -> None:
    """Every operand."""
    op, fmt, policy = approximation(name)
    found = evaluate(op, [np.arange(1 << 16, dtype=np.uint16)], fmt, policy=policy)
    assert (found == TABLES[name]).all()


def digest(codes: NDArray[np.uint32], results: NDArray[Any]) -> int:
    """As vectors/captures/make_captures.py makes them on the device."""
    return int(mixed(codes.astype(np.uint64) << np.uint64(32) | results.astype(np.uint64)).sum())


@pytest.mark.full(keep=1, gate=6)
@pytest.mark.parametrize("name", [x for x in DIGESTS.files if x in APPROXIMATE])
def test_every_operand(name: str) -> None:
    """All 2^32, a binade of one sign at a time; else some, about the numbers from 2^-8 to 2^7 and elsewhere."""
    op, fmt, policy = approximation(name)
    few = random.Random(name)
    blocks = range(512) if BLOCKS == 512 else [*few.sample(range(119, 134), BLOCKS - 1), few.randrange(256, 512)]
    for block in blocks:
        codes = np.arange(block * BLOCK, (block + 1) * BLOCK, dtype=np.uint64).astype(np.uint32)
        assert digest(codes, evaluate(op, [codes], fmt, policy=policy)) == DIGESTS[name][block], (name, block)


OTHERS = [x for x in DIGESTS.files if x not in APPROXIMATE and not is_approximation(x) and x not in NANS_CUT]
FEW = ["cvt.rn.bf16.f32", "cvt.rn.satfinite.e4m3x2.f32", "cvt.rzi.s32.f32"]


@pytest.mark.full(gate=1)
@pytest.mark.parametrize("name", OTHERS if BLOCKS == 512 else FEW)
def test_every_operand_of_an_operation(name: str) -> None:
    """All 2^32 operands of a conversion, root or reciprocal; else those from 2 to 2^33."""
    for block in range(16) if BLOCKS == 512 else [4]:
        total = 0
        for low in range(block << 28, (block + 1) << 28, BLOCK):
            codes = np.arange(low, low + BLOCK, dtype=np.uint64).astype(np.uint32)
            total += digest(codes, expected(name, [codes]))
        assert total % (1 << 64) == DIGESTS[name][block], (name, block)


def test_a_digest_shows_one_wrong_coefficient(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = OPERATIONS["ex2_h100"].estimate
    assert isinstance(unit, Interpolation)
    codes = np.arange(127 * BLOCK, 128 * BLOCK, dtype=np.uint32)
    monkeypatch.setitem(unit.__dict__, "rows", (*unit.rows[:9], unit.rows[9] + 1, *unit.rows[10:]))
    found = evaluate("ex2_h100", [codes], "fp32", policy=sf.get_policy("ptx"))
    assert digest(codes, found) != DIGESTS["ex2.approx.f32"][127]


def test_division_is_a_product() -> None:
    """div.approx.ftz.f32 multiplies by rcp.approx.ftz.f32."""
    policy = approximation("rcp.approx.ftz.f32")[2]
    a, b = operands("div.approx.ftz.f32")
    inverse = evaluate("rcp_h100", [b.astype(np.uint32)], "fp32", policy=policy)
    assert (
        evaluate("mul", [a.astype(np.uint32), inverse], "fp32", policy=policy) == SCALAR["div.approx.ftz.f32"]
    ).all()
