"""Files of blocks: what comes back, what is kept, what is refused."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_blocks import FORMATS, random_array, same

from softfloat_ref import blocks
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.formats import CATALOGUE


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
        q = blocks.encode(x, "nvfp4", profile=profile)
        assert q.tensor_scale not in (None, 1.0)
        blocks.save(tmp_path / "q.npz", q)
        back = blocks.load(tmp_path / "q.npz")
        assert same(back, q)
        assert (back.decode() == q.decode()).all()
    assert list(tmp_path.iterdir()) == [tmp_path / "q.npz"]


def test_a_profile_in_a_file_is_kept_whole(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('[profiles.mine]\nscale_rule = "ceil"\n')
    fmt = BlockFormat("mine", CATALOGUE["fp8_e4m3"], CATALOGUE["e8m0"], 8, f"{tmp_path}/p.toml:mine")
    q = blocks.encode(np.arange(20.0), fmt)
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
    with np.load(tmp_path / "good.npz") as file:
        members = {name: file[name] for name in file.files}
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
        ({"codes": None}, "holds codes, definition; or codes, scales, tensor_scale, definition; or"),
        ({"more": np.zeros(3)}, "and nothing else"),
        ({"codes": np.array([{}], dtype=object)}, "an array of object"),
        ({"codes": np.zeros((2, 64))}, "codes.npy: float64, where its format has uint8"),
        ({"codes": np.zeros((2, 64), np.uint16)}, "codes.npy: uint16, where its format has uint8"),
        ({"codes": np.full((2, 64), 16, np.uint8)}, "codes of fp4_e2m1 have 4 bits"),
        ({"codes": np.zeros((2, 65), np.uint8)}, "have scales of shape (2, 3)"),
        ({"codes": np.zeros((64, 2), np.uint8).T}, "C order"),
        ({"codes": np.zeros((), np.uint8)}, "0-dimensional"),
        ({"scales": np.zeros((2, 3), np.uint8)}, "scales of shape (2, 3)"),
        ({"tensor_scale": np.float32(0)}, "not a positive finite number"),
        ({"tensor_scale": np.float32(np.inf)}, "not a positive finite number"),
        ({"tensor_scale": np.float32(-1)}, "not a positive finite number"),
        ({"tensor_scale": np.zeros(1, np.float32)}, "not an FP32 number"),
        ({"definition": np.zeros(3, np.uint8)}, "definition.npy: not valid JSON"),
        ({"definition": np.frombuffer(b"[" * 60000, np.uint8)}, "definition.npy: not valid JSON"),
        ({"definition": np.frombuffer(b"9" * 60000, np.uint8)}, "definition.npy: not valid JSON"),
        ({"definition": np.zeros(1 << 17, np.uint8)}, "not JSON text"),
        ({"definition": {"kind": "other"}}, "kind is not"),
        ({"definition": {"axis": 5}}, "axis 5 is out of range"),
        ({"definition": {"axis": True}}, "axis missing"),
        ({"definition": {"array": "affine"}}, "the array is affine, but the file holds"),
        ({"definition": {"array": "other"}}, "array is none of scalar, block, affine"),
        ({"definition": {"more": 1}}, "one is missing, or unknown"),
        ({"definition": {"profile": "ocp"}}, "profile is not given in full"),
        ({"definition": {"format.element": "fp4_e2m1"}}, "is given in full"),
        ({"definition": {"format.element": {"like": "/etc/x.toml", "name": "x"}}}, "is given in full"),
        ({"definition": {"format.profile": "/etc/x.toml:y"}}, "is given in full"),
        ({"definition": {"profile.like": "/etc/x.toml:y"}}, "is given in full"),
        ({"definition": {"profile.scale_rule": "no"}}, "unknown scale_rule"),
        ({"definition": {"profile.flush_below": "x"}}, "not an exponent of two"),
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
    with np.load(tmp_path / "good.npz") as members:
        np.savez_compressed(bad, **{name: members[name] for name in members.files})
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
    with pytest.raises(Error, match=r"its members claim \d+ bytes; the file has"):
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
