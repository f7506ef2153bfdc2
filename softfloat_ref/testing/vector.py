"""Mismatches of functions of vectors: lane by lane, with an error in ulp where one is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.operation import policy_options
from softfloat_ref.testing.ulp import MORE_BITS, Exact, Tolerance, exact_number
from softfloat_ref.testing.views import MismatchView, register
from softfloat_ref.units import Line, VectorUnit
from softfloat_ref.units.unit import split


class LaneTolerance(Tolerance):
    """Judges the lanes of an answer; the worst one counts."""

    def __init__(self, unit: VectorUnit, limit: Fraction, kept: int) -> None:
        self.unit = unit
        self._start(unit, limit, kept)

    def exact_results(self, inputs: Line) -> Sequence[Exact]:
        return [exact_number(value) for value, _ in self.unit.unrounded(inputs, MORE_BITS)]


@register(VectorUnit)
class VectorView(MismatchView):
    """The mismatches of a function of vectors."""

    unit: VectorUnit

    def tolerance(self, limit: Fraction, kept: int) -> LaneTolerance:
        return LaneTolerance(self.unit, limit, kept)

    def origin(self, inputs: Sequence[int], place: int) -> str:
        """The lane's own operand, where there is one."""
        if self.unit.function.has_depth:
            return ""
        codes = next(own for f, own in split(self.unit.inputs, inputs) if f.name == "x")
        return f" (x = {self.unit.formats[0].hex(codes[place])})"

    def command(self, inputs: Sequence[int], got: Answer) -> str:
        unit, wrong = self.unit, self._wrong_lane(inputs, got)
        formats = ",".join(f"{p.name}={f.name}" for p, f in zip(unit.own, unit.formats, strict=True))
        options = [f"--fmt {formats}", f"--out {unit.out.name}", *size_options(unit), *policy_options(unit.policy)]
        if unit.policy.random_count:
            options.append(f"--random-bits {','.join(f'{x:x}' for x in inputs[unit.operand_width :])}")
        codes = [f"{x:0{f.digits}x}" for f, own in split(unit.inputs, inputs) if f.role == "operand" for x in own]
        return f"softfloat-ref explain {unit.op} {' '.join(options)} --lane {wrong} {' '.join(codes)}"

    def _wrong_lane(self, inputs: Sequence[int], got: Answer) -> int:
        right = self.unit.answer(inputs)
        return next((i for i, x in enumerate(got.codes) if x != right[i]), 0)


def size_options(unit: VectorUnit) -> list[str]:
    """The command-line options of a unit's shape, and its epsilon."""
    return [
        f"--length {unit.length}",
        *([f"--depth {unit.depth}"] if unit.depth else []),
        *([f"--epsilon {unit.epsilon}"] if unit.epsilon else []),
        *(["--plain"] if unit.plain else []),
        *(["--masked"] if unit.masked else []),
    ]
