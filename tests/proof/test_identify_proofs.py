"""Proofs in an identification: which of the models left are the same, and questions that no pool has."""

from __future__ import annotations

import json
import sys

import pytest
from command import run

from softfloat_ref.app import identify as command
from softfloat_ref.diagnosis.asking import ask_model
from softfloat_ref.diagnosis.kinds import examiner
from softfloat_ref.diagnosis.selftest import subject
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.proof.equal import compare_units
from softfloat_ref.units import OperationUnit

pytestmark = pytest.mark.extra("bitwuzla")
ADDER = f"{sys.executable} -m softfloat_ref eval add --fmt bf16 -"


def identify(*more: str) -> str:
    done = run("identify", "add", "--fmt", "bf16", "--dut", ADDER, "-n", "50", *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_models_left_are_proved_the_same() -> None:
    """A sum is never tiny and inexact."""
    assert "\n  proved to give the same for every input: tininess = before\n" in identify()
    assert json.loads(identify("--json"))["proved"] == ["tininess = before"]


def test_without_proofs() -> None:
    text = identify("--prove", "0")
    assert "proved" not in text
    assert "or: tininess = before, which no question tried" in text


def test_the_hint_without_a_prover(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "_HAS_PROVER", False)
    words = ["add", "--fmt", "bf16", "--dut", ADDER, "-n", "50"]
    command.command.main(words, standalone_mode=False)
    assert capsys.readouterr().out.endswith(
        "\n  pip install 'softfloat-ref[prove]' to prove which of these give the same for every input\n"
    )


@pytest.mark.parametrize("flags", [True, False])
def test_questions_of_the_solver(flags: bool) -> None:
    """With no question of its own, an identification is by the solver's alone."""
    vectors = subject("mul", "fp8_e5m2", None)
    device = OperationUnit.make("mul", "fp8_e5m2", policy=get_policy(rounding="rdn"))
    answer = examiner(vectors)
    answer.questions, answer.every = [], None
    answer.judge = lambda a, b, flags: compare_units(a, b, flags, 10)
    ask = ask_model(device, lambda q: tuple(device.answer(q)), flags)
    identified = answer.identify(ask, [])
    assert identified.name == "rounding = rdn"
    assert identified.questions > 3


def test_judged() -> None:
    one, two = (OperationUnit.make("mul", "fp16", policy=get_policy(tininess=x)) for x in ("after", "before"))
    assert compare_units(one, two, False, 10) is True
    inputs = compare_units(one, two, True, 10)
    assert isinstance(inputs, tuple)
    assert one.answer(inputs) != two.answer(inputs)
    assert compare_units(*(OperationUnit.make("exp", "fp16", policy=p) for p in ("ieee", "arm")), True, 10) is None
