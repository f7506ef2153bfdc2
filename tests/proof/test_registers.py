"""Registers in pieces: the circuit does the same, and is cut where it should be."""

from __future__ import annotations

from random import Random

import pytest

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
