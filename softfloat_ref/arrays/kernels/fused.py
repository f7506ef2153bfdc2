"""Selects the loop of kernels/fused_loops.py for a dot product, and gives it its operands."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import plans
from softfloat_ref.arrays.kernels.opcodes import PLAIN_TARGET
from softfloat_ref.arrays.kernels.program import FUSE, NEVER, ROUND, Program
from softfloat_ref.oracle.formats import CATALOGUE
from softfloat_ref.oracle.rounding import Target

MIN_COLUMNS: Final = 16  # columns for which computing many at once pays
_PRODUCT_LIMIT: Final = 1 << 31  # a product's significand is below
_EXPONENT_LIMIT: Final = 400  # exponents of operands, for which sums are normal numbers of float64
FP64: Final = CATALOGUE["fp64"]
Array = NDArray[Any]


def fits(program: Program, left: Array, right: Array) -> bool:
    """Whether a program is one fused sum of the products and the running result with one rounding, and whether the
    operands, as of `loops.dot_matrix`, are finite and narrow. left: (5, rows, k), right: (5, columns, k)."""
    if program.code[:, 0].tolist() != [FUSE, ROUND] or right.shape[1] < MIN_COLUMNS:
        return False
    slots, terms = program.inputs[:, 0], program.inputs[:, 1:]
    whole = sorted(slots.tolist()) == list(range(program.step + 1))
    same = (terms == terms[0]).all() and terms[0, 2] == NEVER and program.code[0, 6] == 0
    target = _target(program)
    plain = target._replace(**{**PLAIN_TARGET, "mode": target.mode}) == target
    if not (whole and same and plain) or left[4].any() or right[4].any():
        return False
    near = all(np.abs(x[2]).max(initial=0) < _EXPONENT_LIMIT for x in (left, right))
    short = int(terms[0, 0]) + 3 + program.step.bit_length() <= FP64.precision  # a sum; a product has 2 integer bits
    return bool(near and short and int(left[0].max(initial=0)) * int(right[0].max(initial=0)) < _PRODUCT_LIMIT)


def multiply(
    program: Program, left: Array, right: Array, c: Array, shift: int, fixed: int, sign: int, nan: int, result: Array
) -> tuple[Array, Array]:
    """The codes of left @ right + c, and which are left to the oracle; requires `fits`. Arguments as for
    `loops.dot_matrix`; sign: the result's sign bit."""
    from softfloat_ref.arrays.kernels.fused_loops import EMPTY, LANES, fused_matrix

    (_, rows, k), columns = left.shape, right.shape[1]
    steps, wide = -(-k // program.step) * program.step, -(-columns // LANES) * LANES
    a, b = (_padded(x, n, steps, EMPTY) for x, n in ((left, rows), (right, wide)))
    b = np.ascontiguousarray(b.swapaxes(1, 2))
    b[1][b[1] != EMPTY] += fixed
    start = np.zeros((rows, wide), np.int64)
    start[:, :columns] = c
    out, special = np.empty((rows, wide), np.int64), np.empty((rows, wide), np.uint8)
    _, bits, down, _ = program.inputs[0].tolist()
    floor, always = program.code[0, 4:6].tolist()
    setting = np.array([bits, shift, floor, always, down, program.widen, sign, nan], np.int64)
    target = np.array(plans.target_numbers(_target(program), FP64), np.uint64)
    fused_matrix(a[0], a[1], b[0], b[1], start, program.step, setting, target, result, out, special)
    return out[:, :columns], special[:, :columns]


def _target(program: Program) -> Target:
    return Target(*program.targets[program.code[1, 4]].tolist())


def _padded(x: Array, rows: int, k: int, empty: int) -> Array:
    """Significands with signs and exponents, (2, rows, k), with zeros added up to that shape."""
    padded = np.zeros((2, rows, k), np.int32)
    padded[1] = empty
    own = padded[:, : x.shape[1], : x.shape[2]]
    own[0] = np.where(x[1] != 0, -x[0], x[0])
    own[1] = np.where(x[0] != 0, x[2], empty)
    return padded
