"""Vectors that were tampered with: every way is caught, and the message says where and what."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from command import refused, run

from softfloat_ref.base.errors import Error
from softfloat_ref.golden import verify as verifying
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.kinds import operation
from softfloat_ref.golden.sample import chosen_cases
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.golden.writers import of_set
from softfloat_ref.oracle.policies import Policy

COUNT = 300
NAME = "mul_fp16_rne"
SET = VectorSet.make("mul", "fp16", COUNT)
FILES = {w.key: w.file_name(SET) for w in of_set(SET)}
HEADERS = ("svh", "riscv-inc")  # they come with other files
NAMES = tuple(key for key in FILES if key not in HEADERS)
Change = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each type of file, verified."""
    folder = tmp_path_factory.mktemp("whole")
    generate(SET, folder, formats=NAMES)
    assert verify(folder).passed
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "v"))


def change(folder: Path, name: str, how: Change) -> None:
    data = (folder / name).read_bytes()
    changed = how(data)
    assert changed != data
    (folder / name).write_bytes(changed)


def edit(folder: Path, how: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    before = copy.deepcopy(manifest)
    how(manifest)
    assert manifest != before
    path.write_text(json.dumps(manifest))


def vouch(folder: Path) -> None:
    """Make the manifest agree with hashes and numbers of lines, so that only what is recomputed can object."""

    def counted(manifest: dict[str, Any]) -> None:
        for entry in manifest["files"]:
            data = (folder / entry["name"]).read_bytes()
            entry["sha256"] = hashlib.sha256(data).hexdigest()
            if entry["format"] != "npz":
                entry["lines"] = data.count(b"\n") - (2 if entry["format"] == "memh" else 0)

    edit(folder, counted)


def problems(folder: Path, **options: Any) -> list[str]:
    report = verify(folder, **options)
    assert not report.passed
    return report.problems


def at(position: int, text: bytes) -> Change:
    """Put some bytes there."""
    return lambda data: data[:position] + text + data[position + len(text) :]


def flipped(data: bytes) -> bytes:
    """The middle byte, another digit."""
    middle = next(i for i in range(len(data) // 2, len(data)) if data[i : i + 1] in b"0123456789")
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


# -- the files, as they lie there --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", FILES)
def test_a_changed_byte(folder: Path, key: str) -> None:
    """The hash, and where it is: the line, or for bytes around the lines, that it is there."""
    change(folder, FILES[key], flipped)
    first, *where = problems(folder)
    assert first == f"{FILES[key]}: SHA-256 differs from the manifest's: the file was changed or cut"
    around = rf"{FILES[key]}: the (text around its lines|header) does not match this set"  # an .npz has checksums there
    assert where
    for message in where:
        assert re.match(around if key in (*HEADERS, "npz") else rf"{FILES[key]}:\d+: ", message), message
    assert problems(folder, sample=1)[0] == first


def test_a_changed_byte_of_a_broken_set_is_not_looked_for(folder: Path) -> None:
    """Numbers that do not fit together say nothing of how long a comparison takes."""
    change(folder, FILES["tv"], flipped)
    edit(folder, lambda m: (m.update(count=10**15), m["set"].update(count=10**15)))
    assert len(problems(folder)) > 1
    assert not any("oracle" in x for x in problems(folder))


@pytest.mark.parametrize("key", FILES)
def test_truncation(folder: Path, key: str) -> None:
    change(folder, FILES[key], lambda data: data[:-1])
    first, *more = problems(folder)
    assert first.startswith(f"{FILES[key]}: SHA-256 differs from the manifest's: the file was changed or cut")
    if key == "npz":
        assert more == [f"{FILES[key]}: the text around its lines does not match this set"]
    else:
        assert re.search(r"cut: (\d+) lines, but the manifest counts \d+$", first)
        assert not more
    (folder / FILES[key]).write_bytes(b"")
    vouch(folder)
    assert f"{FILES[key]}: no vectors" in problems(folder)
    (folder / FILES[key]).unlink()
    assert f"{FILES[key]}: missing" in problems(folder)


def test_a_file_that_the_manifest_does_not_list(folder: Path) -> None:
    def hide(manifest: dict[str, Any]) -> None:
        manifest["files"] = [f for f in manifest["files"] if f["format"] != "tv"]

    edit(folder, hide)
    assert problems(folder) == [f"{NAME}.tv: is in the folder, but not in the manifest"]


def test_the_exit_code_and_the_lines_of_the_command(folder: Path) -> None:
    change(folder, f"{NAME}.csv", flipped)
    done = run("vectors", "verify", str(folder))
    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    assert first == f"{NAME}.csv: SHA-256 differs from the manifest's: the file was changed or cut"
    assert re.match(rf"{NAME}.csv:\d+: [^ ]+ but the oracle says ", second)
    assert done.stderr == f"{folder}: FAILED, 300 vectors of {NAME} recomputed\n"
    edit(folder, lambda m: m.update(schema=99))
    done = run("vectors", "verify", str(folder))
    assert (done.returncode, done.stdout) == (2, "")
    assert "manifest.json: schema 99; this version reads schema 3: use a newer softfloat-ref\n" in done.stderr


# -- the files, where manifest and hashes agree with them --------------------------------------------------------------


def last_result(data: bytes) -> bytes:
    """The last line with a result, flags included, one higher."""
    between = rb"[^0-9a-fA-F]+(?:flags[^0-9]*|5'h|0x|0x000000)?"
    ways = (
        rb"(?<=-> [+-]1\.)[0-9A-F]{3}(?=P)",  # .fptest
        rb"(?<=[0-9a-fA-F]{8})[0-9a-fA-F]{4}(?=[0-9a-fA-F]{2}(?:[,;]?\n|[0-9A-F]{2}\n:00000001FF))",  # images
        rb"[0-9a-fA-F]{4}(?=" + between + rb"[0-9a-f]{2}\b)",
    )
    match = next(m for way in ways for m in list(re.finditer(way, data))[-1:])
    code = int(match[0], 16) ^ 1
    digits = b"%0*x" % (len(match[0]), code)
    return data[: match.start()] + (digits if match[0].islower() else digits.upper()) + data[match.end() :]


@pytest.mark.parametrize("key", [k for k in FILES if k not in (*HEADERS, "npz")])
def test_a_wrong_result_under_the_right_hash(folder: Path, key: str) -> None:
    change(folder, FILES[key], last_result)
    vouch(folder)
    (shown,) = problems(folder)
    assert re.match(rf"{re.escape(FILES[key])}:\d+: .*but the oracle says ", shown), shown
    number = int(shown.split(":")[1])
    assert "oracle says" in shown
    assert 0 <= len((folder / FILES[key]).read_bytes().splitlines()) - number < 30
    (sampled,) = problems(folder, sample=COUNT)
    assert sampled.split(":")[:2] == shown.split(":")[:2]


def test_a_wrong_result_in_an_array(folder: Path) -> None:
    path = folder / f"{NAME}.npz"
    data = path.read_bytes()
    start = data.index(b"result.npy") + 10
    start += data[start:].index(b"\n") + 1
    change(folder, path.name, at(start + 2 * 17, bytes([data[start + 2 * 17] ^ 1])))
    vouch(folder)
    shown = problems(folder)
    assert f"{path.name}: the text around its lines does not match this set" in shown  # the CRC-32 in the zip file
    assert len(shown) == 1


@pytest.mark.parametrize(
    ("key", "how", "message"),
    [
        ("tv", lambda b: b[:-3] + b"20\n", "not a line of this set"),
        ("tv", lambda b: b.replace(b" ", b"  ", 1), f"{NAME}.tv:1: not a line of this set"),
        ("tv", lambda b: b.replace(b"\n", b"\r\n"), f"{NAME}.tv:1: not a line of this set"),
        ("tv", lambda b: b + b.splitlines(keepends=True)[-1], "301 lines, but 300 vectors make 300"),
        ("tv", lambda b: b + b"0000", f"{NAME}.tv: continues after the last case of this set"),
        ("csv", lambda b: b + b"0", f"{NAME}.csv: continues after the last case of this set"),
        ("tv", lambda b: b"".join(b.splitlines(keepends=True)[::-1]), ":1: from here on, the cases do not match"),
        ("tv", lambda b: b"".join(b.splitlines(keepends=True)[:-1]), "299 lines, but 300 vectors make 300"),
        ("memh", lambda b: b.replace(b"mul", b"add", 1), f"{NAME}.memh: the start of the file does not match this set"),
        ("memh", lambda b: b.replace(b"_", b" "), "the start of the file does not match this set"),
        ("svh", lambda b: b.replace(b"VEC_COUNT = 300", b"VEC_COUNT = 030"), "the header does not match this set"),
        ("svh", lambda b: b.replace(b"RESULT_LSB = 8", b"RESULT_LSB = 9"), "the header does not match this set"),
        ("svpkg", lambda b: b.replace(b"COUNT = 300", b"COUNT = 200"), "around its lines does not match this set"),
        ("svpkg", lambda b: b.replace(b"endpackage", b"endpackag_"), "around its lines does not match this set"),
        ("c", lambda b: b.replace(b"_COUNT 300", b"_COUNT 299"), "around its lines does not match this set"),
        ("c", lambda b: b.replace(b"uint16_t a", b"uint32_t a"), "the start of the file does not match this set"),
        ("csv", lambda b: b.replace(b"a,b,", b"b,a,", 1), f"{NAME}.csv: the start of the file does not match this set"),
        ("csv", lambda b: b.replace(b"B1/", b"B9/", 1), f"{NAME}.csv:2: "),
        ("jsonl", lambda b: b.replace(b'"count":300', b'"count":301', 1), "around its lines does not match this set"),
        ("jsonl", lambda b: b.replace(b'"tag":"B1/', b'"tag":"B9/', 1), f"{NAME}.jsonl:2: "),
        ("npz", lambda b: b + b"\0", "around its lines does not match this set"),
        ("npz", lambda b: b.replace(b"'<u2'", b"'<i2'", 1), "around its lines does not match this set"),
    ],
)
def test_changes_under_the_right_hash(folder: Path, key: str, how: Change, message: str) -> None:
    change(folder, FILES[key], how)
    vouch(folder)
    shown = problems(folder)
    assert any(message in p for p in shown), shown


# -- the manifest ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda m: m.update(count=299), "the set's count is not vectors plus cases left out"),
        (lambda m: m.update(count=0), "manifest.json: the count of vectors is 0"),
        (lambda m: m["set"].update(seed=1), "generators does not match this set"),
        (lambda m: m["fields"][0].update(lsb=0), "fields does not match this set"),
        (lambda m: m["fields"].pop(), "fields does not match this set"),
        (lambda m: m.update(groups=[{"tag": "other", "first": 0, "count": 300}]), "groups do not match this set"),
        (lambda m: m.update(flags="01 invalid"), "flags does not match this set"),
        (lambda m: m["conventions"][0].update(rounding="rtz"), "conventions does not match this set"),
        (lambda m: m["set"]["unit"]["policy"].update(flush_rule="before"), "conventions does not match this set"),
        (
            lambda m: m["set"]["unit"]["out"].update(source="elsewhere"),
            "jsonl: the text around its lines",
        ),
        (lambda m: m["set"]["unit"]["out"].update(bias=16), f"'{NAME}.S', '{NAME}.coe'"),
        (lambda m: m.update(name="add"), "name does not match this set"),
        (
            lambda m: m["left_out"].update(count=1),
            "the set's count is not vectors plus cases left out",
        ),
        (lambda m: m["left_out"].update(cases=[3]), "left_out does not list 0 cases"),
        (lambda m: m["files"][0].update(lines=299), "300 lines, but the manifest counts 299"),
        (lambda m: m["files"][0].update(sha256="0" * 64), f"{NAME}.tv: SHA-256 differs"),
        (lambda m: m["files"][0].update(name="../x.tv"), "files ['../x.tv',"),
        (lambda m: m["files"][0].update(format="csv"), f"{NAME}.tv is not of format 'csv'"),
        (lambda m: m.update(files=[]), "files [], but this set has"),
    ],
)
def test_a_wrong_manifest(folder: Path, how: Callable[[dict[str, Any]], object], message: str) -> None:
    edit(folder, how)
    shown = problems(folder)
    assert any(message in p for p in shown), shown


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda x: x["cases"].__setitem__(0, x["cases"][0] - 1), "left out are not the cases without a defined result"),
        (lambda x: x["inputs"].__setitem__(2, "7c00"), "left out are not the cases without a defined result"),
        (lambda x: x["inputs"].pop(), "left_out does not list"),
        (lambda x: (x["inputs"].pop(), x["cases"].pop()), "left_out does not list"),
        (
            lambda x: x.update(count=x["count"] - 1),
            "the set's count is not vectors plus cases left out",
        ),
        (lambda x: x.update(why="it was late"), "left_out does not list"),
        (lambda x: x.update(file="left_out.txt"), "left_out does not name the file"),
    ],
)
def test_wrong_cases_left_out(how: Callable[[dict[str, Any]], object], message: str, tmp_path: Path) -> None:
    generate(VectorSet.make("convert", "fp16", 300, out="fp4_e2m1", policy=Policy(nan_missing="error")), tmp_path)
    assert verify(tmp_path).passed
    edit(tmp_path, lambda m: how(m["left_out"]))
    shown = problems(tmp_path)
    assert any(message in p for p in shown), shown


def test_a_file_that_is_listed_twice_is_refused(folder: Path) -> None:
    """By everything that reads a manifest: of two hashes, only one was compared."""
    edit(folder, lambda m: m["files"].insert(0, {**m["files"][0], "sha256": "0" * 64}))
    wanted = f"manifest.json: lists the file '{NAME}.tv' twice"
    for args in (("vectors", "verify"), ("coverage", "report")):
        assert wanted in refused(*args, str(folder))
    assert wanted in refused("vectors", "diff", str(folder), str(folder))
    assert wanted in refused("check", "--golden", str(folder), "--results", "x")


def test_a_key_that_is_given_twice_is_refused(folder: Path) -> None:
    change(folder, "manifest.json", lambda data: data.replace(b"{", b'{"count": 1, ', 1))
    with pytest.raises(Error, match=r"manifest\.json: not valid JSON: 'count' is given twice"):
        verify(folder)


@pytest.mark.parametrize(
    ("schema", "message"),
    [(4, "schema 4; this version reads schema 3: use a newer softfloat-ref"), (2, "generate the vectors again")],
)
def test_another_schema(folder: Path, schema: int, message: str) -> None:
    edit(folder, lambda m: m.update(schema=schema))
    with pytest.raises(Error, match=message):
        verify(folder)


def nodes(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything in a JSON value."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [path, *(p for k in keys for p in nodes(value[k], (*path, k)))]


# What only tells where a set came from: nothing can be recomputed from it.
UNCHECKED = {"tool", "version", "command", "description", "coverage"}


def test_any_other_value_in_a_manifest_is_refused_or_found(folder: Path) -> None:
    """Whatever is put in place of any value: an Error or a problem, never a traceback, never silence."""
    manifest = json.loads((folder / "manifest.json").read_text())
    draw = random.Random(4)
    others: tuple[Any, ...] = (None, -1, 1 << 70, "x", [], {}, True, [[]], 0.5)
    paths = [p for p in nodes(manifest) if p and p[0] not in UNCHECKED and p[-1] != "source"]
    for path in paths:
        changed = copy.deepcopy(manifest)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        other = draw.choice([x for x in others if x != inner[path[-1]]])
        inner[path[-1]] = other
        (folder / "manifest.json").write_text(json.dumps(changed))
        with suppress(Error):
            assert not verify(folder, sample=1).passed, (path, other)


# -- large sets --------------------------------------------------------------------------------------------------------


@pytest.fixture
def bulk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set that is large as verification now has it, with cases left out."""
    monkeypatch.setattr(operation, "BULK_FROM", 1)
    monkeypatch.setattr("softfloat_ref.golden.generate.MAX_LISTED", 20)
    monkeypatch.setattr("softfloat_ref.golden.manifest.MAX_LISTED", 20)
    monkeypatch.setattr(verifying, "MAX_ORACLE_LINES", 1000)
    monkeypatch.setattr(verifying, "ORACLE_SAMPLE", 100)
    vectors = VectorSet.make("convert", "fp32", 20_000, out="fp4_e2m1", policy=Policy(nan_missing="error"))
    manifest = generate(vectors, tmp_path, formats=("tv", "memh", "csv", "npz", "jsonl"))
    assert manifest["left_out"]["count"] > 100
    return tmp_path


@pytest.mark.full
def test_large_sets_by_compiled_code_and_a_sample_by_the_oracle(bulk: Path) -> None:
    report = verify(bulk)
    count = report.count
    assert (report.passed, report.compiled, report.checked > 90) == (True, count, True)
    assert "recomputed by compiled code" in report.summary()
    report = verify(bulk, every=True)
    assert (report.passed, report.compiled, report.checked) == (True, 0, count)
    report = verify(bulk, sample=777)
    assert (report.passed, report.compiled) == (True, 0)
    assert 700 < report.checked <= 777
    assert "spread over the set" in report.summary()
    for sample in (1, 2, 19_999, 1 << 40):
        assert verify(bulk, sample=sample).passed


@pytest.mark.full
def test_wrong_cases_left_out_of_a_large_set(bulk: Path) -> None:
    """So many that they have a file: with the right hash, a sample finds what it meets, and the whole all."""
    path = bulk / "left_out.txt"
    lines = path.read_text().splitlines()
    number, inputs = lines[50].split()
    for wrong in (f"{int(number) + 1} {inputs}", f"{number} 7fc00123", "9" * 5000 + f" {inputs}", "x", ""):
        path.write_text("\n".join([*lines[:50], wrong, *lines[51:]]) + "\n")
        vouch(bulk)
        assert problems(bulk), wrong
        if inputs in wrong:
            assert problems(bulk, sample=20_000)


@pytest.mark.full
def test_a_wrong_line_of_a_large_set(bulk: Path) -> None:
    (path,) = bulk.glob("*.memh")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[15_000] = lines[15_000][:9] + bytes([lines[15_000][9] ^ 1]) + lines[15_000][10:]
    path.write_bytes(b"".join(lines))
    vouch(bulk)
    (shown,) = problems(bulk)
    assert shown.startswith(f"{path.name}:15001: ")
    assert problems(bulk, sample=20_000) == [shown]
    assert problems(bulk, every=True) == [shown]


def test_compiled_code_that_is_wrong_in_the_same_way_is_found(bulk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What generation and compiled verification share cannot vouch for itself: the oracle's sample objects."""
    monkeypatch.setattr(VectorSet, "line", lambda _, inputs: (*inputs, 0, 0))
    assert any("but the oracle says" in p for p in problems(bulk))


def test_a_sample_is_one_case_of_each_stretch_by_the_keyed_generator() -> None:
    numbers = chosen_cases(100_000_000, 1000, 7)
    assert numbers == chosen_cases(100_000_000, 1000, 7) != chosen_cases(100_000_000, 1000, 8)
    assert [x // 100_000 for x in numbers] == list(range(1000))
    assert chosen_cases(10, 1000, 7) == list(range(10))
    assert len({x % 100_000 for x in numbers}) > 900


def test_a_sample_reads_the_tags(folder: Path) -> None:
    for key, old in (("csv", rb",[^,]*\n"), ("jsonl", rb'"tag":"[^"]*"}')):
        new = b",easy\n" if key == "csv" else b'"tag":"easy"}'
        change(folder, FILES[key], lambda data, old=old, new=new: re.sub(old, new, data))  # type: ignore[misc]
    vouch(folder)
    assert len(problems(folder, sample=3)) == 6


def test_contradicting_options(folder: Path) -> None:
    for args in (("--sample", "3", "--every", str(folder)), ("-", "--sample", "3"), ("--sample", "0", str(folder))):
        assert run("vectors", "verify", *args).returncode == 2
