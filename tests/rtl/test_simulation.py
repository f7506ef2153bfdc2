"""The example circuit under a real simulator: it passes on golden vectors, and planted bugs are caught and shown."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest
from benches import CHEAP

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.vector_recipes import load_recipe
from softfloat_ref.rtl.bench_runs import BenchRun
from softfloat_ref.rtl.quick_verilator import ShortVerilator, for_short_runs
from softfloat_ref.rtl.simulators import Simulator, Verilator, find

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "fp32_to_fp8_e4m3"
CIRCUIT = (EXAMPLE / "fp32_to_fp8_e4m3.sv").read_text()
NAME = "convert_fp32_to_fp8_e4m3_rne"

# what is wrong: (right, planted), and what the first report must look like
BUGS = {
    "round half up": ("wire round_up = guard && (sticky || kept[0]);", "wire round_up = guard;"),
    "no saturation": ("wire saturate = overflow || is_special;", "wire saturate = is_special;"),
    "truncation": ("wire round_up = guard && (sticky || kept[0]);", "wire round_up = 1'b0;"),
    "lost sticky bits": ("wire       sticky = |aligned[23:0];", "wire       sticky = |aligned[23:5];"),
    "tininess before rounding": (
        "wire is_tiny        = is_small && !reaches_normal;",
        "wire is_tiny        = is_small;",
    ),
    "overflow at 464": ("magnitude > {4'd0, LARGEST}", "magnitude > {4'd0, LARGEST} || a[30:0] == 31'h43e80000"),
    "infinity overflows": ("wire overflow = !is_special && ", "wire overflow = "),
}

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    return find()


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    generate(load_recipe("fp32_to_fp8_e4m3_rne"), folder)
    return folder


@pytest.fixture(scope="module")
def built(simulator: Simulator, vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BenchRun]:
    """Where the bench was built, and its first run."""
    work = tmp_path_factory.mktemp("built")
    return work, simulate(simulator, vectors, work)


def simulate(simulator: Simulator, vectors: Path, work: Path, circuit: str = CIRCUIT) -> BenchRun:
    work.mkdir(exist_ok=True)
    source = work / "fp32_to_fp8_e4m3.sv"
    source.write_text(circuit)
    return simulator.run(
        [EXAMPLE / "tb.sv", source], "tb", include_dirs=[vectors], work_dir=work, plusargs=[f"+vectors={vectors}"]
    )


@pytest.mark.full
def test_the_circuit_passes(built: tuple[Path, BenchRun]) -> None:
    run = built[1]
    assert run.passed, run.output
    assert "PASS: 20000 of 20000 vectors" in run.output


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_caught(bug: str, vectors: Path, tmp_path: Path) -> None:
    right, planted = BUGS[bug]
    assert CIRCUIT.count(right) == 1
    run = simulate(find(CHEAP), vectors, tmp_path, CIRCUIT.replace(right, planted))
    assert not run.passed
    reported = re.search(rf"^{NAME}\.memh:(\d+): a=([0-9a-f]{{8}}) expected (..) (..) got (..) (..)$", run.output, re.M)
    assert reported, run.output
    # The line number leads to the vector in the file.
    line = (vectors / f"{NAME}.memh").read_text().splitlines()[int(reported[1]) - 1]
    assert line == "_".join(reported.group(2, 3, 4))


@pytest.mark.full
@pytest.mark.parametrize("bug", ["no saturation", ""])
def test_a_build_for_a_short_run_prints_the_same(bug: str, vectors: Path, tmp_path: Path) -> None:
    circuit = CIRCUIT.replace(*BUGS[bug]) if bug else CIRCUIT
    short = for_short_runs(find("verilator"))
    assert isinstance(short, ShortVerilator)
    runs = [simulate(s, vectors, tmp_path / s.name, circuit) for s in (short, find(CHEAP))]
    lines = [[x for x in run.output.splitlines() if x.startswith((NAME, "PASS", "FAIL"))] for run in runs]
    assert lines[0] == lines[1]
    assert runs[0].passed == runs[1].passed == (not bug)


def test_without_a_runtime_a_short_run_is_any_other(tmp_path: Path) -> None:
    """Such as with a Verilator whose files have other names."""
    verilator = Verilator(tmp_path / "verilator_bin", root=tmp_path)
    assert for_short_runs(verilator) is verilator


@pytest.mark.parametrize("damage", ["cut", "empty", "one word more", "no file"])
def test_damaged_vectors_fail(
    damage: str, simulator: Simulator, built: tuple[Path, BenchRun], vectors: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "vectors.svh").write_text((vectors / "vectors.svh").read_text())
    words = (vectors / f"{NAME}.memh").read_text()
    changed = {"cut": words[: len(words) // 2], "empty": "// nothing\n", "one word more": words + "00000000_00_00\n"}
    if damage in changed:
        (folder / f"{NAME}.memh").write_text(changed[damage])
    command = [*simulator.command("tb", built[0]), f"+vectors={folder}"]
    done = subprocess.run(command, cwd=built[0], capture_output=True, text=True, timeout=60, check=False)
    run = BenchRun(done.returncode, done.stdout + done.stderr)
    assert not run.passed
    assert "FAIL" in run.output


def test_a_broken_source_is_one_clear_line(simulator: Simulator, vectors: Path, tmp_path: Path) -> None:
    with pytest.raises(Error, match="cannot build tb") as caught:
        simulate(simulator, vectors, tmp_path, CIRCUIT.replace("endmodule", ""))
    assert "\n" not in str(caught.value)


@pytest.mark.full
def test_a_hang_is_stopped(tmp_path: Path) -> None:
    source = tmp_path / "hang.sv"
    source.write_text("module hang;\n  initial begin forever #1; end\nendmodule\n")
    build = find(CHEAP).build([source], "hang", work_dir=tmp_path / "work")
    build.make()  # so that of the time limit, some is left for the run
    start = time.monotonic()
    with pytest.raises(Error, match="time limit"):
        build.make_and_run(timeout_s=3)
    assert time.monotonic() - start < 20


def test_unknown_simulator() -> None:
    with pytest.raises(Error, match="did you mean verilator"):
        find("verilater")


@pytest.mark.sim
def test_the_planted_bug_shown_is_real(tmp_path: Path) -> None:
    """The page of the example circuit shows what a bench says of a bug."""
    shown = re.search(r"`(convert_\S+\.memh:[^`]+)`", (EXAMPLE / "README.md").read_text())
    assert shown
    generate(load_recipe("fp32_to_fp8_e4m3_rne"), tmp_path / "vectors")
    run = simulate(find(), tmp_path / "vectors", tmp_path / "work", CIRCUIT.replace(*BUGS["round half up"]))
    assert shown[1] in run.output
