"""softfloat_ref: a bit-accurate numerics reference and golden-vector generator for hardware designers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import Encoded, decode, encode
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format, register_other_kind
from softfloat_ref.oracle.operations import OPERATIONS, evaluate
from softfloat_ref.oracle.policies import POLICIES, Overflow, Policy, Tininess, get_policy
from softfloat_ref.oracle.rounding import Rounding

if TYPE_CHECKING:
    from softfloat_ref import arrays
    from softfloat_ref.arrays import affine, blocks, exchange
    from softfloat_ref.arrays import operations as array_ops
    from softfloat_ref.arrays.errors import error
    from softfloat_ref.arrays.kinds import encode as encode_array
    from softfloat_ref.arrays.kinds import quantize
    from softfloat_ref.oracle.accumulate import ACCUMULATORS, Accumulator, dot, get_accumulator

__version__ = "0.1.0"

__all__ = [
    "ACCUMULATORS",
    "CATALOGUE",
    "OPERATIONS",
    "POLICIES",
    "Accumulator",
    "Encoded",
    "Error",
    "Flags",
    "Format",
    "Overflow",
    "Policy",
    "Rounding",
    "Tininess",
    "Value",
    "affine",
    "array_ops",
    "arrays",
    "blocks",
    "decode",
    "dot",
    "encode",
    "encode_array",
    "error",
    "evaluate",
    "exchange",
    "get_accumulator",
    "get_format",
    "get_policy",
    "quantize",
]


_LAZY_NAMES: Final = {  # names that are imported when first asked for: array layers (numpy), accumulators
    "accumulate": ("oracle.accumulate", None),
    "arrays": ("arrays", None),
    **{name: (f"arrays.{name}", None) for name in ("affine", "blocks", "exchange")},
    "array_ops": ("arrays.operations", None),
    **{name: ("oracle.accumulate", name) for name in ("ACCUMULATORS", "Accumulator", "dot", "get_accumulator")},
    "error": ("arrays.errors", "error"),
    "encode_array": ("arrays.kinds", "encode"),
    "quantize": ("arrays.kinds", "quantize"),
    "torch": ("torch", None),  # not in __all__: `import *` must not need the package torch
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module 'softfloat_ref' has no attribute {name!r}")
    import importlib

    module, attribute = _LAZY_NAMES[name]
    found = importlib.import_module(f"softfloat_ref.{module}")
    return getattr(found, attribute) if attribute else found


def _other_kind_of_format(name: str) -> str:
    """What to say of the name of a block or affine format where a scalar format is wanted."""
    from softfloat_ref.oracle import affine
    from softfloat_ref.oracle.blocks import formats

    return formats.described(name) or affine.described(name)


register_other_kind(_other_kind_of_format)


def __dir__() -> list[str]:
    return sorted(__all__)
