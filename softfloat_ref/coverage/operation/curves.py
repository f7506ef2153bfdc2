"""Operands of a real function for a wanted exact result, by bisection on each piece of its curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Final, NamedTuple

from softfloat_ref.base.search import first_that
from softfloat_ref.coverage.classes import complete
from softfloat_ref.coverage.codes import infinities, operand
from softfloat_ref.coverage.engine.framework import Line, significands, word
from softfloat_ref.coverage.operation.reach import inside
from softfloat_ref.coverage.operation.setting import OperationSetting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, INF, Value, finite
from softfloat_ref.oracle.formats import Format

_TRIES: Final = 24
_OTHER_OPERANDS: Final = 4  # other operands tried for a region, at a time


class Ranks:
    """The finite values of a format in order: rank 0 is zero, 1 the smallest positive value, -1 the negative one."""

    def __init__(self, fmt: Format, flush: bool) -> None:
        self.fmt = fmt
        self.least = max(fmt.min_code, 1 if fmt.zero else 0)
        if flush and fmt.subnormals == "gradual" and not fmt.twos_complement:
            self.least = max(self.least, fmt.min_normal_code)
        self.high = fmt.max_code - self.least + 1
        negative = fmt.max_negative_code + int(fmt.symmetric)
        self.low = self.least - negative - 1 if fmt.signed else (0 if fmt.zero else 1)

    def code(self, rank: int) -> int:
        """The code of a rank from low to high."""
        return complete(self.fmt, int(rank < 0), abs(rank) + self.least - 1) if rank else 0


class MonotoneRanks(NamedTuple):
    """Ranks, from first to last, on which the function only rises (slope 1) or falls (-1); 0: a single one."""

    first: int
    last: int
    slope: int


def on_curve(where: OperationSetting, region: Value, seed: int = 0) -> Iterator[Line]:
    """Operands whose exact result lies in a region; for a whole curve of one operand, all of them or a selection."""
    if where.curve is not None and not where.curve.whole and where.unary:
        yield from _in_table(where, region, seed)
        return
    for others in _held(where, seed):
        for code in infinities(where.formats[0]):
            if inside(where.once((others, "infinite", code), partial(where.exactly, (code, *others))), region):
                yield (code, *others)
        for ranks in where.once(("stretches", others), partial(_stretches, where, others)):
            yield from _in_ranks(where, others, ranks, region, seed)


def _held(where: OperationSetting, seed: int) -> Sequence[Line]:
    """Values of the second operand, if there is one: small integers and others."""
    if len(where.formats) == 1:
        return [()]
    fmt = where.formats[1]
    known = [finite(0, 1, 0), finite(0, 3, 0), finite(1, 1, 0), finite(0, 1, -1), finite(0, 1, 1), finite(1, 3, 0)]
    drawn = [finite(i & 1, s, i % 4 - 5) for i, s in zip(range(8), significands(seed, 4), strict=False)]
    codes = [operand(fmt, x) for x in (*known, *drawn)]
    listed = list(dict.fromkeys((c,) for c in (*codes, fmt.min_code, fmt.max_code) if c is not None))
    start = seed * _OTHER_OPERANDS % len(listed)
    return [*listed[start:], *listed[:start]][:_OTHER_OPERANDS]


def _ranks(where: OperationSetting) -> Ranks:
    return where.once("ranks", lambda: Ranks(where.formats[0], where.flushes))


def _value(where: OperationSetting, others: Line, rank: int) -> Value:
    """The exact result at a rank, kept."""
    return where.once((others, rank), lambda: where.exactly((_ranks(where).code(rank), *others)))


def _stretches(where: OperationSetting, others: Line) -> list[MonotoneRanks]:
    """The pieces of the curve in ranks; where two meet, and at the domain's ends, single ranks."""
    curve, ranks = where.sig.operation.curve, _ranks(where)
    assert curve is not None
    stretches = []
    for piece in curve.pieces:
        low, high = ranks.low, ranks.high + 1
        first = low if piece.low is None else first_that(low, high, partial(_above, where, piece.low, False))
        end = high if piece.high is None else first_that(low, high, partial(_above, where, piece.high, True))
        stretches += [MonotoneRanks(r, r, 0) for r in (first - 1, end) if low <= r < high]
        if first < end - 1:
            rises = exact.compare(_value(where, others, first), _value(where, others, end - 1)) < 0
            stretches.append(MonotoneRanks(first, end - 1, 1 if rises else -1))
        elif first == end - 1:
            stretches.append(MonotoneRanks(first, first, 0))
    return list(dict.fromkeys(stretches))


def _above(where: OperationSetting, x: Fraction, touching: bool, rank: int) -> bool:
    """Whether the value of a rank is above a number; touching: or equal to it."""
    value = where.decode(0, _ranks(where).code(rank)).as_fraction()
    return value >= x if touching else value > x


def _in_ranks(where: OperationSetting, others: Line, ranks: MonotoneRanks, region: Value, seed: int) -> Iterator[Line]:
    first, last, slope = ranks
    if slope:

        def side(rank: int) -> int:
            return slope * _side(_value(where, others, rank), region)

        first = first_that(ranks.first, ranks.last + 1, lambda rank: side(rank) >= 0)
        last = first_that(first, ranks.last + 1, lambda rank: side(rank) > 0) - 1
    count = last - first + 1
    listed = [first, last, (first + last) // 2] if count > 2 * _TRIES else []
    listed += [first + word(seed, i) % count for i in range(_TRIES)] if listed else range(first, last + 1)
    for rank in dict.fromkeys(listed):
        if inside(_value(where, others, rank), region):
            yield (_ranks(where).code(rank), *others)


def _in_table(where: OperationSetting, region: Value, seed: int) -> Iterator[Line]:
    """Of a periodic function, from the results at every operand, in order."""
    known: list[tuple[int, int, Value]] = where.once("table", lambda: sorted(_table(where)))
    first = first_that(0, len(known), lambda i: _side(known[i][2], region) >= 0)
    last = first_that(first, len(known), lambda i: _side(known[i][2], region) > 0)
    yield from ((code,) for _, code, _ in known[first : min(first + _TRIES, last)])
    if last - first > _TRIES:
        yield from ((known[first + word(seed, i) % (last - first)][1],) for i in range(_TRIES))


def _table(where: OperationSetting) -> Iterator[tuple[int, int, Value]]:
    """Numbers in the order of the results, the operands' codes, the results."""
    ranks = _ranks(where)
    scale = 2 * where.tail_bits - where.target.emin + where.out.mantissa_bits
    for rank in range(ranks.low, ranks.high + 1):
        code = ranks.code(rank)
        x = where.exactly((code,))
        if x.kind == FINITE:
            shift = max(x.exponent + scale, -x.significand.bit_length())
            size = x.significand << max(shift, 0) >> max(-shift, 0)
            yield (-size if x.sign else size), code, x


def _side(x: Value, region: Value) -> int:
    """-1, 0 or 1: whether a result is below a region, in it, or above it."""
    if x.kind == INF:
        return -1 if x.sign else 1
    if x.kind != FINITE or inside(x, region):
        return 0
    if not x.significand:
        return 1 if region.sign else -1
    if x.sign != region.sign:
        return -1 if x.sign else 1
    order = exact.compare(exact.magnitude(x), finite(0, region.significand, region.exponent)) or (2 * x.sticky - 1)
    return -order if x.sign else order
