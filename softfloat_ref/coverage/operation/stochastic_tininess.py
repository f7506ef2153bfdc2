"""SRT: stochastic rounding just below the smallest normal number, where tininess after rounding is decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from softfloat_ref.coverage.engine.framework import SIGNS, Bins, Cell, Line, cross
from softfloat_ref.coverage.nearest import code_of
from softfloat_ref.coverage.operation.regions import units
from softfloat_ref.coverage.operation.setting import Events, OperationModel, Setting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format


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
    return code_of(source, just_below(out, n, steps, sign)) if steps else None


class StochasticTininess(OperationModel):
    """SRT: the random word compared with the distance of a value from the smallest normal number."""

    id = "SRT"
    title = (
        "stochastic rounding: values that just reach the smallest normal number with their random bits, or just miss it"
    )
    chooses_words = True

    def applies(self, where: Setting) -> bool:
        return where.converts and where.policy.random_count > 0 and bool(self.bins(where))

    def bins(self, where: Setting) -> Bins:
        """Reached and missed, of each sign, where the source has such values. A cell: sign, how far the word misses."""
        named = cross("{sign}.{kind}", sign=SIGNS, kind={0: "reached", 1: "missed"})
        return where.once(self.id, lambda: {c: name for c, name in named.items() if any(self.cases(where, c))})

    def cases(self, where: Setting, cell: Cell) -> Iterator[Line]:
        (sign, missed), n = cell, where.policy.random_count
        if sign and not (where.formats[0].signed and where.out.signed):
            return
        top = (1 << n) - 1
        for r in dict.fromkeys(x for i in range(n) for x in (1 << i, top >> i, 3 << i, (1 << i) - 1) if 0 <= x < top):
            code = at_the_edge(where.formats[0], where.out, n, r, 2 * sign + missed)
            if code is not None:
                yield code, r

    def hits(self, e: Events) -> Iterable[Cell]:
        """Whether the word equals that distance, or is one less."""
        where, x = e.where, e.exact
        if x.kind != FINITE or not x.significand or exact.top(x) != where.out.emin - 1:
            return
        lacking = exact.add(exact.finite(0, 1, where.out.emin), exact.negate(exact.magnitude(x)))
        steps, part = units(lacking, where.out.emin - where.out.precision - where.policy.random_count)
        if steps and not part:
            yield x.sign, steps - e.random_bits
