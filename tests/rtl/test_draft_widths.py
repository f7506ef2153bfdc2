"""Drafts for vectors: which port carries which field is decided by widths, and what cannot be decided is asked for."""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from benches import text_of
from test_draft import design

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.rtl.assumptions import guessed_lines
from softfloat_ref.rtl.constants import constant_operands
from softfloat_ref.rtl.draft import draft


def ports_of(head: str, vectors: VectorSet | None, tmp_path: Path, *settings: str, package: str = "") -> dict[str, Any]:
    """The inputs and outputs of a draft."""
    module = design(f"{package} module m ({head}); endmodule", "m", tmp_path)
    ports = tomllib.loads(draft(module, vectors, settings=settings).text)
    return {**ports["inputs"], **ports["outputs"]}


def refusal(head: str, vectors: VectorSet, tmp_path: Path, *settings: str) -> str:
    with pytest.raises(Error) as caught:
        ports_of(head, vectors, tmp_path, *settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- sign, exponent and mantissa ---------------------------------------------------------------------------------------

# Every way to write the parts that the words of `slots` allow is drawn from these: words, and where the operand's
# letter stands. The formats are the smallest and the largest with three parts in common use.
WORDS = [("s", "e", "m"), ("sign", "exp", "frac"), ("sgn", "exponent", "mantissa"), ("sign", "expo", "significand")]
PLACES = ["{part}{x}", "{part}_{x}", "{x}_{part}", "io_{x}_{part}", "{part}_{x}_i", "{X}{Part}"]


@pytest.mark.parametrize(("words", "place"), [*product(WORDS, PLACES)])
def test_parts_of_a_number_in_ports_of_their_own(words: tuple[str, ...], place: str, tmp_path: Path) -> None:
    for name in ("bf16", "fp8_e4m3"):
        fmt = get_format(name)
        widths = (1, fmt.exponent_bits, fmt.mantissa_bits)
        top = fmt.mantissa_bits + fmt.exponent_bits
        bits = (f"[{top}]", f"[{top - 1}:{fmt.mantissa_bits}]", f"[{fmt.mantissa_bits - 1}:0]")
        ports, expected = [], {}
        for x, field, way in (("a", "a", "input"), ("b", "b", "input"), ("z", "result", "output")):
            for word, width, piece in zip(words, widths, bits, strict=True):
                port = place.format(part=word, x=x, Part=word.capitalize(), X=x)
                ports.append(f"{way} [{width - 1}:0] {port}")
                expected[port] = field + piece
        assert ports_of(", ".join(ports), VectorSet.make("add", name, 10), tmp_path) == expected
        if name == "bf16":
            assert ports_of(", ".join(ports), None, tmp_path) == expected


STRUCTURES = """
package p;
  typedef struct packed {logic sign; logic [7:0] exponent; logic [6:0] mantissa;} number_t;
  typedef struct packed {logic [6:0] frac; logic [7:0] exp; logic sgn;} reversed_t;
endpackage
"""


def test_parts_of_a_number_in_a_structure(tmp_path: Path) -> None:
    """A structure in the order of the code is one number; in another order, its members are found by name."""
    head = "input p::number_t a, input p::reversed_t b, output p::number_t y"
    expected = {
        "a": "a",
        "b": {"b[6:0]": "15:9", "b[14:7]": "8:1", "b[15]": "0"},
        "y": "result",
    }
    assert ports_of(head, VectorSet.make("add", "bf16", 10), tmp_path, package=STRUCTURES) == expected
    whole = ports_of(head.replace("reversed_t", "number_t"), None, tmp_path, package=STRUCTURES)
    assert whole == {"a": "a", "b": "b", "y": "result"}


def test_sign_and_magnitude(tmp_path: Path) -> None:
    head = "input sign_a, input [14:0] mag_a, input sign_b, input [14:0] mag_b, output [15:0] y"
    ports = ports_of(head, VectorSet.make("mul", "fp16", 10), tmp_path)
    assert ports == {"sign_a": "a[15]", "mag_a": "a[14:0]", "sign_b": "b[15]", "mag_b": "b[14:0]", "y": "result"}


def test_a_mantissa_with_its_leading_one_is_refused(tmp_path: Path) -> None:
    head = "input sa, input [7:0] ea, input [7:0] ma, input sb, input [7:0] eb, input [7:0] mb, output [15:0] y"
    message = refusal(head, VectorSet.make("add", "bf16", 10), tmp_path)
    assert message.startswith(
        "a has 16 bits, and no input of m is left for it (ea has 8, ma has 8, eb has 8, mb has 8)"
    )


# -- widths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "named"),
    [
        (
            "input [31:0] op_a, op_b, output [31:0] y",
            "a has 16 bits, and no input of m is left for it (op_a has 32, op_b",
        ),
        (
            "input [7:0] op_a, op_b, output [15:0] y",
            "a has 16 bits, and no input of m is left for it (op_a has 8, op_b",
        ),
        ("input [15:0] a, b, output [16:0] y", "result has 16 bits, and no output of m is left for it (y has 17)"),
        (
            "input [15:0] a, output [15:0] y",
            "b has 16 bits, and no input of m is left for it: take vectors of its format",
        ),
        ("input struct packed {logic [60:0] x; logic [59:0] y;} rec, output [15:0] y", "for it (rec has 121)"),
        (
            "input [15:0] foo, bar, baz, output [15:0] y",
            "a and b: foo or bar or baz, by width; say which, such as --set",
        ),
        ("input [15:0] a, b, output [15:0] p1, p2", "result: p1 or p2, by width; say which, such as --set outputs.p1="),
    ],
)
def test_ports_of_other_widths_are_refused(head: str, named: str, tmp_path: Path) -> None:
    assert named in refusal(head, VectorSet.make("add", "fp16", 10), tmp_path)


def draft_of_width(tmp_path: Path, width: int) -> dict[str, Any]:
    text = "module m #(parameter W = 32) (input [W-1:0] op_a, op_b, output [W-1:0] y); endmodule"
    return tomllib.loads(draft(design(text, "m", tmp_path, W=str(width)), VectorSet.make("add", "fp16", 10)).text)


def test_the_advice_of_a_refusal_works(tmp_path: Path) -> None:
    """Each way out that the message names, but for other vectors, leads to a draft."""
    head, vectors = "input [31:0] op_a, op_b, output [31:0] y", VectorSet.make("add", "fp16", 10)
    message = refusal(head, vectors, tmp_path)
    assert "--set lanes=2" in message
    assert "-G" not in message
    wide = draft_of_width(tmp_path, 16)
    assert wide["inputs"] == {"op_a": "a", "op_b": "b"}
    with pytest.raises(Error, match=r"set the module's width \(-G NAME=VALUE\), take vectors of its format, for 2 of"):
        draft_of_width(tmp_path, 32)
    assert ports_of(head, vectors, tmp_path, "lanes=2") == {"op_a": "a", "op_b": "b", "y": "result"}
    assert """--set 'inputs.op_a={ a = "15:0", width = 32 }'""" in message
    low = [f'{port}={{ {x} = "15:0", width = 32 }}' for port, x in (("inputs.op_a", "a"), ("inputs.op_b", "b"))]
    assert "--set 'outputs.y=" in refusal(head, vectors, tmp_path, *low)
    ports = ports_of(head, vectors, tmp_path, *low, 'outputs.y={ result = "15:0", width = 32, fill = "any" }')
    assert ports["op_b"] == {"b": "15:0", "width": 32}
    foo = ports_of("input [15:0] foo, bar, baz, output [15:0] y", vectors, tmp_path, "inputs.foo=a", "inputs.baz=b")
    assert foo == {"foo": "a", "baz": "b", "bar": {"value": 0, "width": 16}, "y": "result"}


# One unit of each kind with a scale, and formats whose fields differ in width; the names say nothing, or mislead.
BLOCKS = [
    ("quantize", "mxfp4", {"out": "bf16"}, {"values": 512, "scale": 8, "elements": 128}),
    ("quantize", "nvfp4", {"out": "fp16"}, {"values": 256, "scale": 8, "elements": 64, "tensor_scale": 32}),
    ("dequantize", "mxfp8", {}, {"values": 1024, "scale": 8, "elements": 256}),
]


@pytest.mark.parametrize("names", [("i_vec", "o_exp", "o_vec"), ("x", "e", "y"), ("scale", "data", "result")])
@pytest.mark.parametrize(("op", "fmt", "more", "widths"), BLOCKS)
def test_fields_of_blocks_by_width(
    op: str, fmt: str, more: Any, widths: dict[str, int], names: tuple[str, ...], tmp_path: Path
) -> None:
    vectors = VectorSet.make(op, fmt, 10, **more)
    inputs = {f.name for f in vectors.unit.inputs}
    ports = dict(zip(names, widths, strict=False))
    ports |= {"whole": "tensor_scale"} if "tensor_scale" in widths else {}
    head = [f"{'input' if f in inputs else 'output'} [{widths[f] - 1}:0] {port}" for port, f in ports.items()]
    byte = {"scale": {"scale": "6:0", "width": 8}} if fmt == "nvfp4" else {}
    assert ports_of(", ".join(head), vectors, tmp_path) == {port: byte.get(f, f) for port, f in ports.items()}


def test_operands_of_dot_products_by_width(tmp_path: Path) -> None:
    head = "input [7:0] xa, xb, input [255:0] va, vb, input [31:0] init, output [31:0] y"
    expected = {"xa": "a_scale", "xb": "b_scale", "va": "a", "vb": "b", "init": "c", "y": "result"}
    assert ports_of(head, VectorSet.make("dot", "mxfp8", 10), tmp_path) == expected


def test_random_words_by_width(tmp_path: Path) -> None:
    policy = {"rounding": "sr", "sr_bits": 10}
    for name in ("r", "rnd_i", "lfsr_q", "knob"):
        ports = ports_of(f"input [15:0] a, b, input [9:0] {name}, output [15:0] y", set_of("add", policy), tmp_path)
        assert ports[name] == "r"


def set_of(op: str, policy: Any = None, fmt: str = "bf16", **more: str) -> VectorSet:
    return VectorSet.make(op, fmt, 10, policy=policy, **more)


def test_operands_that_look_like_codes_of_an_operation(tmp_path: Path) -> None:
    head = "input [7:0] op_a, op_b, output [7:0] y"
    for vectors in (VectorSet.make("mul", "fp8_e5m2", 10), None):
        assert ports_of(head, vectors, tmp_path) == {"op_a": "a", "op_b": "b", "y": "result"}


COMPARE = """input [15:0] a, b, output eq_o, lt_o, le_o, lt_le_invalid_o, eq_invalid_o, output [15:0] min_o, max_o,
output min_max_invalid_o"""


@pytest.mark.parametrize(
    ("op", "result", "invalid"),
    [
        ("lt", "lt_o", "lt_le_invalid_o"),
        ("eq", "eq_o", "eq_invalid_o"),
        ("le", "le_o", "lt_le_invalid_o"),
        ("max", "max_o", "min_max_invalid_o"),
    ],
)
def test_outputs_of_one_of_several_operations(op: str, result: str, invalid: str, tmp_path: Path) -> None:
    ports = ports_of(COMPARE, VectorSet.make(op, "fp16", 10), tmp_path)
    assert {x: y for x, y in ports.items() if y not in ("a", "b")} == {result: "result", invalid: "invalid"}


def test_flags_that_the_user_sets(tmp_path: Path) -> None:
    head = "input [15:0] a, b, output [15:0] y, output [4:0] e, output nv"
    vectors = VectorSet.make("add", "fp16", 10)
    assert ports_of(head, vectors, tmp_path)["nv"] == "invalid"
    assert ports_of(head, vectors, tmp_path, "outputs.e=flags") == {"a": "a", "b": "b", "e": "flags", "y": "result"}
    assert "nv" not in ports_of(head, vectors, tmp_path, 'ignore=["flags"]')
    module = design(f"module m ({head}); endmodule", "m", tmp_path)
    ports = draft(module, vectors, settings=['outputs.e={ overflow = "4", width = 5 }', 'ignore=["inexact"]']).ports
    assert set(ports.ignore) == {"inexact", "divide_by_zero", "underflow"}


def test_sums_on_a_unit_of_three_operands(tmp_path: Path) -> None:
    """Which two it adds cannot be read: a guess, unlike the operands of a product."""
    head = "input [2:0][15:0] operands_i, output [15:0] y"
    for op, guessed in (("add", True), ("mul", False)):
        done = draft(design(f"module m ({head}); endmodule", "m", tmp_path), VectorSet.make(op, "fp16", 10))
        assert tomllib.loads(done.text)["inputs"]["operands_i"] == {"a": "15:0", "b": "31:16", "width": 48}
        assert ("operands_i" in {g.port for g in done.guesses}) == guessed
        assert list(guessed_lines(done.text)) == [f"{g.text} # guess: {g.why}" for g in done.guesses]


# -- operands that a module does not have ------------------------------------------------------------------------------

DOT = "input [7:0] xa, xb, input [255:0] va, vb, output [31:0] y"


def test_a_dot_product_without_c(tmp_path: Path) -> None:
    """The advice of the refusal works: with vectors whose c is 0, and only with these, c is ignored."""
    message = refusal(DOT, VectorSet.make("dot", "mxfp8", 10), tmp_path)
    assert message.endswith("starts from 0, give --where 'c = 0x0' to vectors generate, or to verify")
    module = design(f"module m ({DOT}); endmodule", "m", tmp_path)
    done = draft(module, VectorSet.make("dot", "mxfp8", 10, where="c = 0x0"))
    assert 'ignore = ["flags", "c"]  # guess: no output has the name of a flag; no input carries c, which' in done.text
    for where in ("", "c = 0x0 or c = 0x1", "c is zero", "a[0] = 0x0"):
        vectors = VectorSet.make("dot", "mxfp8", 10, where=where)
        with pytest.raises(
            Error, match=r"ignore = \['c'\]: these vectors have many values of c; if the module takes it"
        ):
            draft(module, vectors, settings=['ignore=["c"]'])
    one = VectorSet.make("fma", "fp16", 10, where="a = 0x0")
    assert constant_operands(one) == {"a": (0,)}
    assert constant_operands(VectorSet.make("dot", "mxfp8", 10, where="a[0] = 0x0 and c = 0x0")) == {"c": (0,)}


@pytest.mark.parametrize(
    ("op", "where", "absent"),
    [
        ("fma", "c = 0x80000000", "c"),
        ("fma", "a = 0x3f800000", "a"),
        ("fma", "a is normal and c = 1", "c"),
        ("dot", "a[0] is normal and every b = 0x3f800000", "b"),
    ],
)
def test_operands_of_one_value(op: str, where: str, absent: str, tmp_path: Path) -> None:
    """Of any operation, and all lanes of an operand."""
    more = {"k": 2} if op == "dot" else {}
    vectors = VectorSet.make(op, "fp32", 10, where=where, **more)
    fields = {f.name: f.width * f.lanes for f in vectors.unit.inputs if f.name != absent}
    head = ", ".join(f"input [{width - 1}:0] {name}" for name, width in fields.items())
    module = design(f"module m ({head}, output [31:0] y); endmodule", "m", tmp_path)
    assert absent in draft(module, vectors).ports.ignore


LFSR = "lfsr:width=16,taps=16.14.13.11,seed=1,bits=15:0"


def test_random_words_of_a_register_in_the_module(tmp_path: Path) -> None:
    """They may be left out; those of a generator that no circuit has may not."""
    module = design("module m (input [31:0] a, output [15:0] y); endmodule", "m", tmp_path)
    own, other = (
        VectorSet.make("convert", "fp32", 10, out="bf16", policy={"rounding": "sr", "sr_bits": 16}, source=source)
        for source in (LFSR, None)
    )
    assert draft(module, own, settings=['ignore=["r"]']).ports.ignore == ("r", "flags")
    with pytest.raises(Error, match=r"many values of r; for those of a register in the module, --random-source lfsr:"):
        draft(module, other, settings=['ignore=["r"]'])


def test_the_bench_refuses_what_differs(tmp_path: Path) -> None:
    generate(VectorSet.make("fma", "fp16", 10), tmp_path / "v")
    ports = PORTS.replace('c = "c"\n', "").replace("]  #", ', "c"]  #')
    with pytest.raises(Error, match=r"ignore = \['c'\]: these vectors have many values of c"):
        text_of(tmp_path / "v", ports)
    with pytest.raises(
        Error, match=r"no port carries c; if the module takes it as 0, generate vectors with --where 'c ="
    ):
        text_of(tmp_path / "v", ports.replace(', "c"]', "]"))


PORTS = """
module = "m"
ignore = ["flags"]  # the module has none
[inputs]
a = "a"
b = "b"
c = "c"
[outputs]
y = "result"
"""


# -- formats in names --------------------------------------------------------------------------------------------------

MIXED = VectorSet.make("mul", "a=fp16,b=bf16", 10, out="fp32")


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ("x_fp16, y_bf16", {"x_fp16": "a", "y_bf16": "b"}),
        ("x_bf16, y_half", {"x_bf16": "b", "y_half": "a"}),
        ("op_bfloat16, op_f16", {"op_bfloat16": "b", "op_f16": "a"}),
        ("in1_bf16, in2_fp16", {"in1_bf16": "b", "in2_fp16": "a"}),
        ("x1, x2", {"x1": "a", "x2": "b"}),
        ("a_fp16, b_bf16", {"a_fp16": "a", "b_bf16": "b"}),
    ],
)
def test_formats_in_the_names_of_operands(ports: str, expected: dict[str, str], tmp_path: Path) -> None:
    """Without the letters of operands, the formats in names tell which is which."""
    assert ports_of(f"input [15:0] {ports}, output [31:0] y", MIXED, tmp_path) == {**expected, "y": "result"}


def test_letters_that_contradict_formats(tmp_path: Path) -> None:
    """The letters decide, and the line says that the formats may be exchanged."""
    module = design("module m (input [15:0] a_bf16, b_fp16, output [31:0] y); endmodule", "m", tmp_path)
    drafted = draft(module, MIXED)
    assert tomllib.loads(drafted.text)["inputs"] == {"a_bf16": "a", "b_fp16": "b"}
    guesses = " ".join(map(str, drafted.guesses))
    assert "though it says bf16, and a is fp16: are they exchanged?" in guesses
    assert "though it says fp16, and b is bf16: are they exchanged?" in guesses
    same = design("module m (input [7:0] a_fp8, b_fp8, output [31:0] y); endmodule", "m", tmp_path)
    fp8 = VectorSet.make("mul", "fp8_e4m3", 10, out="fp32")
    assert "exchanged" not in draft(same, fp8).text
