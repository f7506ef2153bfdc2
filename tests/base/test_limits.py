"""Files are read within limits: regular ones, of bounded size, depth and expansion; hidden characters are escaped."""

from __future__ import annotations

import io
import json
import os
import signal
import struct
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run

from softfloat_ref.base import archives, files, limits, npz
from softfloat_ref.base.errors import Error, escaped, one_line
from softfloat_ref.base.tables import read_toml
from softfloat_ref.base.trees import parse_json, parse_toml, read_json
from softfloat_ref.base.yaml_text import read_yaml

DEEP = limits.DEPTH


@contextmanager
def seconds(limit: float) -> Iterator[None]:
    """Fail after some seconds of a processor, also where a call would wait without end."""

    def late(*_: Any) -> None:
        raise AssertionError("no end")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    begin = time.process_time()
    try:
        yield
        assert time.process_time() - begin < limit
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


DOCS = Path(__file__).parents[2] / "docs" / "commands.md"


def test_the_table_of_limits() -> None:
    """docs/commands.md has the limits as they are."""
    table = DOCS.read_text().split("## Limits of files")[1].split("|---|---|\n")[1].split("\n\n")[0]
    rows = dict(line.strip("| ").split(" | ") for line in table.splitlines())
    mib, gib = (lambda x: f"{x // limits.MIB} MiB"), (lambda x: f"{x // limits.GIB} GiB")
    assert limits.NUMBERS == limits.LOG
    assert list(rows.values()) == [
        mib(limits.TOML),
        f"{limits.YAML >> 10} KiB",
        mib(limits.JSON),
        str(limits.DEPTH),
        f"below 2^{limits.INTEGER.bit_length() - 1}",
        mib(limits.LOG),
        mib(limits.LINE),
        mib(limits.SOURCE),
        str(limits.LISTS),
        str(limits.SEARCHED),
        gib(limits.DATA),
        gib(limits.MODEL),
        f"{mib(limits.UNPACKED)}, or {limits.EXPANSION} times the file",
        f"{limits.MEMBERS}; {mib(limits.DIRECTORY)}",
        f"{limits.ARRAY_HEADER} bytes; {mib(limits.TENSOR_HEADER)}",
        f"{limits.TENSORS}; {limits.KEY}",
        f"{mib(limits.PICKLE)}, {limits.INSTRUCTIONS} instructions",
        str(limits.TABLES),
        str(limits.VALUES),
    ]


# -- files -------------------------------------------------------------------------------------------------------------

READS: dict[str, Callable[[Path], object]] = {
    "open_file": files.open_file,
    "open_to_append": files.open_to_append,
    "open_to_append, read too": lambda p: files.open_to_append(p, "a+b"),
    "bytes": lambda p: files.read_bytes(p, 100),
    "text": lambda p: files.read_text(p, 100),
    "lines": lambda p: list(files.text_lines(p)),
    "sha256": files.sha256,
    "JSON": read_json,
    "TOML": lambda p: read_toml(str(p)),
    "YAML": lambda p: read_yaml(p, "x"),
    "npz": npz.load,
}


@pytest.mark.parametrize("read", READS)
def test_a_pipe_is_not_waited_for(read: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    with seconds(1), pytest.raises(Error, match=r"x: (is a pipe, not a file|No such device or address)$"):
        READS[read](tmp_path / "x")


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    ("place", "message"),
    [("/dev/zero", "a device"), ("/dev/tty", "a device|No such|not permitted"), (".", "directory")],
)
def test_devices_and_folders_are_refused(read: str, place: str, message: str, tmp_path: Path) -> None:
    with seconds(1), pytest.raises(Error, match=message):
        READS[read](Path(place))


def test_a_null_character_in_a_path() -> None:
    with pytest.raises(Error, match=r"a\\x00b: embedded null byte"):
        files.open_file("a\0b")


def test_size_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * 100)
    assert files.read_bytes(path, 100) == b"a" * 100
    with pytest.raises(Error, match="x: 100 bytes; the limit for such a file is 99"):
        files.read_bytes(path, 99)
    os.truncate(path, 1 << 40)  # of holes
    with seconds(1), pytest.raises(Error, match="1099511627776 bytes"):
        files.read_bytes(path, limits.DATA)


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="no /proc")
def test_files_that_claim_to_be_empty() -> None:
    """As those of /proc."""
    assert files.read_bytes("/proc/self/status", 1 << 20).startswith(b"Name:")
    with pytest.raises(Error, match="the limit for such a file is 10"):
        files.read_bytes("/proc/self/status", 10)


def test_memory_is_taken_for_what_there_is(tmp_path: Path) -> None:
    """And not for the limit: a stream in C allocates what it is asked for."""
    import tracemalloc

    (tmp_path / "x").write_bytes(b"a" * 1000)
    tracemalloc.start()
    files.read_bytes(tmp_path / "x", limits.MODEL)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_text_is_as_python_reads_it(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes("a\r\nb\rc\nä".encode())
    assert files.read_text(tmp_path / "x", 100) == (tmp_path / "x").read_text(encoding="utf-8")
    (tmp_path / "x").write_bytes(b"a\xff")
    with pytest.raises(Error, match="x: byte 1 is not UTF-8"):
        files.read_text(tmp_path / "x", 100)
    assert files.read_text(tmp_path / "x", 100, errors="replace") == "a\ufffd"


def test_lines_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LINE", 10)
    (tmp_path / "x").write_bytes(b"123456789\n" + b"1" * 10 + b"\n" + b"2")
    with pytest.raises(Error, match="x:2: a line of more than 10 characters"):
        list(files.text_lines(tmp_path / "x"))
    (tmp_path / "x").write_bytes(b"123456789\n\xff")
    assert list(files.text_lines(tmp_path / "x")) == ["123456789\n", "\ufffd"]


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_are_escaped() -> None:
    assert escaped("layers.0.weight é 語") == "layers.0.weight é 語"
    assert escaped("\x1b[31m\na\\n\u202e\x9b\u2028\ud800") == r"\x1b[31m\na\\n\u202e\x9b\u2028\ud800"
    names = {f"{a}{b}" for a in ("\n", "\\", "n", "x1b", "\x1b") for b in ("\n", "\\", "n", "x1b", "\x1b")}
    assert len(set(map(escaped, names))) == len(names)


def test_messages_have_no_hidden_characters() -> None:
    assert one_line("a\nb \x1b[31m\u202e\t\ud800") == r"a b \x1b[31m\u202e\t\ud800"
    str(Error("\ud800")).encode()


# -- JSON and TOML -----------------------------------------------------------------------------------------------------

JSON = {
    "nested": ("[" * (DEEP + 1) + "]" * (DEEP + 1), f"nested more than {DEEP} deep"),
    "nested tables": ('{"a":' * (DEEP + 1) + "1" + "}" * (DEEP + 1), f"nested more than {DEEP} deep"),
    "nested too deep for a parser": ("[" * 100_000, f"nested more than {DEEP} deep"),
    "a key twice": ('{"a": 1, "b\\u001b": 2, "b\\u001b": 3}', r"'b\\x1b' is given twice"),
    "huge": ("1" + "0" * 400, "does not fit float64"),
    "thousands of digits": ("1" * 5000, "not valid JSON"),
    "an escape sequence": ('{"a": "\\u001b[31m"}', r"'\\x1b\[31m' has a hidden character, \\x1b"),
    "an escape sequence in a key": ('{"\\u001b[31m": 1}', r"'\\x1b\[31m' has a hidden character, \\x1b"),
    "a line end in a key": ('{"a\\nb": 1}', r"'a\\nb' has a hidden character, \\n"),
    "reversed": ('["\\u202e"]', r"hidden character, \\u202e"),
    "no text": (b"\xff\xfe\xfa", "not valid JSON"),
    "no UTF-8": ("[1]".encode("utf-16"), "not valid JSON"),
}


@pytest.mark.parametrize("name", JSON)
def test_json_that_is_refused(name: str) -> None:
    text, message = JSON[name]
    with seconds(1), pytest.raises(Error, match=f"x: .*{message}"):
        parse_json(text, "x")


def test_json_that_is_read() -> None:
    deep = "[" * (DEEP - 1) + "]" * (DEEP - 1)
    for text in (deep, '"a\\nb\\tc"', '"\\udc80"', str(2**1022), "NaN", '{"a": {"a": [{}, {}]}}'):
        assert repr(parse_json(text, "x")) == repr(json.loads(text))
    assert parse_json(b"\xef\xbb\xbf[1]", "x") == [1]
    with pytest.raises(Error, match="JSON of 9 bytes; the limit is 8"):
        parse_json("[1, 2, 3]", "x", 8)


def dotted(n: int, key: str = "a") -> str:
    return ".".join([key] * n)


TOML = {
    "a dotted key": f"{dotted(DEEP + 1)} = 1\n",
    "a long dotted key": f"{dotted(20_000)} = 1\n",
    "of spaces": f"{dotted(DEEP + 1, ' a ')} = 1\n",
    "of quotes": "{} = 1\n".format(dotted(DEEP + 1, '"a.b"')),
    "of other quotes": f"{dotted(DEEP + 1, chr(39) + 'a' + chr(39))} = 1\n",
    "of empty ones": "{} = 1\n".format(dotted(DEEP + 1, '""')),
    "a table": f"[{dotted(DEEP + 1)}]\n",
    "tables in a list": f"[[{dotted(DEEP + 1)}]]\n",
    "in a line": f"a = {{{dotted(DEEP + 1)} = 1}}\n",
    "after texts": f'x = """a\\""""\ny = \'\'\'\n\'\'\'\n# "\n{dotted(DEEP + 1)} = 1\n',
    "arrays": "a = " + "[" * (DEEP + 1) + "]" * (DEEP + 1) + "\n",
    "many arrays": "a = " + "[" * 50_000 + "\n",
    "tables in tables": "a = " + "{b = " * (DEEP + 1) + "1" + "}" * (DEEP + 1) + "\n",
    "an integer": f"a = 0x{'f' * 300}\n",
    "digits": f"a = {'9' * 5000}\n",
    "an escape sequence": 'a = "\\u001b[31m"\n',
    "an escape sequence in a key": '"\\u001b[31m" = 1\n',
}


@pytest.mark.parametrize("name", TOML)
def test_toml_that_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(TOML[name])
    with seconds(1), pytest.raises(Error, match=r"x.toml: "):
        read_toml(str(tmp_path / "x.toml"))


@pytest.mark.parametrize(
    "text",
    [
        f"{dotted(DEEP - 1)} = 1\n",
        f'a = "{dotted(1000)}"\n',
        f"a = '{dotted(1000)}'\n",
        f'a = """\n{dotted(1000)}\n\\"""{dotted(1000)}"""\n',
        f"a = '''\n{dotted(1000)}''' # {dotted(1000)}\n",
        f"a = [{', '.join(['1.5'] * 1000)}]\n",
        'a = "\\u0041"\nb = """\n a\n\tb\n"""\n',
        "a = 0x" + "f" * 255 + "\n",
        "a = [1.5,\n 2.5,\n" + "3.5,\n" * 100 + "]\n",
    ],
)
def test_toml_that_is_read(text: str) -> None:
    import tomllib

    assert parse_toml(text, "x") == tomllib.loads(text)


@pytest.mark.parametrize("opening", ['"""', "'''", '"', "'", '"""\\', '"\\', "#", '"""a\\"""'])
def test_texts_without_an_end_take_no_time(opening: str) -> None:
    with seconds(1), pytest.raises(Error, match="not valid TOML"):
        parse_toml(f"a = {opening}" + (opening + "\n") * 20_000, "x")


def test_a_size_of_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TOML", 10)
    (tmp_path / "x.toml").write_text("a = 1234567\n")
    with pytest.raises(Error, match=r"x.toml: 12 bytes; the limit for such a file is 10"):
        read_toml(str(tmp_path / "x.toml"))


# -- archives ----------------------------------------------------------------------------------------------------------


def npy(shape: str = "(4,)", data: bytes = bytes(16), descr: str = "<u4", length: int | None = None) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    version, size = (b"\1\0", struct.pack("<H", len(text))) if length is None else (b"\2\0", struct.pack("<I", length))
    return b"\x93NUMPY" + version + size + text + data


def archived(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def twice(data: bytes) -> bytes:
    """The directory's first entry twice."""
    start, end = data.index(b"PK\1\2"), data.rindex(b"PK\5\6")
    size = 46 + sum(struct.unpack("<3H", data[start + 28 : start + 34]))
    tail = struct.pack("<4H2LH", 0, 0, 2, 2, end - start + size, start, 0)
    return data[:start] + data[start : start + size] + data[start:end] + b"PK\5\6" + tail


def overlapping(count: int) -> bytes:
    """One stored member by many names."""
    data = npy()
    common = struct.pack("<5H3L", 20, 0x800, 0, 0, 33, zlib.crc32(data), len(data), len(data))
    body = b"PK\3\4" + common + struct.pack("<2H", 5, 0) + b"a.npy" + data
    names = [f"{i:03}.npy".encode() for i in range(count)]
    index = b"".join(b"PK\1\2\x14\0" + common + struct.pack("<5H2L", len(n), 0, 0, 0, 0, 0, 0) + n for n in names)
    return body + index + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, count, count, len(index), len(body), 0)


def changed(data: bytes, mark: bytes, at: int, value: int) -> bytes:
    """A field of four bytes after a mark."""
    at += data.rindex(mark)
    return data[:at] + struct.pack("<L", value) + data[at + 4 :]


ONE = archived({"a.npy": npy()})
PACKED = archived({"a.npy": npy()}, zipfile.ZIP_DEFLATED)
ARCHIVES = {
    "twice": (twice(ONE), "a.npy: two members of this name"),
    "overlapping": (overlapping(9), "its members claim"),
    "another method": (archived({"a.npy": npy()}, zipfile.ZIP_LZMA), "compressed by another method than deflate"),
    "claims more": (changed(ONE, b"PK\1\2", 24, 1 << 30), "claim to become 1073741824"),
    "claims much more": (changed(PACKED, b"PK\1\2", 24, 1 << 30), "claim to become 1073741824"),
    "a large header": (archived({"a.npy": npy(length=1 << 31)}), "a header of 2147483648 bytes; the limit is 10000"),
    "a large packed header": (
        archived({"a.npy": npy(length=1 << 20, data=bytes(1 << 20))}, zipfile.ZIP_DEFLATED),
        "a header of 1048576 bytes",
    ),
    "a large shape": (archived({"a.npy": npy("(1 << 40,)".replace("1 << 40", str(1 << 40)))}), "do not fit shape"),
    "many dimensions": (archived({"a.npy": npy("(" + "1, " * 33 + ")")}), "shape"),
    "hidden characters": (archived({"\x1b[31m.npy": npy("(5,)")}), r"\\x1b\[31m.npy: 16 bytes"),
    "a pickle": (archived({"a.npy": b"\x80\x02}."}), "a pickle is never unpickled"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_that_are_refused(name: str, tmp_path: Path) -> None:
    data, message = ARCHIVES[name]
    (tmp_path / "x.npz").write_bytes(data)
    with seconds(1), pytest.raises(Error, match=f"x.npz: .*{message}"):
        npz.load(tmp_path / "x.npz")


def test_archives_that_are_read(tmp_path: Path) -> None:
    for data in (ONE, PACKED, archived({}), archived({f"{i}.npy": npy() for i in range(9)}), ONE[:-2] + b"\5\0notes"):
        (tmp_path / "x.npz").write_bytes(data)
        for array in npz.load(tmp_path / "x.npz").values():
            assert array.tolist() == [0, 0, 0, 0]


def test_what_members_become_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of zeros, in sum; a file that is larger may become more."""
    path = tmp_path / "x.npz"
    np.savez_compressed(path, a=np.zeros(30_000, np.uint8), b=np.zeros(30_000, np.uint8))
    npz.load(path)
    monkeypatch.setattr(limits, "UNPACKED", 50_000)
    with pytest.raises(Error, match=r"its compressed members become 60\d\d\d bytes; the limit is 50000: store them"):
        npz.load(path)
    monkeypatch.setattr(limits, "EXPANSION", 100_000 / path.stat().st_size)
    npz.load(path)


def test_a_member_that_becomes_more_than_it_claims(tmp_path: Path) -> None:
    """No more is unpacked: its header fits its claim, its data go on."""
    whole = archived({"a.npy": npy("(4,)", bytes(1 << 20))}, zipfile.ZIP_DEFLATED)
    for mark, at in ((b"PK\1\2", 24), (b"PK\3\4", 22)):
        whole = changed(whole, mark, at, len(npy()))
    (tmp_path / "x.npz").write_bytes(whole)
    with pytest.raises(Error, match="not a readable"):  # its checksum is another
        npz.load(tmp_path / "x.npz")


def test_members_and_their_contents_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MEMBERS", 3)
    monkeypatch.setattr(archives._Opening, "limit", 300)
    (tmp_path / "x.npz").write_bytes(archived({f"{i}.npy": npy() for i in range(4)}))
    with pytest.raises(Error, match=r"x.npz: 4 members; the limit is 3"):
        npz.load(tmp_path / "x.npz")
    (tmp_path / "x.npz").write_bytes(archived({f"{i}.npy": npy() for i in range(6)}))
    with pytest.raises(Error, match=r"x.npz: a directory of 306 bytes; the limit is 300"):
        npz.load(tmp_path / "x.npz")
    (tmp_path / "x.npz").write_bytes(ONE)
    with archives.archive(tmp_path / "x.npz") as zip_file:
        entry = zip_file.getinfo("a.npy")
        assert archives.content(zip_file, entry, entry.file_size) == npy()
        with pytest.raises(Error, match=r"a.npy: .* the limit is 9"):
            archives.content(zip_file, entry, 9)


# -- commands ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("v/manifest.json", "vectors verify v"),
        ("v/manifest.json", "vectors diff v v"),
        ("v/manifest.json", "vectors generate --op add --fmt fp16 -n 3 -o v"),
        ("v/suite.json", "vectors verify v"),
        ("x.toml", "formats show x.toml"),
        ("x.toml", "vectors generate x.toml -o out"),
        ("x.toml", "train x.toml"),
        ("x.npy", "quantize --fmt fp16 -i x.npy"),
        ("x.csv", "quantize --fmt fp16 -i x.csv"),
        ("x.npz", "dot --acc exact --fmt fp16 -i x.npz"),
        ("x.npz", "plot histogram x.npz"),
        ("x.json", "plot sqnr x.json"),
        ("x.json", "prove --check x.json"),
        ("run/log.jsonl", "plot training run"),
        *((f"m{end}", f"report m{end} --fmt fp16") for end in (".npz", ".npy", ".pt", ".safetensors", ".onnx")),
    ],
)
def test_a_pipe_in_the_place_of_a_file(name: str, args: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    with seconds(30):
        done = run(*args.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "is a pipe, not a file" in done.stderr or "it has no log" in done.stderr


LINES = {
    "report": (
        "x.json",
        {"formats": ["f\ng"], "rows": [{"tensor": "a\nb", "format": "f\ng", "sqnr_db": 1.0}]},
        "plot sqnr x.json",
        "a b",
    ),
    "certificate": (
        "x.json",
        {
            "schema": 2,
            "tool": "softfloat-ref",
            "sha256": "0",
            "version": "1",
            "reading": {"files": [], "absent": [], "tools": {}},
            "solvers": {},
            "files": [],
            "cases": [],
            "later": {"verdict": "a\nb", "said": ""},
        }
        | {"inputs": {}, "assumption": "#b1", "second_opinion": {"difference": None}, "simulated_text": None},
        "prove --check x.json",
        "a b",
    ),
    "log": ("log.jsonl", {"recipe": "a\nb", "epoch": 1, "train_loss": 1.0}, "plot training log.jsonl", "a b"),
    "definition": (
        "x.toml",
        '[formats.f]\nlike = "fp8_e4m3"\nsource = """a\nb"""\n',
        "formats show x.toml",
        "a b",
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=pytest.mark.extra("bitwuzla")) if x == "certificate" else x for x in LINES]
)
def test_line_ends_of_texts_do_not_make_lines(name: str, tmp_path: Path) -> None:
    """A text in JSON or TOML may have lines; what is printed of it is one."""
    file, content, args, shown = LINES[name]
    (tmp_path / file).write_text(content if isinstance(content, str) else json.dumps(content) + "\n")
    printed = run(*args.split(), cwd=tmp_path).stdout
    assert shown in printed
    assert not any(line.startswith(("b", "g")) for line in printed.splitlines())


def test_what_an_array_claims_is_compared_with_the_file(tmp_path: Path) -> None:
    """numpy would warn of numbers beyond its own."""
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({1 << 40}, {1 << 40}), }}\n".encode()
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + bytes(16))
    done = run("quantize", "--fmt", "fp16", "-i", "x.npy", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"its header claims {1 << 83} bytes, but 16 follow" in done.stderr
