"""Fake quantization on a device: Triton's kernels under its interpreter (tests/conftest.py), against the array layer
and the scalar model; and the copy to the CPU where there is no kernel, or no triton."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import CATALOGUE, get_format
from softfloat_ref.oracle.policies import ROUNDINGS, Overflow, Policy

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
fake_quantize: Any = pytest.importorskip("softfloat_ref.torch").fake_quantize
devices: Any = pytest.importorskip("softfloat_ref.torch.devices")
device_plans: Any = pytest.importorskip("softfloat_ref.torch.device_plans")
setting: Any = pytest.importorskip("softfloat_ref.arrays.block_setting").setting

FP32 = CATALOGUE["fp32"]
LOOPS = "softfloat_ref.torch.triton_loops"
NAMED = [name for name in CATALOGUE if device_plans.scalar_plan(CATALOGUE[name], Policy(), "bf16")]
FORMATS = ["mx_int8" if name == "int8" else name for name in NAMED]
FORMATS += ["s1e6m1b46", "s1e5m2fn", "s1e4m3finite", "binary8p4se", "binary8p3sf", "i4"]
POLICIES = [{"rounding": r} for r in ROUNDINGS if not r.startswith("sr")]
POLICIES += [{"overflow": str(o)} for o in Overflow] + [{"flush_inputs": True}, {"nan": "overflow-signed"}]
SIXTEEN = {"bf16": torch.bfloat16, "fp16": torch.float16}
PROFILE_FORMATS = {"nvfp4": "nvfp4", "mxfp8": "mxfp8", "deepseek": "fp8_e4m3@fp32/32", "dse": "s1e4m3@e8m0/32"}
# Profiles without a kernel: for what they do with NaN and Inf, and for their search of the scale.
WITHOUT = ("p3109", "msfp", "nvfp4-4over6-mse", "nvfp4-4over6-mae", "nvfp4-4over6-max")


def format_of(profile: str) -> str:
    return next((fmt for word, fmt in PROFILE_FORMATS.items() if word in profile), "mxfp4")


def bits(x: Any) -> Any:
    """A tensor's bits; every NaN of 16 bits the same, since torch's own conversions give several."""
    if x.dtype == torch.float32:
        return x.view(torch.int32)
    return torch.where(x.isnan(), torch.full_like(x, torch.nan), x).view(torch.int16)


def near_ties(name: str) -> Any:
    """Every number of a format of 8 bits, the midpoints between them, and their neighbours in FP32, of either sign."""
    fmt = get_format(name)
    numbers = sorted({float(decoder(fmt)(c)) for c in range(1 << fmt.width) if decoder(fmt)(c).is_finite})
    middles = [(a + b) / 2 for a, b in itertools.pairwise(numbers)] + [
        2 * numbers[-1],
        np.inf,
        np.nan,
        1e-45,
    ]
    x = np.array([*numbers, *middles, numbers[-1] + (numbers[-1] - numbers[-2]) / 2], np.float32)
    around = np.concatenate([np.nextafter(x, np.float32(-np.inf)), x, np.nextafter(x, np.float32(np.inf))])
    return torch.from_numpy(np.concatenate([around, -around]))


def some_blocks(count: int, seed: int) -> Any:
    """Blocks in every part of FP32's range, with ties, zeros, subnormals, Inf and NaN."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, 64)) * 2.0 ** rng.integers(-8, 8, (count, 64))
    x *= 2.0 ** rng.integers(-150, 120, (count, 1))
    x = np.where(rng.random(x.shape) < 0.2, np.round(x * 4) / 4, x)
    x[1], x[2], x[3, 3], x[4, 4], x[5, :2] = 0, -0.0, np.nan, np.inf, [np.inf, np.nan]
    x[6], x[7], x[8] = 3e38, 1e-45, rng.choice([0.0, -0.0, 1e-40, 3e38], 64)
    with np.errstate(all="ignore"):
        return torch.from_numpy(x.astype(np.float32))


def moderate_blocks(seed: int) -> Any:
    x = torch.from_numpy(np.random.default_rng(seed).standard_normal((64, 64)).astype(np.float32))
    x[0], x[1] = 0, -0.0
    x[2] *= 1e-6
    return x


def near_thresholds(chosen: Any) -> Any:
    """Blocks whose largest magnitude is within 2 ulp of where the scale changes, in every eighth binade."""
    table = device_plans.scale_table(chosen)
    rows = [(field << 23) + (int(table[field]) & 0xFFFFFF) + d for field in range(1, 254, 8) for d in (-2, -1, 0, 1, 2)]
    x = np.zeros((len(rows), chosen.fmt.size), np.uint32)
    x[:, 0] = rows
    x[:, 1:] = x[:, :1] - np.random.default_rng(1).integers(0, 3 << 23, (len(rows), chosen.fmt.size - 1))
    return torch.from_numpy(x.view(np.float32))


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> Any:
    """fake_quantize by the kernels; it fails where there is none."""

    def run(x: Any, fmt: str, **options: Any) -> Any:
        with monkeypatch.context() as context, warnings.catch_warnings():
            warnings.simplefilter("error")
            context.setattr(devices, "DEVICE_TYPES", ("cpu",))
            context.setattr(devices, "_REASONS", set())
            context.setattr(devices, "_SPAN", 1 << 16)  # the interpreter takes programs one by one
            return fake_quantize(x, fmt, **options)

    return run


def test_most_formats_have_a_kernel() -> None:
    without = ["fp32", "fp64", "fp128", "extf80", "dlfloat16", "e8m0", "ue4m3", "ue5m3", "i32", "i64"]
    assert {*CATALOGUE} - {*NAMED} == {*without, "u8", "u16", "u32", "u64"}


# -- scalar formats ----------------------------------------------------------------------------------------------------


@pytest.mark.extra("triton")
@pytest.mark.full(keep=2)
@pytest.mark.parametrize("source", SIXTEEN)
@pytest.mark.parametrize("name", FORMATS)
def test_all_inputs_of_16_bits(on_device: Any, name: str, source: str) -> None:
    x = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(SIXTEEN[source])
    assert torch.equal(bits(on_device(x, name)), bits(fake_quantize(x, name)))


@pytest.mark.extra("triton")
@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e5m2"])
def test_all_inputs_of_16_bits_as_the_scalar_model(on_device: Any, name: str) -> None:
    fmt, source = get_format(name), CATALOGUE["bf16"]
    read, encode, back, to_fp32 = decoder(source), encoder(fmt, Policy()), decoder(fmt), encoder(FP32, Policy())
    expected = [to_fp32(back(encode(read(code), 0)[0]), 0)[0] for code in range(1 << 16)]
    x = torch.arange(1 << 16, dtype=torch.int64).bitwise_left_shift(16).to(torch.int32).view(torch.float32)
    assert (bits(on_device(x, name)).long() & 0xFFFFFFFF).tolist() == expected


@pytest.mark.extra("triton")
@pytest.mark.full(keep=2)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e5m2", "fp6_e2m3", "mx_int8"])
def test_policies_near_ties(on_device: Any, name: str, policy: dict[str, Any]) -> None:
    random = np.random.default_rng(1).integers(0, 1 << 32, 4096, dtype=np.uint32).view(np.float32)
    x = torch.cat([near_ties(name), torch.from_numpy(random)])
    assert torch.equal(bits(on_device(x, name, policy=policy)), bits(fake_quantize(x, name, policy=policy)))


# -- blocks ------------------------------------------------------------------------------------------------------------


@pytest.mark.extra("triton")
@pytest.mark.full(keep=3)
@pytest.mark.parametrize("profile", [name for name in PROFILES if name not in WITHOUT])
def test_profiles(on_device: Any, profile: str) -> None:
    fmt = format_of(profile)
    size = get_block_format(fmt).size
    inputs = [some_blocks(96, 1), moderate_blocks(2), moderate_blocks(3).bfloat16(), moderate_blocks(4).half()]
    chosen = setting(fmt, profile, None)
    if chosen.fmt.scale.name == "e8m0":
        inputs.append(near_thresholds(chosen))
    if chosen.profile.two_levels:
        finite = torch.nan_to_num(some_blocks(96, 5), 0, 0, 0)
        inputs += [finite, moderate_blocks(6) * 1e-36, moderate_blocks(7) * 1e36]
    for x in inputs:
        assert x.shape[-1] % size == 0
        assert torch.equal(bits(on_device(x, fmt, profile=profile)), bits(fake_quantize(x, fmt, profile=profile)))
    if chosen.profile.two_levels:
        for second in (2.0**-20, 0.37, 3e37):
            options = {"profile": profile, "tensor_scale": second}
            assert torch.equal(
                bits(on_device(inputs[0], fmt, **options)), bits(fake_quantize(inputs[0], fmt, **options))
            )


@pytest.mark.extra("triton")
@pytest.mark.full(keep=1)
@pytest.mark.parametrize("profile", ["ocp", "modelopt-mxfp4", "modelopt-nvfp4", "compressed-tensors-nvfp4"])
def test_profiles_as_the_scalar_model(on_device: Any, profile: str) -> None:
    fmt = get_block_format(format_of(profile))
    rows, decode = some_blocks(24, 8)[:, : fmt.size].contiguous(), decoder(FP32)
    options = {"tensor_scale": 1.0} if "nvfp4" in profile else {}
    result = bits(on_device(rows, fmt.name, profile=profile, **options)).long() & 0xFFFFFFFF
    for row, got in zip((bits(rows).long() & 0xFFFFFFFF).tolist(), result.tolist(), strict=True):
        block = quantize_block([decode(code) for code in row], fmt, profile)
        assert got == dequantize_to_fp32(block.scale, block.codes, fmt, profile)


@pytest.mark.extra("triton")
@pytest.mark.full(keep=2)
@pytest.mark.parametrize("rounding", [r for r in ROUNDINGS if not r.startswith("sr")])
@pytest.mark.parametrize("fmt", ["mxfp8_e5m2", "mxfp6_e2m3", "mxint8", "nvfp4", "fp4_e2m1@ue5m3/16", "fp8_e5m2@fp16/8"])
def test_roundings_of_blocks(on_device: Any, fmt: str, rounding: str) -> None:
    x = some_blocks(64, 9)
    assert torch.equal(bits(on_device(x, fmt, round=rounding)), bits(fake_quantize(x, fmt, round=rounding)))


@pytest.mark.extra("triton")
@pytest.mark.parametrize(("shape", "axis"), [((3, 70), -1), ((70, 3), 0), ((2, 40, 3), 1), ((0, 32), -1), ((4, 0), -1)])
def test_shapes(on_device: Any, shape: tuple[int, ...], axis: int) -> None:
    x = torch.from_numpy(np.random.default_rng(1).standard_normal(shape).astype(np.float32)).transpose(0, -1)
    assert torch.equal(bits(on_device(x, "mxfp8", axis=axis)), bits(fake_quantize(x, "mxfp8", axis=axis)))
    assert torch.equal(bits(on_device(x, "fp8_e4m3")), bits(fake_quantize(x, "fp8_e4m3")))


PTX = """
import re, sys, torch, triton
from softfloat_ref.arrays.block_setting import setting
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.torch import device_plans, triton_loops as loops
from triton.backends.compiler import GPUTarget
class Gpu:
    get_current_target = lambda self: GPUTarget("cuda", 90, 32)
    get_current_device = get_current_stream = lambda self, *_: 0
triton.runtime.driver.set_active(Gpu())
word = torch.int32
compiled = []
for source, kind in (("fp32", torch.int32), ("bf16", torch.int16), ("fp16", torch.int16)):
    plan = device_plans.scalar_plan(get_format("fp8_e4m3"), Policy(), source)
    compiled.append(loops.quantize_values.warmup(kind, kind, 1, plan, 1024, grid=(1,)))
for fmt, profile in (("mxfp4", "ocp"), ("nvfp4", "nvfp4"), ("nvfp4", "nvfp4-torchao"), ("mxfp4", "modelopt-mxfp4"),
                     ("nvfp4", "modelopt-nvfp4"), ("nvfp4", "compressed-tensors-nvfp4")):
    plan = device_plans.block_plan(setting(fmt, profile, None), "fp32")
    sizes = 1024 // plan.size, plan.size
    compiled.append(loops.quantize_blocks.warmup(word, word, word, 1, 1, 0, plan, *sizes, grid=(1,)))
for kernel in compiled:
    assert "cubin" in kernel.asm and not re.search(r"[.](b?f16|f32|f64)", kernel.asm["ptx"])
print(len(compiled))
"""


@pytest.mark.extra("triton")
@pytest.mark.full
def test_the_kernels_compile_for_a_gpu() -> None:
    """Down to machine code, in which there is no floating point; no GPU is needed, and none runs it."""
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    run = subprocess.run([sys.executable, "-c", PTX], capture_output=True, text=True, timeout=300, env=environment)
    assert run.stdout == "9\n", run.stderr


# -- the copy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fmt", "options", "why"),
    [
        ("fp8_e4m3", {"round": "sr", "sr_bits": 8, "seed": 1, "key": "x"}, "fp8_e4m3 with these options has no kernel"),
        ("fp8_e4m3", {"clip": True}, "fp8_e4m3 with these options has no kernel"),
        ("qint8", {}, "qint8 with these options has no kernel"),
        ("mxfp8", {"profile": "p3109,nan=error,formats=*"}, "mxfp8_e4m3 with these options has no kernel"),
        ("fp64", {}, "fp64 with these options has no kernel"),
        ("fp8_e4m3", {}, "triton is not installed"),
        ("mxfp8", {}, "triton is not installed"),
    ],
)
def test_what_has_no_kernel_is_copied_and_said_once(
    monkeypatch: pytest.MonkeyPatch, fmt: str, options: dict[str, Any], why: str
) -> None:
    x = torch.linspace(-3, 3, 64)
    expected = fake_quantize(x, fmt, **options)
    monkeypatch.setattr(devices, "DEVICE_TYPES", ("cpu",))
    monkeypatch.setattr(devices, "_REASONS", set())
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match=f"copied to the CPU and back: {why}$"):
        assert torch.equal(fake_quantize(x, fmt, **options), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(fake_quantize(x, fmt, **options), expected)


def test_a_tensor_of_the_cpu_takes_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_kernel", lambda *_: pytest.fail("a kernel on the CPU"))
    assert fake_quantize(torch.tensor([0.3]), "fp8_e4m3").tolist() == [0.3125]
