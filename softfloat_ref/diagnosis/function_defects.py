"""Defects of functions: roundings that are only faithful, results off by one, short constants of a range reduction; and
limits of the operand, which the mismatches suggest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Final

from softfloat_ref.diagnosis.defects import Faulty, answering, defective, flags_kept
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Inputs, Output
from softfloat_ref.diagnosis.operation_models import Values, of_values, wrong_result
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.flags import INEXACT
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.literals import shortest
from softfloat_ref.oracle.operations import Context, Operation, evaluator
from softfloat_ref.oracle.operations.curve import Curve
from softfloat_ref.oracle.operations.table import Outcome
from softfloat_ref.oracle.rounding import RNE, round_to_unit
from softfloat_ref.oracle.steps import Change, Function
from softfloat_ref.units import OperationUnit

_LOOSE_SIZE: Final = 10  # size of a hypothesis that allows several answers
_CONSTANT_BITS: Final = (8, 11, 16, 24, 32, 33, 48, 53, 64, 66)  # of a constant: single and double words, x87's 66
_KNOWN_BITS: Final = 128  # bits to which the constants of the rows are known
_FARTHEST_EXPONENT: Final = 1 << 12  # exponent beyond which no device reduces


def function_defects(unit: OperationUnit) -> Iterator[Hypothesis]:
    """The listed defects of a function's rounding and range reduction."""
    curve = unit.signature.operation.curve
    if curve is None:
        return
    for by, word in ((1, "high"), (-1, "low")):
        model = answering(unit, partial(_off, unit.out, by))
        yield Hypothesis(f"one ulp {word}", f"has every inexact result one ulp too {word} in magnitude", model)
    if not unit.policy.random_count:
        yield from _not_correctly_rounded(unit)
    if curve.period or curve.doubling:
        yield from _short_constants(unit, curve)


# -- rounding ----------------------------------------------------------------------------------------------------------


def _off(out: Format, by: int, inputs: Inputs, codes: Output) -> Output:
    code, flags = codes
    return (_beside(out, code, by) if flags & INEXACT else code), flags


def _beside(out: Format, code: int, by: int) -> int:
    """The code of the next number of that sign, if there is one."""
    if out.explicit_bit:
        return out.stored(_beside(out.hidden, out.unstored(code), by))
    size = (code & out.magnitude_mask) + by
    inside = decoder(out)(code).kind == FINITE and out.min_code * int(not out.zero) <= size <= out.max_code
    return code + by if inside else code


def _not_correctly_rounded(unit: OperationUnit) -> Iterator[Hypothesis]:
    right = Faulty(unit)
    ends = [evaluator(unit.signature, unit.policy.replace(rounding=mode)) for mode in ("rdn", "rup")]

    def neighbours(inputs: Inputs) -> Iterator[Output]:
        _, flags = right(inputs) or (0, 0)
        for run in ends:
            code, raised = run(inputs[: len(unit.formats)], 0)
            yield code, raised
            yield code, flags

    def within_one(inputs: Inputs) -> Iterator[Output]:
        code, flags = right(inputs) or (0, 0)
        for by in (1, -1):
            if flags & INEXACT:
                yield _beside(unit.out, code, by), flags

    text = "rounds faithfully: to one of the two numbers beside the exact result"
    yield Hypothesis("faithful rounding", text, right, size=_LOOSE_SIZE, also=neighbours)
    text = "is up to one ulp beside the right result"
    yield Hypothesis("off by one", text, right, size=_LOOSE_SIZE + 1, also=within_one)


# -- range reduction ---------------------------------------------------------------------------------------------------


def _short_constants(unit: OperationUnit, curve: Curve) -> Iterator[Hypothesis]:
    """The operand reduced by multiples of a constant of so many bits: a period, or what doubles the result."""
    known = Fraction(curve.period or curve.doubling)
    what = "its period" if curve.period else "what doubles the result"
    for bits in _CONSTANT_BITS:
        constant = _of_bits(known, bits)
        text = f"reduces its operand by multiples of {what} with a constant of {bits} bits"
        yield defective(unit, f"reduction by {bits} bits", text, _reduced(constant, bool(curve.doubling)))


def _of_bits(x: Fraction, bits: int) -> Fraction:
    """A positive number, to nearest."""
    value = exact.from_fraction(x, _KNOWN_BITS)
    size = value.significand.bit_length()
    significand, _ = round_to_unit(0, value.significand, bits - size, size, RNE, 0, 0)
    return significand * Fraction(2) ** (value.exponent + size - bits)


def _reduced(constant: Fraction, doubles: bool) -> Change:
    def wrong(right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
        x = values[0]
        if x.kind != FINITE or not x.significand or exact.top(x) > _FARTHEST_EXPONENT:
            return right(op, ctx, values)  # type: ignore[no-any-return]
        number = x.as_fraction()
        times = (2 * number + constant) // (2 * constant)
        value, flags = right(op, ctx, [_value(number - times * constant, x.sign)])
        if doubles and value.kind == FINITE:
            value = value._replace(exponent=value.exponent + times)
        return value, flags

    return wrong_result(wrong)


def _value(x: Fraction, sign_of_zero: int) -> Value:
    return exact.from_fraction(x, 1) if x else exact.zero(sign_of_zero)


# -- limits of the operand ---------------------------------------------------------------------------------------------


def function_suggested_by(unit: OperationUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
    """What a device may do with operands beyond the least one, by magnitude, of which it is wrong."""
    if unit.signature.operation.curve is None or len(unit.formats) != 1:
        return
    decode = decoder(unit.formats[0])
    wrong = [x for c in cases if not c.agrees and (x := decode(c.inputs[0])).kind == FINITE and x.significand]
    if not wrong:
        return
    signs = {x.sign for x in wrong}
    sides = [None, *signs] if len(signs) == 1 else [None]
    least = min((exact.magnitude(x) for x in wrong), key=Value.as_fraction)
    for side in sides:
        for limit in _rounder(least):
            yield _beyond(unit, side, limit, "clamped", "takes operands {} as that", partial(_clamped, limit))
        for name, text, change in _BEYOND_DEFECTS:
            h = _beyond(unit, side, least, name, text, change)
            yield h
            yield flags_kept(h)


def _rounder(x: Value) -> list[Value]:
    """The number, and those of one to four bits that are not larger."""
    size = x.significand.bit_length()
    cut = [max(size - n, 0) for n in (1, 2, 3, 4)]
    rounder = [exact.finite(0, x.significand >> k, x.exponent + k) for k in cut]
    return list({y.as_fraction(): y for y in (*rounder, x)}.values())


def _clamped(limit: Value, x: Value) -> Value:
    return limit._replace(sign=x.sign)


# Other answers beyond a limit: the operand that the device may be thought to have, in place of the right one.
_BEYOND_DEFECTS: Final[tuple[tuple[str, str, Callable[[Value], Value]], ...]] = (
    ("limit", "gives the limit at infinity for operands {}", lambda x: exact.inf(x.sign)),
    ("zero", "gives the result of zero for operands {}", lambda x: exact.zero(x.sign)),
)


def _beyond(
    unit: OperationUnit, side: int | None, limit: Value, name: str, text: str, change: Callable[[Value], Value]
) -> Hypothesis:
    size = limit.as_fraction()

    def changed(values: Values) -> Values | None:
        x = values[0]
        far = x.kind == FINITE and abs(x.as_fraction()) >= size and side in (None, x.sign)
        return [change(x)] if far else None

    shown = shortest(limit)
    where = {None: f"of magnitude {shown} or more", 0: f"of {shown} or more", 1: f"of -{shown} or less"}[side]
    at = {None: f"|a| >= {shown}", 0: f"a >= {shown}", 1: f"a <= -{shown}"}[side]
    return defective(unit, f"{name} where {at}", text.format(where), of_values(changed), size=3)
