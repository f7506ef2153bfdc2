"""Values as codes, for operands that are made on purpose."""

from __future__ import annotations

from typing import Final

from softfloat_ref import exact
from softfloat_ref.codec import decoder, encoder
from softfloat_ref.exact import FINITE, Value
from softfloat_ref.formats import Format
from softfloat_ref.policies import Overflow, Policy

_SATURATE: Final = Policy(overflow=Overflow.SAT_FINITE)


def nearest(fmt: Format, x: Value) -> int:
    """The code of the nearest value; the largest finite one beyond."""
    return encoder(fmt, _SATURATE)(x, 0)[0]


def code_of(fmt: Format, x: Value) -> int | None:
    """The code of a value; None where the format does not have it."""
    code = nearest(fmt, x)
    found = decoder(fmt)(code)
    return code if found.kind == FINITE and exact.compare(found, x) == 0 else None
