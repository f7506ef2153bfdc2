"""The oracle's bits over numpy arrays. `encode`, `decode` and `quantize` convert arrays to scalar formats and back;
`ScalarArray` keeps codes with their format, as BlockArray and AffineArray do. `load` reads a file of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
    from softfloat_ref.arrays.files import load, save
    from softfloat_ref.arrays.quantized import QuantizedArray
    from softfloat_ref.arrays.scalar_array import ScalarArray, from_codes, from_torch, unpack

__all__ = [
    "QuantizedArray",
    "ScalarArray",
    "as_source",
    "code_dtype",
    "decode",
    "decode_float64",
    "encode",
    "encode_flags",
    "from_codes",
    "from_torch",
    "load",
    "quantize",
    "save",
    "unpack",
]

_MODULES: Final = {
    **dict.fromkeys(("load", "save"), "files"),
    **dict.fromkeys(("ScalarArray", "from_codes", "from_torch", "unpack"), "scalar_array"),
    "QuantizedArray": "quantized",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that importing a module of this package does not load the array code."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, 'convert')}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
