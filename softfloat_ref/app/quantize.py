"""`quantize`: values or arrays to a scalar or block format."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from softfloat_ref import exact
from softfloat_ref.app.options import (
    ANY,
    Choices,
    NumbersCommand,
    policy_options,
    profile_option,
    unmark,
)
from softfloat_ref.block_formats import (
    FP32,
    TENSOR,
    VALUE_BITS,
    BlockFormat,
    any_format,
    dequantize_to_fp32,
    largest_magnitude,
    quantize_block,
    resolve,
    tensor_scale_of,
)
from softfloat_ref.codec import check_random, decoder, encoder, needed_bits, to_value
from softfloat_ref.errors import Error
from softfloat_ref.exact import Value
from softfloat_ref.files import write_file
from softfloat_ref.formats import CATALOGUE, Format
from softfloat_ref.literals import parse_number, shortest
from softfloat_ref.profiles import OCP, Profile

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


@click.command("quantize", cls=NumbersCommand)
@click.option("--fmt", required=True, type=ANY, help="A scalar or block format.")
@click.option("-i", "--input", "source", default=None, metavar="FILE", help=".npy, .csv, text, or - for stdin.")
@click.option("-o", "--output", default=None, metavar="FILE", help=".npy, .npz (codes, scales, values), .csv, .json.")
@click.option("--as", "form", type=click.Choice(["value", "hex", "json"]), default=None, help="What is printed.")
@click.option("--axis", type=click.INT, default=-1, show_default=True, help="Blocks run along this axis of a .npy.")
@click.argument("values", nargs=-1, metavar="[VALUE...]")
@profile_option
@policy_options
def command(
    choices: Choices,
    seed: int | None,
    fmt: str,
    source: str | None,
    output: str | None,
    form: str | None,
    axis: int,
    values: tuple[str, ...],
    profile: str | None,
) -> None:
    """Quantize VALUES, or an input file, to a format.

    Values are decimal, C99 hexadecimal (0x1.8p-3), ratios (1/3), inf or nan, and are taken exactly; each line of a
    text file is a row. Array input (.npy) is float16, float32, float64 or integers of any shape, never unpickled.
    """
    found, rule = any_format(fmt), OCP
    if isinstance(found, BlockFormat):
        found, rule = resolve(found, profile)
        choices = choices.for_blocks(found, profile)
    elif profile is not None:
        raise Error(f"--profile is for block formats; {found.name} is a scalar one")
    if bool(values) == (source is not None):
        raise Error("give either values or -i FILE" if values else "nothing to quantize: give values, or -i FILE")
    if output is not None and Path(output).suffix not in _WRITERS:
        raise Error(f"{output}: unknown kind of file; use {', '.join(_WRITERS)}")
    is_array = source is not None and _is_npy(source)
    if axis != -1 and not (is_array and isinstance(found, BlockFormat)):
        raise Error("--axis is for block formats and .npy input; text has its blocks along each line")
    if is_array:
        result = _from_npy(str(source), found, choices, axis, rule)
    else:
        rows = [[unmark(v) for v in values]] if values else _read_rows(str(source))
        names = ["" for _ in rows] if values else [f"{_shown(source)}:{n}" for n, _ in enumerate(rows, 1)]
        result = _quantize_rows(rows, names, found, choices, rule)
    _deliver(result, output, form)


# -- input -----------------------------------------------------------------------------------------------------------


def _shown(source: str | None) -> str:
    return "stdin" if source == "-" else str(source)


def _is_npy(source: str) -> bool:
    if source == "-":
        return False
    try:
        with open(source, "rb") as stream:
            return stream.read(6) == b"\x93NUMPY" or Path(source).suffix == ".npy"
    except OSError as e:
        raise Error(f"{source}: {e.strerror or e}") from None


def _read_npy(source: str) -> NDArray[Any]:
    import numpy as np

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's about odd headers; a wrong one raises anyway
            # Mapped, so that a file shorter than its header says is refused before memory is taken for it.
            mapped = np.load(source, mmap_mode="r", allow_pickle=False)
    except Exception as e:  # numpy parses the header with Python's own tokenizer: a broken one raises anything
        reason = str(e).split("\n")[0]
        if "allow_pickle" in reason or "Python objects" in reason:
            reason = "holds Python objects, which are never unpickled"
        raise Error(f"{source}: not a readable .npy array: {reason or type(e).__name__}") from None
    array: NDArray[Any] = np.asarray(mapped)
    if array.dtype.kind not in "fiub":
        raise Error(f"{source}: array of {array.dtype}; use float16, float32, float64 or integers")
    if array.ndim == 0:
        raise Error(f"{source}: a 0-dimensional array; reshape it to (1,)")
    if array.size == 0:
        raise Error(f"{source}: an empty array of shape {array.shape}; there is nothing to quantize")
    return array


def _from_npy(source: str, fmt: Format | BlockFormat, choices: Choices, axis: int, profile: Profile) -> Result:
    array = _read_npy(source)
    try:
        return _quantize_array(array, fmt, choices, axis, profile)
    except Error as e:
        raise Error(f"{source}: {e}") from None


def _read_rows(source: str) -> list[list[str]]:
    try:
        if source == "-" and sys.stdin is None:
            raise Error("stdin is closed")
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8-sig")
    except OSError as e:
        raise Error(f"{source}: {e.strerror or e}") from None
    except UnicodeDecodeError:
        raise Error(f"{_shown(source)}: neither a .npy file nor text") from None
    rows = [line.replace(",", " ").split() for line in text.splitlines()]
    if not any(rows):
        raise Error(f"{_shown(source)}: no values")
    return rows


# -- quantization ----------------------------------------------------------------------------------------------------


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


def _quantize_rows(
    rows: list[list[str]], names: list[str], fmt: Format | BlockFormat, choices: Choices, profile: Profile
) -> Result:
    numbers = [[parse_number(text, name) for text in row] for row, name in zip(rows, names, strict=True)]
    count = sum(map(len, numbers))
    words = choices.words(count)
    if words is None:
        check_random(choices.policy, None)
        words = [0] * count
    else:
        for word in words:
            check_random(choices.policy, word)
    if isinstance(fmt, BlockFormat):
        done = _block_rows(rows, numbers, fmt, choices, profile, words)
    else:
        done = _scalar_rows(rows, numbers, fmt, choices, words)
    return Result(fmt, done, None, None, None, _summary_of_rows(done, numbers, fmt))


def _scalar_rows(
    rows: list[list[str]], numbers: list[list[Fraction | Value]], fmt: Format, choices: Choices, words: list[int]
) -> list[Row]:
    encode, decode = encoder(fmt, choices.policy), decoder(fmt)
    bits, drawn, done = needed_bits(fmt, choices.policy), iter(words), []
    for row, parsed in zip(rows, numbers, strict=True):
        codes = [encode(to_value(x, bits), next(drawn))[0] for x in parsed]
        if row:
            done.append(Row(row, codes, [decode(c) for c in codes], None))
    return done


def _block_rows(
    rows: list[list[str]],
    numbers: list[list[Fraction | Value]],
    fmt: BlockFormat,
    choices: Choices,
    profile: Profile,
    words: list[int],
) -> list[Row]:
    """Rows quantized in blocks, which run along each row; a format with one scale a tensor takes all rows as one."""
    if profile.tail == "flatten":
        raise Error(f"profile {profile.name} has blocks that run across rows; that is for .npy input")
    values = [[to_value(x, VALUE_BITS) for x in row] for row in numbers]
    every = [x for row in values for x in row]
    amax = largest_magnitude([x for x in every if x.is_finite and not x.is_zero])
    tensor_scale = tensor_scale_of(amax, fmt, profile)
    factor = decoder(FP32)(tensor_scale)
    if fmt.size == TENSOR:
        lines = [Row([x for row in rows for x in row], [], [], [])]
        values, rest = [every], words
    else:
        lines, rest = [Row(row, [], [], []) for row in rows], words
    for line, row in zip(lines, values, strict=True):
        size = fmt.size if fmt.size > 0 else max(len(row), 1)
        if profile.tail == "refuse" and len(row) % size:
            raise Error(f"a row has {len(row)} values; profile {profile.name} wants a multiple of {size}")
        for start in range(0, len(row), size):
            part = row[start : start + size]
            block = quantize_block(part, fmt, profile, choices.policy, rest[: len(part)], factor)
            rest = rest[len(part) :]
            _append(line, block.scale, block.codes, fmt, profile, factor)
    two = profile.tensor_scale != "none"
    lines = [line._replace(size=fmt.size if fmt.size > 0 else max(len(line.codes), 1)) for line in lines if line.inputs]
    return [line._replace(tensor_scale=tensor_scale if two else None) for line in lines]


def _append(line: Row, scale: int, codes: tuple[int, ...], fmt: BlockFormat, profile: Profile, factor: Value) -> None:
    assert line.scales is not None
    decode = decoder(FP32)
    line.scales.append(scale)
    line.codes.extend(codes)
    line.values.extend(decode(c) for c in dequantize_to_fp32(scale, codes, fmt, profile, factor))


def _quantize_array(
    array: NDArray[Any], fmt: Format | BlockFormat, choices: Choices, axis: int, profile: Profile
) -> Result:
    from softfloat_ref import arrays, blocks

    words = choices.source if choices.random_bits is None else _word_array(choices, array)
    if isinstance(fmt, BlockFormat):
        quantized = blocks.quantize(array, fmt, axis, profile, choices.policy, words)
        values: NDArray[Any] = quantized.dequantize()
        codes, scales = quantized.codes, quantized.scales
        size = fmt.size if fmt.size > 0 else max(array.shape[axis], 1)
        second = quantized.tensor_scale if profile.tensor_scale != "none" else None
        blocks_text = f"{scales.size} blocks, {int((scales == fmt.scale.canonical_nan).sum())} NaN, "
        saturated = f"{blocks.saturated(array, quantized)} saturated"
    else:
        codes, scales, size, second = arrays.encode(array, fmt, choices.policy, words), None, 1, None
        values, blocks_text = arrays.decode(codes, fmt), ""
        saturated = _out_of_range(array, values)
    summary = (
        f"{fmt.name}: {array.size} values of {array.dtype}, shape {array.shape}: {blocks_text}"
        f"{saturated}, {_flushed(array, values)} flushed to zero; {_error(array, values)}"
    )
    return Result(fmt, None, codes, scales, values, summary, size, second)


def _word_array(choices: Choices, array: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    return np.array(choices.words(array.size), dtype=np.uint64).reshape(array.shape)


# -- summaries -------------------------------------------------------------------------------------------------------


def _out_of_range(array: NDArray[Any], values: NDArray[Any]) -> str:
    """How many values were held at the largest finite one, and how many became Inf or NaN (for reading only)."""
    import numpy as np

    finite = np.isfinite(values)
    largest = np.abs(values[finite]).max(initial=0.0)
    with np.errstate(invalid="ignore"):
        held = finite & (np.abs(array) > largest)
    beyond = np.isfinite(array) & ~finite
    return f"{int(held.sum())} saturated" + (f", {int(beyond.sum())} overflowed" if beyond.any() else "")


def _flushed(array: NDArray[Any], values: NDArray[Any]) -> int:
    return int(((array != 0) & (values == 0)).sum())


def _error(array: NDArray[Any], values: NDArray[Any]) -> str:
    """Maximum and root-mean-square error over the finite values (float64: for reading only)."""
    import numpy as np

    with np.errstate(all="ignore"):
        x, y = array.astype(np.float64), values.astype(np.float64)
        both = np.isfinite(x) & np.isfinite(y)
        if not both.any():
            return "no finite values"
        error = np.abs(y[both] - x[both])
        scale = float(np.sqrt(np.mean(x[both] ** 2)))
        rms = float(np.sqrt(np.mean(error**2)))
    relative = f" ({rms / scale:.3g} of the values' rms)" if scale else ""
    return f"error at most {error.max():.4g}, rms {rms:.4g}{relative}"


def _summary_of_rows(rows: list[Row], numbers: list[list[Fraction | Value]], fmt: Format | BlockFormat) -> str:
    count = sum(len(r.codes) for r in rows)
    kept = [x for row in numbers for x in row]
    results = [v for r in rows for v in r.values]
    flushed = sum(1 for x, v in zip(kept, results, strict=True) if v.is_zero and not _is_zero(x))
    blocks = f", {sum(len(r.scales or ()) for r in rows)} blocks" if isinstance(fmt, BlockFormat) else ""
    return f"{fmt.name}: {count} values{blocks}, {flushed} flushed to zero"


def _is_zero(x: Fraction | Value) -> bool:
    return x.is_zero if isinstance(x, Value) else x == 0


# -- output ----------------------------------------------------------------------------------------------------------


def _deliver(result: Result, output: str | None, form: str | None) -> None:
    count = len(result.rows or ()) if result.codes is None else result.codes.size
    if output is not None:
        _WRITERS[Path(output).suffix](output, result, form or "value")
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
    rows = _as_rows(result, form)
    element = result.fmt.element if isinstance(result.fmt, BlockFormat) else result.fmt
    match form:
        case "json":
            yield json.dumps(_json(result, rows, element), indent=1)
        case "value":
            for row in rows:
                yield " ".join(shortest(v) for v in row.values)
        case "hex":
            for row in rows:
                yield from _hex_lines(row, result.fmt, element)
        case _:
            for row in rows:
                yield from _table_lines(row, result.fmt, element)


def _hex_lines(row: Row, fmt: Format | BlockFormat, element: Format) -> Iterator[str]:
    """Codes; for blocks a line each, the scale in front."""
    if row.scales is None or isinstance(fmt, Format):
        yield " ".join(element.hex(c) for c in row.codes)
        return
    for i, scale in enumerate(row.scales):
        part = row.codes[i * row.size : (i + 1) * row.size]
        yield f"{fmt.scale.hex(scale)}: " + " ".join(element.hex(c) for c in part)


def _table_lines(row: Row, fmt: Format | BlockFormat, element: Format) -> Iterator[str]:
    """A line a value: as given, its code, what the code is worth; a block's scale above its values."""
    width = max((len(x) for x in row.inputs), default=0)
    if row.tensor_scale is not None:
        yield f"tensor scale {FP32.hex(row.tensor_scale)} = {shortest(decoder(FP32)(row.tensor_scale))}"
    for i, (code, value) in enumerate(zip(row.codes, row.values, strict=True)):
        if row.scales is not None and isinstance(fmt, BlockFormat) and i % row.size == 0:
            scale = row.scales[i // row.size]
            x = decoder(fmt.scale)(scale)
            power = f"2^{exact.top(x)}" if x.significand == 1 else shortest(x)
            yield f"block {i // row.size}: scale {fmt.scale.hex(scale)} = {power}"
        given = f"{row.inputs[i]:>{width}}  " if row.inputs else ""
        yield f"{given}{element.hex(code)}  {shortest(value)}"


def _json(result: Result, rows: list[Row], element: Format) -> dict[str, Any]:
    out: dict[str, Any] = {"format": result.fmt.name, "rows": []}
    for row in rows:
        entry: dict[str, Any] = {"codes": [element.hex(c) for c in row.codes]}
        if row.scales is not None and isinstance(result.fmt, BlockFormat):
            entry["scales"] = [result.fmt.scale.hex(s) for s in row.scales]
        if row.tensor_scale is not None:
            entry["tensor_scale"] = FP32.hex(row.tensor_scale)
        entry["values"] = [shortest(v) for v in row.values]
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


_WRITERS: Final = {".npy": _write_npy, ".npz": _write_npz, ".csv": _write_csv, ".json": _write_json}
