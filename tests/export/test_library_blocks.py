"""Block quantizers and dequantizers of exported C libraries: scales, codes and flags equal to the scalar oracle's."""

from __future__ import annotations

import ctypes
import random
import shutil
from pathlib import Path

import pytest
from library_blocks import CompiledBlock, blocks_of_codes

from softfloat_ref.base.errors import Error
from softfloat_ref.export.library import library_files, library_policy
from softfloat_ref.export.library.blocks import library_block
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, any_format, get_block_format
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.oracle.blocks.quantize import is_for, quantize_block
from softfloat_ref.oracle.blocks.tensor_scales import tensor_scale_of
from softfloat_ref.oracle.codec import decode, decoder
from softfloat_ref.oracle.formats import get_format

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")

SANITIZED = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-DCORE_PORTABLE")
TENSOR_SCALES = (0x3F800000, 0x3F8CCCCD, 0x00000003, 0x7F000001, 0x2F123456)
# Choices of profiles that no named one has, each with a format where it matters.
CHANGED = [
    ("mxfp8_e4m3", "ocp,nan=element,inf=element,negative_zero=drop"),
    ("mxfp8_e5m2", "ocp,nan=element,inf=binade,overflow=sat-none,scale_high=nan,special_codes=encoded"),
    ("mxfp6_e2m3", "ocp,flush=block,flush_below=-3,special_codes=quantized,rounding=rup"),
    ("mxfp8_e4m3", "ocp,flush=block,flush_below=130,inf=element,overflow=sat-propagate"),
    ("mxfp4_e2m1", "ocp,scale_rule=nearest,negative_zero=set-given,rounding=rto,zero_block=one"),
    ("mxint8", "ocp,integers=full,rounding=rna,scale_rule=rne"),
    ("fp8_e4m3@fp32/8", "deepseek-fp8,arithmetic=exact,scale_rule=rceil,scale_high=nan,nan=element"),
    ("fp6_e2m3@ue5m3/16", "nvfp4,formats=*,scale_rule=amax,dequantize_overflow=saturate,scale_low=eighth"),
]


def texts(*names: str, profile: str | None = None, prefix: str = "") -> dict[str, str]:
    policy = library_policy({"sr_bits": 20} if "sr" in (profile or "") else {})
    return library_files([any_format(x) for x in names], policy, prefix, profile)


def named() -> list[tuple[str, str]]:
    """Each named profile on each format that it is for and that a library can have."""
    formats = [*BLOCK_FORMATS, "fp8_e4m3@fp32/128"]
    pairs = [(f, p) for f in formats for p in PROFILES if is_for(PROFILES[p], get_block_format(f))]
    return [(f, p) for f, p in pairs if _is_in_library(f, p)]


def _is_in_library(fmt: str, profile: str) -> bool:
    try:
        library_block(get_block_format(fmt), profile, library_policy({}))
    except Error:
        return False
    return True


def check_quantizer(unit: CompiledBlock, count: int, seed: int = 1, values: str = "fp32") -> None:
    """The blocks of an input format: FP32's, with the bits below the format's cut off."""
    own, rng, source = unit.own, random.Random(seed), get_format(values)
    read = decoder(source, own.policy.policy.flush_inputs)
    for k, codes in enumerate(blocks_of_codes(own.size, count, rng)):
        codes = [x >> {"fp32": 0, "tf32": 13, "bf16": 16, "fp16": 3}[values] & source.magnitude_mask | (
            x >> 31 << source.width - 1) for x in codes]  # fmt: skip
        tensor = TENSOR_SCALES[k % 5] if own.has_tensor_scale else None
        factor = decode(0x3F800000 if tensor is None else tensor, "fp32")
        numbers = [read(x) for x in codes]
        count = own.policy.policy.random_count
        words = [rng.getrandbits(count) for _ in codes] if count else None
        expected = quantize_block(numbers, own.block, own.profile, own.policy.policy, words, factor)
        name = {"fp32": "f32", "fp16": "f16"}.get(values, values)
        scales, elements, flags = unit.quantize(codes, tensor, name, 2 if source.width == 16 else 4, words)
        got = (scales[0], tuple(elements), tuple(flags))
        assert got == tuple(expected), ([f"{x:x}" for x in codes], tensor)


def check_dequantizer(unit: CompiledBlock, count: int) -> None:
    own, rng = unit.own, random.Random(2)
    of_scale = own.block.scale
    special = [of_scale.max_code, 0, 1] + [of_scale.inf_code] * of_scale.infinity
    special += [code | of_scale.sign_bit for code in special] if of_scale.signed else []
    for k in range(count):
        scale = rng.choice((rng.getrandbits(of_scale.width), *special))
        codes = [rng.getrandbits(own.block.element.width) for _ in range(own.size)]
        tensor = TENSOR_SCALES[k % 5] if own.has_tensor_scale else None
        factor = decode(0x3F800000 if tensor is None else tensor, "fp32")
        expected = dequantize_to_fp32(scale, codes, own.block, own.profile, factor)
        assert unit.dequantize([scale], codes, tensor) == expected, (scale, tensor)


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("fmt", ["mxfp8_e4m3", "mxint8", "nvfp4"])
def test_usual_blocks(fmt: str, tmp_path: Path) -> None:
    unit = CompiledBlock(fmt, tmp_path, options=SANITIZED)
    check_quantizer(unit, 120)
    check_dequantizer(unit, 40)


def test_infinite_and_negative_scales(tmp_path: Path) -> None:
    check_dequantizer(CompiledBlock("fp8_e5m2@fp32/4", tmp_path, options=SANITIZED), 200)


@pytest.mark.full(gate=16)
@pytest.mark.parametrize(("fmt", "profile"), [*named(), *CHANGED])
def test_profiles(fmt: str, profile: str, tmp_path: Path) -> None:
    unit = CompiledBlock(fmt, tmp_path, profile, options=SANITIZED)
    check_quantizer(unit, 400)
    check_dequantizer(unit, 100)


@pytest.mark.full(gate=3)
@pytest.mark.parametrize(
    ("fmt", "profile", "bits", "fields"),
    [
        ("mxfp8_e4m3", "ocp,rounding=sr", 8, {}),
        ("mxfp8_e5m2", "nvidia,rounding=sr-b,overflow=sat-none", 3, {"tininess": "before"}),
        ("mxfp6_e3m2", "compressed-tensors-mx,rounding=sr-c", 5, {}),
        ("mxint8", "ocp,rounding=sr-c,integers=full", 32, {}),
        ("nvfp4", "nvfp4,rounding=sr", 16, {}),
        ("nvfp4", "nvfp4-torchao,rounding=sr-b", 1, {"tininess": "before"}),
        ("fp8_e4m3@fp32/16", "deepseek-fp8,rounding=sr-c", 12, {}),
    ],
)
def test_stochastic_roundings(fmt: str, profile: str, bits: int, fields: dict[str, str], tmp_path: Path) -> None:
    """With the caller's words. Flags tell tininess."""
    unit = CompiledBlock(fmt, tmp_path, profile, SANITIZED, sr_bits=bits, **fields)
    assert unit.own.policy.policy.random_count == bits
    check_quantizer(unit, 300)


@pytest.mark.full(gate=2)
@pytest.mark.parametrize("fmt", ["mxfp6_e3m2", "nvfp4"])
@pytest.mark.parametrize("values", ["fp16", "bf16", "tf32"])
def test_narrower_values(fmt: str, values: str, tmp_path: Path) -> None:
    inputs = ("fp16", "bf16", "tf32")
    unit = CompiledBlock(fmt, tmp_path, inputs=inputs, options=("-O2",), flush_inputs="on")
    check_quantizer(unit, 300, values=values)


@pytest.mark.full(keep=1, gate=3)
@pytest.mark.parametrize(
    ("fmt", "name", "right", "wrong"),
    [
        ("nvfp4", "nvfp4.c", ".limit = 3", ".limit = 5"),
        ("nvfp4", "nvfp4.c", ".element = {4, 1, 1", ".element = {4, 1, 2"),
        ("mxfp8_e4m3", "mxfp8_e4m3.c", ".offset = 8", ".offset = 7"),
        ("mxfp8_e4m3", "mxfp8_e4m3.c", ".flush_below = 0x800000", ".flush_below = 0x800001"),
        ("mxfp8_e4m3", "core_block.h", "e < b->lowest", "0"),
        ("mxfp8_e4m3", "core_block_fast.h", "(1u << (s - 1)) - 1", "(1u << (s - 1))"),
    ],
)
def test_a_wrong_constant_is_seen(fmt: str, name: str, right: str, wrong: str, tmp_path: Path) -> None:
    files = texts("fp32", fmt)
    assert right in files[name]
    files[name] = files[name].replace(right, wrong, 1)
    unit = CompiledBlock(fmt, tmp_path, texts=files)
    with pytest.raises(AssertionError, match=r"assert |without flags"):
        check_quantizer(unit, 400)


@pytest.mark.parametrize(
    ("fmt", "profile", "message"),
    [
        ("msfp12", None, "cannot refuse a NaN or Inf: add ,nan=block,inf=block to the profile"),
        ("nvfp4", "nvfp4-4over6-mse", "arithmetic fp32-amax is not in the library"),
        ("nvfp4", "nvfp4,rounding=sr", "it has room for 16 random bits, not 20"),
        ("mxfp8", "ocp,rounding=rnu", "rounding rnu is not in the library"),
        ("mxfp8", "nvfp4,formats=*", "a power of two with a tensor's scale"),
        ("fp8_e4m3@ue4m3/16", "ocp,formats=*", "scale rule floor gives powers of two"),
        ("fp8_e4m3@e8m0/axis", None, "its blocks have no fixed size"),
        ("fp8_e4m3@e8m0/16x16", None, "its blocks have several rows"),
        ("fp16@fp16/4", "p3109", "its scales fp16 have a sign"),
    ],
)
def test_what_a_library_cannot_have_is_refused(fmt: str, profile: str | None, message: str) -> None:
    with pytest.raises(Error, match=message):
        texts("fp32", fmt, profile=profile)


def test_the_msfp_profile_with_a_rule_for_nan(tmp_path: Path) -> None:
    check_quantizer(CompiledBlock("msfp12", tmp_path, "msfp,nan=block,inf=block"), 60)


def test_a_tensor_scale_that_is_none(tmp_path: Path) -> None:
    """0, negative, Inf, NaN: nothing is written. The scale of a tensor is the oracle's."""
    unit = CompiledBlock("nvfp4", tmp_path)
    quantize = unit.loaded.f32_to_nvfp4
    quantize.restype = ctypes.c_bool
    for code in (0, 0x80000000, 0xBF800000, 0x7F800000, 0x7FC00000):
        assert not quantize(ctypes.c_size_t(16), None, ctypes.c_uint32(code), None, None, None)
    scale = unit.loaded.f32_to_nvfp4_tensor_scale
    scale.restype = ctypes.c_uint32
    for x in (0, 1, 0x00801234, 0x3F800000, 0x42F6E979, 0xFF7FFFFF):
        value = decode(x & 0x7FFFFFFF, "fp32")
        expected = tensor_scale_of(value if value.significand else None, unit.own.block, unit.own.profile)
        assert scale(ctypes.c_size_t(2), (ctypes.c_uint32 * 2)(x, 0x7F800000)) == expected


def test_names_with_a_prefix() -> None:
    """Also of the types that only blocks need; these are the library's own where that has the format."""
    files = texts("fp32", "mxfp8", "fp4_e2m1@ue5m3/16", prefix="my_")
    header = files["my_softfloat_units.h"]
    assert "void my_f32_to_mxfp8_e4m3(size_t n, const my_float32_t *x, my_e8m0_t *scales, my_float8_e4m3_t" in header
    assert "my_f4_e2m1_ue5m3_16_to_f32(size_t n, const my_ue5m3_t *scales, const my_float4_e2m1_t *codes," in header
    assert "float8_e4m3_t;" in header
    assert "float8_e4m3_t;" not in texts("fp32", "fp8_e4m3", "mxfp8")["softfloat_units.h"]
    assert "mxfp8_e4m3_to_f32" not in texts("bf16", "mxfp8")["softfloat_units.h"]
