"""What the kernels of fake quantization on a device are made for: a format under a policy, a block format under a
profile, as constants that the scalar model computes. None where the kernels do not apply."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from numpy.typing import NDArray

from softfloat_ref.arrays.block_setting import BlockSetting
from softfloat_ref.arrays.kernels import block_dispatch, plans
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.blocks.scales import EIGHTH, lowest_scale, scale_code, scale_of, scale_policy
from softfloat_ref.oracle.codec import decoder, encoder, target
from softfloat_ref.oracle.exact import FINITE, NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import Rounding

FP32: Final = CATALOGUE["fp32"]
FP64: Final = CATALOGUE["fp64"]
E8M0: Final = CATALOGUE["e8m0"]
SOURCES: Final = ("fp32", "bf16", "fp16")
ARITHMETIC: Final = ("exact", "fp32-reciprocal", "fp32-division", "fp32-inverse")  # numbers of triton_loops
SIGNS: Final = ("keep", "drop-given", "set-given", "drop")  # of zeros; the last one is a matter of the elements
_ROUNDINGS: Final = {"rne": Rounding.RNE, "amax": Rounding.RNE, "rceil": Rounding.RUP}
_MAX_ELEMENT: Final = 9  # bits of an element's significand: a quotient by 48 bits has 12 at least
_MAX_SIZE: Final = 4096  # values of a block
_NEAREST: Final = plans.decisions(target(FP32, Policy()))


class Numbers(NamedTuple):
    """A format with subnormals, and its rounding decision as a truth table (plans.decisions)."""

    mantissa_bits: int
    emin: int
    decisions: int


class Source(NamedTuple):
    """The type of a tensor: Numbers to nearest even, the position of the sign bit, the mask of magnitudes, and
    the codes of Inf and NaN."""

    mantissa_bits: int
    emin: int
    decisions: int
    sign: int
    magnitude: int
    inf: int
    nan: int


class Result(NamedTuple):
    """The magnitude's code of a result, or FP32's bits (not -1) of one that is no number."""

    code: int
    bits: int


class Elements(NamedTuple):
    """Numbers, the largest code of either sign, and what else values become."""

    mantissa_bits: int
    emin: int
    decisions: int
    limit_positive: int
    limit_negative: int
    beyond_positive: Result
    beyond_negative: Result
    inf_positive: Result
    inf_negative: Result
    nan: Result
    negative_zero: bool


class ScalarPlan(NamedTuple):
    """A scalar format. flush: whether subnormals of the source are zeros."""

    source: Source
    element: Elements
    fp32: Numbers
    flush: bool


class BlockPlan(NamedTuple):
    """A block format. by_table: whether scales are powers of two from a table, whose entries have the fraction at which
    the scale turns in their lowest table_bits. The rest as in the profile; top: the number that a scale of 1 reaches.
    overflow: the bits of what is beyond FP32."""

    source: Source
    element: Elements
    fp32: Numbers
    flush: bool
    size: int
    by_table: bool
    table_bits: int
    scale: Numbers
    scale_limit: int
    scale_nan: int
    scale_has_zero: bool
    zero_scale: int
    instead_of_zero: int
    lowest: int
    inf_is_largest: bool
    arithmetic: int
    signs: int
    top: int
    top_exponent: int
    overflow: int


@lru_cache(maxsize=8)
def _source(name: str) -> Source:
    fmt = CATALOGUE[name]
    return Source(*_numbers(fmt, Policy()), fmt.width - 1, fmt.magnitude_mask, fmt.inf_code, fmt.canonical_nan)


def _numbers(fmt: Format, policy: Policy) -> Numbers:
    return Numbers(fmt.mantissa_bits, fmt.emin, plans.decisions(target(fmt, policy)))


def _elements(fmt: Format, policy: Policy) -> Elements | None:
    """A format under a policy; None if values can become what the kernels do not tell apart."""
    regular = plans.is_plain(fmt, policy, FP32) and plans.nan_is_one(fmt, policy) and fmt.signed
    if not regular or (not fmt.has_nan and policy.nan_missing == "error"):
        return None
    numbers = plans.plain_numbers(fmt, policy, FP32)
    results = [_result(fmt, code, sign) for code, sign in zip(numbers[7:12], (0, 1, 0, 1, 0), strict=True)]
    if None in results:
        return None
    negative_zero = not decoder(fmt)(numbers[15]).is_zero or decoder(fmt)(numbers[15]).sign == 1
    return Elements(*_numbers(fmt, policy), numbers[5], numbers[6], *results, negative_zero)  # type: ignore[arg-type, call-arg]


def _result(fmt: Format, code: int, sign: int) -> Result | None:
    """What a complete code stands for; None if a number has another sign than its value."""
    value = decoder(fmt)(code)
    if value.kind != FINITE:
        return Result(0, encoder(FP32, plans.KEEP_NAN)(Value(NAN, 0) if value.kind == NAN else value, 0)[0])
    if value.is_zero:
        return Result(0, -1)
    magnitude = (1 << fmt.width) - code if fmt.twos_complement and value.sign else code & ~fmt.sign_bit
    return Result(magnitude, -1) if value.sign == sign else None


@lru_cache(maxsize=256)
def scalar_plan(fmt: Format, policy: Policy, source: str) -> ScalarPlan | None:
    """The plan of a conversion from a type of SOURCES to the values of a format."""
    element = _elements(fmt, policy) if source in SOURCES and plans.FP32.precision >= fmt.precision else None
    return element and ScalarPlan(_source(source), element, _numbers(FP32, Policy()), bool(policy.flush_inputs))


@lru_cache(maxsize=256)
def block_plan(chosen: BlockSetting, source: str) -> BlockPlan | None:
    """The plan of a block format, a profile and a policy for values of a type of SOURCES."""
    fmt, profile, policy = chosen.fmt, chosen.profile, chosen.policy
    flushes = profile.flush == "never" or (profile.flush == "element" and profile.flush_below == FP32.emin)
    specials = profile.nan == "block" and profile.inf in ("block", "largest") and fmt.scale.has_nan
    usual = flushes and specials and profile.no_finite == "zero" and profile.tail in ("pad", "refuse")
    usual = usual and profile.scale_search == "none" and profile.arithmetic in ARITHMETIC
    if profile.two_levels and policy.flush_inputs and source == "fp16":
        return None  # its subnormals, which are flushed, are normal in FP32
    narrow = fmt.element.precision <= _MAX_ELEMENT and fmt.rows == 1 and 0 < fmt.size <= _MAX_SIZE
    element = _elements(fmt.element, policy) if usual and narrow and source in SOURCES else None
    by_table = profile.scale_rule not in _ROUNDINGS or fmt.scale == E8M0
    scale = _table_scale(chosen) if by_table else _rounded_scale(chosen)
    if element is None or scale is None:
        return None
    if profile.negative_zero == "drop":
        element = element._replace(negative_zero=False)
    top = decoder(FP32)(FP32.bias << FP32.mantissa_bits) if profile.scale_rule == "amax" else largest(fmt.element)
    flush = policy.flush_inputs or (profile.flush == "element" and source != "fp16")
    return BlockPlan(
        _source(source),
        element,
        _numbers(FP32, Policy()),
        bool(flush),
        fmt.size,
        by_table,
        plans.SCALE_AT,
        scale,
        fmt.scale.max_code,
        fmt.scale.canonical_nan,
        fmt.scale.zero,
        scale_of(None, fmt, profile),
        *_low_scales(fmt.scale, chosen),
        profile.inf == "largest",
        ARITHMETIC.index(profile.arithmetic),
        SIGNS.index(profile.negative_zero),
        top.significand,
        top.exponent,
        FP32.max_code if profile.dequantize_overflow == "saturate" else FP32.inf_code,
    )


def _table_scale(chosen: BlockSetting) -> Numbers | None:
    fits = chosen.fmt.scale == E8M0 and not chosen.profile.two_levels and chosen.profile.arithmetic != "fp32-reciprocal"
    return Numbers(0, E8M0.emin, 0) if fits and scale_table(chosen) is not None else None


def scale_table(chosen: BlockSetting) -> NDArray[Any] | None:
    """The scales of powers of two by the exponent of the largest magnitude."""
    return block_dispatch.scale_table(chosen.fmt, chosen.profile)


def _rounded_scale(chosen: BlockSetting) -> Numbers | None:
    """The format of scales that are rounded to it."""
    profile, scale = chosen.profile, chosen.fmt.scale
    policy = scale_policy(_ROUNDINGS[profile.scale_rule], False)
    plain = plans.is_plain(scale, policy, FP64) and not scale.twos_complement
    in_fp32 = profile.arithmetic == "exact" or profile.scale_rule == "rne"
    narrow = scale.precision <= FP32.precision  # so that quotients have enough bits
    return _numbers(scale, policy) if plain and narrow and in_fp32 and profile.scale_high == "largest" else None


def _low_scales(scale: Format, chosen: BlockSetting) -> tuple[int, int]:
    """The scale in place of one that rounds to zero, and the least other scale."""
    profile = chosen.profile
    if not scale.zero or profile.scale_low == "zero":
        return 0, 0
    if profile.scale_low == "eighth":
        return scale_code(EIGHTH, scale), 0
    lowest = lowest_scale(scale, profile)
    return lowest, lowest
