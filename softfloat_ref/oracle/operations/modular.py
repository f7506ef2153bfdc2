"""Conversions to integers whose result is the integer's lower bits, as JavaScript's ToInt32 and ToUint32 have it.

With the rounding rtz these are RISC-V's FCVTMOD.W.D (Zfa) and Arm's FJCVTZS, which raise the flags of the conversion
that saturates: invalid out of range (alone), and for NaN and Inf, whose result is 0; inexact in range. FJCVTZS also
sets Z where no flag is raised and the operand is neither -0 nor a subnormal number that is flushed.
"""

from __future__ import annotations

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.flags import INEXACT, INVALID
from softfloat_ref.oracle.operations.arithmetic import integral
from softfloat_ref.oracle.operations.table import Context, Outcome, operation


@operation(
    "convert_modular",
    1,
    "a rounded to an integer, modulo 2^n of its n bits (rtz: ToInt32, RISC-V FCVTMOD, Arm FJCVTZS)",
    nans=True,
    integral=True,
    modular=True,
)
def _convert_modular(ctx: Context, a: Value) -> Outcome:
    n, signed = ctx.out.width, ctx.out.signed
    if a.kind != FINITE:
        return exact.zero(0), INVALID
    whole, inexact = integral(ctx, a)
    if whole.exponent >= n:  # a multiple of 2^n
        return exact.zero(0), INVALID if whole.significand else 0
    size = whole.significand << whole.exponent
    half = 1 << (n - 1)
    most = (half if whole.sign else half - 1) if signed else (0 if whole.sign else 2 * half - 1)
    flags = INVALID if size > most else INEXACT if inexact else 0
    low = size & (2 * half - 1)
    if whole.sign and low:
        low = 2 * half - low
    return (exact.finite(1, 2 * half - low, 0) if signed and low >= half else exact.finite(0, low, 0)), flags
