"""Rows of estimates: the special cases that all of them share, then the table."""

from __future__ import annotations

from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import GENERATED, INF, NAN, Value
from softfloat_ref.oracle.flags import DIVIDE_BY_ZERO, INVALID
from softfloat_ref.oracle.operations.estimate import Estimate, estimated
from softfloat_ref.oracle.operations.table import Context, Outcome, Standing, nan_operand, operation

FAMILIES: Final = ("reciprocal", "reciprocal root")


def estimate(name: str, summary: str, standing: Standing, e: Estimate) -> None:
    """Enter an estimate in the table of operations."""

    @operation(name, 1, summary, pole=True, nans=e.silent, family=FAMILIES[e.root], standing=standing, estimate=e)
    def compute(ctx: Context, a: Value) -> Outcome:
        value, flags = _outcome(e, ctx, a)
        return value, 0 if e.silent else flags


def _outcome(e: Estimate, ctx: Context, a: Value) -> Outcome:
    if a.kind == NAN:
        return nan_operand(ctx.policy.nan_rule, (a,))
    if a.is_zero or (e.flushed and a.kind != INF and exact.top(a) < ctx.formats[0].emin):
        return exact.inf(a.sign), DIVIDE_BY_ZERO
    if e.root and a.sign:
        return GENERATED, INVALID
    return (exact.zero(a.sign) if a.kind == INF else _looked_up(e, ctx, a)), 0


def _looked_up(e: Estimate, ctx: Context, a: Value) -> Value:
    """The table's estimate, as a number of the operand's format: cut where the subnormals end."""
    fmt, width = ctx.formats[0], a.significand.bit_length() - 1
    significand, top = estimated(
        a.significand - (1 << width), width, exact.top(a), e.root, e.index_bits, e.bits, e.exact, e.table
    )
    if e.silent and top > fmt.emax:
        return exact.inf(a.sign)
    if top < fmt.emin and (e.flushed or (e.silent and ctx.policy.flush_outputs)):
        return exact.zero(a.sign)
    cut = max(fmt.emin - fmt.mantissa_bits - (top - e.bits), 0)
    return exact.finite(a.sign, significand >> cut, top - e.bits + cut)
