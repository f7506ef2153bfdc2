"""Models of the last places: lsb, guard and sticky; trailing zeros; carries; traps of double rounding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref import exact
from softfloat_ref.coverage.cells import between, point
from softfloat_ref.coverage.events import Events, Place, Setting, limit
from softfloat_ref.coverage.model import SIGNS, Bin, Model, unreachable
from softfloat_ref.coverage.reach import reach, span
from softfloat_ref.coverage.results import as_conversion
from softfloat_ref.coverage.roots import sticky_roots
from softfloat_ref.coverage.shapes import Shape, ShapeModel, places
from softfloat_ref.coverage.solve import Codes, solve
from softfloat_ref.exact import Value
from softfloat_ref.formats import CATALOGUE, Format


def in_range(e: Events) -> Place | None:
    """Where a finite exact result lies, if not beyond the largest finite value."""
    place = e.place
    if place is None or not 0 <= place.code <= limit(e.where, e.exact.sign):
        return None
    return place


def is_odd(where: Setting, place: Place) -> int:
    """The last kept bit, as the rounding looks at it."""
    return (place.code if where.target.code_parity else place.kept) & 1


class LastPlace(ShapeModel):
    """B3: sign, lsb, guard and sticky."""

    id = "B3"
    title = "rounding: every combination of sign, last kept bit, guard and sticky"

    def applies(self, where: Setting) -> bool:
        """Results that are rounded, but for integers (B29)."""
        return where.rounded and not where.out.is_integer

    def shapes(self, where: Setting) -> dict[str, tuple[Shape, ...]]:
        """16 combinations; of the code's parity both significands, where that is what counts."""
        return _combinations(self.id, where)

    def hits(self, e: Events) -> Iterable[str]:
        """The combination of an exact result in range."""
        place = in_range(e)
        if place is not None:
            yield _combination(self.id, e.exact.sign, is_odd(e.where, place), place.guard, place.sticky)


def _combination(model: str, sign: int, lsb: int, guard: int, sticky: int) -> str:
    return f"{model}/{SIGNS[sign]}.lsb{lsb}.guard{guard}.sticky{sticky}"


def _combinations(model: str, where: Setting) -> dict[str, tuple[Shape, ...]]:
    found: dict[str, tuple[Shape, ...]] = {}
    by_code = where.target.code_parity and where.out.mantissa_bits == 0
    for i in range(16):
        sign, lsb, guard, sticky = i >> 3, i >> 2 & 1, i >> 1 & 1, i & 1
        lsbs = (0, 1) if by_code else (lsb,)
        shapes = tuple(Shape(sign, x << 1 | guard, 2, 1, sticky) for x in lsbs)
        found[_combination(model, sign, lsb, guard, sticky)] = shapes
    return found


class StickyBits(ShapeModel):
    """B7: the first sticky bit at each position."""

    id = "B7"
    title = "each sticky position: the first one bit below the guard at every place"

    def applies(self, where: Setting) -> bool:
        """Results that are rounded."""
        return where.rounded

    def shapes(self, where: Setting) -> dict[str, tuple[Shape, ...]]:
        """Guard 0 and 1, then zeros down to a one at position i."""
        return {
            f"B7/guard{g}.bit{i}": tuple(Shape(s, g << i | 1, 1 + i, 1 + i, t) for t in (0, 1) for s in (0, 1))
            for g in (0, 1)
            for i in range(1, depth(where) + 1)
        }

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Operands solved for; those of a square root by roots modulo a power of two."""
        if where.name == "sqrt":
            guard, place = name.removeprefix("B7/guard").split(".bit")
            yield from sticky_roots(where, int(guard), int(place))
        yield from super().cases(where, name)

    def hits(self, e: Events) -> Iterable[str]:
        """The position of the first one below the guard."""
        place = in_range(e)
        if place is not None and place.tail:
            i = place.zeros + 1
            if i <= depth(e.where):
                yield f"B7/guard{place.guard}.bit{i}"


def depth(where: Setting) -> int:
    """How many positions below the guard are looked at: as far as an operation's results surely have bits."""
    p = where.out.precision
    if where.name in ("div", "sqrt", "recip", "rsqrt"):
        return max(p - 4, 1)
    return max(p - 1, 2)


class TrailingZeros(Model):
    """B20: exact results of every length."""

    id = "B20"
    title = "exact results with every number of trailing zeros"

    def applies(self, where: Setting) -> bool:
        """Arithmetic that is rounded."""
        return where.rounded and not where.out.is_integer and where.name not in ("convert", "scaleb")

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """A bin a number of zeros below the last one of the precision's bits."""
        p = where.out.precision
        return tuple(Bin(f"B20/zeros{z}", self._never(where, p - z)) for z in range(p))

    def _never(self, where: Setting, length: int) -> str:
        bounds = reach(where)
        if bounds is not None and length > bounds.bits:
            return f"an exact result with an end has at most {bounds.bits} significant bits"
        return ""

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Odd significands of that length in several binades."""
        length = where.out.precision - int(name.removeprefix("B20/zeros"))
        odd = [
            1 << (length - 1) | x for x in (1, 3, 5, 0b1011, 0b111) if x < 1 << length and x >> (length - 1) in (0, 1)
        ]
        odd += [
            1 << (length - 1) | (1 << (length - 1)) - 1,
            *(x * x for x in range(1, 64) if (x * x).bit_length() == length),
        ]
        root = 1 << max(length // 2 - 1, 0)
        odd += [x for x in range(root | 1, 2 * root, max(2, root // 16 * 2)) if x.bit_length() == length]
        for e in places(where.out):
            for s in dict.fromkeys(x | 1 for x in odd):
                for sign in (0, 1):
                    yield from _few(where, sign, s, e - length + 1)

    def hits(self, e: Events) -> Iterable[str]:
        """Of an exact result that is exactly representable."""
        place = in_range(e)
        if place is not None and not place.guard and not place.sticky:
            s = e.exact.significand
            length = (s // (s & -s)).bit_length()
            if length <= e.where.out.precision:
                yield f"B20/zeros{e.where.out.precision - length}"


def _few(where: Setting, sign: int, significand: int, exponent: int) -> Iterator[Codes]:
    for i, codes in enumerate(solve(where, point(sign, significand, exponent))):
        if i == 2:
            return
        yield codes


class RoundingCarry(ShapeModel):
    """CARRY of the rounding: trailing ones of an inexact result."""

    id = "CARRY"
    title = "carries of the rounding: an inexact result whose last kept bits are so many ones"

    def applies(self, where: Setting) -> bool:
        """Results that are rounded."""
        return where.rounded and not where.out.is_integer

    def shapes(self, where: Setting) -> dict[str, tuple[Shape, ...]]:
        """Ones, above them a zero (or nothing), and a guard bit that rounds to nearest up."""
        p = where.out.precision
        found = {}
        for t in range(p + 1):
            low = (1 << t) - 1
            width = t + (t < p)
            found[f"CARRY/ones{t}"] = tuple(
                Shape(s, low << 1 | 1, width + 1, 1, sticky) for sticky in (1, 0) for s in (0, 1)
            )
        return found

    def hits(self, e: Events) -> Iterable[str]:
        """The ones at the end of the kept bits, with the guard set."""
        place = in_range(e)
        if place is not None and place.guard:
            ones = (~place.kept & (place.kept + 1)).bit_length() - 1
            yield f"CARRY/ones{ones}"


class DoubleRounding(ShapeModel):
    """DBL: what rounds differently through a wider format."""

    id = "DBL"
    title = "double rounding: just beside a midpoint, where rounding to a wider format first would land on it"
    normal_only = True

    def applies(self, where: Setting) -> bool:
        """Results in formats that some wider one of the catalogue covers."""
        return where.rounded and not where.out.is_integer and bool(wider(where.out))

    def shapes(self, where: Setting) -> dict[str, tuple[Shape, ...]]:
        """Above a midpoint with an even value below it, and below a midpoint with an odd one."""
        found: dict[str, tuple[Shape, ...]] = {}
        for via in wider(where.out):
            d = via.precision - where.out.precision
            for s in (0, 1):
                # the guard takes one of the d bits that the wider format has more; its half ulp follows them
                above = Shape(s, 1 << d, d + 2, d + 1, 1)
                under = Shape(s, 1 << (d + 1) | (1 << d) - 1, d + 2, d + 1, 0)
                found[f"DBL/{via.name}.{SIGNS[s]}.above"] = (above,)
                found[f"DBL/{via.name}.{SIGNS[s]}.below"] = (under, under._replace(sticky=1))
        return found

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """With Figueroa's theorem where it applies; of an fma, by the lengths of its terms."""
        return tuple(
            Bin(b.id, b.unreachable or _innocuous(where, b.id) or _too_far(where, b.id)) for b in super().bins(where)
        )

    def hits(self, e: Events) -> Iterable[str]:
        """Judged by the bits that the wider format keeps and the next."""
        place = in_range(e)
        if place is None or exact.top(e.exact) < e.where.out.emin:
            return
        odd = is_odd(e.where, place)
        for via in wider(e.where.out):
            d = via.precision - e.where.out.precision
            name = f"DBL/{via.name}.{SIGNS[e.exact.sign]}."
            if place.guard and not odd and place.zeros >= d and place.sticky:
                yield name + "above"
            if not place.guard and odd and place.ones >= d:
                yield name + "below"


def wider(fmt: Format) -> list[Format]:
    """The formats of the catalogue that a value may pass through: more precision, no less range; at most three."""
    if not fmt.has_normals:
        return []
    names = ("bf16", "fp16", "fp32", "fp64")
    return [
        f
        for f in (CATALOGUE[n] for n in names)
        if f.precision > fmt.precision and f.emax >= fmt.emax and f.emin <= fmt.emin
    ][:3]


# Bits of the wider format from which on double rounding of normal results is innocuous, beside 2p: S. A. Figueroa,
# When is double rounding innocuous?, ACM SIGNUM Newsletter 30(3), 1995.
_ENOUGH: Final = {"add": 1, "sub": 1, "mul": 0, "div": 0, "recip": 0, "sqrt": 2}


def _innocuous(where: Setting, name: str) -> str:
    via = CATALOGUE[name.split("/")[1].split(".")[0]]
    more = _ENOUGH.get(where.name)
    if more is None or any(f != where.out for f in where.formats) or via.precision < 2 * where.out.precision + more:
        return ""
    return f"with the {via.precision} bits of {via.name}, double rounding is innocuous (Figueroa)"


def _too_far(where: Setting, name: str) -> str:
    """Whether neither term of an fma can reach from a midpoint's guard bit to below the wider format's precision.

    Let the result v lie in [2^e, 2^(e+1)) within 2^(e-p-d) of a midpoint, an odd multiple of 2^(e-p), but not on it.
    One term, x of n bits, has a bit at or below v's lowest, at e-p-d or less: with n < d, |x| < 2^(e-p-1), and the
    other term lies within 2^(e-p) of the midpoint: it has more than p bits. If it cannot, or no x is so low, no v is.
    """
    if where.name != "fma":
        return ""
    via, p = CATALOGUE[name.split("/")[1].split(".")[0]], where.out.precision
    d = via.precision - p
    a, b, c = (span(f) for f in where.formats)
    terms = ((a.bits + b.bits, a.unit + b.unit), (c.bits, c.unit))
    for (n, unit), (other, _) in (terms, terms[::-1]):
        short = n < d and other <= p
        high = unit > where.out.emax - p - d
        if not (short or high):
            return ""
    return "no term reaches from the midpoint to below the wider format's precision"


class IntegerPlace(Model):
    """B29: sign, lsb, guard and sticky at the units."""

    id = "B29"
    title = "rounding to integers: every combination of sign, units bit, guard and sticky"

    def applies(self, where: Setting) -> bool:
        """Conversions to integers and roundings to integral values."""
        return (
            where.name == "convert" and where.out.is_integer and where.formats[0].exponent_bits > 0
        ) or where.integral

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """16 combinations."""
        return tuple(Bin(name, self._never(where, name)) for name in _combinations(self.id, where))

    def _never(self, where: Setting, name: str) -> str:
        like = as_conversion(where)
        reason = ""
        for cell in self._cells(where, name):
            reason = unreachable(like, cell)
            if not reason:
                return ""
        return reason

    def _cells(self, where: Setting, name: str) -> Iterator[Value]:
        sign = int(".".join(name.split("/")[1].split(".")[:1]) == "neg")
        lsb, guard, sticky = (int(part[-1]) for part in name.split(".")[1:])
        most = max(
            where.out.max_code if where.out.is_integer else 0,
            where.out.max_negative_code if where.out.is_integer else 0,
        )
        for high in range(64):
            whole = high << 1 | lsb
            if where.out.is_integer and whole > most:
                return
            if sticky or whole or guard:
                yield (between if sticky else point)(sign, whole << 1 | guard, -1)
        for power in range(6, where.formats[0].precision + 1):
            whole = 1 << power | lsb
            if not where.out.is_integer or whole <= most:
                yield (between if sticky else point)(sign, whole << 1 | guard, -1)

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Operands in such cells."""
        like = as_conversion(where)
        for cell in self._cells(where, name):
            for i, codes in enumerate(solve(like, cell)):
                if i == 2:
                    break
                yield codes

    def hits(self, e: Events) -> Iterable[str]:
        """Of an operand whose integral part is in range."""
        x, unit = e.operands[0], e.unit
        if unit is None:
            return
        fmt = e.where.out
        if fmt.is_integer and unit.kept > (fmt.max_negative_code if x.sign and fmt.signed else fmt.max_code):
            return
        yield _combination(self.id, x.sign, unit.kept & 1, unit.guard, unit.sticky)
