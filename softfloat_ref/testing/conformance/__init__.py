"""Conformance suites: properties of a user's own model, tested on cases that Hypothesis generates.

class TestMyFma(testing.FmaConformance):
    fmt = "fp16"

    def model(self, a, b, c):
        return my_fma(a, b, c)
"""

from __future__ import annotations

from typing import Any

from softfloat_ref.testing.conformance import arithmetic, ordering, rounded  # noqa: F401  (they enter the table)
from softfloat_ref.testing.conformance.affine import AffineConformance as AffineConformance
from softfloat_ref.testing.conformance.blocks import BlockQuantizeConformance as BlockQuantizeConformance
from softfloat_ref.testing.conformance.dots import DotConformance as DotConformance
from softfloat_ref.testing.conformance.integer_dots import IntegerDotConformance as IntegerDotConformance
from softfloat_ref.testing.conformance.operation import OperationSuite
from softfloat_ref.testing.conformance.requantize import RequantizeConformance as RequantizeConformance
from softfloat_ref.testing.conformance.suite import NotConforming as NotConforming
from softfloat_ref.testing.conformance.table import properties


class _Suite(OperationSuite):
    """of: the operation of a suite. like: another one, whose properties it has too."""

    def __init_subclass__(cls, of: str = "", like: str = "", **options: Any) -> None:
        if of:
            cls.op, cls.properties = of, properties(of, like or of)
        super().__init_subclass__(**options)


class AddConformance(_Suite, of="add"):
    """Of a + b: model(self, a, b)."""


class SubConformance(_Suite, of="sub"):
    """Of a - b: model(self, a, b)."""


class MulConformance(_Suite, of="mul"):
    """Of a * b: model(self, a, b)."""


class DivConformance(_Suite, of="div"):
    """Of a / b: model(self, a, b)."""


class SqrtConformance(_Suite, of="sqrt"):
    """Of the square root: model(self, a)."""


class FmaConformance(_Suite, of="fma"):
    """Of a multiply-add, rounded once, `op`: fma fmsub fnmadd fnmsub. model(self, a, b, c)."""


class ConvertConformance(_Suite, of="convert"):
    """Of a conversion from `fmt` to `out`, quantization among them: model(self, a)."""


QuantizeConformance = ConvertConformance


class CompareConformance(_Suite, of="lt", like="eq"):
    """Of a comparison, `op`: eq lt le eq_signaling lt_quiet le_quiet. model(self, a, b) returns 0 or 1."""


class MinMaxConformance(_Suite, of="minimum"):
    """Of a minimum or maximum, `op`: minimum maximum minimum_number maximum_number min max. model(self, a, b)."""


class FunctionConformance(_Suite, of="tanh", like="cosh"):
    """Of a function, `op`: exp tanh sigmoid ... (docs/functions.md). model(self, a), or (self, a, b)."""


class OperationConformance(OperationSuite):
    """Of any operation, `op`: only equality with the oracle."""

    properties = properties()
