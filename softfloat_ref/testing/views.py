"""How a mismatch is classified and shown: for any unit, in more detail for the kinds of units that have a file here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.explanation.scalar import flag_text
from softfloat_ref.explanation.steps import SHOWN_LANES, field_lines, number_text
from softfloat_ref.rtl.tolerance import Tolerance
from softfloat_ref.testing.compare import FLAGS_ONLY, Answer, ComparisonRule, classify
from softfloat_ref.units import Line, Unit
from softfloat_ref.units.handlers import Handlers

if TYPE_CHECKING:
    from softfloat_ref.testing.ulp import UlpJudge


EXACT: Final = Tolerance()


class OwnCase(NamedTuple):
    """A case of a part of a unit: its inputs, the expected outputs and the answer, without control fields and
    padding. certain: whether the part's operands are these also in a device that does not check what surrounds them."""

    unit: Unit
    inputs: Line
    expected: Line
    got: Answer
    certain: bool = True


class MismatchView:
    """The mismatches of a unit. outside: the kinds of mismatches in what surrounds the parts with which the part itself
    is right."""

    outside: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, unit: Unit) -> None:
        self.unit: Any = unit

    @property
    def around(self) -> frozenset[str]:
        """The kinds of mismatches in what surrounds the parts, such as padding."""
        return frozenset()

    def check(self) -> None:
        """Raise Error for a unit whose answers cannot be compared."""

    def met(self, line: Line, before: tuple[Line, Answer] | None) -> Line:
        """A line as the device met it. before: the line before, if that was compared, and the device's answer."""
        return line

    # -- what is wrong -------------------------------------------------------------------------------------------------

    def own(self, inputs: Sequence[int], expected: Sequence[int], got: Answer) -> OwnCase:
        """The case of the part that control fields select; the case itself, without control fields."""
        return OwnCase(self.unit, tuple(inputs), tuple(expected), got)

    def kind(self, inputs: Sequence[int], expected: Sequence[int], got: Answer, tolerance: Tolerance) -> str:
        """The kind of a mismatch, for counting; '' where the answer is right."""
        formats = self.unit.result_formats
        places = tolerance.differing(self.unit, expected[: len(formats)], got.codes)
        flags_differ = self.unit.has_flags and got.flags is not None and (got.flags ^ expected[-1]) & tolerance.flags
        if not places:
            return FLAGS_ONLY if flags_differ else ""
        if len(formats) == 1 and formats[0] is not None:
            right = expected[-1] if self.unit.has_flags else 0
            return classify((expected[0], right), got, ComparisonRule(formats[0], tolerance.nan))
        return " and ".join(dict.fromkeys(self.place_name(i)[0] for i in places))

    def place_name(self, place: int) -> tuple[str, str]:
        """The field of a result's code, and the code's name in messages."""
        for f in self.unit.results:
            if place < f.lanes:
                return f.name, f.name if f.lanes == 1 else f"{f.name}[{place}]"
            place -= f.lanes
        raise IndexError(place)

    def changes(self, inputs: Sequence[int], answer: Answer, flags: bool) -> list[dict[str, str]]:
        """The choices near the unit's own that give the answer."""
        return []

    def tolerance(self, limit: Fraction, worst_count: int) -> UlpJudge:
        """The judge of answers with an allowed error. Raises Error for a unit that is compared exactly."""
        raise Error("--ulp is for scalar operations; other units are compared exactly")

    # -- in words ------------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return str(self.unit.properties()["op"])

    def lines(self, inputs: Sequence[int], expected: Sequence[int], got: Answer) -> Iterator[str]:
        """Operands, the expected answer, and the device's answer."""
        yield from self.expected_lines(inputs, expected)
        if len(self.unit.result_formats) > 1:
            yield from self.lane_lines(inputs, expected, got)
        else:
            yield f"  got      {self.answer_text(got.result, got.flags)}"

    def expected_lines(self, inputs: Sequence[int], expected: Sequence[int]) -> Iterator[str]:
        """Operands, and the expected answer if there is a single result."""
        yield from self.operand_lines(inputs)
        if len(self.unit.result_formats) == 1:
            yield f"  expected {self.answer_text(expected[0], expected[1] if self.unit.has_flags else None)}"

    def operand_lines(self, inputs: Sequence[int]) -> Iterator[str]:
        """One line per input field; for fields with many lanes, the first few nonzero lanes."""
        return field_lines(self.unit.inputs, inputs)

    def lane_lines(self, inputs: Sequence[int], expected: Sequence[int], got: Answer) -> Iterator[str]:
        """The first few codes that differ, with their values: the operand, the expected and the device's code, and what
        differs."""
        formats = self.unit.result_formats
        places = EXACT.differing(self.unit, expected[: len(formats)], got.codes)
        for i in places[:SHOWN_LANES]:
            right, came = (number_text(x, formats[i]) for x in (expected[i], got.codes[i]))
            what = self.difference(i, expected, got)
            yield f"  {self.place_name(i)[1]}{self.origin(inputs, i)}: expected {right}, got {came}: {what}"
        if len(places) > SHOWN_LANES:
            yield f"  and {len(places) - SHOWN_LANES} more lanes"
        if self.unit.has_flags and got.flags not in (None, expected[-1]):
            yield f"  flags: expected {flag_text(expected[-1])}, got {flag_text(got.flags or 0)}"

    def difference(self, place: int, expected: Sequence[int], got: Answer) -> str:
        """What differs in one code of a result."""
        fmt, x, y = self.unit.result_formats[place], expected[place], got.codes[place]
        return "other bits" if fmt is None else classify((x, 0), Answer((y,)), ComparisonRule(fmt))

    def origin(self, inputs: Sequence[int], place: int) -> str:
        """The operand that a result's code comes from, if there is only one."""
        return ""

    def answer_text(self, result: int, flags: int | None) -> str:
        """A result and flags as text."""
        field = self.unit.results[0]
        text = number_text(result, field.fmt) if field.fmt else f"{result:0{field.digits}x}"
        return text + ("" if flags is None else f", flags {flag_text(flags)}")

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        """The command that shows every step of this case; '' if there is none."""
        return ""


_VIEWS: Final = Handlers(MismatchView)
register: Final = _VIEWS.register


@lru_cache(maxsize=64)
def view_of(unit: Unit) -> MismatchView:
    """The most specific view of a unit."""
    return _VIEWS.of(unit)(unit)
