"""Formats under a policy as constants of the C core: what the oracle answers for overflow, Inf and NaN."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.export.library.policies import LibraryPolicy
from softfloat_ref.oracle.codec import encoder, target
from softfloat_ref.oracle.exact import GENERATED, INF, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.operations import evaluate
from softfloat_ref.oracle.policies import Policy, Specials, Tininess

CORE: Final = Path(__file__).with_name("core")
NAN_AT: Final = {"ieee": "IEEE", "top": "TOP", "negative-zero": "NEGATIVE_ZERO", "none": "NONE"}
PROPAGATE: Final = {"no": "GENERATED", "first": "FIRST", "signaling": "SIGNALING", "larger": "LARGER"}
_SHORT_WIDTH: Final = 64  # of formats whose operations need words of no more than 64 bits,
_SHORT_MANTISSA: Final = 52
_SHORT_BIAS: Final = 1 << 15
_MAX_WIDTH: Final = 128  # and of any
_MAX_MANTISSA: Final = 112
_RANDOM_ROOM: Final = 113  # bits of a quotient below its first one, without those that round and stick
_SHORT_PRODUCT: Final = 10  # mantissa bits of which a product fits words of 32 bits, with bits for a sum below it
_SHORT_SUM: Final = 25  # and of which a sum does
_RESERVED: Final = re.compile("softfloat|core|format_|long_|test_|ui32$|ui64$|u?int")  # by files, functions and types
_OWN_NAMES: Final = {"extf80": "extF80"}
_OWN_TYPES: Final = {"bf16": "bfloat16_t", "tf32": "tfloat32_t", "extf80": "extFloat80_t"}
INTEGERS: Final = {"ui32": (32, False), "ui64": (64, False), "i32": (32, True), "i64": (64, True)}


@dataclass(frozen=True)
class LibraryFormat:
    """A format of a library: its names in C, and the words that its operations need. long: words of 128 bits, in which
    there is every kind of format."""

    fmt: Format
    long: bool = False

    @cached_property
    def name(self) -> str:
        """As in SoftFloat: f16, bf16, f8_e4m3."""
        name = _OWN_NAMES.get(self.fmt.name, self.fmt.name)
        return name.replace("fp", "f", 1) if name.startswith("fp") else name

    @cached_property
    def type(self) -> str:
        """float16_t, bfloat16_t, float8_e4m3_t."""
        own = self.fmt.name.replace("fp", "float", 1) if self.fmt.name.startswith("fp") else self.fmt.name
        return _OWN_TYPES.get(self.fmt.name, f"{own}_t")

    @cached_property
    def storage(self) -> int:
        """The width of the integer that holds a code, or of the two that do."""
        return max(8, 1 << (self.fmt.width - 1).bit_length())

    @cached_property
    def in_struct(self) -> bool:
        """Whether a code is in several integers: of extFloat80_t or float128_t."""
        return self.storage > _SHORT_WIDTH

    @cached_property
    def sum_word(self) -> int:
        """The words in which numbers are added, multiplied, rounded to integers, compared and converted."""
        if self.long:
            return 128
        return 32 if self.fmt.width <= 32 and self.fmt.mantissa_bits <= _SHORT_SUM else 64

    @cached_property
    def product_word(self) -> int:
        """The words of fused multiply-adds, quotients and roots, which hold whole products."""
        if self.long:
            return 128
        return 32 if self.fmt.width <= 32 and self.fmt.mantissa_bits <= _SHORT_PRODUCT else 64


def library_format(fmt: Format, policy: LibraryPolicy) -> LibraryFormat:
    """The format, if the library can have it. Raises Error."""
    own = LibraryFormat(fmt, _is_long(fmt, policy.for_format(fmt)))
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", own.name) or _RESERVED.match(own.name):
        raise Error(f"format {fmt.name}: a library has no functions of that name; define the format under another one")
    room = _RANDOM_ROOM - fmt.mantissa_bits
    refuse(
        f"format {fmt.name} cannot be in a library",
        ("it is an integer or fixed-point format", fmt.twos_complement),
        ("only formats of up to 128 bits, with up to 112 mantissa bits, can be", _bad_size(fmt)),
        ("of formats that store their integer bit, only extf80 can be", _bad_explicit_bit(fmt)),
        (f"it has room for {max(room, 0)} random bits, not {policy.sr_bits}", policy.sr_bits > room),
    )
    return own


def _bad_size(fmt: Format) -> bool:
    return fmt.width > _MAX_WIDTH or fmt.mantissa_bits > _MAX_MANTISSA


def _bad_explicit_bit(fmt: Format) -> bool:
    return fmt.explicit_bit and fmt != CATALOGUE["extf80"]


def _is_long(fmt: Format, policy: Policy) -> bool:
    """Whether its operations are those of core_values.h."""
    usual = fmt.signed and fmt.subnormals == "gradual" and fmt.zero and not fmt.explicit_bit and not fmt.p3109
    short = fmt.width <= _SHORT_WIDTH and 1 <= fmt.mantissa_bits <= _SHORT_MANTISSA and 1 <= fmt.bias <= _SHORT_BIAS
    flushed_to_nan = fmt.nan == "negative-zero" and policy.flush_inputs
    return not (usual and short) or flushed_to_nan or policy.specials == Specials.P3109


def format_constants(fmt: Format, own: LibraryPolicy) -> str:
    """The fields of core_format."""
    policy = own.for_format(fmt)
    order, generated = own.fma_words(fmt)
    t, encode, rule = target(fmt, policy), encoder(fmt, policy), policy.nan_rule
    infinite = [encode(Value(INF, sign), 0)[0] for sign in (0, 1)]
    lines = [
        f"{fmt.width}, {fmt.mantissa_bits}, {fmt.bias}, CORE_NAN_{NAN_AT[fmt.nan]}, {int(fmt.infinity)}",
        f"{_hex(fmt.max_code)}, {_hex(fmt.quiet_bit)}, {int(fmt.signaling)}, {_hex(encode(GENERATED, 0)[0])}",
        f"{_hex(t.beyond_positive)}, {_hex(t.beyond_negative)}, {_hex(infinite[0])}, {_hex(infinite[1])}",
        f"CORE_NAN_{'GENERATED' if rule.has_code(fmt) else PROPAGATE[rule.propagate]}, {int(rule.first_last)}, "
        f"{int(rule.no_payload)}",
        f"{order}, {generated}, {int(rule.fma_quiet)}",
        f"{int(policy.flush_inputs)}, CORE_FLUSH_{flush_word(fmt, policy)}",
    ]
    return "{\n    " + ",\n    ".join(lines) + ",\n}"


def flush_word(fmt: Format, policy: Policy) -> str:
    """What core.h calls the rule for results below the normal numbers."""
    if not policy.flush_outputs or not fmt.zero:
        return "OFF"
    return "BEFORE" if policy.flush_rule == Tininess.BEFORE else "AFTER"


def integer_constants(fmt: Format, integer: str, policy: Policy) -> str:
    """The fields of core_integer, for conversions from a format: the results for values out of range are the oracle's
    for Inf, or for the largest finite number."""
    width, signed = INTEGERS[integer]
    to = f"{'i' if signed else 'u'}{width}"
    top = (1 << (width - signed)) - 1
    above = fmt.inf_code if fmt.infinity else fmt.max_code
    out = [evaluate("convert", (code,), fmt, to, policy) for code in (above, above | fmt.sign_bit)]
    nan = evaluate("convert", (fmt.canonical_nan,), fmt, to, policy).bits if fmt.has_nan else 0
    codes = [x.bits if x.flags else 0 for x in out]  # no flag: no number of the format is out of range
    return f"{{{', '.join(map(_hex, (top, top + 1 if signed else 0, *codes, nan)))}}}"


def _hex(code: int) -> str:
    return f"UINT64_C({code:#x})"
