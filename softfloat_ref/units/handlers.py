"""Tables of classes by kind of unit, into which each kind's file enters its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from softfloat_ref.units.unit import Unit

H = TypeVar("H")
C = TypeVar("C", bound="type[Any]")


class Handlers(Generic[H]):
    """Classes of handlers, one for some kinds of units. default: for units of other kinds."""

    def __init__(self, default: type[H]) -> None:
        self.default = default
        self.known: dict[type[Unit], type[H]] = {}

    def register(self, unit: type[Unit]) -> Callable[[C], C]:
        """Decorate the class for a kind of unit."""

        def enter(handler: C) -> C:
            self.known[unit] = handler
            return handler

        return enter

    def of(self, unit: Unit) -> type[H]:
        """The most specific class for a unit."""
        return next((self.known[x] for x in type(unit).__mro__ if x in self.known), self.default)
