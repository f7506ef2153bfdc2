"""Fused multiply-adds, with the signs that processors give the product and the addend.

fmsub, fnmadd and fnmsub are RISC-V's (F extension): operands are negated before, and the exact sum is rounded once. The
sign of an exact zero is that of the sum of the two signed terms, so fnmadd is not the negated fma: -(1 * 1) - (-1) is
+0. x86 has the same operations under other names. Of a NaN operand the sign is not changed, which shows under policies
that propagate NaNs. Arm negates operands with FPNeg (FPCR.AH = 0), which changes it. Power negates what it has rounded
(Power ISA 3.1B, 4.6.7), of NaNs not even the sign: its directed roundings and its exact zeros are on the other side.
"""

from __future__ import annotations

from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import NAN, Value
from softfloat_ref.oracle.operations.arithmetic import sum_of_terms
from softfloat_ref.oracle.operations.formula import (
    MULTIPLY_ADD,
    MULTIPLY_SUBTRACT,
    NEGATED_MULTIPLY_ADD,
    NEGATED_MULTIPLY_SUBTRACT,
    Formula,
)
from softfloat_ref.oracle.operations.table import Context, Loop, Outcome, operation

FAMILY: Final = "multiply-add"


def _register(
    name: str, summary: str, formula: Formula, family: str = FAMILY, nan_signs: bool = False, after: bool = False
) -> None:
    """nan_signs: a negated NaN operand changes its sign. after: the negation is that of the rounded result."""
    product, addend = formula.minus

    def negated(x: Value) -> Value:
        return x if x.kind == NAN and not nan_signs else exact.negate(x)

    @operation(name, 3, summary, nans=True, formula=formula, commutes=True, family=family, negated=after, loop=Loop.FMA)
    def compute(ctx: Context, a: Value, b: Value, c: Value) -> Outcome:
        return sum_of_terms(ctx, (negated(a) if product else a, b), negated(c) if addend else c)


_register("fma", "a * b + c, rounded once", MULTIPLY_ADD)
_register("fmsub", "a * b - c, rounded once (RISC-V FMSUB, x86 VFMSUB)", MULTIPLY_SUBTRACT)
_register("fnmadd", "-(a * b) - c, rounded once (RISC-V FNMADD, x86 VFNMSUB)", NEGATED_MULTIPLY_ADD)
_register("fnmsub", "-(a * b) + c, rounded once (RISC-V FNMSUB, x86 VFNMADD)", NEGATED_MULTIPLY_SUBTRACT)
_register("arm_fmsub", "-(a * b) + c as Arm FMSUB: the sign of a NaN a is changed", NEGATED_MULTIPLY_SUBTRACT, "", True)
_register(
    "arm_fnmadd", "-(a * b) - c as Arm FNMADD: the sign of a NaN a or c is changed", NEGATED_MULTIPLY_ADD, "", True
)
_register("arm_fnmsub", "a * b - c as Arm FNMSUB: the sign of a NaN c is changed", MULTIPLY_SUBTRACT, "", True)
_register("power_fnmadd", "-(a * b + c) as Power: negated after rounding", NEGATED_MULTIPLY_ADD, after=True)
_register("power_fnmsub", "-(a * b - c) as Power: negated after rounding", NEGATED_MULTIPLY_SUBTRACT, after=True)
