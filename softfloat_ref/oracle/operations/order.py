"""Order: minimum and maximum (IEEE 754 9.6, P3109 4.11), comparisons (5.6.1, 5.11), totalOrder (5.10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import INF, NAN, Value
from softfloat_ref.oracle.flags import INVALID
from softfloat_ref.oracle.operations.table import INVALID_OPERATION, Context, Loop, Outcome, nan_operand, operation

_PAYLOAD_BITS: Final = 256  # as many as any format has


def _register_minmax(
    name: str,
    summary: str,
    family: str,
    *,
    largest: bool,
    number: bool,
    by_magnitude: bool = False,
    finite: bool = False,
) -> None:
    """number: a NaN is passed over for a number; finite: and an infinity for a finite number."""

    @operation(name, 2, summary, nans=True, ordering=True, commutes=True, family=family, loop=Loop.SELECT)
    def choose(ctx: Context, a: Value, b: Value) -> Outcome:
        if a.kind == NAN or b.kind == NAN:
            if number and (a.kind != NAN or b.kind != NAN):
                return (b if a.kind == NAN else a), (INVALID if a.signaling or b.signaling else 0)
            return nan_operand(ctx.policy.nan_rule, (a, b))
        if finite and a.kind != b.kind:
            return (b if a.kind == INF else a), 0
        order = exact.compare(exact.magnitude(a), exact.magnitude(b)) if by_magnitude else 0
        order = order or exact.compare(a, b) or (b.sign - a.sign)  # -0 is less than +0
        return (a if (order > 0) == largest else b), 0


for _name, _largest in (("minimum", False), ("maximum", True)):
    _word = "larger" if _largest else "smaller"
    _register_minmax(_name, f"the {_word}; NaN if either is", "minimum", largest=_largest, number=False)
    _register_minmax(
        f"{_name}_number", f"the {_word}; a number rather than a NaN", "minimum", largest=_largest, number=True
    )
    _register_minmax(
        f"{_name}_magnitude",
        f"the {_word} in magnitude; NaN if either is",
        "",
        largest=_largest,
        number=False,
        by_magnitude=True,
    )
    _register_minmax(
        f"{_name}_magnitude_number",
        f"the {_word} in magnitude; a number rather than a NaN",
        "",
        largest=_largest,
        number=True,
        by_magnitude=True,
    )
    _register_minmax(
        f"{_name}_finite",
        f"the {_word}; a number rather than a NaN, a finite number rather than an infinity",
        "minimum",
        largest=_largest,
        number=True,
        finite=True,
    )
    _register_minmax(_name[:3], f"= {_name}_number (RISC-V FMIN, FMAX)", "min", largest=_largest, number=True)


@operation("clamp", 3, "x held between lo and hi (operands x lo hi; P3109 Clamp)")
def _clamp(ctx: Context, x: Value, lo: Value, hi: Value) -> Outcome:
    if exact.compare(lo, hi) > 0:
        return INVALID_OPERATION
    if exact.compare(x, lo) < 0:
        return lo, 0
    return (hi, 0) if exact.compare(x, hi) > 0 else (x, 0)


def _register_comparison(
    name: str,
    summary: str,
    holds: Callable[[int], bool],
    *,
    signaling: bool,
    commutes: bool = False,
    unordered: bool = False,
) -> None:
    family = "" if unordered else "comparison"

    @operation(
        name, 2, summary, result="boolean", nans=True, ordering=True, commutes=commutes, family=family, loop=Loop.SELECT
    )
    def compare(ctx: Context, a: Value, b: Value) -> Outcome:
        if a.kind == NAN or b.kind == NAN:
            invalid = signaling or a.signaling or b.signaling
            return exact.finite(0, int(unordered), 0), INVALID if invalid else 0
        return exact.finite(0, int(holds(exact.compare(a, b))), 0), 0


_register_comparison("eq", "a = b, quiet", lambda c: c == 0, signaling=False, commutes=True)
_register_comparison("lt", "a < b, signalling", lambda c: c < 0, signaling=True)
_register_comparison("le", "a <= b, signalling", lambda c: c <= 0, signaling=True)
_register_comparison("eq_signaling", "a = b, signalling", lambda c: c == 0, signaling=True, commutes=True)
_register_comparison("lt_quiet", "a < b, quiet", lambda c: c < 0, signaling=False)
_register_comparison("le_quiet", "a <= b, quiet", lambda c: c <= 0, signaling=False)
_register_comparison("gt_quiet", "a > b, quiet", lambda c: c > 0, signaling=False)
_register_comparison("ge_quiet", "a >= b, quiet", lambda c: c >= 0, signaling=False)
_register_comparison(
    "unordered", "whether either is NaN, quiet", lambda c: False, signaling=False, commutes=True, unordered=True
)


@operation(
    "total_order",
    2,
    "totalOrder(a, b) (IEEE 754 5.10; P3109: NaN lowest)",
    result="boolean",
    flushes=False,
    nans=True,
    ordering=True,
    p3109=True,
    loop=Loop.SELECT,
)
def _total_order(ctx: Context, a: Value, b: Value) -> Outcome:
    return exact.finite(0, int(_order_key(ctx, a, b) <= 0), 0), 0


def _order_key(ctx: Context, a: Value, b: Value) -> int:
    if a.kind == NAN or b.kind == NAN:
        ka, kb = _nan_rank(ctx, a), _nan_rank(ctx, b)
        return (ka > kb) - (ka < kb)
    order = exact.compare(a, b)
    return order if ctx.p3109 else order or b.sign - a.sign  # P3109 has one zero


def _nan_rank(ctx: Context, x: Value) -> tuple[int, int, int]:
    if x.kind != NAN:
        return 0, 0, 0
    if ctx.p3109:
        return -1, 0, 0
    rank = (1, int(not x.signaling), x.significand << _PAYLOAD_BITS >> max(x.exponent, 0))  # aligned at the quiet bit
    return rank if not x.sign else (-rank[0], -rank[1], -rank[2])
