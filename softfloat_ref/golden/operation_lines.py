"""The text of large sets of operations from one compiled loop: operands, results, flags and their lines."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.objects import Loop
from softfloat_ref.arrays.kernels.op_plans import Plan, plan
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE
from softfloat_ref.golden import bulk
from softfloat_ref.golden.bulk import CaseRange

CHUNKS_A_CALL: Final = 4  # chunks made in one call, except where directed cases meet random ones
_LINES_AT_ONCE: Final = 512  # lines at a time: their columns and words stay in the first cache
_loop: Final = Loop("softfloat_ref.golden.compiled", "operation_lines")


class Texts:
    """The text of any cases of a set, by their place."""

    def __init__(self, vectors: Any, op_plan: Plan) -> None:
        formats, self.vectors, self.plan = vectors.unit.formats, vectors, op_plan
        self.digits = np.array([f.digits for f in vectors.fields], np.int64)
        kinds = [bulk.kind_arrays(f) for f in formats]
        longest = max(table.size for _, _, table in kinds)
        self.kinds = (
            np.array([mask for mask, _, _ in kinds]),
            np.array([rows for _, rows, _ in kinds]),
            np.array([np.pad(table, (0, longest - table.size)) for _, _, table in kinds]),
        )

    def __call__(self, place: CaseRange) -> NDArray[np.uint8] | None:
        """The lines of the cases there; None if the oracle must compute any of them."""
        operands = len(self.kinds[0])
        draw = np.array([place.size, self.vectors.seed, bulk.STREAM, place.first or 0], np.uint64)
        if place.first is None:
            inputs = np.ascontiguousarray(bulk.columns_at(self.vectors, place))
        else:
            inputs = np.empty((operands, 0), np.int64)
        rooms = (
            np.empty(_LINES_AT_ONCE * bulk.WORDS_A_CODE * operands, np.uint64),
            np.empty((operands + 2, _LINES_AT_ONCE), np.int64),
            np.empty(_LINES_AT_ONCE, np.uint8),
            np.empty((int((-(-self.digits // 8)).sum()), _LINES_AT_ONCE + 1), np.uint64),
        )
        out, size = bulk.room_for_text(self.digits, place.size)
        done = np.zeros(1, np.int64)
        _loop(draw.view(np.int64), *self.kinds, *self.plan, inputs, self.digits, *rooms, out, done)
        return out[:size] if done[0] == place.size else None


def texts(vectors: Any) -> Texts | None:
    """The texts of a set; None if its lines need more than the loop has."""
    unit = vectors.unit
    if unit.policy.random_count or vectors.level == EXHAUSTIVE:
        return None
    op_plan = plan(unit.signature, unit.policy)
    return None if op_plan is None else Texts(vectors, op_plan)


def joined_ranges(vectors: Any, chunks: Container[int]) -> Iterator[tuple[int, CaseRange]]:
    """Those chunks, some neighbours as one place, with the number of the first."""
    waiting: tuple[int, CaseRange] | None = None
    for number, place in bulk.case_ranges(vectors, chunks):
        if waiting is not None:
            first, before = waiting
            if (
                number // CHUNKS_A_CALL == first // CHUNKS_A_CALL
                and before.first is not None
                and place.first is not None
            ):
                waiting = first, before._replace(size=before.size + place.size)
                continue
            yield waiting
        waiting = number, place
    if waiting is not None:
        yield waiting
