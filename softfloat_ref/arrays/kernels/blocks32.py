"""Rows in blocks of 32, the size of every MX format: loops of fixed length, which compilers vectorise.

They leave blocks with Inf or NaN, and those small enough for float32's subnormals to matter, to kernels/block_loops.py.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from softfloat_ref.arrays.kernels import plans
from softfloat_ref.arrays.kernels.convert import I32, U32, left, right
from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.nearest import ALL, FRACTION, INF, magnitude_code, signed

SIZE: Final = 32
TOGETHER: Final = 64  # blocks
_LANES: Final = 16
_AT: Final = np.uintp
F32: Final = np.float32
U8: Final = np.uint8
_SCALE_AT: Final = U32(plans.SCALE_AT)
_LOWER: Final = U32((1 << plans.SCALE_AT) - 1)
FAR: Final = I32(plans.FAR)  # the lowest binade of a block of zeros


@intrinsic
def _largest32(context: Any, x: Any, at: Any) -> Any:
    """The largest magnitude of the 32 float32 bit patterns from index `at` of a contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils

        vector = ir.VectorType(ir.IntType(32), _LANES)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        mask = ir.Constant(vector, [0x7FFFFFFF] * _LANES)
        halves = []
        for first in (0, _LANES):
            place = builder.gep(array.data, [builder.add(arguments[1], ir.Constant(arguments[1].type, first))])
            values = builder.load(builder.bitcast(place, vector.as_pointer()), align=4)
            halves.append(builder.and_(values, mask))
        larger = builder.select(builder.icmp_unsigned(">", *halves), *halves)
        reduced = ir.FunctionType(ir.IntType(32), [vector])
        name = "llvm.vector.reduce.umax.v16i32"
        reduce = cgutils.get_or_insert_function(builder.module, reduced, name)  # type: ignore[no-untyped-call]
        return builder.call(reduce, [larger])

    return types.uint32(x, types.uintp), generate


_largest: Any = _largest32


@compiled()
def largest_of_blocks(values: Any, count: int, largest: Any) -> None:
    """The largest magnitude of each complete block."""
    for block in range(count):
        largest[block] = _largest(values, _AT(_AT(block) * _AT(SIZE)))


@compiled(forceinline=True)
def scale_code(largest: Any, table: Any) -> Any:
    """The code of the scale for a nonzero largest magnitude. table: see block_dispatch."""
    entry = table[largest >> U32(23)]
    return U32(U32(entry >> _SCALE_AT) + U32((largest & FRACTION) >= (entry & _LOWER)))


@compiled()
def scales_of_blocks(largest: Any, count: int, table: Any, zero_scale: int, emin: int, scales: Any, least: Any) -> bool:
    """Scale codes of complete blocks, and their elements' lowest binades; False if a block is special or too low.

    zero_scale: the scale of an all-zero block."""
    low, high = FAR, U32(0)
    for block in range(count):
        magnitude = largest[block]
        binade = I32(I32(scale_code(magnitude, table)) + I32(emin))
        binade = FAR if magnitude == U32(0) else binade
        low, high = min(low, binade), max(high, magnitude)
        least[block] = binade
    for block in range(count):
        scales[block] = U8(zero_scale if least[block] == FAR else least[block] - I32(emin))
    return bool(low > I32(ALL) and high < INF)


@compiled()
def elements(values: Any, out: Any, least: Any, count: int, p: Any) -> None:
    """Codes of complete blocks, each with its own lowest binade. p: a nearest.Nearest."""
    for block in range(count):
        lowest = least[block]
        for i in range(SIZE):
            at = _AT(_AT(_AT(block) * _AT(SIZE)) + _AT(i))
            code = magnitude_code(values[at], lowest, p)
            out[at] = signed(p.beyond if code > p.limit else code, values[at], p)


class Decoded(NamedTuple):
    """How codes become values: mantissa bits, the first special magnitude, the sign bit."""

    mantissa_bits: Any
    special: Any
    sign: Any


@compiled()
def largest_code(codes: Any, mask: Any) -> Any:
    """The largest of the masked codes."""
    largest = U8(0)
    for i in range(codes.size):
        largest = max(largest, U8(codes[i] & mask))
    return largest


@compiled()
def values_of(codes: Any, factors: Any, count: int, out: Any, p: Any) -> bool:
    """Values of complete blocks: integer arithmetic and one exact product with the block's factor, the value of the
    smallest subnormal. Returns False and writes nothing if an element is special."""
    magnitudes = U32(p.sign - U32(1))
    if largest_code(codes, U8(magnitudes)) >= p.special:
        return False
    for block in range(count):
        plus, minus = factors[block], F32(-factors[block])
        for i in range(SIZE):
            at = _AT(_AT(_AT(block) * _AT(SIZE)) + _AT(i))
            code = U32(codes[at])
            magnitude = U32(code & magnitudes)
            above = U32(max(right(magnitude, p.mantissa_bits), U32(1)) - U32(1))
            # in units of the smallest subnormal: fraction and hidden bit, shifted to the binade
            units = left(U32(magnitude - left(above, p.mantissa_bits)), above)
            out[at] = F32(units) * (minus if code & p.sign else plus)
    return True
