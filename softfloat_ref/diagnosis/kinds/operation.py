"""Operations: policies, and the defects of their steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Undefined
from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.conditions import Feature, between, binade
from softfloat_ref.diagnosis.hypotheses import Inputs, Output
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, code_text, register
from softfloat_ref.diagnosis.policy_space import PolicySpace
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import evaluator
from softfloat_ref.oracle.operations.formula import MULTIPLY_ADD
from softfloat_ref.oracle.operations.table import LETTERS
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.units import OperationUnit

EXHAUSTIVE_BITS: Final = 16


@register(OperationUnit)
class DiagnosedOperation(DiagnosedKind):
    """An operation."""

    tried: ClassVar[str] = "policy, profile, accumulator or listed defect"
    choices: ClassVar[type[Space[Any]]] = PolicySpace
    unit: OperationUnit

    def features(self) -> Iterator[Feature]:
        yield from super().features()
        yield from self._before_rounding()
        yield from self._signs()
        formats = self.unit.formats
        if len(formats) > 1 and len(set(formats[:2])) == 1:
            mask = formats[0].magnitude_mask
            yield Feature(lambda i, e: (i[0] & mask) == (i[1] & mask) or None, lambda _: "a and b have one magnitude")

    @property
    def family(self) -> Hashable:
        unit = self.unit
        return unit if unit.policy.random_count or unit.intermediate else (unit.op, unit.formats, unit.out)

    def _signs(self) -> Iterator[Feature]:
        """Whether operands have different signs, and the terms of a sum, which is then a subtraction."""
        signed = [i for i, f in enumerate(self.unit.formats) if f.sign_bit]
        for i, j in itertools.combinations(signed, 2):
            name = f"operands {LETTERS[i]} and {LETTERS[j]}"
            yield Feature(partial(_odd_signs, self.unit.formats, (i, j)), partial(_of_signs, name))
        if self.unit.signature.operation.formula == MULTIPLY_ADD and len(signed) == len(self.unit.formats):
            yield Feature(partial(_odd_signs, self.unit.formats, signed), partial(_of_signs, "product and addend"))

    def _before_rounding(self) -> Iterator[Feature]:
        """The binade of the exact result, which rounding up may leave."""
        unit = self.unit
        if unit.signature.operation.result != "float" or unit.out.is_integer or unit.policy.random_count:
            return
        cut, decode = evaluator(unit.signature, unit.policy.replace(rounding="rtz")), decoder(unit.out)

        def exponent(inputs: Inputs, _: Output) -> int | None:
            try:
                return binade(decode(cut(tuple(inputs), 0)[0]))
            except Undefined:
                return None

        yield Feature(exponent, lambda v: between("the exact result", *v), ordered=True)

    @property
    def title(self) -> str:
        unit = self.unit
        formats = ", ".join(dict.fromkeys(f.name for f in unit.formats))
        return f"{unit.op} {formats}" + (f" to {unit.out.name}" if unit.out.name != formats else "")

    def inputs_text(self, inputs: Inputs) -> str:
        return " ".join(code_text(x, f) for x, f in zip(inputs, self.unit.input_formats, strict=True))

    def candidates(self, source: str) -> Space[Any]:
        return PolicySpace(self.unit, source, names_first=True)

    def every(self) -> Callable[[], Iterable[Question]] | None:
        widths = [f.width for f in self.unit.inputs]
        if sum(widths) > EXHAUSTIVE_BITS:
            return None
        return lambda: itertools.product(*(range(1 << w) for w in widths))

    def questions(self, vectors: VectorSet) -> list[Question]:
        return list(dict.fromkeys((*self._crossed(), *super().questions(vectors))))

    def _crossed(self) -> Iterator[Question]:
        """A few codes of each kind for each operand, in all combinations, including NaNs with a payload."""
        words = ((0,), (1,)) if self.unit.policy.random_count else ((),)
        for case in itertools.product(*map(kinds_of_codes, self.unit.formats)):
            yield from ((*case, *word) for word in words)


def _odd_signs(formats: Sequence[Format], some: Sequence[int], inputs: Inputs, _: Output) -> int:
    """Whether an odd number of some operands is negative."""
    return sum(inputs[i] & formats[i].sign_bit > 0 for i in some) % 2


def _of_signs(name: str, values: tuple[int, int]) -> str:
    return f"{name} have {'different signs' if values[0] else 'the same sign'}"


def kinds_of_codes(fmt: Format) -> list[int]:
    """A few codes of each kind."""
    if fmt.is_integer:
        return [0, 1, fmt.max_code]
    encode = encoder(fmt, Policy(overflow=Overflow.SAT_FINITE))
    codes = [0, fmt.sign_bit, encode(exact.finite(0, 1, 0), 0)[0], 1, fmt.max_code]
    codes += [fmt.inf_code, fmt.inf_code | fmt.sign_bit] if fmt.infinity else []
    if fmt.has_nan and fmt.nan == "ieee":
        quiet = fmt.canonical_nan
        codes += [quiet, quiet | 1, quiet | fmt.sign_bit | 2 % (fmt.quiet_bit or 1), fmt.inf_code | 1]
    elif fmt.has_nan:
        codes.append(fmt.canonical_nan)
    return list(dict.fromkeys(codes))
