"""Quantized weights: every layout of the table against its definition in rationals; what no layout fits is not read as
something else; folders, index files and arrays without a type."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from command import ok, refused

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.nn.model_files import tensors
from softfloat_ref.nn.model_files.layouts import Layout, layout_table
from softfloat_ref.nn.model_files.quantized import LayoutTensor, QuantizedTensor
from softfloat_ref.nn.model_files.safetensors import FORMATS

TYPES = {fmt: kind for kind, fmt in FORMATS.items()}
ALL = {x.name: x for x in layout_table().layouts}
ELSEWHERE = ("awq", "gptq", "gptq-v2", "mlx-affine")  # in test_packed_models.py
LAYOUTS = {name: x for name, x in ALL.items() if name not in ELSEWHERE}
needs_safetensors = pytest.mark.extra("safetensors")


def save(path: Path, members: dict[str, tuple[str, tuple[int, ...], bytes]]) -> Path:
    """A safetensors file of tensors: format, shape, bytes."""
    table, data = {}, b""
    for name, (fmt, shape, own) in members.items():
        table[name] = {"dtype": TYPES[fmt], "shape": shape, "data_offsets": [len(data), len(data) + len(own)]}
        data += own
    text = json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def stream(codes: np.ndarray, width: int) -> bytes:
    """A row of codes as a little-endian stream of bits."""
    bits = "".join(format(int(c), f"0{width}b")[::-1] for c in codes)
    return bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, len(bits), 8))


class Weight:
    """A random weight in a layout, with the definition of its values."""

    def __init__(self, layout: Layout, shape: tuple[int, ...], scales: tuple[int, ...], seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.layout, self.shape = layout, shape
        stored = layout.codes.formats[0]
        self.element = sf.get_format(layout.elements or stored)
        self.scale = sf.get_format(layout.scale or layout.scales.formats[0])
        self.codes = rng.integers(0, 1 << self.element.width, shape)
        self.scales = self._scale_codes(rng, scales)
        self.second = struct.unpack("<f", struct.pack("<f", 0.0123))[0]
        self.members = {layout.codes.named("m."): self._stored(stored)}
        self.members[layout.scales.named("m.")] = (
            layout.scales.formats[0], scales, self.scales.astype(f"<u{-(-self.scale.width // 8)}").tobytes()
        )  # fmt: skip
        if layout.tensor_scale.name:
            self.members[layout.tensor_scale.named("m.")] = ("fp32", (1,), struct.pack("<f", self.second))
        self.zeros = rng.integers(-128, 128, scales) if layout.zero_points.name else np.full(scales, layout.zero_point)
        if layout.zero_points.name:
            self.members[layout.zero_points.named("m.")] = ("i8", scales, self.zeros.astype(np.int8).tobytes())
        if layout.shape.name:
            self.members[layout.shape.named("m.")] = ("i64", (2,), struct.pack("<2q", *shape))

    def _scale_codes(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        if self.scale.width <= 8:
            return rng.integers(0, 1 << self.scale.width, shape)  # every code, NaN included
        values = (rng.normal(size=shape) * 0.1).astype(np.float32).view(np.uint32)
        return values >> (32 - self.scale.width) if self.scale.name == "bf16" else values

    def _stored(self, fmt: str) -> tuple[str, tuple[int, ...], bytes]:
        width, rows = self.element.width, self.codes.reshape(-1, self.shape[-1])
        if not self.layout.packing:
            if width < 8:
                return fmt, self.shape, stream(self.codes.reshape(-1), width)
            return fmt, self.shape, self.codes.astype(f"<u{width // 8}").tobytes()
        item = sf.get_format(fmt).width // 8
        data = [stream(row, width) for row in rows]
        data = [x + bytes(-len(x) % item) for x in data]
        shape = (*self.shape[:-1], len(data[0]) // item)
        if self.layout.merge:
            size = self.layout.block[-1] * width // 8
            shape = (*self.shape[:-1], shape[-1] // size, size)
        return fmt, shape, b"".join(data)

    def value(self, place: tuple[int, ...]) -> Fraction | float:
        """The value of one element, by the definition; NaN for one that has none."""
        blocks = [-(-n // s) for n, s in zip(self.shape, self._scale_shape(), strict=True)]
        for i, b in enumerate(((1,) * 9 + self.layout.block)[-len(self.shape) :]):
            blocks[i] = b or blocks[i]
        own = tuple(p // b for p, b in zip(place, blocks, strict=True))
        scale = sf.decode(int(self.scales.reshape(self._scale_shape())[own]), self.scale)
        zero = int(self.zeros.reshape(self._scale_shape())[own])
        element = sf.decode(int(self.codes[place]), self.element)
        if element.is_nan or scale.is_nan or not (element.is_finite and scale.is_finite):
            return (
                math.nan
                if element.is_nan or scale.is_nan or float(scale) == 0
                else math.copysign(math.inf, float(element) * float(scale))
            )
        value = (element.as_fraction() - zero) * scale.as_fraction()
        if not self.layout.tensor_scale.name:
            return value
        second = Fraction(self.second)
        return value * second if self.layout.tensor_scale_use == "multiply" else value / second

    def _scale_shape(self) -> tuple[int, ...]:
        shape = self.scales.shape if self.scales.size > 1 else ()
        return (*shape, *(1,) * (len(self.shape) - len(shape)))


def cases() -> list[Any]:
    """Every layout, with every way in which its scales may lie."""
    out = []
    for name, x in LAYOUTS.items():
        last = x.block[-1]
        if x.merge:
            places = [((2, 3, 3 * last), (2, 3, 3))]
        elif x.block == (128, 128):
            places = [((130, 260), (2, 3)), ((128, 128), (1, 1)), ((3, 5, 7), (3, 1, 1))]
        elif x.block == (0, 0):
            places = [((6, 96), (6, 1)), ((6, 96), (6,)), ((6, 96), (1,)), ((6, 96), (6, 3)), ((6, 96), (2, 96))]
            places = places[:1] + places[3:4] if x.shape.name else [*places, ((6, 96), ())]
        else:
            places = [((5, 4 * last), (5, 4)), ((2, 3, last), (2, 3, 1))]
            places += [((3, 2 * last + 8), (3, 3))] * x.short_blocks
        out += [pytest.param(name, *place, id=f"{name}-{'x'.join(map(str, place[1])) or 'one'}") for place in places]
    return out


@needs_safetensors
@pytest.mark.parametrize(("name", "shape", "scales"), cases())
def test_every_layout_by_its_definition(
    name: str, shape: tuple[int, ...], scales: tuple[int, ...], tmp_path: Path
) -> None:
    weight = Weight(LAYOUTS[name], shape, scales)
    listed = tensors(save(tmp_path / "m.safetensors", weight.members))
    assert len(listed) == 1, [t.name for t in listed]
    (t,) = listed
    assert isinstance(t, QuantizedTensor)
    assert t.shape == shape
    assert not t.skipped
    short, wide = t.read(0, t.size), t.read_exactly(0, t.size)
    assert (short.dtype, wide.dtype) == (np.float32, np.float64)
    assert np.array_equal(t.codes(0, t.size).reshape(shape), weight.codes)
    for i in np.random.default_rng(2).choice(t.size, min(t.size, 120), replace=False):
        value = weight.value(np.unravel_index(i, shape))
        if isinstance(value, float):
            assert np.array_equal([value, value], [short[i], wide[i]], equal_nan=True)
            continue
        assert abs(int(short.view(np.uint32)[i]) & 0x7FFFFFFF) == sf.encode(abs(value), "fp32").bits
        assert abs(float(wide[i])) == float(abs(value))
        assert value == 0 or (value < 0) == (short[i] < 0) == (wide[i] < 0)
    length, n = shape[-1], t.size
    for first, count in ((0, 1), (n - 1, 1), (length - 3, 6), (1, 5), (length, 2 * length), (7, n - 9)):
        part = t.read(first, count) if count > 0 else short[:0]
        assert np.array_equal(part.view(np.uint32), short[first : first + count].view(np.uint32))


@needs_safetensors
@pytest.mark.parametrize("name", [x for x in LAYOUTS if LAYOUTS[x].shape.name == "" or "int4" in x or "int3" in x])
def test_large_weights_are_the_small_ones(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled look-up and the loop of block formats, against the products of elements and scales."""
    layout = LAYOUTS[name]
    shape = (3, 700, 96) if layout.merge else (700, 320)
    blocks = [b or 32 for b in layout.block]
    weight = Weight(layout, shape, (*shape[:-2], -(-shape[-2] // max(blocks[-2], 1)), -(-shape[-1] // blocks[-1])))
    if layout.block == (0, 0):
        weight = Weight(layout, shape, (shape[0], shape[1] // 32))
    (t,) = tensors(save(tmp_path / "m.safetensors", weight.members))
    monkeypatch.setattr("softfloat_ref.arrays.kernels.dispatch.use_compiled", lambda *_: True)
    for arithmetic in ("exact", "producer"):
        fast = t.read(0, t.size, arithmetic=arithmetic)
        with monkeypatch.context() as patch:
            patch.setattr("softfloat_ref.nn.model_files.quantized.LayoutTensor._by_table", lambda *_: False)
            patch.setattr("softfloat_ref.nn.model_files.quantized.LayoutTensor._by_loop", lambda *_: None)
            slow = t.read(0, t.size, arithmetic=arithmetic)
        assert np.array_equal(fast.view(np.uint32), slow.view(np.uint32))


# -- what is not as a layout says --------------------------------------------------------------------------------------


@needs_safetensors
def test_scales_that_fit_no_layout_are_a_problem(tmp_path: Path) -> None:
    """Never read without their scales."""
    members = {"m.weight": ("fp8_e4m3", (6, 10), bytes(60)), "m.weight_scale": ("fp32", (4, 3), bytes(48))}
    save(tmp_path / "m.safetensors", members)
    t, scale = tensors(tmp_path / "m.safetensors")
    assert t.skipped == (
        "F8_E4M3 of shape 6x10, with m.weight_scale (F32, shape 4x3): no layout fits; describe one with --layouts"
    )
    assert scale.skipped == "weight_scale: accompanies weights or activations"
    assert "no layout fits" in refused("report", str(tmp_path / "m.safetensors"), "--fmt", "fp16")


@needs_safetensors
def test_short_blocks_fit_only_where_a_layout_has_them(tmp_path: Path) -> None:
    """Words of MLX's NVFP4 with one block a row would be MXFP4 with half a block."""
    members = {"m.weight": ("u32", (3, 2), bytes(24)), "m.scales": ("u8", (3, 1), bytes(3))}
    (t,) = tensors(save(tmp_path / "m.safetensors", members))
    assert isinstance(t, LayoutTensor)
    assert (t.shape, t.layout.name) == ((3, 16), "nvfp4-mlx")
    members = {"m.weight_packed": ("u8", (3, 12), bytes(36)), "m.weight_scale": ("u8", (3, 1), bytes(3))}
    assert "no layout fits" in tensors(save(tmp_path / "m.safetensors", members))[0].skipped
    for length, fits in ((8, False), (32, True)):  # in a word of 32 bits, 8 values may have 2, 3 or 4
        members = {
            "m.weight_packed": ("i32", (2, length // 8), bytes(length)),
            "m.weight_scale": ("fp32", (2, 1), bytes(8)),
            "m.weight_shape": ("i64", (2,), struct.pack("<2q", 2, length)),
        }
        (t, *_) = tensors(save(tmp_path / "m.safetensors", members))
        assert isinstance(t, QuantizedTensor) == fits


@needs_safetensors
def test_what_no_layout_knows(tmp_path: Path) -> None:
    members = {
        "a": ("e8m0", (4,), bytes(4)),
        "b": ("u8", (4,), bytes(4)),
        "c": ("fp4_e2m1", (4,), b"\x21\x43"),
        "d": ("fp6_e3m2", (4,), stream(np.array([1, 0, 33, 2]), 6)),
        "m.weight_packed": ("i32", (2, 1), bytes(8)),
        "m.weight_scale": ("fp32", (2, 1), bytes(8)),
        "m.weight_shape": ("i64", (2,), struct.pack("<2q", 2, 8)),
        "m.weight_zero_point": ("i32", (1, 1), bytes(4)),
    }
    by_name = {t.name: t for t in tensors(save(tmp_path / "m.safetensors", members))}
    assert by_name["a"].skipped == "F8_E8M0: scales of blocks, of a tensor that no layout knows (--layouts)"
    assert by_name["b"].skipped == "U8 is not a float type"
    assert by_name["c"].read(0, 4).tolist() == [0.5, 1.0, 1.5, 2.0]
    assert by_name["c"].read(1, 2).tolist() == [1.0, 1.5]
    assert by_name["d"].read(0, 4).tolist() == [0.0625, 0.0, -0.0625, 0.125]
    assert by_name["m.weight_packed"].skipped  # zero points that the layout does not read


@needs_safetensors
def test_swizzled_scales_are_not_read_as_others(tmp_path: Path) -> None:
    """Their shape may be that of scales in order; only the metadata tell."""
    weight = Weight(LAYOUTS["nvfp4-torchao"], (120, 64), (120, 4))  # no whole tile: not what the metadata say
    path = save(tmp_path / "m.safetensors", weight.members)
    assert isinstance(tensors(path)[0], QuantizedTensor)
    for swizzled in (False, True):
        note = json.dumps({"_type": "NVFP4Tensor", "_data": {"is_swizzled_scales": swizzled}})
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        table = {**json.loads(data[8 : 8 + size]), "__metadata__": {"m.weight": note}}
        text = json.dumps(table).encode()
        (tmp_path / "s.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])
        listed = {t.name: t for t in tensors(tmp_path / "s.safetensors")}
        assert isinstance(listed.get("m.weight"), QuantizedTensor) == (not swizzled)
    assert "no layout fits" in listed["m._weight_qdata"].skipped
    assert listed["m._weight_scale"].skipped == "swizzled scales, and no weight that they fit"


@needs_safetensors
def test_a_layout_of_ones_own(tmp_path: Path) -> None:
    weight = Weight(LAYOUTS["nvfp4-modelopt"], (3, 32), (3, 2))
    renamed = {k.replace("weight", "kernel"): v for k, v in weight.members.items()}
    path, own = save(tmp_path / "m.safetensors", renamed), tmp_path / "own.toml"
    assert all(not isinstance(t, QuantizedTensor) for t in tensors(path))
    own.write_text(
        '[layouts.mine]\nlike = "nvfp4-modelopt"\ncodes = { name = "kernel", formats = ["u8"] }\n'
        'scales = { name = "kernel_scale", formats = ["fp8_e4m3"] }\n'
        'tensor_scale = { name = "kernel_scale_2", formats = ["fp32"] }\n'
    )
    (t,) = tensors(path, [own])
    assert (t.name, t.fmt) == ("m.kernel", "nvfp4")
    assert "nvfp4   mine" in ok("unpack", str(path), "--layouts", str(own))


def test_the_table_of_layouts_is_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "checkpoints.md").read_text()
    rows = [f"| `{x.name}` | {x.source} | {x.checked} |" for x in ALL.values()]
    assert [line for line in page.splitlines() if line in rows] == rows
    keys = {
        key
        for line in page.splitlines()
        if line.startswith("| `")
        for key in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert {x.name for x in dataclasses.fields(Layout)} - {"name", "source", "checked"} <= keys


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"no \[layouts.NAME\] table"),
        ("[layout.x]\n", "unknown table 'layout'"),
        ("layouts = 3\n", "is not of type table"),
        ("[layouts.x]\n", "codes, scales missing"),
        ('[layouts.x]\nlike = "nvfp4"\n', "unknown layout in like of 'x'"),
        ('[layouts.x]\nlike = "fp8"\nblock = [-1]\n', r"block = \[-1\]"),
        ('[layouts.x]\nlike = "fp8"\npacking = "low-first"\n', "packing needs the format of the elements"),
        ('[layouts.x]\nlike = "fp8"\nelements = "fp4_e2m1"\npacking = "low"\n', "unknown packing of layout 'x'"),
        ('[layouts.x]\nlike = "fp8"\narithmetic = "fast"\n', "unknown arithmetic of layout 'x'"),
        ('[layouts.x]\nlike = "fp8"\nscale = "fp9"\n', "unknown format"),
        ('[layouts.x]\nlike = "fp8"\ncodes = { name = "a*b", formats = ["u8"] }\n', "the last part of a tensor's name"),
    ],
)
def test_broken_layouts(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(Error, match=message) as refusal:
        layout_table([tmp_path / "own.toml"])
    assert str(refusal.value).startswith(str(tmp_path / "own.toml"))


# -- shards, and arrays without a type ---------------------------------------------------------------------------------


@needs_safetensors
def test_shards(tmp_path: Path) -> None:
    """Codes and scales in different files; by the folder, by the index, and by the files."""
    weight = Weight(LAYOUTS["nvfp4-modelopt"], (3, 32), (3, 2))
    (name, codes), *rest = weight.members.items()
    files = [save(tmp_path / "a.safetensors", {name: codes}), save(tmp_path / "b.safetensors", dict(rest))]
    places = {name: "a.safetensors", **dict.fromkeys(dict(rest), "b.safetensors")}
    index = tmp_path / "model.safetensors.index.json"
    by_folder = tensors(tmp_path)
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    from softfloat_ref.nn.model_files import model_tensors

    for listed in (by_folder, tensors(tmp_path), tensors(index), model_tensors(files)):
        (t,) = listed
        assert np.array_equal(t.codes(0, t.size).reshape(t.shape), weight.codes)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{", "not valid JSON|JSON"),
        ("[]", "not an index"),
        ('{"weight_map": {}}', "not an index"),
        ('{"weight_map": {"w": 3}}', "not an index"),
        ('{"weight_map": {"w": "../m.npz"}}', "is not a model's file in this folder"),
        ('{"weight_map": {"w": "m.json"}}', "is not a model's file in this folder"),
        ('{"weight_map": {"w": "m.npz"}}', "No such file"),
        ('{"weight_map": {"w": "w.npz", "v": "w.npz"}}', "the index has v"),
    ],
)
def test_broken_indexes(index: str, message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", w=np.ones((2, 2), np.float32))
    (tmp_path / "m.index.json").write_text(index)
    with pytest.raises(Error, match=message):
        tensors(tmp_path / "m.index.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Error, match="a folder without a model's files"):
        tensors(tmp_path / "empty")


UNTYPED = [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz]


@pytest.mark.parametrize("kind", UNTYPED)
@pytest.mark.parametrize("way", ["npy", "npz", "deflated", "fortran"])
def test_arrays_of_ml_dtypes(kind: Any, way: str, tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=(6, 10)).astype(np.float32).astype(kind)
    x = np.asfortranarray(x) if way == "fortran" else x
    path = tmp_path / ("m.npy" if way in ("npy", "fortran") else "m.npz")
    if path.suffix == ".npy":
        np.save(path, x)
    else:
        (np.savez if way == "npz" else np.savez_compressed)(path, m=x)
    name = sf.get_format(kind).name
    (t,) = tensors(path)
    assert "bytes without a type" in t.skipped
    assert "name their format with --stored" in refused("report", str(path), "--fmt", "mxfp8")
    (t,) = tensors(path, stored=[name])
    assert np.array_equal(t.read(0, 60).reshape(6, 10), x.astype(np.float32))
    (t,) = tensors(path, stored=[f"m={name}"])
    assert t.fmt == name
    with pytest.raises(Error, match="bits, but fp32 has 32"):
        tensors(path, stored=["fp32"])
    with pytest.raises(Error, match="no tensor matches w"):
        tensors(path, stored=[f"w={name}"])
