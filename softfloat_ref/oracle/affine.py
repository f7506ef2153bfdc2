"""Affine integers (Qint): formats, rules, and the scalar oracle: q = clamp(round(x / scale + zero point)), and back.

Each difference between implementations is a field of a Rule. The codec does the rounding: the quotient, exact or
computed in FP32 steps, is encoded to an integer format slightly wider than q, then clamped.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.tables import LIKE, check_choices, choices, from_table, load_definition, split_like
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decode, decoder, encoder, needed_bits
from softfloat_ref.oracle.exact import INF, NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format, spelled
from softfloat_ref.oracle.policies import ROUNDINGS, Overflow, Policy, get_policy
from softfloat_ref.oracle.rounding_steps import destination, read, rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step

FP32: Final = CATALOGUE["fp32"]
MIN_BITS: Final = 2
MAX_BITS: Final = 16
EPS: Final = exact.finite(0, 1, -23)  # of FP32
_ONE: Final = exact.finite(0, 1, 0)
_BITS: Final = 64  # bits of a quotient that is cut before it is rounded to FP32 or, to nearest, to an integer
_NEAREST: Final = Policy()
_STEP: Final = Policy(overflow=Overflow.SAT_NONE)  # for the steps computed in FP32
GRAMMAR: Final = "qintN or quintN (N: 2 to 16), with _sym, _narrow or both behind it"

_NAME: Final = re.compile(r"q(u?)int(\d{1,3})(_sym)?(_narrow)?", re.ASCII)


@dataclass(frozen=True)
class AffineFormat:
    """An affine integer format.

    symmetric: the zero point is the middle (0 signed, 2^(bits-1) unsigned), with the same range on both sides.
    narrow: the lowest integer is not used (-127 to 127).
    """

    name: str
    bits: int
    signed: bool = True
    symmetric: bool = False
    narrow: bool = False

    def __post_init__(self) -> None:
        if type(self.bits) is not int or not MIN_BITS <= self.bits <= MAX_BITS:
            raise Error(f"affine format {self.name!r}: {MIN_BITS} to {MAX_BITS} bits, not {self.bits!r}")

    @property
    def lowest(self) -> int:
        """The smallest q."""
        return (-(1 << (self.bits - 1)) if self.signed else 0) + int(self.narrow)

    @property
    def highest(self) -> int:
        """The largest q."""
        return (1 << (self.bits - int(self.signed))) - 1

    @property
    def middle(self) -> int:
        """The zero point for symmetric formats."""
        return 0 if self.signed else 1 << (self.bits - 1)

    @property
    def wide(self) -> Format:
        """The signed integer format that quotients are rounded to; values beyond it would be clamped anyway."""
        return get_format(f"i{self.bits + 2}")


def get_affine_format(name: str | AffineFormat) -> AffineFormat:
    """An affine format by name: qint8, quint8, qint4_sym_narrow. Raises Error."""
    if isinstance(name, AffineFormat):
        return name
    name = spelled(name)
    if not isinstance(name, str):
        raise Error(f"unknown affine format {str(name)[:60]!r}; use {GRAMMAR}")
    return _named(name)


@lru_cache(maxsize=64)
def _named(name: str) -> AffineFormat:
    match = _NAME.fullmatch(name.strip().lower())
    if match is None:
        raise Error(f"unknown affine format {name[:60]!r}; use {GRAMMAR}")
    return AffineFormat(match[0], int(match[2]), not match[1], bool(match[3]), bool(match[4]))


def described(name: str) -> str:
    """The error message for an affine format name where a scalar format is needed; '' for other names."""
    if not _NAME.fullmatch(name.lower()):
        return ""
    return f"{name!r} is an affine format, for quantize, plot and affine.quantize"


def is_affine(name: object) -> bool:
    """Whether this is an affine format, or a name that begins like one."""
    name = spelled(name)
    named = isinstance(name, str) and name.strip().lower().startswith(("qint", "quint"))
    return named or isinstance(name, AffineFormat)


@dataclass(frozen=True)
class Rule:
    """Everything that the definition of affine quantization leaves open.

    order: the zero point is added "inside" the rounding, round(x / scale + z), or "outside", round(x / scale) + z:
        they differ on ties where z is odd.
    arithmetic: "exact": quotient by the FP32 scale and sum are exact and rounded once; "fp32": x times the FP32
        reciprocal of the scale, rounded to FP32, and (inside) the sum rounded to FP32; "fp32-fma": product and sum
        rounded to FP32 once; "fp32-division": the quotient rounded to FP32, and (inside) the sum.
    parameters: the scale of a range is "exact", rounded once to FP32, or computed in "fp32" steps; likewise the
        quotient that is rounded to the zero point.
    symmetric_scale: amax over the "half-range", (highest - lowest) / 2, or over the "highest" distance from the middle.
    small_scale: a scale below FP32's eps, 2^-23, becomes "eps"; or only the scale of an empty range becomes "one".
    rounding: the default rounding.
    nan: becomes the "largest" q, the "smallest", 0 as an integer ("zero"), the "zero-point", or is an "error".
    inf: clamped to the ends ("saturate"), or an "error".
    range: computed from "finite" values only, or NaN and Inf are an "error".
    """

    name: str = "exact"
    order: Literal["inside", "outside"] = "inside"
    arithmetic: Literal["exact", "fp32", "fp32-fma", "fp32-division"] = "exact"
    parameters: Literal["exact", "fp32"] = "exact"
    symmetric_scale: Literal["half-range", "highest"] = "half-range"
    small_scale: Literal["one", "eps"] = "one"
    rounding: str = "rne"
    nan: Literal["largest", "smallest", "zero", "zero-point", "error"] = "largest"
    inf: Literal["saturate", "error"] = "saturate"
    range: Literal["finite", "error"] = "finite"
    source: str = dataclasses.field(default="user definition", compare=False)

    def __post_init__(self) -> None:
        check_choices(self, f"affine rule {self.name!r}", CHOICES)
        if self.arithmetic == "fp32-fma" and self.order == "outside":
            raise Error(f"affine rule {self.name!r}: fp32-fma adds the zero point, so its order is inside")

    def replace(self, **fields: Any) -> Rule:
        """This rule with some fields replaced. Raises Error."""
        return dataclasses.replace(self, **fields)

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as files store it and `define_rule` reads it."""
        return dataclasses.asdict(self)


CHOICES: Final = choices(Rule, rounding=ROUNDINGS)
_TORCH: Final = Rule("torch", "inside", "fp32-fma", "fp32", small_scale="eps", source="torch.quantize_per_tensor, x86")
RULES: Final[dict[str, Rule]] = {
    r.name: r
    for r in (
        Rule(source="q = round(x / scale + zero_point), its scale and zero point from a MinMax observer"),
        _TORCH,
        _TORCH.replace(name="torch-channel", arithmetic="fp32", nan="zero", source="torch.quantize_per_channel, x86"),
        _TORCH.replace(
            name="torch-fake",
            order="outside",
            arithmetic="fp32",
            nan="smallest",
            source="torch.fake_quantize_per_tensor_affine, torchao's quantize_affine",
        ),
        Rule(
            "onnxruntime",
            order="outside",
            arithmetic="fp32-division",
            nan="smallest",
            source="onnxruntime's QuantizeLinear, CPUExecutionProvider",
        ),
    )
}


def get_rule(rule: str | Rule) -> Rule:
    """An affine rule: a name, `NAME,field=choice,...`, or FILE.toml[:NAME] (an [affine_rules.NAME] table).
    Raises Error."""
    if isinstance(rule, Rule):
        return rule
    if not isinstance(rule, str):
        raise Error(f"an affine rule must be a name, not {rule!r}")
    if rule in RULES:
        return RULES[rule]
    name, changes = assignments.parse_named(rule, "affine rule", CHOICES)
    if ".toml" in name:
        base = load_definition(name, "affine_rules", define_rule)
    elif name in RULES:
        base = RULES[name]
    else:
        raise unknown("affine rule", name, RULES)
    return base.replace(name=",".join([base.name, *map("=".join, changes.items())]), **changes) if changes else base


def define_rule(table: object, name: str | None = None) -> Rule:
    """A rule from a table: the fields of Rule; other fields are those of `like` (default: exact). Raises Error."""
    values, like = split_like(table, f"affine rule {name or '?'}")
    if name is not None:
        values["name"] = name
    base = dataclasses.replace(get_rule("exact" if like is None else like), source="user definition")
    return from_table(Rule, values, f"affine rule {values.get('name', '?')!r}", base, "field", LIKE)


def element_policy(policy: Policy | str | None, rule: Rule) -> Policy:
    """The policy for rounding: the caller's, or the rule's rounding. Integers saturate."""
    return _saturating(policy if policy is None else get_policy(policy), rule)


@lru_cache(maxsize=256)
def _saturating(policy: Policy | None, rule: Rule) -> Policy:
    chosen = get_policy(None, rounding=rule.rounding) if policy is None else policy
    return chosen.replace(overflow=None, integers="riscv")


# -- the scalar oracle -----------------------------------------------------------------------------------------------


class Parameters(NamedTuple):
    """The scale (the FP32 code of a positive number) and the zero point."""

    scale: int
    zero_point: int


def fp32(x: Value) -> Value:
    """A number rounded to FP32, as one step of an FP32 computation."""
    return decoder(FP32)(encoder(FP32, _STEP)(x, 0)[0])


def choose(low: Value, high: Value, fmt: str | AffineFormat, rule: str | Rule = "exact") -> Parameters:
    """The parameters for the values between two finite numbers; the range is extended to zero (a MinMax observer).

    Raises Error if a step in FP32 overflows.
    """
    fmt, rule = get_affine_format(fmt), get_rule(rule)
    zero = exact.zero(0)
    low, high = (low if low.sign else zero), (zero if high.sign else high)
    scale = _scale(low, high, fmt, rule)
    if fmt.symmetric:
        return Parameters(scale, min(max(fmt.middle, fmt.lowest), fmt.highest))
    below = exact.divide(low, decode(scale, FP32), _BITS)
    if rule.parameters == "fp32":
        below = fp32(below)
    return Parameters(scale, _clamp(fmt.lowest - _nearest(below, fmt), fmt))


def _scale(low: Value, high: Value, fmt: AffineFormat, rule: Rule) -> int:
    step: Callable[[Value], Value] = fp32 if rule.parameters == "fp32" else lambda x: x
    low, high = step(low), step(high)
    if INF in (low.kind, high.kind):
        raise Error(f"affine rule {rule.name}: the range overflows FP32")
    if fmt.symmetric:
        span = exact.magnitude(low) if exact.compare(exact.magnitude(low), high) > 0 else high
        half = fmt.highest - fmt.lowest if rule.symmetric_scale == "half-range" else 2 * (fmt.highest - fmt.middle)
        parts = exact.finite(0, half, -1)
    else:
        span = step(exact.add(high, exact.negate(low)))
        parts = exact.finite(0, fmt.highest - fmt.lowest, 0)
    if span.kind == INF:
        raise Error(f"affine rule {rule.name}: the range overflows FP32")
    if rule.small_scale == "one" and not span.significand:
        return encoder(FP32, _STEP)(_ONE, 0)[0]
    scale = fp32(exact.divide(span, parts, _BITS))
    if rule.small_scale == "eps" and exact.compare(scale, EPS) < 0:
        scale = EPS
    code = encoder(FP32, Policy(overflow=Overflow.SAT_FINITE))(scale, 0)[0]
    return max(code, FP32.min_code)


@lru_cache(maxsize=64)
def _integer_encoder(wide: Format, policy: Policy) -> Callable[[Value, int], int]:
    encode, middle = encoder(wide, policy), wide.sign_bit

    def encode_integer(x: Value, random_bits: int) -> int:
        return (encode(x, random_bits)[0] ^ middle) - middle

    return encode_integer


def _nearest(x: Value, fmt: AffineFormat) -> int:
    return _integer_encoder(fmt.wide, _NEAREST)(x, 0)


def _clamp(q: int, fmt: AffineFormat) -> int:
    return min(max(q, fmt.lowest), fmt.highest)


def quantize_value(
    x: Value,
    parameters: Parameters,
    fmt: str | AffineFormat,
    rule: str | Rule = "exact",
    policy: Policy | str | None = None,
    random_bits: int = 0,
) -> int:
    """The integer q for one exact value. A value that is cut, such as 1/3, needs at least 128 bits.

    Raises Error for a NaN or Inf that the rule refuses, for scales that are not positive numbers, and for values that
    are not FP32 if steps are computed in FP32.
    """
    fmt, rule = get_affine_format(fmt), get_rule(rule)
    return quantized_value(PLAIN, x, parameters, fmt, rule, element_policy(policy, rule), random_bits)


def quantized_value(
    do: Do,
    x: Value,
    parameters: Parameters,
    fmt: AffineFormat,
    rule: Rule,
    policy: Policy,
    random_bits: int,
    more_bits: int = 0,
) -> int:
    """The integer, step by step. more_bits: of the quotient, beyond those that rounding needs."""
    scale = do.at("scale")(read, parameters.scale, decoder(FP32), FP32)
    check_scale(scale, rule)
    if x.kind == NAN:
        return nan_result(fmt, rule, parameters.zero_point)
    if x.kind == INF:
        if rule.inf == "error":
            raise Error(f"an Inf, which affine rule {rule.name} refuses")
        return fmt.lowest if x.sign else fmt.highest
    z = do(zero_point, parameters.zero_point)
    inside, added = (z, 0) if rule.order == "inside" else (0, z)
    bits = needed_bits(fmt.wide, policy) + more_bits
    number = do(before_rounding, x, scale, exact.finite(int(inside < 0), abs(inside), 0), rule, bits)
    code, _ = do(rounded, number, random_bits, destination(fmt.wide, policy))
    return do(clamped, (code ^ fmt.wide.sign_bit) - fmt.wide.sign_bit, added, fmt)


@step("zero point", "integer")
def zero_point(z: int) -> int:
    """The zero point that is added."""
    return z


@step("clamp", "integer")
def clamped(q: int, added: int, fmt: AffineFormat) -> int:
    """The rounded number and what is added after rounding, within the range."""
    return _clamp(q + added, fmt)


@step("reciprocal", "value")
def reciprocal(scale: Value) -> Value:
    """1 / scale in FP32."""
    return fp32(exact.divide(_ONE, scale, _BITS))


@step("product", "value")
def by_reciprocal(x: Value, r: Value, rule: Rule) -> Value:
    """A value times the reciprocal: rounded to FP32, or exact where the zero point is added in one step."""
    product = exact.multiply(x, r)
    return fp32(product) if rule.arithmetic == "fp32" else product


@step("quotient", "value")
def divided_in_fp32(x: Value, scale: Value) -> Value:
    """A value divided by the scale, rounded to FP32."""
    return fp32(exact.divide(x, scale, _BITS))


def before_rounding_in_steps(do: Do, x: Value, scale: Value, offset: Value, rule: Rule, bits: int) -> Value:
    """`before_rounding`, step by step."""
    if x.sticky and rule.arithmetic == "exact":  # a cut value: all values up to the next one round alike
        x = exact.finite(x.sign, 2 * x.significand + 1, x.exponent - 1)
    if rule.arithmetic == "exact":  # (x + offset scale) / scale: one quotient, with one sticky bit
        return exact.divide(exact.add(x, exact.multiply(offset, scale)), scale, bits)
    if x.sticky or exact.compare(fp32(x), x) != 0:
        raise Error(f"affine rule {rule.name}: steps in FP32 take FP32 values, not {float(x)!r}")
    if rule.arithmetic == "fp32-division":
        product = do(divided_in_fp32, x, scale)
    else:
        product = do(by_reciprocal, x, do(reciprocal, scale), rule)
    return product if product.kind == INF else fp32(exact.add(product, offset))


@step("before rounding", "value", before_rounding_in_steps, [reciprocal, by_reciprocal, divided_in_fp32])
def before_rounding(x: Value, scale: Value, offset: Value, rule: Rule, bits: int) -> Value:
    """x / scale + offset, computed according to the rule."""
    return before_rounding_in_steps(PLAIN, x, scale, offset, rule, bits)


def check_scale(scale: Value, rule: Rule) -> None:
    """Raise Error for a scale that is not a positive number, or whose reciprocal the rule needs but FP32 lacks."""
    if not scale.is_finite or scale.is_zero or scale.sign:
        raise Error(f"a scale must be a positive finite FP32 number, not {float(scale)!r}")
    if rule.arithmetic in ("fp32", "fp32-fma") and not reciprocal(scale).is_finite:
        raise Error(f"affine rule {rule.name}: 1 / {float(scale)!r} is beyond FP32")


def nan_result(fmt: AffineFormat, rule: Rule, zero_point: int) -> int:
    """The result for NaN. Raises Error if the rule refuses NaN."""
    if rule.nan == "error":
        raise Error(f"a NaN, which affine rule {rule.name} refuses")
    return {
        "largest": fmt.highest,
        "smallest": fmt.lowest,
        "zero": _clamp(0, fmt),
        "zero-point": zero_point,
    }[rule.nan]


def dequantize_value(q: int, parameters: Parameters) -> int:
    """The FP32 code of (q - zero point) * scale, computed exactly and rounded once."""
    return dequantized_value(PLAIN, q, parameters)


def dequantized_value(do: Do, q: int, parameters: Parameters) -> int:
    """The FP32 code, step by step."""
    scale = do.at("scale")(read, parameters.scale, decoder(FP32), FP32)
    x = do(times_scale, do(difference, q, parameters.zero_point), scale)
    return do(rounded, x, 0, destination(FP32, _STEP))[0]


@step("difference", "integer")
def difference(q: int, z: int) -> int:
    """The integer less the zero point."""
    return q - z


@step("times scale", "value")
def times_scale(n: int, scale: Value) -> Value:
    """The exact product of an integer and the scale."""
    return exact.multiply(exact.finite(int(n < 0), abs(n), 0), scale)
