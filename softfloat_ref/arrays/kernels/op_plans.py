"""The tables that the compiled loop of operations needs, as integers, all computed by the scalar oracle.

A field is the upper bits of a code. Within a field the significand is a linear function of the lower bits; in formats
of up to 12 bits, and in small formats without linear fields, a field is the whole code. Special cases are in a table by
the operands' classes, filled with the oracle's results for representatives of each class. If the representatives of a
combination give different results (a NaN keeps its payload) or no result, each such case is left to the oracle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels import opcodes as oc
from softfloat_ref.base.errors import Undefined
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder, target
from softfloat_ref.oracle.exact import FINITE, INF, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Signature, appended_zeros, context, evaluator
from softfloat_ref.oracle.operations.table import Loop
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import Target

_LOOPS: Final = {
    Loop.CONVERT: oc.CONVERT,
    Loop.ADD: oc.ADD,
    Loop.SUB: oc.SUB,
    Loop.MUL: oc.MUL,
    Loop.FMA: oc.FMA,
    Loop.FAA: oc.FAA,
    Loop.DIV: oc.DIV,
    Loop.RECIP: oc.RECIP,
    Loop.SQRT: oc.SQRT,
    Loop.INTEGRAL: oc.INTEGRAL,
    Loop.INTEGRAL_EXACT: oc.INTEGRAL_EXACT,
    Loop.SCALEB: oc.SCALEB,
    Loop.LOGB: oc.LOGB,
    Loop.SELECT: oc.SELECT,
}
_FULL_BITS: Final = 12  # a format of up to this many bits has one row per code
_MAX_FULL_BITS: Final = 16
_MAX_TERM_BITS: Final = 57  # bits of a term of a sum
_MAX_BITS: Final = 62
_MAX_QUOTIENT_BITS: Final = 60  # bits of a quotient or root

Table = NDArray[np.int64]


class OperationPlan(NamedTuple):
    """The arguments of `operate` that precede the operands."""

    numbers: Table
    fields: Table
    layouts: Table
    table: Table
    targets: Table


@lru_cache(maxsize=64)
def plan(sig: Signature, policy: Policy) -> OperationPlan | None:
    """The plan of an operation, or None if the compiled loop does not support it."""
    if sig.operation.loop not in _LOOPS or not _fits(sig, policy):
        return None
    flush = sig.operation.flushes and policy.flush_inputs
    fields = [field_rows(f, flush) for f in sig.formats]
    if any(x is None for x in fields):
        return None
    known, to = [x for x in fields if x is not None], target(sig.out, sig.operation.rounded_as(policy))
    layouts = np.zeros((3, 4), np.int64)
    first = 0
    for i, (rows, layout) in enumerate(known):
        layouts[i] = first, *layout
        first += len(rows)
    return OperationPlan(
        _numbers(sig, policy, sig.operation.loop),
        np.concatenate([rows for rows, _ in known]),
        layouts,
        _table(sig, policy),
        np.array([[signed_word(x) for x in to]], np.int64),
    )


def signed_word(x: int) -> int:
    """A 64-bit pattern reinterpreted as a signed integer."""
    return x - (1 << 64) if x >= 1 << 63 else x


def _fits(sig: Signature, policy: Policy) -> bool:
    """Whether every intermediate integer has at most 63 bits."""
    operation, out = sig.operation, sig.out
    if appended_zeros(sig, policy) is not None:
        return False
    if out.width > 64 or (out.width == 64 and (out.twos_complement or not out.signed)):
        return False
    bits = [f.precision if f.exponent_bits else f.width for f in sig.formats]
    products = [sum(bits[i] for i in term.factors) for term in operation.formula.terms] if operation.formula else []
    terms = [*bits, *products]
    if operation.integral:  # the cut bits lie below the complete significand
        terms = [bits[0] + policy.random_count + 1]
    least = out.precision + policy.random_count + 4
    in_gap = out.gap and least + out.precision > _MAX_BITS
    return max(terms) <= _MAX_TERM_BITS and least <= _MAX_QUOTIENT_BITS and not in_gap


def _numbers(sig: Signature, policy: Policy, loop: Loop) -> Table:
    numbers = np.zeros(oc.NUMBERS, np.int64)
    ctx = context(sig, policy)
    rounded = sig.operation.rounded_as(policy)
    encode = encoder(sig.out, rounded)
    numbers[oc.KIND] = _LOOPS[loop]
    numbers[oc.LONGEST] = ctx.bits if sig.out.gap else _MAX_BITS + 1
    numbers[oc.BITS], numbers[oc.ZERO_SIGN] = ctx.bits, ctx.zero_sign
    numbers[oc.MODE], numbers[oc.RANDOM] = int(policy.rounding), policy.random_count
    numbers[oc.PLAIN] = is_plain(target(sig.out, rounded))
    if loop is Loop.FMA and sig.operation.formula is not None:
        numbers[oc.MINUS_PRODUCT], numbers[oc.MINUS_ADDEND] = sig.operation.formula.minus
    for sign in (0, 1):
        code, flags = encode(exact.zero(sign), 0)
        numbers[oc.ZERO_CODE + sign], numbers[oc.ZERO_FLAGS + sign] = signed_word(code), flags
    return numbers


def is_plain(to: Target) -> bool:
    """Whether a target is one that has PLAIN_TARGET."""
    return to._replace(**oc.PLAIN_TARGET) == to


# -- codes ---------------------------------------------------------------------------------------------------------


def class_of(x: Value) -> int:
    """The class of a value."""
    if x.kind == NAN:
        return oc.SIGNALING_CLASS if x.signaling else oc.QUIET_CLASS
    if x.kind == INF:
        return oc.INF_CLASS + x.sign
    return (oc.FINITE_CLASS if x.significand else 0) + x.sign


@lru_cache(maxsize=64)
def field_rows(fmt: Format, flush: bool) -> tuple[Table, tuple[int, int, int]] | None:
    """One row per field, and the layout (shift, mask of the bits below, quiet bit); None if a field is not linear."""
    shifts = []
    if fmt.twos_complement and fmt.width < 64:
        shifts.append(fmt.width - int(fmt.signed))
    elif (
        fmt.nan == "ieee" and _FULL_BITS < fmt.width <= 64 and fmt.mantissa_bits > 1 and fmt.exponent_bits <= _FULL_BITS
    ):
        shifts.append(fmt.mantissa_bits)
    if fmt.width <= _MAX_FULL_BITS:
        shifts.append(0)
    for shift in shifts:
        mask = (1 << shift) - 1
        rows = [_field(decoder(fmt, flush), field << shift, mask) for field in range(1 << (fmt.width - shift))]
        known = [row for row in rows if row is not None]
        if len(known) == len(rows):
            return np.array(known, np.int64), (shift, mask, fmt.quiet_bit if fmt.signaling else mask)
    return None


def _field(decode: Any, first: int, mask: int) -> tuple[int, int, int, int] | None:
    """A field's significands as a linear function (checked in the middle and at the end), its exponent and class."""
    base, last = decode(first), decode(first | mask)
    if last.kind != FINITE or base.kind != FINITE:
        return (0, 0, 0, class_of(base)) if base.kind == INF or mask == 0 else None
    factor = decode(first | 1).significand - base.significand if mask else 0
    for low in (mask >> 1, mask):
        x = decode(first | low)
        significand = base.significand + factor * low
        if x.significand != significand or x.sign != base.sign or (significand and x.exponent != last.exponent):
            return None
    return base.significand, factor, last.exponent, oc.FINITE_CLASS + base.sign


# -- special cases -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def representatives(fmt: Format, flush: bool) -> tuple[tuple[int, ...], ...]:
    """A few codes per class: NaNs that differ in payload and sign, finite values from the ends and the middle."""
    middle = max(fmt.max_code >> 1, fmt.min_code)
    magnitudes = [fmt.max_code, fmt.min_normal_code, middle, middle + 1, fmt.min_code, 0]
    if fmt.infinity:
        magnitudes.append(fmt.inf_code)
    if fmt.has_nan:
        quiet = fmt.canonical_nan & fmt.magnitude_mask
        magnitudes += [quiet, fmt.magnitude_mask, fmt.inf_code + 1, quiet - 1]
    codes = [x for x in magnitudes if 0 <= x <= fmt.magnitude_mask]
    codes = [y for x in codes for y in ((x, x | fmt.sign_bit) if fmt.signed else (x,))]
    classes: list[dict[int, None]] = [{} for _ in range(oc.CLASSES)]
    for code in codes:
        classes[class_of(decoder(fmt, flush)(code))].setdefault(code)
    return tuple(tuple(x) for x in classes)


def _table(sig: Signature, policy: Policy) -> Table:
    """The action for each combination of classes; for SELECT, also for each order of the magnitudes."""
    select = sig.operation.loop is Loop.SELECT
    orders = 3 if select else 1
    table = np.zeros((oc.CLASSES**sig.operation.arity * orders, 3), np.int64)
    known = [_decoded(f, sig.operation.flushes and policy.flush_inputs) for f in sig.formats]
    entry = _entries(sig, policy)
    for at, classes in enumerate(itertools.product(range(oc.CLASSES), repeat=sig.operation.arity)):
        chosen = [
            codes[k] if select or k >= oc.QUIET_CLASS else codes[k][:2] for codes, k in zip(known, classes, strict=True)
        ]
        cases = itertools.product(*chosen)
        by_order: list[list[_ClassEntry]] = [[] for _ in range(orders)]
        for case in cases:
            codes, values = zip(*case, strict=True)
            order = _order(values) if select else 0
            by_order[order].append(entry(codes, values, classes))
        for order, entries in enumerate(by_order):
            table[at * orders + order] = _common(entries)
    return table


class _ClassEntry(NamedTuple):
    """The action for one case. zero: the result is an exact zero, which the exact computation may also give."""

    action: int
    code: int = 0
    flags: int = 0
    zero: bool = False


def _common(entries: Sequence[_ClassEntry]) -> tuple[int, int, int]:
    """The action, code and flags common to all cases; ORACLE if they differ or there are no cases."""
    distinct = {x[:3] for x in entries}
    if len(distinct) > 1:  # sums: some are zero
        distinct = {x[:3] for x in entries if not x.zero}
        if any(x[0] != oc.COMPUTE for x in distinct):
            return oc.ORACLE, 0, 0
    return distinct.pop() if len(distinct) == 1 else (oc.ORACLE, 0, 0)


@lru_cache(maxsize=256)
def _decoded(fmt: Format, flush: bool) -> tuple[tuple[tuple[int, Value], ...], ...]:
    """The representatives with their values."""
    decode = decoder(fmt, flush)
    return tuple(tuple((code, decode(code)) for code in codes) for codes in representatives(fmt, flush))


def _order(values: Sequence[Value]) -> int:
    """0, 1 or 2 by the order of the magnitudes, as in the loop: NaN and Inf count as zero."""
    finite = [exact.magnitude(x) if x.kind == FINITE else exact.zero(0) for x in values]
    return 1 + exact.compare(finite[0], finite[1])


def _entries(sig: Signature, policy: Policy) -> Callable[[Sequence[int], Sequence[Value], Sequence[int]], _ClassEntry]:
    """A function that returns the action, code and flags of one case from its codes, their values and their classes."""
    operation, ctx, run = sig.operation, context(sig, policy), evaluator(sig, policy)
    ask = _ClassEntry(oc.ORACLE)
    by_oracle = policy.nan_rule.propagate != "no"
    select = operation.loop is Loop.SELECT

    def entry(case: Sequence[int], values: Sequence[Value], classes: Sequence[int]) -> _ClassEntry:
        nans = any(x.kind == NAN for x in values)
        if nans and by_oracle:
            return ask
        chosen, raised = None, 0
        if operation.nans or not nans:
            chosen, raised = operation.function(ctx, *values)
        zero = chosen is not None and chosen.is_zero and operation.result == "float"
        if chosen is not None and chosen.kind == FINITE and operation.result == "float":
            second = select and chosen is not values[0]
            if not zero or all(oc.FINITE_CLASS <= k < oc.FIRST_SPECIAL for k in classes):
                return _ClassEntry(oc.SECOND if second else oc.COMPUTE, 0, raised if select else 0)
        try:
            code, flags = run(case, 0)
        except Undefined:
            return ask
        return _ClassEntry(oc.CONSTANT, signed_word(code), flags, zero)

    return entry
