"""Conformance suites: properties of a user's own model, tested on cases that Hypothesis generates.

class TestMyFma(testing.FmaConformance):
    fmt = "fp16"

    def model(self, a, b, c):
        return my_fma(a, b, c)
"""

from __future__ import annotations

from softfloat_ref.testing.conformance import arithmetic, ordering, rounded  # noqa: F401  (they enter the table)
from softfloat_ref.testing.conformance.affine import AffineConformance
from softfloat_ref.testing.conformance.blocks import BlockQuantizeConformance
from softfloat_ref.testing.conformance.dots import DotConformance
from softfloat_ref.testing.conformance.operation import Case, OperationSuite
from softfloat_ref.testing.conformance.suite import NotConforming, Property, Suite
from softfloat_ref.testing.conformance.table import properties

__all__ = [
    "AddConformance",
    "AffineConformance",
    "BlockQuantizeConformance",
    "Case",
    "CompareConformance",
    "ConvertConformance",
    "DivConformance",
    "DotConformance",
    "FmaConformance",
    "MinMaxConformance",
    "MulConformance",
    "NotConforming",
    "OperationConformance",
    "OperationSuite",
    "Property",
    "QuantizeConformance",
    "SqrtConformance",
    "SubConformance",
    "Suite",
]


class AddConformance(OperationSuite):
    """Of a + b: model(self, a, b)."""

    op = "add"
    properties = properties("add")


class SubConformance(OperationSuite):
    """Of a - b: model(self, a, b)."""

    op = "sub"
    properties = properties("sub")


class MulConformance(OperationSuite):
    """Of a * b: model(self, a, b)."""

    op = "mul"
    properties = properties("mul")


class DivConformance(OperationSuite):
    """Of a / b: model(self, a, b)."""

    op = "div"
    properties = properties("div")


class SqrtConformance(OperationSuite):
    """Of the square root: model(self, a)."""

    op = "sqrt"
    properties = properties("sqrt")


class FmaConformance(OperationSuite):
    """Of a * b + c, rounded once: model(self, a, b, c)."""

    op = "fma"
    properties = properties("fma")


class ConvertConformance(OperationSuite):
    """Of a conversion from `fmt` to `out`, quantization among them: model(self, a)."""

    op = "convert"
    properties = properties("convert")


QuantizeConformance = ConvertConformance


class CompareConformance(OperationSuite):
    """Of a comparison, `op`: eq lt le eq_signaling lt_quiet le_quiet. model(self, a, b) returns 0 or 1."""

    op = "lt"
    properties = properties("eq", "lt")


class MinMaxConformance(OperationSuite):
    """Of a minimum or maximum, `op`: minimum maximum minimum_number maximum_number min max. model(self, a, b)."""

    op = "minimum"
    properties = properties("minimum")


class OperationConformance(OperationSuite):
    """Of any operation, `op`: only equality with the oracle."""

    properties = properties()
