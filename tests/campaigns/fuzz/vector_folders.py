"""Readers of folders of vectors: every type of file, manifests of sets and suites, the journal of an unfinished run."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final
from unittest import mock

from fuzz import structures
from fuzz.mutate import json_tree, npz_members
from fuzz.reader import LINE_WORDS, Reader, instead, put, refuse
from softfloat_ref.golden import parts, suites
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.journal import UNFINISHED
from softfloat_ref.golden.kinds.base import LINES
from softfloat_ref.golden.manifest import read_manifest, to_json
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.suites import generate_suite, read_suite, verify_suite
from softfloat_ref.golden.vector_recipes import set_of
from softfloat_ref.golden.verify import VerifyReport, _FolderCheck, stored_set, verify
from softfloat_ref.oracle.policies import Policy

generating: Final = sys.modules[generate.__module__]  # whose name is the function's too
COUNT: Final = 12
PART: Final = 4  # cases of a part, where one is killed
SET: Final = VectorSet.make("mul", "fp16", COUNT)
FEW: Final = VectorSet.make("convert", "fp32", 20, out="fp4_e2m1", policy=Policy(nan_missing="error"))
MIXED: Final = {
    "count": 9,
    "part": [{"op": ["add", "lt"], "fmt": "fp16"}, {"op": "convert", "fmt": "fp32", "out": "i8"}],
}
TYPES: Final = ("tv", "memh", "svh", "svpkg", "c", "csv", "jsonl", "coe", "mif", "ihex", "fptest", "npz")
PARTS: Final = ("tv", "memh")
SUITE: Final = {"count": 5, "set": [{"op": ["add", "neg"], "fmt": "fp16"}]}


KINDS: Final[dict[str, Callable[[], Any]]] = {
    "scalar": lambda: SET,
    "left_out": lambda: FEW,
    "stochastic": lambda: VectorSet.make(
        "convert", "fp32", COUNT, out="bf16", policy=Policy("sr", sr_bits=4), source="lfsr:width=8,taps=8.6.5.4,seed=1"
    ),
    "block": lambda: VectorSet.make("quantize", "mxfp4", 3),
    "dot": lambda: VectorSet.make("dot", "fp16", 3, acc="nvidia-v100", k=4),
    "mixed": lambda: set_of(MIXED),
    "intermediate": lambda: SET.with_unit(intermediate=True),
}


class _Known(VectorSet):
    """A set that no input changes: the oracle is asked for each of its lines once."""

    @cached_property
    def _cases(self) -> list[Any]:
        return list(super().inputs())

    @cached_property
    def _directed(self) -> Any:
        return super().directed()

    @cached_property
    def _lines(self) -> dict[Any, Any]:
        return {}

    def inputs(self) -> Any:
        return iter(self._cases)

    def directed(self) -> Any:
        return self._directed

    def line(self, inputs: Any) -> Any:
        if len(self._lines) > 10_000:  # inputs bring operands of their own
            self._lines.clear()
        key = tuple(inputs)
        if key not in self._lines:
            self._lines[key] = super().line(key)
        return self._lines[key]


def known(vectors: VectorSet) -> _Known:
    return _Known(**{f.name: getattr(vectors, f.name) for f in dataclasses.fields(VectorSet)})


def prepare(folder: Path) -> None:
    """The folders of vectors that the readers change a file of: each its own, so that none need be put back."""
    generate(SET, folder / "scalar", formats=(*LINES, "fptest"))
    for key in TYPES:
        shutil.copytree(folder / "scalar", folder / f"vectors_{key}")
    for name, vectors in KINDS.items():
        formats = ("csv", "jsonl", "npz") if name == "left_out" else ("tv", "memh")
        generate(vectors(), folder / f"manifest_{name}", formats=formats)
    generate(VectorSet.make("matmul", "fp16", 1, acc="exact", k=3, m=2, n=2), folder / "manifest_matmul")
    generate_suite(read_suite("few", SUITE), folder / "suite")
    _unfinished(folder)


class _Killed(BaseException):
    """As a process that ends in the middle."""


def _unfinished(folder: Path) -> None:
    """A folder as a killed process leaves it."""
    line, calls = VectorSet.line, 0

    def some(self: VectorSet, inputs: tuple[int, ...]) -> Any:
        nonlocal calls
        calls += 1
        if calls > 18:
            raise _Killed
        return line(self, inputs)

    with mock.patch.object(parts, "CASES_A_PART", PART), mock.patch.object(VectorSet, "line", some):
        try:
            generate(FEW, folder / "killed", formats=PARTS, resume=True)
        except _Killed:
            return
    raise AssertionError("nothing was killed")


def _vectors(folder: Path, key: str, **more: Any) -> Reader:
    """A type of file, its hash taken for right."""
    folder = folder / f"vectors_{key}"
    manifest = read_manifest(folder)
    vectors: Any = known(stored_set(folder, manifest))  # type: ignore[arg-type]
    lone = {**manifest, "files": [f for f in manifest["files"] if f["format"] == key]}
    path = folder / lone["files"][0]["name"]

    def run(data: bytes, _: Path) -> None:
        put(path, data)
        for sample in (None, 3):
            report = VerifyReport("x")
            _FolderCheck(folder, lone, vectors, report).lines(sample, False)
            refuse(report)

    return Reader(f"vectors_{key}", [path.read_bytes()], run, LINE_WORDS, **{"structure": structures.text, **more})


def _manifest(folder: Path, kind: str) -> Reader:
    path = folder / f"manifest_{kind}" / "manifest.json"

    def run(data: bytes, _: Path) -> None:
        put(path, data)
        refuse(verify(path.parent))

    words = ("like", "count", "seed", "name", "set", "files", "fields", "../../outside.toml:a", "sha256")
    return Reader(
        f"manifest_{kind}",
        [path.read_bytes()],
        run,
        words,
        mutator=json_tree,
        structure=structures.json_text,
    )


def _suite(folder: Path) -> Reader:
    path = folder / "suite" / "suite.json"
    reports = {p.parent: verify(p.parent) for p in path.parent.glob("*/manifest.json")}

    def remembered(folder: Path, sample: int | None, every: bool) -> VerifyReport:
        """The sets themselves are not changed: each is verified once."""
        if folder not in reports:
            return verify(folder, sample, every)
        return dataclasses.replace(reports[folder], problems=[])

    def run(data: bytes, _: Path) -> None:
        put(path, data)
        with instead((suites, "verify", remembered)):
            for _, report in verify_suite(path.parent):
                refuse(report)

    words = ("folder", "sets", "..", "/", "../scalar")
    return Reader("suite_manifest", [path.read_bytes()], run, words, mutator=json_tree, structure=structures.json_text)


def _journal(folder: Path) -> Reader:
    """What is continued has the bytes of what was never interrupted."""
    killed, place = folder / "killed", folder / "go_on"
    state = {p.name: p.read_bytes() for p in (killed / UNFINISHED).iterdir()}
    original = state.pop("journal.jsonl")
    few = known(FEW)
    generate(FEW, folder / "once", formats=PARTS)
    wanted = {p.name: p.read_bytes() for p in (folder / "once").iterdir()}

    (place / UNFINISHED).mkdir(parents=True)

    def lines(rng: Any, data: bytes) -> bytes:
        rows = data.splitlines()
        at = rng.randrange(len(rows))
        rows[at] = json_tree(rng, rows[at])
        return b"\n".join(rows) + b"\n"

    def run(data: bytes, _: Path) -> None:
        _emptied(place)
        _emptied(place / UNFINISHED)
        for name, content in state.items():
            put(place / UNFINISHED / name, content)
        put(place / UNFINISHED / "journal.jsonl", data)
        with instead((parts, "CASES_A_PART", PART), (shutil, "rmtree", _emptied), (generating, "to_json", _text)):
            generate(few, place, formats=PARTS, resume=True)
        if {p.name: p.read_bytes() for p in place.iterdir() if p.is_file()} != wanted:
            raise AssertionError("other bytes than those of an uninterrupted run")

    words = ("streams", "part", "cases", "lines")
    return Reader("journal", [original], run, words, mutator=lines, structure=structures.json_line)


def _emptied(folder: Path, ignore_errors: bool = False) -> None:
    """In place of removal, which readers may not do: so its own is seen."""
    for entry in os.scandir(folder):
        if entry.is_file():
            os.unlink(entry.path)


def _text(value: Any) -> str:
    """What `to_json` makes of a manifest, laid out once for each that there is."""
    return _laid_out(json.dumps(value))


@lru_cache(maxsize=64)
def _laid_out(text: str) -> str:
    return to_json(json.loads(text))


def readers(folder: Path) -> list[Reader]:
    """Those of a folder that `prepare` filled."""
    return [
        *(_vectors(folder, key) for key in TYPES[:-1]),
        _vectors(folder, TYPES[-1], mutator=npz_members, structure=structures.npz),
        *(_manifest(folder, kind) for kind in (*KINDS, "matmul")),
        _suite(folder),
        _journal(folder),
    ]
