"""softfloat_ref: a bit-accurate numerics reference and golden-vector generator for hardware designers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import Encoded
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format, register_other_kind
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.policies import POLICIES, Overflow, Policy, Tininess, get_policy
from softfloat_ref.oracle.rounding import Rounding
from softfloat_ref.workflow.numbers import decode, encode, evaluate

if TYPE_CHECKING:
    from softfloat_ref import arrays
    from softfloat_ref.arrays import affine, blocks, exchange
    from softfloat_ref.arrays import operations as array_ops
    from softfloat_ref.arrays.errors import quantization_error
    from softfloat_ref.arrays.kinds import quantize
    from softfloat_ref.golden.cases import cases
    from softfloat_ref.golden.generate import generate
    from softfloat_ref.golden.sets import VectorSet
    from softfloat_ref.golden.trace.loader import load_trace
    from softfloat_ref.golden.trace.step import write_step
    from softfloat_ref.golden.verify import verify as verify_vectors
    from softfloat_ref.nn.model_files.model import read_model
    from softfloat_ref.oracle.accumulate import ACCUMULATORS, Accumulator, dot, get_accumulator
    from softfloat_ref.oracle.formats import meta as p3109
    from softfloat_ref.rtl.simulators import find as find_simulator
    from softfloat_ref.units import Unit
    from softfloat_ref.workflow.check import check, diagnose
    from softfloat_ref.workflow.explain import explain
    from softfloat_ref.workflow.prove import prove
    from softfloat_ref.workflow.units import unit, vectors
    from softfloat_ref.workflow.verify_module import verify

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
    "Unit",
    "Value",
    "VectorSet",
    "affine",
    "array_ops",
    "arrays",
    "blocks",
    "cases",
    "check",
    "decode",
    "diagnose",
    "dot",
    "encode",
    "evaluate",
    "exchange",
    "explain",
    "find_simulator",
    "generate",
    "get_accumulator",
    "get_format",
    "get_policy",
    "load_trace",
    "p3109",
    "prove",
    "quantization_error",
    "quantize",
    "read_model",
    "unit",
    "vectors",
    "verify",
    "verify_vectors",
    "write_step",
]


_LAZY_NAMES: Final = {  # imported on first use: arrays (numpy), accumulators, the workflow; None: the module itself
    "accumulate": ("oracle.accumulate", None),
    "arrays": ("arrays", None),
    **{name: (f"arrays.{name}", None) for name in ("affine", "blocks", "exchange")},
    "array_ops": ("arrays.operations", None),
    "p3109": ("oracle.formats.meta", None),
    **{name: ("oracle.accumulate", name) for name in ("ACCUMULATORS", "Accumulator", "dot", "get_accumulator")},
    "quantization_error": ("arrays.errors", "quantization_error"),
    "quantize": ("arrays.kinds", "quantize"),
    "Unit": ("units", "Unit"),
    "VectorSet": ("golden.sets", "VectorSet"),
    **{name: ("workflow.units", name) for name in ("unit", "vectors")},
    **{name: ("workflow.check", name) for name in ("check", "diagnose")},
    **{name: (f"workflow.{name}", name) for name in ("explain", "prove")},
    "verify": ("workflow.verify_module", "verify"),
    "verify_vectors": ("golden.verify", "verify"),
    **{name: (f"golden.{name}", name) for name in ("cases", "generate")},
    "read_model": ("nn.model_files.model", "read_model"),
    "load_trace": ("golden.trace.loader", "load_trace"),
    "write_step": ("golden.trace.step", "write_step"),
    "find_simulator": ("rtl.simulators", "find"),
    "nn": ("nn", None),  # not in __all__, as torch: training is a field of its own
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
