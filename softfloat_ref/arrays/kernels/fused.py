"""The compiled loop of dot products on units that add the products of a step and the running result in one aligned sum
and round it once, as NVIDIA's do: the results of many columns side by side.

The numbers are those of kernels/loops.py, but signs are folded into significands: zeros have no sign here.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import convert, plans
from softfloat_ref.arrays.kernels.convert import U64
from softfloat_ref.arrays.kernels.jit import compiled, double, double_bits
from softfloat_ref.arrays.kernels.loops import align
from softfloat_ref.arrays.kernels.program import Program
from softfloat_ref.oracle.formats import CATALOGUE

FP64: Final = CATALOGUE["fp64"]
Array = NDArray[Any]

I32: Final = np.int32
LANES: Final = 64  # columns side by side
EMPTY: Final = -(1 << 20)  # the exponent of an operand of zero, of either
_EMPTY: Final = I32(EMPTY // 2)  # a term below is empty
_LOWEST: Final = I32(4 * EMPTY)
BITS, SHIFT, FLOOR, ALWAYS, DOWN, WIDEN, SIGN, NAN_CODE = range(8)  # of `setting`


@compiled(forceinline=True)
def add_product(x: Any, exponent: Any, others: Any, exponents: Any, products: Any, units: Any, largest: Any) -> None:
    """One product of each lane, and its exponent."""
    for lane in range(LANES):
        products[lane] = I32(x * others[lane])
        unit = I32(exponent + exponents[lane])
        units[lane] = unit
        largest[lane] = max(largest[lane], unit)


@compiled(forceinline=True)
def _add(products: Any, units: Any, cuts: Any, down: Any, totals: Any) -> None:
    """Add one term of each lane, aligned to the unit of its sum."""
    for lane in range(LANES):
        value = np.int64(products[lane])
        negative = 1 if value < 0 else 0
        aligned, _ = align(negative, abs(value), np.int64(units[lane]), 62, cuts[lane], down)
        totals[lane] += aligned


@compiled()
def load_running(running: Any, result: Any, sign: Any, values: Any, units: Any) -> None:
    """The running results as terms; one that is not finite as zero."""
    m, emin, inf_code = result[0], result[1], result[2]
    hidden = np.int64(1) << m
    for lane in range(LANES):
        magnitude = running[lane] & (sign - 1)
        field = max(magnitude >> m, np.int64(1))
        significand = magnitude - (field - 1) * hidden
        significand = np.int64(0) if magnitude >= inf_code else significand
        values[lane] = -significand if running[lane] & sign else significand
        units[lane] = emin - m + field - 1 if significand else np.int64(2 * EMPTY)


@compiled()
def _cuts(largest: Any, units: Any, mine: Any, setting: Any, m: Any, cuts: Any) -> None:
    """The unit of each lane's sum. largest: the exponents of the products' units; mine: of the running results'."""
    shift, floor, below = setting[SHIFT], setting[FLOOR], False
    for lane in range(LANES):
        top = max(np.int64(largest[lane]) + shift, mine[lane] + m)
        below |= top < floor
        cuts[lane] = (top if top > _EMPTY else np.int64(0)) - setting[BITS]
    if below:
        _raise(units, mine, setting, cuts)


@compiled()
def _raise(units: Any, mine: Any, setting: Any, cuts: Any) -> None:
    """Raise the units of sums to the least one: of all sums, or of those with a term of zero."""
    for lane in range(LANES):
        empty = setting[ALWAYS] != 0 or mine[lane] < _EMPTY
        for p in range(units.shape[0]):
            empty |= units[p, lane] < _EMPTY
        cuts[lane] = max(cuts[lane], setting[FLOOR] - setting[BITS]) if empty else cuts[lane]


@compiled()
def _round(
    totals: Any, cuts: Any, target: Any, setting: Any, inf_code: Any, wide: Any, codes: Any, running: Any
) -> None:
    """The sums rounded, in place of the running results that are finite. The sums have at most 53 bits."""
    sign, widen = setting[SIGN], setting[WIDEN]
    for lane in range(LANES):
        wide[lane] = double_bits(np.float64(totals[lane]) * double(U64(cuts[lane] + 1023) << U64(52)))
    convert.plain_codes64(wide, codes, convert.plain(target))
    for lane in range(LANES):
        finite = running[lane] & (sign - 1) < inf_code
        running[lane] = np.int64(codes[lane]) << widen if finite else running[lane]


@compiled(nogil=True)
def fused_matrix(
    a: Any, a_units: Any, b: Any, b_units: Any, c: Any, step: int, setting: Any, target: Any, result: Any, out: Any,
    special: Any,
) -> None:  # fmt: skip
    """out[i, j]: the code of c[i, j] + the products of a[i] and b[:, j], `step` at a time.

    a (rows, k), b (k, columns): int32 significands with signs; a_units, b_units: the exponents of their units, EMPTY
    for zeros. Columns are a multiple of LANES, k of the step. setting: fraction bits of the sum, what turns the
    exponent of a product's unit into its encoded exponent, the least exponent of an alignment, whether it holds without
    zeros, whether bits are floored, bits by which the result is widened, its sign bit, the code of NaN (negative: left
    to the oracle, by `special`). target: the fields of a convert.Plain from float64; result: as for `loops.dot_matrix`.
    """
    products, units = np.empty((step, LANES), np.int32), np.empty((step, LANES), np.int32)
    largest, cuts, totals = np.empty(LANES, np.int32), np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    running, values, mine = np.empty(LANES, np.int64), np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    wide, codes = np.empty(LANES, np.uint64), np.empty(LANES, np.uint32)
    down, sign, nan = setting[DOWN], setting[SIGN], setting[NAN_CODE]
    for j in range(0, b.shape[1], LANES):
        for i in range(a.shape[0]):
            running[:] = c[i, j : j + LANES]
            for start in range(0, a.shape[1], step):
                largest[:] = _LOWEST
                for p in range(step):
                    k = start + p
                    others, exponents = b[k, j : j + LANES], b_units[k, j : j + LANES]
                    add_product(a[i, k], a_units[i, k], others, exponents, products[p], units[p], largest)
                load_running(running, result, sign, values, mine)
                _cuts(largest, units, mine, setting, result[0], cuts)
                totals[:] = 0
                _add(values, mine, cuts, down, totals)
                for p in range(step):
                    _add(products[p], units[p], cuts, down, totals)
                _round(totals, cuts, target, setting, result[2], wide, codes, running)
            for lane in range(LANES):
                is_nan = running[lane] & (sign - 1) > result[2]
                out[i, j + lane] = nan if is_nan else running[lane]
                special[i, j + lane] = is_nan and nan < 0


# -- its operands and results -----------------------------------------------------------------------------------------


def multiply(
    program: Program, left: Array, right: Array, c: Array, shift: int, fixed: int, sign: int, nan: int, result: Array
) -> tuple[Array, Array]:
    """The codes of left @ right + c, and which are left to the oracle; requires `program.is_fused`. Arguments as for
    `loops.dot_matrix`; sign: the result's sign bit."""
    (_, rows, k), columns = left.shape, right.shape[1]
    steps, wide = -(-k // program.step) * program.step, -(-columns // LANES) * LANES
    a, b = (padded(x, n, steps, EMPTY) for x, n in ((left, rows), (right, wide)))
    b = np.ascontiguousarray(b.swapaxes(1, 2))
    b[1][b[1] != EMPTY] += fixed
    start = np.zeros((rows, wide), np.int64)
    start[:, :columns] = c
    out, special = np.empty((rows, wide), np.int64), np.empty((rows, wide), np.uint8)
    _, bits, down, _ = program.inputs[0].tolist()
    floor, always = program.code[0, 4:6].tolist()
    setting = np.array([bits, shift, floor, always, down, program.widen, sign, nan], np.int64)
    target = np.array(plans.target_numbers(program.last_target, FP64), np.uint64)
    fused_matrix(a[0], a[1], b[0], b[1], start, program.step, setting, target, result, out, special)
    return out[:, :columns], special[:, :columns]


def padded(x: Array, rows: int, k: int, empty: int) -> Array:
    """Significands with signs and exponents, (2, rows, k), with zeros added up to that shape."""
    padded = np.zeros((2, rows, k), np.int32)
    padded[1] = empty
    own = padded[:, : x.shape[1], : x.shape[2]]
    own[0] = np.where(x[1] != 0, -x[0], x[0])
    own[1] = np.where(x[0] != 0, x[2], empty)
    return padded
