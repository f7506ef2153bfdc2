"""Block profiles as a space, and the two possible devices of a dequantization."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

from softfloat_ref.diagnosis.block_defects import block_defects, suggested_by, value_defects, values_suggested_by
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Model
from softfloat_ref.diagnosis.spaces import ChoiceSpace, Space
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.profiles import CHOICES, PROFILES, Profile
from softfloat_ref.oracle.blocks.quantize import dequantize_to_fp32, resolve
from softfloat_ref.units import DequantizeUnit, QuantizeUnit

# Fields that a single block does not reveal, or that the device does not choose.
_UNSEEN_FIELDS: Final = ("tail", "dequantize_overflow", "tensor_scale")


@dataclass(frozen=True)
class ProfileSpace(ChoiceSpace[Profile]):
    """The profiles of a quantization."""

    kind: ClassVar[str] = "profile"
    catalogue: ClassVar[Mapping[str, Profile]] = PROFILES
    fields: ClassVar[Sequence[str]] = (*(k for k in CHOICES if k not in _UNSEEN_FIELDS), "flush_below")
    choices: ClassVar[Mapping[str, Sequence[str]]] = CHOICES

    @cached_property
    def block(self) -> BlockFormat:
        """The block format with the full range of its elements."""
        block: BlockFormat = self.unit.block
        return dataclasses.replace(block, element=dataclasses.replace(block.element, symmetric=False))

    def named(self) -> Iterator[Profile]:
        """The profiles of the catalogue that agree with the expected one on second-level scales."""
        return (x for x in super().named() if x.tensor_scale == self.base.tensor_scale)

    def changes(self, point: Profile) -> Iterator[Profile]:
        yield from super().changes(point)
        if point.flush != "never":
            yield point.replace(flush_below=point.flush_below + 1)

    def unit_of(self, point: Profile) -> QuantizeUnit:
        block, profile = resolve(self.block, point)
        unit: QuantizeUnit = super().unit_of(profile)
        return dataclasses.replace(unit, block=block, policy=unit.policy.replace(overflow=profile.overflow))

    def model_of(self, unit: QuantizeUnit) -> Model:
        return Faulty(unit)

    def key(self, point: Profile) -> Hashable:
        """Its fields, without those that this format or other fields make irrelevant."""
        fields = {k: getattr(point, k) for k in self.fields}
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

    def description(self, point: Profile) -> str:
        if self.differing(point, self.expected) == {"flush": "never"}:
            return "does not flush small values to zero"
        return super().description(point)

    def sentence(self, own: Mapping[str, str]) -> str:
        return "quantizes with " + ", ".join(f"{k} = {v}" for k, v in own.items())

    def suggested(self, point: Profile, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        return suggested_by(self.unit_of(point), cases)

    def defects_of(self, unit: QuantizeUnit) -> Iterator[Hypothesis]:
        return block_defects(unit)


@dataclass(frozen=True)
class DequantizeSpace(Space[Profile]):
    """The profiles of a dequantization, which differ in one choice: the result for values beyond FP32."""

    kind: ClassVar[str] = "profile"

    def named(self) -> Iterator[Profile]:
        yield from self.changes(PROFILES["ocp"])
        yield PROFILES["ocp"]

    def changes(self, point: Profile) -> Iterator[Profile]:
        for choice in CHOICES["dequantize_overflow"]:
            if choice != point.dequantize_overflow:
                yield point.replace(dequantize_overflow=choice)

    def unit_of(self, point: Profile) -> DequantizeUnit:
        profile = self.base.replace(dequantize_overflow=point.dequantize_overflow)
        return dataclasses.replace(self.unit, profile=profile)  # type: ignore[no-any-return]

    def key(self, point: Profile) -> Hashable:
        return self._overflows and point.dequantize_overflow

    @cached_property
    def _overflows(self) -> bool:
        """Whether the largest scale gives a value beyond FP32 with some element; a tensor scale always may."""
        block: BlockFormat = self.unit.block
        codes = block.scale.max_code, range(1 << block.element.width)
        values = dequantize_to_fp32(*codes, block, self.base.replace(dequantize_overflow="inf"))
        return self.unit.two_levels or FP32.inf_code in values or FP32.inf_code | FP32.sign_bit in values

    def text(self, point: Profile) -> str:
        return f"dequantize_overflow = {point.dequantize_overflow}"

    def description(self, point: Profile) -> str:
        return {
            "inf": "gives infinity for values beyond FP32",
            "saturate": "gives the largest FP32 for values beyond it",
        }[point.dequantize_overflow]

    def size(self, point: Profile) -> int:
        return 2 if self.key(point) != self.key(self.base) else 0

    def defects_of(self, unit: DequantizeUnit) -> Iterator[Hypothesis]:
        return value_defects(unit)

    def suggested(self, point: Profile, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        return values_suggested_by(self.unit_of(point), cases)
