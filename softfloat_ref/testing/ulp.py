"""Exact errors in ulp, for devices that may differ from the exactly rounded result.

An ulp is that of the result's format at the exact result x: 2^(max(e, emin) - m), where
2^e <= |x| < 2^(e+1) and m is the number of stored mantissa bits (Goldberg's, extended to real numbers: Muller et al.,
Handbook of Floating-Point Arithmetic, 2nd edition, 2.3.2); beyond the largest finite value, it is that value's ulp.
The error of a finite answer is its distance from x, in such units.

Special cases:
- If the exact operation gives NaN or Inf, so must the device; anything else is an infinite error, as is a NaN or Inf
  in place of a number.
- Inf, or the policy's replacement for it on overflow, stands for all magnitudes from one ulp past the largest finite
  value, so near the overflow threshold its error is zero or small.
- If the policy's own answer is more than an ulp off (saturation, a flush to zero, an integer's limits), the error
  is the distance from that answer.
- If the exact result is zero, the answer's zero must have its sign. The ulp of zero is the smallest subnormal.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import complete_code, decoder, target
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.flags import DIVIDE_BY_ZERO, INVALID
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Signature, unrounded
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.rtl.tolerance import CompareNan, Tolerance
from softfloat_ref.testing.compare import (
    FLAGS_ONLY,
    Answer,
    ComparisonRule,
    classify,
    code_texts,
    same_result,
)
from softfloat_ref.units import Line, OperationUnit, Unit, VectorUnit

FLAGS: Final = INVALID | DIVIDE_BY_ZERO  # the flags that do not depend on the allowed error
MORE_BITS: Final = 64
_MIN_EXPONENT: Final = 1 << 18  # powers of two below which no format has a number
_LARGEST_FLOAT: Final = Fraction(sys.float_info.max)


class Exact(NamedTuple):
    """An exact result: `value`, or its square root. kind: as for a Value; NaN and Inf have no value."""

    kind: int
    sign: int
    value: Fraction = Fraction(0)
    root: bool = False

    @property
    def is_finite(self) -> bool:
        return self.kind == FINITE

    def compare(self, x: Fraction) -> int:
        """-1, 0 or 1 if this number is below, equal to or above x: exact, also for roots."""
        mine, other = self.value, x
        if self.root:
            if x < 0:
                return 1
            other = x * x
        return (mine > other) - (mine < other)

    def top(self) -> int:
        """The exponent e with 2^e <= |x| < 2^(e+1), for a nonzero number."""
        numerator, denominator = abs(self.value.numerator), self.value.denominator
        e = numerator.bit_length() - denominator.bit_length()
        if numerator << max(-e, 0) < denominator << max(e, 0):
            e -= 1
        return e // 2 if self.root else e

    def near(self, bits: int) -> Fraction:
        """The number itself, or at least this many leading bits of a root."""
        if not self.root or not self.value:
            return self.value
        shift = max(0, bits - self.top())
        return Fraction(math.isqrt((self.value.numerator << 2 * shift) // self.value.denominator), 1 << shift)


def exact_result(sig: Signature, policy: Policy) -> Callable[[Sequence[int], int], Exact]:
    """The function from checked codes and random bits to the exact result. Raises Error for operations on codes."""
    if sig.operation.result != "float":
        raise Error(f"{sig.operation.name} has no error in ulp: its result is not a rounded number")
    formula = sig.operation.formula
    compute = unrounded(sig, policy, 0 if formula else MORE_BITS)
    flush = sig.operation.flushes and policy.flush_inputs
    decoders = tuple(decoder(f, flush, policy.unnormals) for f in sig.formats)

    def run(codes: Sequence[int], random_bits: int = 0) -> Exact:
        x = compute(codes, random_bits)[0]
        if not x.is_finite or not x.sticky or formula is None:
            return exact_number(x)
        values = [decode(code) for decode, code in zip(decoders, codes, strict=True)]
        return Exact(FINITE, x.sign, formula.fraction(values), formula.root)

    return run


def exact_number(x: Value) -> Exact:
    """An exact result that is known, or that was cut to MORE_BITS more bits than rounding needs."""
    if not x.is_finite:
        return Exact(x.kind, x.sign)
    if not x.sticky:
        return Exact(FINITE, x.sign, x.as_fraction())
    # any number past the cut: no number that it is compared with has so many bits
    size, exponent = 2 * x.significand + 1, max(x.exponent - 1, -_MIN_EXPONENT)
    return Exact(FINITE, x.sign, exact.finite(x.sign, size, exponent).as_fraction())


def ulp_of(fmt: Format, x: Exact) -> Fraction:
    """An ulp of a format at an exact number."""
    exponent = fmt.ulp_exponent(x.top() if x.value else fmt.emin)
    return Fraction(2) ** exponent


def is_within(x: Exact, place: Fraction, most: Fraction) -> bool:
    """Whether |x - place| <= most, decided exactly."""
    return x.compare(place - most) >= 0 and x.compare(place + most) <= 0


class Judged(NamedTuple):
    """An answer's error in ulp (None: infinite), and whether it exceeds the limit."""

    error: Fraction | None
    wrong: bool

    @property
    def rank(self) -> tuple[bool, bool, Fraction]:
        return self.wrong, self.error is None, self.error or Fraction(0)


@dataclass
class UlpCase:
    """One of the worst cases. place: of several results, which one."""

    operands: tuple[int, ...]
    expected: int
    got: int
    error: Fraction | None
    place: int = 0


@dataclass
class UlpErrors:
    """The errors of a device for an operation: the limit, the number of cases in each range, and the worst cases."""

    key: ClassVar[str] = "ulp"

    operation: OperationUnit | VectorUnit
    limit: Fraction
    worst_count: int
    compared: int = 0
    infinite: int = 0
    largest: Fraction = Fraction(0)
    ranges: Counter[int] = field(default_factory=Counter)  # key -1: no error; k: up to 2^(k-1) ulp
    _heap: list[tuple[bool, Fraction, int, UlpCase]] = field(default_factory=list)

    def count(self, case: UlpCase) -> None:
        self.compared += 1
        if case.error is None:
            self.infinite += 1
        else:
            self.largest = max(self.largest, case.error)
            self.ranges[_range(case.error)] += 1
        if case.error is None or case.error:
            entry = (case.error is None, case.error or Fraction(0), -self.compared, case)
            (heapq.heappush if len(self._heap) < self.worst_count else heapq.heappushpop)(self._heap, entry)

    @property
    def worst(self) -> list[UlpCase]:
        """The cases of largest error, the largest first."""
        return [entry[-1] for entry in sorted(self._heap, reverse=True)]

    # -- in words ------------------------------------------------------------------------------------------------------

    def summary(self) -> str:
        """The end of a summary line."""
        return (
            f"; largest error {ulp_text(None if self.infinite else self.largest)} ulp, {ulp_text(self.limit)} allowed"
        )

    def text(self) -> list[str]:
        rows = [(_range_name(k), self.ranges[k]) for k in sorted(self.ranges)]
        rows += [("infinite", self.infinite)] if self.infinite else []
        operation = self.operation
        lines = [f"error {name:16}{n:10}  {100 * n / self.compared:8.4f} %" for name, n in rows]
        for case in self.worst:
            codes = _operands(operation, case)
            answers = f"{operation.out.hex(case.got)}, exactly rounded {operation.out.hex(case.expected)}"
            lines.append(f"worst {ulp_text(case.error)} ulp: {operation.op} {codes} = {answers}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The errors for JSON: decimal numbers, None for an infinite error; ranges by their upper ends."""
        operation = self.operation
        return {
            "limit": _decimal(self.limit),
            "largest": None if self.infinite else _decimal(self.largest),
            "largest_finite": _decimal(self.largest),
            "infinite": self.infinite,
            "histogram": [
                {"up_to": 0.0 if k < 0 else _decimal(Fraction(2) ** (k - 1)), "cases": self.ranges[k]}
                for k in sorted(self.ranges)
            ],
            "worst": [
                {
                    "operands": code_texts(operation.inputs, case.operands),
                    **({"place": case.place} if len(operation.result_formats) > 1 else {}),
                    "expected": operation.out.hex(case.expected),
                    "got": f"{case.got:x}",
                    "error": None if case.error is None else _decimal(case.error),
                }
                for case in self.worst
            ],
        }


def _operands(unit: Unit, case: UlpCase) -> str:
    """The inputs of a case; if they are too many to show, the number of the result."""
    if len(unit.result_formats) == 1:
        return " ".join(code_texts(unit.inputs, case.operands))
    return f"{unit.results[0].name}[{case.place}]"


def _range(error: Fraction) -> int:
    """-1 for no error, else the k >= 0 with 2^(k-2) < error <= 2^(k-1); 0 for all up to 1/2."""
    if not error:
        return -1
    doubled = -(-2 * error.numerator // error.denominator)  # the next integer up
    return (doubled - 1).bit_length()


class UlpJudge:
    """Judges a device's answers by their errors in ulp. limit: the largest error allowed. Raises Error."""

    def __init__(self, operation: OperationUnit, limit: Fraction, worst_count: int) -> None:
        self.sig = operation.signature
        self._exact = exact_result(self.sig, operation.policy)
        self._start(operation, limit, worst_count)

    def _start(self, unit: OperationUnit | VectorUnit, limit: Fraction, worst_count: int) -> None:
        if limit < 0:
            raise Error("--ulp is an error in units in the last place: 0, 0.5, 1, ...")
        self.out, self.policy = unit.out, unit.policy
        self.errors = UlpErrors(unit, limit, worst_count)
        arithmetic = isinstance(unit, OperationUnit) and unit.signature.operation.is_arithmetic
        rounding = self.policy if arithmetic else self.policy.replace(rounding_precision=80)
        self._target, self._rounded = target(self.out, rounding), rounding.rounded_format(self.out)
        self._exact_of: dict[Line, Sequence[Exact]] = {}  # of the cases of a diagnosis
        self._bits = 4 * self.out.precision + MORE_BITS

    def exact_results(self, inputs: Line) -> Sequence[Exact]:
        """The exact value of each result."""
        arity = len(self.sig.formats)
        return [self._exact(inputs[:arity], inputs[arity] if self.policy.random_count else 0)]

    def kind(self, line: Line, answer: Answer, tolerance: Tolerance) -> tuple[str, str]:
        """The kind of mismatch of an answer ('' if right), and its error as text: of several results, of the worst one.
        Counts the case."""
        rule, width = ComparisonRule(self.out, tolerance.nan), self.errors.operation.input_width
        inputs, expected, right = tuple(line[:width]), line[width:-1], line[-1]
        exact = self.exact_results(inputs)
        judged = [self.judge(*x, rule) for x in zip(expected, answer.codes, exact, strict=True)]
        at = max(range(len(judged)), key=lambda i: judged[i].rank)
        worst, lane = judged[at], Answer((answer.codes[at],), answer.flags)
        self.errors.count(UlpCase(inputs, expected[at], lane.result, worst.error, at))
        if worst.wrong:
            kind = classify((expected[at], right), lane, rule)
            limit = f"error above {ulp_text(self.errors.limit)} ulp"
            return kind if worst.error is None else limit, ulp_text(worst.error)
        flags_differ = answer.flags is not None and (answer.flags ^ right) & FLAGS & tolerance.flags
        return FLAGS_ONLY if flags_differ else "", ulp_text(worst.error)

    def allows(self, inputs: Line, expected: Sequence[int], got: Sequence[int], nan: CompareNan) -> bool:
        """Whether results are right or have an allowed error. Counts nothing."""
        if inputs not in self._exact_of:
            self._exact_of[inputs] = self.exact_results(inputs)
        rule = ComparisonRule(self.out, nan)
        rows = zip(expected, got, self._exact_of[inputs], strict=True)
        return not any(self.judge(x, y, exact, rule).wrong for x, y, exact in rows)

    def judge(self, expected: int, got: int, x: Exact, rule: ComparisonRule) -> Judged:
        """The error of an answer: `expected` is the policy's answer, x the exact result."""
        fmt = self.out
        if same_result(expected, got, rule):
            right = decoder(fmt)(expected)
            if not (x.is_finite and right.is_finite) or self._departs(right, x):
                return Judged(Fraction(0), False)
            return Judged(abs(right.as_fraction() - x.near(self._bits)) / ulp_of(self._rounded, x), False)
        if got >> fmt.width or not x.is_finite:
            return Judged(None, True)
        place = self._place(got, x)
        if place is None or (not x.value and not place):
            return Judged(None, True)
        return self._distance(expected, place, x)

    def _distance(self, expected: int, place: Fraction, x: Exact) -> Judged:
        fmt, limit = self.out, self.errors.limit
        right, ulp = decoder(fmt)(expected), ulp_of(self._rounded, x)
        if right.is_finite and self._departs(right, x):
            error = abs(place - right.as_fraction()) / ulp
            return Judged(error, error > limit)
        error = abs(place - x.near(self._bits)) / ulp
        return Judged(error, not is_within(x, place, limit * ulp))

    def _departs(self, right: Value, x: Exact) -> bool:
        """Whether the policy's finite answer is more than an ulp from the exact result."""
        return not is_within(x, right.as_fraction(), ulp_of(self._rounded, x))

    def _place(self, code: int, x: Exact) -> Fraction | None:
        """The number that an answer stands for; None if it is not a number."""
        fmt, t = self.out, self._target
        ends = (t.beyond_negative, t.largest_negative) if x.sign else (t.beyond_positive, t.largest_positive)
        beyond, largest = (complete_code(end, fmt, t) for end in ends)
        if code == beyond != largest:
            limit = decoder(fmt)(largest).as_fraction()
            edge = limit + Fraction(2) ** self._rounded.ulp_exponent(fmt.emax) * (-1 if x.sign else 1)
            past = x.compare(edge) * (-1 if x.sign else 1) >= 0
            return x.near(self._bits) if past else edge
        value = decoder(fmt)(code)
        return value.as_fraction() if value.is_finite else None


# -- reports ---------------------------------------------------------------------------------------------------------


def ulp_text(x: Fraction | None) -> str:
    """An error or a limit as text, with six digits."""
    return "infinite" if x is None else f"{_decimal(x):.6g}"


def _decimal(x: Fraction) -> float:
    """The nearest float64; beyond the range, the largest one."""
    return float(x) if x < _LARGEST_FLOAT else float(_LARGEST_FLOAT)


def _range_name(k: int) -> str:
    return "none" if k < 0 else f"up to {ulp_text(Fraction(2) ** (k - 1))} ulp"
