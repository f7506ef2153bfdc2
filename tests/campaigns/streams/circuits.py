"""A circuit behind a handshake that is one of many: what its registers do is a number, in a register of its own.

Three registers hold a result, each other's contents, or what is left of operations before; the result is some of them
together. Few such circuits are right, and those whose first operation is right are often wrong later.
"""

from __future__ import annotations

import random
import re
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple
from unittest import mock

from stalls import Bench, Dut
from tables import CLOCKED, HEAD, READY, UNIT, rtl, table

from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Question

REGISTERS: Final = 3
EVENTS: Final = 5  # operands are taken, time passes, a result is taken, a result waits, nothing happens
RESETS: Final = REGISTERS * EVENTS * 4  # where these bits of the number begin
SHOWN: Final = RESETS + REGISTERS * 3
FLOW: Final = SHOWN + REGISTERS
WIDTH: Final = FLOW + 5
# Pipelined; with a latency; operands decide it; results go and come; not after every other operation.
FLOWS: Final = (
    0b00000,
    0b00001,
    0b00010,
    0b00110,
    0b00110,
    0b00110,
    0b01000,
    0b01001,
    0b01110,
    0b10000,
    0b10110,
    0b11110,
)
BODY: Final = """reg [{last}:0] number; reg [8:0] d0, d1, d2; reg [3:0] left; reg full, away, once;
  wire pipe = number[{flow}], slow = number[{flow}+1], vary = number[{flow}+2], quirk = number[{flow}+3];
  assign {{result, flags}} = {shown};
  assign out_valid = full && left == 0 && !away;
  wire take = in_valid && in_ready, done = out_valid && out_ready;
  assign in_ready = !full || (pipe && !slow && done);
  always @(posedge clk) begin
    number <= number;
    if (rst) begin {{full, away, once, left}} <= 0; {resets} end
    else if (take) begin
      full <= 1; away <= 0; once <= number[{flow}+4] && !once; left <= !slow ? 0 : vary ? b[1:0] : 2; {e0}
    end
    else if (full && left != 0) begin left <= left - 1; {e1} end
    else if (done) begin full <= 0; {e2} end
    else if (out_valid) begin away <= quirk && !once && d0[5]; once <= quirk || once; {e3} end
    else begin away <= 0; {e4} end
  end"""


class Outcome(NamedTuple):
    """verdict: of `prove`; fails: what goes wrong in a bench, if anything does."""

    verdict: str
    fails: str


def outcome(draw: int) -> Outcome | None:
    """What comes of a circuit; None if its first operation is wrong."""
    number, dut = drawn(random.Random(draw)), _every()
    contents = {_own(dut): number}
    if any(Bench(dut, seed, contents).wrong(40, first=True) for seed in range(4)):
        return None
    benches = (Bench(dut, seed, contents).wrong(150, often) for seed, often in enumerate((0.3, 0.6, 0.9) * 3))
    fails = next(filter(None, benches), "")
    with mock.patch("softfloat_ref.proof.stream.LIMIT_S", 15.0):
        proof = prove(question(number), "whole", Tactics(10))
    if proof.counterexample is not None and not proof.counterexample.said:
        return None
    return Outcome(proof.verdict, fails)


def drawn(words: random.Random) -> int:
    """The number of a circuit."""
    number = words.randrange(1, 1 << REGISTERS) << SHOWN | words.getrandbits(SHOWN - RESETS) << RESETS
    for place in range(REGISTERS * EVENTS):
        moves = words.random() < (0.25 if place % EVENTS else 0.7)
        number |= (words.randrange(16) if moves else 0) << 4 * place
    return number | words.choice(FLOWS) << FLOW


def question(number: int) -> Question:
    """Whether the circuit with a number does the operation: the number is a constant in what Yosys made of all."""
    circuit = _every().of.rtl
    ((line, node, sort),) = re.findall(r"^((\d+) state (\d+) dut\.number)$", circuit.netlist.text, re.M)
    text = circuit.netlist.text.replace(f"{line}\n", f"{node} constd {sort} {number}\n")
    text = re.sub(rf"^\d+ (next|init) {sort} {node} \d+\n", "", text, flags=re.M)
    return Question(UNIT, replace(circuit, netlist=replace(circuit.netlist, text=text)))


@cache
def _every() -> Dut:
    """All circuits."""
    of = range(REGISTERS)
    places = {f"e{event}": " ".join(_next(i, event) for i in of) for event in range(EVENTS)}
    shown = " ^ ".join(f"({{9{{number[{SHOWN + i}]}}}} & d{i})" for i in of)
    resets = " ".join(_reset(i) for i in of)
    body = BODY.format(last=WIDTH - 1, flow=FLOW, shown=shown, resets=resets, **places)
    head = HEAD.replace("{ports}", CLOCKED).replace("{a}", "a").replace("{b}", "b")
    with tempfile.TemporaryDirectory() as folder:
        return Dut(Question(UNIT, rtl(Path(folder), UNIT, f"{table()}{head}{body}\nendmodule\n", READY)))


def _own(dut: Dut) -> str:
    return next(name for name in dut.machine.registers if name.endswith(".number"))


def _next(i: int, event: int) -> str:
    """What a register becomes, by four bits of the number."""
    own, one, two = (f"d{k % REGISTERS}" for k in (i, i + 1, i + 2))
    texts = [own, own, own, "now", "now", one, two, f"{own}^{one}", f"{own}^{two}", f"{own}^now", f"{one}^now"]
    texts += [f"{two}^now", f"{{{own}[7:0],{own}[8]}}", "9'd0", f"{one}^{two}", f"{{{one}[7:0],{one}[8]}}"]
    return _choice(own, texts, 4 * (i * EVENTS + event), 4)


def _reset(i: int) -> str:
    own, one, two = (f"d{k % REGISTERS}" for k in (i, i + 1, i + 2))
    return _choice(own, ["9'd0", own, one, two, "9'd5", "9'd0", one, two], RESETS + 3 * i, 3)


def _choice(name: str, texts: list[str], low: int, width: int) -> str:
    rows = " ".join(f"{width}'d{n}: {name} <= {text};" for n, text in enumerate(texts))
    return f"case (number[{low + width - 1}:{low}]) {rows} endcase"
