"""Arm's estimates, the fused steps that refine them, and the reciprocal exponent (Arm ARM, DDI 0487, pseudocode).

Those of FPCR.AH = 0: 8 bits in every format.
"""

from __future__ import annotations

from math import isqrt
from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.operations.estimate import Estimate, estimated
from softfloat_ref.oracle.operations.estimates.rows import FAMILIES, estimate
from softfloat_ref.oracle.operations.table import Context, Outcome, Standing, nan_operand, operation

BITS: Final = 8
_HALF: Final = 1 << BITS


def reciprocals() -> list[int]:
    """RecipEstimate for each fraction: half the rounded-up quotient 2^19 / (2a + 1), less its leading one."""
    return [((1 << 19) // (2 * a + 1) + 1) // 2 - _HALF for a in range(_HALF, 2 * _HALF)]


def roots() -> list[int]:
    """RecipSqrtEstimate by the exponent's parity and the fraction: the operand a quarter to a half, then to one.

    The b that the pseudocode finds by counting is the largest with a b^2 < 2^28.
    """
    even = [2 * (_HALF // 2 + (i >> 1)) + 1 for i in range(_HALF)]
    odd = [2 * ((_HALF + i) // 2 * 2 + 1) for i in range(_HALF)]
    return [(isqrt(((1 << 28) - 1) // a) + 1) // 2 - _HALF for a in (*even, *odd)]


RECIPROCAL: Final = Estimate(root=False, index_bits=BITS, bits=BITS, make=reciprocals)
ROOT: Final = Estimate(root=True, index_bits=BITS, bits=BITS, make=roots)
_ARM: Final = "Arm ARM (DDI 0487), shared pseudocode"
_FLOATS: Final = Standing("QEMU: fp16 every code, fp32 and fp64 samples; four roundings, flushing, flags", _ARM)
_WORDS: Final = Standing("QEMU: every value of the bits that it depends on", _ARM)
_STEPS: Final = Standing("QEMU: fp16, fp32 and fp64 samples; four roundings, flushing, flags", _ARM)

estimate("frecpe", "Arm: 1 / a to 8 bits", _FLOATS, RECIPROCAL)
estimate("frsqrte", "Arm: 1 / sqrt(a) to 8 bits", _FLOATS, ROOT)


def _of_words(name: str, summary: str, e: Estimate) -> None:
    """An estimate for fixed point: a register of bits below the binary point; all ones where it is too small."""

    @operation(
        name,
        1,
        summary,
        operands=("integer",),
        result="same",
        flushes=False,
        family=f"word {FAMILIES[e.root]}",
        standing=_WORDS,
    )
    def compute(ctx: Context, a: int) -> tuple[int, int]:
        width, below = ctx.formats[0].width, a.bit_length() - 1
        if below < width - 1 - e.root or below < 0:
            return (1 << width) - 1, 0
        significand, _ = estimated(
            a - (1 << below), below, below - width, e.root, e.index_bits, e.bits, e.exact, e.table
        )
        return significand << width >> BITS + 1, 0


_of_words("urecpe", "Arm: 1 / a to 8 bits, a being the fraction of an unsigned word", RECIPROCAL)
_of_words("ursqrte", "Arm: 1 / sqrt(a) to 8 bits, a being the fraction of an unsigned word", ROOT)


# -- refinement ----------------------------------------------------------------------------------------------------


def _step(name: str, summary: str, addend: int, halved: int) -> None:
    """(addend - a * b) / 2^halved; of zero and infinity, the product counts as zero. NaN a is negated, too."""
    constant = exact.finite(0, addend, 0)

    @operation(name, 2, summary, nans=True, family="refinement", standing=_STEPS)
    def compute(ctx: Context, a: Value, b: Value) -> Outcome:
        a = exact.negate(a)
        if a.kind == NAN or b.kind == NAN:
            return nan_operand(ctx.policy.nan_rule, (a, b))
        if a.kind == INF or b.kind == INF:
            if not a.is_zero and not b.is_zero:
                return exact.inf(a.sign ^ b.sign), 0
            total = constant
        else:
            total = exact.add(constant, exact.multiply(a, b), ctx.zero_sign)
        return total._replace(exponent=total.exponent - halved if total.significand else 0), 0


_step("frecps", "Arm: 2 - a * b, rounded once", 2, 0)
_step("frsqrts", "Arm: (3 - a * b) / 2, rounded once", 3, 1)


@operation("frecpx", 1, "Arm: a power of two, the exponent field of a inverted", standing=_FLOATS)
def _frecpx(ctx: Context, a: Value) -> Outcome:
    """Of zeros and subnormals, the largest exponent of a number; of an infinity, zero."""
    fmt = ctx.formats[0]
    most = (1 << fmt.exponent_bits) - 1
    if a.kind == INF or not fmt.has_normals:
        return exact.zero(a.sign), 0
    small = a.kind == FINITE and (a.is_zero or exact.top(a) < fmt.emin)
    field = most - 1 if small else most - (exact.top(a) + fmt.bias)
    return (exact.finite(a.sign, 1, field - fmt.bias) if field > 0 else exact.zero(a.sign)), 0
