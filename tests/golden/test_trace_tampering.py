"""A trace that was tampered with: one line says which file, tensor and element, what is expected and found."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import run

from softfloat_ref.golden.trace.files import write_trace
from softfloat_ref.golden.trace.step import trace_step
from softfloat_ref.nn.training_recipe import read_recipe

RECIPE: dict[str, Any] = {
    "model": {"kind": "mlp", "hidden": [6]},
    "data": {"name": "blobs", "train": 8, "test": 4, "features": 4},
    "training": {"epochs": 1, "batch": 2},
    "formats": {"vector": "bf16"},
}
NAME = "linear1/forward/biased"
FILE = "linear1.forward.biased.memh"
OTHER = "linear1.forward.biased_vector.memh"
GIVEN = "linear1.weight.memh"
SHAPE = [2, 6]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "trace"
    write_trace(*trace_step(read_recipe(RECIPE, "small"), 1), folder, ["test"])
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "t"))


Change = Callable[[Path], object]


def edit(how: Callable[[dict[str, Any]], object]) -> Change:
    def change(folder: Path) -> None:
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        how(manifest)
        path.write_text(json.dumps(manifest))

    return change


def flip(name: str, line: int) -> Change:
    """The last digit of a line, counted from 1."""

    def change(folder: Path) -> None:
        lines = (folder / name).read_text().split("\n")
        lines[line - 1] = lines[line - 1][:-1] + ("0" if lines[line - 1][-1] != "0" else "1")
        (folder / name).write_text("\n".join(lines))

    return change


def both(*changes: Change) -> Change:
    return lambda folder: [change(folder) for change in changes]


def vouch(folder: Path) -> None:
    """The manifest's hash made to fit."""
    data = (folder / FILE).read_bytes()
    edit(lambda m: listed(m, FILE).update(sha256=hashlib.sha256(data).hexdigest()))(folder)


def swap(folder: Path) -> None:
    first, second = (folder / name for name in (FILE, OTHER))
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)


def listed(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    return next(x for x in manifest["files"] if x["name"] == name)


def tensor(manifest: dict[str, Any]) -> dict[str, Any]:
    return next(x for x in manifest["set"]["tensors"] if x["name"] == NAME)


def node(manifest: dict[str, Any]) -> dict[str, Any]:
    return next(x for x in manifest["set"]["nodes"] if x["outputs"] == [NAME])


def cut(folder: Path) -> None:
    data = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(data[:-12])


HEADINGS = "its heading says '{}', but the manifest '{}'"
# what was done: exit code, and the lines, with * for a code
TAMPERED: dict[str, tuple[Change, int, list[str]]] = {
    "a flipped digit": (
        flip(FILE, 5),
        1,
        [f"{FILE}:5: {NAME}[0, 2] = *, but add of its inputs gives * (SHA-256 differs from the manifest's)"],
    ),
    "a flipped digit and a hash that fits": (
        both(flip(FILE, 9), vouch),
        1,
        [f"{FILE}:9: {NAME}[1, 0] = *, but add of its inputs gives *"],
    ),
    "a flipped digit in what is given": (
        flip(GIVEN, 5),
        1,
        [f"{GIVEN}: SHA-256 differs from the manifest's; no operation makes linear1/weight, so it is unknown "
         "which of its codes changed"],
    ),
    "two files that depend on each other": (
        both(flip(FILE, 5), flip(OTHER, 5)),
        1,
        [f"{FILE}:5: {NAME}[0, 2] = *, but add of its inputs gives * (SHA-256 differs from the manifest's)",
         f"{OTHER}: SHA-256 differs from the manifest's; an input of convert, which makes "
         f"{NAME}_vector, was changed too"],
    ),
    "a cut file": (cut, 1, [f"{FILE}: 11 lines of codes, the last of them cut, but {NAME} has 12, of 8 digits"]),
    "a letter that is no digit": (
        lambda folder: (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-2] + b"x\n"),
        1,
        [f"{FILE}:14: not 8 lower-case hexadecimal digits"],
    ),
    "a changed field": (
        edit(lambda m: m.update(count=3)), 1, ["manifest.json: count is '3', but its set makes it '*'"],
    ),
    "a changed step": (
        edit(lambda m: m["set"].update(step=2)),
        1,
        ["manifest.json: name is 'trace_small_step_1', but its set makes it 'trace_small_step_2'",
         "manifest.json: description is 'Every tensor of step 1 of the training recipe small', but its set makes it "
         "'Every tensor of step 2 of the training recipe small'"],
    ),
    "a changed hash": (
        edit(lambda m: listed(m, FILE).update(sha256="0" * 64)),
        1,
        [f"{FILE}: SHA-256 differs from the manifest's; the file is right: add of its inputs gives all codes of "
         f"{NAME}"],
    ),
    "a changed number of lines": (
        edit(lambda m: listed(m, FILE).update(lines=3)),
        1,
        [f"manifest.json: {FILE} has 3 lines, but its tensor 12 codes"],
    ),
    "swapped files": (
        swap,
        1,
        [f"{x}: " + HEADINGS.format(*pair) for x, pair in (
            (FILE, (f"{NAME}_vector: bf16, 2 x 6", f"{NAME}: fp32, 2 x 6")),
            (OTHER, (f"{NAME}: fp32, 2 x 6", f"{NAME}_vector: bf16, 2 x 6")))],
    ),
    "a missing file": (lambda folder: (folder / FILE).unlink(), 1, [f"{FILE}: missing; it holds {NAME}"]),
    "an extra file": (
        lambda folder: (folder / "more.memh").write_text("0\n"),
        1,
        ["more.memh: is in the folder, but not in the manifest"],
    ),
    "a renamed tensor": (
        edit(lambda m: tensor(m).update(name="linear1/forward/sum")),
        2,
        [f"softfloat-ref: */manifest.json: '{NAME}', which 'add' makes, is not in the list of tensors"],
    ),
    "a tensor renamed everywhere": (
        lambda folder: (folder / "manifest.json").write_text(
            (folder / "manifest.json").read_text().replace(f'"{NAME}"', '"linear1/forward/sum"')
        ),
        1,
        ["manifest.json: linear1.forward.sum.memh of linear1/forward/sum is not in its list of files",
         f"manifest.json: lists the file '{FILE}', but has no tensor of this name"],
    ),
    "a wrong shape": (
        edit(lambda m: tensor(m).update(shape=[3, 6])),
        2,
        [f"softfloat-ref: */manifest.json: {NAME}_vector: convert takes {NAME} in shape [2, 6], but it has 18 "
         "codes, in shape [3, 6]"],
    ),
    "a transposed shape": (
        edit(lambda m: tensor(m).update(shape=SHAPE[::-1])),
        1,
        [f"{FILE}: " + HEADINGS.format(f"{NAME}: fp32, 2 x 6", f"{NAME}: fp32, 6 x 2")],
    ),
    "a wrong format": (
        edit(lambda m: tensor(m).update(format="bf16")),
        1,
        [f"{FILE}: " + HEADINGS.format(f"{NAME}: fp32, 2 x 6", f"{NAME}: bf16, 2 x 6")],
    ),
    "an unknown format": (
        edit(lambda m: tensor(m).update(format="fp33")),
        2,
        [f"softfloat-ref: */manifest.json: tensor '{NAME}': its format 'fp33' is not among the formats of the trace"],
    ),
    "a changed operation": (
        edit(lambda m: node(m).update(op="sub")),
        1,
        [f"{FILE}:3: {NAME}[0, 0] = *, but sub of its inputs gives *; 11 more differ"],
    ),
    "an unknown operation": (
        edit(lambda m: node(m).update(op="plus")),
        1,
        [f"{NAME}: plus: this version does not have the operation"],
    ),
    "no operations": (
        edit(lambda m: m["set"].update(nodes=[])),
        2,
        ["softfloat-ref: */manifest.json: a trace without operations, in which there is nothing to verify"],
    ),
    "a changed header": (
        lambda folder: (folder / "trace.svh").write_text("x"),
        1,
        ["trace.svh:1: 'x', but the manifest makes it '// SPDX-License-Identifier: 0BSD'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERED)
def test_every_tampering_is_named(name: str, folder: Path) -> None:
    change, code, wanted = TAMPERED[name]
    change(folder)
    done = run("vectors", "verify", str(folder))
    assert done.returncode == code
    lines = (done.stdout if code == 1 else done.stderr).splitlines()
    assert len(lines) == len(wanted)
    for line, pattern in zip(lines, wanted, strict=True):
        assert re.fullmatch(re.escape(pattern).replace(r"\*", r"\S+"), line), line
    if code == 1:
        assert "FAILED" in done.stderr
        assert "restore the files, or write the trace again" in done.stderr
