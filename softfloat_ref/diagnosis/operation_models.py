"""Wrong steps of operations: the exact result of other operands, operands taken for others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from softfloat_ref.diagnosis.defects import replaced, within
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Context, Operation
from softfloat_ref.oracle.operations.formula import Formula
from softfloat_ref.oracle.operations.steps import exact_result, on_codes
from softfloat_ref.oracle.operations.table import LETTERS, Outcome
from softfloat_ref.oracle.rounding_steps import read
from softfloat_ref.oracle.steps import Change, Function, Traced

Values = Sequence[Value]
ONE = exact.finite(0, 1, 0)


def wrong_result(wrong: Callable[[Function, Operation, Context, Values], Outcome]) -> Change:
    """Another exact result: wrong(right, operation, ctx, values). What another defect computes in place of the unit's
    operation is left as it is."""

    def result(here: Traced, right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
        if op is not here.case.unit.signature.operation:
            return right(op, ctx, values)  # type: ignore[no-any-return]
        return wrong(right, op, ctx, values)

    return replaced(exact_result, result)


def of_values(change: Callable[[Values], Values | None]) -> Change:
    """The exact result of operands that are changed after they are read; None leaves them unchanged."""

    def wrong(right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
        other = change(values)
        return right(op, ctx, values if other is None else other)  # type: ignore[no-any-return]

    return wrong_result(wrong)


def other_operands(*sources: tuple[int, int | None]) -> tuple[Change, ...]:
    """Operands in place of others: pairs of an operand and the one that is taken for it; None: zero."""
    of = dict(sources)

    def code(inputs: Sequence[int], k: int) -> int:
        source = of.get(k, k)
        return 0 if source is None else inputs[source]

    def reads(k: int) -> Change:
        def wrong(here: Traced, right: Function, own: int, *args: object) -> Value:
            return right(code(here.case.inputs, k), *args)  # type: ignore[no-any-return]

        return replaced(read, wrong)

    def codes(here: Traced, right: Function, op: Operation, ctx: Context, own: Sequence[int]) -> tuple[int, int]:
        return right(op, ctx, [code(own, k) for k in range(len(own))])  # type: ignore[no-any-return]

    return *(c for k in of for c in within(LETTERS[k], [reads(k)])), replaced(on_codes, codes)


def all_nonzero(values: Values) -> bool:
    """Whether all values are numbers other than zero."""
    return all(x.kind == FINITE and x.significand for x in values)


def cut_term(
    formula: Formula, places: int, no_borrow: bool, chosen: Callable[[Values], int | None], values: Values
) -> Values | None:
    """A sum of two terms without the bits of one that lie some places below the other's last bit.

    chosen: which term is cut, if any. no_borrow: the sum with that, and what was cut or-ed below it.
    """
    i = None
    if all_nonzero(values):
        terms = list(formula.values(values))
        i = chosen(terms)
    if i is None:
        return None
    last, small = terms[1 - i].exponent - places, terms[i]
    drop = last - small.exponent
    left = small.significand >> drop << drop if drop > 0 else small.significand
    if left == small.significand:
        return None
    terms[i] = small._replace(significand=left) if left else exact.zero(small.sign)
    if no_borrow:
        total = exact.add(terms[0], terms[1])
        terms = [exact.add(total, exact.finite(total.sign, 1, last - 1)), exact.zero(total.sign)]
    return _operands(formula, terms)


def _operands(formula: Formula, terms: Values) -> Values:
    """Operands with these terms."""
    first, second = (exact.negate(x) if minus else x for x, minus in zip(terms, formula.minus, strict=True))
    return (first, ONE, second) if formula.is_multiply_add else (first, second)


def always_exact(source: Format, out: Format) -> bool:
    """Whether every finite value of the source is a value of the output; False in unclear cases."""
    if source.twos_complement or out.twos_complement or source.p3109 != out.p3109 or out.gap or not out.zero:
        return False
    lowest = source.emin - source.mantissa_bits, out.emin - out.mantissa_bits
    largest = [exact.finite(0, *f.magnitude(f.max_code)) for f in (source, out)]
    signs = out.signed or not source.signed
    return signs and source.precision <= out.precision and lowest[1] <= lowest[0] and exact.compare(*largest) <= 0
