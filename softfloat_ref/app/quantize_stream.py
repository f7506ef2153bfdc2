"""`quantize` from a .npy file to a .npy file in chunks: arrays larger than memory, the same bytes as at once.

Chunks are read and written, not mapped: pages of a mapped file count as the process's memory until the system takes
them back, and a full disk would end the process where a write merely fails.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from softfloat_ref.app.options import Choices
from softfloat_ref.app.tally import Tally
from softfloat_ref.block_formats import AXIS, FP32, TENSOR, BlockFormat, tensor_scale_of
from softfloat_ref.codec import decode, to_value
from softfloat_ref.errors import Error
from softfloat_ref.files import new_file
from softfloat_ref.formats import Format
from softfloat_ref.profiles import Profile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHUNK: Final = 1 << 18  # values: a chunk's temporaries take some tens of MiB


class Part(NamedTuple):
    """A chunk: values from a position on, as rows that hold whole blocks, or the end of an axis."""

    start: int
    shape: tuple[int, int]


@dataclass(frozen=True)
class Stream:
    """One quantization of a mapped .npy file."""

    path: str
    array: np.memmap[Any, Any]
    fmt: Format | BlockFormat
    choices: Choices
    axis: int
    profile: Profile

    def parts(self) -> Iterator[Part] | None:
        """The chunks, in the order of the file; None where the array has to be taken whole.

        That is where its memory order is Fortran's, blocks run along another axis than the last, or a scale belongs
        to more values than a chunk has, and where the random bits are listed one by one.
        """
        shape = self.array.shape
        if isinstance(self.fmt, BlockFormat):
            self._check_axis(self.fmt)
        if not self.array.flags.c_contiguous or self.choices.random_bits is not None:
            return None
        if isinstance(self.fmt, Format):
            return _parts(1, self.array.size, 1)
        if self.axis not in (-1, len(shape) - 1) or self.fmt.size == TENSOR:
            return None
        length = self.array.size if self.profile.tail == "flatten" and self.fmt.size != AXIS else shape[-1]
        if self.fmt.size == AXIS and length > _CHUNK:
            return None
        return _parts(self.array.size // length, length, length if self.fmt.size == AXIS else self.fmt.size)

    def _check_axis(self, fmt: BlockFormat) -> None:
        """Refuse now what would be refused at the end of an axis."""
        from softfloat_ref.block_arrays import Layout, check_axis

        with errors_of(self.path):
            Layout(self.array.shape, check_axis(self.array, self.axis), fmt, self.profile)

    def run(self, parts: Iterator[Part], output: str, as_codes: bool) -> str:
        """Write the output file; returns the summary."""
        import numpy as np

        tally = Tally(self.fmt)
        with ExitStack() as stack:
            source = stack.enter_context(open(self.path, "rb"))
            with errors_of(self.path):
                scale = self._tensor_scale(source)
            target: IO[bytes] | None = None
            for part in parts:
                with errors_of(self.path):
                    x = self._read(source, part.start, math.prod(part.shape)).reshape(part.shape)
                    codes, values = self._quantize(x, part, scale, tally)
                made = codes if as_codes else values
                if target is None:  # only now, so that a refusal leaves nothing behind
                    target = stack.enter_context(new_file(output))
                    _header(target, made.dtype, self.array.shape)
                target.write(np.ascontiguousarray(made).data)
        return tally.text(self.array.dtype, self.array.shape)

    def _read(self, source: IO[bytes], start: int, count: int) -> NDArray[Any]:
        import numpy as np

        source.seek(self.array.offset + start * self.array.itemsize)
        found: NDArray[Any] = np.fromfile(source, self.array.dtype, count)
        if found.size != count:
            raise Error("the file became shorter while it was read")
        return found

    def _quantize(
        self, x: NDArray[Any], part: Part, tensor_scale: float | None, tally: Tally
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """A chunk's codes and values."""
        from softfloat_ref import arrays, blocks

        policy, source = self.choices.policy, self.choices.source
        words = None if source is None else source.array(policy.random_count, part.start, x.size).reshape(x.shape)
        values: NDArray[Any]
        if isinstance(self.fmt, BlockFormat):
            quantized = blocks.quantize(x, self.fmt, -1, self.profile, policy, words, tensor_scale)
            codes, values = quantized.codes, quantized.dequantize()
            tally.add(x, values, quantized)
        else:
            codes = arrays.encode(x, self.fmt, policy, words)
            values = arrays.decode(codes, self.fmt)
            tally.add(x, values)
        return codes, values

    def _tensor_scale(self, source: IO[bytes]) -> float | None:
        """The second-level scale, from the largest magnitude of the whole file: a pass of its own."""
        import numpy as np

        from softfloat_ref import arrays

        if isinstance(self.fmt, Format) or self.profile.tensor_scale == "none":
            return None
        amax, flush = 0.0, self.choices.policy.flush_inputs
        for start, (_, count) in _parts(1, self.array.size, 1):
            values = np.abs(arrays.to_float64(arrays.as_source(self._read(source, start, count)), flush))
            amax = max(amax, float(values[np.isfinite(values)].max(initial=0.0)))
        return float(decode(tensor_scale_of(to_value(amax, 0) if amax else None, self.fmt, self.profile), FP32))


def _parts(rows: int, length: int, size: int) -> Iterator[Part]:
    """Chunks of so many rows of that length: whole rows, or pieces of a row cut between blocks of a size."""
    if length <= _CHUNK:
        step = _CHUNK // length
        for row in range(0, rows, step):
            yield Part(row * length, (min(step, rows - row), length))
        return
    step = _CHUNK - _CHUNK % size
    for row in range(rows):
        for column in range(0, length, step):
            yield Part(row * length + column, (1, min(step, length - column)))


def _header(stream: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """What np.save writes before the data."""
    from numpy.lib import format as npy

    fields = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(stream, fields)


def stream(one: Stream, output: str, form: str | None) -> bool:
    """Quantize a mapped .npy file to a .npy file in chunks; whether that could be done. Raises Error."""
    if Path(output).suffix != ".npy" or form == "json":
        return False
    parts = one.parts()
    if parts is None:
        return False
    summary = one.run(parts, output, form == "hex")
    print(summary, file=sys.stderr)
    return True


@contextmanager
def errors_of(name: str) -> Iterator[None]:
    """Errors that name the file they are about."""
    try:
        yield
    except Error as e:
        raise Error(f"{name}: {e}") from None
