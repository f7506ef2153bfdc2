"""Results kept on disk: found again, and never where anything differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from softfloat_ref.base import disk_cache
from softfloat_ref.base.disk_cache import CacheKey
from softfloat_ref.coverage.engine import directed, measure
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet

ORIGIN = CacheKey("softfloat_ref.base.errors", "{}")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(disk_cache, "WORTH_S", 0.0)
    directed.directed.cache_clear()
    return tmp_path / "kept"


def test_a_result_is_found_again() -> None:
    file = disk_cache.path_for(ORIGIN, "x", 1)
    assert file is not None
    assert disk_cache.load(file) is None
    disk_cache.store(file, {"a": [1, 1 << 100]})
    assert disk_cache.load(disk_cache.path_for(ORIGIN, "x", 1)) == {"a": [1, 1 << 100]}
    assert disk_cache.load(disk_cache.path_for(ORIGIN, "x", 2)) is None
    assert disk_cache.load(disk_cache.path_for(CacheKey(ORIGIN.module, "{1}"), "x", 1)) is None


def test_other_sources_have_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    before = disk_cache.path_for(ORIGIN, "x")
    monkeypatch.setattr(disk_cache, "stamp", lambda module: "changed")
    assert disk_cache.path_for(ORIGIN, "x") != before


def test_a_stamp_covers_all_that_a_module_imports() -> None:
    """Those too whose list of names has a comment in parentheses, such as the operations' modules."""
    modules, waiting = set[str](), ["softfloat_ref.golden.kinds.operation"]
    while waiting:
        name = waiting.pop()
        if name not in modules:
            modules.add(name)
            waiting += disk_cache._read(name)[1]
    wanted = ("rounding", "operations.real_functions.activations", "operations.arithmetic", "operations.order")
    assert {f"softfloat_ref.oracle.{x}" for x in wanted} <= modules


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b"null", b"\xff", None])
def test_a_damaged_file_is_not_read(damage: bytes | None) -> None:
    file = disk_cache.path_for(ORIGIN, "x")
    assert file is not None
    disk_cache.store(file, [1, 2, 3])
    text = file.read_bytes()
    file.write_bytes(text.replace(b"2", b"4") if damage is None else damage)
    assert disk_cache.load(file) is None


@pytest.mark.parametrize("value", ["off", "/proc/nowhere"])
def test_nothing_is_kept(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk_cache.VARIABLE, value)
    file = disk_cache.path_for(ORIGIN, "x")
    disk_cache.store(file, [1])
    assert disk_cache.load(file) is None


def test_nothing_is_kept_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError

    monkeypatch.delenv(disk_cache.VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert disk_cache.path_for(ORIGIN, "x") is None


def made(count: int) -> Any:
    directed.directed.cache_clear()
    return VectorSet.make("add", "fp8_e4m3", count).cases.directed()


@pytest.mark.full
def test_directed_cases_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = {n: made(n) for n in (100, 40, 100_000)}
    assert len(fresh[100_000]) < 50_000  # so the last ones are all there are

    def unwanted(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(directed, "stream", unwanted)
    for n in (100_000, 200_000, 100, 40):
        assert made(n) == (fresh.get(n) or fresh[100_000])


@pytest.mark.full
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
        monkeypatch.setenv(disk_cache.VARIABLE, value)
        directed.directed.cache_clear()

        measure.summary.cache_clear()
        manifests.append(json.dumps(generate(vectors, tmp_path / str(i))))
    assert manifests[0] == manifests[1] == manifests[2]
