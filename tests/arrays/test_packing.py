"""Packed layouts, files and exchange types: each against a definition of its own, bit by bit."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from random_blocks import FORMATS, SHAPES, random_array, same

from softfloat_ref import blocks
from softfloat_ref.arrays import packing
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import get_block_format

PAGE = Path(__file__).parents[2] / "docs" / "packing.md"


AWQ = (0, 2, 4, 6, 1, 3, 5, 7)  # the elements of a word, from the lowest nibble on


def layouts(width: int) -> list[str]:
    names = [x.name for x in packing.ELEMENT_LAYOUTS.values() if x.width in (0, width)]
    return [f"{e}+{s}" for e in names for s in packing.SCALE_LAYOUTS]


# -- the layouts, byte by byte ---------------------------------------------------------------------------------------


def defined_block(codes: list[int], width: int, name: str) -> list[int]:
    """A block's bytes, one bit at a time: (byte, bit) of bit i of element j."""
    n = len(codes)
    half = -(-n // 2)
    each = -(-width // 8)
    place = {
        "dense": lambda j, i: divmod(j * width + i, 8),
        "bytes": lambda j, i: (j * each + i // 8, i % 8),
        "low-first": lambda j, i: (j // 2, i + 4 * (j % 2)),
        "high-first": lambda j, i: (j // 2, i + 4 * (1 - j % 2)),
        "halves": lambda j, i: (j % half, i + 4 * (j >= half)),
        "awq": lambda j, i: (j // 8 * 4 + AWQ.index(j % 8) // 2, i + 4 * (AWQ.index(j % 8) % 2)),
    }[name]
    size = {"dense": -(-n * width // 8), "bytes": n * each, "awq": -(-n // 8) * 4}.get(name, half)
    out = [0] * size
    for j, code in enumerate(codes):
        for i in range(width):
            byte, bit = place(j, i)
            out[byte] |= (code >> i & 1) << bit
    return out


def blocks_of(q: blocks.BlockArray) -> Iterator[tuple[list[int], int]]:
    """Each block's codes, filled up with zeros, and its scale, in order."""
    rows = np.moveaxis(q.codes, q.axis, -1).reshape(-1, q.shape[q.axis]).tolist()
    scales = np.moveaxis(q.scales, q.axis, -1).reshape(len(rows), -1).tolist() if q.fmt.size >= 0 else [q.scales.item()]
    if q.fmt.size < 0:
        rows = [np.moveaxis(q.codes, q.axis, -1).reshape(-1).tolist()]
        scales = [scales]
    for row, own in zip(rows, scales, strict=True):
        size = q.fmt.size if q.fmt.size > 0 else len(row)
        for b, scale in enumerate(own):
            part = row[b * size : (b + 1) * size]
            yield part + [0] * (size - len(part)), scale


@pytest.mark.parametrize("fmt", FORMATS)
def test_layouts_are_the_definition(fmt: str) -> None:
    for shape, axis in (((70,), 0), ((3, 35), -1), ((33, 2), 0), ((2, 19, 3), 1)):
        q = random_array(fmt, shape, axis)
        width, own = q.fmt.element.width, -(-q.fmt.scale.width // 8)
        for name in layouts(width):
            elements, where = name.split("+")
            data: list[int] = []
            apart: list[int] = []
            for codes, scale in blocks_of(q):
                body, head = defined_block(codes, width, elements), list(scale.to_bytes(own, "little"))
                data += head + body if where == "front" else body + head if where == "behind" else body
                apart += head
            if where == "swizzled" and own > 1:
                with pytest.raises(Error, match="at most 8 bits"):
                    q.pack(name)
                continue
            packed = q.pack(name)
            assert packed.data.dtype == np.uint8
            assert packed.data.reshape(-1).tolist() == data
            if where == "apart":
                assert packed.scales is not None
                assert packed.scales.reshape(-1).tolist() == apart
            elif where != "swizzled":
                assert packed.scales is None


@pytest.mark.full(keep=6)
@pytest.mark.parametrize("fmt", FORMATS)
def test_every_layout_comes_back(fmt: str) -> None:
    block_format = get_block_format(fmt)
    for shape in SHAPES:
        for axis in range(-1, len(shape) - 1):
            q = random_array(fmt, shape, axis)
            for name in layouts(block_format.element.width):
                if name.endswith("swizzled") and block_format.scale.width > 8:
                    continue
                packed = q.pack(name)
                assert same(blocks.unpack(packed, block_format, shape, axis=axis, layout=name), q)
                own = {"scales": packed.scales, "tensor_scale": packed.tensor_scale}
                again = blocks.unpack(packed.data.reshape(-1), block_format, shape, axis=axis, layout=name, **own)
                assert same(again, q)


def test_blocks_across_rows() -> None:
    q = random_array("mxfp4", (3, 40), 1, "ocp,tail=flatten")
    assert q.pack().data.shape == (64,)
    for name in layouts(4):
        assert same(blocks.unpack(q.pack(name), "mxfp4", (3, 40), axis=1, layout=name, profile="ocp,tail=flatten"), q)


def test_ggml_block() -> None:
    """block_mxfp4 is 17 bytes: the scale, then 16 bytes of which byte j has elements j (low) and j + 16 (high)."""
    codes = np.arange(32, dtype=np.uint8) % 16
    codes[16:] = codes[16:][::-1]
    q = blocks.from_codes(codes, np.array([0x7C], np.uint8), "mxfp4")
    assert q.pack("halves+front").data.tobytes().hex() == "7c" + "".join(f"{15 - j:x}{j:x}" for j in range(16))


def test_low_first_is_dense() -> None:
    q = random_array("mxfp4", (5, 96), -1)
    assert (q.pack("low-first").data == q.pack("dense").data).all()


def test_shapes_of_packed_arrays() -> None:
    q = random_array("mxfp6", (4, 70, 5), 1)
    packed = q.pack()
    assert packed.data.shape == (4, 5, 3 * 24)
    assert packed.scales is not None
    assert packed.scales.shape == (4, 5, 3)
    assert q.pack("bytes+front").data.shape == (4, 5, 3 * 33)
    swizzled = q.pack("dense+swizzled").scales
    assert swizzled is not None
    assert swizzled.shape == (512,)


# -- the swizzle -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (128, 4), (129, 5), (300, 17), (7, 64), (0, 4), (3, 0)])
def test_swizzle_is_the_formula(shape: tuple[int, int]) -> None:
    """cuBLAS: tiles in row-major order; in a tile, the offset of an outer and inner index."""
    rows, columns = shape
    scales = np.random.default_rng(1).integers(1, 256, shape, dtype=np.uint8)
    got = packing.swizzle(scales)
    assert got.shape == (packing.swizzled_size(rows, columns),)
    across = -(-columns // 4)
    expected = np.zeros(got.size, np.uint8)
    for r, c in itertools.product(range(rows), range(columns)):
        tile = (r // 128) * across + c // 4
        outer, inner = r % 128, c % 4
        expected[tile * 512 + (outer % 32) * 16 + (outer // 32) * 4 + inner] = scales[r, c]
    assert (got == expected).all()
    assert (packing.unswizzle(got, rows, columns) == scales).all()


@pytest.mark.extra
def test_torchao() -> None:
    torch = pytest.importorskip("torch")
    utils = pytest.importorskip("torchao.prototype.mx_formats.utils")
    kernels = pytest.importorskip("torchao.prototype.mx_formats.kernels")
    rng = np.random.default_rng(5)
    for shape in ((1, 1), (128, 4), (200, 9), (31, 130)):
        scales = rng.integers(0, 256, shape, dtype=np.uint8)
        theirs = utils.to_blocked(torch.from_numpy(scales))
        assert theirs.numpy().tolist() == packing.swizzle(scales).tolist()
        assert (utils.from_blocked(theirs, *shape).numpy() == packing.unswizzle(theirs.numpy(), *shape)).all()
    codes = rng.integers(0, 16, (6, 64), dtype=np.uint8)
    pack = packing.ELEMENT_LAYOUTS["low-first"]
    assert (kernels.pack_uint4(torch.from_numpy(codes)).numpy() == pack.pack(codes, 4)).all()


# -- bad data --------------------------------------------------------------------------------------------------------


def test_refused() -> None:
    q = random_array("mxfp4", (2, 64), -1)
    with pytest.raises(Error, match="unknown layout of elements 'low-frist'; did you mean low-first"):
        q.pack("low-frist")
    with pytest.raises(Error, match="unknown layout of scales"):
        q.pack("dense+under")
    with pytest.raises(Error, match="a layout must be a name"):
        q.pack(3)  # type: ignore[arg-type]
    with pytest.raises(Error, match="elements of 4 bits, not 8"):
        random_array("mxfp8", (2, 64), -1).pack("halves")
    packed = q.pack()
    for shape, message in (
        ((2, 65), "have 64 bytes; this shape and layout have 96"),
        ((64,), "have 64 bytes; this shape and layout have 32"),
        ((2, -64), "cannot hold an array of shape"),
        ((1 << 40, 1 << 40), "cannot hold an array of shape"),
        ((0, 1 << 100), "cannot hold an array of shape"),
        ((0,) * 70, "cannot hold an array of shape"),
        ((2.0, 64), "a dimension = 2.0: an integer"),
        ((), "0-dimensional"),
    ):
        with pytest.raises(Error, match=re.escape(message)):
            blocks.unpack(packed, "mxfp4", shape)  # type: ignore[arg-type]
    with pytest.raises(Error, match="has its scales apart"):
        blocks.unpack(packed.data, "mxfp4", (2, 64))
    with pytest.raises(Error, match="has its scales with the elements"):
        blocks.unpack(q.pack("dense+front").data, "mxfp4", (2, 64), layout="dense+front", scales=packed.scales)
    with pytest.raises(Error, match="are bytes"):
        blocks.unpack(packed.data.astype(np.int16), "mxfp4", (2, 64), scales=packed.scales)
    with pytest.raises(Error, match="packed scales have 3 bytes"):
        blocks.unpack(packed.data, "mxfp4", (2, 64), scales=np.zeros(3, np.uint8))
    with pytest.raises(Error, match="a byte f0 where an element of 4 bits"):
        blocks.unpack(np.full(32, 0xF0, np.uint8), "mxfp4", (32,), layout="bytes", scales=np.zeros(1, np.uint8))
    with pytest.raises(Error, match="a byte ff where an element of 7 bits"):
        blocks.unpack(np.zeros(8, np.uint8), "nvfp4", (16,), scales=np.full(1, 0xFF, np.uint8), tensor_scale=1.0)
    with pytest.raises(Error, match="matrix of bytes"):
        packing.swizzle(np.zeros(3, np.uint8))
    with pytest.raises(Error, match=re.escape("scales of shape (1,); codes of shape (64,) have scales of shape (2,)")):
        blocks.from_codes(np.zeros(64, np.uint8), np.zeros(1, np.uint8), "mxfp4")


def test_padding_is_not_looked_at() -> None:
    data, scales = np.full(16, 0xFF, np.uint8), np.full(1, 0x7F, np.uint8)
    assert blocks.unpack(data, "mxfp4", (3,), scales=scales).codes.tolist() == [15, 15, 15]


# -- the page --------------------------------------------------------------------------------------------------------


def table(after: str) -> dict[str, str]:
    lines = itertools.takewhile(lambda x: x.startswith("|"), PAGE.read_text().split(after)[1].strip().splitlines())
    rows = [[c.strip().strip("`") for c in line.strip("|").split("|")] for line in list(lines)[2:]]
    return {row[0]: row[-1] for row in rows}


def test_the_tables_are_the_registries() -> None:
    assert table("## Elements\n") == {x.name: x.used_by for x in packing.ELEMENT_LAYOUTS.values()}
    assert table("## Scales\n") == packing.SCALE_LAYOUTS
