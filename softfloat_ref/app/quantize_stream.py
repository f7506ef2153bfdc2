"""`quantize` from a .npy file to a .npy file in chunks: arrays larger than memory, with the same bytes as in one piece.

Chunks are read and written, not mapped: pages of a mapped file count as the process's memory until the system takes
them back, and a full disk would end the process where a write merely fails.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from softfloat_ref.app.quantize_kinds import Arrays, Kind
from softfloat_ref.app.quantize_output import ArraySummary
from softfloat_ref.base.errors import Error, errors_of
from softfloat_ref.base.files import new_file, open_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHUNK: Final = 1 << 18  # values: a chunk's temporaries take some tens of MiB


class Chunk(NamedTuple):
    """A chunk: values from a position on, as rows of whole blocks; a block at the end of an axis may be short."""

    start: int
    shape: tuple[int, int]


@dataclass(frozen=True)
class NpyStream:
    """One quantization of a mapped .npy file."""

    path: str
    array: np.memmap[Any, Any]
    kind: Kind
    axis: int | None

    def parts(self) -> Iterator[Chunk] | None:
        """The chunks, in the order of the file; None if the array must be read whole.

        This is so if its memory order is Fortran's, blocks run along another axis than the last, a scale belongs
        to more values than a chunk has, or the random bits are listed one by one.
        """
        with errors_of(self.path):
            pieces = self.kind.pieces(self.array, self.axis)
        if pieces is None or not self.array.flags.c_contiguous or self.kind.choices.random_bits is not None:
            return None
        if pieces.size is None and pieces.length > _CHUNK:
            return None
        return _parts(pieces.rows, pieces.length, pieces.size or pieces.length)

    def run(self, parts: Iterator[Chunk], output: str, as_codes: bool) -> str:
        """Write the output file; returns the summary."""
        import numpy as np

        tally = ArraySummary(self.kind.fmt)
        with ExitStack() as stack:
            source = stack.enter_context(open_file(self.path))
            with errors_of(self.path):
                scale = self.kind.tensor_scale(lambda: self._largest(source))
            target: IO[bytes] | None = None
            for part in parts:
                with errors_of(self.path):
                    x = self._read(source, part.start, math.prod(part.shape)).reshape(part.shape)
                    arrays = self._quantize(x, part, scale)
                tally.add(x, arrays.values, arrays.blocks)
                data = arrays.codes if as_codes else arrays.values
                if target is None:  # only now, so that an error leaves no file behind
                    target = stack.enter_context(new_file(output))
                    _header(target, data.dtype, self.array.shape)
                target.write(np.ascontiguousarray(data).data)
        return tally.text(self.array.dtype, self.array.shape)

    def _read(self, source: IO[bytes], start: int, count: int) -> NDArray[Any]:
        import numpy as np

        source.seek(self.array.offset + start * self.array.itemsize)
        values: NDArray[Any] = np.fromfile(source, self.array.dtype, count)
        if values.size != count:
            raise Error("the file became shorter while it was read")
        return values

    def _quantize(self, x: NDArray[Any], part: Chunk, tensor_scale: float | None) -> Arrays:
        source, n = self.kind.choices.source, self.kind.choices.policy.random_count
        words = None if source is None else source.array(n, part.start, x.size).reshape(x.shape)
        return self.kind.array(x, words, tensor_scale=tensor_scale)

    def _largest(self, source: IO[bytes]) -> float:
        """The largest finite magnitude of the whole file: a pass of its own."""
        import numpy as np

        from softfloat_ref.arrays import convert

        amax, flush = 0.0, self.kind.choices.policy.flush_inputs
        for start, (_, count) in _parts(1, self.array.size, 1):
            values = np.abs(convert.to_float64(convert.as_source(self._read(source, start, count)), flush))
            amax = max(amax, float(values[np.isfinite(values)].max(initial=0.0)))
        return amax


def _parts(rows: int, length: int, size: int) -> Iterator[Chunk]:
    """Chunks of `rows` rows of that length: whole rows, or pieces of a row cut between blocks of `size`."""
    if length <= _CHUNK:
        step = _CHUNK // length
        for row in range(0, rows, step):
            yield Chunk(row * length, (min(step, rows - row), length))
        return
    step = _CHUNK - _CHUNK % size
    for row in range(rows):
        for column in range(0, length, step):
            yield Chunk(row * length + column, (1, min(step, length - column)))


def _header(stream: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Write the header that np.save writes before the data."""
    from numpy.lib import format as npy

    fields = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(stream, fields)


def stream(npy: NpyStream, output: str, form: str | None) -> bool:
    """Quantize a mapped .npy file to a .npy file in chunks; returns whether that was possible. Raises Error."""
    if Path(output).suffix != ".npy" or form == "json":
        return False
    if (parts := npy.parts()) is not None:
        print(npy.run(parts, output, form == "hex"), file=sys.stderr)
    return parts is not None
