"""Packed layouts, files and exchange types: each against a definition of its own, bit by bit."""

from __future__ import annotations

import io
import itertools
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softfloat_ref as sf
from softfloat_ref import blocks, exchange, packing
from softfloat_ref.block_formats import BLOCK_FORMATS, get_block_format
from softfloat_ref.errors import Error
from softfloat_ref.formats import CATALOGUE

FORMATS = [
    *BLOCK_FORMATS,
    "fp8_e4m3@e8m0/7",
    "fp4_e2m1@ue5m3/5",
    "s1e2m2finite@e8m0/9",
    "bf16@fp32/axis",
    "s1e4m7@fp16/3",
    "fp6_e3m2@e8m0/tensor",
    "flexfp_e5m13",
]
SHAPES = [(1,), (70,), (3, 64), (2, 5, 33), (4, 1, 16), (0,), (0, 3), (3, 0)]
PAGE = Path(__file__).parents[1] / "docs" / "packing.md"


def layouts(width: int) -> list[str]:
    names = [x.name for x in packing.ELEMENT_LAYOUTS.values() if x.width in (0, width)]
    return [f"{e}+{s}" for e in names for s in packing.SCALE_LAYOUTS]


def random_array(fmt: str, shape: tuple[int, ...], axis: int, profile: str | None = None) -> blocks.BlockArray:
    """Random codes and scales, not only those that a quantization makes."""
    rng = np.random.default_rng(len(shape))
    made = blocks.quantize(np.zeros(shape, np.float32), fmt, axis, profile)
    draw = lambda a, f: rng.integers(0, 1 << f.width, a.shape, dtype=np.uint64).astype(a.dtype)  # noqa: E731
    codes, scales = draw(made.codes, made.fmt.element), draw(made.scales, made.fmt.scale)
    return blocks.BlockArray(codes, scales, made.fmt, made.axis, made.profile, made.tensor_scale)


def same(a: blocks.BlockArray, b: blocks.BlockArray) -> bool:
    arrays = all(
        x.dtype == y.dtype and x.shape == y.shape and (x == y).all()
        for x, y in ((a.codes, b.codes), (a.scales, b.scales))
    )
    return arrays and (a.fmt, a.axis, a.profile, a.tensor_scale) == (b.fmt, b.axis, b.profile, b.tensor_scale)


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
    }[name]
    size = {"dense": -(-n * width // 8), "bytes": n * each}.get(name, half)
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
                with pytest.raises(Error, match="8 bits at most"):
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


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_layout_comes_back(fmt: str) -> None:
    found = get_block_format(fmt)
    for shape in SHAPES:
        for axis in range(-1, len(shape) - 1):
            q = random_array(fmt, shape, axis)
            for name in layouts(found.element.width):
                if name.endswith("swizzled") and found.scale.width > 8:
                    continue
                packed = q.pack(name)
                assert same(blocks.unpack(packed, found, shape, axis, name, tensor_scale=None), q)
                again = blocks.unpack(packed.data.reshape(-1), found, shape, axis, name, scales=packed.scales)
                assert same(again, q)


def test_blocks_across_rows() -> None:
    q = random_array("mxfp4", (3, 40), 1, "ocp,tail=flatten")
    assert q.pack().data.shape == (64,)
    for name in layouts(4):
        assert same(blocks.unpack(q.pack(name), "mxfp4", (3, 40), 1, name, profile="ocp,tail=flatten"), q)


def test_ggml_block() -> None:
    """block_mxfp4 is 17 bytes: the scale, then 16 bytes of which byte j has elements j (low) and j + 16 (high)."""
    codes = np.arange(32, dtype=np.uint8) % 16
    codes[16:] = codes[16:][::-1]
    q = blocks.assemble(codes, np.array([0x7C], np.uint8), "mxfp4")
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
    with pytest.raises(Error, match="a layout is a name"):
        q.pack(3)  # type: ignore[arg-type]
    with pytest.raises(Error, match="elements of 4 bits, not 8"):
        random_array("mxfp8", (2, 64), -1).pack("halves")
    packed = q.pack()
    for shape, message in (
        ((2, 65), "have 64 bytes; this shape and layout have 96"),
        ((64,), "have 64 bytes; this shape and layout have 32"),
        ((2, -64), "hold no array of shape"),
        ((1 << 40, 1 << 40), "hold no array of shape"),
        ((0, 1 << 100), "hold no array of shape"),
        ((0,) * 70, "hold no array of shape"),
        ((2.0, 64), "hold no array of shape"),
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
        blocks.unpack(np.zeros(8, np.uint8), "nvfp4", (16,), scales=np.full(1, 0xFF, np.uint8))
    with pytest.raises(Error, match="matrix of bytes"):
        packing.swizzle(np.zeros(3, np.uint8))
    with pytest.raises(Error, match=re.escape("scales of shape (1,); codes of shape (64,) have scales of shape (2,)")):
        blocks.assemble(np.zeros(64, np.uint8), np.zeros(1, np.uint8), "mxfp4")


def test_padding_is_not_looked_at() -> None:
    data, scales = np.full(16, 0xFF, np.uint8), np.full(1, 0x7F, np.uint8)
    assert blocks.unpack(data, "mxfp4", (3,), scales=scales).codes.tolist() == [15, 15, 15]


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMATS)
def test_files_come_back(fmt: str, tmp_path: Path) -> None:
    for i, (shape, axis) in enumerate((((70,), 0), ((2, 33, 3), 1), ((0, 4), 0))):
        q = random_array(fmt, shape, axis)
        blocks.save(tmp_path / "q.npz", q)
        assert same(blocks.load(tmp_path / "q.npz"), q)
        if i == 0:
            first = (tmp_path / "q.npz").read_bytes()
            blocks.save(tmp_path / "again.npz", blocks.load(tmp_path / "q.npz"))
            assert (tmp_path / "again.npz").read_bytes() == first


def test_files_keep_everything(tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((4, 64)).astype(np.float32)
    for profile in ("nvfp4", "nvfp4,scale_low=smallest-normal,negative_zero=drop"):
        q = blocks.quantize(x, "nvfp4", profile=profile)
        assert q.tensor_scale != blocks.ONE
        blocks.save(tmp_path / "q.npz", q)
        back = blocks.load(tmp_path / "q.npz")
        assert same(back, q)
        assert (back.dequantize() == q.dequantize()).all()
    assert list(tmp_path.iterdir()) == [tmp_path / "q.npz"]


def test_a_profile_in_a_file_is_kept_whole(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('[profiles.mine]\nscale_rule = "ceil"\n')
    fmt = blocks.BlockFormat("mine", CATALOGUE["fp8_e4m3"], CATALOGUE["e8m0"], 8, f"{tmp_path}/p.toml:mine")
    q = blocks.quantize(np.arange(20.0), fmt)
    blocks.save(tmp_path / "q.npz", q)
    (tmp_path / "p.toml").unlink()
    back = blocks.load(tmp_path / "q.npz")
    assert back.profile == q.profile
    assert back.fmt.element == q.fmt.element
    assert (back.codes == q.codes).all()


def written(tmp_path: Path, **changed: object) -> Path:
    """A good file, some members of which are replaced (None: left out)."""
    q = random_array("mxfp4", (2, 64), -1)
    blocks.save(tmp_path / "good.npz", q)
    with np.load(tmp_path / "good.npz") as found:
        members = {name: found[name] for name in found.files}
    if "definition" in changed and isinstance(changed["definition"], dict):
        table = json.loads(members["definition"].tobytes())
        for key, value in changed["definition"].items():
            inner, _, last = key.rpartition(".")
            (table[inner] if inner else table)[last] = value
        changed["definition"] = np.frombuffer(json.dumps(table).encode(), np.uint8)
    members |= changed  # type: ignore[arg-type]
    path = tmp_path / "bad.npz"
    np.savez(path, **{k: v for k, v in members.items() if v is not None})  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"codes": None}, "holds codes, scales, tensor_scale, definition and nothing else"),
        ({"more": np.zeros(3)}, "and nothing else"),
        ({"codes": np.array([{}], dtype=object)}, "an array of object"),
        ({"codes": np.zeros((2, 64))}, "an array of float64"),
        ({"codes": np.zeros((2, 64), np.uint16)}, "codes of fp4_e2m1 are uint8"),
        ({"codes": np.full((2, 64), 16, np.uint8)}, "codes of fp4_e2m1 have 4 bits"),
        ({"codes": np.zeros((2, 65), np.uint8)}, "have scales of shape (2, 3)"),
        ({"codes": np.zeros((64, 2), np.uint8).T}, "C order"),
        ({"codes": np.zeros((), np.uint8)}, "0-dimensional"),
        ({"scales": np.zeros((2, 3), np.uint8)}, "scales of shape (2, 3)"),
        ({"tensor_scale": np.uint32(0)}, "no positive finite number"),
        ({"tensor_scale": np.uint32(0x7F800000)}, "no positive finite number"),
        ({"tensor_scale": np.uint32(0xBF800000)}, "no positive finite number"),
        ({"tensor_scale": np.zeros(1, np.uint32)}, "no FP32 code"),
        ({"definition": np.zeros(3, np.uint8)}, "no JSON text"),
        ({"definition": np.frombuffer(b"[" * 60000, np.uint8)}, "no JSON text"),
        ({"definition": np.frombuffer(b"9" * 60000, np.uint8)}, "no JSON text"),
        ({"definition": np.zeros(1 << 17, np.uint8)}, "no JSON text"),
        ({"definition": {"kind": "other"}}, "kind is not"),
        ({"definition": {"axis": 5}}, "axis 5 is out of range"),
        ({"definition": {"axis": True}}, "axis missing"),
        ({"definition": {"profile": "ocp"}}, "profile or axis missing"),
        ({"definition": {"format.element": "fp4_e2m1"}}, "not given in full"),
        ({"definition": {"format.element": {"like": "/etc/x.toml", "name": "x"}}}, "not given in full"),
        ({"definition": {"format.profile": "/etc/x.toml:y"}}, "not given in full"),
        ({"definition": {"profile.like": "/etc/x.toml:y"}}, "not given in full"),
        ({"definition": {"profile.scale_rule": "no"}}, "unknown scale_rule"),
        ({"definition": {"profile.flush_below": "x"}}, "no exponent of two"),
        ({"definition": {"format.size": 10**9}}, "a block has 1 to"),
        ({"definition": {"format.size": "x"}}, "a block has 1 to"),
        ({"definition": {"format.element": {"name": "x", "exponent_bits": 10**9}}}, "missing"),
    ],
)
def test_bad_files(changed: dict[str, object], message: str, tmp_path: Path) -> None:
    path = written(tmp_path, **changed)
    with pytest.raises(Error) as e:
        blocks.load(path)
    assert message in str(e.value)
    assert str(e.value).startswith(f"{path}: ")
    assert "\n" not in str(e.value)


def test_bombs_and_lies(tmp_path: Path) -> None:
    blocks.save(tmp_path / "good.npz", random_array("mxfp4", (2, 64), -1))
    whole = (tmp_path / "good.npz").read_bytes()
    bad = tmp_path / "bad.npz"
    with np.load(tmp_path / "good.npz") as found:
        np.savez_compressed(bad, **{name: found[name] for name in found.files})
    with pytest.raises(Error, match="compressed"):
        blocks.load(bad)
    lie = io.BytesIO()
    with zipfile.ZipFile(lie, "w") as archive:
        for name in ("codes", "scales", "tensor_scale", "definition"):
            header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000, 1000), }"
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    bad.write_bytes(lie.getvalue())
    with pytest.raises(Error, match="0 bytes of data do not fit shape"):
        blocks.load(bad)
    at = whole.index(b"PK\x01\x02") + 20  # the first member's sizes in the directory
    bad.write_bytes(whole[:at] + (0x7FFFFFF0).to_bytes(4, "little") * 2 + whole[at + 8 :])
    with pytest.raises(Error, match="more bytes than the file"):
        blocks.load(bad)
    bad.write_bytes(whole.replace(b"(2, 64)", b"(2, -4)"))
    with pytest.raises(Error, match=r"bad.npz: "):
        blocks.load(bad)
    for content in (b"", b"PK", whole[:200], whole[:-30]):
        bad.write_bytes(content)
        with pytest.raises(Error, match=r"bad\.npz: "):
            blocks.load(bad)
    with pytest.raises(Error, match="No such file"):
        blocks.load(tmp_path / "missing.npz")
    with pytest.raises(Error, match="s a directory"):
        blocks.load(tmp_path)
    with pytest.raises(Error, match="cannot be written"):
        blocks.save(tmp_path / "missing" / "q.npz", random_array("mxfp4", (64,), 0))


def good_bytes(tmp: Path) -> bytes:
    blocks.save(tmp / "good.npz", random_array("mxfp6", (2, 40), -1))
    return (tmp / "good.npz").read_bytes()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Path]:
    folder = tmp_path_factory.mktemp("files")
    return good_bytes(folder), folder / "bad.npz"


@settings(max_examples=300, deadline=None)
@given(edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=6), keep=st.floats(0, 1))
def test_damaged_files_are_errors_or_good(
    good: tuple[bytes, Path], edits: list[tuple[float, int]], keep: float
) -> None:
    whole, path = bytearray(good[0]), good[1]
    for where, value in edits:
        whole[int(where * (len(whole) - 1))] = value
    path.write_bytes(bytes(whole[: int(keep * len(whole))] if keep < 0.3 else whole))
    message = ""
    try:
        assert blocks.load(path).codes.shape == (2, 40)
    except Error as e:
        message = str(e)
    assert "\n" not in message


# -- ml_dtypes and torch ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3", "float8_e4m3fnuz",
    "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
    "bfloat16", "float16"])  # fmt: skip
def test_ml_dtypes_are_views(name: str) -> None:
    fmt = sf.get_format(name)
    codes = np.arange(1 << fmt.width, dtype=sf.arrays.code_dtype(fmt)).reshape(2, -1)
    theirs = exchange.to_ml_dtypes(codes, fmt)
    assert theirs.dtype == np.dtype(getattr(ml_dtypes, name, name))
    with np.errstate(invalid="ignore"):
        assert np.array_equal(theirs.astype(np.float64), sf.arrays.decode_float64(codes, fmt), equal_nan=True)
    back, found = exchange.from_ml_dtypes(theirs)
    assert found == fmt
    assert (back == codes).all()


def test_exchange_refuses() -> None:
    with pytest.raises(Error, match="ml_dtypes has no type for int8; it has types for fp16"):
        exchange.to_ml_dtypes(np.zeros(3, np.uint8), "int8")
    with pytest.raises(Error, match="unsigned integers of 4 bits"):
        exchange.to_ml_dtypes(np.full(3, 16, np.uint8), "fp4_e2m1")
    with pytest.raises(Error, match="unsigned integers of 4 bits"):
        exchange.to_ml_dtypes(np.zeros(3), "fp4_e2m1")
    with pytest.raises(Error, match="not a float type"):
        exchange.from_ml_dtypes(np.zeros(3, np.int8))
    with pytest.raises(Error, match="an array of fp8_e5m2 where fp8_e4m3 is wanted"):
        exchange.from_ml_dtypes(np.zeros(3, ml_dtypes.float8_e5m2), "fp8_e4m3")
    with pytest.raises(Error, match="code 80 does not fit ue4m3"):
        exchange.from_ml_dtypes(np.full(3, -0.0, ml_dtypes.float8_e4m3fn), "ue4m3")
    with pytest.raises(Error, match="code ff does not fit fp4_e2m1"):
        exchange.from_ml_dtypes(np.full(3, 255, np.uint8).view(ml_dtypes.float4_e2m1fn))


@pytest.mark.extra
def test_torch_tensors_are_views() -> None:
    torch = pytest.importorskip("torch")
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "bfloat16",
                 "float16", "float32", "float64"):  # fmt: skip
        fmt = sf.get_format(name)
        codes = np.arange(256, dtype=sf.arrays.code_dtype(fmt)).reshape(4, 64) << max(0, fmt.width - 8)
        tensor = exchange.to_torch(codes, fmt)
        assert tensor.dtype == getattr(torch, name)
        values = tensor.to(torch.float64).numpy()
        assert np.array_equal(values, sf.arrays.decode_float64(codes, fmt), equal_nan=True)
        back, found = exchange.from_torch(tensor)
        assert found == fmt
        assert (back == codes).all()
    codes = np.random.default_rng(1).integers(0, 16, (4, 64), dtype=np.uint8)
    tensor = exchange.to_torch(codes, "fp4_e2m1")
    assert tensor.dtype == torch.float4_e2m1fn_x2
    assert tuple(tensor.shape) == (4, 32)
    assert (exchange.from_torch(tensor)[0] == codes).all()
    assert (exchange.from_torch(exchange.to_torch(codes, "fp4_e2m1")[1:])[0] == codes[1:]).all()
    for bad, message in (((np.zeros(3, np.uint8), "fp4_e2m1"), "in pairs"), ((codes, "fp6_e3m2"), "torch has no type")):
        with pytest.raises(Error, match=message):
            exchange.to_torch(*bad)
    for bad, message in ((np.zeros(3), "is no torch tensor"), (torch.zeros(3, dtype=torch.int8), "tensor of int8")):
        with pytest.raises(Error, match=message):
            exchange.from_torch(bad)


@pytest.mark.extra
@pytest.mark.parametrize("fmt", ["mxfp8", "mxfp8_e5m2", "mxfp4", "nvfp4"])
def test_torch_blocks(fmt: str) -> None:
    pytest.importorskip("torch")
    x = np.random.default_rng(2).standard_normal((4, 64)).astype(np.float32)
    q = blocks.quantize(x, fmt, tensor_scale=1.0)
    assert same(blocks.from_torch(*q.to_torch(), fmt), q)
    with pytest.raises(Error, match="scales of shape"):
        blocks.from_torch(q.to_torch()[0], q.to_torch()[1][:2], fmt)


@pytest.mark.extra
def test_torch_tensors_are_quantized_as_they_are() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(3, 70, generator=torch.Generator().manual_seed(1))
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        tensor = x.to(dtype).requires_grad_()
        values = tensor.detach().to(torch.float64).numpy()
        for fmt in ("mxfp4", "mxfp8"):
            assert (blocks.quantize(tensor, fmt).codes == blocks.quantize(values, fmt).codes).all()
        assert (sf.arrays.encode(tensor, "fp8_e4m3") == sf.arrays.encode(values, "fp8_e4m3")).all()
    assert sf.arrays.encode(torch.arange(5), "fp8_e5m2").tolist() == sf.arrays.encode(np.arange(5), "fp8_e5m2").tolist()


# -- the page --------------------------------------------------------------------------------------------------------


def table(after: str) -> dict[str, str]:
    lines = itertools.takewhile(lambda x: x.startswith("|"), PAGE.read_text().split(after)[1].strip().splitlines())
    rows = [[c.strip().strip("`") for c in line.strip("|").split("|")] for line in list(lines)[2:]]
    return {row[0]: row[-1] for row in rows}


def test_the_tables_are_the_registries() -> None:
    assert table("## Elements\n") == {x.name: x.used_by for x in packing.ELEMENT_LAYOUTS.values()}
    assert table("## Scales\n") == packing.SCALE_LAYOUTS
