"""Readers of data: vectors and their manifests, arrays, numbers, answers, packed and quantized blocks."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final
from unittest import mock

import numpy as np

from fuzz import structures
from fuzz.mutate import json_tree, npy_header, npz_members
from fuzz.reader import Reader, in_file, put
from softfloat_ref import encode
from softfloat_ref.app import evaluate, serve
from softfloat_ref.app.dot import _codes
from softfloat_ref.app.quantize import read_npy, read_rows
from softfloat_ref.app.serve import Words, answerer
from softfloat_ref.arrays import captures, files, packing
from softfloat_ref.base.errors import Error
from softfloat_ref.golden import parts, suites
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.journal import UNFINISHED
from softfloat_ref.golden.kinds.base import LINES
from softfloat_ref.golden.manifest import read_manifest, to_json
from softfloat_ref.golden.readers import WaveSignals
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.suites import generate_suite, read_suite, verify_suite
from softfloat_ref.golden.vector_recipes import set_of
from softfloat_ref.golden.verify import VerifyReport, _FolderCheck, stored_set, verify
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.testing.answers import executed_cases
from softfloat_ref.testing.check import check_lines, check_results
from softfloat_ref.units import OperationUnit

generating: Final = sys.modules[generate.__module__]  # whose name is the function's too
COUNT: Final = 12
PART: Final = 4  # cases of a part, where one is killed
SET: Final = VectorSet.make("mul", "fp16", COUNT)
FEW: Final = VectorSet.make("convert", "fp32", 20, out="fp4_e2m1", policy=Policy(nan_missing="error"))
MIXED: Final = {
    "count": 9,
    "part": [{"op": ["add", "lt"], "fmt": "fp16"}, {"op": "convert", "fmt": "fp32", "out": "i8"}],
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


def _known(vectors: VectorSet) -> _Known:
    return _Known(**{f.name: getattr(vectors, f.name) for f in dataclasses.fields(VectorSet)})


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
_SET: Final = _known(SET)
TYPES: Final = ("tv", "memh", "svh", "svpkg", "c", "csv", "jsonl", "coe", "mif", "ihex", "fptest", "npz")
PARTS: Final = ("tv", "memh")
FORM_WORDS: Final = (
    "0b",
    "16'h",
    "'b",
    'x"',
    "@",
    "/*",
    "*/",
    ",",
    ";",
    ":",
    "[0..9]",
    "END;",
    "->",
    "=>",
    "+0F.000",
    "S",
)
WORDS: Final = (
    "0",
    "3C00",
    "7E00",
    "FFFF",
    "3c00_3c00_3c00_00",
    "0x",
    "//",
    " 00\n",
    "\r\n",
    "10",
    "1f",
    "a",
    "b",
    ",",
)
SUITE: Final = {"count": 5, "set": [{"op": ["add", "neg"], "fmt": "fp16"}]}


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


@contextmanager
def instead(*places: tuple[Any, str, Any]) -> Iterator[None]:
    """Attributes of modules with other values for a while; mock.patch would take longer than what is run."""
    before = [getattr(module, name) for module, name, _ in places]
    for module, name, value in places:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(places, before, strict=True):
            setattr(module, name, value)


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
    vectors: Any = _known(stored_set(folder, manifest))  # type: ignore[arg-type]
    lone = {**manifest, "files": [f for f in manifest["files"] if f["format"] == key]}
    path = folder / lone["files"][0]["name"]

    def run(data: bytes, _: Path) -> None:
        put(path, data)
        for sample in (None, 3):
            report = VerifyReport("x")
            _FolderCheck(folder, lone, vectors, report).lines(sample, False)
            refuse(report)

    return Reader(f"vectors_{key}", [path.read_bytes()], run, WORDS, **{"structure": structures.text, **more})


def refuse(report: Any) -> None:
    """What is found wrong counts as refused."""
    if report.problems:
        assert all("\n" not in p for p in report.problems)
        raise Error(report.problems[0][:300])


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
    few = _known(FEW)
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


def _npy_examples() -> list[bytes]:
    examples = []
    for array in (np.ones((4, 8), np.float32), np.arange(6, dtype=np.int16), np.full((2, 3, 4), 1e300)):
        out = io.BytesIO()
        np.save(out, array)
        examples.append(out.getvalue())
    return examples


def _npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _captures() -> list[bytes]:
    ones = np.ones((2, 4), np.uint32)
    return [_npz(a=ones, b=ones, c=ones[:, 0], d=ones[:, 0]), _npz(a=ones[0], b=ones[0], scales_a=ones[0, :1])]


def _arrays(folder: Path) -> list[bytes]:
    examples = []
    for fmt in ("mxfp8", "nvfp4", "msfp12", "fp8_e4m3", "qint8", "quint12"):
        files.save(folder / "b.npz", encode(np.ones((2, 40), np.float32), fmt))
        examples.append((folder / "b.npz").read_bytes())
    return examples


def _read_npy(path: str, _: Path) -> None:
    array = read_npy(path)
    if array.size < 1000:
        from softfloat_ref import arrays

        arrays.encode(np.asarray(array), "fp8_e4m3")


def _read_numbers(path: str, _: Path) -> None:
    for n, row in enumerate(read_rows(path), 1):
        for text in row:
            parse_number(text, f"{path}:{n}")


def _results(path: str, _: Path) -> None:
    results = check_results(_SET, path)
    list(executed_cases(_SET, path))
    if results.failure or results.mismatched:
        raise Error(results.failure or "mismatches")


def _waves(path: str, _: Path) -> None:
    signals = WaveSignals({"result": "q", "flags": "st[4:0]"}, "clk", "v")
    results = check_results(_SET, path, signals=signals)
    if results.failure or results.mismatched:
        raise Error(results.failure or "mismatches")


def _forms(lines: bytes) -> list[bytes]:
    """The same lines in other forms: tables, images of memories, those of other programs, other digits."""
    rows = [[int(word, 16) for word in line.split()] for line in lines.decode("ascii").splitlines()]
    words = [f"{a:04x}{b:04x}{r:04x}{flags:02x}" for a, b, r, flags in rows]
    records = [bytes([7, 0, i, 0]) + bytes.fromhex(word) for i, word in enumerate(words)]
    texts = [
        "\n".join(f"{a:016b} 0b{b:016b} 16'h{r:x} {flags:05b}" for a, b, r, flags in rows),
        "a,b,result,flags,tag\n" + "\n".join(f'{a:x},{b:x},{r:x},{flags:x},"x, y"' for a, b, r, flags in rows),
        "\n".join(f'{{"a":"{a:x}","b":{b},"result":"{r:x}","flags":"{f:x}"}}' for a, b, r, f in rows),
        "// a\n/* b */ @10 " + "\n".join(words),
        f"; c\nmemory_initialization_radix=16;\nmemory_initialization_vector=\n{', '.join(words)};",
        "WIDTH=56;\nDEPTH=12;\nADDRESS_RADIX=UNS;\nDATA_RADIX=HEX;\nCONTENT BEGIN\n"
        f"[0..0] : {words[0]};\n1 : " + " ".join(words[1:]) + "; -- d\nEND;",
        "\n".join(f":{x.hex()}{-sum(x) & 255:02x}" for x in records) + "\n:00000001FF\n",
        "Copyright of IBM Corp. 2005\nb16* =0 i +1.000P0 -1.200P3 -> -1.200P3 \n"
        "b16* =0 Q S -> # i\nb32+ =0 +Zero +Inf -> +Inf",
        "Errors found in f16_mul:\n+0F.000  -11.200\n\t=> -11.200 ....x  expected -11.200 .....\n",
    ]  # fmt: skip
    return [text.encode("ascii") for text in texts]


def _wave(lines: bytes) -> bytes:
    """A waveform with these results."""
    changes = ["$scope module tb $end $var wire 1 ! clk $end $var wire 1 v v $end $var wire 16 # q [15:0] $end"]
    changes += ["$var reg 8 $ st $end $upscope $end $enddefinitions $end #0 $dumpvars 0! 1v bx # bx $ $end"]
    for i, line in enumerate(lines.split(b"\n")[:-1]):
        result, flags = (int(word, 16) for word in line.split()[2:])
        changes.append(f"#{4 * i + 1}\nb{result:b} #\nb{flags:b} $\n#{4 * i + 2}\n1!\n#{4 * i + 4}\n0!")
    return "\n".join(changes).encode("ascii")


def _lines(path: str, _: Path) -> None:
    with open(path, encoding="utf-8", errors="replace") as stream:
        check_lines(_SET, stream)


def _operands(data: bytes, _: Path) -> None:
    unit = OperationUnit.make("fma", "fp16")
    words = Words(unit, None)
    reader, answer = answerer(unit, words, echo=True)
    if data.count(b"\n") >= 64:
        evaluate._in_bulk(unit, words, reader, data)
    for line in data.split(b"\n"):
        if line := line.strip():
            answer(line)


def _requests(data: bytes, _: Path) -> None:
    server = serve.Server()
    for line in data.split(b"\n"):
        if line := line.strip():
            answer = server.answer(line)
            assert answer.count(b"\n") == 1, answer
            assert answer.endswith(b"\n")


def _packed(data: bytes, _: Path) -> None:
    """The first line is a layout's name, and numbers: blocks, elements, bits, bits of a scale."""
    head, _, body = data.partition(b"\n")
    name, *numbers = head.decode("latin-1").split(" ")
    sizes = [int(x) if x.isdecimal() and len(x) < 20 else 1 for x in numbers][:4]
    rows, size, width, scale = [*sizes, 2, 32, 8, 8][:4] if len(sizes) < 4 else sizes
    width, scale = (min(max(x, 1), 64) for x in (width, scale))  # of formats, which no file changes
    raw, scales = np.frombuffer(body, np.uint8), None
    if not packing.get_layout(name).together:
        at = packing.swizzled_size(1, rows) if name.endswith("swizzled") else rows
        raw, scales = raw[at:], raw[:at]
    packing.unpack(raw, scales, (rows, size), width, scale, name)


def _operand_codes(data: bytes, _: Path) -> None:
    text = data.decode("utf-8", "surrogateescape")
    options = {"values": len(text) % 2 == 1, "printed_from": "fp32" if len(text) % 3 else None}
    _codes(text, get_format("fp16"), options, "a")


def readers(folder: Path) -> list[Reader]:
    """Those of data, in a folder that `prepare` filled."""
    lines = b"".join((folder / "scalar").joinpath(p.name).read_bytes() for p in (folder / "scalar").glob("*.tv"))
    answers = b"\n".join(b" ".join(line.split()[-2:]) for line in lines.splitlines()) + b"\n"
    fma = b"".join(b"%04x 3c00 %04X\n" % (i * 577 & 0xFFFF, i * 31 & 0xFFFF) for i in range(70))
    layouts = [
        b"dense 2 32 8 8\n" + bytes(66),
        b"low-first+front 2 32 4 8\n" + bytes(34),
        b"dense+swizzled 4 32 8 8\n" + bytes(640),
    ]
    return [
        *(_vectors(folder, key) for key in TYPES[:-1]),
        _vectors(folder, TYPES[-1], mutator=npz_members, structure=structures.npz),
        *(_manifest(folder, kind) for kind in (*KINDS, "matmul")),
        _suite(folder),
        _journal(folder),
        Reader(
            "npy",
            _npy_examples(),
            in_file("x.npy", _read_npy),
            ("'descr'", "'|O'", "'shape'", "(1,)"),
            mutator=npy_header,
            structure=structures.npy,
        ),
        Reader(
            "csv",
            [b"1.0,2.5\n-0x1p3,inf\n\n1/3 nan\n", b"1\n2\n3\n"],
            in_file("x.csv", _read_numbers),
            (",", "\n", "0x1", "e", "/"),
            structure=structures.text,
        ),
        Reader(
            "results",
            [answers, lines, b"// log\n" + lines, *_forms(lines)[:-2]],
            in_file("x.log", _results),
            (*WORDS, *FORM_WORDS),
            structure=structures.text,
        ),
        Reader(
            "lines", [lines, *_forms(lines)], in_file("x.tv", _lines), (*WORDS, *FORM_WORDS), structure=structures.text
        ),
        Reader(
            "waves",
            [_wave(lines)],
            in_file("x.vcd", _waves),
            (
                "$scope module x $end",
                "$var wire 16 # q $end",
                "$end",
                "$comment",
                "bx #",
                "b1 $",
                "#9",
                "1!",
                "xv",
                "r1 r",
            ),
            structure=structures.text,
        ),
        Reader("operand_lines", [fma, b"3c00 3c00 3c00\n0x1 2 3\n"], _operands, WORDS, structure=structures.text),
        Reader(
            "requests",
            [b"open fma rup --fmt fp16\n0 3c00 3c00 3c00\n", b"open add --fmt fp32 --policy riscv\n0 1 2\n"],
            _requests,
            ("open", "--fmt", "--round", "sr", "--sr-bits", "--policy", "--out", "fp16", "add", "-h", "--"),
            others=True,
            structure=structures.text,
        ),
        Reader(
            "captures",
            _captures(),
            in_file("x.npz", lambda p, _: captures.read(p)),
            mutator=npz_members,
            structure=structures.npz,
        ),
        Reader(
            "operand_arrays",
            _captures(),
            in_file("x.npz", lambda p, _: list(captures.code_rows(p))),
            mutator=npz_members,
        ),
        Reader(
            "arrays",
            _arrays(folder),
            in_file("x.npz", lambda p, _: files.load(p)),
            mutator=npz_members,
            structure=structures.npz,
        ),
        Reader("packed", layouts, _packed, (*packing.ELEMENT_LAYOUTS, *(f"+{x}" for x in packing.SCALE_LAYOUTS))),
        Reader("codes", [b"3c00,0x3c01 7E00", b"1.5 -2"], _operand_codes, ("0x", ",", " ")),
    ]
