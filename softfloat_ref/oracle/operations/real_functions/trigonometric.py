"""Trigonometric functions, and those whose angles are in half turns (the pi forms).

The special cases are those of IEEE 754-2019 9.2.1; P3109 v4.0 differs in atan2 and atan2pi (no signed zeros, NaN for
two zeros or infinities) and in the poles of tanpi (NaN). MPFR knows the exact results of the functions of an angle in
radians, all of them at 0 (or 1).

The pi forms are enclosed, after their exact results; by Niven's theorem there are no others. sin(pi r), cos(pi r) and
tan(pi r) for a rational r are rational at 0, 1/2 and 1 for the first two, and at 0 and 1 for the last, in magnitude;
of the angles that give these, multiples of 1/6 are no binary fractions, which leaves multiples of 1/2, and of 1/4.
Read from the other side, this lists the exact results of the inverses: asin(x)/pi is a rational number at 0, 1/2 and 1
alone, and 1/6 is no binary fraction; atan(x)/pi at 0 and 1 alone.
"""

from __future__ import annotations

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import INF, Value
from softfloat_ref.oracle.flags import DIVIDE_BY_ZERO
from softfloat_ref.oracle.operations.curve import Curve
from softfloat_ref.oracle.operations.table import INVALID_OPERATION, Context, Outcome, operation
from softfloat_ref.oracle.reals import Bounds, Outward, enclosed, function

ONE = exact.finite(0, 1, 0)
HALF = exact.finite(0, 1, -1)
_DIRECT = "trigonometric"
_INVERSE = "inverse trigonometric"
_PI = "3.14159265358979323846264338327950288419717"
_HALF_PI = "1.57079632679489661923132169163975144209858"
_TWO_PI = "6.28318530717958647692528676655900576839434"
_THREE_HALVES_PI = "4.71238898038468985769396507491925432629575"
_ONES = ("-1", "1")
_AROUND = ("-1.5", "-0.5", "0.5", "1.5")
_AROUND_PI = (f"-{_THREE_HALVES_PI}", f"-{_HALF_PI}", _HALF_PI, _THREE_HALVES_PI)

# -- of angles in radians ----------------------------------------------------------------------------------------------


@operation(
    "sin",
    1,
    "sine",
    curve=Curve(*_AROUND_PI, whole=False, most=1, exact=(), parity="odd", period=_TWO_PI),
    family=_DIRECT,
)
def _sin(ctx: Context, a: Value) -> Outcome:
    return _of_angle("sin", ctx, a)


@operation(
    "cos",
    1,
    "cosine",
    curve=Curve(f"-{_PI}", "0", _PI, whole=False, most=1, exact=("1",), parity="even", period=_TWO_PI),
    family=_DIRECT,
)
def _cos(ctx: Context, a: Value) -> Outcome:
    return _of_angle("cos", ctx, a)


@operation(
    "tan", 1, "tangent", curve=Curve(*_AROUND_PI, whole=False, exact=(), parity="odd", period=_PI), family=_DIRECT
)
def _tan(ctx: Context, a: Value) -> Outcome:
    return _of_angle("tan", ctx, a)


def _of_angle(name: str, ctx: Context, a: Value) -> Outcome:
    return INVALID_OPERATION if a.kind == INF else (function(name, ctx.bits, a), 0)


@operation("asin", 1, "inverse sine", curve=Curve("-1", "1", most=2, exact=(), parity="odd"), family=_INVERSE)
def _asin(ctx: Context, a: Value) -> Outcome:
    return INVALID_OPERATION if _beyond_one(a) else (function("asin", ctx.bits, a), 0)


@operation("acos", 1, "inverse cosine", curve=Curve("-1", "1", most=4, negative=False, exact=()), family=_INVERSE)
def _acos(ctx: Context, a: Value) -> Outcome:
    return INVALID_OPERATION if _beyond_one(a) else (function("acos", ctx.bits, a), 0)


@operation("atan", 1, "inverse tangent", curve=Curve(most=2, exact=(), parity="odd"), family=_INVERSE)
def _atan(ctx: Context, a: Value) -> Outcome:
    return (_eighths_in_radians(ctx, 2, a.sign) if a.kind == INF else function("atan", ctx.bits, a)), 0


def _beyond_one(a: Value) -> bool:
    return exact.compare(exact.magnitude(a), ONE) > 0


# -- of angles in half turns -------------------------------------------------------------------------------------------


@operation(
    "sinpi", 1, "sin(pi a)", curve=Curve(*_AROUND, whole=False, most=1, exact=_ONES, parity="odd"), family=_DIRECT
)
def _sinpi(ctx: Context, a: Value) -> Outcome:
    if a.kind == INF:
        return INVALID_OPERATION
    quarter, angle = _reduced(a)
    sign = a.sign ^ quarter >> 1
    return (_cosine if quarter & 1 else _sine)(ctx, sign, angle, exact.zero(a.sign)), 0


@operation(
    "cospi",
    1,
    "cos(pi a)",
    curve=Curve("-1", "0", "1", whole=False, most=1, exact=_ONES, parity="even"),
    family=_DIRECT,
)
def _cospi(ctx: Context, a: Value) -> Outcome:
    if a.kind == INF:
        return INVALID_OPERATION
    quarter, angle = _reduced(a)
    sign = (quarter + 1 & 3) >> 1
    return (_sine if quarter & 1 else _cosine)(ctx, sign, angle, exact.zero(0)), 0


@operation(
    "tanpi", 1, "tan(pi a)", p3109=True, curve=Curve(*_AROUND, whole=False, exact=_ONES, parity="odd"), family=_DIRECT
)
def _tanpi(ctx: Context, a: Value) -> Outcome:
    if a.kind == INF:
        return INVALID_OPERATION
    quarter, angle = _reduced(a)
    sign = a.sign ^ quarter >> 1  # of a zero or an infinity
    if angle.is_zero and quarter & 1:
        return INVALID_OPERATION if ctx.p3109 else (exact.inf(sign), DIVIDE_BY_ZERO)
    if angle.is_zero:
        return exact.zero(sign), 0
    sign = a.sign ^ quarter & 1
    if exact.top(angle) == -2 and angle.significand & (angle.significand - 1) == 0:
        return ONE._replace(sign=sign), 0
    small = exact.compare(angle, exact.finite(0, 1, -2)) < 0
    near = angle if small else _complement(angle)

    def tangent(o: Outward) -> Bounds:
        bounds = o.rising("tan", o.rising("mul", o.pi, o.exactly(near)))
        return bounds if small != bool(quarter & 1) else o.divided(o.exactly(ONE), bounds)

    return enclosed(tangent, ctx.bits, sign), 0


def _reduced(a: Value) -> tuple[int, Value]:
    """|a| modulo 2: the number of halves in it, and the rest, which is less than 1/2."""
    if a.exponent >= 1 or not a.significand:
        return 0, exact.zero(0)
    if a.exponent == 0:
        return 2 * (a.significand & 1), exact.zero(0)
    unit = -a.exponent - 1  # the last bit of the halves
    rest = a.significand & ((1 << unit) - 1)
    return a.significand >> unit & 3, exact.finite(0, rest, a.exponent)


def _complement(angle: Value) -> Value:
    """1/2 minus an angle."""
    return exact.add(HALF, exact.negate(angle))


def _sine(ctx: Context, sign: int, angle: Value, zero: Value) -> Value:
    """The sine of an angle less than 1/2; the cosine of the rest is closer where that is less."""
    if angle.is_zero:
        return zero
    if exact.compare(angle, exact.finite(0, 1, -2)) > 0:
        return _cosine(ctx, sign, _complement(angle), zero)
    return enclosed(lambda o: o.rising("sin", o.rising("mul", o.pi, o.exactly(angle))), ctx.bits, sign)


def _cosine(ctx: Context, sign: int, angle: Value, zero: Value) -> Value:
    if angle.is_zero:
        return ONE._replace(sign=sign)
    if exact.compare(angle, exact.finite(0, 1, -2)) > 0:
        return _sine(ctx, sign, _complement(angle), zero)
    return enclosed(lambda o: o.falling("cos", o.rising("mul", o.pi, o.exactly(angle))), ctx.bits, sign)


@operation(
    "asinpi", 1, "asin(a) / pi", curve=Curve("-1", "1", most=1, exact=("-0.5", "0.5"), parity="odd"), family=_INVERSE
)
def _asinpi(ctx: Context, a: Value) -> Outcome:
    if _beyond_one(a):
        return INVALID_OPERATION
    if a.is_zero:
        return a, 0
    if not exact.compare(exact.magnitude(a), ONE):
        return HALF._replace(sign=a.sign), 0
    return _over_pi("asin", ctx, a.sign, exact.magnitude(a)), 0


@operation(
    "acospi", 1, "acos(a) / pi", curve=Curve("-1", "1", most=1, negative=False, exact=("0.5", "1")), family=_INVERSE
)
def _acospi(ctx: Context, a: Value) -> Outcome:
    if _beyond_one(a):
        return INVALID_OPERATION
    if a.is_zero:
        return HALF, 0
    if not exact.compare(exact.magnitude(a), ONE):
        return ONE if a.sign else exact.zero(0), 0
    return _over_pi("acos", ctx, 0, a), 0


@operation(
    "atanpi",
    1,
    "atan(a) / pi",
    curve=Curve(most=1, exact=("-0.5", "-0.25", "0.25", "0.5"), parity="odd"),
    family=_INVERSE,
)
def _atanpi(ctx: Context, a: Value) -> Outcome:
    if a.kind == INF or a.is_zero:
        return HALF._replace(sign=a.sign) if a.kind == INF else a, 0
    if not exact.compare(exact.magnitude(a), ONE):
        return exact.finite(a.sign, 1, -2), 0
    return _over_pi("atan", ctx, a.sign, exact.magnitude(a)), 0


def _over_pi(name: str, ctx: Context, sign: int, *operands: Value) -> Value:
    """A function of exact operands, nowhere negative, divided by pi."""
    return enclosed(lambda o: o.divided(o.of(name, *operands), o.pi), ctx.bits, sign)


# -- of a point --------------------------------------------------------------------------------------------------------


@operation("atan2", 2, "the angle of the point x = b, y = a", p3109=True, curve=Curve(None, "0", None, most=4))
def _atan2(ctx: Context, a: Value, b: Value) -> Outcome:
    special = _special_angle(ctx, a, b)
    if special is None:
        return function("atan2", ctx.bits, a, b), 0
    eighths, sign = special
    return INVALID_OPERATION if eighths < 0 else (_eighths_in_radians(ctx, eighths, sign), 0)


@operation("atan2pi", 2, "atan2(a, b) / pi", p3109=True, curve=Curve(None, "0", None, most=1))
def _atan2pi(ctx: Context, a: Value, b: Value) -> Outcome:
    special = _special_angle(ctx, a, b)
    if special is None:
        return _over_pi("atan2", ctx, a.sign, exact.magnitude(a), b), 0
    eighths, sign = special
    return INVALID_OPERATION if eighths < 0 else (exact.finite(sign, eighths, -2), 0)


def _special_angle(ctx: Context, y: Value, x: Value) -> tuple[int, int] | None:
    """The angle in eighths of a turn, -1 for NaN, and its sign, of a point on an axis or diagonal or at infinity; None
    for another."""
    if ctx.p3109 and ((y.is_zero and x.is_zero) or (y.kind == INF and x.kind == INF)):
        return -1, 0
    if y.is_zero or (x.kind == INF and y.kind != INF):
        return 4 * x.sign, 0 if ctx.p3109 else y.sign
    if x.is_zero or (y.kind == INF and x.kind != INF):
        return 2, y.sign
    if not exact.compare(exact.magnitude(y), exact.magnitude(x)):
        return 1 + 2 * x.sign, y.sign
    return None


def _eighths_in_radians(ctx: Context, eighths: int, sign: int) -> Value:
    """A multiple of pi / 4."""
    if not eighths:
        return exact.zero(sign)
    return enclosed(lambda o: o.rising("mul", o.pi, o.exactly(exact.finite(0, eighths, -2))), ctx.bits, sign)
