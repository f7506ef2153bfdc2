"""Generated benches under real simulators: devices of each kind pass, and every way to be wrong fails."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from softfloat_ref.app import vectors as app
from softfloat_ref.errors import Error
from softfloat_ref.golden.generate import generate, read_manifest
from softfloat_ref.golden.mixed import MixedSet, controls, read_set
from softfloat_ref.golden.recipes import load_recipe
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import verify
from softfloat_ref.rtl.ports import parse_ports
from softfloat_ref.rtl.simulators import Run, Simulator, find
from softfloat_ref.rtl.testbench import bench_text, top_name

TOP = Path(__file__).parents[1]
CIRCUIT = TOP / "docs" / "examples" / "fp32_to_fp8_e4m3" / "fp32_to_fp8_e4m3.sv"
RTL = Path(__file__).parent / "rtl" / "testbench_devices.sv"
HAS_ICARUS = shutil.which("iverilog") is not None
CHEAP = "icarus" if HAS_ICARUS else "verilator"  # where either will do: it builds in no time

pytestmark = pytest.mark.sim

# -- devices ---------------------------------------------------------------------------------------------------------

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


def add_mixed_table(folder: Path, vectors: MixedSet) -> None:
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


def mixed_set(tmp: Path) -> MixedSet:
    (tmp / "mixed.toml").write_text(RECIPE)
    found = load_recipe(str(tmp / "mixed.toml"))
    assert isinstance(found, MixedSet)
    return found


def text_of(folder: Path, ports: str) -> tuple[str, str]:
    """The bench for a folder of vectors and a port map, and its top module."""
    manifest, found = read_manifest(folder), parse_ports(tomllib.loads(ports))
    return bench_text(manifest, controls(read_set(manifest["set"])), found, str(folder), "a test"), top_name(found)


@dataclass
class Bench:
    """A bench that was built once and is run again and again."""

    simulator: Simulator
    work: Path
    folder: Path
    top: str
    first: Run

    def run(self, *plusargs: str) -> Run:
        command = [*self.simulator.command(self.top, self.work), f"+table={self.folder}/table.hex", *plusargs]
        done = subprocess.run(command, cwd=self.work, capture_output=True, text=True, timeout=120, check=False)
        return Run(done.returncode, done.stdout + done.stderr)


def build(simulator: str, folder: Path, work: Path, ports: str, *sources: Path) -> Bench:
    text, top = text_of(folder, ports)
    work.mkdir(parents=True, exist_ok=True)
    (work / f"{top}.sv").write_text(text)
    found = find(simulator)
    plusargs = [f"+vectors={folder}", f"+table={folder}/table.hex"]
    run = found.run([work / f"{top}.sv", *(sources or (RTL, CIRCUIT))], top, work_dir=work, plusargs=plusargs)
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
ONLY_ICARUS = pytest.mark.skipif(not HAS_ICARUS, reason="Icarus is not installed; Verilator runs the same benches")
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


def failure(run: Run) -> str:
    """The lines that say why a run failed; it must have failed."""
    assert not run.passed, run.output
    assert run.returncode != 0
    assert "PASS" not in run.output
    found = re.findall(r"^FAIL: (.*)$", run.output, re.M)
    assert found, run.output
    return "\n".join(found)


# -- right and wrong devices -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bench", DEVICES, indirect=True)
def test_right_devices_pass(bench: Bench) -> None:
    assert bench.first.passed, bench.first.output
    count = read_manifest(bench.folder)["count"]
    assert f"PASS: {count} of {count} vectors" in bench.first.output
    for seed in ("+seed=2", "+seed=3"):
        assert bench.run(seed).passed
    if bench.top == "shuffle_tb":
        assert "reordered" in bench.first.output


WRONG = {
    "combinational": {
        "bit": "[1-9] mismatches, 1000 of 1000",
        "flag": "[1-9] mismatches, 1000 of 1000",
        "dead": "mismatches, 1000 of 1000",
    },
    "fixed latency, mixed": {
        "bit": "1 mismatches, 300 of 300",
        "box": "mismatches, 300 of 300",
        "flag": "1 mismatches, 300 of 300",
        "rounding": "mismatches, 300 of 300",
        "dead": "out_valid is 0 in cycle .*, where a result is due",
        "late": "out_valid is 0 in cycle .*, where a result is due",
        "few": "out_valid is 0 in cycle .*, where a result is due",
        "spurious": "out_valid is 1 in cycle .*, where no result is due",
        "reset": "out_valid is 0 in cycle",
    },
    "valid/ready, sticky": {
        "bit": "1 mismatches, 300 of 300",
        "flag": "[123] mismatches, 300 of 300",
        "clear": "mismatches, 300 of 300",
        "dead": "300 cycles without a result: 0 of 300 vectors",
        "deaf": "300 cycles without in_ready: 0 of 300 vectors",
        "few": "300 cycles without a result: 299 of 300 vectors",
        "many": "a result too many in cycle",
        "unstable": "the result changed in cycle",
        "idle": "mismatches, ",
    },
    "out of order": {
        "bit": "1 mismatches, 300 of 300",
        "flag": "1 mismatches, 300 of 300",
        "dead": "300 cycles without a result: 0 of 300 vectors",
        "few": "300 cycles without a result: 299 of 300 vectors",
        "many": "a result with tag . in cycle .*, a tag that nothing in flight has",
        "tags": "(a result with tag|.* mismatches)",
    },
}


@pytest.mark.parametrize(
    ("bench", "bug", "message"),
    [(device, bug, message) for device, bugs in WRONG.items() for bug, message in bugs.items()],
    indirect=["bench"],
)
def test_wrong_devices_fail(bench: Bench, bug: str, message: str) -> None:
    run = bench.run(f"+bug_{bug}")
    assert re.search(message, failure(run)), run.output
    if bug == "bit":
        # The first mismatch names the file and line, and shows what went in.
        shown = re.search(r"^(\S+\.memh):(\d+): (.*)a=([0-9a-f]+) .*expected (.*) got (.*)$", run.output, re.M)
        assert shown, run.output
        line = (bench.folder / shown[1]).read_text().splitlines()[int(shown[2]) - 1]
        assert shown[4] in line.split("_")
        assert bool(shown[3]) == ("mixed" in shown[1])
        assert shown[5] != shown[6]


UNKNOWN = [("combinational", "x"), ("fixed latency, mixed", "x"), ("fixed latency, mixed", "xvalid")]
UNKNOWN += [(d, bug) for d in ("valid/ready, sticky", "out of order") for bug in ("x", "xvalid", "xready")]


@ONLY_ICARUS
@pytest.mark.parametrize(("bench", "bug"), UNKNOWN, indirect=["bench"])
@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_x_fails(bench: Bench, bug: str) -> None:
    """Where the simulator has X: in one bit of a result, in a valid, in a ready."""
    found = failure(bench.run(f"+bug_{bug}"))
    assert ("mismatches" in found) if bug == "x" else f"{bug[1:]} is x" in found


@pytest.mark.parametrize("bench", ["combinational", "valid/ready, sticky"], indirect=True)
@pytest.mark.parametrize("damage", ["empty", "cut", "cut in a line", "one more", "missing"])
def test_damaged_vectors_fail(bench: Bench, damage: str, tmp_path: Path) -> None:
    source = next(bench.folder.glob("*.memh"))
    words = source.read_text()
    changed = {
        "empty": ("// nothing\n", "no vectors"),
        "cut": ("\n".join(words.splitlines()[:50]) + "\n", "48 words, but this bench is for"),
        "cut in a line": (words[:-3], "words, but this bench is for|not a word of"),
        "one more": (words + words.splitlines()[-1] + "\n", "words, but this bench is for"),
    }
    if damage in changed:
        (tmp_path / source.name).write_text(changed[damage][0])
    message = changed[damage][1] if damage in changed else "cannot read"
    assert re.search(message, failure(bench.run(f"+vectors={tmp_path}")))


# -- more kinds, under one simulator -----------------------------------------------------------------------------------


def test_fixed_latency_active_high_without_valid(folders: dict[str, Path], tmp_path: Path) -> None:
    ports = """
        module = "plain"
        clock = "clk"
        reset = { port = "rst", active = "high" }
        latency = 2
        [parameters]
        N = 300
        KEY = 32
        ANS = 21
        [inputs]
        operands = { a = "31:16", b = "15:0" }
        [outputs]
        result = "result"
        status = "flags"
        """
    assert build(CHEAP, folders["add"], tmp_path / "a", ports).first.passed
    wrong = ports.replace('active = "high"', 'active = "low"')
    assert "mismatches" in failure(build(CHEAP, folders["add"], tmp_path / "b", wrong).first)
    wrong = ports.replace("latency = 2", "latency = 1")
    assert "mismatches" in failure(build(CHEAP, folders["add"], tmp_path / "c", wrong).first)


def test_sticky_without_clear(folders: dict[str, Path], tmp_path: Path) -> None:
    ports = HANDSHAKE.replace('clear = "clear"\nevery = 4\ndelay = 1', "delay = 0").replace("KEY", "NOW = 1\nKEY")
    bench = build(CHEAP, folders["add"], tmp_path, ports)
    assert bench.first.passed, bench.first.output
    assert "mismatches" in failure(bench.run("+bug_bit"))


def test_one_at_a_time(folders: dict[str, Path], tmp_path: Path) -> None:
    """A unit that takes an operation only when it is idle, and does not say so: outstanding = 1."""
    ports = HANDSHAKE.replace('in_ready = "in_ready"\n', "").replace(
        'module = "queue"', 'module = "queue"\noutstanding = 1'
    )
    bench = build(CHEAP, folders["add"], tmp_path / "a", ports)
    assert bench.first.passed, bench.first.output


def test_lanes(folders: dict[str, Path], tmp_path: Path) -> None:
    """Four conversions at a time, flags merged; the last operation is not full."""
    generate(VectorSet.make("convert", "fp32", 998, out="fp8_e4m3"), tmp_path / "v")
    ports = """
        module = "quad"
        lanes = 4
        [inputs]
        a = { a = "31:0", stride = 32 }
        [outputs]
        result = "result"
        flags = { flags = "4:0", merge = true }
        """
    bench = build(CHEAP, tmp_path / "v", tmp_path / "w", ports)
    assert "PASS: 998 of 998 vectors" in bench.first.output
    run = bench.run("+bug_lane")
    assert "mismatches, 998 of 998" in failure(run)
    assert set(re.findall(r"lane (\d) a=", run.output)) == {"2"}


FILL = """
module = "wide"
ignore = ["divide_by_zero", "invalid", "overflow", "underflow", "inexact"]
[inputs]
a = { a = "31:0", fill = "ones" }
[outputs]
result = { result = "31:0", fill = "ones" }
"""


@pytest.mark.parametrize(
    ("above", "fill", "passes"),
    [("ffff", "ones", True), ("0000", "ones", False), ("0000", "zeros", True), ("1234", "any", True)],
)
def test_bits_above_a_field(above: str, fill: str, passes: bool, tmp_path: Path) -> None:
    generate(VectorSet.make("neg", "fp16", 60), tmp_path / "v")
    source = tmp_path / "wide.sv"
    source.write_text(
        "module wide(input [31:0] a, output [31:0] result);\n"
        f"  assign result = a[31:16] == 16'hffff ? {{16'h{above}, a[15:0] ^ 16'h8000}} : 0;\nendmodule\n"
    )
    ports = FILL.replace('result = "31:0", fill = "ones"', f'result = "31:0", fill = "{fill}"')
    assert build(CHEAP, tmp_path / "v", tmp_path / "w", ports, source).first.passed == passes


def test_bits_above_a_narrower_result(tmp_path: Path) -> None:
    """fill = "any" leaves out what is above the result's own format, and only that."""
    (tmp_path / "r.toml").write_text(
        "count = 90\npadding = 'zeros'\n[[part]]\nop = 'neg'\nfmt = 'fp16'\n[[part]]\nop = 'neg'\nfmt = 'fp32'\n"
    )
    generate(load_recipe(str(tmp_path / "r.toml")), tmp_path / "v")
    source = tmp_path / "wide.sv"
    source.write_text(
        "module wide(input [31:0] a, input half, output [31:0] result);\n"
        "  assign result = half ? {16'habcd, a[15:0] ^ 16'h8000} : a ^ 32'h80000000;\nendmodule\n"
    )
    ports = FILL.replace('"31:0", fill = "ones"', '"31:0", fill = "any"').replace(
        'a = { a = "31:0", fill = "any" }', 'a = "a"\nhalf = { of = "fmt", codes = { fp16 = 1, fp32 = 0 } }'
    )
    assert build(CHEAP, tmp_path / "v", tmp_path / "w1", ports, source).first.passed
    failure(build(CHEAP, tmp_path / "v", tmp_path / "w2", ports.replace('"any"', '"zeros"'), source).first)


def test_blocks(tmp_path: Path) -> None:
    """Fields with lanes: a wide register of each, lanes side by side, and one lane by its index."""
    generate(VectorSet.make("dequantize", "mxfp4", 40), tmp_path / "v")
    source = tmp_path / "wide.sv"
    source.write_text(
        "module wide(input [7:0] scale, input [127:0] elements, output [31:0] first, output [991:0] others);\n"
        "  assign first = 0, others = 0;\nendmodule\n"
    )
    ports = """
        module = "wide"
        [inputs]
        scale = "scale"
        elements = "elements"
        [outputs]
        first = "values[0]"
        others = "values[31:1]"
        """
    run = build(CHEAP, tmp_path / "v", tmp_path / "w", ports, source).first
    assert "mismatches, 40 of 40 vectors" in failure(run)
    name, elements, first, others = re.findall(
        r"(\S+\.memh:\d+): .*elements=(\S+) expected first=(\S+) others=(\S+) got", run.output
    )[3]
    file, number = name.split(":")
    fields = (tmp_path / "v" / file).read_text().splitlines()[int(number) - 1].split("_")
    assert [int(x, 16) for x in elements.split("_")] == [int(x, 16) for x in fields[1:33]]
    assert others + first == "".join(fields[33:])


# -- mixed sets --------------------------------------------------------------------------------------------------------


def test_mixed_sets(folders: dict[str, Path], tmp_path: Path) -> None:
    vectors = mixed_set(tmp_path)
    report = verify(folders["mixed"])
    assert report.passed, report.problems
    assert report.checked == 300
    generate(vectors, tmp_path / "again")
    assert next((tmp_path / "again").glob("*.tv")).read_text() == next(folders["mixed"].glob("*.tv")).read_text()
    assert read_set(vectors.to_dict()) == vectors
    lines = [line.split() for line in next(folders["mixed"].glob("*.tv")).read_text().splitlines()]
    seen = [tuple(line[:4]) for line in lines]
    assert len(set(seen)) == 11 == len(set(seen[:11]))  # each kind once in every turn,
    assert seen[:11] != seen[11:22]  # in another order
    header = (folders["mixed"] / "vectors.svh").read_text()
    assert "localparam int VEC_OP_CONVERT = 4;" in header
    half = [line for line in lines if vectors.fields[1].codes[int(line[1], 16)] == "fp16"]
    assert sum(not line[4].startswith("FFFF") for line in half) > 5  # not boxed
    assert sum(line[4].startswith("FFFF") for line in half) > 100


def test_unboxed_operands_are_nan(tmp_path: Path) -> None:
    vectors = mixed_set(tmp_path)
    names = {f.name: f.codes for f in vectors.fields}
    code = [names["op"].index("add"), names["fmt"].index("fp16"), names["out"].index("fp16"), 0]
    boxed = vectors.line((*code, 0xFFFF3C00, 0xFFFF3C00, 0))
    assert boxed
    assert boxed[-2:] == (0xFFFF4000, 0)
    unboxed = vectors.line((*code, 0xFFFE3C00, 0xFFFF3C00, 0))
    assert unboxed
    assert unboxed[-2:] == (0xFFFF7E00, 0)
    assert vectors.line((*code, 0xFFFF3C00, 0xFFFF3C00, 1)) is None  # add has no operand c
    convert = [names["op"].index("convert"), names["fmt"].index("fp32"), names["out"].index("i8"), 1]
    line = vectors.line((*convert, 0xC0000000, 0, 0))
    assert line
    assert line[-2:] == (0xFFFFFFFE, 0)  # -2, its sign extended


def test_places_and_wider_registers(tmp_path: Path) -> None:
    """An adder that takes b and c, in registers of 64 bits."""
    (tmp_path / "r.toml").write_text(
        "count = 60\nwidth = 64\nunboxed = 5\n[[part]]\nop = ['add', 'sub']\nfmt = 'fp32'\nplace = 'bc'\n"
        "[[part]]\nop = 'mul'\nfmt = 'fp32'\n"
    )
    vectors = load_recipe(str(tmp_path / "r.toml"))
    generate(vectors, tmp_path / "v")
    assert verify(tmp_path / "v").passed
    rows = [line.split() for line in next((tmp_path / "v").glob("*.tv")).read_text().splitlines()]
    ops = vectors.fields[0].codes
    for op, *_, a, b, c, result, _ in rows:
        assert {len(a), len(b), len(c), len(result)} == {16}
        assert result.startswith("FFFFFFFF")
        assert int(a if ops[int(op)] != "mul" else c, 16) == 0
    code = (ops.index("sub"), 0, 0, 0)
    one, two = 0xFFFFFFFF3F800000, 0xFFFFFFFF40000000
    assert vectors.line((*code, 0, two, one)) == (*code, 0, two, one, one, 0)
    assert vectors.line((*code, two, one, 0)) is None


def test_parts_that_differ_in_everything(tmp_path: Path) -> None:
    """An addend's format and an overflow rule as controls, random bits, and parts that have none of them."""
    (tmp_path / "r.toml").write_text(
        "count = 200\npadding = 'zeros'\n"
        "[[part]]\nop = 'fma'\nfmt = ['fp8_e4m3', 'fp8_e4m3', 'fp32']\nout = 'fp32'\n"
        "[[part]]\nop = 'fma'\nfmt = ['fp8_e4m3', 'fp8_e4m3', 'fp16']\nout = 'fp32'\n"
        "[[part]]\nop = 'add'\nfmt = 'fp8_e4m3'\npolicy = { overflow = 'sat-none' }\n"
        "[[part]]\nop = 'convert'\nfmt = 'fp32'\nout = 'fp8_e4m3'\npolicy = { rounding = 'sr', sr_bits = 6 }\n"
    )
    vectors = load_recipe(str(tmp_path / "r.toml"))
    generate(vectors, tmp_path / "v")
    report = verify(tmp_path / "v")
    assert report.passed, report.problems
    names = [f.name for f in vectors.fields]
    assert names == ["op", "fmt", "fmt_c", "out", "rounding", "overflow", "a", "b", "c", "r", "result", "flags"]
    assert "-" in vectors.fields[2].codes
    ports = """
        module = "unit"
        [inputs]
        abc = { a = "31:0", b = "63:32", c = "95:64", r = "101:96" }
        mode = { of = "op fmt_c", codes = { "fma fp32" = 0, "fma fp16" = 1, "add -" = 2, "convert *" = 3 } }
        [outputs]
        result = "result"
        flags = "flags"
        """
    text, _ = text_of(tmp_path / "v", ports)
    assert "// fma fp8_e4m3 fp16 fp32 rne" in text
    with pytest.raises(Error, match="no code for op fmt_c = add -"):
        text_of(tmp_path / "v", ports.replace('"add -" = 2, ', ""))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[part]]\nop = ['add', 'mul']\nfmt = 'mxfp8'", "fp8"),
        ("[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'\nplace = 'aa'", "each with a letter"),
        ("[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'\nplace = 'b'", "add has 2 operands"),
        ("width = 5000\n[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'", "up to 1024 bits"),
        ("[[part]]\nop = 'add'\nfmt = 'fp16'", "at least two parts"),
        ("[[part]]\nop = ['add', 'add']\nfmt = 'fp16'", "a line must tell them apart"),
        ("[[part]]\nop = ['add', 'mull']\nfmt = 'fp16'", "unknown operation 'mull'"),
        ("[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'\nwidth = 3", "unknown key 'width'"),
        ("[[part]]\nop = ['add', 'mul']", "fmt missing"),
        ("seed = 'a'\n[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'", "seed is an integer"),
        ("padding = 'x'\n[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'", "unknown padding"),
        ("count = 1\n[[part]]\nop = ['add', 'mul']\nfmt = 'fp16'", "each has at least one"),
        ("part = 3", "are tables"),
        ("[[part]]\nop = 3\nfmt = 'fp16'", "neither a name nor a list"),
    ],
)
def test_bad_mixed_recipes(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(Error, match=message):
        load_recipe(str(tmp_path / "r.toml"))


# -- port maps ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("clock", "clok", "unknown key 'clok'; did you mean clock"),
        ('module = "pipe"', "", "module is missing"),
        ('module = "pipe"', "module = 3", "is no str"),
        ('active = "low"', 'active = "down"', "it is high or low"),
        ("latency = 3", "latency = -1", "it goes from 0"),
        ("latency = 3", "latency = 3\nunused = 1", "unknown key 'unused'"),
        ('c = "95:64"', 'c = "95:60"', "bit 60 is in c"),
        ('c = "95:64"', 'c = "64:95"', "are no bits"),
        ('c = "95:64"', 'c = "90:64"', "c has 32 bits, but"),
        ('c = "95:64", ', "", "no port carries c"),
        ('c = "95:64"', 'd = "95:64"', "unknown field 'd'"),
        ('status = "flags"', "", "no port carries flags"),
        ('status = "flags"', 'status = "invalid"', "no port carries bit 0 of flags"),
        ('status = "flags"', 'status = { flags = "4:0", a = "36:5" }', "a is no result or flags"),
        ('status = "flags"', 'status = "result"', "carried by another port"),
        ("rtz = 1, ", "", "no code for rounding = rtz"),
        ("width = 2, codes = { rne", "width = 1, codes = { rne", "rup = 3; it goes from 0 to 1"),
        ("rtz = 1", "rtz = 0", "drive the same codes"),
        ('of = "rounding"', 'of = "round"', "unknown property 'round'; did you mean rounding"),
        ('"fma * *"', '"fma *"', "is not one word each"),
        ('in_valid = "in_valid"', 'in_valid = "clk"', "port 'clk' has two uses"),
        ('in_valid = "in_valid"', 'in_valid = "a b"', "is not the name"),
        ("stalls = 20", "stalls = 99", "it goes from 0 to 95"),
        ("stalls = 20", "stall = 20", "unknown key 'stall'"),
        ('clock = "clk"', 'clock = "clk"\ndrain_timeout = 0', "it goes from 1"),
        ('clock = "clk"', "", "reset needs clock"),
        ('clock = "clk"', 'clock = "clk"\nignore = ["resul"]', "did you mean result"),
        ('clock = "clk"', 'clock = "clk"\nlanes = 2', "use a set of one operation"),
        ('clock = "clk"', 'clock = "clk"\ntag = { in = "t", out = "u", width = 3 }', "in order"),
        ('clock = "clk"', 'clock = "clk"\nsticky = { every = 3 }', "every needs clear"),
    ],
)
def test_bad_port_maps(old: str, new: str, message: str, folders: dict[str, Path]) -> None:
    assert old in FIXED
    with pytest.raises(Error, match=message) as caught:
        text_of(folders["mixed"], FIXED.replace(old, new, 1))
    assert "\n" not in str(caught.value)


def test_no_vectors_no_bench(folders: dict[str, Path]) -> None:
    manifest = {**read_manifest(folders["convert"]), "count": 0}
    with pytest.raises(Error, match="no vectors"):
        bench_text(manifest, controls(read_set(manifest["set"])), parse_ports(tomllib.loads(COMB)), ".", "a test")


# -- the command -------------------------------------------------------------------------------------------------------


def test_command(folders: dict[str, Path], tmp_path: Path) -> None:
    ports, out = tmp_path / "ports.toml", tmp_path / "tb.sv"
    ports.write_text(COMB.replace("convert", "convert"))
    base = ["testbench", str(folders["convert"]), "--ports", str(ports)]
    call = [*base, "-o", str(out), "--sim", CHEAP, "--run", str(RTL), str(CIRCUIT)]
    done = CliRunner().invoke(app.command, call, standalone_mode=False)
    assert done.return_value == 0, done.output
    assert "PASS: 1000 of 1000 vectors" in done.output
    assert out.read_text().startswith("// SPDX-License-Identifier: 0BSD\n")
    broken = tmp_path / "broken.sv"
    broken.write_text(CIRCUIT.read_text().replace("&& (sticky || kept[0])", ""))
    done = CliRunner().invoke(app.command, [*call[:-1], str(broken)], standalone_mode=False)
    assert done.return_value == 1
    assert "FAIL: " in done.output
    for wrong, message in ((base, "give -o"), ([*base, "--run"], "--run needs"), ([*base, "x.sv"], "are for --run")):
        done = CliRunner().invoke(app.command, wrong, standalone_mode=False)
        assert message in str(done.exception)


def test_command_refuses_changed_vectors(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(folders["convert"], tmp_path / "v")
    (tmp_path / "ports.toml").write_text(COMB)
    words = next((tmp_path / "v").glob("*.memh"))
    words.write_text(words.read_text().replace("_7e_", "_7f_", 1))
    call = ["testbench", str(tmp_path / "v"), "--ports", str(tmp_path / "ports.toml"), "-o", str(tmp_path / "tb.sv")]
    done = CliRunner().invoke(app.command, call, standalone_mode=False)
    assert "SHA-256 differs" in str(done.exception)
    assert not (tmp_path / "tb.sv").exists()


def test_manifest_of_an_older_kind_is_the_same(tmp_path: Path) -> None:
    """Control fields are said only where there are some: other manifests have the bytes they always had."""
    generate(VectorSet.make("add", "fp16", 10), tmp_path)
    assert all(
        set(f) == {"name", "role", "width", "lanes", "format", "lsb", "msb", "stride"}
        for f in json.loads((tmp_path / "manifest.json").read_text())["fields"]
    )


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_mismatch_shown_is_real(tmp_path: Path) -> None:
    shown = re.findall(r"^(convert_\S+\.memh:.*|FAIL: .*)$", (TOP / "docs" / "testbench.md").read_text(), re.M)
    assert len(shown) == 2
    generate(VectorSet(**{**load_recipe("fp32_to_fp8_e4m3_rne").__dict__, "count": 5000}), tmp_path / "v")
    wrong = tmp_path / "wrong.sv"
    wrong.write_text(CIRCUIT.read_text().replace("guard && (sticky || kept[0])", "guard"))
    ports = (CIRCUIT.parent / "ports.toml").read_text()
    run = build(CHEAP, tmp_path / "v", tmp_path / "w", ports, wrong).first
    assert all(line in run.output for line in shown), run.output


def test_every_key_is_on_the_page() -> None:
    text = (TOP / "docs" / "testbench.md").read_text()
    for key in ("module", "parameters", "clock", "reset", "latency", "handshake", "outstanding", "lanes", "stalls"):
        assert key in text
    assert all(f"`{key}`" in text for key in ("in_valid", "in_ready", "out_valid", "out_ready", "drain_timeout"))
