"""Models of real functions: operands of every size, exact results, and estimates by tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, product
from typing import Final

from softfloat_ref.coverage.codes import operand
from softfloat_ref.coverage.engine.framework import (
    BITS,
    SIGNS,
    Bins,
    Cell,
    Line,
    SearchedModel,
    cross,
    grouped,
    signs_of,
)
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
_MOST_INDEX_BITS: Final = 7  # of an index: of larger tables, each bin is several entries
_ENDS: Final = {0: "first", 1: "last"}
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
    exponents = [_exponents(fmt, where.flushes) for fmt in where.formats]

    def operands(turn: int) -> Line:
        chosen = (listed[turn * 7 % len(listed)] for listed in exponents)
        return tuple(ordinary(fmt, turn + i, e) for i, (fmt, e) in enumerate(zip(where.formats, chosen, strict=True)))

    return grouped(map(operands, range(_DRAWN_OPERANDS)), cells)


def by_cells(where: OperationSetting, model: OperationModel) -> dict[Cell, list[Line]]:
    """Mixed operands by the cells of a model, with random bits of zero."""
    return where.once(("drawn", model.id), lambda: drawn_operands(where, lambda codes: model.hits(where.events(codes))))


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


class ExactResults(SearchedModel[OperationSetting, OperationEvents]):
    """EXACT: results of a function that are not rounded."""

    id = "EXACT"
    title = "functions at operands with exact results: zeros, and numbers of each sign"

    def applies(self, where: OperationSetting) -> bool:
        return where.curve is not None and bool(self.bins(where))

    def wanted(self, where: OperationSetting) -> Bins:
        """A cell: sign, whether the result is zero."""
        return cross("{sign}.{kind}", sign=SIGNS, kind={0: "number", 1: "zero"})

    def searched(self, where: OperationSetting) -> Iterable[Line]:
        """Simple operands."""
        return product(*map(_simple, where.formats))

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


class Entries(OperationModel):
    """EST: the operands' parity, entry and end; and the exponents at which results leave the normal range."""

    id = "EST"
    title = "estimates: the first and the last operand of each entry of the table, and exponents near the ends"

    def applies(self, where: OperationSetting) -> bool:
        return where.sig.operation.estimate is not None

    def bins(self, where: OperationSetting) -> Bins:
        """Cells of entries have four axes, those of exponents two."""
        e, fmt = where.sig.operation.estimate, where.formats[0]
        assert e is not None
        odd = BITS if e.root else BITS[:1]
        entries = cross("odd{odd}.entry{entry}.{end}", odd=odd, entry=range(1 << _index_bits(where)), end=_ENDS)
        return entries | cross("{sign}.2^{exponent}", sign=SIGNS, exponent=_estimated_exponents(fmt))

    def cases(self, where: OperationSetting, cell: Cell) -> Iterator[Line]:
        fmt, m = where.formats[0], where.formats[0].mantissa_bits
        for turn in range(12):
            if len(cell) == 2:
                sign, exponent = cell
                bits = min(m, exponent - fmt.emin + m)  # of a subnormal's fraction
                code = operand(fmt, exact.finite(sign, (1 << bits) + turn * 0x9E3779B1 % (1 << bits), exponent - bits))
            else:
                odd, entry, end = cell
                rest = m - _index_bits(where)
                fraction = (entry << rest) + ((1 << rest) - 1) * end
                code = operand(fmt, exact.finite(0, (1 << m) + fraction, odd + 2 * (turn % 3 - 1) - m))
            if code is not None:
                yield (code,)

    def hits(self, e: OperationEvents) -> Iterable[Cell]:
        x, fmt = e.operands[0], e.where.formats[0]
        if x.kind != FINITE or not x.significand:
            return
        exponent, width = exact.top(x), x.significand.bit_length() - 1
        yield x.sign, exponent
        if exponent < fmt.emin:
            return
        m, rest = fmt.mantissa_bits, fmt.mantissa_bits - _index_bits(e.where)
        fraction = (x.significand << m >> width) - (1 << m)
        estimate = e.where.sig.operation.estimate
        odd = exponent & 1 if estimate is not None and estimate.root else 0
        low = fraction & ((1 << rest) - 1)
        for end in _ENDS:
            if low == ((1 << rest) - 1) * end:
                yield odd, fraction >> rest, end


def _index_bits(where: OperationSetting) -> int:
    e = where.sig.operation.estimate
    assert e is not None
    return min(e.index_bits, _MOST_INDEX_BITS, where.formats[0].mantissa_bits)


def _estimated_exponents(fmt: Format) -> list[int]:
    """Exponents of subnormals that may overflow, and of large numbers with tiny estimates."""
    least = fmt.emin - fmt.mantissa_bits
    exponents = (*range(fmt.emin - 4, fmt.emin + 3), *range(fmt.emax - 3, fmt.emax + 1), least)
    return sorted({e for e in exponents if least <= e <= fmt.emax})
