"""Answers to many operand lines at once; imported only when a stream turns out to be long."""

from __future__ import annotations

import numpy as np

from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.arrays.operations import COMPILED_FROM, Bulk
from softfloat_ref.golden import bulk
from softfloat_ref.oracle.sources import RandomSource
from softfloat_ref.units import OperationUnit


def answers(unit: OperationUnit, source: RandomSource | None, position: int, block: bytes) -> bytes | None:
    """TestFloat lines for operand lines; None if any line is not plain, does not fit the formats, or has no result.

    source: where the random words come from, starting at `position`; without one, they are each line's last operand.
    """
    inputs = bulk.parse(block)
    n, arity, widths = unit.policy.random_count, len(unit.formats), [f.width for f in unit.inputs]
    if inputs is None or len(inputs) != len(widths) - (source is not None):
        return None
    rows = np.empty((len(widths) + 2, inputs.shape[1]), np.int64)
    rows[: len(inputs)] = inputs
    if source is not None:
        rows[arity] = source.array(n, position, inputs.shape[1]).view(np.int64)
    if any(w < 64 and int(np.bitwise_or.reduce(row)) >> w for row, w in zip(rows, widths, strict=False)):
        return None
    words = rows[arity] if n else None
    rows[-2], flags = Bulk(unit.signature, unit.policy, COMPILED_FROM)(list(rows[:arity]), words)
    if (flags == UNKNOWN).any():
        return None
    rows[-1] = flags
    return bulk.text(rows, unit.fields).tobytes()
