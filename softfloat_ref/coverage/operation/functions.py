"""Models of real functions: operands of every size, and exact results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, product
from typing import Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.coverage.codes import operand
from softfloat_ref.coverage.engine.framework import SIGNS, Bins, Cell, Line, cross, signs_of
from softfloat_ref.coverage.operation.operands import beside_ordinary, ordinary
from softfloat_ref.coverage.operation.reach import span
from softfloat_ref.coverage.operation.results import MANY_BINADES
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationModel, OperationSetting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, finite
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units.unit import LETTERS

DEPTH: Final = 8  # bits below the guard bit that have some value for some operands in a thousand
_DRAWN_OPERANDS: Final = 1 << 12
_TURNS: Final = 12
_SIMPLE_NUMBERS: Final = (
    tuple(  # small integers, halves and quarters; powers of ten and two; and a few squares beside 3 and 4
        chain(
            (finite(0, k, e) for k, e in product((1, 3, 5, 7, 9, 2, 4, 6, 8, 10), (0, -1, -2))),
            (finite(0, 10**k, 0) for k in range(2, 9)),
            (finite(0, 1, e) for e in (-3, -4, -8, 4, 5, 8, 16)),
        )
    )
)


def drawn_operands(where: OperationSetting, cells: Callable[[Line], Iterable[Cell]]) -> dict[Cell, list[Line]]:
    """Some of many mixed operands, by the cells that a function gives for them."""
    lines: dict[Cell, list[Line]] = {}
    exponents = [_exponents(fmt, where.flushes) for fmt in where.formats]
    for turn in range(_DRAWN_OPERANDS):
        chosen = (listed[turn * 7 % len(listed)] for listed in exponents)
        codes = tuple(ordinary(fmt, turn + i, e) for i, (fmt, e) in enumerate(zip(where.formats, chosen, strict=True)))
        for cell in cells(codes):
            lines.setdefault(cell, []).append(codes)
    return lines


def by_cells(where: OperationSetting, model: OperationModel) -> dict[Cell, list[Line]]:
    """Mixed operands by the cells of a model."""
    return where.once(("drawn", model.id), lambda: drawn_operands(where, lambda codes: _cells(where, model, codes)))


def _cells(where: OperationSetting, model: OperationModel, codes: Line) -> list[Cell]:
    """What operands hit, with random bits of zero; nothing if they have no defined result."""
    try:
        return list(model.hits(where.events((*codes, 0) if where.policy.random_count else codes)))
    except Undefined:
        return []


class Arguments(OperationModel):
    """ARG: the exponent of each operand of a function."""

    id = "ARG"
    title = "operands of functions: each exponent, or some of many, with mixed significands, of each sign"

    def applies(self, where: OperationSetting) -> bool:
        return where.curve is not None

    def bins(self, where: OperationSetting) -> Bins:
        """Operand, sign and exponent."""
        return {
            (i, sign, e): f"{LETTERS[i]}.{name}.2^{e}"
            for i, fmt in enumerate(where.formats)
            for sign, name in signs_of(fmt).items()
            for e in _exponents(fmt, where.flushes)
        }

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        i, sign, e = cell
        for turn in range(_TURNS):
            yield beside_ordinary(where, i, ordinary(where.formats[i], turn, e, sign), turn)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the operands, if all are numbers."""
        for i, x in enumerate(e.operands if e.numbers else ()):
            if x.significand:
                yield i, x.sign, exact.top(x)


def _exponents(fmt: Format, flush: bool) -> list[int]:
    """The exponents of a format's values; of very many, those near 0 and at the ends, and some between."""
    bounds = span(fmt, flush)
    least, most = bounds.least, bounds.most
    if most - least < MANY_BINADES:
        return list(range(least, most + 1))
    near = range(max(least, -12), min(most, 12) + 1)
    far = (least + i * (most - least) // 12 for i in range(13))
    return sorted({*near, *far, least + 1, most - 1})


class ExactResults(OperationModel):
    """EXACT: results of a function that are not rounded."""

    id = "EXACT"
    title = "functions at operands with exact results: zeros, and numbers of each sign"

    def applies(self, where: OperationSetting) -> bool:
        return where.curve is not None and bool(self.bins(where))

    def bins(self, where: OperationSetting) -> Bins:
        """Those that some simple operands have. A cell: sign, whether the result is zero."""
        named = cross("{sign}.{kind}", sign=SIGNS, kind={0: "number", 1: "zero"})
        return where.once(self.id, lambda: {c: name for c, name in named.items() if c in self._known(where)})

    def _known(self, where: OperationSetting) -> dict[Cell, list[Line]]:
        """Simple operands with exact results, by cell."""
        return where.once("exact operands", lambda: self._by_cell(where))

    def _by_cell(self, where: OperationSetting) -> dict[Cell, list[Line]]:
        lines: dict[Cell, list[Line]] = {}
        for codes in product(*map(_simple, where.formats)):
            for cell in _cells(where, self, codes):
                lines.setdefault(cell, []).append(codes)
        return lines

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        return iter(self._known(where).get(cell, ()))

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        """By the exact result, of operands that are numbers."""
        x = e.exact
        if e.numbers and x.kind == FINITE and (x.is_zero or (e.in_range is not None and e.in_range.is_exact)):
            yield x.sign, int(x.is_zero)


def _simple(fmt: Format) -> list[int]:
    """Codes of the simple numbers that a format has, of each sign, and of zero."""
    numbers = [exact.zero(0), *_SIMPLE_NUMBERS]
    codes = [operand(fmt, x._replace(sign=sign)) for x in numbers for sign in (0, 1)]
    return list(dict.fromkeys(code for code in codes if code is not None))
