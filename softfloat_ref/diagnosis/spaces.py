"""The choices that devices differ in, as spaces: points (a policy, profile or accumulator), and their neighbours."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model

P = TypeVar("P", bound=Hashable)


class Space(Protocol, Generic[P]):
    """What one kind of device can be set to.

    A point is one complete choice. Two points with equal keys are the same device for this operation and these
    formats: no operands tell them apart.
    """

    @property
    def kind(self) -> str:
        """What its points are: policy, profile or accumulator."""

    @property
    def base(self) -> P:
        """The point that is expected, or the default."""

    def named(self) -> Iterable[P]:
        """The points that have a name."""

    def changes(self, point: P) -> Iterable[P]:
        """The points that differ from this one in one choice."""

    def model(self, point: P) -> Model | None:
        """How such a device answers; None where there is none for this operation and these formats."""

    def key(self, point: P) -> Hashable:
        """What the answers depend on."""

    def text(self, point: P) -> str:
        """Its name, or what differs from the named point nearest to it."""

    def says(self, point: P) -> str:
        """What such a device does instead of what is expected, after "the device"."""

    def size(self, point: P) -> int:
        """Twice the choices that differ from the base; a named point counts as one and a half."""

    def defects(self, point: P) -> Iterator[Hypothesis]:
        """The listed defects, of a device that is otherwise this point."""

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        """The listed defects of nothing but the answer, of a device that otherwise answers so."""


def hypothesis(space: Space[P], point: P) -> Hypothesis | None:
    """A point as a hypothesis; None where there is none."""
    model = space.model(point)
    if model is None:
        return None
    return Hypothesis(space.text(point), space.says(point), model, space.kind, space.size(point))
