"""Functions of vectors, as machine learning has them: softmax, normalizations, attention scores.

Each output is the exact real value for the decoded inputs, rounded once. A function is its special cases, then one
exact computation for all lanes. To add one, add a row: a function with a decorator, in the module of its kind.
"""

from __future__ import annotations

from softfloat_ref.oracle.vector_functions import exponentials, norms  # noqa: F401  (their rows enter the table)
from softfloat_ref.oracle.vector_functions.table import (
    VECTOR_FUNCTIONS,
    FunctionSetting,
    Lanes,
    OperandValues,
    Parameter,
    VectorFunction,
    exact_lanes,
    get_vector_function,
)

__all__ = [
    "VECTOR_FUNCTIONS",
    "FunctionSetting",
    "Lanes",
    "OperandValues",
    "Parameter",
    "VectorFunction",
    "exact_lanes",
    "get_vector_function",
]


def __dir__() -> list[str]:
    return sorted(__all__)
