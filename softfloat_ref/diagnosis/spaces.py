"""Spaces of the choices in which devices differ: points (such as a policy or an accumulator), and their neighbours."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.answer_defects import wire_defects
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Model, expected_model
from softfloat_ref.diagnosis.stepped_defects import stepped_defects, stepped_suggested_by
from softfloat_ref.oracle.policies import rounding_name
from softfloat_ref.units import SteppedUnit

P = TypeVar("P", bound=Hashable)
ONE_CHOICE: Final = 2  # size of a point that differs in one choice
ERROR: Final = "error"  # a device always gives an answer


@dataclass(frozen=True)
class Space(Generic[P]):
    """The possible choices of one kind of device; by default, of a unit without choices: the unit itself.

    A point is one complete choice. Two points with equal keys are the same device for this operation and these
    formats: no operands tell them apart. unit: the formats, and the expected point. source: the random source, if
    known. kind: policy, profile, accumulator, rule or unit; except for unit, the unit's field that holds the point.
    """

    kind: ClassVar[str] = "unit"
    unit: Any
    source: str = ""

    @cached_property
    def base(self) -> Any:
        """The expected point, or the default."""
        return self.unit if self.kind == "unit" else getattr(self.unit, self.kind)

    def named(self) -> Iterable[P]:
        """The named points."""
        return ()

    def changes(self, point: P) -> Iterable[P]:
        """The points that differ from this one in one choice."""
        return ()

    def unit_of(self, point: P) -> Any:
        """The unit with another point. Raises Error if it does not support this operation and these formats."""
        return point if self.kind == "unit" else dataclasses.replace(self.unit, **{self.kind: point})

    def at(self, point: P) -> Self:
        """The space with another point as its base. Raises Error."""
        return dataclasses.replace(self, unit=self.unit_of(point))

    def model(self, point: P) -> Model | None:
        """How such a device answers; None if it does not support this operation and these formats."""
        try:
            return self.model_of(self.unit_of(point))
        except Error:
            return None

    def known_model(self, point: P) -> Model | None:
        """The model of a point, made once."""
        if point not in self._models:
            self._models[point] = self.model(point)
        return self._models[point]

    @cached_property
    def _models(self) -> dict[P, Model | None]:
        return {}

    def model_of(self, unit: Any) -> Model:
        """How a unit of this space answers."""
        return expected_model(unit)

    def key(self, point: P) -> Hashable:
        """Everything that the answers depend on."""
        return point

    def text(self, point: P) -> str:
        """Its name, or its differences from the nearest named point."""
        return f"unit {self.unit.name}"

    def description(self, point: P) -> str:
        """How such a device differs from the expected one, as a predicate of "the device"."""
        return "behaves as expected"

    def size(self, point: P) -> int:
        """Twice the number of choices that differ from the base; a named point counts as one and a half."""
        return 0

    def defects(self, point: P) -> Iterator[Hypothesis]:
        """The listed defects of a device that is otherwise this point."""
        try:
            return self.defects_of(self.unit_of(point))
        except Error:
            return iter(())

    @cached_property
    def listed(self) -> list[Hypothesis]:
        """The listed defects of the base, made once."""
        return list(self.defects(self.base))

    def defects_of(self, unit: Any) -> Iterator[Hypothesis]:
        """The listed defects of a unit of this space; by default, those of its steps."""
        return stepped_defects(unit) if isinstance(unit, SteppedUnit) else iter(())

    def suggested(self, point: P, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        """Defects that the mismatches of some cases suggest, of a device that is otherwise this point."""
        try:
            return self.suggested_of(self.unit_of(point), cases)
        except Error:
            return iter(())

    def suggested_of(self, unit: Any, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        """Those of a unit of this space; by default, of its steps."""
        return stepped_suggested_by(unit, cases) if isinstance(unit, SteppedUnit) else iter(())

    def tininess_apart(self, h: Hypothesis) -> Hypothesis | None:
        """A hypothesis of a device that detects tininess as expected, whatever else is wrong; None for units without
        underflow."""
        return None

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        """The listed defects of only the answer, for a device that otherwise follows `under`; by default, those of the
        wires of a result that is all of it."""
        alone = len(self.unit.result_formats) == 1 and not self.unit.has_flags
        return wire_defects(self.unit, under) if alone else iter(())


@dataclass(frozen=True)
class ChoiceSpace(Space[P]):
    """A space of points with several named fields, each described by the fewest differences.

    reference: the point that names and sizes are relative to, if not the base. names_first: whether to use the name
    of a named point even if one change describes it. catalogue: the named points. fields: those that a device reveals.
    choices: the values of fields with few. words: for values of fields, what such a device does; '': any other value.
    """

    catalogue: ClassVar[Mapping[str, Any]]
    fields: ClassVar[Sequence[str]]
    choices: ClassVar[Mapping[str, Sequence[str]]] = {}
    words: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    reference: P | None = None
    names_first: bool = True

    @cached_property
    def base(self) -> Any:
        """The expected point, with the requested rounding."""
        return getattr(self.unit, self.kind).replace(rounding=rounding_name(self.unit.policy.rounding))

    @property
    def expected(self) -> P:
        """The point that names and sizes are relative to."""
        return self.reference or self.base

    @cached_property
    def fitting(self) -> Mapping[str, Any]:
        """The named points that are for such a unit."""
        return self.catalogue

    def named(self) -> Iterator[P]:
        for point in self.fitting.values():
            yield point.replace(rounding=self.base.rounding) if self.unit.policy.random_count else point

    def changes(self, point: Any) -> Iterator[P]:
        for field in self.fields:
            for choice in self.choices.get(field, ()):
                random = field == "rounding" and choice.startswith("sr") and not self.unit.policy.random_count
                if choice in (getattr(point, field), ERROR) or random:
                    continue
                try:
                    yield point.replace(**{field: choice})
                except Error:  # the two choices exclude each other
                    continue

    def unit_of(self, point: Any) -> Any:
        policy = self.unit.policy.replace(rounding=point.rounding)
        if not policy.rounding.stochastic:
            policy = policy.replace(sr_bits=None)
        return dataclasses.replace(self.unit, **{self.kind: point}, policy=policy)

    def at(self, point: P) -> Self:
        return dataclasses.replace(super().at(point), reference=self.base)

    def texts(self, point: P) -> dict[str, str]:
        """Its fields as texts."""
        return {k: str(getattr(point, k)) for k in self.fields}

    def differing(self, point: P, other: P) -> dict[str, str]:
        """The fields of a point that differ from another's, as texts."""
        theirs = self._known_texts(other)
        return {k: v for k, v in self._known_texts(point).items() if v != theirs[k]}

    def _known_texts(self, point: P) -> dict[str, str]:
        """Its fields as texts, made once."""
        known = self._texts.get(point)
        if known is None:
            known = self._texts[point] = self.texts(point)
        return known

    @cached_property
    def _texts(self) -> dict[P, dict[str, str]]:
        return {}

    def nearest(self, point: P) -> tuple[str, dict[str, str]]:
        """The name of the nearest named point, and the differences from it."""
        known = self._nearest.get(point)
        if known is None:
            others = ((name, self.differing(point, named)) for name, named in self.fitting.items())
            known = self._nearest[point] = min(others, key=lambda x: len(x[1]))
        return known

    @cached_property
    def _nearest(self) -> dict[P, tuple[str, dict[str, str]]]:
        return {}

    def text(self, point: P) -> str:
        own, (name, differing) = self.differing(point, self.expected), self.nearest(point)
        if own and len(own) <= max(len(differing), 0 if self.names_first else 1):
            return fields_text(own)
        return ", ".join(filter(None, (f"{self.kind} {name}", fields_text(differing))))

    def description(self, point: P) -> str:
        own = self.differing(point, self.expected)
        if not own:
            return super().description(point)
        text = self.text(point)
        return f"follows {text}" if text.startswith(f"{self.kind} ") else self.sentence(own)

    def sentence(self, own: Mapping[str, str]) -> str:
        """What a device with these fields does."""
        of = ((k, v, self.words.get(k, {})) for k, v in own.items())
        texts = list(filter(None, (w.get(v, w.get("", "has {k} = {v}")).format(k=k, v=v) for k, v, w in of)))
        return " and ".join(texts) if len(texts) < 3 else f"{', '.join(texts[:-1])}, and {texts[-1]}"

    def size(self, point: P) -> int:
        own, (_, differing) = self.differing(point, self.expected), self.nearest(point)
        return min(2 * len(own), 2 * len(differing) + 3)


def fields_text(fields: Mapping[str, str]) -> str:
    """Fields with their values, in a name."""
    return ", ".join(f"{k} = {v}" for k, v in fields.items())


def hypothesis(space: Space[P], point: P) -> Hypothesis | None:
    """A point as a hypothesis; None if it has no model."""
    model = space.known_model(point)
    if model is None:
        return None
    unit, size = space.unit_of(point), space.size(point)
    text, usual = space.description(point), size <= ONE_CHOICE
    return Hypothesis(space.text(point), text, model, space.kind, size, unit=unit, usual=usual)
