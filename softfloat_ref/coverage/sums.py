"""Models of sums: alignment shifts and cancellation; of add, sub and fma."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from softfloat_ref import exact
from softfloat_ref.coverage.draw import bits, significands, word
from softfloat_ref.coverage.events import Events, Setting
from softfloat_ref.coverage.factors import pairs
from softfloat_ref.coverage.model import Bin, Model
from softfloat_ref.coverage.operands import field_name, patterns
from softfloat_ref.coverage.reach import Span, span
from softfloat_ref.coverage.solve import Codes, exponents, near, operand
from softfloat_ref.exact import Value, finite
from softfloat_ref.formats import Format

KINDS = ("zeros", "ones", "leading", "trailing", "other")


def is_sum(where: Setting) -> bool:
    """Whether the operation adds two terms."""
    return where.name in ("add", "sub", "fma")


def term_spans(where: Setting) -> tuple[Span, Span]:
    """The magnitudes of the two terms."""
    s = [span(f, where.policy.flush_inputs) for f in where.formats]
    if where.name != "fma":
        return s[0], s[1]
    low, high = exact.multiply(s[0].low, s[1].low), exact.multiply(s[0].high, s[1].high)
    signed = s[0].negative or s[1].negative
    return Span(low, high, s[0].unit + s[1].unit, s[0].bits + s[1].bits, signed), s[2]


def two_terms(e: Events) -> tuple[Value, Value] | None:
    """The terms of a sum, neither of them zero."""
    if not is_sum(e.where) or len(e.terms) != 2 or not all(x.significand for x in e.terms):
        return None
    return e.terms[0], e.terms[1]


def opposite(where: Setting) -> bool | None:
    """Whether the terms may have opposite signs: True always, False never, None both."""
    a, b = term_spans(where)
    if a.negative or b.negative:
        return None
    return where.name == "sub"


def codes_of(where: Setting, first: Value, second: Value, seed: int = 0) -> Iterator[Codes]:
    """Operands whose terms are two given values."""
    if where.name != "fma":
        a, b = (
            operand(where.formats[0], first),
            operand(where.formats[1], exact.negate(second) if where.name == "sub" else second),
        )
        if a is not None and b is not None:
            yield a, b
        return
    c = operand(where.formats[2], second)
    if c is None:
        return
    pa, pb = (span(f).bits for f in where.formats[:2])
    for x, y in islice(pairs(first.significand, pa, pb), 2):
        yield from ((*ab, c) for ab in islice(exponents(where, x, y, first.exponent, first.sign, seed), 2))


class Shifts(Model):
    """B10, B14: the difference of the terms' exponents."""

    def __init__(self, name: str, title: str) -> None:
        self.id = name
        self.title = title

    def applies(self, where: Setting) -> bool:
        """B10: sums; B14: fma."""
        return where.name == "fma" if self.id == "B14" else where.name in ("add", "sub")

    def _ends(self, where: Setting) -> tuple[int, int]:
        p = max(f.precision for f in (*where.formats, where.out))
        return (-p - 4, p + 4) if self.id == "B10" else (-2 * p - 4, p + 4)

    def _names(self, where: Setting) -> dict[str, tuple[int, bool]]:
        low, high = self._ends(where)
        kinds = {True: "minus", False: "plus"}
        return {
            f"{self.id}/{kinds[k]}.shift{_shift(s, low, high)}": (s, k) for k in kinds for s in range(low - 1, high + 2)
        }

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """Every shift up to a few bits more than matter, each way; effective additions and subtractions."""
        return tuple(Bin(name, self._never(where, *key)) for name, key in self._names(where).items())

    def _never(self, where: Setting, shift: int, minus: bool) -> str:
        low, high = self._ends(where)
        a, b = self._spans(where)
        least, most = exact.top(a.low) - exact.top(b.high), exact.top(a.high) - exact.top(b.low)
        if not ((least <= shift or shift > high) and (shift <= most or shift < low)):
            return "the exponents of the terms never differ so"
        if (shift < low and least > shift) or (shift > high and most < shift):
            return "the exponents of the terms never differ so"
        if opposite(where) not in (None, minus):
            return "the terms' signs never differ" if minus else "the terms' signs always differ"
        return ""

    def _spans(self, where: Setting) -> tuple[Span, Span]:
        """Of the terms whose exponents are subtracted; for an fma the addend comes first."""
        a, b = term_spans(where)
        return (b, a) if where.name == "fma" else (a, b)

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Terms of such exponents, with mixed significands."""
        shift, minus = self._names(where)[name]
        low, high = self._ends(where)
        for turn in range(64):
            far = word(9, turn) % 12 if not low <= shift <= high and turn else 0
            yield from shifted(where, shift + (far if shift > 0 else -far), minus, turn)

    def hits(self, e: Events) -> Iterable[str]:
        """By the exponents of the leading bits."""
        terms = two_terms(e)
        if terms is not None:
            first, second = terms if e.where.name != "fma" else terms[::-1]
            kind = "minus" if first.sign != second.sign else "plus"
            shift = exact.top(first) - exact.top(second)
            yield f"{self.id}/{kind}.shift{_shift(shift, *self._ends(e.where))}"


def _shift(s: int, low: int, high: int) -> str:
    return "less" if s < low else "more" if s > high else f"{s:+d}" if s else "0"


def shifted(where: Setting, shift: int, minus: bool, turn: int) -> Iterator[Codes]:
    """Operands whose terms' exponents differ by a shift; an fma's addend is the first."""
    a, b = term_spans(where)
    first, second = (b, a) if where.name == "fma" else (a, b)
    low = max(exact.top(first.low), exact.top(second.low) + shift)
    high = min(exact.top(first.high), exact.top(second.high) + shift)
    if low > high:
        return
    middle = min(max((shift + 1) // 2, low), high)
    e = (middle, low, high, low + word(turn, 1) % (high - low + 1))[turn % 4]
    sign = turn >> 1 & 1 if first.negative else 0
    x = _mixed(_own(where, -1 if where.name == "fma" else 0), e, sign, turn)
    other = sign ^ int(minus)
    if where.name != "fma":
        y = _mixed(where.formats[1], e - shift, other, turn + 50)
        if x is not None and y is not None:
            yield from codes_of(where, x, y)
        return
    c = None if x is None else operand(where.formats[2], x)
    if c is not None:
        yield from ((*ab, c) for ab in products(where, e - shift, other, turn))


def _own(where: Setting, i: int) -> Format:
    return where.formats[i]


def _mixed(fmt: Format, e: int, sign: int, turn: int) -> Value | None:
    """A number of a format with that exponent, of mixed significand; None where it has none."""
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


def products(where: Setting, e: int, sign: int, turn: int) -> Iterator[Codes]:
    """Factors of an fma whose exact product has that exponent."""
    pa, pb = (span(f).bits for f in where.formats[:2])
    for i in range(4):
        x, y = (1 << (p - 1) | (bits(41 + turn + i, j, p - 1) if i < 3 else 0) for j, p in enumerate((pa, pb)))
        yield from exponents(where, x, y, e - (x * y).bit_length() + 1, sign, turn)


class PatternsAndShifts(Model):
    """B11, B15: significand patterns of two operands crossed with the shift."""

    def __init__(self, name: str, title: str) -> None:
        self.id = name
        self.title = title

    def applies(self, where: Setting) -> bool:
        """B11: sums; B15: fma; of float formats with some bits."""
        alike = all(f.exponent_bits and f.mantissa_bits >= 2 and f.has_normals for f in where.formats)
        return alike and (where.name == "fma" if self.id == "B15" else where.name in ("add", "sub"))

    def _names(self, where: Setting) -> dict[str, tuple[str, str, str]]:
        return {
            f"{self.id}/{a},{b}.{z}": (a, b, z)
            for a in KINDS
            for b in KINDS
            for z in ("far-", "near-", "equal", "near+", "far+")
        }

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """The kinds of the first and the last operand's significand, crossed with five zones of the shift."""
        a, c = where.formats[0], where.formats[-1]
        missing = [{k for k in KINDS if not _fields(f, k)} for f in (a, c)]
        return tuple(
            Bin(
                name,
                "the format has no such significand"
                if ka in missing[0] or kb in missing[1]
                else self._zone_never(where, z),
            )
            for name, (ka, kb, z) in self._names(where).items()
        )

    def _zone_never(self, where: Setting, zone: str) -> str:
        a, b = term_spans(where)
        first, second = (b, a) if where.name == "fma" else (a, b)
        least, most = exact.top(first.low) - exact.top(second.high), exact.top(first.high) - exact.top(second.low)
        p = where.out.precision
        ranges = {"far-": (least, -p), "near-": (1 - p, -1), "equal": (0, 0), "near+": (1, p - 1), "far+": (p, most)}
        low, high = ranges[zone]
        return "" if max(low, least) <= min(high, most) else "the exponents of the terms never differ so"

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Such significands, with exponents in the zone."""
        ka, kb, zone = self._names(where)[name]
        p = where.out.precision
        zones = {"far-": (-p - 6, -p), "near-": (1 - p, -1), "equal": (0, 0), "near+": (1, p - 1), "far+": (p, p + 6)}
        low, high = zones[zone]
        for turn in range(48):
            shift = (low, high, (low + high) // 2)[turn] if turn < 3 else low + word(13, turn) % (high - low + 1)
            for codes in shifted(where, shift, bool(turn & 1), turn):
                yield self._patterned(where, codes, ka, kb, turn)

    def _patterned(self, where: Setting, codes: Codes, ka: str, kb: str, turn: int) -> Codes:
        """The codes with other significand fields in the first and the last operand."""
        changed = list(codes)
        for i, kind in ((0, ka), (len(codes) - 1, kb)):
            fmt = where.formats[i]
            fields = _fields(fmt, kind)
            mask = (1 << fmt.mantissa_bits) - 1
            if fields:
                changed[i] = codes[i] & ~mask | fields[turn // 2 % len(fields)]
        return tuple(changed)

    def hits(self, e: Events) -> Iterable[str]:
        """By the fields of normal operands."""
        terms = two_terms(e)
        if terms is None:
            return
        kinds = [_kind(e.where.formats[i], e.codes[i]) for i in (0, len(e.codes) - 1)]
        if "" in kinds:
            return
        first, second = terms if e.where.name != "fma" else terms[::-1]
        s, p = exact.top(first) - exact.top(second), e.where.out.precision
        zone = "far-" if s <= -p else "near-" if s < 0 else "equal" if s == 0 else "near+" if s < p else "far+"
        yield f"{self.id}/{kinds[0]},{kinds[1]}.{zone}"


def _kind(fmt: Format, code: int) -> str:
    """The coarse pattern of a normal code's field; '' for others."""
    magnitude = code & fmt.magnitude_mask
    if fmt.is_nan(code) or not fmt.min_normal_code <= magnitude <= fmt.max_code:
        return ""
    name = field_name(fmt, code) or "other"
    return next((k for k in KINDS if name.startswith(k)), "other")


def _fields(fmt: Format, kind: str) -> list[int]:
    """Significand fields of a coarse pattern."""
    known = patterns(fmt.mantissa_bits)
    if kind != "other":
        return [field for name, field in known.items() if name.startswith(kind)]
    return [f for f in (bits(19, i, fmt.mantissa_bits) for i in range(12)) if f not in known.values()] or [
        field for name, field in known.items() if not name.startswith(KINDS[:4])
    ]


class Cancellation(Model):
    """B12, B13, B16, B17: how far below the larger term the exact sum lies."""

    def __init__(self, name: str, title: str, subnormal: bool) -> None:
        self.id = name
        self.title = title
        self.subnormal = subnormal

    def applies(self, where: Setting) -> bool:
        """B12, B13: sums; B16, B17: fma; the odd ones where results may be subnormal."""
        fits = where.name == "fma" if self.id in ("B16", "B17") else where.name in ("add", "sub")
        gradual = where.out.subnormals == "gradual" and where.out.has_normals and where.out.mantissa_bits > 0
        return fits and (gradual or not self.subnormal)

    def _depth(self, where: Setting) -> int:
        if where.name == "fma":
            return where.formats[0].precision + where.formats[1].precision - 1
        return max(f.precision for f in where.formats)

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """The result's exponent less the larger term's, from +1 down to full cancellation; and zero."""
        found = [Bin(self._name(c), self._never(where, c)) for c in range(1, -self._depth(where) - 1, -1)]
        if not self.subnormal:
            found.append(Bin(f"{self.id}/zero", self._never(where, -1)))
        return tuple(found)

    def _name(self, c: int) -> str:
        return f"{self.id}/exponent{c:+d}" if c else f"{self.id}/exponent0"

    def _never(self, where: Setting, c: int) -> str:
        minus = opposite(where)
        if c < 0 and minus is False:
            return "the terms' signs never differ"
        if c > 0 and minus is True:
            return "the terms' signs always differ"
        if not self.subnormal:
            return ""
        a, b = term_spans(where)
        unit = min(a.unit, b.unit)
        if unit >= where.out.emin:
            return f"every exact result is a multiple of 2^{unit}"
        # the larger term has an exponent of at least the result's
        least = max(exact.top(a.low), exact.top(b.low))
        if least + c > where.out.emin - 1:
            return "no term is so small"
        return ""

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """A result of the wanted exponent, and terms that give it."""
        word_ = name.partition("/")[2].removeprefix("exponent")
        zero = word_ == "zero"
        c = 0 if zero else int(word_)
        a, b = term_spans(where)
        for turn in range(160):
            yield from self._turn(where, c, zero, turn, a, b)

    def _turn(self, where: Setting, c: int, zero: bool, turn: int, a: Span, b: Span) -> Iterator[Codes]:
        low = max(
            min(exact.top(a.low), exact.top(b.low)),
            where.out.emin - where.out.mantissa_bits - c if not zero else -UNLIMITED,
        )
        high = min(exact.top(a.high), exact.top(b.high))
        if self.subnormal:
            high = min(high, where.out.emin - 1 - c)
        if low > high:
            low = high = min(
                exact.top(a.high), exact.top(b.high), where.out.emin - 1 - c if self.subnormal else UNLIMITED
            )
        e = (min(max(0, low), high), low, high, low + word(turn, 3) % (high - low + 1))[turn % 4]
        sign = word(turn, 5) & 1 if a.negative else 0
        yield from (_products_apart if where.name == "fma" and turn % 2 else _apart)(
            where, e, c, zero, sign, turn, a, b
        )

    def hits(self, e: Events) -> Iterable[str]:
        """By the exponents of terms and exact sum."""
        terms = two_terms(e)
        if terms is None:
            return
        if e.exact.significand == 0:
            if not self.subnormal:
                yield f"{self.id}/zero"
            return
        top = exact.top(e.exact)
        c = top - max(exact.top(x) for x in terms)
        if -self._depth(e.where) <= c <= 1 and (not self.subnormal or top < e.where.out.emin):
            yield self._name(c)


UNLIMITED = 1 << 30


def _apart(where: Setting, e: int, c: int, zero: bool, sign: int, turn: int, a: Span, b: Span) -> Iterator[Codes]:
    """Terms of exponent about e whose sum has exponent e + c: the second is the result less the first."""
    p = min(a.bits, b.bits if where.name != "fma" else a.bits)
    unit = max(e - p + 1, min(a.unit, b.unit))
    width = max(e - unit + 1, 1)
    big = 1 << (width - 1)
    first = finite(
        sign, (big | (0, bits(51, turn, width - 1), 1 % big if big > 1 else 0, big - 1)[turn // 4 % 4]), e - width + 1
    )
    if zero:
        second = exact.negate(first)
    elif c > 0:
        second = finite(sign, first.significand | (big >> 1), first.exponent)
    else:
        # the sum has its leading bit at e + c; under it as many bits as fit
        room = max(min(e + c - unit, p - 1), 0)
        unit_of_sum = e + c - room
        total = finite(sign, 1 << room | (bits(61, turn, room) if turn % 3 else 0), unit_of_sum)
        second = exact.add(total, exact.negate(first))
        if c == 0 and turn % 2:
            second = finite(sign, 1, unit)
    if second.significand:
        yield from codes_of(where, first, second, turn)
        yield from codes_of(where, second, first, turn)


def _products_apart(
    where: Setting, e: int, c: int, zero: bool, sign: int, turn: int, a: Span, b: Span
) -> Iterator[Codes]:
    """A product whose low bits are few, and the addend that cancels its upper ones (x*y = H*2^k + r, r small)."""
    pa, pb = (span(f).bits for f in where.formats[:2])
    pc = span(where.formats[2]).bits
    for x in _some(significands(turn, pa), turn):
        x |= 1
        for y in _partners(x, pa, pb, pc, c, zero, turn):
            product = x * y
            total = e - product.bit_length() + 1
            value = finite(sign, product, total)
            for addend in near(where.formats[2], value):
                term = exact.negate(where.decode(2, addend))
                code = operand(where.formats[2], term)
                if code is None:
                    continue
                rest = exact.add(value, term)
                if (rest.significand == 0) if zero else (rest.significand and exact.top(rest) - e == c):
                    for ab in exponents(where, x, y, total, sign, turn):
                        yield (*ab, code)
                        break


def _some(listed: Iterator[int], turn: int) -> Iterator[int]:
    for i, x in enumerate(listed):
        if i >= 8 + turn % 8:
            return
        if i >= turn % 8:
            yield x


def _partners(x: int, pa: int, pb: int, pc: int, c: int, zero: bool, turn: int) -> Iterator[int]:
    """Second factors for which x*y is a multiple of 2^k but for a remainder of about the wanted size."""
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
                for more in range(3):
                    candidate = y + (more << k)
                    if 0 < candidate < 1 << pb:
                        yield candidate
