"""Models of exact results by position: near the ends of a format's ranges, at binade edges, near small integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from softfloat_ref.coverage.engine.framework import SIGNS, Bins, Cell, Line, cross
from softfloat_ref.coverage.operation.reach import between
from softfloat_ref.coverage.operation.rulers import RegionModel, Ruler, RulerModel
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationSetting
from softfloat_ref.coverage.operation.solve import solve
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value, finite
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import get_operation

MANY_BINADES: Final = 40
_FAR_BINADES: Final = {2: "times4", 8: "times256"}


def _around_largest(where: OperationSetting) -> Iterator[Ruler]:
    """Half ulps from 3 ulp below the largest finite value of each sign to 3 ulp above it."""
    for sign, name in SIGNS.items():
        if (most := where.largest(sign)) is not None:
            zero = 2 * most.significand
            yield Ruler(f"{name}.max", sign, most.exponent - 1, max(zero - 6, 1), zero + 6, zero, 2)


class OverflowResults(RulerModel):
    """B4: around the largest finite value."""

    id = "B4"
    title = "overflow: the exact result within 3 ulp of the largest finite value, and far beyond it"

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded and not where.out.is_integer

    def rulers(self, where: OperationSetting) -> Iterable[Ruler]:
        return _around_largest(where)

    def bins(self, where: OperationSetting) -> Bins:
        """The rulers' cells, and two binades far beyond."""
        signs = {sign: name for sign, name in SIGNS.items() if where.largest(sign) is not None}
        return super().bins(where) | cross("{sign}.{power}", sign=signs, power=_FAR_BINADES)

    def regions(self, where: OperationSetting, cell: Cell) -> list[Value]:
        if len(cell) > 2:
            return super().regions(where, cell)
        most = where.largest(cell[0])
        assert most is not None
        return [between(cell[0], 1, exact.top(most) + cell[1])]

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        yield from super().hits(e)
        x = e.exact
        most = e.where.largest(x.sign) if x.is_finite and x.significand else None
        if most is not None and (x.significand & (x.significand - 1) or x.sticky):
            yield x.sign, exact.top(x) - exact.top(most)


class Underflow(RulerModel):
    """B5: around the smallest normal and the smallest subnormal value."""

    id = "B5"
    title = "underflow: the exact result within 3 ulp of the smallest normal and of the smallest subnormal value"

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded and where.out.has_normals

    def rulers(self, where: OperationSetting) -> Iterable[Ruler]:
        """Half ulps up to 3 ulp from each, in ulps of the subnormals."""
        fmt = where.out
        unit = fmt.emin - fmt.mantissa_bits - 1
        significand, exponent = fmt.magnitude(fmt.min_normal_code)
        zero = 2 * significand << max(exponent - unit - 1, 0)
        for sign in where.signs:
            first = max(zero - 6, 1)
            high = min(8, zero - 7)
            if where.gradual and fmt.mantissa_bits and high > 0:
                yield Ruler(f"{SIGNS[sign]}.", sign, unit, 2, high, 0, 2, signed=False)
                first = max(first, high)
            yield Ruler(f"{SIGNS[sign]}.normal", sign, unit, first, zero + 6, zero, 2)


class BelowSubnormal(RulerModel):
    """B6: below the smallest value."""

    id = "B6"
    title = "below the smallest value: the exact result at, and between, its quarters"

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded and not where.out.is_integer

    def rulers(self, where: OperationSetting) -> Iterable[Ruler]:
        significand, exponent = where.out.magnitude(where.out.min_code)
        high = 4 * significand if significand < 3 else 4
        return [Ruler(f"{n}.", s, exponent - 2, 0, high, 0, 4, signed=False) for s, n in where.signs.items()]


class BinadeEdges(RulerModel):
    """B8: on the rounding boundaries at both ends of a binade."""

    id = "B8"
    title = "rounding boundaries at both ends of a binade: on them, below and above"

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded

    def rulers(self, where: OperationSetting) -> Iterable[Ruler]:
        """One ulp, in halves, from the first and the last significand of a binade; odd binades are negative."""
        fmt = where.out
        for e in binades(fmt):
            precision = min(fmt.mantissa_bits, e - (fmt.emin - fmt.mantissa_bits)) + 1
            sign = e & 1 if fmt.signed else 0
            low, high = 1 << precision, 2 * ((1 << precision) - 1)
            yield Ruler(f"2^{e}.first", sign, e - precision, low, low + 2, low, 2)
            if precision > 1:
                yield Ruler(f"2^{e}.last", sign, e - precision, high, high + 2, high, 2)


def binades(fmt: Format) -> list[int]:
    """The exponents of a format's values; if there are very many, those at the ends, around 0, and some between."""
    lowest = exact.top(finite(0, *fmt.magnitude(fmt.min_code)))
    listed = list(range(lowest, fmt.emax + 1))
    if len(listed) <= MANY_BINADES:
        return listed
    chosen = {lowest, lowest + 1, fmt.emin - 1, fmt.emin, fmt.emin + 1, -1, 0, 1, fmt.emax - 1, fmt.emax}
    chosen |= {listed[i * (len(listed) - 1) // 24] for i in range(25)}
    return [e for e in listed if e in chosen]


class IntegerResults(RulerModel):
    """B23: around the ends of an integer format's range; for unsigned integers, B24 has the smallest, 0."""

    id = "B23"
    title = "near the largest integer: the exact value within 3 of each end of the range, in halves"

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded and where.out.is_integer

    def rulers(self, where: OperationSetting) -> Iterable[Ruler]:
        return _around_largest(where)


class NearZeroAndOne(RulerModel):
    """B24: rounding near 0 and 1."""

    id = "B24"
    title = "rounding near 0 and +-1: every quarter up to 2, and what lies between"

    def applies(self, where: OperationSetting) -> bool:
        return where.to_integer or where.integral

    def rulers(self, where: OperationSetting) -> Iterable[Ruler]:
        return [Ruler(f"{name}.", sign, -2, 0, 8, 0, 4, signed=False) for sign, name in SIGNS.items()]

    def measured(self, e: OperationEvents) -> Value:
        """The operand, since the result of an integral rounding has no fraction."""
        return e.operands[0]

    def never(self, where: OperationSetting, cell: Cell) -> str:
        return super().never(as_conversion(where), cell)

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        (region,) = self.regions(where, cell)
        return solve(as_conversion(where), region)


def as_conversion(where: OperationSetting) -> OperationSetting:
    """The conversion of the operand, used for a rounding to integral values."""
    sig = where.sig._replace(operation=get_operation("convert"))
    return where.once("as conversion", lambda: OperationSetting(sig, where.policy))


class SmallValues(RulerModel):
    """VAL: every value and midpoint of a small target."""

    id = "VAL"
    title = "conversion to a format of at most 8 bits: every value and midpoint, and what lies between"

    def applies(self, where: OperationSetting) -> bool:
        return where.converts and where.out.width <= 8 and not where.out.is_integer

    def rulers(self, where: OperationSetting) -> Iterable[Ruler]:
        """Half ulps over each binade, of each sign."""
        fmt = where.out
        unit = fmt.emin - fmt.mantissa_bits
        for sign, e in product(where.signs, range(unit, max(fmt.emax, fmt.emin) + 1)):
            precision = min(fmt.mantissa_bits, e - unit) + 1
            yield Ruler(
                f"{SIGNS[sign]}.2^{e}+",
                sign,
                e - precision,
                1 << precision,
                2 << precision,
                1 << precision,
                2,
                signed=False,
            )


class TinyResults(RulerModel):
    """TINY: tiny before rounding, after rounding, and the smallest normal result."""

    id = "TINY"
    title = "tininess: the exact result within 1 ulp below the smallest normal value, in eighths of an ulp"

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded and where.gradual

    def rulers(self, where: OperationSetting) -> Iterable[Ruler]:
        """Eighths of a subnormal's ulp up to one ulp below the smallest normal, and two above."""
        unit, zero = where.out.emin - where.out.mantissa_bits - 3, 8 << where.out.mantissa_bits
        return [Ruler(f"{SIGNS[s]}.normal", s, unit, max(zero - 8, 1), zero + 2, zero, 8) for s in where.signs]


class NearBoundaries(RegionModel):
    """B2: the result is one bit from a boundary value."""

    id = "B2"
    title = "results one bit from the smallest value, the largest subnormal, the smallest normal, one, or the largest"

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded and where.out.exponent_bits > 0

    def bins(self, where: OperationSetting) -> Bins:
        """Sign and magnitude code, named after the first boundary value that is one bit away."""
        fmt, bins = where.out, Bins()
        one = where.encode(finite(0, 1, 0)) & fmt.magnitude_mask
        base = {"minsub": fmt.min_code, "minnorm": fmt.min_normal_code, "one": one, "max": fmt.max_code}
        if fmt.subnormals == "gradual" and fmt.mantissa_bits:
            base["maxsub"] = fmt.min_normal_code - 1
        for (name, code), bit in product(base.items(), range(fmt.exponent_bits + fmt.mantissa_bits)):
            near = code ^ 1 << bit
            for sign in where.signs:
                if fmt.min_code <= near <= where.limit(sign):
                    bins.setdefault((sign, near), f"{SIGNS[sign]}.{name}.bit{bit}")
        return bins

    def regions(self, where: OperationSetting, cell: Cell) -> list[Value]:
        """The value, and the half ulp above it."""
        fmt, value = where.out, finite(cell[0], *where.out.magnitude(cell[1]))
        unit = max(exact.top(value), fmt.emin) - fmt.mantissa_bits - 1
        s, q = value.significand, value.exponent
        return [value, between(value.sign, s << max(q - unit, 0) >> max(unit - q, 0), unit)]

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        for seed, region in product(range(3), self.regions(where, cell)):
            yield from solve(where, region, seed)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the code at or less than half an ulp below the exact result."""
        return [(e.exact.sign, e.place.code)] if e.place is not None and not e.place.guard else []
