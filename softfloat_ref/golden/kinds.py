"""The kinds of vector sets, and reading one from a manifest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from softfloat_ref.coverage.directed import EXHAUSTIVE, LEVELS
from softfloat_ref.errors import Error
from softfloat_ref.formats import in_full
from softfloat_ref.golden.dots import DOT, DotSet
from softfloat_ref.golden.intermediate import KEY, IntermediateSet
from softfloat_ref.golden.matmuls import MATMUL, MatmulSet
from softfloat_ref.golden.mixed import MIXED, MixedSet
from softfloat_ref.golden.sets import VectorSet, level_count
from softfloat_ref.golden.trace.model import TRACE, TraceSet

AnySet = VectorSet | MixedSet | DotSet | IntermediateSet


@in_full()
def read_set(table: Mapping[str, Any]) -> AnySet | MatmulSet | TraceSet:
    """The set a manifest stores, of any kind. Raises Error for one that this version cannot make."""
    if table.get("op") == TRACE:
        return TraceSet.from_dict(table)
    if table.get("op") == MIXED:
        return MixedSet.from_dict(table)
    if table.get("op") == MATMUL:
        return MatmulSet.from_dict(table)
    if table.get("op") == DOT:
        return DotSet.from_dict(table)
    if table.get(KEY):
        return IntermediateSet(VectorSet.from_dict(table))
    return VectorSet.from_dict(table)


def at_level(vectors: AnySet, level: str, count: int | None = None) -> AnySet:
    """The set at a level, with its number of cases or another. Raises Error for a set that cannot be exhaustive."""
    if isinstance(vectors, VectorSet):
        cases = level_count(vectors.op, vectors.formats, level, count)
        return dataclasses.replace(vectors, level=level, count=cases)
    if level == EXHAUSTIVE:
        raise Error(f"{vectors.name}: exhaustive is for sets of one scalar operation")
    if isinstance(vectors, DotSet):
        return dataclasses.replace(vectors, level=level, count=count or LEVELS[level].blocks)
    return dataclasses.replace(vectors, count=count or LEVELS[level].cases)  # type: ignore[arg-type]


def of_count(vectors: AnySet, count: int) -> AnySet:
    """The set with so many cases; one that was exhaustive is no more."""
    if isinstance(vectors, VectorSet) and vectors.level == EXHAUSTIVE:
        return dataclasses.replace(vectors, level="", count=count)
    return dataclasses.replace(vectors, count=count)  # type: ignore[arg-type]
