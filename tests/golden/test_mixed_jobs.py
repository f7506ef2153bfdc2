"""Mixed sets by several processes: the directed cases of the parts are found in them, and no byte depends on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from softfloat_ref.base import disk_cache
from softfloat_ref.base.executors import Workers, workers
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.kinds import mixed
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.units import MixedUnit, OperationUnit

PARTS = tuple(OperationUnit.make("add", fmt, policy="riscv") for fmt in ("fp16", "bf16"))
VECTORS = VectorSet(MixedUnit(PARTS), 2000, seed=3, unboxed=10)


def test_the_bytes_do_not_depend_on_the_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents: list[dict[str, bytes]] = []
    for jobs in (0, 1, 2):
        monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path / f"cache{jobs}"))
        told: list[tuple[str, int]] = []
        vectors = VectorSet.from_dict(VECTORS.to_dict())
        with workers(jobs or 1) as pool:
            generate(
                vectors, tmp_path / str(jobs), (), pool if jobs else None, advance=lambda *x, to=told: to.append(x)
            )
        contents.append({p.name: p.read_bytes() for p in (tmp_path / str(jobs)).iterdir()})
        assert told[:2] == [(p.label, 1000) for p in VECTORS.unit.parts]
        assert sum(n for _, n in told) == 2 * VECTORS.count
    assert contents[0] == contents[1] == contents[2]


def test_cases_that_workers_found_are_not_sought_again(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = VectorSet.from_dict(VECTORS.to_dict())
    expected = list(VECTORS.inputs())
    monkeypatch.setenv(disk_cache.VARIABLE, "off")
    vectors.cases.prepare(Workers(), lambda label, cases: None)
    monkeypatch.setattr(mixed.Cases, "_directed", None)
    assert list(vectors.inputs()) == expected
