"""Matrix products as memory images: what lies where, and that every damage is found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ok, refused, run

from softfloat_ref import arrays
from softfloat_ref.arrays import packing
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.accumulate import dot
from softfloat_ref.oracle.blocks.formats import BlockFormat, get_block_format


def image(folder: Path, name: str) -> tuple[bytes, dict[str, int]]:
    """The bytes of an image, product after product, read by the header alone."""
    values = {
        k: int(v) for k, v in re.findall(r"localparam int MAT_(\w+) = (\d+);", (folder / "vectors.svh").read_text())
    }
    words = [w for w in (folder / f"{name}.memh").read_text().splitlines() if not w.startswith("//")]
    assert all(len(w) * 4 == values["WORD"] for w in words)
    size, per = values[f"{name.upper()}_BYTES"], values[f"{name.upper()}_WORDS"]
    assert len(words) == per * values["COUNT"]
    parts = [b"".join(bytes.fromhex(w)[::-1] for w in words[i : i + per]) for i in range(0, len(words), per)]
    assert all(not any(p[size:]) for p in parts)
    return b"".join(p[:size] for p in parts), values


def taken(vectors: VectorSet, line: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """The inputs of a product by field."""
    codes = iter(line)
    return {f.name: tuple(islice(codes, f.lanes)) for f in vectors.unit.inputs}


def unpacked(unit: Any, images: dict[str, bytes], number: int, count: int) -> dict[str, list[int]]:
    """The inputs of a product, read back from the images."""
    lanes: dict[str, list[int]] = {}
    own = {name: data[len(data) // count * number :][: len(data) // count] for name, data in images.items()}
    for name, side, rows in (("a", unit.dot.a, unit.m), ("b", unit.dot.b, unit.n)):
        block = isinstance(side, BlockFormat)
        element, scale_width = (side.element, side.scale.width) if block else (side, 8)
        shape = (rows, unit.dot.k // side.size, side.size) if block else (rows, 1, unit.dot.k)
        data = np.frombuffer(own[name], np.uint8)
        apart = own.get(f"{name}_scale") if block else bytes(rows)
        scales = None if apart is None else np.frombuffer(apart, np.uint8)
        codes, scale_codes = packing.unpack(data, scales, shape, element.width, scale_width, unit.layout)
        if block:
            lanes[f"{name}_scale"] = scale_codes.reshape(-1).tolist()
        lanes[name] = codes.reshape(-1).tolist()
    size = -(-unit.dot.c.width // 8)
    lanes["c"] = [int.from_bytes(own["c"][i : i + size], "little") for i in range(0, len(own["c"]), size)]
    return lanes


def test_images_read_as_a_bench_would(tmp_path: Path) -> None:
    """MXFP8, scales apart: every result is the dot product of the bytes in the images."""
    fmt, m, n, k, count = get_block_format("mxfp8"), 5, 3, 64, 3
    vectors = VectorSet.make("matmul", "mxfp8", count, k=k, steps=True, m=m, n=n, word=128)
    generate(vectors, tmp_path)
    parts = {name: image(tmp_path, name)[0] for name in ("a", "b", "a_scale", "b_scale", "c", "expected", "steps")}
    a, b = (np.frombuffer(parts[x], np.uint8).reshape(count, rows, k) for x, rows in (("a", m), ("b", n)))
    sa, sb = (np.frombuffer(parts[f"{x}_scale"], np.uint8).reshape(count, r, 2) for x, r in (("a", m), ("b", n)))
    c, d = (np.frombuffer(parts[x], "<u4").reshape(count, m, n) for x in ("c", "expected"))
    steps = np.frombuffer(parts["steps"], "<u4").reshape(count, m, n, 2)
    for p in range(count):
        for i in range(m):
            for j in range(n):
                scales = sa[p, i].tolist(), sb[p, j].tolist()
                result = dot(a[p, i].tolist(), b[p, j].tolist(), fmt, int(c[p, i, j]), "mx-fp32", scales=scales)
                assert result.bits == d[p, i, j] == steps[p, i, j, 1]
    assert verify(tmp_path).passed


def test_the_first_products_show_where_elements_go(tmp_path: Path) -> None:
    """The identity times B is B, and A times the identity is A."""
    vectors = VectorSet.make("matmul", "fp8_e4m3", 2, k=4, acc="exact", m=4, n=4)
    first, second = vectors.inputs()
    for line, side in ((first, "b"), (second, "a")):
        codes = np.array(taken(vectors, line)[side], np.uint8).reshape(4, 4)
        wanted = arrays.decode(codes.T if side == "b" else codes, "fp8_e4m3")
        got = np.array(vectors.unit.answer(line), np.uint32).view(np.float32).reshape(4, 4)
        np.testing.assert_array_equal(got, wanted)


LAYOUTS = [
    ("mxfp4", "low-first+swizzled"),
    ("mxfp4", "high-first"),
    ("mxfp4", "halves+front"),
    ("mxfp6", "dense+behind"),
    ("mxfp6", "bytes"),
    ("nvfp4", "low-first+swizzled"),
    ("mxint8", "dense+front"),
    ("fp16", "dense"),
    ("a=mxfp8_e4m3,b=mxfp4_e2m1", "dense+swizzled"),
    ("a=fp8_e4m3,b=fp8_e5m2,c=fp16", "bytes"),
]


@pytest.mark.full(keep=6)
@pytest.mark.parametrize(("fmt", "layout"), LAYOUTS)
def test_every_layout(fmt: str, layout: str, tmp_path: Path) -> None:
    vectors = VectorSet.make("matmul", fmt, 6, k=64, out="fp32", acc="exact", m=3, n=5, layout=layout, word=256)
    generate(vectors, tmp_path / "first")
    generate(vectors, tmp_path / "second")
    assert verify(tmp_path / "first").passed
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes()
    stored = json.loads((tmp_path / "first" / "manifest.json").read_text())
    assert VectorSet.from_dict(stored["set"]) == vectors
    images = {path.stem: image(tmp_path / "first", path.stem)[0] for path in (tmp_path / "first").glob("*.memh")}
    for number, line in enumerate(vectors.inputs()):
        wanted, lanes = taken(vectors, line), unpacked(vectors.unit, images, number, vectors.count)
        assert wanted.keys() == lanes.keys()
        for name, codes in wanted.items():
            assert list(codes) == lanes[name], name


def change(name: str, old: str, new: str, folder: Path) -> None:
    path = folder / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))


def rehash(folder: Path) -> None:
    """Make the manifest vouch for what is there."""
    import hashlib

    manifest = json.loads((folder / "manifest.json").read_text())
    for f in manifest["files"]:
        f["sha256"] = hashlib.sha256((folder / f["name"]).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def flip(name: str, line: int) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / name
        lines = path.read_text().splitlines(keepends=True)
        lines[line] = ("1" if lines[line][-2] == "0" else "0").join([lines[line][:-2], "\n"])
        path.write_text("".join(lines))

    return damage


def add_word(path: Path) -> None:
    path.write_text(path.read_text() + "0" * 16 + "\n")


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a result": (flip("expected.memh", 5), r"expected\.memh:6: [0-9a-f]{16} but the oracle says [0-9a-f]{16}$"),
    "an element": (flip("a.memh", 9), r"a\.memh:10: [0-9a-f]{16} but the oracle says [0-9a-f]{16}$"),
    "a scale": (flip("b_scale.memh", 2), r"b_scale\.memh:3: [0-9a-f]{16} but the oracle says [0-9a-f]{16}$"),
    "the addend": (flip("c.memh", 20), r"c\.memh:21: [0-9a-f]{16} but the oracle says [0-9a-f]{16}$"),
    "a word more": (lambda f: add_word(f / "c.memh"), "c.memh: 25 lines, but the manifest counts 24"),
    "no hexadecimal": (lambda f: change("c.memh", "\n0", "\nx", f), r"c\.memh:3: x0{15} but the oracle says 0{16}$"),
    "a short word": (lambda f: change("c.memh", "\n00", "\n", f), r"c\.memh:3: 0{14} but the oracle says 0{16}$"),
    "the header": (lambda f: change("vectors.svh", "MAT_K = 32", "MAT_K = 33", f), "vectors.svh: the header does"),
    "an image missing": (lambda f: (f / "b.memh").unlink(), "b.memh: missing"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found(damage: str, tmp_path: Path) -> None:
    folder = tmp_path / "v"
    generate(VectorSet.make("matmul", "mxfp8", 3, m=4, n=4), folder)
    assert verify(folder).passed
    do, message = DAMAGES[damage]
    do(folder)
    assert not verify(folder).passed
    if (folder / "b.memh").exists():
        rehash(folder)
    report = verify(folder)
    assert not report.passed
    assert any(re.match(message, problem) for problem in report.problems), report.problems


def test_command(tmp_path: Path) -> None:
    folder = str(tmp_path / "v")
    arguments = ["--op", "matmul", "--fmt", "mxfp8", "--m", "4", "--n", "4", "--k", "64", "-n", "2", "-o", folder]
    ok("vectors", "generate", *arguments)
    ok("vectors", "verify", folder)
    ok("vectors", "generate", *arguments)  # the same set again
    refused("vectors", "generate", *arguments, "--layout", "bytes")  # another set in its place
    (tmp_path / "v" / "expected.memh").write_text("// nothing\n")
    assert run("vectors", "verify", folder).returncode == 1
    other = str(tmp_path / "w")
    for bad in (
        ["--layout", "halves"],
        ["--layout", "nowhere"],
        ["--word", "24"],
        ["--m", "2000"],
        ["--k", "48"],
        ["--round", "rtz"],
        ["--operands"],
    ):
        refused("vectors", "generate", "--op", "matmul", "--fmt", "mxfp8", *bad, "-o", other)
    refused("vectors", "generate", "--op", "matmul", "--fmt", "fp8_e4m3", "--layout", "dense+front", "-o", other)
    refused("vectors", "generate", "--op", "dot", "--fmt", "mxfp8", "--m", "4", "-o", other)
    refused("vectors", "generate", "--op", "add", "--fmt", "fp16", "--layout", "dense", "-o", other)
    assert not (tmp_path / "w").exists()
    refused("check", "--golden", folder, "--results", folder)
    with pytest.raises(Error):
        VectorSet.from_dict({**VectorSet.make("matmul", "mxfp8", 1, m=2, n=2).to_dict(), "generator": "matmul-0"})
