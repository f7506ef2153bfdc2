"""Assumptions about inputs, as text: `a is normal and b is finite and c is 3c00`."""

from __future__ import annotations

import re
from typing import Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.oracle.formats import Format
from softfloat_ref.symbolic.build import and_, eq
from softfloat_ref.symbolic.classes import CLASSES, is_in
from softfloat_ref.symbolic.terms import TRUE, Term, const, var
from softfloat_ref.units import Unit
from softfloat_ref.units.unit import lanes_of

_AND: Final = re.compile(r"\s+and\s+")
_PART: Final = re.compile(r"([a-z_]+)(?:\[(\d{1,4})\])?\s+is\s+(\w+)")
_HEX: Final = re.compile(r"(?:0x)?([0-9a-f]+)", re.IGNORECASE)


def assumption(text: str, unit: Unit) -> Term:
    """The bit that an assumption is, of a unit's inputs; '' assumes nothing. All lanes of a field, unless one is
    named. Raises Error."""
    if not text.strip():
        return TRUE
    return and_(*(_part(part, unit) for part in _AND.split(text.strip())))


def _part(text: str, unit: Unit) -> Term:
    match = _PART.fullmatch(text.strip())
    if match is None:
        raise Error(f"--assume: {text!r} is not FIELD is CLASS; example: 'a is normal and b is finite'")
    name, lane, what = match.groups()
    fields = {f.name: f for f in unit.inputs}
    if name not in fields:
        raise unknown("input", name, fields, " (--assume)")
    field = fields[name]
    names = lanes_of(field)
    if lane is not None and int(lane) >= field.lanes:
        raise Error(f"--assume: {name} has {field.lanes} lanes, the first one is {name}[0]")
    chosen = names if lane is None else [names[int(lane)]]
    return and_(*(_one(var(n, field.width), what, field.fmt, name) for n in chosen))


def _one(code: Term, what: str, fmt: Format | None, name: str) -> Term:
    if what in CLASSES:
        if fmt is None:
            raise Error(f"--assume: {name} has no format; give its code in hexadecimal")
        return is_in(what, code, fmt)
    number = _HEX.fullmatch(what)
    if number is None:
        raise unknown("class", what, CLASSES, ", or a code in hexadecimal (--assume)")
    if int(number[1], 16) >> code.width:
        raise Error(f"--assume: {what} does not fit {name}, which has {code.width} bits")
    return eq(code, const(int(number[1], 16), code.width))
