"""Errors in ulp, exactly: of devices that are allowed one.

An ulp of a number x is that of the result's format at the exact result: 2^(max(e, emin) - m), where
2^e <= |x| < 2^(e+1) and m is the number of stored mantissa bits (Goldberg's, extended to real numbers: Muller et al.,
Handbook of Floating-Point Arithmetic, 2nd edition, 2.3.2); beyond the largest finite value, it is that value's ulp.
The error of a finite answer is its distance from x, in such units.

What is no number, or no nearby one:
- NaN and Inf that the exact operation gives must come out; anything else is an infinite error, as is a NaN or Inf
  where a number was due.
- Inf, or what the policy gives on overflow instead, stands for all magnitudes from one ulp past the largest finite
  value; so it is right, or a little wrong, beside the overflow threshold.
- Where the policy's own answer is more than an ulp off (saturation, a flush to zero, an integer's limits), the error
  is the distance from that answer.
- Where the exact result is zero, the zero must have its sign. An ulp there is the smallest subnormal.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NamedTuple

from softfloat_ref.codec import decoder, target
from softfloat_ref.errors import Error
from softfloat_ref.exact import FINITE, Value
from softfloat_ref.formats import Format
from softfloat_ref.golden.sets import Line, VectorSet
from softfloat_ref.ops import Signature, get_operation, unrounded
from softfloat_ref.policies import Policy
from softfloat_ref.rounding import DIVIDE_BY_ZERO, INVALID
from softfloat_ref.testing.compare import Answer, Rule, classify, same_result

FLAGS: Final = INVALID | DIVIDE_BY_ZERO  # those that no error allowed to a result can change
_MORE_BITS: Final = 64
_LARGEST: Final = Fraction(sys.float_info.max)


class Exact(NamedTuple):
    """An exact result: `value`, or the square root of it. kind: as a Value's; NaN and Inf have no value."""

    kind: int
    sign: int
    value: Fraction = Fraction(0)
    root: bool = False

    @property
    def is_finite(self) -> bool:
        return self.kind == FINITE

    def compare(self, x: Fraction) -> int:
        """-1, 0 or 1 as this number is below, at or above x: exactly, of roots too."""
        mine, other = self.value, x
        if self.root:
            if x < 0:
                return 1
            other = x * x
        return (mine > other) - (mine < other)

    def top(self) -> int:
        """The exponent e with 2^e <= |x| < 2^(e+1). Of a number that is not zero."""
        numerator, denominator = abs(self.value.numerator), self.value.denominator
        e = numerator.bit_length() - denominator.bit_length()
        if numerator << max(-e, 0) < denominator << max(e, 0):
            e -= 1
        return e // 2 if self.root else e

    def near(self, bits: int) -> Fraction:
        """The number itself, or of a root at least so many leading bits."""
        if not self.root or not self.value:
            return self.value
        shift = max(0, bits - self.top())
        return Fraction(math.isqrt((self.value.numerator << 2 * shift) // self.value.denominator), 1 << shift)


def exact_result(sig: Signature, policy: Policy) -> Callable[[Sequence[int], int], Exact]:
    """The function of checked codes and random bits to the exact result. Raises Error for operations on codes."""
    if sig.operation.result != "float":
        raise Error(f"{sig.operation.name} has no error in ulp: its result is no rounded number")
    compute = unrounded(sig, policy)
    flush = sig.operation.flushes and policy.flush_inputs
    decoders = tuple(decoder(f, flush) for f in sig.formats)
    name = sig.operation.name

    def run(codes: Sequence[int], random_bits: int = 0) -> Exact:
        x = compute(codes, random_bits)[0]
        if not x.is_finite:
            return Exact(x.kind, x.sign)
        if not x.sticky:
            return Exact(FINITE, x.sign, x.as_fraction())
        return _uncut(name, [d(c) for d, c in zip(decoders, codes, strict=True)], x)

    return run


def _uncut(name: str, operands: Sequence[Value], x: Value) -> Exact:
    """The exact form of a result that the oracle cut."""
    first = operands[0].as_fraction()
    if name == "div":
        return Exact(FINITE, x.sign, first / operands[1].as_fraction())
    if name == "recip":
        return Exact(FINITE, x.sign, 1 / first)
    if name in ("sqrt", "rsqrt"):
        return Exact(FINITE, 0, first if name == "sqrt" else 1 / first, root=True)
    raise Error(f"{name}: its exact result is not known as a fraction or a root")


def unit(fmt: Format, x: Exact) -> Fraction:
    """An ulp of a format at an exact number."""
    exponent = fmt.ulp_exponent(x.top() if x.value else fmt.emin)
    return Fraction(2) ** exponent


def within(x: Exact, place: Fraction, most: Fraction) -> bool:
    """Whether |x - place| <= most, decided exactly."""
    return x.compare(place - most) >= 0 and x.compare(place + most) <= 0


class Judged(NamedTuple):
    """An answer's error in ulp (None: infinite), and whether it is more than is allowed."""

    error: Fraction | None
    wrong: bool


@dataclass
class Case:
    """One of the worst cases."""

    operands: tuple[int, ...]
    expected: int
    got: int
    error: Fraction | None


@dataclass
class Errors:
    """The errors of a device: limit, how many cases in each range, the worst ones."""

    limit: Fraction
    kept: int
    compared: int = 0
    infinite: int = 0
    largest: Fraction = Fraction(0)
    ranges: Counter[int] = field(default_factory=Counter)  # number -1: none; k: up to 2^(k-1) ulp
    _heap: list[tuple[bool, Fraction, int, Case]] = field(default_factory=list)

    def count(self, case: Case) -> None:
        self.compared += 1
        if case.error is None:
            self.infinite += 1
        else:
            self.largest = max(self.largest, case.error)
            self.ranges[_range(case.error)] += 1
        if case.error is None or case.error:
            entry = (case.error is None, case.error or Fraction(0), -self.compared, case)
            (heapq.heappush if len(self._heap) < self.kept else heapq.heappushpop)(self._heap, entry)

    @property
    def worst(self) -> list[Case]:
        """The cases of largest error, the largest first."""
        return [entry[-1] for entry in sorted(self._heap, reverse=True)]


def _range(error: Fraction) -> int:
    """-1 for no error, else the k >= 0 with 2^(k-2) < error <= 2^(k-1); 0 for all up to 1/2."""
    if not error:
        return -1
    doubled = -(-2 * error.numerator // error.denominator)  # the next integer up
    return (doubled - 1).bit_length()


class Tolerance:
    """Judges a device's answers by their errors in ulp. limit: the largest error allowed. Raises Error."""

    def __init__(self, vectors: Any, limit: Fraction, kept: int) -> None:
        if not isinstance(vectors, VectorSet) or vectors.block is not None:
            raise Error("--ulp is for scalar operations; dot products and blocks are compared exactly")
        if limit < 0:
            raise Error("--ulp is an error in units in the last place: 0, 0.5, 1, ...")
        self.sig = Signature(get_operation(vectors.op), vectors.formats, vectors.out)
        self.policy = vectors.policy
        self.errors = Errors(limit, kept)
        self._exact = exact_result(self.sig, vectors.policy)
        self._target = target(vectors.out, vectors.policy)
        self._bits = 4 * vectors.out.precision + _MORE_BITS

    def kind(self, line: Line, answer: Answer, rule: Rule) -> tuple[str, Fraction | None]:
        """What kind of mismatch an answer is ('' for none), and its error (None: infinite); it is counted."""
        arity = len(self.sig.formats)
        r = line[arity] if self.policy.random_count else 0
        judged = self.judge(line[-2], answer.result, self._exact(line[:arity], r), rule)
        self.errors.count(Case(tuple(line[:-2]), line[-2], answer.result, judged.error))
        if judged.wrong:
            found = classify((line[-2], line[-1]), answer, rule)
            limit = f"error above {number(self.errors.limit)} ulp"
            return found if judged.error is None else limit, judged.error
        flags_differ = rule.flags and answer.flags is not None and (answer.flags ^ line[-1]) & FLAGS
        return "flags only" if flags_differ else "", judged.error

    def judge(self, expected: int, got: int, x: Exact, rule: Rule) -> Judged:
        """The error of an answer: `expected` is the policy's own, x the exact result."""
        fmt = self.sig.out
        if same_result(expected, got, rule):
            right = decoder(fmt)(expected)
            if not (x.is_finite and right.is_finite) or self._departs(right, x):
                return Judged(Fraction(0), False)
            return Judged(abs(right.as_fraction() - x.near(self._bits)) / unit(fmt, x), False)
        if got >> fmt.width or not x.is_finite:
            return Judged(None, True)
        place = self._place(got, x)
        if place is None or (not x.value and not place):
            return Judged(None, True)
        return self._distance(expected, place, x)

    def _distance(self, expected: int, place: Fraction, x: Exact) -> Judged:
        fmt, limit = self.sig.out, self.errors.limit
        right, ulp = decoder(fmt)(expected), unit(self.sig.out, x)
        if right.is_finite and self._departs(right, x):
            error = abs(place - right.as_fraction()) / ulp
            return Judged(error, error > limit)
        error = abs(place - x.near(self._bits)) / ulp
        return Judged(error, not within(x, place, limit * ulp))

    def _departs(self, right: Value, x: Exact) -> bool:
        """Whether the policy's own finite answer is more than an ulp from the exact result."""
        return not within(x, right.as_fraction(), unit(self.sig.out, x))

    def _place(self, code: int, x: Exact) -> Fraction | None:
        """Where an answer stands among the numbers; None for one that is no number."""
        fmt, t = self.sig.out, self._target
        beyond, largest = (t.beyond_negative, t.largest_negative) if x.sign else (t.beyond_positive, t.largest_positive)
        if code == beyond != largest:
            limit = decoder(fmt)(largest).as_fraction()
            edge = limit + Fraction(2) ** fmt.ulp_exponent(fmt.emax) * (-1 if x.sign else 1)
            past = x.compare(edge) * (-1 if x.sign else 1) >= 0
            return x.near(self._bits) if past else edge
        found = decoder(fmt)(code)
        return found.as_fraction() if found.is_finite else None


# -- reports ---------------------------------------------------------------------------------------------------------


def number(x: Fraction | None) -> str:
    """An error, or a limit, for people: six digits."""
    return "infinite" if x is None else f"{_decimal(x):.6g}"


def _decimal(x: Fraction) -> float:
    """The nearest float64; of what is beyond them, the largest one."""
    return float(x) if x < _LARGEST else float(_LARGEST)


def _largest(errors: Errors) -> str:
    return "infinite" if errors.infinite else number(errors.largest)


def summary(errors: Errors) -> str:
    """The end of a summary line."""
    return f"; largest error {_largest(errors)} ulp, {number(errors.limit)} allowed"


def _range_name(k: int) -> str:
    return "none" if k < 0 else f"up to {number(Fraction(2) ** (k - 1))} ulp"


def text(errors: Errors, vectors: VectorSet) -> list[str]:
    """The histogram and the worst cases."""
    rows = [(_range_name(k), errors.ranges[k]) for k in sorted(errors.ranges)]
    rows += [("infinite", errors.infinite)] if errors.infinite else []
    lines = [f"error {name:16}{n:10}  {100 * n / errors.compared:8.4f} %" for name, n in rows]
    for case in errors.worst:
        codes = " ".join(f"{code:0{f.digits}x}" for f, code in zip(vectors.fields, case.operands, strict=False))
        answers = f"{vectors.out.hex(case.got)}, exactly rounded {vectors.out.hex(case.expected)}"
        lines.append(f"worst {number(case.error)} ulp: {vectors.op} {codes} = {answers}")
    return lines


def to_dict(errors: Errors, vectors: VectorSet) -> dict[str, Any]:
    """The same for JSON: errors as decimal numbers, None for an infinite one; ranges by their upper ends."""
    return {
        "limit": _decimal(errors.limit),
        "largest": None if errors.infinite else _decimal(errors.largest),
        "largest_finite": _decimal(errors.largest),
        "infinite": errors.infinite,
        "histogram": [
            {"up_to": 0.0 if k < 0 else _decimal(Fraction(2) ** (k - 1)), "cases": errors.ranges[k]}
            for k in sorted(errors.ranges)
        ],
        "worst": [
            {
                "operands": [f"{c:0{f.digits}x}" for f, c in zip(vectors.fields, case.operands, strict=False)],
                "expected": vectors.out.hex(case.expected),
                "got": f"{case.got:x}",
                "error": None if case.error is None else _decimal(case.error),
            }
            for case in errors.worst
        ],
    }
