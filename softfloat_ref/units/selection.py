"""Several units as one: control fields select a part on every line."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from softfloat_ref.oracle.steps import PLAIN, Do
from softfloat_ref.units.unit import Line, SteppedUnit, Unit


class SelectionUnit(SteppedUnit):
    """A unit whose parts are selected by control fields, its first inputs. Its steps are those of the part."""

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        part, own = self.selected_by(do, inputs)
        if do is PLAIN or not isinstance(part, SteppedUnit):
            return self.given_out(do, part, part.answer(own))
        return self.given_out(do, part, part.computed(do, own, more_bits))

    def selected(self, inputs: Sequence[int]) -> tuple[Unit, Line]:
        return self.selected_by(PLAIN, inputs)

    @abstractmethod
    def selected_by(self, do: Do, inputs: Sequence[int]) -> tuple[Unit, Line]:
        """`selected`, step by step."""

    def given_out(self, do: Do, part: Unit, outputs: Sequence[int]) -> Sequence[int]:
        """The outputs of a part, as the unit gives them out."""
        return outputs

    @property
    @abstractmethod
    def controls(self) -> Mapping[str, tuple[str, ...]]:
        """The control fields and the names that their codes stand for."""

    @property
    @abstractmethod
    def part_names(self) -> Mapping[Any, str]:
        """A name for each part."""

    @abstractmethod
    def codes(self, part: Any) -> Line:
        """The control fields of a part."""

    @abstractmethod
    def assembled(self, part: Any, own: Sequence[int]) -> Line:
        """The inputs of a case, of those of a part; its operands are as wide as the fields."""

    @cached_property
    def by_codes(self) -> Mapping[Line, Any]:
        """The parts by their control fields."""
        return {self.codes(part): part for part in self.parts}


def code_bits(names: Sequence[str]) -> int:
    """The width of a control field of that many codes."""
    return max(1, (len(names) - 1).bit_length())
