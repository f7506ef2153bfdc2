"""Classes of codes as terms, by the oracle's predicates and its decoder."""

from __future__ import annotations

from functools import cache
from typing import Final

from softfloat_ref.oracle.exact import NAN
from softfloat_ref.oracle.formats import Format
from softfloat_ref.symbolic.build import and_, not_, or_, substitute
from softfloat_ref.symbolic.integers import bit, free
from softfloat_ref.symbolic.reading import Collection, reading
from softfloat_ref.symbolic.terms import FALSE, Term, var
from softfloat_ref.symbolic.units import circuit, decoded
from softfloat_ref.units import make_unit

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
