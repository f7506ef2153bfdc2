"""Numbers as text that was printed from values of a format: digits that name one of its values, which they may not
equal."""

from __future__ import annotations

from fractions import Fraction

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decode, encode
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import parse_number


def read_number(text: str, where: str = "", printed_from: Format | None = None) -> Fraction | Value:
    """The number of a text, exactly, or the nearest one of the format that it was printed from, ties to even. Raises
    Error, also for a number beyond that format."""
    number = parse_number(text, where)
    if printed_from is None or (isinstance(number, Value) and not number.is_finite):
        return number
    encoded = encode(number, printed_from)
    value = decode(encoded.bits, printed_from)
    if encoded.flags & (Flags.OVERFLOW | Flags.INVALID):
        raise Error(f"{where + ': ' if where else ''}{text[:40]!r} is beyond {printed_from.name}, so no value of it")
    return value
