"""Coverage of pipelines: the classes of operands, and the events of every step."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from softfloat_ref.coverage.by_fields import FieldEvents, FieldsSetting, OperandClasses, ResultClasses
from softfloat_ref.coverage.classes import class_of, members
from softfloat_ref.coverage.engine.framework import BITS, SIGNS, Bins, Cell, Coverage, Line, SearchedModel, cross
from softfloat_ref.coverage.operation.operands import ordinary
from softfloat_ref.coverage.operation.reach import span
from softfloat_ref.oracle.codec import target
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.steps import exactly_evaluated, setting
from softfloat_ref.oracle.steps import PLAIN
from softfloat_ref.units import OperationUnit, PipelineUnit
from softfloat_ref.units.operation import intermediate_fields
from softfloat_ref.units.pipeline_steps import PartCase, PipelineStep

_ENDS: Final = 4  # calls of a step at both ends, which are looked at
_SEARCHED_LINES: Final = 160
_EXPONENTS: Final = 24  # of operands, that are searched, over the whole range
_CLASSES: Final = OperandClasses()
_FLAGS: Final = {flag: flag.name.lower() for flag in Flags if flag.name}


class PipelineSetting(FieldsSetting):
    """A pipeline, and what each of its steps takes and gives."""

    def __init__(self, unit: PipelineUnit) -> None:
        super().__init__(unit.fields, unit.answer)
        self.unit = unit
        self.calls = {s.name: s.calls(unit.sizes) for s in unit.stages}
        self.stages = {s.name: s for s in unit.stages}

    def looked_at(self, line: Line) -> Iterator[PartCase]:
        """The first and the last calls of every step."""
        for case in self.unit.part_cases(line):
            if case.call < _ENDS or case.call >= self.calls[case.stage] - _ENDS:
                yield case


class StepEvents(SearchedModel[FieldsSetting, FieldEvents]):
    """STEP: of every step, the classes of its inputs and results, its flags, and the bits that decide its rounding, in
    the first and the last calls of it."""

    id = "STEP"
    title = "every step: classes of its inputs and results, flags, sign, last, guard and sticky bits"
    most = 4

    def wanted(self, where: FieldsSetting) -> Bins:
        assert isinstance(where, PipelineSetting)
        return {cell: name for s in where.unit.stages for cell, name in self._of(s).items()}

    @staticmethod
    def _of(s: PipelineStep) -> Bins:
        bins: Bins = {}
        for at, fmt in enumerate(_taken_formats(s)):
            bins |= cross("{stage}.takes{at}.{kind}", stage=[s.name], what=["takes"], at=[at], kind=list(members(fmt)))
        bins |= cross("{stage}.gives.{kind}", stage=[s.name], what=["gives"], kind=list(members(s.out)))
        if s.unit.has_flags:
            bins |= cross("{stage}.{flag}", stage=[s.name], what=["flag"], flag=[*_FLAGS.values(), "none"])
        if _rounds(s):
            bins |= cross(
                "{stage}.{sign}.lsb{lsb}.guard{guard}.sticky{sticky}",
                stage=[s.name], what=["round"], sign=SIGNS, lsb=BITS, guard=BITS, sticky=BITS,
            )  # fmt: skip
        return bins

    def searched(self, where: FieldsSetting) -> Iterator[Line]:
        """Operands of every class and exponent, in one lane and in all, among ordinary ones."""
        assert isinstance(where, PipelineSetting)
        own = itertools.chain(
            _by_class(where), _by_exponent(where), (where.line({}, turn) for turn in itertools.count())
        )
        return itertools.islice(own, _SEARCHED_LINES)

    def hits(self, e: FieldEvents) -> Iterable[Cell]:
        where = e.where
        assert isinstance(where, PipelineSetting)
        for case in where.looked_at(e.line):
            s = where.stages[case.stage]
            for at, fmt in enumerate(_taken_formats(s)):
                yield s.name, "takes", at, class_of(fmt, case.inputs[at])
            yield s.name, "gives", class_of(s.out, case.code)
            for flag, name in _FLAGS.items():
                if case.flags & flag:
                    yield s.name, "flag", name
            if not case.flags:
                yield s.name, "flag", "none"
            yield from _rounding(s, case)


def _taken_formats(s: PipelineStep) -> list[Format]:
    """The formats of the inputs of a call; of a dot product, none: they are many."""
    formats = s.unit.formats if isinstance(s.unit, OperationUnit) else s.unit.input_formats
    return [f for f in formats if f is not None and not f.is_integer] if len(formats) <= len(s.of) + 1 else []


def _rounds(s: PipelineStep) -> bool:
    return isinstance(s.unit, OperationUnit) and s.unit.signature.operation.result == "float"


def _rounding(s: PipelineStep, case: PartCase) -> Iterator[Cell]:
    """The bits that decided the rounding of a number."""
    unit = s.unit
    if not _rounds(s) or not isinstance(unit, OperationUnit) or unit.signature.operation.is_conversion:
        return
    value, _, _ = exactly_evaluated(PLAIN, setting(unit.signature, unit.policy), case.inputs)
    if value.is_finite and value.significand:
        sign, truncated, guard, sticky = intermediate_fields(value, target(s.out, unit.policy))
        yield s.name, "round", sign, truncated & 1, guard >> unit.policy.random_count, sticky


def _by_class(where: PipelineSetting) -> Iterator[Line]:
    """Every class of each operand, in its first lane and in all."""
    for x in where.unit.operands:
        first = _first_place(where, x.name)
        for turn, codes in enumerate(members(x.fmt).values() if not x.fmt.is_integer else ()):
            for lanes in dict.fromkeys((1, x.lanes)):
                yield where.line({first + i: codes[i % len(codes)] for i in range(lanes)}, turn)


def _by_exponent(where: PipelineSetting) -> Iterator[Line]:
    """Numbers of every exponent of each operand, or of some of many; in its first lane, and in all."""
    for x in where.unit.operands:
        if x.fmt.is_integer:
            continue
        first = _first_place(where, x.name)
        for turn, e in enumerate(_exponents(x.fmt)):
            for lanes in dict.fromkeys((1, x.lanes)):
                codes = {first + i: ordinary(x.fmt, 2 * turn + 3 * i, e) for i in range(lanes)}
                yield where.line(codes, turn)


def _exponents(fmt: Format) -> list[int]:
    """Those near 0, and some of the others."""
    reach = span(fmt)
    some = range(reach.least, reach.most + 1, -(-(reach.most - reach.least + 1) // _EXPONENTS))
    return sorted({*some, *range(max(reach.least, -_EXPONENTS // 3), min(reach.most, _EXPONENTS // 3) + 1)})


def _first_place(where: PipelineSetting, name: str) -> int:
    """Where the codes of an operand begin."""
    at = 0
    for x in where.unit.operands:
        if x.name == name:
            return at
        at += x.lanes
    raise KeyError(name)


@lru_cache(maxsize=16)
def pipelines(unit: PipelineUnit) -> Coverage:
    """The coverage of a pipeline."""
    return Coverage(PipelineSetting(unit), (_CLASSES, ResultClasses(_CLASSES), StepEvents()))
