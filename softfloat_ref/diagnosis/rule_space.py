"""Affine rules as a space: the named ones, and those with one changed choice; and which of them are the same device."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.affine_defects import answer_defects, quantize_defects
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model, expected_model
from softfloat_ref.diagnosis.policy_space import ROUNDS
from softfloat_ref.oracle.affine import CHOICES, RULES, Rule, nan_result
from softfloat_ref.oracle.policies import rounding_name
from softfloat_ref.units import AffineQuantizeUnit

# The choices that a single quantization with a given scale and zero point reveals.
_FIELDS: Final = ("order", "arithmetic", "rounding", "nan", "inf")
_ERROR: Final = "error"  # a device always gives an answer
_SHIFTED: Final = ("rup", "rdn", "rnu")  # adding an integer before the rounding is the same as after it
_SHIFTED_EVEN: Final = ("rne", "rto")  # adding an even integer is
_SAYS: Final[dict[str, dict[str, str]]] = {
    "order": {
        "inside": "adds the zero point before it rounds",
        "outside": "adds the zero point after it rounds",
    },
    "arithmetic": {
        "exact": "divides by the scale without an error",
        "fp32": "multiplies by the fp32 reciprocal of the scale, every step rounded to fp32",
        "fp32-fma": "multiplies by the fp32 reciprocal of the scale and adds the zero point in one fp32 step",
    },
    "rounding": ROUNDS,
    "nan": {
        "largest": "gives the largest integer for a NaN",
        "smallest": "gives the smallest integer for a NaN",
        "zero": "gives zero for a NaN",
        "zero-point": "gives the zero point for a NaN",
    },
    "inf": {"saturate": "saturates infinities"},
}


@dataclass(frozen=True)
class RuleSpace:
    """The rules of an affine quantization. unit: its formats, and the expected rule. source: the random
    source, if known."""

    unit: AffineQuantizeUnit
    kind: str = "rule"
    reference: Rule | None = None  # the point that names and sizes are relative to, if not the base
    source: str = ""

    @cached_property
    def base(self) -> Rule:
        """The rule, with the requested rounding."""
        return self.unit.rule.replace(rounding=rounding_name(self.unit.policy.rounding))

    @property
    def expected(self) -> Rule:
        """The point that names and sizes are relative to."""
        return self.reference or self.base

    def named(self) -> Iterator[Rule]:
        sr = self.unit.policy.random_count > 0
        for rule in RULES.values():
            yield rule.replace(rounding=self.base.rounding) if sr else rule

    def changes(self, point: Rule) -> Iterator[Rule]:
        for field in _FIELDS:
            for choice in CHOICES[field]:
                random = field == "rounding" and choice.startswith("sr") and not self.unit.policy.random_count
                if choice in (getattr(point, field), _ERROR) or random:
                    continue
                try:
                    yield point.replace(**{field: choice})
                except Error:  # the two choices exclude each other
                    continue

    def model(self, point: Rule) -> Model | None:
        try:
            return expected_model(self.made(point))
        except Error:
            return None

    def made(self, point: Rule) -> AffineQuantizeUnit:
        """The unit under another rule. Raises Error if it does not suit the format of the values."""
        policy = self.unit.policy.replace(rounding=point.rounding)
        if not policy.rounding.stochastic:
            policy = policy.replace(sr_bits=None)
        return dataclasses.replace(self.unit, rule=point, policy=policy)

    def key(self, point: Rule) -> Hashable:
        """Its choices, without those that the formats or other choices make irrelevant."""
        fmt, values = self.unit.affine, self.unit.values
        middle = (fmt.middle,) if fmt.symmetric else (fmt.lowest, fmt.lowest + 1, fmt.highest)
        nan: Hashable = _ERROR if point.nan == _ERROR else tuple(nan_result(fmt, point, z) for z in middle)
        always_zero, always_even = middle == (0,), middle[0] % 2 == 0 and fmt.symmetric
        shifted = point.rounding in _SHIFTED or (always_even and point.rounding in _SHIFTED_EVEN)
        same = always_zero or (point.arithmetic == "exact" and shifted)
        arithmetic = "fp32" if always_zero and point.arithmetic == "fp32-fma" else point.arithmetic
        return (
            "" if same else point.order,
            arithmetic,
            point.rounding,
            nan if values.has_nan else "",
            point.inf if values.infinity else "",
        )

    def text(self, point: Rule) -> str:
        own = _differing(point, self.expected)
        others = [(name, _differing(point, named)) for name, named in RULES.items()]
        name, differing = min(others, key=lambda x: len(x[1]))
        if own and len(own) <= len(differing):
            return ", ".join(f"{k} = {getattr(point, k)}" for k in own)
        return ", ".join((f"rule {name}", *(f"{k} = {getattr(point, k)}" for k in differing)))

    def says(self, point: Rule) -> str:
        own = _differing(point, self.expected)
        if not own:
            return "behaves as expected"
        if self.text(point).startswith("rule"):
            return "follows " + self.text(point)
        return " and ".join(_SAYS[k].get(getattr(point, k), f"has {k} = {getattr(point, k)}") for k in own)

    def size(self, point: Rule) -> int:
        nearest = min(len(_differing(point, named)) for named in RULES.values())
        return min(2 * len(_differing(point, self.expected)), 2 * nearest + 3)

    def defects(self, point: Rule) -> Iterator[Hypothesis]:
        try:
            made = self.made(point)
        except Error:
            return iter(())
        return quantize_defects(made, self.source)

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        return answer_defects(self.unit, under)


def _differing(point: Rule, other: Rule) -> list[str]:
    return [k for k in _FIELDS if getattr(point, k) != getattr(other, k)]
