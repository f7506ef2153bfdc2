"""Models for comparisons, and two that IBM's suite does not have: saturation, flushed results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Final

from softfloat_ref.coverage.classes import members
from softfloat_ref.coverage.codes import operand
from softfloat_ref.coverage.engine.framework import SIGNS, Bins, Cell, Line, bits, cross
from softfloat_ref.coverage.operation.reach import between, reach, span, spans
from softfloat_ref.coverage.operation.rulers import RegionModel
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationModel, OperationSetting
from softfloat_ref.coverage.operation.solve import solve, unreachable
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import encoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value, finite
from softfloat_ref.oracle.policies import Overflow

_EXPONENT_STEPS: Final = {-2: "-far", -1: "-1", 0: "0", 1: "+1", 2: "+far"}


class Comparisons(OperationModel):
    """B19: signs, exponents and significands of two operands against each other."""

    id = "B19"
    title = "comparisons: signs, difference of exponents, order of significands"

    def applies(self, where: OperationSetting) -> bool:
        return where.sig.operation.ordering

    def bins(self, where: OperationSetting) -> Bins:
        """Those of equal magnitudes first, then those that are close: a short set has them, of every sign."""
        orders = {-1: "<", 0: "=", 1: ">"}
        bins = cross("{a},{b}.exponent{d}.significand{order}", a=SIGNS, b=SIGNS, d=_EXPONENT_STEPS, order=orders)
        return dict(sorted(bins.items(), key=lambda item: (abs(item[0][2]), abs(item[0][3]))))

    def never(self, where: OperationSetting, cell: Cell) -> str:
        s, t, d, order = cell
        a, b = spans(where)
        if (s and not a.negative) or (t and not b.negative):
            return "no operand is negative"
        low, high = a.least - b.most, a.most - b.least
        if (d == 2 and high < 2) or (d == -2 and low > -2) or (abs(d) < 2 and not low <= d <= high):
            return "the exponents never differ by that much"
        one_bit = (order < 0 and b.bits == 1) or (order > 0 and a.bits == 1)
        return "every significand is 1" if one_bit else ""

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """Two numbers in that relation, of several exponents; those that are equal or neighbours first."""
        s, t, d, order = cell
        fa, fb = where.formats
        a, b = span(fa), span(fb)
        low, high = a.least, a.most
        places = [0, 1, -1, low, high, low + 1, high - 1]
        places += [*range(low, min(high, low + 12)), *range(max(low, high - 12), high)]
        for turn in range(96):
            e = places[turn] if turn < len(places) else low + turn * 7 % (high - low + 1)
            step = d if abs(d) < 2 else d + (turn % 5) * (1 if d > 0 else -1)
            p = min(a.bits, b.bits, 24)
            x = 1 << (p - 1) | bits(turn + 1, 3, p - 1) if turn % 3 else (1 << p) - 1
            y = x - (order > 0) + (order < 0) if turn % 2 else x ^ (bits(turn, 5, p - 1) if order else 0)
            for m, n in ((x, y), (y, x), (1 << (p - 1), x), (x, 1 << (p - 1))):
                if m > 0 and n > 0 and _order(m, n) == order:
                    first = operand(fa, finite(s, m, e - m.bit_length() + 1))
                    second = operand(fb, finite(t, n, e - step - n.bit_length() + 1))
                    if first is not None and second is not None:
                        yield first, second

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        x, y = e.operands
        if x.kind == y.kind == FINITE and x.significand and y.significand:
            d = min(max(exact.top(x) - exact.top(y), -2), 2)
            yield x.sign, y.sign, d, _order(x.significand, y.significand)


def _order(m: int, n: int) -> int:
    """How two significands compare, each with its leading bit at the same place."""
    return exact.compare(finite(0, m, -m.bit_length()), finite(0, n, -n.bit_length()))


class Saturation(OperationModel):
    """SAT: results too large, infinite, NaN or negative for the target."""

    id = "SAT"
    title = "saturation: finite overflow, infinities, NaN and negative values that the target cannot represent"

    def applies(self, where: OperationSetting) -> bool:
        saturates = where.out.overflow != "inf" or where.policy.overflow_for(where.out) != Overflow.SAT_NONE
        return where.rounded and saturates

    def bins(self, where: OperationSetting) -> Bins:
        """Each kind, and the numbers that only just overflow, or do not, in the rounding at hand."""
        nan = {} if where.out.has_nan else {(0, "nan"): "nan"}
        negative = {} if where.out.signed else {(1, "negative"): "negative"}
        kinds = ("just-in", "just-out", "overflow", "inf")
        return cross("{sign}.{kind}", sign=SIGNS, kind=kinds) | nan | negative

    def never(self, where: OperationSetting, cell: Cell) -> str:
        sign, kind = cell
        if kind == "inf":
            return "" if any(self._special(where, INF, sign)) else "no exact result is infinite with that sign"
        if kind == "nan":
            if where.policy.nan_missing == "error" and not where.out.is_integer:
                return "no result is defined under this policy"
            return "" if any(self._special(where, NAN)) else "no exact result is NaN"
        bounds = reach(where)
        if sign and bounds is not None and not bounds.negative:
            return "no result is negative"
        if kind == "negative":
            return ""
        most = where.largest(sign)
        if most is None:
            return "the target has no such sign"
        if bounds is not None and exact.compare(bounds.high, exact.magnitude(most)) <= 0:
            return "every exact result is in range"
        if kind == "just-in" and not _stays_in_range(where, most):
            return "the rounding brings every value above the largest one back into range"
        return "" if kind == "overflow" else _nothing_past(where, most, 1 if kind == "just-in" else 3)

    def _special(self, where: OperationSetting, kind: int, sign: int | None = None) -> Iterator[Line]:
        """Some operands of every class whose exact result is of that kind and sign."""
        listed = [[c for codes in members(f, True).values() for c in codes[:2]] for f in where.formats]
        for codes in product(*listed):
            x = where.exactly(codes)
            if x.kind == kind and sign in (None, x.sign):
                yield codes

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        sign, kind = cell
        if kind in ("nan", "inf"):
            yield from self._special(where, *((NAN,) if kind == "nan" else (INF, sign)))
            return
        if kind == "negative":
            least = finite(1, *where.out.magnitude(max(where.out.min_code, 1)))
            for x in (least, least._replace(exponent=least.exponent - 1), finite(1, 1, 0), finite(1, 3, -1)):
                yield from islice(solve(where, x), 3)
                yield from islice(solve(where, between(1, x.significand, x.exponent)), 3)
            return
        most = where.largest(sign)
        assert most is not None
        for seed in range(4):
            for region in _regions_past(most):
                yield from islice(solve(where, region, seed), 4)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the exact result and its overflow."""
        x = e.exact
        if x.kind != FINITE:
            yield (0, "nan") if x.kind == NAN else (x.sign, "inf")
        if e.place is None:
            return
        if x.sign:
            yield x.sign, "negative"
        most = e.where.largest(x.sign)
        if most is None or exact.compare(x._replace(sign=0, sticky=0), exact.magnitude(most)) < 0:
            return
        if e.place.is_exact and e.place.code <= e.where.limit(x.sign):
            return
        if not _raises_overflow(e.where, e.flags):
            yield x.sign, "just-in"
            return
        yield x.sign, "overflow"
        if exact.compare(x._replace(sign=0, sticky=0), finite(0, most.significand + 2, most.exponent)) < 0:
            yield x.sign, "just-out"


def _regions_past(most: Value) -> list[Value]:
    """Regions within two ulps above the largest value."""
    sign, s, q = most.sign, most.significand, most.exponent
    halves = [finite(sign, 2 * s + 1, q - 1), between(sign, 2 * s, q - 1), between(sign, 2 * s + 1, q - 1)]
    return [between(sign, s, q), *halves, finite(sign, s + 1, q), between(sign, s + 1, q)]


def _nothing_past(where: OperationSetting, most: Value, ulps: int) -> str:
    """Why no exact result lies above the largest value, within a number of its ulps; '' if one may."""
    reason = ""
    for k in range(ulps):
        for make in (between, finite) if k else (between,):
            reason = unreachable(where, make(most.sign, most.significand + k, most.exponent))
            if not reason:
                return ""
    return reason


def _raises_overflow(where: OperationSetting, flags: int) -> bool:
    """Whether flags say overflow, or invalid of an integer target."""
    return bool(flags & where.target.overflow_flags & ~1)


def _stays_in_range(where: OperationSetting, most: Value) -> bool:
    """Whether some number above the largest value stays in range, in this rounding."""
    tiny = finite(most.sign, (most.significand << 12) + 1, most.exponent - 12)
    encode, highest = encoder(where.out, where.policy), max((1 << where.policy.random_count) - 1, 0)
    return any(not _raises_overflow(where, encode(tiny, r)[1]) for r in (0, highest))


class FlushedResults(RegionModel):
    """FTZ: tiny results under a policy that flushes them."""

    id = "FTZ"
    title = "flushed results: exact and inexact tiny values, and those that round up to the smallest normal"

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded and where.policy.flush_outputs and where.gradual

    def regions(self, where: OperationSetting, cell: Cell) -> list[Value]:
        (sign, kind), fmt = cell, where.out
        unit, n = fmt.emin - fmt.mantissa_bits, 1 << fmt.mantissa_bits
        table = {
            "below-all": [between(sign, 0, unit)],
            "subnormal": [finite(sign, k, unit) for k in dict.fromkeys((n - 1, 1, n // 2, n // 3, n - 2)) if 0 < k < n],
            "inexact": [between(sign, k, unit) for k in dict.fromkeys((1, n // 2, n // 3)) if 0 < k < n - 1],
            "last-ulp": [between(sign, n - 1, unit)],
            "smallest-normal": [finite(sign, n, unit)],
        }
        return table[kind]

    def bins(self, where: OperationSetting) -> Bins:
        """Five kinds of each sign, where the format has them."""
        kinds = ("below-all", "subnormal", "inexact", "last-ulp", "smallest-normal")
        cells = cross("{sign}.{kind}", sign=where.signs, kind=kinds)
        return {c: name for c, name in cells.items() if self.regions(where, c)}

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        for seed, region in product(range(4), self.regions(where, cell)):
            yield from islice(solve(where, region, seed), 4)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the exact result's position below the smallest normal."""
        place, fmt = e.place, e.where.out
        if place is None or place.code < 0 or place.code > fmt.min_normal_code:
            return
        if place.code == fmt.min_normal_code:
            kind = "smallest-normal" if place.is_exact else ""
        elif place.is_exact:
            kind = "subnormal"
        elif place.code == fmt.min_normal_code - 1:
            kind = "last-ulp"
        else:
            kind = "inexact" if place.code else "below-all"
        yield e.exact.sign, kind
