"""Each type of file, read by a reader that is not ours: the same lines as the TestFloat text, with their tags."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import re
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ok, refused

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.kinds import operation
from softfloat_ref.golden.kinds.base import LINES
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.tags import TagCursor, defined_runs, groups, merge_runs
from softfloat_ref.golden.verify import verify
from softfloat_ref.golden.writers import choose_writers, of_set, parse_names
from softfloat_ref.golden.writers.npz import _directory, _ZipMember
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.units import Field, OperationUnit

SCHEMA = Path(__file__).parents[2] / "softfloat_ref" / "golden" / "jsonl.schema.json"
TAGS = ["plain", 'a,"quoted" one', "back\\slash", "special.crossed.3"]


def tag_runs(self: Any) -> Iterator[tuple[str, int]]:
    """Runs of 1, 2, ..., 7 cases, then long ones; some are of no case."""
    total = 0
    for i in range(self.count):
        count = i % 8 if i < 40 else 3000
        yield TAGS[i % 3 if i < 40 else 3], min(count, self.count - total)
        total += count
        if total >= self.count:
            return


@pytest.fixture
def tagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorSet, "tag_runs", tag_runs, raising=False)


def tag_of_each(vectors: Any) -> list[str]:
    """Of the cases with a defined result."""
    tags = [tag for tag, count in tag_runs(vectors) for _ in range(count)]
    return [tag for tag, inputs in zip(tags, vectors.inputs(), strict=True) if vectors.line(inputs) is not None]


SETS = {
    "fma": VectorSet.make("fma", ("fp8_e4m3", "bf16", "fp32"), 300, out="fp32"),
    "sr": VectorSet.make("convert", "fp32", 200, out="fp8_e5m2", policy=Policy("sr", sr_bits=5)),
    "wide": VectorSet.make("add", "fp128", 100),
    "blocks": VectorSet.make("quantize", "mxfp4", 30),
    "tiles": VectorSet.make("quantize", "fp4_e2m1@ue4m3/2x4", 30, profile="compressed-tensors-nvfp4"),
    "left out": VectorSet.make("convert", "fp16", 300, out="fp4_e2m1", policy=Policy(nan_missing="error")),
    "intermediate": VectorSet.make("div", "fp16", 200).with_unit(intermediate=True),
    "affine": VectorSet.make("quantize", "qint8", 100),  # with a field `integer`
}


@pytest.fixture(params=list(SETS), ids=lambda x: x.replace(" ", "_"))
def vectors(request: pytest.FixtureRequest) -> VectorSet:
    known: VectorSet = SETS[request.param]
    return known


def lines_of(folder: Path, vectors: VectorSet) -> list[list[int]]:
    """The lines of the TestFloat text."""
    return [[int(x, 16) for x in line.split()] for line in (folder / f"{vectors.name}.tv").read_text().splitlines()]


def columns(vectors: VectorSet) -> list[tuple[Field, int]]:
    return [(f, i) for f in vectors.fields for i in range(f.lanes)]


# -- each type, by another reader --------------------------------------------------------------------------------------


@pytest.mark.full(keep=4)
@pytest.mark.usefixtures("tagged")
def test_all_types_are_verified(vectors: VectorSet, tmp_path: Path) -> None:
    manifest = generate(vectors, tmp_path, formats=LINES)
    assert [f["format"] for f in manifest["files"]] == list(LINES)
    report = verify(tmp_path)
    assert report.passed, report.problems
    assert report.checked == manifest["count"]
    total = sum(g["count"] for g in manifest["groups"])
    assert total == manifest["count"]


@pytest.mark.usefixtures("tagged")
def test_csv(vectors: VectorSet, tmp_path: Path) -> None:
    generate(vectors, tmp_path, formats=("tv", "csv"))
    with open(tmp_path / f"{vectors.name}.csv", newline="") as stream:
        head, *rows = csv.reader(stream)
    assert head == [*(f.name if f.lanes == 1 else f"{f.name}[{i}]" for f, i in columns(vectors)), "tag"]
    assert [[int(x, 16) for x in row[:-1]] for row in rows] == lines_of(tmp_path, vectors)
    assert [row[-1] for row in rows] == tag_of_each(vectors)
    assert all(x == x.lower() and len(x) == f.digits for x, (f, _) in zip(rows[0], columns(vectors), strict=False))


def check(value: Any, schema: dict[str, Any], where: str = "$") -> None:
    """The part of JSON Schema that jsonl.schema.json uses; an unknown keyword fails."""
    known = {"$schema", "$id", "title", "description", "type", "required", "properties", "items", "const", "pattern"}
    known |= {"enum", "minimum", "additionalProperties", "minItems", "$defs"}
    assert schema.keys() <= known, schema.keys() - known
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        assert any(type(value) is kinds[n] for n in names), (where, value)
    assert "const" not in schema or value == schema["const"], where
    assert "enum" not in schema or value in schema["enum"], where
    assert "pattern" not in schema or not isinstance(value, str) or re.search(schema["pattern"], value), (where, value)
    assert "minimum" not in schema or value is None or value >= schema["minimum"], where
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= value.keys(), (where, value.keys())
        for key, inner in value.items():
            more = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            assert more is not False, (where, key)
            check(inner, more if isinstance(more, dict) else {}, f"{where}.{key}")
    if isinstance(value, list):
        assert len(value) >= schema.get("minItems", 0), where
        for i, inner in enumerate(value):
            check(inner, schema.get("items", {}), f"{where}[{i}]")


@pytest.mark.usefixtures("tagged")
def test_json_lines_and_their_schema(vectors: VectorSet, tmp_path: Path) -> None:
    manifest = generate(vectors, tmp_path, formats=("tv", "jsonl"))
    head, *rows = map(json.loads, (tmp_path / f"{vectors.name}.jsonl").read_text().splitlines())
    schema = json.loads(SCHEMA.read_text())
    check(head, schema["$defs"]["header"])
    for row in rows:
        check(row, schema["$defs"]["case"])
    assert head["count"] == len(rows) == manifest["count"]
    assert head["groups"] == manifest["groups"]
    assert head["set"] == manifest["set"]
    assert [f["name"] for f in head["fields"]] == [f.name for f in vectors.fields]
    listed = [[row[f.name] if f.lanes == 1 else row[f.name][i] for f, i in columns(vectors)] for row in rows]
    assert [[int(x, 16) for x in line] for line in listed] == lines_of(tmp_path, vectors)
    assert [row["tag"] for row in rows] == tag_of_each(vectors)
    with pytest.raises(AssertionError):
        check({**head, "count": "3"}, schema["$defs"]["header"])
    with pytest.raises(AssertionError):
        check({"a": 3, "tag": ""}, schema["$defs"]["case"])
    with pytest.raises(AssertionError):
        check({"a": "3G", "tag": ""}, schema["$defs"]["case"])


@pytest.mark.usefixtures("tagged")
def test_npz(vectors: VectorSet, tmp_path: Path) -> None:
    generate(vectors, tmp_path, formats=("tv", "npz"))
    path = tmp_path / f"{vectors.name}.npz"
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {i.date_time for i in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    arrays = np.load(path, allow_pickle=False)
    lines, start = lines_of(tmp_path, vectors), 0
    for f in vectors.fields:
        expected = [line[start : start + f.lanes] for line in lines]
        array = arrays[f.name]
        if f.width > 64:
            array = [[sum(int(w) << (64 * i) for i, w in enumerate(words))] for words in array]
        assert np.array(array, object).reshape(len(lines), f.lanes).tolist() == expected, f.name
        start += f.lanes
    assert arrays[vectors.fields[0].name].dtype.byteorder in "<|="
    tags = np.repeat(arrays["tag_names"][arrays["tag_index"]], arrays["tag_count"])
    assert tags.tolist() == tag_of_each(vectors)


def c_program(vectors: VectorSet, tags: bool) -> str:
    """Prints the vectors of a header as TestFloat text, then the tag of each line."""
    prints = []
    for f, i in columns(vectors):
        words = -(-f.width // 64)
        name = f.name + (f"[{i}]" if f.lanes > 1 else "")
        for word in reversed(range(words)):
            digits = f.digits if words == 1 else 16
            prints.append(f'printf("%0{digits}llX", (unsigned long long)v->{name}{f"[{word}]" if words > 1 else ""});')
        prints.append("putchar(' ');")
    body = "\n".join(prints[:-1])
    groups = """
    for (i = 0; i < NAME_GROUPS; i++) {
        for (j = 0; j < LOWER_groups[i].count; j++) {
            printf("%u %s\\n", (unsigned)(LOWER_groups[i].first + j), LOWER_groups[i].tag);
        }
    }
    """
    text = f"""#include <stdio.h>
    #include "LOWER.h"
    #include "LOWER.h"
    int main(void) {{
        unsigned i, j = 0;
        for (i = 0; i < NAME_COUNT; i++) {{
            const struct LOWER_vector *v = &LOWER[i];
            {body}
            putchar('\\n');
        }}
        {groups if tags else ""}
        return (int)(j & 0) + (sizeof LOWER / sizeof LOWER[0] != NAME_COUNT);
    }}
    """
    return text.replace("LOWER", vectors.name).replace("NAME", vectors.name.upper())


@pytest.mark.full(keep=7)
@pytest.mark.usefixtures("tagged")
@pytest.mark.parametrize(("compiler", "standard"), [("cc", "c99"), ("c++", "c++11")])
def test_c_header(vectors: VectorSet, compiler: str, standard: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    manifest = generate(vectors, tmp_path, formats=("tv", "c"))
    source = tmp_path / ("main.c" if compiler == "cc" else "main.cpp")
    source.write_text(c_program(vectors, manifest["groups"] is not None))
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run([compiler, *flags, str(source), "-o", str(tmp_path / "main")], check=True)
    shown = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.splitlines()
    count = manifest["count"]
    assert shown[:count] == (tmp_path / f"{vectors.name}.tv").read_text().splitlines()
    assert shown[count:] == [f"{i} {tag}" for i, tag in enumerate(tag_of_each(vectors))]


SV_TOP = """module top;
  initial begin
    @
    $finish;
  end
endmodule
"""
SV_PRINTS = """
    for (int i = 0; i < @::COUNT; i++) $display("%h", @::VECTORS[i]);
    for (int i = 0; i < @::GROUPS; i++) $display("%0d %0d %s", @::FIRST[i], @::NUMBER[i], @::TAGS[i]);
"""


@pytest.mark.full
@pytest.mark.sim
@pytest.mark.usefixtures("tagged")
def test_systemverilog_package(tmp_path: Path) -> None:
    from softfloat_ref.rtl.simulators import find

    expected, prints, sources = list[str](), "", list[Path]()
    for name in ("fma", "blocks", "intermediate", "affine"):
        vectors = SETS[name]
        manifest = generate(vectors, tmp_path / name, formats=("tv", "svpkg"))
        sources.append(tmp_path / name / f"{vectors.name}_pkg.sv")
        prints += SV_PRINTS.replace("@", f"{vectors.name}_pkg")
        expected += [packed(line, vectors.fields) for line in lines_of(tmp_path / name, vectors)]
        expected += [f"{g['first']} {g['count']} {g['tag']}" for g in manifest["groups"]]
    (tmp_path / "top.sv").write_text(SV_TOP.replace("@", prints))
    simulator = find("verilator")
    output = simulator.run([*sources, tmp_path / "top.sv"], "top", work_dir=tmp_path / "work").output
    assert [line for line in output.splitlines() if line and not line.startswith("-")] == expected


def packed(line: list[int], fields: Sequence[Field]) -> str:
    """The bits of a packed structure: fields in order, each one's last lane first."""
    word = start = width = 0
    for f in fields:
        for code in reversed(line[start : start + f.lanes]):
            word = word << f.width | code
            width += f.width
        start += f.lanes
    return f"{word:0{-(-width // 4)}x}"


# -- bytes -------------------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.usefixtures("tagged")
@pytest.mark.parametrize(
    "vectors",
    [
        VectorSet.make("fma", "fp16", 20_000, seed=2),
        VectorSet.make("convert", "fp16", 9000, out="fp4_e2m1", policy=Policy(nan_missing="error")),
        VectorSet.make("convert", "fp64", 9000, out="fp32", policy=Policy("sr", sr_bits=20)),
    ],
    ids=["fma", "left_out", "sr"],
)
def test_in_bulk_line_by_line_and_by_workers(
    vectors: VectorSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes in every type of file; the manifests too."""
    from softfloat_ref.base.executors import workers

    contents = []
    for threshold, crew in ((1, None), (1 << 60, None), (1, 1)):
        monkeypatch.setattr(operation, "BULK_FROM", threshold)
        folder = tmp_path / f"{threshold}_{crew}"
        names = [n for n in LINES if n != "svpkg"]
        if crew is None:
            generate(vectors, folder, formats=names)
        else:
            with workers(1) as one:
                generate(vectors, folder, (), one, formats=names)
        contents.append({p.name: p.read_bytes() for p in folder.iterdir()})
    assert contents[0] == contents[1] == contents[2]
    assert len(contents[0]) == 11


@pytest.mark.usefixtures("tagged")
def test_bytes_of_each_type_do_not_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another layout of a file is an entry in the changelog: these hashes change with it. The cases are fixed here."""
    cases = [(13 * i % 256, 101 * i % 256) for i in range(64)]
    monkeypatch.setattr(VectorSet, "inputs", lambda _: iter(cases))
    generate(VectorSet.make("mul", ("fp8_e4m3", "fp8_e5m2"), 64, out="fp16"), tmp_path, formats=LINES)
    contents = {p.suffix: p.read_bytes() for p in tmp_path.iterdir() if p.name != "manifest.json"}
    contents[".jsonl"] = contents[".jsonl"].split(b"\n", 1)[1]  # the header has the set's whole definition
    assert {k: hashlib.sha256(x).hexdigest()[:16] for k, x in contents.items()} == DIGESTS


DIGESTS = {
    ".coe": "b4661bba24fe6a02",
    ".csv": "8819b631749188ae",
    ".h": "d3751eee3decf709",
    ".hex": "f60ebe7dda50d798",
    ".jsonl": "0c120d32faed707f",
    ".memh": "ab8f607b3fd8f401",
    ".mif": "6159a07dfff1fda8",
    ".npz": "2e84dd266d0c33d2",
    ".sv": "17dc4e1a64c9e2b3",
    ".svh": "71a736421df1ade2",
    ".tv": "98915d406ccc508f",
}


def test_many_cases_left_out_have_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from softfloat_ref.golden import generate as generating

    monkeypatch.setattr(generating, "MAX_LISTED", 5)
    monkeypatch.setattr("softfloat_ref.golden.manifest.MAX_LISTED", 5)
    vectors = SETS["left out"]
    manifest = generate(vectors, tmp_path, formats=("csv",))
    assert manifest["left_out"]["file"] == "left_out.txt"
    listed = (tmp_path / "left_out.txt").read_text().splitlines()
    assert len(listed) == manifest["left_out"]["count"] > 5
    cases = list(vectors.inputs())
    assert all(cases[int(number)] == (int(code, 16),) for number, code in (line.split() for line in listed))
    assert verify(tmp_path).passed
    (tmp_path / "left_out.txt").write_text("\n".join([*listed[1:], listed[0]]) + "\n")
    assert "SHA-256" in verify(tmp_path).problems[0]


def test_zip_files_beyond_4_gib() -> None:
    """Where sizes and offsets need 64 bits, zipfile reads them from where they are."""
    import io

    class Sparse(io.RawIOBase):
        """A file of which only the end was written."""

        def __init__(self, start: int, data: bytes) -> None:
            self.start, self.data, self.at = start, data, 0

        def seekable(self) -> bool:
            return True

        def seek(self, offset: int, whence: int = 0) -> int:
            self.at = offset + (0, self.at, self.start + len(self.data))[whence]
            return self.at

        def tell(self) -> int:
            return self.at

        def read(self, size: int = -1) -> bytes:
            assert self.at >= self.start
            data = self.data[self.at - self.start :]
            data = data if size < 0 else data[:size]
            self.at += len(data)
            return data

    big = 5 << 30
    entries = [_ZipMember("a", big, 1, 0), _ZipMember("b", 10, 2, big + 100), _ZipMember("c", 1 << 33, 3, big + 200)]
    end = big + 300 + (1 << 33)
    with zipfile.ZipFile(Sparse(end, _directory(entries, end))) as archive:  # type: ignore[arg-type]
        members = [(i.filename, i.file_size, i.compress_size, i.header_offset, i.CRC) for i in archive.infolist()]
    assert members == [(f"{e.name}.npy", e.size, e.size, e.offset, e.crc) for e in entries]
    assert struct.unpack("<HHQQ", entries[0].local()[-20:]) == (1, 16, big, big)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["svpkg", "c"])
def test_large_sets_are_refused_where_compilers_would_choke(name: str, tmp_path: Path) -> None:
    with pytest.raises(Error, match="holds at most"):
        generate(VectorSet.make("add", "fp16", 1 << 20), tmp_path / "v", formats=(name,))
    assert not (tmp_path / "v").exists()


def test_names_of_types() -> None:
    assert parse_names("CSV, tv,csv") == ("csv", "tv")
    for text, message in (("", "choose from"), ("cvs", "did you mean csv"), ("svh", "unknown file format")):
        with pytest.raises(Error, match=message):
            parse_names(text)


def test_options_of_files_on_the_command_line(tmp_path: Path) -> None:
    args = ("vectors", "generate", "--op", "add", "--fmt", "fp16", "-n", "20")
    assert "unknown file format" in refused(*args, "-o", "v", "--format", "xml", cwd=tmp_path)
    assert "--format is for" in refused(*args, "-o", "-", "--format", "csv", cwd=tmp_path)
    assert "--pack is for suites" in refused(*args, "-o", "v", "--pack", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    ok(*args, "-o", "v", "--format", "jsonl,npz", cwd=tmp_path)
    assert {p.suffix for p in (tmp_path / "v").iterdir()} == {".jsonl", ".npz", ".json"}
    ok(*args, "-o", "v", "--format", "csv", cwd=tmp_path)  # what the last manifest listed goes
    assert {p.suffix for p in (tmp_path / "v").iterdir()} == {".csv", ".json"}


# -- tags --------------------------------------------------------------------------------------------------------------


def test_tags_in_any_stretches() -> None:
    vectors = VectorSet.make("add", "fp16", 9000)
    one = type("Tagged", (), {"count": 9000, "tag_runs": tag_runs})()
    every = [tag for tag, count in tag_runs(vectors) for _ in range(count)]
    for sizes in ((1, 2, 3, 5, 4000, 1), (9000,), (40, 41, 8919)):
        cursor, at = TagCursor(one), 0
        for size in sizes:
            taken = cursor.take(at, size)
            assert [tag for tag, count in taken for _ in range(count)] == every[at : at + size]
            at += size
    cursor = TagCursor(one)
    assert cursor.take(100, 1)[0][0] == every[100]
    assert cursor.take(8999, 1)[0][0] == every[8999]
    assert TagCursor(object()).take(10**12, 5) == [("case", 5)]


def test_runs_without_undefined_cases() -> None:
    runs = [("a", 3), ("b", 2), ("a", 1)]
    assert defined_runs(runs, []) == runs
    assert defined_runs(runs, [0, 3, 4]) == [("a", 2), ("a", 1)]
    assert list(merge_runs(defined_runs(runs, [0, 3, 4]))) == [("a", 3)]
    assert defined_runs(runs, range(6)) == []
    assert groups([("a", 3), ("b", 2)]) == [
        {"tag": "a", "first": 0, "count": 3},
        {"tag": "b", "first": 3, "count": 2},
    ]
    assert groups(("a", 1) for _ in range(100)) is None


def units(fmt: str) -> Iterator[OperationUnit]:
    """Every operation that takes the format, under policies that differ most."""
    for op in OPERATIONS:
        for policy in ("ieee", "riscv", "p3109", {"rounding": "sr", "sr_bits": 8}, {"rounding": "rto"}):
            with contextlib.suppress(Error):
                yield OperationUnit.make(op, fmt, policy=policy)  # type: ignore[arg-type]


@pytest.mark.full(keep=4)
@pytest.mark.parametrize("fmt", ["fp8_e5m2", "s1e5m2", "fp16", "e8m0", "i8", "fp4_e2m1", "binary8p3se", "bf16"])
def test_what_eval_computes_is_generated(fmt: str) -> None:
    """No writer that is not asked for refuses a unit: one without such a test has no file of that type."""
    count = 0
    for unit in units(fmt):
        vectors = VectorSet(unit, 2)
        assert {w.key for w in choose_writers((), vectors, 2)} == {"tv", "memh", "svh"}
        assert {w.key for w in of_set(vectors)} >= {"tv", "memh", "svh", "csv", "npz"}
        count += 1
    assert count > 40


@pytest.mark.parametrize("op", ["abs", "neg", "copysign", "next_up", "next_down"])
@pytest.mark.parametrize("fmt", ["fp8_e5m2", "s1e5m2"])
def test_results_in_the_operands_format_are_generated(op: str, fmt: str, tmp_path: Path) -> None:
    ok("vectors", "generate", "--op", op, "--fmt", fmt, "-n", "20", "-o", str(tmp_path / "v"))
    ok("vectors", "verify", str(tmp_path / "v"))
    asked = ("vectors", "generate", "--op", op, "--fmt", fmt, "--format", "riscv-asm", "-n", "20", "-o", "w")
    assert f"riscv-asm: no instruction of the table computes {op} of fp8_e5m2" in refused(*asked)
