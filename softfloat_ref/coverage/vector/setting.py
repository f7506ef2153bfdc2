"""The setting of a function of vectors, and the facts of a case."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from softfloat_ref.coverage.classes import complete
from softfloat_ref.coverage.codes import TailPlace, nearest, place_of
from softfloat_ref.coverage.engine.framework import BaseSetting, Line, Model, word
from softfloat_ref.coverage.operation.operands import ordinary
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, target
from softfloat_ref.oracle.exact import INF, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.vector_functions import Lanes, OperandValues
from softfloat_ref.oracle.vector_functions.exponentials import scores
from softfloat_ref.units import VectorUnit
from softfloat_ref.units.unit import split

MORE_BITS: Final = 16  # of a result, to see how near it is to a boundary
TAIL: Final = MORE_BITS  # bits after the guard bit that are looked at
_CANDIDATES: Final = 1 << 12  # codes of all candidates for a bin

ONE: Final = exact.finite(0, 1, 0)


class VectorSetting(BaseSetting):
    """A function of vectors, and what is derived from it once. main: the operand whose lanes make the shapes."""

    def __init__(self, unit: VectorUnit) -> None:
        super().__init__()
        self.unit, self.row = unit, unit.function
        self.tries = max(8, _CANDIDATES // (unit.input_width + unit.length))
        self.formats = dict(zip((p.name for p in unit.own), unit.formats, strict=True))
        self.main = "k" if self.row.has_depth else "x"
        self.fmt = self.formats[self.main]
        self.length, self.out = unit.length, unit.out
        self.target = target(unit.out, unit.policy)
        self.operands = [f for f in unit.inputs if f.role == "operand"]

    @cached_property
    def pair(self) -> VectorUnit:
        """The same function of two lanes, by which results of shares are found: the other lanes are made to vanish."""
        op = "softmax" if self.row.share else self.unit.op
        return VectorUnit(op, (self.fmt,), self.out, 2, self.unit.policy)

    def events(self, line: Line) -> VectorEvents:
        return VectorEvents(self, line)

    def line(self, turn: int, **codes: Sequence[int]) -> Line:
        """A line with some operands; the others are ordinary."""
        line: list[int] = []
        for f in self.operands:
            own = codes.get(f.name)
            if own is None:
                own = [self.plain(f.name, i, turn) for i in range(f.lanes)]
            line += own
        return tuple(line)

    def plain(self, name: str, i: int, turn: int) -> int:
        """An ordinary code of an operand."""
        if name == "visible":
            return self.length
        w = word(turn, i)
        exponents = {"x": (-2, 3), "q": (-2, 0), "k": (-1, 2), "scale": (-2, 0)}.get(name, (-1, 1))
        e = exponents[0] + w % (exponents[1] - exponents[0] + 1)
        return ordinary(self.formats[name], w >> 8, e, 0 if name in ("gain", "scale") else None)

    def with_main(self, turn: int, lanes: Sequence[int], **codes: Sequence[int]) -> Line:
        """A line whose exponents, or numbers to be normalized, are those codes."""
        if self.main == "x":
            return self.line(turn, x=lanes, **codes)
        depth = self.unit.depth
        one = {name: nearest(self.formats[name], ONE) for name in ("q", "scale")}
        zeros = [0] * (depth - 1)
        rows = [code for x in lanes for code in (x, *zeros)]
        return self.line(turn, q=[one["q"], *zeros], k=rows, scale=[one["scale"]], **codes)

    def number(self, x: Value) -> int:
        """The code of the nearest number in the main format."""
        return nearest(self.fmt, x if self.fmt.signed else exact.magnitude(x))

    @property
    def policy_changes_numbers(self) -> bool:
        """Whether the format or the policy puts another number in the place of a result, as for a NaN it lacks."""
        return not self.out.has_nan or not self.out.zero or not self.out.signed

    @property
    def vanishing(self) -> int:
        """The code whose power vanishes: -Inf, or the most negative number."""
        fmt = self.fmt
        if not fmt.signed:
            return 0
        return fmt.inf_code | fmt.sign_bit if fmt.infinity else complete(fmt, 1, fmt.max_negative_code)

    def padded(self, lanes: Sequence[int]) -> list[int]:
        """The lanes, and others that vanish."""
        return [*lanes, *[self.vanishing] * (self.length - len(lanes))][: self.length]

    def ranked(self, rank: int) -> int:
        """The code of the main format of a rank: zero at 0, values rising with the rank."""
        return complete(self.fmt, int(rank < 0), abs(rank))

    @property
    def ranks(self) -> tuple[int, int]:
        """The lowest and the highest rank."""
        return -self.fmt.max_negative_code if self.fmt.signed else 0, self.fmt.max_code

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Codes of two lanes, endless."""
        turn = 0
        while True:
            w = word(turn, 77)
            e = -6 + w % 10
            yield ordinary(self.fmt, w >> 8, e), ordinary(self.fmt, w >> 20, e - (w >> 4) % 3)
            turn += 1


@dataclasses.dataclass(frozen=True)
class VectorEvents:
    """A case: its operands, exact results, codes and flags."""

    where: VectorSetting
    line: Line

    @cached_property
    def codes(self) -> Mapping[str, Sequence[int]]:
        """The codes of each operand."""
        return {f.name: own for f, own in split(self.where.operands, self.line)}

    @cached_property
    def values(self) -> OperandValues:
        """The operands that have a format of their own."""
        flush = self.where.unit.policy.flush_inputs
        return {name: [*map(decoder(f, flush), self.codes[name])] for name, f in self.where.formats.items()}

    @cached_property
    def outcomes(self) -> Lanes:
        """The exact results, with some more bits. Raises Undefined."""
        return self.where.unit.unrounded(self.line, MORE_BITS)

    @cached_property
    def outputs(self) -> Line:
        """The codes of the results, and the flags."""
        return self.where.unit.rounded(self.outcomes, self.line[self.where.unit.operand_width :])

    @cached_property
    def numbers(self) -> list[Value] | None:
        """The exponents of a softmax, or numbers to be normalized, infinities too; None with a NaN."""
        if any(x.kind == NAN for values in self.values.values() for x in values):
            return None
        if not self.where.row.has_depth:
            return list(self.values["x"])
        visible = self.codes["visible"][0] if self.where.unit.masked else self.where.length
        return scores(self.values, visible)

    def place(self, x: Value) -> TailPlace | None:
        """Where a finite result that is not zero lies among the target's values."""
        if x.kind in (INF, NAN) or not x.significand:
            return None
        return place_of(x, self.where.target, TAIL)


class VectorModel(Model[VectorSetting, VectorEvents]):
    """A coverage model of functions of vectors."""


def is_float(fmt: Format) -> bool:
    """Whether the exponents of a format's numbers can be chosen."""
    return fmt.exponent_bits > 0 and not fmt.twos_complement
