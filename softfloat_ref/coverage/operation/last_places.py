"""Models of the last places: lsb, guard and sticky; trailing zeros; carries; traps of double rounding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Final

from softfloat_ref.coverage.codes import TailPlace, operand
from softfloat_ref.coverage.engine.framework import BITS, ROUND_BITS, SIGNS, Bins, Cell, Line, cross
from softfloat_ref.coverage.operation.functions import DEPTH, by_cells
from softfloat_ref.coverage.operation.reach import reach, terms_of
from softfloat_ref.coverage.operation.results import as_conversion
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationModel, OperationSetting
from softfloat_ref.coverage.operation.shapes import BitShape, ShapeModel, places
from softfloat_ref.coverage.operation.solve import TRIES, solve, unreachable
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value, finite
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.operations import formula as formulas
from softfloat_ref.oracle.operations.formula import Formula


def is_odd(where: OperationSetting, place: TailPlace) -> int:
    """The last kept bit, as the rounding uses it."""
    return (place.code if where.target.code_parity else place.kept) & 1


class LastPlace(ShapeModel):
    """B3: sign, lsb, guard and sticky."""

    id = "B3"
    title = "rounding: every combination of sign, last kept bit, guard and sticky"

    def bins(self, where: OperationSetting) -> Bins:
        return ROUND_BITS

    def shapes(self, where: OperationSetting, cell: Cell) -> Iterable[BitShape]:
        """If the code's parity decides, and codes have no fraction, both significands."""
        sign, lsb, guard, sticky = cell
        by_code = where.target.code_parity and where.out.mantissa_bits == 0
        return [BitShape(sign, x << 1 | guard, 2, 1, sticky) for x in (BITS if by_code else (lsb,))]

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """The combination of an exact result in range."""
        place = e.in_range
        if place is not None:
            yield e.exact.sign, is_odd(e.where, place), place.guard, place.sticky


class StickyBits(ShapeModel):
    """B7: the first sticky bit at each position."""

    id = "B7"
    title = "each sticky position: the first one bit below the guard at every place"

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded

    def bins(self, where: OperationSetting) -> Bins:
        """Guard 0 and 1, then zeros down to a one: as far as an operation's results certainly have bits."""
        p, formula = where.out.precision, where.formula
        endless = formula is not None and (formula.divisor is not None or formula.root)
        depth = max(p - 4, 1) if endless else max(p - 1, 2)
        depth = min(depth, DEPTH) if where.curve is not None else depth
        return cross("guard{guard}.bit{bit}", guard=BITS, bit=range(1, depth + 1))

    def shapes(self, where: OperationSetting, cell: Cell) -> Iterable[BitShape]:
        guard, bit = cell
        return [BitShape(s, guard << bit | 1, 1 + bit, 1 + bit, t) for t in BITS for s in BITS]

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """Operands from the solver; for a square root from roots modulo a power of two."""
        if where.formula == formulas.ROOT:
            yield from sticky_roots(where, *cell)
        yield from super().cases(where, cell)
        if where.curve is not None:
            yield from by_cells(where, self).get(cell, ())

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """The position of the first one below the guard."""
        place = e.in_range
        if place is not None and place.tail:
            yield place.guard, place.zeros + 1


def root_modulo(n: int, k: int) -> int:
    """s with s*s = n modulo 2^k, of an n that is 1 modulo 8, one bit at a time (Hensel's lemma)."""
    s = 1
    for i in range(3, k):
        if (s * s - n) >> i & 1:
            s += 1 << (i - 1)
    return s % (1 << k)


def sticky_roots(where: OperationSetting, guard: int, place: int) -> Iterator[Line]:
    """Operands whose root has that guard bit, then zeros, and the next one at a place below the guard.

    With m the root's kept and guard bits, the operand is (m*m + r) / 2^k, where r is about 2m * 2^-place: m is a root
    of -r modulo 2^k. If the guard bit is 0, half of m is.
    """
    p = where.out.precision
    size = p + guard  # bits of the odd root, half of m or m
    for k in (2 * size - p - 1, 2 * size - p):
        low = 1 << max(size - place + guard, 0)
        for i in range(TRIES):
            r = (low + (low * i // TRIES)) | 7
            s = root_modulo(-r % (1 << k), k)
            for m in (s, -s, s + (1 << k >> 1), -s + (1 << k >> 1)):
                root = m % (1 << k)
                root += 1 << k if root.bit_length() < size else 0
                x = root * root + r
                if root.bit_length() == size and x % (1 << k) == 0:
                    code = operand(where.formats[0], finite(0, x >> k, k - 2 * size))
                    if code is not None:
                        yield (code,)


class TrailingZeros(OperationModel):
    """B20: exact results of every length."""

    id = "B20"
    title = "exact results with every number of trailing zeros"

    def applies(self, where: OperationSetting) -> bool:
        scaled = where.formula is None or where.formula.power is not None
        return where.rounded and not where.out.is_integer and not where.converts and not scaled

    def bins(self, where: OperationSetting) -> Bins:
        """The number of zeros below the last one of the precision's bits."""
        return cross("zeros{zeros}", zeros=range(where.out.precision))

    def never(self, where: OperationSetting, cell: Cell) -> str:
        bounds = reach(where)
        if bounds is not None and where.out.precision - cell[0] > bounds.bits:
            return f"an exact result with a finite expansion has at most {bounds.bits} significant bits"
        return ""

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """Odd significands of that length in several binades."""
        length = where.out.precision - cell[0]
        top = 1 << (length - 1)
        odd = [top | x for x in (1, 3, 5, 0b1011, 0b111) if x < 1 << length and x >> (length - 1) in (0, 1)]
        odd += [top | top - 1, *(x * x for x in range(1, 64) if (x * x).bit_length() == length)]
        root = 1 << max(length // 2 - 1, 0)
        odd += [x for x in range(root | 1, 2 * root, max(2, root // 16 * 2)) if x.bit_length() == length]
        for e, s, sign in product(places(where.out), dict.fromkeys(x | 1 for x in odd), BITS):
            yield from islice(solve(where, finite(sign, s, e - length + 1)), 2)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """The cell of an exact result that is representable."""
        if e.in_range is not None and e.in_range.is_exact:
            s = e.exact.significand
            yield (e.where.out.precision - (s // (s & -s)).bit_length(),)


class RoundingCarry(ShapeModel):
    """CARRY of the rounding: trailing ones of an inexact result."""

    id = "CARRY"
    title = "carries of the rounding: an inexact result whose last kept bits are a run of ones"

    def bins(self, where: OperationSetting) -> Bins:
        return cross("ones{ones}", ones=range(where.out.precision + 1))

    def shapes(self, where: OperationSetting, cell: Cell) -> Iterable[BitShape]:
        """Ones, above them a zero (or nothing), and a guard bit that rounds to nearest up."""
        (ones,) = cell
        width = ones + (ones < where.out.precision) + 1
        return [BitShape(s, (2 << ones) - 1, width, 1, sticky) for sticky in (1, 0) for s in BITS]

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """The ones at the end of the kept bits, with the guard set."""
        place = e.in_range
        if place is not None and place.guard:
            yield ((~place.kept & (place.kept + 1)).bit_length() - 1,)


class DoubleRounding(ShapeModel):
    """DBL: results that round differently through a wider format."""

    id = "DBL"
    title = "double rounding: just beside a midpoint, where rounding to a wider format first would land on it"
    normal_only = True

    def applies(self, where: OperationSetting) -> bool:
        return super().applies(where) and bool(_through(where))

    def bins(self, where: OperationSetting) -> Bins:
        """Above a midpoint with an even value below it, and below a midpoint with an odd one."""
        names = [f.name for f in _through(where)]
        return cross("{via}.{sign}.{side}", via=names, sign=SIGNS, side=("above", "below"))

    def shapes(self, where: OperationSetting, cell: Cell) -> Iterable[BitShape]:
        """The guard is one of the d additional bits of the wider format; its half ulp follows them."""
        via, s, side = cell
        d = CATALOGUE[via].precision - where.out.precision
        if side == "above":
            return [BitShape(s, 1 << d, d + 2, d + 1, 1)]
        return [BitShape(s, 1 << (d + 1) | (1 << d) - 1, d + 2, d + 1, sticky) for sticky in BITS]

    def never(self, where: OperationSetting, cell: Cell) -> str:
        """By Figueroa's theorem if it applies; for an fma, by the lengths of its terms."""
        via = CATALOGUE[cell[0]]
        return super().never(where, cell) or _innocuous(where, via) or _too_far(where, via)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """Decided by the bits that the wider format keeps and the next bit."""
        place = e.in_range
        if place is None or exact.top(e.exact) < e.where.out.emin:
            return
        odd = is_odd(e.where, place)
        for via in wider(e.where.out):
            d = via.precision - e.where.out.precision
            if place.guard and not odd and place.zeros >= d and place.sticky:
                yield via.name, e.exact.sign, "above"
            if not place.guard and odd and place.ones >= d:
                yield via.name, e.exact.sign, "below"


def _through(where: OperationSetting) -> list[Format]:
    """The wider formats; for a function, without those whose traps are too rare to be found."""
    limit = where.out.precision + DEPTH if where.curve is not None else None
    return [f for f in wider(where.out) if limit is None or f.precision <= limit]


def wider(fmt: Format) -> list[Format]:
    """The formats of the catalogue for an intermediate rounding: more precision, no less range; at most three."""
    if not fmt.has_normals:
        return []
    formats = (CATALOGUE[n] for n in ("bf16", "fp16", "fp32", "fp64"))
    return [f for f in formats if f.precision > fmt.precision and f.emax >= fmt.emax and f.emin <= fmt.emin][:3]


# Bits of the wider format from which on double rounding of normal results is innocuous, beside 2p: S. A. Figueroa,
# When is double rounding innocuous?, ACM SIGNUM Newsletter 30(3), 1995.
_INNOCUOUS_BITS: Final[dict[Formula | None, int]] = {
    formulas.SUM: 1,
    formulas.DIFFERENCE: 1,
    formulas.PRODUCT: 0,
    formulas.QUOTIENT: 0,
    formulas.RECIPROCAL: 0,
    formulas.ROOT: 2,
}


def _innocuous(where: OperationSetting, via: Format) -> str:
    more = _INNOCUOUS_BITS.get(where.formula)
    if more is None or any(f != where.out for f in where.formats) or via.precision < 2 * where.out.precision + more:
        return ""
    return f"with the {via.precision} bits of {via.name}, double rounding is innocuous (Figueroa)"


def _too_far(where: OperationSetting, via: Format) -> str:
    """Whether neither term of an fma can reach from a midpoint's guard bit to below the wider format's precision.

    Let the result v lie in [2^e, 2^(e+1)) within 2^(e-p-d) of a midpoint, an odd multiple of 2^(e-p), but not on it.
    One term, x of n bits, has a bit at or below v's lowest, at e-p-d or less: with n < d, |x| < 2^(e-p-1), and the
    other term lies within 2^(e-p) of the midpoint: it has more than p bits. If it cannot, or no x is so low, no v is.
    """
    if not where.fused:
        return ""
    p = where.out.precision
    d, terms = via.precision - p, terms_of(where)
    for x, other in (terms, terms[::-1]):
        short = x.bits < d and other.bits <= p
        if not short and x.unit <= where.out.emax - p - d:
            return ""
    return "no term reaches from the midpoint to below the wider format's precision"


class IntegerPlace(OperationModel):
    """B29: sign, lsb, guard and sticky at the units."""

    id = "B29"
    title = "rounding to integers: every combination of sign, units bit, guard and sticky"

    def applies(self, where: OperationSetting) -> bool:
        return (where.to_integer and where.formats[0].exponent_bits > 0) or where.integral

    def bins(self, where: OperationSetting) -> Bins:
        return ROUND_BITS

    def never(self, where: OperationSetting, cell: Cell) -> str:
        like, reason = as_conversion(where), ""
        for region in self._regions(where, cell):
            reason = unreachable(like, region)
            if not reason:
                return ""
        return reason

    def _regions(self, where: OperationSetting, cell: Cell) -> Iterator[Value]:
        sign, lsb, guard, sticky = cell
        most = max(where.out.max_code, where.out.max_negative_code) if where.out.is_integer else None
        for high in range(64):
            whole = high << 1 | lsb
            if most is not None and whole > most:
                return
            if sticky or whole or guard:
                yield Value(FINITE, sign, whole << 1 | guard, -1, sticky)
        for power in range(6, where.formats[0].precision + 1):
            whole = 1 << power | lsb
            if most is None or whole <= most:
                yield Value(FINITE, sign, whole << 1 | guard, -1, sticky)

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        for region in self._regions(where, cell):
            yield from islice(solve(as_conversion(where), region), 2)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """The cell of an operand whose integral part is in range."""
        x, unit, fmt = e.operands[0], e.unit, e.where.out
        if unit is None:
            return
        most = fmt.max_negative_code if x.sign and fmt.signed else fmt.max_code
        if not fmt.is_integer or unit.kept <= most:
            yield x.sign, unit.kept & 1, unit.guard, unit.sticky
