"""Block formats, and the scalar oracle for one block: exact values to a shared scale and element codes, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from softfloat_ref import exact
from softfloat_ref.codec import check_code, decoder, encoder
from softfloat_ref.errors import Error, unknown
from softfloat_ref.exact import FINITE, NAN, Value
from softfloat_ref.formats import ALIASES, CATALOGUE, Format, get_format
from softfloat_ref.policies import Overflow, Policy, get_policy
from softfloat_ref.scales import get_scale_rule

FP32: Final = CATALOGUE["fp32"]
MAX_BLOCK: Final = 4096
MAX_FLUSH: Final = 1000


@dataclass(frozen=True)
class Profile:
    """Everything a block quantization leaves open.

    scale_rule: how the largest magnitude becomes the scale. flush_below: magnitudes below 2^flush_below become zero
    first, each by itself. A NaN or Inf in a block gives scale NaN (codes: the element's NaN, or 0). An all-zero block
    has the smallest scale. The scale's exponent is clamped to the scale format's range. Elements saturate.
    """

    name: str = "ocp"
    scale_rule: str = "floor"
    flush_below: int = -126
    source: str = "OCP Microscaling Formats (MX) 1.0, 6.3; Rouhani et al., arXiv 2310.10537, algorithm 1"

    def __post_init__(self) -> None:
        get_scale_rule(self.scale_rule)
        if type(self.flush_below) is not int or abs(self.flush_below) > MAX_FLUSH:
            raise Error(f"block profile {self.name!r}: flush_below = {self.flush_below!r} is no exponent of two")


PROFILES: Final[dict[str, Profile]] = {"ocp": Profile()}


def get_profile(profile: Profile | str) -> Profile:
    """A block profile by name. Raises Error."""
    if isinstance(profile, Profile):
        return profile
    if not isinstance(profile, str):
        raise Error(f"a block profile is a name, not {profile!r}")
    if profile not in PROFILES:
        raise unknown("block profile", profile, PROFILES)
    return PROFILES[profile]


@dataclass(frozen=True)
class BlockFormat:
    """Elements of one format that share a scale: value = scale * element."""

    name: str
    element: Format
    scale: Format
    size: int
    source: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        if type(self.size) is not int or not 1 <= self.size <= MAX_BLOCK:
            raise Error(f"block format {self.name!r}: a block has 1 to {MAX_BLOCK} elements, not {self.size!r}")


def _mx(name: str, element: str) -> BlockFormat:
    fmt = CATALOGUE[element]
    if fmt.twos_complement:  # MX 1.0 5.3.4 leaves the most negative code to the implementation; it is not produced
        fmt = dataclasses.replace(fmt, symmetric=True)
    return BlockFormat(name, fmt, CATALOGUE["e8m0"], 32, "OCP Microscaling Formats (MX) 1.0, table 1")


BLOCK_FORMATS: Final[dict[str, BlockFormat]] = {
    b.name: b
    for b in (
        _mx("mxfp8_e5m2", "fp8_e5m2"),
        _mx("mxfp8_e4m3", "fp8_e4m3"),
        _mx("mxfp6_e3m2", "fp6_e3m2"),
        _mx("mxfp6_e2m3", "fp6_e2m3"),
        _mx("mxfp4_e2m1", "fp4_e2m1"),
        _mx("mxint8", "int8"),
    )
}
BLOCK_ALIASES: Final[dict[str, str]] = {"mxfp8": "mxfp8_e4m3", "mxfp6": "mxfp6_e3m2", "mxfp4": "mxfp4_e2m1"}


def get_block_format(name: str | BlockFormat) -> BlockFormat:
    """A block format by name. Raises Error."""
    found = any_format(name) if isinstance(name, str) else name
    if not isinstance(found, BlockFormat):
        raise Error(f"{found.name} is a scalar format; block formats: {', '.join(BLOCK_FORMATS)}")
    return found


def any_format(name: str | Format | BlockFormat) -> Format | BlockFormat:
    """A scalar or block format by name. Raises Error, listing the closest names of both kinds."""
    if not isinstance(name, str):
        return name
    key = name.strip().lower()
    key = BLOCK_ALIASES.get(key, key)
    if key in BLOCK_FORMATS:
        return BLOCK_FORMATS[key]
    if key.startswith("mx"):
        raise unknown("format", name, [*BLOCK_FORMATS, *BLOCK_ALIASES, *CATALOGUE, *ALIASES])
    return get_format(name)


class Block(NamedTuple):
    """A quantized block: the scale's code, the elements' codes, and the elements' flags."""

    scale: int
    codes: tuple[int, ...]
    flags: tuple[int, ...]


@lru_cache(maxsize=256)
def element_policy(policy: Policy) -> Policy:
    """The policy elements are rounded under: the caller's, but always saturating (MX 1.0 6.3)."""
    return policy.replace(overflow=Overflow.SAT_FINITE)


def special_element(fmt: BlockFormat, policy: Policy) -> int:
    """The code of every element of a block that holds a NaN or Inf."""
    return policy.nan_rule.code(fmt.element) if fmt.element.has_nan else 0


def quantize_block(
    values: Sequence[Value],
    fmt: BlockFormat | str,
    profile: Profile | str = "ocp",
    policy: Policy | str | None = None,
    random_bits: Sequence[int] | None = None,
) -> Block:
    """Quantize one block (at most fmt.size exact values) in integers.

    A shorter block is as if padded with zeros. random_bits: one word an element, for a stochastic rounding.
    """
    fmt, profile, policy = get_block_format(fmt), get_profile(profile), element_policy(get_policy(policy))
    if len(values) > fmt.size:
        raise Error(f"a block of {fmt.name} has at most {fmt.size} values, not {len(values)}")
    words = [0] * len(values) if random_bits is None else random_bits
    if any(x.kind != FINITE for x in values):
        code = special_element(fmt, policy)
        return Block(fmt.scale.canonical_nan, (code,) * len(values), (0,) * len(values))
    values = [flush(x, profile) for x in values]
    exponent = scale_exponent(values, fmt, profile)
    encode = encoder(fmt.element, policy)
    results = [encode(divide(x, exponent), r) for x, r in zip(values, words, strict=True)]
    scale = encoder(fmt.scale, Policy())(exact.finite(0, 1, exponent), 0)[0]
    return Block(scale, tuple(code for code, _ in results), tuple(flags for _, flags in results))


def flush(x: Value, profile: Profile) -> Value:
    """The value, or a zero of its sign where it is too small for the profile."""
    return exact.zero(x.sign) if x.significand and exact.top(x) < profile.flush_below else x


def scale_exponent(values: Sequence[Value], fmt: BlockFormat, profile: Profile) -> int:
    """The exponent of the shared scale of finite, already flushed values."""
    tops = [exact.top(x) for x in values if x.significand]
    return exponent_of(max(tops) if tops else None, fmt, profile)


def exponent_of(amax_exponent: int | None, fmt: BlockFormat, profile: Profile) -> int:
    """The scale's exponent for floor(log2) of the largest magnitude, clamped; the smallest for a block of zeros."""
    lowest, highest = fmt.scale.emin, fmt.scale.emax
    if amax_exponent is None:
        return lowest
    return min(max(get_scale_rule(profile.scale_rule)(amax_exponent, fmt.element), lowest), highest)


def divide(x: Value, exponent: int) -> Value:
    """x / 2^exponent."""
    return x._replace(exponent=x.exponent - exponent) if x.significand else x


def dequantize_block(scale: int, codes: Sequence[int], fmt: BlockFormat | str) -> list[Value]:
    """The exact values scale * element; NaN where the scale is."""
    fmt = get_block_format(fmt)
    factor = decoder(fmt.scale)(check_code(scale, fmt.scale))
    decode = decoder(fmt.element)
    elements = [decode(check_code(code, fmt.element)) for code in codes]
    if factor.kind == NAN:
        return [Value(NAN, 0)] * len(elements)
    return [exact.multiply(factor, x) if x.kind == FINITE else x for x in elements]


def dequantize_to_fp32(scale: int, codes: Sequence[int], fmt: BlockFormat | str) -> list[int]:
    """The FP32 codes of the values, each the exact product rounded once."""
    encode = encoder(FP32, Policy())
    return [encode(x, 0)[0] for x in dequantize_block(scale, codes, fmt)]
