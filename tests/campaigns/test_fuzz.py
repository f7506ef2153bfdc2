"""A slice of the fuzzing of every reader (tests/campaigns/fuzz), and that its own checks can fail."""

from __future__ import annotations

import json
import os
import pickle
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz import bounds, guard
from fuzz.__main__ import MANIFESTS, NAMES, all_readers, fuzz, warm, workplace
from fuzz.reader import Reader

from softfloat_ref.base.errors import Error

pytestmark = pytest.mark.usefixtures("nothing_kept")  # the inputs may open no file outside their folder
COUNT = int(os.environ.get("FUZZ_COUNT", "100"))
OUTSIDE = "../outside.toml:a"
PLAIN = "exponent_bits = 4\nmantissa_bits = 3\nbias = 7\n"
EXTRA = {
    "safetensors",
    "model_safetensors",
    "model_quantized",
    "model_onnx",
    "model_dequantized",
}  # readers of an extra's files


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = workplace(tmp_path_factory.mktemp("fuzz"))
    with guard.limits(folder):
        yield folder


@pytest.fixture(scope="module")
def readers(work: Path) -> dict[str, Reader]:
    return all_readers(work)


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


@pytest.mark.full
def test_examples_are_valid(readers: dict[str, Reader], work: Path) -> None:
    """So what is fuzzed lies close to what is read."""
    for reader in readers.values():
        warm(reader, work)
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


# -- what it found with the readers' examples --------------------------------------------------------------------------


def test_a_journal_with_another_count_is_not_trusted(work: Path, readers: dict[str, Reader]) -> None:
    """Counts stand in it alone: a wrong one would become the manifest's."""
    reader = readers["journal"]
    lines = reader.examples[0].splitlines()
    rng = random.Random(1)
    for key in ("cases", "lines", "part"):
        entry = json.loads(lines[-1])
        entry[key] += rng.randrange(1, 9)
        data = b"\n".join([*lines[:-1], json.dumps(entry).encode()]) + b"\n"
        assert guard.call(lambda data=data: reader.run(data, work))  # type: ignore[misc]


def referring(value: Any) -> Iterator[Any]:
    """A JSON tree with one of its values a reference to a file, or one of its tables like another; each in turn."""
    if isinstance(value, dict):
        yield {**value, "like": OUTSIDE}
        yield {"like": OUTSIDE}
        yield from ({**value, key: new} for key, old in value.items() for new in referring(old))
    elif isinstance(value, list):
        for old in value[:40]:
            yield from ([new if x is old else x for x in value] for new in referring(old))
    yield OUTSIDE


@pytest.mark.full
@pytest.mark.parametrize("name", MANIFESTS)
def test_a_stored_definition_refers_to_nothing(name: str, readers: dict[str, Reader], work: Path) -> None:
    """No file that a manifest names where it defines something is opened, wherever the name stands."""
    (Path(work).parent / "outside.toml").write_text(
        f"[formats.a]\n{PLAIN}[profiles.a]\n[accumulators.a]\nlike = 'exact'\n"
    )
    reader, tried, accepted = readers[f"manifest_{name}"], 0, 0
    manifest = json.loads(reader.examples[0])
    for changed in referring(manifest["set"]):
        data = json.dumps({**manifest, "set": changed}).encode()
        accepted += guard.call(lambda data=data: reader.run(data, work))  # type: ignore[misc]
        tried += 1
    assert tried > 20
    assert accepted < tried / 2


def test_a_traces_command_is_whatever_it_was(readers: dict[str, Reader], work: Path) -> None:
    """As in all other manifests."""
    reader = readers["manifest_trace"]
    manifest = json.loads(reader.examples[0])
    for command in (["a"], [], None, 5, "text"):
        assert guard.call(
            lambda command=command: reader.run(json.dumps({**manifest, "command": command}).encode(), work)
        )


def test_a_tensor_of_a_trace_is_named_in_ascii(readers: dict[str, Reader], work: Path) -> None:
    reader = readers["manifest_trace"]
    text = reader.examples[0].decode()
    name = json.loads(text)["set"]["tensors"][0]["name"]
    reader.run(text.encode(), work)
    with pytest.raises(Error, match="is not the name of a tensor"):
        reader.run(text.replace(name, f"{name}\uff11").encode(), work)
