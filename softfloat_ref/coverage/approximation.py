"""Coverage of approximations: both ends of segments, the borders of the table, and the bits that decide roundings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from softfloat_ref.base.search import first_that
from softfloat_ref.coverage.codes import infinities
from softfloat_ref.coverage.engine.framework import (
    ROUND_BITS,
    BaseSetting,
    Bins,
    Cell,
    Coverage,
    Line,
    Model,
    SearchedModel,
    bits,
    cross,
    signs_of,
)
from softfloat_ref.oracle.approximation import Approximation, Part
from softfloat_ref.oracle.approximation_steps import unrounded
from softfloat_ref.oracle.codec import target
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.rounding import position
from softfloat_ref.oracle.steps import PLAIN
from softfloat_ref.units import ApproximationUnit

_MOST_SEGMENTS: Final = 256  # bins of segments of one sign, of which each may hold several
_ENDS: Final = {0: "first", 1: "last"}
_DRAWN_OPERANDS: Final = 1 << 12
_BORDERS: Final = ("zero", "least", "below", "first", "last", "after", "largest")


class ApproximationSetting(BaseSetting):
    """An approximation, and what is derived from it once."""

    def __init__(self, unit: ApproximationUnit) -> None:
        super().__init__()
        self.a: Approximation = unit.approximation
        self.space = self.a.fmt.width
        self.target = target(self.a.out, self.a.policy)

    def events(self, line: Line) -> ApproximationEvents:
        return ApproximationEvents(self, line[0])

    def every(self) -> Iterator[Line]:
        return ((code,) for code in range(1 << self.a.fmt.width))

    def part(self, negative: int) -> Part:
        """The table of operands of a sign."""
        return self.a.parts[negative if len(self.a.parts) > 1 else 0]

    def code(self, negative: int, magnitude: int) -> int:
        """The code of a magnitude of that sign."""
        return magnitude | self.a.fmt.sign_bit * negative

    def start(self, part: Part, row: int) -> int:
        """The first magnitude code of a row's segment, or of one after the last row."""
        wanted = row + self.a.row(part.first)
        return first_that(part.first, part.after, lambda code: self.a.row(code) >= wanted)


class ApproximationEvents(NamedTuple):
    """An operand, in its setting."""

    where: ApproximationSetting
    code: int

    @property
    def negative(self) -> int:
        """Its sign."""
        return int(self.code & self.where.a.fmt.sign_bit != 0)

    @property
    def magnitude(self) -> int:
        """Its code without the sign."""
        return self.code & self.where.a.fmt.magnitude_mask


ApproximationModel = Model[ApproximationSetting, ApproximationEvents]


class SegmentEnds(ApproximationModel):
    """SEG: the first and the last operand of segments, of each sign."""

    id = "SEG"
    title = "segments: the first and the last operand of each, or of some of many, of each sign"

    def bins(self, where: ApproximationSetting) -> Bins:
        bins: Bins = {}
        for negative in signs_of(where.a.fmt):
            count = len(where.part(negative).rows)
            rows = range(0, count, -(-count // _MOST_SEGMENTS) or 1)
            bins |= cross("{sign}.{row}.{end}", sign={negative: signs_of(where.a.fmt)[negative]}, row=rows, end=_ENDS)
        return bins

    def cases(self, where: ApproximationSetting, cell: Cell) -> Iterator[Line]:
        negative, row, end = cell
        part = where.part(negative)
        magnitude = where.start(part, row + 1) - 1 if end else where.start(part, row)
        yield (where.code(negative, magnitude),)

    def hits(self, e: ApproximationEvents) -> Iterable[Cell]:
        a, part, x = e.where.a, e.where.part(e.negative), e.magnitude
        if not part.first <= x < part.after:
            return
        row = a.row(x)
        for end, at in ((0, x - 1), (1, x + 1)):
            if not part.first <= at < part.after or a.row(at) != row:
                yield e.negative, row - a.row(part.first), end


class Borders(ApproximationModel):
    """EDGE: the thresholds of the table and of the format, infinities and NaN."""

    id = "EDGE"
    title = "operands beside the ends of the table, the format's ends, zeros, infinities, NaN"

    def bins(self, where: ApproximationSetting) -> Bins:
        fmt = where.a.fmt
        bins = cross("{sign}.{name}", sign=signs_of(fmt), name=[*_BORDERS, *(["inf"] if fmt.infinity else [])])
        return bins | ({(0, "nan"): "nan"} if fmt.has_nan else {})

    def _places(self, where: ApproximationSetting, negative: int) -> dict[str, int]:
        part, fmt = where.part(negative), where.a.fmt
        borders = (0, 1, part.first - 1, part.first, part.after - 1, part.after, fmt.max_code)
        return dict(zip(_BORDERS, borders, strict=True)) | ({"inf": fmt.inf_code} if fmt.infinity else {})

    def cases(self, where: ApproximationSetting, cell: Cell) -> Iterator[Line]:
        negative, name = cell
        if name == "nan":
            fmt = where.a.fmt
            yield from ((c,) for c in (fmt.canonical_nan, fmt.magnitude_mask, *(x + 1 for x in infinities(fmt))))
        else:
            yield (where.code(negative, max(self._places(where, negative)[name], 0)),)

    def hits(self, e: ApproximationEvents) -> Iterable[Cell]:
        if e.where.a.fmt.is_nan(e.code):
            yield 0, "nan"
        else:
            yield from ((e.negative, k) for k, x in self._places(e.where, e.negative).items() if x == e.magnitude)


class Rounds(SearchedModel[ApproximationSetting, ApproximationEvents]):
    """ROUND: last bit, guard and sticky of the values of polynomials."""

    id = "ROUND"
    title = "values of polynomials before they are rounded: sign, last bit, guard bit, sticky"

    def wanted(self, where: ApproximationSetting) -> Bins:
        return ROUND_BITS

    def searched(self, where: ApproximationSetting) -> Iterator[Line]:
        """Operands spread over the tables."""
        for turn in range(_DRAWN_OPERANDS):
            negative = turn % len(signs_of(where.a.fmt))
            part = where.part(negative)
            span = max(part.after - part.first, 1)
            magnitude = part.first + (turn * span // _DRAWN_OPERANDS + bits(turn, 0, 16)) % span
            yield (where.code(negative, magnitude),)

    def hits(self, e: ApproximationEvents) -> Iterable[Cell]:
        part = e.where.part(e.negative)
        if not part.first <= e.magnitude < part.after:
            return
        x = unrounded(PLAIN, e.where.a, e.code)
        if x.kind == FINITE and x.significand:
            t = e.where.target
            _, last, guard, rest = position(x.significand, x.exponent, x.significand.bit_length(), 0, 0, t)
            yield x.sign, last & 1, guard, rest


@lru_cache(maxsize=16)
def approximation(unit: ApproximationUnit) -> Coverage:
    """The coverage of an approximation."""
    return Coverage(ApproximationSetting(unit), (SegmentEnds(), Borders(), Rounds()))
