"""The oracle's bits over numpy arrays. `encode`, `decode` and `quantize` convert arrays to scalar formats and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softfloat_ref.arrays.convert import (
        as_source,
        code_dtype,
        decode,
        decode_float64,
        encode,
        encode_flags,
        quantize,
    )

__all__ = ["as_source", "code_dtype", "decode", "decode_float64", "encode", "encode_flags", "quantize"]


def __getattr__(name: str) -> Any:
    """Import the conversions on first use, so that importing a module of this package does not load the array code."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from softfloat_ref.arrays import convert

    return getattr(convert, name)
