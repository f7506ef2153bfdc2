"""Arithmetic: special cases in the standard's order (IEEE 754 5.4.1, 6.1 to 6.3, 7.2, 7.3), then an exact result."""

from __future__ import annotations

from collections.abc import Sequence

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, GENERATED, INF, NAN, Value
from softfloat_ref.oracle.flags import DIVIDE_BY_ZERO, INEXACT, INVALID
from softfloat_ref.oracle.operations.formula import (
    DIFFERENCE,
    IDENTITY,
    PRODUCT,
    QUOTIENT,
    RECIPROCAL,
    RECIPROCAL_ROOT,
    ROOT,
    SCALED,
    SUM,
    SUM_OF_THREE,
    sum_of_products,
)
from softfloat_ref.oracle.operations.table import INVALID_OPERATION, Context, Loop, Outcome, nan_operand, operation
from softfloat_ref.oracle.rounding import round_to_unit


@operation("convert", 1, "the value in another format, integers included", formula=IDENTITY, loop=Loop.CONVERT)
def _convert(ctx: Context, a: Value) -> Outcome:
    return a, 0


@operation("add", 2, "a + b", formula=SUM, commutes=True, family="sum", loop=Loop.ADD)
def _add(ctx: Context, a: Value, b: Value) -> Outcome:
    if a.kind == INF or b.kind == INF:
        return _sum_of_infinities(a, b)
    return exact.add(a, b, ctx.zero_sign), 0


def _sum_of_infinities(*terms: Value) -> Outcome:
    signs = {x.sign for x in terms if x.kind == INF}
    return INVALID_OPERATION if len(signs) > 1 else (exact.inf(signs.pop()), 0)


@operation("sub", 2, "a - b", formula=DIFFERENCE, family="sum", loop=Loop.SUB)
def _sub(ctx: Context, a: Value, b: Value) -> Outcome:
    return _add(ctx, a, exact.negate(b))


@operation("mul", 2, "a * b", formula=PRODUCT, commutes=True, family="product", loop=Loop.MUL)
def _mul(ctx: Context, a: Value, b: Value) -> Outcome:
    if a.kind == INF or b.kind == INF:
        if a.is_zero or b.is_zero:
            return INVALID_OPERATION
        return exact.inf(a.sign ^ b.sign), 0
    return exact.multiply(a, b), 0


@operation("div", 2, "a / b", formula=QUOTIENT, pole=True, p3109=True, family="product", loop=Loop.DIV)
def _div(ctx: Context, a: Value, b: Value) -> Outcome:
    if ctx.p3109 and b.is_zero:  # Divide(x, 0) is NaN for every x
        return INVALID_OPERATION
    if a.kind == INF:
        return INVALID_OPERATION if b.kind == INF else (exact.inf(a.sign ^ b.sign), 0)
    if b.kind == INF:
        return exact.zero(a.sign ^ b.sign), 0
    if b.is_zero:
        if a.is_zero:
            return INVALID_OPERATION
        return exact.inf(a.sign ^ b.sign), DIVIDE_BY_ZERO
    return exact.divide(a, b, ctx.bits), 0


@operation("sqrt", 1, "square root", formula=ROOT, family="root", loop=Loop.SQRT)
def _sqrt(ctx: Context, a: Value) -> Outcome:
    if a.is_zero:
        return a, 0
    if a.sign:
        return INVALID_OPERATION
    return (a, 0) if a.kind == INF else (exact.square_root(a, ctx.bits), 0)


@operation(
    "recip",
    1,
    "1 / a, correctly rounded",
    formula=RECIPROCAL,
    pole=True,
    p3109=True,
    family="reciprocal",
    loop=Loop.RECIP,
)
def _recip(ctx: Context, a: Value) -> Outcome:
    return _div(ctx, exact.finite(0, 1, 0), a)


@operation(
    "rsqrt",
    1,
    "1 / sqrt(a), correctly rounded (IEEE 754 9.2)",
    formula=RECIPROCAL_ROOT,
    pole=True,
    p3109=True,
    loop=Loop.SEGMENTS,
    family="reciprocal root",
)
def _rsqrt(ctx: Context, a: Value) -> Outcome:
    if a.is_zero:
        return INVALID_OPERATION if ctx.p3109 else (exact.inf(a.sign), DIVIDE_BY_ZERO)
    if a.sign:
        return INVALID_OPERATION
    return (exact.zero(0), 0) if a.kind == INF else (exact.reciprocal_square_root(a, ctx.bits), 0)


@operation("faa", 3, "a + b + c, rounded once (P3109 FAA)", formula=SUM_OF_THREE, commutes=True, loop=Loop.FAA)
def _faa(ctx: Context, a: Value, b: Value, c: Value) -> Outcome:
    if a.kind == INF or b.kind == INF or c.kind == INF:
        return _sum_of_infinities(a, b, c)
    return _exact_sum(ctx, (a, b, c)), 0


@operation(
    "dot2", 5, "a*b + c*d + e, rounded once (operands a b c d e)", nans=True, formula=sum_of_products(2), commutes=True
)
def _dot2(ctx: Context, *x: Value) -> Outcome:
    return sum_of_terms(ctx, x[:-1], x[-1])


@operation("dot4", 9, "a*b + c*d + e*f + g*h + i, rounded once", nans=True, formula=sum_of_products(4), commutes=True)
def _dot4(ctx: Context, *x: Value) -> Outcome:
    return sum_of_terms(ctx, x[:-1], x[-1])


def sum_of_terms(ctx: Context, factors: Sequence[Value], addend: Value) -> Outcome:
    """The exact sum of factors[0]*factors[1] + ... + addend."""
    pairs = list(zip(factors[::2], factors[1::2], strict=True))
    invalid = any((a.kind == INF and b.is_zero) or (b.kind == INF and a.is_zero) for a, b in pairs)
    rule = ctx.policy.nan_rule
    order = (addend, *factors) if rule.addend_first else (*factors, addend)
    if any(x.kind == NAN for x in order):
        value, flags = nan_operand(rule, order)
        if not invalid or flags:
            return value, flags
        # 0 * Inf beside a quiet NaN: IEEE 754 7.2 c leaves the flag open
        return (GENERATED if rule.fma_generated else value), 0 if rule.fma_quiet else INVALID
    if invalid:
        return INVALID_OPERATION
    infinite = [exact.inf(a.sign ^ b.sign) for a, b in pairs if a.kind == INF or b.kind == INF]
    if infinite or addend.kind == INF:
        return _sum_of_infinities(*infinite, addend)
    return _exact_sum(ctx, [exact.multiply(a, b) for a, b in pairs] + [addend]), 0


def _exact_sum(ctx: Context, terms: Sequence[Value]) -> Value:
    """The sum. A zero sum is -0 if every term is -0, +0 if every term is +0, else of the sign given by the rounding."""
    total = terms[0]
    for term in terms[1:]:
        total = exact.add(total, term, ctx.zero_sign)
    if total.significand or len({x.sign for x in terms}) == 1:
        return total
    return exact.zero(ctx.zero_sign)


@operation("rem", 2, "IEEE remainder: a - b*n, n the integer nearest a/b", pole=True)
def _rem(ctx: Context, a: Value, b: Value) -> Outcome:
    if a.kind == INF or b.is_zero:
        return INVALID_OPERATION
    return (a, 0) if b.kind == INF else (exact.remainder(a, b), 0)


@operation(
    "round_to_integral",
    1,
    "to an integer in floating point, inexact not raised (IEEE 754 5.3.1)",
    integral=True,
    family="round",
    loop=Loop.INTEGRAL,
)
def _round_tointegral(ctx: Context, a: Value) -> Outcome:
    return integral(ctx, a)[0], 0


@operation(
    "round_to_integral_exact",
    1,
    "round_to_integral, raising inexact (IEEE 754 5.9 roundToIntegralExact)",
    integral=True,
    family="round",
    loop=Loop.INTEGRAL_EXACT,
)
def _round_to_integral_exact(ctx: Context, a: Value) -> Outcome:
    value, inexact = integral(ctx, a)
    return value, INEXACT if inexact else 0


def integral(ctx: Context, a: Value) -> tuple[Value, bool]:
    """The number rounded to an integer, and whether that is inexact."""
    if a.kind == INF or a.exponent >= 0:
        return a, False
    whole, inexact = round_to_unit(
        a.sign,
        a.significand,
        a.exponent,
        a.significand.bit_length(),
        ctx.policy.rounding,
        ctx.policy.random_count,
        ctx.random_bits,
    )
    return exact.finite(a.sign, whole, 0), inexact


@operation("scaleb", 2, "a * 2^n, n an integer", operands=("float", "integer"), formula=SCALED, loop=Loop.SCALEB)
def _scaleb(ctx: Context, a: Value, n: Value) -> Outcome:
    if n.kind != FINITE:
        return INVALID_OPERATION
    if a.kind == INF or a.significand == 0:
        return a, 0
    power = exact.whole(n)
    # Beyond this distance every format overflows or reaches zero.
    power = max(-(1 << 24), min(power, 1 << 24))
    return exact.finite(a.sign, a.significand, a.exponent + power), 0


@operation("logb", 1, "floor(log2 |a|) (IEEE 754 5.3.3)", pole=True, loop=Loop.LOGB)
def _logb(ctx: Context, a: Value) -> Outcome:
    if a.kind == INF:
        return exact.inf(0), 0
    if a.significand == 0:
        return exact.inf(1), DIVIDE_BY_ZERO
    power = exact.top(a)
    return exact.finite(int(power < 0), abs(power), 0), 0
