"""Elementary functions that MPFR has: exponentials, logarithms, hyperbolic functions, roots and powers, erf.

The special cases are those of IEEE 754-2019 9.2.1 (of cbrt: rootn(x, 3)); of erf, which it lacks, C23 F.10.8.1. A zero
needs no line where MPFR gives the standard's result for it. P3109 differs in hypot (4.10), which is NaN beside any
NaN; it has no pow, whose NaN and zero are taken as its other operations take them: NaN in, NaN out, and no quotient by
zero.
"""

from __future__ import annotations

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import INF, NAN, Value
from softfloat_ref.oracle.flags import DIVIDE_BY_ZERO
from softfloat_ref.oracle.operations.curve import Curve
from softfloat_ref.oracle.operations.table import INVALID_OPERATION, Context, Outcome, Quick, nan_operand, operation
from softfloat_ref.oracle.reals import function

ONE = exact.finite(0, 1, 0)
_LN2 = "0.6931471805599453094172321214581765680755"
_LOG10_2 = "0.3010299956639811952137388947244930267682"
_HYPERBOLIC = "hyperbolic"
_INVERSE = "inverse hyperbolic"
_EVEN = Curve(None, "0", None, negative=False, parity="even")
_LINE = Curve(exact=(), parity="odd")  # a function that rises everywhere
_BOUNDED = Curve(most=1, exact=("-1", "1"), parity="odd")

# -- exponentials ------------------------------------------------------------------------------------------------------


@operation("exp", 1, "e^a", curve=Curve(negative=False, exact=("1",), doubling=_LN2), family="exp", quick=Quick.EXP)
def _exp(ctx: Context, a: Value) -> Outcome:
    return _exponential("exp", ctx, a)


@operation("exp2", 1, "2^a", curve=Curve(negative=False), family="exp")
def _exp2(ctx: Context, a: Value) -> Outcome:
    return _exponential("exp2", ctx, a)


@operation("exp10", 1, "10^a", curve=Curve(negative=False, doubling=_LOG10_2), family="exp")
def _exp10(ctx: Context, a: Value) -> Outcome:
    return _exponential("exp10", ctx, a)


def _exponential(name: str, ctx: Context, a: Value) -> Outcome:
    if a.kind == INF:
        return exact.zero(0) if a.sign else a, 0
    return function(name, ctx.bits, a), 0


@operation("expm1", 1, "e^a - 1", curve=Curve(exact=("-1",)), family="exp")
def _expm1(ctx: Context, a: Value) -> Outcome:
    if a.kind == INF:
        return exact.negate(ONE) if a.sign else a, 0
    return function("expm1", ctx.bits, a), 0


# -- logarithms --------------------------------------------------------------------------------------------------------


@operation("log", 1, "the natural logarithm of a", curve=Curve("0", None, exact=()), pole=True, family="log")
def _log(ctx: Context, a: Value) -> Outcome:
    return _logarithm("log", ctx, a)


@operation("log2", 1, "the logarithm of a to base 2", curve=Curve("0", None), pole=True, family="log")
def _log2(ctx: Context, a: Value) -> Outcome:
    return _logarithm("log2", ctx, a)


@operation("log10", 1, "the logarithm of a to base 10", curve=Curve("0", None), pole=True, family="log")
def _log10(ctx: Context, a: Value) -> Outcome:
    return _logarithm("log10", ctx, a)


def _logarithm(name: str, ctx: Context, a: Value) -> Outcome:
    if a.is_zero:
        return exact.inf(1), DIVIDE_BY_ZERO
    if a.sign:
        return INVALID_OPERATION
    return (a, 0) if a.kind == INF else (function(name, ctx.bits, a), 0)


@operation("log1p", 1, "the natural logarithm of 1 + a", curve=Curve("-1", None, exact=()), family="log")
def _log1p(ctx: Context, a: Value) -> Outcome:
    above = exact.compare(a, exact.negate(ONE))
    if above <= 0:
        return INVALID_OPERATION if above else (exact.inf(1), DIVIDE_BY_ZERO)
    return (a, 0) if a.kind == INF else (function("log1p", ctx.bits, a), 0)


# -- hyperbolic functions ----------------------------------------------------------------------------------------------


@operation("sinh", 1, "hyperbolic sine", curve=_LINE, family=_HYPERBOLIC)
def _sinh(ctx: Context, a: Value) -> Outcome:
    return _kept_at_infinity("sinh", ctx, a)


@operation(
    "cosh",
    1,
    "hyperbolic cosine",
    curve=Curve(None, "0", None, negative=False, exact=("1",), parity="even"),
    family=_HYPERBOLIC,
)
def _cosh(ctx: Context, a: Value) -> Outcome:
    return (exact.inf(0), 0) if a.kind == INF else (function("cosh", ctx.bits, a), 0)


@operation("tanh", 1, "hyperbolic tangent", curve=_BOUNDED, family=_HYPERBOLIC, quick=Quick.TANH)
def _tanh(ctx: Context, a: Value) -> Outcome:
    return _one_at_infinity("tanh", ctx, a)


@operation("asinh", 1, "inverse hyperbolic sine", curve=_LINE, family=_INVERSE)
def _asinh(ctx: Context, a: Value) -> Outcome:
    return _kept_at_infinity("asinh", ctx, a)


@operation("acosh", 1, "inverse hyperbolic cosine", curve=Curve("1", None, negative=False, exact=()), family=_INVERSE)
def _acosh(ctx: Context, a: Value) -> Outcome:
    if exact.compare(a, ONE) < 0:
        return INVALID_OPERATION
    return _kept_at_infinity("acosh", ctx, a)


@operation("atanh", 1, "inverse hyperbolic tangent", curve=Curve("-1", "1", exact=(), parity="odd"), family=_INVERSE)
def _atanh(ctx: Context, a: Value) -> Outcome:
    beside_one = exact.compare(exact.magnitude(a), ONE)
    if beside_one >= 0:
        return INVALID_OPERATION if beside_one else (exact.inf(a.sign), DIVIDE_BY_ZERO)
    return function("atanh", ctx.bits, a), 0


# -- roots, powers, erf ------------------------------------------------------------------------------------------------


@operation("cbrt", 1, "cube root", curve=Curve(parity="odd"))
def _cbrt(ctx: Context, a: Value) -> Outcome:
    return _kept_at_infinity("cbrt", ctx, a)


@operation("erf", 1, "the error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to a", curve=_BOUNDED)
def _erf(ctx: Context, a: Value) -> Outcome:
    return _one_at_infinity("erf", ctx, a)


@operation("hypot", 2, "sqrt(a^2 + b^2)", nans=True, commutes=True, p3109=True, curve=_EVEN)
def _hypot(ctx: Context, a: Value, b: Value) -> Outcome:
    if a.kind == NAN or b.kind == NAN:
        infinite = a.kind == INF or b.kind == INF
        if infinite and not ctx.p3109 and not a.signaling and not b.signaling:
            return exact.inf(0), 0
        return nan_operand(ctx.policy.nan_rule, (a, b))
    return (exact.inf(0), 0) if a.kind == INF or b.kind == INF else (function("hypot", ctx.bits, a, b), 0)


@operation("pow", 2, "a^b", nans=True, p3109=True, curve=Curve(None, "0", None))
def _pow(ctx: Context, a: Value, b: Value) -> Outcome:
    if a.kind == NAN or b.kind == NAN:
        one = b.is_zero or (a.kind != NAN and exact.compare(a, ONE) == 0)
        if one and not ctx.p3109 and not a.signaling and not b.signaling:
            return ONE, 0
        return nan_operand(ctx.policy.nan_rule, (a, b))
    if b.is_zero:
        return ONE, 0
    sign = a.sign & int(_is_odd(b))
    if a.is_zero or a.kind == INF or b.kind == INF:
        return _extreme_power(ctx, a, b, sign)
    if a.sign and not _is_integer(b):
        return INVALID_OPERATION
    return function("pow", ctx.bits, exact.magnitude(a), b)._replace(sign=sign), 0


def _extreme_power(ctx: Context, a: Value, b: Value, sign: int) -> Outcome:
    """a^b with a zero or infinite operand, where b is not zero; sign: of an odd power."""
    if a.is_zero and b.sign:
        if ctx.p3109:
            return INVALID_OPERATION
        return exact.inf(sign), DIVIDE_BY_ZERO if b.is_finite else 0
    size = exact.compare(exact.magnitude(a), ONE)
    if size == 0:
        return ONE, 0
    return (exact.inf(sign) if (size > 0) != bool(b.sign) else exact.zero(sign)), 0


def _is_integer(x: Value) -> bool:
    """Whether a finite number that is not zero is an integer."""
    return exact.normal(x).exponent >= 0


def _is_odd(x: Value) -> bool:
    """Whether a number that is not zero is an odd integer."""
    return x.is_finite and exact.normal(x).exponent == 0


def _kept_at_infinity(name: str, ctx: Context, a: Value) -> Outcome:
    return (a, 0) if a.kind == INF else (function(name, ctx.bits, a), 0)


def _one_at_infinity(name: str, ctx: Context, a: Value) -> Outcome:
    return (ONE._replace(sign=a.sign), 0) if a.kind == INF else (function(name, ctx.bits, a), 0)
