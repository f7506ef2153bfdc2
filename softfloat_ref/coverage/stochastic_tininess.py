"""SRT: stochastic rounding just below the smallest normal number, where tininess after rounding is decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from softfloat_ref import exact
from softfloat_ref.coverage.cells import units
from softfloat_ref.coverage.events import Events, Setting
from softfloat_ref.coverage.memo import remembered
from softfloat_ref.coverage.model import SIGNS, Bin, Model
from softfloat_ref.coverage.nearest import code_of
from softfloat_ref.coverage.solve import Codes
from softfloat_ref.exact import FINITE, Value
from softfloat_ref.formats import Format


def just_below(out: Format, n: int, steps: int, sign: int) -> Value:
    """The smallest normal number less so many 2^-n of a last place of the binade below it.

    With unbounded exponents a random word of `steps` or more takes it to that number (IEEE 754 7.5, after rounding).
    """
    unit = out.emin - out.precision - n
    return exact.finite(sign, (1 << (out.precision + n)) - steps, unit)


def at_the_edge(source: Format, out: Format, n: int, r: int, turn: int) -> int | None:
    """An operand that its random word just takes to the smallest normal number, or just not, by turns; None where the
    source has no such value."""
    if out.subnormals != "gradual" or out.twos_complement or source.twos_complement or not out.has_normals:
        return None
    sign = turn >> 1 & 1 if source.signed and out.signed else 0
    steps = r + (turn & 1)
    return code_of(source, just_below(out, n, steps, sign)) if steps else None


class StochasticTininess(Model):
    """SRT: how the random word compares with what a value lacks of the smallest normal number."""

    id = "SRT"
    title = (
        "stochastic rounding: values that just reach the smallest normal number with their random bits, or just miss it"
    )

    def applies(self, where: Setting) -> bool:
        """Stochastic conversions to formats with subnormal numbers."""
        return where.name == "convert" and where.policy.random_count > 0 and next(self._any(where), None) is not None

    def _any(self, where: Setting) -> Iterator[Codes]:
        return (codes for turn in range(4) for codes in self._made(where, turn))

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """Reached and missed, of each sign, where the source has such values."""

        def make() -> tuple[str, ...]:
            named = ((f"SRT/{SIGNS[turn >> 1]}.{('reached', 'missed')[turn & 1]}", turn) for turn in range(4))
            return tuple(dict.fromkeys(n for n, turn in named if next(self._made(where, turn), None) is not None))

        return tuple(Bin(name) for name in remembered(where.memo, self.id, make))

    def _made(self, where: Setting, turn: int) -> Iterator[Codes]:
        n = where.policy.random_count
        if turn >> 1 and not (where.formats[0].signed and where.out.signed):
            return
        top = (1 << n) - 1
        for r in dict.fromkeys(x for i in range(n) for x in (1 << i, top >> i, 3 << i, (1 << i) - 1) if 0 <= x < top):
            code = at_the_edge(where.formats[0], where.out, n, r, turn)
            if code is not None:
                yield code, r

    def hits(self, e: Events) -> Iterable[str]:
        """Whether the word is what is lacking, or one less."""
        where, x = e.where, e.exact
        if x.kind != FINITE or not x.significand or exact.top(x) != where.out.emin - 1:
            return
        n = where.policy.random_count
        lacking = exact.add(exact.finite(0, 1, where.out.emin), exact.negate(exact.magnitude(x)))
        steps, part = units(lacking, where.out.emin - where.out.precision - n)
        name = {0: "reached", 1: "missed"}.get(steps - e.random_bits)
        found = f"SRT/{SIGNS[x.sign]}.{name}"
        if name and steps and not part and found in {b.id for b in self.bins(where)}:
            yield found

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Operands and random words."""
        sign, _, kind = name[4:].partition(".")
        yield from self._made(where, 2 * (sign == "neg") + (kind == "missed"))
