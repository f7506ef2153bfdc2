"""Models of sums of two terms: alignment shifts and cancellation; of add, sub and fma."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from softfloat_ref.coverage.codes import near, operand
from softfloat_ref.coverage.engine.framework import Bins, Cell, Line, bits, cross, significands, word
from softfloat_ref.coverage.operation.operands import field_name, patterns
from softfloat_ref.coverage.operation.reach import UNBOUNDED, aligned_terms, opposite, precisions, span, terms_of
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationModel, OperationSetting
from softfloat_ref.coverage.operation.solve import exponents, terms_as_codes
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value, finite
from softfloat_ref.oracle.formats import Format

KINDS: Final = ("zeros", "ones", "leading", "trailing", "other")
ZONES: Final = ("far-", "near-", "equal", "near+", "far+")
_EFFECTIVE_SIGNS: Final = {True: "minus", False: "plus"}
_NO_SHIFT: Final = "the exponents of the terms never differ by that much"
NO_SIGNS: Final = {True: "the terms' signs never differ", False: "the terms' signs always differ"}


class SumModel(OperationModel):
    """A model with two variants: sums of two operands, and fma. fused: whether it is the variant for fma."""

    def __init__(self, name: str, title: str, fused: bool = False) -> None:
        self.id = name
        self.title = title
        self.fused = fused

    def applies(self, where: OperationSetting) -> bool:
        return where.fused if self.fused else where.adds


class Shifts(SumModel):
    """B10, B14: the difference of the terms' exponents."""

    def _ends(self, where: OperationSetting) -> tuple[int, int]:
        p = max(f.precision for f in (*where.formats, where.out))
        return (-2 * p - 4, p + 4) if self.fused else (-p - 4, p + 4)

    def bins(self, where: OperationSetting) -> Bins:
        """Every shift up to a few bits more than matter, each way; effective additions and subtractions."""
        low, high = self._ends(where)
        shifts = {s: f"{s:+d}" if s else "0" for s in range(low, high + 1)}
        return cross("{sign}.shift{shift}", sign=_EFFECTIVE_SIGNS, shift={low - 1: "less", **shifts, high + 1: "more"})

    def never(self, where: OperationSetting, cell: Cell) -> str:
        minus, shift = cell
        low, high = self._ends(where)
        a, b = aligned_terms(where)
        if (shift <= high and a.least - b.most > shift) or (shift >= low and a.most - b.least < shift):
            return _NO_SHIFT
        if (shift > high and a.most - b.least < shift) or (shift < low and a.least - b.most > shift):
            return _NO_SHIFT
        return NO_SIGNS[minus] if opposite(where) not in (None, minus) else ""

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        minus, shift = cell
        low, high = self._ends(where)
        for turn in range(64):
            far = word(9, turn) % 12 if not low <= shift <= high and turn else 0
            yield from shifted(where, shift + (far if shift > 0 else -far), minus, turn)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        if e.terms is not None:
            low, high = self._ends(e.where)
            yield e.terms[0].sign != e.terms[1].sign, min(max(e.shift, low - 1), high + 1)


def shifted(where: OperationSetting, shift: int, minus: bool, turn: int) -> Iterator[Line]:
    """Operands whose terms' exponents differ by a shift; an fma's addend is the first."""
    first, second = aligned_terms(where)
    low, high = max(first.least, second.least + shift), min(first.most, second.most + shift)
    if low > high:
        return
    middle = min(max((shift + 1) // 2, low), high)
    e = (middle, low, high, low + word(turn, 1) % (high - low + 1))[turn % 4]
    sign = turn >> 1 & 1 if first.negative else int(where.fused and where.minus[1])
    x = _mixed(where.formats[-1 if where.fused else 0], e, sign, turn)
    other = sign ^ int(minus)
    if not where.fused:
        y = _mixed(where.formats[1], e - shift, other, turn + 50)
        if x is not None and y is not None:
            yield from terms_as_codes(where, x, y)
        return
    c = None if x is None else operand(where.formats[2], where.addend(x))
    if c is not None:
        yield from ((*ab, c) for ab in products(where, e - shift, other, turn))


def _mixed(fmt: Format, e: int, sign: int, turn: int) -> Value | None:
    """A number of a format with that exponent, of mixed significand; None if there is none."""
    p = min(fmt.precision, e - (fmt.emin - fmt.mantissa_bits) + 1)
    if fmt.twos_complement:
        p = min(fmt.mantissa_bits, e - (1 - fmt.bias - fmt.mantissa_bits) + 1)
    if p < 1:
        return None
    chosen = (bits(31, turn, p - 1), 0, (1 << (p - 1)) - 1, 1 if p > 1 else 0)[turn % 4]
    for field in (chosen, 0):
        x = finite(sign, 1 << (p - 1) | field, e - p + 1)
        if operand(fmt, x) is not None:
            return x
    return None


def products(where: OperationSetting, e: int, sign: int, turn: int) -> Iterator[Line]:
    """Factors of an fma whose exact product has that exponent."""
    for i in range(4):
        x, y = (1 << (p - 1) | (bits(41 + turn + i, j, p - 1) if i < 3 else 0) for j, p in enumerate(precisions(where)))
        yield from exponents(where, x, y, e - (x * y).bit_length() + 1, sign, turn)


class PatternsAndShifts(SumModel):
    """B11, B15: significand patterns of two operands crossed with the shift."""

    def applies(self, where: OperationSetting) -> bool:
        return super().applies(where) and all(
            f.exponent_bits and f.mantissa_bits >= 2 and f.has_normals for f in where.formats
        )

    def bins(self, where: OperationSetting) -> Bins:
        """The patterns of the first and the last operand's significand, crossed with five zones of the shift."""
        return cross("{first},{last}.{zone}", first=KINDS, last=KINDS, zone=ZONES)

    def _zone(self, where: OperationSetting, zone: str, least: int, most: int) -> tuple[int, int]:
        """The shifts of a zone, with the far zones starting at `least` or ending at `most`."""
        p = where.out.precision
        return dict(zip(ZONES, ((least, -p), (1 - p, -1), (0, 0), (1, p - 1), (p, most)), strict=True))[zone]

    def never(self, where: OperationSetting, cell: Cell) -> str:
        *kinds, zone = cell
        ends = where.formats[0], where.formats[-1]
        if not all(_fields(f, kind) for f, kind in zip(ends, kinds, strict=True)):
            return "the format has no such significand"
        a, b = aligned_terms(where)
        least, most = a.least - b.most, a.most - b.least
        low, high = self._zone(where, zone, least, most)
        return "" if max(low, least) <= min(high, most) else _NO_SHIFT

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        *kinds, zone = cell
        p = where.out.precision
        low, high = self._zone(where, zone, -p - 6, p + 6)
        for turn in range(48):
            shift = (low, high, (low + high) // 2)[turn] if turn < 3 else low + word(13, turn) % (high - low + 1)
            for codes in shifted(where, shift, bool(turn & 1), turn):
                changed = list(codes)
                for i, kind in zip((0, len(codes) - 1), kinds, strict=True):
                    fields = _fields(where.formats[i], kind)
                    mask = (1 << where.formats[i].mantissa_bits) - 1
                    changed[i] = codes[i] & ~mask | fields[turn // 2 % len(fields)] if fields else codes[i]
                yield tuple(changed)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        if e.terms is None:
            return
        first, last = (_kind(e.where.formats[i], e.codes[i]) for i in (0, -1))
        s, p = e.shift, e.where.out.precision
        zone = "far-" if s <= -p else "near-" if s < 0 else "equal" if s == 0 else "near+" if s < p else "far+"
        yield first, last, zone


def _kind(fmt: Format, code: int) -> str:
    """The coarse pattern of a normal code's field; '' for others."""
    if fmt.is_nan(code) or not fmt.min_normal_code <= code & fmt.magnitude_mask <= fmt.max_code:
        return ""
    name = field_name(fmt, code) or "other"
    return next((k for k in KINDS if name.startswith(k)), "other")


def _fields(fmt: Format, kind: str) -> list[int]:
    """Significand fields of a coarse pattern."""
    known = patterns(fmt.mantissa_bits)
    if kind != "other":
        return [field for name, field in known.items() if name.startswith(kind)]
    mixed = [f for f in (bits(19, i, fmt.mantissa_bits) for i in range(12)) if f not in known.values()]
    return mixed or [field for name, field in known.items() if not name.startswith(KINDS[:4])]


class Cancellation(SumModel):
    """B12, B13, B16, B17: the distance of the exact sum below the larger term. subnormal: for subnormal results."""

    def __init__(self, name: str, title: str, fused: bool = False, subnormal: bool = False) -> None:
        super().__init__(name, title, fused)
        self.subnormal = subnormal

    def applies(self, where: OperationSetting) -> bool:
        """The odd ones where results may be subnormal."""
        return super().applies(where) and ((where.gradual and where.out.mantissa_bits > 0) or not self.subnormal)

    def bins(self, where: OperationSetting) -> Bins:
        """The result's exponent less the larger term's, from +1 down to full cancellation; and zero."""
        depth = sum(f.precision for f in where.formats[:2]) - 1
        depth = depth if where.fused else max(f.precision for f in where.formats)
        names = {c: f"{c:+d}" if c else "0" for c in range(1, -depth - 1, -1)}
        return cross("exponent{c}", c=names) | ({} if self.subnormal else {(None,): "zero"})

    def never(self, where: OperationSetting, cell: Cell) -> str:
        c = -1 if cell[0] is None else cell[0]
        minus = opposite(where)
        if minus is not None and (c > 0 if minus else c < 0):
            return NO_SIGNS[not minus]
        if not self.subnormal:
            return ""
        a, b = terms_of(where)
        unit = min(a.unit, b.unit)
        if unit >= where.out.emin:
            return f"every exact result is a multiple of 2^{unit}"
        # the larger term has an exponent of at least the result's
        return "no term is that small" if max(a.least, b.least) + c > where.out.emin - 1 else ""

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """A result of the wanted exponent, and terms that give it."""
        zero = cell[0] is None
        c = 0 if zero else cell[0]
        a, b = terms_of(where)
        most = min(a.most, b.most)
        small = where.out.emin - 1 - c if self.subnormal else UNBOUNDED
        low = max(min(a.least, b.least), where.out.emin - where.out.mantissa_bits - c if not zero else -UNBOUNDED)
        high = min(most, small)
        low = min(low, high)
        for turn in range(160):
            e = (min(max(0, low), high), low, high, low + word(turn, 3) % (high - low + 1))[turn % 4]
            sign = word(turn, 5) & 1 if a.negative else int(where.minus[0])
            if where.fused and turn % 2:
                yield from _products_apart(where, e, c, zero, sign, turn)
            else:
                yield from _apart(where, e, c, zero, sign, turn)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the exponents of terms and exact sum."""
        if e.terms is None:
            return
        if e.exact.significand == 0:
            yield (None,)
            return
        top = exact.top(e.exact)
        if not self.subnormal or top < e.where.out.emin:
            yield (top - max(exact.top(x) for x in e.terms),)


def _apart(where: OperationSetting, e: int, c: int, zero: bool, sign: int, turn: int) -> Iterator[Line]:
    """Terms of exponent about e whose sum has exponent e + c: the second is the result less the first."""
    a, b = terms_of(where)
    p = a.bits if where.fused else min(a.bits, b.bits)
    unit = max(e - p + 1, min(a.unit, b.unit))
    width = max(e - unit + 1, 1)
    big = 1 << (width - 1)
    low = (0, bits(51, turn, width - 1), 1 % big if big > 1 else 0, big - 1)[turn // 4 % 4]
    first = finite(sign, big | low, e - width + 1)
    if zero:
        second = exact.negate(first)
    elif c > 0:
        second = finite(sign, first.significand | (big >> 1), first.exponent)
    elif c == 0 and turn % 2:
        second = finite(sign, 1, unit)
    else:
        # the sum has its leading bit at e + c; under it as many bits as fit
        room = max(min(e + c - unit, p - 1), 0)
        total = finite(sign, 1 << room | (bits(61, turn, room) if turn % 3 else 0), e + c - room)
        second = exact.add(total, exact.negate(first))
    if second.significand:
        yield from terms_as_codes(where, first, second, turn)
        yield from terms_as_codes(where, second, first, turn)


def _products_apart(where: OperationSetting, e: int, c: int, zero: bool, sign: int, turn: int) -> Iterator[Line]:
    """A product with few low bits, and the addend that cancels its upper ones (x*y = H*2^k + r, r small)."""
    (pa, pb), fc = precisions(where), where.formats[2]
    for x in islice(significands(turn, pa), turn % 8, 8 + turn % 8):
        x |= 1
        for y in _partners(x, pa, pb, span(fc).bits, c, zero, turn):
            total = e - (x * y).bit_length() + 1
            value = finite(sign, x * y, total)
            for addend in near(fc, value):
                term = exact.negate(where.decode(2, addend))
                code = operand(fc, where.addend(term))
                if code is None:
                    continue
                rest = exact.add(value, term)
                if (rest.significand == 0) if zero else (rest.significand and exact.top(rest) - e == c):
                    yield from ((*ab, code) for ab in islice(exponents(where, x, y, total, sign, turn), 1))


def _partners(x: int, pa: int, pb: int, pc: int, c: int, zero: bool, turn: int) -> Iterator[int]:
    """Second factors for which x*y is a multiple of 2^k plus a remainder of about the wanted size."""
    k = max(pa + pb - pc, 1)
    if zero:
        yield 1 << (pb - 1)
        return
    inverse = pow(x, -1, 1 << k)
    for length in (pa + pb + c, pa + pb - 1 + c):
        if not 0 < length <= k:
            continue
        for j in range(3):
            r = 1 << (length - 1) | (bits(71 + turn, j, length - 1) if j else 0)
            for residue in (r, -r):
                y = residue * inverse % (1 << k)
                yield from (candidate for m in range(3) if 0 < (candidate := y + (m << k)) < 1 << pb)
