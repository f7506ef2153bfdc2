"""Models IBM's do not have: comparisons apart, saturation, flushed results, stochastic rounding around its carry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product as crossed

from softfloat_ref import exact
from softfloat_ref.coverage.cells import between, point
from softfloat_ref.coverage.classes import members
from softfloat_ref.coverage.draw import bits
from softfloat_ref.coverage.events import Events, Setting, limit
from softfloat_ref.coverage.model import SIGNS, Bin, Model, largest, unreachable
from softfloat_ref.coverage.reach import reach, span
from softfloat_ref.coverage.solve import Codes, operand, solve
from softfloat_ref.exact import FINITE, INF, NAN, Value, finite
from softfloat_ref.policies import Overflow

_ORDERED = (
    "eq", "lt", "le", "eq_signaling", "lt_quiet", "le_quiet", "unordered", "total_order", "minimum", "maximum",
    "minimum_number", "maximum_number", "minimum_magnitude", "maximum_magnitude", "minimum_magnitude_number",
    "maximum_magnitude_number", "min", "max",
)  # fmt: skip


class Comparisons(Model):
    """B19: signs, exponents and significands of two operands against each other."""

    id = "B19"
    title = "comparisons: signs, difference of exponents, order of significands"

    def applies(self, where: Setting) -> bool:
        """Comparisons, minimum and maximum."""
        return where.name in _ORDERED

    def _names(self) -> dict[str, tuple[int, int, int, int]]:
        steps = {"-far": -2, "-1": -1, "0": 0, "+1": 1, "+far": 2}
        return {
            f"B19/{SIGNS[s]},{SIGNS[t]}.exponent{k}.significand{'<=>'[o + 1]}": (s, t, d, o)
            for s, t, (k, d), o in crossed((0, 1), (0, 1), steps.items(), (-1, 0, 1))
        }

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """Signs, five differences, three orders."""
        return tuple(Bin(name, self._never(where, *key)) for name, key in self._names().items())

    def _never(self, where: Setting, s: int, t: int, d: int, order: int) -> str:
        a, b = (span(f, where.policy.flush_inputs and where.sig.operation.flushes) for f in where.formats)
        if (s and not a.negative) or (t and not b.negative):
            return "no operand is negative"
        low, high = exact.top(a.low) - exact.top(b.high), exact.top(a.high) - exact.top(b.low)
        if (d >= 2 and high < 2) or (d <= -2 and low > -2) or (abs(d) < 2 and not low <= d <= high):
            return "the exponents never differ so"
        if (order < 0 and b.bits == 1) or (order > 0 and a.bits == 1):
            return "every significand is 1"
        return ""

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Two numbers so related, of several exponents; those that are equal or neighbours first."""
        s, t, d, order = self._names()[name]
        fa, fb = where.formats
        a, b = span(fa), span(fb)
        low, high = exact.top(a.low), exact.top(a.high)
        places = [
            0,
            1,
            -1,
            low,
            high,
            low + 1,
            high - 1,
            *range(low, min(high, low + 12)),
            *range(max(low, high - 12), high),
        ]
        for turn in range(96):
            e = places[turn % len(places)] if turn < len(places) else low + turn * 7 % (high - low + 1)
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

    def hits(self, e: Events) -> Iterable[str]:
        """Of finite operands that are not zero."""
        x, y = e.operands
        if not (x.kind == y.kind == FINITE and x.significand and y.significand):
            return
        d = exact.top(x) - exact.top(y)
        k = {0: "0", 1: "+1", -1: "-1"}.get(d, "+far" if d > 0 else "-far")
        order = "<=>"[_order(x.significand, y.significand) + 1]
        yield f"B19/{SIGNS[x.sign]},{SIGNS[y.sign]}.exponent{k}.significand{order}"


def _order(m: int, n: int) -> int:
    """How two significands compare, each with its leading bit at the same place."""
    size = max(m.bit_length(), n.bit_length())
    m, n = m << (size - m.bit_length()), n << (size - n.bit_length())
    return (m > n) - (m < n)


class Saturation(Model):
    """SAT: what is too large, infinite, NaN or negative for the target."""

    id = "SAT"
    title = "saturation: finite overflow, infinities, NaN and negative values where the target has no place for them"

    def applies(self, where: Setting) -> bool:
        """Targets without Inf, or policies that saturate."""
        return where.rounded and (
            where.out.overflow != "inf" or where.policy.overflow_for(where.out) != Overflow.SAT_NONE
        )

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """Each kind, and the numbers that only just overflow, or do not, in the rounding at hand."""
        kinds = [f"{s}.{k}" for s in SIGNS for k in ("just-in", "just-out", "overflow", "inf")]
        kinds += [] if where.out.has_nan else ["nan"]
        kinds += ["negative"] if not where.out.signed else []
        return tuple(Bin(f"SAT/{k}", self._never(where, k)) for k in kinds)

    def _never(self, where: Setting, kind: str) -> str:
        sign = int(kind.startswith("neg."))
        if kind.endswith("inf"):
            return self._no_infinity(where, sign)
        if kind == "nan":
            return self._no_nan(where)
        bounds = reach(where)
        if kind == "negative" or sign:
            if bounds is not None and not bounds.negative:
                return "no result is negative"
            if kind == "negative":
                return ""
        most = largest(where, sign)
        if most is None:
            return "the target has no such sign"
        if bounds is not None and exact.compare(bounds.largest, most._replace(sign=0)) <= 0:
            return "every exact result is in range"
        if kind.endswith("just-in") and _cell_past(where, sign) is None:
            return "the rounding leaves nothing above the largest value in range"
        if kind.endswith("overflow"):
            return ""
        return _nothing_past(where, most, 1 if kind.endswith("just-in") else 3)

    def _no_infinity(self, where: Setting, sign: int) -> str:
        for codes in self._infinite(where):
            x = where.exactly(codes)
            if x.kind == INF and x.sign == sign:
                return ""
        return "no exact result is infinite with that sign"

    def _infinite(self, where: Setting) -> Iterator[Codes]:
        listed = [[c for n, codes in members(f, True).items() for c in codes[:2]] for f in where.formats]
        yield from crossed(*listed)

    def _no_nan(self, where: Setting) -> str:
        if where.policy.nan_missing == "error" and not where.out.is_integer:
            return "no result is defined under this policy"
        return (
            "" if any(where.exactly(codes).kind == NAN for codes in self._infinite(where)) else "no exact result is NaN"
        )

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Solved for, or of the classes."""
        kind = name.removeprefix("SAT/")
        sign = int(kind.startswith("neg"))
        if kind == "nan" or kind.endswith("inf"):
            wanted = NAN if kind == "nan" else INF
            for codes in self._infinite(where):
                x = where.exactly(codes)
                if x.kind == wanted and (wanted == NAN or x.sign == sign):
                    yield codes
            return
        most = largest(where, sign)
        if kind == "negative":
            least = finite(1, *where.out.magnitude(max(where.out.min_code, 1)))
            for x in (least, least._replace(exponent=least.exponent - 1), finite(1, 1, 0), finite(1, 3, -1)):
                yield from _first(solve(where, x), 3)
                yield from _first(solve(where, between(1, x.significand, x.exponent)), 3)
            return
        assert most is not None
        s, q = most.significand, most.exponent
        cells = [
            between(sign, s, q),
            point(sign, 2 * s + 1, q - 1),
            between(sign, 2 * s, q - 1),
            between(sign, 2 * s + 1, q - 1),
        ]
        if kind != "just-in":
            cells += [point(sign, s + 1, q), between(sign, s + 1, q)]
        if kind == "overflow":
            cells = [between(sign, 1, exact.top(most) + k) for k in (1, 2, 3, 6)] + [
                point(sign, 1, exact.top(most) + k) for k in (1, 2, 5)
            ]
        for seed in range(4):
            for cell in cells:
                yield from _first(solve(where, cell, seed), 4)

    def hits(self, e: Events) -> Iterable[str]:
        """By the exact result and the overflow that came of it."""
        x = e.exact
        if x.kind == NAN:
            if not e.where.out.has_nan:
                yield "SAT/nan"
            return
        name = f"SAT/{SIGNS[x.sign]}."
        if x.kind == INF:
            yield name + "inf"
            return
        if e.place is None:
            return
        if x.sign and not e.where.out.signed:
            yield "SAT/negative"
        most = largest(e.where, x.sign)
        if most is None or exact.compare(x._replace(sign=0, sticky=0), most._replace(sign=0)) < 0:
            return
        past = e.place.code > limit(e.where, x.sign) or e.place.guard or e.place.sticky
        if not past:
            return
        out = overflowed(e)
        if not out:
            yield name + "just-in"
        elif exact.compare(x._replace(sign=0, sticky=0), finite(0, most.significand + 2, most.exponent)) < 0:
            yield name + "just-out"
        if out:
            yield name + "overflow"


def _nothing_past(where: Setting, most: Value, ulps: int) -> str:
    """Why no exact result lies above the largest value and within so many of its ulps; '' where one may."""
    reason = ""
    for k in range(ulps):
        low = most.significand + k
        cells = [between(most.sign, low, most.exponent)]
        cells += [point(most.sign, low, most.exponent)] if k else []
        for cell in cells:
            reason = unreachable(where, cell)
            if not reason:
                return ""
    return reason


def overflowed(e: Events) -> bool:
    """Whether the case overflowed: raised overflow, or invalid of an integer target."""
    return bool(e.flags & e.where.target.overflow_flags & ~1)


def _cell_past(where: Setting, sign: int) -> bool | None:
    """True where some number above the largest value stays in range, in this rounding; None where none does."""
    most = largest(where, sign)
    if most is None:
        return None
    tiny = finite(sign, (most.significand << 12) + 1, most.exponent - 12)
    from softfloat_ref.codec import encoder

    highest = max((1 << where.policy.random_count) - 1, 0)
    for r in (0, highest):
        if not encoder(where.out, where.policy)(tiny, r)[1] & where.target.overflow_flags & ~1:
            return True
    return None


def _first(listed: Iterator[Codes], count: int) -> Iterator[Codes]:
    for i, codes in enumerate(listed):
        if i == count:
            return
        yield codes


class FlushedResults(Model):
    """FTZ: tiny results under a policy that flushes them."""

    id = "FTZ"
    title = "flushed results: exact and inexact tiny values, and those that round up to the smallest normal"

    def applies(self, where: Setting) -> bool:
        """Where results are flushed."""
        return (
            where.rounded and where.policy.flush_outputs and where.out.has_normals and where.out.subnormals == "gradual"
        )

    def _cells(self, where: Setting, name: str) -> list[Value]:
        sign, kind = int("/neg" in name), name.partition(".")[2]
        fmt = where.out
        unit, n = fmt.emin - fmt.mantissa_bits, 1 << fmt.mantissa_bits
        table = {
            "below-all": [between(sign, 0, unit)],
            "subnormal": [point(sign, k, unit) for k in dict.fromkeys((n - 1, 1, n // 2, n // 3, n - 2)) if 0 < k < n],
            "inexact": [between(sign, k, unit) for k in dict.fromkeys((1, n // 2, n // 3)) if 0 < k < n - 1],
            "last-ulp": [between(sign, n - 1, unit)],
            "smallest-normal": [point(sign, n, unit)],
        }
        return table[kind]

    def _names(self, where: Setting) -> list[str]:
        kinds = ("below-all", "subnormal", "inexact", "last-ulp", "smallest-normal")
        signs = SIGNS if where.out.signed else SIGNS[:1]
        return [f"FTZ/{s}.{k}" for s in signs for k in kinds if self._cells(where, f"FTZ/{s}.{k}")]

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """Five kinds of each sign."""
        found = []
        for name in self._names(where):
            reasons = [unreachable(where, cell) for cell in self._cells(where, name)]
            found.append(Bin(name, reasons[0] if all(reasons) else ""))
        return tuple(found)

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Solved for."""
        for seed in range(4):
            for cell in self._cells(where, name):
                yield from _first(solve(where, cell, seed), 4)

    def hits(self, e: Events) -> Iterable[str]:
        """By the exact result's place below the smallest normal."""
        place, fmt = e.place, e.where.out
        if place is None or (e.exact.sign and not fmt.signed):
            return
        exactly = not place.guard and not place.sticky
        name = f"FTZ/{SIGNS[e.exact.sign]}."
        if place.code == fmt.min_normal_code and exactly:
            yield name + "smallest-normal"
        elif 0 <= place.code < fmt.min_normal_code:
            if exactly:
                yield name + "subnormal"
            elif place.code == fmt.min_normal_code - 1:
                yield name + "last-ulp"
            else:
                yield name + ("inexact" if place.code else "below-all")
