"""Block profiles as a space, and the two possible devices of a dequantization."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.block_defects import block_defects, value_defects
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Model, expected_model
from softfloat_ref.oracle.blocks.formats import BlockFormat, resolve
from softfloat_ref.oracle.blocks.profiles import CHOICES, PROFILES, Profile
from softfloat_ref.oracle.policies import rounding_name
from softfloat_ref.units import DequantizeUnit, QuantizeUnit

# Fields that a single block does not reveal, or that the device does not choose.
_UNSEEN: Final = ("tail", "dequantize_overflow", "tensor_scale")
_FIELDS: Final = (*(k for k in CHOICES if k not in _UNSEEN), "flush_below")
_ERRORS: Final = "error"  # a device always gives an answer


@dataclass(frozen=True)
class ProfileSpace:
    """The profiles of a quantization. unit: the block format, and the expected profile."""

    unit: QuantizeUnit
    kind: str = "profile"
    reference: Profile | None = None  # the point that names and sizes are relative to, if not the base

    @property
    def expected(self) -> Profile:
        """The point that names and sizes are relative to."""
        return self.reference or self.base

    @cached_property
    def base(self) -> Profile:
        """The profile, with the requested rounding."""
        return self.unit.profile.replace(rounding=rounding_name(self.unit.policy.rounding))

    @cached_property
    def block(self) -> BlockFormat:
        """The block format with the full range of its elements."""
        block = self.unit.block
        return dataclasses.replace(block, element=dataclasses.replace(block.element, symmetric=False))

    def named(self) -> Iterator[Profile]:
        """The profiles of the catalogue that agree with the expected one on second-level scales."""
        for profile in PROFILES.values():
            if profile.tensor_scale == self.base.tensor_scale:
                sr = self.unit.policy.random_count > 0
                yield profile.replace(rounding=self.base.rounding) if sr else profile

    def changes(self, point: Profile) -> Iterator[Profile]:
        n = self.unit.policy.random_count
        for field in CHOICES:
            for choice in CHOICES[field]:
                stochastic = field == "rounding" and choice.startswith("sr")
                if field in _UNSEEN or choice == getattr(point, field) or choice == _ERRORS or (stochastic and not n):
                    continue
                yield point.replace(**{field: choice})
        if point.flush != "never":
            yield point.replace(flush_below=point.flush_below + 1)

    def model(self, point: Profile) -> Model | None:
        try:
            made = self.made(point)
        except Error:
            return None
        right, arity = expected_model(made), made.operand_width
        return right if made.policy.random_count else lambda inputs: right(inputs[:arity])

    def made(self, point: Profile) -> QuantizeUnit:
        """The unit under another profile. Raises Error if it does not suit the format."""
        block, profile = resolve(self.block, point)
        policy = self.unit.policy.replace(rounding=profile.rounding, overflow=profile.overflow)
        if not policy.rounding.stochastic:
            policy = policy.replace(sr_bits=None)
        return dataclasses.replace(self.unit, block=block, profile=profile, policy=policy)

    def key(self, point: Profile) -> Hashable:
        """Its fields, without those that this format or other fields make irrelevant."""
        fields = {k: getattr(point, k) for k in _FIELDS}
        block = self.block
        if not block.element.twos_complement:
            fields["integers"] = ""
        if point.flush == "never":
            fields["flush_below"] = 0
        if point.nan != "block" and point.inf != "block" and point.scale_high != "nan":
            fields["special_codes"] = ""
        if not {"element"} & {point.nan, point.inf}:
            fields["no_finite"] = ""
        if not block.scale.zero:
            low = {"scale_low": point.scale_low, "zero_block": point.zero_block}
            fields |= {k: "smallest" if v == "zero" else v for k, v in low.items()}
        if not block.scale.has_normals or block.scale.min_normal_code == block.scale.min_code:
            fields["scale_low"] = "smallest" if fields["scale_low"] == "smallest-normal" else fields["scale_low"]
        if not block.element.negative_zero:
            fields["negative_zero"] = ""
        if self.unit.policy.random_count == 0 and fields["arithmetic"] == "fp32-reciprocal":
            fields["scale_rule"] = ""
        return tuple(fields.values())

    def text(self, point: Profile) -> str:
        own = _differing(point, self.expected)
        others = [(name, _differing(point, named)) for name, named in PROFILES.items()]
        name, differing = min(others, key=lambda x: len(x[1]))
        if own and len(own) <= len(differing):
            return ", ".join(f"{k} = {getattr(point, k)}" for k in own)
        return ", ".join((f"profile {name}", *(f"{k} = {getattr(point, k)}" for k in differing)))

    def says(self, point: Profile) -> str:
        own = _differing(point, self.expected)
        text = self.text(point)
        if not own:
            return "behaves as expected"
        return f"follows {text}" if text.startswith("profile") else f"quantizes with {text}"

    def size(self, point: Profile) -> int:
        nearest = min(len(_differing(point, named)) for named in PROFILES.values())
        return min(2 * len(_differing(point, self.expected)), 2 * nearest + 3)

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        return iter(())

    def defects(self, point: Profile) -> Iterator[Hypothesis]:
        try:
            made = self.made(point)
        except Error:
            return iter(())
        return block_defects(made)


def _differing(point: Profile, other: Profile) -> list[str]:
    return [k for k in _FIELDS if getattr(point, k) != getattr(other, k)]


@dataclass(frozen=True)
class DequantizeSpace:
    """The profiles of a dequantization, which differ in one choice: the result for values beyond FP32."""

    unit: DequantizeUnit
    kind: str = "profile"

    @property
    def base(self) -> Profile:
        return self.unit.profile

    def named(self) -> Iterator[Profile]:
        yield from self.changes(PROFILES["ocp"])
        yield PROFILES["ocp"]

    def changes(self, point: Profile) -> Iterator[Profile]:
        for choice in CHOICES["dequantize_overflow"]:
            if choice != point.dequantize_overflow:
                yield point.replace(dequantize_overflow=choice)

    def model(self, point: Profile) -> Model | None:
        profile = self.base.replace(dequantize_overflow=point.dequantize_overflow)
        return expected_model(dataclasses.replace(self.unit, profile=profile))

    def key(self, point: Profile) -> Hashable:
        return point.dequantize_overflow

    def text(self, point: Profile) -> str:
        return f"dequantize_overflow = {point.dequantize_overflow}"

    def says(self, point: Profile) -> str:
        return {
            "inf": "gives infinity for values beyond FP32",
            "saturate": "gives the largest FP32 for values beyond it",
        }[point.dequantize_overflow]

    def size(self, point: Profile) -> int:
        return int(point.dequantize_overflow != self.base.dequantize_overflow)

    def answer_defects(self, under: Model) -> Iterator[Hypothesis]:
        return iter(())

    def defects(self, point: Profile) -> Iterator[Hypothesis]:
        return value_defects(self.unit)
