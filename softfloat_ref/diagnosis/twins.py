"""Formats that differ only in their special codes, and are taken for each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final, NamedTuple

from softfloat_ref.oracle.formats import Format

_WIDEST_BITS: Final = 8  # bits of formats that have twins in use
_KINDS: Final = (
    ("its IEEE twin", "with the codes of the largest exponent for Inf and NaN", "ieee", True, "inf"),
    ("its fn twin", "without Inf, and with NaN only at the largest code", "top", False, "nan"),
    ("its finite twin", "without Inf and NaN", "none", False, "max"),
)
TWINS: Final = tuple(name for name, *_ in _KINDS)


class Twin(NamedTuple):
    """A format with other special codes. difference: how it differs."""

    name: str
    difference: str
    fmt: Format


def twins(fmt: Format) -> Iterator[Twin]:
    """The formats of the same fields with other special codes."""
    if fmt.width > _WIDEST_BITS or not fmt.exponent_bits or fmt.p3109 or not fmt.zero or fmt.nan == "negative-zero":
        return
    for name, difference, nan, infinity, overflow in _KINDS:
        if nan != fmt.nan:
            fields = {"nan": nan, "infinity": infinity, "overflow": overflow, "signaling": False}
            twin = dataclasses.replace(fmt, name=f"{fmt.name}-{nan}", **fields)  # type: ignore[arg-type]
            yield Twin(name, f"{name}, {difference}", twin)
