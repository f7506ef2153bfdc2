"""Defects of dividers and square roots that find a bit of the result at a time: its places, and its exponent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from softfloat_ref.diagnosis.defects import defective
from softfloat_ref.diagnosis.hypotheses import Hypothesis
from softfloat_ref.diagnosis.operation_models import Values, all_nonzero, of_values, wrong_result
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.operations import Context, Operation
from softfloat_ref.oracle.operations.formula import Formula
from softfloat_ref.oracle.operations.table import Outcome
from softfloat_ref.oracle.steps import Function
from softfloat_ref.units import OperationUnit

_ROOM: Final = 4  # places between a sticky bit and the bits that are rounded
_GUARDS: Final = (0, 1, 2, 3)  # places that a quotient or root may have beyond those of the result


def recurrence_defects(unit: OperationUnit, formula: Formula) -> Iterator[Hypothesis]:
    """Every listed defect of a quotient or of a root."""
    if len(formula.terms) > 1 or formula.root == (formula.divisor is not None):
        return
    yield from _places(unit, formula)
    if formula.root:
        yield from _odd_exponents(unit)
    else:
        late = wrong_result(partial(_below_one, formula))
        text = "has the exponent one too high where the quotient of the significands is below one"
        yield defective(unit, "quotient below one, exponent +1", text, late)


def _places(unit: OperationUnit, formula: Formula) -> Iterator[Hypothesis]:
    """Results cut some places below that of one, with and without a sticky bit for what is cut."""
    what = "root" if formula.root else "quotient"
    for more in _GUARDS:
        places = unit.out.precision + more
        for name, text, end in (
            ("", ", and forgets what remains", _forgotten),
            (", sticky kept", ", with a sticky bit", _remaining),
            (", low if exact", ", with the last one too low where nothing should remain", _low_if_exact),
        ):
            cut = wrong_result(partial(_cut, formula, places, end))
            of = f"{what} of p+{more} bits"
            yield defective(unit, of + name, f"computes {places} bits of the {what}{text}", cut)


def _forgotten(kept: int, remains: bool) -> tuple[int, int]:
    return kept, 0


def _remaining(kept: int, remains: bool) -> tuple[int, int]:
    return kept, int(remains)


def _low_if_exact(kept: int, remains: bool) -> tuple[int, int]:
    """A remainder that is equal to the divisor is left."""
    return (kept, 1) if remains else (kept - 1, 1)


def _first(formula: Formula, values: Values) -> int:
    """The exponent of the place of one, in the quotient of two significands or the root of one."""
    (term,) = formula.terms
    top = sum(exact.top(values[i]) for i in term.factors)
    top -= 0 if formula.divisor is None else exact.top(values[formula.divisor])
    return top // 2 if formula.root else top


def _cut(
    formula: Formula,
    places: int,
    end: Callable[[int, bool], tuple[int, int]],
    right: Function,
    op: Operation,
    ctx: Context,
    values: Values,
) -> Outcome:
    value, flags = right(op, ctx, values)
    if not all_nonzero([*values, value]):
        return value, flags
    drop = _first(formula, values) - places + 1 - value.exponent
    whole = value.significand << _ROOM + max(0, -drop)
    shift = _ROOM + max(0, drop)
    kept, sticky = end(whole >> shift, bool(whole & (1 << shift) - 1 or value.sticky))
    return Value(value.kind, value.sign, kept << _ROOM, value.exponent + drop - _ROOM, sticky), flags


def _below_one(formula: Formula, right: Function, op: Operation, ctx: Context, values: Values) -> Outcome:
    value, flags = right(op, ctx, values)
    if all_nonzero([*values, value]) and exact.top(value) < _first(formula, values):
        value = value._replace(exponent=value.exponent + 1)
    return value, flags


def _odd_exponents(unit: OperationUnit) -> Iterator[Hypothesis]:
    for name, text, places, only_negative in (
        ("odd exponent as even", "halves an odd exponent as if it were the even one below", -1, False),
        ("odd exponent up", "halves odd exponents up, in place of down", 2, False),
        ("odd exponent towards zero", "halves odd exponents below zero towards zero", 2, True),
    ):
        yield defective(unit, name, text, of_values(partial(_odd, places, only_negative)))


def _odd(places: int, only_negative: bool, values: Values) -> Values | None:
    """The operand of a root, moved by some places if its exponent is odd."""
    (x,) = values
    if not all_nonzero(values) or not exact.top(x) & 1 or (only_negative and exact.top(x) > 0):
        return None
    return [x._replace(exponent=x.exponent + places)]
