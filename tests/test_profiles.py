"""Block profiles: the scalar oracle against a definition in rationals, arrays against the scalar oracle.

The definition searches and compares; it shares nothing with the code under test but `decode`, the values of codes.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import volume
from definition import UNBOUNDED, Line, expected, floor_log2, past_the_end
from hypothesis import given
from hypothesis import strategies as st

from softfloat_ref import blocks
from softfloat_ref.block_formats import (
    AXIS,
    BLOCK_FORMATS,
    FP32,
    TENSOR,
    Block,
    BlockFormat,
    define_block_format,
    dequantize_to_fp32,
    get_block_format,
    quantize_block,
    resolve,
    scale_of,
)
from softfloat_ref.codec import decode, to_value
from softfloat_ref.errors import Error
from softfloat_ref.exact import Value
from softfloat_ref.formats import Format
from softfloat_ref.policies import Policy
from softfloat_ref.profiles import CHOICES, PROFILES, Profile, define_profile, get_profile
from softfloat_ref.scales import SCALE_RULES
from softfloat_ref.sources import Philox

MX = [b for b in BLOCK_FORMATS.values() if b.name.startswith("mx")]
NAMES = [*BLOCK_FORMATS, "flexfp_e4m3", "binary8p3se@binary8p1ue/32", "fp4_e2m1@fp8_e4m3/16", "int8@ue5m3/8"]
SATURATED = 5  # overflow and inexact


def power(e: int) -> Fraction:
    return Fraction(2) ** e


# -- the definition --------------------------------------------------------------------------------------------------


@lru_cache
def line(fmt: Format, negative: bool) -> Line:
    """The values of one sign; a symmetric integer has no most negative one."""
    if not (fmt.symmetric and negative):
        return Line.of(fmt, negative)
    positive = Line.of(fmt, False)
    codes = [0, *((1 << fmt.width) - code for code in positive.codes[1:-1]), UNBOUNDED]
    return Line(positive.values, codes)


@dataclass(frozen=True)
class Definition:
    """A format under a profile; the tensor scale is a positive FP32 number."""

    fmt: BlockFormat
    profile: Profile
    tensor_scale: Fraction = Fraction(1)

    @cached_property
    def largest(self) -> Fraction:
        return line(self.fmt.element, False).values[-2]

    @cached_property
    def emax(self) -> int:
        return floor_log2(self.largest)

    def power_wanted(self, amax: Fraction) -> int | None:
        """The exponent that a rule for powers of two asks for; None for the other rules."""
        e = floor_log2(amax)
        match self.profile.scale_rule:
            case "floor":
                return e - self.emax
            case "ceil":
                return next(k for k in (e, e + 1) if amax <= power(k)) - self.emax
            case "even":
                *_, below, top, _ = line(self.fmt.element, False).values
                half_ulp = (top - below) / 2 / power(self.emax)
                return (e + 1 if amax >= (2 - half_ulp) * power(e) else e) - self.emax
            case "nearest":
                square = (amax / self.largest) ** 2
                around = floor_log2(amax / self.largest)
                return next(k for k in (around, around + 1) if power(2 * k - 1) < square < power(2 * k + 1))
        return None

    def scale(self, amax: Fraction) -> int:
        """The scale's code for a largest magnitude."""
        scale, profile = self.fmt.scale, self.profile
        values, codes = line(scale, False).values[:-1], line(scale, False).codes[:-1]
        if amax == 0:
            if profile.zero_block == "one":
                return rounded(Fraction(1), scale)
            return 0 if profile.zero_block == "zero" and scale.zero else self.lowest()
        if profile.arithmetic == "fp32-reciprocal":
            with np.errstate(all="ignore"):
                step = np.float32(float(amax)) / np.float32(float(self.largest)) / np.float32(float(self.tensor_scale))
            code = codes[-1] if np.isinf(step) else rounded(Fraction(float(step)), scale)
            return self.limited(UNBOUNDED if np.isinf(step) else code)
        amax /= self.tensor_scale
        k = self.power_wanted(amax)
        if k is not None:
            top = floor_log2(values[-1])
            if k > top and profile.scale_high == "nan":
                return scale.canonical_nan
            return self.limited(rounded(power(min(k, top)), scale))
        if profile.scale_rule == "rceil":
            i = bisect.bisect_left(values, True, key=lambda v: amax <= v * self.largest)
            return self.limited(UNBOUNDED if i == len(values) else codes[i])
        return self.limited(rounded(amax if profile.scale_rule == "amax" else amax / self.largest, scale))

    def limited(self, code: int) -> int:
        scale, profile = self.fmt.scale, self.profile
        if code == UNBOUNDED:
            if profile.scale_high == "nan":
                return scale.canonical_nan
            if profile.scale_high == "format" and scale.overflow == "inf":
                return scale.inf_code
            return line(scale, False).codes[-2]
        return code if profile.scale_low == "zero" and scale.zero else max(code, self.lowest())

    def lowest(self) -> int:
        """The smallest positive scale, or the smallest that is normal."""
        scale = self.fmt.scale
        positive = [c for c, v in zip(line(scale, False).codes, line(scale, False).values, strict=True) if v > 0]
        if self.profile.scale_low == "smallest-normal" and scale.has_normals and scale.subnormals == "gradual":
            return next(c for c in positive if c >= 1 << scale.mantissa_bits)
        return positive[0]

    def block_scale(self, values: list[Value]) -> int:
        nans, infs = [v for v in values if v.is_nan], [v for v in values if v.is_inf]
        profile, scale = self.profile, self.fmt.scale
        if (nans and profile.nan == "error") or (infs and profile.inf == "error"):
            raise Error("holds a NaN or Inf")
        if (nans and profile.nan == "block") or (infs and profile.inf == "block"):
            return scale.canonical_nan
        if infs and profile.inf == "largest":
            return line(scale, False).codes[-2]
        magnitudes = [abs(v.as_fraction()) for v in self.flushed(values) if v.is_finite]
        if infs and profile.inf == "binade":
            magnitudes.append(power(128))
        elif not magnitudes and values and profile.no_finite == "special":
            if not infs:
                return scale.canonical_nan
            return scale.inf_code if scale.infinity else line(scale, False).codes[-2]
        return self.scale(max(magnitudes, default=Fraction(0)))

    def flushed(self, values: list[Value]) -> list[Value]:
        bound, flush = power(self.profile.flush_below), self.profile.flush
        if flush == "block" and any(not v.is_finite or abs(v.as_fraction()) >= bound for v in values):
            return values
        small = [flush != "never" and v.is_finite and abs(v.as_fraction()) < bound for v in values]
        return [Value(0, v.sign) if s else v for v, s in zip(values, small, strict=True)]

    def element(self, x: Value, scale: Value, policy: Policy) -> tuple[int, int]:
        """Code and flags of a value under a scale that is no NaN."""
        fmt = self.fmt.element
        if x.is_nan:
            return (fmt.canonical_nan, 0) if fmt.has_nan else (line(fmt, False).codes[-2], 0x10)
        if scale.is_inf:  # IEEE P3109: an Inf over an Inf is one
            if not x.is_inf:
                return self.signed_zero(x), 0
            return self.project(Fraction(1), bool(x.sign), policy)
        if scale.is_zero:
            return self.signed_zero(x), 0
        if x.is_inf:
            return self.infinity(bool(x.sign))
        if self.profile.arithmetic == "fp32-reciprocal":
            return self.by_reciprocal(x, scale, policy)
        if x.is_zero:
            return self.signed_zero(x), 0
        return self.project(abs(x.as_fraction()) / scale.as_fraction() / self.tensor_scale, bool(x.sign), policy)

    def by_reciprocal(self, x: Value, scale: Value, policy: Policy) -> tuple[int, int]:
        """As float32 arithmetic has it, step by step."""
        with np.errstate(all="ignore"):
            factor = np.float32(1) / np.float32(float(self.tensor_scale)) / np.float32(float(scale))
            product = np.float32(float(x)) * factor
        if np.isnan(product):
            return self.element(Value(2, 0), scale, policy)
        if np.isinf(product):
            return self.infinity(bool(x.sign))
        if product == 0:
            return self.signed_zero(x), 0
        return self.project(Fraction(abs(float(product))), bool(x.sign), policy)

    def project(self, x: Fraction, negative: bool, policy: Policy) -> tuple[int, int]:
        fmt, mode = self.fmt.element, policy.rounding.name.lower()
        code, flags = expected(x, negative, line(fmt, negative), fmt, mode)
        if code == UNBOUNDED:
            symmetric = fmt.symmetric and negative
            code = line(fmt, True).codes[-2] if symmetric else past_the_end(fmt, self.profile.overflow, mode, negative)
        if code == fmt.sign_bit and fmt.negative_zero and self.profile.negative_zero == "drop":
            code = 0
        return code, flags

    def infinity(self, negative: bool) -> tuple[int, int]:
        """The Inf of the format, what stands for it, or the largest."""
        fmt, overflow = self.fmt.element, self.profile.overflow
        saturates = overflow == "sat-finite" or (overflow == "sat-narrow" and fmt.width <= 8) or fmt.overflow == "max"
        if saturates:
            return line(fmt, negative).codes[-2], 0
        return (fmt.canonical_nan if fmt.overflow == "nan" else fmt.inf_code | fmt.sign_bit * negative), 0

    def signed_zero(self, x: Value) -> int:
        keeps = self.profile.negative_zero == "keep" or (self.profile.negative_zero == "drop-given" and not x.is_zero)
        return self.fmt.element.sign_bit if x.sign and self.fmt.element.negative_zero and keeps else 0

    def quantize(self, values: list[Value]) -> Block:
        policy = Policy(rounding=self.profile.rounding)
        code = self.block_scale(values)
        scale = decode(code, self.fmt.scale)
        if scale.is_nan and self.profile.special_codes == "nan":
            nan = max(self.fmt.element.canonical_nan, 0)
            return Block(code, (nan,) * len(values), (0,) * len(values))
        if scale.is_nan:
            numbers = Definition(self.fmt, self.profile.replace(scale_high="largest"), self.tensor_scale)
            scale = decode(numbers.block_scale([v for v in values if v.is_finite]), self.fmt.scale)
        found = [self.element(v, scale, policy) for v in self.flushed(values)]
        return Block(code, tuple(c for c, _ in found), tuple(f for _, f in found))


def rounded(x: Fraction, scale: Format) -> int:
    """The nearest scale, ties to even."""
    return expected(x, False, line(scale, False), scale, "rne")[0] if x else 0


def defined(fmt: str | BlockFormat, profile: str | Profile, tensor_scale: Fraction = Fraction(1)) -> Definition:
    return Definition(*resolve(get_block_format(fmt), profile), tensor_scale)


# -- values that tell choices apart ----------------------------------------------------------------------------------


def amaxes(d: Definition, e: int) -> Iterator[Fraction]:
    """In a binade, the thresholds of all rules, and their FP32 neighbours."""
    *_, below, top, _ = line(d.fmt.element, False).values
    root = Fraction(float(np.float32(2**0.5)))
    m = d.largest / power(d.emax)
    for point in (Fraction(1), 2 - (top - below) / 2 / power(d.emax), m, m * root / 2):
        near = point * power(e)
        ulp = power(max(floor_log2(near) - 23, -149))
        near -= near % ulp
        yield from (near - ulp, near, near + ulp)


SPECIALS = [
    [],
    [float("nan")],
    [float("inf")],
    [-float("inf"), -0.0],
    [float("nan"), float("inf"), 1.5, -0.0],
    [float("nan"), -float("inf")],
    [float("inf"), 3.0, -(2.0**-130), 0.0],
    [float("nan"), 2.0**-127, -(2.0**-149)],
    [0.0, -0.0],
    [-0.0],
    [2.0**-127, -(2.0**-130)],
    [1.0, 2.0**-127, -(2.0**-140), -0.0],
    [2.0**-126, -(2.0**-149)],
    [float(np.float32(3.4028235e38)), -1.0],
    [-1.999],
    [-1e-3, 500.0],
]


def cases(d: Definition, rng: np.random.Generator, count: int, wide: bool) -> Iterator[list[Value]]:
    """Blocks: specials, then amaxes near thresholds with elements at and near ties."""
    yield from ([to_value(x, 0) for x in block] for block in SPECIALS)
    elements = line(d.fmt.element, False).values[:-1]
    for _ in range(count):
        e = int(rng.integers(-150, 128))
        points = [p for p in amaxes(d, e) if 0 < p < power(128)]
        amax = points[rng.integers(len(points))] if points else power(e)
        numbers = [amax]
        for _ in range(3):
            i = int(rng.integers(1, len(elements)))
            tie = (elements[i] + elements[i - 1]) / 2 * (1 + int(rng.integers(-1, 2)) * power(-20))
            numbers.append(min(tie / d.largest * power(floor_log2(amax)), amax) * (-1) ** int(rng.integers(2)))
        # dyadic, so that the values are exact; FP32 where the profile's arithmetic is
        numbers = [Fraction(float(x if wide else np.float32(float(x)))) for x in numbers]
        yield [to_value(numbers[i], 0) for i in rng.permutation(4)]


def check(d: Definition, block: list[Value]) -> None:
    try:
        wanted = d.quantize(block)
    except Error as e:
        assert "holds" in str(e)  # noqa: PT017
        with pytest.raises(Error, match="holds a NaN or Inf"):
            quantize_block(block, d.fmt, d.profile)
        return
    factor = to_value(d.tensor_scale, 0)
    assert quantize_block(block, d.fmt, d.profile, tensor_scale=factor) == wanted, (d.fmt.name, d.profile, block)


# -- the scalar oracle is the definition -----------------------------------------------------------------------------


def variants() -> list[str]:
    """ocp with every choice of every field."""
    stochastic = [f"rounding={r}" for r in CHOICES["rounding"] if r.startswith("sr")]
    every = [f"{field}={choice}" for field, choices in CHOICES.items() for choice in choices]
    return [f"ocp,{v}" for v in every if v not in stochastic] + ["ocp,flush=block,flush_below=-100"]


def shuffled(rng: np.random.Generator) -> Profile:
    """A profile with every field drawn."""
    drawn: dict[str, Any] = {f: choices[rng.integers(len(choices))] for f, choices in CHOICES.items()}
    if drawn["rounding"].startswith("sr"):
        drawn["rounding"] = "rto"
    if drawn["arithmetic"] != "exact":
        drawn["arithmetic"] = "exact" if rng.integers(4) else "fp32-reciprocal"
    if "error" in (drawn["nan"], drawn["inf"]) and rng.integers(3):
        drawn["nan"] = drawn["inf"] = "element"
    return Profile("drawn", flush_below=int(rng.integers(-130, 3)), **drawn)


@pytest.mark.parametrize("name", NAMES)
def test_named_profiles_are_their_definition(name: str) -> None:
    rng = np.random.default_rng(1)
    for profile in PROFILES.values():
        for scale in (Fraction(1), Fraction(float(np.float32(0.3))), power(-140)):
            if scale != 1 and profile.tensor_scale == "none":
                continue
            d = defined(name, profile, scale)
            for block in cases(d, rng, 20, profile.arithmetic == "exact"):
                check(d, block)


@pytest.mark.parametrize("name", NAMES)
def test_choices_are_their_definition(name: str) -> None:
    rng = np.random.default_rng(2)
    drawn = [shuffled(rng) for _ in range(volume.cases(15, 40))]
    for profile in [*map(get_profile, variants()), *drawn]:
        d = defined(name, profile)
        for block in cases(d, rng, 5, profile.arithmetic == "exact"):
            check(d, block)


@pytest.mark.parametrize("rule", SCALE_RULES)
@pytest.mark.parametrize("fmt", MX, ids=lambda b: b.name)
def test_scales_in_every_binade(fmt: BlockFormat, rule: str) -> None:
    """Every threshold of every rule in every FP32 binade, by the scalar oracle and by arrays."""
    profile = get_profile(f"ocp,flush=never,scale_rule={rule}")
    d = defined(fmt, profile)
    binades = range(-149, 128) if volume.FULL else [*range(-149, -120), *range(-120, 110, 4), *range(110, 128)]
    points = sorted({p for e in binades for p in amaxes(d, e) if 0 < p < power(128)})
    wanted = [d.scale(p) for p in points]
    assert [scale_of(to_value(p, 0), d.fmt, profile) for p in points] == wanted
    single = BlockFormat("one", fmt.element, fmt.scale, 1)
    x = np.array([float(p) for p in points], np.float32)
    assert x.astype(np.float64).tolist() == [float(p) for p in points]
    assert blocks.quantize(x, single, profile=profile).scales.tolist() == wanted
    assert len(points) > (len(binades) - 24) * 8


@pytest.mark.parametrize("profile", [p for p in PROFILES if PROFILES[p].scale_rule in ("rne", "amax")])
@pytest.mark.parametrize("scale", ["ue4m3", "ue5m3", "fp8_e4m3", "binary8p3ue", "binary8p1uf", "fp8_e5m2"])
def test_scales_with_a_significand(scale: str, profile: str) -> None:
    """Every scale, every midpoint between two of them, and their neighbours in FP32, both ends included."""
    fmt = get_block_format(f"fp4_e2m1@{scale}/1")
    d = defined(fmt, profile)
    unit = d.largest if d.profile.scale_rule == "rne" else 1
    values = line(fmt.scale, False).values
    middles = [(a + b) / 2 for a, b in itertools.pairwise(values)]
    points = [p * unit * (1 + k * power(-22)) for p in [*values, *middles, values[-1] * 4] for k in (-1, 0, 1)]
    x = np.array([float(p) for p in points if 0 < p < power(127)], np.float32)
    wanted = [d.scale(Fraction(float(v))) for v in x]
    assert blocks.quantize(x, fmt, profile=d.profile, tensor_scale=1.0).scales.tolist() == wanted
    assert blocks.quantize(x[:100], fmt, profile=d.profile, tensor_scale=1.0).scales.tolist() == wanted[:100]


def test_scale_formats_wider_than_a_byte() -> None:
    """FP32 scales: the quotient rounded to nearest, by comparison with both neighbours."""
    fmt = get_block_format("fp8_e4m3@fp32/axis")
    rng = np.random.default_rng(5)
    for amax in np.ldexp(rng.random(300), rng.integers(-100, 100, 300)).astype(np.float32):
        code = quantize_block([to_value(float(amax), 0)], fmt).scale
        around = [decode(c, FP32).as_fraction() for c in (code - 1, code, code + 1)]
        errors = [abs(v - Fraction(float(amax)) / 448) for v in around]
        assert errors[1] < min(errors[0], errors[2]) or (errors[1] == min(errors[::2]) and code % 2 == 0)


# -- arrays are the scalar oracle ------------------------------------------------------------------------------------


def tensor(dtype: type, rows: int = 6) -> np.ndarray[Any, Any]:
    """Two blocks of 32 a row, over all exponents, with specials."""
    rng = np.random.default_rng(9)
    low, high = (-24, 15) if dtype == np.float16 else (-150, 127)
    exponents = np.linspace(low, high, rows).astype(int)[:, np.newaxis] + rng.integers(-10, 1, (rows, 64))
    if dtype == np.float64:
        exponents[1], exponents[-2] = -400, 400
    with np.errstate(over="ignore", under="ignore"):
        x = (rng.standard_normal((rows, 64)) * 2.0**exponents).astype(dtype)
    x[0, 5], x[1, 40], x[2, 1], x[3, :32], x[4, 32:], x[5, 48:] = np.nan, np.inf, -np.inf, -0.0, 0.0, np.nan
    x[5, :16] = np.inf
    return x


def lanes(array: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    moved = np.moveaxis(array, axis, -1)
    return moved.reshape(-1, moved.shape[-1])


def check_array(x: np.ndarray[Any, Any], q: blocks.BlockArray, words: np.ndarray[Any, Any] | None = None,
                policy: Policy | None = None) -> int:  # fmt: skip
    """Every block against the scalar oracle; how many there were."""
    axis = q.axis
    if q.fmt.size == TENSOR or (q.profile.tail == "flatten" and q.fmt.size != AXIS):
        flat = [np.moveaxis(a, axis, -1).reshape(1, -1) for a in (x, q.codes, q.dequantize())]
        rows, codes, values = flat
        scales = q.scales.reshape(1, -1)
        drawn = None if words is None else np.moveaxis(words, axis, -1).reshape(1, -1)
    else:
        rows, codes, values, scales = (lanes(a, axis) for a in (x, q.codes, q.dequantize(), q.scales))
        drawn = None if words is None else lanes(words, axis)
    size = q.fmt.size if q.fmt.size > 0 else rows.shape[1]
    factor, count = decode(q.tensor_scale, FP32), 0
    for r, row in enumerate(rows):
        for i, scale in enumerate(scales[r].tolist()):
            part = slice(i * size, i * size + size)
            numbers = [to_value(float(v), 0) for v in row[part]]
            bits = None if drawn is None else drawn[r, part].tolist()
            block = quantize_block(numbers, q.fmt, q.profile, policy, bits, factor)
            assert (block.scale, list(block.codes)) == (scale, codes[r, part].tolist()), (
                q.fmt.name,
                q.profile,
                row[part],
            )
            expected_values = dequantize_to_fp32(scale, block.codes, q.fmt, q.profile, factor)
            assert values[r, part].copy().view(np.uint32).tolist() == expected_values
            count += 1
    return count


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_arrays_are_the_oracle(name: str, dtype: type) -> None:
    x = tensor(dtype)
    for profile in PROFILES.values():
        if "error" in (profile.nan, profile.inf):
            with pytest.raises(Error, match="holds a NaN or Inf"):
                blocks.quantize(x, name, profile=profile)
            assert check_array(np.nan_to_num(x), blocks.quantize(np.nan_to_num(x), name, profile=profile))
        else:
            assert check_array(x, blocks.quantize(x, name, profile=profile))


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_drawn_profiles_are_the_oracle(name: str) -> None:
    rng = np.random.default_rng(11)
    x = tensor(np.float32)
    for profile in (shuffled(rng) for _ in range(25)):
        clean = np.nan_to_num(x) if "error" in (profile.nan, profile.inf) else x
        check_array(clean, blocks.quantize(clean, name, profile=profile))


@pytest.mark.parametrize("tail", ["pad", "flatten"])
@pytest.mark.parametrize(
    "name", ["mxfp4", "nvfp4", "mxint8", "fp8_e4m3@fp32/axis", "fp8_e5m2@e8m0/tensor", "int8@ue4m3/7"]
)
def test_axes_and_tails(name: str, tail: str) -> None:
    rng = np.random.default_rng(4)
    x = (rng.standard_normal((3, 38, 5)) * np.exp2(rng.integers(-20, 20, (3, 38, 5)))).astype(np.float32)
    for axis in range(-3, 3):
        for profile in (f"ocp,tail={tail}", f"nvfp4,tail={tail}", f"p3109,tail={tail}"):
            q = blocks.quantize(x, name, axis, profile)
            assert check_array(x, q)
            assert q.codes.shape == x.shape
            assert q.spread_scales().shape == x.shape
    if get_block_format(name).size > 0:
        with pytest.raises(Error, match="refuses that"):
            blocks.quantize(x, name, 1, "ocp,tail=refuse")


@pytest.mark.parametrize(
    "name", ["fp8_e4m3@fp32/axis", "int8@fp32/tensor", "fp4_e2m1@bf16/7", "bf16@fp64/16", "fp16@fp16/4"]
)
def test_wide_scales(name: str) -> None:
    x = np.nan_to_num(tensor(np.float32))
    for profile in PROFILES:
        assert check_array(x, blocks.quantize(x, name, profile=get_profile(profile).replace(tail="pad")))


def test_nothing_crosses_rows() -> None:
    """Two rows of 40: a huge value changes its own block only, unless the profile says that blocks run on."""
    x = np.ones((2, 40), np.float32)
    x[0, 39] = 1e30
    assert blocks.quantize(x, "mxfp8").scales.tolist() == [[119, 218], [119, 119]]
    flat = blocks.quantize(x, "mxfp8", profile="ocp,tail=flatten")
    assert flat.scales.tolist() == [119, 218, 119]
    assert blocks.quantize(x.T, "mxfp8", axis=0).scales.T.tolist() == [[119, 218], [119, 119]]


def test_random_bits_by_position() -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((3, 38, 5)).astype(np.float32)
    for name, mode, axis in itertools.product(
        ("mxfp4", "nvfp4", "fp8_e5m2@e8m0/tensor"), ("sr", "sr-b", "sr-c"), (0, 1, 2)
    ):
        policy = Policy(mode, sr_bits=5)
        words = np.array(Philox(3).bits(5, 0, x.size)).reshape(x.shape)
        q = blocks.quantize(x, name, axis, policy=policy, random_bits=words)
        assert check_array(x, q, words, policy)
        same = blocks.quantize(x, name, axis, policy=policy, random_bits=Philox(3))
        assert (same.codes == q.codes).all()


@pytest.mark.parametrize("scale", [1.0, 0.3, 2.0**-149, 2.0**-128, 2.0**-127, 2.0**100, 3.0, 3.4028234663852886e38])
@pytest.mark.parametrize("profile", ["nvfp4", "nvfp4-torchao", "nvfp4,scale_low=smallest", "p3109", "ocp"])
def test_tensor_scales(profile: str, scale: float) -> None:
    given = float(np.float32(scale))
    x = np.concatenate([tensor(np.float32), tensor(np.float32) * np.float32(2.0**-60)])
    for name in ("nvfp4", "mxfp8", "fp6_e3m2@ue5m3/16"):
        assert check_array(x, blocks.quantize(x, name, profile=profile, tensor_scale=given))
        d = defined(name, profile, Fraction(given))
        for block in cases(d, np.random.default_rng(8), 10, wide=False):
            check(d, block)


@pytest.mark.parametrize("scale", [1.0, 0.3, 3.0, 1e-20])
@pytest.mark.parametrize("name", ["nvfp4", "fp8_e4m3@ue5m3/16", "fp6_e2m3@fp8_e5m2/16", "mxfp6"])
def test_quotients_next_to_ties(name: str, scale: float) -> None:
    """Values one float64 away from a tie times both scales: the quotient's bits beyond the 24th decide."""
    d = defined(name, "ocp,scale_rule=rne,flush=never", Fraction(float(np.float32(scale))))
    elements = line(d.fmt.element, False).values[:-1]
    ties = [(a + b) / 2 for a, b in itertools.pairwise(elements)][-14:]
    rows = []
    for code in (*range(1, 12), 0x3F, 0x43, 0x4A):
        unit = decode(code, d.fmt.scale).as_fraction() * d.tensor_scale
        near = [float(t * unit) for t in ties]
        for toward in (0.0, np.inf):
            row = np.nextafter(near, toward).tolist()
            rows.append([float(d.largest * unit), *row, *[0.0] * (15 - len(row))])
    x = np.array(rows)
    assert check_array(x, blocks.quantize(x, d.fmt, profile=d.profile, tensor_scale=float(d.tensor_scale))) >= 28


def test_values_that_are_cut() -> None:
    """Rationals that are no binary fractions decide beyond their 256 bits."""
    third = Fraction(1, 3 << 260)
    above, below = to_value(448 + third, 256), to_value(448 - third, 256)
    assert [quantize_block([v], "mxfp8", "nvidia").scale for v in (above, below)] == [0x80, 0x7F]
    tie = [to_value(448, 0), to_value(Fraction(17, 16) + third, 256), to_value(Fraction(17, 16) - third, 256)]
    assert quantize_block(tie, "mxfp8").codes == (0x7E, 0x39, 0x38)
    assert (
        quantize_block([to_value(6, 0), to_value(Fraction(5, 2) + third, 256)], "nvfp4", "nvfp4-torchao").codes[1] == 4
    )


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf"), 0.1, 1e300, 1e-60, "1", None.__class__, [1.0]])
def test_bad_tensor_scales(bad: Any) -> None:
    with pytest.raises(Error):
        blocks.quantize(np.ones(16, np.float32), "nvfp4", tensor_scale=bad)


# -- what peers do differently ---------------------------------------------------------------------------------------


def one(x: float, fmt: str, profile: str, *more: float) -> Block:
    return quantize_block([to_value(v, 0) for v in (x, *more)], fmt, profile)


def test_rules_differ() -> None:
    """E4M3: 448, 449 and 500 under floor, ceil, even and rceil; below 384 MLX's former rule is one lower."""
    table = {
        448.0: "7f 80 7f 7f",
        449.0: "7f 80 7f 80",
        500.0: "7f 80 80 80",
        512.0: "80 80 80 80",
        256.0: "7f 7f 7f 7f",
    }
    for amax, row in table.items():
        rules = ("floor", "ceil", "even", "rceil")
        assert " ".join(f"{one(amax, 'mxfp8', f'ocp,scale_rule={r}').scale:02x}" for r in rules) == row
    for profile, scale in {"ocp": 0x7F, "nvidia": 0x80, "mlx": 0x80, "amd-even": 0x80, "torchao-floor": 0x7F}.items():
        assert one(500.0, "mxfp8", profile).scale == scale
    assert [one(x, "mxfp8", "ocp,scale_rule=nearest").scale for x in (300, 317, 634, 633)] == [
        0x7E,
        0x80 - 1,
        0x80,
        0x7F,
    ]


def test_special_blocks_of_named_profiles() -> None:
    nan, inf = float("nan"), float("inf")
    assert one(inf, "mxfp8", "torchao-floor", 1.0)[:2] == (0xFF, (0x7F, 0x7F))
    assert one(inf, "mxfp8", "torchao-floor,inf=binade", 1.0)[:2] == (0xF7, (0x7E, 0x00))
    assert one(inf, "mxfp8", "nvidia", 1.0)[:2] == (0xFE, (0x7E, 0x00))
    assert one(nan, "mxfp8", "nvidia", inf)[:2] == (0xFF, (0x7F, 0x7F))
    assert one(-inf, "mxfp4", "microxcaling", 1.0)[:2] == (0xFF, (0, 0))
    assert one(nan, "mxfp4", "p3109", 6.0).scale == one(6.0, "mxfp4", "p3109").scale
    assert one(inf, "nvfp4", "nvfp4-torchao", 1.0)[:2] == (0x7E, (7, 0))
    assert one(1e300, "mxfp8", "microxcaling").scale == 0xFF  # a scale beyond 2^127
    for profile in ("msfp",):
        with pytest.raises(Error, match="holds a NaN or Inf"):
            one(nan, "msfp12", profile)


def test_zero_blocks() -> None:
    assert one(0.0, "mxfp8", "ocp", -0.0)[:2] == (0x00, (0x00, 0x80))
    assert one(0.0, "mxfp8", "ocp,zero_block=one").scale == 0x7F
    assert [one(0.0, "nvfp4", p).scale for p in ("nvfp4", "nvfp4-torchao", "ocp")] == [0x00, 0x08, 0x01]


def test_signs_of_zero() -> None:
    """microxcaling loses the sign of a -0 that is given, but not of what underflows; torchao keeps both."""
    values = (448.0, -0.0, -1e-9)
    assert one(*values[:1], "mxfp8", "torchao-floor", *values[1:]).codes == (0x7E, 0x80, 0x80)
    assert one(*values[:1], "mxfp8", "microxcaling", *values[1:]).codes == (0x7E, 0x00, 0x80)
    assert one(*values[:1], "mxfp8", "ocp,negative_zero=drop", *values[1:]).codes == (0x7E, 0x00, 0x00)


def test_int8_is_symmetric_or_full() -> None:
    assert one(-1.999, "mxint8", "ocp").codes == (0x81,)
    assert one(-1.999, "mxint8", "ocp,integers=full").codes == (0x80,)
    assert one(1.999, "mxint8", "ocp,integers=full").codes == (0x7F,)


def test_scale_bytes_at_the_ends() -> None:
    """Byte 00 is 2^-127, an FP32 subnormal, and byte FF NaN; the divisor is the decoded scale."""
    for fmt in MX:
        element = next(c for c in range(256) if decode(c, fmt.element).as_fraction() == 1)
        assert dequantize_to_fp32(0x00, [element], fmt) == [1 << 22]
        assert dequantize_to_fp32(0xFF, [element, 0], fmt) == [0x7FC00000] * 2
    assert one(2.0**-127, "mxfp8", "torchao-floor")[:2] == (0x00, (0x38,))  # torchao 0.18.0 has 0x30
    fp16 = np.full(32, 2.0**-24, np.float16)
    assert blocks.quantize(fp16, "mxfp8").dequantize().tolist() == [2.0**-24] * 32


def test_the_largest_fp32() -> None:
    """Under rceil its own element dequantizes within FP32; rounded up under ceil it is Inf, or saturates."""
    top = float(np.float32(3.4028234663852886e38))
    for rule, back in {"floor": 0x7F600000, "rceil": 0x7F800000, "ceil": 0x7F800000, "even": 0x7F800000}.items():
        block = one(top, "mxfp8", f"ocp,scale_rule={rule}")
        assert dequantize_to_fp32(block.scale, block.codes, "mxfp8") == [back]
        saturated = dequantize_to_fp32(block.scale, block.codes, "mxfp8", "ocp,dequantize_overflow=saturate")
        assert saturated == [min(back, 0x7F7FFFFF)]
        q = blocks.quantize(np.array([top] * 2), "mxfp8", profile=f"ocp,scale_rule={rule},dequantize_overflow=saturate")
        assert q.dequantize().view(np.uint32).tolist() == saturated * 2


def test_the_decoded_scale_divides() -> None:
    """NVFP4: amax 6.5 asks for 1.0833 and gets 1.125; 2.82 / 1.125 is past the tie at 2.5, 2.82 / 1.0833 not below."""
    block = one(6.5, "nvfp4", "nvfp4", 2.8, -0.27)
    assert decode(block.scale, "ue4m3").as_fraction() == Fraction(9, 8)
    assert [float(decode(c, "fp4_e2m1")) for c in block.codes] == [6.0, 2.0, -0.0]
    assert 2.8 / (6.5 / 6) > 2.5 > 2.8 / 1.125
    assert -0.27 / 1.125 > -0.25


def test_nvfp4_scale_floors() -> None:
    """A block far below the tensor's largest: no scale, the smallest subnormal, or the smallest normal."""
    x = np.zeros(32, np.float32)
    x[0], x[16:] = 2688.0, 2.0**-9
    for profile, scale, value in (
        ("nvfp4", 0x00, 0.0),
        ("nvfp4,scale_low=smallest", 0x01, 2.0**-9),
        ("nvfp4-torchao", 0x08, 0.0),
    ):
        q = blocks.quantize(x, "nvfp4", profile=profile)
        assert (q.tensor_scale, q.scales[1]) == (0x3F800000, scale)
        assert q.dequantize()[16] == value


# -- properties ------------------------------------------------------------------------------------------------------

MAGNITUDES = st.builds(lambda m, e: Fraction(m) * power(e), st.integers(1, 1 << 30), st.integers(-180, 120))


@given(MAGNITUDES, MAGNITUDES, st.sampled_from(sorted(SCALE_RULES)), st.sampled_from(NAMES), st.booleans())
def test_rules_are_monotone(a: Fraction, b: Fraction, rule: str, name: str, close: bool) -> None:
    b = a * (1 + power(-24)) if close else b
    fmt, profile = resolve(get_block_format(name), f"ocp,scale_rule={rule}")
    low, high = (decode(scale_of(to_value(x, 0), fmt, profile), fmt.scale).as_fraction() for x in sorted((a, b)))
    assert low <= high


# quantize(dequantize(q)): "codes": all the same; "values": another scale may hold the same values.
# rceil and ceil: the largest element may round down to where a smaller scale does. nearest saturates instead, and
# rounds up to less than the largest: "codes", but for E2M1, which has so few that 4 * sqrt(2) goes to 6.
IDEMPOTENT = {"floor": "codes", "even": "codes", "ceil": "values", "rceil": "values", "nearest": "codes"}
EXCEPT = {("nearest", "mxfp4_e2m1"): "nothing", ("rceil", "mxint8"): "codes"}


@pytest.mark.parametrize("rule", IDEMPOTENT)
@pytest.mark.parametrize("fmt", MX, ids=lambda b: b.name)
def test_quantizing_again(fmt: BlockFormat, rule: str) -> None:
    """Away from the ends of FP32, where a product overflows or loses bits."""
    rng = np.random.default_rng(12)
    x = (rng.standard_normal((4000, 32)) * 2.0 ** rng.integers(-90, 110, (4000, 1))).astype(np.float32)
    first = blocks.quantize(x, fmt, profile=f"ocp,flush=never,scale_rule={rule}")
    again = blocks.quantize(first.dequantize(), fmt, profile=first.profile)
    kept = EXCEPT.get((rule, fmt.name), IDEMPOTENT[rule])
    same_values = (again.dequantize() == first.dequantize()).all()
    assert (again.scales <= first.scales).all()
    assert (again.scales == first.scales).all() == (again.codes == first.codes).all() == (kept == "codes")
    assert same_values == (kept != "nothing")


@pytest.mark.parametrize("profile", ["nvfp4", "nvfp4-torchao", "nvfp4,scale_low=smallest"])
def test_quantizing_nvfp4_again(profile: str) -> None:
    """The same codes and tensor scale where no block's scale is subnormal."""
    rng = np.random.default_rng(13)
    x = (rng.standard_normal((400, 32)) * np.exp2(rng.integers(-5, 1, (400, 1)))).astype(np.float32)
    first = blocks.quantize(x, "nvfp4", profile=profile)
    again = blocks.quantize(first.dequantize(), "nvfp4", profile=profile)
    assert first.scales.min() > 8
    assert again.tensor_scale == first.tensor_scale
    assert (again.scales == first.scales).all()
    assert (again.codes == first.codes).all()


# -- the page is the registry ----------------------------------------------------------------------------------------


def table_rows() -> dict[str, list[str]]:
    """The rows of the tables of docs/blocks.md, by the first cell."""
    page = (Path(__file__).parents[1] / "docs" / "blocks.md").read_text()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| `")]
    return {first.strip("`"): rest for first, *rest in rows}


def test_the_page_has_every_profile() -> None:
    rows, ocp = table_rows(), PROFILES["ocp"]
    fields = [f for f in (*CHOICES, "flush_below") if f != "scale_rule"]
    for name, p in PROFILES.items():
        differs = [f"`{f}={getattr(p, f)}`" for f in fields if getattr(p, f) != getattr(ocp, f)]
        assert rows[name] == [p.scale_rule, ", ".join(differs) or "nothing", p.source, p.checked]


def test_the_page_has_every_choice() -> None:
    rows = table_rows()
    for field, choices in CHOICES.items():
        assert rows[field][0] == ", ".join(choices)
    assert set(SCALE_RULES) | set(CHOICES) | set(PROFILES) == set(rows)


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["ocp,", "ocp,x=y", "ocp,nan", "ocp,nan=", "ocp,like=nvidia", "ocp,name=x", "ocp,nan=block,nan=element", "x.toml",
     "ocp,flush_below=--5", "ocp,flush_below=²", "ocp,flush_below=1e3", "ocp,flush_below=100000", "", ",", "OCP,nan=x"],
)  # fmt: skip
def test_bad_profiles(name: str) -> None:
    with pytest.raises(Error):
        get_profile(name)


@pytest.mark.parametrize(
    "name",
    ["fp4_e2m1@e8m0/0", "fp4_e2m1@e8m0/4097", "fp4_e2m1@e8m0/-1", "fp4_e2m1@e8m0/１６", "fp4_e2m1@e8m0", "@e8m0/32",
     "i8@e8m0/32", "fp4_e2m1@u8/32", "mxfp8@e8m0/32", "flexfp_e0m3", "flexfp_e99m999", "fp4_e2m1@e8m0/rows"],
)  # fmt: skip
def test_bad_block_formats(name: str) -> None:
    with pytest.raises(Error):
        get_block_format(name)


@pytest.mark.parametrize("size", [0, -1, 4097, True, 1.0, "16", "", None, [16]])
def test_bad_sizes(size: Any) -> None:
    with pytest.raises(Error, match="a block has 1 to 4096 elements"):
        define_block_format({"element": "fp4_e2m1", "scale": "e8m0", "size": size}, "bad")


@pytest.mark.parametrize("name", [*NAMES, "fp8_e4m3@fp32/axis", "fp8_e4m3@fp32/TENSOR"])
def test_definitions_come_back(name: str) -> None:
    fmt = get_block_format(name)
    assert define_block_format(fmt.to_dict()) == fmt
    for profile in PROFILES.values():
        assert define_profile({**profile.to_dict()}) == profile


def test_a_scale_without_nan_is_refused_where_it_needs_one() -> None:
    for profile in ("ocp", "ocp,nan=element,inf=element,scale_high=nan", "p3109"):
        with pytest.raises(Error, match="has no NaN"):
            quantize_block([to_value(1.0, 0)], "fp4_e2m1@s0e4m3finite/16", profile)
