"""Models of stochastic rounding: discarded and random bits around the carry of their sum; tininess after rounding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from softfloat_ref.coverage.codes import operand
from softfloat_ref.coverage.engine.framework import BITS, SIGNS, Bins, Cell, Line, ReachedModel, cross
from softfloat_ref.coverage.operation.functions import drawn_operands
from softfloat_ref.coverage.operation.reach import units
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationSetting
from softfloat_ref.coverage.operation.shapes import BitShape, ShapeModel, solved
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding import position

_ENUMERATED_BITS: Final = 4  # random bits up to which every discarded fraction is a candidate
_CARRY_DISTANCES: Final = {-2: "-2", -1: "-1", 0: "0", 1: "+1"}
_EXACT_CELL: Final = ("exact",)
_ZEROS_CELL: Final = ("zeros",)


class StochasticCarry(ShapeModel):
    """SR: the discarded bits and the random bits around their carry."""

    id = "SR"
    title = "stochastic rounding: discarded bits and random bits that just reach the carry, or just miss it"
    chooses_words = True

    def applies(self, where: OperationSetting) -> bool:
        return where.rounded and where.policy.random_count > 0

    def bins(self, where: OperationSetting) -> Bins:
        """How far the sum is from the carry, with the bit below the random ones and a sticky; and exact values."""
        sums = cross("sum{distance}.below{bit}.sticky{sticky}", distance=_CARRY_DISTANCES, bit=BITS, sticky=BITS)
        return {**sums, _EXACT_CELL: "exact.random-ones", _ZEROS_CELL: "inexact.random-zeros"}

    def shapes(self, where: OperationSetting, cell: Cell) -> Iterable[BitShape]:
        n = where.policy.random_count
        if cell == _EXACT_CELL:
            return [BitShape(s, 0, n + 1, n + 1, 0) for s in BITS]
        fractions = list(range(1 << n)) if n <= _ENUMERATED_BITS else [1 << (n - 1), 5 << (n - 3), 1, (1 << n) - 1, 3]
        if cell == _ZEROS_CELL:
            return [BitShape(s, d << 1 | 1, n + 1, n + 1, t) for d in fractions for t in BITS for s in BITS]
        distance, below, sticky = cell
        return [
            BitShape(s, d << 1 | below, n + 1, n + 1, sticky)
            for d in fractions
            if 0 <= (1 << n) + distance - d < 1 << n and (d or below or sticky)
            for s in BITS
        ]

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """Operands that discard that fraction, and the random bits that bring the sum there."""
        top = 1 << where.policy.random_count
        for codes in chain(solved(where, self.shapes(where, cell)), self._drawn(where, cell)):
            x = where.exactly(codes)
            if x.kind != FINITE or x.significand == 0:
                continue
            r = top - 1 if cell == _EXACT_CELL else 0
            if len(cell) > 1:
                r = top + cell[0] - (_discarded(x, where)[0] >> 1)
            if 0 <= r < top:
                yield (*codes, r)

    def _drawn(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        """Mixed operands of a function that discard such a fraction."""
        if where.curve is not None:
            known = where.once("drawn fractions", lambda: drawn_operands(where, lambda codes: _fractions(where, codes)))
            for shape in self.shapes(where, cell):
                yield from known.get((shape.low, shape.sticky), ())[:2]

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the discarded bits as the rounding sees them, and the random bits."""
        top = 1 << e.where.policy.random_count
        if e.in_range is None:
            return
        discarded, rest = _discarded(e.exact, e.where)
        if discarded == 0 and rest == 0:
            if e.random_bits == top - 1:
                yield _EXACT_CELL
            return
        if e.random_bits == 0:
            yield _ZEROS_CELL
        yield (discarded >> 1) + e.random_bits - top, discarded & 1, int(rest != 0)


def _fractions(where: OperationSetting, codes: Line) -> list[Cell]:
    """The discarded bits of a case."""
    x = where.exactly(codes)
    return [_discarded(x, where)] if x.kind == FINITE and x.significand else []


def _discarded(x: Value, where: OperationSetting) -> tuple[int, int]:
    """As many discarded bits as random ones, and the one below; and whether anything follows."""
    n = where.policy.random_count
    _, _, discarded, rest = position(x.significand, x.exponent, x.significand.bit_length(), x.sticky, n, where.target)
    return discarded, rest


def just_below(out: Format, n: int, steps: int, sign: int) -> Value:
    """The smallest normal number minus a multiple of 2^-n of a last place of the binade below it.

    With unbounded exponents a random word of `steps` or more takes it to that number (IEEE 754 7.5, after rounding).
    """
    unit = out.emin - out.precision - n
    return exact.finite(sign, (1 << (out.precision + n)) - steps, unit)


def at_the_edge(source: Format, out: Format, n: int, r: int, turn: int) -> int | None:
    """An operand that its random word just takes to the smallest normal number, or just not, by turns; None if the
    source has no such value."""
    if out.subnormals != "gradual" or out.twos_complement or source.twos_complement or not out.has_normals:
        return None
    sign = turn >> 1 & 1 if source.signed and out.signed else 0
    steps = r + (turn & 1)
    return operand(source, just_below(out, n, steps, sign)) if steps else None


class StochasticTininess(ReachedModel[OperationSetting, OperationEvents]):
    """SRT: the random word compared with the distance of a value from the smallest normal number."""

    id = "SRT"
    title = (
        "stochastic rounding: values that just reach the smallest normal number with their random bits, or just miss it"
    )
    chooses_words = True

    def applies(self, where: OperationSetting) -> bool:
        return where.converts and where.policy.random_count > 0 and bool(self.bins(where))

    def wanted(self, where: OperationSetting) -> Bins:
        """Reached and missed, of each sign. A cell: sign, how far the word misses."""
        return cross("{sign}.{kind}", sign=SIGNS, kind={0: "reached", 1: "missed"})

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        (sign, missed), n = cell, where.policy.random_count
        if sign and not (where.formats[0].signed and where.out.signed):
            return
        top = (1 << n) - 1
        for r in dict.fromkeys(x for i in range(n) for x in (1 << i, top >> i, 3 << i, (1 << i) - 1) if 0 <= x < top):
            code = at_the_edge(where.formats[0], where.out, n, r, 2 * sign + missed)
            if code is not None:
                yield code, r

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """Whether the word equals that distance, or is one less."""
        where, x = e.where, e.exact
        if x.kind != FINITE or not x.significand or exact.top(x) != where.out.emin - 1:
            return
        lacking = exact.add(exact.finite(0, 1, where.out.emin), exact.negate(exact.magnitude(x)))
        steps, part = units(lacking, where.out.emin - where.out.precision - where.policy.random_count)
        if steps and not part:
            yield x.sign, steps - e.random_bits
