"""Numbers as text, read and written exactly."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value

ADVICE: Final = "use 1.25, 0x1.4p0, 1/3, inf or nan"
MAX_EXPONENT: Final = 20_000  # power of ten: fp128 ends at 4932; hexadecimal literals go to 2^±1600000
MAX_EXPONENT_OF_TWO: Final = 1_600_000

# No two repetitions are adjacent, so a mismatch is found in a single pass, however long the text.
_DECIMAL: Final = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
MAX_LINE: Final = 1 << 20  # characters of a line of codes: functions of vectors have thousands
_CODE: Final = re.compile(r"(0[xX])?[0-9a-fA-F]{1,80}")
_HEX: Final = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?(?:[pP]([+-]?\d+))?", re.ASCII)
_RATIO: Final = re.compile(r"[+-]?\d{1,4000}/\d{1,4000}", re.ASCII)
_WORD: Final = re.compile(r"([+-]?)(inf|infinity|nan|snan)", re.IGNORECASE)
MAX_DIGITS: Final = 4000
SHOWN_DIGITS: Final = 80
MAX_PLACES: Final = 40  # of a number with a fraction that is written with all digits
_FLOAT64_BITS: Final = sys.float_info.mant_dig
MAX_TOP: Final = 256  # the same for its leading bit: integers have no more bits


def parse_number(text: str, where: str = "") -> Fraction | Value:
    """A decimal, C99 hexadecimal, ratio, inf, nan or snan, exactly. Raises Error, with the context `where`."""
    text = text.strip()
    number = _parse(text) if len(text) <= 2 * MAX_DIGITS else None
    if number is None:
        shown = text if len(text) <= 40 else text[:37] + "..."
        raise Error(f"{where + ': ' if where else ''}{shown!r} {_why(text)}")
    return number


def _why(text: str) -> str:
    """The reason why a text is not a number."""
    match = _DECIMAL.fullmatch(text) or _HEX.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return f"is not a number; {ADVICE}"
    limit = f"10^{MAX_EXPONENT}" if _DECIMAL.fullmatch(text) else f"2^{MAX_EXPONENT_OF_TWO}"
    return f"is out of range: numbers have at most {MAX_DIGITS} digits, times at most {limit}"


def _parse(text: str) -> Fraction | Value | None:
    if match := _DECIMAL.fullmatch(text):
        return _decimal(match)
    if match := _HEX.fullmatch(text):
        return _hexadecimal(match)
    if _RATIO.fullmatch(text):
        numerator, denominator = text.split("/")
        return Fraction(int(numerator), int(denominator)) if int(denominator) else None
    if match := _WORD.fullmatch(text):
        sign, word = int(match[1] == "-"), match[2].lower()
        if word.startswith("inf"):
            return exact.inf(sign)
        return Value(NAN, sign, int(word == "snan"), 8 if word == "snan" else 0, 0, word == "snan")
    return None


def _decimal(match: re.Match[str]) -> Fraction | Value | None:
    power = _power(match[3], MAX_EXPONENT)
    if power is None or len(match[2]) > MAX_DIGITS:
        return None
    number = Fraction(Decimal(match[2])) * (Fraction(10) ** power)
    return _signed(number, match[1])


def _hexadecimal(match: re.Match[str]) -> Fraction | Value | None:
    fraction = match[3] or ""
    digits, power = match[2] + fraction, _power(match[4], MAX_EXPONENT_OF_TWO)
    if not digits or len(digits) > MAX_DIGITS or power is None:
        return None
    significand = int(digits, 16)
    if significand == 0:
        return exact.zero(int(match[1] == "-"))
    return exact.finite(int(match[1] == "-"), significand, power - 4 * len(fraction))


def _power(text: str | None, limit: int) -> int | None:
    """The exponent of a literal; None if it exceeds the limit."""
    if text is not None and len(text) > 10:  # a sign and nine digits: int() need not read more
        return None
    power = int(text or 0)
    return power if abs(power) <= limit else None


def _signed(number: Fraction, sign: str) -> Fraction | Value:
    if number == 0:
        return exact.zero(int(sign == "-"))
    return -number if sign == "-" else number


def ulp_limit(text: str, where: str = "--ulp") -> Fraction:
    """The largest error allowed, in units in the last place. Raises Error."""
    try:
        limit = parse_number(text)
    except Error:
        limit = None
    if isinstance(limit, Fraction) and 0 <= limit <= sys.float_info.max:
        return limit
    if isinstance(limit, Value) and limit.kind == FINITE:
        number = limit.as_fraction()
        if 0 <= number <= sys.float_info.max:
            return number
    raise Error(f"{where} {text[:40]}: give a number of units in the last place, such as 1 or 0.75")


def parse_code(text: str, where: str = "") -> int:
    """A code in hexadecimal, upper or lower case, with or without 0x. Raises Error."""
    digits = text.strip()  # also removes control characters, which int() does not strip
    code = code_or_none(digits)
    if code is None:
        raise Error(f"{where + ': ' if where else ''}{digits!r} is not a hexadecimal code; use 3c00 or 0x3c00")
    return code


def code_or_none(word: str) -> int | None:
    """A code in hexadecimal, as `parse_code` reads it; None for another word."""
    return int(word, 16) if _CODE.fullmatch(word) else None


def shortest(x: Value) -> str:
    """The value in decimal: exact if that is short, else the shortest form of the nearest float64."""
    if x.is_unsupported:
        return "unsupported"
    if x.kind == NAN:
        return "snan" if x.signaling else "nan"
    sign = "-" if x.sign else ""
    if x.kind == INF:
        return f"{sign}inf"
    if x.significand == 0:
        return f"{sign}0.0"
    if not x.sticky and x.exponent >= -64 and exact.top(x) < 64:
        text = _exact_decimal(abs(x.as_fraction()))
        if len(text) <= 20:
            return sign + text
    return repr(float(x)) if -1000 < exact.top(x) < 1000 else hexadecimal(x)


def exactly(x: Value) -> str:
    """Text that `parse_number` reads back to the same value: `shortest` if that is exact, else all digits, or
    hexadecimal if there are too many."""
    text = shortest(x)
    if x.kind != FINITE or x.significand == 0 or x.sticky or "x" in text or Fraction(text) == x.as_fraction():
        return text
    if x.exponent >= -MAX_PLACES and exact.top(x) < MAX_TOP:
        text = _exact_decimal(abs(x.as_fraction()))
        if len(text) <= MAX_PLACES or x.exponent >= 0:
            return f"{'-' if x.sign else ''}{text}"
    return hexadecimal(x)


def writer(bits: int) -> Callable[[Value], str]:
    """`shortest` or `exactly`: writes numbers of up to `bits` significant bits so that they can be read back."""
    return shortest if bits <= _FLOAT64_BITS else exactly


def _exact_decimal(x: Fraction) -> str:
    places = x.denominator.bit_length() - 1  # one decimal for each factor of two in the denominator
    digits = str(x.numerator * 5**places).rjust(places + 1, "0")
    whole, fraction = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{whole}.{fraction or '0'}"


def hexadecimal(x: Value) -> str:
    """A finite value in C99 hexadecimal, 0x1.8p-3: exact ('...' marks a sticky bit or more than 80 digits)."""
    sign = "-" if x.sign else ""
    if x.significand == 0:
        return f"{sign}0x0p+0"
    top = exact.top(x)
    length = x.significand.bit_length() - 1
    digits = -(-length // 4)
    fraction = (x.significand & ((1 << length) - 1)) << (4 * digits - length)
    text = f"{fraction:0{digits}x}".rstrip("0") if digits else ""
    more = "..." if x.sticky or len(text) > SHOWN_DIGITS else ""
    text = text[:SHOWN_DIGITS]
    return f"{sign}0x1{'.' + text if text or more else ''}{more}p{top:+d}"
