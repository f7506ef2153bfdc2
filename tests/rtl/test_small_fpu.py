"""The example small_fpu: right under each simulator; each of its planted faults is found, alone and with others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benches import CHEAP, TOP, Bench, build, failure
from faults.planted import planted_bench, select

from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.vector_recipes import load_recipe

pytestmark = pytest.mark.sim
EXAMPLES = TOP / "docs" / "examples"
UNIT = EXAMPLES / "small_fpu"
COUNT = 3000

# The kinds of cases of which some are wrong, and only those.
FAULTS = {
    0: r"(fma|mul|add|eq|lt|le) (fp16|bf16) .*",
    1: r"(fma|mul|add) fp16 (rtz|rdn|rup|rna) .*",
    2: r"(fma|mul|add) (fp16|bf16) .*",
    3: "",
    4: r"le .*",
    5: r"(lt|le) .*",
    6: r"(fma|add) fp32 .*",
    7: r"(fma|add) fp16 .*",
    8: r"(fma|mul|add) bf16 rtz .*",
    9: r"add fp32 .*",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    vectors = tmp_path_factory.mktemp("vectors")
    generate(load_recipe(str(UNIT / "recipe.toml")).of_count(COUNT), vectors)
    return vectors


@pytest.fixture(scope="module")
def planted(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return planted_bench(folder, tmp_path_factory.mktemp("planted") / "w", CHEAP)


@pytest.mark.full
def test_it_passes(simulator: str, folder: Path, tmp_path: Path) -> None:
    """The included file lies beside a copy of the sources."""
    source = tmp_path / "small_fpu.sv"
    text = (UNIT / "small_fpu.sv").read_text()
    source.write_text(text.replace('"fpu_defs.svh"', f'"{UNIT / "fpu_defs.svh"}"'))
    sources = UNIT / "fpu_pkg.sv", EXAMPLES / "fp16_fma" / "fp16_fma.sv", source
    bench = build(simulator, folder, tmp_path / "w", (UNIT / "ports.toml").read_text(), *sources)
    assert f"PASS: {COUNT} of {COUNT} vectors" in bench.first.output
    assert bench.run("+seed=2").passed


@pytest.mark.full(gate=4)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_found(fault: int, planted: Bench) -> None:
    """Several at once: tests/campaigns/test_faults.py."""
    assert planted.first.passed, planted.first.output
    run = planted.run(select([fault]))
    if fault == 3:
        assert failure(run).startswith("the result changed while stalled in cycle ")
        return
    assert f"mismatches, {COUNT} of {COUNT} vectors compared" in failure(run)
    shown = re.findall(r"^\S+\.memh:\d+: (.*?) a=.* with tag [0-9a-f] in cycle \d+$", run.output, re.M)
    assert shown
    for kind in shown:
        assert re.fullmatch(FAULTS[fault], f"{kind} "), kind


def test_the_header_lists_every_fault() -> None:
    assert [int(x) for x in re.findall(r"^// {4}(\d+)  ", (UNIT / "small_fpu.sv").read_text(), re.M)] == list(FAULTS)
