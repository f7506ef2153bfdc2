"""Defects of a scalar operation: in its operands, in the operation itself, in its rounding, and in its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.answer_defects import answer_defects
from softfloat_ref.diagnosis.defects import Faulty, replaced
from softfloat_ref.diagnosis.function_defects import function_defects
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.diagnosis.operand_defects import operand_defects, taken_defects
from softfloat_ref.diagnosis.operation_models import (
    ScalarOperation,
    Values,
    always_exact,
    exactly_wrong,
    of_values,
    taken,
)
from softfloat_ref.diagnosis.random_defects import random_defects
from softfloat_ref.diagnosis.rounding_defects import rounding_defects
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.flags import INEXACT, UNDERFLOW
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.operations import OPERATIONS, Context, Operation, appended_zeros, evaluator
from softfloat_ref.oracle.operations.formula import MULTIPLY_ADD, QUOTIENT, Formula
from softfloat_ref.oracle.operations.steps import append_zeros
from softfloat_ref.oracle.operations.table import LETTERS, Outcome, confused_with
from softfloat_ref.oracle.rounding_steps import Destination, destination, read, rounded
from softfloat_ref.oracle.steps import Function, Traced


def scalar_defects(s: ScalarOperation) -> Iterator[Hypothesis]:
    """Every listed defect that the operation can have."""
    yield from answer_defects(s)
    if appended_zeros(s.sig, s.policy) is not None:
        yield from _appended_defects(s)
        return
    if s.sig.operation.result == "float":
        yield from _rounding_defects(s)
    yield from operand_defects(s)
    formula = s.sig.operation.formula
    if formula is not None and formula.is_sum:
        yield from _sum_defects(s, formula)
    if formula == MULTIPLY_ADD:
        yield from _fma_defects(s)
    yield from function_defects(s)
    if s.policy.random_count:
        yield from random_defects(s.model, evaluator(s.sig, s.policy), s.policy.random_count, s.arity, s.source)
    yield from _other_operations(s)
    yield from taken_defects(s)


def _appended_defects(s: ScalarOperation) -> Iterator[Hypothesis]:
    """Of a conversion that only makes codes longer: it neither reads nor rounds."""
    fmt = s.sig.formats[0]
    step, every = 1 << fmt.mantissa_bits, range(fmt.magnitude_mask + 1)
    normal, subnormal = range(fmt.min_normal_code, fmt.max_code + 1), range(fmt.min_normal_code)
    rows: tuple[tuple[str, str, range, Callable[[int], int]], ...] = (
        ("sign ignored", "ignores the sign", every, lambda c: c & ~fmt.sign_bit),
        ("sign inverted", "inverts the sign", every, lambda c: c ^ fmt.sign_bit),
        ("exponent +1", "has the result's exponent one too high", normal, lambda c: c + step),
        ("exponent -1", "has the result's exponent one too low", normal, lambda c: c - step),
        ("subnormals flushed", "treats subnormals as zero", subnormal, lambda c: c & fmt.sign_bit),
    )
    for name, text, magnitudes, change in rows:
        yield s.defect(name, text, replaced(append_zeros, partial(_changed_code, fmt, magnitudes, change)))


def _changed_code(
    fmt: Format,
    magnitudes: range,
    change: Callable[[int], int],
    here: Traced,
    right: Function,
    code: int,
    zeros: int,
) -> int:
    """A code changed, if its magnitude is one of these."""
    return right(change(code) if code & fmt.magnitude_mask in magnitudes else code, zeros)  # type: ignore[no-any-return]


# -- rounding --------------------------------------------------------------------------------------------------------


def _rounding_defects(s: ScalarOperation) -> Iterator[Hypothesis]:
    to, conversion = destination(s.sig.out, s.policy), s.sig.operation.is_conversion
    for row in rounding_defects():
        if row.fits(to) and not (row.via and conversion and always_exact(s.sig.formats[0], row.via)):
            yield s.defect(row.name, row.description, *row.changes, size=row.size)


# -- sums ------------------------------------------------------------------------------------------------------------


def _sum_defects(s: ScalarOperation, formula: Formula) -> Iterator[Hypothesis]:
    if s.sig.out.negative_zero:
        for sign, shown in ((0, "+0"), (1, "-0")):
            cancelled = exactly_wrong(partial(_cancelled, formula, sign))
            yield s.defect(f"x - x is {shown}", f"gives {shown} where a sum cancels to zero", cancelled)


def _cancelled(formula: Formula, sign: int, right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
    """A zero of that sign results from terms that are not all zeros of one sign."""
    value, flags = right(op, ctx, values)
    if value.is_zero and len({x.sign for x in formula.values(values)}) > 1:
        return exact.zero(sign), flags
    return value, flags


# -- fused multiply-add ----------------------------------------------------------------------------------------------


def _fma_defects(s: ScalarOperation) -> Iterator[Hypothesis]:
    for name in dict.fromkeys((s.sig.out.name, "fp32", "fp64")):
        if name in CATALOGUE and CATALOGUE[name].mantissa_bits >= s.sig.out.mantissa_bits:
            text = f"is not fused: it rounds the product to {name} before it adds"
            unfused = exactly_wrong(partial(_unfused, CATALOGUE[name]))
            yield s.defect(f"not fused, product in {name}", text, unfused)
    full = s.sig.formats[0].precision + s.sig.formats[1].precision
    for bits in range(4):
        text = f"cuts the product to {s.sig.out.precision + bits} bits before it adds"
        low = max(full - s.sig.out.precision - bits, 0)
        yield s.defect(f"product cut to p+{bits} bits", text, of_values(partial(_cut_product, low)))
    for places in (1, 2, 3):
        below = f"{places} place{'s' * (places > 1)} below the product"
        yield s.defect(
            f"addend cut {below}",
            f"loses the bits that alignment shifts out of the addend, {below}",
            of_values(partial(_cut_addend, places, False)),
        )
        yield s.defect(
            f"no borrow {below}",
            f"does not borrow for the bits that alignment shifts out of the addend, {below}, when it subtracts",
            of_values(partial(_cut_addend, places, True)),
        )
    for n in range(2, 2 * s.sig.out.precision):
        yield s.defect(
            f"normalised by at most {n} places",
            f"normalises by at most {n} places below the product's first place, and loses the leading one beyond that",
            replaced(rounded, partial(_short_normalisation, full, n), read),
        )


def _short_normalisation(
    bits: int, places: int, here: Traced, right: Function, x: Value, r: int, to: Destination
) -> tuple[int, int]:
    """A sum whose leading one lies deeper is packed as if its leading one were at the limit. bits: of the product."""
    a, b, *_ = (read_value.value for read_value in here.all(read))
    if not _finite([a, b]) or x.kind != FINITE or not x.significand:
        return right(x, r, to)  # type: ignore[no-any-return]
    lowest = max(a.exponent + b.exponent + bits - 1 - places, to.fmt.emin)
    if exact.top(x) >= lowest:
        return right(x, r, to)  # type: ignore[no-any-return]
    code, flags = right(exact.add(x, exact.finite(x.sign, 1, lowest)), r, to)
    return code - (1 << to.fmt.mantissa_bits), flags | (UNDERFLOW if flags & INEXACT else 0)


def _unfused(product: Format, right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
    """The product rounded, with its flags, before the addition."""
    return _in_turn(product, right, ctx, ("mul", values[:2]), "add", values[2:])


def _by_reciprocal(out: Format, right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
    """Rounds twice: 1 / b, then the product."""
    return _in_turn(out, right, ctx, ("div", [_ONE, values[1]]), "mul", values[:1])


def _in_turn(
    fmt: Format, right: Function, ctx: Context, first: tuple[str, Values], second: str, others: Values
) -> Outcome:
    """Two operations: the second one takes the rounded result of the first, and other operands."""
    value, flags = right(OPERATIONS[first[0]], ctx, first[1])
    code, more = encoder(fmt, ctx.policy)(value, ctx.random_bits)
    between = decoder(fmt, ctx.policy.flush_inputs)(code)
    result, last = right(OPERATIONS[second], ctx, [between, *others])
    return result, flags | more | last


_ONE: Final = exact.finite(0, 1, 0)


def _finite(values: Values) -> bool:
    return all(x.kind == FINITE and x.significand for x in values)


def _cut_product(low: int, values: Values) -> Values | None:
    """The product in a field as wide as both operands' bits together, with its last bits cleared."""
    if not _finite(values[:2]) or values[2].kind != FINITE:
        return None
    product = exact.multiply(values[0], values[1])
    return [product._replace(significand=product.significand >> low << low), _ONE, values[2]]


def _cut_addend(places: int, no_borrow: bool, values: Values) -> Values | None:
    """The addend cut `places` places below the product's last bit; no_borrow: the lost bits are or-ed into the sum."""
    a, b, c = values
    if not _finite(values):
        return None
    product = exact.multiply(a, b)
    drop = product.exponent - places - c.exponent
    significand = c.significand >> drop << drop if drop > 0 else c.significand
    if significand == c.significand:
        return None
    cut = c._replace(significand=significand) if significand else exact.zero(c.sign)
    if not no_borrow:
        return [product, _ONE, cut]
    total = exact.add(product, cut)
    below = exact.finite(total.sign, 1, product.exponent - places - 1)
    return [exact.add(total, below), _ONE, exact.zero(total.sign)]


# -- another operation -----------------------------------------------------------------------------------------------


def _other_operations(s: ScalarOperation) -> Iterator[Hypothesis]:
    operation = s.sig.operation
    for other in confused_with(operation):
        try:
            unit = replace(s.unit, op=other.name)
        except Error:
            continue
        yield Hypothesis(f"operation {other.name}", f"computes {other.name}", Faulty(unit))
    if operation.formula == QUOTIENT and s.sig.formats[0] == s.sig.formats[1]:
        twice = exactly_wrong(partial(_by_reciprocal, s.sig.out))
        yield s.defect("a * (1 / b)", "multiplies by the rounded reciprocal of b", twice)
    for i, j in combinations(range(s.arity), 2):
        if s.sig.formats[i] != s.sig.formats[j] or (operation.formula == MULTIPLY_ADD and j == 1):
            continue
        which = "its operands" if s.arity == 2 else f"{LETTERS[i]} and {LETTERS[j]}"
        shown = "operands" if s.arity == 2 else which
        yield s.defect(f"{shown} exchanged", f"exchanges {which}", *taken((i, j), (j, i)))
