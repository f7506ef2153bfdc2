"""Hypotheses: possible behaviours of a device, as functions from operands to answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.testing.compare import Answer, CompareNan, without_unread
from softfloat_ref.units import Unit

SHARE: Final = 0.25  # of some mismatches: for hypotheses that are many, or fitted to the mismatches
_MOST_SEEN: Final = 1 << 11  # mismatches in which wrong codes are looked for
Inputs = Sequence[int]
Output = tuple[int, ...]  # the codes of the results, then flags if the unit has any
Model = Callable[[Inputs], Output | None]  # None: no answer is defined for these operands


class Hypothesis(NamedTuple):
    """A possible device. name: for tables; description: what such a device does, as a predicate of "the device".

    size: twice the number of choices that differ from the expected; among equals, smaller comes first. kind: policy,
    profile, accumulator or defect. also: other answers that such a device may give, if it is free to choose.
    evidence: the number of mismatches to explain before it is reported without "perhaps". share: the share of some
    mismatches that it must explain to be tried on more; by default, one of them.
    """

    name: str
    description: str
    model: Model
    kind: str = "defect"
    size: int = 2
    also: Callable[[Inputs], Iterable[Output]] | None = None
    evidence: int = 3
    share: float = 0.0


class AnsweredCase(NamedTuple):
    """A question with the device's answer and the expected answer, both normalized for comparison."""

    inputs: tuple[int, ...]
    expected: Output
    got: Output

    @property
    def agrees(self) -> bool:
        """Whether the device was right."""
        return self.expected == self.got


class WrongCode(NamedTuple):
    """A code that a device got wrong, of a format; place: which code of the answer it is."""

    expected: int
    got: int
    fmt: Format
    place: int

    @property
    def step(self) -> int:
        """By how many codes the magnitude is off; 0 if the sign is wrong, or the code is too wide."""
        mask = self.fmt.magnitude_mask
        return 0 if (self.expected ^ self.got) & ~mask else (self.got & mask) - (self.expected & mask)


def wrong_codes(unit: Unit, cases: Sequence[AnsweredCase]) -> list[WrongCode]:
    """The wrong codes of numbers in the first mismatches of some cases."""
    wrong = islice((c for c in cases if not c.agrees), _MOST_SEEN)
    return [
        WrongCode(x, y, fmt, i)
        for c in wrong
        for i, (x, y, fmt) in enumerate(zip(c.expected, c.got, unit.result_formats, strict=False))
        if x != y and fmt is not None
    ]


class Comparator(NamedTuple):
    """How answers are compared: NaNs that count as equal are made identical, ignored flags left out."""

    formats: tuple[Format | None, ...]  # of the results' codes
    nan: CompareNan = CompareNan.EXACT
    flags: int = 0  # those that are compared
    unread: Unit | None = None  # whose elements under a NaN scale are not compared

    @staticmethod
    def of(unit: Unit, nan: CompareNan, flags: int) -> Comparator:
        """The comparator of a unit's answers. flags: those to compare, if the unit raises any."""
        return Comparator(unit.result_formats, nan, flags if unit.has_flags else 0)

    def __call__(self, output: Output) -> Output:
        """The part of a model's output that is compared."""
        codes = output[: len(self.formats)]
        if self.unread is not None:
            codes = without_unread(self.unread, codes)
        if self.nan != CompareNan.EXACT:
            codes = tuple(map(self._code, codes, self.formats))
        return (*codes, output[len(self.formats)] & self.flags) if self.flags else codes

    def _code(self, code: int, fmt: Format | None) -> int:
        if fmt is None or code >> fmt.width or not fmt.is_nan(code):
            return code
        loud = self.nan == CompareNan.QUIET and decoder(fmt)(code).signaling
        return code if loud else fmt.canonical_nan

    def answer(self, answer: Answer) -> Output:
        """The part of a device's answer that is compared."""
        return self((*answer.codes, answer.flags or 0))


def as_model(run: Callable[[Inputs], Sequence[int]]) -> Model:
    """A function as a model: no answer if it raises Error."""

    def model(inputs: Inputs) -> Output | None:
        try:
            return tuple(run(inputs))
        except Error:
            return None

    return model


def expected_model(unit: Unit) -> Model:
    """The unit itself as a model."""
    return as_model(lambda inputs: unit.answer(tuple(inputs)))


def with_change(model: Model, change: Callable[[Inputs, Output], Output]) -> Model:
    """A model with a changed answer: the change maps operands and the answer to an answer."""

    def answer(inputs: Inputs) -> Output | None:
        output = model(inputs)
        return None if output is None else change(inputs, output)

    return answer
