"""Terms: what a Fuse adds. An exact value with its encoded exponent and the operands it was computed from."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, GENERATED, INF, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.steps import step


class Term(NamedTuple):
    """One number on its way through a tree.

    exponent: of the binade it is encoded in; for a product, the sum of its factors' exponents; undefined for a zero
    term. scale: the part of it that comes from block scales. empty: no nonzero number contributed, so there is no
    exponent. operands: what it was computed from, in the order in which NaNs are searched. invalid: it is 0 * Inf.
    """

    value: Value
    exponent: int
    scale: int
    empty: bool
    operands: tuple[Value, ...]
    invalid: bool
    label: str


class Scale(NamedTuple):
    """The factor of a product from its block scales. exponent: as for a Term; undefined for zero, Inf and NaN."""

    value: Value
    exponent: int


ONE: Final = Scale(exact.finite(0, 1, 0), 0)
NAN_SCALE: Final = Scale(Value(NAN, 0), 0)
Decode = Callable[[int], Value]


@lru_cache(maxsize=256)
def operand_decoder(fmt: Format, flush: str, widened: Format | None = None) -> Decode:
    """The function that decodes codes as a unit does. flush: an accumulator's flush_inputs. widened: the format in
    which the unit holds the operands."""
    decode = decoder(fmt, flush != "off")
    if widened is not None and holds(widened, fmt):
        return _held_in(widened, fmt, operand_decoder(fmt, flush))
    if flush != "positive":
        return decode
    plus = exact.zero(0)

    def decode_positive(code: int) -> Value:
        value = decode(code)
        return plus if value.kind == FINITE and value.significand == 0 else value

    return decode_positive


def holds(wide: Format, fmt: Format) -> bool:
    """Whether every number of a format is one of the wider format, where its normal numbers are normal, too."""
    top = exact.top(decoder(fmt)(fmt.max_code)) <= exact.top(decoder(wide)(wide.max_code))
    return top and fmt.emin >= wide.emin and fmt.mantissa_bits <= wide.mantissa_bits


def _held_in(wide: Format, fmt: Format, decode: Decode) -> Decode:
    """The same values, written so that the exponent of each is the one it is encoded with in the wider format."""

    def run(code: int) -> Value:
        value = decode(code)
        if value.kind != FINITE or value.significand == 0:
            return value
        exponent = max(exact.top(value), wide.emin) - fmt.mantissa_bits
        return value._replace(significand=value.significand << (value.exponent - exponent), exponent=exponent)

    return run


def number(value: Value, fmt: Format, label: str) -> Term:
    """The term for a value of a format."""
    empty = value.kind == FINITE and value.significand == 0
    return Term(value, value.exponent + fmt.mantissa_bits, 0, empty, (value,), False, label)


@step("multiply", "term")
def product(a: Value, b: Value, shift: int, scale: Scale, limit: int | None, label: str) -> Term:
    """The Term a * b * scale. shift: the mantissa bits of both formats, which turn unit exponents into encoded ones."""
    if a.kind != FINITE or b.kind != FINITE or scale.value.kind != FINITE:
        return _special_product(a, b, scale.value, label)
    significand = a.significand * b.significand * scale.value.significand
    sign = a.sign ^ b.sign ^ scale.value.sign
    if significand == 0:
        return Term(exact.zero(sign), 0, scale.exponent, True, (a, b), False, label)
    exponent = a.exponent + b.exponent + scale.value.exponent
    value = Value(FINITE, sign, significand, exponent)
    if limit is not None and exponent + significand.bit_length() > limit:
        return Term(exact.inf(sign), 0, scale.exponent, False, (a, b), False, label)
    encoded = a.exponent + b.exponent + shift + scale.exponent
    return Term(value, encoded, scale.exponent, False, (a, b), False, label)


def _special_product(a: Value, b: Value, scale: Value, label: str) -> Term:
    operands = (a, b, scale)
    if any(x.kind == NAN for x in operands):
        invalid = (a.kind == INF and b.is_zero) or (b.kind == INF and a.is_zero)
        return Term(GENERATED, 0, 0, False, operands, invalid, label)
    zero = any(x.kind == FINITE and x.significand == 0 for x in (a, b, scale))
    value = GENERATED if zero else exact.inf(a.sign ^ b.sign ^ scale.sign)
    return Term(value, 0, 0, False, operands, zero, label)


def decode_scale(code: int, fmt: Format) -> Scale:
    """A block scale from its code."""
    value = decoder(fmt)(code)
    if value.kind == NAN:
        return NAN_SCALE
    return Scale(value, value.exponent + fmt.mantissa_bits)


def times(*scales: Scale) -> Scale:
    """The exact product of scales; NaN if one is NaN, or for Inf times zero."""
    values = [x.value for x in scales]
    sign = sum(x.sign for x in values) % 2
    if any(x.kind != FINITE for x in values):
        zero = any(x.kind == FINITE and x.significand == 0 for x in values)
        return NAN_SCALE if zero or any(x.kind == NAN for x in values) else Scale(exact.inf(sign), 0)
    significand, exponent, encoded = 1, 0, 0
    for x in scales:
        significand *= x.value.significand
        exponent += x.value.exponent
        encoded += x.exponent
    return Scale(Value(FINITE, sign, significand, exponent), encoded)
