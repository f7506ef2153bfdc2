"""Models of what happens in a sum: products that the addend cancels, carry chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from softfloat_ref import exact
from softfloat_ref.coverage.draw import bits, word
from softfloat_ref.coverage.events import Events, Setting, limit, place_of
from softfloat_ref.coverage.model import SIGNS, Bin, Model, largest
from softfloat_ref.coverage.reach import span
from softfloat_ref.coverage.solve import Codes, near
from softfloat_ref.coverage.sums import codes_of, opposite, products, term_spans, two_terms
from softfloat_ref.exact import Value, finite
from softfloat_ref.formats import Format


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
