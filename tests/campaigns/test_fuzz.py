"""A slice of the fuzzing of every reader (tests/campaigns/fuzz), what it found, and that its own checks can fail."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import time
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ok, refused, run
from fuzz import bounds, guard
from fuzz.__main__ import all_readers, fuzz, workplace
from fuzz.reader import Reader

from softfloat_ref.arrays import packing
from softfloat_ref.base.errors import MAX_MESSAGE, Error
from softfloat_ref.base.patterns import matches
from softfloat_ref.coverage.engine.measure import read_waivers
from softfloat_ref.golden.manifest import make_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.suites import read_suite, verify_suite
from softfloat_ref.golden.trace.files import write_trace
from softfloat_ref.golden.trace.step import trace_step
from softfloat_ref.golden.verify import verify
from softfloat_ref.nn.training_recipe import read_recipe
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.affine import get_rule
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.literals import parse_code, parse_number
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.proof import certificate, prove
from softfloat_ref.proof.stimuli import literals
from softfloat_ref.proof.texts import asking
from softfloat_ref.rtl.sources import read_sources

pytestmark = pytest.mark.usefixtures("nothing_kept")  # the inputs may open no file outside their folder
OUTSIDE = "../outside.toml:a"
PLAIN = "exponent_bits = 4\nmantissa_bits = 3\nbias = 7\n"
COUNT = int(os.environ.get("FUZZ_COUNT", "100"))
NAMES = (
    *("formats", "policies", "profiles", "block_formats", "accumulators", "recipes", "suites", "ports", "waivers"),
    *(
        "format_names",
        "affine_names",
        "affine_rules",
        "accumulator_trees",
        "random_sources",
        "profile_names",
        "policy_names",
    ),
    *("numbers", "operand_formats", "journal", "npy", "csv", "results", "lines", "operand_lines", "requests"),
    *("captures", "operand_arrays", "arrays", "packed", "codes", "suite_manifest"),
    *("training_recipes", "checkpoints", "safetensors", "run_logs", "outcomes", "manifest_trace", "drawn_arrays"),
    *("mnist", "mnist_packed", "cifar10", "titanic", "penn_treebank", "text", "schedulers"),
    *("model_npz", "model_npy", "model_pt", "model_safetensors", "model_onnx"),
    *("certificates", "proof_results", "report_json", "kept_results", "sources", "file_lists"),
    *(f"vectors_{x}" for x in ("tv", "memh", "svh", "svpkg", "c", "csv", "jsonl", "npz")),
    *(f"manifest_{x}" for x in ("scalar", "left_out", "stochastic", "block", "dot", "mixed", "intermediate", "matmul")),
)
EXTRA = {"safetensors", "model_safetensors", "model_onnx"}  # readers of an extra's files


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = workplace(tmp_path_factory.mktemp("fuzz"))
    with guard.limits(folder):
        yield folder


@pytest.fixture(scope="module")
def readers(work: Path) -> dict[str, Reader]:
    return all_readers(work)


@pytest.mark.full
def test_every_reader_is_fuzzed(readers: dict[str, Reader]) -> None:
    assert set(NAMES) - set(readers) <= EXTRA
    assert set(readers) <= set(NAMES)


@pytest.mark.full(keep=7)
@pytest.mark.parametrize("name", NAMES)
def test_broken_input_is_refused(name: str, readers: dict[str, Reader], work: Path) -> None:
    if name not in readers:
        pytest.skip(f"needs {name}")
    _, faults = fuzz(readers[name], work, range(COUNT))
    assert not faults


def test_examples_are_valid(readers: dict[str, Reader], work: Path) -> None:
    """So what is fuzzed lies close to what is read."""
    for reader in readers.values():
        assert any(guard.call(lambda data=x, r=reader: r.run(data, work), reader.others) for x in reader.examples), (
            reader
        )  # type: ignore[misc]


def test_an_input_is_its_number(readers: dict[str, Reader]) -> None:
    for reader in readers.values():
        assert [reader.input(n) for n in range(9)] == [reader.input(n) for n in range(9)]
    assert readers["formats"].input(7) != readers["formats"].input(8)


HARM = {
    "KeyError": lambda: {}["x"],
    "more than 0.2 s": lambda: sum(1 for _ in iter(int, 1)),  # without end
    "MemoryError": lambda: bytearray(1 << 40),
    "open": lambda: open("../outside.toml").close(),
    "exec": lambda: eval("1 + 1"),
    "pickle": lambda: pickle.loads(pickle.dumps(Path)),
    "os.system": lambda: os.system("true"),
    "no one line": lambda: (_ for _ in ()).throw(type("Other", (Error,), {"__str__": lambda _: "a\nb"})()),
}


@pytest.mark.parametrize("what", HARM)
def test_harm_is_seen(what: str, work: Path) -> None:
    with pytest.raises(guard.Fault, match=what):
        guard.call(HARM[what], seconds=0.2)


# -- time and memory ---------------------------------------------------------------------------------------------------

BOUNDED = ("policies", "manifest_scalar", "model_pt", "model_npz", "results", "mnist_packed")
HARMFUL = {
    "dies": lambda: os.kill(os.getpid(), 15),
    "ends": lambda: os._exit(3),
    "takes memory": lambda: bytearray(1 << 40),
    "stays": lambda: time.sleep(60),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_time_and_memory_are_bounded(name: str, readers: dict[str, Reader], work: Path) -> None:
    found = bounds.measured(readers[name], work, 10_000, 100)
    assert (found.inputs, found.faults) == (100, [])
    assert found.accepted + found.refused == 100
    assert found.slowest[0] < guard.SECONDS
    assert found.largest[0] < 256


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("harm", HARMFUL)
def test_a_process_that_an_input_ends(harm: str, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as a fault, and the next input is read by another process."""
    monkeypatch.setattr(bounds, "SECONDS", 1.0)
    reader = Reader("x", [b"good"], lambda data, _: HARMFUL[harm]() if data == b"bad" else None)  # type: ignore[func-returns-value]
    monkeypatch.setattr(Reader, "input", lambda self, number: b"bad" if number == 3 else b"good")
    found = bounds.measured(reader, work, 0, 6)
    assert (found.inputs, found.accepted, len(found.faults)) == (6, 5, 1)
    assert found.faults[0].startswith("x 3: ")


# -- what it found -----------------------------------------------------------------------------------------------------


def test_messages_are_one_line_however_they_were_made() -> None:
    assert str(Error("a name with\nan end of line\r\nor two")) == "a name with an end of line or two"
    assert len(str(Error("x" * 100_000))) == MAX_MESSAGE


def test_a_suite_whose_entry_has_no_count(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('[[set]]\nop = "add"\nfmt = "fp16"\ncount = 5\n')
    ok("vectors", "generate", "s.toml", "-o", "v", cwd=tmp_path)
    path = tmp_path / "v" / "suite.json"
    found = json.loads(path.read_text())
    del found["sets"][0]["count"]
    path.write_text(json.dumps(found))
    assert "sets are not tables with folder, count and sha256" in refused("vectors", "verify", "v", cwd=tmp_path)


def test_a_suite_whose_folder_has_a_long_name(tmp_path: Path) -> None:
    """No file has such a name."""
    suite = {"schema": 1, "suite": "s", "count": 9, "sets": [{"folder": "a" * 300, "count": 9, "sha256": "0"}]}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    with pytest.raises(Error, match="sets are not tables"):
        list(verify_suite(tmp_path))


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


@pytest.mark.parametrize("name", ["../x.tv", "/etc/hostname", "v/../../x.tv", "x.tv"])
def test_no_path_of_a_manifest_is_opened(name: str, tmp_path: Path) -> None:
    """Names in it are only compared with those that the set has."""
    ok("vectors", "generate", "--op", "add", "--fmt", "fp16", "-n", "9", "-o", "v", cwd=tmp_path)
    (tmp_path / "x.tv").write_bytes((tmp_path / "v" / "add_fp16_rne.tv").read_bytes())
    path = tmp_path / "v" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"][0]["name"] = name
    path.write_text(json.dumps(manifest))
    done = run("vectors", "verify", "v", cwd=tmp_path)
    assert done.returncode == 1
    assert "but this set has" in done.stdout
    suite = {"schema": 1, "suite": "s", "count": 9, "sets": [{"folder": name, "count": 9, "sha256": "0"}]}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    found = refused("vectors", "verify", ".", cwd=tmp_path)
    assert "not tables" in found or "x.tv" in found


def test_a_journal_with_another_count_is_not_trusted(work: Path, readers: dict[str, Reader]) -> None:
    """Counts stand in it alone: a wrong one would become the manifest's."""
    reader = readers["journal"]
    lines = reader.examples[0].splitlines()
    rng = random.Random(1)
    for key in ("cases", "lines", "part"):
        entry = json.loads(lines[-1])
        entry[key] += rng.randrange(1, 9)
        data = b"\n".join([*lines[:-1], json.dumps(entry).encode()]) + b"\n"
        assert guard.call(lambda data=data: reader.run(data, work))  # type: ignore[misc]


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 1024, "k": 4096}, "fields does not match this set"),
        ({"m": 1024, "k": 4096, "described": True}, "a.memh: 2 lines, but 1 vectors make 1048576"),
        ({"c": "fp128"}, "memory images take formats of at most 64 bits"),
        ({"step": 10**6}, "a step has 1 to 16384 products"),
        ({"tree": "fuse(p[0:999999]+c)->out:rne"}, "a step has 1 to 16384 products"),
    ],
)
def test_products_that_a_manifest_claims(change: dict[str, object], message: str, tmp_path: Path) -> None:
    """No time or memory goes into what the files cannot hold."""
    args = ("--op", "matmul", "--fmt", "fp16", "--acc", "exact", "--m", "2", "--n", "2", "--k", "3", "-n", "1")
    ok("vectors", "generate", *args, "-o", "v", cwd=tmp_path)
    path = tmp_path / "v" / "manifest.json"
    manifest = json.loads(path.read_text())
    unit = manifest["set"]["unit"]
    for key, value in change.items():
        if key == "described":  # all that is said of the set is that of the larger one
            vectors = VectorSet.from_dict(manifest["set"])
            manifest = make_manifest(vectors, [], 1, manifest["left_out"], manifest["files"], [("identity", 1)])
        elif key == "c":
            unit["dot"]["formats"]["c"] = get_format(str(value)).to_dict()
        elif key == "m":
            unit[key] = value
        else:
            (unit["dot"] if key == "k" else unit["dot"]["accumulator"])[key] = value
    path.write_text(json.dumps(manifest))
    done = run("vectors", "verify", "v", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert message in done.stdout + done.stderr


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


def test_ends_of_lines_in_a_manifest_do_not_reach_the_report(tmp_path: Path) -> None:
    ok("vectors", "generate", "--op", "add", "--fmt", "fp16", "-n", "9", "-o", "v", cwd=tmp_path)
    path = tmp_path / "v" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"][0]["lines"] = "1\n2\r\nthree"
    path.write_text(json.dumps(manifest))
    assert "but the manifest counts 1 2 three" in run("vectors", "verify", "v", cwd=tmp_path).stdout
    manifest["files"][0]["lines"] = "1\n2\u2028three"
    path.write_text(json.dumps(manifest))
    assert r"'1\n2\u2028three' has a hidden character, \u2028" in refused("vectors", "verify", "v", cwd=tmp_path)


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
def test_long_numbers_of_sources_take_no_time(text: str, work: Path, tmp_path: Path) -> None:
    path = work / "long.sv"
    path.write_text(f"{text}\n16'd12 7\n")
    found: list[int] = []
    assert guard.call(lambda: found.extend(literals([path])), seconds=0.5)
    assert found[-2:] == [12, 7]


@pytest.mark.parametrize("text", ["/* ", '"\\', '"', "package ", "::", "`define A ", "// "])
def test_sources_without_ends_take_no_time(text: str, work: Path) -> None:
    path = work / "endless.sv"
    path.write_text(text * 10_000)
    assert guard.call(lambda: read_sources([path]).in_order(), seconds=0.5)
    assert guard.call(lambda: list(asking(("YOSYS",), [path])), seconds=0.5)


def test_patterns_of_brackets_take_no_time(work: Path) -> None:
    assert not guard.call(lambda: read_suite("x", tomllib.loads(f'{SUITE}sets = ["{"[" * 30_000}"]')))
    assert matches("fma_fp16_rne", "fma_*_r[nu]?")
    assert not matches("x", "[" * 70_000)


def dots(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    ok(
        "vectors",
        "generate",
        "--op",
        "dot",
        "--fmt",
        "fp16",
        "--acc",
        "nvidia-v100",
        "-n",
        "3",
        "-o",
        "v",
        cwd=tmp_path,
    )
    path = tmp_path / "v" / "manifest.json"
    return path, json.loads(path.read_text())


@pytest.mark.parametrize(("field", "value"), [("formats", "../x.toml:a"), ("steps", "../x.toml:a=4")])
def test_a_manifests_accumulator_names_no_file(field: str, value: str, tmp_path: Path) -> None:
    path, found = dots(tmp_path)
    (tmp_path / "x.toml").write_text('[formats.a]\nlike = "fp16"\n')
    found["set"]["unit"]["accumulator"][field] = value
    path.write_text(json.dumps(found))
    assert "not from a file" in refused("vectors", "verify", ".", cwd=path.parent)


def test_a_manifests_name_that_is_too_long_for_a_file(tmp_path: Path) -> None:
    path, found = dots(tmp_path)
    text = (
        json.dumps(found)
        .replace("nvidia_v100", "nvidia_v1" + 300 * "0")
        .replace("nvidia-v100", "nvidia-v1" + 300 * "0")
    )
    path.write_text(text)
    done = run("vectors", "verify", "v", cwd=tmp_path)
    assert done.returncode == 1
    assert ".tv: missing" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def referring(value: Any) -> Iterator[Any]:
    """A JSON tree with one of its values a reference to a file, or one of its tables like another; each in turn."""
    if isinstance(value, dict):
        yield {**value, "like": OUTSIDE}
        yield {"like": OUTSIDE}
        yield from ({**value, key: new} for key, old in value.items() for new in referring(old))
    elif isinstance(value, list):
        for old in value[:40]:
            yield from ([new if x is old else x for x in value] for new in referring(old))
    yield OUTSIDE


@pytest.mark.full
@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("manifest_")])
def test_a_stored_definition_refers_to_nothing(name: str, readers: dict[str, Reader], work: Path) -> None:
    """No file that a manifest names where it defines something is opened, wherever the name stands."""
    (Path(work).parent / "outside.toml").write_text(
        f"[formats.a]\n{PLAIN}[profiles.a]\n[accumulators.a]\nlike = 'exact'\n"
    )
    reader, tried, accepted = readers[name], 0, 0
    manifest = json.loads(reader.examples[0])
    for changed in referring(manifest["set"]):
        data = json.dumps({**manifest, "set": changed}).encode()
        accepted += guard.call(lambda data=data: reader.run(data, work))  # type: ignore[misc]
        tried += 1
    assert tried > 20
    assert accepted < tried / 2


def test_a_traces_command_is_whatever_it_was(readers: dict[str, Reader], work: Path) -> None:
    """As in all other manifests."""
    reader = readers["manifest_trace"]
    manifest = json.loads(reader.examples[0])
    for command in (["a"], [], None, 5, "text"):
        assert guard.call(
            lambda command=command: reader.run(json.dumps({**manifest, "command": command}).encode(), work)
        )


def test_a_tensor_of_a_trace_is_named_in_ascii(readers: dict[str, Reader], work: Path) -> None:
    reader = readers["manifest_trace"]
    text = reader.examples[0].decode()
    name = json.loads(text)["set"]["tensors"][0]["name"]
    reader.run(text.encode(), work)
    with pytest.raises(Error, match="is not the name of a tensor"):
        reader.run(text.replace(name, f"{name}\uff11").encode(), work)


@pytest.mark.parametrize("name", ["é x", "a\nb", "\uff11"])
def test_recipes_may_be_called_anything(name: str, tmp_path: Path) -> None:
    """The files of a trace are plain ASCII, a line a statement."""
    tables = {"model": {"kind": "mlp", "hidden": []}, "data": {"name": "blobs", "features": 2, "train": 4, "test": 1}}
    write_trace(*trace_step(read_recipe(tables, name), 1), tmp_path / "t", [])
    report = verify(tmp_path / "t")
    assert report.passed, report.problems
    (header,) = (tmp_path / "t").glob("*.svh")
    assert all(line.startswith(("//", "localparam int ")) for line in header.read_text("ascii").splitlines())
