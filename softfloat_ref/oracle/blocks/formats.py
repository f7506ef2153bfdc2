"""Block formats, and the scalar oracle for one block: exact values to a shared scale and element codes, and back."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Error, Undefined, unknown
from softfloat_ref.base.tables import check, check_reference, load_definition
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.profiles import PROFILES, Profile, get_profile
from softfloat_ref.oracle.blocks.scale_rules import get_scale_rule, largest, quotient
from softfloat_ref.oracle.codec import Encoder, check_code, decoder, encoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.flags import OVERFLOW
from softfloat_ref.oracle.formats import (
    ALIASES,
    CATALOGUE,
    Format,
    define_format,
    get_format,
)
from softfloat_ref.oracle.formats.families import finite
from softfloat_ref.oracle.policies import Overflow, Policy, get_policy
from softfloat_ref.oracle.rounding import Rounding

FP32: Final = CATALOGUE["fp32"]
MAX_BLOCK: Final = 4096
AXIS: Final = 0  # as a block size: the whole axis (a scale a row or channel)
TENSOR: Final = -1  # the whole tensor
_SIZES: Final = {"axis": AXIS, "tensor": TENSOR}
FP32_ONE: Final = FP32.bias << FP32.mantissa_bits  # a tensor scale that changes nothing
_ONE: Final = exact.finite(0, 1, 0)
_NEAREST: Final = Policy()
_SATURATING: Final = Policy(overflow=Overflow.SAT_FINITE)
_BINADE: Final = exact.finite(0, 1, FP32.emax + 1)  # where FP32's exponent field puts an Inf
MX_TABLE: Final = "OCP Microscaling Formats (MX) 1.0, table 1"
SCALE_BITS: Final = 64  # of a quotient that a scale is rounded from; no scale format has as many
VALUE_BITS: Final = 256  # of a value that is itself cut (1/3, say): more than all that is divided by here


@dataclass(frozen=True)
class BlockFormat:
    """Elements of one format that share a scale: value = scale * element.

    size: elements that share a scale, along one axis; AXIS: the whole axis; TENSOR: the whole tensor.
    profile: how values become blocks, by default.
    """

    name: str
    element: Format
    scale: Format
    size: int
    profile: str = "ocp"
    source: str = dataclasses.field(default="user definition", compare=False)

    def __post_init__(self) -> None:
        if type(self.size) is not int or not TENSOR <= self.size <= MAX_BLOCK:
            raise Error(
                f"block format {self.name!r}: a block has 1 to {MAX_BLOCK} elements, or is axis or tensor,"
                f" not {self.size!r}"
            )
        for what, fmt in (("element", self.element), ("scale", self.scale)):
            if fmt.is_integer:
                raise Error(f"block format {self.name!r}: the {what} {fmt.name} is an integer; int8 is the MX element")
        get_profile(self.profile)

    @property
    def size_name(self) -> str:
        """The size as the name grammar has it."""
        return next((word for word, size in _SIZES.items() if size == self.size), str(self.size))

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as a manifest stores it and `define_block_format` reads it."""
        element, scale = self.element.to_dict(), self.scale.to_dict()
        size = self.size if self.size > 0 else self.size_name
        return {"name": self.name, "element": element, "scale": scale, "size": size, "profile": self.profile}


def _mx(name: str, element: str) -> BlockFormat:
    return BlockFormat(name, CATALOGUE[element], CATALOGUE["e8m0"], 32, "ocp", MX_TABLE)


def _msfp(bits: int) -> BlockFormat:
    """Sign and magnitude, no hidden bit, in units of 2^(1 - bits): just what an exponent field of one bit gives."""
    element = finite(f"s{bits}", 1, bits - 1, 1, source="sign and magnitude")
    return BlockFormat(f"msfp{9 + bits}", element, CATALOGUE["e8m0"], 16, "msfp", PROFILES["msfp"].source)


BLOCK_FORMATS: Final[dict[str, BlockFormat]] = {
    b.name: b
    for b in (
        _mx("mxfp8_e5m2", "fp8_e5m2"),
        _mx("mxfp8_e4m3", "fp8_e4m3"),
        _mx("mxfp6_e3m2", "fp6_e3m2"),
        _mx("mxfp6_e2m3", "fp6_e2m3"),
        _mx("mxfp4_e2m1", "fp4_e2m1"),
        _mx("mxint8", "int8"),
        BlockFormat("nvfp4", CATALOGUE["fp4_e2m1"], CATALOGUE["ue4m3"], 16, "nvfp4", PROFILES["nvfp4"].source),
        *(_msfp(bits) for bits in range(2, 8)),
    )
}
BLOCK_ALIASES: Final[dict[str, str]] = {"mxfp8": "mxfp8_e4m3", "mxfp6": "mxfp6_e3m2", "mxfp4": "mxfp4_e2m1"}
_INLINE: Final = re.compile(r"([^@/]+)@([^@/]+)/([0-9]{1,6}|axis|tensor)", re.IGNORECASE)
_FLEXFP: Final = re.compile(r"flexfp_e([0-9]{1,2})m([0-9]{1,3})")
GRAMMAR: Final = "or ELEMENT@SCALE/SIZE, as fp4_e2m1@ue5m3/16 (SIZE: a number, axis, tensor), or flexfp_eXmY"


def get_block_format(name: str | BlockFormat) -> BlockFormat:
    """A block format by name. Raises Error."""
    found = any_format(name) if isinstance(name, str) else name
    if not isinstance(found, (BlockFormat, Format)):
        raise Error(f"a block format must be a name, not {found!r}")
    if not isinstance(found, BlockFormat):
        raise Error(f"{found.name} is a scalar format; block formats: {', '.join(BLOCK_FORMATS)}, {GRAMMAR}")
    return found


def described(name: str) -> str:
    """The error message for a block format's name where a scalar format is needed; '' for other names."""
    key = name.lower()
    inline = re.fullmatch(r"[^@/]+@[^@/]+/\w+", key)  # whatever the size
    if not (key in BLOCK_FORMATS or key in BLOCK_ALIASES or inline or _FLEXFP.fullmatch(key)):
        return ""
    return f"{name!r} is a block format; a scalar format is needed, for example its element (formats show {name})"


def any_format(name: str | Format | BlockFormat) -> Format | BlockFormat:
    """A scalar or block format by name: of the catalogues, by the grammars, or from FILE.toml[:NAME] (tables
    [formats.NAME] and [block_formats.NAME]). Raises Error, listing the closest names of both kinds."""
    if not isinstance(name, str):
        return name
    key = name.strip().lower()
    key = BLOCK_ALIASES.get(key, key)
    if key in BLOCK_FORMATS:
        return BLOCK_FORMATS[key]
    if match := _INLINE.fullmatch(name.strip()):
        size = _size(int(match[3]) if match[3].isdigit() else match[3], key)
        return BlockFormat(key, get_format(match[1]), get_format(match[2]), size, _default_profile(match[2]))
    if match := _FLEXFP.fullmatch(key):
        element = get_format(f"s1e{match[1]}m{match[2]}")
        return BlockFormat(key, element, CATALOGUE["e8m0"], TENSOR, "dse", PROFILES["dse"].source)
    if key.startswith("mx"):
        raise unknown("format", name, [*BLOCK_FORMATS, *BLOCK_ALIASES, *CATALOGUE, *ALIASES], f" ({GRAMMAR})")
    if ".toml" in key:
        return _from_toml(name.strip())
    return get_format(name)


def _size(size: Any, where: str) -> int:
    """A size from its text: a number from 1, axis or tensor. Raises Error."""
    found = _SIZES.get(size.lower()) if isinstance(size, str) else size if type(size) is int and size > 0 else None
    if found is None:
        raise Error(
            f"block format {where!r}: a block has 1 to {MAX_BLOCK} elements, or is axis or tensor, not {size!r}"
        )
    return found


def _default_profile(scale: str) -> str:
    """Of an inline format: scales that are powers of two as MX, others rounded to nearest, P3109's as P3109."""
    fmt = get_format(scale)
    if fmt.p3109:
        return "p3109"
    return "ocp" if fmt.mantissa_bits == 0 else "ocp,scale_rule=rne,flush=never"


def _from_toml(spec: str) -> Format | BlockFormat:
    try:
        return load_definition(spec, "block_formats", define_block_format)
    except Error as e:
        if "no [block_formats" not in str(e):
            raise
    return get_format(spec)


_KEYS: Final = {"element": str | Mapping, "scale": str | Mapping, "size": Any, "profile": str, "source": str}


def define_block_format(table: object, name: str | None = None) -> BlockFormat:
    """A block format from a table: element, scale (names or tables), size, and profile. Raises Error."""
    where = name or str(table.get("name", "?") if isinstance(table, Mapping) else "?")
    values = check(table, f"block format {where!r}", {"name": str, **_KEYS}, ("element", "scale", "size"), "field")
    parts = {key: _part(values[key]) for key in ("element", "scale")}
    return BlockFormat(**values | parts | {"name": where, "size": _size(values["size"], where)})


def _part(fmt: object) -> Format:
    """The format of a block format's elements or scales: a name or a table."""
    if isinstance(fmt, str):
        check_reference(fmt)
        return get_format(fmt)
    return define_format(fmt)


class Block(NamedTuple):
    """A quantized block: the scale's code, the elements' codes, and the elements' flags."""

    scale: int
    codes: tuple[int, ...]
    flags: tuple[int, ...]


# -- quantize --------------------------------------------------------------------------------------------------------


def resolve(fmt: BlockFormat, profile: Profile | str | None) -> tuple[BlockFormat, Profile]:
    """The format whose elements are as the profile has them, and the profile (the format's own where none is given)."""
    found = get_profile(fmt.profile if profile is None else profile)
    return _resolved(fmt, found), found


@lru_cache(maxsize=256)
def _resolved(fmt: BlockFormat, profile: Profile) -> BlockFormat:
    choices = (profile.nan, profile.inf, profile.scale_high, profile.no_finite)
    if {"block", "nan", "special"} & set(choices) and not fmt.scale.has_nan:
        raise Error(
            f"{fmt.name}: the scale format {fmt.scale.name} has no NaN, which {profile.name} needs; use"
            " nan=element,inf=element, and neither scale_high=nan nor no_finite=special"
        )
    if not fmt.element.twos_complement:  # MX 1.0 5.3.4 leaves the most negative code to the implementation
        return fmt
    element = dataclasses.replace(fmt.element, symmetric=fmt.element.signed and profile.integers == "symmetric")
    return dataclasses.replace(fmt, element=element)


@lru_cache(maxsize=256)
def element_policy(policy: Policy | str | None, profile: Profile) -> Policy:
    """The policy elements are rounded under: the caller's, or the profile's rounding; the overflow is the profile's."""
    chosen = get_policy(None, rounding=profile.rounding) if policy is None else get_policy(policy)
    return chosen.replace(overflow=profile.overflow)


def special_element(fmt: BlockFormat, policy: Policy) -> int:
    """The code of every element of a block whose scale is NaN."""
    return policy.nan_rule.code(fmt.element) if fmt.element.has_nan else 0


def quantize_block(
    values: Sequence[Value],
    fmt: BlockFormat | str,
    profile: Profile | str | None = None,
    policy: Policy | str | None = None,
    random_bits: Sequence[int] | None = None,
    tensor_scale: Value = _ONE,
) -> Block:
    """Quantize one block (at most fmt.size exact values) in integers.

    A shorter block is treated as padded with zeros. random_bits: one word per element, for a stochastic rounding.
    tensor_scale: the second-level scale; the values are divided by both. Raises Error, Undefined.
    """
    fmt, profile = resolve(get_block_format(fmt), profile)
    policy = element_policy(policy, profile)
    if 0 < fmt.size < len(values):
        raise Error(f"a block of {fmt.name} has at most {fmt.size} values, not {len(values)}")
    words = [0] * len(values) if random_bits is None else random_bits
    scale = block_scale(values, fmt, profile, tensor_scale)
    factor = decoder(fmt.scale)(scale)
    if factor.kind == NAN and profile.special_codes == "nan":
        return Block(scale, (special_element(fmt, policy),) * len(values), (0,) * len(values))
    if factor.kind == NAN:
        finite = [x for x in values if x.kind == FINITE]
        factor = decoder(fmt.scale)(block_scale(finite, fmt, profile.replace(scale_high="largest"), tensor_scale))
    encode = _element_encoder(fmt, profile, policy, factor, tensor_scale)
    flushed = flush(values, profile)
    results = [encode(x, r) for x, r in zip(flushed, words, strict=True)]
    return Block(scale, tuple(code for code, _ in results), tuple(flags for _, flags in results))


def flush(values: Sequence[Value], profile: Profile) -> list[Value]:
    """The values; those too small for the profile become zeros of the same sign."""
    if profile.flush == "never":
        return list(values)
    small = [x.kind == FINITE and x.significand != 0 and exact.top(x) < profile.flush_below for x in values]
    if profile.flush == "block" and not all(s or x.is_zero for s, x in zip(small, values, strict=True)):
        return list(values)
    return [exact.zero(x.sign) if s else x for s, x in zip(small, values, strict=True)]


def block_scale(values: Sequence[Value], fmt: BlockFormat, profile: Profile, tensor_scale: Value = _ONE) -> int:
    """The code of the shared scale of a block. Raises Error for a special value that the profile refuses."""
    kinds = {x.kind for x in values}
    if (NAN in kinds and profile.nan == "error") or (INF in kinds and profile.inf == "error"):
        raise Undefined(f"a block of {fmt.name} holds a NaN or Inf, which profile {profile.name} refuses")
    if (NAN in kinds and profile.nan == "block") or (INF in kinds and profile.inf == "block"):
        return fmt.scale.canonical_nan
    if INF in kinds and profile.inf == "largest":
        return fmt.scale.max_code
    finite = [x for x in flush(values, profile) if x.kind == FINITE and x.significand]
    if INF in kinds and profile.inf == "binade":
        finite.append(_BINADE)
    if not finite and profile.no_finite == "special" and FINITE not in kinds and kinds:
        return fmt.scale.canonical_nan if INF not in kinds else _scale_of_inf(fmt.scale)
    return scale_of(largest_magnitude(finite), fmt, profile, tensor_scale)


def _scale_of_inf(scale: Format) -> int:
    return encoder(scale, _NEAREST)(exact.inf(0), 0)[0]


def largest_magnitude(values: Sequence[Value]) -> Value | None:
    """The largest magnitude of finite nonzero values; None of no values."""
    best: Value | None = None
    for x in values:
        if best is None or exact.compare(exact.magnitude(x), best) > 0:
            best = exact.magnitude(x)
    return best


@lru_cache(maxsize=1 << 14)
def scale_of(amax: Value | None, fmt: BlockFormat, profile: Profile, tensor_scale: Value = _ONE) -> int:
    """The scale's code for a block's largest finite magnitude (None: the block is zero)."""
    if amax is None:
        return _zero_scale(fmt.scale, profile)
    if profile.arithmetic == "fp32-reciprocal":
        steps = fp32_quotient(fp32_quotient(amax, largest(fmt.element)), tensor_scale)
        return _limited(steps, Rounding.RNE, fmt.scale, profile)
    if tensor_scale != _ONE:
        length = amax.significand.bit_length()
        amax = quotient(amax, tensor_scale, length - 2 * FP32.precision if amax.sticky else length + SCALE_BITS)
    wanted = get_scale_rule(profile.scale_rule)(amax, fmt.element, SCALE_BITS)
    value = wanted.value
    if wanted.power and exact.top(value) > fmt.scale.emax:
        if profile.scale_high == "nan":
            return fmt.scale.canonical_nan
        value = exact.finite(0, 1, fmt.scale.emax)
    return _limited(value, wanted.rounding, fmt.scale, profile)


def fp32(x: Value) -> Value:
    """A number rounded to FP32: a step of a computation that is done in FP32."""
    return decoder(FP32)(encoder(FP32, _NEAREST)(x, 0)[0])


def fp32_quotient(a: Value, b: Value) -> Value:
    """a / b, b finite and not zero, as a step in FP32."""
    return fp32(quotient(a, b, SCALE_BITS)) if a.kind == FINITE else a


def fp32_product(a: Value, b: Value) -> Value:
    """a * b, a finite, as a step in FP32."""
    if b.kind == INF:
        return exact.GENERATED if a.is_zero else exact.inf(a.sign)
    return fp32(exact.multiply(a, b)._replace(sticky=a.sticky))


def _zero_scale(scale: Format, profile: Profile) -> int:
    if profile.zero_block == "one":
        return encoder(scale, _NEAREST)(_ONE, 0)[0]
    if profile.zero_block == "zero" and scale.zero:
        return 0
    return _lowest(scale, profile)


def _lowest(scale: Format, profile: Profile) -> int:
    return scale.min_normal_code if profile.scale_low == "smallest-normal" and scale.has_normals else scale.min_code


@cache
def _scale_encoder(scale: Format, rounding: Rounding, format_rule: bool) -> Encoder:
    """The rounding to a scale format. format_rule: with the format's own overflow, else with saturation."""
    return encoder(scale, (_NEAREST if format_rule else _SATURATING).replace(rounding=rounding))


def _limited(x: Value, rounding: Rounding, scale: Format, profile: Profile) -> int:
    """A positive number (or, of FP32 steps, zero or Inf) rounded to the scale format, within the profile's limits."""
    code, flags = _scale_encoder(scale, rounding, profile.scale_high == "format")(x, 0)
    if (flags & OVERFLOW or x.kind == INF) and profile.scale_high == "nan":
        return scale.canonical_nan
    if scale.is_nan(code) or code == scale.inf_code:
        return code
    if profile.scale_low == "zero" and scale.zero:
        return code
    return max(code, _lowest(scale, profile))


def _element_encoder(fmt: BlockFormat, profile: Profile, policy: Policy, factor: Value, tensor_scale: Value) -> Any:
    """The function from a value and its random bits to its code and flags, under a scale that is not NaN."""
    encode = encoder(fmt.element, policy)
    bits = fmt.element.precision + policy.random_count + 4
    divisor = exact.multiply(factor, tensor_scale) if factor.kind == FINITE else factor
    reciprocal = profile.arithmetic == "fp32-reciprocal"
    if reciprocal and factor.significand:
        factor = fp32_quotient(fp32_quotient(_ONE, tensor_scale), factor)

    def encode_element(x: Value, random_bits: int) -> tuple[int, int]:
        if profile.negative_zero == "drop-given" and x.is_zero:
            x = exact.zero(0)
        code, flags = encode(scaled(x), random_bits)
        if profile.negative_zero == "drop" and code == fmt.element.sign_bit and fmt.element.negative_zero:
            code = 0
        return code, flags

    def scaled(x: Value) -> Value:
        if x.kind == NAN:
            return x
        if divisor.kind == INF:  # IEEE P3109, BlockProject: only the sign is left of an Inf under an Inf
            return exact.finite(x.sign, 1, 0) if x.kind == INF else exact.zero(x.sign)
        if not divisor.significand:
            return exact.zero(x.sign)  # under a scale of zero, all is zero
        if x.kind == INF:
            return x
        if reciprocal:
            return fp32_product(x, factor)
        return divide(x, divisor, bits) if x.significand else x

    return encode_element


def divide(x: Value, divisor: Value, bits: int) -> Value:
    """x / divisor, the divisor positive: exact where it is a power of two."""
    if divisor.significand == 1:
        return x._replace(exponent=x.exponent - divisor.exponent)
    return quotient(x, divisor, bits)


def tensor_scale_of(amax: Value | None, fmt: BlockFormat, profile: Profile) -> int:
    """The FP32 code of the second-level scale: the tensor's largest magnitude over the largest scale times element.

    1.0 where the profile has none, or where it would be zero. Sources: arXiv 2509.25149, appendix C; torchao.
    """
    if profile.tensor_scale == "none" or amax is None:
        return encoder(FP32, _NEAREST)(_ONE, 0)[0]
    reach = exact.multiply(largest(fmt.scale), largest(fmt.element))
    encode = encoder(FP32, _SATURATING)
    return encode(quotient(amax, reach, SCALE_BITS), 0)[0] or encode(_ONE, 0)[0]


# -- dequantize ------------------------------------------------------------------------------------------------------


def dequantize_block(
    scale: int, codes: Sequence[int], fmt: BlockFormat | str, tensor_scale: Value = _ONE
) -> list[Value]:
    """The exact values scale * element; NaN where the scale is."""
    fmt = get_block_format(fmt)
    factor = decoder(fmt.scale)(check_code(scale, fmt.scale))
    decode = decoder(fmt.element)
    elements = [decode(check_code(code, fmt.element)) for code in codes]
    if factor.kind == NAN:
        return [Value(NAN, 0)] * len(elements)
    if factor.kind == INF:
        return [_times_inf(x) for x in elements]
    factor = exact.multiply(factor, tensor_scale)
    return [exact.multiply(factor, x) if x.kind == FINITE else x for x in elements]


def _times_inf(x: Value) -> Value:
    return Value(NAN, 0) if x.kind == NAN or x.is_zero else exact.inf(x.sign)


@cache
def _dequantized(saturate: bool) -> Encoder:
    """The rounding of a value to FP32."""
    return encoder(FP32, Policy(overflow=Overflow.SAT_PROPAGATE if saturate else Overflow.SAT_NONE))


def dequantize_to_fp32(
    scale: int,
    codes: Sequence[int],
    fmt: BlockFormat | str,
    profile: Profile | str = "ocp",
    tensor_scale: Value = _ONE,
) -> list[int]:
    """The FP32 codes of the values, each the exact product rounded once."""
    encode = _dequantized(get_profile(profile).dequantize_overflow == "saturate")
    return [encode(x, 0)[0] for x in dequantize_block(scale, codes, fmt, tensor_scale)]
