"""The example activation unit under a simulator: it is what its definition says, and each of its ten bugs is named."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from softfloat_ref.diagnosis.parts import explanation
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.approximation_module import module_text
from softfloat_ref.rtl.simulators import Simulator, find
from softfloat_ref.testing.check import check_results
from softfloat_ref.units import ApproximationUnit

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
CIRCUIT = EXAMPLES / "tanh_bf16"
COUNT = 4_000
NAMES = {
    1: "c1 of segment 1: bit 6 inverted",
    2: "segments 1 and 2 swapped",
    3: "last 2 bits of the address lost",
    4: "rounding = rtz",
    5: "product below c0 rounded",
    6: "one ulp too large in the table",
    7: "result's sign lost",
    8: "no saturation: zero",
    9: "first segment below the table",
    10: "c2 missing",
}

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def vectors() -> VectorSet:
    return VectorSet.make(str(CIRCUIT / "tanh_bf16.toml"), None, COUNT)


@pytest.fixture(scope="module")
def built(vectors: VectorSet, tmp_path_factory: pytest.TempPathFactory) -> tuple[Simulator, Path, Path]:
    """The simulator, the bench's folder, and that of the vectors; the circuit without a bug has passed."""
    simulator, work, folder = find(), tmp_path_factory.mktemp("bench"), tmp_path_factory.mktemp("vectors")
    generate(vectors, folder)
    sources = [CIRCUIT / "tb.sv", CIRCUIT / "tanh_bf16.sv"]
    include = [EXAMPLES / "common"]
    run = simulator.run(sources, "tb", work_dir=work, include_dirs=include, plusargs=[f"+vectors={folder}"])
    assert f"PASS: {COUNT} of {COUNT} vectors" in run.output, run.output
    return simulator, work, folder


@pytest.mark.full
@pytest.mark.parametrize("number", NAMES)
def test_every_bug_is_named(number: int, built: tuple[Simulator, Path, Path], vectors: VectorSet) -> None:
    simulator, work, folder = built
    log = work / f"{number}.log"
    arguments = [f"+vectors={folder}", f"+defect={number}", f"+results={log}"]
    done = subprocess.run([*simulator.command("tb", work), *arguments], capture_output=True, text=True, cwd=work)
    assert re.search(r"^FAIL: [1-9]", done.stdout, re.M), done.stdout
    text = explanation(check_results(vectors, log))
    assert text is not None
    assert text.whole is not None
    names = [f.hypothesis.name for f in text.whole.best]
    assert names[0] == NAMES[number]
    assert set(names[1:]) <= {"bit 15 is 0"}  # the sign


def test_the_circuit_is_the_generated_one_with_bugs(vectors: VectorSet) -> None:
    """The lines of the generated module that the bugs do not touch are the circuit's."""
    assert isinstance(vectors.unit, ApproximationUnit)
    own = set((CIRCUIT / "tanh_bf16.sv").read_text().splitlines())
    generated = module_text(vectors.unit.approximation).splitlines()
    assert sum(line not in own for line in generated) <= 18
    listed = re.findall(r"^// {2,3}(\d+)  ", (CIRCUIT / "tanh_bf16.sv").read_text().split("\nmodule")[0], re.M)
    assert [int(x) for x in listed] == list(NAMES)
