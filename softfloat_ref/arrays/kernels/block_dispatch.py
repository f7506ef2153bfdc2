"""Selects the compiled loop that quantizes or dequantizes blocks, and builds its tables with the oracle."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import plans
from softfloat_ref.arrays.kernels.dispatch import CHUNK, in_three, read_only
from softfloat_ref.arrays.slabs import run_slices
from softfloat_ref.base.search import first_equal
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.quantize import special_element
from softfloat_ref.oracle.blocks.scales import scale_of
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy

FP32: Final = CATALOGUE["fp32"]
E8M0: Final = CATALOGUE["e8m0"]
SIZE: Final = 32  # block size of every MX format; it has loops of its own
_WORD_BITS: Final = 32
_FINITE_FIELDS: Final = 255  # number of exponent fields of finite float32 values
Array = NDArray[Any]


class PowerPlan(NamedTuple):
    """The arguments of the loops of a block conversion: see block_loops.quantize_rows."""

    emin: int
    table: Array
    rules: Array
    numbers: Array
    near: Array  # the fields of the elements' nearest.Nearest; empty if its loops do not support them


@lru_cache(maxsize=64)
def plan(fmt: BlockFormat, profile: Profile, policy: Policy, source: Format) -> PowerPlan | None:
    """The plan of a block conversion, or None if the loops do not support it. They need float32 input, E8M0 scales,
    exact quotients, and a profile that handles specials per block."""
    supported = (
        source == FP32
        and fmt.scale == E8M0
        and fmt.size > 0
        and fmt.element.width <= 8
        and profile.tail != "flatten"
        and not profile.two_levels
        and profile.arithmetic == "exact"
        and profile.scale_search == "none"
        and profile.nan == profile.inf == "block"
        and profile.special_codes == "nan"
        and profile.negative_zero == "keep"
        and (profile.flush == "never" or (profile.flush == "element" and profile.flush_below == FP32.emin))
        and policy.random_count == 0
        and plans.is_plain(fmt.element, policy, FP32)
    )
    table = scale_table(fmt, profile) if supported else None
    if table is None:
        return None
    rules = [scale_of(None, fmt, profile), E8M0.canonical_nan, special_element(fmt, policy, profile)]
    numbers = plans.plain_numbers(fmt.element, policy, FP32)
    numbers[3] = int(policy.flush_inputs or profile.flush == "element")
    highest = fmt.element.emin + (int(table.max()) >> plans.SCALE_AT) + 1  # at least the lowest binade of any block
    near = plans.nearest_numbers(fmt.element, policy, False) if highest < plans.FAR else None
    return PowerPlan(fmt.element.emin, table, np.array(rules, np.int64), _array(numbers), _array(near or []))


def _array(numbers: list[int]) -> Array:
    return np.array(numbers, np.uint32)


@lru_cache(maxsize=64)
def scale_table(fmt: BlockFormat, profile: Profile) -> Array | None:
    """The scales by exponent field of the largest magnitude. Bits from SCALE_AT up: the scale code at the start of the
    binade; bits below: the mantissa from which the scale is one higher (2^23: none). Computed by the oracle; None if
    the scale changes more than once in a binade."""
    decode = decoder(FP32)

    def code(bits: int) -> int:
        return scale_of(decode(bits), fmt, profile)

    starts, thresholds, none = [], [], 1 << FP32.mantissa_bits
    guess = 0
    for field in range(_FINITE_FIELDS):
        begin, end = max(field * none, 1), (field + 1) * none - 1
        low, high = code(begin), code(end)
        if high - low not in (0, 1):
            return None
        starts.append(low)
        if high == low:
            thresholds.append(none)
        else:
            guess = first_equal(begin, end, code, high, field * none + guess) - field * none
            thresholds.append(guess)
    entries = [start << plans.SCALE_AT | threshold for start, threshold in zip(starts, thresholds, strict=True)]
    return np.array([*entries, 0], np.uint32)  # the entry of Inf and NaN, whose value does not matter


def quantize(
    x: Array, axis: int, size: int, plan: PowerPlan, codes: Array | None = None, scales: Array | None = None,
    threads: int = 1,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Quantize contiguous float32 bits in blocks of `size` along an axis, into `codes` and `scales` if given.

    Returns the codes, the scales, and which blocks are left to the oracle; the last two have one entry per block.
    """
    from softfloat_ref.arrays.kernels.block_loops import quantize_columns, quantize_rows32

    x, blocks = read_only(x), -(-x.shape[axis] // size)
    shape = (*x.shape[:axis], blocks, *x.shape[axis + 1 :])
    codes = np.empty(x.shape, np.uint8) if codes is None else codes
    scales = np.empty(shape, np.uint8) if scales is None else scales
    redo = np.zeros(shape, np.uint8)
    if axis != x.ndim - 1:
        views = [in_three(array, axis) for array in (x, codes, scales, redo)]
        quantize_columns(views[0], size, *plan, *views[1:])
        return codes, scales, redo
    kernel, arguments = row_loop(size, plan)
    by32 = kernel is quantize_rows32
    if threads == 1 and by32 and x.shape[-1] % SIZE == 0:  # complete blocks only: as one row
        row, *results = (array.reshape(1, -1) for array in (x, codes, scales, redo))
        kernel(row, *arguments, *results)
        return codes, scales, redo
    views = [array.reshape(-1, array.shape[-1]) for array in (x, codes, scales, redo)]

    def rows(part: slice) -> None:
        taken = [view[part] for view in views]
        if by32 and x.shape[-1] % SIZE:
            values, elements, *blocks = taken

            def padded(row: Array, own: Array, some: slice) -> None:
                kernel(read_only(row), *arguments, own, *(array[some].reshape(1, -1) for array in blocks))

            _padded(values, blocks[0].shape[1] * SIZE, elements, padded)
            return
        if by32:  # complete blocks only: as one row
            taken = [view.reshape(1, -1) for view in taken]
        kernel(taken[0], *arguments, *taken[1:])

    run_slices(views[0].shape[0], views[0].shape[1], threads, rows)
    return codes, scales, redo


def row_loop(size: int, plan: PowerPlan) -> tuple[Any, tuple[Any, ...]]:
    """The loop of blocks along rows, and its arguments between the values and the places of the results."""
    from softfloat_ref.arrays.kernels.block_loops import quantize_rows, quantize_rows32

    if plan.near.size and size == SIZE:
        return quantize_rows32, tuple(plan)
    return quantize_rows, (size, *plan[:-1])


def _padded(rows: Array, wide: int, out: Array, loop: Callable[[Array, Array, slice], None]) -> None:
    """Call loop(values, results, rows) for rows that end in a short block: some at a time, with zeros behind, which
    change nothing, so that the loop sees complete blocks only, as one row, and is many times as fast. wide: the length
    with those zeros."""
    length = rows.shape[1]
    step = max(1, min(CHUNK // wide, len(rows)))
    values, results = np.zeros((step, wide), rows.dtype), np.empty((step, wide), out.dtype)
    for start in range(0, len(rows), step):
        part = slice(start, min(start + step, len(rows)))
        count = part.stop - start
        values[:count, :length] = rows[part]
        loop(values[:count].reshape(1, -1), results[:count].reshape(1, -1), part)
        out[part] = results[:count, :length]


def rescale(x: Array, scales: Array, axis: int, size: int, table: Array, flush: bool, out: Array) -> None:
    """Contiguous float32 values times table[scale of their block]: float64 products, rounded to float32. flush:
    subnormal values become zeros with their sign."""
    from softfloat_ref.arrays.kernels.block_loops import rescale_values

    values, blocks, results = (in_three(np.ascontiguousarray(array), axis) for array in (x, scales, out))
    rescale_values(values, blocks, size, table, flush, results)


def can_dequantize(fmt: BlockFormat) -> bool:
    """Whether blocks have a fixed size, and codes and scales at most 8 bits: their products are exact in float64."""
    return fmt.size > 0 and fmt.element.width <= 8 and fmt.scale.width <= 8


class ValueTables(NamedTuple):
    """The tables for dequantization: float64 values by element code and by scale code, and tables derived from them."""

    elements: Array
    factors: Array
    short: Array  # elements in float32
    single: Array  # see _single
    units: Array  # see _units
    decoded: Any  # see _decoded


def value_tables(fmt: BlockFormat, elements: Array, factors: Array) -> ValueTables:
    """The tables of a format. elements, factors: float64 by code."""
    with np.errstate(over="ignore", under="ignore"):  # values beyond float32 are not taken from this table
        short = np.where(np.isnan(elements), np.nan, elements).astype(np.float32)  # one NaN, whatever the payload
    single = _single(elements, short, factors)
    decoded = _decoded(fmt.element) if fmt.size == SIZE else None
    return ValueTables(elements, factors, short, single, _units(fmt.element, single), decoded)


def scaled_tables(tables: ValueTables, factor: float) -> ValueTables:
    """The tables with factors that are as many times as large, whose products float32 seldom holds exactly."""
    return tables._replace(factors=tables.factors * factor, single=np.zeros_like(tables.single), decoded=None)


def dequantize(codes: Array, scales: Array, axis: int, fmt: BlockFormat, tables: ValueTables, out: Array) -> None:
    """The values of contiguous codes and scales, written to `out`."""
    from softfloat_ref.arrays.kernels.block_loops import dequantize_columns, dequantize_rows, dequantize_rows32

    elements, factors, short, single, units, decoded = tables
    views = [in_three(array, axis) for array in (codes, scales, out)]
    if axis != codes.ndim - 1:
        dequantize_columns(views[0], views[1], fmt.size, elements, factors, short, single, views[2])
        return

    def rows(codes: Array, out: Array, scales: Array) -> None:
        if decoded is not None:
            dequantize_rows32(codes, scales, elements, factors, units, decoded, short, single, out)
        else:
            dequantize_rows(codes, scales, fmt.size, elements, factors, short, single, out)

    if codes.shape[-1] % fmt.size == 0:  # complete blocks only: as one row
        rows(*(view.reshape(1, -1) for view in (views[0], views[2], views[1])))
        return
    lines, blocks, values = (view[:, :, 0] for view in views)
    _padded(lines, blocks.shape[1] * fmt.size, values, lambda x, y, some: rows(x, y, blocks[some].reshape(1, -1)))


def scale_rows(codes: Array, factors: Array, size: int, table: Array, out: Array) -> None:
    """table[codes] times the factor of their block, rounded to float32 once, for contiguous codes (rows, length) of
    blocks of `size` along the rows. factors: float64 (rows, blocks); table: float64, by code; their products must be
    exact in float64."""
    from softfloat_ref.arrays.kernels.block_loops import dequantize_rows

    places = np.arange(factors.size, dtype=np.uint32).reshape(factors.shape)
    inexact, short = np.zeros(factors.size, np.float32), np.zeros(table.size, np.float32)
    dequantize_rows(read_only(codes), places, size, table, factors.reshape(-1), short, inexact, out)


def _decoded(fmt: Format) -> Any:
    """The blocks32.Decoded of a format; None if `values_of` would not decode every code like the oracle."""
    from softfloat_ref.arrays.kernels.blocks32 import Decoded

    binades = fmt.emax - fmt.emin + 1
    if not fmt.signed or fmt.twos_complement or fmt.subnormals != "gradual" or binades + fmt.mantissa_bits > _WORD_BITS:
        return None
    decode, unit = decoder(fmt), fmt.emin - fmt.mantissa_bits
    special = fmt.max_code + 1
    for code in range(special):
        above = max((code >> fmt.mantissa_bits) - 1, 0)
        units, value = (code - (above << fmt.mantissa_bits)) << above, decode(code)
        if value.significand << max(value.exponent - unit, 0) != units or (units and value.exponent < unit):
            return None
    negative = decode(fmt.sign_bit)
    if not (negative.is_zero and negative.sign):
        return None
    return Decoded(*(np.uint32(x) for x in (fmt.mantissa_bits, special, fmt.sign_bit)))


def _units(fmt: Format, single: Array) -> Array:
    """Factors times the smallest subnormal, or 0 where the product is not a normal number."""
    with np.errstate(under="ignore"):
        units = single.astype(np.float64) * 2.0 ** (fmt.emin - fmt.mantissa_bits)
    return np.where(units >= np.finfo(np.float32).tiny, units, 0).astype(np.float32)


def _single(elements: Array, short: Array, factors: Array) -> Array:
    """By scale code: its factor in float32, or 0 if the product with some element is not both exact and normal."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        single = factors.astype(np.float32)
        products = elements * factors[:, np.newaxis]
        exact = short * single[:, np.newaxis] == products
    normal = (np.abs(products) >= np.finfo(np.float32).tiny) & np.isfinite(products)
    plain = ~np.isfinite(elements) | (elements == 0) | (exact & normal)
    usable = np.isfinite(single) & (single >= np.finfo(np.float32).tiny) & plain.all(axis=1)
    return np.where(usable, single, np.float32(0))
