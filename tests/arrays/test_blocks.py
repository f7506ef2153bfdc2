"""MX blocks: the scalar oracle against the definition, arrays against the oracle."""

from __future__ import annotations

import itertools
import platform
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from volume import FULL, cases

import softfloat_ref as sf
from softfloat_ref import affine, arrays, blocks
from softfloat_ref.arrays.block_setting import BlockSetting
from softfloat_ref.arrays.kernels import prefixes
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, BlockFormat, any_format, get_block_format
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.codec import decode, decoder, encoder, to_value
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE, get_format
from softfloat_ref.oracle.policies import ROUNDINGS, Policy
from softfloat_ref.oracle.sources import Philox

EMAX = {"mxfp8_e5m2": 15, "mxfp8_e4m3": 8, "mxfp6_e3m2": 4, "mxfp6_e2m3": 2, "mxfp4_e2m1": 2, "mxint8": 0}
ALL = [BLOCK_FORMATS[name] for name in EMAX]


def values(*numbers: float | Fraction) -> list[Value]:
    return [to_value(x, 100) for x in numbers]


def defined(numbers: list[Fraction], fmt: BlockFormat) -> tuple[int, list[Fraction]]:
    """OCP MX 1.0 6.3 in rationals: the scale's exponent, and the elements: the nearest values, ties to even code."""
    flushed = [x if abs(x) >= Fraction(2) ** -126 else Fraction(0) for x in numbers]
    amax = max(map(abs, flushed))
    if amax == 0:
        return -127, [Fraction(0)] * len(numbers)
    floor = max(e for e in range(-1100, 1100) if Fraction(2) ** e <= amax)
    exponent = min(max(floor - EMAX[fmt.name], -127), 127)
    table = {}
    for code in range(1 << fmt.element.width):
        v = decode(code, fmt.element)
        if v.is_finite and not (fmt.name == "mxint8" and code == 0x80):
            table.setdefault(v.as_fraction(), code)
    chosen = []
    for x in flushed:
        scaled = x / Fraction(2) ** exponent
        chosen.append(min(table, key=lambda v: (abs(v - scaled), table[v] & 1)))
    return exponent, chosen


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("fmt", ALL, ids=lambda b: b.name)
def test_oracle_is_the_definition(fmt: BlockFormat) -> None:
    rng = np.random.default_rng(7)
    for trial in range(60):
        scale = Fraction(2) ** int(rng.integers(-160, 128))
        numbers = [Fraction(float(x)) * scale for x in rng.standard_normal(8) * 2.0 ** rng.integers(-9, 1, 8)]
        if trial % 3 == 0:  # an amax at, just below and just above a power of two
            numbers[0] = scale * (1 + Fraction(trial % 9 // 3 - 1, 1 << 30))
        block = quantize_block(values(*numbers), fmt)
        exponent, elements = defined(numbers, fmt)
        assert block.scale == exponent + 127
        assert [decode(c, fmt.element).as_fraction() for c in block.codes] == elements


def test_special_blocks() -> None:
    for special in (float("nan"), float("inf"), -float("inf")):
        assert quantize_block(values(1.0, special), "mxfp8") == (0xFF, (0x7F, 0x7F), (0, 0))
        assert quantize_block(values(special), "mxfp8_e5m2") == (0xFF, (0x7E,), (0,))
        assert quantize_block(values(special, 3.0), "mxfp4") == (0xFF, (0, 0), (0, 0))
        assert quantize_block(values(special, 3.0), "mxint8") == (0xFF, (0, 0), (0, 0))
    assert quantize_block(values(0.0, -0.0), "mxfp8")[:2] == (0x00, (0x00, 0x80))
    assert quantize_block(values(-0.0), "mxint8")[:2] == (0x00, (0x00,))
    # FP32 subnormals are zero, each by itself, and before amax
    assert quantize_block(values(2.0**-127, -(2.0**-130)), "mxfp8")[:2] == (0x00, (0x00, 0x80))
    assert quantize_block(values(1.0, 2.0**-127), "mxfp8").codes[1] == 0
    # PEERS: amax 448, 449 and 500 all have scale 7F under floor
    assert [quantize_block(values(x), "mxfp8").scale for x in (448, 449, 500, 512)] == [0x7F, 0x7F, 0x7F, 0x80]
    assert quantize_block(values(500), "mxfp8").codes == (0x7E,)
    # INT8 is symmetric
    assert quantize_block(values(-1.999), "mxint8").codes == (0x81,)
    # the scale is clamped
    assert quantize_block(values(2.0**-126), "mxfp8")[:2] == (0x00, (0x40,))
    assert quantize_block(values(Fraction(2) ** 500), "mxfp8")[:2] == (0xFE, (0x7E,))


def test_dequantize() -> None:
    assert dequantize_to_fp32(0xFF, (0x38, 0x00), "mxfp8") == [0x7FC00000] * 2
    assert dequantize_to_fp32(0x7F, (0x38, 0xB8, 0x7F), "mxfp8") == [0x3F800000, 0xBF800000, 0x7FC00000]
    assert dequantize_to_fp32(0xFE, (0x7E, 0xFE), "mxfp8") == [0x7F800000, 0xFF800000]
    assert dequantize_to_fp32(0x00, (0x01,), "mxfp8") == [1 << 13]  # 2^-9 * 2^-127, an FP32 subnormal
    assert dequantize_to_fp32(0x7F, (0x80,), "mxint8") == [0xC0000000]


@pytest.mark.full(keep=4)
@pytest.mark.parametrize("fmt", ALL, ids=lambda b: b.name)
def test_dequantize_array_is_the_oracle(fmt: BlockFormat) -> None:
    """Every scale with every code."""
    codes = np.arange(1 << fmt.element.width, dtype=np.uint8)
    padded = np.resize(codes, -(-codes.size // 32) * 32)
    for scale in range(256):
        array = blocks.BlockArray(padded, np.full(padded.size // 32, scale, np.uint8), fmt, 0)
        got = array.decode().view(np.uint32).tolist()
        assert got == dequantize_to_fp32(scale, padded.tolist(), fmt)


def tensors(dtype: type) -> np.ndarray:
    """Random magnitudes over all exponents, with specials, in rows of several blocks and a short one."""
    rng = np.random.default_rng(3)
    exponents = rng.integers(-150, 128, (40, 3, 1)) if dtype != np.float16 else rng.integers(-20, 15, (40, 3, 1))
    x = rng.standard_normal((40, 3, 70)) * 2.0 ** np.clip(exponents + rng.integers(-12, 1, (40, 3, 70)), -1000, 1000)
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    x[0, 0, 5], x[1, 1, 40], x[2, 2, 69], x[3, 0, :32] = np.nan, np.inf, -np.inf, -0.0
    return x


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("fmt", ALL, ids=lambda b: b.name)
def test_arrays_are_the_oracle(fmt: BlockFormat, dtype: type) -> None:
    x = tensors(dtype)
    for axis in (-1, 1, 0):
        quantized = blocks.encode(x, fmt, axis=axis)
        check_against_oracle(x, quantized, axis)


def check_against_oracle(x: np.ndarray, quantized: blocks.BlockArray, axis: int) -> None:
    lanes = np.moveaxis(x.astype(np.float64), axis, -1).reshape(-1, x.shape[axis])
    codes = np.moveaxis(quantized.codes, axis, -1).reshape(lanes.shape)
    scales = np.moveaxis(quantized.scales, axis, -1).reshape(len(lanes), -1)
    restored = np.moveaxis(quantized.decode(), axis, -1).reshape(lanes.shape)
    for lane, row, scale_row, back in zip(lanes, codes, scales, restored, strict=True):
        for i, scale in enumerate(scale_row):
            part = slice(32 * i, 32 * i + 32)
            block = quantize_block([to_value(float(v), 0) for v in lane[part]], quantized.fmt)
            assert (block.scale, list(block.codes)) == (scale, row[part].tolist())
            expected = dequantize_to_fp32(block.scale, block.codes, quantized.fmt)
            assert back[part].copy().view(np.uint32).tolist() == expected


def test_stochastic_blocks() -> None:
    x = tensors(np.float32)[10:14, 0]
    policy = Policy("sr", sr_bits=6)
    quantized = blocks.encode(x, "mxfp4", policy=policy, random_bits=Philox(5))
    words = Philox(5).bits(6, 0, x.size)
    for r, row in enumerate(x):
        for i in range(3):
            part = slice(32 * i, min(32 * i + 32, 70))
            block = quantize_block(
                [to_value(float(v), 0) for v in row[part]],
                "mxfp4",
                policy=policy,
                random_bits=words[r * 70 + part.start : r * 70 + part.stop],
            )
            assert list(block.codes) == quantized.codes[r, part].tolist()
    word_array = np.array(words).reshape(x.shape)
    assert (blocks.encode(x, "mxfp4", policy=policy, random_bits=word_array).codes == quantized.codes).all()


@pytest.mark.parametrize("nan", ["propagate", "propagate,negative", "canonical"])
def test_a_nan_that_no_input_has(nan: str) -> None:
    """Zero times a reciprocal beyond FP32: the operation's own NaN, not the processor's."""
    fmt = get_block_format("s1e3m6@fp32/2")
    profile, policy = get_profile("nvfp4-torchao,tail=pad,formats=*"), Policy(nan=nan)
    x = np.array([[0, 0, 1, -3]], np.float32)
    result = blocks.encode(x, fmt, profile=profile, policy=policy)
    zero = quantize_block([to_value(0.0, 0)] * 2, fmt, profile, policy, None, result.factor)
    assert fmt.element.is_nan(zero.codes[0])
    assert result.codes[0, :2].tolist() == list(zero.codes)


SCALARS = [f for f in CATALOGUE.values() if f.width <= 16] + [
    get_format(n)
    for n in ("s1e6m1b46", "binary8p4se", "binary8p1ue", "s1e5m5", "s1e4m3b-20", "s1e8m6", "i5", "s0e4m3", "s1e4m0fn")
]


@pytest.mark.full(keep=4)
@pytest.mark.parametrize("fmt", SCALARS, ids=lambda f: f.name)
def test_encode_arrays(fmt: sf.Format) -> None:
    """All float16 values (through the table where the format has one), every rounding; random float32 and float64."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    rng = np.random.default_rng(1)
    n = cases(1000, 3000)
    singles = rng.integers(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = np.ldexp(rng.standard_normal(n), rng.integers(fmt.emin - fmt.mantissa_bits - 3, fmt.emax + 3, n))
    policies = [Policy(m) for m in ROUNDINGS if not m.startswith("sr")] if fmt.width <= 8 else [Policy()]
    for policy in [*policies, Policy(flush_outputs=True), Policy(overflow="sat-none", nan="propagate")]:
        encode_value = encoder(fmt, policy)
        few = halves[policy.rounding % 17 :: cases(17, 7)]
        for x in (halves if policy.rounding == 0 and FULL else few, singles, near):
            source = {2: "fp16", 4: "fp32", 8: "fp64"}[x.dtype.itemsize]
            patterns = x.view(f"u{x.dtype.itemsize}").tolist()
            expected = [encode_value(decode(p, source), 0)[0] for p in patterns]
            assert arrays.encode(x, fmt, policy).tolist() == expected


ML_DTYPES = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4", "float8_e4m3fnuz", "float8_e8m0fnu",
             "float6_e3m2fn", "float4_e2m1fn", "bfloat16"]  # fmt: skip


@pytest.mark.parametrize("name", ML_DTYPES)
def test_ml_dtypes_arrays(name: str) -> None:
    """Every code of ml_dtypes' arrays, NaN kinds and DAZ of their own format included."""
    fmt = get_format(name)
    codes = np.arange(1 << fmt.width, dtype=f"u{np.dtype(name).itemsize}")
    for policy in (Policy(), Policy(flush_inputs=True), Policy(nan="propagate", overflow="sat-none")):
        for target in ("fp16", "fp8_e5m2"):
            encode_value, decode_value = encoder(get_format(target), policy), decoder(fmt, policy.flush_inputs)
            expected = [encode_value(decode_value(int(c)), 0)[0] for c in codes]
            assert arrays.encode(codes.view(name), target, policy).tolist() == expected


def test_integers_are_exact_or_refused() -> None:
    assert arrays.encode(np.array([2**53, -(2**53)]), "fp64").tolist() == [0x4340 << 48, 0xC340 << 48]
    for bad in (np.array([2**53 + 1]), np.array([2**64 - 1], np.uint64), np.array([-(2**63)])):
        with pytest.raises(Error, match="not exact in float64"):
            arrays.encode(bad, "fp32")


def test_nan_payloads_are_kept() -> None:
    x = np.array([0x7FC12345, 0xFFC00001], np.uint32).view(np.float32)
    assert arrays.quantize(x, "fp32", Policy(nan="propagate")).view(np.uint32).tolist() == [0x7FC12345, 0xFFC00001]
    assert np.signbit(arrays.decode(np.array([0xFE01]), "fp16")).tolist() == [True]


def test_block_policies() -> None:
    """Elements always saturate; their NaN is the policy's; DAZ is judged in the array's own type."""
    x = np.array([500.0, 1.0], np.float32)
    assert blocks.encode(x, "mxfp8", policy="riscv").codes.tolist() == [0x7E, 0x38]
    bad = np.array([np.nan, 1.0], np.float32)
    assert blocks.encode(bad, "mxfp8_e5m2", policy="riscv").codes.tolist() == [0x7F, 0x7F]
    assert quantize_block(values(float("nan")), "mxfp8_e5m2", policy="riscv").codes == (0x7F,)
    tiny = np.array([2.0**-20] * 2, np.float16)
    assert blocks.encode(tiny, "mxfp8", policy=Policy(flush_inputs=True)).scales.tolist() == [0]
    assert blocks.encode(tiny, "mxfp8").scales.tolist() == [127 - 20 - 8]


def test_a_process_that_flushes_subnormals_changes_nothing(tmp_path: Path) -> None:
    """Loading a library built with -ffast-math turns FTZ and DAZ on for the whole process."""
    compiler = shutil.which("gcc") or shutil.which("g++")
    if compiler is None or platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("needs gcc on x86-64")
    (tmp_path / "empty.c").write_text("void nothing(void) {}\n")
    library = tmp_path / "fast.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-ffast-math", tmp_path / "empty.c", "-o", library], check=True)
    script = """
import ctypes, sys, numpy as np
ctypes.CDLL(sys.argv[1])
assert np.float32(2.0**-126) * np.float32(0.5) == 0, "the library did not turn flushing on"
from softfloat_ref import affine, arrays, blocks
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.policies import Policy
x = np.array([0x007FFFFF, 0x80000001, 0x00400000] * 4000, np.uint32).view(np.float32)
assert set(arrays.encode(x, "bf16").tolist()) == {0x0080, 0x8000, 0x0040}
assert arrays.encode(x[:3], "fp64").tolist()[2] == 0x3800 << 48
codes = np.arange(64, dtype=np.uint8)
for scale in (0, 1, 100, 254):
    b = blocks.BlockArray(codes, np.full(2, scale, np.uint8), BLOCK_FORMATS["mxfp8_e4m3"], 0)
    assert b.decode().view(np.uint32).tolist() == dequantize_to_fp32(scale, codes.tolist(), "mxfp8")
for rule in ("torch", "torch-channel", "torch-fake"):  # quotients computed in FP32 steps, rounded up
    up = affine.encode(x[:3], "qint8", Policy("rup"), profile=rule, scale=1, zero_point=0)
    assert up.integers.tolist() == [1, 0, 1]
unit = np.uint32(1 << 19).view(np.float32)  # 2^-130
assert affine.quantize(x[:3], "qint8", scale=unit, zero_point=0).view(np.uint32).tolist() == [1 << 23, 0, 1 << 22]
x[0] = 6  # the scale is 1
torchao = blocks.encode(x[:16], "nvfp4", Policy("rup"), profile="nvfp4-torchao", tensor_scale=1.0)
assert torchao.codes.tolist() == [7, *[8, 1, 1] * 5]
"""
    subprocess.run([sys.executable, "-c", script, library], check=True, cwd=Path(__file__).parents[2])


def test_tables_are_used_where_they_fit() -> None:
    """The check above must reach the table, not only the oracle's loop."""
    for name in ("fp8_e4m3", "int8", "fp6_e2m3", "s1e6m1b46", "e8m0"):
        assert prefixes.table_for(get_format(name), Policy(), 1 << 16, np.dtype(np.uint16)) is not None
    assert prefixes.table_for(get_format("fp16"), Policy(), 1 << 20, np.dtype(np.uint16)) is not None
    assert prefixes.table_for(get_format("fp8_e4m3"), Policy("sr", sr_bits=2), 1 << 20, np.dtype(np.uint16)) is None
    assert prefixes.table_for(get_format("fp32"), Policy(), 1 << 20, np.dtype(np.uint16)) is None


def test_shapes_and_layouts() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    expected = arrays.encode(x, "fp16")
    for same in (np.asfortranarray(x), x[::1], x.astype(">f4"), x.astype(ml_dtypes.bfloat16), x.astype(np.int16)):
        assert (arrays.encode(same, "fp16") == expected).all()
    assert (arrays.encode(x[:, ::2, ::-1], "fp16") == expected[:, ::2, ::-1]).all()
    assert arrays.encode(np.float32(1), "fp16").shape == ()
    assert int(arrays.encode(np.float32(1), "fp16")) == 0x3C00
    assert arrays.encode(np.zeros((0, 3)), "fp8_e4m3").shape == (0, 3)
    assert blocks.encode(np.zeros((0, 32)), "mxfp8").codes.shape == (0, 32)
    assert blocks.encode(np.zeros((2, 0)), "mxfp8").scales.shape == (2, 0)
    assert arrays.decode(np.array([0x3C00]), "fp16").dtype == np.float32
    assert arrays.decode(np.array([0]), "fp64").dtype == np.float64
    assert arrays.decode([], "fp16").shape == (0,)


def test_inputs_are_not_changed() -> None:
    x = np.array([1.0, np.nan, 2.0**-140, 5.0], np.float32)
    copy = x.copy()
    blocks.encode(x, "mxfp8")
    arrays.encode(x, "fp8_e4m3", Policy(flush_inputs=True))
    assert x.tobytes() == copy.tobytes()


def test_flush_inputs_uses_the_arrays_own_type() -> None:
    daz = Policy(flush_inputs=True)
    assert arrays.encode(np.array([2.0**-15, -(2.0**-15)], np.float16), "bf16", daz).tolist() == [0, 0x8000]
    assert arrays.encode(np.array([2.0**-15], np.float32), "bf16", daz).tolist() == [0x3800]
    assert arrays.encode(np.array([2.0**-130], np.float32), "bf16", daz).tolist() == [0]
    assert arrays.encode(np.array([2.0**-130], np.float64), "bf16", daz).tolist() != [0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: arrays.encode(np.array(["a"]), "fp16"), "array of <U1"),
        (lambda: arrays.encode(np.array([1j]), "fp16"), "array of complex128"),
        (lambda: arrays.encode(np.array([2**60]), "fp16"), "not exact in float64"),
        (lambda: arrays.encode(np.ones(3), "fp16", Policy("sr", sr_bits=4)), "none were given"),
        (lambda: arrays.encode(np.ones(3), "fp16", Policy("sr", sr_bits=4), [1, 2]), "of shape"),
        (lambda: arrays.encode(np.ones(1), "fp16", Policy("sr", sr_bits=4), [16]), "of 4 bits"),
        (lambda: arrays.encode(np.ones(3), "fp128"), "at most 64"),
        (lambda: arrays.encode(np.ma.array([1.0], mask=[True]), "fp16"), "masked array"),
        (lambda: affine.quantize(np.ma.array([1.0], dtype=np.float32), "qint8"), "masked array"),
        (lambda: arrays.encode([[1.0], [1.0, 2.0]], "fp16"), "different lengths"),
        (lambda: blocks.encode(np.ones((2, 2)), "mxfp8", axis=1.0), "axis = 1.0: an integer"),
        (lambda: arrays.decode([256], "fp8_e4m3"), "codes of fp8_e4m3 have 8 bits"),
        (lambda: arrays.decode([0.5], "fp8_e4m3"), "codes must be integers"),
        (lambda: arrays.decode([0], "fp128"), "float64 does not hold"),
        (lambda: blocks.encode(np.float32(1), "mxfp8"), "0-dimensional"),
        (lambda: blocks.encode(np.ones(3), "mxfp8", axis=1), "out of range"),
        (lambda: blocks.encode(np.ones(3), "fp16"), "is a scalar format"),
        (lambda: blocks.encode(np.ones(3), "mxfp8", profile="x"), "unknown block profile"),
        (lambda: get_block_format("mxfp9"), "did you mean"),
        (lambda: quantize_block(values(*range(33)), "mxfp8"), "at most 32"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(Error, match=message):
        call()  # type: ignore[operator]


def test_quantize_at_the_top_level() -> None:
    x = np.array([0.3, 1.5, -448.0, 1000.0], np.float32)
    assert sf.quantize(x, "fp8_e4m3").tolist() == [0.3125, 1.5, -448.0, 448.0]
    assert sf.quantize(x, "mxfp8").tolist() == [0.3125, 1.5, -448.0, 896.0]
    assert any_format("mxfp4").name == "mxfp4_e2m1"


def test_every_element_has_its_emax() -> None:
    assert {b.name: b.element.emax for b in ALL} == EMAX
    assert len(list(itertools.chain(ALL))) == 6


@pytest.mark.full
@pytest.mark.parametrize("fmt", ["mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp4", "mxint8"])
@pytest.mark.parametrize("rounding", ["sr", "sr-b", "sr-c"])
def test_stochastic_blocks_by_compiled_loops(fmt: str, rounding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same codes and scales as the blocks' quotients in float64."""
    rng = np.random.default_rng(0)
    plain = rng.standard_normal((96, 352)).astype(np.float32)
    patterns = rng.integers(0, 1 << 32, plain.shape, dtype=np.uint32).view(np.float32)
    wide = np.where(np.isfinite(patterns), patterns, 0).astype(np.float32)
    policy, source = Policy(rounding=rounding, sr_bits=16), Philox(4)
    for x, axis, profile in ((plain, 0, None), (wide, 1, None), (wide, 0, "torchao-even"), (wide / 2**100, 1, None)):
        result = blocks.encode(x, fmt, axis=axis, profile=profile, policy=policy, random_bits=source)
        with monkeypatch.context() as context:
            context.setattr(BlockSetting, "divided", lambda *_: None)
            expected = blocks.encode(x, fmt, axis=axis, profile=profile, policy=policy, random_bits=source)
        assert (result.codes == expected.codes).all()
        assert (result.scales == expected.scales).all()
