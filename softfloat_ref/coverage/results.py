"""Models of where the exact result lies: near the ends of a format's ranges, at binade edges, near small integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from softfloat_ref import exact
from softfloat_ref.coverage.cells import between
from softfloat_ref.coverage.events import Events, Setting, limit
from softfloat_ref.coverage.model import SIGNS, Bin, CellModel, Ruler, RulerModel, largest, unreachable
from softfloat_ref.coverage.solve import Codes, solve
from softfloat_ref.exact import FINITE, Value, finite
from softfloat_ref.formats import Format
from softfloat_ref.ops import get_operation

MANY_BINADES = 40


class Overflow(RulerModel):
    """B4: around the largest finite value."""

    id = "B4"
    title = "overflow: the exact result within 3 ulp of the largest finite value, and far beyond it"

    def applies(self, where: Setting) -> bool:
        """Results that are rounded to a float or fixed-point format."""
        return where.rounded and not where.out.is_integer

    def rulers(self, where: Setting) -> Iterable[Ruler]:
        """Half ulps from 3 ulp below to 3 ulp above, of each sign; then everything up to twice as much, and more."""
        for sign in (0, 1):
            most = largest(where, sign)
            if most is not None:
                zero = 2 * most.significand
                yield Ruler(f"{SIGNS[sign]}.max", sign, most.exponent - 1, max(zero - 6, 1), zero + 6, zero, 2)

    def cells(self, where: Setting) -> dict[str, Value]:
        """The rulers' cells, and two far ones."""
        found = dict(super().cells(where))
        for sign in (0, 1):
            most = largest(where, sign)
            if most is not None:
                top = exact.top(most)
                for name, power in (("times4", 2), ("times256", 8)):
                    found[f"B4/{SIGNS[sign]}.{name}"] = between(sign, 1, top + power)
        return found

    def hits(self, e: Events) -> Iterable[str]:
        """The rulers' bins, and the far ones."""
        yield from super().hits(e)
        x = e.exact
        if x.kind != FINITE or x.significand == 0:
            return
        most = largest(e.where, x.sign)
        if most is None:
            return
        beyond = exact.top(x) - exact.top(most)
        one = x.significand & (x.significand - 1) == 0 and not x.sticky
        if beyond in (2, 8) and not one:
            yield f"B4/{SIGNS[x.sign]}.{'times4' if beyond == 2 else 'times256'}"


class Underflow(RulerModel):
    """B5: around the smallest normal and the smallest subnormal value."""

    id = "B5"
    title = "underflow: the exact result within 3 ulp of the smallest normal and of the smallest subnormal value"

    def applies(self, where: Setting) -> bool:
        """Results that are rounded to a format with normal numbers."""
        return where.rounded and where.out.has_normals

    def rulers(self, where: Setting) -> Iterable[Ruler]:
        """Half ulps up to 3 ulp from each, in ulps of the subnormals."""
        fmt = where.out
        unit = fmt.emin - fmt.mantissa_bits - 1
        gradual = fmt.subnormals == "gradual" and fmt.mantissa_bits > 0
        significand, exponent = fmt.magnitude(fmt.min_normal_code)
        zero = 2 * significand << max(exponent - unit - 1, 0)
        for sign in _signs(where):
            first = max(zero - 6, 1)
            if gradual:
                high = min(8, zero - 7)
                if high > 0:
                    yield Ruler(f"{SIGNS[sign]}.", sign, unit, 2, high, 0, 2, signed=False)
                    first = max(first, high)
            yield Ruler(f"{SIGNS[sign]}.normal", sign, unit, first, zero + 6, zero, 2)


class BelowSubnormal(RulerModel):
    """B6: below the smallest value."""

    id = "B6"
    title = "below the smallest value: the exact result at, and between, its quarters"

    def applies(self, where: Setting) -> bool:
        """Results that are rounded, to other than integers."""
        return where.rounded and not where.out.is_integer

    def rulers(self, where: Setting) -> Iterable[Ruler]:
        """Quarters of the smallest value."""
        significand, exponent = where.out.magnitude(where.out.min_code)
        for sign in _signs(where):
            yield Ruler(
                f"{SIGNS[sign]}.", sign, exponent - 2, 0, 4 * significand if significand < 3 else 4, 0, 4, signed=False
            )


class BinadeEdges(RulerModel):
    """B8: on the rounding boundaries at both ends of a binade."""

    id = "B8"
    title = "rounding boundaries at both ends of a binade: on them, below and above"

    def applies(self, where: Setting) -> bool:
        """Results that are rounded."""
        return where.rounded

    def rulers(self, where: Setting) -> Iterable[Ruler]:
        """One ulp, in halves, from the first and the last significand of a binade; odd binades are negative."""
        fmt = where.out
        for e in binades(fmt):
            kept = min(fmt.mantissa_bits, e - (fmt.emin - fmt.mantissa_bits)) + 1
            unit = e - kept
            sign = e & 1 if where.out.signed else 0
            name = f"2^{e}."
            low = 2 << (kept - 1)
            high = 2 * ((1 << kept) - 1)
            yield Ruler(f"{name}first", sign, unit, low, low + 2, low, 2)
            if kept > 1:
                yield Ruler(f"{name}last", sign, unit, high, high + 2, high, 2)


def _signs(where: Setting) -> tuple[int, ...]:
    return (0, 1) if where.out.signed else (0,)


def binades(fmt: Format) -> list[int]:
    """The exponents of a format's values; of very many those at the ends, around 0, and some between."""
    lowest = exact.top(finite(0, *fmt.magnitude(fmt.min_code)))
    listed = list(range(lowest, fmt.emax + 1))
    if len(listed) <= MANY_BINADES:
        return listed
    chosen = {lowest, lowest + 1, fmt.emin - 1, fmt.emin, fmt.emin + 1, -1, 0, 1, fmt.emax - 1, fmt.emax}
    chosen |= {listed[i * (len(listed) - 1) // 24] for i in range(25)}
    return [e for e in listed if e in chosen]


class Integers(RulerModel):
    """B23: around the ends of an integer format's range."""

    id = "B23"
    title = "near the largest integer: the exact value within 3 of each end of the range, in halves"

    def applies(self, where: Setting) -> bool:
        """Conversions to integers."""
        return where.rounded and where.out.is_integer

    def rulers(self, where: Setting) -> Iterable[Ruler]:
        """Halves around the largest and the smallest integer; of unsigned ones, the latter is 0 (B24)."""
        fmt = where.out
        ends = [(0, fmt.max_code)] + ([(1, fmt.max_negative_code)] if fmt.signed else [])
        for sign, most in ends:
            zero = 2 * most
            yield Ruler(f"{SIGNS[sign]}.max", sign, -1, max(zero - 6, 1), zero + 6, zero, 2)


class NearZeroAndOne(RulerModel):
    """B24: rounding near 0 and 1."""

    id = "B24"
    title = "rounding near 0 and +-1: every quarter up to 2, and what lies between"

    def applies(self, where: Setting) -> bool:
        """Conversions to integers, and roundings to integral values."""
        return (where.name == "convert" and where.out.is_integer) or where.integral

    def rulers(self, where: Setting) -> Iterable[Ruler]:
        """Quarters up to 2."""
        for sign in (0, 1):
            yield Ruler(f"{SIGNS[sign]}.", sign, -2, 0, 8, 0, 4, signed=False)

    def measured(self, e: Events) -> Value:
        """The operand: what an integral rounding gives has lost its fraction."""
        return e.operands[0]

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """The cells, judged for a conversion of the operand."""
        like = as_conversion(where)
        return tuple(Bin(name, unreachable(like, cell)) for name, cell in self.cells(where).items())

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Operands in the cell."""
        yield from solve(as_conversion(where), self.cells(where)[name])


def as_conversion(where: Setting) -> Setting:
    """The conversion of the operand in the place of a rounding to integers."""
    return Setting(where.sig._replace(operation=get_operation("convert")), where.policy)


class Values(RulerModel):
    """VAL: every value and midpoint of a small target."""

    id = "VAL"
    title = "conversion to a format of at most 8 bits: every value and midpoint, and what lies between"

    def applies(self, where: Setting) -> bool:
        """Conversions to small float and fixed-point formats."""
        return where.name == "convert" and where.out.width <= 8 and not where.out.is_integer

    def rulers(self, where: Setting) -> Iterable[Ruler]:
        """Half ulps over each binade, of each sign."""
        fmt = where.out
        unit = fmt.emin - fmt.mantissa_bits
        for sign in (0, 1) if fmt.signed else (0,):
            for e in range(unit, max(fmt.emax, fmt.emin) + 1):
                kept = min(fmt.mantissa_bits, e - unit) + 1
                yield Ruler(f"{SIGNS[sign]}.2^{e}+", sign, e - kept, 1 << kept, 2 << kept, 1 << kept, 2, signed=False)


class Tininess(RulerModel):
    """TINY: tiny before rounding, after rounding, and the smallest normal result."""

    id = "TINY"
    title = "tininess: the exact result within 1 ulp below the smallest normal value, in eighths of an ulp"

    def applies(self, where: Setting) -> bool:
        """Results that are rounded to a format with subnormals and normals."""
        return where.rounded and where.out.has_normals and where.out.subnormals == "gradual"

    def rulers(self, where: Setting) -> Iterable[Ruler]:
        """Eighths of a subnormal's ulp up to one ulp below the smallest normal, and two above."""
        fmt = where.out
        zero = 8 << fmt.mantissa_bits
        for sign in _signs(where):
            yield Ruler(
                f"{SIGNS[sign]}.normal", sign, fmt.emin - fmt.mantissa_bits - 3, max(zero - 8, 1), zero + 2, zero, 8
            )


class NearBoundaries(CellModel):
    """B2: the result is one bit from a boundary value."""

    id = "B2"
    title = "results one bit from the smallest value, the largest subnormal, the smallest normal, one, or the largest"

    def applies(self, where: Setting) -> bool:
        """Results that are rounded to a float format."""
        return where.rounded and where.out.exponent_bits > 0

    def _named(self, where: Setting) -> dict[str, tuple[int, int]]:
        fmt = where.out
        one = where.encode(finite(0, 1, 0)) & fmt.magnitude_mask
        base = {"minsub": fmt.min_code, "minnorm": fmt.min_normal_code, "one": one, "max": fmt.max_code}
        if fmt.subnormals == "gradual" and fmt.mantissa_bits:
            base["maxsub"] = fmt.min_normal_code - 1
        found = {}
        seen = set()
        for name, code in base.items():
            for bit in range(fmt.exponent_bits + fmt.mantissa_bits):
                near = code ^ 1 << bit
                for sign in (0, 1) if fmt.signed else (0,):
                    if fmt.min_code <= near <= limit(where, sign) and (sign, near) not in seen:
                        seen.add((sign, near))
                        found[f"B2/{SIGNS[sign]}.{name}.bit{bit}"] = (sign, near)
        return found

    def cells(self, where: Setting) -> dict[str, Value]:
        """The points."""
        return {name: finite(sign, *where.out.magnitude(code)) for name, (sign, code) in self._named(where).items()}

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """Unreachable where neither the value nor the half ulp above it can be had."""
        found = []
        for name, cell in self.cells(where).items():
            reason = unreachable(where, cell)
            found.append(Bin(name, reason and unreachable(where, _above(where, cell)) and reason))
        return tuple(found)

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Operands of the value, then of what lies up to half an ulp above it."""
        cell = self.cells(where)[name]
        for seed in range(3):
            yield from solve(where, cell, seed)
            yield from solve(where, _above(where, cell), seed)

    def hits(self, e: Events) -> Iterable[str]:
        """By the code at or less than half an ulp below the exact result."""
        by_code = e.where.memo.get(self.id)
        if by_code is None:
            by_code = {code: name for name, code in self._named(e.where).items()}
            e.where.memo[self.id] = by_code
        assert isinstance(by_code, dict)
        if e.place is not None and not e.place.guard:
            name = by_code.get((e.exact.sign, e.place.code))
            if name is not None:
                yield name


def _above(where: Setting, cell: Value) -> Value:
    """The half ulp above a value of the output format."""
    fmt = where.out
    unit = max(exact.top(cell) - fmt.mantissa_bits, fmt.emin - fmt.mantissa_bits) - 1
    return between(cell.sign, cell.significand << max(cell.exponent - unit, 0) >> max(unit - cell.exponent, 0), unit)
