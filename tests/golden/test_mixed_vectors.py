"""Mixed sets and port maps: what the benches of multi-format units are made of."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from benches import COMB, FIXED, mixed_set, text_of

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.golden.verify import verify
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.testbench import bench_text
from softfloat_ref.units import controls

pytestmark = pytest.mark.sim

# -- mixed sets --------------------------------------------------------------------------------------------------------


def test_mixed_sets(folders: dict[str, Path], tmp_path: Path) -> None:
    vectors = mixed_set(tmp_path)
    report = verify(folders["mixed"])
    assert report.passed, report.problems
    assert report.checked == 300
    generate(vectors, tmp_path / "again")
    assert next((tmp_path / "again").glob("*.tv")).read_text() == next(folders["mixed"].glob("*.tv")).read_text()
    assert VectorSet.from_dict(vectors.to_dict()) == vectors
    lines = [line.split() for line in next(folders["mixed"].glob("*.tv")).read_text().splitlines()]
    seen = [tuple(line[:4]) for line in lines]
    assert len(set(seen)) == 11 == len(set(seen[:11]))  # each kind once in every turn,
    assert seen[:11] != seen[11:22]  # in another order
    header = (folders["mixed"] / "vectors.svh").read_text()
    assert "localparam int VEC_OP_CONVERT = 4;" in header
    half = [line for line in lines if vectors.fields[1].codes[int(line[1], 16)] == "fp16"]
    assert sum(not line[4].startswith("FFFF") for line in half) > 5  # not boxed
    assert sum(line[4].startswith("FFFF") for line in half) > 100


def test_unboxed_operands_are_nan(tmp_path: Path) -> None:
    vectors = mixed_set(tmp_path)
    names = {f.name: f.codes for f in vectors.fields}
    code = [names["op"].index("add"), names["fmt"].index("fp16"), names["out"].index("fp16"), 0]
    boxed = vectors.line((*code, 0xFFFF3C00, 0xFFFF3C00, 0))
    assert boxed
    assert boxed[-2:] == (0xFFFF4000, 0)
    unboxed = vectors.line((*code, 0xFFFE3C00, 0xFFFF3C00, 0))
    assert unboxed
    assert unboxed[-2:] == (0xFFFF7E00, 0)
    assert vectors.line((*code, 0xFFFF3C00, 0xFFFF3C00, 1)) is None  # add has no operand c
    convert = [names["op"].index("convert"), names["fmt"].index("fp32"), names["out"].index("i8"), 1]
    line = vectors.line((*convert, 0xC0000000, 0, 0))
    assert line
    assert line[-2:] == (0xFFFFFFFE, 0)  # -2, its sign extended


WORDS = """
count = 200
width = 64
policy = "riscv"
sign_extend = "u32"
[[part]]
op = "convert"
fmt = "fp32"
out = "u32"
rounding = "rtz"
[[part]]
op = "convert"
fmt = "u32"
out = "fp32"
[[part]]
op = "lt"
fmt = "fp32"
"""


@pytest.mark.parametrize("extended", [True, False])
def test_unsigned_words_are_extended_as_asked(extended: bool, tmp_path: Path) -> None:
    """RV64's fcvt.wu.s sign-extends bit 31 of its result; flt.s gives 1, and never minus 1."""
    (tmp_path / "r.toml").write_text(WORDS if extended else WORDS.replace('sign_extend = "u32"', ""))
    vectors = load_recipe(str(tmp_path / "r.toml"))
    manifest = generate(vectors, tmp_path / "v")
    assert verify(tmp_path / "v").passed
    assert ("sign_extend" in manifest["set"]["unit"]) == extended
    names = {f.name: f.codes for f in vectors.fields}
    rows = [line.split() for line in next((tmp_path / "v").glob("*.tv")).read_text().splitlines()]
    kinds = set()
    for op, fmt, _, _, a, *_, result, _ in rows:
        kind = names["op"][int(op)], names["fmt"][int(fmt)]
        word = {("convert", "fp32"): result, ("convert", "u32"): a}.get(kind)
        if word is None:
            assert int(result, 16) in (0, 1)
        else:
            assert word[:8] == ("F" * 8 if extended and word[8] in "89ABCDEF" else "0" * 8)
            kinds.add((kind, word[8] in "89ABCDEF"))
    assert len(kinds) == 4


def test_formats_without_nan_stay_boxed(tmp_path: Path) -> None:
    """An operand that is not boxed is NaN; a format without one would have no line left."""
    (tmp_path / "r.toml").write_text(
        "count = 100\nunboxed = 1\n[[part]]\nop = 'convert'\nfmt = 'fp4_e2m1'\nout = 'fp32'\n"
        "[[part]]\nop = 'convert'\nfmt = 'fp8_e5m2'\nout = 'fp32'\n[[part]]\nop = 'neg'\nfmt = 'fp32'\n"
    )
    vectors = load_recipe(str(tmp_path / "r.toml"))
    assert generate(vectors, tmp_path / "v")["count"] == 100
    rows = [line.split() for line in next((tmp_path / "v").glob("*.tv")).read_text().splitlines()]
    fmt = vectors.fields[1].codes
    assert sum(fmt[int(row[1])] == "fp4_e2m1" for row in rows) == 34
    assert all(row[4].startswith("FFFFFFF") for row in rows if fmt[int(row[1])] == "fp4_e2m1")


def test_a_part_without_a_line_is_refused(tmp_path: Path) -> None:
    """Every operand NaN, and no NaN to give."""
    (tmp_path / "r.toml").write_text(
        "count = 100\nunboxed = 1\n[[part]]\nop = 'convert'\nfmt = 'fp16'\nout = 'fp4_e2m1'\n"
        "policy = { nan_missing = 'error' }\n[[part]]\nop = 'neg'\nfmt = 'fp32'\n"
    )
    with pytest.raises(Error, match="the part convert fp16 fp4_e2m1 rne has no case with a defined result"):
        generate(load_recipe(str(tmp_path / "r.toml")), tmp_path / "v")
    assert not (tmp_path / "v").exists()


def test_places_and_wider_registers(tmp_path: Path) -> None:
    """An adder that takes b and c, in registers of 64 bits."""
    (tmp_path / "r.toml").write_text(
        "count = 60\nwidth = 64\nunboxed = 5\n[[part]]\nop = ['add', 'sub']\nfmt = 'fp32'\nplace = 'bc'\n"
        "[[part]]\nop = 'mul'\nfmt = 'fp32'\n"
    )
    vectors = load_recipe(str(tmp_path / "r.toml"))
    generate(vectors, tmp_path / "v")
    assert verify(tmp_path / "v").passed
    rows = [line.split() for line in next((tmp_path / "v").glob("*.tv")).read_text().splitlines()]
    ops = vectors.fields[0].codes
    for op, *_, a, b, c, result, _ in rows:
        assert {len(a), len(b), len(c), len(result)} == {16}
        assert result.startswith("FFFFFFFF")
        assert int(a if ops[int(op)] != "mul" else c, 16) == 0
    code = (ops.index("sub"), 0, 0, 0)
    one, two = 0xFFFFFFFF3F800000, 0xFFFFFFFF40000000
    assert vectors.line((*code, 0, two, one)) == (*code, 0, two, one, one, 0)
    assert vectors.line((*code, two, one, 0)) is None


@pytest.mark.full
def test_parts_that_differ_in_everything(tmp_path: Path) -> None:
    """An addend's format and an overflow rule as controls, random bits, and parts that have none of them."""
    (tmp_path / "r.toml").write_text(
        "count = 200\npadding = 'zeros'\n"
        "[[part]]\nop = 'fma'\nfmt = ['fp8_e4m3', 'fp8_e4m3', 'fp32']\nout = 'fp32'\n"
        "[[part]]\nop = 'fma'\nfmt = ['fp8_e4m3', 'fp8_e4m3', 'fp16']\nout = 'fp32'\n"
        "[[part]]\nop = 'add'\nfmt = 'fp8_e4m3'\npolicy = { overflow = 'sat-none' }\n"
        "[[part]]\nop = 'convert'\nfmt = 'fp32'\nout = 'fp8_e4m3'\npolicy = { rounding = 'sr', sr_bits = 6 }\n"
    )
    vectors = load_recipe(str(tmp_path / "r.toml"))
    generate(vectors, tmp_path / "v")
    report = verify(tmp_path / "v")
    assert report.passed, report.problems
    names = [f.name for f in vectors.fields]
    assert names == ["op", "fmt", "fmt_c", "out", "rounding", "overflow", "a", "b", "c", "r", "result", "flags"]
    assert "-" in vectors.fields[2].codes
    ports = """
        module = "unit"
        [inputs]
        abc = { a = "31:0", b = "63:32", c = "95:64", r = "101:96" }
        mode = { of = "op fmt_c", codes = { "fma fp32" = 0, "fma fp16" = 1, "add -" = 2, "convert *" = 3 } }
        [outputs]
        result = "result"
        flags = "flags"
        """
    text, _ = text_of(tmp_path / "v", ports)
    assert "// fma fp8_e4m3 fp16 fp32 rne" in text
    with pytest.raises(Error, match="no code for op fmt_c = add -"):
        text_of(tmp_path / "v", ports.replace('"add -" = 2, ', ""))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[part]]\nop = ['add', 'mul']\nfmt = 'mxfp8'", "fp8"),
        ("[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'\nplace = 'aa'", "each named by a letter"),
        ("[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'\nplace = 'b'", "add has 2 operands"),
        ("width = 5000\n[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'", "up to 1024 bits"),
        ("[[part]]\nop = 'add'\nfmt = 'fp16'", "at least two parts"),
        ("[[part]]\nop = ['add', 'add']\nfmt = 'fp16'", "a line must tell them apart"),
        ("[[part]]\nop = ['add', 'mull']\nfmt = 'fp16'", "unknown operation 'mull'"),
        ("[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'\nwidth = 3", "unknown key 'width'"),
        ("[[part]]\nop = ['add', 'mul']", "fmt missing"),
        ("seed = 'a'\n[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'", "seed must be an integer"),
        ("padding = 'x'\n[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'", "unknown padding"),
        ("count = 1\n[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'", "each part needs at least one"),
        ("sign_extend = 'u8'\n[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'", "'u8' is not an integer of these parts"),
        ("sign_extend = 3\n[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'", "sign_extend: 3 is neither"),
        ("part = 3", "array of tables"),
        ("[[part]]\nop = 3\nfmt = 'fp16'", "neither a name nor a list"),
    ],
)
def test_bad_mixed_recipes(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(Error, match=message):
        load_recipe(str(tmp_path / "r.toml"))


# -- port maps ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("clock", "clok", "unknown key 'clok'; did you mean clock"),
        ('module = "pipe"', "", "module is missing"),
        ('module = "pipe"', "module = 3", "is not of type str"),
        ('active = "low"', 'active = "down"', "it must be high or low"),
        ("latency = 3", "latency = -1", "it must be from 0"),
        ("latency = 3", "latency = 3\nunused = 1", "unknown key 'unused'"),
        ('c = "95:64"', 'c = "95:60"', "bit 60 is in c"),
        ('c = "95:64"', 'c = "64:95"', "is not a bit range"),
        ('c = "95:64"', 'c = "90:64"', "c has 32 bits, but"),
        ('c = "95:64", ', "", "no port carries c"),
        ('c = "95:64"', 'd = "95:64"', "port operands: these vectors have no field 'd'; they have op, fmt, out, "),
        ('status = "flags"', "", "no port carries flags"),
        ('status = "flags"', 'status = "invalid"', "no port carries bit 0 of flags"),
        ('status = "flags"', 'status = { flags = "4:0", a = "36:5" }', "a has role operand, not result or flags"),
        ('status = "flags"', 'status = "result"', "carried by another port"),
        ("rtz = 1, ", "", "no code for rounding = rtz"),
        ("width = 2, codes = { rne", "width = 1, codes = { rne", "rup = 3; it must be from 0 to 1"),
        ("rtz = 1", "rtz = 0", "drive the same codes"),
        ('of = "rounding"', 'of = "round"', "unknown property 'round'; did you mean rounding"),
        ('"fma * *"', '"fma *"', "needs one word for each of op fmt out"),
        ('in_valid = "in_valid"', 'in_valid = "clk"', "port 'clk' has two uses"),
        ('in_valid = "in_valid"', 'in_valid = "a b"', "is not the name"),
        ("stalls = 20", "stalls = 99", "it must be from 0 to 95"),
        ("stalls = 20", "stall = 20", "unknown key 'stall'"),
        ('clock = "clk"', 'clock = "clk"\ndrain_timeout = 0', "it must be from 1"),
        ('clock = "clk"', "", "reset needs clock"),
        ('clock = "clk"', 'clock = "clk"\nignore = ["resul"]', "did you mean result"),
        ('clock = "clk"', 'clock = "clk"\nlanes = 2', "use a set of one operation"),
        ('clock = "clk"', 'clock = "clk"\ntag = { in = "t", out = "u", width = 3 }', "in order"),
        ('clock = "clk"', 'clock = "clk"\nsticky = { every = 3 }', "every needs clear"),
    ],
)
def test_bad_port_maps(old: str, new: str, message: str, folders: dict[str, Path]) -> None:
    assert old in FIXED
    with pytest.raises(Error, match=message) as caught:
        text_of(folders["mixed"], FIXED.replace(old, new, 1))
    assert "\n" not in str(caught.value)


def test_no_vectors_no_bench(folders: dict[str, Path]) -> None:
    manifest = {**read_manifest(folders["convert"]), "count": 0}
    table = controls(VectorSet.from_dict(manifest["set"]).unit)
    with pytest.raises(Error, match="no vectors"):
        bench_text(manifest, table, parse_ports(tomllib.loads(COMB)), ".", "a test")
