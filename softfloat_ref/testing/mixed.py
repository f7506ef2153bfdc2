"""Mismatches of units with several parts: each is shown as a mismatch of its part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.rtl.tolerance import Tolerance
from softfloat_ref.testing.compare import FLAGS_ONLY, NO_NAN, Answer
from softfloat_ref.testing.views import MismatchView, OwnCase, register, view_of
from softfloat_ref.units import MixedUnit, SelectionUnit

UNBOXED: Final = "unboxed operand taken as a number"
UNBOXED_FLAGS: Final = "flags only, with an unboxed operand"  # taken as a number, or another fault of NaNs
ZEROS: Final = "zeros above the result"
ONES: Final = "ones above the result"
OTHERS: Final = "wrong bits above the result"


@register(SelectionUnit)  # type: ignore[type-abstract]
class SelectionView(MismatchView):
    """The mismatches of a unit with parts."""

    unit: SelectionUnit

    def own(self, inputs: Sequence[int], expected: Sequence[int], got: Answer) -> OwnCase:
        return OwnCase(*self.unit.selected(inputs), tuple(expected), got)

    def kind(self, inputs: Sequence[int], expected: Sequence[int], got: Answer, tolerance: Tolerance) -> str:
        case = self.own(inputs, expected, got)
        return view_of(case.unit).kind(case.inputs, case.expected, case.got, tolerance)

    def changes(self, inputs: Sequence[int], answer: Answer, flags: bool) -> list[dict[str, str]]:
        case = self.own(inputs, (0,), answer)
        return view_of(case.unit).changes(case.inputs, case.got, flags)


@register(MixedUnit)
class MixedView(SelectionView):
    """The mismatches of a mixed unit."""

    around: ClassVar[frozenset[str]] = frozenset((UNBOXED, UNBOXED_FLAGS, ZEROS, ONES, OTHERS))
    outside: ClassVar[frozenset[str]] = frozenset((ZEROS, ONES, OTHERS))
    unit: MixedUnit

    def own(self, inputs: Sequence[int], expected: Sequence[int], got: Answer) -> OwnCase:
        part, own = self.unit.selected(inputs)
        mask = (1 << part.out.width) - 1
        right = expected[0] & mask, *expected[1:]
        code = got.result if got.result >> self.unit.results[0].width else got.result & mask  # too wide: as it is
        answer = Answer((code,), got.flags)
        return OwnCase(part, own, right, answer, own == self.unit.unchecked(inputs))

    def kind(self, inputs: Sequence[int], expected: Sequence[int], got: Answer, tolerance: Tolerance) -> str:
        case = self.own(inputs, expected, got)
        kind = view_of(case.unit).kind(case.inputs, case.expected, case.got, tolerance)
        if kind:
            if not self._unboxed(inputs, case, kind, tolerance):
                return kind
            return UNBOXED_FLAGS if kind == FLAGS_ONLY else UNBOXED
        width = case.unit.results[0].width
        above, right = got.result >> width, expected[0] >> width
        if above == right or tolerance.any_above:
            return ""
        ones = (1 << self.unit.results[0].width - width) - 1
        return {0: ZEROS, ones: ONES}.get(above, OTHERS)

    def _unboxed(self, inputs: Sequence[int], case: OwnCase, kind: str, tolerance: Tolerance) -> bool:
        """Whether an operand is not boxed, and the answer is a number in place of its NaN, or that for its lower
        bits."""
        if case.certain:
            return False
        own = self.unit.unchecked(inputs)
        try:
            expected = case.unit.answer(own)
        except Undefined:
            return False
        return kind == NO_NAN or not view_of(case.unit).kind(own, expected, case.got, tolerance)
