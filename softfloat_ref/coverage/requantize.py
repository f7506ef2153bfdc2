"""Coverage of requantizers: shifts, multipliers, the bits that decide roundings, registers, the ends of the range."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, NamedTuple

from softfloat_ref.base.errors import Undefined
from softfloat_ref.coverage.engine.framework import (
    ROUND_BITS,
    SIGNS,
    BaseSetting,
    Bins,
    Cell,
    Coverage,
    Line,
    SearchedModel,
    cross,
    word,
)
from softfloat_ref.coverage.requantize_cases import WORDS, drawn, ends
from softfloat_ref.oracle.requantization_steps import (
    defined,
    early_register,
    first_rounded,
    held,
    high_part,
    in_register,
    last_rounded,
    requantized,
    shifted_left,
)
from softfloat_ref.oracle.rounding import round_shift
from softfloat_ref.oracle.steps import PLAIN, Plan, Traced
from softfloat_ref.units import RequantizeUnit

_SEARCHED: Final = 1 << 12  # drawn cases that are searched for the bins of models
_CELL_CASES: Final = 64  # of these, cases that are kept for a bin
_FIRST, _LAST = "first", "last"
_PLACES: Final = ("below", "under-low", "low", "over-low", "inside", "under-high", "high", "over-high", "above")
_RECORDED: Final = Plan((), record_all=True)


class RequantizeSetting(BaseSetting):
    """A requantizer, and drawn cases of it."""

    def __init__(self, unit: RequantizeUnit) -> None:
        super().__init__()
        self.unit, self.rule = unit, unit.rule
        self.roundings = [_FIRST, _LAST] if unit.rule.first_bits else [_LAST]

    def events(self, line: Line) -> RequantizeEvents:
        unit, run = self.unit, Traced(_RECORDED)
        numbers = unit.operands(PLAIN, line)
        defined(numbers, unit.rule)
        requantized(run, numbers, unit.rule, unit.accumulator)
        return RequantizeEvents(self, numbers._asdict(), {x.function: x for x in run.record})

    def found(self) -> dict[str, dict[Cell, list[Line]]]:
        """Drawn cases by the cells that they hit, of each model: each case is computed once for all models."""
        return self.once("found", self._search)

    def _search(self) -> dict[str, dict[Cell, list[Line]]]:
        by_model: dict[str, dict[Cell, list[Line]]] = {m.id: {} for m in _MODELS}
        for line in map(self.line, range(_SEARCHED)):
            with suppress(Undefined):
                e = self.events(line)
                for m in _MODELS:
                    for cell in m.hits(e):
                        lines = by_model[m.id].setdefault(cell, [])
                        lines += [line] if len(lines) < _CELL_CASES else []
        return by_model

    def line(self, turn: int) -> Line:
        """A drawn case."""
        return drawn(self.unit, sum(word(turn, i) << 64 * i for i in range(WORDS)))


class RequantizeEvents(NamedTuple):
    """A case: its numbers, and the last record of each step."""

    where: RequantizeSetting
    numbers: dict[str, int]
    done: dict[Any, Any]

    @property
    def sign(self) -> int:
        """Whether the accumulator is negative."""
        return int(self.numbers["accumulator"] < 0)


class Searched(SearchedModel[RequantizeSetting, RequantizeEvents]):
    """A model whose cases are found among drawn ones."""

    def searched(self, where: RequantizeSetting) -> Iterable[Line]:
        return map(where.line, range(_SEARCHED))

    def _by_cell(self, where: RequantizeSetting) -> dict[Cell, list[Line]]:
        return where.found()[self.id]


class Shifts(Searched):
    """SHIFT: every shift, with both signs."""

    id = "SHIFT"
    title = "each shift, of accumulators of each sign"

    def applies(self, where: RequantizeSetting) -> bool:
        return any(f.name == "shift" for f in where.unit.inputs)

    def wanted(self, where: RequantizeSetting) -> Bins:
        rule, (low, high) = where.rule, ends(where.rule.shift_format)
        return cross("{by}.{sign}", by=range(max(low, rule.least_shift), min(high, rule.most_shift) + 1), sign=SIGNS)

    def hits(self, e: RequantizeEvents) -> Iterable[Cell]:
        yield e.numbers["shift"], e.sign


class Rounds(Searched):
    """ROUND: last bit, guard and sticky of each rounding."""

    id = "ROUND"
    title = "each rounding: sign, last bit, guard bit, sticky"

    def wanted(self, where: RequantizeSetting) -> Bins:
        each = {(name, *cell): f"{name}.{text}" for name in where.roundings for cell, text in ROUND_BITS.items()}
        return each | {("twice", sign): f"twice.{text}" for sign, text in SIGNS.items() if where.rule.first_bits}

    def hits(self, e: RequantizeEvents) -> Iterable[Cell]:
        for name, step in ((_FIRST, first_rounded), (_LAST, last_rounded)):
            if step in e.done:
                x, bits = e.done[step].args[:2]
                yield (name, int(x < 0), *_decided(x, bits))
        if first_rounded in e.done:  # whether one rounding gives another number
            (product, first, _), (_, last, _, mode) = e.done[first_rounded].args, e.done[last_rounded].args
            if round_shift(product, first + last, mode) != e.done[last_rounded].value:
                yield "twice", int(product < 0)


def _decided(x: int, bits: int) -> tuple[int, int, int]:
    """The last kept bit, the one below, and whether any further is set."""
    below = x & ((1 << max(bits, 0)) - 1)
    return x >> max(bits, 0) & 1, below >> bits - 1 if bits > 0 else 0, int(below & ((1 << max(bits - 1, 0)) - 1) != 0)


class Registers(Searched):
    """REG: numbers that do not fit a register, and the largest ones that do."""

    id = "REG"
    title = "the left shift, the high part and the rounded number: beyond the register, at its ends, within"

    def wanted(self, where: RequantizeSetting) -> Bins:
        return cross("{at}.{place}", at=["left", "high", "result"], place=["below", "least", "within", "most", "above"])

    def hits(self, e: RequantizeEvents) -> Iterable[Cell]:
        for name, step in (("left", shifted_left), ("high", high_part), ("result", in_register)):
            if step in e.done:
                x, *_, width, how = e.done[step].args
                x = x << e.done[step].args[1] if name == "left" else x
                if how != "exact":
                    yield name, _place(x, -1 << (width - 1), (1 << (width - 1)) - 1)
        if early_register in e.done:
            product, bits, width = e.done[early_register].args
            yield "result", _place(product >> (bits - 1), -1 << (width - 1), (1 << (width - 1)) - 1)


def _place(x: int, least: int, most: int) -> str:
    if x in (least, most):
        return "least" if x == least else "most"
    return "below" if x < least else "above" if x > most else "within"


class Clamps(Searched):
    """CLAMP: the sum with the zero point, at and beside both ends of the range."""

    id = "CLAMP"
    title = "the sum with the zero point: beyond the range, at and beside its ends, within"

    def wanted(self, where: RequantizeSetting) -> Bins:
        return {(name,): name for name in _PLACES}

    def hits(self, e: RequantizeEvents) -> Iterable[Cell]:
        x, low, high = e.done[held].args
        near = {-1: "under", 0: "", 1: "over"}
        for name, end in (("low", low), ("high", high)):
            if abs(x - end) <= 1:
                yield (f"{near[x - end]}-{name}".lstrip("-"),)
        if not low <= x <= high:
            yield ("below" if x < low else "above",)
        elif low < x < high:
            yield ("inside",)


class Parameters(Searched):
    """PARAM: the ends of multipliers, accumulators and zero points, crossed with the sign of the accumulator."""

    id = "PARAM"
    title = "ends of the accumulator, the multiplier and the zero point; zero, one, signs"

    def wanted(self, where: RequantizeSetting) -> Bins:
        names = [f.name for f in where.unit.inputs if f.fmt and f.fmt.is_integer and f.name != "shift"]
        kinds = ["min", "negative", "minus-one", "zero", "one", "positive", "max"]
        return cross("{name}.{kind}.{sign}", name=names, kind=kinds, sign=SIGNS)

    def hits(self, e: RequantizeEvents) -> Iterable[Cell]:
        for f in e.where.unit.inputs:
            if f.fmt and f.fmt.is_integer:
                x, (low, high) = e.numbers[_NUMBERS.get(f.name, f.name)], ends(f.fmt)
                known = {0: "zero", 1: "one", -1: "minus-one", high: "max"} | ({low: "min"} if low else {})
                yield f.name, known.get(x, "positive" if x > 0 else "negative"), e.sign


_NUMBERS: Final = {"min": "low", "max": "high"}
_MODELS: Final[tuple[Searched, ...]] = (Shifts(), Rounds(), Registers(), Clamps(), Parameters())


@lru_cache(maxsize=16)
def requantizations(unit: RequantizeUnit) -> Coverage:
    """The coverage of a requantizer."""
    return Coverage(RequantizeSetting(unit), _MODELS)
