"""Exported C: random circuits and units of every kind, compiled with warnings as errors, equal to terms and oracle."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from exports import QUANTIZER, SETS, STRICT, Called, cases, compiled
from random_circuits import random_circuit, random_inputs

from softfloat_ref.export.c import c_text
from softfloat_ref.export.languages import export_circuit
from softfloat_ref.export.words import words_of
from softfloat_ref.symbolic.build import make
from softfloat_ref.symbolic.circuit import Circuit, CircuitPort
from softfloat_ref.symbolic.terms import var

COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
pytestmark = pytest.mark.skipif(not COMPILERS, reason="needs a C compiler")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_random_circuits(compiler: str, tmp_path: Path) -> None:
    circuits = [random_circuit(seed, f"f{seed}", divided=20 if seed % 8 else 150) for seed in range(24)]
    library = compiled(circuits, tmp_path, compiler)
    for seed, circuit in enumerate(circuits):
        called, function = Called(library, circuit), circuit.function()
        for codes in random_inputs(circuit, seed, 20):
            assert called(codes) == words_of(function(codes), circuit.outputs), (circuit.name, codes)


def test_shifts_by_more_than_a_word(tmp_path: Path) -> None:
    ports = (CircuitPort("a", 40), CircuitPort("by", 7))
    a, by = (var(p.name, p.width) for p in ports)
    terms = {op: make(op, 40, a, by) for op in ("shl", "lshr", "ashr")}
    circuit = Circuit("shifts", ports, tuple(CircuitPort(op, 40) for op in terms), terms)
    called = Called(compiled([circuit], tmp_path, COMPILERS[0]), circuit)
    for codes in itertools.product((1, 0x8000000001, (1 << 40) - 1), range(128)):
        assert called(codes) == circuit.function()(codes)


@pytest.mark.full(gate=1)
@pytest.mark.parametrize("most", [3000, pytest.param(1 << 16, marks=pytest.mark.sim)])
def test_units(most: int, tmp_path: Path) -> None:
    circuits = [export_circuit(vectors.unit, f"unit_{name}") for name, vectors in SETS.items()]
    library = compiled(circuits, tmp_path, COMPILERS[0], "-fsanitize=undefined", "-fno-sanitize-recover")
    for circuit, vectors in zip(circuits, SETS.values(), strict=True):
        called = Called(library, circuit)
        for inputs, outputs in cases(vectors, most):
            assert called(inputs) == words_of(outputs, circuit.outputs), (circuit.name, inputs)


@pytest.mark.full
@pytest.mark.sim
def test_quantizer(tmp_path: Path) -> None:
    circuit = export_circuit(QUANTIZER.unit)
    for compiler in COMPILERS:
        called = Called(compiled([circuit], tmp_path, compiler), circuit)
        for inputs, outputs in cases(QUANTIZER):
            assert called(inputs) == outputs


def test_bits_above_a_port_are_ignored(tmp_path: Path) -> None:
    circuit = export_circuit(SETS["add"].unit)
    called = Called(compiled([circuit], tmp_path, COMPILERS[0]), circuit)
    assert called([0x3C, 0x3C]) == [0x40, 0]
    assert called([0xABC3C, -1 << 32 | 0x3C]) == [0x40, 0]


@pytest.mark.full
def test_the_header_is_for_cpp_too_and_the_file_stands_alone(tmp_path: Path) -> None:
    circuits = [export_circuit(SETS[name].unit) for name in ("add", "dequantize")]
    compiled(circuits, tmp_path, COMPILERS[0])
    (tmp_path / "both.cpp").write_text('#include "exported.h"\n#include "exported.h"\nint main() { return 0; }\n')
    (tmp_path / "alone.c").write_text(c_text(circuits))
    for command in ([COMPILERS[0], "-x", "c++", "both.cpp"], [COMPILERS[0], *STRICT, "alone.c"]):
        subprocess.run([*command, "-fsyntax-only"], cwd=tmp_path, check=True)
