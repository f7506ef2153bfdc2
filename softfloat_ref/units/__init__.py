"""Units: what circuits compute, one file per kind. `make_unit` makes the unit for an operation and its formats."""

from __future__ import annotations

from softfloat_ref.units.affine import AffineDequantizeUnit, AffineQuantizeUnit
from softfloat_ref.units.approximation import ApproximationUnit
from softfloat_ref.units.block_operation import BlockOperationUnit
from softfloat_ref.units.dequantize import DequantizeUnit
from softfloat_ref.units.dot import DotUnit
from softfloat_ref.units.integer_dot import IntegerDotUnit
from softfloat_ref.units.matmul import MatmulUnit
from softfloat_ref.units.mixed import MixedUnit
from softfloat_ref.units.operation import OperationUnit
from softfloat_ref.units.pipeline import PipelineUnit
from softfloat_ref.units.quantize import QuantizeUnit
from softfloat_ref.units.requantize import RequantizeUnit
from softfloat_ref.units.requests import OPTIONS, REQUESTS, find_operation, is_definition, make_unit, options_of
from softfloat_ref.units.roundings import RoundingsUnit
from softfloat_ref.units.selection import SelectionUnit
from softfloat_ref.units.unit import KINDS, Field, Line, SteppedUnit, Unit, controls, restored, stored
from softfloat_ref.units.vector import VectorUnit

__all__ = [
    "KINDS",
    "OPTIONS",
    "REQUESTS",
    "AffineDequantizeUnit",
    "AffineQuantizeUnit",
    "ApproximationUnit",
    "BlockOperationUnit",
    "DequantizeUnit",
    "DotUnit",
    "Field",
    "IntegerDotUnit",
    "Line",
    "MatmulUnit",
    "MixedUnit",
    "OperationUnit",
    "PipelineUnit",
    "QuantizeUnit",
    "RequantizeUnit",
    "RoundingsUnit",
    "SelectionUnit",
    "SteppedUnit",
    "Unit",
    "VectorUnit",
    "controls",
    "find_operation",
    "is_definition",
    "make_unit",
    "options_of",
    "restored",
    "stored",
]


def __dir__() -> list[str]:
    return sorted(__all__)
