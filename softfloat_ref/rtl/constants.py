"""Operands that have one value in all vectors of a set, so that a module may do without them."""

from __future__ import annotations

from softfloat_ref.golden.sets import VectorSet


def constant_operands(vectors: VectorSet) -> dict[str, tuple[int, ...]]:
    """The operands that the set's range leaves one code for each lane, with these codes; of a set of one operation."""
    if vectors.within is None or len(vectors.unit.parts) > 1:
        return {}
    allowed, constant, at = vectors.within.lanes, dict[str, tuple[int, ...]](), 0
    for field in vectors.unit.inputs:
        sets = [allowed.get(i, ()) for i in range(at, at + field.lanes)]
        if all(len(x) == 1 and x[0].low == x[0].high for x in sets):
            constant[field.name] = tuple(x[0].low for x in sets)
        at += field.lanes
    return constant
