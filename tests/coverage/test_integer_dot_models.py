"""Coverage of dot products of integers: directed cases hit every bin, of small units those that are listed are all."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from softfloat_ref.coverage.integer_dot import MODELS, IntegerDotSetting
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.units import IntegerDotUnit


@pytest.mark.parametrize(
    ("fmt", "options"),
    [
        ("a=u8,b=i8", {}),
        ("i8", {"acc": "saturate", "k": 1}),
        ("i4", {"out": "i16", "acc": "saturate/1", "k": 6}),
        ("u4", {"out": "u12", "acc": "saturate/2", "k": 8, "steps": True}),
        ("i16", {"out": "i64", "acc": "wrap/1", "k": 2}),
    ],
)
def test_directed_cases_hit_every_bin(fmt: str, options: dict[str, Any]) -> None:
    vectors = VectorSet.make("integer_dot", fmt, 2000, **options)
    assert vectors.coverage is not None
    hit: Counter[str] = Counter()
    for tag, case in vectors.directed():
        hits = vectors.coverage.hits(case)
        assert tag in hits
        hit.update(hits)
    assert [b.id for bins in vectors.coverage.bins().values() for b in bins if not hit[b.id]] == []


@pytest.mark.parametrize("acc", ["wrap", "saturate/1", "saturate"])
@pytest.mark.parametrize(("a", "b", "c"), [("i2", "i2", "i4"), ("u2", "i2", "i3"), ("u2", "u2", "u4")])
def test_every_cell_that_some_case_hits_is_a_bin(a: str, b: str, c: str, acc: str) -> None:
    """Of all cases of a small unit."""
    unit = IntegerDotUnit.make(f"a={a},b={b},c={c}", acc=acc, k=2)
    where = IntegerDotSetting(unit)
    widths = [f.width for f in unit.inputs for _ in range(f.lanes)]
    cells: dict[str, set[object]] = {m.id: set() for m in MODELS}
    for line in itertools.product(*(range(1 << w) for w in widths)):
        events = where.events(line)
        for model in MODELS:
            cells[model.id].update(model.hits(events))
    for model in MODELS:
        assert cells[model.id] == model.bins(where).keys(), model.id
