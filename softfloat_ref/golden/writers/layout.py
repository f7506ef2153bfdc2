"""Shared by the writers: the layout of text lines and of memory words, and identifiers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from softfloat_ref.units import Field, Line

LICENSE: Final = "SPDX-License-Identifier: 0BSD"


def text_format(fields: Sequence[Field]) -> str:
    """The %-format of a line of TestFloat text."""
    return " ".join(f"%0{f.digits}X" for f in fields for _ in range(f.lanes)) + "\n"


def text_line(fields: Sequence[Field]) -> Callable[[Line], str]:
    """A function from a line to TestFloat text: upper-case hexadecimal, single spaces."""
    template = text_format(fields)
    return lambda line: template % line


def word_line(fields: Sequence[Field]) -> Callable[[Line], str]:
    """A function from a line to a memory word: each field's lanes reversed, so that lane 0 is the lowest."""
    template = "_".join("_".join([f"%0{f.digits}x"] * f.lanes) for f in fields) + "\n"
    order = last_lane_first(fields)
    if order is None:
        return lambda line: template % line
    return lambda line: template % tuple(line[i] for i in order)


def last_lane_first(fields: Sequence[Field]) -> list[int] | None:
    """The places of a line's codes with each field's lanes reversed; None if no field has lanes."""
    order: list[int] = []
    for f in fields:
        order += range(len(order) + f.lanes - 1, len(order) - 1, -1)
    return None if order == sorted(order) else order


def positions(fields: Sequence[Field]) -> dict[str, int]:
    """The lowest bit of each field in a memory word."""
    lsbs, lsb = {}, 0
    for f in reversed(fields):
        lsbs[f.name] = lsb
        lsb += f.stride * f.lanes
    return lsbs


def word_width(fields: Sequence[Field]) -> int:
    """Bits of a memory word."""
    return sum(f.stride * f.lanes for f in fields)


def identifier(name: str) -> str:
    """A name as part of an identifier of C and SystemVerilog."""
    return re.sub(r"\W", "_", name)


def string_literal(text: str) -> str:
    """A tag as a string literal of C and SystemVerilog."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
