"""The model of estimates by tables: both ends of entries, and operands whose estimates overflow or are subnormal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from softfloat_ref.coverage.codes import operand
from softfloat_ref.coverage.engine.framework import BITS, SIGNS, Bins, Cell, Line, cross
from softfloat_ref.coverage.operation.setting import OperationEvents, OperationModel, OperationSetting
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE
from softfloat_ref.oracle.formats import Format

_MOST_INDEX_BITS: Final = 7  # of an index: of larger tables, each bin is several entries
_ENDS: Final = {0: "first", 1: "last"}


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
        return entries | cross("{sign}.2^{exponent}", sign=SIGNS, exponent=_exponents(fmt))

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


def _exponents(fmt: Format) -> list[int]:
    """Exponents of subnormals that may overflow, and of large numbers with tiny estimates."""
    least = fmt.emin - fmt.mantissa_bits
    exponents = (*range(fmt.emin - 4, fmt.emin + 3), *range(fmt.emax - 3, fmt.emax + 1), least)
    return sorted({e for e in exponents if least <= e <= fmt.emax})
