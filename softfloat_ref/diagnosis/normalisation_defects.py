"""Wrong normalisation of exact results: rounded where the operands' exponents say, or not normalised at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from softfloat_ref.diagnosis.defects import defective
from softfloat_ref.diagnosis.hypotheses import Hypothesis, WrongCode
from softfloat_ref.diagnosis.operand_defects import low_exponent, reading
from softfloat_ref.diagnosis.operation_models import all_nonzero
from softfloat_ref.diagnosis.range_defects import ends, exponent_field
from softfloat_ref.diagnosis.roundings import Coded, is_tiny, near_one, replaced_rounding
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.flags import INEXACT
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.formula import Formula
from softfloat_ref.oracle.operations.steps import exact_result
from softfloat_ref.oracle.rounding import round_to_unit
from softfloat_ref.oracle.rounding_steps import Destination, read
from softfloat_ref.oracle.steps import Function, Traced
from softfloat_ref.units import OperationUnit

Exponent = Callable[[Sequence[Value]], int | None]  # of a result, by its operands


def has_exponent(unit: OperationUnit, formula: Formula) -> bool:
    """Whether it is a product, a quotient or a sum, whose exponent follows from the operands' but for a place."""
    several = len(formula.terms) > 1 or formula.divisor is not None or len(formula.terms[0].factors) > 1
    known = several and not formula.root and formula.power is None and unit.signature.operation.result == "float"
    return known and not unit.policy.random_count and unit.out.has_normals


def normalisation_defects(unit: OperationUnit, formula: Formula) -> Iterator[Hypothesis]:
    """Those of a product, a quotient, or a sum."""
    if not has_exponent(unit, formula):
        return
    what = "sums" if formula.is_sum else "quotients" if formula.divisor is not None else "products"
    exponent = partial(_exponent, formula, unit.formats)
    yield defective(
        unit,
        "rounded before normalised",
        f"rounds {what} at the place that the operands' exponents give, then normalises, and cuts what that shifts out",
        replaced_rounding(partial(_rounded_first, exponent), read, exact_result),
    )
    granted = replaced_rounding(partial(_taken_for_granted, exponent), read, exact_result)
    text = f"does not normalise {what} of subnormal operands: takes their leading one for granted"
    yield defective(unit, "not normalised", text, granted)
    if any(f.subnormals == "gradual" for f in unit.formats):
        more = f"{text}, and gives subnormals the exponent 0 in place of 1"
        yield defective(unit, "not normalised, exponent 0", more, granted, reading(low_exponent))


def checked_early(unit: OperationUnit, wrong: Sequence[WrongCode]) -> Iterator[Hypothesis]:
    """Ends of the range judged by the exponent before the carry of normalisation, if codes there are wrong."""
    formula = unit.signature.operation.formula
    if formula is None or not has_exponent(unit, formula) or unit.out.nan != "ieee":
        return
    high, low = ends(wrong)
    exponent, largest = partial(_exponent, formula, unit.formats), (1 << unit.out.exponent_bits) - 1
    rows = (
        ("overflow before normalised", "judges overflow by the exponent before normalisation", largest),
        ("overflow bit before normalised", "judges overflow by the carry out of the exponent's bits only", largest + 1),
    )
    for name, text, least in rows * high:
        yield defective(
            unit, name, text, replaced_rounding(partial(_overflow_early, exponent, least), read, exact_result)
        )
    if low:
        text = "does not shift results whose exponent is 0 before normalisation, and loses their leading one"
        changed = replaced_rounding(partial(_unshifted, exponent), read, exact_result)
        yield defective(unit, "exponent 0 before normalised a number", text, changed)


def _exponent(formula: Formula, formats: Sequence[Format], values: Sequence[Value]) -> int | None:
    """The exponent of the result that the operands' exponents give, their significands taken for 1; None for operands
    that are no numbers, or zeros. Of subnormal operands, it is that of their exponent field."""
    if not all_nonzero(values):
        return None
    of = [x.exponent + fmt.mantissa_bits for x, fmt in zip(values, formats, strict=True)]
    largest = max(sum(of[i] for i in term.factors) for term in formula.terms)
    return largest if formula.divisor is None else largest - of[formula.divisor]


def _carry(exponent: Exponent, here: Traced, x: Value) -> int | None:
    """By how many places the leading one lies above that exponent; None for results that are no numbers, or zeros."""
    value, _ = here.last(exact_result) or (exact.GENERATED, 0)
    at = exponent([x.value for x in here.all(read)]) if all_nonzero([x, value]) else None
    return None if at is None else exact.top(value) - at


def _rounded_first(exponent: Exponent, here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Rounded at the last place of a number of that exponent, and then cut, where it has more places."""
    carry = _carry(exponent, here, x)
    if carry is None or carry < 0 or is_tiny(x, to.fmt):
        return right(x, r, to)  # type: ignore[no-any-return]
    unit, wide = exact.top(x) - carry - to.fmt.mantissa_bits, x.significand << 1 | x.sticky
    kept, lossy = round_to_unit(x.sign, wide, x.exponent - 1 - unit, wide.bit_length(), to.policy.rounding, 0, 0)
    more = max(kept.bit_length() - to.fmt.precision, 0)
    cut = kept >> more << more
    code, flags = right(exact.finite(x.sign, cut, unit), r, to)
    return code, flags | (INEXACT if lossy or cut != kept else 0)


def _taken_for_granted(exponent: Exponent, here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """A result without a leading one at that exponent is rounded and packed as if it had one, which a normal number
    does not store."""
    carry = _carry(exponent, here, x)
    if carry is None or carry >= 0:
        return right(x, r, to)  # type: ignore[no-any-return]
    at = exact.top(x) - carry
    code, flags = right(exact.add(x, exact.finite(x.sign, 1, at)), r, to)
    bit = to.fmt.mantissa_bits - (to.fmt.emin - at)
    stored = 0 <= bit < to.fmt.mantissa_bits and (code & to.fmt.magnitude_mask) >> bit == 1
    return code - (1 << bit if stored else 0), flags


def _early_field(exponent: Exponent, here: Traced, x: Value, to: Destination) -> int | None:
    """The exponent field before normalisation."""
    carry = _carry(exponent, here, x)
    return None if carry is None else exact.top(x) - carry + to.fmt.bias


def _overflow_early(
    exponent: Exponent, least: int, here: Traced, right: Function, x: Value, r: int, to: Destination
) -> Coded:
    """Inf from a least exponent field on, before normalisation; after it, the field may have no number."""
    fmt, early = to.fmt, _early_field(exponent, here, x, to)
    if early is None or early < (1 << fmt.exponent_bits) - 2:
        return right(x, r, to)  # type: ignore[no-any-return]
    if early >= least:
        return right(exact.finite(x.sign, 1, fmt.emax + 2), r, to)  # type: ignore[no-any-return]
    code, flags = near_one(right, x, r, to)
    field = exponent_field(code, x, fmt) & (1 << fmt.exponent_bits) - 1
    return code & (fmt.sign_bit | (1 << fmt.mantissa_bits) - 1) | field << fmt.mantissa_bits, flags & INEXACT


def _unshifted(exponent: Exponent, here: Traced, right: Function, x: Value, r: int, to: Destination) -> Coded:
    """Results with the exponent field 0 before and after normalisation are stored as normal ones."""
    fmt = to.fmt
    if _early_field(exponent, here, x, to) == 0:
        code, flags = near_one(right, x, r, to)
        if exponent_field(code, x, fmt) == 0:
            return code & (fmt.sign_bit | (1 << fmt.mantissa_bits) - 1), flags & INEXACT
    return right(x, r, to)  # type: ignore[no-any-return]
