"""The names that IEEE P3109 v4.0 (annex G) has for operations of the table."""

from __future__ import annotations

from typing import Final

# CompareLess and its kin are quiet: P3109 has no flags.
NAMES: Final[dict[str, str]] = {
    "Convert": "convert",
    "Negate": "neg",
    "Abs": "abs",
    "Add": "add",
    "Subtract": "sub",
    "Multiply": "mul",
    "FMA": "fma",
    "FAA": "faa",
    "Minimum": "minimum",
    "Maximum": "maximum",
    "MinimumNumber": "minimum_number",
    "MaximumNumber": "maximum_number",
    "MinimumMagnitude": "minimum_magnitude",
    "MaximumMagnitude": "maximum_magnitude",
    "MinimumMagnitudeNumber": "minimum_magnitude_number",
    "MaximumMagnitudeNumber": "maximum_magnitude_number",
    "Clamp": "clamp",
    "CompareLess": "lt_quiet",
    "CompareLessEqual": "le_quiet",
    "CompareEqual": "eq",
    "Divide": "div",
    "Sqrt": "sqrt",
    "Recip": "recip",
    "RSqrt": "rsqrt",
    "Exp": "exp",
    "Exp2": "exp2",
    "ExpMinusOne": "expm1",
    "Log": "log",
    "Log2": "log2",
    "LogOnePlus": "log1p",
    "Softplus": "softplus",
    "NextGreaterThan": "next_up",
    "NextLessThan": "next_down",
    "CopySign": "copysign",
    "TotalOrder": "total_order",
    "Hypot": "hypot",
    "ArcTan2": "atan2",
    "ArcTan2Pi": "atan2pi",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "ArcSin": "asin",
    "ArcCos": "acos",
    "ArcTan": "atan",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Tanh": "tanh",
    "ArcSinh": "asinh",
    "ArcCosh": "acosh",
    "ArcTanh": "atanh",
    "SinPi": "sinpi",
    "CosPi": "cospi",
    "TanPi": "tanpi",
    "ArcSinPi": "asinpi",
    "ArcCosPi": "acospi",
    "ArcTanPi": "atanpi",
}
_BY_KEY: Final = {name.lower(): own for name, own in NAMES.items()}


def own_name(name: str) -> str:
    """The table's name of an operation, from that or P3109's, in any case; other names as they are, in lower case."""
    key = name.strip().lower().replace("-", "_")
    return _BY_KEY.get(key, key)
