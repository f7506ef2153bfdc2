"""Values as codes, for directed operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Overflow, Policy

_SATURATE: Final = Policy(overflow=Overflow.SAT_FINITE)


def nearest(fmt: Format, x: Value) -> int:
    """The code of the nearest value; beyond the range, of the largest finite one."""
    return encoder(fmt, _SATURATE)(x, 0)[0]


def code_of(fmt: Format, x: Value, decode: Callable[[int], Value] | None = None) -> int | None:
    """The code of a value; None if the format does not have it. decode: reads operands of the format."""
    code = nearest(fmt, x)
    found = (decode or decoder(fmt))(code)
    return code if found.kind == FINITE and exact.compare(found, x) == 0 else None
