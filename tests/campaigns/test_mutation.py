"""The mutation campaign (tests/campaigns/mutation): its tables of bugs, and a slice of it under a simulator."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from benches import HAS_ICARUS
from mutation import campaign, report, selector, stimuli, testfloat
from mutation.bench import Bench
from mutation.bugs import Bug, bugs, module
from mutation.circuits import CIRCUITS, ONE, Circuit, Size
from mutation.planted import circuits as planted_circuits
from mutation.verified import NAMED, verified

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.generate import generate
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.rtl.simulators import Simulator, find

TOP = Path(__file__).parents[2]
CONVERTER = CIRCUITS["fp32_to_fp8_e4m3"]
FMA = CIRCUITS["fp16_fma"]
COUNT = 3_000

# After how many cases a bug of the converter shows: random operands, and TestFloat's method; None: not in COUNT.
SLICE = {
    16: (None, None),  # rounds half up
    19: (44, 29),
    28: (None, None),  # sticky misses one bit in the middle
    33: (None, 4),
    36: (591, 2853),
    40: (450, None),
    44: (1959, None),  # the largest number overflows
    53: (None, 84),
    63: (1730, None),
    69: (None, 90),  # -0 loses its sign
    70: (14, 11),
    73: (None, 103),
}


def listed(circuit: Circuit, *numbers: int) -> list[Bug]:
    return [b for b in bugs(circuit) if b.number in numbers]


def test_there_are_hundreds_of_bugs() -> None:
    real = {c.name: sum(not b.equivalent for b in bugs(c)) for c in CIRCUITS.values()}
    assert sum(real.values()) >= 400
    assert min(real.values()) >= 50


@pytest.mark.parametrize("circuit", CIRCUITS.values(), ids=lambda c: c.name)
def test_every_bug_is_another_source(circuit: Circuit) -> None:
    listed = bugs(circuit)
    assert [b.number for b in listed] == list(range(listed[0].number, listed[-1].number + 1))
    assert len({b.text for b in listed}) == len(listed)
    sources = {re.sub(rf"\nmodule {circuit.name}_\d+ ", "\nmodule ", module(circuit, b)) for b in listed if b.edits}
    assert len(sources) == sum(bool(b.edits) for b in listed)
    assert not any(b.needs and not b.witness for b in listed)


def test_an_edit_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(Error, match=r"'wire ' stands \d+ times in the source"):
        module(CONVERTER, Bug(16, "", (("wire ", "reg "),)))


# ---------------------------------------------------------------- simulated


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    """Icarus, which needs less than a second to build where Verilator needs ten; but any will do."""
    return find("icarus" if HAS_ICARUS else None)


@pytest.mark.sim
def test_a_slice(simulator: Simulator, tmp_path: Path) -> None:
    outcomes = campaign.run(CONVERTER, tmp_path, Size(COUNT), chosen=tuple(SLICE), simulator=simulator)
    falls = {o.bug.number: tuple(f and f.case for f in map(o.falls.get, stimuli.METHODS[1:])) for o in outcomes}
    assert falls == SLICE
    assert not report.survivors(outcomes, "vectors")
    rows = {method: row for _, method, row in report.summaries(outcomes, stimuli.METHODS)}
    assert [rows[m]["shown"] for m in stimuli.METHODS] == [12, 6, 7]
    assert (rows["vectors"]["median"] or COUNT) < (rows["testfloat"]["median"] or COUNT)


@pytest.mark.full
@pytest.mark.sim
@pytest.mark.parametrize("name", ["fp16_fma", "mxfp8_quantize", "mxfp8_dot", "bf16_stochastic"])
def test_witnesses_show_what_few_cases_show(name: str, simulator: Simulator, tmp_path: Path) -> None:
    if simulator.name != "icarus" and name.startswith("mxfp8"):
        pytest.skip("needs Icarus; Verilator takes half a minute for thirty-two lanes a copy; the campaign runs them")
    chosen = [b.number for b in bugs(CIRCUITS[name]) if b.witness]
    outcomes = campaign.run(CIRCUITS[name], tmp_path, ONE, methods=(), chosen=chosen, simulator=simulator)
    assert chosen
    assert [o.bug.number for o in outcomes if "witness" in o.falls] == chosen


@pytest.mark.sim
def test_the_case_is_counted_right(simulator: Simulator, tmp_path: Path) -> None:
    """Through three stages, with cycles in which nothing is sent."""
    bug, other = listed(FMA, 75, 108)  # the run ends when no bug is left: the other stays
    name, witness = campaign.witness(bug)
    setting, path = FMA.setting(name), tmp_path / "cases"
    bench = Bench(FMA, [bug, other], tmp_path, simulator)
    dull = (0x3C00, 0x3C00, 0x3C00)
    for before in (0, 5, 11):
        stimuli.write_cases(FMA, setting.cases(ONE), [dull] * before + witness + [dull] * 20, path)
        run = bench.run(path, setting)
        assert (run.cases, run.at) == (before + 21, {bug.number: before + 1})
    wrong = path.read_text().splitlines()
    wrong[3] = wrong[3].replace("4000", "4001")
    path.write_text("\n".join(wrong))
    with pytest.raises(Error, match="the correct circuit fails on"):
        bench.run(path, setting)


@pytest.mark.full
@pytest.mark.sim
def test_bugs_behind_the_input_defect(simulator: Simulator, tmp_path: Path) -> None:
    source, examples = tmp_path / "fp16_fma.sv", FMA.source.parents[1]
    source.write_text(selector.source(FMA, listed(FMA, 16, 75)))
    generate(FMA.setting("rne").cases(Size(1_000)), tmp_path / "vectors")
    sources, plusargs = [examples / "fp16_fma" / "tb.sv", source], [f"+vectors={tmp_path / 'vectors'}"]
    run = simulator.run(sources, "tb", work_dir=tmp_path, include_dirs=[examples / "common"], plusargs=plusargs)
    assert run.passed, run.output
    command = [*simulator.command("tb", tmp_path), *plusargs]
    for number, passes in ((0, True), (1, False), (16, False), (17, True)):
        shown = subprocess.run([*command, f"+defect={number}"], capture_output=True, text=True, check=False)
        assert ("PASS: 1000 of 1000 vectors" in shown.stdout) == passes, shown.stdout


# ------------------------------------------------------------ through verify


def test_every_example_with_planted_bugs_is_verified(tmp_path: Path) -> None:
    sources = [f for f in sorted((TOP / "docs" / "examples").glob("*/*.*v*")) if f.suffix in (".sv", ".vhd")]
    planted = {f for f in sources if re.search("plants a bug|Planted bugs", f.read_text())}
    known = planted_circuits()
    assert {c.source for c in known.values()} == planted | {CONVERTER.source}
    assert sum(len(c.bugs) for c in known.values()) == 216
    for circuit in known.values():
        texts = [circuit.sources(bug, tmp_path)[-1].read_text() for bug in circuit.bugs]
        assert len(set(texts)) == (1 if circuit.source.suffix == ".vhd" else len(texts)), circuit.name


@pytest.mark.full
@pytest.mark.sim
@pytest.mark.extra("pyslang")
@pytest.mark.parametrize(
    ("name", "number", "says"), [("fp_convert_injected", 6, "tininess = before"), ("tanh_bf16", 10, "c2")]
)
def test_a_planted_bug_is_verified(name: str, number: int, says: str, simulator: Simulator, tmp_path: Path) -> None:
    circuit = planted_circuits()[name]
    (bug,) = (b for b in circuit.bugs if b.number == number)
    row = verified(circuit, bug, tmp_path, 400, None, simulator)
    assert row.verdict == NAMED, row
    assert says in row.says


# ------------------------------------------------------ cases, tables, errors


def test_testfloats_method_has_its_counts() -> None:
    """Level 1 of Berkeley TestFloat: 46,464 cases for two operands, 6,133,248 for three."""
    fp16 = get_format("fp16")
    directed = testfloat.directed(fp16)
    assert len(set(directed)) == 88
    assert [len(testfloat.groups(n)) * 88**n for n in (1, 2, 3)] == [176, 46_464, 6_133_248]
    cycle = list(itertools.islice(testfloat.cases([fp16, fp16], 0), 46_464))
    assert set(itertools.product(directed, repeat=2)) <= set(cycle)


def test_a_table_of_outcomes() -> None:
    outcomes = [
        outcome(1, vectors=3, random=50),
        outcome(2, vectors=1),
        outcome(3, vectors=7, random=9),
        outcome(4),
        replace(outcome(5), bug=Bug(5, "none", equivalent="It changes nothing.")),
    ]
    rows = [tuple(row.values()) for _, _, row in report.summaries(outcomes, ("vectors", "random", "testfloat"))]
    assert rows == [(4, 3, 1, 3, None, None), (4, 2, 2, 50, None, None)]
    text = report.text(outcomes, ("vectors", "random"), Size(100))
    assert "shown by no case of vectors:\n  c 4 bug 4\n      needs: luck\n      shown by: rne 0 0\n" in text
    assert "c   5 none: equivalent" in text
    assert json.loads(report.as_json(outcomes, ("vectors",), Size(100)))["summary"][0]["median"] == 3
    assert report.unproven(outcomes) == [outcomes[3]]


def test_a_bug_that_shows_is_not_equivalent() -> None:
    quiet, loud = (replace(o, bug=Bug(5, "none", equivalent="So.")) for o in (outcome(5), outcome(5, random=7)))
    campaign.refuse_equivalent([outcome(1, random=3), quiet])
    with pytest.raises(Error, match="c 5: said to be equivalent, but it shows"):
        campaign.refuse_equivalent([quiet, loud])


def outcome(number: int, **cases: int) -> campaign.Outcome:
    bug = Bug(number, f"bug {number}", witness="rne 0 0", needs="luck")
    falls = {method: campaign.Fall(case, "rne") for method, case in cases.items()}
    return campaign.Outcome("c", bug, ("vectors", "random"), falls)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fp16_fam"], "unknown circuit 'fp16_fam'; did you mean fp16_fma?"),
        (["fp16_fma", "--bug", "999"], "fp16_fma has no bug 999; it has 1 to 120"),
        (["--source", "x.sv"], "--source: name one circuit"),
        (["fp32_to_fp8_e4m3", "--source", "x.sv"], "has no input `defect`"),
        (["-n", "0"], "-n 0: at least 1 case"),
    ],
)
def test_bad_requests(arguments: Sequence[str], message: str) -> None:
    command = [sys.executable, "-m", "tests.campaigns.mutation", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TOP, check=False)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
