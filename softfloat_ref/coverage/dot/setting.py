"""The exact facts of one dot product, on which bins are decided: integers only, nothing is rounded here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, reduce
from typing import Final

from softfloat_ref.coverage.classes import complete
from softfloat_ref.coverage.codes import TailPlace, nearest, operand, place_of
from softfloat_ref.coverage.engine.framework import BaseSetting, Line, Model
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate import Accumulator
from softfloat_ref.oracle.accumulate.dots import Accumulation, Operand, accumulate, first_running, products, setting
from softfloat_ref.oracle.accumulate.evaluate import unit_target
from softfloat_ref.oracle.accumulate.terms import Term, number, operand_decoder
from softfloat_ref.oracle.accumulate.trees import Fuse, walk
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding import Target
from softfloat_ref.units import DotUnit

_ONE: Final = exact.finite(0, 1, 0)
_TAIL_BITS: Final = 40  # bits below the guard bit that are looked at
_MOST_REACH: Final = 64  # binades between two terms that are told apart


class DotSetting(BaseSetting):
    """A dot product, and what is derived from it once. a, b: operands of zeros, for their formats and sizes."""

    def __init__(self, unit: DotUnit) -> None:
        super().__init__()
        self.unit, self.setting, self.accumulator = unit, unit.setting, unit.accumulator
        self.k, self.c = unit.k, unit.c
        self.a, self.b, _ = unit.sides((0,) * unit.input_width)

    @property
    def sides(self) -> dict[str, Operand]:
        """The operands a and b by name."""
        return {"a": self.a, "b": self.b}

    def events(self, line: Line) -> DotEvents:
        return DotEvents(self, line)

    def by(self, accumulator: Accumulator) -> Accumulation:
        """The same dot products by another accumulator. Raises Error if it does not support them."""
        return setting(self.a, self.b, accumulator, self.unit.out, self.c, extrapolate=True)

    @cached_property
    def width(self) -> int:
        """The number of products of the first step, which also adds c."""
        s = self.setting
        return min(self.k, self.accumulator.step_for(s.formats, s.result, s.block, self.k))

    @cached_property
    def target(self) -> Target:
        """The target of the running result's rounding."""
        return unit_target(self.setting.result, self.accumulator.policy("rne"), self.accumulator.overflow)

    @cached_property
    def reach(self) -> int:
        """Binades between two terms that have separate bins: a few more than the unit's bits."""
        fuses = [node for node in walk(self.accumulator.root) if isinstance(node, Fuse)]
        bits = [self.setting.result.precision, *(node.bits or 0 for node in fuses)]
        bits += [part.bits or 0 for node in fuses for part in node.parts]
        return min(max(bits) + 4, _MOST_REACH)

    # -- operands ------------------------------------------------------------------------------------------------

    @cached_property
    def powers(self) -> tuple[dict[int, int], dict[int, int]]:
        """The powers of two that the elements a and b have, as their codes by exponent."""
        return self._powers(self.a.fmt), self._powers(self.b.fmt)

    def _powers(self, fmt: Format) -> dict[int, int]:
        least, most = (exact.top(operand_decoder(fmt, "off")(code)) for code in (fmt.min_code, fmt.max_code))
        codes = {e: self._code(fmt, exact.finite(0, 1, e)) for e in range(least, most + 1)}
        return {e: code for e, code in codes.items() if code is not None}

    def _code(self, fmt: Format, x: Value) -> int | None:
        """The code that the unit reads as a value; None if there is none."""
        code, decode = operand(fmt, x), operand_decoder(fmt, self.accumulator.flush_inputs)
        return code if code is not None and exact.compare(decode(code), x) == 0 else None

    @cached_property
    def normal(self) -> dict[int, tuple[int, int]]:
        """Pairs of elements whose product is a power of two and is encoded `shift` above its exponent: no subnormals,
        and of fixed point the number one."""
        decoders = [self.accumulator.decoder(x.fmt) for x in (self.a, self.b)]
        normal = [
            {e: c for e, c in powers.items() if number(decode(c), side.fmt, "").exponent == e + _shift(side.fmt)}
            for powers, decode, side in zip(self.powers, decoders, (self.a, self.b), strict=True)
        ]
        return _paired(*normal)

    @cached_property
    def shift(self) -> int:
        """The distance of such products' encoding above their exponent: zero except in fixed point."""
        return _shift(self.a.fmt) + _shift(self.b.fmt)

    @cached_property
    def pairs(self) -> dict[int, tuple[int, int]]:
        """Pairs of elements whose product is a power of two, subnormal ones too."""
        return _paired(*self.powers) | self.normal

    @cached_property
    def one(self) -> tuple[int, int]:
        """An ordinary element of a and of b: one, or what is nearest to it."""
        return nearest(self.a.fmt, _ONE), nearest(self.b.fmt, _ONE)

    def beside_one(self, side: str, code: int) -> tuple[int, int]:
        """A code of an operand, and an ordinary one of the other."""
        return (code, self.one[1]) if side == "a" else (self.one[0], code)

    def scaled(self, exponent: int) -> tuple[tuple[int, int], tuple[int | None, int | None]] | None:
        """Elements, and scales if scales of one do not suffice, whose product is that power of two."""
        if not self.normal:
            return None
        low, high = min(self.normal), max(self.normal)
        own = min(max(exponent, low), high)
        if own not in self.normal:
            return None
        left, scales = exponent - own, list[int | None]()
        for side in (self.a, self.b):
            fmt = side.scale_fmt
            part = 0 if fmt is None else min(max(left, fmt.emin), fmt.emax)
            left -= part
            scales.append(None if fmt is None else nearest(fmt, exact.finite(0, 1, part)))
        return None if left else (self.normal[own], (scales[0], scales[1]))

    @property
    def negative(self) -> bool:
        """Whether a product can be negative."""
        return self.a.fmt.signed or self.b.fmt.signed

    def signed(self, pair: tuple[int, int], sign: int) -> tuple[int, int]:
        """The pair, with its product negated if `sign` is set."""
        if sign and self.a.fmt.signed:
            return complete(self.a.fmt, 1, pair[0]), pair[1]
        return (pair[0], complete(self.b.fmt, 1, pair[1])) if sign else pair

    def addend(self, sign: int, significand: int, exponent: int) -> int | None:
        """c of that value; None if its format does not have it."""
        return self._code(self.c, exact.finite(sign, significand, exponent))

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
            if side.scale_fmt is not None:
                code = nearest(side.scale_fmt, _ONE) if scale is None else scale
                fields += [code] * len(side.scales)
            fields += [at.get(lane, rest)[i] for lane in range(self.k)]
        return (*fields, c)


def _shift(fmt: Format) -> int:
    return number(decoder(fmt)(nearest(fmt, _ONE)), fmt, "").exponent if fmt.twos_complement else 0


def _paired(a: dict[int, int], b: dict[int, int]) -> dict[int, tuple[int, int]]:
    """For each exponent of a product, the two elements of similar magnitude that give it."""
    pairs: dict[int, tuple[int, int]] = {}
    if not a or not b:
        return pairs  # a format of subnormals only has none that are encoded at their exponent
    for exponent in range(min(a) + min(b), max(a) + max(b) + 1):
        splits = [x for x in a if exponent - x in b]
        if splits:
            x = min(splits, key=lambda x: abs(2 * x - exponent))
            pairs[exponent] = a[x], b[exponent - x]
    return pairs


class DotEvents:
    """A dot product, and its facts, each computed when it is first read."""

    def __init__(self, where: DotSetting, line: Line) -> None:
        self.where, self.line = where, line
        self.a, self.b, self.c = where.unit.sides(line)

    @cached_property
    def terms(self) -> list[Term]:
        """All products, exactly."""
        return products(self.where.setting, self.a, self.b)

    @cached_property
    def addend(self) -> Term:
        """c, as the first step sees it."""
        return first_running(self.where.setting, self.c)[0]

    @cached_property
    def result(self) -> tuple[int, int]:
        """Code and flags, from the oracle."""
        return self.by(self.where.setting)

    def by(self, s: Accumulation) -> tuple[int, int]:
        """Code and flags by an accumulator."""
        return accumulate(s, products(s, self.a, self.b), self.c)

    @cached_property
    def numbers(self) -> bool:
        """Whether every product, and c, is finite."""
        return all(t.value.kind == FINITE for t in (*self.terms, self.addend))

    @cached_property
    def first(self) -> list[Term]:
        """The nonzero terms of the first step, c last."""
        return [t for t in (*self.terms[: self.where.width], self.addend) if not t.empty and t.value.significand]

    @cached_property
    def place(self) -> TailPlace | None:
        """The position of the exact sum among the values of the running result; None for zero and specials."""
        if not self.numbers or not (total := self.total).significand:
            return None
        return place_of(total, self.where.target, _TAIL_BITS)

    @cached_property
    def total(self) -> Value:
        """The exact sum of all terms, if all are `numbers`."""
        return total_of(t.value for t in (*self.terms, self.addend))


def total_of(values: Iterable[Value]) -> Value:
    """The exact sum of finite numbers."""
    return reduce(exact.add, values, exact.zero(0))


DotModel = Model[DotSetting, DotEvents]
