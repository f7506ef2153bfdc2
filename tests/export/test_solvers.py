"""Exported SMT-LIB 2 and BTOR2: solvers find the values of terms, and so does a reader of BTOR2 written from its
description (Niemetz, Preiner, Wolf and Biere, CAV 2018)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from exports import SETS, cases
from random_circuits import random_circuit, random_inputs

from softfloat_ref.export.btor2 import btor2_text
from softfloat_ref.export.languages import export_circuit
from softfloat_ref.export.smt2 import smt2_text
from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.symbolic.terms import signed

CIRCUITS = [random_circuit(seed, f"random_{seed}", divided=30) for seed in range(12)]


def test_btor2_of_random_circuits() -> None:
    for seed, circuit in enumerate(CIRCUITS):
        function, text = circuit.function(), btor2_text([circuit])
        for codes in random_inputs(circuit, seed, 10):
            assert evaluated(text, codes) == function(codes)


@pytest.mark.full
def test_btor2_of_units() -> None:
    for name in ("convert", "dot", "mixed", "requantize"):
        text = btor2_text([export_circuit(SETS[name].unit)])
        for inputs, outputs in cases(SETS[name], 100):
            assert evaluated(text, inputs) == outputs


def test_btor2_of_several_circuits_has_their_names() -> None:
    text = btor2_text([export_circuit(SETS[name].unit, name) for name in ("convert", "add")])
    assert [line.split()[-1] for line in text.splitlines() if " output " in line] == [
        "convert.result",
        "convert.flags",
        "add.result",
        "add.flags",
    ]


_BTOR2: dict[str, Callable[..., int]] = {
    "not": lambda w, a: ~a[0],
    "neg": lambda w, a: -a[0],
    "and": lambda w, a: a[0] & a[1],
    "or": lambda w, a: a[0] | a[1],
    "xor": lambda w, a: a[0] ^ a[1],
    "add": lambda w, a: a[0] + a[1],
    "sub": lambda w, a: a[0] - a[1],
    "mul": lambda w, a: a[0] * a[1],
    "udiv": lambda w, a: a[0] // a[1] if a[1] else -1,
    "urem": lambda w, a: a[0] % a[1] if a[1] else a[0],
    "sll": lambda w, a: a[0] << min(a[1], w[0]),
    "srl": lambda w, a: a[0] >> a[1],
    "sra": lambda w, a: signed(a[0], w[0]) >> a[1],
    "eq": lambda w, a: a[0] == a[1],
    "ult": lambda w, a: a[0] < a[1],
    "slt": lambda w, a: signed(a[0], w[0]) < signed(a[1], w[1]),
    "ite": lambda w, a: a[1] if a[0] else a[2],
    "concat": lambda w, a: a[0] << w[1] | a[1],
}
_EQUAL = ("and", "or", "xor", "add", "sub", "mul", "udiv", "urem", "sll", "srl", "sra")  # the widths of operands


def evaluated(text: str, codes: Sequence[int]) -> list[int]:
    """The outputs of a BTOR2 file without states."""
    sorts: dict[str, int] = {}
    values: dict[str, tuple[int, int]] = {}  # width and value, by the number of the line
    inputs, outputs = iter(codes), []
    for line in (x for x in text.splitlines() if not x.startswith(";")):
        number, op, *words = line.split()
        if op == "sort":
            sorts[number] = int(words[1])
            continue
        if op == "output":
            outputs.append(values[words[0]][1])
            continue
        width = sorts[words[0]]
        if op in ("input", "constd"):
            value = next(inputs) if op == "input" else int(words[1])
        elif op in ("slice", "uext", "sext"):
            wide, value = values[words[1]]
            if op == "slice":
                assert int(words[2]) - int(words[3]) + 1 == width
                value >>= int(words[3])
            else:
                assert wide + int(words[2]) == width
                value = signed(value, wide) if op == "sext" else value
        else:
            operands = [values[w] for w in words[1 : 4 if op == "ite" else 2 if op in ("not", "neg") else 3]]
            assert op not in _EQUAL or {w for w, _ in operands} == {width}
            value = _BTOR2[op]([w for w, _ in operands], [v for _, v in operands])
        values[number] = width, value & ((1 << width) - 1)
    return outputs


# -- solvers ---------------------------------------------------------------------------------------------------------


def z3_says(text: str) -> str:
    import z3

    solver = z3.Solver()
    solver.from_string(text)
    return str(solver.check())


def bitwuzla_says(text: str) -> str:
    import bitwuzla

    parser = bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options())
    parser.parse(text, True, False)
    return {bitwuzla.Result.SAT: "sat", bitwuzla.Result.UNSAT: "unsat"}[parser.bitwuzla().check_sat()]


def cvc5_says(text: str) -> str:
    import cvc5

    solver = cvc5.Solver()
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "exported")
    while not (command := parser.nextCommand()).isNull():
        command.invoke(solver, parser.getSymbolManager())
    return str(solver.checkSat())


SOLVERS: list[Any] = [
    pytest.param(z3_says, marks=pytest.mark.extra("z3")),
    pytest.param(bitwuzla_says, marks=pytest.mark.extra("bitwuzla")),
    pytest.param(cvc5_says, marks=pytest.mark.extra("cvc5")),
]


def claims(circuit: Circuit, cases: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[str]:
    """That the functions have these values."""
    ins, outs = ([(n, p.width) for p in ports for n in p.names] for ports in (circuit.inputs, circuit.outputs))
    assertions = []
    for codes, results in cases:
        arguments = " ".join(f"(_ bv{x} {w})" for x, (_, w) in zip(codes, ins, strict=True))
        assertions += [
            f"(= ({circuit.name}_{n} {arguments}) (_ bv{x} {w}))" for x, (n, w) in zip(results, outs, strict=True)
        ]
    return assertions


@pytest.mark.parametrize("solver", SOLVERS)
def test_smt2(solver: Callable[[str], str]) -> None:
    circuits = [*CIRCUITS, *(export_circuit(SETS[name].unit) for name in ("convert", "dot", "mixed"))]
    text, all_claims = smt2_text(circuits), []
    for seed, circuit in enumerate(circuits):
        function = circuit.function()
        all_claims += claims(circuit, [(x, function(x)) for x in random_inputs(circuit, seed, 4)])
    assert solver(f"{text}(assert (not (and {' '.join(all_claims)})))") == "unsat"
    assert solver(f"{text}(assert (and {' '.join(all_claims)}))") == "sat"
