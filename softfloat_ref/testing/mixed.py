"""Mismatches of units with several parts: each is shown as a mismatch of its part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.rtl.tolerance import Tolerance
from softfloat_ref.testing.compare import FLAGS_ONLY, NO_NAN, Answer
from softfloat_ref.testing.views import MismatchView, OwnCase, register, view_of
from softfloat_ref.units import Line, MixedUnit, OperationUnit, SelectionUnit
from softfloat_ref.units.unit import LETTERS

UNBOXED: Final = "unboxed operand taken as a number"
UNBOXED_FLAGS: Final = "flags only, with an unboxed operand"  # taken as a number, or another fault of NaNs
OTHER_NAN: Final = "unboxed operand taken as {}'s NaN"
ZERO_OPERAND: Final = "unboxed operand taken as zero"
_NAN_FORMATS: Final = ("fp16", "bf16", "fp32", "fp64")
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

    outside: ClassVar[frozenset[str]] = frozenset((ZEROS, ONES, OTHERS))
    unit: MixedUnit

    @property
    def around(self) -> frozenset[str]:
        return self._around

    @cached_property
    def _around(self) -> frozenset[str]:
        other_nans = (OTHER_NAN.format(f.name) for f in self._nan_formats)
        return frozenset((UNBOXED, UNBOXED_FLAGS, ZERO_OPERAND, ZEROS, ONES, OTHERS, *other_nans))

    @cached_property
    def _nan_formats(self) -> list[Format]:
        """The formats with a NaN that the set has, and those that a device may have besides."""
        known = [f for p in self.unit.operations for f in (*p.formats, p.out)]
        return [f for f in dict.fromkeys((*known, *map(get_format, _NAN_FORMATS))) if f.has_nan and f.exponent_bits]

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
            unboxed = self._unboxed(inputs, case, kind, tolerance)
            return UNBOXED_FLAGS if unboxed and kind == FLAGS_ONLY else unboxed or kind
        width = case.unit.results[0].width
        above, right = got.result >> width, expected[0] >> width
        if above == right or tolerance.any_above:
            return ""
        ones = (1 << self.unit.results[0].width - width) - 1
        return {0: ZEROS, ones: ONES}.get(above, OTHERS)

    def _unboxed(self, inputs: Sequence[int], case: OwnCase, kind: str, tolerance: Tolerance) -> str:
        """What an operand that is not boxed seems to be taken for: for its lower bits, as a number, or for the NaN of
        another format; '' if for none of these."""
        if case.certain:
            return ""
        own = self.unit.unchecked(inputs)
        if self._answers(own, case, tolerance):
            return UNBOXED
        for taken, name in self._constants(inputs, case):
            if taken != case.inputs and self._answers(taken, case, tolerance):
                return name
        return UNBOXED if kind == NO_NAN else ""

    def _answers(self, own: Sequence[int], case: OwnCase, tolerance: Tolerance) -> bool:
        """Whether the device's answer is that for other operands."""
        try:
            expected = tuple(case.unit.answer(own))
        except Undefined:
            return False
        return not view_of(case.unit).kind(own, expected, case.got, tolerance)

    def _constants(self, inputs: Sequence[int], case: OwnCase) -> Iterator[tuple[Line, str]]:
        """The operands with the same code for each that is not boxed, and what that is: the lower bits of a format's
        NaN, or zero."""
        part = case.unit
        assert isinstance(part, OperationUnit)
        first, widths = len(self.unit.controls), [f.width if f.exponent_bits else 0 for f in part.formats]
        padded = [inputs[first + LETTERS.index(x)] for x in self.unit.place(part)]
        bits = self.unit.operand_bits
        loose = [w > 0 and x >> w != (1 << bits - w) - 1 for x, w in zip(padded, widths, strict=True)]
        for f in self._nan_formats:
            codes = [f.canonical_nan & (1 << w) - 1 for w in widths]
            taken = tuple(c if free else x for c, x, free in zip(codes, case.inputs, loose, strict=False))
            yield taken, OTHER_NAN.format(f.name) if any(codes) else ZERO_OPERAND
