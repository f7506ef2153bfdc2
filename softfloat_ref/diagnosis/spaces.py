"""Spaces of the choices in which devices differ: points (such as a policy or an accumulator), and their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model, expected_model
from softfloat_ref.units import Unit

P = TypeVar("P", bound=Hashable)


class Space(Protocol, Generic[P]):
    """The possible choices of one kind of device.

    A point is one complete choice. Two points with equal keys are the same device for this operation and these
    formats: no operands tell them apart.
    """

    @property
    def kind(self) -> str:
        """The kind of its points: policy, profile, accumulator or rule."""

    @property
    def base(self) -> P:
        """The expected point, or the default."""

    def named(self) -> Iterable[P]:
        """The named points."""

    def changes(self, point: P) -> Iterable[P]:
        """The points that differ from this one in one choice."""

    def model(self, point: P) -> Model | None:
        """How such a device answers; None if it does not support this operation and these formats."""

    def key(self, point: P) -> Hashable:
        """Everything that the answers depend on."""

    def text(self, point: P) -> str:
        """Its name, or its differences from the nearest named point."""

    def says(self, point: P) -> str:
        """How such a device differs from the expected one, as a predicate of "the device"."""

    def size(self, point: P) -> int:
        """Twice the number of choices that differ from the base; a named point counts as one and a half."""

    def defects(self, point: P) -> Iterator[Hypothesis]:
        """The listed defects of a device that is otherwise this point."""

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        """The listed defects of only the answer, for a device that otherwise follows `under`."""


def hypothesis(space: Space[P], point: P) -> Hypothesis | None:
    """A point as a hypothesis; None if it has no model."""
    model = space.model(point)
    if model is None:
        return None
    return Hypothesis(space.text(point), space.says(point), model, space.kind, space.size(point))


@dataclass(frozen=True)
class FixedSpace:
    """The space of a unit without choices: the unit itself.

    listed: the defects that it can have; of_answer: those of its answer, for a device that otherwise follows a model.
    """

    unit: Unit
    listed: Callable[[], Iterator[Hypothesis]] = lambda: iter(())
    of_answer: Callable[[Model], Iterator[Hypothesis]] = lambda under: iter(())
    kind: str = "unit"

    @property
    def base(self) -> Unit:
        return self.unit

    def named(self) -> Iterator[Unit]:
        return iter(())

    def changes(self, point: Unit) -> Iterator[Unit]:
        return iter(())

    def model(self, point: Unit) -> Model | None:
        return expected_model(point)

    def key(self, point: Unit) -> Hashable:
        return point

    def text(self, point: Unit) -> str:
        return f"unit {point.name}"

    def says(self, point: Unit) -> str:
        return "behaves as expected"

    def size(self, point: Unit) -> int:
        return 0

    def defects(self, point: Unit) -> Iterator[Hypothesis]:
        return self.listed()

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        return self.of_answer(under)
