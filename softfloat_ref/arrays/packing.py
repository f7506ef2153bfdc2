"""Pack codes of blocks into bytes, in the layouts of libraries and instructions, and unpack them.

A layout defines the order of elements in a block and the place of the scales: "ELEMENTS" or "ELEMENTS+SCALES". Every
block occupies whole bytes; unused bits are zero when packed and ignored when unpacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.numbers import integer
from softfloat_ref.base.search import find_first

Bytes = NDArray[np.uint8]
Codes = NDArray[np.unsignedinteger[Any]]

TILE_ROWS: Final = 128
TILE_SCALES: Final = 4
_MAX_SIZE: Final = 1 << 48  # largest number of elements, without empty axes: beyond it numpy's own sizes overflow
_LANES: Final = 32  # rows of a tile that follow each other at a constant stride; 32 * 4 = 128


class Packed(NamedTuple):
    """data: the bytes of each block: elements and, in some layouts, scales. scales: those stored separately.
    tensor_scale: the value of the second-level scale, which no layout puts among the bytes; None if there is none.
    zero_points: the bytes of those of an affine array."""

    data: Bytes
    scales: Bytes | None = None
    tensor_scale: float | None = None
    zero_points: Bytes | None = None


def check_parts(packed: Packed, name: str, *parts: str) -> None:
    """Raise Error if packed data has other parts than these besides its bytes."""
    spare = [k for k, v in packed._asdict().items() if v is not None and k not in ("data", *parts)]
    if spare:
        raise Error(f"this Packed has {' and '.join(spare)}, which {name} does not have")


def as_bytes(data: Any) -> NDArray[Any]:
    """What a caller may give as bytes: an array, or bytes of Python."""
    return np.frombuffer(data, np.uint8) if isinstance(data, bytes | bytearray | memoryview) else np.asarray(data)


def checked_shape(shape: Any) -> tuple[int, ...]:
    """A shape as a caller gives it: integers, or one. Raises Error."""
    entries = [shape] if isinstance(shape, int) or getattr(shape, "ndim", None) == 0 else shape
    try:
        return tuple(integer(n, "a dimension") for n in entries)
    except TypeError:
        raise Error(f"shape = {shape!r}: give the integers of a shape") from None


def split_parts(data: Any, given: Sequence[Any], names: str) -> tuple[Any, ...]:
    """The bytes, and the other parts of packed data, in the order of `names`: a tuple has them all, if none of them is
    given besides. Raises Error for too many."""
    if not isinstance(data, tuple):
        return data, *given
    if any(x is not None for x in given):
        raise Error(f"a tuple has its own {names}; leave them out, or give the bytes alone")
    if not 1 <= len(data) <= 1 + len(given):
        raise Error(f"a tuple of {len(data)} parts; packed data are bytes, {names}")
    return (*data, *[None] * (1 + len(given) - len(data)))


@dataclass(frozen=True)
class ElementLayout:
    """How the codes of a block become bytes.

    width: the only element width supported; 0: any. size: (codes, width) to bytes per block. pack: codes (..., n) and
    their width to bytes (..., bytes). unpack: those bytes, n and the width to codes.
    """

    name: str
    width: int
    size: Callable[[int, int], int]
    pack: Callable[[Codes, int], Bytes]
    unpack: Callable[[Bytes, int, int], Codes]
    used_by: str


# -- elements --------------------------------------------------------------------------------------------------------


def _stream_size(n: int, width: int) -> int:
    return -(-n * width // 8)


def _pack_stream(codes: Codes, width: int) -> Bytes:
    """Bit i of element j is bit (j width + i) mod 8 of byte (j width + i) // 8."""
    if width == 8:
        return codes.astype(np.uint8)
    places = np.arange(width, dtype=codes.dtype)
    bits = ((codes[..., np.newaxis] >> places) & codes.dtype.type(1)).astype(np.uint8)
    flat = bits.reshape(*codes.shape[:-1], codes.shape[-1] * width)
    return np.packbits(flat, axis=-1, bitorder="little")


def _unpack_stream(data: Bytes, n: int, width: int) -> Codes:
    if width == 8:
        return data.copy()
    dtype = _code_dtype(width)
    bits = np.unpackbits(data, axis=-1, count=n * width, bitorder="little").reshape(*data.shape[:-1], n, width)
    codes: Codes = np.zeros(bits.shape[:-1], dtype)
    for place in range(width):
        codes |= bits[..., place].astype(dtype) << dtype.type(place)
    return codes


def _bytes_size(n: int, width: int) -> int:
    return n * -(-width // 8)


def _pack_bytes(codes: Codes, width: int) -> Bytes:
    """Each code in whole bytes, low byte first, unused upper bits zero."""
    each, size = -(-width // 8), codes.dtype.itemsize
    whole = np.ascontiguousarray(codes, codes.dtype.newbyteorder("<")).view(np.uint8)
    return whole.reshape(*codes.shape, size)[..., :each].reshape(*codes.shape[:-1], codes.shape[-1] * each)


def _unpack_bytes(data: Bytes, n: int, width: int) -> Codes:
    dtype = _code_dtype(width)
    parts = data.reshape(*data.shape[:-1], n, -(-width // 8))
    codes: Codes = np.zeros(parts.shape[:-1], dtype)
    for i in range(parts.shape[-1]):
        codes |= parts[..., i].astype(dtype) << dtype.type(8 * i)
    if codes.size and int(codes.max()) >> width:
        raise Error(f"packed data has a byte {int(codes.max()):02x} where an element of {width} bits should be")
    return codes


def _nibbles_size(n: int, width: int) -> int:
    return -(-n // 2)


def _pair(low: Codes, high: Codes) -> Bytes:
    return low.astype(np.uint8) | high.astype(np.uint8) << np.uint8(4)


def _even(codes: Codes) -> Codes:
    """The codes, with a zero code appended if their number is odd."""
    if codes.shape[-1] % 2 == 0:
        return codes
    return np.concatenate([codes, np.zeros((*codes.shape[:-1], 1), codes.dtype)], axis=-1)


def _pack_low_first(codes: Codes, width: int) -> Bytes:
    codes = _even(codes)
    return _pair(codes[..., 0::2], codes[..., 1::2])


def _unpack_low_first(data: Bytes, n: int, width: int) -> Codes:
    return _interleaved(data & np.uint8(15), data >> np.uint8(4), n)


def _pack_high_first(codes: Codes, width: int) -> Bytes:
    codes = _even(codes)
    return _pair(codes[..., 1::2], codes[..., 0::2])


def _unpack_high_first(data: Bytes, n: int, width: int) -> Codes:
    return _interleaved(data >> np.uint8(4), data & np.uint8(15), n)


def _interleaved(first: Bytes, second: Bytes, n: int) -> Codes:
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], 2 * first.shape[-1])[..., :n]


def _pack_halves(codes: Codes, width: int) -> Bytes:
    codes = _even(codes)
    half = codes.shape[-1] // 2
    return _pair(codes[..., :half], codes[..., half:])


def _unpack_halves(data: Bytes, n: int, width: int) -> Codes:
    return np.concatenate([data & np.uint8(15), data >> np.uint8(4)], axis=-1)[..., :n]


_AWQ: Final = [0, 4, 1, 5, 2, 6, 3, 7]  # the nibble of a word in which each of its eight elements is


def _awq_size(n: int, width: int) -> int:
    return -(-n // 8) * 4


def _pack_awq(codes: Codes, width: int) -> Bytes:
    spare = np.zeros((*codes.shape[:-1], -codes.shape[-1] % 8), codes.dtype)
    whole = np.concatenate([codes, spare], axis=-1)
    words = whole.reshape(*whole.shape[:-1], whole.shape[-1] // 8, 8)
    nibbles = np.empty_like(words)
    nibbles[..., _AWQ] = words
    return _pack_low_first(nibbles.reshape(whole.shape), width)


def _unpack_awq(data: Bytes, n: int, width: int) -> Codes:
    nibbles = _unpack_low_first(data, 2 * data.shape[-1], width)
    words = nibbles.reshape(*nibbles.shape[:-1], nibbles.shape[-1] // 8, 8)
    return words[..., _AWQ].reshape(nibbles.shape)[..., :n]


ELEMENT_LAYOUTS: Final[dict[str, ElementLayout]] = {
    layout.name: layout
    for layout in (
        ElementLayout("dense", 0, _stream_size, _pack_stream, _unpack_stream, "a little-endian stream of bits"),
        ElementLayout("bytes", 0, _bytes_size, _pack_bytes, _unpack_bytes, "FP6 and FP4 in padded bytes (ml_dtypes)"),
        ElementLayout("low-first", 4, _nibbles_size, _pack_low_first, _unpack_low_first, "torchao, Transformer Engine"),
        ElementLayout("high-first", 4, _nibbles_size, _pack_high_first, _unpack_high_first, "PTX cvt to e2m1x2"),
        ElementLayout("awq", 4, _awq_size, _pack_awq, _unpack_awq, "AWQ"),
        ElementLayout("halves", 4, _nibbles_size, _pack_halves, _unpack_halves, "ggml's block_mxfp4"),
    )
}
SCALE_LAYOUTS: Final[dict[str, str]] = {
    "apart": "a separate array, in the order of the blocks",
    "front": "each scale before the elements of its block (ggml's block_mxfp4)",
    "behind": "each scale after the elements of its block",
    "swizzled": "a separate array, in cuBLAS's tiles of 128 rows by 4 scales",
}


class PackingLayout(NamedTuple):
    """A parsed layout."""

    elements: ElementLayout
    scales: str

    def check(self, width: int, scale_width: int) -> None:
        """Raise Error if the layout does not support elements or scales of these widths."""
        if self.elements.width not in (0, width):
            raise Error(f"layout {self.elements.name} takes elements of {self.elements.width} bits, not {width}")
        if self.scales == "swizzled" and scale_width > 8:
            raise Error(f"swizzled scales have at most 8 bits, not {scale_width}")

    @property
    def together(self) -> bool:
        """Whether scales and elements are stored in one array."""
        return self.scales in ("front", "behind")


def get_layout(name: str | PackingLayout) -> PackingLayout:
    """A layout from "ELEMENTS" (scales stored separately) or "ELEMENTS+SCALES". Raises Error."""
    if isinstance(name, PackingLayout):
        return name
    if not isinstance(name, str):
        raise Error(f"a layout must be a name, for example low-first+swizzled, not {name!r}")
    elements, _, scales = name.partition("+")
    if elements not in ELEMENT_LAYOUTS:
        raise unknown("layout of elements", elements, ELEMENT_LAYOUTS)
    if (scales or "apart") not in SCALE_LAYOUTS:
        raise unknown("layout of scales", scales, SCALE_LAYOUTS)
    return PackingLayout(ELEMENT_LAYOUTS[elements], scales or "apart")


# -- blocks ----------------------------------------------------------------------------------------------------------


def pack(codes: Codes, scales: Codes, width: int, scale_width: int, layout: str | PackingLayout = "dense") -> Packed:
    """Pack codes (..., blocks, size) of `width` bits and scales (..., blocks) of `scale_width` bits.

    data is (..., blocks * bytes per block). scales is (..., blocks * bytes per scale), or one-dimensional if swizzled,
    which treats all axes but the last as rows. Raises Error for a layout that does not support these widths.
    """
    layout = get_layout(layout)
    layout.check(width, scale_width)
    parts = layout.elements.pack(codes, width)
    if layout.together:
        own = _pack_bytes(scales[..., np.newaxis], scale_width)
        parts = np.concatenate([own, parts] if layout.scales == "front" else [parts, own], axis=-1)
    data = np.ascontiguousarray(parts).reshape(*parts.shape[:-2], parts.shape[-2] * parts.shape[-1])
    if layout.together:
        return Packed(data, None)
    if layout.scales == "swizzled":
        return Packed(data, swizzle(_as_rows(scales.astype(np.uint8))))
    return Packed(data, _pack_bytes(scales, scale_width))


def unpack(
    data: ArrayLike,
    scales: ArrayLike | None,
    shape: tuple[int, ...],
    width: int,
    scale_width: int,
    layout: str | PackingLayout = "dense",
) -> tuple[Codes, Codes]:
    """The inverse of `pack`: codes of `shape`, (..., blocks, size), and scales (..., blocks).

    data, scales: uint8 arrays of any shape with the right number of bytes. Raises Error for others.
    """
    layout = get_layout(layout)
    layout.check(width, scale_width)
    _check_shape(shape)
    if layout.together != (scales is None):
        where = "with the elements" if layout.together else "apart"
        raise Error(f"layout {layout.elements.name}+{layout.scales} has its scales {where}")
    blocks, n = shape[:-1], shape[-1]
    each, own = layout.elements.size(n, width), _bytes_size(1, scale_width)
    count = prod(blocks)
    total = each + own if layout.together else each
    parts = _checked(data, count * total, "data").reshape(*blocks, total)
    if layout.together:
        start = own if layout.scales == "front" else 0
        scale_bytes = parts[..., :own] if start else parts[..., each:]
        parts = parts[..., start : start + each]
    elif layout.scales == "swizzled":
        rows = prod(blocks[:-1]), blocks[-1]
        flat = _checked(scales, swizzled_size(*rows), "scales")
        scale_bytes = unswizzle(flat, *rows).reshape(*blocks, 1)
    else:
        scale_bytes = _checked(scales, count * own, "scales").reshape(*blocks, own)
    return layout.elements.unpack(parts, n, width), _unpack_bytes(scale_bytes, 1, scale_width)[..., 0]


# -- codes without scales of blocks ----------------------------------------------------------------------------------


def pack_rows(codes: Codes, width: int, layout: str | PackingLayout, name: str) -> Bytes:
    """Pack codes of `width` bits, each row of the last axis in whole bytes. Raises Error for a layout that does not
    support this width, and for a place of scales, which these codes do not have."""
    whole = np.atleast_1d(codes)
    return np.ascontiguousarray(_layout_of_rows(layout, width, name).elements.pack(whole, width))


def unpack_rows(data: ArrayLike, shape: tuple[int, ...], width: int, layout: str | PackingLayout, name: str) -> Codes:
    """The inverse of `pack_rows`: codes of that shape. Raises Error for another number of bytes."""
    elements = _layout_of_rows(layout, width, name).elements
    rows = shape or (1,)
    _check_shape(rows)
    each = elements.size(rows[-1], width)
    parts = _checked(data, prod(rows[:-1]) * each, "data").reshape(*rows[:-1], each)
    return elements.unpack(parts, rows[-1], width).reshape(shape)


def _layout_of_rows(layout: str | PackingLayout, width: int, name: str) -> PackingLayout:
    resolved = get_layout(layout)
    if resolved.scales != "apart":
        raise Error(f"layout {resolved.elements.name}+{resolved.scales} places scales of blocks; {name} has none")
    resolved.check(width, 0)
    return resolved


def words(data: ArrayLike, dtype: str, shape: tuple[int, ...], what: str) -> NDArray[Any]:
    """Bytes as numbers of a type, in the order of this machine. Raises Error for another number of bytes."""
    kind = np.dtype(dtype)
    numbers = _checked(data, prod(shape) * kind.itemsize, what).reshape(-1).view(kind)
    return numbers.astype(kind.newbyteorder("=")).reshape(shape)


def _check_shape(shape: tuple[int, ...]) -> None:
    """Raise Error for a shape that is too large for numpy, which may happen even without any blocks."""
    if not shape or min(shape) < 0 or prod(tuple(max(n, 1) for n in shape)) > _MAX_SIZE:
        raise Error(f"an array cannot have the shape {shape}; give the shape that was packed, (..., blocks, size)")


def _checked(data: ArrayLike | None, size: int, what: str) -> Bytes:
    array = as_bytes(data)
    if array.dtype != np.uint8:
        raise Error(f"packed {what} are bytes (uint8), not {array.dtype}")
    if array.size != size:
        raise Error(f"packed {what} have {array.size} bytes; this shape and layout have {size}")
    return np.ascontiguousarray(array)


def _code_dtype(width: int) -> np.dtype[Any]:
    types = map(np.dtype, (np.uint8, np.uint16, np.uint32, np.uint64))
    return find_first(t for t in types if width <= t.itemsize * 8)


# -- scales ----------------------------------------------------------------------------------------------------------


def _as_rows(scales: Bytes) -> Bytes:
    return scales.reshape(prod(scales.shape[:-1]), scales.shape[-1])


def swizzled_size(rows: int, columns: int) -> int:
    """The bytes of rows by columns scales in tiles."""
    return -(-rows // TILE_ROWS) * -(-columns // TILE_SCALES) * TILE_ROWS * TILE_SCALES


def swizzle(scales: ArrayLike) -> Bytes:
    """Scales (rows, blocks), as bytes, in NVIDIA's order: tiles of 128 by 4, padded with zeros, one after another along
    the rows; in a tile, the scale of row r and block c is byte (r % 32) * 16 + (r // 32) * 4 + c.

    Source: cuBLAS, "1D block scaling factors layout". Raises Error for anything but a matrix of bytes.
    """
    matrix = np.asarray(scales)
    if matrix.ndim != 2 or matrix.dtype != np.uint8:
        raise Error(f"scales to swizzle are a matrix of bytes (uint8), not {matrix.dtype} of shape {matrix.shape}")
    rows, columns = matrix.shape
    down, across = -(-rows // TILE_ROWS), -(-columns // TILE_SCALES)
    padded = np.zeros((down * TILE_ROWS, across * TILE_SCALES), np.uint8)
    padded[:rows, :columns] = matrix
    tiles = padded.reshape(down, TILE_ROWS // _LANES, _LANES, across, TILE_SCALES)
    return np.ascontiguousarray(tiles.transpose(0, 3, 2, 1, 4)).reshape(-1)


def unswizzle(data: ArrayLike, rows: int, columns: int) -> Bytes:
    """The inverse of `swizzle`: the scales (rows, columns). Raises Error for data of another size."""
    flat = _checked(data, swizzled_size(rows, columns), "scales")
    down, across = -(-rows // TILE_ROWS), -(-columns // TILE_SCALES)
    tiles = flat.reshape(down, across, _LANES, TILE_ROWS // _LANES, TILE_SCALES)
    padded = tiles.transpose(0, 3, 2, 1, 4).reshape(down * TILE_ROWS, across * TILE_SCALES)
    return np.ascontiguousarray(padded[:rows, :columns])
