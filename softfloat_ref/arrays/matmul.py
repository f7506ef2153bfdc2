"""Matrix products, bit-identical to the scalar oracle's dot products, for every accumulator.

mx-fp32 uses exact float64 matrix products one block wide, so BLAS may add in any order. Trees of products and
sums of two, each rounded, are the processor's own operations (native_products). Trees of one sum and one rounding, and
other trees, run in the compiled loops of kernels/. The oracle computes what none of these supports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.block_array import BlockArray
from softfloat_ref.arrays.convert import Codes
from softfloat_ref.arrays.kernels.program import NoProgram, Program, compile_tree
from softfloat_ref.arrays.native_products import NotNative, native_type
from softfloat_ref.arrays.native_products import multiply as native_multiply
from softfloat_ref.arrays.scalar_array import ScalarArray
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.accumulate.dots import Accumulation, Operand, run
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE
from softfloat_ref.oracle.codec import decoder, encode, encoder
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy

FP32: Final = CATALOGUE["fp32"]
FP64: Final = CATALOGUE["fp64"]
_EXACT_BITS: Final = FP64.precision
KINDS: Final = (FINITE, INF, NAN)  # in the numbering of the compiled loop
_TABLE_BITS: Final = 16  # bits of a format whose codes have a table
_PANEL_ROWS: Final = 128  # rows of the left matrix at a time: the float64 results of one block stay in the cache
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Matrix:
    """A matrix as vectors along k: codes (rows, k), scales (rows, blocks) or None; tensor_scale: an FP32 code."""

    fmt: Format
    codes: NDArray[Any]
    scale_fmt: Format | None = None
    scales: NDArray[Any] | None = None
    size: int = 0
    tensor_scale: int = FP32_ONE

    @property
    def k(self) -> int:
        return int(self.codes.shape[1])

    def vector(self, row: int) -> Operand:
        """One row as an Operand, for the oracle."""
        codes = tuple(self.codes[row].tolist())
        if self.scale_fmt is None or self.scales is None:
            return Operand(self.fmt, codes)
        scales = tuple(self.scales[row].tolist())
        return Operand(self.fmt, codes, self.scale_fmt, scales, self.size, self.tensor_scale)

    @property
    def factors(self) -> list[Format]:
        """The formats of the factors that multiply the elements."""
        second = [FP32] if self.tensor_scale != FP32_ONE else []
        return second if self.scale_fmt is None else [self.scale_fmt, *second]

    def spread(self) -> NDArray[Any] | None:
        """The scale of each element."""
        if self.scales is None:
            return None
        return np.repeat(self.scales, self.size, axis=1)[:, : self.k]

    @cached_property
    def values(self) -> Floats:
        """Elements times scales as float64; exact if their significands together fit."""
        elements, spread = self.elements(), self.spread()
        if spread is None or self.scale_fmt is None:
            return elements
        with np.errstate(invalid="ignore"):
            return elements * convert.decode_float64(spread, self.scale_fmt)

    def elements(self) -> Floats:
        """The elements as float64, without scales."""
        return convert.decode_float64(self.codes, self.fmt)

    def rescale(self, sums: Floats, rows: slice, start: int, axis: int) -> None:
        """Multiply sums of products of one block in place by that block's scales, whose rows run along `axis`."""
        if self.scales is None or self.scale_fmt is None:
            return
        scales = convert.decode_float64(self.scales[rows, start // self.size], self.scale_fmt)
        sums *= scales[:, np.newaxis] if axis == 0 else scales

    def rows_of(self, kind: int) -> NDArray[np.bool_]:
        """Which rows contain a value of that kind (NaN or Inf), scales included."""
        rows = _of_kind(self.codes, self.fmt, kind)
        if self.scales is not None and self.scale_fmt is not None:
            return rows | _of_kind(self.scales, self.scale_fmt, kind)
        return rows


def _of_kind(codes: NDArray[Any], fmt: Format, kind: int) -> NDArray[np.bool_]:
    """Which rows (of the last axis) contain a code of that kind."""
    if not (fmt.has_nan if kind == NAN else fmt.infinity):
        return np.zeros(codes.shape[:-1], np.bool_)
    kinds = _table(codes, fmt, decoder(fmt))[4]
    return np.asarray((kinds == KINDS.index(kind)).any(axis=-1), np.bool_)


def operand_matrix(x: BlockArray | ScalarArray, axis: int, name: str) -> Matrix:
    """An array of two dimensions as vectors along `axis`. Raises Error for blocks that do not run along it."""
    if isinstance(x, ScalarArray):
        codes = convert.checked_codes(x.codes, x.fmt)
        return Matrix(x.fmt, np.ascontiguousarray(np.moveaxis(codes, axis, 1)))
    if x.axis != axis:
        raise Error(f"{name}: its blocks run along axis {x.axis}; in a product they must run along axis {axis}")
    if x.fmt.size < 1 or x.profile.tail == "flatten":
        raise Error(
            f"{name}: one scale for a whole {x.fmt.size_name}, or for blocks that span rows, is not supported; "
            "decode, or use blocks"
        )
    if x.profile.arithmetic in ("fp32-inverse", "fp32-amax"):
        raise Error(f"{name}: profile {x.profile.name} divides by the tensor's scale; decode, or use another profile")
    x = x.in_rows()
    codes, scales = (np.ascontiguousarray(np.moveaxis(m, axis, 1)) for m in (x.codes, x.scales))
    second = FP32_ONE if x.tensor_scale is None else encode(x.tensor_scale, FP32).bits
    return Matrix(x.fmt.element, codes, x.fmt.scale, scales, x.fmt.size, second)


def multiply(a: Matrix, b: Matrix, s: Accumulation, c: NDArray[np.uint32]) -> NDArray[np.float32]:
    """The product of checked matrices, where the result is FP32. c: FP32 codes."""
    return product(a, b, s, c).view(np.float32)


def product(a: Matrix, b: Matrix, s: Accumulation, c: Codes) -> Codes:
    """The product of checked matrices: codes of the result's format. c: codes of its own."""
    return _ProductJob(a, b, s, c).run()


@dataclass(frozen=True)
class _ProductJob:
    """One matrix product."""

    a: Matrix
    b: Matrix
    setting: Accumulation
    c: Codes

    def run(self) -> Codes:
        """The codes of the product."""
        panels = self._panels()
        if panels is not None:
            return self._repaired(panels)
        native = self._native()
        if native is not None:
            return native
        compiled = self._compiled()
        if compiled is not None:
            return compiled
        out = np.empty((len(self.a.codes), len(self.b.codes)), convert.code_dtype(self.setting.out))
        return self._by_oracle(out, np.ones(out.shape, bool))

    def _by_oracle(self, out: Codes, where: NDArray[np.bool_]) -> Codes:
        """Compute the chosen results one by one; rows and columns with NaN at once if the result has a single NaN."""
        if not where.any():
            return out
        unit = self.setting.accumulator
        if unit.nan_rule.propagate == "no" and self.setting.out.has_nan:
            nan = self.a.rows_of(NAN)[:, np.newaxis] | self.b.rows_of(NAN)
            nan |= _of_kind(self.c[..., np.newaxis], self.setting.c, NAN)
            out[nan] = unit.nan_rule.code(self.setting.out)
            where = where & ~nan
        for i, j in np.argwhere(where).tolist():
            out[i, j] = run(self.setting, self.a.vector(i), self.b.vector(j), int(self.c[i, j])).bits
        return out

    # -- float64 panels ------------------------------------------------------------------------------------------

    def _panels(self) -> NDArray[np.float32] | None:
        """mx-fp32 by exact float64 products one block wide; None if that does not apply."""
        from softfloat_ref.oracle.accumulate import ACCUMULATORS

        second = self.a.tensor_scale != FP32_ONE or self.b.tensor_scale != FP32_ONE
        other = (
            self.setting.accumulator != ACCUMULATORS["mx-fp32"] or second or self.c.any() or self.setting.out != FP32
        )
        if other or convert.flushes_subnormals():
            return None
        parts = _parts(self.a, self.b, self.setting.block)
        if parts is None:
            return None
        out = np.zeros((len(self.a.codes), len(self.b.codes)), np.float32)
        size = self.setting.block
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            right = [None if x is None else np.ascontiguousarray(x.T) for x in parts.b]
            for top in range(0, len(out), _PANEL_ROWS):
                rows = slice(top, top + _PANEL_ROWS)
                total = out[rows]
                for start in range(0, self.a.k, size):
                    part = slice(start, start + size)
                    left = [None if x is None else x[rows, part] for x in parts.a]
                    sums = parts.sum(left, [None if x is None else x[part] for x in right])
                    if not parts.scaled:
                        self.a.rescale(sums, rows, start, 0)
                        self.b.rescale(sums, slice(None), start, 1)
                    total += sums.astype(np.float32)
        return out

    def _repaired(self, out: NDArray[np.float32]) -> Codes:
        """The codes with one NaN, and with the oracle's results where an operand is Inf."""
        infinite = self.a.rows_of(INF)[:, np.newaxis] | self.b.rows_of(INF)
        codes: Codes = out.view(np.uint32)
        codes[np.isnan(out)] = FP32.canonical_nan
        return self._by_oracle(codes, infinite) if infinite.any() else codes

    # -- the processor's own operations --------------------------------------------------------------------------------

    def _native(self) -> Codes | None:
        """By additions and multiplications of the processor; None if the unit does others."""
        dtype = None if self.a.factors or self.b.factors else native_type(self.setting)
        if dtype is None:
            return None
        convert_to = convert.decode if dtype == np.float32 else convert.decode_float64
        left, right = convert_to(self.a.codes, self.a.fmt), convert_to(self.b.codes, self.b.fmt)
        try:
            out = native_multiply(self.setting, left, np.ascontiguousarray(right.T), self.c.view(dtype))
        except NotNative:
            return None
        codes, nan = out.view(self.c.dtype), np.isnan(out)
        rule, result = self.setting.accumulator.nan_rule, self.setting.result
        if rule.propagate == "no":
            codes[nan] = rule.code(result)
            nan[...] = False
        return self._by_oracle(_widened(codes, result, self.setting), nan)

    # -- the compiled loop ---------------------------------------------------------------------------------------

    def _compiled(self) -> Codes | None:
        """Run the tree's program; None if it has none."""
        s, result = self.setting, self.setting.result
        factors = [*self.a.factors, *self.b.factors]
        bits = s.formats[0].precision + s.formats[1].precision + sum(x.precision for x in factors)
        try:
            program = compile_tree(s, self.a.k, bits)
        except NoProgram:
            return None
        if not s.c == result == FP32 and self.c.any():
            return None  # c may first be rounded, which the oracle does
        out, special, unfit = self._looped(program, factors)
        return self._by_oracle(_widened(out, result, s), special.astype(bool) | unfit)

    def _looped(self, program: Program, factors: list[Format]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The codes of the running results, which of them are left to the oracle, and which have an Inf scale."""
        s, unit, result = self.setting, self.setting.accumulator, self.setting.result
        shift = sum(f.mantissa_bits for f in (*s.formats, *factors))
        rule, positive = unit.nan_rule, unit.zero == "positive"
        nan = rule.code(result) if rule.propagate == "no" else -1
        rows = np.array([result.mantissa_bits, result.emin, result.inf_code], np.int64)
        left, right = (_integers(x, unit.decoder(x.fmt)) for x in (self.a, self.b))
        unfit = left[1][:, np.newaxis] | right[1]
        if unit.product_limit != "":
            limit = int(unit.product_limit) - unit.product_exponent
            unfit |= _tops(left[0])[:, np.newaxis] + _tops(right[0]) > limit
        if positive and unit.flush_inputs == "off" and program.is_fused(left[0], right[0]):
            from softfloat_ref.arrays.kernels import fused

            numbers = shift, unit.product_exponent, result.sign_bit, nan
            return *fused.multiply(program, left[0], right[0], self.c, *numbers, rows), unfit
        if unit.flush_inputs == "off" and (tree := program.nested(left[0], right[0])) is not None:
            from softfloat_ref.arrays.kernels import nested

            numbers = shift, unit.product_exponent, result.sign_bit, nan
            return *nested.multiply(program, tree, (left[0], right[0], self.c), *numbers, positive, rows), unfit
        from softfloat_ref.arrays.kernels.loops import dot_matrix

        flush = {"off": 0, "on": 1, "positive": 2}[unit.flush_inputs]
        setting = [program.step, program.slots, program.result, program.widen, positive, flush]
        setting += [unit.product_exponent, result.width - 1, nan, (program.code[:, 6] != 0).any()]
        setting.append(bool(left[0][4].any() or right[0][4].any()))
        out, special = np.zeros(unfit.shape, np.int64), np.zeros(unfit.shape, np.uint8)
        # the memory layout is always the same, so the loop is compiled once
        lines, columns = np.ascontiguousarray(left[0]), np.ascontiguousarray(right[0].swapaxes(1, 2))
        tables = program.code, program.inputs, program.targets, program.formats, np.array(setting, np.int64)
        dot_matrix(lines, columns, self.c.astype(np.int64), shift, *tables, rows, out, special)
        return out, special, unfit


def _widened(codes: NDArray[Any], fmt: Format, s: Accumulation) -> Codes:
    """Codes of the running result as codes of the result, rounded once more if the formats differ."""
    dtype = convert.code_dtype(s.out)
    if fmt == s.out:
        return codes.astype(dtype)
    decode, encode = decoder(fmt), encoder(s.out, Policy(nan=s.accumulator.nan))
    patterns, inverse = np.unique(codes, return_inverse=True)
    rounded = [encode(decode(code), 0)[0] for code in patterns.tolist()]
    return np.array(rounded, dtype)[inverse].reshape(codes.shape)


def _integers(x: Matrix, decode: Callable[[int], Value]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(5, rows, k): significand, negative, exponent, exponent of the scale, kind; and which rows have an Inf scale."""
    integers = _table(x.codes, x.fmt, decode)
    rows = np.zeros(len(x.codes), bool)
    spread = x.spread()
    if spread is not None and x.scale_fmt is not None:
        scale = _table(spread, x.scale_fmt, decoder(x.scale_fmt))
        rows = (scale[4] == INF).any(axis=1)
        integers[4] = np.maximum(integers[4], scale[4])
        integers[3] = scale[2] + x.scale_fmt.mantissa_bits
        integers[0] *= scale[0]
        integers[1] ^= scale[1]
        integers[2] += scale[2]
    if x.tensor_scale != FP32_ONE:
        second = decoder(FP32)(x.tensor_scale)
        integers[0] *= second.significand
        integers[2] += second.exponent
        integers[3] += second.exponent + FP32.mantissa_bits
    return integers, rows


def _tops(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least power of two, of each row of numbers as of `_integers`, that is above all of them."""
    sizes = np.frexp(x[0].astype(np.float64))[1]  # of what float64 rounds to a power of two, one more
    tops: NDArray[np.int64] = np.max(np.where(x[0] != 0, sizes + x[2], -(1 << 40)), axis=1, initial=-(1 << 40))
    return tops


def _table(codes: NDArray[Any], fmt: Format, decode: Callable[[int], Value]) -> NDArray[np.int64]:
    """(5, ...): the numbers of each code as in `_integers`, without a scale."""
    if fmt.width <= _TABLE_BITS and codes.size << 2 >= 1 << fmt.width:
        return np.take(_every(fmt, decode), codes, axis=1)
    patterns, inverse = np.unique(codes, return_inverse=True)
    return _numbers([decode(int(code)) for code in patterns])[:, inverse.reshape(codes.shape)]


@lru_cache(maxsize=16)
def _every(fmt: Format, decode: Callable[[int], Value]) -> NDArray[np.int64]:
    """The numbers of every code."""
    return _numbers([decode(code) for code in range(1 << fmt.width)])


def _numbers(values: list[Value]) -> NDArray[np.int64]:
    rows = [(v.significand if v.kind == FINITE else 0, v.sign, v.exponent, 0, KINDS.index(v.kind)) for v in values]
    return np.ascontiguousarray(np.array(rows, np.int64).T)


# -- exact sums in float64 -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Parts:
    """Both matrices as sums of parts whose block products are exact in float64: high, and low if one is needed.

    unit: all products of high parts are multiples of 2^unit. scaled: whether the parts include the scales.
    """

    a: tuple[Floats, Floats | None]
    b: tuple[Floats, Floats | None]
    unit: int
    scaled: bool

    def sum(self, a: list[Floats | None], b: list[Floats | None]) -> Floats:
        """The sum of a block's products: exact, or rounded to odd with spare bits."""
        (high_a, low_a), (high_b, low_b) = a, b
        high = high_a @ high_b  # type: ignore[operator]
        crossed = [x @ y for x, y in ((high_a, low_b), (low_a, high_b)) if x is not None and y is not None]
        if not crossed:
            return high
        middle = crossed[0] if len(crossed) == 1 else crossed[0] + crossed[1]
        low = low_a @ low_b if low_a is not None and low_b is not None else None
        return _odd_sum(high, middle, low, self.unit)


def _odd_sum(high: Floats, middle: Floats, low: Floats | None, unit: int) -> Floats:
    """high + middle + low, where high is a multiple of 2^unit: exact if that fits, else rounded to odd.

    What lies below 2^unit is collected in one number in [0, 2^unit). If the rest is so long that only whether this
    number is zero matters, a single bit replaces it.
    """
    one = 2.0**unit
    whole = np.floor(middle / one) * one
    rest = middle - whole
    high = high + whole
    if low is not None:
        rest = rest + low
        whole = np.floor(rest / one) * one
        high, rest = high + whole, rest - whole
    long = np.abs(high) >= 2.0 ** (unit + FP32.precision + 1)
    return np.where(long, high + np.where(rest > 0, one / 2, 0.0), high + rest)


def _parts(a: Matrix, b: Matrix, size: int) -> _Parts | None:
    """The parts that make products of blocks of `size` exact in float64; None if two per matrix do not suffice."""
    scales = sum(x.precision for x in (a.scale_fmt, b.scale_fmt) if x is not None)
    reach = a.fmt.emax + b.fmt.emax + 2 + size.bit_length()
    spare = _EXACT_BITS - scales if scales > 2 else _EXACT_BITS
    units = a.fmt.emin - a.fmt.mantissa_bits, b.fmt.emin - b.fmt.mantissa_bits
    if _too_wide(a, b):
        return None
    if reach - sum(units) <= spare:
        return _Parts((a.values, None), (b.values, None), sum(units), True)
    if scales > 2:
        return None
    ends = _ends(a.fmt, b.fmt, size)
    if ends is None:
        return None
    unit = _unit(a.fmt, ends[0]) + _unit(b.fmt, ends[1])
    return _Parts(_split(a, ends[0]), _split(b, ends[1]), unit, False)


Ends = tuple[int | None, int | None]


@lru_cache(maxsize=64)
def _ends(a: Format, b: Format, size: int) -> Ends | None:
    """The exponents from which elements of each side are high parts (None: all); splits one side if that suffices."""
    left, right = range(a.emin, a.emax + 1), range(b.emin, b.emax + 1)
    choices: list[Ends] = [(x, None) for x in left]
    choices += [(None, y) for y in right]
    choices += [(x, y) for x in left for y in right]
    return next((ends for ends in choices if _fits(a, b, ends, size)), None)


def _too_wide(a: Matrix, b: Matrix) -> bool:
    """Whether scales could move a product out of float64's range."""
    low = sum(x.emin - x.mantissa_bits for x in (a.fmt, b.fmt, a.scale_fmt, b.scale_fmt) if x is not None)
    high = sum(x.emax for x in (a.fmt, b.fmt, a.scale_fmt, b.scale_fmt) if x is not None)
    return low < FP64.emin or high > FP64.emax - 16 or max(a.fmt.width, b.fmt.width) > 16


def _unit(fmt: Format, end: int | None) -> int:
    return (fmt.emin if end is None else end) - fmt.mantissa_bits


def _fits(a: Format, b: Format, ends: Ends, size: int) -> bool:
    """Whether every partial product and every step of _odd_sum is exact in float64."""
    extra = 2 + size.bit_length() + 2  # carries: of a product, of the sum, and of adding parts
    high = _unit(a, ends[0]) + _unit(b, ends[1])
    lowest = a.emin - a.mantissa_bits + b.emin - b.mantissa_bits
    tops = [(a.emax, _unit(a, ends[0]))], [(b.emax, _unit(b, ends[1]))]
    for fmt, end, spans in ((a, ends[0], tops[0]), (b, ends[1], tops[1])):
        if end is not None:
            spans.append((end - 1, fmt.emin - fmt.mantissa_bits))
    each = all(x[0] + y[0] + extra - x[1] - y[1] <= _EXACT_BITS for x in tops[0] for y in tops[1])
    whole = a.emax + b.emax + extra - high <= _EXACT_BITS
    return each and whole and FP32.precision + 1 + high - lowest <= _EXACT_BITS


def _split(x: Matrix, end: int | None) -> tuple[Floats, Floats | None]:
    """The elements of magnitude 2^end or more (and those not finite), and the other elements; without scales."""
    values = x.elements()
    if end is None:
        return values, None
    less = np.abs(values) < 2.0**end
    return np.where(less, 0.0, values), np.where(less, values, 0.0)
