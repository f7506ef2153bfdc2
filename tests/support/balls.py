"""Functions by Arb's balls (python-flint): whether an exact result of the oracle is right, by certain comparisons.

A cut result, s * 2^e with a sticky bit, is right if the function's value lies strictly between s and s + 1 units: then
every rounding of it is that of the value. An exact one is right if balls of many bits contain it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flint import arb, ctx, fmpz

from softfloat_ref.oracle.exact import Value

SURE = 1000  # bits of the balls that must contain a result said to be exact
MOST = 1 << 17
FAR = 1 << 24  # powers of two beyond which a result is only said to be huge or tiny


def _softplus(x: arb) -> arb:
    return x + (-x).exp().log1p() if x > 0 else x.exp().log1p()


def _gelu(x: arb) -> arb:
    t = x / arb(2).sqrt()
    return x / 2 * (-t).erfc()


def _gelu_tanh(x: arb) -> arb:
    u = (2 / arb.pi()).sqrt() * (x + arb(44715) / 1000000 * x**3)
    return x / (1 + (-2 * u).exp())


def _cbrt(x: arb) -> arb:
    return x.root(3) if x >= 0 else -((-x).root(3))


def _pow(x: arb, y: arb) -> arb:
    size = (y * abs(x).log()).exp()
    if x > 0:
        return size
    half = y / 2
    if not y.is_integer():
        return arb.nan()
    return size if half.is_integer() else -size


def _log(base: int) -> Callable[[arb], arb]:
    return lambda x: x.log() / arb(base).log()


FUNCTIONS: dict[str, Callable[..., arb]] = {
    "exp": arb.exp,
    "exp2": lambda x: (x * arb(2).log()).exp(),
    "exp10": lambda x: (x * arb(10).log()).exp(),
    "expm1": arb.expm1,
    "log": arb.log,
    "log2": _log(2),
    "log10": _log(10),
    "log1p": arb.log1p,
    "sin": arb.sin,
    "cos": arb.cos,
    "tan": arb.tan,
    "asin": arb.asin,
    "acos": arb.acos,
    "atan": arb.atan,
    "atan2": lambda y, x: arb.atan2(y, x),
    "sinpi": arb.sin_pi,
    "cospi": arb.cos_pi,
    "tanpi": arb.tan_pi,
    "asinpi": lambda x: x.asin() / arb.pi(),
    "acospi": lambda x: x.acos() / arb.pi(),
    "atanpi": lambda x: x.atan() / arb.pi(),
    "atan2pi": lambda y, x: arb.atan2(y, x) / arb.pi(),
    "sinh": arb.sinh,
    "cosh": arb.cosh,
    "tanh": arb.tanh,
    "asinh": arb.asinh,
    "acosh": arb.acosh,
    "atanh": arb.atanh,
    "hypot": lambda x, y: (x * x + y * y).sqrt(),
    "cbrt": _cbrt,
    "pow": _pow,
    "erf": arb.erf,
    "softplus": _softplus,
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "silu": lambda x: x / (1 + (-x).exp()),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "mish": lambda x: x * _softplus(x).tanh(),
}


def ball(x: Value) -> arb:
    """A finite value, exactly."""
    return arb((fmpz(-x.significand if x.sign else x.significand), x.exponent))


def evaluated(op: str, operands: Sequence[Value], bits: int) -> Any:
    ctx.prec = bits
    return FUNCTIONS[op](*map(ball, operands))


def is_defined(op: str, operands: Sequence[Value]) -> bool:
    """Whether the function has a finite value at finite operands."""
    bits = 64
    while not (found := evaluated(op, operands, bits)).is_finite():
        bits *= 4
        if bits > SURE:
            return False
    return bool(found.is_finite())


# Bounds that a function approaches, but never reaches: of |f|, and of f(x) for positive x by x.
BELOW_ONE = ("tanh", "erf", "sigmoid")
BELOW_OPERAND = ("silu", "gelu", "gelu_tanh", "mish")


def is_right(op: str, operands: Sequence[Value], result: Value) -> bool:
    """Whether a finite result of the oracle, exact or cut, is the function's at finite operands."""
    high, low = ball_above(result), abs(ball(result))
    x = abs(ball(operands[0]))
    never_high = (op in BELOW_ONE and high == 1) or (op in BELOW_OPERAND and high == x)
    never_high |= op == "expm1" and high == 1 and result.sign == 1
    never_low = op == "softplus" and low == x
    return holds(lambda bits: evaluated(op, operands, bits), result, never_low, never_high)


def ball_above(result: Value) -> arb:
    """The magnitude that a cut result is below."""
    return arb((fmpz(result.significand + 1), result.exponent))


def holds(evaluate: Callable[[int], arb], result: Value, never_low: bool = False, never_high: bool = False) -> bool:
    """Whether a finite result, exact or cut, is a number whose ball of some bits `evaluate` gives. never_low,
    never_high: whether its magnitude is known to lie on this side of an end of what a cut result stands for."""
    s, e = result.significand, result.exponent
    if not result.sticky:
        return bool(evaluate(SURE + 4 * s.bit_length()).contains(ball(result)))
    low, high = arb((fmpz(s), e)), ball_above(result)
    if e + s.bit_length() >= FAR:
        high = arb.pos_inf()
    elif e + s.bit_length() < -FAR:
        low, high = arb((fmpz(-1), -FAR)), arb((fmpz(1), -FAR))
    bits = s.bit_length() + 24
    while bits < MOST:
        found = evaluate(bits)
        found = -found if result.sign else found
        if (found > low or never_low) and (found < high or never_high):
            return True
        if found < low or found > high:
            return False
        bits *= 2
    return False
