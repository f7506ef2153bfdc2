"""What the loops need of Numba: compilation, cached on disk until any source file that a loop is compiled from changes,
and casts between floats and their bits.

Numba's own cache checks only the file of the loop itself. The loops also compile functions of other modules, above all
rounding.py, and stale code would give wrong bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite.binding import get_host_cpu_features
from numba import config, njit, types
from numba.extending import intrinsic

from softfloat_ref.base.disk_cache import stamp


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Numba's njit with a cache that depends on all sources; without a cache if the sources cannot be read."""

    def decorate(function: Any) -> Any:
        try:
            sources = stamp(function.__module__)
        except OSError:  # for example in a zip archive
            return njit(**options)(function)
        dispatcher = njit(cache=True, **options)(function)
        index = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if index is None:  # no writable folder: nothing is cached
            return dispatcher
        if not hasattr(index, "_source_stamp"):  # a Numba that stores it elsewhere: no cache is better than a stale one
            return njit(**options)(function)
        index._source_stamp = (index._source_stamp, sources)
        return dispatcher

    return decorate


# -- floats and their bits, one value at a time: arrays of another type would end a loop -----------------------------


def _cast(source: Any, to: Any) -> Any:
    @intrinsic
    def cast(context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(to))

        return to(source), generate

    return cast


double: Any = _cast(types.uint64, types.float64)
double_bits: Any = _cast(types.float64, types.uint64)
single: Any = _cast(types.uint32, types.float32)
single_bits: Any = _cast(types.float32, types.uint32)


@intrinsic
def _half_code(context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        half = builder.fptrunc(builder.bitcast(arguments[0], ir.FloatType()), ir.HalfType())
        return builder.bitcast(half, ir.IntType(16))

    return types.uint16(types.uint32), generate


half_code: Any = _half_code  # FP16's code of a float32's bits by the processor's conversion, to nearest even


def has_half() -> bool:
    """Whether the processor that Numba compiles for has that conversion; LLVM would call a function for it."""
    chosen = config.CPU_NAME or config.CPU_FEATURES  # type: ignore[attr-defined]
    return not chosen and bool(get_host_cpu_features().get("f16c"))
