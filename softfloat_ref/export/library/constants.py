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
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import evaluate
from softfloat_ref.oracle.policies import Policy, Tininess

CORE: Final = Path(__file__).with_name("core")
NAN_AT: Final = {"ieee": "IEEE", "top": "TOP", "negative-zero": "NEGATIVE_ZERO", "none": "NONE"}
_PROPAGATE: Final = {"no": "GENERATED", "first": "FIRST", "signaling": "SIGNALING"}
_MAX_WIDTH: Final = 64
_MAX_MANTISSA: Final = 52
_MAX_BIAS: Final = 1 << 15
_SHORT_PRODUCT: Final = 10  # mantissa bits of which a product fits words of 32 bits, with bits for a sum below it
_SHORT_SUM: Final = 25  # and of which a sum does
_RESERVED: Final = re.compile("softfloat|core|format_|test_|ui32$|ui64$|u?int")  # by files, functions and types
_OWN_TYPES: Final = {"bf16": "bfloat16_t", "tf32": "tfloat32_t"}
INTEGERS: Final = {"ui32": (32, False), "ui64": (64, False), "i32": (32, True), "i64": (64, True)}


@dataclass(frozen=True)
class LibraryFormat:
    """A format of a library: its names in C, and the words that its operations need."""

    fmt: Format

    @cached_property
    def name(self) -> str:
        """As in SoftFloat: f16, bf16, f8_e4m3."""
        return self.fmt.name.replace("fp", "f", 1) if self.fmt.name.startswith("fp") else self.fmt.name

    @cached_property
    def type(self) -> str:
        """float16_t, bfloat16_t, float8_e4m3_t."""
        own = self.fmt.name.replace("fp", "float", 1) if self.fmt.name.startswith("fp") else self.fmt.name
        return _OWN_TYPES.get(self.fmt.name, f"{own}_t")

    @cached_property
    def storage(self) -> int:
        """The width of the integer that holds a code."""
        return max(8, 1 << (self.fmt.width - 1).bit_length())

    @cached_property
    def sum_word(self) -> int:
        """The words in which numbers are added, multiplied, rounded to integers, compared and converted."""
        return 32 if self.fmt.width <= 32 and self.fmt.mantissa_bits <= _SHORT_SUM else 64

    @cached_property
    def product_word(self) -> int:
        """The words of fused multiply-adds, quotients and roots, which hold whole products."""
        return 32 if self.fmt.width <= 32 and self.fmt.mantissa_bits <= _SHORT_PRODUCT else 64


def library_format(fmt: Format, policy: LibraryPolicy) -> LibraryFormat:
    """The format, if the library can have it. Raises Error."""
    own = LibraryFormat(fmt)
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", own.name) or _RESERVED.match(own.name):
        raise Error(f"format {fmt.name}: a library has no functions of that name; define the format under another one")
    where = f"format {fmt.name} cannot be in a library"
    refuse(
        where,
        ("it is an integer or fixed-point format", fmt.twos_complement),
        ("it has no sign", not fmt.signed),
        ("the integer bit of its significand is stored", fmt.explicit_bit),
        ("only formats with subnormals can be", fmt.subnormals != "gradual"),
        ("the special cases of P3109 cannot be", fmt.p3109),
        ("only formats of up to 64 bits, with 1 to 52 mantissa bits, can be", _bad_size(fmt)),
        ("only formats with a bias of 1 to 32768 can be", not 1 <= fmt.bias <= _MAX_BIAS),
        ("flush_inputs would give a NaN for -0", fmt.nan == "negative-zero" and policy.policy.flush_inputs),
    )
    return own


def _bad_size(fmt: Format) -> bool:
    return fmt.width > _MAX_WIDTH or not 1 <= fmt.mantissa_bits <= _MAX_MANTISSA


def format_constants(fmt: Format, own: LibraryPolicy) -> str:
    """The fields of core_format."""
    policy = own.policy
    t, encode, rule = target(fmt, policy), encoder(fmt, policy), policy.nan_rule
    infinite = [encode(Value(INF, sign), 0)[0] for sign in (0, 1)]
    lines = [
        f"{fmt.width}, {fmt.mantissa_bits}, {fmt.bias}, CORE_NAN_{NAN_AT[fmt.nan]}, {int(fmt.infinity)}",
        f"{_hex(fmt.max_code)}, {_hex(fmt.quiet_bit)}, {int(fmt.signaling)}, {_hex(encode(GENERATED, 0)[0])}",
        f"{_hex(t.beyond_positive)}, {_hex(t.beyond_negative)}, {_hex(infinite[0])}, {_hex(infinite[1])}",
        f"CORE_NAN_{'GENERATED' if rule.has_code(fmt) else _PROPAGATE[rule.propagate]}, {int(rule.first_last)}, "
        f"{int(rule.no_payload)}",
        f"{own.fma_order}, {own.fma_generated}, {int(rule.fma_quiet)}",
        f"{int(policy.flush_inputs)}, CORE_FLUSH_{_flush(policy)}",
    ]
    return "{\n    " + ",\n    ".join(lines) + ",\n}"


def _flush(policy: Policy) -> str:
    if not policy.flush_outputs:
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
