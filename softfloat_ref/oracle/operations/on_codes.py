"""Operations on codes, which never round (IEEE 754 5.3.1, 5.5.1, 5.7.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encode_nan, encoder, target
from softfloat_ref.oracle.exact import GENERATED, INF, NAN
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.predicates import is_subnormal
from softfloat_ref.oracle.operations.table import Context, Exact, nan_operand, operation
from softfloat_ref.oracle.policies import POLICIES
from softfloat_ref.oracle.rounding import with_sign


def _same(name: str, arity: int, summary: str, *, p3109: bool = False, family: str = "") -> Callable[[Exact], Exact]:
    return operation(name, arity, summary, result="same", flushes=False, nans=True, p3109=p3109, family=family)


@_same("abs", 1, "the sign cleared, of any code (quiet)")
def _abs(ctx: Context, a: int) -> tuple[int, int]:
    return _signed(ctx.formats[0], a, 0), 0


@_same("neg", 1, "the sign inverted, of any code (quiet)")
def _neg(ctx: Context, a: int) -> tuple[int, int]:
    fmt = ctx.formats[0]
    if not fmt.signed:  # it can only become what the policy makes of a negative value
        return encoder(fmt, ctx.policy)(exact.negate(decoder(fmt)(a)), 0)
    return _signed(fmt, a, int(not a & fmt.sign_bit)), 0


@_same("copysign", 2, "a with the sign of b, of any code (quiet)", p3109=True)
def _copysign(ctx: Context, a: int, b: int) -> tuple[int, int]:
    fmt, other = ctx.formats
    sign = decoder(other)(b)
    if ctx.p3109 and sign.kind == NAN:  # P3109's NaN has no sign to copy
        return encode_nan(GENERATED, fmt, ctx.policy)
    return _signed(fmt, a, sign.sign), 0


def _signed(fmt: Format, code: int, sign: int) -> int:
    """The code with that sign, if the format has it: not for a single NaN, nor for an unsigned zero."""
    if not fmt.signed or (fmt.nan == "negative-zero" and code in (0, fmt.sign_bit)):
        return code
    if fmt.twos_complement:
        if bool(code & fmt.sign_bit) == bool(sign) or code == 0:
            return code
        return min((1 << fmt.width) - code, fmt.max_code) if not sign else (1 << fmt.width) - code
    return code & fmt.magnitude_mask | (fmt.sign_bit if sign else 0)


@_same("next_up", 1, "the least value above a (IEEE 754 5.3.1; P3109 NextGreaterThan)", p3109=True, family="next")
def _next_up(ctx: Context, a: int) -> tuple[int, int]:
    return _step(ctx, a, 1)


@_same("next_down", 1, "the greatest value below a (IEEE 754 5.3.1; P3109 NextLessThan)", p3109=True, family="next")
def _next_down(ctx: Context, a: int) -> tuple[int, int]:
    return _step(ctx, a, -1)


def _step(ctx: Context, code: int, step: int) -> tuple[int, int]:
    """The neighbour in direction `step`; the last value stays unchanged, but becomes NaN in P3109."""
    fmt = ctx.formats[0]
    x = decoder(fmt, False, ctx.policy.unnormals)(code)
    if x.kind == NAN:
        value, flags = nan_operand(ctx.policy.nan_rule, (x,))
        return encode_nan(value, fmt, ctx.policy)[0], flags
    if fmt.explicit_bit:
        return fmt.stored(_next(ctx, fmt.hidden, encoder(fmt.hidden, POLICIES["ieee"])(x, 0)[0], step)), 0
    return _next(ctx, fmt, code, step), 0


def _next(ctx: Context, fmt: Format, code: int, step: int) -> int:
    skipped = fmt.min_code - 1
    rank: int = rank_of(fmt, code) + step
    highest = (fmt.inf_code if fmt.infinity else fmt.max_code) - skipped
    lowest = -(fmt.inf_code if fmt.infinity else fmt.max_negative_code) + skipped if fmt.signed else int(not fmt.zero)
    if not lowest <= rank <= highest:
        return fmt.canonical_nan if ctx.p3109 and fmt.has_nan else code
    negative = decoder(fmt)(code).sign if rank == 0 else int(rank < 0)
    return with_sign(negative, abs(rank) + skipped if rank else 0, target(fmt, ctx.policy))


def rank_of(fmt: Format, code: Any) -> Any:
    """The rank of a value, infinities included: 0 is zero, 1 the smallest positive value, -1 the largest negative.

    code: an int, or an array of signed ones; for NaN, the rank is anything."""
    if fmt.twos_complement:
        return code - ((code & fmt.sign_bit) << 1)
    if fmt.explicit_bit:
        return rank_of(fmt.hidden, fmt.unstored(code))
    size = (code & fmt.magnitude_mask) - (fmt.min_code - 1)
    return size * (size > 0) * (1 - 2 * (code & fmt.sign_bit != 0))


def magnitude_code(fmt: Format, code: int) -> int:
    """The magnitude code of a complete code."""
    if fmt.twos_complement and code & fmt.sign_bit:
        return (1 << fmt.width) - code
    return code & fmt.magnitude_mask


@operation(
    "class",
    1,
    "one bit of ten, as RISC-V FCLASS: -Inf -normal -subnormal -0 +0 ... +Inf sNaN qNaN",
    result="class",
    flushes=False,
    nans=True,
    p3109=True,
)
def _class(ctx: Context, a: int) -> tuple[int, int]:
    fmt = ctx.formats[0]
    x = decoder(fmt, False, ctx.policy.unnormals)(a)
    if x.kind == NAN:
        return (1 << 8 if x.signaling and not ctx.p3109 else 1 << 9), 0
    if x.kind == INF:
        size = 3
    elif x.significand == 0:
        size = 0
    else:
        size = 1 if is_subnormal(fmt, x) else 2
    negative = x.sign and not (ctx.p3109 and size == 0)  # P3109 has one zero
    return 1 << (3 - size if negative else 4 + size), 0
