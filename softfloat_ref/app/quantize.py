"""`quantize`: values or arrays to a scalar or block format."""

from __future__ import annotations

import sys
import warnings
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softfloat_ref.affine_formats import is_affine
from softfloat_ref.app import affine
from softfloat_ref.app.options import (
    ANY,
    Choices,
    NumbersCommand,
    policy_options,
    profile_option,
    unmark,
)
from softfloat_ref.app.quantize_output import (
    WRITERS,
    Result,
    Row,
    deliver,
    summary_of_rows,
)
from softfloat_ref.app.quantize_stream import Stream, errors_of, stream
from softfloat_ref.app.tally import Tally
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
from softfloat_ref.formats import Format
from softfloat_ref.literals import parse_number
from softfloat_ref.profiles import OCP, Profile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@click.command("quantize", cls=NumbersCommand)
@click.option("--fmt", required=True, type=ANY, help="A scalar or block format.")
@click.option("-i", "--input", "source", default=None, metavar="FILE", help=".npy, .csv, text, or - for stdin.")
@click.option("-o", "--output", default=None, metavar="FILE", help=".npy, .npz (codes, scales, values), .csv, .json.")
@click.option("--as", "form", type=click.Choice(["value", "hex", "json"]), default=None, help="What is printed.")
@click.option("--axis", type=click.INT, default=-1, show_default=True, help="Axis of a .npy's blocks (qint: channels).")
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
    if bool(values) == (source is not None):
        raise Error("give either values or -i FILE" if values else "nothing to quantize: give values, or -i FILE")
    if is_affine(fmt):
        affine.run(fmt, profile, choices, _flat(values, source), output, form)
        return
    found, rule = any_format(fmt), OCP
    if isinstance(found, BlockFormat):
        found, rule = resolve(found, profile)
        choices = choices.for_blocks(found, profile)
    elif profile is not None:
        raise Error(f"--profile is for block formats; {found.name} is a scalar one")
    choices.check()
    if output is not None and Path(output).suffix not in WRITERS:
        raise Error(f"{output}: unknown kind of file; use {', '.join(WRITERS)}")
    is_array = source is not None and _is_npy(source)
    if axis != -1 and not (is_array and isinstance(found, BlockFormat)):
        raise Error("--axis is for block formats and .npy input; text has its blocks along each line")
    if is_array:
        whole = _from_npy(str(source), found, choices, axis, rule, output, form)
        if whole is None:
            return
        result = whole
    else:
        rows = [[unmark(v) for v in values]] if values else _read_rows(str(source))
        names = ["" for _ in rows] if values else [f"{_shown(source)}:{n}" for n, _ in enumerate(rows, 1)]
        result = _quantize_rows(rows, names, found, choices, rule)
    deliver(result, output, form)


# -- input -----------------------------------------------------------------------------------------------------------


def _shown(source: str | None) -> str:
    return "stdin" if source == "-" else str(source)


def _flat(values: tuple[str, ...], source: str | None) -> list[str] | NDArray[Any]:
    """All input, as one."""
    if source is None:
        return [unmark(v) for v in values]
    return _whole(read_npy(source)) if _is_npy(source) else [text for row in _read_rows(source) for text in row]


def _is_npy(source: str) -> bool:
    if source == "-":
        return False
    try:
        with open(source, "rb") as stream:
            return stream.read(6) == b"\x93NUMPY" or Path(source).suffix == ".npy"
    except OSError as e:
        raise Error(f"{source}: {e.strerror or e}") from None


def read_npy(source: str) -> np.memmap[Any, Any]:
    """The file, mapped: whatever is wrong with it is said before memory is taken."""
    import numpy as np

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's about odd headers; a wrong one raises anyway
            # Mapped, so that a file shorter than its header says is refused before memory is taken for it.
            mapped = np.load(source, mmap_mode="r", allow_pickle=False)
    except Exception as e:  # numpy parses the header with Python's own tokenizer: a broken one raises anything
        reason = str(e).split("\n")[0]
        if "Python objects" in reason or "Object arrays" in reason:
            reason = "holds Python objects, which are never unpickled"
        elif "allow_pickle" in reason:  # numpy takes any file for a pickle that is none of its own
            reason = "does not begin as numpy.save begins one (a pickle is never unpickled)"
        raise Error(f"{source}: not a readable .npy array: {reason or type(e).__name__}") from None
    array: np.memmap[Any, Any] = mapped
    if array.dtype.kind not in "fiub":
        raise Error(f"{source}: array of {array.dtype}; use float16, float32, float64 or integers")
    if array.ndim == 0:
        raise Error(f"{source}: a 0-dimensional array; reshape it to (1,)")
    if array.size == 0:
        raise Error(f"{source}: an empty array of shape {array.shape}; there is nothing to quantize")
    return array


def _from_npy(
    source: str,
    fmt: Format | BlockFormat,
    choices: Choices,
    axis: int,
    profile: Profile,
    output: str | None,
    form: str | None,
) -> Result | None:
    """The result; None where it was already written, chunk by chunk."""
    mapped = read_npy(source)
    if output is not None and stream(Stream(source, mapped, fmt, choices, axis, profile), output, form):
        return None
    with errors_of(source):
        return _quantize_array(_whole(mapped), fmt, choices, axis, profile)


def _whole(mapped: np.memmap[Any, Any]) -> NDArray[Any]:
    import numpy as np

    return np.asarray(mapped)


def _read_rows(source: str) -> list[list[str]]:
    try:
        if source == "-" and sys.stdin is None:
            raise Error("stdin is closed")
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8-sig")
    except OSError as e:
        raise Error(f"{source}: {e.strerror or e}") from None
    except UnicodeDecodeError:
        raise Error(f"{_shown(source)}: neither a .npy file nor text") from None
    rows = [_values(line, f"{_shown(source)}:{number}") for number, line in enumerate(text.splitlines(), 1)]
    if not any(rows):
        raise Error(f"{_shown(source)}: no values")
    return rows


def _values(line: str, where: str) -> list[str]:
    """The values of a line, with commas or blanks between them. Raises Error for a place between commas that is empty:
    the values after it would be taken for those before."""
    cells = [cell.split() for cell in line.split(",")]
    if len(cells) > 1 and [] in cells:
        raise Error(
            f"{where}: column {cells.index([]) + 1} is empty; write a number there, or nan, or leave the comma out"
        )
    return [text for cell in cells for text in cell]


# -- quantization ----------------------------------------------------------------------------------------------------


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
    return Result(fmt, done, None, None, None, summary_of_rows(done, numbers, fmt))


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
    tally = Tally(fmt)
    if isinstance(fmt, BlockFormat):
        quantized = blocks.quantize(array, fmt, axis, profile, choices.policy, words)
        values: NDArray[Any] = quantized.dequantize()
        codes, scales = quantized.codes, quantized.scales
        size = fmt.size if fmt.size > 0 else max(array.size if fmt.size == TENSOR else array.shape[axis], 1)
        second = quantized.tensor_scale if profile.tensor_scale != "none" else None
        tally.add(array, values, quantized)
    else:
        codes, scales, size, second = arrays.encode(array, fmt, choices.policy, words), None, 1, None
        values = arrays.decode(codes, fmt)
        tally.add(array, values)
    return Result(fmt, None, codes, scales, values, tally.text(array.dtype, array.shape), size, second)


def _word_array(choices: Choices, array: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    return np.array(choices.words(array.size), dtype=np.uint64).reshape(array.shape)
