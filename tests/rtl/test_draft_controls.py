"""Drafts for vectors: ports that select an operation, a rounding or a format, and those that carry parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_draft import design
from test_draft_widths import ports_of, refusal, set_of

from softfloat_ref.base.tables import toml_value
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.draft import draft
from softfloat_ref.rtl.draft.design import Signal
from softfloat_ref.rtl.draft.target import target_of
from softfloat_ref.rtl.module_ports import ModulePort

FLUSH = {"flush_inputs": True, "flush_outputs": True}
# Each name of a bit that is derived from the vectors, with vectors for which it is 1 and others for which it is 0.
BITS = {
    "signed_i": (set_of("convert", out="i16"), set_of("convert", out="u16")),
    "is_signed": (set_of("convert", fmt="i16", out="bf16"), set_of("convert", fmt="u16", out="bf16")),
    "unsigned_i": (set_of("convert", out="u16"), set_of("convert", out="i16")),
    "sub_i": (set_of("sub"), set_of("add")),
    "ftz_en": (set_of("add", FLUSH), set_of("add")),
    "daz": (set_of("add", FLUSH), set_of("add", {"flush_outputs": True})),
    "saturate": (set_of("convert", {"overflow": "sat-finite"}), set_of("convert", {"overflow": "sat-none"})),
    "sr_enable": (set_of("add", {"rounding": "sr", "sr_bits": 8}), set_of("add")),
}


def module_port(signal: Signal) -> ModulePort:
    return ModulePort(signal.name, signal.direction, signal.type, signal.width)


@pytest.mark.parametrize("name", BITS)
def test_bits_that_the_vectors_set(name: str, tmp_path: Path) -> None:
    for value, vectors in zip((1, 0), BITS[name], strict=True):
        width = vectors.unit.inputs[0].width
        head = f"input [{width - 1}:0] a, input [{width - 1}:0] b, input [7:0] r, input {name}, output [15:0] y"
        module = design(f"module m ({head}); endmodule", "m", tmp_path)
        done = draft(module, vectors)
        bound = target_of(vectors).bind(done.ports, {s.name: module_port(s) for s in module.signals})
        wire = next(w for w in bound.stimulus.wires if w.port == name)
        assert (bound.parts[0].control | bound.stimulus.constant) >> wire.lsb & 1 == value
        assert name not in {g.port for g in done.held}


@pytest.mark.parametrize(
    ("bits", "message"),
    [
        (
            "[2:0] op",
            "port op encodes the operation, by its name, and the source names no codes: give --set 'inputs.op={ ",
        ),
        (
            "rm",
            "port rm encodes the rounding, by its name, and the source names no codes: give --set 'inputs.rm={ value",
        ),
        ("[1:0] fmt_i", "port fmt_i encodes the format, by its name, and the source names no codes"),
        ("add_sub", "port add_sub tells additions from subtractions, by its name; whether by 0 or by 1, is not known"),
    ],
)
def test_controls_that_are_asked_for(bits: str, message: str, tmp_path: Path) -> None:
    """With vectors; a draft without them is to be edited."""
    head = f"input [15:0] a, b, input {bits}, output [15:0] y"
    assert refusal(head, set_of("add"), tmp_path).startswith(message)
    name, value = bits.split()[-1], {"value": 1, "width": {"[2:0]": 3, "[1:0]": 2}.get(bits.split()[0], 1)}
    assert ports_of(head, None, tmp_path)[name]
    if name == "add_sub":
        assert ports_of(head, set_of("mul"), tmp_path)[name], "a product does not tell them apart"
    assert ports_of(head, set_of("add"), tmp_path, f"inputs.{name}={toml_value(value)}")[name] == value


@pytest.mark.parametrize(("name", "ones"), [("signed_i", "i"), ("unsigned_i", "u")])
@pytest.mark.parametrize("fmt", ["i8", "u8"])
def test_signs_of_integers_of_any_unit(name: str, ones: str, fmt: str, tmp_path: Path) -> None:
    """Not only of conversions: a quantizer to integers says so in its format."""
    vectors = VectorSet.make("convert", "fp16", 10, out=fmt)
    ports = ports_of(f"input [15:0] x, input {name}, output [7:0] y", vectors, tmp_path)
    assert ports[name] == {"value": int(fmt[0] == ones)}


@pytest.mark.parametrize(("ports", "of"), [("format_a, format_b", ("fmt", "fmt_b")), ("fmtA, fmtB", ("fmt", "fmt_b"))])
@pytest.mark.parametrize("fmt", ["a=fp8_e4m3,b=fp8_e5m2", "fp8_e5m2"])
def test_the_format_of_each_operand(fmt: str, ports: str, of: tuple[str, str], tmp_path: Path) -> None:
    text = f"input [7:0] a, b, input [1:0] {ports}, output [15:0] y); localparam FMT_E4M3 = 1, FMT_E5M2 = 2; if (1"
    drafted = ports_of(text, VectorSet.make("mul", fmt, 10, out="bf16"), tmp_path)
    for port, field in zip(ports.split(", "), of, strict=True):
        assert drafted[port]["of"] == field
        assert drafted[port]["codes"].items() >= {"fp8_e4m3": 1, "fp8_e5m2": 2}.items()


def test_the_format_of_a_result_and_of_an_only_operand(tmp_path: Path) -> None:
    """A unit of one operand has no format of b."""
    text = "input [7:0] b, input [1:0] format_b, output [15:0] y); localparam FMT_E4M3 = 1, FMT_E5M2 = 2; if (1"
    assert ports_of(text, VectorSet.make("convert", "fp8_e5m2", 10, out="bf16"), tmp_path)["format_b"]["of"] == "fmt"


@pytest.mark.parametrize(
    ("op", "options", "outputs", "flag"),
    [
        ("convert", {"out": "i16"}, "overflow", "invalid"),
        ("convert", {"out": "u16"}, "ovf_o", "invalid"),
        ("convert_modular", {"out": "i16"}, "of", "invalid"),
        ("convert", {"out": "i16"}, "overflow, invalid", "overflow"),
        ("convert", {"out": "i16"}, "nv, overflow", "overflow"),
        ("convert", {"out": "bf16"}, "overflow", "overflow"),
        ("add", {}, "overflow", "overflow"),
    ],
)
def test_overflow_of_a_conversion_to_integers_is_invalid(
    op: str, options: dict[str, str], outputs: str, flag: str, tmp_path: Path
) -> None:
    """It raises no overflow, so that an output of this name means a number out of range, unless another one does."""
    vectors = VectorSet.make(op, "fp16", 10, **options)
    head = f"input [15:0] a{', b' if op == 'add' else ''}, output [15:0] y, output {outputs}"
    port = next(name for name in outputs.split(", ") if name.startswith(("o", "ov")))
    assert ports_of(head, vectors, tmp_path)[port] == flag


def test_overflow_of_a_dot_product_of_integers_is_its_own(tmp_path: Path) -> None:
    head = "input [31:0] a, b, c, output [31:0] y, output overflow"
    assert ports_of(head, VectorSet.make("integer_dot", "i8", 10), tmp_path)["overflow"] == "overflow"


REQUANTIZER = "input [31:0] acc_i, mult_i, input [5:0] shift_i, input [7:0] zp_i, input signed_i, output [7:0] q_o"


def test_parameters_of_a_requantizer_by_name_and_width(tmp_path: Path) -> None:
    vectors = VectorSet.make("requantize", "i32", 10, out="i8")
    ports = ports_of(REQUANTIZER, vectors, tmp_path)
    expected = {"acc_i": "accumulator", "mult_i": "multiplier", "shift_i": "shift", "zp_i": "zero_point"}
    assert ports == {**expected, "signed_i": {"value": 1}, "q_o": "result"}
    head = REQUANTIZER.replace("acc_i", "x").replace("mult_i", "y")
    assert refusal(head, vectors, tmp_path).startswith(
        "accumulator: x or y, by width; say which, such as --set inputs.x="
    )


def test_an_accumulator_that_has_a_port(tmp_path: Path) -> None:
    """By its name only: without one, it is a register of the module."""
    vectors = VectorSet.make("integer_dot", "i8", 10, clear=True)
    head = "input clk, input clear, input [31:0] va, vb, {}, input signed_i, output [31:0] sum"
    for port, is_carried in (("input [31:0] c", True), ("input [31:0] other", False)):
        module = design(f"module m ({head.format(port)}); endmodule", "m", tmp_path)
        if is_carried:
            ports = draft(module, vectors).ports
            assert ports.ignore == ("flags",)
        else:
            message = refusal(head.format(port), vectors, tmp_path)
            assert message.startswith("a and b: va or vb or other, by width; say which")
            ports = draft(module, vectors, settings=["inputs.other={ value = 0, width = 32 }"]).ports
            assert set(ports.ignore) == {"flags", "c"}


@pytest.mark.parametrize(("count", "more"), [(3, ""), (6, ""), (16, " or 10 more")])
@pytest.mark.parametrize("field", ["accumulator", "result"])
def test_elements_of_an_array_that_may_carry_a_field(field: str, count: int, more: str, tmp_path: Path) -> None:
    """Each is named, and both ways out that the message names are taken."""
    vectors = VectorSet.make("requantize", "i32", 10, fixed="multiplier=5,shift=-3,zero_point=0")
    width, side = (32, "inputs") if field == "accumulator" else (8, "outputs")
    array = f"[{count - 1}:0][{width - 1}:0] w"
    head = f"input {array}, output [7:0] y" if side == "inputs" else f"input [31:0] x, output {array}"
    message = refusal(head, vectors, tmp_path)
    shown = " or ".join(f"w[{i}]" for i in range(min(count, 6)))
    setting = f'{side}.w={{ {field} = "{width - 1}:0", width = {width * count} }}'
    assert message == (
        f"{field}: {shown}{more}, by width; say which, such as --set '{setting}', or, "
        f"for {count} of them side by side, --set lanes={count}"
    )
    assert ports_of(head, vectors, tmp_path, setting)["w"] == {field: f"{width - 1}:0", "width": width * count}
    wide = head.replace("[7:0] y", f"[{8 * count - 1}:0] y").replace("[31:0] x", f"[{32 * count - 1}:0] x")
    assert ports_of(wide, vectors, tmp_path, f"lanes={count}")["w"] == field
