"""A kind of unit that the package does not know is generated, verified, simulated, checked and explained as any."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pytest

from softfloat_ref.coverage.engine.measure import set_report
from softfloat_ref.explanation.steps import field_lines, steps
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.kinds.base import LINES
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet, of_unit
from softfloat_ref.golden.verify import verify
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.rtl.bench_runs import BenchRun
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.simulators import find
from softfloat_ref.rtl.testbench import bench_text, top_name
from softfloat_ref.testing.check import check_arrays, check_command
from softfloat_ref.units import Field, Unit, controls
from softfloat_ref.units.unit import operand, result


@dataclass(frozen=True)
class RequantizeUnit(Unit):
    """saturate(floor(x * multiplier / 2^shift + 1/2)) in integers: halves are rounded up."""

    kind: ClassVar[str] = "halves up"

    bits: int = 8

    @property
    def name(self) -> str:
        return f"requantize_to_i{self.bits}"

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return (
            operand("x", get_format("i32")),
            operand("multiplier", get_format("u16")),
            operand("shift", get_format("u5")),
            result("y", get_format(f"i{self.bits}")),
        )

    def answer(self, inputs: Sequence[int]) -> Sequence[int]:
        code, multiplier, shift = inputs
        x = code - (code >> 31 << 32)
        rounded = (2 * x * multiplier + (1 << shift)) >> (shift + 1)
        largest = (1 << (self.bits - 1)) - 1
        return (max(-largest - 1, min(rounded, largest)) & ((1 << self.bits) - 1),)

    def to_dict(self) -> dict[str, Any]:
        return {"bits": self.bits}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> RequantizeUnit:
        return RequantizeUnit(table["bits"])


CIRCUIT = """
module requantize (
  input  logic signed [31:0] x,
  input  logic        [15:0] multiplier,
  input  logic        [ 4:0] shift,
  output logic signed [ 7:0] y
);
  logic signed [63:0] product, half, rounded;
  always_comb begin
    product = 64'(x) * $signed({48'b0, multiplier});
    half    = 64'sd1 <<< shift;
    rounded = (2 * product + half) >>> (6'(shift) + 1);
    y       = rounded > 127 ? 8'sd127 : rounded < -128 ? -8'sd128 : rounded[7:0];
  end
endmodule
"""
TRUNCATES = ("2 * product + half", "2 * product")
PORTS = """
module = "requantize"
[inputs]
x = "x"
multiplier = "multiplier"
shift = "shift"
[outputs]
y = "y"
"""
DEVICE = """
import sys
for line in sys.stdin:
    x, multiplier, shift = (int(word, 16) for word in line.split())
    x -= x >> 31 << 32
    half = 1 << shift >> 1 if {rounds} else 0
    print(f"{{min(max(x * multiplier + half >> shift, -128), 127) & 0xFF:02x}}", flush=True)
"""


def requantized(x: Any, multiplier: Any, shift: Any, half: int = 1) -> Any:
    """The function as arrays have it; half: 0 for one that does not round."""
    product = x.astype("u4").view("i4").astype("i8") * multiplier.astype("i8")
    rounded = (2 * product + (half << shift.astype("i8"))) >> (shift.astype("i8") + 1)
    return rounded.clip(-128, 127).astype("i1").view("u1")


@pytest.fixture(scope="module")
def vectors() -> VectorSet:
    return of_unit(RequantizeUnit(), 1000, seed=3)


@pytest.fixture(scope="module")
def folder(vectors: VectorSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("requantize")
    generate(vectors, path, formats=LINES)
    return path


def test_every_file_type_is_written_and_verified(vectors: VectorSet, folder: Path) -> None:
    manifest = read_manifest(folder)
    assert [f["format"] for f in manifest["files"]] == list(LINES)
    assert manifest["set"]["unit"] == {"kind": "halves up", "bits": 8}
    assert VectorSet.from_dict(manifest["set"]) == vectors
    report = verify(folder)
    assert report.passed, report.problems
    assert report.checked == 1000
    assert len({vectors.unit.answer(inputs) for inputs in vectors.inputs()}) > 40


@pytest.mark.parametrize("key", LINES)
def test_a_changed_file_is_found(key: str, vectors: VectorSet, tmp_path: Path) -> None:
    generate(vectors.of_count(50), tmp_path, formats=(key,))
    name = next(f["name"] for f in read_manifest(tmp_path)["files"] if f["format"] == key)
    data = bytearray((tmp_path / name).read_bytes())
    data[-20] ^= 1
    (tmp_path / name).write_bytes(data)
    assert not verify(tmp_path).passed


def simulated(folder: Path, work: Path, circuit: str) -> BenchRun:
    ports = parse_ports(tomllib.loads(PORTS))
    top, manifest = top_name(ports), read_manifest(folder)
    bench, source = work / f"{top}.sv", work / "requantize.sv"
    table = controls(VectorSet.from_dict(manifest["set"]).unit)
    bench.write_text(bench_text(manifest, table, ports, str(folder), "a test"))
    source.write_text(circuit)
    return find("verilator").run([bench, source], top, work_dir=work, plusargs=[f"+vectors={folder}"])


@pytest.mark.sim
def test_a_circuit_in_a_generated_bench(folder: Path, tmp_path: Path) -> None:
    run = simulated(folder, tmp_path, CIRCUIT)
    assert run.passed, run.output
    assert "PASS: 1000 of 1000 vectors" in run.output


@pytest.mark.sim
def test_a_circuit_with_a_bug(folder: Path, tmp_path: Path) -> None:
    assert TRUNCATES[0] in CIRCUIT
    run = simulated(folder, tmp_path, CIRCUIT.replace(*TRUNCATES))
    assert not run.passed
    assert "expected y=" in run.output
    assert "1000 of 1000 vectors compared" in run.output


@pytest.mark.parametrize("rounds", [True, False])
def test_a_command_is_checked(rounds: bool, vectors: VectorSet, tmp_path: Path) -> None:
    (tmp_path / "device.py").write_text(DEVICE.format(rounds=rounds))
    report = check_command(vectors, f"{sys.executable} {tmp_path / 'device.py'}")
    assert not report.failure
    assert (report.compared, report.passed) == (1000, rounds)
    if not rounds:
        wrong = report.mismatches[0]
        assert wrong.expected == tuple(vectors.unit.answer(wrong.operands)) != wrong.got.codes


@pytest.mark.parametrize("half", [1, 0])
def test_a_function_of_arrays_is_checked(half: int, vectors: VectorSet) -> None:
    report = check_arrays(vectors, lambda *columns: requantized(*columns, half))
    assert not report.failure
    assert (report.compared, report.passed) == (1000, half == 1)


def test_coverage_is_reported(vectors: VectorSet) -> None:
    """By what is known of any unit: the classes of its fields."""
    assert vectors.coverage is not None
    found = set_report(vectors)
    assert found is not None
    assert found.cases == 1000
    assert found.totals["hit"] > found.totals["empty"]


def test_a_case_is_explained() -> None:
    unit = RequantizeUnit()
    inputs = (3, 3, 1)  # 4.5
    assert unit.line(inputs) == (*inputs, 5)
    assert unit.name == "requantize_to_i8"
    shown = [*field_lines(unit.inputs, inputs), *field_lines(unit.outputs, unit.answer(inputs))]
    assert [line.split()[0] for line in shown] == ["x", "multiplier", "shift", "y"]
    assert shown[-1].split(maxsplit=1) == ["y", "05 = 5.0 (0x1.4p+2)"]
    assert steps(unit, inputs)[-1][0] == "y"
    assert steps(unit, inputs)[-1][1].strip() == "05 = 5.0 (0x1.4p+2)"


@pytest.mark.parametrize(
    ("x", "multiplier", "shift", "y"),
    [(3, 3, 1, 5), (-3, 3, 1, -4), (-1, 1, 1, 0), (1, 1, 1, 1), (1000, 1, 0, 127), (-1000, 7, 3, -128)],
)
def test_halves_are_rounded_up(x: int, multiplier: int, shift: int, y: int) -> None:
    assert RequantizeUnit().answer((x & 0xFFFFFFFF, multiplier, shift)) == (y & 0xFF,)
