"""Hypotheses: possible behaviours of a device, as functions from operands to answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.rtl.tolerance import CompareNan, Tolerance
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.kappa import KappaJudge
from softfloat_ref.testing.ulp import FLAGS, UlpJudge
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
    evidence: the number of mismatches to explain before it is reported without "perhaps". unit: that such a device is,
    if it is a right one of another policy, profile, accumulator or rule. share: the share of some mismatches that it
    must explain to be tried on more; by default, one of them. alone: beside other faults, the model with this one only;
    early: whether its steps come before theirs; wide: of one restricted to a condition, that without. usual: whether
    it is one choice that designers make, such as a rounding or no flags, rather than an error inside of a circuit.
    may_give: whether it may give the wrong answer of a case, seen from that case alone, without running the model.
    """

    name: str
    description: str
    model: Model
    kind: str = "defect"
    size: int = 2
    also: Callable[[Inputs], Iterable[Output]] | None = None
    evidence: int = 3
    unit: Unit | None = None
    share: float = 0.0
    alone: Model | None = None
    early: bool = False
    wide: Hypothesis | None = None
    usual: bool = False
    may_give: Callable[[AnsweredCase], bool] | None = None

    @property
    def own(self) -> Model:
        """The model with this fault only."""
        return self.model if self.alone is None else self.alone


class AnsweredCase(NamedTuple):
    """A question with the device's answer and the expected answer, both normalized for comparison. free: whether other
    answers are right too, with an error that is allowed."""

    inputs: tuple[int, ...]
    expected: Output
    got: Output
    free: bool = False

    @property
    def agrees(self) -> bool:
        """Whether the device was right."""
        return self.expected == self.got


class WrongCode(NamedTuple):
    """A code that a device got wrong, of a format that hides its integer bit; place: which code of the answer it is."""

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
        WrongCode(fmt.unstored(x), fmt.unstored(y), fmt.hidden, i)
        for c in wrong
        for i, (x, y, fmt) in enumerate(zip(c.expected, c.got, unit.result_formats, strict=False))
        if x != y and fmt is not None
    ]


def wrong_flags(unit: Unit, cases: Sequence[AnsweredCase]) -> list[tuple[int, int]]:
    """The expected flags and those given, in the first mismatches of some cases; none where flags are not compared."""
    at = len(unit.result_formats)
    wrong = islice((c for c in cases if not c.agrees and len(c.expected) > at), _MOST_SEEN)
    return [(c.expected[at], c.got[at]) for c in wrong]


class Comparator(NamedTuple):
    """How answers are compared: NaNs that count as equal are made identical, ignored flags left out."""

    unit: Unit
    tolerance: Tolerance
    flags: int  # those that are compared
    formats: tuple[Format | None, ...]  # of the results' codes
    leaves_out: bool  # whether there may be codes that are not compared
    is_plain: bool = False  # whether the first code is compared bit by bit
    judge: UlpJudge | KappaJudge | None = None  # where an error is allowed

    @staticmethod
    def of(unit: Unit, tolerance: Tolerance, has_flags: bool, judge: UlpJudge | KappaJudge | None = None) -> Comparator:
        """The comparator of a unit's answers. has_flags: whether the device gives any; judge: of an allowed error."""
        flags = tolerance.flags if unit.has_flags and has_flags else 0
        leaves_out = tolerance.any_elements or bool(tolerance.absent)
        own = flags if judge is None else flags & FLAGS
        is_plain = not leaves_out and tolerance.nan == CompareNan.EXACT and bool(unit.result_formats)
        return Comparator(unit, tolerance, own, unit.result_formats, leaves_out, is_plain, judge)

    def __call__(self, output: Output) -> Output:
        """The part of a model's output that is compared."""
        codes = output[: len(self.formats)]
        if self.leaves_out and (places := self.tolerance.left_out(self.unit, codes)):
            codes = tuple(0 if i in places else x for i, x in enumerate(codes))
        if self.tolerance.nan != CompareNan.EXACT:
            codes = tuple(map(self._code, codes, self.formats))
        return (*codes, output[len(self.formats)] & self.flags) if self.flags else codes

    def _code(self, code: int, fmt: Format | None) -> int:
        if fmt is None or code >> fmt.width or not fmt.is_nan(code):
            return code
        loud = self.tolerance.nan == CompareNan.QUIET and decoder(fmt)(code).signaling
        return code if loud else fmt.canonical_nan

    def case(self, inputs: Inputs, expected: Output, got: Output) -> AnsweredCase:
        """A question with its answers; one that is accepted is the expected one. got: as it is compared."""
        wanted, count = self(expected), len(self.formats)
        if wanted[count:] == got[count:] and not self.tolerance.differing(self.unit, expected[:count], got[:count]):
            return AnsweredCase(tuple(inputs), wanted, wanted, self.judge is not None)
        free = self.judge is not None and self._allows(tuple(inputs), wanted, got)
        return AnsweredCase(tuple(inputs), wanted, wanted if free else got, free)

    def gives(self, output: Output, case: AnsweredCase) -> bool:
        """Whether an answer is the one of a case, as far as it is compared."""
        if self.is_plain and output[0] != case.got[0] and not case.free:
            return False
        own = self(output)
        return own == case.got or (case.free and self._allows(case.inputs, case.got, own))

    def _allows(self, inputs: tuple[int, ...], expected: Output, got: Output) -> bool:
        """Whether an answer has an error that is allowed."""
        count = len(self.formats)
        if self.judge is None or expected[count:] != got[count:]:
            return False
        return self.judge.allows(inputs, expected[:count], got[:count], self.tolerance.nan)

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
