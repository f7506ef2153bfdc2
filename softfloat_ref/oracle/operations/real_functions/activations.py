"""Activation functions, which no floating-point standard defines: the real function, rounded once.

At zeros and infinities the result is the function's limit; zeros that are limits from below are -0. Softplus is also
P3109's (4.12), with the same special cases.

They are enclosed, after their exact results, at 0. Of sigmoid, silu, mish and softplus there are no others, by
the theorem of Lindemann and Weierstrass. For an operand x that is rational and not zero, e^x is transcendental, but
would be algebraic if sigmoid(x), silu(x) / x or mish(x) / x were: each is a rational function of e^x that is not
constant. A rational softplus(x) = y would be the relation e^y - e^x - e^0 = 0 between powers of e with distinct
rational exponents; at x = 0 it is ln 2.
That gelu and gelu_tanh (and erf) have no others is not proved: an operand at which one is a binary fraction of a
result's few bits would raise Error after tens of thousands of bits, not give a wrong result.
"""

from __future__ import annotations

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import INF, Value
from softfloat_ref.oracle.operations.curve import Curve
from softfloat_ref.oracle.operations.table import Context, Outcome, Quick, operation
from softfloat_ref.oracle.reals import Bounds, Enclosure, Outward, enclosed, tiny

ONE = exact.finite(0, 1, 0)
HALF = exact.finite(0, 1, -1)
_FAR = 13  # from -2^13 down, gelu is below every format: erfc(x) < e^(-x^2)


@operation(
    "sigmoid",
    1,
    "1 / (1 + e^-a), the logistic function",
    quick=Quick.SIGMOID,
    curve=Curve(most=1, negative=False, exact=("0.5", "1")),
    family="activation",
)
def _sigmoid(ctx: Context, a: Value) -> Outcome:
    if a.kind == INF:
        return exact.zero(0) if a.sign else ONE, 0
    if a.is_zero:
        return HALF, 0
    return enclosed(lambda o: o.divided(o.exactly(ONE), _logistic(o, a.sign, o.exactly(a))), ctx.bits), 0


@operation("softplus", 1, "ln(1 + e^a)", curve=Curve(negative=False, exact=()), family="activation")
def _softplus(ctx: Context, a: Value) -> Outcome:
    if a.kind == INF:
        return exact.zero(0) if a.sign else a, 0

    def bounds(o: Outward) -> Bounds:
        part = o.rising("log1p", o.negative_exp(o.exactly(a)))
        return part if a.sign else o.rising("add", o.exactly(a), part)

    return enclosed(bounds, ctx.bits), 0


@operation(
    "silu",
    1,
    "a / (1 + e^-a), also called swish",
    curve=Curve(None, "-1.278464542761073795109358739022980155439", None, exact=()),
    family="activation",
)
def _silu(ctx: Context, a: Value) -> Outcome:
    return _gated(ctx, a, lambda o: o.divided(o.exactly(a), _logistic(o, a.sign, o.exactly(a))))


@operation(
    "gelu",
    1,
    "a/2 (1 + erf(a / sqrt 2))",
    curve=Curve(None, "-0.7517915246935644574579049467795240396645", None, exact=()),
    family="activation",
)
def _gelu(ctx: Context, a: Value) -> Outcome:
    if a.sign and a.significand and exact.top(a) >= _FAR:
        return tiny(1, ctx.bits), 0

    def bounds(o: Outward) -> Bounds:
        x = o.rising("mul", o.exactly(a), o.rising("sqrt", o.exactly(HALF)))
        twice = o.falling("erfc", x) if a.sign else o.rising("add", o.exactly(ONE), o.rising("erf", x))
        return o.rising("mul", o.rising("mul", o.exactly(a), o.exactly(HALF)), twice)

    return _gated(ctx, a, bounds)


@operation(
    "gelu_tanh",
    1,
    "a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3)))",
    curve=Curve(None, "-0.7524614220710162584879544432889160906054", None, exact=()),
    family="activation",
)
def _gelu_tanh(ctx: Context, a: Value) -> Outcome:
    """As a / (1 + e^-2u), u being the operand of tanh."""

    def bounds(o: Outward) -> Bounds:
        x = o.exactly(a)
        factor = o.divided(o.exactly(exact.finite(0, 44715, 0)), o.exactly(exact.finite(0, 10**6, 0)))
        cubic = o.rising("add", o.exactly(ONE), o.rising("mul", factor, o.rising("mul", x, x)))
        root = o.rising("sqrt", o.divided(o.exactly(exact.finite(0, 8, 0)), o.pi))
        return o.divided(x, _logistic(o, a.sign, o.rising("mul", root, o.rising("mul", x, cubic))))

    return _gated(ctx, a, bounds)


@operation(
    "mish",
    1,
    "a tanh(ln(1 + e^a))",
    curve=Curve(None, "-1.192431214515495212137588340420739405601", None, exact=()),
    family="activation",
)
def _mish(ctx: Context, a: Value) -> Outcome:
    """As a / (1 + 2 / w), w being e^a (e^a + 2)."""

    def bounds(o: Outward) -> Bounds:
        x, two = o.exactly(a), o.exactly(exact.finite(0, 2, 0))
        e = o.negative_exp(x) if a.sign else o.rising("exp", x)
        w = o.rising("mul", e, o.rising("add", e, two))
        return o.divided(x, o.rising("add", o.exactly(ONE), o.divided(two, w)))

    return _gated(ctx, a, bounds)


def _gated(ctx: Context, a: Value, bounds: Enclosure) -> Outcome:
    """A function that is a times a share between 0 and 1, which it is at the infinities."""
    if a.kind == INF:
        return exact.zero(1) if a.sign else a, 0
    return (a if a.is_zero else enclosed(bounds, ctx.bits, a.sign)), 0


def _logistic(o: Outward, sign: int, size: Bounds) -> Bounds:
    """1 + e^-x, for x of that sign and size."""
    return o.rising("add", o.exactly(ONE), o.rising("exp", size) if sign else o.negative_exp(size))
