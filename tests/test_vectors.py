"""Golden vectors: every operation and block conversion is written, verified, and a changed byte is found."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from softfloat_ref.codec import decode
from softfloat_ref.errors import Error
from softfloat_ref.formats import CATALOGUE, get_format
from softfloat_ref.golden import writers
from softfloat_ref.golden.cases import boundaries, cases, crossed, random_cases, specials
from softfloat_ref.golden.diff import diff
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.recipes import load_recipe, recipe_files
from softfloat_ref.golden.sets import BLOCK_OPERATIONS, VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.ops import OPERATIONS, evaluate, get_operation
from softfloat_ref.policies import Policy
from softfloat_ref.sources import Philox

BLOCK_NAMES = ("mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8")


@pytest.mark.parametrize("op", OPERATIONS)
def test_every_operation(op: str, tmp_path: Path) -> None:
    operation = get_operation(op)
    fmt = ["fp16" if kind == "float" else "i8" for kind in operation.operands]
    vectors = VectorSet.make(op, fmt, 400, out="bf16" if op == "convert" else None, seed=3)
    manifest = generate(vectors, tmp_path)
    report = verify(tmp_path)
    assert report.passed, report.problems
    assert report.checked == manifest["count"] == 400


@pytest.mark.parametrize("op", BLOCK_OPERATIONS)
@pytest.mark.parametrize("fmt", BLOCK_NAMES)
def test_every_block_format(fmt: str, op: str, tmp_path: Path) -> None:
    generate(VectorSet.make(op, fmt, 1000), tmp_path)
    report = verify(tmp_path)
    assert report.passed, report.problems
    assert report.checked == 1000


@pytest.mark.parametrize("name", recipe_files())
def test_every_recipe(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(name)
    assert recipe.description
    small = dataclasses.replace(recipe, count=300) if not recipe.block else recipe
    generate(small, tmp_path)
    assert verify(tmp_path).passed


def test_lines_and_words(tmp_path: Path) -> None:
    """The conventions: TestFloat's lines, simulators' words, and a header that says where the fields are."""
    vectors = VectorSet.make("fma", ("fp8_e4m3", "fp8_e5m2", "fp32"), 50, out="fp32")
    generate(vectors, tmp_path)
    lines = (tmp_path / f"{vectors.name}.tv").read_text().splitlines()
    words = [w for w in (tmp_path / f"{vectors.name}.memh").read_text().splitlines() if not w.startswith("//")]
    header = dict(
        line.removeprefix("localparam int ").rstrip(";").split(" = ")
        for line in (tmp_path / "vectors.svh").read_text().splitlines()
        if line.startswith("localparam int")
    )
    assert len(lines) == len(words) == int(header["VEC_COUNT"]) == 50
    for line, word in zip(lines, words, strict=True):
        assert line == line.upper()
        assert word == word.lower() == line.lower().replace(" ", "_")
        number = int(word.replace("_", ""), 16)
        assert len(word.replace("_", "")) * 4 == int(header["VEC_WIDTH"])
        for name, text in zip(("A", "B", "C", "RESULT", "FLAGS"), line.split(), strict=True):
            width = int(header[f"VEC_{name}_WIDTH"])
            assert number >> int(header[f"VEC_{name}_LSB"]) & ((1 << width) - 1) == int(text, 16)
        a, b, c, result, flags = (int(x, 16) for x in line.split())
        assert evaluate("fma", (a, b, c), ("fp8_e4m3", "fp8_e5m2", "fp32"), "fp32") == (result, flags)


def test_block_words_have_lane_zero_lowest(tmp_path: Path) -> None:
    vectors = VectorSet.make("quantize", "mxfp6", 20)
    generate(vectors, tmp_path)
    line = (tmp_path / f"{vectors.name}.tv").read_text().splitlines()[1].split()
    word = int((tmp_path / f"{vectors.name}.memh").read_text().splitlines()[3].replace("_", ""), 16)
    lsb = writers.positions(vectors.fields)
    for i in range(32):
        assert word >> (lsb["values"] + 32 * i) & 0xFFFFFFFF == int(line[i], 16)
        assert word >> (lsb["elements"] + 8 * i) & 0x3F == int(line[33 + i], 16)
    assert word >> lsb["scale"] & 0xFF == int(line[32], 16)


def test_same_request_same_bytes(tmp_path: Path) -> None:
    hashes = set()
    for name in ("a", "b"):
        generate(VectorSet.make("fma", "fp16", 5000, seed=9), tmp_path / name)
        hashes.add(hashlib.sha256((tmp_path / name / "fma_fp16_rne.tv").read_bytes()).hexdigest())
    assert len(hashes) == 1


def test_bytes_do_not_change_between_versions(tmp_path: Path) -> None:
    """A change of any expected bit, or of the generator, is an entry in the changelog: this hash changes with it."""
    generate(VectorSet.make("fma", "fp16", 10000, seed=1), tmp_path)
    assert hashlib.sha256((tmp_path / "fma_fp16_rne.tv").read_bytes()).hexdigest() == FMA_SHA256


FMA_SHA256 = "cc5fb4cb15d488d775d44ab778fa1bf1b9e69cbb1a28b4d0ea9fe201a76302d9"


def test_specials_come_first_then_random() -> None:
    fp16 = get_format("fp16")
    listed = list(cases((fp16, fp16), 1, 4000))
    pairs = len(specials(fp16)) ** 2
    assert set(listed[:pairs]) == set(crossed((fp16, fp16)))
    assert listed[pairs:] == list(random_cases((fp16, fp16), 1, 4000 - pairs))
    assert listed[-100:] == list(random_cases((fp16, fp16), 1, 100, 4000 - pairs - 100))  # by position alone


@pytest.mark.parametrize("fmt", CATALOGUE.values(), ids=lambda f: f.name)
def test_specials_cover_the_classes(fmt) -> None:  # type: ignore[no-untyped-def]
    codes = specials(fmt)
    values = [decode(c, fmt) for c in codes]
    assert len(set(codes)) == len(codes)
    assert any(v.is_nan for v in values) == fmt.has_nan
    assert any(v.is_inf for v in values) == fmt.infinity
    assert {fmt.max_code, fmt.min_code} <= set(codes)
    assert any(v.signaling for v in values) == fmt.signaling


def test_conversions_meet_every_boundary_of_a_small_target() -> None:
    fp32, target = get_format("fp32"), get_format("fp8_e4m3")
    codes = [c for (c,) in boundaries(fp32, target)]
    found = {decode(c, fp32).as_fraction() for c in codes if decode(c, fp32).is_finite}
    for code in range(target.max_code):
        a, b = (decode(c, target).as_fraction() for c in (code, code + 1))
        assert {a, b, (a + b) / 2, -(a + b) / 2} <= found


def test_stochastic_vectors_carry_their_random_bits(tmp_path: Path) -> None:
    vectors = VectorSet.make("convert", "fp32", 200, out="fp8_e4m3", seed=4, policy=Policy("sr", sr_bits=6))
    manifest = generate(vectors, tmp_path)
    assert manifest["set"]["random_source"] == "philox:seed=4"
    rows = [line.split() for line in (tmp_path / f"{vectors.name}.tv").read_text().splitlines()]
    assert [int(r[1], 16) for r in rows] == Philox(4).bits(6, 0, 200)
    assert verify(tmp_path).passed


@pytest.mark.parametrize("name", ["i1", "u1", "i2", "s1e1m1", "e8m0", "binary3p1ue", "fp128"])
def test_odd_formats(name: str, tmp_path: Path) -> None:
    generate(VectorSet.make("add", name, 50), tmp_path)
    assert verify(tmp_path).passed


def test_undefined_cases_are_left_out_counted_and_listed(tmp_path: Path) -> None:
    vectors = VectorSet.make("convert", "fp16", 500, out="fp4_e2m1", policy=Policy(nan_missing="error"))
    manifest = generate(vectors, tmp_path)
    left_out = manifest["left_out"]
    assert left_out["count"] == len(left_out["inputs"]) > 0
    assert manifest["count"] == 500 - left_out["count"]
    assert all(decode(int(code, 16), "fp16").is_nan for code in left_out["inputs"])
    assert verify(tmp_path).passed


def damage(folder: Path, name: str, change) -> None:  # type: ignore[no-untyped-def]
    path = folder / name
    path.write_bytes(change(path.read_bytes()))


def rehash(folder: Path) -> None:
    """Make the manifest vouch for the damaged files, so that only the oracle can object."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for entry in manifest["files"]:
        entry["sha256"] = hashlib.sha256((folder / entry["name"]).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    generate(VectorSet.make("add", "fp16", 100), tmp_path)
    assert verify(tmp_path).passed
    return tmp_path


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("add_fp16_rne.tv", lambda b: b.replace(b"3C00", b"3C01", 1), "SHA-256"),
        ("add_fp16_rne.memh", lambda b: b[:-5], "SHA-256"),
        ("vectors.svh", lambda b: b + b"\n", "SHA-256"),
    ],
)
def test_a_changed_byte_is_found(folder: Path, name: str, change, message: str) -> None:  # type: ignore[no-untyped-def]
    damage(folder, name, change)
    report = verify(folder)
    assert not report.passed
    assert message in report.problems[0]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("add_fp16_rne.tv", lambda b: b[:-5] + bytes([b[-5] ^ 1]) + b[-4:], "the oracle says"),
        ("add_fp16_rne.tv", lambda b: b[: len(b) // 2], "lines, but the manifest counts"),
        ("add_fp16_rne.tv", lambda b: b"", "no vectors"),
        ("add_fp16_rne.tv", lambda b: b.replace(b" ", b"  ", 1), "not a line of this set"),
        ("add_fp16_rne.memh", lambda b: b.replace(b"3c00", b"3c01", 1), "but the text's line says"),
        ("vectors.svh", lambda b: b.replace(b"VEC_COUNT = 100", b"VEC_COUNT = 1"), "is not what this set's header"),
    ],
)
def test_the_oracle_objects_even_where_the_hash_is_right(folder: Path, name: str, change, message: str) -> None:  # type: ignore[no-untyped-def]
    damage(folder, name, change)
    rehash(folder)
    report = verify(folder)
    assert not report.passed
    assert any(message in p for p in report.problems), report.problems


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("set"), "set is missing"),
        (lambda m: m.update(schema=99), "schema 99; this version reads schema 1"),
        (lambda m: m["set"].update(op="nothing"), "unknown operation"),
        (lambda m: m["set"].update(generator="other"), "cases of generator"),
        (lambda m: m["set"].pop("policy"), "incomplete or wrong"),
        (lambda m: m["set"]["policy"].update(rounding="up"), "unknown rounding"),
    ],
)
def test_wrong_manifests(folder: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(Error, match=message):
        verify(folder)


def test_manifests_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(Error, match="No such file"):
        verify(tmp_path)
    for text, message in (("{", "not valid JSON"), ("[]", "no manifest"), ("[" * 100000, "not valid JSON")):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(Error, match=message):
            verify(tmp_path)


def test_a_manifest_opens_no_other_files(folder: Path) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"][0]["name"] = "../../etc/passwd"
    path.write_text(json.dumps(manifest))
    report = verify(folder)
    assert not report.passed
    assert "but this set has" in report.problems[0]


def test_the_wrong_golden_value_comes_from_the_oracle_not_the_file(folder: Path) -> None:
    """Verification with another policy in the manifest must object: the values were made under this one."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["set"]["policy"]["nan"] = "ones"
    path.write_text(json.dumps(manifest))
    assert not verify(folder).passed


def test_a_folder_holds_one_set(folder: Path) -> None:
    with pytest.raises(Error, match="already holds add_fp16_rne"):
        generate(VectorSet.make("mul", "fp16", 10), folder)
    generate(VectorSet.make("add", "fp16", 50), folder)  # the same set again is fine
    assert verify(folder).checked == 50


def test_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: VectorSet, inputs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(VectorSet, "line", stop)
    with pytest.raises(KeyboardInterrupt):
        generate(VectorSet.make("add", "fp16", 50), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: VectorSet.make("add", "fp16", 0), "at least one"),
        (lambda: VectorSet.make("quantize", "fp16", 5), "works on blocks"),
        (lambda: VectorSet.make("dequantize", "mxfp8", 5, out="fp16"), "dequantize gives fp32"),
        (lambda: VectorSet.make("add", "fp16", 5, policy=Policy("sr")), "sr_bits"),
        (lambda: load_recipe("fp16_fma"), "did you mean fp16_fma_rne"),
    ],
)
def test_bad_requests(call: object, message: str) -> None:
    with pytest.raises(Error, match=message):
        call()  # type: ignore[operator]


def test_diff(tmp_path: Path) -> None:
    for name, vectors in {
        "a": VectorSet.make("add", "fp16", 200),
        "same": VectorSet.make("add", "fp16", 200),
        "rtz": VectorSet.make("add", "fp16", 200, policy=Policy("rtz")),
        "more": VectorSet.make("add", "fp16", 250),
        "other": VectorSet.make("add", "fp32", 200),
        "block": VectorSet.make("quantize", "mxfp8", 5),
    }.items():
        generate(vectors, tmp_path / name)
    assert diff(tmp_path / "a", tmp_path / "same").same
    rtz = diff(tmp_path / "a", tmp_path / "rtz")
    assert rtz.definition == ["policy.rounding: rne became rtz"]
    assert rtz.changed
    assert not rtz.only_first
    more = diff(tmp_path / "a", tmp_path / "more")
    assert more.definition == ["count: 200 became 250"]
    assert more.only_second
    assert "lines cannot be compared" in diff(tmp_path / "a", tmp_path / "other").definition[-1]
    assert "lines cannot be compared" in diff(tmp_path / "a", tmp_path / "block").definition[-1]
    text = tmp_path / "same" / "add_fp16_rne.tv"
    lines = text.read_text().splitlines(keepends=True)
    text.write_text("".join(reversed(lines)))
    with pytest.raises(Error, match="SHA-256 differs"):
        diff(tmp_path / "a", tmp_path / "same")
    rehash(tmp_path / "same")
    assert "in another order" in diff(tmp_path / "a", tmp_path / "same").definition[0]


def test_bad_recipes(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    for text, message in (
        ("op = 'add'", "fmt missing"),
        ("op = 'add'\nfmt = 'fp16'\nsize = 3", "unknown key 'size'"),
        ("op = 'add'\nfmt = 'fp17'", "unknown format"),
        ("op = 1\nfmt = 'fp16'", "op = 1 is no str"),
        ("op = 'add'\nfmt = 'fp16'\n[policy]\nround = 'rne'", "unknown policy field"),
    ):
        path.write_text(text)
        with pytest.raises(Error, match=message):
            load_recipe(str(path))
