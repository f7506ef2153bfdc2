"""`vectors ports`: from the sources of a circuit to a bench that passes, without an edit."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from benches import TOP
from command import ok, refused, run

from softfloat_ref.rtl.port_map import read_ports

EXAMPLES = TOP / "docs" / "examples"

PACKAGE = """
package signs;
  typedef enum logic [1:0] {OP_ABS, OP_NEG = 2} op_e;
  typedef struct packed {logic valid; op_e op; logic [`WIDTH-1:0] a;} request_t;
  typedef struct {logic valid; logic [`WIDTH-1:0] result; logic [4:0] fflags;} response_t;
endpackage
"""
UNIT = """
`include "sign.svh"
module unit import signs::*; #(parameter type tag_t = logic) (
    input clk, input rst_n, input request_t req, output req_ready, input tag_t req_tag,
    output response_t rsp, input rsp_ready, output tag_t rsp_tag
);
  request_t held;
  tag_t     tag;
  assign req_ready = !held.valid || rsp_ready;
  assign rsp.valid = held.valid;
  assign rsp.result = held.op == OP_ABS ? held.a & ~`SIGN : held.a ^ `SIGN;
  assign rsp.fflags = '0;
  assign rsp_tag = tag;
  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) held <= '0;
    else if (req_ready) begin
      held <= req;
      tag  <= req_tag;
    end
endmodule
"""
RECIPE = """
count = 100
seed = 1
[[part]]
op = ["abs", "neg"]
fmt = "fp16"
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "include").mkdir()
    for name, text in {
        "include/sign.svh": "`define SIGN (1 << `WIDTH - 1)\n",
        "unit.sv": UNIT,
        "package.sv": PACKAGE,
        "unit.f": "unit.sv package.sv +incdir+include +define+WIDTH=16",
        "recipe.toml": RECIPE,
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.full
@pytest.mark.sim
def test_from_sources_to_a_verdict(checkout: Path) -> None:
    """Structures, an unpacked one, an enumeration, a type parameter, a package, an included file and a macro."""
    ok("vectors", "generate", "recipe.toml", "-o", "v")
    call = ("vectors", "ports", "--top", "unit", "-f", "unit.f", "-G", "tag_t=logic [2:0]", "--wrapper", "wrapper.sv")
    done = run(*call, "-o", "ports.toml")
    assert (done.returncode, done.stdout) == (0, "")
    assert "ports.toml: unit_wrapper, 12 ports, " in done.stderr
    test = ("vectors", "testbench", "v", "--ports", "ports.toml", "-f", "unit.f", "wrapper.sv", "--run", "--work", "w")
    test += ("--sim", "verilator")
    assert ok(*test) == "PASS: 100 of 100 vectors\n"
    (checkout / "unit.sv").write_text(UNIT.replace("OP_ABS ?", "OP_NEG ?"))
    done = run(*test)
    assert done.returncode == 1
    assert "mismatches, 100 of 100 vectors compared" in done.stdout


@pytest.mark.full
@pytest.mark.sim
def test_a_block_in_an_unpacked_array(simulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrapper's draft is right as it is; a fault in a copy of the circuit is found and named."""
    monkeypatch.chdir(tmp_path)
    source = EXAMPLES / "mxfp4_quantize" / "mxfp4_quantize.sv"
    ok("vectors", "generate", "--op", "quantize", "--fmt", "mxfp4", "--out", "bf16", "-n", "300", "-o", "v")
    draft = ("vectors", "ports", "--top", "mxfp4_quantize", str(source), "--vectors", "v")
    assert "port x is unpacked (mxfp4::bf16_t$[0:31]), which a port map cannot connect" in refused(*draft)
    ok(*draft, "--wrapper", "wrapper.sv", "-o", "ports.toml")
    test = ("vectors", "testbench", "v", "--ports", "ports.toml", "--sim", simulator, "--run", "wrapper.sv")
    assert ok(*test, str(source)) == "PASS: 300 of 300 vectors\n"
    even = " && (significand[6:0] != 7'd0 || magnitude[0])"
    assert even in source.read_text()
    Path("faulty.sv").write_text(source.read_text().replace(even, ""))
    done = run(*test, "faulty.sv")
    assert done.returncode == 1
    assert "\ndiagnosis: the device quantizes with rounding = rna\n" in done.stdout


def test_for_vectors(checkout: Path) -> None:
    """An operation of two operands on a unit of three; the fields are the folder's."""
    source = "module fma(input [15:0] a, b, c, output [15:0] result, output [4:0] flags); endmodule"
    (checkout / "fma.sv").write_text(source)
    ok("vectors", "generate", "--op", "add", "--fmt", "fp16", "-n", "50", "-o", "v")
    shown = ok("vectors", "ports", "--top", "fma", "fma.sv", "--vectors", "v")
    assert tomllib.loads(shown)["inputs"] == {"a": "a", "b": "b", "c": {"value": 0, "width": 16}}
    (checkout / "ports.toml").write_text(shown)
    assert ok("vectors", "testbench", "v", "--ports", "ports.toml", "-o", "tb.sv") == ""
    assert tomllib.loads(ok("vectors", "ports", "--top", "fma", "fma.sv"))["inputs"]["c"] == "c"


@pytest.mark.parametrize("name", ["fp32_to_fp8_e4m3", "fp16_fma", "mxfp8_dot"])
def test_the_examples(name: str, tmp_path: Path) -> None:
    """A draft of an example's port map carries what the port map written by hand does."""
    source = EXAMPLES / name / f"{name}.sv"
    ok("vectors", "ports", "--top", name, str(source), "-o", str(tmp_path / "ports.toml"))
    drafted, ports = read_ports(str(tmp_path / "ports.toml")), read_ports(str(EXAMPLES / name / "ports.toml"))
    assert {p.name: p for p in drafted.inputs} == {p.name: p for p in ports.inputs}
    assert {p.name: p for p in drafted.outputs} == {p.name: p for p in ports.outputs}
    assert (drafted.clock, drafted.reset) == (ports.clock, ports.reset)
    assert drafted.handshake == ports.handshake


def test_what_is_refused(checkout: Path) -> None:
    base = ("vectors", "ports", "--top", "unit", "-f", "unit.f")
    for more, message in {
        (): "port rsp is unpacked (signs::response_t), which a port map cannot connect: give --wrapper",
        ("-G", "tag=1"): "-G tag: unit has no parameter of that name",
        ("-G", "tag_t"): "-G tag_t: not NAME=VALUE",
        ("--wrapper", "none/w.sv"): "no such folder",
        ("--wrapper", "w.sv", "-o", "none/ports.toml"): "no such folder",
        ("--vectors", "none"): "none/manifest.json",
        ("--top", "units"): "no source defines a module units",
        ("-f", "none.f"): "none.f: no such file list",
    }.items():
        assert message in refused(*base, *more)
    assert "give the module's sources" in refused("vectors", "ports", "--top", "unit")
    assert not list(checkout.glob("w.sv"))


def test_an_error_of_the_source_is_said(tmp_path: Path) -> None:
    (tmp_path / "half.sv").write_text("module half(input [15:0] a, output [15:0] y\n  assign y = a;\nendmodule\n")
    done = run("vectors", "ports", "--top", "half", "half.sv", cwd=tmp_path)
    assert "half.sv:1: expected ',': the draft may lack what follows\n" in done.stderr
