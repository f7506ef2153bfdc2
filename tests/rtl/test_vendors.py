"""Simulators whose commands are only printed; and that the generated files are plain IEEE 1800-2017."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from benches import CIRCUIT, DEVICES, RTL, text_of
from command import ok, refused
from pages import blocks
from slang import problems

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.rtl.uvm import FILES, write_dpi
from softfloat_ref.rtl.vendors import VENDORS

TOP = Path(__file__).parents[2]
EXAMPLES = TOP / "docs" / "examples"
FMA = EXAMPLES / "fp16_fma" / "fp16_fma.sv"


@pytest.mark.parametrize("device", DEVICES)
def test_benches_are_plain_systemverilog(device: str, folders: dict[str, Path], tmp_path: Path) -> None:
    vectors, ports = DEVICES[device]
    text, top = text_of(folders[vectors], ports)
    (tmp_path / "bench.sv").write_text(text)
    assert problems([tmp_path / "bench.sv", RTL, CIRCUIT], top) == []


@pytest.mark.parametrize(
    ("name", "recipe", "more"),
    [
        ("fp16_fma", "fp16_fma_rne", 'compare_nan = "quiet"'),
        ("fp16_mul_serial", VectorSet.make("mul", "fp16", 40), ""),
        ("mxfp8_dot", "dot_mxfp8_e4m3", 'compare_nan = "any"'),
        ("small_fpu", str(EXAMPLES / "small_fpu" / "recipe.toml"), 'compare_nan = "any"'),
    ],
)
def test_benches_of_the_examples_are(name: str, recipe: str | VectorSet, more: str, tmp_path: Path) -> None:
    """With control inputs that are enumerations, tolerated NaNs and an operand at a time."""
    generate(recipe if isinstance(recipe, VectorSet) else load_recipe(recipe).of_count(100), tmp_path / "v")
    port_map = (EXAMPLES / name / "ports.toml").read_text().partition("\n")
    text, top = text_of(
        tmp_path / "v", "\n".join((port_map[0], more if "compare_nan" not in port_map[2] else "", port_map[2]))
    )
    (tmp_path / "bench.sv").write_text(text)
    sources = [EXAMPLES / "small_fpu" / "fpu_pkg.sv", EXAMPLES / name / f"{name}.sv", FMA]
    assert problems([*dict.fromkeys(sources), tmp_path / "bench.sv"], top, f"-I{EXAMPLES / name}") == []


def test_a_wrapper_and_its_bench_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a block quantizer with unpacked ports and any elements under a NaN scale."""
    monkeypatch.chdir(tmp_path)
    source = EXAMPLES / "mxfp4_quantize" / "mxfp4_quantize.sv"
    ok("vectors", "generate", "--op", "quantize", "--fmt", "mxfp4", "--out", "bf16", "-n", "20", "-o", "v")
    ok("vectors", "ports", "--top", source.stem, str(source), "--wrapper", "wrapper.sv", "-o", "ports.toml")
    ports = Path("ports.toml").read_text()
    Path("ports.toml").write_text(ports.replace("\nmodule", '\nnan_scale_elements = "any"\nmodule', 1))
    ok("vectors", "testbench", "v", "--ports", "ports.toml", "-o", "tb.sv")
    assert problems([source, Path("wrapper.sv"), Path("tb.sv")], "mxfp4_quantize_wrapper_tb") == []


def test_the_dpi_package_is_plain_systemverilog(tmp_path: Path) -> None:
    package, bench = write_dpi(tmp_path)[1], tmp_path / "dpi_tb.sv"
    bench.write_text(blocks(TOP / "docs" / "dpi.md", "systemverilog")[0])
    assert problems([package, FMA, bench], "dpi_tb") == []


def test_what_is_not_plain_is_found(tmp_path: Path) -> None:
    """Newer than 1800-2017, beyond the standard, and suspicious: errors or warnings elsewhere."""
    (tmp_path / "odd.sv").write_text(
        'module odd;\n  logic [3:0] a = 5\'h1f;\n  string s = """x""";\n  initial $display("\\q");\nendmodule\n'
    )
    assert len(problems([tmp_path / "odd.sv"], "odd")) >= 3


BENCH = {
    "vcs": """
vcs -full64 -sverilog -timescale=1ns/1ps -top fp16_fma_tb -Mdir=OUT/csrc -o OUT/simv +define+A=1 +incdir+INC FMA TB
OUT/simv +vectors=VEC +seed=7""",
    "questa": """
vlib OUT/work
vlog -sv -timescale 1ns/1ps -work OUT/work +define+A=1 +incdir+INC FMA TB
vsim -c -lib OUT/work -do 'run -all; quit -f' fp16_fma_tb +vectors=VEC +seed=7""",
    "xcelium": """
xrun -64bit -sv -timescale 1ns/1ps -top fp16_fma_tb -xmlibdirpath OUT -elaborate +define+A=1 +incdir+INC FMA TB
xrun -64bit -R -xmlibdirpath OUT +vectors=VEC +seed=7""",
    "riviera": """
vlib OUT/work
vlog -timescale 1ns/1ps -work OUT/work +define+A=1 +incdir+INC FMA TB
vsim -c -lib OUT/work -do 'run -all; endsim; quit -force' fp16_fma_tb +vectors=VEC +seed=7""",
}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fma")
    ok("vectors", "generate", "--op", "fma", "--fmt", "fp16", "-n", "20", "--format", "memh", "-o", str(folder))
    return folder


@pytest.fixture
def testbench(vectors: Path) -> list[str]:
    """The command, up to its options."""
    ports = ["--ports", str(FMA.with_name("ports.toml"))]
    return ["vectors", "testbench", str(vectors), *ports, str(FMA)]


@pytest.mark.parametrize("name", VENDORS)
def test_commands_for_a_bench(name: str, testbench: list[str], vectors: Path, tmp_path: Path) -> None:
    options = ["--print-command", "--sim", name, "--work", str(tmp_path), "-D", "A", "--plusarg", "seed=7"]
    folder, *shown = ok(*testbench, *options).splitlines()
    places = {"OUT": tmp_path / f"fp16_fma_tb.{name}", "INC": FMA.parent, "TB": tmp_path / "fp16_fma_tb.sv"}
    wanted = BENCH[name].strip()
    for word, place in {**places, "FMA": FMA, "VEC": vectors}.items():
        wanted = wanted.replace(word, str(place))
    assert folder == f"cd {tmp_path}"
    *build, simulate = (shlex.split(line) for line in wanted.splitlines())
    assert [shlex.split(line) for line in shown] == [
        ["mkdir", "-p", str(places["OUT"])],
        *build,
        ["cd", str(Path.cwd())],  # where the design finds its files
        simulate,
    ]
    assert (tmp_path / "fp16_fma_tb.sv").is_file()


@pytest.mark.parametrize("name", VENDORS)
def test_libraries(name: str, testbench: list[str], tmp_path: Path) -> None:
    libraries = ["-y", str(tmp_path), "-v", str(FMA), "+libext+.v+.vlib"]
    shown = ok(*testbench, "--print-command", "--sim", name, "--work", str(tmp_path), *libraries)
    assert f" -v {FMA} -y {tmp_path} +libext+.v+.vlib {FMA} " in shown


def test_they_are_not_started(testbench: list[str], tmp_path: Path) -> None:
    message = refused(*testbench, "--run", "--sim", "vcs", "--work", str(tmp_path / "work"))
    assert "vcs is not started from here: give --print-command" in message
    assert not (tmp_path / "work").exists()
    assert "unknown simulator 'vsc'; did you mean vcs?" in refused(*testbench, "--run", "--sim", "vsc")


@pytest.mark.parametrize("name", VENDORS)
def test_commands_for_dpi(name: str, tmp_path: Path) -> None:
    """The package comes before its user; the C file is compiled, and what it makes is loaded."""
    options = ["--print-command", "--sim", name, "--top", "fp16_fma", "--sim-arg", "-quiet"]
    shown = ok("dpi", "-o", str(tmp_path), *options, str(FMA)).splitlines()
    c_file, package = (str(tmp_path / name) for name in FILES)
    step = next(words for words in map(shlex.split, shown) if package in words)
    assert "-quiet" in step
    assert step.index(package) < step.index(str(FMA))
    if name == "riviera":
        library = f"{tmp_path}/fp16_fma.riviera/dpi"
        assert shown[-2] == f"ccomp -dpi -o {library}.so {c_file}"
        assert shown[-1].endswith(f" -sv_lib {library}")
        assert c_file not in step
    else:
        assert c_file in step


@pytest.mark.full
@pytest.mark.sim
def test_the_printed_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those for Verilator: they build the package, the C file and the bench in the documentation."""
    server, bench = tmp_path / "softfloat-ref", tmp_path / "dpi_tb.sv"
    server.write_text(f'#!/bin/sh\ncd "{TOP}" && exec "{sys.executable}" -m softfloat_ref "$@"\n')
    server.chmod(0o755)
    monkeypatch.setenv("SOFTFLOAT_REF", str(server))
    bench.write_text(blocks(TOP / "docs" / "dpi.md", "systemverilog")[0].replace("COUNT = 50_000;", "COUNT = 500;"))
    options = ["--print-command", "--sim", "verilator", "--top", "dpi_tb"]
    shown = ok("dpi", "-o", str(tmp_path / "dpi"), *options, str(FMA), str(bench))
    done = subprocess.run(["sh", "-ec", shown], capture_output=True, text=True, cwd="/", check=False)
    assert "PASS: 500 of 500 vectors" in done.stdout, done.stderr


def test_what_dpi_refuses(tmp_path: Path) -> None:
    base = ["dpi", "-o", str(tmp_path / "new")]
    for option in (
        [str(FMA)],
        ["--top", "t"],
        ["--sim", "vcs"],
        ["--sim-arg", "-q"],
        ["-D", "X"],
        ["-I", "."],
        ["-y", "."],
    ):
        assert " needs --print-command" in refused(*base, *option)
    base.append("--print-command")
    assert "--print-command needs --top MODULE" in refused(*base)
    assert "icarus has no DPI; choose verilator, vcs" in refused(*base, "--top", "t", "--sim", "icarus")
    assert not (tmp_path / "new").exists()
