"""Classes of codes as terms, by the oracle's predicates and its decoder; assumptions about inputs, as text:
`a is normal and b is finite and c is 3c00`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.oracle.exact import NAN
from softfloat_ref.oracle.formats import Format
from softfloat_ref.symbolic.build import and_, eq, not_, or_, substitute
from softfloat_ref.symbolic.integers import bit, free
from softfloat_ref.symbolic.reading import Collection, reading
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, const, var
from softfloat_ref.symbolic.units import circuit, decoded
from softfloat_ref.units import Unit, make_unit
from softfloat_ref.units.unit import lanes_of

_PREDICATES: Final = {
    "normal": "is_normal",
    "subnormal": "is_subnormal",
    "zero": "is_zero",
    "inf": "is_infinite",
    "nan": "is_nan",
    "finite": "is_finite",
    "negative": "is_sign_minus",
}
POSITIVE: Final = "positive"
CLASSES: Final = (*_PREDICATES, POSITIVE)
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


def is_in(name: str, code: Term, fmt: Format) -> Term:
    """Whether a code is of a class of CLASSES, by the operation of the oracle that says so."""
    if name == POSITIVE:
        return not_(is_in("negative", code, fmt))
    return _of(_predicate(_PREDICATES[name], fmt), code)


def is_nan(code: Term, fmt: Format, quiet: bool = False) -> Term:
    """Whether a code is a NaN; quiet: whether it is one that does not signal."""
    return _of(_quiet_nan(fmt), code) if quiet else is_in("nan", code, fmt)


def _of(bit: Term, code: Term) -> Term:
    return substitute([bit], {var("a", code.width): code})[0]


@cache
def _predicate(op: str, fmt: Format) -> Term:
    return circuit(make_unit(op, fmt)).terms["result"]


@cache
def _quiet_nan(fmt: Format) -> Term:
    with reading(Collection({})):
        ways = decoded(free(var("a", fmt.width)), fmt, False)
        nans = [and_(w.path.guard, not_(bit(w.value.signaling))) for w in ways if w.value.kind == NAN]
    return or_(*nans) if nans else FALSE
