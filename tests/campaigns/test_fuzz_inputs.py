"""What fuzzing found in the readers of definitions, arrays, numbers, sources and certificates."""

from __future__ import annotations

import io
import json
import os
import pickle
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command import refused
from fuzz import guard

from softfloat_ref.arrays import packing
from softfloat_ref.base.errors import MAX_MESSAGE, Error
from softfloat_ref.base.names import matches
from softfloat_ref.coverage.engine.measure import read_waivers
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.suites import read_suite
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.affine import get_rule
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.literals import parse_code, parse_number
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.proof import certificate, prove
from softfloat_ref.proof.outcome import macro_lines
from softfloat_ref.proof.stimuli import literals
from softfloat_ref.rtl.sources import read_sources

pytestmark = pytest.mark.usefixtures("nothing_kept")  # the inputs may open no file outside their folder


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    with guard.limits(tmp_path):
        yield tmp_path


def test_messages_are_one_line_however_they_were_made() -> None:
    assert str(Error("a name with\nan end of line\r\nor two")) == "a name with an end of line or two"
    assert len(str(Error("x" * 100_000))) == MAX_MESSAGE


@pytest.mark.parametrize("like", ["[]", "{}", "0", "false", '""', "[1979-05-27]", "{a.b = 1}"])
def test_a_definition_that_is_like_no_name(like: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    kinds = {"affine_rules": get_rule, "formats": get_format, "policies": get_policy, "profiles": get_profile,
             "accumulators": get_accumulator}  # fmt: skip
    for kind, read in kinds.items():
        path.write_text(f"[{kind}.a]\nlike = {like}\n")
        if kind == "policies" and like == "{}":  # a policy may be like a table of others' fields
            read(str(path))
            continue
        with pytest.raises(Error, match=r"x.toml: "):
            read(str(path))


@pytest.mark.parametrize(
    "decided",
    [1, [], {}, {"case": "all"}, {"case": "all", "queries": 1, "counterexample": None}, {"queries": [], "x": 1}],
)
def test_results_of_proofs_that_were_never_written(decided: object) -> None:
    line = {"key": "q", "limit_s": 1.0, "cut": True, "apart": True, "confirm": "", "decided": decided}
    assert list(prove._lines(json.dumps(line) + "\n{")) == []


@pytest.mark.parametrize("width", ["x", float("inf"), float("nan"), [], None, "1" * 5000])
def test_widths_of_a_certificate_that_are_none(width: object) -> None:
    table = {"inputs": {"a": width}, "assumption": "#b1", "cases": [], "sha256": "", "later": None}
    table |= {"reading": {"files": [], "absent": []}, "second_opinion": {"difference": None}, "simulated_text": None}
    with pytest.raises(Error, match="the certificate is incomplete"):
        list(certificate.problems(table, Path()))


class Opened:
    """What a pickle would run."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("pickled",)


def npz(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return out.getvalue()


def npy(header: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


HEADERS = {
    "no Python": "{'descr': '<u4', 'fortran_order': False, 'shape': (2 4), }\n",
    "huge": "{'descr': '<u4', 'fortran_order': False, 'shape': (1000000000000,), }\n",
    "beyond C": "{'descr': '<u4', 'fortran_order': False, 'shape': (128, 7, -3, 10000000000000000000000), }\n",
    "code": "{'descr': '<u4', 'fortran_order': False, 'shape': (__import__('os').mkdir('run'),), }\n",
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("command", ["dot --replay x.npz", "dot --fmt fp16 -i x.npz", "quantize --fmt fp16 -i x.npy"])
def test_arrays_that_claim_what_they_are_not(command: str, header: str, tmp_path: Path) -> None:
    array = npy(HEADERS[header], bytes(16))
    (tmp_path / "x.npy").write_bytes(array)
    (tmp_path / "x.npz").write_bytes(npz(a=array, b=array, c=array, d=array))
    args = command.split()
    refused(*args, *(["--acc", "exact"] if args[0] == "dot" else []), cwd=tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy", "x.npz"]


def test_a_member_that_is_no_array(tmp_path: Path) -> None:
    array = npy("{'descr': '<u4', 'fortran_order': False, 'shape': (4,), }\n", bytes(16))
    (tmp_path / "x.npz").write_bytes(npz(a=array, b=b"1 2 3 4"))
    assert "x.npz: b.npy: does not begin with the header that numpy.save writes" in refused(
        "dot", "--fmt", "fp16", "--acc", "exact", "-i", "x.npz", cwd=tmp_path
    )


def test_an_archive_that_claims_more_than_it_can_become(tmp_path: Path) -> None:
    array = npy("{'descr': '<u4', 'fortran_order': False, 'shape': (4,), }\n", bytes(16))
    data = npz(a=array, b=array).replace(len(array).to_bytes(4, "little"), (1 << 31).to_bytes(4, "little"))
    (tmp_path / "x.npz").write_bytes(data)
    assert "x.npz" in refused("dot", "--fmt", "fp16", "--acc", "exact", "-i", "x.npz", cwd=tmp_path)


@pytest.mark.parametrize("command", ["dot --acc exact --fmt fp16 -i x.npz", "quantize --fmt fp16 -i x.npy"])
def test_nothing_is_unpickled(command: str, tmp_path: Path) -> None:
    """Neither an array of objects nor a bare pickle."""
    out = io.BytesIO()
    np.save(out, np.array([Opened()], object), allow_pickle=True)
    for data in (out.getvalue(), pickle.dumps(Opened())):
        (tmp_path / "x.npy").write_bytes(data)
        (tmp_path / "x.npz").write_bytes(data if data[:1] == b"\x80" else npz(a=data, b=data))
        refused(*command.split(), cwd=tmp_path)
        assert not (tmp_path / "pickled").exists()


TAGGED = "!!python/object/apply:os.mkdir [pickled]"


@pytest.mark.parametrize(
    ("name", "text", "args"),
    [
        ("x.toml", f"[formats.a]\nlike = {TAGGED}\n", "formats show x.toml"),
        ("x.toml", f'[formats.a]\nlike = "{TAGGED}"\n', "formats show x.toml"),
        ("x.toml", "op = \"__import__('os').mkdir('pickled')\"\nfmt = \"fp16\"\n", "vectors generate x.toml -o v"),
        ("x.csv", "__import__('os').mkdir('pickled')\n", "quantize --fmt fp16 -i x.csv"),
        ("x.csv", f"{TAGGED}\n", "quantize --fmt fp16 -i x.csv"),
        ("manifest.json", f'{{"schema": "{TAGGED}"}}', "vectors verify ."),
        ("manifest.json", TAGGED, "vectors verify ."),
    ],
)
def test_nothing_is_evaluated(name: str, text: str, args: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    refused(*args.split(), cwd=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [name]


SUITE = '[[set]]\nop = "add"\nfmt = "fp16"\ncount = 5\n[pack]\n'


@pytest.mark.parametrize(
    ("pack", "message"),
    [
        ("count = [5]", "is not an integer"),
        ('count = "many"', "is not an integer"),
        ("count = true", "is not an integer"),
        ("sets = [5]", "not a pattern"),
        (f'sets = ["{"[" * 30_000}"]', "no set matches"),
    ],
)
def test_packs_of_suites(pack: str, message: str) -> None:
    """A pattern of brackets would keep fnmatch busy for minutes."""
    with pytest.raises(Error, match=message):
        read_suite("x", tomllib.loads(SUITE + pack))


@pytest.mark.parametrize("value", ["[" * 30_000, "9" * 5000, '"\\u00"', '"\xff"'])
def test_waivers_that_are_no_toml(value: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f'[[waive]]\nbin = "*"\nreason = {value}\n', encoding="latin-1")
    coverage = VectorSet.make("neg", "fp16", 1).coverage
    assert coverage is not None
    with pytest.raises(Error, match=r"not valid TOML|is not UTF-8"):
        read_waivers(tmp_path / "x.toml", coverage)


@pytest.mark.parametrize("space", ["\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", " "])
def test_white_space_around_a_code(space: str) -> None:
    """Also such as int() does not take for white space."""
    assert parse_code(f"{space}0x3c00{space}") == 0x3C00
    with pytest.raises(Error, match="not a hexadecimal code"):
        parse_code(f"3c{space}00")


@pytest.mark.parametrize("shape", [(0, 1 << 63), (0, 1 << 60), (1 << 62, 0), (-1, 8), ()])
def test_packed_blocks_of_a_shape_that_no_array_has(shape: tuple[int, ...]) -> None:
    """Also where there are no blocks, and so no bytes that would be missing."""
    with pytest.raises(Error, match="an array cannot have the shape"):
        packing.unpack(np.zeros(0, np.uint8), np.zeros(0, np.uint8), shape, 64, 8)


def test_products_of_formats_wider_than_words(tmp_path: Path) -> None:
    args = ("--op", "matmul", "--fmt", "fp128", "--out", "fp128", "--acc", "exact")
    assert "at most 64 bits" in refused("vectors", "generate", *args, "-o", "v", cwd=tmp_path)


@pytest.mark.parametrize("text", ["9" * 20_000 + "x", "1." + "9" * 20_000 + "x", "0x" + "f" * 20_000 + "g"])
def test_long_numbers_take_no_time(text: str, work: Path) -> None:
    """A pattern whose repetitions meet tries every place at which they may."""
    assert not guard.call(lambda: parse_number(text), seconds=0.5)


@pytest.mark.parametrize(
    "text", ["9" * 20_000, "0x" + "9" * 20_000, "1" + " " * 20_000, "8 'h" + "f" * 20_000, "1 " * 9_999]
)
def test_long_numbers_of_sources_take_no_time(text: str, work: Path) -> None:
    path = work / "long.sv"
    path.write_text(f"{text}\n16'd12 7\n")
    numbers: list[int] = []
    assert guard.call(lambda: numbers.extend(literals([path])), seconds=0.5)
    assert numbers[-2:] == [12, 7]


@pytest.mark.parametrize("text", ["/* ", '"\\', '"', "package ", "::", "`define A ", "// "])
def test_sources_without_ends_take_no_time(text: str, work: Path) -> None:
    path = work / "endless.sv"
    path.write_text(text * 10_000)
    assert guard.call(lambda: read_sources([path]).in_order(), seconds=0.5)
    assert guard.call(lambda: list(macro_lines(("YOSYS",), [path])), seconds=0.5)


def test_patterns_of_brackets_take_no_time(work: Path) -> None:
    assert not guard.call(lambda: read_suite("x", tomllib.loads(f'{SUITE}sets = ["{"[" * 30_000}"]')))
    assert matches("fma_fp16_rne", "fma_*_r[nu]?")
    assert not matches("x", "[" * 70_000)
