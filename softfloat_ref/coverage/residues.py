"""Models of the fma's last bits: what a cancelled product leaves; a subnormal factor with an addend far below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref import exact
from softfloat_ref.coverage.cells import units
from softfloat_ref.coverage.draw import bits
from softfloat_ref.coverage.events import Events, Setting
from softfloat_ref.coverage.memo import remembered
from softfloat_ref.coverage.model import SIGNS, Bin, Model
from softfloat_ref.coverage.nearest import code_of
from softfloat_ref.coverage.solve import Codes
from softfloat_ref.formats import Format

_LEFT: Final = (1, 2, 3, 4, 5, 6, 7, 8, 11, 15)  # units of the product's last place
_LOST: Final = 7  # binades that are lost at least
_TRIES: Final = 160
_BEYOND: Final = 4  # binades past the precision


class _Constructed(Model):
    """A model whose bins are those for which a bounded search finds a case: nothing is said of others."""

    def applies(self, where: Setting) -> bool:
        """fma of float formats."""
        return where.name == "fma" and not any(f.twos_complement for f in (*where.formats, where.out))

    def wanted(self, where: Setting) -> Iterable[str]:
        """The names that are looked for."""
        raise NotImplementedError

    def bins(self, where: Setting) -> tuple[Bin, ...]:
        """The bins that there are cases for."""
        return tuple(Bin(name) for name in self._found(where))

    def _found(self, where: Setting) -> tuple[str, ...]:
        def make() -> tuple[str, ...]:
            return tuple(n for n in self.wanted(where) if any(n in f for f in self._tried(where, n)))

        return remembered(where.memo, self.id, make)

    def _tried(self, where: Setting, name: str) -> Iterator[list[str]]:
        return (self.facts(Events(where, codes)) for codes in self.cases(where, name))

    def hits(self, e: Events) -> Iterable[str]:
        """Facts that are bins."""
        known = remembered(e.where.memo, f"{self.id}.known", lambda: frozenset(self._found(e.where)))
        return [name for name in self.facts(e) if name in known]

    def facts(self, e: Events) -> list[str]:
        """The names of what is so of a case."""
        raise NotImplementedError


class Residues(_Constructed):
    """RES: the exact result is a few units of the last place of the product of two full significands."""

    id = "RES"
    title = "fma: an addend that cancels all of the product but its last bits"

    def wanted(self, where: Setting) -> Iterable[str]:
        """Each number of units, by the result's sign and the product's."""
        bits = where.formats[0].precision + where.formats[1].precision
        left = [n for n in _LEFT if bits - 1 > _LOST + n.bit_length() - 2]
        return [f"RES/{s}.{p}-product.{n}" for n in left for s in SIGNS for p in SIGNS]

    def facts(self, e: Events) -> list[str]:
        """The number of units left of a product that was at least 2^7 times as large."""
        if not e.finite or not e.exact.significand or not all(x.significand for x in e.operands):
            return []
        (a, b, c), r = e.operands, e.exact
        unit = a.exponent + b.exponent
        product = exact.multiply(a, b)
        whole, part = units(r, unit)
        if part or exact.top(product) - exact.top(r) < _LOST or c.sign == product.sign:
            return []
        return [f"RES/{SIGNS[r.sign]}.{SIGNS[product.sign]}-product.{whole}"]

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """A factor, the other one so that the product's low bits are those wanted, and what cancels the rest."""
        sign, product, number = name[4:].split(".")
        negative = int(product == "neg-product")
        left = int(number) if (sign == "neg") == bool(negative) else -int(number)
        fa, fb, fc = where.formats
        below = fa.precision + fb.precision - fc.precision  # bits of a product that the addend does not have
        for turn in range(_TRIES):
            a = 1 << fa.mantissa_bits | bits(turn, 0, fa.mantissa_bits) | 1
            for drop in (below, below - 1):
                b = _factor(fb, a, left, max(drop, 0), turn)
                if b is not None:
                    yield from self._codes(where, a, b, left, negative, turn)

    def _codes(self, where: Setting, a: int, b: int, left: int, negative: int, turn: int) -> Iterator[Codes]:
        fa, fb, fc = where.formats
        if negative and not fa.signed:
            return
        rest = a * b - left
        for size in (where.out.emax - 2, (where.out.emax - 2) // 2, 0, where.out.emin // 2):
            unit = size - fa.mantissa_bits - fb.mantissa_bits
            ea = min(max(unit // 2, fa.emin - fa.mantissa_bits), fa.emax - fa.mantissa_bits)
            found = (
                code_of(fa, exact.finite(negative, a, ea)),
                code_of(fb, exact.finite(0, b, unit - ea)),
                code_of(fc, exact.finite(1 - negative, rest, unit)),
            )
            if None not in found:
                yield tuple(x for x in found if x is not None)


def _factor(fmt: Format, a: int, left: int, drop: int, turn: int) -> int | None:
    """A full significand whose product with an odd one is `left` modulo 2^drop."""
    modulus, m = 1 << drop, fmt.mantissa_bits
    low = left * pow(a, -1, modulus) % modulus if drop else 0
    if drop > m:
        return low if low >> m == 1 else None
    return 1 << m | (bits(turn, 1, m) >> drop << drop) & ((1 << m) - 1) | low if drop <= m else None


class SubnormalFactors(_Constructed):
    """SUBF: the smallest subnormal times a power of two, with an addend far below the product."""

    id = "SUBF"
    title = "fma: a power of two from a subnormal factor, with an addend so many binades below it"

    def wanted(self, where: Setting) -> Iterable[str]:
        """Distances past the precision, by which factor is subnormal and whether the signs differ."""
        reach = where.out.precision + _BEYOND
        kinds = [(f, s) for f in "ab" for s in ("same", "opposite")]
        return [f"SUBF/{f}.{p}.{s}.{d}" for f, s in kinds for p in SIGNS for d in range(1, reach)]

    def facts(self, e: Events) -> list[str]:
        """The distance of an addend with an odd significand."""
        if not e.finite or not all(x.significand for x in e.operands):
            return []
        a, b, c = e.operands
        product = exact.multiply(a, b)
        alone = product.significand & (product.significand - 1) == 0
        small = [exact.top(x) < f.emin for x, f in zip((a, b), e.where.formats, strict=False)]
        if not alone or small[0] == small[1] or not c.significand & 1:
            return []
        signs = "same" if c.sign == product.sign else "opposite"
        factor = "a" if small[0] else "b"
        return [f"SUBF/{factor}.{SIGNS[product.sign]}.{signs}.{exact.top(product) - exact.top(c)}"]

    def cases(self, where: Setting, name: str) -> Iterator[Codes]:
        """Powers of two up to the largest, and addends of all ones and others."""
        factor, sign, signs, number = name[5:].split(".")
        negative, i = int(sign == "neg"), int(factor == "b")
        formats = where.formats
        small, large, fc = formats[i], formats[1 - i], formats[2]
        if small.subnormals != "gradual" or not small.mantissa_bits or (negative and not small.signed):
            return
        least = small.emin - small.mantissa_bits
        opposite = negative ^ (signs == "opposite")
        for turn, e in enumerate(range(large.emax, large.emax - 8, -1)):
            for low in range(min(small.mantissa_bits, 2)):
                top = least + low + e - int(number)
                for ones in (
                    (2 << fc.mantissa_bits) - 1,
                    1 << fc.mantissa_bits | bits(turn, 2, fc.mantissa_bits) | 1,
                    3,
                ):
                    found = (
                        code_of(small, exact.finite(negative, 1, least + low)),
                        code_of(large, exact.finite(0, 1, e)),
                        code_of(fc, exact.finite(opposite, ones, top - ones.bit_length() + 1)),
                    )
                    if None not in found:
                        x, y, c = (code for code in found if code is not None)
                        yield (x, y, c) if i == 0 else (y, x, c)
