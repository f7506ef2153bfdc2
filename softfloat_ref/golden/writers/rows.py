"""Lines made of hexadecimal columns and constant text between them, one by one or in arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from softfloat_ref.golden.writers.batch import Batch, Data
from softfloat_ref.units import Line

_ARRAYS_FROM: Final = 64  # lines of a run below which arrays cost more than they save


class Rows:
    """between[0], column 0, between[1], ..., the last column, and `end` of the line's tag.

    digits: of each column. expand: the columns of a line, if they differ from its codes; not needed for lines in bulk.
    """

    def __init__(
        self,
        digits: Sequence[int],
        between: Sequence[str],
        end: Callable[[str], str],
        expand: Callable[[Line], Sequence[int]] | None = None,
    ) -> None:
        self.digits = tuple(digits)
        self.between = tuple(between)
        self.end = end
        self.expand = expand
        shown = (f"{text.replace('%', '%%')}%0{d}x" for text, d in zip(between, digits, strict=True))
        self.template = "".join(shown)

    def encode(self, batch: Batch) -> Data:
        """The lines of a batch."""
        if batch.table is None or self.expand is not None:
            return self._one_by_one(batch.lines, batch.tags())
        if max((count for _, count in batch.runs), default=0) < _ARRAYS_FROM:
            return self._one_by_one(batch.lines, batch.tags())
        return self._in_arrays(batch)

    def _one_by_one(self, lines: Sequence[Line], tags: Any) -> bytes:
        template, end, expand = self.template, self.end, self.expand
        if expand is None:
            texts = (template % line + end(tag) for line, tag in zip(lines, tags, strict=True))
        else:
            texts = (template % tuple(expand(line)) + end(tag) for line, tag in zip(lines, tags, strict=True))
        return "".join(texts).encode("ascii")

    def _in_arrays(self, batch: Batch) -> Data:
        """Columns of characters, copied from the memory words to their positions."""
        import numpy as np

        source = batch.words.reshape(batch.count, -1)
        parts, start = [], 0
        for tag, count in batch.runs:
            pattern = self._pattern(tag)
            out = np.empty((count, len(pattern)), np.uint8)
            out[:] = np.frombuffer(pattern, np.uint8)
            read = write = 0
            for digits, text in zip(self.digits, self.between, strict=True):
                write += len(text)
                out[:, write : write + digits] = source[start : start + count, read : read + digits]
                write += digits
                read += digits + 1
            parts.append(out.reshape(-1))
            start += count
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _pattern(self, tag: str) -> bytes:
        """A line of zeros."""
        columns = (text + "0" * digits for text, digits in zip(self.between, self.digits, strict=True))
        return ("".join(columns) + self.end(tag)).encode("ascii")
