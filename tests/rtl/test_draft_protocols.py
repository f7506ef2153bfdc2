"""Drafts of handshakes, by the table of conventions and a user's own rows; levels and edges through wires and gates."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from test_draft import design

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.draft import draft
from softfloat_ref.rtl.draft.protocols import KEYS, PROTOCOLS, Protocol, protocol_of
from softfloat_ref.rtl.port_map import parse_ports

DATA = "input clk, input [15:0] a, b, output [15:0] y, "


def drafted(ports: str, tmp_path: Path, body: str = "", op: str = "add", **options: Any) -> dict[str, Any]:
    module = design(f"module m ({ports}); {body} endmodule", "m", tmp_path)
    return tomllib.loads(draft(module, VectorSet.make(op, "fp16", 5), **options).text)


def low(port: str) -> dict[str, Any]:
    return {"port": port, "active": "low"}


def waits(port: str) -> dict[str, Any]:
    return {"port": port, "waits": True}


# A style for each row of the table at least, and what people mix; the expected handshake in the order of KEYS.
STYLES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "valid-ready": (
        f"{DATA} input in_valid, output in_ready, output out_valid, input out_ready",
        ("in_valid", "in_ready", "out_valid", "out_ready"),
    ),
    "valid-ready, a pair for each operand": (
        "input aclk, input s_axis_a_tvalid, output s_axis_a_tready, input [15:0] s_axis_a_tdata, "
        "input s_axis_b_tvalid, output s_axis_b_tready, input [15:0] s_axis_b_tdata, "
        "output m_axis_r_tvalid, input m_axis_r_tready, output [15:0] m_axis_r_tdata",
        (
            {"a": "s_axis_a_tvalid", "b": "s_axis_b_tvalid"},
            {"a": "s_axis_a_tready", "b": "s_axis_b_tready"},
            "m_axis_r_tvalid",
            "m_axis_r_tready",
        ),
    ),
    "valid-ready, one ready for two valids": (
        f"{DATA} input a_valid, b_valid, output ready, output out_valid",
        ({"a": "a_valid", "b": "b_valid"}, "ready", "out_valid", None),
    ),
    "valid-ready by stb and ack": (
        f"{DATA} input stb, output ack, output out_stb, input out_ack",
        ("stb", "ack", "out_stb", "out_ack"),
    ),
    "valid-ready of an HLS tool": (
        "input clk, input [15:0] a_rsc_dat, input a_rsc_vld, output a_rsc_rdy, input [15:0] b_rsc_dat, "
        "input b_rsc_vld, output b_rsc_rdy, output [15:0] y_rsc_dat, output y_rsc_vld, input y_rsc_rdy",
        ({"a": "a_rsc_vld", "b": "b_rsc_vld"}, {"a": "a_rsc_rdy", "b": "b_rsc_rdy"}, "y_rsc_vld", "y_rsc_rdy"),
    ),
    "request-grant": (
        f"{DATA} input req_i, output gnt_o, output rvalid_o, input rready_i",
        ("req_i", "gnt_o", "rvalid_o", "rready_i"),
    ),
    "request-grant by ack and done": (f"{DATA} input req, output ack, output done", ("req", "ack", "done", None)),
    "BaseJump": (
        f"{DATA} input v_i, output ready_and_o, output v_o, input yumi_i",
        ("v_i", "ready_and_o", "v_o", waits("yumi_i")),
    ),
    "BaseJump, yumi at the input": (
        f"{DATA} input v_i, output yumi_o, output v_o, input ready_and_i",
        ("v_i", "yumi_o", "v_o", "ready_and_i"),
    ),
    "BaseJump, ready-then-valid": (
        f"{DATA} input v_i, output ready_then_o, output v_o, input yumi_i",
        (waits("v_i"), "ready_then_o", "v_o", waits("yumi_i")),
    ),
    "Catapult": (
        "input clk, input [15:0] a_rsc_z, input a_rsc_vz, output a_rsc_lz, input [15:0] b_rsc_z, input b_rsc_vz, "
        "output b_rsc_lz, output [15:0] y_rsc_z, output y_rsc_lz, input y_rsc_vz, output a_rsc_triosy_lz",
        ({"a": "a_rsc_vz", "b": "b_rsc_vz"}, {"a": "a_rsc_lz", "b": "b_rsc_lz"}, "y_rsc_lz", "y_rsc_vz"),
    ),
    "Catapult, of one operand": (
        "input clk, input [15:0] in_rsc_z, input in_rsc_vz, output in_rsc_lz, output [15:0] out_rsc_z, "
        "output out_rsc_lz, input out_rsc_vz",
        ("in_rsc_vz", "in_rsc_lz", "out_rsc_lz", "out_rsc_vz"),
    ),
    "Vitis HLS": (
        f"{DATA} input ap_start, output ap_done, ap_idle, ap_ready, input ap_continue",
        ("ap_start", "ap_ready", "ap_done", "ap_continue"),
    ),
    "Vitis HLS without ap_continue": (
        f"{DATA} input ap_start, output ap_done, ap_idle, ap_ready",
        ("ap_start", "ap_ready", "ap_done", None),
    ),
    "Intel HLS": (
        f"{DATA} input start, output busy, done, input stall",
        ("start", low("busy"), "done", low("stall")),
    ),
    "Bluespec": (
        "input CLK, RST_N, input [15:0] start_a, start_b, input EN_start, output RDY_start, input EN_get, "
        "output [15:0] get, output RDY_get",
        (waits("EN_start"), "RDY_start", "RDY_get", waits("EN_get")),
    ),
    "FIFO": (
        f"{DATA} input push, output full, output empty, input pop",
        (waits("push"), low("full"), low("empty"), waits("pop")),
    ),
    "LogiCORE": (
        f"{DATA} input operation_nd, output operation_rfd, output rdy",
        ("operation_nd", "operation_rfd", "rdy", None),
    ),
    "start-done": (f"{DATA} input start, output done", ("start", None, "done", None)),
    "start-done with busy": (f"{DATA} input start, output busy, done", ("start", low("busy"), "done", None)),
    "start-ready": (f"{DATA} input start, output ready", ("start", None, "ready", None)),
    "an enable that is a valid": (f"{DATA} input ce, output out_valid", ("ce", None, "out_valid", None)),
}


@pytest.mark.parametrize("name", STYLES)
def test_styles_of_handshakes(name: str, tmp_path: Path) -> None:
    ports, expected = STYLES[name]
    table = drafted(ports, tmp_path, op="sqrt" if "one operand" in name else "add")
    assert table["handshake"] == {k: v for k, v in zip(KEYS, expected, strict=True) if v is not None}
    assert set(table["inputs"].values()) <= {"a", "b"}, "nothing is held"
    assert ("outstanding" in table) == (name.startswith("start-"))
    assert parse_ports(table)


def test_each_row_has_a_style() -> None:
    assert {row.name for row in PROTOCOLS} <= {name.partition(",")[0] for name in STYLES}
    assert all(row.source for row in PROTOCOLS)


OWN = """
[protocol.strobes]
in_valid = ["fire"]
in_ready = ["!hold_off"]
out_valid = ["fin"]
out_ready = ["&eat"]
"""


def test_a_protocol_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a table, as an object by name, and as an object; names of the table above that it shares come first."""
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "my_protocols.py").write_text(
        "from softfloat_ref.rtl.draft.protocols import Protocol\n"
        "STROBES = Protocol('strobes', ('fire',), ('!hold_off',), ('fin',), ('&eat',))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    ports = f"{DATA} input fire_i, output hold_off_o, output fin, input eat"
    own: list[Any] = [f"{tmp_path}/own.toml", f"{tmp_path}/own.toml:strobes", "my_protocols:STROBES"]
    own.append(Protocol("strobes", ("fire",), ("!hold_off",), ("fin",), ("&eat",)))
    tables = [drafted(ports, tmp_path, protocols=[protocol]) for protocol in own]
    assert all(x == tables[0] for x in tables)
    expected = {"in_valid": "fire_i", "in_ready": low("hold_off_o"), "out_valid": "fin", "out_ready": waits("eat")}
    assert tables[0]["handshake"] == expected
    assert "out_valid" not in drafted(ports, tmp_path)["handshake"]
    renamed = Protocol("renamed", in_valid=("ready",), out_valid=("valid",))
    ports = f"{DATA} input in_ready, output out_valid, input in_valid"
    assert drafted(ports, tmp_path, protocols=[renamed])["handshake"]["in_valid"] == "in_ready"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[protocol.p]\nin_ready = ['x']", "protocol p: give the names of in_valid or of out_valid"),
        ("[protocol.p]\nin_valid = ['!']", "protocol p: in_valid has the name '!'; write words of a port's name"),
        (
            "[protocol.p]\nin_valid = ['v']\nout_valid = ['&v']",
            "protocol p: '&v' in out_valid: & is for in_valid and out_",
        ),
        ("[protocol.p]\nvalid = ['v']", r"unknown key 'valid'; did you mean in_valid, out_valid\? \(in protocol p\)"),
        ("[protocol.p]\nin_valid = 'v'", "protocol p: in_valid = 'v' is not of type tuple"),
    ],
)
def test_protocols_that_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(Error, match=message):
        protocol_of(f"{tmp_path}/own.toml")


def test_names_of_protocols_that_are_none() -> None:
    with pytest.raises(Error, match=r"protocol 'x': write FILE.toml\[:NAME\], or package.module:Name"):
        protocol_of("x")
    with pytest.raises(Error, match=r"protocol 'math:pi' is not a softfloat_ref.rtl.draft.protocols.Protocol"):
        protocol_of("math:pi")


# -- a code that means no operation ------------------------------------------------------------------------------------

CODES = "enum logic [1:0] {{{}}} op"


@pytest.mark.parametrize("none", ["NOP", "OP_NONE", "NO_OP", "NULL", "IDLE"])
def test_a_valid_that_is_a_code(none: str, tmp_path: Path) -> None:
    """By names of an enumeration, or of constants; a module with a valid, or without a clock, has it already."""
    enumeration = CODES.format(f"{none}, ADD = 2, SUB")
    table = drafted(f"{DATA} input {enumeration}, output out_valid", tmp_path)
    assert table["handshake"] == {"in_valid": {"port": "op", "idle": 0}, "out_valid": "out_valid"}
    assert table["inputs"]["op"]["codes"] == {"add": 2, "sub": 3}
    body = f"localparam OP_{none.removeprefix('OP_')} = 3, OP_ADD = 0, OP_SUB = 1;"
    table = drafted(f"{DATA} input [1:0] op, output done", tmp_path, body)
    assert table["handshake"] == {"in_valid": {"port": "op", "idle": 3}, "out_valid": "done"}
    table = drafted(f"{DATA} input {enumeration}, input in_valid, output out_valid", tmp_path)
    assert table["handshake"]["in_valid"] == "in_valid"
    assert "handshake" not in drafted(f"{DATA.replace('input clk, ', '')} input {enumeration}", tmp_path)


# -- levels and edges --------------------------------------------------------------------------------------------------

# Each way from a reset port to the register, with the level of the port that resets; {0} is the port.
WAYS = {
    "wire n = {0}; always @(posedge clk) if (n) q <= 0; else q <= a;": "high",
    "wire n = ~{0}; always @(posedge clk or posedge n) if (n) q <= 0; else q <= a;": "low",
    "wire n; assign n = !{0}; always @(posedge clk or negedge n) if (!n) q <= 0; else q <= a;": "high",
    "logic n; always_comb n = ~{0}; always @(posedge clk) if (n) q <= 0; else q <= a;": "low",
    "wire n, k; assign n = ~k, k = ~{0}; always @(posedge clk) if (!n) q <= 0; else q <= a;": "low",
    "wire n; not (n, {0}); always @(posedge clk) if (n) q <= 0; else q <= a;": "low",
    "wire n; nor (n, {0}, other); always @(posedge clk) if (!n) q <= 0; else q <= a;": "high",
    "wire n = {0} | other; always @(posedge clk) if (n) q <= 0; else q <= a;": "high",
    "wire n = {0} & ~other; always @(posedge clk) if (!n) q <= 0; else q <= a;": "low",
    "always @(posedge clk) if (other || !{0}) q <= 0; else q <= a;": "low",
    "always @(posedge clk) if ({0} == 1'b0) q <= 0; else q <= a;": "low",
    "always @(posedge clk) if ({0} ^ LOW) q <= 0; else q <= a;": "low",
    "wire n = LOW ? ~{0} : {0}; always @(posedge clk) if (n) q <= 0; else q <= a;": "low",
    "wire n; generate if (LOW) assign n = ~{0}; else assign n = {0}; endgenerate "
    "always @(posedge clk) if (n) q <= 0; else q <= a;": "low",
    "always @(posedge clk) q <= {0} ? 0 : a;": "high",
    "always @(posedge clk) q <= !{0} ? 0 : other ? a : q;": "low",
    "always @(posedge clk) q <= !{0} && a[0];": "high",
    "wire n = ~{0}; always @(posedge clk) q[0] <= other; reg v; always @(posedge clk) v <= n & other;": "high",
    "reg v; always @(posedge clk) v <= {0} & other;": "low",
    "reg n; always @(posedge clk) n <= ~{0}; always @(posedge clk) if (n) q <= 0; else q <= a;": "low",
    "wire n; inv u (.i({0}), .o(n)); always @(posedge clk) if (n) q <= 0; else q <= a;": "low",
    "wire n = ~{0}; part u (.clk(clk), .r(n), .a(a), .q(y));": "low",
    "part u (.clk(clk), .r(~{0}), .a(a), .q(y));": "low",
}
INNER = """
module inv (input i, output o); assign o = ~i; endmodule
module part (input clk, r, input [15:0] a, output reg [15:0] q); always @(posedge clk) if (r) q <= 0; else q <= a;
endmodule
"""


@pytest.mark.parametrize("way", WAYS)
def test_the_level_of_a_reset(way: str, tmp_path: Path) -> None:
    """Whatever the port is called."""
    for name in ("reset", "rst_n"):
        text = f"{INNER} module m (input clk, {name}, other, input [15:0] a, output [15:0] y); parameter LOW = 1;"
        text += f" reg [15:0] q; {way.format(name)} endmodule"
        done = draft(design(text, "m", tmp_path))
        table = tomllib.loads(done.text)
        assert table["reset"] == {"port": name, "active": WAYS[way]}
        assert name not in {guess.port for guess in done.guesses}
        assert f"active {WAYS[way]} in source.sv:" in done.text


def test_a_level_that_is_not_enough(tmp_path: Path) -> None:
    """A reset that only acts together with another signal: its name says more."""
    text = "module m (input clk, rst_n, other, input [15:0] a, output reg [15:0] y); always @(posedge clk)"
    done = draft(design(f"{text} if (rst_n & other) y <= a; endmodule", "m", tmp_path))
    assert 'reset = { port = "rst_n", active = "low" }  # guess: its level by its name' in done.text


CLOCKS = {
    "wire c = tick; always @(posedge c) q <= a;": "posedge",
    "wire c = ~tick; always @(negedge c) q <= a;": "posedge",
    "wire c = ~tick; always @(posedge c) q <= a;": "negedge",
    "always @(negedge tick) q <= a;": "negedge",
    "wire c = tick & other; always @(posedge c) q <= a;": "posedge",
    "wire c; buf (c, tick); always @(posedge c) q <= a;": "posedge",
}


@pytest.mark.parametrize("way", CLOCKS)
def test_the_edge_of_a_clock(way: str, tmp_path: Path) -> None:
    text = f"module m (input tick, other, input [15:0] a, output [15:0] y); reg [15:0] q; {way} endmodule"
    assert f'clock = "tick"  # {CLOCKS[way]} in source.sv:1' in draft(design(text, "m", tmp_path)).text


ENABLES = {
    ("ce", "if (ce) q <= a;"): 1,
    ("aclken", "if (aclken) q <= a;"): 1,
    ("ce", "if (!ce) q <= a;"): 0,
    ("en_n", "q <= a;"): 0,
    ("clk_en", "if (n) q <= a;"): 0,
}


@pytest.mark.parametrize(("name", "body"), ENABLES)
def test_the_level_of_an_enable(name: str, body: str, tmp_path: Path) -> None:
    text = f"module m (input clk, {name}, input [15:0] a, output [15:0] y); reg [15:0] q; wire n = ~{name};"
    done = draft(design(f"{text} always @(posedge clk) begin {body} end endmodule", "m", tmp_path))
    assert tomllib.loads(done.text)["inputs"][name] == {"value": ENABLES[name, body]}
    assert name not in {guess.port for guess in done.held}


def test_wires_that_rest_on_themselves(tmp_path: Path) -> None:
    text = "module m (input clk, rst, input [15:0] a, output reg [15:0] y); wire p, q; assign p = q | rst, q = p;"
    ports = tomllib.loads(draft(design(f"{text} always @(posedge clk) if (p) y <= a; endmodule", "m", tmp_path)).text)
    assert ports["reset"]["active"] == "high"
