"""The DPI files under Verilator: predictions equal vectors, at a rate; failures are one clear line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import blocks
from volume import FULL

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.oracle.operations import OPERATIONS, evaluate
from softfloat_ref.rtl.bench_runs import BenchRun
from softfloat_ref.rtl.simulators import Simulator, find
from softfloat_ref.rtl.uvm import FILES, write_dpi

TOP = Path(__file__).parents[2]
RTL = Path(__file__).parent
CIRCUIT = TOP / "docs" / "examples" / "fp16_fma" / "fp16_fma.sv"
COUNT = 5_000

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def verilator() -> Simulator:
    return find("verilator")


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This checkout's softfloat-ref, in a path with a space in it."""
    program = tmp_path / "a folder" / "softfloat-ref"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncd "{TOP}" && exec "{sys.executable}" -m softfloat_ref "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("SOFTFLOAT_REF", str(program))
    return program


def simulate(verilator: Simulator, work: Path, top: str, *sources: Path, plusargs: tuple[str, ...] = ()) -> BenchRun:
    package, c_file = (work / "dpi" / name for name in reversed(FILES))
    write_dpi(work / "dpi")
    return verilator.run(
        [package, c_file, *sources], top, work_dir=work / "sim", include_dirs=[work / "vectors"], plusargs=plusargs
    )


@pytest.mark.full
def test_predictions_are_the_vectors(verilator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By compiled C, and by the process."""
    monkeypatch.setenv("SOFTFLOAT_REF_CACHE", str(tmp_path / "cache"))
    recipe = load_recipe("fp16_fma_rne")
    generate(recipe.of_count(COUNT), tmp_path / "vectors")
    done = simulate(
        verilator,
        tmp_path,
        "dpi_fma_tb",
        RTL / "clock.c",
        RTL / "dpi_fma_tb.sv",
        plusargs=(f"+vectors={tmp_path / 'vectors'}",),
    )
    assert done.passed, done.output
    assert f"PASS: {COUNT} of {COUNT} vectors" in done.output
    assert "softfloat-ref: fma --fmt fp16 --out fp16 rne: predicted by compiled C" in done.output
    rate = re.search(r"^(\d+) predictions/s$", done.output, re.M)
    assert rate, done.output
    print(rate[0])
    monkeypatch.setenv("SOFTFLOAT_REF_CACHE", "off")
    again = run_again(tmp_path / "sim", "dpi_fma_tb", f"+vectors={tmp_path / 'vectors'}")
    assert f"PASS: {COUNT} of {COUNT} vectors" in again.stdout
    assert "predicted by a Python process: there is no cache (SOFTFLOAT_REF_CACHE)" in again.stderr


@pytest.mark.full
def test_the_bench_in_the_documentation(verilator: Simulator, tmp_path: Path) -> None:
    """It passes; with a defect planted in the circuit it fails, and shows what the oracle says."""
    bench = tmp_path / "dpi_tb.sv"
    text = blocks(TOP / "docs" / "dpi.md", "systemverilog")[0]
    assert "COUNT = 50_000;" in text
    bench.write_text(text if FULL else text.replace("COUNT = 50_000;", "COUNT = 5_000;"))
    done = simulate(verilator, tmp_path, "dpi_tb", CIRCUIT, bench)
    assert done.passed, done.output
    planted = run_again(tmp_path / "sim", "dpi_tb", "+defect=1")  # rne rounds half up
    assert planted.returncode != 0
    shown = re.findall(r"^rm=0 a=(....) b=(....) c=(....) expected (....) (..) got", planted.stdout, re.M)
    assert shown
    for words in shown:
        a, b, c, result, flags = (int(x, 16) for x in words)
        assert evaluate("fma", (a, b, c), "fp16") == (result, flags)


def run_again(folder: Path, top: str, *plusargs: str) -> subprocess.CompletedProcess[str]:
    """A bench that `simulate` built."""
    command = [folder / f"{top}.verilator" / "bench", *plusargs]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def cases(verilator: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the bench of rtl/dpi_cases_tb.sv was built."""
    work = tmp_path_factory.mktemp("cases")
    assert simulate(verilator, work, "dpi_cases_tb", RTL / "dpi_cases_tb.sv").passed
    return work / "sim"


@pytest.fixture(params=["compiled C", "a Python process"])
def way(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """By which operations are predicted."""
    monkeypatch.setenv("SOFTFLOAT_REF_CACHE", str(tmp_path) if request.param == "compiled C" else "off")
    return str(request.param)


@pytest.mark.full
def test_lines_and_arrays_of_operands(cases: Path, way: str) -> None:
    done = run_again(cases, "dpi_cases_tb", "+case=14")
    pairs = ((0x1FC00, 0x20000), (0x7FC01, 0x1FC00), (1, 0x1FB00), (0x3FC00, 0))
    answers = [evaluate("mul", pair, "tf32", policy="riscv") for pair in pairs]
    assert done.stdout.splitlines()[:5] == [*(f"{bits:05x} {int(flags):02x}" for bits, flags in answers), "END"]
    assert f"softfloat-ref: mul --fmt tf32 riscv: predicted by {way}" in done.stderr


@pytest.mark.full
def test_widths_arities_and_policies(cases: Path, way: str) -> None:
    done = run_again(cases, "dpi_cases_tb", "+case=1")
    assert f"softfloat-ref: sqrt --fmt fp64 rup --tininess before: predicted by {way}" in done.stderr
    dot4 = evaluate("dot4", (*range(0x30, 0x38), 0x3F800000), ["fp8_e4m3"] * 8 + ["fp32"], "fp32")
    assert done.stdout.splitlines()[:8] == [
        "4000" + 28 * "0" + " 00",
        "3ff6a09e667f3bcd 01",
        "ffc00000 10",
        f"{dot4.bits:08x} {dot4.flags:02x}",
        "39",
        "38",
        "4 0",
        "END",
    ]


@pytest.mark.full
def test_units_of_other_kinds(cases: Path) -> None:
    done = run_again(cases, "dpi_cases_tb", "+case=11")
    assert done.stdout.splitlines()[:4] == ["07 00", "08", "3f800000 40000000 bf800000 00000000", "END"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("case", "message"),
    [
        (2, "softfloat-ref: unknown operation 'plus'"),
        (3, "softfloat-ref: unknown format 'fp61'"),
        (4, "softfloat-ref: Got unexpected extra argument (up)"),
        (5, "a name contains a line break"),
        (6, "the result has more than 128 bits"),
        (7, "1 field, but 2 operands are needed"),
        (8, "b: '10000' may be b"),
        (9, "invalid handle; sf_open returns one"),
        (10, "11 operands; at most 10"),
        (12, "the answer has several codes; use sf_predict_line"),
        (13, "2 fields, but 3 operands are needed"),
    ],
)
def test_wrong_use_is_fatal(case: int, message: str, cases: Path) -> None:
    done = run_again(cases, "dpi_cases_tb", f"+case={case}")
    assert message in done.stdout
    assert "END" not in done.stdout
    assert done.returncode != 0


@pytest.mark.full
@pytest.mark.parametrize(
    ("script", "message"),
    [
        (None, "cannot start {} (No such file or directory); pip install softfloat-ref, or set SOFTFLOAT_REF"),
        ("exit 3", "ended with exit code 3; its own message is above"),
        ("kill -9 $$", "was killed by signal 9"),
        ("exec cat", "this program is not softfloat-ref eval --serve"),
        ("read x; echo context 0 a=16 b=16 result=16; exit 5", "ended with exit code 5"),
    ],
)
def test_a_server_that_fails_is_fatal(script: str | None, message: str, server: Path, cases: Path) -> None:
    server.unlink()
    if script is not None:
        server.write_text(f"#!/bin/sh\n{script}\n")
        server.chmod(0o755)
    done = run_again(cases, "dpi_cases_tb", "+case=0")
    assert message.format(server) in done.stdout
    assert "END" not in done.stdout
    assert done.returncode != 0


@pytest.mark.full
def test_without_a_path_the_program_is_found_on_path(
    cases: Path, server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOFTFLOAT_REF")
    monkeypatch.setenv("PATH", str(server.parent), prepend=":")
    assert run_again(cases, "dpi_cases_tb", "+case=0").stdout.startswith("0002 00\nEND")


def test_the_c_file_is_c99_and_cpp(tmp_path: Path, verilator: Simulator) -> None:
    """Simulators compile it as either; Verilator's header stands for theirs."""
    include = verilator.root / "include" / "vltstd" if verilator.root else None  # type: ignore[attr-defined]
    write_dpi(tmp_path)
    for compiler in (["gcc", "-std=c99"], ["g++", "-x", "c++"]):
        if shutil.which(compiler[0]) is None or include is None:
            continue
        flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{include}"]
        done = subprocess.run([*compiler, *flags, tmp_path / FILES[0]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_every_operation_has_room() -> None:
    c_file, package = ((TOP / "softfloat_ref" / "rtl" / name).read_text() for name in FILES)
    room = {re.search(p, t)[1] for p, t in ((r"MAX_OPERANDS = (\d+),", c_file), (r"SF_MAX_OPERANDS = (\d+);", package))}  # type: ignore[index]
    assert room == {str(max(o.arity for o in OPERATIONS.values()) + 1)}


def test_licence_and_errors(tmp_path: Path) -> None:
    for path in write_dpi(tmp_path / "new" / "folder"):
        assert "SPDX-License-Identifier: 0BSD" in path.read_text().splitlines()[0]
    (tmp_path / "file").write_text("")
    with pytest.raises(Error, match="cannot be created"):
        write_dpi(tmp_path / "file")
