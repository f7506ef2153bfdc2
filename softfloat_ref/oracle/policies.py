"""Policy: every choice that a conversion or operation leaves open, as named fields; and the named policies."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, TypeVar

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.numbers import settle
from softfloat_ref.base.tables import load_definition, split_like
from softfloat_ref.oracle.formats import ALIASES, Format, get_format
from softfloat_ref.oracle.rounding import Rounding


class Overflow(StrEnum):
    """The result for a value beyond the largest finite one (with IEEE P3109 4.7.5's names).

    sat-none: Inf, NaN or the largest finite, according to format and direction (IEEE 754 7.4); also for Inf operands;
    sat-propagate: the largest finite, but an Inf operand stays Inf (or the format's replacement);
    sat-finite: the largest finite for both;
    sat-narrow: sat-finite to formats of at most 8 bits, sat-none to wider ones (PTX: .satfinite is not optional there).
    """

    SAT_NONE = "sat-none"
    SAT_PROPAGATE = "sat-propagate"
    SAT_FINITE = "sat-finite"
    SAT_NARROW = "sat-narrow"


class Tininess(StrEnum):
    """When a result is judged to be tiny (IEEE 754 7.5)."""

    AFTER = "after"
    BEFORE = "before"


class NanMissing(StrEnum):
    """The result for a NaN in a float format that has none: the largest value, zero, or an error."""

    MAX = "max"
    ZERO = "zero"
    ERROR = "error"


class Integers(StrEnum):
    """Conversion to an integer of NaN and of values out of range.

    riscv: the nearest integer, NaN the largest (RISC-V F, table of FCVT); x86: the "integer indefinite" value, the
    smallest signed or largest unsigned (Intel SDM vol. 1 4.8, VCVTTPS2UDQ); arm: the nearest, NaN zero (Arm ARM,
    FPToFixed); ptx: the nearest, NaN only the top bit from fp64 or to over 32 bits, else zero (PTX ISA, cvt).
    """

    RISCV = "riscv"
    X86 = "x86"
    ARM = "arm"
    PTX = "ptx"


@dataclass(frozen=True)
class E8M0Rule:
    """How a format without zero and sign, such as E8M0, takes what it lacks, as words joined by commas:

    auto: zero and negative values give NaN under sat-none; else zero gives the smallest code, a negative value its
    magnitude's. magnitude: the latter under every overflow rule. nan, smallest: that code for zero and negative values.
    field: below the second code a value is rounded as FP32's exponent field is, and the smallest code counts as zero.
    even-code: ties go to the even code, not to the even significand.
    """

    lacking: Literal["auto", "magnitude", "nan", "smallest"] = "auto"
    field: bool = False
    even_code: bool = False

    @staticmethod
    @lru_cache(maxsize=64)
    def parse(text: str) -> E8M0Rule:
        rule = E8M0Rule()
        for word in (word.strip() for word in text.lower().split(",")):
            match word:
                case "auto" | "magnitude" | "nan" | "smallest":
                    rule = dataclasses.replace(rule, lacking=word)
                case "field":
                    rule = dataclasses.replace(rule, field=True)
                case "even-code":
                    rule = dataclasses.replace(rule, even_code=True)
                case _:
                    raise unknown("word of an E8M0 rule", word, E8M0_WORDS)
        return rule


E8M0_WORDS: Final = ("auto", "magnitude", "nan", "smallest", "field", "even-code")


class Unnormals(StrEnum):
    """What operands are whose integer bit is stored and is 0 although the exponent field is not: unnormals,
    pseudo-infinities, pseudo-NaNs.

    invalid: unsupported, an invalid operation whose result is the generated NaN (x87 since the 387); value: the number,
    infinity or NaN that they say (SoftFloat, the 8087).
    """

    INVALID = "invalid"
    VALUE = "value"


class Specials(StrEnum):
    """The special cases of operations. auto: P3109's where the result is a P3109 format, else IEEE 754's."""

    AUTO = "auto"
    IEEE = "ieee"
    P3109 = "p3109"


E_ = TypeVar("E_", bound=Enum)


def parse_rounding(value: Rounding | str) -> Rounding:
    """A rounding by its name: rne rna rtz rup rdn rto rnu rhz sr sr-b sr-c."""
    if isinstance(value, Rounding):
        return value
    for mode in Rounding:
        if isinstance(value, str) and rounding_name(mode) == value.strip().lower():
            return mode
    raise unknown("rounding", str(value), ROUNDINGS)


def rounding_name(mode: Rounding) -> str:
    """The name of a rounding on the command line."""
    return mode.name.lower().replace("_", "-")


ROUNDINGS: Final = tuple(rounding_name(mode) for mode in Rounding)


def _parse(kind: type[E_], what: str, value: object) -> E_:
    if type(value) is kind:
        return value
    try:
        return kind(value.strip().lower() if type(value) is str else value)
    except ValueError:
        raise unknown(what, str(value), [str(member.value) for member in kind]) from None


@dataclass(frozen=True)
class NanRule:
    """Which NaN an operation returns, as words joined by commas:

    canonical (the format's own), ones (all mantissa bits set), negative (canonical, sign set), a hexadecimal code,
    FORMAT=CODE for one format, even if operands are NaN; propagate (the first NaN operand, quieted) or
    propagate-signaling (the first signalling one, else the first); propagate-larger (a quiet one before a signalling
    one, then that with the larger significand, then the positive one: x87); addend-first (an fma checks its addend
    first); first-last (the first operand is checked last); no-payload (a propagated NaN keeps only its sign);
    overflow-signed (a NaN that stands for an overflow or an Inf has the operand's sign, where the format has such a
    NaN). For fma(0, Inf, qNaN): fma-generated (the generated NaN, not the operand); fma-quiet (without raising
    invalid).
    """

    propagate: Literal["no", "first", "signaling", "larger"] = "no"
    generated: Literal["canonical", "ones", "negative"] | int = "canonical"
    codes: tuple[tuple[str, int], ...] = ()
    addend_first: bool = False
    first_last: bool = False
    no_payload: bool = False
    overflow_signed: bool = False
    fma_generated: bool = False
    fma_quiet: bool = False

    @staticmethod
    @lru_cache(maxsize=64)
    def parse(text: str) -> NanRule:
        rule: dict[str, Any] = {}
        codes: list[tuple[str, int]] = []
        for word, code in assignments.words(text.lower()):
            match word:
                case _ if code is not None:
                    if not re.fullmatch(r"[a-z0-9_.+-]{1,64}", word):
                        raise Error(f"NaN rule {text!r}: {word!r} is not the name of a format")
                    codes.append((ALIASES.get(word, word), _nan_code(code, text)))
                case "canonical" | "ones" | "negative":
                    rule["generated"] = word
                case "propagate":
                    rule["propagate"] = "first"
                case "propagate-signaling":
                    rule["propagate"] = "signaling"
                case "propagate-larger":
                    rule["propagate"] = "larger"
                case "addend-first" | "first-last" | "fma-generated" | "fma-quiet" | "no-payload" | "overflow-signed":
                    rule[word.replace("-", "_")] = True
                case _:
                    rule["generated"] = _nan_code(word, text)
        return NanRule(codes=tuple(codes), **rule)

    def has_code(self, fmt: Format) -> bool:
        """Whether the rule has a code for this format, which then replaces NaN operands too."""
        return any(name == fmt.name for name, _ in self.codes)

    def of_overflow(self, fmt: Format) -> tuple[int, int]:
        """The NaNs that stand for an overflow or Inf of each sign."""
        code = self.code(fmt)
        return code, code | (fmt.sign_bit if self.overflow_signed and fmt.nan in ("ieee", "top") else 0)

    def code(self, fmt: Format) -> int:
        """The NaN that an operation generates in this format, which must have one."""
        for name, code in self.codes:
            if name == fmt.name:
                return _checked_nan(code, fmt)
        if isinstance(self.generated, int):
            return _checked_nan(self.generated, fmt)
        if fmt.nan != "ieee" or self.generated == "canonical":
            return fmt.canonical_nan
        if self.generated == "ones":
            return fmt.magnitude_mask
        return fmt.canonical_nan | fmt.sign_bit


def _nan_code(text: str, rule: str) -> int:
    if not re.fullmatch(r"(0[xX])?[0-9a-fA-F]{1,64}", text):
        raise Error(
            f"NaN rule {rule!r}: {text!r} is neither a known word nor a hexadecimal code; "
            "words: canonical, ones, negative, propagate, propagate-signaling, propagate-larger, "
            "addend-first, first-last, fma-generated, fma-quiet, no-payload, overflow-signed"
        )
    return int(text, 16)


def _checked_nan(code: int, fmt: Format) -> int:
    if code >> fmt.width or not fmt.is_nan(code):
        raise Error(f"NaN rule: {code:x} is not a NaN of {fmt.name}")
    return code


@dataclass(frozen=True)
class Policy:
    """Every open choice. The defaults are the policy `ieee`; docs/numerics.md describes each field.

    Fields accept enum members or their names. overflow = None means the format's own: sat-none for formats with Inf,
    sat-finite for the others. sr_bits is the number of random bits for stochastic rounding. flush_rule: whether
    flush_outputs decides after rounding, raising underflow and inexact (x86), or before, raising underflow only (Arm).
    bare_widening: a conversion that only appends zero bits to a code does nothing else (no flush, no quieting); the
    name of a format: only conversions from that one. e8m0: how formats without zero and sign take these.
    unnormals: of formats that store their integer bit. rounding_precision: to which precision arithmetic rounds its
    results in such a format: 64 and 32 for that of fp64 and fp32, with its own exponents (x87's precision control).
    Raises Error for a value that is not valid for its field.
    """

    rounding: Rounding = Rounding.RNE
    overflow: Overflow | None = None
    flush_inputs: bool = False
    flush_outputs: bool = False
    flush_rule: Tininess = Tininess.AFTER
    tininess: Tininess = Tininess.AFTER
    nan: str = "canonical"
    nan_missing: NanMissing = NanMissing.MAX
    sr_bits: int | None = None
    integers: Integers = Integers.RISCV
    specials: Specials = Specials.AUTO
    bare_widening: bool | str = False
    e8m0: str = "auto"
    unnormals: Unnormals = Unnormals.INVALID
    rounding_precision: int = 80

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "rounding", parse_rounding(self.rounding))
        if self.overflow is not None:
            put(self, "overflow", _parse(Overflow, "overflow rule", self.overflow))
        put(self, "flush_inputs", _parse_bool("flush_inputs", self.flush_inputs))
        put(self, "flush_outputs", _parse_bool("flush_outputs", self.flush_outputs))
        put(self, "flush_rule", _parse(Tininess, "flush rule", self.flush_rule))
        put(self, "tininess", _parse(Tininess, "tininess", self.tininess))
        put(self, "nan_missing", _parse(NanMissing, "nan_missing rule", self.nan_missing))
        put(self, "integers", _parse(Integers, "integer rule", self.integers))
        put(self, "specials", _parse(Specials, "family of special cases", self.specials))
        put(self, "bare_widening", _parse_widening(self.bare_widening))
        put(self, "nan", _nan_text(self.nan))
        put(self, "e8m0", _e8m0_text(self.e8m0))
        put(self, "unnormals", _parse(Unnormals, "rule for unnormals", self.unnormals))
        settle(self, "rounding_precision")
        if self.rounding_precision not in PRECISIONS:
            raise Error(f"rounding_precision = {self.rounding_precision}: use 80, 64 or 32")
        self.nan_rule  # noqa: B018  (parsed now, so that a bad rule raises here)
        if self.sr_bits is not None:
            settle(self, "sr_bits", 1, 64)

    @cached_property
    def nan_rule(self) -> NanRule:
        return NanRule.parse(self.nan)

    @cached_property
    def e8m0_rule(self) -> E8M0Rule:
        return E8M0Rule.parse(self.e8m0)

    def lacking_for(self, fmt: Format) -> str:
        """What zero and negative values give in a format without zero and sign: nan, magnitude or smallest."""
        if self.e8m0_rule.lacking != "auto":
            return self.e8m0_rule.lacking
        return "nan" if self.overflow_for(fmt) == Overflow.SAT_NONE else "magnitude"

    def rounded_format(self, fmt: Format) -> Format:
        """The format whose values results in a format are rounded to: one with a hidden integer bit."""
        bits = PRECISIONS[self.rounding_precision]
        if not fmt.explicit_bit or bits is None:
            return fmt.hidden
        return fmt.rounded_to(min(bits, fmt.mantissa_bits))

    def widens_bare(self, source: Format) -> bool:
        """Whether a conversion from that format that only appends zero bits does nothing else."""
        return self.bare_widening is True or self.bare_widening == source.name

    @cached_property
    def random_count(self) -> int:
        """The number of random bits per result: 0 unless the rounding is stochastic.

        Raises Error if it is stochastic and sr_bits is missing."""
        if not self.rounding.stochastic:
            return 0
        if self.sr_bits is None:
            raise Error(f"rounding {rounding_name(self.rounding)} needs the number of random bits (sr_bits)")
        return self.sr_bits

    def overflow_for(self, fmt: Format) -> Overflow:
        """The overflow rule for that target format."""
        if self.overflow == Overflow.SAT_NARROW:
            return Overflow.SAT_FINITE if fmt.width <= 8 else Overflow.SAT_NONE
        if self.overflow is not None:
            return self.overflow
        return Overflow.SAT_NONE if fmt.overflow == "inf" else Overflow.SAT_FINITE

    def replace(self, **fields: Any) -> Policy:
        """This policy with some fields replaced. Raises Error for a field that does not exist."""
        for name in fields:
            if name not in _FIELDS:
                raise unknown("policy field", name, _FIELDS)
        return dataclasses.replace(self, **fields)

    def to_dict(self) -> dict[str, Any]:
        """The full definition, as manifests store it; rules of few formats only where they are not the default."""
        values = {name: getattr(self, name) for name in _FIELDS}
        values = {name: x for name, x in values.items() if name not in RARE_FIELDS or x != RARE_FIELDS[name]}
        values["rounding"] = rounding_name(self.rounding)
        return {k: str(v) if isinstance(v, StrEnum) else v for k, v in values.items()}


_FIELDS: Final = tuple(f.name for f in dataclasses.fields(Policy))
_RARE: Final = ("e8m0", "unnormals", "rounding_precision")
RARE_FIELDS: Final[dict[str, Any]] = {name: getattr(Policy, name) for name in _RARE}  # of few formats; their defaults
PRECISIONS: Final = {80: None, 64: 52, 32: 23}  # mantissa bits that are rounded to; None: all of the format's


def _e8m0_text(value: object) -> str:
    if not isinstance(value, str):
        raise Error(f"e8m0 = {value!r}: an E8M0 rule is words joined by commas: {', '.join(E8M0_WORDS)}")
    E8M0Rule.parse(value)
    return value


def _nan_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if type(value) is int:
        return f"{value:x}"
    raise Error(f"nan = {value!r}: a NaN rule must be a string or a code")


def _parse_widening(value: object) -> bool | str:
    if not isinstance(value, str) or value.lower() in ("on", "off"):
        return _parse_bool("bare_widening", value)
    return get_format(value).name


def _parse_bool(what: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("on", "off"):
        return value.lower() == "on"
    raise Error(f"{what} = {value!r}: use on or off")


# docs/policies.md has the citation of each field.
POLICIES: Final[dict[str, Policy]] = {
    "ieee": Policy(),
    "riscv": Policy(overflow=Overflow.SAT_NONE, nan="canonical,fp8_e5m2=7f"),
    "x86-sse": Policy(nan="propagate,negative,fma-quiet", integers=Integers.X86),
    "x87": Policy(nan="propagate-larger,negative", integers=Integers.X86),
    "softfloat-8086": Policy(nan="propagate-larger,negative", integers=Integers.X86, unnormals=Unnormals.VALUE),
    "arm": Policy(
        flush_rule=Tininess.BEFORE,
        tininess=Tininess.BEFORE,
        nan="propagate-signaling,addend-first,fma-generated,fp8_e5m2=7e,fp8_e4m3=7f",
        integers=Integers.ARM,
    ),
    "ptx": Policy(
        overflow=Overflow.SAT_NARROW, nan="ones,fp64=fff8000000000000", integers=Integers.PTX, bare_widening="bf16"
    ),
    "ptx-fp64": Policy(overflow=Overflow.SAT_NARROW, nan="propagate,first-last,negative", integers=Integers.PTX),
    "tpu-bf16": Policy(flush_inputs=True, flush_outputs=True, nan="propagate", bare_widening=True),
    "p3109": Policy(specials=Specials.P3109),
    "dlfloat": Policy(rounding=Rounding.RNA, overflow=Overflow.SAT_NONE, flush_outputs=True),
    "cuda-nosat": Policy(overflow=Overflow.SAT_NONE, nan="ones,overflow-signed", e8m0="magnitude"),
    "ml-dtypes": Policy(overflow=Overflow.SAT_NONE, nan="propagate,no-payload,overflow-signed", e8m0="nan,field"),
    "torch-e8m0": Policy(overflow=Overflow.SAT_NONE, e8m0="magnitude,field"),
    "onnx-e8m0": Policy(rounding=Rounding.RUP, overflow=Overflow.SAT_PROPAGATE, e8m0="magnitude,field"),
    "openvino-e8m0": Policy(overflow=Overflow.SAT_FINITE, e8m0="smallest,even-code"),
}


def default_rounding(table: Mapping[str, Any], rounding: str) -> Policy:
    """The policy of a table of fields, with the given rounding unless the table says how to round."""
    return get_policy(table if {"rounding", "like"} & table.keys() else {**table, "rounding": rounding})


def get_policy(policy: Policy | str | Mapping[str, Any] | None = None, **fields: Any) -> Policy:
    """A policy from a name, `FILE.toml[:NAME]`, a table of fields (with `like`) or a Policy; then `fields` replaced."""
    if policy is None:
        base = POLICIES["ieee"]
    elif isinstance(policy, Policy):
        base = policy
    elif isinstance(policy, Mapping):
        values, like = split_like(policy, "policy")
        base = get_policy(like).replace(**values)
    elif not isinstance(policy, str):
        raise Error(f"a policy must be a name, a table or a Policy, not {policy!r}")
    elif ".toml" in policy:
        base = load_definition(policy, "policies", lambda table, _: get_policy(table))
    elif policy.strip().lower() in POLICIES:
        base = POLICIES[policy.strip().lower()]
    else:
        raise unknown("policy", policy, POLICIES)
    return base.replace(**fields) if fields else base
