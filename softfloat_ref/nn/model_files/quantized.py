"""Quantized tensors of models' files: elements with their scales, decoded some rows at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert, packing
from softfloat_ref.arrays.kernels import block_dispatch, dispatch, nibbles
from softfloat_ref.arrays.scaled import Scales, product_of, scaled_values
from softfloat_ref.base.errors import Error
from softfloat_ref.nn.model_files.layouts import NO_ROLE, Layout
from softfloat_ref.nn.model_files.tensors import ModelTensor, numbers
from softfloat_ref.oracle.formats import get_format

Array = NDArray[Any]
ARITHMETIC: Final = ("exact", "producer")
_BYTE: Final = 8
ALIGNED: Final = 8  # values that occupy whole bytes, whatever their width


class Span(NamedTuple):
    """Some rows of the last axis, or some values of one row: from and to."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.bottom - self.top, self.right - self.left


class Steps(NamedTuple):
    """How values are computed. scale_first: the scale times the second-level scale is rounded to FP32; drops_sign: a
    zero element has no sign."""

    scale_first: bool = False
    drops_sign: bool = False


EXACT: Final = Steps()


def rounded(elements: NDArray[np.float64], scales: Scales, steps: Steps) -> NDArray[np.float32]:
    """The values of elements in FP32."""
    elements = elements + 0.0 if steps.drops_sign else elements
    scales = scales._replace(in_steps=steps.scale_first)
    return convert.round_to_fp32(scaled_values(elements, scales, to_odd=True))


@dataclass(frozen=True)
class QuantizedTensor(ModelTensor):
    """A tensor whose values are elements times scales. fmt: of both, with the shape of blocks, to be shown. element:
    the format of elements; unit: values of a row that can only be read together; stored: bytes of codes and scales."""

    element: str = ""
    unit: int = ALIGNED
    stored: int = 0

    @property
    def unmeasurable(self) -> str:
        return ""

    @property
    def nbytes(self) -> int:
        return self.stored

    @property
    def itemsize(self) -> int:
        """Values have no position of their own."""
        return 0

    @property
    def bits_per_value(self) -> float:
        """Bits of codes and scales for each value."""
        return 8 * self.stored / self.size if self.size else 0.0

    @property
    def code_bytes(self) -> int:
        """The bytes of an unpacked code."""
        return convert.code_dtype(get_format(self.element)).itemsize

    def check(self) -> ModelTensor:
        return self

    def read(self, first: int, count: int, *, arithmetic: str = "exact") -> NDArray[np.float32]:
        """`count` values from a position on: the exact ones rounded to FP32, or with the producer's own roundings."""
        return self._flat(first, count, lambda span: self._short(span, arithmetic))

    def read_exactly(self, first: int, count: int) -> NDArray[np.float64]:
        """`count` values from a position on, exactly; quotients by a second-level scale are rounded once."""
        return self._flat(first, count, lambda span: scaled_values(*self._scaled(span)))

    def values(self, *, exactly: bool = False, arithmetic: str = "exact") -> Array:
        """All values in the tensor's shape: in FP32, or exactly in FP64. arithmetic: "exact", or with the roundings of
        the "producer". Raises Error."""
        if self.problem or arithmetic not in ARITHMETIC or (exactly and arithmetic != "exact"):
            raise Error(
                f"{self.name}: {self.problem or 'arithmetic is exact or producer, and exactly has no roundings'}"
            )
        flat = self.read_exactly(0, self.size) if exactly else self.read(0, self.size, arithmetic=arithmetic)
        return flat.reshape(self.shape)

    def parts(self) -> dict[str, Array]:
        """Codes, one each, and scales, as the file has them, by name. Raises Error for a tensor that has none."""
        if self.problem:
            raise Error(f"{self.name}: {self.problem}")
        return {"codes": self.codes(0, self.size).reshape(self.shape), **self.stored_scales()}

    def codes(self, first: int, count: int) -> Array:
        return self._flat(first, count, self.elements)

    def _flat(self, first: int, count: int, values: Any) -> Array:
        span = self._span(first, max(count, 1))
        begin = first - span.top * self.shape[-1] - span.left
        flat: Array = values(span).reshape(-1)[begin : begin + count]
        return flat

    def _span(self, first: int, count: int) -> Span:
        """The smallest part in whole units that has these values."""
        length = self.shape[-1]
        top, bottom = first // length, -(-(first + count) // length)
        if bottom - top > 1:
            return Span(top, bottom, 0, length)
        left, right = first - top * length, first + count - top * length
        return Span(top, bottom, left // self.unit * self.unit, min(-(-right // self.unit) * self.unit, length))

    def _short(self, span: Span, arithmetic: str) -> NDArray[np.float32]:
        return rounded(*self._scaled(span), self._steps if arithmetic == "producer" else EXACT)

    @property
    def _steps(self) -> Steps:
        """How the producer computes values."""
        return EXACT

    def _scaled(self, span: Span) -> tuple[NDArray[np.float64], Scales]:
        return numbers(self.elements(span), get_format(self.element)), self.scales_of(span)

    @abstractmethod
    def elements(self, span: Span) -> Array:
        """The codes of elements."""

    @abstractmethod
    def scales_of(self, span: Span) -> Scales:
        """What they are scaled by."""

    @abstractmethod
    def stored_scales(self) -> dict[str, Array]:
        """The codes of scales, of tensor scales and of zero points, whole, by name."""


class Part(NamedTuple):
    """A tensor of scales or zero points: its format, and the lengths of its blocks on each axis of the values. packed:
    how codes share bytes; swizzled: in NVIDIA's tiles; rows: the number of the block of each row of a matrix, where it
    does not follow from their lengths."""

    tensor: ModelTensor
    fmt: str
    block: tuple[int, ...]
    packed: str = ""
    swizzled: bool = False
    rows: Array | None = None

    def codes(self, span: Span, shape: tuple[int, ...]) -> Array:
        """The code for each row of a span of values, and for each of its blocks in that row."""
        own = [-(-n // b) for n, b in zip(shape, self.block, strict=True)]  # its shape, with the axes of the values
        rows = np.arange(span.top, span.bottom)
        if self.rows is not None:
            rows = self.rows[span.top : span.bottom]
        elif len(shape) > 1:
            places = np.unravel_index(rows, shape[:-1])
            within = [p // b for p, b in zip(places, self.block[:-1], strict=True)]
            rows = np.ravel_multi_index(within, own[:-1])
        else:
            rows = np.zeros(1, np.int64)
        low, high = int(rows.min()), int(rows.max()) + 1
        read = self._rows(low, high, own)
        columns = slice(span.left // self.block[-1], -(-span.right // self.block[-1]))
        return read[rows - low, columns]

    def _rows(self, low: int, high: int, own: Sequence[int]) -> Array:
        """The codes of some rows of the part, whose shape is `own`."""
        length = own[-1]
        if self.swizzled:
            across = packing.swizzled_size(1, length)  # bytes of a row of tiles
            first, last = low // packing.TILE_ROWS, -(-high // packing.TILE_ROWS)
            data = self.tensor.codes(first * across, (last - first) * across)
            tiles = packing.unswizzle(data, (last - first) * packing.TILE_ROWS, length)
            return tiles[low - first * packing.TILE_ROWS : high - first * packing.TILE_ROWS]
        if self.packed:
            size = self.tensor.nbytes // prod(own[:-1])
            data = self.tensor.raw(low * size, (high - low) * size).reshape(high - low, size)
            return packing.ELEMENT_LAYOUTS[self.packed].unpack(data, length, get_format(self.fmt).width)
        return self.tensor.codes(low * length, (high - low) * length).reshape(high - low, length)

    def numbers(self, span: Span, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The value for each element of a span, as an array that broadcasts to its shape."""
        values = self.block_numbers(span, shape)
        return values if values.shape[1] == 1 else spread(values, self.block[-1], span)

    def block_numbers(self, span: Span, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The value for each row of a span, and for each of its blocks in that row."""
        return numbers(np.ascontiguousarray(self.codes(span, shape)), get_format(self.fmt))


def spread(values: Array, size: int, span: Span) -> Array:
    """One value for each block of a row to one for each element. The span begins where a block does."""
    return np.repeat(values, size, axis=1)[:, : span.right - span.left]


@dataclass(frozen=True)
class LayoutTensor(QuantizedTensor):
    """A tensor of a known layout. members: its tensors besides the codes, by role."""

    source: ModelTensor = field(default_factory=lambda: ModelTensor("", (), ""))
    members: tuple[tuple[str, Part], ...] = ()
    layout: Layout = field(default_factory=lambda: Layout("", NO_ROLE, NO_ROLE))

    @property
    def _row_bytes(self) -> int:
        length = prod(self.source.shape[-2:]) if self.layout.merge else self.source.shape[-1]
        return length * self.source.itemsize

    def part(self, role: str) -> Part | None:
        """The tensor of a role; None if the layout has none."""
        return dict(self.members).get(role)

    def elements(self, span: Span) -> Array:
        packed = self.layout.packing or self.layout.pack_along == "rows"
        if not packed or self.source.packing:  # the file's own type
            length = self.shape[-1]
            begin, count = span.top * length + span.left, (span.bottom - span.top - 1) * length
            return self.source.codes(begin, count + span.right - span.left).reshape(span.shape)
        width = get_format(self.element).width
        if self.layout.pack_along == "rows":
            return self._of_columns(span, width)
        data, size = self._bytes(span), self._blocked(span)
        blocks = data.reshape(span.shape[0], -1, size * width // 8)
        return (
            packing.ELEMENT_LAYOUTS[self.layout.packing]
            .unpack(blocks, size, width)
            .reshape(span.shape[0], -1)[:, : span.shape[1]]
        )

    def _of_columns(self, span: Span, width: int) -> Array:
        """Elements that share words with those of the rows below: in each column, a stream of bits."""
        size, length = 8 * self.source.itemsize, self.shape[-1]  # a matrix has whole words: they hold no others
        low, high = span.top * width // size, -(-span.bottom * width // size)
        words = self.source.codes(low * length, (high - low) * length).reshape(high - low, length)
        words = words[:, span.left : span.right]
        words = words.view(f"u{words.itemsize}")
        word, shift = np.divmod(np.arange(span.top, span.bottom) * width - low * size, size)
        codes = words[word] >> shift.astype(words.dtype)[:, np.newaxis]
        split = np.flatnonzero(shift + width > size)  # whose upper bits are the lowest of the next word
        codes[split] |= words[word[split] + 1] << (size - shift[split]).astype(words.dtype)[:, np.newaxis]
        result: Array = (codes & ((1 << width) - 1)).astype(convert.code_dtype(get_format(self.element)))
        return result

    def _blocked(self, span: Span) -> int:
        """The values whose bytes are packed together: a block, where it fits, or all of a row."""
        size, width = self.unit, get_format(self.element).width
        stored = self._row_bytes * 8 // width if span.left == 0 and span.right == self.shape[-1] else span.shape[1]
        return size if stored % size == 0 else stored

    def _bytes(self, span: Span) -> Array:
        """The bytes of elements, a row of them for each row of values."""
        width, row = get_format(self.element).width, self._row_bytes
        if span.shape[0] > 1 or span.shape[1] == self.shape[-1]:
            return self.source.raw(span.top * row, span.shape[0] * row).reshape(span.shape[0], row)
        begin, end = span.left * width // 8, -(-span.right * width // 8)
        return self.source.raw(span.top * row + begin, end - begin).reshape(1, -1)

    def scales_of(self, span: Span) -> Scales:
        values = {name: part.numbers(span, self.shape) for name, part in self.members}
        zero: Any = values.get("zero_points", 0) + self.layout.zero_point
        zero = zero if self.layout.zero_point or "zero_points" in values else None
        minimum = -values["biases"] if "biases" in values else None
        scales = Scales(values["scales"], zero=zero, minimum=minimum)
        return _with_second(scales, values.get("tensor_scale"), self.layout)

    def stored_scales(self) -> dict[str, Array]:
        return {name: part.tensor.codes(0, part.tensor.size).reshape(part.tensor.shape) for name, part in self.members}

    @property
    def _steps(self) -> Steps:
        return Steps(self.layout.arithmetic == "scale-first", self.layout.negative_zero == "drop")

    # -- the usual ones: four bits, scales of at most eight ------------------------------------------------------------

    def _short(self, span: Span, arithmetic: str) -> NDArray[np.float32]:
        scales = dict(self.members)["scales"]
        if not self._by_table(span, scales):
            by_loop = self._by_loop(span, self._steps if arithmetic == "producer" else EXACT)
            return super()._short(span, arithmetic) if by_loop is None else by_loop
        second = self.part("tensor_scale")
        number = float(numbers(second.tensor.codes(0, 1), get_format(second.fmt))[0]) if second else None
        steps = self._steps if arithmetic == "producer" else EXACT
        table = _values(self.element, scales.fmt, number, self.layout, steps)
        data, factors = self._bytes(span), scales.codes(span, self.shape)
        return nibbles.values(data, factors, scales.block[-1], table, span.shape)

    def _by_loop(self, span: Span, steps: Steps) -> NDArray[np.float32] | None:
        """The values of elements of at most eight bits by the loop of block formats; None if it does not apply: where
        the product of an element and its scale is not what is rounded."""
        scales, second, fmt = dict(self.members)["scales"], self.part("tensor_scale"), get_format(self.element)
        whole = second is None or second.tensor.size == 1
        exact = self.layout.tensor_scale_use == "multiply" or steps.scale_first or second is None
        if not (fmt.width <= _BYTE and whole and exact) or self.part("zero_points") or self.part("biases"):
            return None
        if not dispatch.use_compiled(prod(span.shape)) or convert.flushes_subnormals():
            return None
        number = None if second is None else second.block_numbers(span, self.shape)[:1, :1]
        factors = product_of(_with_second(Scales(scales.block_numbers(span, self.shape)), number, self.layout))
        factors = convert.through_fp32(factors) if steps.scale_first else factors
        table = numbers(np.arange(1 << fmt.width, dtype=np.uint8), fmt) - self.layout.zero_point
        codes, out = np.ascontiguousarray(self.elements(span)), np.empty(span.shape, np.float32)
        if fmt.width < _BYTE:
            convert.checked_codes(codes, fmt)
        size = max(min(scales.block[-1], span.shape[1]), 1)
        block_dispatch.scale_rows(codes, factors, size, table + 0.0 if steps.drops_sign else table, out)
        return out

    def _by_table(self, span: Span, scales: Part) -> bool:
        second, width = self.part("tensor_scale"), get_format(self.element).width
        return (
            width == 4
            and self.layout.packing == "low-first"
            and not (self.source.packing or self.layout.zero_point or self.layout.zero_points.name)
            and not self.layout.biases.name
            and get_format(scales.fmt).width == 8
            and scales.block[-1] % 2 == 0
            and (second is None or second.tensor.size == 1)
            and dispatch.use_compiled(prod(span.shape))
        )


def _with_second(scales: Scales, second: Array | float | None, layout: Layout) -> Scales:
    """The scales with a second-level scale."""
    return scales._replace(divisor=second) if layout.tensor_scale_use == "divide" else scales._replace(factor=second)


@lru_cache(maxsize=32)
def _values(element: str, scale: str, number: float | None, layout: Layout, steps: Steps) -> Array:
    """The values of every scale code and element code, computed as all others are."""
    element_fmt, scale_fmt = get_format(element), get_format(scale)
    codes = np.arange(1 << element_fmt.width, dtype=np.uint8)
    factors = np.arange(1 << scale_fmt.width, dtype=np.uint8)
    scales = _with_second(Scales(numbers(factors, scale_fmt)[:, np.newaxis]), number, layout)
    return rounded(numbers(codes, element_fmt)[np.newaxis], scales, steps)
