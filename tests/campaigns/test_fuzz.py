"""A slice of the fuzzing of every reader (tests/campaigns/fuzz), and that its own checks can fail."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path

import pytest
from fuzz import bounds, guard
from fuzz.__main__ import NAMES, fuzz
from fuzz.reader import Reader

from softfloat_ref.base.errors import Error

pytestmark = pytest.mark.usefixtures("nothing_kept")  # the inputs may open no file outside their folder
COUNT = int(os.environ.get("FUZZ_COUNT", "100"))
EXTRA = {"safetensors", "model_safetensors", "model_onnx"}  # readers of an extra's files


@pytest.mark.full
def test_every_reader_is_fuzzed(readers: dict[str, Reader]) -> None:
    assert set(NAMES) - set(readers) <= EXTRA
    assert set(readers) <= set(NAMES)


@pytest.mark.full(keep=7)
@pytest.mark.parametrize("name", NAMES)
def test_broken_input_is_refused(name: str, readers: dict[str, Reader], work: Path) -> None:
    if name not in readers:
        pytest.skip(f"needs {name}")
    _, faults = fuzz(readers[name], work, range(COUNT))
    assert not faults


def test_examples_are_valid(readers: dict[str, Reader], work: Path) -> None:
    """So what is fuzzed lies close to what is read."""
    for reader in readers.values():
        assert any(guard.call(lambda data=x, r=reader: r.run(data, work), reader.others) for x in reader.examples), (
            reader
        )  # type: ignore[misc]


def test_an_input_is_its_number(readers: dict[str, Reader]) -> None:
    for reader in readers.values():
        assert [reader.input(n) for n in range(9)] == [reader.input(n) for n in range(9)]
    assert readers["formats"].input(7) != readers["formats"].input(8)


HARM = {
    "KeyError": lambda: {}["x"],
    "more than 0.2 s": lambda: sum(1 for _ in iter(int, 1)),  # without end
    "MemoryError": lambda: bytearray(1 << 40),
    "open": lambda: open("../outside.toml").close(),
    "exec": lambda: eval("1 + 1"),
    "pickle": lambda: pickle.loads(pickle.dumps(Path)),
    "os.system": lambda: os.system("true"),
    "no one line": lambda: (_ for _ in ()).throw(type("Other", (Error,), {"__str__": lambda _: "a\nb"})()),
}


@pytest.mark.parametrize("what", HARM)
def test_harm_is_seen(what: str, work: Path) -> None:
    with pytest.raises(guard.Fault, match=what):
        guard.call(HARM[what], seconds=0.2)


BOUNDED = ("policies", "manifest_scalar", "model_pt", "model_npz", "results", "mnist_packed")


HARMFUL = {
    "dies": lambda: os.kill(os.getpid(), 15),
    "ends": lambda: os._exit(3),
    "takes memory": lambda: bytearray(1 << 40),
    "stays": lambda: time.sleep(60),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_time_and_memory_are_bounded(name: str, readers: dict[str, Reader], work: Path) -> None:
    total = bounds.measured(readers[name], work, 10_000, 100)
    assert (total.inputs, total.faults) == (100, [])
    assert total.accepted + total.refused == 100
    assert total.slowest[0] < guard.SECONDS
    assert total.largest[0] < 256


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("harm", HARMFUL)
def test_a_process_that_an_input_ends(harm: str, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as a fault, and the next input is read by another process."""
    monkeypatch.setattr(bounds, "SECONDS", 1.0)
    reader = Reader("x", [b"good"], lambda data, _: HARMFUL[harm]() if data == b"bad" else None)  # type: ignore[func-returns-value]
    monkeypatch.setattr(Reader, "input", lambda self, number: b"bad" if number == 3 else b"good")
    total = bounds.measured(reader, work, 0, 6)
    assert (total.inputs, total.accepted, len(total.faults)) == (6, 5, 1)
    assert total.faults[0].startswith("x 3: ")
