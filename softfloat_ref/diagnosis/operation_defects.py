"""Defects of a scalar operation: in its operands, in the operation itself, in its rounding, and in its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.answer_defects import answer_defects, constant_results
from softfloat_ref.diagnosis.defects import Faulty, defective, flags_kept, replaced
from softfloat_ref.diagnosis.encoding_defects import encoding_defects
from softfloat_ref.diagnosis.exchanged_formats import exchanged_formats
from softfloat_ref.diagnosis.flag_defects import rows_of_flags, special_flags
from softfloat_ref.diagnosis.function_defects import function_defects, function_suggested_by
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, wrong_codes, wrong_flags
from softfloat_ref.diagnosis.modular_defects import modular_defects
from softfloat_ref.diagnosis.normalisation_defects import checked_early, normalisation_defects
from softfloat_ref.diagnosis.operand_defects import special_kinds, special_readings
from softfloat_ref.diagnosis.operation_models import (
    ONE,
    Values,
    all_nonzero,
    always_exact,
    cut_term,
    of_values,
    other_operands,
    wrong_result,
)
from softfloat_ref.diagnosis.operation_operands import (
    invalid_results,
    nan_operands,
    operand_defects,
    operand_reads,
    taken_defects,
)
from softfloat_ref.diagnosis.random_defects import random_defects
from softfloat_ref.diagnosis.recurrence_defects import recurrence_defects
from softfloat_ref.diagnosis.rounding_defects import ROUNDING_DEFECTS, RoundingDefect
from softfloat_ref.diagnosis.roundings import replaced_rounding, without_integer_bit
from softfloat_ref.diagnosis.suggested_roundings import suggested_rows
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE, NAN, Value
from softfloat_ref.oracle.flags import INEXACT, UNDERFLOW
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.operations import OPERATIONS, Context, Operation, appended_zeros
from softfloat_ref.oracle.operations.formula import QUOTIENT, Formula
from softfloat_ref.oracle.operations.steps import append_zeros
from softfloat_ref.oracle.operations.table import LETTERS, Outcome, confused_with
from softfloat_ref.oracle.rounding_steps import Destination, destination, read
from softfloat_ref.oracle.steps import Function, Traced
from softfloat_ref.units import OperationUnit

_ALIGNED_PLACES: Final = (1, 2, 3, 4)  # that an adder may keep below the larger operand


def operation_defects(unit: OperationUnit, source: str = "") -> Iterator[Hypothesis]:
    """Every listed defect that the operation can have. source: the random source, if known."""
    yield from answer_defects(unit)
    if appended_zeros(unit.signature, unit.policy) is not None:
        yield from _appended_defects(unit)
        return
    operation = unit.signature.operation
    if operation.result == "float":
        yield from _rounding_defects(unit)
        yield from operand_defects(unit)
    if operation.result in ("float", "boolean"):
        yield from encoding_defects(unit)
    if (formula := operation.formula) is not None:
        if len(formula.terms) == 2 and all(len(term.factors) == 1 for term in formula.terms):
            yield from _alignment_defects(unit, formula)
        if formula.is_sum and unit.out.negative_zero:
            for sign, shown in ((0, "+0"), (1, "-0")):
                cancelled = wrong_result(partial(_cancelled, formula, sign))
                yield defective(unit, f"x - x is {shown}", f"gives {shown} where a sum cancels to zero", cancelled)
            lost = wrong_result(partial(_carry_out_lost, formula))
            text = "loses the carry out of the sum of two terms of one sign"
            yield defective(unit, "carry out of the sum lost", text, lost)
        if formula.is_multiply_add:
            yield from _fma_defects(unit, formula)
        yield from recurrence_defects(unit, formula)
        yield from normalisation_defects(unit, formula)
    if operation.modular:
        yield from modular_defects(unit)
    yield from function_defects(unit)
    if unit.policy.random_count:
        yield from random_defects(unit, source)
    yield from _other_operations(unit)
    yield from taken_defects(unit)


def _appended_defects(unit: OperationUnit) -> Iterator[Hypothesis]:
    """Of a conversion that only makes codes longer: it neither reads nor rounds."""
    fmt = unit.formats[0]
    step, every = 1 << fmt.mantissa_bits, range(fmt.magnitude_mask + 1)
    normal, subnormal = range(fmt.min_normal_code, fmt.max_code + 1), range(fmt.min_normal_code)
    rows: tuple[tuple[str, str, range, Callable[[int], int]], ...] = (
        ("sign ignored", "ignores the sign", every, lambda c: c & ~fmt.sign_bit),
        ("sign inverted", "inverts the sign", every, lambda c: c ^ fmt.sign_bit),
        ("exponent +1", "has the result's exponent one too high", normal, lambda c: c + step),
        ("exponent -1", "has the result's exponent one too low", normal, lambda c: c - step),
        ("subnormals flushed", "treats subnormals as zero", subnormal, lambda c: c & fmt.sign_bit),
    )
    for name, text, of, change in rows:
        changed = replaced(
            append_zeros,
            lambda here, right, c, n, of=of, change=change: right(change(c) if c & fmt.magnitude_mask in of else c, n),
        )
        yield defective(unit, name, text, changed)


# -- rounding --------------------------------------------------------------------------------------------------------


def _rounding_defects(unit: OperationUnit, rows: Iterable[RoundingDefect] = ROUNDING_DEFECTS) -> Iterator[Hypothesis]:
    operation = unit.signature.operation
    policy = unit.policy if operation.is_arithmetic else unit.policy.replace(rounding_precision=80)
    to, conversion = without_integer_bit(destination(unit.out, policy)), operation.is_conversion
    for row in rows:
        if row.fits(to) and not (row.via and conversion and always_exact(unit.formats[0], row.via)):
            yield row.of(unit)


def operation_suggested_by(unit: OperationUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
    """Defects that the mismatches suggest."""
    yield from function_suggested_by(unit, cases)
    wrong = wrong_codes(unit, cases)
    yield from constant_results(unit, wrong)
    if unit.signature.operation.result == "float" and appended_zeros(unit.signature, unit.policy) is None:
        flags = any(len(c.expected) > 1 for c in cases[:1])
        yield from _rounding_defects(unit, (x for x in suggested_rows(wrong) if flags or not x.only_flags))
        yield from _rounding_defects(unit, rows_of_flags(wrong_flags(unit, cases)))
        yield from special_flags(unit, cases) if flags else ()
        yield from nan_operands(unit, wrong)
        yield from invalid_results(unit, wrong)
        yield from checked_early(unit, wrong)
        seen = special_kinds(unit, cases)
        for x in operand_reads(unit):
            readings = list(special_readings(unit, seen, x.where, x.letters, x.of))
            yield from readings
            yield from map(flags_kept, readings) if flags else ()


# -- sums ------------------------------------------------------------------------------------------------------------


def _cancelled(formula: Formula, sign: int, right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
    """A zero of that sign results from terms that are not all zeros of one sign."""
    value, flags = right(op, ctx, values)
    if value.is_zero and len({x.sign for x in formula.values(values)}) > 1:
        return exact.zero(sign), flags
    return value, flags


def _carry_out_lost(formula: Formula, right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
    """A sum without its first place, if that is above those of both terms; a product has one more than its factors."""
    value, flags = right(op, ctx, values)
    terms = formula.values(values) if all_nonzero(values) else ()
    if not terms or len({x.sign for x in terms}) > 1:
        return value, flags
    factors = (term.factors for term in formula.terms)
    first = max(sum(exact.top(values[i]) for i in some) + len(some) - 1 for some in factors)
    if exact.top(value) <= first:
        return value, flags
    rest = exact.add(value, exact.finite(1 - value.sign, 1, first + 1))
    return rest if rest.significand else exact.zero(value.sign), flags


def _smaller(terms: Values) -> int:
    return min((0, 1), key=lambda i: exact.top(terms[i]))


def _below(places: int, what: str) -> str:
    return f"{places} place{'s' * (places > 1)} below {what}" if places else f"below the last bit of {what}"


def _alignment_defects(unit: OperationUnit, formula: Formula) -> Iterator[Hypothesis]:
    """Adders of two operands that lose what alignment shifts out of the smaller one, or do not borrow for it; and
    multiply-adds used as adders, which lose it below a whole product, of one operand only."""
    for places in (*_ALIGNED_PLACES, 0):
        yield from _cut_defects(unit, formula, places, "smaller addend", "the smaller operand", "the larger", _smaller)
    fraction = unit.formats[0].mantissa_bits
    for i, places in product((0, 1), sorted({wide + x for wide in (0, fraction) for x in _ALIGNED_PLACES})):
        one, other = LETTERS[i], f"operand {LETTERS[1 - i]}"

        def chosen(terms: Values, i: int = i) -> int | None:
            return i if _smaller(terms) == i else None

        cut, _ = _cut_defects(unit, formula, places, one, f"operand {one}", other, chosen)
        yield cut


def _cut_defects(
    unit: OperationUnit,
    formula: Formula,
    places: int,
    name: str,
    what: str,
    other: str,
    chosen: Callable[[Values], int | None],
) -> Iterator[Hypothesis]:
    """A term cut below another, and without a borrow for what is cut. name, what, other: of the terms, in words."""
    below = _below(places, other)
    for no_borrow, title, text in (
        (False, f"{name} cut {below}", "loses the bits"),
        (True, f"no borrow {below}", "does not borrow for the bits"),
    ):
        cut = of_values(partial(cut_term, formula, places, no_borrow, chosen))
        yield defective(unit, title, f"{text} that alignment shifts out of {what}, {below}", cut)


# -- fused multiply-add ----------------------------------------------------------------------------------------------


def _fma_defects(unit: OperationUnit, formula: Formula) -> Iterator[Hypothesis]:
    def operands(values: Values) -> tuple[Values, Values]:
        """Of the product, and the addend."""
        a, b, c = values
        product, addend = formula.minus
        return (_negated(a) if product else a, b), (_negated(c) if addend else c,)

    out, (a, b, _) = unit.out, unit.formats
    for name in dict.fromkeys((out.name, "fp32", "fp64")):
        if name in CATALOGUE and CATALOGUE[name].mantissa_bits >= out.mantissa_bits:
            text = f"is not fused: it rounds the product to {name} before it adds"
            unfused = wrong_result(partial(_in_turn, CATALOGUE[name], "mul", "add", operands))
            yield defective(unit, f"not fused, product in {name}", text, unfused)
    full = a.precision + b.precision
    for bits in range(4):
        text = f"cuts the product to {out.precision + bits} bits before it adds"
        low = max(full - out.precision - bits, 0)
        yield defective(unit, f"product cut to p+{bits} bits", text, of_values(partial(_cut_product, low)))
    for places in (1, 2, 3):
        yield from _cut_defects(unit, formula, places, "addend", "the addend", "the product", lambda terms: 1)
    for n in range(2, 2 * out.precision):
        yield defective(
            unit,
            f"normalised by at most {n} places",
            f"normalises by at most {n} places below the product's first place, and loses the leading one beyond that",
            replaced_rounding(partial(_short_normalisation, full, n), read),
        )


def _negated(x: Value) -> Value:
    return x if x.kind == NAN else exact.negate(x)


def _short_normalisation(
    bits: int, places: int, here: Traced, right: Function, x: Value, r: int, to: Destination
) -> tuple[int, int]:
    """A sum whose leading one lies deeper is packed as if its leading one were at the limit. bits: of the product."""
    a, b, *_ = (read_value.value for read_value in here.all(read))
    if not all_nonzero([a, b, x]):
        return right(x, r, to)  # type: ignore[no-any-return]
    lowest = max(a.exponent + b.exponent + bits - 1 - places, to.fmt.emin)
    if exact.top(x) >= lowest:
        return right(x, r, to)  # type: ignore[no-any-return]
    code, flags = right(exact.add(x, exact.finite(x.sign, 1, lowest)), r, to)
    return code - (1 << to.fmt.mantissa_bits), flags | (UNDERFLOW if flags & INEXACT else 0)


def _in_turn(
    fmt: Format,
    first: str,
    second: str,
    shared: Callable[[Values], tuple[Values, Values]],
    right: Function,
    op: Operation,
    ctx: Context,
    values: Values,
) -> Outcome:
    """Two operations that share the operands; the second one takes the rounded result of the first, with its flags."""
    own, others = shared(values)
    value, flags = right(OPERATIONS[first], ctx, own)
    code, more = encoder(fmt, ctx.policy)(value, ctx.random_bits)
    between = decoder(fmt, ctx.policy.flush_inputs)(code)
    result, last = right(OPERATIONS[second], ctx, [between, *others])
    return result, flags | more | last


def _cut_product(low: int, values: Values) -> Values | None:
    """The product in a field as wide as both operands' bits together, with its last bits cleared."""
    if not all_nonzero(values[:2]) or values[2].kind != FINITE:
        return None
    x = exact.multiply(values[0], values[1])
    return [x._replace(significand=x.significand >> low << low), ONE, values[2]]


# -- another operation -----------------------------------------------------------------------------------------------


def _other_operations(unit: OperationUnit) -> Iterator[Hypothesis]:
    operation, formats = unit.signature.operation, unit.formats
    yield from exchanged_formats(unit)
    for other in confused_with(operation):
        try:
            model = Faulty(replace(unit, op=other.name))
        except Error:
            continue
        yield Hypothesis(f"operation {other.name}", f"computes {other.name}", model)
    if operation.formula == QUOTIENT and formats[0] == formats[1]:
        twice = wrong_result(partial(_in_turn, unit.out, "div", "mul", lambda v: ([ONE, v[1]], v[:1])))
        yield defective(unit, "a * (1 / b)", "multiplies by the rounded reciprocal of b", twice)
    for i, j in combinations(range(len(formats)), 2):
        if formats[i] != formats[j] or (operation.fused and operation.arity == 3 and j == 1):
            continue
        which = "its operands" if len(formats) == 2 else f"{LETTERS[i]} and {LETTERS[j]}"
        shown = which.removeprefix("its ")
        yield defective(unit, f"{shown} exchanged", f"exchanges {which}", *other_operands((i, j), (j, i)))
