"""What `quantize` shows and writes: tables, values, codes, JSON and array files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from softfloat_ref import exact
from softfloat_ref.block_formats import FP32, BlockFormat
from softfloat_ref.codec import decoder
from softfloat_ref.errors import Error
from softfloat_ref.exact import Value
from softfloat_ref.files import write_file
from softfloat_ref.formats import CATALOGUE, Format
from softfloat_ref.literals import shortest, writer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALL: Final = 256  # values that are still printed without being asked for


class Row(NamedTuple):
    """One row of text input, quantized. scales has one code a block of `size`; None for scalar formats."""

    inputs: list[str]
    codes: list[int]
    values: list[Value]
    scales: list[int] | None
    size: int = 1
    tensor_scale: int | None = None  # FP32, where the format has one


class Result(NamedTuple):
    """What came out. rows for text input, arrays for array input."""

    fmt: Format | BlockFormat
    rows: list[Row] | None
    codes: NDArray[Any] | None
    scales: NDArray[Any] | None
    values: NDArray[Any] | None
    summary: str
    size: int = 1  # elements a scale
    tensor_scale: int | None = None


# -- summaries -------------------------------------------------------------------------------------------------------


def summary_of_rows(rows: list[Row], numbers: list[list[Fraction | Value]], fmt: Format | BlockFormat) -> str:
    """What became of rows of text, in a line."""
    count = sum(len(r.codes) for r in rows)
    kept = [x for row in numbers for x in row]
    results = [v for r in rows for v in r.values]
    flushed = sum(1 for x, v in zip(kept, results, strict=True) if v.is_zero and not _is_zero(x))
    blocks = f", {sum(len(r.scales or ()) for r in rows)} blocks" if isinstance(fmt, BlockFormat) else ""
    return f"{fmt.name}: {count} values{blocks}, {flushed} flushed to zero"


def _is_zero(x: Fraction | Value) -> bool:
    return x.is_zero if isinstance(x, Value) else x == 0


# -- output ----------------------------------------------------------------------------------------------------------


def deliver(result: Result, output: str | None, form: str | None) -> None:
    """Write the result to a file, or print it."""
    count = len(result.rows or ()) if result.codes is None else result.codes.size
    if output is not None:
        WRITERS[Path(output).suffix](output, result, form or "value")
    elif form is not None or result.rows is not None or count <= SMALL:
        for line in _lines(result, form):
            sys.stdout.write(line + "\n")
    else:
        print("values not printed: use -o FILE, or --as value, hex or json", file=sys.stderr)
    if result.rows is None or output is not None:
        print(result.summary, file=sys.stderr)


def _as_rows(result: Result, form: str | None) -> list[Row]:
    """The result as rows, whichever way it came; an array's rows run along its last axis."""
    if result.rows is not None:
        return result.rows
    from softfloat_ref import blocks

    codes, values = result.codes, result.values
    assert codes is not None
    assert values is not None
    decode = decoder(CATALOGUE["fp64" if values.dtype.itemsize == 8 else "fp32"])
    flat = values.reshape(-1, values.shape[-1])
    patterns = flat.view(f"u{values.dtype.itemsize}")
    lines = codes.reshape(flat.shape)
    scales = [None] * len(flat) if result.scales is None else blocks.scale_rows(codes, result.scales)
    if result.scales is not None and scales[0] is None and form != "value":
        raise Error("blocks that do not run along the last axis have no rows to print; use -o FILE.npz")
    return [
        Row([], [int(c) for c in line], [decode(int(p)) for p in pattern], scale, result.size, result.tensor_scale)
        for line, pattern, scale in zip(lines, patterns, scales, strict=True)
    ]


def _lines(result: Result, form: str | None) -> Iterator[str]:
    rows, text = _as_rows(result, form), _writer(result.fmt)
    element = result.fmt.element if isinstance(result.fmt, BlockFormat) else result.fmt
    match form:
        case "json":
            yield json.dumps(_json(result, rows, element), indent=1)
        case "value":
            for row in rows:
                yield " ".join(map(text, row.values))
        case "hex":
            for row in rows:
                yield from _hex_lines(row, result.fmt, element)
        case _:
            for row in rows:
                yield from _table_lines(row, result.fmt, element)


def _writer(fmt: Format | BlockFormat) -> Callable[[Value], str]:
    """How values of the format are written."""
    parts = (fmt.element, fmt.scale) if isinstance(fmt, BlockFormat) else (fmt,)
    return writer(sum(f.mantissa_bits + 1 for f in parts))


def _hex_lines(row: Row, fmt: Format | BlockFormat, element: Format) -> Iterator[str]:
    """Codes; for blocks a line each, the scale in front, and the tensor's above them."""
    if row.scales is None or isinstance(fmt, Format):
        yield " ".join(element.hex(c) for c in row.codes)
        return
    if row.tensor_scale is not None:
        yield f"tensor scale: {FP32.hex(row.tensor_scale)}"
    for i, scale in enumerate(row.scales):
        part = row.codes[i * row.size : (i + 1) * row.size]
        yield f"{fmt.scale.hex(scale)}: " + " ".join(element.hex(c) for c in part)


def _table_lines(row: Row, fmt: Format | BlockFormat, element: Format) -> Iterator[str]:
    """A line a value: as given, its code, what the code is worth; a block's scale above its values."""
    width, text = max((len(x) for x in row.inputs), default=0), _writer(fmt)
    if row.tensor_scale is not None:
        yield f"tensor scale {FP32.hex(row.tensor_scale)} = {shortest(decoder(FP32)(row.tensor_scale))}"
    for i, (code, value) in enumerate(zip(row.codes, row.values, strict=True)):
        if row.scales is not None and isinstance(fmt, BlockFormat) and i % row.size == 0:
            scale = row.scales[i // row.size]
            x = decoder(fmt.scale)(scale)
            power = f"2^{exact.top(x)}" if x.significand == 1 else shortest(x)
            yield f"block {i // row.size}: scale {fmt.scale.hex(scale)} = {power}"
        given = f"{row.inputs[i]:>{width}}  " if row.inputs else ""
        yield f"{given}{element.hex(code)}  {text(value)}"


def _json(result: Result, rows: list[Row], element: Format) -> dict[str, Any]:
    out: dict[str, Any] = {"format": result.fmt.name, "rows": []}
    for row in rows:
        entry: dict[str, Any] = {"codes": [element.hex(c) for c in row.codes]}
        if row.scales is not None and isinstance(result.fmt, BlockFormat):
            entry["scales"] = [result.fmt.scale.hex(s) for s in row.scales]
        if row.tensor_scale is not None:
            entry["tensor_scale"] = FP32.hex(row.tensor_scale)
        entry["values"] = list(map(_writer(result.fmt), row.values))
        out["rows"].append(entry)
    return out


def _write_text(path: str, result: Result, form: str) -> None:
    text = "\n".join(_lines(result, form)).encode()
    write_file(path, lambda stream: stream.write(text + b"\n"))


def _write_csv(path: str, result: Result, form: str) -> None:
    text = "\n".join(line.replace(" ", ",") for line in _lines(result, form))
    write_file(path, lambda stream: stream.write(text.encode() + b"\n"))


def _arrays(result: Result) -> dict[str, NDArray[Any]]:
    """codes, scales and values as arrays; text input must then be rectangular."""
    import numpy as np

    from softfloat_ref import arrays

    if result.codes is not None and result.values is not None:
        found = {"codes": result.codes, "values": result.values}
        if result.scales is not None:
            found["scales"] = result.scales
        return found if result.tensor_scale is None else {**found, "tensor_scale": _fp32_array(result.tensor_scale)}
    rows = result.rows or []
    if len({len(r.codes) for r in rows}) != 1:
        raise Error("rows of different lengths make no array; write .csv or .json")
    element = result.fmt.element if isinstance(result.fmt, BlockFormat) else result.fmt
    kind = np.dtype(np.float32) if isinstance(result.fmt, BlockFormat) else arrays.value_dtype(element)
    made = {
        "codes": np.array([r.codes for r in rows], arrays.code_dtype(element)),
        "values": np.array([[float(v) for v in r.values] for r in rows], kind),
    }
    if rows[0].scales is not None:
        assert isinstance(result.fmt, BlockFormat)
        made["scales"] = np.array([r.scales for r in rows], arrays.code_dtype(result.fmt.scale))
    if rows[0].tensor_scale is not None:
        made["tensor_scale"] = _fp32_array(rows[0].tensor_scale)
    return made


def _fp32_array(code: int) -> NDArray[Any]:
    import numpy as np

    return np.array(code, np.uint32).view(np.float32)


def _write_npy(path: str, result: Result, form: str) -> None:
    import numpy as np

    if form == "json":
        raise Error(f"{path}: a .npy file holds values or codes; use --as value or --as hex")
    array: NDArray[np.generic] = _arrays(result)["codes" if form == "hex" else "values"]
    write_file(path, lambda stream: np.save(stream, array, allow_pickle=False))


def _write_npz(path: str, result: Result, form: str) -> None:
    import numpy as np

    made = _arrays(result)
    write_file(path, lambda stream: np.savez(stream, **{"format": np.array(result.fmt.name), **made}))  # type: ignore[arg-type]


def _write_json(path: str, result: Result, form: str) -> None:
    _write_text(path, result, "json")


WRITERS: Final = {".npy": _write_npy, ".npz": _write_npz, ".csv": _write_csv, ".json": _write_json}
