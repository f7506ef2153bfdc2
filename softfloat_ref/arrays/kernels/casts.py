"""Floats and their bits within compiled loops, one value at a time: arrays of another type would end a loop."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


def _cast(given: Any, made: Any) -> Any:
    @intrinsic
    def cast(context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(made))

        return made(given), generate

    return cast


double: Any = _cast(types.uint64, types.float64)
double_bits: Any = _cast(types.float64, types.uint64)
single: Any = _cast(types.uint32, types.float32)
single_bits: Any = _cast(types.float32, types.uint32)
