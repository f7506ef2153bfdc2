"""Mismatches of functions of vectors: lane by lane, with an error in ulp where one is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from softfloat_ref.base.search import find_first
from softfloat_ref.testing.compare import Answer, code_texts
from softfloat_ref.testing.operation import policy_options
from softfloat_ref.testing.ulp import MORE_BITS, Exact, UlpJudge, exact_number
from softfloat_ref.testing.views import MismatchView, register
from softfloat_ref.units import Line, VectorUnit
from softfloat_ref.units.unit import split

MAX_SHOWN_CODES: Final = 256  # codes of a case whose command is shown


class LaneUlpJudge(UlpJudge):
    """Judges the lanes of an answer; the worst one counts."""

    def __init__(self, unit: VectorUnit, limit: Fraction, worst_count: int) -> None:
        self.unit = unit
        self._start(unit, limit, worst_count)

    def exact_results(self, inputs: Line) -> Sequence[Exact]:
        return [exact_number(value) for value, _ in self.unit.unrounded(inputs, MORE_BITS)]


@register(VectorUnit)
class VectorView(MismatchView):
    """The mismatches of a function of vectors."""

    unit: VectorUnit

    def tolerance(self, limit: Fraction, worst_count: int) -> LaneUlpJudge:
        return LaneUlpJudge(self.unit, limit, worst_count)

    def origin(self, inputs: Sequence[int], place: int) -> str:
        if self.unit.function.has_depth:
            return ""
        codes = find_first(own for f, own in split(self.unit.inputs, inputs) if f.name == "x")
        return f" (x = {self.unit.formats[0].hex(codes[place])})"

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        """For vectors of a length that a shell takes and people read."""
        unit = self.unit
        if unit.input_width > MAX_SHOWN_CODES:
            return ""
        formats = ",".join(f"{p.name}={f.name}" for p, f in zip(unit.own, unit.formats, strict=True))
        options = [f"--fmt {formats}", f"--out {unit.out.name}", *size_options(unit), *policy_options(unit.policy)]
        if unit.policy.random_count:
            options.append(f"--random-bits {','.join(f'{x:x}' for x in inputs[unit.operand_width :])}")
        lane = next((i for i, x in enumerate(unit.answer(inputs)[:-1]) if x != got.codes[i]), 0)
        codes = " ".join(code_texts([f for f in unit.inputs if f.role == "operand"], inputs))
        return f"softfloat-ref explain {unit.op} {' '.join(options)} --lane {lane} {codes} --got {got.codes[lane]:x}"


def size_options(unit: VectorUnit) -> list[str]:
    """The command-line options of a unit's shape, and its epsilon."""
    return [
        f"--length {unit.length}",
        *([f"--depth {unit.depth}"] if unit.depth else []),
        *([f"--epsilon {unit.epsilon}"] if unit.epsilon else []),
        *(["--plain"] if unit.plain else []),
        *(["--masked"] if unit.masked else []),
    ]
