"""The input of `quantize`: .npy files, and rows of numbers as text."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.base.files import open_file, read_bytes

if TYPE_CHECKING:
    import numpy as np


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
