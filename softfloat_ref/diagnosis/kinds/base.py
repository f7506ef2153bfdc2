"""What a diagnosis needs to know about a unit: for any unit by its fields; more for kinds with a file here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.conditions import Feature, of_code, of_magnitude
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Inputs, Output
from softfloat_ref.diagnosis.identify import Examiner
from softfloat_ref.diagnosis.results_apart import DotProducts
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.explanation.scalar import code_value, flag_text
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.formats import Format
from softfloat_ref.rtl.tolerance import CompareNan
from softfloat_ref.testing.views import view_of
from softfloat_ref.units import Field, Unit
from softfloat_ref.units.handlers import Handlers
from softfloat_ref.units.unit import LETTERS

QUESTIONS: Final = 3000  # questions to choose from, half of them directed
QUESTIONS_WIDE: Final = 600  # for blocks and dot products
SHOWN_LANES: Final = 4
SCALES: Final = (0x3F800000, 0x3F900000, 0x3DCCCCCD, 0x42F6E979)  # in FP32: 1, 1.125, 0.1, 123.456


class DiagnosedKind:
    """A unit whose devices are diagnosed.

    tried: the kinds of hypotheses, for the message that none fits. choices: the space of possible devices.
    """

    tried: ClassVar[str] = "listed defect"
    choices: ClassVar[type[Space[Any]]] = Space

    def __init__(self, unit: Unit) -> None:
        self.unit: Any = unit

    # -- what may be wrong ---------------------------------------------------------------------------------------------

    def space(self, source: str = "", whole: Unit | None = None) -> Space[Any]:
        """The space of possible devices. source: the random source, if known; whole: the unit of which it is a part."""
        return self.choices(self.unit, source)

    def apart(self) -> DotProducts | None:
        """The results as computations of their own, if they are."""
        return None

    def features(self) -> Iterator[Feature]:
        """Properties of a case that mismatches may have in common: of results, operands and controls of one code."""
        for at, f in places(self.unit.results):
            if f.fmt is not None and f.lanes == 1:
                name = "the result" if len(self.unit.results) == 1 else field_words(f)
                yield from of_code(f.fmt, name, lambda i, e, at=at: e[at])  # type: ignore[misc]
        operands = sum(f.role == "operand" for f in self.unit.inputs)
        for at, f in places(self.unit.inputs):
            if f.codes:
                yield Feature(
                    lambda i, e, at=at: i[at],  # type: ignore[misc]
                    lambda v, f=f: f"{f.name} is {f.codes[v[0]]}",  # type: ignore[misc]
                )
            if f.fmt is not None and f.lanes == 1:
                name = "the operand" if operands == 1 else field_words(f)
                yield from of_code(f.fmt, name, lambda i, e, at=at: i[at])  # type: ignore[misc]
                if f.fmt.sign_bit and not f.fmt.twos_complement:
                    yield of_magnitude(f.fmt, name, lambda i, e, at=at: i[at])  # type: ignore[misc]

    @property
    def family(self) -> Hashable:
        """What units that are diagnosed together have in common: all but their policies, or just the unit itself."""
        own: Unit = self.unit
        return own

    def of_codes(self, cases: Sequence[AnsweredCase]) -> str:
        """What the wrong codes of results with many lanes have in common, in words; '' if nothing."""
        return ""

    def askable(self, inputs: Inputs) -> bool:
        """Whether a generated question has an answer, as far as that is cheap to check."""
        return True

    # -- in words ------------------------------------------------------------------------------------------------------

    @property
    def op(self) -> str:
        """What the unit does."""
        return str(self.unit.properties()["op"])

    @property
    def title(self) -> str:
        """What the unit does, with its formats."""
        names = [", ".join(dict.fromkeys(f.format for f in x if f.fmt)) for x in (self.unit.inputs, self.unit.results)]
        return " ".join(filter(None, (self.op, names[0], names[1] and f"to {names[1]}")))

    def case_text(self, case: AnsweredCase, output: Output | None) -> str:
        """Operands, the expected and the actual answer in one line; and the answer of a hypothesis."""
        return f"{self.op} {self.inputs_text(case.inputs)}: {self.answers_text(case, output)}"

    def inputs_text(self, inputs: Inputs) -> str:
        """The operands, field by field."""
        return ", ".join(_field_text(f, inputs[at : at + f.lanes]) for at, f in places(self.unit.inputs))

    def answers_text(self, case: AnsweredCase, output: Output | None) -> str:
        """The expected answer, the actual answer, and that of a hypothesis."""
        if len(self.unit.result_formats) > 1:
            return self._lanes_text(case, output)
        answers = f"expected {self._answer(case.expected)}, got {self._answer(case.got)}"
        if case.agrees:
            answers = f"got {self._answer(case.got)}, as expected"
        return answers + ("" if output is None else f"; that gives {self._answer(output)}")

    def _answer(self, output: Output) -> str:
        field = self.unit.results[0]
        text = code_text(output[0], field.fmt) if field.fmt else f"{output[0]:0{field.digits}x}"
        return text if len(output) < 2 else f"{text} flags {flag_text(output[1])}"

    def _lanes_text(self, case: AnsweredCase, output: Output | None) -> str:
        against = case.expected if output is None else output
        places = [i for i, (x, y) in enumerate(zip(against, case.got, strict=True)) if x != y][:SHOWN_LANES]
        return ", ".join(self._lane(i, case, output) for i in places)

    def _lane(self, place: int, case: AnsweredCase, output: Output | None) -> str:
        formats = self.unit.result_formats
        if place == len(formats):
            name, shown = "flags", flag_text
        else:
            name, shown = view_of(self.unit).place_name(place)[1], partial(_short, fmt=formats[place])
        right = f"{name} {shown(case.expected[place])}"
        differs = case.expected[place] != case.got[place]
        came = f"{right} came as {shown(case.got[place])}" if differs else f"{right} came"
        return came if output is None else f"{came}; that gives {shown(output[place])}"

    # -- which device it is --------------------------------------------------------------------------------------------

    def examiner(self, vectors: VectorSet, nan: CompareNan) -> Examiner[Any]:
        """The examiner that identifies devices; the unit is the default whose neighbours are tried."""
        return Examiner(self.candidates(vectors.source), vectors, self.questions(vectors), self.every(), nan)

    def candidates(self, source: str) -> Space[Any]:
        """The space of an unknown device, without an expected model."""
        return self.space(source)

    def every(self) -> Callable[[], Iterable[Question]] | None:
        """All operands, if they are few."""
        return None

    def questions(self, vectors: VectorSet) -> list[Question]:
        """The questions to choose from."""
        count = QUESTIONS_WIDE if vectors.cases.wide else QUESTIONS
        return list(dict.fromkeys(dataclasses.replace(vectors, count=count, level="").inputs()))

    def confirming(self, vectors: VectorSet, count: int, seed: int) -> list[Question]:
        """Cases that confirm an identification."""
        return list(dataclasses.replace(vectors, count=count, seed=seed, level="").inputs())


_KINDS: Final = Handlers(DiagnosedKind)
register: Final = _KINDS.register


@lru_cache(maxsize=64)
def kind_of(unit: Unit) -> DiagnosedKind:
    """The most specific diagnosis of a unit."""
    return _KINDS.of(unit)(unit)


def examiner(vectors: VectorSet, nan: CompareNan = CompareNan.EXACT) -> Examiner[Any]:
    """The examiner for a unit: its policy, profile, accumulator or rule is the base; the set's count is not used."""
    asker = kind_of(vectors.unit).examiner(vectors, nan)
    if (within := vectors.within) is not None:
        asker.questions, every = _within(vectors, asker.questions), asker.every
        asker.every = None if every is None else lambda: filter(within.holds, every())
    return asker


def confirming(vectors: VectorSet, count: int, seed: int) -> list[Question]:
    """Cases that confirm an identification, as in a check: half directed and half random."""
    return _within(vectors, kind_of(vectors.unit).confirming(vectors, count, seed)) if count else []


def _within(vectors: VectorSet, questions: Sequence[Question]) -> list[Question]:
    """Questions within the range of the operands; those that are outside are moved there. Raises Error if none is."""
    cases = vectors.cases.within
    if cases is None:
        return list(questions)
    moved = (cases.moved(q, 2 * turn + 1) for turn, q in enumerate(questions))  # not to the ends
    inside = [q for q in moved if q is not None]
    if not inside:
        raise Error(f"where: none of {len(questions)} questions is within {vectors.where}")
    return inside


def places(fields: Sequence[Field]) -> Iterator[tuple[int, Field]]:
    """The fields, each with the index of its first code."""
    at = 0
    for f in fields:
        yield at, f
        at += f.lanes


def field_words(field: Field) -> str:
    """A field in a sentence."""
    return f"operand {field.name}" if field.name in LETTERS else f"the {field.name.replace('_', ' ')}"


def code_text(code: int, fmt: Format | None) -> str:
    """A code with its value; without a format, a random word."""
    return f"r={code:x}" if fmt is None else f"{fmt.hex(code)} ({_value(code, fmt)})"


def _value(code: int, fmt: Format) -> str:
    return code_value(code, fmt).split(" (0x")[0] if not code >> fmt.width else "too wide"


def _short(code: int, fmt: Format | None) -> str:
    """A code of many with its value, without its hexadecimal form."""
    return f"{code:x}" if fmt is None else f"{fmt.hex(code)} ({_value(code, fmt).split(' (')[0]})"


def _hex(code: int, fmt: Format | None) -> str:
    return f"{code:x}" if fmt is None else fmt.hex(code)


def _field_text(f: Field, codes: Sequence[int]) -> str:
    if f.lanes == 1:
        if f.codes:
            return f"{f.name} {f.codes[codes[0]] if codes[0] < len(f.codes) else f'{codes[0]:x}'}"
        return f"{f.name} {f'{codes[0]:0{f.digits}x}' if f.fmt is None else code_text(codes[0], f.fmt)}"
    if len(set(codes)) == 1 and codes[0]:
        return f"{f.name} {_hex(codes[0], f.fmt)} everywhere"
    return f"{f.name} {sparse(codes, lambda i: _hex(codes[i], f.fmt)) or '0'}"


def sparse(codes: Sequence[int], text: Callable[[int], str]) -> str:
    """The first few nonzero codes, by their indices; '' if there is none."""
    places = [i for i, x in enumerate(codes) if x]
    rest = len(places) - SHOWN_LANES
    return " ".join(f"[{i}]={text(i)}" for i in places[:SHOWN_LANES]) + (f" and {rest} more" if rest > 0 else "")
