"""Models of sums: alignment shifts, cancellation, carry chains; of add, sub and fma."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from softfloat_ref import exact
from softfloat_ref.coverage.draw import bits, significands, word
from softfloat_ref.coverage.events import Events, Setting, limit, place_of
from softfloat_ref.coverage.factors import pairs
from softfloat_ref.coverage.model import SIGNS, Bin, Model, largest
from softfloat_ref.coverage.operands import field_name, patterns
from softfloat_ref.coverage.reach import Span, reach, span
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


class ProductEvents(Model):
    """B18: what the product alone would have been, and the sum is not."""

    id = "B18"
    title = "fma: overflow, underflow or inexactness of the product alone, cancelled by the addend"

    def applies(self, where: Setting) -> bool:
        """fma."""
        return where.name == "fma"

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """Overflow, tiny and inexact products whose sums are in range, normal, exact; each sign of the product."""
        return tuple(Bin(name, self._never(where, name)) for name in self._names())

    def _names(self) -> list[str]:
        kinds = ("overflow.in-range", "overflow.zero", "tiny.normal", "below-all.normal", "inexact.exact")
        return [f"B18/{s}.{kind}" for s in SIGNS for kind in kinds]

    def _never(self, where: Setting, name: str) -> str:
        a, b = term_spans(where)
        sign = int("/neg" in name)
        if sign and not a.negative:
            return "no product is negative"
        kind = name.partition(".")[2]
        most = largest(where, sign)
        like = Setting(where.sig, where.policy)
        if kind.startswith("overflow") and most is not None and _at_most(a.high, most):
            return "no product overflows"
        if kind.startswith("overflow") and opposite(like) is False:
            return "the terms' signs never differ"
        if kind == "overflow.zero" and most is not None and _at_most(b.high, most):
            return "no addend is as large as a product that overflows"
        smallest = finite(0, *where.out.magnitude(where.out.min_normal_code)) if where.out.has_normals else None
        if kind == "tiny.normal" and (smallest is None or _at_most(smallest, a.low)):
            return "no product is tiny"
        if kind == "below-all.normal" and _at_most(finite(0, *where.out.magnitude(where.out.min_code)), a.low):
            return "no product is so small"
        if kind == "inexact.exact" and a.bits <= where.out.precision:
            unit = where.out.emin - where.out.mantissa_bits
            if a.unit >= unit:
                return "every product is exact"
            if b.unit >= unit:
                return "products lose bits only below the addend's last one"
        return ""

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Products of the kind, and addends that cancel."""
        sign, kind = int("/neg" in name), name.partition(".")[2]
        fmt = where.out
        for turn in range(120):
            size = {
                "overflow.in-range": fmt.emax + (turn % 2),
                "overflow.zero": fmt.emax + 1,
                "tiny.normal": fmt.emin - 1 - turn % 5,
                "below-all.normal": fmt.emin - fmt.mantissa_bits - 2 - turn % 5,
                "inexact.exact": min(max(0, fmt.emin), fmt.emax) + turn % 5,
            }[kind]
            for ab in products(where, size, sign, turn):
                product = where_product(where, ab)
                yield from self._addends(where, ab, product, kind, turn)

    def _addends(self, where: Setting, ab: Codes, product: Value, kind: str, turn: int) -> Iterator[Codes]:
        fc = where.formats[2]
        if kind.startswith("overflow"):
            half = product._replace(sign=product.sign ^ 1)
            shrunk = (half, half._replace(exponent=half.exponent - 1), half._replace(exponent=half.exponent - turn % 5))
        elif kind == "inexact.exact":
            low = product.significand & (1 << product.significand.bit_length() // 2) - 1
            shrunk = tuple(
                finite(product.sign ^ s, x, product.exponent)
                for s, x in (
                    (1, low),
                    (1, product.significand - low),
                    (1, product.significand),
                    (0, (1 << product.significand.bit_length() // 2) - low),
                )
            )  # type: ignore[assignment]
        else:
            shrunk = tuple(finite(s, 1 + turn % 3, where.out.emin + turn % 7) for s in (0, 1))  # type: ignore[assignment]
        for x in shrunk:
            if x.significand:
                yield from ((*ab, c) for c in near(fc, x))

    def hits(self, e: Events) -> Iterable[str]:
        """By the exact product and the exact sum."""
        if len(e.terms) != 2 or e.terms[0].significand == 0 or e.terms[1].significand == 0:
            return
        product, fmt = e.terms[0], e.where.out
        name = f"B18/{SIGNS[product.sign]}."
        most = largest(e.where, product.sign)
        place = product_place(e)
        kept_in_range = e.exact.significand == 0 or (
            e.place is not None and e.place.code <= limit(e.where, e.exact.sign)
        )
        if most is not None and not _at_most(product, most) and kept_in_range:
            yield name + ("overflow.zero" if e.exact.significand == 0 else "overflow.in-range")
        if e.exact.significand and exact.top(e.exact) >= fmt.emin and kept_in_range:
            if exact.top(product) < fmt.emin:
                yield name + "tiny.normal"
            if (
                _at_most(product, finite(0, *fmt.magnitude(fmt.min_code)))
                and product.significand
                and not _same(product, fmt)
            ):
                yield name + "below-all.normal"
        exactly = e.place is not None and not e.place.guard and not e.place.sticky
        if place is not None and (place[0] or place[1]) and exactly and kept_in_range:
            yield name + "inexact.exact"


def _same(product: Value, fmt: Format) -> bool:
    return exact.compare(product._replace(sign=0), finite(0, *fmt.magnitude(fmt.min_code))) == 0


def product_place(e: Events) -> tuple[int, int] | None:
    """Guard and sticky of the product alone."""
    place = place_of(e.terms[0], e.where)
    return place.guard, place.sticky


def where_product(where: Setting, ab: Codes) -> Value:
    """The exact product of two codes."""
    return exact.multiply(where.decode(0, ab[0]), where.decode(1, ab[1]))


def _at_most(x: Value, y: Value) -> bool:
    """Whether |x| <= |y|."""
    return exact.compare(x._replace(sign=0), y._replace(sign=0)) <= 0


class CarryChains(Model):
    """ADDCARRY: the longest carry, or borrow, of the aligned significands."""

    id = "CHAIN"
    title = "carry chains: the longest run of carries, or of borrows, in the sum of the aligned significands"

    def applies(self, where: Setting) -> bool:
        """add and sub."""
        return where.name in ("add", "sub")

    def _depth(self, where: Setting) -> int:
        return min(span(f).bits for f in where.formats)

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """Every length up to the precision."""
        kinds = {"carry": False, "borrow": True}
        reasons = {"carry": "the terms' signs always differ", "borrow": "the terms' signs never differ"}
        return tuple(
            Bin(f"CHAIN/{kind}{k}", reasons[kind] if opposite(where) not in (None, minus) else "")
            for kind, minus in kinds.items()
            for k in range(1, self._depth(where) + 1)
        )

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """k ones and a one at their lower end; or a one and a lower one."""
        minus = "borrow" in name
        k = int(name.removeprefix("CHAIN/").removeprefix("borrow").removeprefix("carry"))
        a, b = term_spans(where)
        for turn in range(60):
            low = max(a.unit, b.unit)
            high = min(exact.top(a.high), exact.top(b.high)) - k
            spread = max(high - low + 1, 1)
            e = (min(max(-k, low), high), low, high, low + word(turn, 2) % spread)[turn % 4] if high >= low else low
            sign = turn >> 1 & 1 if a.negative else 0
            top = 1 << k if minus else (1 << k) - 1
            for above in (0, bits(turn, 1, 2) << (k + 1)):
                x = finite(sign, above + top, e)
                y = finite(sign ^ int(minus), 1, e)
                yield from codes_of(where, x, y)
                yield from codes_of(where, y, x)

    def hits(self, e: Events) -> Iterable[str]:
        """The longest run of ones in the carries."""
        terms = two_terms(e)
        if terms is None:
            return
        x, y = terms
        unit = min(x.exponent, y.exponent)
        if max(exact.top(x), exact.top(y)) - unit > 4096:
            return
        m, n = x.significand << (x.exponent - unit), y.significand << (y.exponent - unit)
        if x.sign == y.sign:
            kind, carries = "carry", (m + n) ^ m ^ n
        else:
            m, n = max(m, n), min(m, n)
            kind, carries = "borrow", (m - n) ^ m ^ n
        run = 0
        while carries:
            run += 1
            carries &= carries << 1
        if 0 < run <= self._depth(e.where):
            yield f"CHAIN/{kind}{run}"


def subnormal_results(where: Setting) -> bool:
    """Whether any exact result lies below the smallest normal value."""
    bounds = reach(where)
    return bounds is None or exact.top(bounds.smallest) < where.out.emin
