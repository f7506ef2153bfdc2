"""Cases of requantizers, drawn so that most lie at a decision: a tie of either rounding, an end of a register or of the
result's range."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.requantization_steps import shifts
from softfloat_ref.units import Line, RequantizeUnit

WORDS: Final = 6  # of 64 bits, from which a case is drawn
_ANY_EVERY: Final = 8  # one number in N has any bits
_FAR: Final = 3  # integers beyond an end, at most
_SCALE_BINADES: Final = 12  # of most scales, below one and above


class Draw:
    """Numbers from the digits of a large one."""

    def __init__(self, number: int) -> None:
        self.left = number

    def below(self, n: int) -> int:
        """One of 0 to n - 1."""
        self.left, x = divmod(self.left, n)
        return x

    def between(self, low: int, high: int) -> int:
        """One of the integers from low to high."""
        return low + self.below(high - low + 1)


def ends(fmt: Format) -> tuple[int, int]:
    """The smallest and the largest integer of a format."""
    return -fmt.sign_bit, fmt.max_code


def near_zero(fmt: Format, draw: Draw) -> int:
    """An integer of any length of the format, or at an end."""
    low, high = ends(fmt)
    if draw.below(_ANY_EVERY) == 0:
        return (low, low + 1, high, high - 1, 0, 1, -1 if low else 2)[draw.below(7)]
    return draw.between(low, high) >> draw.below(fmt.width)


def drawn(unit: RequantizeUnit, number: int) -> Line:
    """The inputs of a case from a number of `WORDS` words."""
    draw, rule, numbers = Draw(number), unit.rule, dict(unit.fixed_numbers)
    free = {f.name for f in unit.inputs}
    if "multiplier" in free:
        numbers["multiplier"] = _multiplier(unit, draw)
    if "shift" in free:
        low, high = ends(rule.shift_format)
        numbers["shift"] = draw.between(max(low, rule.least_shift), min(high, rule.most_shift))
    if "scale" in free:
        numbers["scale"] = _scale(rule.multiplier_format, draw)
    if "zero_point" in free:
        numbers["zero_point"] = near_zero(unit.out, draw)
    if {"min", "max"} & free:
        numbers |= _range(unit, numbers, free, draw)
    numbers["accumulator"] = _accumulator(unit, numbers, draw)
    return tuple(numbers[f.name] % (1 << f.width) for f in unit.inputs)


def _range(unit: RequantizeUnit, numbers: dict[str, int], free: set[str], draw: Draw) -> dict[str, int]:
    """The ends of the result's range: often those of the format, often the zero point, and any."""
    low, high = ends(unit.out)
    z = min(max(numbers["zero_point"], low), high)
    least, most = (
        (low, z, draw.between(low, high))[draw.below(3)],
        (high, high, draw.between(low, high))[draw.below(3)],
    )
    least = least if "min" in free else numbers["min"]
    return {"min": least, "max": max(most, least) if "max" in free else numbers["max"]}


def _multiplier(unit: RequantizeUnit, draw: Draw) -> int:
    """Half of them normalized, as converters make them; some with few bits, for exact ties."""
    fmt, kind = unit.rule.multiplier_format, draw.below(_ANY_EVERY)
    low, high = ends(fmt)
    if unit.rule.negative == "undefined":
        low = 0
    if kind == 0:
        x = near_zero(fmt, draw)
    elif kind < _ANY_EVERY // 2:
        odd, negative = 2 * draw.below(4) + 1, low and not draw.below(4)
        x = (-odd if negative else odd) << draw.below(fmt.width)
    else:
        x = draw.between(high // 2 + 1, high)
    return min(max(x, low), high)


def _scale(fmt: Format, draw: Draw) -> int:
    """The code of a positive number: one in a few of any size, half of the others with few bits."""
    if draw.below(_ANY_EVERY) == 0:
        return draw.between(fmt.min_code, fmt.max_code)
    one, mask = fmt.bias << fmt.mantissa_bits, (1 << fmt.mantissa_bits) - 1
    code = one + (draw.between(-2 * _SCALE_BINADES, _SCALE_BINADES // 3) << fmt.mantissa_bits)
    fraction = draw.below(mask + 1)
    if draw.below(2):
        fraction &= mask ^ mask >> 3
    return min(max(code | fraction, fmt.min_code), fmt.max_code)


def _accumulator(unit: RequantizeUnit, numbers: dict[str, int], draw: Draw) -> int:
    """One that gives half an integer, or nearly, or a multiple of the first rounding's half; or any."""
    fmt, rule, kind = unit.accumulator, unit.rule, draw.below(_ANY_EVERY)
    low, high = ends(fmt)
    if rule.range == "shift":
        power = 1 << (numbers["shift"] - 1)
        low, high = max(low, -power), min(high, power - 1)
    x = unit.of_numbers({**numbers, "accumulator": 0})
    scale, odd = factor(unit, x.multiplier, x.shift), 2 * draw.below(4) + 1
    if kind == 0 or not scale:
        n = near_zero(fmt, draw)
    elif kind == 1:  # with few bits: exact ties
        n = (-odd if draw.below(2) and low else odd) << draw.below(fmt.width)
    else:
        n = _whole(_target(unit, numbers, draw) / scale) + draw.between(-1, 1)
    return min(max(n, low), high)


def _target(unit: RequantizeUnit, numbers: dict[str, int], draw: Draw) -> Fraction:
    """Half an integer within or a little beyond the range; at a tie of the first rounding too, if there is one."""
    least, most = numbers["min"] - numbers["zero_point"], numbers["max"] - numbers["zero_point"]
    if draw.below(4) == 0:
        near = (least, most)[draw.below(2)] + draw.between(-_FAR, _FAR)
    else:
        near = draw.between(least - _FAR, most + _FAR)
    half = Fraction(2 * near + 1, 2)
    if unit.rule.first_bits and draw.below(2):
        half += Fraction(2 * draw.between(-1, 1) + 1, 2 << shifts(numbers["shift"], unit.rule).last)
    return half


def factor(unit: RequantizeUnit, multiplier: int, shift: int) -> Fraction:
    """What the accumulator is multiplied by. multiplier: or the code of a scale."""
    rule = unit.rule
    if not rule.has_shift:
        return decode(multiplier, rule.multiplier_format).as_fraction()
    by = shifts(shift, rule)
    return Fraction(multiplier, 1 << rule.reduced) * Fraction(2) ** (by.left - by.first - by.last)


def _whole(x: Fraction) -> int:
    """The integer below, limited to what any accumulator holds."""
    return min(max(x.numerator // x.denominator, -1 << 64), 1 << 64)
