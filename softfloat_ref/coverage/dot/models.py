"""The models of dot products, and those of the sum: alignment, cancellation, order, ties, the ends of the range."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import Final

from softfloat_ref.coverage.codes import nearest
from softfloat_ref.coverage.dot.differences import Differences
from softfloat_ref.coverage.dot.operands import NO_MINUS, Codes, DotLanes, SpecialOperands
from softfloat_ref.coverage.dot.setting import DotEvents, DotModel, DotSetting, total_of
from softfloat_ref.coverage.engine.framework import ROUND_BITS, SIGNS, Bins, Cell, Coverage, Line, cross
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate.terms import Term
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import DotUnit


def _lanes(where: DotSetting) -> list[tuple[int, int]]:
    """Two lanes of the first step: its ends, the ends swapped, neighbours in the middle."""
    last, middle = where.width - 1, where.width // 2
    return [(0, last), (last, 0), (middle - 1, middle), (middle, middle - 1)]


def _signs(where: DotSetting) -> tuple[int, ...]:
    return (0, 1) if where.negative else (0,)


class Alignment(DotModel):
    """DA: the distance of the other terms below the step's largest one, as encoded."""

    id = "DA"
    title = "alignment: the exponent of a term below the largest of its step, of the same and of opposite sign"

    def bins(self, where: DotSetting) -> Bins:
        """A distance and pair of signs: of products, of c below a product, of a product below c."""
        bins = Bins()
        if not where.normal:
            return bins
        least, most = min(where.normal) + where.shift, max(where.normal) + where.shift
        highest, lowest = where.c.emax - where.c.mantissa_bits, where.c.emin
        for d, sign in product(range(where.reach + 1), ("same", "opposite")):
            kinds = ["products"] if where.width > 1 and d <= most - least else []
            kinds += ["c-below"] if least - d <= highest and most - d >= lowest else []
            kinds += ["c-above"] if least + d <= highest and most + d >= lowest and d else []
            bins |= cross("{kind}.{sign}.{d}", kind=kinds, sign=[sign], d=[d])
        return bins

    def never(self, where: DotSetting, cell: Cell) -> str:
        return NO_MINUS if cell[:2] == ("products", "opposite") and not where.negative else ""

    def hits(self, e: DotEvents) -> Iterable[Cell]:
        """The first term of the largest exponent against each other one."""
        if not e.numbers or len(e.first) < 2:
            return
        largest = max(e.first, key=lambda t: t.exponent)
        for t in e.first:
            if t is not largest:
                sign = "same" if t.value.sign == largest.value.sign else "opposite"
                yield _pair(largest, t), sign, largest.exponent - t.exponent

    def cases(self, where: DotSetting, cell: Cell) -> Iterator[Line]:
        """Two terms, at each kind of lanes, in several magnitudes."""
        kind, sign, d = cell
        opposite = int(sign == "opposite")
        for e in sorted(where.normal, key=abs):
            large = where.normal[e]
            if kind == "products" and e - d in where.normal:
                for (i, j), s in product(_lanes(where), _signs(where)):
                    small = where.normal[e - d]
                    yield where.line({i: where.signed(large, s), j: where.signed(small, s ^ opposite)})
            elif kind != "products":
                lower = e + where.shift + (-d if kind == "c-below" else d)
                for odd, i in product((1, 0), (0, where.width - 1)):
                    c = where.addend(opposite, 2 + odd, lower - 1)
                    yield from [] if c is None else [where.line({i: large}, c)]


def _pair(largest: Term, other: Term) -> str:
    if largest.label == "c":
        return "c-above"
    return "c-below" if other.label == "c" else "products"


class DotCancellation(DotModel):
    """DC: the exponent of the first step's exact sum, against its largest term's. A cell: kind, binades gained."""

    id = "DC"
    title = "cancellation and growth: the exact sum's exponent against that of the step's largest term"

    def bins(self, where: DotSetting) -> Bins:
        """A number of binades lost, among products or with c; sums of zero; growth."""
        if not where.normal:
            return {}
        span = max(where.normal) - min(where.normal)
        bins: Bins = {("products", None): "products.zero"} if where.width > 1 else {}
        bins["c", None] = "c.zero"
        for n in range(1, where.reach + 1):
            if where.width > 2 and n <= span:
                bins["products", -n] = f"products.lost{n}"
            if 0 < n - where.shift <= where.c.mantissa_bits or (where.width > 1 and n <= span):
                bins["c", -n] = f"c.lost{n}"
        return bins | {("products", n): f"products.grown{n}" for n in self._growths(where)}

    def _growths(self, where: DotSetting) -> dict[int, Line]:
        """Cases by growth in binades: sums of products with the largest significands."""
        lines: dict[int, Line] = {}
        full = _full(where.a.fmt), _full(where.b.fmt)
        for count in range(1, where.width + 1):
            line = where.line(dict.fromkeys(range(count), full))
            n = _grown(DotEvents(where, line))
            if n is not None and n > 0:
                lines.setdefault(n, line)
        return lines

    def never(self, where: DotSetting, cell: Cell) -> str:
        kind, n = cell
        return NO_MINUS if kind == "products" and (n is None or n < 0) and not where.negative else ""

    def hits(self, e: DotEvents) -> Iterable[Cell]:
        """The binades that the first step's sum loses or gains; no loss is not a bin."""
        if e.numbers and e.first:
            yield "c" if e.first[-1].label == "c" else "products", _grown(e)

    def cases(self, where: DotSetting, cell: Cell) -> Iterator[Line]:
        """A term, its negative, and a remaining term; or a negative that is slightly smaller."""
        kind, gained = cell
        if gained is not None and gained > 0:
            yield self._growths(where)[gained]
            return
        n = -(gained or 0)
        for e in sorted(where.normal, key=abs):
            large, small = where.normal[e], where.normal.get(e - n) if n else None
            for (i, j), s in product(_lanes(where), _signs(where)):
                one = where.signed(large, s)
                if kind == "products":
                    negative = where.signed(large, 1 - s) if where.negative else large
                    rest = [x for x in range(where.width) if x not in (i, j)]
                    left = {rest[0]: small} if small and rest else {}
                    yield where.line({**left, i: one, j: negative})
                    continue
                bits = max(n - where.shift, 0)
                c = where.addend(1 - s, (1 << bits) - 1 if bits else 1, e - bits)
                yield from [] if c is None else [where.line({i: one}, c)]
                c = where.addend(1 - s, 1, e)
                if small and c is not None and where.width > 1:
                    yield where.line({i: one, (i + 1) % where.width: small}, c)


def _full(fmt: Format) -> int:
    """An element with every bit of its significand set, of moderate magnitude."""
    one = nearest(fmt, exact.finite(0, 1, 0))
    return fmt.max_code if fmt.twos_complement else min(one | ((1 << fmt.mantissa_bits) - 1), fmt.max_code)


def _grown(e: DotEvents) -> int | None:
    """The exact sum's exponent less the largest encoded one, of the first step; None if the sum is zero."""
    total = total_of(t.value for t in e.first)
    return exact.top(total) - max(t.exponent for t in e.first) if total.significand else None


class Order(DotModel):
    """DO: terms that cancel, by lane: units with another order or grouping of the additions differ here."""

    id = "DO"
    title = "order: terms that cancel exactly at each place, with smaller ones among them"

    def bins(self, where: DotSetting) -> Bins:
        """A product that another cancels, and one that c cancels; no bins if all products have the same exponent."""
        if len(where.normal) < 2:
            return {}
        bins = cross("{kind}{place}", kind=["pair"], place=range(where.k - 1 if where.k > 2 else 0))
        return bins | cross("{kind}{place}", kind="c", place=range(where.k if where.k > 1 else 0))

    def never(self, where: DotSetting, cell: Cell) -> str:
        return NO_MINUS if cell[0] == "pair" and not where.negative else ""

    def hits(self, e: DotEvents) -> Iterable[Cell]:
        """The lower lane of each pair of largest products that cancel; the lane of the product that c cancels."""
        used = [(i, t) for i, t in enumerate(e.terms) if t.value.significand] if e.numbers else []
        if not used:
            return
        top = max(t.exponent for _, t in used)
        largest = [(i, t.value) for i, t in used if t.exponent == top]
        first, value = largest[0]
        if len(largest) == 2 and len(used) > 2 and not exact.add(value, largest[1][1]).significand:
            yield "pair", first
        c = e.addend.value
        if len(largest) == 1 and len(used) > 1 and c.significand and not exact.add(value, c).significand:
            yield "c", first

    def cases(self, where: DotSetting, cell: Cell) -> Iterator[Line]:
        """The pair at the largest and the smallest distance; smaller products in the other lanes."""
        kind, place = cell
        exponents = sorted(where.normal, key=abs)
        steps = [d for d in (where.reach - 4, 24, 12, 6, 3, 1) if d > 0]
        for e, d in product(exponents, steps):
            if e - d not in where.normal:
                continue
            large, small = where.normal[e], where.normal[e - d]
            for j in (where.k - 1, place + 1) if kind == "pair" else ():
                yield where.line({place: large, j: where.signed(large, 1)}, 0, small)
            c = where.addend(1, 1, e)
            if kind == "c" and c is not None:
                yield where.line({place: large}, c, small)
                yield where.line({place: where.signed(large, 1) if where.negative else large}, c, small)


class Ties(DotModel):
    """DT: the exact sum of everything against the running result's rounding boundaries."""

    id = "DT"
    title = "rounding of the exact sum: sign, lsb, guard, sticky; a sticky bit from far below"

    def bins(self, where: DotSetting) -> Bins:
        """Sixteen bins, and ties that a far smaller product breaks: the cases have c and two products, one below the
        other."""
        if where.c.mantissa_bits < where.setting.result.mantissa_bits or where.k < 3 or len(where.pairs) < 2:
            return {}
        return ROUND_BITS | cross("{sign}.far.{side}", sign=SIGNS, side=("above", "below"))

    def never(self, where: DotSetting, cell: Cell) -> str:
        if len(cell) > 2:
            return ""
        if not where.negative:
            return NO_MINUS
        return "" if max(where.pairs) - min(where.pairs) > 4 else "the products are too similar in size"

    def hits(self, e: DotEvents) -> Iterable[Cell]:
        p = e.place
        if p is None or p.code > e.where.target.max_code:
            return
        sign = e.total.sign
        yield sign, p.kept & 1, p.guard, p.sticky
        if p.guard and p.zeros > 3 and p.sticky:
            yield sign, "above"
        if not p.guard and p.ones > 3:
            yield sign, "below"

    def cases(self, where: DotSetting, cell: Cell) -> Iterator[Line]:
        """c with that last bit, half of its last place, and the smallest product."""
        far, s, m = len(cell) == 2, cell[0], where.setting.result.mantissa_bits
        lsb, guard, sticky = (1, 1, 1) if far else cell[1:]
        least, apart = min(where.pairs), 5 if far else 1
        for e in sorted(where.pairs, key=abs):
            c = where.addend(s, (1 << m) + lsb, e + 1)
            if c is None or e - least < apart:
                continue
            for low in sorted({least, (least + e) // 2, e - apart} & set(where.pairs)):
                used = {0: where.pairs[e]} if guard else {}
                used |= {where.k - 1: where.pairs[low]} if sticky else {}
                if where.negative:
                    used = {i: where.signed(x, s ^ (cell[1] == "below" and i > 0)) for i, x in used.items()}
                yield where.line(used, c)


class Thresholds(DotModel):
    """DV: sums at the ends of the result's range."""

    id = "DV"
    title = "sums just below, at and just above half a last place from the largest value, and from the smallest normal"

    def bins(self, where: DotSetting) -> Bins:
        """Three bins per sign and end, if products can have that magnitude."""
        if where.c != where.setting.result or not where.negative:
            return {}
        ends = [end for end, (_, unit) in self._ends(where).items() if all(where.scaled(unit - d) for d in (0, 1))]
        wanted = ("below", "tie", "above") if where.k > 2 else ("below", "tie")
        # the end changes slowest
        return {(s, end, at): f"{SIGNS[s]}.{end}.{at}" for end, s, at in product(ends, SIGNS, wanted)}

    def _ends(self, where: DotSetting) -> dict[str, tuple[int, int]]:
        """The addend's code, and the exponent of half a last place on the far side."""
        fmt = where.c
        ends = {"largest": (fmt.max_code, fmt.emax - fmt.mantissa_bits - 1)}
        if fmt.has_normals and fmt.subnormals == "gradual" and where.accumulator.flush_inputs == "off":
            ends["smallest"] = fmt.min_normal_code, fmt.emin - fmt.mantissa_bits - 1
        return ends

    def hits(self, e: DotEvents) -> Iterable[Cell]:
        """The distance by which the products move the sum beyond the addend."""
        if not e.numbers:
            return
        sign = e.addend.value.sign
        total = total_of(t.value for t in e.terms)
        for end, (code, unit) in self._ends(e.where).items():
            outward = total.sign == sign if end == "largest" else total.sign != sign
            if e.c & e.where.c.magnitude_mask == code and outward and total.significand and exact.top(total) <= unit:
                order = exact.compare(exact.magnitude(total), exact.finite(0, 1, unit))
                yield sign, end, ("tie", "above", "below")[order]

    def cases(self, where: DotSetting, cell: Cell) -> Iterator[Line]:
        """The end as the addend, and one or three products."""
        s, end, at = cell
        code, unit = self._ends(where)[end]
        product_ = where.scaled(unit if at == "tie" else unit - 1)
        if product_ is None:
            return
        pair, scales = product_
        signed = where.signed(pair, s if end == "largest" else 1 - s)
        for i, j in _lanes(where):
            others = [x for x in range(where.k) if x not in (i, j)]
            lanes = [i, j, *others][: 3 if at == "above" else 1]
            yield where.line(dict.fromkeys(lanes, signed), code | (where.c.sign_bit if s else 0), (0, 0), scales)


_SUM_MODELS: Final = (Alignment(), DotCancellation(), Order(), Ties())
_DIFFERING_MODELS: Final = (
    _SUM_MODELS[1],
    _SUM_MODELS[2],
    _SUM_MODELS[0],
    _SUM_MODELS[3],
)  # in which order differences are looked for
DOT_MODELS: Final[tuple[DotModel, ...]] = (
    *(SpecialOperands(), DotLanes(), *_SUM_MODELS, Thresholds(), Codes()),
    Differences(_DIFFERING_MODELS),
)


@lru_cache(maxsize=64)
def dot_products(unit: DotUnit) -> Coverage:
    """The coverage of dot products of k elements by an accumulator."""
    return Coverage(DotSetting(unit), DOT_MODELS)
