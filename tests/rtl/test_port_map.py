"""Port maps that are refused: each with a line that says what is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from benches import text_of

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.module_ports import Expression, instance
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.tolerance import CompareNan

PORTS = """
module = "unit"
clock = "clk"
ignore = ["flags"]
compare_nan = "any"
[parameters]
FMT = { expr = "pkg::FP16" }
[handshake]
in_valid = { a = "a_stb", b = "ctrl[3]" }
in_ready = { a = "a_ack", b = "state[0]" }
out_valid = "state[1]"
[inputs]
a = "a"
b = "b"
ctrl = { value = 1, width = 4 }
[outputs]
result = "result"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    vectors = tmp_path_factory.mktemp("vectors")
    generate(VectorSet.make("add", "fp16", 40), vectors)
    return vectors


def test_the_text_of_a_bench(folder: Path) -> None:
    text, _ = text_of(folder, PORTS)
    assert "  unit #(.FMT(pkg::FP16)) dut (\n" in text
    for line in (
        ".ctrl({in_valid[1], stimulus[34:32]})",
        ".a_stb(in_valid[0])",
        ".a_ack(in_ready[0])",
        ".state(got[17:16])",
        "assign in_ready[1] = got[16];",
        "assign out_valid = got[17];",
        "localparam logic [OUT_WIDTH-1:0] ALL = 18'hffff;",
    ):
        assert line in text, line


REFUSED = [
    ('b = "ctrl[3]"', 'c = "ctrl[3]"', "in_ready and in_valid need the same operands"),
    ('in_ready = { a = "a_ack", b = "state[0]" }', 'in_ready = { a = "a_ack" }', "in_ready and in_valid need the same"),
    (', b = "ctrl[3]"', "", "in_ready and in_valid need the same operands"),
    ('b = "ctrl[3]"', '"a b" = "ctrl[3]"', "'a b' names no operand, or one that was named before"),
    ('"ctrl[3]"', '"ctrl[3:0]"', r"'ctrl\[3:0\]' is not the name of a port, or a bit of one"),
    ('"ctrl[3]"', '"a_stb"', "port 'a_stb' has two uses"),
    ('"ctrl[3]"', '"ctrl[0]"', "port ctrl: bit 0 is in_valid, and carries something else too"),
    ('"ctrl[3]"', '"ctrl[4]"', "port ctrl: in_valid is bit 4, but the port has 4 bits; give width"),
    ('"ctrl[3]"', '"b[3]"', "port b: bit 3 is in_valid, and carries something else too"),
    ('"state[0]"', '"state[1]"', r"port 'state\[1\]' has two uses"),
    ('"state[0]"', '"ctrl[0]"', "port 'ctrl' has two uses"),
    ('out_valid = "state[1]"', 'out_valid = { a = "state[1]" }', "out_valid: there is one for all results"),
    ("ctrl = { value = 1, width = 4 }", "none = { width = 3 }", "none: the port carries nothing"),
    ('{ expr = "pkg::FP16" }', '{ expr = "1); initial $finish; x #(1" }', "is not one expression"),
    ('{ expr = "pkg::FP16" }', '{ expr = "1) foo (" }', "is not one expression"),
    ('{ expr = "pkg::FP16" }', '{ expr = "1 // 2" }', "is not one expression"),
    ('{ expr = "pkg::FP16" }', '{ expr = "" }', "is not one expression"),
    ('{ expr = "pkg::FP16" }', "{ type = 1 }", "unknown key 'type'"),
    ('{ expr = "pkg::FP16" }', "[1]", "neither an integer, a plain string nor { expr = TEXT }"),
    (
        'a = "a"\n',
        'a = "c"\n',
        "port a: these vectors have no field 'c'; they have a, b, result, flags .single ones: inv",
    ),
    (
        'a = "a"\n',
        'a = "c"\n',
        "underflow, inexact.; `vectors ports --vectors DIR` drafts a port map for the vectors in DIR",
    ),
    ("width = 4 }", "width = 4, type = 'p::q::r' }", "ctrl: type = 'p::q::r' is not the name of a type; example: 'fpu"),
    ('"any"', '"all"', "unknown compare_nan of .*'all'"),
    ('"any"', '"any"\nnan_scale_elements = "any"', "nan_scale_elements = 'any' has no effect"),
]


@pytest.mark.parametrize(("old", "new", "message"), REFUSED)
def test_port_maps_that_are_refused(old: str, new: str, message: str, folder: Path) -> None:
    assert old in PORTS
    with pytest.raises(Error, match=message):
        text_of(folder, PORTS.replace(old, new, 1))


def test_operands_without_a_valid(folder: Path) -> None:
    one = PORTS.replace(', b = "ctrl[3]" }', " }").replace(', b = "state[0]" }', " }")
    with pytest.raises(Error, match=r"in_valid: no valid for operand b; one for two operands: \{ 'a b' = PORT \}"):
        text_of(folder, one)
    both = one.replace("{ a = ", '{ "a b" = ')
    assert "OPERANDS = {36'hffffffff};" in text_of(folder, both)[0]
    unknown = PORTS.replace("b = ", "d = ").replace('d = "b"', 'b = "b"')
    with pytest.raises(Error, match="operand 'd'"):
        text_of(folder, unknown)


def test_a_tolerance_without_effect_is_refused(tmp_path: Path) -> None:
    generate(VectorSet.make("convert", "fp16", 40, out="i8"), tmp_path)
    ports = 'module = "u"\ncompare_nan = "any"\nignore = ["flags"]\n[inputs]\na = "a"\n[outputs]\nresult = "result"\n'
    with pytest.raises(Error, match="compare_nan = 'any' has no effect: these vectors have no NaN in a result"):
        text_of(tmp_path, ports)


def test_the_words_are_those_of_check() -> None:
    for word in CompareNan:
        assert parse_ports(tomllib.loads(PORTS.replace('"any"', f'"{word}"'))).compare_nan == word


@pytest.mark.parametrize(
    "text", ["pkg::FP16", "'{A: 1, B: 0}", "(1 << 4) | $clog2(8)", 'cond ? "x)" : "y"', "logic [7:0]"]
)
def test_expressions(text: str) -> None:
    table = tomllib.loads(PORTS)
    ports = parse_ports({**table, "parameters": {"P": {"expr": text}, "N": 3, "S": "fast"}})
    assert ports.parameters["P"] == Expression(text)
    assert instance("unit", ports.parameters) == f'unit #(.P({text}), .N(3), .S("fast")) dut'
