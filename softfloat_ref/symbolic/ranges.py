"""Operand ranges as terms: the same comparisons of codes, of symbolic codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from softfloat_ref.oracle.code_sets import CodeRange, CodeSet
from softfloat_ref.symbolic.build import and_, eq, make, not_, or_
from softfloat_ref.symbolic.reading import Collection, reading
from softfloat_ref.symbolic.terms import TRUE, Term, const
from softfloat_ref.symbolic.units import inputs_of, own_inputs, selects
from softfloat_ref.units import SelectionUnit, Unit
from softfloat_ref.units.ranges.operand_range import operand_range


class Terms:
    """Bits that say whether codes are as a range says."""

    @staticmethod
    def among(code: Term, codes: CodeSet) -> Term:
        return or_(*(_within(code, r) for r in codes))

    @staticmethod
    def less(a: Term, b: Term, mask: int) -> Term:
        return make("ult", 1, _masked(a, mask), _masked(b, mask))

    @staticmethod
    def equal(a: Term, b: Term, mask: int) -> Term:
        return eq(_masked(a, mask), _masked(b, mask))

    @staticmethod
    def all(parts: Iterable[Term]) -> Term:
        return and_(*parts)

    @staticmethod
    def any(parts: Iterable[Term]) -> Term:
        return or_(*parts)

    @staticmethod
    def no(part: Term) -> Term:
        return not_(part)


TERMS: Final = Terms()


def _masked(code: Term, mask: int) -> Term:
    return make("and", code.width, code, const(mask, code.width))


def _within(code: Term, r: CodeRange) -> Term:
    """Whether a code is in a range."""
    most = (1 << code.width) - 1
    low = TRUE if r.low == 0 else not_(make("ult", 1, code, const(r.low, code.width)))
    high = TRUE if r.high >= most else not_(make("ult", 1, const(r.high, code.width), code))
    bits = TRUE if r.mask == 0 else eq(_masked(code, r.mask & most), const(r.bits, code.width))
    return and_(low, high, bits)


def range_term(text: str, unit: Unit) -> Term:
    """The bit that says whether a unit's inputs are within a range; '' is the range of all. Raises Error."""
    within = operand_range(text, unit)
    if within is None:
        return TRUE
    inputs = inputs_of(unit)
    if not isinstance(unit, SelectionUnit):
        node = within.nodes[0]
        return TRUE if node is None else node.holds([x.node for x in inputs], TERMS)
    parts = []
    for part, node in zip(unit.parts, within.nodes, strict=True):
        with reading(Collection({})):
            own = [x.node for x in own_inputs(unit, part, inputs)]
        parts.append(and_(selects(unit, part, inputs), TRUE if node is None else node.holds(own, TERMS)))
    return or_(*parts)
