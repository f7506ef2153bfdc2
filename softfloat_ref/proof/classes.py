"""Classes of codes as terms: normal, subnormal, zero, Inf, NaN, of a format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from softfloat_ref.oracle.formats import Format
from softfloat_ref.symbolic.terms import FALSE, Term, and_, const, eq, make, not_, or_


def _magnitude(code: Term, fmt: Format) -> Term:
    return make("and", code.width, code, const(fmt.magnitude_mask, code.width))


def is_nan(code: Term, fmt: Format, quiet: bool = False) -> Term:
    """Whether a code is a NaN; quiet: whether it is one that does not signal."""
    if not fmt.has_nan:
        return FALSE
    if fmt.nan == "ieee":
        found = make("ult", 1, const(fmt.inf_code, fmt.width), _magnitude(code, fmt))
    elif fmt.nan == "top":
        found = eq(_magnitude(code, fmt), const(fmt.magnitude_mask, fmt.width))
    else:
        found = eq(code, const(fmt.sign_bit, fmt.width))
    if quiet and fmt.signaling:
        bit = const(fmt.quiet_bit, fmt.width)
        found = and_(found, eq(make("and", fmt.width, code, bit), bit))
    return found


def is_inf(code: Term, fmt: Format) -> Term:
    """Whether a code is Inf, of either sign."""
    return eq(_magnitude(code, fmt), const(fmt.inf_code, fmt.width)) if fmt.infinity else FALSE


def is_finite(code: Term, fmt: Format) -> Term:
    """Whether a code is a number."""
    return not_(or_(is_nan(code, fmt), is_inf(code, fmt)))


def is_zero(code: Term, fmt: Format) -> Term:
    """Whether a code is a zero, of either sign; subnormals of a format without them are zeros."""
    if not fmt.zero:
        return FALSE
    if fmt.twos_complement:
        return eq(code, const(0, fmt.width))
    below = make("ult", 1, _magnitude(code, fmt), const(fmt.min_code, fmt.width))
    return and_(below, is_finite(code, fmt))


def is_normal(code: Term, fmt: Format) -> Term:
    """Whether a code is a number with a full significand."""
    if not fmt.has_normals:
        return FALSE
    below = make("ult", 1, _magnitude(code, fmt), const(fmt.min_normal_code, fmt.width))
    return and_(not_(below), is_finite(code, fmt))


def is_subnormal(code: Term, fmt: Format) -> Term:
    """Whether a code is a nonzero number below the normal ones."""
    return and_(is_finite(code, fmt), not_(or_(is_zero(code, fmt), is_normal(code, fmt))))


def is_negative(code: Term, fmt: Format) -> Term:
    """Whether the sign bit is set."""
    bit = const(fmt.sign_bit, fmt.width)
    return eq(make("and", fmt.width, code, bit), bit) if fmt.signed else FALSE


def is_positive(code: Term, fmt: Format) -> Term:
    """Whether the sign bit is clear."""
    return not_(is_negative(code, fmt))


CLASSES: Final[dict[str, Callable[[Term, Format], Term]]] = {
    "normal": is_normal,
    "subnormal": is_subnormal,
    "zero": is_zero,
    "inf": is_inf,
    "nan": is_nan,
    "finite": is_finite,
    "positive": is_positive,
    "negative": is_negative,
}
