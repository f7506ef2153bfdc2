"""The random words of `sources.Philox`, compiled: numpy's Philox4x64-10, whose blocks are independent of each other."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.oracle.sources import WORD_BITS, Philox

# Salmon et al., SC 2011: the multipliers and the key's increments of Philox4x64.
_M0: Final = np.uint64(0xD2E7470EE14C6C93)
_M1: Final = np.uint64(0xCA5A826395121157)
_W0: Final = np.uint64(0x9E3779B97F4A7C15)
_W1: Final = np.uint64(0xBB67AE8584CAA73B)
_ROUNDS: Final = 10
_BLOCK: Final = 4  # words


@intrinsic
def _product(context: Any, x: Any, y: Any) -> Any:
    """The upper and the lower 64 bits of a product of unsigned 64-bit integers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        wide, narrow = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        upper = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), narrow)
        return context.make_tuple(builder, signature.return_type, (upper, builder.trunc(product, narrow)))

    pair: Any = types.UniTuple(types.uint64, 2)  # type: ignore[no-untyped-call]
    return pair(types.uint64, types.uint64), generate


product: Any = _product


@compiled(nogil=True)
def fill(seed: Any, stream: Any, start: int, drop: Any, out: Any) -> None:
    """The words from position `start`, shifted right by `drop` bits."""
    block, at = start // _BLOCK, -(start % _BLOCK)
    while at < out.size:
        block += 1  # numpy increments the counter before it generates a block
        c0, c1, c2, c3 = np.uint64(block), np.uint64(0), np.uint64(0), np.uint64(0)
        k0, k1 = seed, stream
        for _ in range(_ROUNDS):
            h0, l0 = product(_M0, c0)
            h1, l1 = product(_M1, c2)
            c0, c1, c2, c3 = h1 ^ c1 ^ k0, l1, h0 ^ c3 ^ k1, l0
            k0 += _W0
            k1 += _W1
        if at >= 0 and at + _BLOCK <= out.size:
            out[at], out[at + 1], out[at + 2], out[at + 3] = c0 >> drop, c1 >> drop, c2 >> drop, c3 >> drop
        else:
            for i, word in enumerate((c0, c1, c2, c3)):
                if 0 <= at + i < out.size:
                    out[at + i] = word >> drop
        at += _BLOCK


def words(source: Philox, n: int, start: int, count: int) -> NDArray[np.unsignedinteger[Any]]:
    """`source.array(n, start, count)` for 1 <= n <= 64, as uint32 if n fits, else uint64."""
    out: NDArray[Any] = np.empty(count, np.uint32 if n <= 32 else np.uint64)
    run: Any = fill
    run(np.uint64(source.seed), np.uint64(source.stream), start, np.uint64(WORD_BITS - n), out)
    return out
