"""Block quantizers by every profile: scales, elements, values back, second-level scales, errors of a search."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from core.samples import Sample, said, sample
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.dequantize import dequantize_to_fp32
from softfloat_ref.oracle.blocks.formats import BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.fp32_steps import fp32_divided, fp32_multiplied, fp32_product, fp32_quotient
from softfloat_ref.oracle.blocks.profile import CHOICES
from softfloat_ref.oracle.blocks.profiles import PROFILES, get_profile
from softfloat_ref.oracle.blocks.quantize import quantize_block
from softfloat_ref.oracle.blocks.scale_search import block_error, expanded, value_back
from softfloat_ref.oracle.blocks.tensor_scales import (
    encode_scale,
    inverse_reach,
    reach,
    tensor_scale_code,
    tensor_scale_of,
)
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import Policy

FP32 = get_format("fp32")
FORMATS = ("fp4_e2m1@ue4m3/4", "fp4_e2m1@e8m0/4", "fp8_e4m3@e8m0/4", "int8@e8m0/4", "msfp12", "fp8_e4m3@fp32/4")
# FP32 codes: zeros, ends, NaN and Inf, subnormals, ties of E2M1 and just beside them, blocks that 4 and 6 suit.
BLOCKS = (
    (0, 0x80000000, 0, 0),
    (1, 0x80000001, 0x007FFFFF, 0x00800000),
    (0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000, 0),
    (0x7FC00000, 0x3F800000, 0xC0000000, 0),
    (0x7F800000, 0x3F800000, 0xC0000000, 0xFF800000),
    (0x40C00000, 0x3E800000, 0x3F400000, 0x3FA00000),
    (0x40C00000, 0x3E800001, 0x3F3FFFFF, 0xBFA00001),
    (0x40C00000, 0x40A00000, 0x40A00000, 0xC0A00000),
    (0x40800000, 0x40400000, 0x40000000, 0xBFC00000),
    (0x40C00000, 0x40400000, 0x40000000, 0xBFC00000),
)
ARITHMETIC = ("exact", "fp32-reciprocal", "fp32-division", "fp32-inverse", "fp32-amax")
ELEMENTS = (7, 3, 13, 1)
EXACT = (0x40C00000, 0x3FC00000, 0xC0400000, 0x3F000000)  # their values under a scale of 1
SEARCHES = [name for name, profile in PROFILES.items() if profile.scale_search != "none"]


def _blocks(count: int) -> Iterator[tuple[int, ...]]:
    """The blocks above, at several magnitudes, then mixed ones of a few binades."""
    draw = random.Random(50)
    yield from BLOCKS
    for block in BLOCKS[5:]:
        for binades in (-30, 9):
            yield tuple(code + (binades << 23) for code in block)
    for _ in range(count):
        top = draw.randrange(1 << 8)
        yield tuple(
            draw.getrandbits(1) << 31 | max(top - draw.randrange(4), 0) << 23 | draw.getrandbits(23) for _ in range(4)
        )


def _quantized(block: tuple[int, ...], fmt: BlockFormat, name: Any, policy: Policy | None, tensor: Value) -> object:
    """A block's scale, elements and flags, and the values back."""
    words = (5, 0, 7, 2) if policy is not None and policy.random_count else None
    values = [decoder(FP32)(code) for code in block]
    result = said(quantize_block, values, fmt, name, policy, words, tensor)
    if isinstance(result, str):
        return result
    scale, codes, flags = result  # type: ignore[misc]
    return scale, codes, flags, said(dequantize_to_fp32, scale, codes, fmt, name, tensor)


@sample
def block_quantizers() -> Sample:
    for name, profile in PROFILES.items():
        fmt = next((f for f in map(get_block_format, FORMATS) if profile.is_for(f.element.name, f.scale.name)), None)
        if fmt is None:
            yield name
            continue
        yield name, fmt.name, reach(fmt, profile), inverse_reach(fmt, profile)
        for policy in (None, Policy("sr", sr_bits=3)):
            for block in _blocks(40 if name in SEARCHES else 8):
                numbers = [x for x in map(decoder(FP32), block) if x.kind == exact.FINITE]
                amax = max(map(exact.magnitude, numbers), key=exact.Value.as_fraction, default=None)
                code = tensor_scale_of(amax if amax and amax.significand else None, fmt, profile)
                yield code, _quantized(block, fmt, name, policy, decoder(FP32)(code))


@sample
def choices_of_profiles() -> Sample:
    """Each choice of a profile alone, also those of no named one; blocks of only NaN, only Inf, only subnormals."""
    infinite, nan = (0x7F800000, 0x7F800000, 0xFF800000, 0xFF800000), (0x7FC00000, 0x7FC00000, 0xFFC00001, 0x7FC00000)
    small = (1, 0x80000001, 0x007FFFFF, 0)
    for name in ("fp4_e2m1@e8m0/4", "fp4_e2m1@ue4m3/4", "int8@e8m0/4"):
        fmt = get_block_format(name)
        for field, choices in CHOICES.items():
            for choice in choices:
                profile = said(get_profile("ocp").replace, **{field: choice})
                for block in (*BLOCKS[:7], infinite, nan, small):
                    yield field, choice, _quantized(block, fmt, profile, None, exact.finite(0, 3, -2))


@sample
def fp32_arithmetic() -> Sample:
    """Each step of FP32, in its domain."""
    numbers = [
        exact.finite(s, m, e) for m, e in ((0, 0), (1, 0), (3, -1), (1, -149), (5, 90), (1, 127)) for s in (0, 1)
    ]
    numbers.append(Value(exact.FINITE, 0, (1 << 30) + 77, -30, 1))
    ends = [exact.inf(0), exact.inf(1)]
    positive = [x for x in numbers if not x.sign]
    for a in (*numbers, *ends):
        yield [fp32_quotient(a, b) for b in numbers if b.significand]
        yield [fp32_divided(a, b) for b in (*positive, exact.inf(0), exact.GENERATED)]
        yield [fp32_multiplied(a, b) for b in positive]
        yield [fp32_product(a, b) for b in (*numbers, *ends)] if a.kind == exact.FINITE else a


@sample
def given_tensor_scales() -> Sample:
    """Second-level scales: as values, floats, which are rounded, and exact numbers, which must fit; and by each
    arithmetic for the ends of FP32."""
    floats = [1.0, 0.1, -2.0, 1e-40, 1e-50, 1e300, 3.4028236e38, float("inf"), float("nan"), 0.0]
    scalars = np.float32(0.75), np.array(0.1), np.array([1.0]), np.int64(3), 1, "1"
    for x in (*floats, Fraction(3, 4), Fraction(1, 3), Fraction(1, 1 << 149), Fraction(1, 1 << 150), *scalars):
        yield str(x), said(tensor_scale_code, x), said(tensor_scale_code, x, "it")
    fmt, nvfp4 = get_block_format("nvfp4"), get_profile("nvfp4")
    for arithmetic in ARITHMETIC:
        profile = nvfp4.replace(arithmetic=arithmetic)
        ends = [decoder(FP32)(code) for code in (1, 3, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x3F800000, 0x45A80000)]
        yield arithmetic, [tensor_scale_of(amax, fmt, profile) for amax in (*ends, None)]


@sample
def definitions_of_profiles() -> Sample:
    """What a profile is compared by, and the lengths that its formats may have."""
    ocp = get_profile("ocp")
    for size in (0, 1, 200, 201):
        changed = said(ocp.replace, formats="*" * size)
        yield size, changed if isinstance(changed, str) else changed == ocp
    yield ocp.replace(nan="element") == ocp, said(ocp.replace, flush_below=1 << 20), said(ocp.replace, nan="other")


@sample
def scale_errors() -> Sample:
    """Of every search and every arithmetic: values back, errors of blocks under some scales, expanded scales."""
    fmt = get_block_format("fp4_e2m1@ue4m3/4")
    tensors = [decoder(FP32)(code) for code in (0x3F800000, 0x3EAAAAAB, 0x7F000000, 0x00000003, 0x45000000)]
    for search in SEARCHES:
        for arithmetic in ARITHMETIC:
            profile = get_profile(search).replace(arithmetic=arithmetic)
            wanted = [*tensors, exact.inf(0), exact.GENERATED, Value(exact.FINITE, 0, 5, -3, 1)]
            yield search, arithmetic, [expanded(x, profile) for x in wanted], encode_scale(fmt, profile, tensors[1])
            for tensor in tensors:
                for scale in (0, 1, 0x38, 0x3A, 0x7E, 0x7F):
                    factor = decoder(fmt.scale)(scale)
                    yield [value_back(decoder(fmt.element)(c), factor, fmt, profile, tensor) for c in (0, 1, 7, 13)]
                    for block in (EXACT, *BLOCKS[1:3], BLOCKS[7], tuple(code + (64 << 23) for code in BLOCKS[6])):
                        values = [decoder(FP32)(code) for code in block]
                        yield block_error(values, ELEMENTS, scale, fmt, profile, tensor)
