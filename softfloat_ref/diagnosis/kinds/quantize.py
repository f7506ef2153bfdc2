"""Block quantizations: profiles, and the defects of scale, lanes and elements."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from softfloat_ref.diagnosis.block_defects import block_defects, suggested_by
from softfloat_ref.diagnosis.candidates import Question
from softfloat_ref.diagnosis.defects import Faulty
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis, Model
from softfloat_ref.diagnosis.kinds.base import SCALES, register
from softfloat_ref.diagnosis.kinds.block import RANDOM_BLOCKS, DiagnosedBlock
from softfloat_ref.diagnosis.spaces import ChoiceSpace, Space
from softfloat_ref.golden.kinds.quantize import value_blocks
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.profile import CHOICES, Profile
from softfloat_ref.oracle.blocks.profiles import PROFILES
from softfloat_ref.oracle.blocks.quantize import is_for, resolve
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.codec import encoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Overflow, Policy
from softfloat_ref.units import QuantizeUnit

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

    @cached_property
    def fitting(self) -> Mapping[str, Profile]:
        """The profiles of the catalogue that are for this format."""
        return {name: x for name, x in self.catalogue.items() if is_for(x, self.block)}

    def named(self) -> Iterator[Profile]:
        """Those that agree with the expected one on second-level scales."""
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
            fields["scale_low"] = "smallest" if fields["scale_low"] == "eighth" else fields["scale_low"]
        if not block.scale.has_normals or block.scale.min_normal_code == block.scale.min_code:
            fields["scale_low"] = "smallest" if fields["scale_low"] == "smallest-normal" else fields["scale_low"]
        if not block.element.negative_zero:
            fields["negative_zero"] = ""
        if block.element.has_nan and fields["special_codes"] == "encoded":
            fields["special_codes"] = "nan"
        if self.unit.policy.random_count == 0 and fields["arithmetic"] == "fp32-reciprocal":
            fields["scale_rule"] = ""
        if not self.unit.two_levels and fields["arithmetic"] == "fp32-inverse":  # divided by a tensor scale of 1
            fields["arithmetic"] = "fp32-division"
        return tuple(fields.values())

    def description(self, point: Profile) -> str:
        if self.differing(point, self.expected) == {"flush": "never"}:
            return "does not flush small values to zero"
        return super().description(point)

    def sentence(self, own: Mapping[str, str]) -> str:
        return "quantizes with " + ", ".join(f"{k} = {v}" for k, v in own.items())

    def suggested_of(self, unit: QuantizeUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        return suggested_by(unit, cases)

    def defects_of(self, unit: QuantizeUnit) -> Iterator[Hypothesis]:
        return block_defects(unit)


@register(QuantizeUnit)
class DiagnosedQuantize(DiagnosedBlock):
    """A block quantizer."""

    scales: ClassVar[int] = 1
    choices: ClassVar[type[Space[Any]]] = ProfileSpace
    unit: QuantizeUnit

    def questions(self, vectors: VectorSet) -> list[Question]:
        """Probes of every choice of a profile, then random blocks."""
        unit, size = self.unit, self.unit.block.size
        rows = [(*row[:size], *(0,) * (size - len(row))) for row in _probes(unit)]
        random = value_blocks(unit.block, unit.values, 0, RANDOM_BLOCKS)
        tail = SCALES[:1] if unit.two_levels else ()
        words = unit.policy.random_count
        noise = tuple((0x9E37 * (i + 1)) % (1 << words) for i in range(size)) if words else ()
        plain = ((*row, *tail, *noise) for row in (*rows, *random))
        if not tail:
            return list(dict.fromkeys(plain))
        turned = [(*row, SCALES[i % len(SCALES)], *noise) for i, row in enumerate(rows)]
        return list(dict.fromkeys((*plain, *turned)))

    def confirming(self, vectors: VectorSet, count: int, seed: int) -> list[Question]:
        blocks = value_blocks(self.unit.block, self.unit.values, seed + 1, count)
        return [(*values, *self._tail(turn)) for turn, values in enumerate(blocks)]

    def _tail(self, turn: int) -> Question:
        """A second-level scale and random words, if the unit takes them."""
        n, size = self.unit.policy.random_count, self.unit.block.size
        words = tuple((0x9E3779B9 * (turn * size + i + 1) >> 7) % (1 << n) for i in range(size)) if n else ()
        return (*((SCALES[turn % len(SCALES)],) if self.unit.two_levels else ()), *words)


def _probes(unit: QuantizeUnit) -> Iterator[tuple[int, ...]]:
    """Blocks of codes in the format of the values, given by their nonzero codes."""
    block, fmt = unit.block, unit.values
    encode = encoder(fmt, Policy(overflow=Overflow.SAT_FINITE))
    element = block.element
    top = largest(element)

    def code(significand: int, exponent: int, sign: int = 0) -> int:
        return encode(exact.finite(sign, significand, exponent), 0)[0]

    sign = fmt.sign_bit
    nan, inf = fmt.canonical_nan, fmt.inf_code if fmt.infinity else fmt.max_code
    one, small = code(1, 0), code(1, fmt.emin - fmt.mantissa_bits)
    # amax about the largest element, and about powers of two
    for shift in (0, 5, -9):
        for s in range(top.significand * 16 - 16, top.significand * 16 + 48):
            yield code(s, top.exponent - 4 + shift), code(3, shift), code(5, shift, 1)
    for s in (32, 33, 35, 40, 44, 45, 46, 47, 48, 56, 60, 61, 62, 63):
        yield code(s, -2), code(5, -9), code(7, -12, 1)
    # elements at midpoints, in both directions
    step = top.exponent - 3
    for s in range(1, 48):
        yield (
            fmt.max_code and code(top.significand, top.exponent),
            code(s, step),
            code(s, step, 1),
            code(2 * s + 1, step - 1),
            code(2 * s + 1, step - 1, 1),
        )
    low = element.emin - element.mantissa_bits
    for s in range(24):
        yield (
            code(top.significand, top.exponent),
            code(s, low - 2),
            code(s, low - 2, 1),
            code(8 * s + 1, low - 5),
            code(8 * s - 1 if s else 1, low - 5),
        )
    # specials
    for special in (nan, inf, sign | inf, nan | sign):
        yield special, one, code(3, 1)
        yield one, code(3, 1), special
        yield (special,)
        yield special, special
        yield (special,) * block.size
        yield code(top.significand, top.exponent + 3), special, small
    yield inf, nan, one
    yield (*(inf,) * (block.size - 1), nan)
    # zeros, subnormals, the ends of the range
    yield ()
    yield (sign,)
    yield (sign, 0, sign)
    yield (sign, small, sign | small)
    yield (*(sign,) * block.size,)
    for e in (fmt.emin - 1, fmt.emin, fmt.emin + 1, fmt.emin + 2, fmt.emin + 8, fmt.emin + 9, fmt.emin + 20):
        for s in (1, 3, 7, 5):
            yield code(s, e), code(1, fmt.emin - 1), code(3, fmt.emin - 2, 1), sign, 0
            yield code(s, e), code(1, e - 1), code(1, e - 2, 1), code(3, e - 5), sign
    for down in (0, 1, 2, 1 << max(fmt.mantissa_bits - 3, 0), 1 << fmt.mantissa_bits, 9 << fmt.mantissa_bits):
        yield fmt.max_code - down, sign | fmt.max_code - down, one, sign
    for e in range(-14, 14):
        yield code(1, e), sign, code(1, e - 40, 1), 0, code(63, e - 6, 1)
        yield code(127, e), code(129, e - 9, 1), code(1, e - 20, 1), sign
    yield from _scale_range(block.scale, element, code)


def _scale_range(scale: Format, element: Format, code: Callable[..., int]) -> Iterator[tuple[int, ...]]:
    """Scales at the ends of their format."""
    for end in (scale.emin - scale.mantissa_bits, scale.emin, scale.emax):
        for off in range(-4, 4):
            for s in (16, 17, 24, 25, 31):
                yield code(s, end + element.emax + off - 4), code(3, end + off), code(1, end - 20, 1)
