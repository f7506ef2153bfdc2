"""Devices for the tests of generated benches, and a bench built once for many runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.rtl.bench_runs import BenchRun
from softfloat_ref.rtl.fit import check_fit
from softfloat_ref.rtl.port_map import parse_ports
from softfloat_ref.rtl.simulators import Simulator, find
from softfloat_ref.rtl.testbench import bench_text, top_name
from softfloat_ref.units import MixedUnit, controls

TOP = Path(__file__).parents[2]
CIRCUIT = TOP / "docs" / "examples" / "fp32_to_fp8_e4m3" / "fp32_to_fp8_e4m3.sv"
RTL = TOP / "tests" / "rtl" / "testbench_devices.sv"
HAS_ICARUS = shutil.which("iverilog") is not None
CHEAP = "icarus" if HAS_ICARUS else "verilator"  # where either will do: it builds in no time


RECIPE = """
count = 300
seed = 5
unboxed = 10
policy = "riscv"
[[part]]
op = ["fma", "add", "mul"]
fmt = "fp16"
rounding = ["rne", "rtz"]
[[part]]
op = ["add", "lt"]
fmt = "fp32"
[[part]]
op = "convert"
fmt = "fp32"
out = "fp16"
rounding = ["rne", "rup"]
[[part]]
op = "convert"
fmt = "fp32"
out = "i8"
rounding = "rtz"
"""
COMB = """
module = "convert"
[inputs]
a = "a"
[outputs]
result = "result"
nv = "invalid"
dz = "divide_by_zero"
status = { overflow = "2", underflow = "1", inexact = "0" }
"""
FIXED = """
module = "pipe"
clock = "clk"
reset = { port = "rst_n", active = "low" }
latency = 3
[parameters]
N = 300
KEY = 104
ANS = 37
[handshake]
in_valid = "in_valid"
out_valid = "out_valid"
stalls = 20
[inputs]
operands = { c = "95:64", b = "63:32", a = "31:0" }
op = { of = "op fmt out", width = 4, codes = { @OP@ } }
rm = { of = "rounding", width = 2, codes = { rne = 0, rtz = 1, rup = 3 } }
fmt = { of = "fmt", codes = { fp32 = 0, fp16 = 1 } }
unused = { value = 1, width = 1 }
[outputs]
result = "result"
status = "flags"
""".replace(
    "@OP@",
    '"fma * *" = 0, "add * *" = 2, "mul * *" = 3, "lt * *" = 9, "convert fp* fp*" = 11, "convert fp* i*" = 12',
)
HANDSHAKE = """
module = "queue"
clock = "clk"
reset = { port = "rst", active = "high", cycles = 2 }
drain_timeout = 300
[parameters]
N = 300
KEY = 32
ANS = 21
[handshake]
in_valid = "in_valid"
in_ready = "in_ready"
out_valid = "out_valid"
out_ready = "out_ready"
stalls = 35
seed = 9
[sticky]
clear = "clear"
every = 4
delay = 1
[inputs]
operands = { a = "31:16", b = "15:0" }
[outputs]
result = "result"
status = "flags"
"""
TAGGED = """
module = "shuffle"
clock = "clk"
reset = { port = "rst_n", active = "low" }
drain_timeout = 300
[parameters]
N = 300
KEY = 32
ANS = 21
[handshake]
in_valid = "in_valid"
in_ready = "in_ready"
out_valid = "out_valid"
out_ready = "out_ready"
[tag]
in = "tag_in"
out = "tag_out"
width = 3
[inputs]
operands = { a = "31:16", b = "15:0" }
[outputs]
result = "result"
status = "flags"
"""
BITS = {"op": 4, "rm": 2, "fmt": 1, "unused": 1}


def add_table(folder: Path) -> None:
    """The answers for a device that looks them up: the operands and the answer, as one word a line."""
    rows = []
    for line in next(folder.glob("*.tv")).read_text().splitlines():
        *inputs, result, flags = line.split()
        rows.append(f"{int(''.join(inputs) + result, 16) << 5 | int(flags, 16):x}")
    (folder / "table.hex").write_text("\n".join(rows) + "\n")


def add_mixed_table(folder: Path, vectors: VectorSet) -> None:
    """As the pipe's ports have it: operation, rounding, format, the constant 1, then c, b, a."""
    rows = []
    names = [f.codes for f in vectors.fields if f.role == "control"]
    for line in next(folder.glob("*.tv")).read_text().splitlines():
        words = [int(x, 16) for x in line.split()]
        op, fmt, out, rounding = (codes[i] for codes, i in zip(names, words, strict=False))
        convert = 11 if out.startswith("fp") else 12
        code = {"fma": 0, "add": 2, "mul": 3, "lt": 9, "convert": convert}[op]
        row = code
        for bits, value in ((2, {"rne": 0, "rtz": 1, "rup": 3}[rounding]), (1, int(fmt == "fp16")), (1, 1)):
            row = row << bits | value
        a, b, c, result, flags = words[4:]
        for bits, value in ((32, c), (32, b), (32, a), (32, result), (5, flags)):
            row = row << bits | value
        rows.append(f"{row:x}")
    (folder / "table.hex").write_text("\n".join(rows) + "\n")


def mixed_set(tmp: Path) -> VectorSet:
    (tmp / "mixed.toml").write_text(RECIPE)
    found = load_recipe(str(tmp / "mixed.toml"))
    assert isinstance(found.unit, MixedUnit)
    return found


def text_of(folder: Path, ports: str, sources: Iterable[Path] = ()) -> tuple[str, str]:
    """The bench for a folder of vectors and a port map, and its top module. sources: of the module that it fits."""
    manifest, found = read_manifest(folder), parse_ports(tomllib.loads(ports))
    kinds = controls(VectorSet.from_dict(manifest["set"]).unit)
    if sources:
        check_fit(manifest, kinds, found, sources)
    return bench_text(manifest, kinds, found, str(folder), "a test"), top_name(found)


@dataclass
class Bench:
    """A bench that was built once and is run again and again."""

    simulator: Simulator
    work: Path
    folder: Path
    top: str
    first: BenchRun

    def run(self, *plusargs: str) -> BenchRun:
        command = [*self.simulator.command(self.top, self.work), f"+table={self.folder}/table.hex", *plusargs]
        done = subprocess.run(command, cwd=self.work, capture_output=True, text=True, timeout=120, check=False)
        return BenchRun(done.returncode, done.stdout + done.stderr)


def build(simulator: str, folder: Path, work: Path, ports: str, *sources: Path) -> Bench:
    sources = sources or (RTL, CIRCUIT)
    text, top = text_of(folder, ports, sources)
    work.mkdir(parents=True, exist_ok=True)
    (work / f"{top}.sv").write_text(text)
    found = find(simulator)
    plusargs = [f"+vectors={folder}", f"+table={folder}/table.hex"]
    run = found.run([*sources, work / f"{top}.sv"], top, work_dir=work, plusargs=plusargs)
    return Bench(found, work, folder, top, run)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Vectors of each kind, made once."""
    tmp = tmp_path_factory.mktemp("vectors")
    found = {name: tmp / name for name in ("convert", "add", "mixed")}
    generate(VectorSet.make("convert", "fp32", 1000, out="fp8_e4m3"), found["convert"])
    generate(VectorSet.make("add", "fp16", 300, seed=2), found["add"])
    generate(mixed_set(tmp), found["mixed"])
    add_table(found["add"])
    add_mixed_table(found["mixed"], mixed_set(tmp))
    return found


DEVICES = {
    "combinational": ("convert", COMB),
    "fixed latency, mixed": ("mixed", FIXED),
    "valid/ready, sticky": ("add", HANDSHAKE),
    "out of order": ("add", TAGGED),
}

# Icarus builds in no time: with it, further cases of what Verilator has been seen to do too.
ONLY_ICARUS = pytest.mark.skipif(not HAS_ICARUS, reason="needs Icarus; Verilator runs the same benches")


def with_icarus(*values: object) -> Any:
    """Values of a test's parameters that are a further case of others."""
    return pytest.param(*values, marks=ONLY_ICARUS)


_built: dict[tuple[str, str], Bench] = {}


@pytest.fixture(params=["verilator", pytest.param("icarus", marks=ONLY_ICARUS)])
def simulator(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def bench(
    request: pytest.FixtureRequest, simulator: str, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Bench:
    """The bench of a device, under a simulator: built when first asked for."""
    key = (simulator, request.param)
    if key not in _built:
        vectors, ports = DEVICES[request.param]
        _built[key] = build(simulator, folders[vectors], tmp_path_factory.mktemp("work"), ports)
    return _built[key]


def failure(run: BenchRun) -> str:
    """The lines that say why a run failed; it must have failed."""
    assert not run.passed, run.output
    assert run.returncode != 0
    assert "PASS" not in run.output
    found = re.findall(r"^FAIL: (.*)$", run.output, re.M)
    assert found, run.output
    return "\n".join(found)
