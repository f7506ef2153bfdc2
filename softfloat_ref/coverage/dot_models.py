"""Models of a dot product's sum: alignment, cancellation, order, ties, the ends of the range."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from softfloat_ref import exact
from softfloat_ref.accumulate.terms import Term
from softfloat_ref.coverage import dot_operands
from softfloat_ref.coverage.dot_events import DotEvents, DotSetting, Line, total_of
from softfloat_ref.coverage.dot_model import DotModel, Names
from softfloat_ref.coverage.model import SIGNS
from softfloat_ref.coverage.nearest import nearest
from softfloat_ref.formats import Format


def _distances(where: DotSetting) -> range:
    return range(where.reach + 1)


def _lanes(where: DotSetting) -> list[tuple[int, int]]:
    """Two places of the first step: its ends, the ends the other way round, neighbours in the middle."""
    last, middle = where.width - 1, where.width // 2
    return [(0, last), (last, 0), (middle - 1, middle), (middle, middle - 1)]


class Alignment(DotModel):
    """DA: how far below the step's largest term the others are encoded."""

    id = "DA"
    title = "alignment: the exponent of a term below the largest of its step, of the same and of opposite sign"

    def names(self, where: DotSetting) -> Names:
        """A bin a distance and pair of signs: of products, of c below a product, of a product below c."""
        if not where.normal:
            return {}
        exponents, found = [e + where.shift for e in sorted(where.normal)], Names()
        span = exponents[-1] - exponents[0]
        c = where.c.emax - where.c.mantissa_bits, where.c.emin
        for d, sign in product(_distances(where), ("same", "opposite")):
            no_minus = "" if sign == "same" or where.negative else "no product is negative"
            if where.width > 1 and d <= span:
                found[f"products.{sign}.{d}"] = no_minus
            if exponents[0] - d <= c[0] and exponents[-1] - d >= c[1]:
                found[f"c-below.{sign}.{d}"] = ""
            if exponents[0] + d <= c[0] and exponents[-1] + d >= c[1] and d:
                found[f"c-above.{sign}.{d}"] = ""
        return found

    def facts(self, e: DotEvents) -> Iterable[str]:
        """The first term of the largest exponent against each other one."""
        if not e.numbers or len(e.first) < 2:
            return
        largest = max(e.first, key=lambda t: t.exponent)
        for t in e.first:
            if t is not largest:
                sign = "same" if t.value.sign == largest.value.sign else "opposite"
                yield f"DA/{_pair_name(largest, t)}.{sign}.{largest.exponent - t.exponent}"

    def cases(self, where: DotSetting, name: str) -> Iterator[Line]:
        """Two terms, in places of each kind, at several sizes."""
        kind, sign, d = name[3:].split(".")
        distance, opposite = int(d), int(sign == "opposite")
        for e in sorted(where.normal, key=abs):
            large = where.normal[e]
            if kind == "products" and e - distance in where.normal:
                for (i, j), s in product(_lanes(where), (0, 1) if where.negative else (0,)):
                    small = where.normal[e - distance]
                    yield where.line({i: where.signed(large, s), j: where.signed(small, s ^ opposite)})
            elif kind != "products":
                lower = e + where.shift + (-distance if kind == "c-below" else distance)
                for odd, i in product((1, 0), (0, where.width - 1)):
                    c = where.addend(opposite, 2 + odd, lower - 1)
                    yield from [] if c is None else [where.line({i: large}, c)]


def _pair_name(largest: Term, other: Term) -> str:
    if largest.label == "c":
        return "c-above"
    return "c-below" if other.label == "c" else "products"


class Cancellation(DotModel):
    """DC: the exponent of the first step's exact sum, against its largest term's."""

    id = "DC"
    title = "cancellation and growth: the exact sum's exponent against that of the step's largest term"

    def names(self, where: DotSetting) -> Names:
        """A bin a number of binades lost, among products or with c; sums of zero; growth."""
        if not where.normal:
            return {}
        exponents = sorted(where.normal)
        span, no_minus = exponents[-1] - exponents[0], "" if where.negative else "no product is negative"
        found = {"products.zero": no_minus, "c.zero": ""} if where.width > 1 else {"c.zero": ""}
        for n in range(1, where.reach + 1):
            if where.width > 2 and n <= span:
                found[f"products.lost{n}"] = no_minus
            if 0 < n - where.shift <= where.c.mantissa_bits or (where.width > 1 and n <= span):
                found[f"c.lost{n}"] = ""
        return found | {f"products.grown{n}": "" for n in self._growths(where)}

    def _growths(self, where: DotSetting) -> dict[int, Line]:
        """By how much some number of the products with the largest significands is above their exponent."""
        found: dict[int, Line] = {}
        full = _full(where.a.fmt), _full(where.b.fmt)
        for count in range(1, where.width + 1):
            line = where.line(dict.fromkeys(range(count), full))
            for n in _grown(DotEvents(where, line)):
                found.setdefault(n, line)
        return {n: line for n, line in found.items() if n > 0}

    def facts(self, e: DotEvents) -> Iterable[str]:
        """What the first step's terms lose or gain."""
        if not e.numbers or not e.first:
            return
        kind = "c" if e.first[-1].label == "c" else "products"
        grown = _grown(e)
        yield (
            f"DC/{kind}.zero"
            if not grown
            else f"DC/{kind}.grown{grown[0]}"
            if grown[0] > 0
            else f"DC/{kind}.lost{-grown[0]}"
        )

    def cases(self, where: DotSetting, name: str) -> Iterator[Line]:
        """A term and its negative, and what is left; or one that is a little smaller."""
        kind, _, what = name[3:].partition(".")
        if what.startswith("grown"):
            yield self._growths(where)[int(what[5:])]
            return
        n = 0 if what == "zero" else int(what[4:])
        for e in sorted(where.normal, key=abs):
            large, small = where.normal[e], where.normal.get(e - n)
            for (i, j), s in product(_lanes(where), (0, 1) if where.negative else (0,)):
                negative = where.signed(large, 1 - s) if where.negative else large
                left = (
                    {next(x for x in range(where.width) if x not in (i, j)): small}
                    if n and small and where.width > 2
                    else {}
                )
                if kind == "products":
                    yield where.line({**left, i: where.signed(large, s), j: negative})
                    continue
                bits = max(n - where.shift, 0)
                c = where.addend(1 - s, (1 << bits) - 1 if bits else 1, e - bits)
                yield from [] if c is None else [where.line({i: where.signed(large, s)}, c)]
                c = where.addend(1 - s, 1, e)
                if n and small and c is not None and where.width > 1:
                    yield where.line({i: where.signed(large, s), (i + 1) % where.width: small}, c)


def _full(fmt: Format) -> int:
    """An element with every bit of its significand set, of an ordinary size."""
    one = nearest(fmt, exact.finite(0, 1, 0))
    return fmt.max_code if fmt.twos_complement else min(one | ((1 << fmt.mantissa_bits) - 1), fmt.max_code)


def _grown(e: DotEvents) -> list[int]:
    """The exact sum's exponent less the largest encoded one, of the first step; nothing where the sum is zero."""
    total = total_of(t.value for t in e.first)
    return [exact.top(total) - max(t.exponent for t in e.first)] if total.significand else []


class Order(DotModel):
    """DO: what cancels, by place: units that add in another order, or in other groups, differ here."""

    id = "DO"
    title = "order: terms that cancel exactly at each place, with smaller ones among them"

    def names(self, where: DotSetting) -> Names:
        """A bin a product that another cancels, and one that c cancels."""
        if len(where.normal) < 2:
            return {}  # all products are of one exponent
        no_minus = "" if where.negative else "no product is negative"
        found = {f"pair{i}": no_minus for i in range(where.k - 1)} if where.k > 2 else {}
        return found | ({f"c{i}": "" for i in range(where.k)} if where.k > 1 else {})

    def facts(self, e: DotEvents) -> Iterable[str]:
        """The lower place of each pair of largest products that cancel; the place of the one that c cancels."""
        if not e.numbers:
            return
        used = [t for t in e.terms if t.value.significand]
        if not used:
            return
        top = max(t.exponent for t in used)
        largest = [t for t in used if t.exponent == top]
        if len(largest) == 2 and len(used) > 2 and not total_of(t.value for t in largest).significand:
            yield f"DO/pair{largest[0].label[1:]}"
        by_c = len(largest) == 1 and len(used) > 1 and e.addend.value.significand
        if by_c and not total_of((largest[0].value, e.addend.value)).significand:
            yield f"DO/c{largest[0].label[1:]}"

    def cases(self, where: DotSetting, name: str) -> Iterator[Line]:
        """The pair as far apart as it goes and as near; smaller products everywhere else."""
        kind, place = name[3:].rstrip("0123456789"), int(name[3:].lstrip("cpair"))
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
                yield where.line({place: where.signed(large, 1)} if where.negative else {place: large}, c, small)


class Ties(DotModel):
    """DT: the exact sum of everything against the running result's rounding boundaries."""

    id = "DT"
    title = "rounding of the exact sum: sign, lsb, guard, sticky; a sticky bit from far below"

    def names(self, where: DotSetting) -> Names:
        """Sixteen, and ties that a far smaller product breaks."""
        if where.c.mantissa_bits < where.setting.result.mantissa_bits or where.k < 3 or len(where.pairs) < 2:
            return {}  # cases are made of c and two products, of which one is below the other
        found = {}
        for sign, bits in product(SIGNS, product((0, 1), repeat=3)):
            found["{}.lsb{}.guard{}.sticky{}".format(sign, *bits)] = ""
        return found | {f"{sign}.far.{way}": self._far(where) for sign in SIGNS for way in ("above", "below")}

    def _far(self, where: DotSetting) -> str:
        if not where.negative:
            return "no product is negative"
        return "" if max(where.pairs) - min(where.pairs) > 4 else "products are too much of one size"

    def facts(self, e: DotEvents) -> Iterable[str]:
        """The bits at the boundary."""
        if e.place is None or e.place.code > e.where.target.max_code:
            return
        p, sign = e.place, SIGNS[e.total.sign]
        yield f"DT/{sign}.lsb{p.kept & 1}.guard{p.guard}.sticky{p.sticky}"
        if p.guard and p.zeros > 3 and p.sticky:
            yield f"DT/{sign}.far.above"
        if not p.guard and p.ones > 3:
            yield f"DT/{sign}.far.below"

    def cases(self, where: DotSetting, name: str) -> Iterator[Line]:
        """c with that last bit, half of its last place, and the smallest product."""
        sign, _, rest = name[3:].partition(".")
        s, m = int(sign == "neg"), where.setting.result.mantissa_bits
        far = rest.startswith("far")
        lsb, guard, sticky = (1, 1, 1) if far else (int(x[-1]) for x in rest.split("."))
        least = min(where.pairs)
        for e in sorted(where.pairs, key=abs):
            c = where.addend(s, (1 << m) + lsb, e + 1)
            if c is None or e - least < (5 if far else 1):
                continue
            for low in sorted({least, (least + e) // 2, e - (5 if far else 1)} & set(where.pairs)):
                used = {0: where.pairs[e]} if guard else {}
                used |= {where.k - 1: where.pairs[low]} if sticky else {}
                if where.negative:
                    used = {i: where.signed(x, s ^ (rest == "far.below" and i > 0)) for i, x in used.items()}
                yield where.line(used, c)


class Thresholds(DotModel):
    """DV: sums at the ends of the result's range."""

    id = "DV"
    title = "sums just below, at and just above half a last place from the largest value, and from the smallest normal"

    def names(self, where: DotSetting) -> Names:
        """Three bins a sign and end, where products can be of that size."""
        if where.c != where.setting.result or not where.negative:
            return {}
        ends = [end for end, (_, unit) in self._ends(where).items() if all(where.scaled(unit - d) for d in (0, 1))]
        wanted = ("below", "tie", "above") if where.k > 2 else ("below", "tie")
        return {f"{sign}.{end}.{at}": "" for end in ends for sign in SIGNS for at in wanted}

    def _ends(self, where: DotSetting) -> dict[str, tuple[int, int]]:
        """The addend's code, and the exponent of half a last place on the far side."""
        fmt = where.c
        found = {"largest": (fmt.max_code, fmt.emax - fmt.mantissa_bits - 1)}
        if fmt.has_normals and fmt.subnormals == "gradual" and where.unit.flush_inputs == "off":
            found["smallest"] = fmt.min_normal_code, fmt.emin - fmt.mantissa_bits - 1
        return found

    def facts(self, e: DotEvents) -> Iterable[str]:
        """How far the products take the sum beyond the addend."""
        if not e.numbers:
            return
        sign = e.addend.value.sign
        total = total_of(t.value for t in e.terms)
        for end, (code, unit) in self._ends(e.where).items():
            outward = total.sign == sign if end == "largest" else total.sign != sign
            if e.c & e.where.c.magnitude_mask == code and outward and total.significand and exact.top(total) <= unit:
                order = exact.compare(exact.magnitude(total), exact.finite(0, 1, unit))
                yield f"DV/{SIGNS[sign]}.{end}.{('tie', 'above', 'below')[order]}"

    def cases(self, where: DotSetting, name: str) -> Iterator[Line]:
        """The end as the addend, and one or three products."""
        sign, end, at = name[3:].split(".")
        code, unit = self._ends(where)[end]
        s = int(sign == "neg")
        found = where.scaled(unit if at == "tie" else unit - 1)
        for i, j in _lanes(where) if found is not None else ():
            assert found is not None
            pair, scales = found
            signed = where.signed(pair, s if end == "largest" else 1 - s)
            others = [x for x in range(where.k) if x not in (i, j)]
            lanes = [i, j, *others][: 3 if at == "above" else 1]
            yield where.line(dict.fromkeys(lanes, signed), code | (where.c.sign_bit if s else 0), (0, 0), scales)


DOT_MODELS: Final[dict[str, DotModel]] = {
    m.id: m
    for m in (
        dot_operands.Specials(),
        dot_operands.Lanes(),
        Alignment(),
        Cancellation(),
        Order(),
        Ties(),
        Thresholds(),
        dot_operands.Codes(),
    )
}
