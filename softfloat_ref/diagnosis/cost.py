"""How simple operands are: few significant bits, exponents near zero, zeros and ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encode
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.formats import Format

_SPECIAL: Final = 6  # cost of an infinity or NaN; a payload adds its bits


@lru_cache(maxsize=1 << 16)
def code_cost(code: int, fmt: Format | None) -> int:
    """The cost of an operand's code."""
    if fmt is None:
        return code.bit_count()
    x = decoder(fmt)(code)
    if x.kind != FINITE:
        return _SPECIAL + 2 * x.significand.bit_count() + x.sign
    if not x.significand:
        return x.sign
    odd = x.significand // (x.significand & -x.significand)
    return 2 + 4 * (odd.bit_length() - 1) + odd.bit_count() + abs(exact.top(x)) + x.sign


def cost(inputs: Sequence[int], formats: Sequence[Format | None]) -> int:
    """The cost of a case: the sum over its operands."""
    return sum(code_cost(x, f) for x, f in zip(inputs, formats, strict=True))


@lru_cache(maxsize=1 << 14)
def simpler_codes(code: int, fmt: Format | None) -> tuple[int, ...]:
    """Cheaper codes to try in place of one."""
    if fmt is None:
        tried = {0, code & (code - 1), code >> 1}
        return tuple(x for x in sorted(tried) if code_cost(x, None) < code_cost(code, None))
    tried = {0, _one(fmt)}
    if fmt.signed and not fmt.twos_complement:
        tried.add(code & ~fmt.sign_bit)
    m = fmt.mantissa_bits
    fraction = code & ((1 << m) - 1)
    high, low = code - fraction, fraction
    while low:
        low &= low - 1
        tried.add(high | low)
    if fraction:
        tried |= {high | 1 << m - 1, high | 1}
    if fmt.exponent_bits:
        tried |= set(_moved(code, fmt))
    return tuple(x for x in sorted(tried) if x >= 0 and code_cost(x, fmt) < code_cost(code, fmt))


def _one(fmt: Format) -> int:
    return encode(1, fmt, "ieee").bits if not fmt.twos_complement else 1


def _moved(code: int, fmt: Format) -> Iterator[int]:
    """Codes with the exponent closer to zero: at zero, halfway, by one."""
    field = (code & fmt.magnitude_mask) >> fmt.mantissa_bits
    rest = code & ~(fmt.magnitude_mask >> fmt.mantissa_bits << fmt.mantissa_bits)
    off = field - fmt.bias
    step = 1 if off > 0 else -1
    for moved in (off, off // 2, step):
        near = field - moved
        if field and 0 < near < 1 << fmt.exponent_bits:
            yield rest | near << fmt.mantissa_bits


def moved_together(inputs: Sequence[int], formats: Sequence[Format | None]) -> Iterator[tuple[int, ...]]:
    """Pairs of operands moved by the same number of binades, in the same and in opposite directions."""
    for i, j in itertools.combinations(range(len(inputs)), 2):
        for step, sign in itertools.product((1, -1, 4, -4, 16, -16), (1, -1)):
            moved = {i: _up(inputs[i], formats[i], step), j: _up(inputs[j], formats[j], sign * step)}
            if None not in moved.values():
                yield tuple(moved.get(k, x) or 0 for k, x in enumerate(inputs))


def _up(code: int, fmt: Format | None, step: int) -> int | None:
    """A normal number moved by some binades; None if it is not one, or would not be."""
    if fmt is None or not fmt.exponent_bits:
        return None
    field = (code & fmt.magnitude_mask) >> fmt.mantissa_bits
    ends = (1 << fmt.exponent_bits) - 1
    return code + (step << fmt.mantissa_bits) if field and 0 < field + step < ends else None
