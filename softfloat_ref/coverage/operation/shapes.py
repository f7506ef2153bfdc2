"""Shapes: the bits around a result's last place, in any binade. Shared by their models."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from softfloat_ref.coverage.engine.framework import Cell, Line, bits
from softfloat_ref.coverage.operation.reach import (
    UNBOUNDED,
    between,
    excluded,
    excluded_between,
    excluded_everywhere,
    precisions,
    reach,
)
from softfloat_ref.coverage.operation.setting import OperationModel, OperationSetting
from softfloat_ref.coverage.operation.solve import exponents, solve, unreachable
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value, finite
from softfloat_ref.oracle.formats import Format

_DRAWS: Final = 16  # significands tried for a shape in a binade
_WHOLE_BINADES: Final = 6  # with binades to this exponent and its negative, all operands of results in [1, 4) are there
_EMPTY_REGIONS: Final = 64  # regions asked without any operands, after which a search ends


class BitShape(NamedTuple):
    """A magnitude's bits from its upper end down to some bit: free bits, then `low` of `width` bits.

    below: how many of those bits lie below the last kept one. sticky: whether anything follows them.
    """

    sign: int
    low: int
    width: int
    below: int
    sticky: int


class ShapeModel(OperationModel):
    """A model whose cells are shapes; a cell with several is hit by any of them. normal_only: of normal results."""

    normal_only = False

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded and not where.out.is_integer

    @abstractmethod
    def shapes(self, where: OperationSetting, cell: Cell) -> Iterable[BitShape]:
        """The shapes of a cell."""

    def never(self, where: OperationSetting, cell: Cell) -> str:
        return never(where, self.shapes(where, cell), self.normal_only)

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        return solved(where, self.shapes(where, cell))


def unit_of(fmt: Format, e: int) -> int:
    """The exponent of the last kept bit of a number of exponent e."""
    return max(e, fmt.emin) - fmt.mantissa_bits


def ends(fmt: Format, shape: BitShape, e: int) -> tuple[Value, Value] | None:
    """The regions of a shape in a binade: of its smallest and its largest number; None if the binade has none."""
    unit = unit_of(fmt, e) - shape.below
    count = e - unit + 1  # bits from the leading one to the shape's last
    if count <= 0:
        return (between(shape.sign, 0, e), between(shape.sign, 0, e + 1)) if shape.sticky and not shape.low else None
    if count <= shape.width:
        region = _cell(shape, shape.low, unit)
        return (region, region) if shape.low.bit_length() == count else None
    free = count - shape.width
    return tuple(_cell(shape, h << shape.width | shape.low, unit) for h in (1 << (free - 1), (1 << free) - 1))  # type: ignore[return-value]


def _cell(shape: BitShape, significand: int, unit: int) -> Value:
    return Value(FINITE, shape.sign, significand, unit, shape.sticky)


def _cells(fmt: Format, shape: BitShape, e: int, seed: int) -> Iterator[Value]:
    """Regions of a shape in a binade, of mixed upper bits."""
    regions = ends(fmt, shape, e)
    if regions is None:
        return
    first, last = regions
    free = e - first.exponent + 1 - shape.width
    if free < 2 or first.significand == 0:
        yield from dict.fromkeys(regions)
        return
    if seed % 2:
        yield from regions
    for i in range(min(_DRAWS, 1 << (free - 1))):
        high = 1 << (free - 1) | bits(seed + 1, i, free - 1)
        yield _cell(shape, high << shape.width | shape.low, first.exponent)
    yield last


def places(fmt: Format, seed: int = 0) -> list[int]:
    """Binades in which shapes are searched: around 1, at both ends, some between, and below the normal ones."""
    lowest = fmt.emin - fmt.mantissa_bits
    tops = [0, fmt.emin, fmt.emax, 1, -1, fmt.emin + 1, fmt.emax - 1, *range(fmt.emin - 1, lowest - 3, -1)]
    tops += [fmt.emin + i * (fmt.emax - fmt.emin) // 8 for i in range(9)]
    listed = [e for e in dict.fromkeys(tops) if lowest - 2 <= e <= max(fmt.emax, fmt.emin)]
    return listed[seed % len(listed) :] + listed[: seed % len(listed)]


def solved(where: OperationSetting, shapes: Iterable[BitShape]) -> Iterator[Line]:
    """Operands for any of some shapes: one in each binade first, then more."""
    misses = 0
    listed = list(shapes)
    if where.product:
        for shape in listed:
            yield from by_low_bits(where, shape)
    tops = dict.fromkeys((*places(where.out), *_other_places(where, listed)))
    possible = [(e, shape) for e in tops for shape in listed if not _excluded_from(where, shape, e)]
    for seed, (e, shape) in itertools.product(range(4), possible):
        for region in _cells(where.out, shape, e, seed):
            if excluded(where, region):
                continue
            lines = list(itertools.islice(solve(where, region, seed), 2))
            yield from lines
            if lines:
                break
            misses += 1
            if misses > _EMPTY_REGIONS:
                return


def _excluded_from(where: OperationSetting, shape: BitShape, e: int) -> bool:
    """Whether a binade has no region of a shape, or none that an exact result can be in."""
    regions = ends(where.out, shape, e)
    return regions is None or bool(excluded_between(where, *regions))


def by_low_bits(where: OperationSetting, shape: BitShape) -> Iterator[Line]:
    """Factors whose product has a shape: one is odd, so that the other follows from the product's low bits."""
    pa, pb = precisions(where)
    length = pa + pb - 1  # of products that are below half of the largest
    dropped = length - where.out.precision
    free = dropped - shape.below
    known = free + shape.width
    if free < shape.sticky or not 0 < known < pb or any(f.twos_complement for f in (*where.formats, where.out)):
        return
    for turn in range(_DRAWS // 2):
        a = 1 << (pa - 1) | (2 * turn + 1) % (1 << (pa - 1)) | 1
        low = (shape.low << free | (1 if shape.sticky else 0)) * pow(a, -1, 1 << known) % (1 << known)
        b = 1 << (pb - 1) | bits(turn, 7, pb - 1) >> known << known | low
        if (a * b).bit_length() == length:
            for e in (0, 1, where.out.emin, where.out.emax - 1):
                yield from itertools.islice(exponents(where, a, b, e - length + 1, shape.sign, turn), 1)


def _other_places(where: OperationSetting, shapes: Iterable[BitShape]) -> Iterator[int]:
    """Binades at the ends of what the operation gives, and below the smallest value: there a shape is all there is."""
    fmt, bounds = where.out, reach(where)
    for end in (bounds.most, bounds.least) if bounds is not None and bounds.unit > -UNBOUNDED else ():
        yield from (e for e in range(end - 3, end + 4) if fmt.emin <= e <= fmt.emax)
    for shape in shapes:
        yield fmt.emin - fmt.mantissa_bits - shape.below + shape.low.bit_length() - 1


def _low(region: Value) -> Value:
    """The magnitude at a region's lower end."""
    return region._replace(sign=0, sticky=0)


def _as_near_one(where: OperationSetting, shape: BitShape) -> bool:
    """Whether a shape that is proved to be in no binade near 1 is in no normal one: all have the same significands.

    Operands of one binade are those of another times a power of two, and where the formats have binades whole these
    are all. Those of (reciprocal) square roots differ in pairs.
    """
    fmt, source = where.out, where.formats[0]
    regions = ends(fmt, shape, max(fmt.emin, 0))
    if regions is None or excluded_everywhere(where, regions[0]):
        return True
    whole = all(f.has_normals and f.emin <= -_WHOLE_BINADES and f.emax >= _WHOLE_BINADES for f in (fmt, source))
    return where.scales and whole


def never(where: OperationSetting, shapes: Iterable[BitShape], normal_only: bool = False) -> str:
    """Why no results have some shapes in any binade; '' if there is no proof."""
    reason = "the format's range contains no such number"
    fmt = where.out
    bounds = reach(where)
    for shape in shapes:
        most = where.largest(shape.sign)
        if most is None or where.limit(shape.sign) < 0:
            reason = "the target has no such sign"
            continue
        past = finite(0, most.significand + 1, most.exponent)
        low, high = fmt.emin - fmt.mantissa_bits - shape.width - 2, max(fmt.emax, fmt.emin)
        low = fmt.emin if normal_only or not fmt.zero else low
        if bounds is not None:
            low, high = max(low, bounds.least), min(high, bounds.most)
        near = range(max(low, 0), min(high, 2) + 1)
        normal = range(0) if _as_near_one(where, shape) else range(max(low, fmt.emin), high)
        for e in (*near, *range(low, min(high, fmt.emin)), *normal, *range(max(low, high), high + 1)):
            regions = ends(fmt, shape, e)
            if regions is None or (regions[0].significand and exact.compare(_low(regions[0]), past) >= 0):
                continue
            proof = unreachable(where, regions[0]) if regions[0] == regions[1] else excluded_between(where, *regions)
            if not proof:
                return ""
            reason = proof
    return reason
