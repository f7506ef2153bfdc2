"""The exact facts of one dot product, on which bins are decided: integers only, nothing is rounded here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from softfloat_ref import exact
from softfloat_ref.accumulate import Accumulator
from softfloat_ref.accumulate.dots import Operand, Setting, accumulate, first_running, products, setting
from softfloat_ref.accumulate.evaluate import unit_target
from softfloat_ref.accumulate.terms import Term, number, operand_decoder
from softfloat_ref.accumulate.trees import Fuse, walk
from softfloat_ref.block_formats import BlockFormat
from softfloat_ref.codec import decoder
from softfloat_ref.coverage.classes import complete
from softfloat_ref.coverage.events import Place
from softfloat_ref.coverage.nearest import nearest
from softfloat_ref.exact import FINITE, Value
from softfloat_ref.formats import Format
from softfloat_ref.rounding import Target, position

Line = tuple[int, ...]
AnyFormat = Format | BlockFormat
_TAIL: Final = 40  # bits below the guard bit that are looked at
_MOST: Final = 64  # binades between two terms that are told apart


class Side(NamedTuple):
    """The elements of one operand and their scales; blocks: how many of those, 0 of a scalar format."""

    fmt: Format
    scale: Format | None
    size: int
    blocks: int

    def operand(self, codes: Line, scales: Line) -> Operand:
        """The operand of those codes."""
        return Operand(self.fmt, codes, self.scale, scales, self.size)


class DotSetting:
    """Dot products of k elements by an accumulator. Made by `dot_setting`."""

    def __init__(
        self, a: AnyFormat, b: AnyFormat, c: Format, out: Format, unit: Accumulator, k: int, extrapolate: bool
    ) -> None:
        self.k, self.c, self.out, self.unit, self.extrapolate = k, c, out, unit, extrapolate
        self.a, self.b = (self._side(x) for x in (a, b))
        self.setting: Setting = self.by(unit, extrapolate)
        self.memo: dict[str, object] = {}  # what models lay out once

    def _side(self, x: AnyFormat) -> Side:
        if isinstance(x, BlockFormat):
            return Side(x.element, x.scale, x.size, self.k // x.size)
        return Side(x, None, 0, 0)

    def by(self, unit: Accumulator, extrapolate: bool = True) -> Setting:
        """The same dot products by another accumulator. Raises Error where it does not take them."""
        a, b = (x.operand((0,) * self.k, (0,) * x.blocks) for x in (self.a, self.b))
        return setting(a, b, unit, self.out, self.c, extrapolate=extrapolate)

    @cached_property
    def width(self) -> int:
        """How many products the first step takes, together with c."""
        s = self.setting
        return min(self.k, self.unit.step_for(s.formats, s.result, s.block, self.k))

    @cached_property
    def target(self) -> Target:
        """What rounding the running result must know."""
        return unit_target(self.setting.result, self.unit.policy("rne"), self.unit.overflow)

    @cached_property
    def reach(self) -> int:
        """Binades between two terms that are told apart: a few more than the unit keeps bits."""
        fuses = [node for node in walk(self.unit.root) if isinstance(node, Fuse)]
        bits = [self.setting.result.precision, *(node.bits or 0 for node in fuses)]
        bits += [part.bits or 0 for node in fuses for part in node.parts]
        return min(max(bits) + 4, _MOST)

    # -- operands ------------------------------------------------------------------------------------------------

    @cached_property
    def powers(self) -> tuple[dict[int, int], dict[int, int]]:
        """The powers of two that the elements a and b have, as their codes by exponent."""
        return self._powers(self.a.fmt), self._powers(self.b.fmt)

    def _powers(self, fmt: Format) -> dict[int, int]:
        decode, found = operand_decoder(fmt, self.unit.flush_inputs), {}
        least, most = (exact.top(operand_decoder(fmt, "off")(code)) for code in (fmt.min_code, fmt.max_code))
        for exponent in range(least, most + 1):
            wanted = exact.finite(0, 1, exponent)
            code = nearest(fmt, wanted)
            if decode(code).kind == FINITE and exact.compare(decode(code), wanted) == 0:
                found[exponent] = code
        return found

    @cached_property
    def normal(self) -> dict[int, tuple[int, int]]:
        """Pairs of elements whose product is a power of two and is encoded `shift` above its exponent: no subnormals,
        and of fixed point the number one."""
        decoders = [operand_decoder(x.fmt, self.unit.flush_inputs) for x in (self.a, self.b)]
        kept = [
            {e: c for e, c in powers.items() if number(decode(c), side.fmt, "").exponent == e + _shift(side.fmt)}
            for powers, decode, side in zip(self.powers, decoders, (self.a, self.b), strict=True)
        ]
        return _paired(*kept)

    @cached_property
    def shift(self) -> int:
        """How far above their exponent such products are encoded: not at all but of fixed point."""
        return _shift(self.a.fmt) + _shift(self.b.fmt)

    @cached_property
    def pairs(self) -> dict[int, tuple[int, int]]:
        """Pairs of elements whose product is a power of two, subnormal ones too."""
        return _paired(*self.powers) | self.normal

    @cached_property
    def one(self) -> tuple[int, int]:
        """An ordinary element of a and of b: one, or what is nearest to it."""
        return nearest(self.a.fmt, exact.finite(0, 1, 0)), nearest(self.b.fmt, exact.finite(0, 1, 0))

    def scaled(self, exponent: int) -> tuple[tuple[int, int], tuple[int | None, int | None]] | None:
        """Elements, and scales where those of one are not enough, whose product is that power of two."""
        if not self.normal:
            return None
        low, high = min(self.normal), max(self.normal)
        own = min(max(exponent, low), high)
        if own not in self.normal:
            return None
        left, scales = exponent - own, list[int | None]()
        for side in (self.a, self.b):
            fmt = side.scale
            part = 0 if fmt is None else min(max(left, fmt.emin), fmt.emax)
            left -= part
            scales.append(None if fmt is None else nearest(fmt, exact.finite(0, 1, part)))
        return None if left else (self.normal[own], (scales[0], scales[1]))

    @property
    def negative(self) -> bool:
        """Whether a product can be negative."""
        return self.a.fmt.signed or self.b.fmt.signed

    def signed(self, pair: tuple[int, int], sign: int) -> tuple[int, int]:
        """The pair with a product of that sign, where `negative`."""
        if sign and self.a.fmt.signed:
            return complete(self.a.fmt, 1, pair[0]), pair[1]
        return (pair[0], complete(self.b.fmt, 1, pair[1])) if sign else pair

    def addend(self, sign: int, significand: int, exponent: int) -> int | None:
        """c of that value; None where it has none."""
        wanted = exact.finite(sign, significand, exponent)
        code = nearest(self.c, wanted)
        found = operand_decoder(self.c, self.unit.flush_inputs)(code)
        return code if found.kind == FINITE and exact.compare(found, wanted) == 0 else None

    def line(
        self,
        at: Mapping[int, tuple[int, int]],
        c: int = 0,
        rest: tuple[int, int] = (0, 0),
        scales: tuple[int | None, int | None] = (None, None),
    ) -> Line:
        """The inputs with those elements by position, `rest` elsewhere, c, and the same scale (one) everywhere."""
        fields: list[int] = []
        for i, (side, scale) in enumerate(zip((self.a, self.b), scales, strict=True)):
            if side.scale is not None:
                code = nearest(side.scale, exact.finite(0, 1, 0)) if scale is None else scale
                fields += [code] * side.blocks
            fields += [at.get(lane, rest)[i] for lane in range(self.k)]
        return (*fields, c)


def _shift(fmt: Format) -> int:
    return number(decoder(fmt)(nearest(fmt, exact.finite(0, 1, 0))), fmt, "").exponent if fmt.twos_complement else 0


def _paired(a: dict[int, int], b: dict[int, int]) -> dict[int, tuple[int, int]]:
    """For each exponent of a product, the two elements of about one size that give it."""
    found: dict[int, tuple[int, int]] = {}
    if not a or not b:
        return found  # a format of subnormals only has none that are encoded at their exponent
    for exponent in range(min(a) + min(b), max(a) + max(b) + 1):
        splits = [x for x in a if exponent - x in b]
        if splits:
            x = min(splits, key=lambda x: abs(2 * x - exponent))
            found[exponent] = a[x], b[exponent - x]
    return found


class DotEvents:
    """A dot product, and its facts, each worked out when it is asked for."""

    def __init__(self, where: DotSetting, line: Line) -> None:
        self.where, self.whole = where, line[: 2 * where.k + where.a.blocks + where.b.blocks + 1]
        at = 0
        parts = []
        for size in (where.a.blocks, where.k, where.b.blocks, where.k):
            parts.append(line[at : at + size])
            at += size
        self.a_scales, self.a, self.b_scales, self.b = parts
        self.c = line[at]

    @cached_property
    def terms(self) -> list[Term]:
        """All products, exactly."""
        where = self.where
        sides = where.a.operand(self.a, self.a_scales), where.b.operand(self.b, self.b_scales)
        return products(where.setting, *sides)

    @cached_property
    def addend(self) -> Term:
        """c, as the first step sees it."""
        return first_running(self.where.setting, self.c, None)[0]

    @cached_property
    def result(self) -> tuple[int, int]:
        """Code and flags, from the oracle."""
        return self.by(self.where.setting)

    def by(self, s: Setting) -> tuple[int, int]:
        """Code and flags by an accumulator."""
        where = self.where
        sides = where.a.operand(self.a, self.a_scales), where.b.operand(self.b, self.b_scales)
        return accumulate(s, products(s, *sides), self.c)

    @cached_property
    def numbers(self) -> bool:
        """Whether every product, and c, is finite."""
        return all(t.value.kind == FINITE for t in (*self.terms, self.addend))

    @cached_property
    def first(self) -> list[Term]:
        """The nonzero terms of the first step, c last."""
        return [t for t in (*self.terms[: self.where.width], self.addend) if not t.empty and t.value.significand]

    @cached_property
    def place(self) -> Place | None:
        """Where the exact sum of everything lies among the values of the running result; None of zero and specials."""
        if not self.numbers:
            return None
        total, n = self.total, _TAIL
        if not total.significand:
            return None
        code, kept, discarded, rest = position(
            total.significand, total.exponent, total.significand.bit_length(), 0, n, self.where.target
        )
        return Place(code, kept, discarded >> n, discarded & ((1 << n) - 1), n, rest)

    @cached_property
    def total(self) -> Value:
        """The exact sum of everything, where all are `numbers`."""
        return total_of(t.value for t in (*self.terms, self.addend))


def total_of(values: Iterable[Value]) -> Value:
    """The exact sum of finite numbers."""
    total = exact.zero(0)
    for x in values:
        total = exact.add(total, x)
    return total


@lru_cache(maxsize=64)
def dot_setting(
    a: AnyFormat, b: AnyFormat, c: Format, out: Format, unit: Accumulator, k: int, extrapolate: bool = False
) -> DotSetting:
    """The setting of dot products."""
    return DotSetting(a, b, c, out, unit, k, extrapolate)
