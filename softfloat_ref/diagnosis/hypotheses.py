"""Hypotheses: what a device may be doing, as a function from operands to its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from softfloat_ref.codec import decoder
from softfloat_ref.formats import Format
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.testing import block_answers
from softfloat_ref.testing.check import Checkable, input_width
from softfloat_ref.testing.compare import Answer, CompareNan, Rule

Inputs = Sequence[int]
Output = tuple[int, ...]  # result and flags; of a block its scale and codes, or its values
Model = Callable[[Inputs], Output | None]  # None: no answer is defined for these operands


class Hypothesis(NamedTuple):
    """A device that would answer so. name: for tables; says: what such a device does, after "the device".

    size: twice the choices that differ from what was expected; simpler ones come first among equals. kind: policy,
    profile, accumulator or defect. also: other answers that such a device may give, where it is free to choose.
    evidence: the mismatches that must be explained before it is said without a "perhaps".
    """

    name: str
    says: str
    model: Model
    kind: str = "defect"
    size: int = 2
    also: Callable[[Inputs], Iterable[Output]] | None = None
    evidence: int = 3


class Case(NamedTuple):
    """A question with the device's answer and the expected one, both as the comparison sees them."""

    inputs: tuple[int, ...]
    expected: Output
    got: Output

    @property
    def agrees(self) -> bool:
        """Whether the device was right."""
        return self.expected == self.got


class Lens(NamedTuple):
    """How answers are compared: NaNs that count as equal are made equal, and flags that do not count are left out."""

    outputs: tuple[Format | None, ...]  # the format of each code; None for flags
    nan: CompareNan = CompareNan.EXACT

    @staticmethod
    def of(vectors: Checkable, rule: Rule, has_flags: bool) -> Lens:
        """That of a check."""
        if isinstance(vectors, VectorSet) and vectors.block is not None:
            return Lens(block_answers.formats(vectors), rule.nan)
        return Lens((vectors.out, None) if rule.flags and has_flags else (vectors.out,), rule.nan)

    @property
    def has_flags(self) -> bool:
        """Whether flags count."""
        return None in self.outputs

    def __call__(self, output: Output) -> Output:
        """What is compared of a model's output."""
        if self.nan == CompareNan.EXACT:
            return output[: len(self.outputs)]
        return tuple(map(self._code, output, self.outputs))  # as many as there are formats

    def _code(self, code: int, fmt: Format | None) -> int:
        if fmt is None or code >> fmt.width or not fmt.is_nan(code):
            return code
        loud = self.nan == CompareNan.QUIET and decoder(fmt)(code).signaling
        return code if loud else fmt.canonical_nan

    def answer(self, answer: Answer) -> Output:
        """What is compared of a device's answer."""
        if answer.codes:
            return self(answer.codes)
        return self((answer.result, answer.flags or 0))


def expected_model(vectors: Checkable) -> Model:
    """The set's own expectation as a model."""
    width = input_width(vectors)

    def model(inputs: Inputs) -> Output | None:
        line = vectors.line(tuple(inputs))
        return None if line is None else line[width:]

    return model
