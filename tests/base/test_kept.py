"""Results kept on disk: found again, and never where anything differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from softfloat_ref.base import kept, sources
from softfloat_ref.base.kept import Origin
from softfloat_ref.coverage.engine import directed, measure
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet

ORIGIN = Origin("softfloat_ref.base.errors", "{}")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(kept, "WORTH_S", 0.0)
    directed.directed.cache_clear()
    return tmp_path / "kept"


def test_a_result_is_found_again() -> None:
    file = kept.place(ORIGIN, "x", 1)
    assert file is not None
    assert kept.read(file) is None
    kept.keep(file, {"a": [1, 1 << 100]})
    assert kept.read(kept.place(ORIGIN, "x", 1)) == {"a": [1, 1 << 100]}
    assert kept.read(kept.place(ORIGIN, "x", 2)) is None
    assert kept.read(kept.place(Origin(ORIGIN.module, "{1}"), "x", 1)) is None


def test_other_sources_have_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept.place(ORIGIN, "x")
    monkeypatch.setattr(kept, "stamp", lambda module: "changed")
    assert kept.place(ORIGIN, "x") != before


def test_a_stamp_covers_all_that_a_module_imports() -> None:
    """Those too whose list of names has a comment in parentheses, such as the operations' modules."""
    found, waiting = set[str](), ["softfloat_ref.golden.kinds.operation"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += sources._read(name)[1]
    wanted = ("rounding", "operations.real_functions.activations", "operations.arithmetic", "operations.order")
    assert {f"softfloat_ref.oracle.{x}" for x in wanted} <= found


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b"null", b"\xff", None])
def test_a_damaged_file_is_not_read(damage: bytes | None) -> None:
    file = kept.place(ORIGIN, "x")
    assert file is not None
    kept.keep(file, [1, 2, 3])
    text = file.read_bytes()
    file.write_bytes(text.replace(b"2", b"4") if damage is None else damage)
    assert kept.read(file) is None


@pytest.mark.parametrize("value", ["off", "/proc/nowhere"])
def test_nothing_is_kept(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kept.VARIABLE, value)
    file = kept.place(ORIGIN, "x")
    kept.keep(file, [1])
    assert kept.read(file) is None


def test_nothing_is_kept_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError

    monkeypatch.delenv(kept.VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert kept.place(ORIGIN, "x") is None


def made(count: int) -> Any:
    directed.directed.cache_clear()
    return VectorSet.make("add", "fp8_e4m3", count).cases.directed()


def test_directed_cases_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = {n: made(n) for n in (100, 40, 100_000)}
    assert len(fresh[100_000]) < 50_000  # so the last ones are all there are

    def unwanted(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(directed, "stream", unwanted)
    for n in (100_000, 200_000, 100, 40):
        assert made(n) == (fresh.get(n) or fresh[100_000])


def test_more_than_is_kept_is_solved(folder: Path) -> None:
    few = made(40)
    assert len(few) == 20
    assert made(60)[:20] == few
    assert len(made(60)) == 30


def test_a_users_own_operation_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = VectorSet.make("add", "fp8_e4m3", 10).cases
    assert cases.origin is not None
    monkeypatch.setattr(cases.unit.signature.operation.function, "__module__", "mine")
    assert cases.origin is None


def test_manifests_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = VectorSet.make("mul", "fp8_e5m2", 3000)
    manifests = []
    for i, value in enumerate((str(tmp_path / "kept"), str(tmp_path / "kept"), "off")):
        monkeypatch.setenv(kept.VARIABLE, value)
        directed.directed.cache_clear()

        measure.summary.cache_clear()
        manifests.append(json.dumps(generate(vectors, tmp_path / str(i))))
    assert manifests[0] == manifests[1] == manifests[2]
