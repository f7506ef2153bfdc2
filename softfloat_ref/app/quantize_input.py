"""The input of `quantize`: .npy files, and rows of numbers as text."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softfloat_ref.base.errors import Error

if TYPE_CHECKING:
    import numpy as np


def is_npy(source: str) -> bool:
    """Whether a file is a .npy file. Raises Error if it cannot be read."""
    if source == "-":
        return False
    try:
        with open(source, "rb") as stream:
            return stream.read(6) == b"\x93NUMPY" or Path(source).suffix == ".npy"
    except OSError as e:
        raise Error(f"{source}: {e.strerror or e}") from None


def read_npy(source: str) -> np.memmap[Any, Any]:
    """The file, mapped, so that a bad file is refused before memory is allocated."""
    import numpy as np

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's warnings about odd headers; a wrong header raises anyway
            # Mapped, so that a truncated file is refused before memory is allocated for it.
            mapped = np.load(source, mmap_mode="r", allow_pickle=False)
    except Exception as e:  # numpy parses the header with Python's tokenizer: a broken header can raise anything
        reason = str(e).split("\n")[0]
        if "Python objects" in reason or "Object arrays" in reason:
            reason = "holds Python objects, which are never unpickled"
        elif "allow_pickle" in reason:  # numpy assumes that any file it does not know is a pickle
            reason = "does not begin with the header that numpy.save writes (a pickle is never unpickled)"
        raise Error(f"{source}: not a readable .npy array: {reason or type(e).__name__}") from None
    array: np.memmap[Any, Any] = mapped
    if array.dtype.kind not in "fiub":
        raise Error(f"{source}: array of {array.dtype}; use float16, float32, float64 or integers")
    if array.ndim == 0:
        raise Error(f"{source}: a 0-dimensional array; reshape it to (1,)")
    if array.size == 0:
        raise Error(f"{source}: an empty array of shape {array.shape}; there is nothing to quantize")
    return array


def read_rows(source: str) -> list[list[str]]:
    """The numbers of a file, or of stdin (-), by line. Raises Error if it cannot be read."""
    try:
        if source == "-" and sys.stdin is None:
            raise Error("stdin is closed")
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8-sig")
    except OSError as e:
        raise Error(f"{source}: {e.strerror or e}") from None
    except UnicodeDecodeError:
        raise Error(f"{shown(source)}: neither a .npy file nor text") from None
    rows = [_values(line, f"{shown(source)}:{number}") for number, line in enumerate(text.splitlines(), 1)]
    if not any(rows):
        raise Error(f"{shown(source)}: no values")
    return rows


def _values(line: str, where: str) -> list[str]:
    """The values of a line, separated by commas or blanks. Raises Error for an empty place between commas:
    the values after it would otherwise move forward."""
    cells = [cell.split() for cell in line.split(",")]
    if len(cells) > 1 and [] in cells:
        raise Error(f"{where}: column {cells.index([]) + 1} is empty; write a number or nan there, or remove the comma")
    return [text for cell in cells for text in cell]


def shown(source: str | None) -> str:
    """The input's name in errors."""
    return "stdin" if source == "-" else str(source)
