"""The output of `quantize`: tables, values, codes, JSON and array files; and a one-line summary."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from softfloat_ref.app.quantize_kinds import ARRAY_FILES, Arrays, Kind, QuantizedRow
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import write_data, write_file
from softfloat_ref.oracle.affine import AffineFormat
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softfloat_ref.arrays.block_array import BlockArray

MAX_PRINTED: Final = 256  # number of values up to which an array is printed without --as
_PIECE: Final = 1 << 18  # values that are summarized at a time, since there are many temporaries


class QuantizeResult(NamedTuple):
    """A result: rows of text input, or arrays."""

    kind: Kind
    content: list[QuantizedRow] | Arrays
    summary: str


def summary_of_rows(rows: list[QuantizedRow], numbers: list[list[Fraction | Value]], kind: Kind) -> str:
    """A one-line summary of quantized rows of text."""
    count = sum(len(r.codes) for r in rows)
    flat = [x for row in numbers for x in row]
    results = [v for r in rows for v in r.values]
    flushed = sum(1 for x, v in zip(flat, results, strict=True) if v.is_zero and not _is_zero(x))
    blocks = f", {sum(len(r.scales or ()) for r in rows)} blocks" if isinstance(kind.fmt, BlockFormat) else ""
    return f"{kind.fmt.name}: {count} values{blocks}, {flushed} flushed to zero"


def _is_zero(x: Fraction | Value) -> bool:
    return x.is_zero if isinstance(x, Value) else x == 0


def deliver(result: QuantizeResult, output: str | None, form: str | None) -> None:
    """Write the result to a file, or print it."""
    is_array = isinstance(result.content, Arrays)
    if output is not None:
        _write(output, result, form or "value")
    elif form is None and isinstance(result.content, Arrays) and result.content.codes.size > MAX_PRINTED:
        print("values not printed: use -o FILE, or --as value, hex or json", file=sys.stderr)
    else:
        for line in _lines(result, form):
            sys.stdout.write(line + "\n")
    if is_array or output is not None:
        print(result.summary, file=sys.stderr)


def _lines(result: QuantizeResult, form: str | None) -> Iterator[str]:
    kind = result.kind
    rows = kind.array_rows(result.content, form) if isinstance(result.content, Arrays) else result.content
    match form:
        case "json":
            yield json.dumps(kind.json(rows), indent=1)
        case "value":
            text = kind.writer()
            for row in rows:
                yield " ".join(map(text, row.values))
        case "hex":
            for row in rows:
                yield from kind.hex_lines(row)
        case _:
            for row in rows:
                yield from _table(row, kind)


def _table(row: QuantizedRow, kind: Kind) -> Iterator[str]:
    """One line per value: as given, its code, the code's value; scales above their values."""
    widths, text = [max(map(len, column), default=0) for column in row.columns], kind.writer()
    above: dict[int, list[str]] = {}
    for place, line in kind.table(row):
        above.setdefault(place, []).append(line)
    for i, (code, value) in enumerate(zip(row.codes, row.values, strict=True)):
        yield from above.get(i, ())
        cells = [f"{column[i]:>{width}}" for column, width in zip(row.columns, widths, strict=True)]
        yield "  ".join([*cells, kind.hex(code), text(value)])


# -- files -------------------------------------------------------------------------------------------------------------


def _write(path: str, result: QuantizeResult, form: str) -> None:
    suffix = Path(path).suffix
    if suffix in ARRAY_FILES:
        _write_arrays(path, suffix, result, form)
        return
    plain = result.kind.as_printed
    lines = _lines(result, "json" if suffix == ".json" and not plain else form)
    text = "".join((line.replace(" ", ",") if suffix == ".csv" and not plain else line) + "\n" for line in lines)
    write_data(path, text)


def _write_arrays(path: str, suffix: str, result: QuantizeResult, form: str) -> None:
    import numpy as np

    if suffix == ".npy" and form == "json":
        raise Error(f"{path}: a .npy file holds values or codes; use --as value or --as hex")
    parts = _parts(result)
    if suffix == ".npz":
        arrays: dict[str, Any] = {"format": np.array(result.kind.fmt.name), **parts}
        write_file(path, lambda stream: np.savez(stream, **arrays))
        return
    codes = result.content.codes if isinstance(result.content, Arrays) else parts["codes"]
    array = codes if form == "hex" else parts["values"]
    write_file(path, lambda stream: np.save(stream, array, allow_pickle=False))


def _parts(result: QuantizeResult) -> dict[str, NDArray[Any]]:
    """The result as arrays by name; text input must then be rectangular."""
    if isinstance(result.content, Arrays):
        return result.content.parts
    if len({len(r.codes) for r in result.content}) != 1:
        raise Error("rows of different lengths do not form an array; write .csv or .json")
    return result.kind.array_parts(result.content)


# -- the summary of an array -------------------------------------------------------------------------------------------


class ArraySummary:
    """A one-line summary of a quantized array, counted part by part (in float64: for display only)."""

    def __init__(self, fmt: Format | BlockFormat | AffineFormat) -> None:
        self._fmt = fmt
        self._values = self._finite = self._flushed = self._saturated = self._beyond = 0
        self._blocks = self._nan_blocks = 0
        self._largest_error = self._squared_error = self._square = 0.0

    def add(self, array: NDArray[Any], values: NDArray[Any], quantized: BlockArray | None = None) -> None:
        """Count values, given with their quantized values and, for a block format, their blocks."""
        x, y = array.reshape(-1), values.reshape(-1)
        for start in range(0, x.size, _PIECE):
            self._add_piece(x[start : start + _PIECE], y[start : start + _PIECE])
        if quantized is not None:
            from softfloat_ref.arrays import blocks

            self._blocks += quantized.scales.size
            self._nan_blocks += int((quantized.scales == quantized.fmt.scale.canonical_nan).sum())
            self._saturated += blocks.saturated(array, quantized)

    def _add_piece(self, array: NDArray[Any], values: NDArray[Any]) -> None:
        import numpy as np

        with np.errstate(all="ignore"):
            x, y = array.astype(np.float64), values.astype(np.float64)
            self._values += x.size
            self._flushed += int(((array != 0) & (values == 0)).sum())
            finite, finite_result = np.isfinite(x), np.isfinite(y)
            if isinstance(self._fmt, Format):
                low, high = _reach(self._fmt)
                self._saturated += int((finite_result & ((x > high) | (x < low))).sum())
                self._beyond += int((finite & ~finite_result).sum())
            both = finite & finite_result
            if not both.all():
                x, y = x[both], y[both]
            error = np.abs(y - x)
            self._finite += x.size
            self._largest_error = max(self._largest_error, float(error.max(initial=0.0)))
            self._squared_error += float((error * error).sum())
            self._square += float((x * x).sum())

    def text(self, dtype: object, shape: tuple[int, ...]) -> str:
        counts = [f"{self._blocks} blocks, {self._nan_blocks} NaN"] if isinstance(self._fmt, BlockFormat) else []
        counts += [] if isinstance(self._fmt, AffineFormat) else [f"{self._saturated} saturated"]
        counts += [f"{self._beyond} overflowed"] if self._beyond else []
        counts += [f"{self._flushed} flushed to zero"]
        what = f"{self._fmt.name}: {self._values} values of {dtype}, shape {shape}"
        return f"{what}: {', '.join(counts)}; {self._error()}"

    def _error(self) -> str:
        """Maximum and root-mean-square error over the finite values."""
        if not self._finite:
            return "no finite values"
        scale = (self._square / self._finite) ** 0.5
        rms = (self._squared_error / self._finite) ** 0.5
        relative = f" ({rms / scale:.3g} of the values' rms)" if scale else ""
        return f"error at most {self._largest_error:.4g}, rms {rms:.4g}{relative}"


def _reach(fmt: Format) -> tuple[float, float]:
    """The smallest and the largest finite value; for an unsigned format, as if it had a sign."""
    high = float(largest(fmt))
    return float(decoder(fmt)(fmt.sign_bit)) if fmt.twos_complement and fmt.signed else -high, high
