"""Blocks with scales of any format in the compiled loops of kernels/divided_loops.py: plans, and slabs of an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import plans
from softfloat_ref.arrays.kernels.dispatch import as_word_type, read_only
from softfloat_ref.arrays.slabs import run_slices
from softfloat_ref.base.search import first_equal
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.fp32_steps import fp32_quotient
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.quantize import special_element
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.blocks.scales import EIGHTH, lowest_scale, scale_code, scale_of, scale_policy
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import Rounding

FAR_BELOW: Final = 26  # as nearest.ALL
FP32: Final = CATALOGUE["fp32"]
FP64: Final = CATALOGUE["fp64"]
SLAB: Final = 1 << 17  # values
SMALL_SIZE: Final = 1 << 14  # values for which the steps of a job would take longer than the loops
_ONE: Final = exact.finite(0, 1, 0)
_ROUNDINGS: Final = {"rne": Rounding.RNE, "amax": Rounding.RNE, "rceil": Rounding.RUP}  # the other rules: powers of two
_MAX_PRODUCT_BITS: Final = 42  # of a midpoint times a divisor, so that a product with the reciprocal is on its side
_MAX_QUOTIENT_BITS: Final = 51  # the same for a quotient
_MODERATE_EXPONENT: Final = 300  # an exponent
_FINITE_FIELDS: Final = 255  # exponent fields of finite float32 values
_ZERO_SIGNS: Final = {
    "keep": plans.KEEP,
    "drop-given": plans.DROP_GIVEN,
    "drop": plans.DROP_ALL,
    "set-given": plans.SET_GIVEN,  # of FP32 quotients only
}
_BY: Final = {"fp32-division": plans.BY_PRODUCT, "fp32-inverse": plans.BY_QUOTIENT}
_STEPS: Final = {"fp32-division": plans.DIVISION, "fp32-inverse": plans.INVERSE, "fp32-reciprocal": plans.RECIPROCAL}
_NO_POWERS: Final = np.zeros((0, 3), np.uint32)
_NO_WORDS: Final = np.zeros((1, 0), np.uint32)
Array = NDArray[Any]
Words = Callable[[int, int], Array]


class DividedPlan(NamedTuple):
    """The arguments of the loops; see divided_loops."""

    rules: Array
    factors: Array
    rounded: Array
    powers: Array
    values: Array
    plain: Array
    near: Array
    mode: int
    bits: int  # of a random word
    kind: int
    shorts: tuple[int, int]  # bits of a midpoint times its divisor, for scales and elements, without those of a factor


def plan(fixed: DividedPlan, tensor_scale: int) -> DividedPlan | None:
    """The plan for a second-level scale (an FP32 code); None if the loops do not support it. fixed: of `fixed_plan`."""
    kind = fixed.kind
    if kind == plans.POWER and tensor_scale != FP32_ONE:
        return None
    second, added = _single(tensor_scale)
    of_scale, of_element = fixed.shorts[0] + added, fixed.shorts[1] + added
    if kind == plans.QUOTIENT and max(of_element, of_scale) > _MAX_QUOTIENT_BITS:
        return None
    rules = fixed.rules
    if kind in (plans.QUOTIENT, plans.POWER) and of_element > _MAX_PRODUCT_BITS:
        rules = rules.copy()
        rules[plans.DIVIDE] = 1
    top, _, limit = fixed.factors.tolist()
    divisor = top * second  # exact
    if kind == plans.RECIPROCAL:
        divisor = float(fp32_quotient(_ONE, decoder(FP32)(tensor_scale)))
    elif kind == plans.DIVISION:
        with np.errstate(over="ignore"):
            divisor = float(np.float32(divisor))
    return fixed._replace(rules=rules, factors=np.array([divisor, second, limit]))


def _single(code: int) -> tuple[float, int]:
    """The value of a positive FP32 code, and the bits of its significand without trailing zeros."""
    hidden = 1 << FP32.mantissa_bits
    fraction = code & (hidden - 1) | (hidden if code >= hidden else 0)
    return float(np.uint32(code).view(np.float32)), fraction.bit_length() - (fraction & -fraction).bit_length() + 1


def short_bits(x: Value) -> int:
    """The bits of a significand, without trailing zeros."""
    return x.significand.bit_length() - ((x.significand & -x.significand).bit_length() - 1)


def fixed_plan(fmt: BlockFormat, profile: Profile, policy: Policy) -> DividedPlan | None:
    """The parts of a plan for float32 values that do not depend on the second-level scale, or None if the loops do not
    support the conversion."""
    element, scale, n = fmt.element, fmt.scale, policy.random_count
    regular = plans.is_stochastic(element, policy, FP32) if n else plans.is_plain(element, policy, FP32)
    lowest = element.emin - element.mantissa_bits - n - 3
    near_one = element.emax < plans.RANGE and lowest > -plans.RANGE and is_moderate(scale)
    narrow = element.width <= 16 and element.precision + n + 2 < FP32.precision
    readable = scale.width <= 16 or _is_cut_fp32(scale)
    flushes = profile.flush == "never" or (profile.flush == "element" and profile.flush_below == FP32.emin)
    kind = _kind(fmt, profile)
    if not (regular and near_one and narrow and readable and flushes and kind is not None):
        return None
    powers = _powers(fmt, profile) if kind == plans.POWER else _NO_POWERS
    if powers is None:
        return None
    rounding = _ROUNDINGS[profile.scale_rule] if kind == plans.QUOTIENT else Rounding.RNE
    rounded = scale_policy(rounding, profile.scale_high == "format")
    near = _near(element, policy) if element.signed and not n else []  # those loops drop no negative values
    in_fp32 = kind == plans.RECIPROCAL or profile.divides_in_fp32
    if in_fp32 and near and near[plans.INF] != near[plans.BEYOND]:
        near = []  # a result of FP32 may be Inf, which those loops count as a large number
    top = _ONE if profile.scale_rule == "amax" else largest(element)
    return DividedPlan(
        _rules(fmt, profile, policy, kind),
        np.array([float(top), 1.0, float(largest(element))]),
        np.array([] if kind == plans.POWER else plans.plain_numbers(scale, rounded, FP64), np.uint64),
        powers,
        _values(scale),
        np.array(plans.plain_numbers(element, policy, FP32), np.uint32),
        np.array(near, np.uint32),
        int(policy.rounding),
        n,
        kind,
        (scale.precision + 1 + short_bits(top), element.precision + 1 + n + scale.precision),
    )


def is_moderate(*formats: Format) -> bool:
    """Whether exponents are so small that quotients of float32 values, second-level scales and such numbers are normal
    numbers of float64."""
    return max(abs(x) for fmt in formats for x in (fmt.emin, fmt.emax)) <= _MODERATE_EXPONENT


def _near(fmt: Format, policy: Policy) -> list[int]:
    """The fields of nearest.Nearest for magnitudes; empty if its loops do not apply."""
    spare = FP32.precision - fmt.precision >= 2
    fields = plans.nearest_magnitudes(fmt, policy) if spare and plans.is_plain(fmt, policy, FP32) else None
    return fields if fields and fields[plans.LEAST] > FAR_BELOW and fmt.emax < plans.RANGE else []


def _kind(fmt: BlockFormat, profile: Profile) -> int | None:
    """How the loops find the scale; None if they cannot."""
    scale = fmt.scale
    if profile.scale_search != "none" or profile.arithmetic == "fp32-amax":
        return None
    steps = profile.divides_in_fp32 and profile.scale_rule == "rne"
    if (profile.scale_low == "eighth" and not steps) or (
        profile.negative_zero == "set-given" and not profile.divides_in_fp32
    ):
        return None
    by_rule = scale.mantissa_bits and profile.scale_rule in _ROUNDINGS
    if steps or profile.arithmetic == "fp32-reciprocal" or by_rule:
        plain = plans.is_plain(scale, scale_policy(Rounding.RNE, True), FP64) and not scale.twos_complement
        fits = plain and profile.scale_high == "largest" if steps else plain and profile.scale_high != "nan"
        exact = profile.divides_in_fp32 and not steps
        return _STEPS.get(profile.arithmetic, plans.QUOTIENT) if fits and not exact else None
    return plans.POWER


def marks_blocks(profile: Profile) -> bool:
    """Whether a NaN or Inf makes its whole block NaN."""
    return profile.nan == profile.inf == "block" and profile.special_codes != "quantized"


def _rules(fmt: BlockFormat, profile: Profile, policy: Policy, kind: int) -> Array:
    simple = marks_blocks(profile)
    rules = np.zeros(plans.RULES, np.int64)
    rules[plans.FLUSH] = policy.flush_inputs or profile.flush == "element"
    rules[plans.ZERO_SCALE] = scale_of(None, fmt, profile)
    rules[plans.NAN_SCALE] = fmt.scale.canonical_nan if simple else -1
    zero = profile.scale_low == "zero" and fmt.scale.zero
    rules[plans.LOWEST] = 0 if zero or kind == plans.POWER else lowest_scale(fmt.scale, profile)
    rules[plans.KIND], rules[plans.DROP] = kind, _ZERO_SIGNS[profile.negative_zero]
    rules[plans.NAN_CODE] = special_element(fmt, policy, profile) if simple else 0
    rules[plans.IN_FP32] = _BY.get(profile.arithmetic, 0)
    rules[plans.INSTEAD] = rules[plans.LOWEST]
    if profile.scale_low == "eighth" and fmt.scale.zero:
        rules[plans.LOWEST], rules[plans.INSTEAD] = 0, scale_code(EIGHTH, fmt.scale)
    rules[plans.NEGATE] = fmt.element.twos_complement and fmt.element.signed
    rules[plans.SHIFT] = FP32.mantissa_bits - fmt.scale.mantissa_bits
    return rules


def _values(scale: Format) -> Array:
    """The values of a scale's codes; empty for formats that are the upper bits of FP32."""
    if _is_cut_fp32(scale):
        return np.zeros(0)
    decode = decoder(scale)
    return np.array([float(decode(code)) for code in range(1 << scale.width)])


def _is_cut_fp32(scale: Format) -> bool:
    """Whether codes are the upper bits of FP32's."""
    ieee = scale.nan == "ieee" and scale.signed and scale.subnormals == "gradual"
    return ieee and scale.exponent_bits == FP32.exponent_bits and scale.bias == FP32.bias and scale.width <= FP32.width


def _powers(fmt: BlockFormat, profile: Profile) -> Array | None:
    """By the exponent of the largest magnitude, from FP32's smallest subnormal up: the fraction from which the scale is
    another one, and both scales. Computed by the oracle; None if a scale changes more than once in a binade."""
    decode, none, rows, guess = decoder(FP32), 1 << FP32.mantissa_bits, [], 0

    def code(bits: int) -> int:
        return scale_of(decode(bits), fmt, profile)

    for begin, unit in _binades():
        end = begin + none // unit
        low, high = code(begin), code(end - 1)
        turn = end
        if low != high:
            turn = first_equal(begin, end, code, high, begin + guess // unit)
            guess = (turn - begin) * unit
            if code(turn - 1) != low:
                return None
        rows.append(((turn - begin) * unit, low, high))
    return np.array(rows, np.uint32)


def _binades() -> Iterator[tuple[int, int]]:
    """The first code of each binade of FP32, and the difference of two fractions there, in units of a normal number's
    last place."""
    yield from ((1 << k, 1 << (FP32.mantissa_bits - k)) for k in range(FP32.mantissa_bits))
    yield from ((field << FP32.mantissa_bits, 1) for field in range(1, _FINITE_FIELDS))


# -- arrays ------------------------------------------------------------------------------------------------------------


def largest_finite(x: Array) -> int:
    """The largest finite magnitude of contiguous float32 bits."""
    return int(_loops().largest_finite(read_only(x.reshape(-1))))


def quantize(
    x: Array, size: int, plan: DividedPlan, words: Words | None, codes: Array, scales: Array, threads: int = 1
) -> Array:
    """Quantize float32 bits of shape (outer, length, inner) in blocks of `size` along the middle axis, into `codes` of
    that shape and `scales` (outer, blocks, inner).

    words: the random words from a position, so many, of the array in C order. Returns which blocks are left to the
    oracle, in the shape of the scales.
    """
    redo = np.zeros(scales.shape, np.uint8)
    arrays = read_only(x), codes, scales, redo
    if threads == 1 and x.shape[2] == 1 and 0 < x.size <= SMALL_SIZE and x.shape[1] % size == 0:
        _whole(size, plan, words, *(array.reshape(1, -1) for array in arrays))
    elif x.shape[2] == 1:
        one = threads == 1 and x.shape[1] % size == 0  # complete blocks only: as one row
        job = _SlabJob(size, plan, words, *(array.reshape(1, -1) if one else array[:, :, 0] for array in arrays))
        run_slices(job.x.shape[0], job.x.shape[1], threads, job.rows)
    else:
        job = _SlabJob(size, plan, words, *arrays)
        run_slices(x.shape[0], x.shape[1] * x.shape[2], threads, job.columns)
    return redo


def _whole(size: int, p: DividedPlan, words: Words | None, x: Array, codes: Array, scales: Array, redo: Array) -> None:
    """Quantize a small array of complete blocks, as one row: what `_SlabJob.rows` does, in fewer steps."""
    loops, inverse = _loops(), np.empty(scales.shape)
    loops.scales_of_rows(x, size, p.rules, p.factors, p.rounded, p.powers, p.values, scales, inverse, redo)
    drawn = _NO_WORDS if words is None else as_word_type(words(0, x.size), p.bits).reshape(x.shape)
    loops.elements_of_rows(x, size, inverse, p.rules, p.plain, p.near, drawn, p.mode, p.bits, codes)


@lru_cache(maxsize=1)
def _loops() -> Any:
    from softfloat_ref.arrays.kernels import divided_loops

    return divided_loops


class _SlabJob(NamedTuple):
    """The quantization of one array, slab by slab."""

    size: int
    plan: DividedPlan
    words: Words | None
    x: Array
    codes: Array
    scales: Array
    redo: Array

    def rows(self, part: slice) -> None:
        """Quantize some rows."""
        from softfloat_ref.arrays.kernels.divided_loops import elements_of_rows, scales_of_rows

        length, size = self.x.shape[1], self.size
        if self.x.size <= SLAB and part.stop - part.start == self.x.shape[0]:
            self._coded(elements_of_rows, ..., self._scaled(scales_of_rows, ..., ...), 0)
            return
        many = max(SLAB // max(length, 1), 1)  # rows at a time
        wide = length if length <= SLAB or size > SLAB else SLAB // size * size  # values of a row at a time
        for top in range(part.start, part.stop, many):
            rows = slice(top, min(top + many, part.stop))
            for left in range(0, length, wide):
                right = min(left + wide, length)
                blocks = slice(left // size, -(-right // size))
                inverse = self._scaled(scales_of_rows, (rows, slice(left, right)), (rows, blocks))
                step = right - left if size <= SLAB else SLAB
                for begin in range(left, right, step):
                    place = rows, slice(begin, min(begin + step, right))
                    self._coded(elements_of_rows, place, inverse, top * length + begin)

    def columns(self, part: slice) -> None:
        """Quantize some of the arrays (length, columns)."""
        from softfloat_ref.arrays.kernels.divided_loops import elements_of_columns, scales_of_columns

        if self.x.size <= SLAB and part.stop - part.start == self.x.shape[0]:
            self._coded(elements_of_columns, ..., self._scaled(scales_of_columns, ..., ...), 0)
            return
        length, columns = self.x.shape[1:]
        size = min(self.size, length)
        many = max(SLAB // max(size * columns, 1), 1) * size  # values of a column at a time
        step = many if size * columns <= SLAB else max(SLAB // max(columns, 1), 1)
        for outer in range(part.start, part.stop):
            for top in range(0, length, many):
                end = min(top + many, length)
                blocks = slice(top // size, -(-end // size))
                one = slice(outer, outer + 1)
                inverse = self._scaled(scales_of_columns, (one, slice(top, end)), (one, blocks))
                for begin in range(top, end, step):
                    place = one, slice(begin, min(begin + step, end))
                    self._coded(elements_of_columns, place, inverse, (outer * length + begin) * columns)

    def _scaled(self, loop: Any, values: Any, blocks: Any) -> Array:
        """Compute scales; returns what the elements are multiplied by."""
        x, scales, redo, p = self.x[values], self.scales[blocks], self.redo[blocks], self.plan
        inverse = np.empty(scales.shape)
        results = [scales, inverse, redo]
        if self.x.ndim == 2 and x.shape[1] % self.size == 0:  # complete blocks only: as one row
            x, *results = (array.reshape(1, -1) for array in (x, *results))
        loop(x, self.size, p.rules, p.factors, p.rounded, p.powers, p.values, *results)
        return inverse

    def _coded(self, loop: Any, values: Any, inverse: Array, start: int) -> None:
        x, p = self.x[values], self.plan
        drawn = _NO_WORDS if self.words is None else as_word_type(self.words(start, x.size), p.bits).reshape(x.shape)
        loop(x, self.size, inverse, p.rules, p.plain, p.near, drawn, p.mode, p.bits, self.codes[values])
