"""Models of the fma's last bits: the rest of a cancelled product; a subnormal factor with an addend far below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref.coverage.codes import operand
from softfloat_ref.coverage.engine.framework import SIGNS, Bins, Cell, Line, ReachedModel, bits, cross
from softfloat_ref.coverage.operation.reach import units
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationSetting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format

_RESIDUES: Final = (1, 2, 3, 4, 5, 6, 7, 8, 11, 15)  # units of the product's last place
_LEAST_LOST: Final = 7  # binades that are lost at least
_TRIES: Final = 160
_FARTHEST: Final = 4  # binades past the precision


class _Constructed(ReachedModel[OperationSetting, OperationEvents]):
    """A model of fused operations that constructs a few cases for a cell."""

    def applies(self, where: OperationSetting) -> bool:
        return where.fused and not any(f.twos_complement for f in (*where.formats, where.out))


def _as_codes(formats: Iterable[Format], values: Iterable[Value]) -> Iterator[Line]:
    """Operands of those values, if the formats have them all."""
    codes = [operand(f, x) for f, x in zip(formats, values, strict=True)]
    if None not in codes:
        yield tuple(code for code in codes if code is not None)


class Residues(_Constructed):
    """RES: the exact result is a few units of the last place of the product of two full significands."""

    id = "RES"
    title = "fma: an addend that cancels all of the product but its last bits"

    def wanted(self, where: OperationSetting) -> Bins:
        """Each number of units, by the result's sign and the product's."""
        below = where.formats[0].precision + where.formats[1].precision - 1 - _LEAST_LOST
        left = [n for n in _RESIDUES if n.bit_length() - 2 < below]
        return cross("{sign}.{product}-product.{n}", n=left, sign=SIGNS, product=SIGNS)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """The number of units left of a product that was at least 2^7 times as large."""
        if e.terms is None or not e.exact.significand:
            return
        (a, b, _), r, (product, addend) = e.operands, e.exact, e.terms
        whole, part = units(r, a.exponent + b.exponent)
        if not part and exact.top(product) - exact.top(r) >= _LEAST_LOST and addend.sign != product.sign:
            yield whole, r.sign, product.sign

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """A factor, the other one so that the product's low bits are those wanted, and a cancelling addend."""
        number, sign, negative = cell
        left = number if sign == negative else -number
        fa, fb, fc = where.formats
        below = fa.precision + fb.precision - fc.precision  # bits of a product that the addend does not have
        for turn in range(_TRIES):
            a = 1 << fa.mantissa_bits | bits(turn, 0, fa.mantissa_bits) | 1
            for drop in (below, below - 1):
                b = _factor(fb, a, left, max(drop, 0), turn)
                if b is not None and (fa.signed or negative == where.minus[0]):
                    yield from self._codes(where, a, b, left, negative)

    def _codes(self, where: OperationSetting, a: int, b: int, left: int, negative: int) -> Iterator[Line]:
        fa, fb, _ = where.formats
        for size in (where.out.emax - 2, (where.out.emax - 2) // 2, 0, where.out.emin // 2):
            unit = size - fa.mantissa_bits - fb.mantissa_bits
            ea = min(max(unit // 2, fa.emin - fa.mantissa_bits), fa.emax - fa.mantissa_bits)
            x, y = exact.finite(negative ^ where.minus[0], a, ea), exact.finite(0, b, unit - ea)
            addend = where.addend(exact.finite(1 - negative, a * b - left, unit))
            yield from _as_codes(where.formats, (x, y, addend))


def _factor(fmt: Format, a: int, left: int, drop: int, turn: int) -> int | None:
    """A full significand whose product with an odd one is `left` modulo 2^drop."""
    modulus, m = 1 << drop, fmt.mantissa_bits
    low = left * pow(a, -1, modulus) % modulus if drop else 0
    if drop > m:
        return low if low >> m == 1 else None
    return 1 << m | (bits(turn, 1, m) >> drop << drop) & ((1 << m) - 1) | low


class SubnormalFactors(_Constructed):
    """SUBF: the smallest subnormal times a power of two, with an addend far below the product."""

    id = "SUBF"
    title = "fma: a power of two from a subnormal factor, with an addend some binades below it"

    def wanted(self, where: OperationSetting) -> Bins:
        """Distances past the precision, by which factor is subnormal and whether the signs differ."""
        reach = range(1, where.out.precision + _FARTHEST)
        return cross("{factor}.{sign}.{signs}.{d}", factor="ab", signs=("same", "opposite"), sign=SIGNS, d=reach)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """The distance of an addend with an odd significand."""
        if e.terms is None or not e.exact.is_finite:
            return
        (a, b, c), (product, addend) = e.operands, e.terms
        power = product.significand & (product.significand - 1) == 0
        small = [exact.top(x) < f.emin for x, f in zip((a, b), e.where.formats, strict=False)]
        if power and small[0] != small[1] and c.significand & 1:
            signs = "same" if addend.sign == product.sign else "opposite"
            yield "a" if small[0] else "b", signs, product.sign, exact.top(product) - exact.top(c)

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """Powers of two up to the largest, and addends of all ones and others."""
        factor, signs, negative, distance = cell
        i, formats = int(factor == "b"), where.formats
        small, large, m = formats[i], formats[1 - i], formats[2].mantissa_bits
        if (
            small.subnormals != "gradual"
            or not small.mantissa_bits
            or (negative != where.minus[0] and not small.signed)
        ):
            return
        least = small.emin - small.mantissa_bits
        for turn, e in enumerate(range(large.emax, large.emax - 8, -1)):
            for low in range(min(small.mantissa_bits, 2)):
                x, y = exact.finite(negative ^ where.minus[0], 1, least + low), exact.finite(0, 1, e)
                for ones in ((2 << m) - 1, 1 << m | bits(turn, 2, m) | 1, 3):
                    unit = least + low + e - distance - ones.bit_length() + 1
                    c = where.addend(exact.finite(negative ^ (signs == "opposite"), ones, unit))
                    yield from _as_codes(formats, (*((x, y) if i == 0 else (y, x)), c))
