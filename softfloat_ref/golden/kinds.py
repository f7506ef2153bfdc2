"""The kinds of vector sets, and reading one from a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softfloat_ref.golden.dots import DOT, DotSet
from softfloat_ref.golden.intermediate import KEY, IntermediateSet
from softfloat_ref.golden.matmuls import MATMUL, MatmulSet
from softfloat_ref.golden.mixed import MIXED, MixedSet
from softfloat_ref.golden.sets import VectorSet

AnySet = VectorSet | MixedSet | DotSet | IntermediateSet


def read_set(table: Mapping[str, Any]) -> AnySet | MatmulSet:
    """The set a manifest stores, of any kind. Raises Error for one that this version cannot make."""
    if table.get("op") == MIXED:
        return MixedSet.from_dict(table)
    if table.get("op") == MATMUL:
        return MatmulSet.from_dict(table)
    if table.get("op") == DOT:
        return DotSet.from_dict(table)
    if table.get(KEY):
        return IntermediateSet(VectorSet.from_dict(table))
    return VectorSet.from_dict(table)
