"""Models of events in a sum: products that the addend cancels, carry chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref.coverage.codes import near, place_of
from softfloat_ref.coverage.engine.framework import SIGNS, Bins, Cell, Line, bits, cross, word
from softfloat_ref.coverage.operation.reach import opposite, span, terms_of
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationModel, OperationSetting
from softfloat_ref.coverage.operation.solve import terms_as_codes
from softfloat_ref.coverage.operation.sums_and_fma import NO_SIGNS, products
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value, finite

_PRODUCT_KINDS: Final = (
    ("overflow", "in-range"),
    ("overflow", "zero"),
    ("tiny", "normal"),
    ("below-all", "normal"),
    ("inexact", "exact"),
)


class ProductEvents(OperationModel):
    """B18: events of the product alone that the sum does not have."""

    id = "B18"
    title = "fma: overflow, underflow or inexactness of the product alone, cancelled by the addend"

    def applies(self, where: OperationSetting) -> bool:
        return where.fused

    def bins(self, where: OperationSetting) -> Bins:
        """Overflow, tiny and inexact products whose sums are in range, normal, exact; each sign of the product."""
        kinds = {(product, total): f"{product}.{total}" for product, total in _PRODUCT_KINDS}
        return cross("{sign}.{kind}", sign=SIGNS, kind=kinds)

    def never(self, where: OperationSetting, cell: Cell) -> str:
        (sign, (product, total)), (a, b), fmt = cell, terms_of(where), where.out
        if sign != where.minus[0] and not a.negative:
            return f"no product is {'negative' if sign else 'positive'}"
        if product == "overflow":
            most = where.largest(sign)
            if most is not None and _at_most(a.high, most):
                return "no product overflows"
            if opposite(where) is False:
                return NO_SIGNS[True]
            if total == "zero" and most is not None and _at_most(b.high, most):
                return "no addend is as large as a product that overflows"
        smallest = finite(0, *fmt.magnitude(fmt.min_normal_code)) if fmt.has_normals else None
        if product == "tiny" and (smallest is None or _at_most(smallest, a.low)):
            return "no product is tiny"
        if product == "below-all" and _at_most(finite(0, *fmt.magnitude(fmt.min_code)), a.low):
            return "no product is that small"
        if product == "inexact" and a.bits <= fmt.precision:
            unit = fmt.emin - fmt.mantissa_bits
            if a.unit >= unit:
                return "every product is exact"
            if b.unit >= unit:
                return "products lose bits only below the addend's last one"
        return ""

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """Products of the kind, and addends that cancel."""
        (sign, kind), fmt = cell, where.out
        for turn in range(120):
            size = {
                ("overflow", "in-range"): fmt.emax + (turn % 2),
                ("overflow", "zero"): fmt.emax + 1,
                ("tiny", "normal"): fmt.emin - 1 - turn % 5,
                ("below-all", "normal"): fmt.emin - fmt.mantissa_bits - 2 - turn % 5,
                ("inexact", "exact"): min(max(0, fmt.emin), fmt.emax) + turn % 5,
            }[kind]
            for a, b in products(where, size, sign, turn):
                product = where.product_term(a, b)
                for x in self._addends(where, product, kind[0], turn):
                    if x.significand:
                        yield from ((a, b, c) for c in near(where.formats[2], where.addend(x)))

    def _addends(self, where: OperationSetting, product: Value, kind: str, turn: int) -> list[Value]:
        if kind == "overflow":
            x = exact.negate(product)
            return [x, x._replace(exponent=x.exponent - 1), x._replace(exponent=x.exponent - turn % 5)]
        if kind == "inexact":
            s, half = product.significand, 1 << product.significand.bit_length() // 2
            low = s & half - 1
            listed = ((1, low), (1, s - low), (1, s), (0, half - low))
            return [finite(product.sign ^ minus, x, product.exponent) for minus, x in listed]
        return [finite(s, 1 + turn % 3, where.out.emin + turn % 7) for s in SIGNS]

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the exact product and the exact sum."""
        if e.terms is None:
            return
        product, fmt, place = e.terms[0], e.where.out, e.place
        most, sign = e.where.largest(product.sign), product.sign
        if e.exact.significand and (place is None or place.code > e.where.limit(e.exact.sign)):
            return
        if most is not None and not _at_most(product, most):
            yield sign, ("overflow", "in-range" if e.exact.significand else "zero")
        if e.exact.significand and exact.top(e.exact) >= fmt.emin:
            if exact.top(product) < fmt.emin:
                yield sign, ("tiny", "normal")
            if exact.compare(exact.magnitude(product), finite(0, *fmt.magnitude(fmt.min_code))) < 0:
                yield sign, ("below-all", "normal")
        if place is not None and place.is_exact and not place_of(product, e.where.target, e.where.tail_bits).is_exact:
            yield sign, ("inexact", "exact")


def _at_most(x: Value, y: Value) -> bool:
    """Whether |x| <= |y|."""
    return exact.compare(exact.magnitude(x), exact.magnitude(y)) <= 0


class CarryChains(OperationModel):
    """CHAIN: the longest carry, or borrow, of the aligned significands."""

    id = "CHAIN"
    title = "carry chains: the longest run of carries, or of borrows, in the sum of the aligned significands"

    def applies(self, where: OperationSetting) -> bool:
        return where.adds

    def bins(self, where: OperationSetting) -> Bins:
        """Every length up to the precision."""
        depth = min(span(f).bits for f in where.formats)
        return cross("{kind}{length}", kind={False: "carry", True: "borrow"}, length=range(1, depth + 1))

    def never(self, where: OperationSetting, cell: Cell) -> str:
        return NO_SIGNS[cell[0]] if opposite(where) not in (None, cell[0]) else ""

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """As many ones and a one at their lower end; or a one and a lower one."""
        (minus, k), (a, b) = cell, terms_of(where)
        low, high = max(a.unit, b.unit), min(a.most, b.most) - k
        spread = max(high - low + 1, 1)
        for turn in range(60):
            e = (min(max(-k, low), high), low, high, low + word(turn, 2) % spread)[turn % 4] if high >= low else low
            sign = turn >> 1 & 1 if a.negative else 0
            top = 1 << k if minus else (1 << k) - 1
            for above in (0, bits(turn, 1, 2) << (k + 1)):
                x, y = finite(sign, above + top, e), finite(sign ^ int(minus), 1, e)
                yield from terms_as_codes(where, x, y)
                yield from terms_as_codes(where, y, x)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """The longest run of ones in the carries."""
        if e.terms is None:
            return
        x, y = e.terms
        unit = min(x.exponent, y.exponent)
        if max(exact.top(x), exact.top(y)) - unit > 4096:
            return
        m, n = x.significand << (x.exponent - unit), y.significand << (y.exponent - unit)
        minus = x.sign != y.sign
        m, n = max(m, n), min(m, n)
        carries, run = ((m - n) if minus else (m + n)) ^ m ^ n, 0
        while carries:
            run += 1
            carries &= carries << 1
        yield minus, run
