"""Softmax, its logarithm, and attention scores.

With S the sum of e^x_i over the lanes, softmax(x)_j = e^x_j / S and log_softmax(x)_j = x_j - ln S. As in every
implementation, both are made of x_i - max(x): a lane of +Inf is therefore Inf - Inf, which is invalid, as are lanes
that are all -Inf; among others a lane of -Inf adds nothing to S, and its own result is 0, of the logarithm -Inf. A NaN
in any lane is the result of all.

The exact results, n being the number of lanes that are not -Inf:

- softmax_j is rational only if all n are equal; it is then 1/n. Suppose e^x_j = r S with a rational r. Collect equal
  exponents: a sum of powers of e with distinct rational exponents and rational coefficients is zero, so by the theorem
  of Lindemann and Weierstrass each coefficient is. That of any exponent other than x_j is -r times a positive count:
  so there is none, or r = 0, which leaves the coefficient 1 at x_j.
- log_softmax_j is rational only for n = 1; it is then 0. Suppose S = e^(x_j + r). Of the distinct exponents on the
  left, each with a positive count, all but one would have to vanish; so all n are equal, and n = e^r, which is
  transcendental unless r = 0.

All other results are irrational, so they are no boundary between roundings, and an interval that is narrowed ends up
between two of them. Only their distance to one may be small:

- below a boundary, as 1 / (1 + e^-1000000) is below 1, or past it away from zero, as -(5 + e^-1000000): the ends,
  rounded outward, stay on the boundary, and `enclosed` takes a result to be inside of its bounds;
- beside 1/n or a difference of inputs, by about the smallest distance of two inputs or its square: the bits that this
  takes are allowed for (`most_bits`). That no other result is so near to a boundary is not proved; it would raise
  Error, not be wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, cmp_to_key

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import INF, Value
from softfloat_ref.oracle.operations.table import INVALID_OPERATION, Outcome
from softfloat_ref.oracle.reals import MOST_BITS, Bounds, Outward, enclosed
from softfloat_ref.oracle.vector_functions.table import (
    FunctionSetting,
    Lanes,
    OperandValues,
    Parameter,
    nan_among,
    vector_function,
)

ONE = exact.finite(0, 1, 0)
_MORE = 8  # bits of a sum beyond those that its number of terms may cost


class Exponentials:
    """The sum of e^(x - largest x) over some finite numbers; its powers and sums are computed once a precision.

    distances: of each number from the largest; counts: how often each distance occurs.
    """

    def __init__(self, numbers: Sequence[Value]) -> None:
        self.largest = max(numbers, key=cmp_to_key(exact.compare))
        negative = exact.negate(self.largest)
        known = {x: exact.magnitude(exact.add(x, negative)) for x in dict.fromkeys(numbers)}
        self.distances = known
        self.count = len(numbers)
        self.counts = Counter(known[x] for x in numbers)
        self._powers: dict[tuple[int, Value], Bounds] = {}
        self._sums: dict[int, Bounds] = {}
        self._more = self.count.bit_length() + _MORE

    @property
    def equal(self) -> bool:
        """Whether all numbers are equal."""
        return len(self.counts) == 1

    @cached_property
    def most_bits(self) -> int:
        """The most bits to narrow an interval with."""
        smallest = min((exact.top(d) for d in self.counts if d.significand), default=0)
        return MOST_BITS + 4 * max(0, -smallest)

    def outward(self, o: Outward) -> Outward:
        """The arithmetic for sums: with bits that make up for those that a sum loses."""
        return Outward(o.bits + self._more)

    def power(self, o: Outward, distance: Value) -> Bounds:
        """e^-distance."""
        key = o.bits, distance
        if key not in self._powers:
            self._powers[key] = o.negative_exp(o.exactly(distance))
        return self._powers[key]

    def others(self, o: Outward) -> Bounds:
        """The sum without one of the largest numbers."""
        if o.bits not in self._sums:
            total = o.exactly(exact.finite(0, self.counts[exact.zero(0)] - 1, 0))
            for distance, count in self.counts.items():
                if distance.significand:
                    part = self.power(o, distance)
                    part = part if count == 1 else o.rising("mul", part, o.exactly(exact.finite(0, count, 0)))
                    total = o.rising("add", total, part)
            self._sums[o.bits] = total
        return self._sums[o.bits]

    def total(self, o: Outward) -> Bounds:
        """The sum, which is at least one."""
        return o.rising("add", self.others(o), o.exactly(ONE))

    def share(self, x: Value, bits: int) -> Value:
        """e^x over the sum, for one of the numbers."""
        if self.equal:
            return exact.divide(ONE, exact.finite(0, self.count, 0), bits)

        def bounds(o: Outward) -> Bounds:
            o = self.outward(o)
            return o.divided(self.power(o, self.distances[x]), self.total(o))

        return enclosed(bounds, bits, 0, self.most_bits)

    def logarithm(self, x: Value, bits: int) -> Value:
        """The logarithm of `share`."""
        if self.count == 1:
            return exact.zero(0)

        def bounds(o: Outward) -> Bounds:
            o = self.outward(o)
            return o.rising("add", o.exactly(self.distances[x]), o.rising("log1p", self.others(o)))

        return enclosed(bounds, bits, 1, self.most_bits)


@vector_function("softmax", "e^x over the sum of e^x", Parameter("x", "length"), share=True)
def _softmax(setting: FunctionSetting, operands: OperandValues) -> Lanes:
    return _softmax_of(setting, operands["x"])


@vector_function("log_softmax", "the logarithm of softmax", Parameter("x", "length"))
def _log_softmax(setting: FunctionSetting, operands: OperandValues) -> Lanes:
    return _softmax_of(setting, operands["x"], logarithm=True)


def _softmax_of(setting: FunctionSetting, x: Sequence[Value], logarithm: bool = False) -> Lanes:
    same = nan_among(setting.nan_rule, x)
    numbers = [v for v in x if v.kind != INF]
    if same is None and (not numbers or any(v.kind == INF and not v.sign for v in x)):
        same = INVALID_OPERATION
    if same is not None:
        return [same] * len(x)
    of = Exponentials(numbers)
    results: dict[Value, Outcome] = {exact.inf(1): (exact.inf(1) if logarithm else exact.zero(0), 0)}
    for i in range(len(x)) if setting.wanted is None else setting.wanted:
        if x[i] not in results:
            results[x[i]] = (of.logarithm if logarithm else of.share)(x[i], setting.bits), 0
    return [results.get(v, INVALID_OPERATION) for v in x]  # those that are not wanted, too


# -- attention ---------------------------------------------------------------------------------------------------------


@vector_function(
    "attention_scores",
    "softmax of scale times the dot products of q with each row of k",
    Parameter("q", "depth"),
    Parameter("k", "length x depth"),
    Parameter("scale", "one"),
    Parameter("visible", "one", "mask"),
    share=True,
)
def _attention_scores(setting: FunctionSetting, operands: OperandValues) -> Lanes:
    """Keys from number `visible` on are lanes of -Inf, whatever their codes."""
    q, k, scale = operands["q"], operands["k"], operands["scale"][0]
    lanes = len(k) // len(q)
    same = nan_among(setting.nan_rule, [*q, *k[: setting.visible * len(q)], scale])
    if same is not None:
        return [same] * lanes
    numbers = scores(operands, setting.visible)
    if numbers is None:
        return [INVALID_OPERATION] * lanes
    return _softmax_of(setting, [*numbers, *[exact.inf(1)] * (lanes - setting.visible)])


def scores(operands: OperandValues, visible: int) -> list[Value] | None:
    """scale times the dot product of q with each visible row of k, without NaNs; None for an invalid operation."""
    q, k, scale = operands["q"], operands["k"], operands["scale"][0]
    numbers = []
    for i in range(visible):
        score = _score(q, k[i * len(q) : (i + 1) * len(q)], scale)
        if score is None:
            return None
        numbers.append(score)
    return numbers


def _score(q: Sequence[Value], row: Sequence[Value], scale: Value) -> Value | None:
    """scale times the sum of products; None for an invalid operation."""
    if all(x.is_finite for x in (*q, *row, scale)):
        a, b = exact.aligned(q), exact.aligned(row)
        total = sum(x * y for x, y in zip(a.integers, b.integers, strict=True))
        dot = exact.finite(int(total < 0), abs(total), a.exponent + b.exponent)
        return exact.normal(exact.multiply(dot, scale))
    infinite = set()
    for x, y in zip(q, row, strict=True):
        if x.kind == INF or y.kind == INF:
            if x.is_zero or y.is_zero:
                return None
            infinite.add(x.sign ^ y.sign)
    if len(infinite) > 1 or (infinite and scale.is_zero):
        return None
    if infinite:
        return exact.inf(infinite.pop() ^ scale.sign)
    finite = _score(q, row, ONE)
    if finite is None or finite.is_zero:
        return None
    return exact.inf(finite.sign ^ scale.sign)
