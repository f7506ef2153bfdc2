"""Why no operands have their exact result in a region."""

from __future__ import annotations

from softfloat_ref.coverage.operation.factors import no_pair
from softfloat_ref.coverage.operation.quotients import product_between, quotient
from softfloat_ref.coverage.operation.reach import excluded, precisions
from softfloat_ref.coverage.operation.setting import Setting
from softfloat_ref.coverage.operation.solve import solve
from softfloat_ref.oracle.exact import Value


def unreachable(where: Setting, region: Value) -> str:
    """Why no operands have their exact result in a region; '' if there is no proof."""
    if reason := excluded(where, region):
        return reason
    if where.unary:
        nothing = next(solve(where, region), None) is None
        return "no operand lies between the two neighbours" if nothing else ""
    s = region.significand
    if where.product and not region.sticky and no_pair(s, *precisions(where)):
        return "the significand is not a product of two significands of the operands' precision"
    if where.product and region.sticky and s and not product_between(s, *precisions(where)):
        return "no product of two significands of the operands' precision lies there"
    if where.quotient and region.sticky and s and quotient(s, *precisions(where)) is None:
        return "no quotient of two significands of the operands' precision lies there"
    return ""
