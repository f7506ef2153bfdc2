"""Blocks under any profile, defined in rationals; and values that tell profiles apart.

The definition searches and compares; it shares nothing with the code under test but `decode`, the values of codes.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pytest
from definition import UNBOUNDED, Line, expected, floor_log2, past_the_end
from gmpy2 import mpq

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, BlockFormat, get_block_format
from softfloat_ref.oracle.blocks.profile import CHOICES, Profile
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.blocks.quantize import QuantizedBlock, quantize_block, resolve
from softfloat_ref.oracle.codec import decode, to_value
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy

NAMES = [*BLOCK_FORMATS, "flexfp_e4m3", "binary8p3se@binary8p1ue/32", "fp4_e2m1@fp8_e4m3/16", "int8@ue5m3/8"]
SATURATED = 5  # overflow and inexact

ONE = mpq(1)
INF = np.float32(np.inf)
FP32_STEPS = ("fp32-division", "fp32-inverse", "fp32-amax")


def power(e: int) -> mpq:
    return mpq(2) ** e


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
    tensor_scale: mpq = ONE

    @cached_property
    def largest(self) -> mpq:
        return line(self.fmt.element, False).values[-2]

    @cached_property
    def emax(self) -> int:
        return floor_log2(self.largest)

    def power_wanted(self, amax: mpq) -> int | None:
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
            case "even-e2m1":
                return (e + 1 if amax >= mpq(7, 4) * power(e) else e) - self.emax
            case "nearest":
                square = (amax / self.largest) ** 2
                around = floor_log2(amax / self.largest)
                return next(k for k in (around, around + 1) if power(2 * k - 1) < square < power(2 * k + 1))
            case "rceil" | "rne" | "amax":
                return None
        raise AssertionError(f"{self.profile.scale_rule}: no definition")

    @cached_property
    def reach(self) -> mpq:
        """The largest value that a block's scale and an element give; 256 in place of the largest scale."""
        top = 256 if self.profile.tensor_scale == "amax-256" else line(self.fmt.scale, False).values[-2]
        return top * self.largest

    @property
    def encode_scale(self) -> np.float32:
        """Of fp32-amax: the reach over the tensor's largest magnitude."""
        return single(fp32(self.reach / self.tensor_scale) or mpq(float(np.finfo(np.float32).max)))

    def scale(self, amax: mpq, expand: mpq = ONE) -> int:
        """The scale's code for a largest magnitude. expand: what the scale that is wanted is multiplied by."""
        scale, profile = self.fmt.scale, self.profile
        values, codes = line(scale, False).values[:-1], line(scale, False).codes[:-1]
        if amax == 0:
            if profile.zero_block == "one":
                return rounded(mpq(1), scale)
            if profile.zero_block == "eighth":
                return rounded(mpq(1, 8), scale)
            return 0 if profile.zero_block == "zero" and scale.zero else self.lowest
        if profile.arithmetic == "fp32-reciprocal":
            with np.errstate(all="ignore"):
                step = np.float32(float(amax)) / np.float32(float(self.largest)) / np.float32(float(self.tensor_scale))
                step *= np.float32(expand)
            code = codes[-1] if np.isinf(step) else rounded(mpq(float(step)), scale)
            return self.limited(UNBOUNDED if np.isinf(step) else code)
        if profile.arithmetic in FP32_STEPS and profile.scale_rule == "rne":
            top, second = np.float32(float(self.largest)), np.float32(float(self.tensor_scale))
            with np.errstate(all="ignore"):
                a = np.float32(float(amax))
                second = self.encode_scale if profile.arithmetic == "fp32-amax" else second
                step = a / (top * second) if profile.arithmetic == "fp32-division" else a / top * second
                step *= np.float32(expand)
            if step == 0:
                return self.scale(mpq(0))
            return self.limited(UNBOUNDED if np.isinf(step) else rounded(mpq(float(step)), scale))
        if profile.arithmetic == "fp32-inverse":
            amax *= self.tensor_scale
        elif profile.arithmetic == "fp32-amax":
            amax *= self.reach / self.tensor_scale
        else:
            amax /= self.tensor_scale
        k = self.power_wanted(amax)
        if k is not None:
            top = floor_log2(values[-1])
            if k > top and profile.scale_high == "nan":
                return scale.canonical_nan
            wanted = power(k) * expand
            if floor_log2(wanted) > top and profile.scale_high == "nan":
                return scale.canonical_nan
            return self.limited(rounded(min(wanted, power(top)) if floor_log2(wanted) > top else wanted, scale))
        wanted = (amax if profile.scale_rule == "amax" else amax / self.largest) * expand
        if expand != 1 and profile.arithmetic != "exact":
            wanted = fp32(wanted) or power(200)
        if profile.scale_rule == "rceil":
            i = bisect.bisect_left(values, True, key=lambda v: wanted <= v)
            return self.limited(UNBOUNDED if i == len(values) else codes[i])
        return self.limited(rounded(wanted, scale))

    def searched(self, first: int, values: list[Value], policy: Policy) -> int:
        """The scale with the smaller error: this one, or the one that the rule gives times 3/2."""
        if not all(x.is_finite for x in values) or all(x.is_zero for x in self.flushed(values)):
            return first
        second = self.scale(max(abs(mpq(x.as_fraction())) for x in self.flushed(values)), mpq(3, 2))
        errors = [self.error(code, values, policy) for code in (first, second)]
        return second if errors[1] < errors[0] else first

    def error(self, code: int, values: list[Value], policy: Policy) -> np.float32:
        """As float32 arithmetic has it, lane by lane."""
        scale, total = decode(code, self.fmt.scale), np.float32(0)
        if not scale.is_finite:
            return INF
        with np.errstate(all="ignore"):
            for x in self.flushed(values):
                element = decode(self.element(x, scale, policy)[0], self.fmt.element)
                back = self.back(element, scale)
                off = INF if back is None else abs(single(back - mpq(x.as_fraction())))
                if self.profile.scale_search == "max":
                    total = max(total, off)
                else:
                    total = total + (off * off if self.profile.scale_search == "mse" else off)
        return total

    def back(self, x: Value, s: Value) -> mpq | None:
        """The value of an element, as an FP32 number; None beyond FP32, and where it is not a number."""
        if not (x.is_finite and s.is_finite):
            return None
        element, scale = mpq(x.as_fraction()), mpq(s.as_fraction())
        second, arithmetic = self.tensor_scale, self.profile.arithmetic
        if arithmetic == "fp32-amax":
            return then(fp32(element * scale), lambda y: then(fp32(y * second), lambda z: fp32(z / self.reach)))
        if arithmetic in ("exact", "fp32-reciprocal"):
            return fp32(element * scale * second)
        factor = fp32(scale * second if arithmetic == "fp32-division" else scale / second)
        return then(factor, lambda y: fp32(element * y))

    def limited(self, code: int) -> int:
        scale, profile = self.fmt.scale, self.profile
        if code == UNBOUNDED:
            if profile.scale_high == "nan":
                return scale.canonical_nan
            if profile.scale_high == "format" and scale.overflow == "inf":
                return scale.inf_code
            return line(scale, False).codes[-2]
        if profile.scale_low == "eighth" and scale.zero and code == 0:
            return rounded(mpq(1, 8), scale)
        return code if profile.scale_low == "zero" and scale.zero else max(code, self.lowest)

    @cached_property
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
        magnitudes = [abs(mpq(v.as_fraction())) for v in self.flushed(values) if v.is_finite]
        if infs and profile.inf == "binade":
            magnitudes.append(power(128))
        elif not magnitudes and values and profile.no_finite == "special":
            if not infs:
                return scale.canonical_nan
            return scale.inf_code if scale.infinity else line(scale, False).codes[-2]
        return self.scale(max(magnitudes, default=mpq(0)))

    def flushed(self, values: list[Value]) -> list[Value]:
        bound, flush = power(self.profile.flush_below), self.profile.flush
        if flush == "block" and any(not v.is_finite or abs(mpq(v.as_fraction())) >= bound for v in values):
            return values
        small = [flush != "never" and v.is_finite and abs(mpq(v.as_fraction())) < bound for v in values]
        return [Value(0, v.sign) if s else v for v, s in zip(values, small, strict=True)]

    def element(self, x: Value, scale: Value, policy: Policy) -> tuple[int, int]:
        """Code and flags of a value under a scale that is no NaN."""
        fmt = self.fmt.element
        if x.is_nan:
            return (fmt.canonical_nan, 0) if fmt.has_nan else (line(fmt, False).codes[-2], 0x10)
        if self.profile.arithmetic in FP32_STEPS and (not scale.is_zero or self.profile.arithmetic == "fp32-amax"):
            return self.by_division(x, scale, policy)
        if scale.is_inf:  # IEEE P3109 5.1.2: sgn(X) sgn(S)
            if x.is_zero:
                return self.signed_zero(x), 0
            return self.project(mpq(1), bool(x.sign), policy)
        if scale.is_zero:
            return self.signed_zero(x), 0
        if x.is_inf:
            return self.infinity(bool(x.sign))
        if self.profile.arithmetic == "fp32-reciprocal":
            return self.by_reciprocal(x, scale, policy)
        if x.is_zero:
            return self.signed_zero(x), 0
        return self.project(
            abs(mpq(x.as_fraction())) / mpq(scale.as_fraction()) / self.tensor_scale, bool(x.sign), policy
        )

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
        return self.project(mpq(abs(float(product))), bool(x.sign), policy)

    def by_division(self, x: Value, scale: Value, policy: Policy) -> tuple[int, int]:
        """As float32 arithmetic has it: one divisor of both scales, and one quotient."""
        with np.errstate(all="ignore"):
            second, s = np.float32(float(self.tensor_scale)), np.float32(float(scale))
            if self.profile.arithmetic == "fp32-amax" and not np.isinf(s):
                by = np.float32(1) / (s * (np.float32(1) / self.encode_scale))
                quotient = np.float32(float(x)) * np.minimum(by, np.finfo(np.float32).max)
            else:
                by = s * second if self.profile.arithmetic == "fp32-division" or np.isinf(s) else s / second
                quotient = np.float32(float(x)) / by
        if np.isnan(quotient):
            return self.element(Value(2, 0), scale, policy)
        if np.isinf(quotient):
            return self.infinity(bool(x.sign))
        if quotient == 0:
            keeps = self.profile.negative_zero == "keep"
            negative = self.profile.negative_zero == "set-given" or (keeps and x.sign)
            return self.fmt.element.sign_bit if negative and self.fmt.element.negative_zero else 0, 0
        return self.project(mpq(abs(float(quotient))), bool(x.sign), policy)

    def project(self, x: mpq, negative: bool, policy: Policy) -> tuple[int, int]:
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
        if self.profile.negative_zero == "set-given" and x.is_zero:
            return self.fmt.element.sign_bit if self.fmt.element.negative_zero else 0
        keeps = self.profile.negative_zero in ("keep", "set-given") or (
            self.profile.negative_zero == "drop-given" and not x.is_zero
        )
        return self.fmt.element.sign_bit if x.sign and self.fmt.element.negative_zero and keeps else 0

    def quantize(self, values: list[Value]) -> QuantizedBlock:
        policy = Policy(rounding=self.profile.rounding)
        code = self.block_scale(values)
        if self.profile.scale_search != "none":
            code = self.searched(code, values, policy)
        scale = decode(code, self.fmt.scale)
        if scale.is_nan and self.profile.special_codes != "quantized":
            nan = max(self.fmt.element.canonical_nan, 0)
            if self.profile.special_codes == "encoded" and not self.fmt.element.has_nan:
                nan = line(self.fmt.element, False).codes[-2]
            return QuantizedBlock(code, (nan,) * len(values), (0,) * len(values))
        if scale.is_nan:
            numbers = Definition(self.fmt, self.profile.replace(scale_high="largest"), self.tensor_scale)
            scale = decode(numbers.block_scale([v for v in values if v.is_finite]), self.fmt.scale)
        found = [self.element(v, scale, policy) for v in self.flushed(values)]
        return QuantizedBlock(code, tuple(c for c, _ in found), tuple(f for _, f in found))


def fp32(x: mpq) -> mpq | None:
    """The nearest FP32 number, ties to even; None beyond FP32."""
    if not x:
        return x
    ulp = power(max(floor_log2(abs(x)) - 23, -149))
    y = round(Fraction(int(x.numerator), int(x.denominator)) / Fraction(ulp)) * ulp
    return y if abs(y) < power(128) else None


def then(x: mpq | None, step: Callable[[mpq], mpq | None]) -> mpq | None:
    return None if x is None else step(x)


def single(x: mpq) -> np.float32:
    y = fp32(x)
    return INF if y is None else np.float32(float(y))


def rounded(x: mpq, scale: Format) -> int:
    """The nearest scale, ties to even."""
    return expected(x, False, line(scale, False), scale, "rne")[0] if x else 0


def defined(fmt: str | BlockFormat, profile: str | Profile, tensor_scale: mpq = ONE) -> Definition:
    """A format under a profile, whether or not the profile is for it."""
    return Definition(*resolve(get_block_format(fmt), anywhere(profile)), tensor_scale)


def anywhere(profile: str | Profile) -> Profile:
    """A profile for any format."""
    return get_profile(profile).replace(formats="*")


def amaxes(d: Definition, e: int) -> Iterator[mpq]:
    """In a binade, the thresholds of all rules, and their FP32 neighbours."""
    *_, below, top, _ = line(d.fmt.element, False).values
    root = mpq(float(np.float32(2**0.5)))
    m = d.largest / power(d.emax)
    for point in (mpq(1), 2 - (top - below) / 2 / power(d.emax), m, m * root / 2):
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
        numbers = [mpq(float(x if wide else np.float32(float(x)))) for x in numbers]
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


def shuffled(rng: np.random.Generator) -> Profile:
    """A profile with every field drawn."""
    drawn: dict[str, Any] = {f: choices[rng.integers(len(choices))] for f, choices in CHOICES.items()}
    if drawn["rounding"].startswith("sr"):
        drawn["rounding"] = "rto"
    if drawn["arithmetic"] != "exact":
        drawn["arithmetic"] = "exact" if rng.integers(4) else drawn["arithmetic"]
    if "error" in (drawn["nan"], drawn["inf"]) and rng.integers(3):
        drawn["nan"] = drawn["inf"] = "element"
    return Profile("drawn", flush_below=int(rng.integers(-130, 3)), **drawn)
