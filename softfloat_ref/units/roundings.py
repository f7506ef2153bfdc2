"""Units in several roundings, one of which the control field `rounding` selects on every line."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle.steps import Do
from softfloat_ref.units.selection import SelectionUnit, code_bits
from softfloat_ref.units.unit import Field, Line, Unit, file_name, random_words, restored, stored


@dataclass(frozen=True)
class RoundingsUnit(SelectionUnit):
    """A unit in several roundings: the same fields, but for random words, which only stochastic roundings have."""

    kind: ClassVar[str] = "roundings"

    units: tuple[Unit, ...]

    def __post_init__(self) -> None:
        if len(self.units) < 2:
            raise Error("a unit in several roundings has at least two")
        if len({*self._names}) < len(self.units):
            raise Error(f"{', '.join(self._names)}: a rounding is given twice")
        if len({_fixed_fields(part) for part in self.units}) > 1:
            raise Error(f"{', '.join(part.name for part in self.units)}: one of them has other fields")

    @staticmethod
    def of(unit: Unit, modes: Sequence[str]) -> RoundingsUnit:
        """An operation or a quantizer in these roundings. Raises Error for other units, and for unknown modes."""
        policy = getattr(unit, "policy", None)
        if policy is None:
            raise Error(f"{unit.properties()['op']} has no rounding that an input could select")
        policies = [policy.replace(rounding=mode) for mode in modes]
        plain = [p if p.rounding.stochastic else p.replace(sr_bits=None) for p in policies]
        return RoundingsUnit(tuple(dataclasses.replace(unit, policy=p) for p in plain))  # type: ignore[type-var]

    @property
    def parts(self) -> tuple[Unit, ...]:
        return self.units

    @cached_property
    def part_names(self) -> dict[Unit, str]:
        return {part: part.name for part in self.units}

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(part.properties()["rounding"] for part in self.units)

    @cached_property
    def controls(self) -> dict[str, tuple[str, ...]]:
        return {"rounding": self._names}

    def codes(self, part: Unit) -> Line:
        return (self.units.index(part),)

    @cached_property
    def name(self) -> str:
        first, *others = self.units
        return file_name(first.name, *(part.properties()["rounding"] for part in others))

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        first, words = self.units[0], [part.random_field for part in self.units if part.random_field]
        widest = max(words, key=lambda f: f.width, default=None)
        return (
            Field("rounding", "control", code_bits(self._names), codes=self._names),
            *(f for f in _fixed_fields(first) if f.is_input),
            *(random_words(widest.width, widest.lanes) if widest else ()),
            *first.outputs,
        )

    def assembled(self, part: Unit, own: Sequence[int]) -> Line:
        """Those of a part, and zeros where it has no random words."""
        return (*self.codes(part), *own, *(0,) * (self.input_width - 1 - len(own)))

    def selected_by(self, do: Do, inputs: Sequence[int]) -> tuple[Unit, Line]:
        part = self.by_codes.get(tuple(inputs[:1]))
        if part is None:
            raise Undefined("a rounding of no part")
        own, unused = inputs[1 : 1 + part.input_width], inputs[1 + part.input_width :]
        bits = part.random_field.width if part.random_field else 0
        words = inputs[1 + part.operand_width : 1 + part.input_width]
        if any(unused) or any(word >> bits for word in words):
            raise Undefined("random bits that the rounding does not take")
        return part, tuple(own)

    def properties(self) -> dict[str, str]:
        return self.units[0].properties() | {"rounding": "/".join(self._names)}

    def to_dict(self) -> dict[str, Any]:
        return {"units": [stored(part) for part in self.units]}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> RoundingsUnit:
        return RoundingsUnit(tuple(restored(part) for part in table["units"]))


def _fixed_fields(part: Unit) -> tuple[Field, ...]:
    """The fields that do not depend on the rounding."""
    return tuple(f for f in part.fields if f.role != "random")
