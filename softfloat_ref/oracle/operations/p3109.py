"""The names that IEEE P3109 v4.0 (annex G) has for operations, in its groups, and the names that these have here.

Also processors' names of operations that have other names here.
"""

from __future__ import annotations

from typing import Final

# CompareLess and its kin are quiet: P3109 has no flags.
_CORE: Final = {
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
}
_BASIC: Final = {
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
}
_FULL: Final = {
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
NAMES: Final[dict[str, str]] = {**_CORE, **_BASIC, **_FULL}
# Operations on values that are no numbers of a result's format: these have no block form (5.4).
_NO_BLOCKS: Final = ("Compare", "Is", "Next", "TotalOrder", "Class")


def _blocks(names: dict[str, str], prefix: str = "Block") -> dict[str, str]:
    """The block forms of operations."""
    numeric = {name: own for name, own in names.items() if not name.startswith(_NO_BLOCKS)}
    return {f"{prefix}{name}": form_name(prefix.lower(), own) for name, own in numeric.items()}


def form_name(prefix: str, own: str) -> str:
    """The name of the block or scaled form of an operation."""
    return f"{prefix}_{own.removesuffix('_rounded')}"


_CONVERSIONS: Final = {
    "ConvertFromBlock": "convert_from_block",
    "ConvertToBlock": "convert_to_block",
    "ConvertToBlockMaxAbsFinite": "convert_to_block_max_abs_finite",
}
_REDUCTIONS: Final = {
    "BlockReduceAdd": "block_reduce_add",
    "BlockReduceMultiply": "block_reduce_multiply",
    "BlockDotProduct": "block_dot_product",
}
META: Final = {
    "BitwidthOf": "bitwidth_of",
    "PrecisionOf": "precision_of",
    "SignednessOf": "signedness_of",
    "DomainOf": "domain_of",
    "ExponentBitwidthOf": "exponent_bitwidth_of",
    "TrailingSignificandBitwidthOf": "trailing_significand_bitwidth_of",
    "ExponentBiasOf": "exponent_bias_of",
    "MaxFiniteOf": "max_finite_of",
    "MinFiniteOf": "min_finite_of",
    "MinPositiveOf": "min_positive_of",
    "MaxSubnormalOf": "max_subnormal_of",
    "MinNormalOf": "min_normal_of",
}
# Annex G: each group's title, and its operations by their names here.
GROUPS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "A": ("core", _CORE),
    "M": ("meta", META),
    "KA": ("block core", _CONVERSIONS | _blocks(_CORE)),
    "B": ("basic", _BASIC),
    "KB": ("block basic", _blocks(_BASIC)),
    "C": ("full", _FULL),
    "KC": ("block full", _blocks(_FULL)),
    "E": ("block reductions", _REDUCTIONS),
}
SCALED: Final = _blocks(NAMES, "Scaled")  # 5.5
_ALL: Final = {name: own for _, names in GROUPS.values() for name, own in names.items()} | SCALED
# Processors' names of multiply-adds: RISC-V's, Arm's and Power's FMADD; x86's, which are others' names for other bits.
_PROCESSORS: Final = {
    "fmadd": "fma",
    "x86_fmadd": "fma",
    "x86_fmsub": "fmsub",
    "x86_fnmadd": "fnmsub",
    "x86_fnmsub": "fnmadd",
}
# Rows whose names differ from P3109's in case alone: IEEE 754's operations on codes.
_BY_KEY: Final = _PROCESSORS | {k: own for name, own in _ALL.items() if (k := name.lower()) not in ("abs", "copysign")}


def own_name(name: str) -> str:
    """The name here of an operation, from that, P3109's or a processor's, in any case; other names as they are, in
    lower case.

    `Abs` and `CopySign`, so written, are P3109's operations; `abs` and `copysign` are the rows of these names.
    """
    text = name.strip()
    key = text.lower().replace("-", "_")
    return _ALL.get(text) or _BY_KEY.get(key, key)
