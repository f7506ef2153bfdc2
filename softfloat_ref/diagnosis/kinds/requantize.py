"""Requantizers: rules, and which of them are one device; their defects."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, register
from softfloat_ref.diagnosis.policy_space import ROUNDS
from softfloat_ref.diagnosis.requantize_defects import requantize_defects
from softfloat_ref.diagnosis.spaces import ChoiceSpace, Space
from softfloat_ref.oracle.requantization import CHOICES, RULES, RequantizeRule
from softfloat_ref.oracle.requantization_steps import defined
from softfloat_ref.oracle.steps import PLAIN
from softfloat_ref.units import RequantizeUnit

_FIELDS: Final = (
    "arithmetic",
    "direction",
    "fraction",
    "reduced",
    "left",
    "first_bits",
    "first",
    "high",
    "rounding",
    "result",
    "sum",
    "order",
)
_FIRST_BITS: Final = (0, 15, 31)  # that are tried
_SHIFT_INVARIANT: Final = ("rup", "rdn", "rnu")  # adding an integer before the rounding is the same as after it
_UNDEFINED: Final = "undefined"
_WORDS: Final[dict[str, dict[str, str]]] = {
    "arithmetic": {
        "exact": "multiplies accumulator and scale exactly",
        "fp32": "rounds accumulator and product to fp32",
        "fp64": "rounds accumulator and product to fp64",
    },
    "direction": {"left": "shifts to the left by a positive shift", "right": "shifts to the right by a positive shift"},
    "left": {
        "together": "shifts the product, not the accumulator, to the left",
        "wrapped": "shifts the accumulator to the left first, and wraps it",
        "saturated": "shifts the accumulator to the left first, and saturates it",
    },
    "first_bits": {"0": "rounds only once", "": "rounds twice: first the product, by {v} bits"},
    "first": {k: v.replace("rounds ", "rounds the product first ", 1) for k, v in ROUNDS.items()},
    "high": {
        "saturated": "saturates the high part of the product",
        "wrapped": "wraps the high part of the product instead of saturating it",
    },
    "rounding": ROUNDS,
    "result": {
        "exact": "does not limit the rounded number to the register",
        "wrapped": "wraps the rounded number to the register",
        "saturated": "saturates the rounded number to the register",
        "wrapped-early": "wraps the product before its last bit rounds it",
    },
    "sum": {
        "exact": "does not limit the sum with the zero point",
        "wrapped": "wraps the sum with the zero point to the register",
    },
    "order": {
        "inside": "adds the zero point before it rounds",
        "outside": "adds the zero point after it rounds",
    },
}


@dataclass(frozen=True)
class RequantizeSpace(ChoiceSpace[RequantizeRule]):
    """The rules of a requantization whose operands are those of the unit."""

    kind: ClassVar[str] = "rule"
    catalogue: ClassVar[Mapping[str, RequantizeRule]] = RULES
    fields: ClassVar[Sequence[str]] = _FIELDS
    choices: ClassVar[Mapping[str, Sequence[str]]] = CHOICES
    words: ClassVar[Mapping[str, Mapping[str, str]]] = _WORDS

    @property
    def base(self) -> RequantizeRule:
        rule: RequantizeRule = self.unit.rule
        return rule

    def named(self) -> Iterator[RequantizeRule]:
        for rule in RULES.values():
            yield rule
            if rule.result == _UNDEFINED:  # a device gives something
                yield rule.replace(result="wrapped")

    def changes(self, point: RequantizeRule) -> Iterator[RequantizeRule]:
        values: dict[str, Sequence[Any]] = {k: self.choices[k] for k in self.fields if k in self.choices}
        if point.has_shift:
            values["first_bits"] = _FIRST_BITS
        for field, choices in values.items():
            for choice in choices:
                if choice in (getattr(point, field), _UNDEFINED):
                    continue
                try:
                    yield point.replace(**{field: choice})
                except Error:  # the two choices exclude each other
                    continue

    def unit_of(self, point: RequantizeRule) -> RequantizeUnit:
        own: RequantizeUnit = self.unit
        return own.under(point)

    def key(self, point: RequantizeRule) -> Hashable:
        """Its fields, without those that others make irrelevant."""
        two = (point.first, point.high) if point.first_bits else ()
        own = {k: getattr(point, k) for k in _FIELDS if k not in ("first", "high")}
        if point.rounding in _SHIFT_INVARIANT and point.result == "exact":
            own["order"] = ""
        return (*own.values(), *two, point.shift, point.register(self.unit.accumulator))

    def defects_of(self, unit: RequantizeUnit) -> Iterator[Hypothesis]:
        return requantize_defects(unit)


@register(RequantizeUnit)
class DiagnosedRequantize(DiagnosedKind):
    """A requantizer."""

    tried: ClassVar[str] = "rule or listed defect"
    choices: ClassVar[type[Space[Any]]] = RequantizeSpace
    unit: RequantizeUnit

    @property
    def title(self) -> str:
        return f"requantize {self.unit.accumulator.name} to {self.unit.out.name}"

    def askable(self, inputs: Inputs) -> bool:
        try:
            defined(self.unit.operands(PLAIN, inputs), self.unit.rule)
        except Undefined:
            return False
        return True
