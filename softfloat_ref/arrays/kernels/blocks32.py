"""Rows in blocks of 32, the size of every MX format: loops of a known length, which compilers lay out as vectors.

What they do not do (blocks with Inf or NaN, or so small that float32's subnormals matter) they leave to
kernels/block_loops.py, block by block.
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
    """The largest magnitude of the 32 float32 bit patterns that begin at a place of a contiguous array."""

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


@intrinsic
def _prefetched(context: Any, x: Any, at: Any) -> Any:
    """Have the cache line of a place of a contiguous array brought near, even where that is beyond its end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        whole, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, whole, whole, whole])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(prefetch, [place, whole(0), whole(3), whole(1)])  # to read, to stay, of data
        return context.get_dummy_value()

    return types.void(x, types.uintp), generate


_prefetch: Any = _prefetched


@compiled()
def largest_of_blocks(values: Any, count: int, largest: Any) -> None:
    """The largest magnitude of each complete block."""
    for block in range(count):
        largest[block] = _largest(values, _AT(_AT(block) * _AT(SIZE)))


@compiled(forceinline=True)
def scale_code(largest: Any, table: Any) -> Any:
    """The scale's code of a block's largest magnitude, which is not zero; table: see block_dispatch."""
    entry = table[largest >> U32(23)]
    return U32(U32(entry >> _SCALE_AT) + U32((largest & FRACTION) >= (entry & _LOWER)))


@compiled()
def scales_of_blocks(largest: Any, count: int, table: Any, zero_scale: int, emin: int, scales: Any, least: Any) -> bool:
    """Scale codes of complete blocks and the lowest binades of their elements; False where one is special or low.

    zero_scale: of a block of zeros, which are zeros in any binade."""
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
def elements(values: Any, made: Any, least: Any, count: int, p: Any) -> None:
    """Codes of complete blocks, each with its lowest binade; p: a nearest.Nearest."""
    for block in range(count):
        lowest = least[block]
        for line in (0, _LANES):  # of the blocks after these, as nothing else reads memory meanwhile
            _prefetch(values, _AT(_AT(_AT(block) + _AT(TOGETHER)) * _AT(SIZE) + _AT(line)))
        for i in range(SIZE):
            at = _AT(_AT(_AT(block) * _AT(SIZE)) + _AT(i))
            code = magnitude_code(values[at], lowest, p)
            made[at] = signed(p.beyond if code > p.limit else code, values[at], p)


class Decoded(NamedTuple):
    """How codes become values: mantissa bits; the first magnitude that is special; the sign bit."""

    mantissa_bits: Any
    special: Any
    sign: Any


@compiled()
def largest_code(codes: Any, mask: Any) -> Any:
    """The largest of the codes without what the mask lacks."""
    found = U8(0)
    for i in range(codes.size):
        found = max(found, U8(codes[i] & mask))
    return found


@compiled()
def values_of(codes: Any, factors: Any, count: int, out: Any, p: Any) -> bool:
    """Values of complete blocks, by integer arithmetic and one exact product with the block's factor, which
    is the smallest subnormal's value; False, and nothing done, where an element is special."""
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
            # units of the smallest subnormal: the fraction and the hidden bit, at the binade's place
            units = left(U32(magnitude - left(above, p.mantissa_bits)), above)
            out[at] = F32(units) * (minus if code & p.sign else plus)
    return True
