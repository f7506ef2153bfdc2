"""Numbers that are one of several, and what follows from how they were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softfloat_ref.symbolic.bounds import Fact, Facts, Infeasible, Sum, Unknown
from softfloat_ref.symbolic.build import ite, make
from softfloat_ref.symbolic.integers import (
    SymBool,
    SymInt,
    bit,
    bit_and,
    bit_or,
    bits,
    boolean,
    bounds_here,
    inverse,
    less,
    lifted,
    number_of,
    shift_left,
    shift_right,
    sum_of,
    width_of,
    with_bounds_here,
)
from softfloat_ref.symbolic.paths import at, here
from softfloat_ref.symbolic.terms import Term


def extreme(x: Any, of: Sequence[tuple[Term, Any]], *, largest: bool) -> Any:
    """The number x, known to be the largest or smallest of numbers, each of which counts where its bit is set."""
    if not isinstance(x, SymInt):
        return x
    unknown = Unknown(x.lo, x.hi, ((x.sum, ()),))
    total = Sum(0, {unknown: 1})
    for there, y in of:
        difference = total.plus(sum_of(lifted(y)), -1)
        unknown.laws += ((there, Fact(difference, 0, None) if largest else Fact(difference, None, 0)),)
    return SymInt(x.node, total, x.lo, x.hi)


def chosen(condition: Term, a: Any, b: Any, facts_a: Facts, facts_b: Facts) -> Any:
    """The number a where the bit is set, else b; with the facts that hold on the two paths."""
    if isinstance(a, (bool, SymBool)) and isinstance(b, (bool, SymBool)):
        return boolean(ite(condition, bit(a), bit(b)))
    a, b = lifted(a), lifted(b)
    ends = []
    for x, facts in ((a, facts_a), (b, facts_b)):
        try:
            with at(here()._replace(facts=facts)):
                ends.append(bounds_here(x))
        except Infeasible:
            return b if not ends else a
    lo, hi = min(ends[0][0], ends[1][0]), max(ends[0][1], ends[1][1])
    width = width_of(lo, hi)
    node = ite(condition, bits(a, width), bits(b, width))
    if lo != hi and not node.is_const and node is bits(a, width) and node is bits(b, width):
        return a
    choices = ((sum_of(a), facts_a), (sum_of(b), facts_b))
    return number_of(node, lo, hi, Sum(0, {Unknown(lo, hi, choices): 1}))


def square_root(x: Any) -> Any:
    """floor(sqrt(x)), digit by digit."""
    x = with_bounds_here(x)
    digits = (x.hi.bit_length() + 1) // 2
    root: Any = 0
    rest: Any = 0
    for k in range(digits - 1, -1, -1):
        rest = bit_or(shift_left(rest, 2), bit_and(shift_right(x, 2 * k), 3))
        trial = bit_or(shift_left(root, 2), 1)
        fits = inverse(less(rest, trial))
        width = digits - k + 1  # the rest is at most twice the root
        left = make("sub", width + 1, bits(rest, width + 1), bits(trial, width + 1))
        rest = number_of(ite(bit(fits), left, bits(rest, width + 1)), 0, (1 << width) - 1)
        root = bit_or(shift_left(root, 1), lifted(fits))
    return root
