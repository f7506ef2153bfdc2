"""Block profiles as a space, and the two devices that a dequantization may be."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from softfloat_ref.block_formats import BlockFormat, resolve
from softfloat_ref.diagnosis.block_defects import block_defects, value_defects
from softfloat_ref.diagnosis.hypotheses import Hypothesis, Inputs, Model, Output
from softfloat_ref.errors import Error, Undefined
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.policies import rounding_name
from softfloat_ref.profiles import CHOICES, PROFILES, Profile

# What a single block does not show, or what is not the device's to choose.
_UNSEEN: Final = ("tail", "dequantize_overflow", "tensor_scale")
_FIELDS: Final = (*(k for k in CHOICES if k not in _UNSEEN), "flush_below")
_ERRORS: Final = "error"  # a device must answer something


@dataclass(frozen=True)
class ProfileSpace:
    """The profiles of a quantization. vectors: the block format, and the profile that is expected."""

    vectors: VectorSet
    kind: str = "profile"
    reference: Profile | None = None  # what names and sizes are relative to, where not the base

    @property
    def expected(self) -> Profile:
        """What names and sizes are relative to."""
        return self.reference or self.base

    @cached_property
    def base(self) -> Profile:
        """The profile, with the rounding that was asked for."""
        return self.vectors.profile.replace(rounding=rounding_name(self.vectors.policy.rounding))

    @cached_property
    def block(self) -> BlockFormat:
        """The block format with the full range of its elements."""
        block = self.vectors.block
        assert block is not None
        return dataclasses.replace(block, element=dataclasses.replace(block.element, symmetric=False))

    def named(self) -> Iterator[Profile]:
        """Those of the catalogue that have second-level scales just where the expected one does."""
        for profile in PROFILES.values():
            if profile.tensor_scale == self.base.tensor_scale:
                sr = self.vectors.policy.random_count > 0
                yield profile.replace(rounding=self.base.rounding) if sr else profile

    def changes(self, point: Profile) -> Iterator[Profile]:
        n = self.vectors.policy.random_count
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
        width = self.block.size
        skip = sum(f.lanes for f in made.fields if f.role in ("operand", "random"))
        takes, arity = made.policy.random_count > 0, width + (made.profile.tensor_scale != "none")

        def model(inputs: Inputs) -> Output | None:
            try:
                line = made.line(tuple(inputs) if takes else tuple(inputs[:arity]))
            except Undefined:
                return None
            return None if line is None else line[skip:]

        return model

    def made(self, point: Profile) -> VectorSet:
        """The set under another profile. Raises Error where it does not go with the format."""
        block, profile = resolve(self.block, point)
        policy = self.vectors.policy.replace(rounding=profile.rounding, overflow=profile.overflow)
        if not policy.rounding.stochastic:
            policy = policy.replace(sr_bits=None)
        source = self.vectors.source if policy.random_count else ""
        return dataclasses.replace(
            self.vectors, block=block, profile=profile, policy=policy, out=block.element, source=source, level=""
        )

    def key(self, point: Profile) -> Hashable:
        """Its fields, without those that this format or the others make irrelevant."""
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
        if self.vectors.policy.random_count == 0 and fields["arithmetic"] == "fp32-reciprocal":
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
            return "does what is expected"
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
    """The profiles of a dequantization differ in one choice: what becomes of values beyond FP32."""

    vectors: VectorSet
    kind: str = "profile"

    @property
    def base(self) -> Profile:
        return self.vectors.profile

    def named(self) -> Iterator[Profile]:
        yield from self.changes(PROFILES["ocp"])
        yield PROFILES["ocp"]

    def changes(self, point: Profile) -> Iterator[Profile]:
        for choice in CHOICES["dequantize_overflow"]:
            if choice != point.dequantize_overflow:
                yield point.replace(dequantize_overflow=choice)

    def model(self, point: Profile) -> Model | None:
        made = dataclasses.replace(
            self.vectors, profile=self.base.replace(dequantize_overflow=point.dequantize_overflow)
        )
        width = sum(f.lanes for f in made.fields if f.role == "operand")

        def model(inputs: Inputs) -> Output | None:
            line = made.line(tuple(inputs))
            return None if line is None else line[width:]

        return model

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
        return value_defects(self.vectors)
