"""The names that IEEE P3109 v4.0 (annex G) has for operations of the table."""

from __future__ import annotations

from typing import Final

# CompareLess and its kin are quiet: P3109 has no flags.
NAMES: Final[dict[str, str]] = {
    "Convert": "convert",
    "Negate": "neg_rounded",
    "Abs": "abs_rounded",
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
    "MinimumFinite": "minimum_finite",
    "MaximumFinite": "maximum_finite",
    "Clamp": "clamp",
    "CompareLess": "lt_quiet",
    "CompareLessEqual": "le_quiet",
    "CompareEqual": "eq",
    "CompareGreater": "gt_quiet",
    "CompareGreaterEqual": "ge_quiet",
    "IsZero": "is_zero",
    "IsOne": "is_one",
    "IsNaN": "is_nan",
    "IsInfinite": "is_infinite",
    "IsFinite": "is_finite",
    "IsSignMinus": "is_sign_minus",
    "IsNormal": "is_normal",
    "IsSubnormal": "is_subnormal",
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
    "CopySign": "copysign_rounded",
    "TotalOrder": "total_order",
    "Class": "class",
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
# Rows whose names differ from P3109's in case alone: IEEE 754's operations on codes.
_BY_KEY: Final = {k: own for name, own in NAMES.items() if (k := name.lower()) not in ("abs", "copysign")}


def own_name(name: str) -> str:
    """The table's name of an operation, from that or P3109's, in any case; other names as they are, in lower case.

    `Abs` and `CopySign`, so written, are P3109's operations; `abs` and `copysign` are the rows of these names.
    """
    given = name.strip()
    key = given.lower().replace("-", "_")
    return NAMES.get(given) or _BY_KEY.get(key, key)
