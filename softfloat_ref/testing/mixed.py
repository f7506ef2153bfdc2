"""Mismatches of units with several parts: each is shown as a mismatch of its part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.testing.compare import NO_NAN, Answer, CompareNan
from softfloat_ref.testing.views import MismatchView, OwnCase, register, view_of
from softfloat_ref.units import MixedUnit

UNBOXED: Final = "unboxed operand taken as a number"
ZEROS: Final = "zeros above the result"
ONES: Final = "ones above the result"
OTHERS: Final = "wrong bits above the result"


@register(MixedUnit)
class MixedView(MismatchView):
    """The mismatches of a mixed unit."""

    around: ClassVar[frozenset[str]] = frozenset((UNBOXED, ZEROS, ONES, OTHERS))
    unit: MixedUnit

    def own(self, inputs: Sequence[int], expected: Sequence[int], got: Answer) -> OwnCase:
        part, own = self.unit.selected(inputs)
        mask = (1 << part.out.width) - 1
        right = expected[0] & mask, *expected[1:]
        return OwnCase(part, own, right, Answer((self._without_padding(got.result, part.out.width),), got.flags))

    def _without_padding(self, code: int, width: int) -> int:
        """The part's result; a code that does not fit the unit's result stays."""
        return code if code >> self.unit.results[0].width else code & (1 << width) - 1

    def kind(self, inputs: Sequence[int], expected: Sequence[int], got: Answer, nan: CompareNan, flags: bool) -> str:
        case = self.own(inputs, expected, got)
        kind = view_of(case.unit).kind(case.inputs, case.expected, case.got, nan, flags)
        if kind:
            return UNBOXED if self._unboxed(inputs, case, kind, nan, flags) else kind
        width = case.unit.results[0].width
        above, right = got.result >> width, expected[0] >> width
        if above == right:
            return ""
        ones = (1 << self.unit.results[0].width - width) - 1
        return {0: ZEROS, ones: ONES}.get(above, OTHERS)

    def _unboxed(self, inputs: Sequence[int], case: OwnCase, kind: str, nan: CompareNan, flags: bool) -> bool:
        """Whether an operand is not boxed, and the answer is a number in place of its NaN, or that for its lower
        bits."""
        own = self.unit.unchecked(inputs)
        if own == case.inputs:
            return False
        try:
            expected = case.unit.answer(own)
        except Undefined:
            return False
        return kind == NO_NAN or not view_of(case.unit).kind(own, expected, case.got, nan, flags)

    def changes(self, inputs: Sequence[int], answer: Answer, flags: bool) -> list[dict[str, str]]:
        case = self.own(inputs, (0,), answer)
        return view_of(case.unit).changes(case.inputs, case.got, flags)
