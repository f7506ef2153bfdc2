"""`quantize`: values or arrays (.npy files, rows of numbers as text) to a scalar, block or affine format."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softfloat_ref.app.model_input import is_model, one_tensor
from softfloat_ref.app.options import (
    ANY,
    Choices,
    NumbersCommand,
    policy_options,
    printed_option,
    profile_option,
    scalar_format,
    show_spelling,
    unmark,
)
from softfloat_ref.app.quantize_kinds import Kind, kind_of
from softfloat_ref.app.quantize_output import ArraySummary, QuantizeResult, deliver, summary_of_rows
from softfloat_ref.app.quantize_stream import NpyStream, stream
from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, errors_of, refuse
from softfloat_ref.base.files import open_file, read_bytes
from softfloat_ref.oracle.codec import check_random
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.printed import read_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@click.command("quantize", cls=NumbersCommand)
@click.option("--fmt", required=True, type=ANY, help="A scalar or block format.")
@click.option("-i", "--input", "source", metavar="FILE", help=".npy, .csv, text, - for stdin, or a model.")
@click.option("--tensor", metavar="NAME", help="Of a model: the tensor [its only one].")
@click.option("-o", "--output", metavar="FILE", help=".npy, .npz (codes, scales, values), .csv, .json.")
@click.option("--as", "form", type=click.Choice(["value", "hex", "json"]), help="Form of the output.")
@click.option(
    "--axis", type=click.INT, default=-1, show_default=True, help="Axis of blocks in a .npy array (qint: of channels)."
)
@click.argument("values", nargs=-1, metavar="[VALUE...]")
@printed_option
@profile_option
@policy_options
def command(
    choices: Choices,
    fmt: str,
    source: str | None,
    tensor: str | None,
    output: str | None,
    form: str | None,
    axis: int,
    values: tuple[str, ...],
    printed_from: str | None,
    profile: str | None,
) -> None:
    """Quantize VALUES, or an input file, to a format.

    Values are decimal, C99 hexadecimal (0x1.8p-3), ratios (1/3), inf or nan, and are read exactly, or as values of the
    format that they were printed from. Each line of a text file is a row. Array input (.npy) is float16, float32,
    float64 or integers of any shape, never unpickled. Of a model (see `unpack`) one tensor is read, of a quantized one
    its values.
    """
    if bool(values) == (source is not None):
        raise Error("give either values or -i FILE" if values else "nothing to quantize: give values, or -i FILE")
    show_spelling(fmt)
    kind, along = kind_of(fmt, profile, choices), _typed(axis)
    of_model = source is not None and (tensor is not None or is_model(source))
    is_array = source is not None and (of_model or is_npy(source))
    kind.check(output, form, is_array, along)
    if printed_from is not None and (of_model or is_array):
        raise Error(f"--printed-from is for numbers as text; {source} has values")
    if of_model:
        result: QuantizeResult | None = _from_model(str(source), tensor, kind, along)
    elif is_array:
        result = _from_npy(str(source), kind, along, output, form)
    else:
        rows = [[unmark(v) for v in values]] if values else read_rows(str(source))
        names = ["" for _ in rows] if values else [f"{source_name(source)}:{n}" for n, _ in enumerate(rows, 1)]
        result = _from_rows(rows, names, kind, None if printed_from is None else scalar_format(printed_from))
    if result is not None:
        deliver(result, output, form)


def _typed(axis: int) -> int | None:
    """--axis, if it was typed: without it, an affine format has one scale."""
    typed = click.get_current_context().get_parameter_source("axis") is click.core.ParameterSource.COMMANDLINE
    return axis if typed else None


def _from_npy(source: str, kind: Kind, axis: int | None, output: str | None, form: str | None) -> QuantizeResult | None:
    """The result; None if it was already written, chunk by chunk."""
    import numpy as np

    mapped = read_npy(source)
    if output is not None and stream(NpyStream(source, mapped, kind, axis), output, form):
        return None
    return _from_array(source, np.asarray(mapped), kind, axis)


def _from_model(source: str, tensor: str | None, kind: Kind, axis: int | None) -> QuantizeResult:
    x = one_tensor(source, tensor, "quantize")
    return _from_array(f"{source}: {x.name}", x.values(), kind, axis)


def _from_array(source: str, array: NDArray[Any], kind: Kind, axis: int | None) -> QuantizeResult:
    tally = ArraySummary(kind.fmt)
    with errors_of(source):
        arrays = kind.array(array, _words(kind.choices, array), axis)
    tally.add(array, arrays.values, arrays.blocks)
    return QuantizeResult(kind, arrays, tally.text(array.dtype, array.shape))


def _words(choices: Choices, array: NDArray[Any]) -> Any:
    """An array's random bits, or their random source."""
    import numpy as np

    if choices.random_bits is None:
        return choices.source
    return np.array(choices.words(array.size), dtype=np.uint64).reshape(array.shape)


def _from_rows(rows: list[list[str]], names: list[str], kind: Kind, printed_from: Format | None) -> QuantizeResult:
    numbers = [[read_number(text, name, printed_from) for text in row] for row, name in zip(rows, names, strict=True)]
    count = sum(map(len, numbers))
    words = kind.choices.words(count)
    for word in [None] if words is None else words:
        check_random(kind.choices.policy, word)
    quantized_rows = kind.rows(rows, numbers, [0] * count if words is None else words)
    return QuantizeResult(kind, quantized_rows, summary_of_rows(quantized_rows, numbers, kind))


# -- input -------------------------------------------------------------------------------------------------------------


def is_npy(source: str) -> bool:
    """Whether a file is a .npy file. Raises Error if it cannot be read."""
    if source == "-":
        return False
    try:
        with open_file(source) as stream:
            return stream.read(6) == b"\x93NUMPY" or Path(source).suffix == ".npy"
    except OSError as e:
        raise Error(f"{source}: {e.strerror or e}") from None


def read_npy(source: str) -> np.memmap[Any, Any]:
    """The file, mapped, so that a bad file is refused before memory is allocated. Raises Error."""
    import numpy as np

    from softfloat_ref.base import npz

    try:
        with open_file(source) as stream:
            shape, by_columns, dtype = npz.header(stream, "")
            refuse(
                source,
                (f"array of {dtype}; use float16, float32, float64 or integers", dtype.kind not in "fiubO"),
                ("not a readable .npy array: holds Python objects, which are never unpickled", dtype.hasobject),
                ("a 0-dimensional array; reshape it to (1,)", not shape),
                (f"an empty array of shape {shape}; there is nothing to quantize", 0 in shape),
            )
            held, claimed = os.fstat(stream.fileno()).st_size - stream.tell(), math.prod(shape) * dtype.itemsize
            if claimed > held:
                raise Error(f"its header claims {claimed} bytes, but {held} follow")
            return np.memmap(stream, dtype, "r", stream.tell(), shape, "F" if by_columns else "C")
    except Exception as e:  # numpy parses the header with Python's tokenizer: a broken header can raise anything
        if isinstance(e, Error) and str(e).startswith(f"{source}: "):
            raise
        reason = str(e).split("\n")[0]
        raise Error(f"{source}: not a readable .npy array: {reason or type(e).__name__}") from None


def read_rows(source: str) -> list[list[str]]:
    """The numbers of a file, or of stdin (-), by line. Raises Error if it cannot be read."""
    try:
        if source == "-" and sys.stdin is None:
            raise Error("stdin is closed")
        text = sys.stdin.read() if source == "-" else read_bytes(source, limits.NUMBERS).decode("utf-8-sig")
    except OSError as e:
        raise Error(f"{source}: {e.strerror or e}") from None
    except UnicodeDecodeError:
        raise Error(f"{source_name(source)}: neither a .npy file nor text") from None
    rows = [_values(line, f"{source_name(source)}:{number}") for number, line in enumerate(text.splitlines(), 1)]
    if not any(rows):
        raise Error(f"{source_name(source)}: no values")
    return rows


def _values(line: str, where: str) -> list[str]:
    """The values of a line, separated by commas or blanks. Raises Error for an empty place between commas:
    the values after it would otherwise move forward."""
    cells = [cell.split() for cell in line.split(",")]
    if len(cells) > 1 and [] in cells:
        raise Error(f"{where}: column {cells.index([]) + 1} is empty; write a number or nan there, or remove the comma")
    return [text for cell in cells for text in cell]


def source_name(source: str | None) -> str:
    """The input's name in errors."""
    return "stdin" if source == "-" else str(source)
