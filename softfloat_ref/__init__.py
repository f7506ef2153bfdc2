"""softfloat_ref: a bit-accurate numerics reference and golden-vector generator for hardware designers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.codec import Encoded, decode, encode
from softfloat_ref.errors import Error
from softfloat_ref.exact import Value
from softfloat_ref.formats import CATALOGUE, Format, get_format
from softfloat_ref.ops import OPERATIONS, evaluate
from softfloat_ref.policies import POLICIES, Overflow, Policy, Tininess, get_policy
from softfloat_ref.rounding import Flags, Rounding

if TYPE_CHECKING:
    from softfloat_ref import affine, array_ops, arrays, blocks, exchange
    from softfloat_ref.accumulate import ACCUMULATORS, Accumulator, dot, get_accumulator
    from softfloat_ref.affine import quantize_values as quantize

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
    "evaluate",
    "exchange",
    "get_accumulator",
    "get_format",
    "get_policy",
    "quantize",
]


_LATER: Final = {  # names of modules that are imported when first asked for: array layers (numpy), accumulators
    **{name: (name, None) for name in ("accumulate", "affine", "array_ops", "arrays", "blocks", "exchange")},
    **{name: ("accumulate", name) for name in ("ACCUMULATORS", "Accumulator", "dot", "get_accumulator")},
    "quantize": ("affine", "quantize_values"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'softfloat_ref' has no attribute {name!r}")
    import importlib

    module, attribute = _LATER[name]
    found = importlib.import_module(f"softfloat_ref.{module}")
    return getattr(found, attribute) if attribute else found
