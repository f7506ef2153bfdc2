"""Requantization in steps: the product, one or two roundings, the register, the zero point, the clamp.

arrays/requantize.py runs the same computation with each step done for arrays.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from softfloat_ref.base.errors import Undefined
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.oracle.requantization import RequantizeRule
from softfloat_ref.oracle.rounding import round_shift
from softfloat_ref.oracle.rounding_steps import destination, read, rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step

_IN_FLOATS: Final = Policy(overflow=Overflow.SAT_NONE)


class Operands(NamedTuple):
    """The numbers of a case. multiplier: an integer, or the code of a scale; low, high: of the clamp."""

    accumulator: int
    multiplier: int
    shift: int
    zero_point: int
    low: int
    high: int


class Shifts(NamedTuple):
    """The bits by which the accumulator is shifted to the left, and those that each rounding drops."""

    left: int
    first: int
    last: int


class Scaled(NamedTuple):
    """The accumulator times a scale: n / 2^bits."""

    n: int
    bits: int


# -- steps -------------------------------------------------------------------------------------------------------------


@step("operand", "integer")
def operand_value(code: int, fmt: Format) -> int:
    """The integer of a code."""
    return (code ^ fmt.sign_bit) - fmt.sign_bit


def defined(x: Operands, rule: RequantizeRule) -> None:
    """Raise Undefined for operands for which the rule has no result."""
    if x.low > x.high:
        raise Undefined("the lower end of the range is above the upper end")
    if not rule.has_shift:
        return
    if not rule.least_shift <= x.shift <= rule.most_shift:
        raise Undefined(f"rule {rule.name} takes shifts from {rule.least_shift} to {rule.most_shift}")
    if rule.negative == "undefined" and x.multiplier < 0:
        raise Undefined(f"rule {rule.name} takes no negative multiplier")
    if rule.range == "shift" and not -1 << x.shift <= 2 * x.accumulator < 1 << x.shift:
        raise Undefined(f"rule {rule.name}: the accumulator is too large for the shift")


@step("shifts", "shifts")
def shifts(shift: int, rule: RequantizeRule) -> Shifts:
    """What a shift says."""
    left = shift if rule.direction == "left" else -shift
    before = max(left, 0) if rule.left != "together" else 0
    bits = rule.fraction - (left - before)
    if not rule.first_bits:
        return Shifts(before, 0, bits)
    return Shifts(before, min(bits, rule.first_bits), max(bits - rule.first_bits, 0))


@step("reduced multiplier", "integer")
def reduced(multiplier: int, bits: int, width: int) -> int:
    """The multiplier without its low bits, halves up, saturating."""
    return min((multiplier + (1 << (bits - 1))) >> bits, (1 << (width - 1 - bits)) - 1)


def fitted(x: int, width: int, how: str) -> int:
    """A number in a register. Raises Undefined where one that does not fit has no result."""
    sign = 1 << (width - 1)
    if how == "wrapped":
        return (x & (2 * sign - 1) ^ sign) - sign
    if how == "exact" or -sign <= x < sign:
        return x
    if how == "saturated":
        return sign - 1 if x > 0 else -sign
    raise Undefined(f"a result that does not fit {width} bits")


@step("left shift", "integer")
def shifted_left(x: int, by: int, width: int, how: str) -> int:
    """The accumulator, shifted to the left in the register."""
    return fitted(x << by, width, how)


@step("integer product", "integer")
def multiplied(x: int, multiplier: int) -> int:
    """The exact product."""
    return x * multiplier


@step("first rounding", "integer")
def first_rounded(product: int, bits: int, mode: int) -> int:
    """The product without its low bits."""
    return round_shift(product, bits, mode)


@step("high part", "integer")
def high_part(x: int, width: int, how: str) -> int:
    """The rounded product in the register."""
    return fitted(x, width, how)


@step("last rounding", "integer")
def last_rounded(x: int, bits: int, added: int, mode: int) -> int:
    """The number without the bits below an integer. added: an integer, before they are rounded away."""
    return round_shift(x + (added << bits), bits, mode) if bits > 0 else (x << -bits) + added


@step("early register", "integer")
def early_register(product: int, bits: int, width: int) -> int:
    """The product with one bit below an integer, wrapped. Raises Undefined if one more than it does not fit."""
    x = fitted(product >> (bits - 1) if bits > 0 else product << (1 - bits), width, "wrapped")
    if x == (1 << (width - 1)) - 1:
        raise Undefined("one more than the largest number of the register")
    return x


@step("register", "integer")
def in_register(x: int, width: int, how: str) -> int:
    """The rounded number in the register."""
    return fitted(x, width, how)


@step("zero point added", "integer")
def with_zero_point(x: int, zero_point: int, width: int, how: str) -> int:
    """The sum with the zero point."""
    return fitted(x + zero_point, width, how)


@step("clamp", "integer")
def held(x: int, low: int, high: int) -> int:
    """The number within the range."""
    return min(max(x, low), high)


def scaled_in_steps(do: Do, n: int, scale_code: int, added: int, rule: RequantizeRule) -> Scaled:
    """`scaled`, step by step."""
    fmt = rule.multiplier_format
    scale = do.at("scale")(read, scale_code, decoder(fmt), fmt)
    if not scale.is_finite or scale.is_zero or scale.sign:
        raise Undefined("a scale must be a positive finite number")
    if rule.arithmetic == "exact":
        return Scaled(do(multiplied, n, scale.significand), -scale.exponent)
    fmt = get_format(rule.arithmetic)
    y = _in_float(do.at("product"), exact.multiply(_in_float(do.at("accumulator"), _number(n), fmt), scale), fmt)
    if rule.order == "inside" and y.kind == FINITE:
        y = _in_float(do.at("sum"), exact.add(y, _number(added)), fmt)
    if y.kind != FINITE:  # beyond every integer
        y = exact.finite(y.sign, 1, fmt.emax + 1)
    return Scaled(-y.significand if y.sign else y.significand, -y.exponent)


def _number(n: int) -> Value:
    """An integer."""
    return exact.finite(int(n < 0), abs(n), 0) if n else exact.zero(0)


def _in_float(do: Do, x: Value, fmt: Format) -> Value:
    """A number rounded to a float format."""
    return decoder(fmt)(do(rounded, x, 0, destination(fmt, _IN_FLOATS))[0])


@step("scaled", "scaled", scaled_in_steps, [read, multiplied, rounded])
def scaled(n: int, scale_code: int, added: int, rule: RequantizeRule) -> Scaled:
    """The accumulator times a scale; with what is added, if that is done in floats."""
    return scaled_in_steps(PLAIN, n, scale_code, added, rule)


# -- the computation ---------------------------------------------------------------------------------------------------


def requantized(do: Do, x: Operands, rule: RequantizeRule, accumulator: Format) -> int:
    """The integer of operands that are `defined`, step by step. Raises Undefined where the rule has no result."""
    width = rule.register(accumulator)
    added, after = (x.zero_point, 0) if rule.order == "inside" else (0, x.zero_point)
    if rule.has_shift:
        number = _by_integer(do, x, rule, width, added)
    else:
        y = do(scaled, x.accumulator, x.multiplier, added, rule)
        number = do(last_rounded, y.n, y.bits, added if rule.arithmetic == "exact" else 0, rule.mode())
    if rule.result != "wrapped-early":
        number = do(in_register, number, width, rule.result)
    return do(held, do(with_zero_point, number, after, width, rule.sum), x.low, x.high)


def _by_integer(do: Do, x: Operands, rule: RequantizeRule, width: int, added: int) -> int:
    """The product by a multiplier and a shift, rounded."""
    n, multiplier, by = x.accumulator, x.multiplier, do(shifts, x.shift, rule)
    if rule.reduced:
        multiplier = do(reduced, multiplier, rule.reduced, rule.multiplier_format.width)
    if rule.left != "together":
        n = do(shifted_left, n, by.left, width, rule.left)
    product = do(multiplied, n, multiplier)
    if rule.result == "wrapped-early":
        return do(last_rounded, do(early_register, product, by.last, width), 1, added, rule.mode())
    if rule.first_bits:
        product = do(first_rounded, product, by.first, rule.mode(first=True))
        product = do(high_part, product, width, rule.high)
    return do(last_rounded, product, by.last, added, rule.mode())
