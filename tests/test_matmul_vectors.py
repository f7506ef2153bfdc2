"""Matrix products as memory images: what lies where, and that every damage is found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command import ok, refused, run

from softfloat_ref import blocks
from softfloat_ref.accumulate import dot
from softfloat_ref.block_formats import get_block_format
from softfloat_ref.errors import Error
from softfloat_ref.golden.dots import DotSet
from softfloat_ref.golden.kinds import read_set
from softfloat_ref.golden.matmul_files import generate_matmul
from softfloat_ref.golden.matmuls import MatmulSet
from softfloat_ref.golden.verify import verify


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


def test_images_read_as_a_bench_would(tmp_path: Path) -> None:
    """MXFP8, scales apart: every result is the dot product of the bytes in the images."""
    fmt, m, n, k, count = get_block_format("mxfp8"), 5, 3, 64, 3
    vectors = MatmulSet(DotSet.make("mxfp8", count, k=k, steps=True), m, n, "dense", 128)
    generate_matmul(vectors, tmp_path)
    parts = {name: image(tmp_path, name)[0] for name in ("a", "b", "a_scale", "b_scale", "c", "expected", "steps")}
    a, b = (np.frombuffer(parts[x], np.uint8).reshape(count, rows, k) for x, rows in (("a", m), ("b", n)))
    sa, sb = (np.frombuffer(parts[f"{x}_scale"], np.uint8).reshape(count, r, 2) for x, r in (("a", m), ("b", n)))
    c, d = (np.frombuffer(parts[x], "<u4").reshape(count, m, n) for x in ("c", "expected"))
    steps = np.frombuffer(parts["steps"], "<u4").reshape(count, m, n, 2)
    for p in range(count):
        for i in range(m):
            for j in range(n):
                scales = sa[p, i].tolist(), sb[p, j].tolist()
                found = dot(a[p, i].tolist(), b[p, j].tolist(), fmt, int(c[p, i, j]), "mx-fp32", scales=scales)
                assert found.bits == d[p, i, j] == steps[p, i, j, 1]
    assert verify(tmp_path).passed


def test_the_first_products_show_where_elements_go(tmp_path: Path) -> None:
    """The identity times B is B, and A times the identity is A."""
    vectors = MatmulSet(DotSet.make("fp8_e4m3", 2, k=4, acc="exact"), 4, 4)
    first, second = vectors.products()
    for p, side in ((first, first.b.T), (second, second.a)):
        wanted = blocks.arrays.decode(side, "fp8_e4m3")
        got = np.array(vectors.results(p)[0], np.uint32).view(np.float32).reshape(4, 4)
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


@pytest.mark.parametrize(("fmt", "layout"), LAYOUTS)
def test_every_layout(fmt: str, layout: str, tmp_path: Path) -> None:
    vectors = MatmulSet(DotSet.make(fmt, 6, k=64, out="fp32", acc="exact"), 3, 5, layout, 256)
    generate_matmul(vectors, tmp_path / "first")
    generate_matmul(vectors, tmp_path / "second")
    assert verify(tmp_path / "first").passed
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes()
    stored = json.loads((tmp_path / "first" / "manifest.json").read_text())
    assert read_set(stored["set"]) == vectors
    images = {i.name: i.data for i in vectors.operand_images(list(vectors.products()))}
    for wanted, found in zip(vectors.products(), vectors.unpacked(images), strict=True):
        for x, y in zip(wanted, found, strict=True):
            assert (x is None) == (y is None)
            assert x is None or (x == y).all()


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


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a result": (flip("expected.memh", 5), "but the oracle says"),
    "an element": (flip("a.memh", 9), "not the operands of this set"),
    "a scale": (flip("b_scale.memh", 2), "not the operands of this set"),
    "the addend": (flip("c.memh", 20), "not the operands of this set"),
    "a word more": (lambda f: (f / "c.memh").write_text((f / "c.memh").read_text() + "0" * 16 + "\n"), "words, but"),
    "no hexadecimal": (lambda f: change("c.memh", "\n0", "\nx", f), "hexadecimal"),
    "a short word": (lambda f: change("c.memh", "\n00", "\n", f), "64 bits"),
    "the header": (lambda f: change("vectors.svh", "MAT_K = 32", "MAT_K = 33", f), "header"),
    "an image missing": (lambda f: (f / "b.memh").unlink(), "missing"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found(damage: str, tmp_path: Path) -> None:
    folder = tmp_path / "v"
    generate_matmul(MatmulSet(DotSet.make("mxfp8", 3), 4, 4), folder)
    assert verify(folder).passed
    do, says = DAMAGES[damage]
    do(folder)
    assert not verify(folder).passed
    if (folder / "b.memh").exists():
        rehash(folder)
    report = verify(folder)
    assert not report.passed
    assert any(says in problem for problem in report.problems), report.problems


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
        read_set({**MatmulSet(DotSet.make("mxfp8", 1), 2, 2).to_dict(), "generator": "matmul-0"})
