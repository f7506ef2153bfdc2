"""Units: what circuits compute, one file per kind. `make_unit` makes the unit for an operation and its formats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.oracle.affine import get_affine_format, is_affine
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS
from softfloat_ref.oracle.operations import OPERATIONS, Operation
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.oracle.vector_functions import VECTOR_FUNCTIONS
from softfloat_ref.units.affine import AffineDequantizeUnit, AffineQuantizeUnit
from softfloat_ref.units.approximation import ApproximationUnit
from softfloat_ref.units.block_operation import BlockOperationUnit
from softfloat_ref.units.dequantize import DequantizeUnit
from softfloat_ref.units.dot import DotUnit
from softfloat_ref.units.matmul import MatmulUnit
from softfloat_ref.units.mixed import MixedUnit
from softfloat_ref.units.operation import OperationUnit
from softfloat_ref.units.quantize import QuantizeUnit
from softfloat_ref.units.roundings import RoundingsUnit
from softfloat_ref.units.selection import SelectionUnit
from softfloat_ref.units.unit import KINDS, Field, Line, SteppedUnit, Unit, controls, restored, stored
from softfloat_ref.units.vector import VectorUnit

__all__ = [
    "KINDS",
    "REQUESTS",
    "AffineDequantizeUnit",
    "AffineQuantizeUnit",
    "ApproximationUnit",
    "BlockOperationUnit",
    "DequantizeUnit",
    "DotUnit",
    "Field",
    "Line",
    "MatmulUnit",
    "MixedUnit",
    "OperationUnit",
    "QuantizeUnit",
    "RoundingsUnit",
    "SelectionUnit",
    "SteppedUnit",
    "Unit",
    "VectorUnit",
    "controls",
    "find_operation",
    "is_definition",
    "make_unit",
    "restored",
    "stored",
]
SIDE: Final = 16  # rows and columns of a matrix product, by default


def _quantize(fmt: Any, out: Any = None, policy: Any = None, profile: Any = None) -> Unit:
    if is_affine(fmt):
        return AffineQuantizeUnit.make(fmt, out, policy, profile)
    return QuantizeUnit.make(_block("quantize", fmt), out, policy, profile)


def _dequantize(fmt: Any, out: Any = None, policy: Any = None, profile: Any = None) -> Unit:
    if is_affine(fmt):
        if profile is not None or out not in (None, "fp32"):
            raise Error("dequantize of affine integers always gives fp32")
        return AffineDequantizeUnit(get_affine_format(fmt))
    return DequantizeUnit.make(_block("dequantize", fmt), out, profile)


def _block(op: str, fmt: Any) -> BlockFormat:
    found = any_format(fmt) if isinstance(fmt, str) else fmt
    if not isinstance(found, BlockFormat):
        raise Error(f"{op} works on blocks; give a block format, such as mxfp8 (scalar conversions are op convert)")
    return found


def _matmul(fmt: Any, m: int = SIDE, n: int = SIDE, layout: str = "dense", word: int = 64, **dot: Any) -> Unit:
    return MatmulUnit(DotUnit.make(fmt, **dot), m, n, layout, word)


# What is asked for by names that are no operation's; each takes a format, and its own keywords.
REQUESTS: Final[dict[str, Callable[..., Unit]]] = {
    "quantize": _quantize,
    "dequantize": _dequantize,
    "dot": DotUnit.make,
    "matmul": _matmul,
    **{name: partial(BlockOperationUnit.make, name) for name in BLOCK_OPERATIONS},
    **{name: partial(VectorUnit.make, name) for name in VECTOR_FUNCTIONS},
}


def find_operation(op: str) -> Operation:
    """The operation of that name, or of P3109's. Raises Error, listing the closest names of every kind of unit."""
    if (name := own_name(op)) not in OPERATIONS:
        raise unknown("operation", op, (*OPERATIONS, *REQUESTS))
    return OPERATIONS[name]


def is_definition(op: str) -> bool:
    """Whether an operation is given by a file, FILE.toml[:NAME], which defines an approximation."""
    return ".toml" in op


def make_unit(op: str, fmt: Any = None, **options: Any) -> Unit:
    """The unit for the name of an operation (or quantize, dequantize, dot, matmul, block_add, softmax, ...) and a
    format or formats; or for the FILE.toml[:NAME] of an approximation, which has its own.

    options: out; policy (operations, quantize, forms, functions of vectors), scale_policy
    (convert_to_block_max_abs_finite), profile (quantize, dequantize: block profile or affine rule); acc, k, steps,
    extrapolate (dot, matmul); m, n, layout, word (matmul); length, depth, epsilon, plain, masked (functions of
    vectors). Raises Error.
    """
    if is_definition(op):
        chosen = {k: v for k, v in options.items() if v is not None}
        if extra := [k for k in chosen if k != "out"]:
            raise Error(f"{op} has its own rounding and formats; leave {', '.join(extra)} out")
        return ApproximationUnit.make(op, fmt, **chosen)
    name = own_name(op)
    if fmt is None:
        raise Error(f"{op} needs a format")
    if name in REQUESTS:
        return REQUESTS[name](fmt, **options)
    return OperationUnit.make(find_operation(op).name, fmt, **options)


def __dir__() -> list[str]:
    return sorted(__all__)
