"""Predicates: what an operand is (IEEE 754 5.7.2, P3109 4.13). They raise no flag, for signalling NaNs either."""

from __future__ import annotations

from collections.abc import Callable

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.table import Context, Outcome, operation


def is_subnormal(fmt: Format, x: Value) -> bool:
    """Whether a finite value of a format that is not zero is subnormal; numbers in two's complement never are."""
    return not fmt.twos_complement and exact.top(x) < fmt.emin


def _predicate(name: str, summary: str, holds: Callable[[Context, Value], bool], *, p3109: bool = False) -> None:
    @operation(name, 1, summary, result="boolean", flushes=False, nans=True, p3109=p3109, family="predicate")
    def ask(ctx: Context, a: Value) -> Outcome:
        return exact.finite(0, int(holds(ctx, a)), 0), 0


def _ordinary(x: Value) -> bool:
    """Whether it is a finite number other than zero."""
    return x.kind == FINITE and x.significand != 0


def _is_sign_minus(ctx: Context, a: Value) -> bool:
    """P3109's NaN has no sign, nor has its zero."""
    return bool(a.sign) and not (ctx.p3109 and (a.kind == NAN or a.is_zero))


_predicate("is_zero", "whether a is a zero", lambda ctx, a: a.is_zero)
_predicate("is_one", "whether a = 1", lambda ctx, a: a.kind == FINITE and exact.compare(a, exact.finite(0, 1, 0)) == 0)
# An operand that is not supported is no NaN, nor a number.
_predicate("is_nan", "whether a is a NaN", lambda ctx, a: a.kind == NAN and a.exponent >= 0)
_predicate("is_infinite", "whether a is an infinity", lambda ctx, a: a.kind == INF)
_predicate("is_finite", "whether a is neither an infinity nor a NaN", lambda ctx, a: a.kind == FINITE)
_predicate("is_sign_minus", "whether a has a minus sign", _is_sign_minus, p3109=True)
_predicate(
    "is_normal",
    "whether a is normal: finite, and neither zero nor subnormal",
    lambda ctx, a: _ordinary(a) and not is_subnormal(ctx.formats[0], a),
)
_predicate("is_subnormal", "whether a is subnormal", lambda ctx, a: _ordinary(a) and is_subnormal(ctx.formats[0], a))
