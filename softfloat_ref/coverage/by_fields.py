"""Coverage of any unit by its fields alone: the classes of operands, by lane and in pairs, and of results.

It uses only the unit's fields and answers. A bin is listed if a bounded search finds a case for it whose answer is
defined.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Undefined
from softfloat_ref.base.search import find_first
from softfloat_ref.coverage.classes import class_of, coarse, members
from softfloat_ref.coverage.engine.framework import (
    BaseSetting,
    Bins,
    Cell,
    Coverage,
    Line,
    ReachedModel,
    SearchedModel,
    bits,
    grouped,
    word,
)
from softfloat_ref.coverage.operation.operands import ordinary
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import Field

Answer = Callable[[Sequence[int]], Sequence[int]]

_CELL_CANDIDATES: Final = 64  # candidates of a cell
_ORDINARY_CASES: Final = 512  # cases of ordinary operands that are searched for classes of results
_CLASS_CASES: Final = 4  # cases of each class of operands that are searched
_SEARCHED_CODES: Final = 1 << 15  # codes of all cases that are searched
_SMALL_BITS: Final = 3  # bits of numbers without a format that are classes of their own


class Position(NamedTuple):
    """A code of a line: the lane of a field; the first, the last and a single lane have a name."""

    name: str
    place: int
    width: int
    fmt: Format | None

    @property
    def classes(self) -> dict[str, tuple[int, ...]]:
        """Codes by class, some of each."""
        if self.fmt is not None and not self.fmt.is_integer:
            return members(self.fmt)
        if self.fmt is None and self.width <= _SMALL_BITS:
            return {str(code): (code,) for code in range(1 << self.width)}
        top = (1 << self.width) - 1
        half = top >> 1
        codes = (0, 1, 2, half // 3, half - 1, half, half + 1, half + 2, half + half // 3, top // 3 * 2, top - 1, top)
        return {k: tuple(x) for k, x in grouped(dict.fromkeys(codes), lambda code: [self.class_of(code)]).items()}

    def class_of(self, code: int) -> str:
        """The class of a code: for floats, as in `classes`; for integers and other numbers, their ends and signs."""
        if self.fmt is not None and not self.fmt.is_integer:
            return class_of(self.fmt, code)
        if self.fmt is None and self.width <= _SMALL_BITS:
            return str(code)
        signed = self.fmt is not None and self.fmt.signed
        x = code - (code >> (self.width - 1) << self.width) if signed else code
        most = (1 << (self.width - signed)) - 1
        known = {0: "zero", 1: "one", -1: "minus-one", -most - 1: "min", most: "max"}
        return known.get(x, "positive" if x > 0 else "negative")

    def coarse(self, name: str) -> str:
        """The class without the ends of its range."""
        if self.fmt is not None and self.fmt.is_integer:
            return {"one": "positive", "max": "positive", "minus-one": "negative", "min": "negative"}.get(name, name)
        return coarse(name) if self.fmt is not None else name

    def plain(self, turn: int) -> int:
        """An ordinary code."""
        return ordinary(self.fmt, turn) if self.fmt is not None else bits(turn, self.place, self.width)


def _positions(fields: Iterable[Field]) -> Iterator[Position]:
    """Each code of some fields; lanes between the first and the last have no name."""
    index = 0
    for f in fields:
        for lane in range(f.lanes):
            ends = {0: f"{f.name}.first", f.lanes - 1: f"{f.name}.last"}
            yield Position(f.name if f.lanes == 1 else ends.get(lane, ""), index, f.width, f.fmt)
            index += 1


class FieldsSetting(BaseSetting):
    """A unit's fields, inputs before outputs, and the answer to its inputs."""

    def __init__(self, fields: Sequence[Field], answer: Answer) -> None:
        super().__init__()
        self.answer = answer
        inputs = [f for f in fields if f.is_input]
        self.inputs = tuple(_positions(inputs))
        roles = [f.role for f in inputs for _ in range(f.lanes)]
        self.chosen = [p for p, role in zip(self.inputs, roles, strict=True) if p.name and role != "random"]
        outputs = [f for f in fields if not f.is_input]
        self.results = [p for p in _positions(outputs) if p.name]
        self.flags = next((p for p in self.results if p.name in {f.name for f in outputs if f.role == "flags"}), None)

    def events(self, line: Line) -> FieldEvents:
        return FieldEvents(self, line, tuple(self.answer(line)))

    def line(self, at: dict[int, int], turn: int) -> Line:
        """A line with some codes at their positions; elsewhere ordinary ones, in some lines all equal."""
        return tuple(at[p.place] if p.place in at else p.plain(turn + p.place * (turn % 3)) for p in self.inputs)

    def answered(self, line: Line) -> FieldEvents | None:
        """The events of a line, or None if its answer is undefined."""
        try:
            return self.events(line)
        except Undefined:
            return None


class FieldEvents(NamedTuple):
    """A case: inputs and outputs. The constructor raises Undefined if no output is defined."""

    where: FieldsSetting
    line: Line
    outputs: Line


class FieldModel(ReachedModel[FieldsSetting, FieldEvents]):
    """A model whose cells are classes at positions: pairs of a position's name and a class. Its bins are the cells of
    which some case has a defined result."""

    @abstractmethod
    def cells(self, where: FieldsSetting) -> Iterable[Cell]:
        """All cells."""

    def wanted(self, where: FieldsSetting) -> Bins:
        return {c: "*".join(f"{name}.{kind}" for name, kind in c) for c in self.cells(where)}

    def _is_reached(self, where: FieldsSetting, cell: Cell) -> bool:
        return any(where.answered(line) is not None for line in self.cases(where, cell))

    def _codes(self, p: Position, kind: str) -> tuple[int, ...]:
        of_kind = (codes for name, codes in p.classes.items() if kind in (name, p.coarse(name)))
        return tuple(itertools.chain.from_iterable(of_kind))

    def cases(self, where: FieldsSetting, cell: Cell) -> Iterator[Line]:
        """Codes of the classes, each in turn, among ordinary ones."""
        by_name = {p.name: p for p in where.chosen}
        places = [(by_name[name], self._codes(by_name[name], kind)) for name, kind in cell]
        for turn in range(_CELL_CANDIDATES):
            at = {p.place: codes[word(i, turn) % len(codes) if turn else 0] for i, (p, codes) in enumerate(places)}
            yield where.line(at, turn)

    def operand_classes(self, where: FieldsSetting, cell: Cell) -> Mapping[int, str]:
        by_name = {p.name: p for p in where.chosen if p.fmt is not None and not p.fmt.is_integer}
        return {by_name[name].place: kind for name, kind in cell if name in by_name}


class OperandClasses(FieldModel):
    """IN: every class of each operand and control; for operands with lanes, in the first and the last."""

    id = "IN"
    title = "classes of each operand, in its first and its last lane"

    def cells(self, where: FieldsSetting) -> Iterable[Cell]:
        return (((p.name, kind),) for p in where.chosen for kind in p.classes)

    def hits(self, e: FieldEvents) -> Iterable[Cell]:
        return [((p.name, p.class_of(e.line[p.place])),) for p in e.where.chosen]


class OperandPairs(FieldModel):
    """PAIRS: the classes of every pair of operands, crossed; the first and the last lane of an operand count as two."""

    id = "PAIRS"
    title = "classes of every pair of operands, or of two lanes of one operand, crossed"

    def cells(self, where: FieldsSetting) -> Iterable[Cell]:
        kinds = {p.name: [(p.name, kind) for kind in dict.fromkeys(map(p.coarse, p.classes))] for p in where.chosen}
        pairs = itertools.combinations(where.chosen, 2)
        return (cell for p, q in pairs for cell in itertools.product(kinds[p.name], kinds[q.name]))

    def hits(self, e: FieldEvents) -> Iterable[Cell]:
        kinds = [(p.name, p.coarse(p.class_of(e.line[p.place]))) for p in e.where.chosen]
        return itertools.combinations(kinds, 2)


class ResultClasses(SearchedModel[FieldsSetting, FieldEvents]):
    """OUT: the classes of results, and each flag, found with cases of the other models or with ordinary operands."""

    id = "OUT"
    title = "classes of each result, in its first and its last lane; flags"
    most = 32

    def __init__(self, *others: FieldModel) -> None:
        self._others = others

    def wanted(self, where: FieldsSetting) -> Bins:
        return {(p.name, k): f"{p.name}.{k}" for p in where.results for k in self._kinds(where, p)}

    def _kinds(self, where: FieldsSetting, p: Position) -> list[str]:
        return ["none", *(f"bit{i}" for i in range(p.width))] if p is where.flags else list(p.classes)

    def searched(self, where: FieldsSetting) -> Iterator[Line]:
        """The first case of each operand's class, then ordinary operands, then more of the classes."""
        cells = [(model, cell) for model in self._others for cell in model.bins(where)]
        turns = [[find_first(model.cases(where, cell))] for model, cell in cells]
        turns += [[where.line({}, turn)] for turn in range(_ORDINARY_CASES)]
        more = (itertools.islice(model.cases(where, cell), 1, _CLASS_CASES) for model, cell in cells)
        most = _SEARCHED_CODES // (len(where.inputs) + len(where.results))
        return itertools.islice(itertools.chain.from_iterable(itertools.chain(turns, more)), most)

    def hits(self, e: FieldEvents) -> Iterable[Cell]:
        for p in e.where.results:
            code = e.outputs[p.place]
            if p is not e.where.flags:
                yield p.name, p.class_of(code)
            elif not code:
                yield p.name, "none"
            else:
                yield from ((p.name, f"bit{i}") for i in range(p.width) if code >> i & 1)


_CLASSES: Final = OperandClasses()
_PAIRS: Final = OperandPairs()
FIELD_MODELS: Final = (_CLASSES, _PAIRS, ResultClasses(_CLASSES, _PAIRS))


def by_fields(fields: Sequence[Field], answer: Answer) -> Coverage:
    """The coverage of a unit, from its fields and its answer alone.

    answer: maps the codes of the inputs, lane by lane, to those of the outputs. It may raise Undefined.
    """
    return Coverage(FieldsSetting(fields, answer), FIELD_MODELS)
