"""Units that quantize a block of values: to a scale and element codes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32, BlockFormat
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.oracle.blocks.quantize import element_policy, quantized, resolve
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import POLICIES, Policy, rounding_name
from softfloat_ref.oracle.rounding_steps import read
from softfloat_ref.oracle.steps import Do
from softfloat_ref.units.operation import given_policy, properties
from softfloat_ref.units.unit import Field, SteppedUnit, file_name, operand, random_words, result

if TYPE_CHECKING:
    from softfloat_ref.units.unit import Rows

ONE: Final = exact.finite(0, 1, 0)
_WIDTHS: Final = {5: 16, 8: 32, 11: 64}  # of numpy's floats, by their exponent bits
_ARRAYS: Final = tuple(CATALOGUE[name] for name in ("fp16", "bf16", "tf32", "fp32", "fp64"))  # values that these hold


@dataclass(frozen=True)
class QuantizeUnit(SteppedUnit):
    """A block quantizer: values, the second-level scale of profiles that have one, random words in; scale and elements
    out. It raises no flags."""

    kind: ClassVar[str] = "quantize"
    op: ClassVar[str] = "quantize"

    block: BlockFormat
    values: Format = FP32
    profile: Profile = PROFILES["ocp"]
    policy: Policy = POLICIES["ieee"]

    def __post_init__(self) -> None:
        check_size(self.block)
        if not self.values.exponent_bits or not self.values.signed or not self.values.has_normals:
            raise Error(
                f"quantize takes blocks of values of a signed float format, for example fp32, not {self.values.name}"
            )
        self.values.needs_hidden("block quantizers")

    @staticmethod
    def make(
        block: BlockFormat,
        values: str | Format | None = None,
        policy: Policy | str | Mapping[str, Any] | None = None,
        profile: str | Profile | None = None,
    ) -> QuantizeUnit:
        """A quantizer from names. policy: the default of its rounding is that of the profile. Raises Error."""
        block, choice = resolved(block, profile)
        chosen = element_policy(given_policy(policy, choice.rounding), choice)
        return QuantizeUnit(block, get_format(values or "fp32"), choice, chosen)

    @property
    def two_levels(self) -> bool:
        """Whether each block has a tensor scale."""
        return self.profile.two_levels

    @cached_property
    def name(self) -> str:
        names = ("quantize", self.block.name, "from", self.values.name, rounding_name(self.policy.rounding))
        return file_name(*names)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        block = self.block
        return (
            operand("values", self.values, block.size),
            *([operand("tensor_scale", FP32)] if self.two_levels else []),
            *random_words(self.policy.random_count, block.size),
            result("scale", block.scale),
            result("elements", block.element, block.size),
        )

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        size, decode = self.block.size, decoder(self.values, self.policy.flush_inputs)
        factor = decoder(FP32)(inputs[size]) if self.two_levels else ONE
        words = inputs[size + self.two_levels :] or (0,) * size
        values = [do.at("values", k)(read, x, decode, self.values) for k, x in enumerate(inputs[:size])]
        block = quantized(do, values, *self._rules, words, factor, more_bits)
        return block.scale, *block.codes

    @cached_property
    def _rules(self) -> tuple[BlockFormat, Profile, Policy]:
        """Format, profile and policy as `quantized` takes them."""
        fmt, profile = resolve(self.block, self.profile)
        return fmt, profile, element_policy(self.policy, profile)

    @property
    def in_arrays(self) -> bool:
        """Whether arrays hold the values, and each block has one scale."""
        return self.values in _ARRAYS and not self.two_levels and self.policy.random_count <= 63

    def answers(self, inputs: Rows) -> Rows | None:
        if not self.in_arrays:
            return None
        import numpy as np

        from softfloat_ref.arrays import blocks

        size, width = self.block.size, _WIDTHS[self.values.exponent_bits]
        bits = inputs[:, :size] << np.uint64(width - self.values.width)  # bf16 and tf32 are the upper bits of fp32
        words = inputs[:, size:] if self.policy.random_count else None
        x = bits.astype(f"u{width // 8}").view(f"f{width // 8}")
        try:
            array = blocks.encode(
                x, self.block.in_one_row, axis=1, profile=self.profile, policy=self.policy, random_bits=words
            )
        except Error:  # of one block; which, the oracle says
            return None
        return np.hstack([array.scales.astype(np.uint64), array.codes.astype(np.uint64)])

    def properties(self) -> dict[str, str]:
        return properties(self.op, self.values, self.block, self.policy, self.block.element.width)


def resolved(block: BlockFormat, profile: str | Profile | None) -> tuple[BlockFormat, Profile]:
    """The format and the profile; the format's own profile is left out of it, since the unit's says it all."""
    fmt, choice = resolve(block, profile)
    return dataclasses.replace(fmt, profile="ocp"), choice


def check_size(block: BlockFormat) -> None:
    """Raise Error for a format whose blocks have no fixed size."""
    if block.size < 1:
        raise Error(f"vectors hold one block per line; {block.name} has one scale for a whole {block.size_name}")
