"""Operations on the sign that round to another format, as all of P3109's do (4.10.1, 4.10.2).

IEEE 754's abs, negate and copySign work on codes of one format instead (on_codes).
"""

from __future__ import annotations

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.operations.table import Context, Outcome, operation


@operation("abs_rounded", 1, "|a| in another format, rounded (P3109 Abs)")
def _abs_rounded(ctx: Context, a: Value) -> Outcome:
    return exact.magnitude(a), 0


@operation("neg_rounded", 1, "-a in another format, rounded (P3109 Negate)")
def _neg_rounded(ctx: Context, a: Value) -> Outcome:
    return exact.negate(a), 0


@operation("copysign_rounded", 2, "a with the sign of b in another format, rounded (P3109 CopySign)", p3109=True)
def _copysign_rounded(ctx: Context, a: Value, b: Value) -> Outcome:
    sign = 0 if ctx.p3109 and b.is_zero else b.sign  # P3109 has one zero
    return a._replace(sign=sign), 0
