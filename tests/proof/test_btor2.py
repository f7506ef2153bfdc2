"""BTOR2 read into terms: each operator against arithmetic of its own, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.btor2 import read_btor2
from softfloat_ref.symbolic.terms import evaluator

M = 255


def s(x: int) -> int:
    return x - 256 if x > 127 else x


def toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BITS: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "nand": lambda a, b: ~(a & b) & M,
    "or": lambda a, b: a | b,
    "nor": lambda a, b: ~(a | b) & M,
    "xor": lambda a, b: a ^ b,
    "xnor": lambda a, b: ~(a ^ b) & M,
    "add": lambda a, b: (a + b) & M,
    "sub": lambda a, b: (a - b) & M,
    "mul": lambda a, b: a * b & M,
    "udiv": lambda a, b: a // b if b else M,
    "urem": lambda a, b: a % b if b else a,
    "sdiv": lambda a, b: toward_zero(s(a), s(b)) & M if b else (1 if s(a) < 0 else M),
    "srem": lambda a, b: (s(a) - s(b) * toward_zero(s(a), s(b))) & M if b else a,
    "sll": lambda a, b: (a << b) & M if b < 8 else 0,
    "srl": lambda a, b: a >> b if b < 8 else 0,
    "sra": lambda a, b: (s(a) >> min(b, 8)) & M,
}
TESTS: dict[str, Callable[[int, int], int]] = {
    "eq": lambda a, b: int(a == b),
    "neq": lambda a, b: int(a != b),
    "ult": lambda a, b: int(a < b),
    "ulte": lambda a, b: int(a <= b),
    "ugt": lambda a, b: int(a > b),
    "ugte": lambda a, b: int(a >= b),
    "slt": lambda a, b: int(s(a) < s(b)),
    "slte": lambda a, b: int(s(a) <= s(b)),
    "sgt": lambda a, b: int(s(a) > s(b)),
    "sgte": lambda a, b: int(s(a) >= s(b)),
}
UNARY: dict[str, Callable[[int], int]] = {
    "not": lambda a: ~a & M,
    "neg": lambda a: -a & M,
    "inc": lambda a: (a + 1) & M,
    "dec": lambda a: (a - 1) & M,
}
REDUCED: dict[str, Callable[[int], int]] = {
    "redor": lambda a: int(a != 0),
    "redand": lambda a: int(a == M),
    "redxor": lambda a: a.bit_count() & 1,
}
HEAD = "1 sort bitvec 8\n2 sort bitvec 1\n3 input 1 a\n4 input 1 b\n"
CASES = {
    **{op: (f"5 {op} 1 3 4", f) for op, f in BITS.items()},
    **{op: (f"5 {op} 2 3 4", f) for op, f in TESTS.items()},
    **{op: (f"5 {op} 1 3", lambda a, b, f=f: f(a)) for op, f in UNARY.items()},
    **{op: (f"5 {op} 2 3", lambda a, b, f=f: f(a)) for op, f in REDUCED.items()},
    "negated": ("5 and 1 3 -4", lambda a, b: a & ~b & M),
    "ite": ("9 ult 2 3 4\n5 ite 1 9 3 4", min),
    "concat": ("8 sort bitvec 16\n5 concat 8 3 4", lambda a, b: a << 8 | b),
    "slice": ("8 sort bitvec 3\n5 slice 8 3 6 4", lambda a, b: a >> 4 & 7),
    "uext": ("8 sort bitvec 12\n5 uext 8 3 4", lambda a, b: a),
    "sext": ("8 sort bitvec 12\n5 sext 8 3 4", lambda a, b: s(a) & 4095),
    "constants": ("5 add 1 6 7", None),
}


@pytest.mark.parametrize("name", [n for n in CASES if n != "constants"])
def test_operators(name: str) -> None:
    line, right = CASES[name]
    assert right is not None
    run = evaluator([read_btor2(f"{HEAD}{line}\n10 output 5 y\n").outputs["y"]])
    words = Random(name)
    edges = (0, 1, 2, 7, 8, 9, 127, 128, 254, 255)
    pairs = [(a, b) for a in edges for b in edges] + [(words.getrandbits(8), words.getrandbits(8)) for _ in range(100)]
    for a, b in pairs:
        assert run({"a": a, "b": b}) == [right(a, b)], (name, a, b)


def test_constants() -> None:
    text = HEAD + "5 const 1 00010010\n6 constd 1 200\n7 consth 1 a5\n8 ones 1\n9 one 1\n11 zero 1\n"
    machine = read_btor2(text + "".join(f"{20 + n} output {n} y{n}\n" for n in (5, 6, 7, 8, 9, 11)))
    assert [t.value for t in machine.outputs.values()] == [0x12, 200, 0xA5, 255, 1, 0]


def test_registers() -> None:
    text = HEAD + "5 state 1 dut.r\n6 state 1\n7 init 1 6 3\n8 add 1 5 3\n9 next 1 5 8\n10 next 1 6 6\n"
    text += "11 zero 1\n12 ite 1 2 11 6\n"
    text = text.replace("12 ite 1 2 11 6", "12 input 2 rst\n13 ite 1 12 11 6\n14 uext 1 13 0 dut.s ; here")
    machine = read_btor2(text)
    assert list(machine.registers) == ["dut.r", "register 6"]
    assert machine.nexts["register 6"] is machine.registers["register 6"]
    assert machine.starts["register 6"] is machine.inputs["a"]
    assert machine.aliases == {"dut.s": "register 6"}


def test_a_state_without_a_next_is_free_in_each_cycle() -> None:
    machine = read_btor2(HEAD + "5 state 1\n6 state 1 dut.r\n7 next 1 6 5\n8 output 5 y\n")
    assert list(machine.registers) == ["dut.r"]
    assert machine.outputs["y"] is machine.inputs["undefined 5"] is machine.nexts["dut.r"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5 sort array 1 1", "arrays"),
        ("5 rol 1 3 4", "rol is not supported"),
        ("5 add 1 3 99", "wrong or unknown"),
        ("5 add 99 3 4", "wrong or unknown"),
        ("5 what", "wrong or unknown"),
    ],
)
def test_what_is_not_supported_is_refused(line: str, message: str) -> None:
    with pytest.raises(Error, match=message) as e:
        read_btor2(HEAD + line)
    assert "line 5" in str(e.value)
