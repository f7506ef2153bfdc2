"""The compiled conversions of blocks with scales of any format, and stochastic ones, against the scalar oracle."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from softfloat_ref import blocks
from softfloat_ref.arrays.kernels import dispatch, divided, divided_slabs, nearest, plans
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.blocks.scale_rules import SCALE_RULES
from softfloat_ref.oracle.codec import decode, decoder
from softfloat_ref.oracle.formats import CATALOGUE, define_format, get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import Philox

pytestmark = pytest.mark.usefixtures("compiled")

FP32 = CATALOGUE["fp32"]
MANY = int(os.environ.get("SOFTFLOAT_BLOCKS", "4"))  # blocks of each kind
VALUES = 256  # for which the compiled loops are used
TURNS = [0, 1, 0x7FFFFF, 0x400000, 0x400001, 0x3FFFFF, 0x600000, 0x200000, 0x180000]  # where roundings turn
SIGN = np.uint32(1 << 31)
Bits = np.ndarray


def wild(rng: np.random.Generator, shape: tuple[int, int]) -> Bits:
    """Any bits: most exponents differ by far, and NaN and Inf are among them."""
    return rng.integers(0, 1 << 32, shape, np.uint32)


def finite(rng: np.random.Generator, shape: tuple[int, int]) -> Bits:
    bits = wild(rng, shape)
    return np.where(bits & np.uint32(0x7F800000) == 0x7F800000, bits & np.uint32(0xBFFFFFFF), bits)


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Bits:
    return rng.standard_normal(shape, np.float32).view(np.uint32)


def close(rng: np.random.Generator, shape: tuple[int, int]) -> Bits:
    """Exponents near one another, anywhere in the range, with fractions where roundings turn."""
    fields = np.clip(rng.integers(0, 255, (shape[0], 1)) - rng.integers(0, 30, shape), 0, 254).astype(np.uint32)
    return fields << np.uint32(23) | rng.choice(np.array(TURNS, np.uint32), shape) | wild(rng, shape) & SIGN


def ties(rng: np.random.Generator, shape: tuple[int, int]) -> Bits:
    """Small multiples of a number of few bits, so that quotients are values and midpoints."""
    steps = rng.integers(-64, 64, shape) * 2.0 ** rng.integers(-6, 3, shape)
    units = rng.choice([1, 3, 1.5, 1.25, 127, 7, 448, 2.0**-100, 2.0**60, 3 * 2.0**-126], (shape[0], 1))
    return (steps * units).astype(np.float32).view(np.uint32)


def tiny(rng: np.random.Generator, shape: tuple[int, int]) -> Bits:
    """Subnormals of every binade, and the first normals."""
    bits = wild(rng, shape)
    return (bits & np.uint32(0xFFFFFF)) >> rng.integers(0, 24, (shape[0], 1), np.uint32) | bits & SIGN


def sparse(rng: np.random.Generator, shape: tuple[int, int]) -> Bits:
    """Mostly zeros of both signs, and blocks of nothing else."""
    bits = np.where(rng.random(shape) < 0.1, normal(rng, shape), wild(rng, shape) & SIGN)
    bits[::3] &= SIGN
    return bits


KINDS = (wild, finite, normal, close, ties, tiny, sparse)
# format, profile, policy
CASES: list[tuple[str, str | None, dict[str, Any]]] = [
    ("fp8_e4m3@fp32/32", None, {}),
    ("int8@fp32/32", None, {}),
    ("fp4_e2m1@bf16/32", None, {}),
    ("fp8_e5m2@bf16/32", "ocp", {}),
    ("fp6_e3m2@fp32/8", "ocp,scale_rule=rceil", {}),
    ("fp8_e4m3@fp32/32", "ocp,scale_rule=ceil", {}),
    ("fp8_e4m3@fp32/32", "ocp,scale_rule=even,flush=never", {}),
    ("int8@bf16/32", "ocp,scale_rule=nearest,integers=full", {}),
    ("fp8_e4m3@fp32/32", "ocp,scale_rule=amax,flush=never", {}),
    ("fp8_e4m3@fp16/16", "ocp,scale_rule=rne,scale_high=format,flush=never", {}),
    ("fp8_e4m3@fp32/5", "p3109", {}),
    ("binary8p3se@binary8p1ue/32", None, {}),  # no negative zero
    ("fp4_e2m1@binary8p1uf/16", "p3109", {}),  # several powers of two among FP32's subnormals
    ("fp4_e2m1@fp32/32", "ocp,scale_rule=floor,flush=never", {}),
    ("ue5m3@fp32/8", None, {}),  # no negative values
    ("fp8_e4m3fnuz@fp32/32", None, {}),
    ("nvfp4", None, {}),
    ("nvfp4", "nvfp4-torchao", {}),
    ("nvfp4", "nvfp4,negative_zero=drop", {}),
    ("nvfp4", "nvfp4,tensor_scale=none", {}),
    ("nvfp4", "ocp,scale_rule=rceil,negative_zero=drop-given,flush=element", {}),
    ("fp4_e2m1@ue5m3/16", None, {}),
    ("fp8_e4m3@ue4m3/16", "nvfp4", {}),
    ("fp16@fp32/8", None, {}),
    ("fp8_e4m3@fp32/32", None, {"rounding": "rup"}),
    ("int8@fp32/32", None, {"rounding": "rdn"}),
    ("fp8_e5m2@fp32/32", None, {"rounding": "rto"}),
    ("nvfp4", None, {"rounding": "rtz"}),
    ("fp4_e2m1@fp32/32", None, {"rounding": "rna"}),
    ("nvfp4", "nvfp4-torchao", {"rounding": "rup"}),
    ("fp8_e4m3@fp32/32", "ocp,scale_rule=rne", {"flush_inputs": True}),
    ("fp8_e4m3@fp32/32", None, {"rounding": "sr", "sr_bits": 8}),
    ("fp8_e4m3@fp32/32", None, {"rounding": "sr-c", "sr_bits": 15}),  # too many bits for a reciprocal
    ("int8@fp32/32", None, {"rounding": "sr-b", "sr_bits": 12}),
    ("nvfp4", None, {"rounding": "sr", "sr_bits": 4}),
    ("nvfp4", "nvfp4-torchao", {"rounding": "sr-c", "sr_bits": 8}),
    ("mxfp8_e4m3", None, {"rounding": "sr-b", "sr_bits": 8}),
    ("mxfp8_e5m2", "torchao-ceil", {"rounding": "sr", "sr_bits": 10}),
    ("mxfp4_e2m1", "microxcaling", {"rounding": "sr", "sr_bits": 16}),
    ("mxint8", None, {"rounding": "sr-c", "sr_bits": 7}),
    ("nvfp4", "modelopt-nvfp4", {}),
    ("mxfp4", "modelopt-mxfp4", {}),
    ("mxfp8", "modelopt-mxfp8", {}),
    ("nvfp4", "compressed-tensors-nvfp4", {}),
    ("mxfp6_e2m3", "compressed-tensors-mx", {}),
    ("mxfp8", "compressed-tensors-mxfp8", {}),
    ("mxfp4", "gguf-mxfp4", {}),
    ("mxfp4", "mlx-cpu-mxfp4", {}),
    ("mxfp8", "mlx-cpu-mxfp8", {}),
    ("nvfp4", "mlx-cpu-nvfp4", {}),
    ("mxfp6_e3m2", "quark-mx", {}),
    ("mxfp8", "quark-mxfp8", {}),
    ("fp8_e4m3@fp32/32", "deepseek-fp8", {}),
    ("mxint8", "modelopt-mxfp4,formats=*", {}),  # no negative zero to set
    ("fp4_e2m1@ue4m3/16", "compressed-tensors-nvfp4,negative_zero=set-given,special_codes=nan,inf=block", {}),
    ("nvfp4", "compressed-tensors-nvfp4,scale_low=smallest-normal,zero_block=smallest", {}),
    ("fp8_e5m2@fp16/16", "modelopt-nvfp4,overflow=sat-none,formats=*", {}),  # quotients of Inf
    ("fp8_e5m2@bf16/16", "modelopt-nvfp4,flush=element,negative_zero=drop,formats=*", {}),
    ("nvfp4", "modelopt-nvfp4", {"rounding": "rup"}),
    ("nvfp4", "compressed-tensors-nvfp4", {"rounding": "sr", "sr_bits": 4}),
    ("fp8_e4m3@fp32/32", "deepseek-fp8", {"rounding": "rto"}),
    ("mxfp8", "quark-mxfp8", {"rounding": "sr-b", "sr_bits": 8}),
    ("nvfp4", "nvfp4-4over6-mse", {}),
    ("nvfp4", "nvfp4-4over6-mae,tensor_scale=amax", {"rounding": "sr", "sr_bits": 4}),
    ("nvfp4", "nvfp4-4over6-max,negative_zero=set-given,scale_search=none", {"rounding": "rup"}),
    ("fp8_e5m2@bf16/16", "modelopt-nvfp4,flush=element,scale_search=mse,formats=*", {}),
    ("fp4_e2m1@ue4m3/5", "compressed-tensors-nvfp4,scale_search=mae,formats=*", {}),
    ("int8@ue4m3/16", "nvfp4-4over6-max,formats=*,tensor_scale=none", {}),
]


def check(bits: Bits, words: Any, result: blocks.BlockArray, policy: Policy | None, factor: Any) -> None:
    """Every block, which is a row, against the oracle."""
    decode_value = decoder(FP32)
    rows = zip(bits.tolist(), result.codes.tolist(), result.scales.tolist(), strict=True)
    for i, (operands, codes, scales) in enumerate(rows):
        drawn = None if words is None else words[i].tolist()
        values = [decode_value(code) for code in operands]
        block = quantize_block(values, result.fmt, result.profile, policy, drawn, factor)
        assert (block.scale, list(block.codes)) == (scales[0], codes), [hex(code) for code in operands]


def check_values(result: blocks.BlockArray) -> None:
    """The values of a few blocks, which are rows, against the oracle."""
    values = result.decode()[:MANY].view(np.uint32).tolist()
    rows = zip(result.scales[:MANY, 0].tolist(), result.codes[:MANY].tolist(), values, strict=True)
    for scale, codes, expected in rows:
        assert dequantize_to_fp32(scale, codes, result.fmt, result.profile, result.factor) == expected


@pytest.mark.full(keep=4)
@pytest.mark.parametrize(("name", "profile", "chosen"), CASES)
@pytest.mark.parametrize("axis", [1, 0])
@pytest.mark.parametrize("tensor_scale", [None, float(np.float32(0.37))])
def test_blocks_against_the_oracle(
    name: str, profile: str | None, chosen: dict[str, Any], axis: int, tensor_scale: float | None, monkeypatch: Any
) -> None:
    fmt, rng = get_block_format(name), np.random.default_rng(5)
    policy = Policy(**chosen) if chosen else None
    if tensor_scale and (name[0] != "n" or "tensor_scale=none" in str(profile)):
        tensor_scale = 4.0
    left = watched(monkeypatch)
    for kind in KINDS:
        bits = kind(rng, (max(MANY, -(-VALUES // fmt.size)), fmt.size))
        words = rng.integers(0, 1 << policy.random_count, bits.shape) if policy and policy.random_count else None
        turned, drawn = (x if axis or x is None else np.ascontiguousarray(x.T) for x in (bits, words))
        result = blocks.encode(
            turned.view(np.float32),
            fmt,
            axis=axis,
            profile=profile,
            policy=policy,
            random_bits=drawn,
            tensor_scale=tensor_scale,
        )
        rows = blocks.BlockArray(
            *(x if axis else x.T for x in (result.codes, result.scales)),
            result.fmt,
            1,
            result.profile,
            result.tensor_scale,
        )
        few = slice(MANY)
        part = blocks.BlockArray(rows.codes[few], rows.scales[few], result.fmt, 1, result.profile)
        check(bits[few], None if words is None else words[few], part, policy, result.factor)
        if kind is normal and (tensor_scale is None or name == "nvfp4"):
            assert left[-1] == 0, "the oracle computed some blocks"
        check_values(rows)


def against_the_oracle(fmt: BlockFormat, profile: str, policy: Policy, factor: float | None, *kinds: Any) -> None:
    """Blocks of each kind, under a second-level scale."""
    rng = np.random.default_rng(11)
    for kind in kinds:
        bits = kind(rng, (VALUES // fmt.size, fmt.size))
        result = blocks.encode(bits.view(np.float32), fmt, policy, profile=profile, tensor_scale=factor)
        check(bits, None, result, policy.replace(overflow=result.profile.overflow), result.factor)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("width", [2, 6, 10, 13])
@pytest.mark.parametrize("profile", ["ocp", "nvfp4", "nvfp4-torchao"])
def test_integers_of_any_width(width: int, profile: str) -> None:
    """Codes of negative integers have no bits above their width."""
    table = CATALOGUE["int8"].to_dict() | {"name": f"int{width}", "mantissa_bits": width - 1}
    scale = CATALOGUE["e8m0" if profile == "ocp" else "ue4m3"]
    for integers in ("symmetric", "full"):
        fmt = BlockFormat("integers", define_format(table), scale, 32)
        against_the_oracle(fmt, f"{profile},integers={integers}", Policy(), None, normal, ties)


@pytest.mark.parametrize("element", ["fp8_e5m2", "fp8_e4m3", "fp4_e2m1"])
@pytest.mark.parametrize("overflow", ["sat-none", "sat-propagate"])
def test_a_product_beyond_fp32_is_inf(element: str, overflow: str) -> None:
    """Of value and reciprocal, in the arithmetic of torchao's NVFP4: not the same as a large number."""
    fmt = BlockFormat("drawn", CATALOGUE[element], CATALOGUE["ue4m3"], 16)
    profile = f"nvfp4-torchao,overflow={overflow}"
    against_the_oracle(fmt, profile, Policy(), float(np.float32(1e-30)), normal, finite, close)


@pytest.mark.parametrize("rule", SCALE_RULES)
@pytest.mark.parametrize("name", ["fp4_e2m1@ue4m3/16", "int8@bf16/32"])
def test_every_scale_rule(name: str, rule: str) -> None:
    """Scales with a significand, under rules that give powers of two and under those that do not."""
    against_the_oracle(get_block_format(name), f"ocp,flush=never,scale_rule={rule}", Policy(), None, normal, close)


@pytest.mark.parametrize("scale", ["s0e4m0b-960", "s0e4m0b1100", "s1e5m2b-990"])
@pytest.mark.parametrize("rule", ["floor", "rceil"])
@pytest.mark.parametrize("rounding", ["rne", "rup"])
def test_scales_near_the_ends_of_float64(scale: str, rule: str, rounding: str) -> None:
    fmt = BlockFormat("drawn", CATALOGUE["fp8_e5m2"], get_format(scale), 32)
    profile = f"ocp,flush=never,nan=element,inf=element,scale_rule={rule}"
    against_the_oracle(fmt, profile, Policy(rounding=rounding), None, finite, tiny)  # type: ignore[arg-type]


def test_plans_know_the_fields_of_the_loops() -> None:
    fields = nearest.Nearest._fields
    assert [fields[i] for i in (plans.LEAST, plans.BEYOND, plans.INF)] == ["least", "beyond", "inf"]


def of_bf16(rng: np.random.Generator, shape: tuple[int, int]) -> Bits:
    """Numbers of 8 bits, under which the errors of two scales are often equal."""
    return normal(rng, shape) & np.uint32(0xFFFF0000)


SEARCHED = ["nvfp4-4over6-mse", "nvfp4-4over6-mae", "nvfp4-4over6-max", "nvfp4-4over6-mse,tensor_scale=amax"]
SEARCHED += ["modelopt-nvfp4,scale_search=mse", "compressed-tensors-nvfp4,scale_search=mae"]


@pytest.mark.full
@pytest.mark.parametrize("profile", SEARCHED)
@pytest.mark.parametrize("name", ["nvfp4", "fp6_e2m3@ue5m3/12", "fp4_e2m1@ue4m3/16x16"])
def test_searched_scales_are_those_of_the_steps_in_numpy(
    name: str, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many blocks of every kind, under tensor scales that are found, and such that steps are beyond FP32."""
    rng = np.random.default_rng(23)
    for kind in (*KINDS, of_bf16):
        x = kind(rng, (96, 480)).view(np.float32)
        for second in (None, 1.0, float(np.float32(3e37)), float(np.float32(1e-37))):
            options: dict[str, Any] = {"profile": f"{profile},formats=*", "tensor_scale": second}
            finite = kind not in (wild, sparse)
            result = blocks.encode(x[: None if finite else 12], name, **options)
            with monkeypatch.context() as context:
                context.setattr(dispatch, "use_compiled_soon", lambda size: False)
                want = blocks.encode(x[: len(result)], name, **options)
            np.testing.assert_array_equal(result.scales, want.scales)
            np.testing.assert_array_equal(result.codes, want.codes)
            assert result.tensor_scale == want.tensor_scale


def test_what_fp32_holds() -> None:
    """As the divisor of errors; others are left to the oracle."""
    numbers = {
        (1 << 24) - 1: True,
        (1 << 24) + 1: False,
        (1 << 24) + 2: True,
        2688: True,
        1 << 127: True,
        1 << 128: False,
    }
    assert {n: divided.is_in_fp32(exact.finite(0, n, 0)) for n in numbers} == numbers


def watched(monkeypatch: Any) -> list[int]:
    """The number of blocks that each conversion in the loops leaves to the oracle."""
    left: list[int] = []
    quantize = divided_slabs.quantize

    def watch(*arguments: Any, **options: Any) -> Any:
        redo = quantize(*arguments, **options)
        left.append(int(redo.sum()))
        return redo

    monkeypatch.setattr(divided_slabs, "quantize", watch)
    return left


@pytest.mark.parametrize("name", ["fp8_e4m3@fp32/axis", "int8@bf16/axis", "fp4_e2m1@fp32/tensor", "nvfp4"])
@pytest.mark.parametrize("rounding", ["rne", "sr"])
@pytest.mark.parametrize("shape", [(3, 7, 100), (5, 600), (1, 5000), (4500,)])
def test_slabs_and_threads_do_not_change_bits(
    name: str, rounding: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every axis, in slabs smaller than a row, with random words that are drawn and given; against numpy's way."""
    x = np.random.default_rng(3).standard_normal(shape, np.float32)
    policy = Policy(rounding, sr_bits=6 if rounding == "sr" else None)  # type: ignore[arg-type]
    drawn = Philox(7) if rounding == "sr" else None
    word_array = None if drawn is None else drawn.array(6, 0, x.size).reshape(shape)
    for axis in range(len(shape)):
        want = blocks.encode(x.astype(np.float64), name, axis=axis, policy=policy, random_bits=word_array)
        for slab, words, threads in (
            (1 << 17, drawn, 1),
            (700, drawn, 1),
            (64, word_array, 1),
            (1 << 17, word_array, 3),
        ):
            monkeypatch.setattr(divided_slabs, "SLAB", slab)
            result = blocks.encode(x, name, axis=axis, policy=policy, random_bits=words, threads=threads)
            assert np.array_equal(result.codes, want.codes)
            assert np.array_equal(result.scales, want.scales)
            assert result.tensor_scale == want.tensor_scale


@pytest.mark.parametrize("shape", [(3, 7, 100), (5, 600), (4500,)])
def test_slabs_and_threads_of_a_search(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose errors depend on the random words, too, along every axis."""
    x, policy = np.random.default_rng(4).standard_normal(shape, np.float32), Policy("sr", sr_bits=6)
    options: dict[str, Any] = {"profile": "nvfp4-4over6-mae", "policy": policy, "random_bits": Philox(7)}
    for axis in range(len(shape)):
        want = blocks.encode(x, "nvfp4", axis=axis, **options)
        for slab, threads in ((700, 1), (64, 1), (64, 3)):
            with monkeypatch.context() as context:
                context.setattr(divided_slabs, "SLAB", slab)
                context.setattr(divided_slabs, "SMALL_SIZE", 0)
                result = blocks.encode(x, "nvfp4", axis=axis, threads=threads, **options)
            assert np.array_equal(result.codes, want.codes)
            assert np.array_equal(result.scales, want.scales)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", ["nvfp4", "fp8_e4m3@bf16/16"])
def test_every_bf16_under_every_scale(name: str) -> None:
    """All 2^16 inputs of BF16, beside largest magnitudes that give different scales; against numpy's way."""
    every = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    for top in (1.0, 3.1, 1e-30, 7e30, 2.0**-130):
        block = np.full((1 << 16, 16), top, np.float32)
        block.view(np.uint32)[:, 3] = every
        result = blocks.encode(block, name, tensor_scale=1.5)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            wide = block.astype(np.float64)
        want = blocks.encode(wide, name, tensor_scale=1.5)
        assert np.array_equal(result.scales, want.scales)
        assert np.array_equal(result.codes, want.codes)


def test_tensor_scales_of_any_largest_magnitude() -> None:
    from softfloat_ref.arrays.block_setting import setting
    from softfloat_ref.oracle.blocks.tensor_scales import tensor_scale_of

    rng, chosen = np.random.default_rng(2), setting("nvfp4", None, None)
    for bits in [*range(3), *rng.integers(0, 1 << 24, 300).tolist(), *rng.integers(0, 0x7F800000, 2000).tolist()]:
        want = tensor_scale_of(decode(bits, FP32) if bits else None, chosen.fmt, chosen.profile)
        assert chosen.tensor_scale(bits) == want, hex(bits)


def test_words_that_a_source_cannot_give_leave_an_earlier_result_as_it_was() -> None:
    from softfloat_ref.oracle.sources import Lfsr

    x = np.random.default_rng(8).standard_normal((2, 8, 64)).astype(np.float32)
    policy = Policy("sr", sr_bits=8)
    out = blocks.encode(x[0], "nvfp4", policy=policy, random_bits=Philox(1))
    before = out.codes.copy(), out.scales.copy()
    with pytest.raises(Error, match="8 are needed"):
        blocks.encode(x[1], "nvfp4", policy=policy, random_bits=Lfsr(4, (4, 3), 1, 3, 0), out=out)
    assert np.array_equal(out.codes, before[0])
    assert np.array_equal(out.scales, before[1])
