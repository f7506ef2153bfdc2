"""Drafts of port maps: what is read from a source, what is guessed from its names, and the wrappers."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.draft import draft, names
from softfloat_ref.rtl.draft.design import read_design
from softfloat_ref.rtl.draft.lines import parse_value
from softfloat_ref.rtl.draft.wrapper import wrapper_module, wrapper_text
from softfloat_ref.rtl.module_ports import Expression, elaborate
from softfloat_ref.rtl.port_map import parse_ports

PACKAGE = """
package fp;
  typedef enum logic [2:0] {FP32 = 0, FP64 = 1, FP16 = 2, FP16ALT = 4} fmt_e;
  typedef enum logic [2:0] {RNE, RTZ, RDN, RUP, RMM, DYN = 7} rm_e;
  typedef enum logic [3:0] {FMADD, ADD, MUL, CMP, MINMAX, F2F, F2I, I2F, SGNJ} op_e;
  typedef struct packed {logic NV, DZ, OF, UF, NX;} status_t;
  typedef struct packed {int unsigned width; logic vectors;} config_t;
  localparam config_t SMALL = '{width: 32, vectors: 0};
endpackage
"""
REGISTER = "  always_ff @(posedge c or negedge r) if (!r) q <= 0; else q <= 1;"
FPU = f"""
module fpu #(parameter fp::config_t C = fp::SMALL, parameter type tag_t = logic, parameter int DEPTH = 2,
             localparam int W = C.width) (
    input clk_i, input rst_ni, input logic [2:0][W-1:0] operands_i, input fp::op_e op_i, input op_mod_i,
    input fp::rm_e rnd_mode_i, input fp::fmt_e src_fmt_i, input fp::fmt_e dst_fmt_i, input flush_i, input tag_t tag_i,
    input [3:0] mask_i, input in_valid_i, output in_ready_o,
    output [W-1:0] result_o, output fp::status_t status_o, output tag_t tag_o, output out_valid_o, input out_ready_i,
    output busy_o
);
  stage s (.c(clk_i), .r(rst_ni));
endmodule
module stage (input c, input r);
  logic q;
{REGISTER}
endmodule
"""


def design(text: str, name: str, tmp_path: Path, **values: str) -> Any:
    source = tmp_path / "source.sv"
    source.write_text(text)
    parameters = {key: parse_value(value) for key, value in values.items()}
    return read_design(elaborate([source], name, parameters), name, parameters)


@pytest.mark.parametrize(
    "text",
    [
        "module m (input [7:0] a, output [7:0] y); localparam int W = none::W; endmodule",
        "package p; parameter int W = none::f(3); parameter R = none::R; endpackage\n"
        "module m import p::*; (input [7:0] a, output [7:0] y); endmodule",
        "module m (input enum logic [7:0] {A = none::A, B = 8'dx, C = 3} a, output [7:0] y); endmodule",
    ],
)
def test_constants_of_a_package_that_no_source_defines(text: str, tmp_path: Path) -> None:
    """They are no codes; which package is missing, the simulator says."""
    module = design(text, "m", tmp_path)
    assert not {"W", "R"} & {*module.constants}
    assert [signal.width for signal in module.signals] == [8, 8]
    assert {port.width for port in elaborate([tmp_path / "source.sv"], "m").ports.values()} == {8}
    assert not {"A", "B"} & {*module.signals[0].leaves[0].codes}


def drafted(text: str, name: str, tmp_path: Path, **parameters: str) -> tuple[dict[str, Any], str]:
    """The port map of a draft, and its text."""
    port_map = draft(design(text, name, tmp_path, **parameters)).text
    return tomllib.loads(port_map), port_map


def test_a_unit_with_enumerations(tmp_path: Path) -> None:
    ports, text = drafted(PACKAGE + FPU, "fpu", tmp_path)
    assert parse_ports(ports).module == "fpu"
    assert (ports["clock"], ports["reset"]) == ("clk_i", {"port": "rst_ni", "active": "low"})
    assert ports["handshake"] == {
        "in_valid": "in_valid_i",
        "in_ready": "in_ready_o",
        "out_valid": "out_valid_o",
        "out_ready": "out_ready_i",
    }
    assert ports["tag"] == {"in": "tag_i", "out": "tag_o", "width": 1}
    inputs = ports["inputs"]
    assert inputs["operands_i"] == {"a": "31:0", "b": "63:32", "c": "95:64"}
    assert (inputs["flush_i"], inputs["mask_i"]) == ({"value": 0}, {"value": 15, "width": 4})
    for port, first in (("src_fmt_i", "fp16 *"), ("dst_fmt_i", "* fp16")):
        codes = inputs[port]["codes"]
        assert inputs[port]["of"] == "fmt out"
        assert codes.items() >= {"fp32 *": 0, "fp64 *": 1, "fp16 *": 2, "* bf16": 4, "* fp16": 2}.items()
        assert list(codes).index(first) < 4, "its own side comes first; the other is for integers"
    op = inputs["op_i"]
    assert (op["of"], op["width"]) == ("op fmt out", 4)
    expected = {"fma * *": 0, "add * *": 1, "sub * *": 1, "mul * *": 2, "lt * *": 3, "max * *": 4}
    assert op["codes"].items() >= (expected | {"convert * *": 5, "convert * i*": 6, "convert u* *": 7}).items()
    assert list(op["codes"])[-1] == "convert * *", "the first match counts"
    assert inputs["op_mod_i"]["codes"]["sub * *"] == 1
    rounding = inputs["rnd_mode_i"]
    assert rounding["of"] == "op rounding"
    assert rounding["codes"].items() >= {"lt *": 1, "eq *": 2, "max *": 1, "* rne": 0, "* rna": 4}.items()
    assert ports["outputs"]["result_o"] == "result"
    assert ports["outputs"]["status_o"]["invalid"] == "4"
    line = (PACKAGE + FPU).splitlines().index(REGISTER) + 1
    for comment in (
        f"posedge in source.sv:{line}",
        f"active low in source.sv:{line}",
        "# fp::FP16ALT",
        "not used: SGNJ = 8",
        "not used: DYN = 7",
        "# not compared: busy_o (1 bit)\n",
        '# C = { expr = "fp::SMALL" }  # the default',
        '# tag_t = { expr = "logic" }  # the default',
        "# DEPTH = 2  # the default",
    ):
        assert comment in text


def test_parameters_that_are_given(tmp_path: Path) -> None:
    values = {"C": "'{width: 16, vectors: 0}", "tag_t": "logic [3:0]", "DEPTH": "3"}
    ports, _ = drafted(PACKAGE + FPU, "fpu", tmp_path, **values)
    assert ports["parameters"] == {"C": {"expr": values["C"]}, "tag_t": {"expr": values["tag_t"]}, "DEPTH": 3}
    assert ports["tag"]["width"] == 4
    assert ports["inputs"]["operands_i"]["c"] == "47:32"
    text = "module m #(parameter int W) (input [W-1:0] a, output [W-1:0] result); endmodule"
    with pytest.raises(Error, match="parameter W of m has no default; give -G W=VALUE"):
        drafted(text, "m", tmp_path)
    assert drafted(text, "m", tmp_path, W="8")[0]["parameters"] == {"W": 8}
    with pytest.raises(Error, match=r"m has no parameter V \(-G V\); its parameters are W"):
        drafted(text, "m", tmp_path, W="8", V="3")
    with pytest.raises(Error, match=r"m has no parameter W \(-G W\); its parameters are none"):
        drafted("module m (input a, output y); endmodule", "m", tmp_path, W="8")


def test_values_of_parameters() -> None:
    assert [parse_value(x) for x in ("-3", '"a b"', "8'h3", "p::X", '{"a", "b"}')] == [
        -3,
        "a b",
        Expression("8'h3"),
        Expression("p::X"),
        Expression('{"a", "b"}'),
    ]


PAIRS = """
module add(input_a, input_b, input_a_stb, input_b_stb, output_z_ack, clk, rst, output_z, output_z_stb,
           input_a_ack, input_b_ack);
  input clk, rst, input_a_stb, input_b_stb, output_z_ack; input [31:0] input_a, input_b;
  output input_a_ack, input_b_ack, output_z_stb; output [31:0] output_z;
  reg r; always @(posedge clk) begin r <= 0; if (rst == 1) r <= 1; end
endmodule
module bits(input clock, input resetn, input [1:0] valid, output [1:0] ready, input [15:0] x, y,
            output [15:0] r, output done); endmodule
"""


def test_a_pair_for_each_operand(tmp_path: Path) -> None:
    ports, text = drafted(PAIRS, "add", tmp_path)
    assert ports["handshake"] == {
        "in_valid": {"a": "input_a_stb", "b": "input_b_stb"},
        "in_ready": {"a": "input_a_ack", "b": "input_b_ack"},
        "out_valid": "output_z_stb",
        "out_ready": "output_z_ack",
    }
    assert (ports["inputs"], ports["outputs"]) == ({"input_a": "a", "input_b": "b"}, {"output_z": "result"})
    assert (ports["reset"]["active"], ports["ignore"]) == ("high", ["flags"])
    assert "latency" not in ports
    assert 'ignore = ["flags"]  # guess: no output has the name of a flag' in text


def test_a_bit_for_each_operand(tmp_path: Path) -> None:
    ports, text = drafted(PAIRS, "bits", tmp_path)
    assert ports["handshake"]["in_valid"] == {"a": "valid[0]", "b": "valid[1]"}
    assert ports["handshake"]["in_ready"] == {"a": "ready[0]", "b": "ready[1]"}
    assert ports["inputs"] == {"x": "a", "y": "b"}
    assert ports["reset"] == {"port": "resetn", "active": "low"}
    assert "# guess: its level by its name" in text


SMALL = {
    "combinational": (
        "(input [31:0] op_b, op_a, output [31:0] sum, output nv, overflow, f_inexact)",
        {
            "inputs": {"op_a": "a", "op_b": "b"},
            "outputs": {"sum": "result", "nv": "invalid", "overflow": "overflow", "f_inexact": "inexact"},
            "ignore": ["divide_by_zero", "underflow"],
        },
    ),
    "start and done": (
        "(input clk, start, sub, input [2:0] rm, input [15:0] a, b, output [15:0] q, output done, output [4:0] fflags)",
        {
            "handshake": {"in_valid": "start", "out_valid": "done"},
            "outstanding": 1,
            "outputs": {"q": "result", "fflags": "flags"},
        },
    ),
    "no valid": (
        "(input aclk, aresetn, ce, input [15:0] dividend, divisor, output [15:0] quotient)",
        {
            "latency": 1,
            "clock": "aclk",
            "reset": {"port": "aresetn", "active": "low"},
            "inputs": {"dividend": "a", "divisor": "b", "ce": {"value": 1}},
        },
    ),
    "streams": (
        "(input aclk, input s_axis_a_tvalid, output s_axis_a_tready, input [15:0] s_axis_a_tdata, "
        "output m_axis_result_tvalid, input m_axis_result_tready, output [15:0] m_axis_result_tdata)",
        {
            "handshake": {
                "in_valid": "s_axis_a_tvalid",
                "in_ready": "s_axis_a_tready",
                "out_valid": "m_axis_result_tvalid",
                "out_ready": "m_axis_result_tready",
            },
            "inputs": {"s_axis_a_tdata": "a"},
            "outputs": {"m_axis_result_tdata": "result"},
        },
    ),
    "operands side by side": (
        "(input [95:0] operands, output [31:0] result)",
        {"inputs": {"operands": {"a": "31:0", "b": "63:32", "c": "95:64"}}},
    ),
    "operands counted from the top": (
        "(input [0:2][15:0] operands, output [15:0] result)",
        {"inputs": {"operands": {"a": "47:32", "b": "31:16", "c": "15:0"}}},
    ),
    "a reset that is not what it is called": (
        "(input clk, rst, input [15:0] a, output reg [15:0] y); always @(posedge clk) if (!rst) y <= 0; else y <= a",
        {"clock": "clk", "reset": {"port": "rst", "active": "low"}},
    ),
    "a clock that is not called so": (
        "(input tick, input [15:0] a, output reg [15:0] y); always @(posedge tick) y <= a",
        {"clock": "tick"},
    ),
    "names that mislead": (
        "(input struct packed {logic [3:0] x, y;} scaling, input [95:0] enable, output [15:0] y)",
        {"inputs": {"scaling": {"a": "7:4", "b": "3:0"}, "enable": {"value": 0, "width": 96}}},
    ),
    "constants": (
        "(input [1:0] op, rm, input [7:0] a, b, random, output [7:0] y); localparam OP_ADD = 1, OP_FMUL = 2; "
        "localparam RM_NEAREST_EVEN = 0, RM_ZERO = 3, S = 1, MAX = 2, EXP_MIN = 1",
        {
            "inputs": {
                "op": {"of": "op", "width": 2, "codes": {"add": 1, "mul": 2}},
                "rm": {"of": "rounding", "width": 2, "codes": {"rne": 0, "rtz": 3}},
                "a": "a",
                "b": "b",
                "random": "r",
            }
        },
    ),
    "two names for a code": (
        "(input enum logic [1:0] {ADD, FADD, MUL} op, input [7:0] a, b, output [7:0] y)",
        {"inputs": {"op": {"of": "op", "width": 2, "codes": {"add": 0, "mul": 2}}, "a": "a", "b": "b"}},
    ),
    "a quantizer": (
        "(input [1023:0] data, output [7:0] shared_scale, output [255:0] codes)",
        {"inputs": {"data": "values"}, "outputs": {"shared_scale": "scale", "codes": "elements"}},
    ),
    "a dequantizer": (
        "(input [7:0] scale, input [255:0] x, output [1023:0] y)",
        {"inputs": {"x": "elements", "scale": "scale"}, "outputs": {"y": "values"}},
    ),
    "a dot product": (
        "(input [7:0] scale1, scale2, input [255:0] vec1, vec2, input [31:0] acc, output [31:0] result)",
        {"inputs": {"vec1": "a", "vec2": "b", "acc": "c", "scale1": "a_scale", "scale2": "b_scale"}},
    ),
    "a converter": (
        "(input [31:0] a, input [0:0] fmt, output [15:0] y); localparam E4M3 = 0, FP16 = 1",
        {"inputs": {"a": "a", "fmt": {"of": "out", "width": 1}}},
    ),
    "a packed structure": (
        "(input struct packed {logic [15:0] x, y;} in, output struct packed {logic [15:0] result; logic nv, nx;} out)",
        {
            "inputs": {"in": {"a": "31:16", "b": "15:0"}},
            "outputs": {"out": {"result": "17:2", "invalid": "1", "inexact": "0"}},
        },
    ),
}


MACROS = """
`define OPC_ADD 4'b0000
`define OPC_MULT 4'h2 // a product
`define OPC_F2I 3
`define OPC_F2U 4'd4
`define OPC_SUB (1)
`define RM_NEAREST 2'b00
`define RM_UP 2'b1_0
`ifdef OTHER
`define RM_DOWN 2'b11
`else
`define RM_DOWN 2'b01
`endif
`define RM_ZERO 2'b02
`define RM_AWAY(x) 3
"""


def test_macros(tmp_path: Path) -> None:
    """Those that are one number name codes; an operation's destination is its tag."""
    head = "(input clk, input [3:0] opcode, input [1:0] rm, input [4:0] in_rd, input [7:0] a, b, input in_valid,"
    text = f"{MACROS}module m {head} output out_valid, output [7:0] result, output [4:0] wb_rd); endmodule"
    ports, _ = drafted(text, "m", tmp_path)
    assert ports["inputs"]["opcode"]["codes"] == {"add * *": 0, "mul * *": 2, "convert * i*": 3, "convert * u*": 4}
    assert ports["inputs"]["rm"]["codes"] == {"rne": 0, "rup": 2}
    assert ports["tag"] == {"in": "in_rd", "out": "wb_rd", "width": 5}


@pytest.mark.parametrize("case", SMALL)
def test_small_modules(case: str, tmp_path: Path) -> None:
    ports, _ = SMALL[case]
    head, expected = SMALL[case]
    ports, _ = drafted(f"module m {head}; endmodule", "m", tmp_path)
    assert parse_ports(ports)
    for key, value in expected.items():
        if key == "inputs" and "fmt" in value:
            assert ports[key]["fmt"]["codes"] == {"fp8_e4m3": 0, "fp16": 1, "i*": 0, "u*": 0}
            del ports[key]["fmt"]["codes"]
        assert ports[key] == value


def test_for_the_fields_of_vectors(tmp_path: Path) -> None:
    """An addition on a unit that also multiplies and adds needs no edit."""
    fpu = design(PACKAGE + FPU, "fpu", tmp_path)
    ports = tomllib.loads(draft(fpu, VectorSet.make("add", "fp32", 10)).text)
    assert ports["inputs"]["operands_i"] == {"a": "31:0", "b": "63:32", "width": 96}
    assert "ignore" not in ports
    assert set(ports["outputs"]) == {"result_o", "status_o"}


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        ("input [7:0] a [4], output [7:0] y", "port a is unpacked (logic[7:0]$[0:3]), which a port map cannot connect"),
        ("input struct packed {logic [7:0] a; logic go;} i, output [7:0] y", "port i is a structure of more than op"),
        ("input [7:0] a, output struct packed {logic valid; logic [7:0] y;} o", "port o is a structure of more than r"),
    ],
)
def test_ports_that_need_a_wrapper(ports: str, message: str, tmp_path: Path) -> None:
    module = design(f"module m ({ports}); endmodule", "m", tmp_path)
    with pytest.raises(Error) as caught:
        draft(module)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(": give --wrapper FILE")
    assert draft(wrapper_module(module)).design.name == "m_wrapper"


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        ("bus b, output [7:0] y", "port b is an interface, which a port map cannot connect; write a module around it"),
        ("inout [7:0] a, output [7:0] y", "port a is inout; a port map connects inputs and outputs only"),
        ("input real a, output [7:0] y", "port a is of type real, which no vector carries; write a module around it"),
        ("input q::t a, output [7:0] y", "port a: the sources do not define its type"),
        ("input [7:0] a", "m has no output that could carry a result"),
    ],
)
def test_modules_that_are_refused(ports: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(Error) as caught:
        drafted(f"interface bus; endinterface module m ({ports}); endmodule", "m", tmp_path)
    assert str(caught.value).startswith(message)


def test_a_type_that_no_wrapper_can_name(tmp_path: Path) -> None:
    module = design("module m (input struct {logic [7:0] a;} i, output [7:0] y); endmodule", "m", tmp_path)
    with pytest.raises(Error, match=r"^port i: its type struct.* has no name outside the module"):
        wrapper_text(module)


WRAPPED = """
package b;
  typedef enum logic {UP, DOWN} way_e;
  typedef struct packed {logic valid; way_e way; logic [1:0][3:0] nibbles;} control_t;
  typedef struct {logic [3:0] elements [4]; logic [7:0] scale;} block_t;
endpackage
module m #(parameter type T = logic) (
    input b::control_t in, input b::way_e way, input b::way_e [1:0] ways [2], input logic [7:0] values [0:3],
    input T last [1:0], input byte codes [2],
    output b::block_t out, output b::control_t echo
); endmodule
"""


def test_the_wrapper(tmp_path: Path) -> None:
    """Its ports are vectors, its text is a module that connects every bit, and it sets the parameters."""
    module = design(WRAPPED, "m", tmp_path, T="logic [2:0]")
    text = wrapper_text(module)
    (tmp_path / "wrapper.sv").write_text(text)
    around = elaborate([tmp_path / "source.sv", tmp_path / "wrapper.sv"], "m_wrapper")
    assert {p.name: (p.direction, p.width) for p in around.ports.values()} == {
        "in_nibbles": ("input", 8),
        "in_way": ("input", 1),
        "in_valid": ("input", 1),
        "way": ("input", 1),
        "ways": ("input", 4),
        "values": ("input", 32),
        "last": ("input", 6),
        "codes": ("input", 16),
        "out_scale": ("output", 8),
        "out_elements": ("output", 16),
        "echo_nibbles": ("output", 8),
        "echo_way": ("output", 1),
        "echo_valid": ("output", 1),
    }
    for line in (
        "m #(.T(logic [2:0])) dut (",
        ".in({in_valid, in_way, in_nibbles})",
        ".way(b::way_e'(way))",
        "  wire b::way_e[1:0] ways__value [0:1];",
        "  byte codes__value [0:1];",
        "  b::block_t out__value;",
        "assign values__value[3] = values[31:24];",
        "assign last__value[0] = last[2:0];",
        "assign out_elements[7:4] = out__value.elements[1];",
        "assign out_scale = out__value.scale;",
    ):
        assert line in text
    assert [s.name for s in wrapper_module(module).signals] == list(around.ports)


@pytest.mark.parametrize(
    ("name", "level"),
    [
        *(("rst", "high"), ("sys_rst", "high"), ("soft_reset", "high")),
        *(("rst_n", "low"), ("aresetn", "low"), ("nReset", "low"), ("rst_ni", "low"), ("reset_l", "low")),
        *(("first", None), ("preset_value", None)),
    ],
)
def test_names_of_resets(name: str, level: str | None) -> None:
    assert names.reset_level(name) == level


def test_names_of_clocks() -> None:
    assert all(map(names.is_clock, ("clk", "clk_i", "aclk", "sys_clk", "clock", "io_clk", "ck")))
    assert not any(map(names.is_clock, ("clk_en", "block", "clock_enable", "check")))


def test_the_types_of_enumerations(tmp_path: Path) -> None:
    """Those of packages, to which a bench casts; the ports of a wrapper are vectors."""
    text = """
package p; typedef enum logic [1:0] {ADD, MUL} op_e; typedef enum logic {OFF, ON} mode_e; endpackage
module m (input [15:0] a, b, input p::op_e op, input p::mode_e flush, output [15:0] result); endmodule
"""
    module = design(text, "m", tmp_path)
    inputs = [tomllib.loads(draft(x).text)["inputs"] for x in (module, wrapper_module(module))]
    types = [{name: port.get("type") for name, port in x.items() if isinstance(port, dict)} for x in inputs]
    assert types == [{"op": "p::op_e", "flush": "p::mode_e"}, {"op": None, "flush": None}]


# -- for vectors -------------------------------------------------------------------------------------------------------

ADDER = "module adder(input clk, input [15:0] a, b, input [3:0] knob, output reg [15:0] result); endmodule"


def test_what_is_guessed_is_data(tmp_path: Path) -> None:
    """Each guess with its line, its reason and its port; inputs of unknown meaning are told from the others."""
    done = draft(design(ADDER, "adder", tmp_path), VectorSet.make("add", "fp16", 10))
    assert {g.port or g.text for g in done.guesses} == {"clk", 'ignore = ["flags"]', "latency = 1", "knob"}
    assert [(g.table, g.port, g.text) for g in done.held] == [("inputs", "knob", "knob = { value = 0, width = 4 }")]
    assert all(f"{g.text}  # guess: {g.why}\n" in done.text for g in done.guesses)
    assert done.ports == parse_ports(tomllib.loads(done.text))


def test_a_set_a_manifest_and_a_folder_are_the_same(tmp_path: Path) -> None:
    vectors, module = VectorSet.make("add", "fp16", 10), design(ADDER, "adder", tmp_path)
    generate(vectors, tmp_path / "v")
    sources: list[Any] = [vectors, tmp_path / "v", str(tmp_path / "v"), read_manifest(tmp_path / "v")]
    assert len({draft(module, source).text for source in sources}) == 1


def test_lines_that_the_user_sets(tmp_path: Path) -> None:
    module = design(ADDER, "adder", tmp_path)
    settings = ["inputs.knob={ value = 5, width = 4 }", "latency=3", 'inputs.b="a"', 'inputs.a="b"', "clock=clk"]
    done = draft(module, VectorSet.make("add", "fp16", 10), settings=settings)
    ports = tomllib.loads(done.text)
    assert ports["inputs"] == {"knob": {"value": 5, "width": 4}, "b": "a", "a": "b"}
    clocked = tomllib.loads(draft(module, settings=["clock=clk", "handshake.stalls=5"]).text)
    assert (clocked["clock"], clocked["latency"], clocked["handshake"]) == ("clk", 1, {"stalls": 5})
    one = tomllib.loads(draft(module, VectorSet.make("add", "fp16", 10), settings=["inputs.b=a"]).text)
    assert one["inputs"].items() >= {"b": "a", "a": "b"}.items(), "a port that has the name of a field keeps its line"
    assert (ports["latency"], ports["clock"], [g.text for g in done.guesses]) == (3, "clk", ['ignore = ["flags"]'])
