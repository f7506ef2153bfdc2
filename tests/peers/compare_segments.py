"""The proof of the compiled functions' bounds, by Arb: `python tests/peers/compare_segments.py [FUNCTION...]`.

For each segment (softfloat_ref/arrays/kernels/segments.py): Taylor's polynomial of the function in u, its coefficients
and the remainder as balls, less the base, the multiple of the operand and the polynomial that binary64 computes. That
difference, with what binary64 loses, must lie strictly within the bounds; where Taylor's balls are too wide, halves of
the segment are tried.
Two things are known without balls: bounds that a function approaches, but never reaches (balls.py); and that every
step of `polynomial` rounds once, by at most 2^-53 of its result.

It prints a row for each function: the segments proved, how many were not, the widest bound (of about 2^61).
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1] / "support")]

import balls
from flint import arb, arb_series, ctx, fmpq, fmpz

from softfloat_ref.arrays.kernels import segments as sg
from softfloat_ref.oracle.operations import OPERATIONS, Operation
from softfloat_ref.oracle.operations.table import Loop

NAMES = [name for name, row in OPERATIONS.items() if row.loop is Loop.SEGMENTS]
ORDER = 14
BITS = 800  # the square of the smallest operand, 2^-149, beside 1, and more
HALVINGS = 7
MIDDLE, WHOLE = fmpq(0), fmpq(1)
ROUNDINGS = 9  # of one term of `polynomial`


def _tanh(x: Any) -> Any:
    if x[0] < 0:
        return -_tanh(-x)
    e = (-2 * x).exp()
    return (1 - e) / (1 + e)


def _softplus(x: Any) -> Any:
    return x + (1 + (-x).exp()).log() if x[0] > 0 else (1 + x.exp()).log()


def _sigmoid(x: Any) -> Any:
    if x[0] > 0:
        return 1 / (1 + (-x).exp())
    e = x.exp()
    return e / (1 + e)


def _gelu_tanh(x: Any) -> Any:
    u = (2 / arb.pi()).sqrt() * (x + arb(44715) / 1000000 * x * x * x)
    return x * _sigmoid(2 * u)


def _asinh(x: Any) -> Any:
    return (x + (x * x + 1).sqrt()).log() if x[0] > 0 else -((-x) + (x * x + 1).sqrt()).log()


def _cbrt(x: Any) -> Any:
    return (x.log() / 3).exp() if x[0] > 0 else -(((-x).log() / 3).exp())


def _acos(x: Any) -> Any:
    return arb.pi() / 2 - x.asin()


SERIES: dict[str, Any] = {
    "exp": lambda x: x.exp(),
    "exp2": lambda x: (x * arb(2).log()).exp(),
    "exp10": lambda x: (x * arb(10).log()).exp(),
    "expm1": lambda x: x.exp() - 1,
    "log": lambda x: x.log(),
    "log2": lambda x: x.log() / arb(2).log(),
    "log10": lambda x: x.log() / arb(10).log(),
    "log1p": lambda x: (1 + x).log(),
    "sinh": lambda x: (x.exp() - (-x).exp()) / 2,
    "cosh": lambda x: (x.exp() + (-x).exp()) / 2,
    "tanh": _tanh,
    "asinh": _asinh,
    "acosh": lambda x: (x + (x - 1).sqrt() * (x + 1).sqrt()).log(),
    "atanh": lambda x: ((1 + x) / (1 - x)).log() / 2,
    "cbrt": _cbrt,
    "erf": lambda x: x.erf(),
    "asin": lambda x: x.asin(),
    "acos": _acos,
    "atan": lambda x: x.atan(),
    "asinpi": lambda x: x.asin() / arb.pi(),
    "acospi": lambda x: _acos(x) / arb.pi(),
    "atanpi": lambda x: x.atan() / arb.pi(),
    "rsqrt": lambda x: x.rsqrt(),
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: x / 2 * (-x / arb(2).sqrt()).erfc(),
    "gelu_tanh": _gelu_tanh,
    "mish": lambda x: x * _tanh(_softplus(x)),
}


class Claim:
    """A segment of a function, and what its row says."""

    def __init__(self, name: str, place: sg.SegmentPlace, whole: Any, parts: Any) -> None:
        self.name, self.place = name, place
        self.base, self.multiple, self.unit, self.below, self.above = map(int, whole)
        self.parts = [float(p) for p in parts]
        half = sg.WIDTH - 2 - place.steps
        self.middle, self.half = place.at(0).significand, 1 << half
        self.exponent = place.binade - sg.WIDTH + 1

    def operand(self, center: fmpq, radius: fmpq, wide: bool) -> Any:
        """The operand's series in v, u = center + radius * v; wide: around all of the part, not its middle."""
        sign, scale = (-1 if self.place.sign else 1), arb(2) ** self.exponent
        at = center + radius * arb(0, 1) if wide else arb(center)
        return arb_series([sign * (self.middle + self.half * at) * scale, sign * self.half * arb(radius) * scale])

    def is_proved(self, center: fmpq = MIDDLE, radius: fmpq = WHOLE, halvings: int = HALVINGS) -> bool:
        """Whether the claim holds for u from center - radius to center + radius."""
        if abs(self.unit) >= sg.HUGE:
            return self._far()
        try:
            if self._within(center, radius):
                return True
        except ValueError:  # a ball of a divisor holds 0
            pass
        if not halvings:
            return False
        half = radius / 2
        return all(self.is_proved(center + s * half, half, halvings - 1) for s in (-1, 1))

    def _far(self) -> bool:
        """Whether the result has the sign said, and is beyond, or below, what is told apart: at both ends, since the
        segment lies in one piece of the curve."""
        ends = [arb(self.middle + s * self.half) * arb(2) ** self.exponent for s in (-1, 1)]
        size = [Fraction(self.middle + s * self.half) * Fraction(2) ** self.exponent for s in (-1, 1)]
        low, high = sorted(-x if self.place.sign else x for x in size)
        curve = OPERATIONS[self.name].curve
        assert curve is not None
        if not any((p.low is None or p.low <= low) and (p.high is None or high <= p.high) for p in curve.pieces):
            return False
        found = [SERIES[self.name](arb_series([-x if self.place.sign else x]))[0] for x in ends]
        found = [-y if self.base < 0 else y for y in found]
        if self.unit > 0:
            return all(y > arb(2) ** sg.FAR for y in found)
        return all(y < arb(2) ** -sg.FAR and (y > 0 or self.name in (*POSITIVE, *GATED)) for y in found)

    def _within(self, center: fmpq, radius: fmpq) -> bool:
        found = [x * arb(2) ** -self.unit for x in self._coefficients(center, radius)]
        found[0] -= self.base + self.multiple * (self.middle + self.half * arb(center))
        found[1] -= self.multiple * self.half * arb(radius)
        lost = arb(0)
        if any(self.parts):
            for k, part in enumerate(self._shifted(center, radius)):
                found[k] -= part
            lost = 1 + arb(ROUNDINGS) * arb(2) ** -53 * (1 + arb(2) ** -40) * sum(map(abs, self.parts))
        spread = sum((abs(x) for x in found[1:]), arb(0))
        low, high = found[0] - spread - lost, found[0] + spread + lost
        return bool(low > -self.below or (not self.below and self._never(1))) and bool(
            high < self.above or (not self.above and self._never(-1))
        )

    def _coefficients(self, center: fmpq, radius: fmpq) -> list[Any]:
        """Taylor's, the last one for all of the part."""
        function = SERIES[self.name]
        near = function(self.operand(center, radius, wide=False))
        wide = function(self.operand(center, radius, wide=True))
        return [*(near[k] for k in range(ORDER - 1)), wide[ORDER - 1]]

    def _shifted(self, center: fmpq, radius: fmpq) -> list[Any]:
        """The polynomial's coefficients in v."""
        by = arb_series([arb(center), arb(radius)])
        total = arb_series([0])
        for part in reversed(self.parts):
            total = total * by + arb(part)
        return [total[k] for k in range(len(self.parts))]

    def _never(self, side: int) -> bool:
        """Whether f > base (side 1), or f < base (-1), is known, base being a limit at infinity of the function."""
        one = self.multiple == 0 and abs(self.base) == 1 << -self.unit
        away = -1 if self.place.sign else 1  # the sign of the operand
        if self.name in balls.BELOW_ONE and one:
            return side == -away
        if self.name in balls.BELOW_OPERAND and self.multiple == 1:
            return side == -1
        if self.name == "expm1" and one and self.base < 0:
            return side == 1
        return self.name == "softplus" and self.multiple == 1 and side == 1


POSITIVE = ("exp", "exp2", "exp10", "sigmoid", "softplus")
GATED = balls.BELOW_OPERAND  # the operand times a positive number: its sign


def claims(operation: Operation) -> Any:
    """The claims of a function's tables. Rows that symmetry shares stand once."""
    known = sg.segments(operation)
    for sign in (0, 1):
        for at in range(sg.BINADES):
            first, steps, _ = map(int, known.binades[sign, at])
            if first <= sg.ASK or (sign and (known.binades[0, at, 0] == first)):
                continue
            for index in range(1 << steps):
                row = first + (1 << steps) + index
                yield Claim(
                    operation.name,
                    sg.SegmentPlace(sign, at + sg.LEAST, steps, index),
                    known.whole[row],
                    known.parts[row],
                )


def symmetry(name: str) -> bool:
    """Whether a function is odd or even as its row says, at one operand, and not as a row without a word."""
    curve = OPERATIONS[name].curve
    parity = curve.parity if curve else ""
    ctx.prec, ctx.cap = BITS, 2
    if not parity:
        return True
    positive, negative = (SERIES[name](arb_series([fmpq(s * 3, 7)]))[0] for s in (1, -1))
    return bool((positive + negative if parity == "odd" else positive - negative).contains(fmpz(0)))


def outside_is_right(operation: Operation) -> bool:
    """Whether each binade said to be outside the domain lies beyond the ends of the curve; of rsqrt, below zero."""
    binades = sg.segments(operation).binades
    curve = operation.curve
    low, high = (curve.pieces[0].low, curve.pieces[-1].high) if curve else (Fraction(0), None)
    for sign in (0, 1):
        for at in range(sg.BINADES):
            if binades[sign, at, sg.FIRST] == sg.OUTSIDE:
                size = Fraction(2) ** (at + sg.LEAST)
                near, far = (-2 * size, -size) if sign else (size, 2 * size)  # the end in the binade is that of `size`
                below = low is not None and (far < low if sign else far <= low)
                above = high is not None and (near >= high if sign else near > high)
                if not below and not above:
                    return False
    return True


def prepare() -> None:
    """Set Arb's precision, and the number of terms of its series."""
    ctx.prec, ctx.cap = BITS, ORDER


def prove(name: str, every: int = 1) -> tuple[int, int, int]:
    """The number of segments proved, of those that are not, and the widest bound of a useful one."""
    prepare()
    proved = failed = widest = 0
    for number, claim in enumerate(claims(OPERATIONS[name])):
        if number % every or claim.below >= sg.UNBOUNDED:
            continue
        widest = max(widest, claim.below, claim.above)
        if claim.is_proved():
            proved += 1
        else:
            failed += 1
            print(f"not proved: {name} {claim.place} {claim.base} {claim.multiple} {claim.unit} -{claim.below}")
    return proved, failed, widest


def main(*names: str) -> int:
    """Print a row for each function."""
    print(f"{'function':12}{'segments':>10}{'not proved':>12}{'widest bound':>14}{'seconds':>9}")
    wrong = 0
    for name in names or NAMES:
        start = time.process_time()
        proved, failed, widest = prove(name)
        failed += (not symmetry(name)) + (not outside_is_right(OPERATIONS[name]))
        print(f"{name:12}{proved:10}{failed:12}{widest:14}{time.process_time() - start:9.1f}", flush=True)
        wrong += failed
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
