"""Sets of block quantizations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.quantize.element_carry import near_carry_case
from softfloat_ref.coverage.quantize.models import quantization
from softfloat_ref.golden.cases import few_specials, join_words, words_of_cases, words_per_code
from softfloat_ref.golden.kinds.base import Cases, register
from softfloat_ref.golden.kinds.operation import convention
from softfloat_ref.oracle.blocks.formats import BlockFormat
from softfloat_ref.oracle.blocks.profile import Profile
from softfloat_ref.oracle.blocks.scales import largest_magnitude
from softfloat_ref.oracle.blocks.tensor_scales import tensor_scale_of
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.units import Line, QuantizeUnit

_SPREAD_BINADES: Final = 24  # binades below a block's largest that random values reach


@register(QuantizeUnit)
class QuantizeCases(Cases):
    """The cases of a block quantizer."""

    wide: ClassVar[bool] = True
    near_carry: ClassVar[bool] = True
    unit: QuantizeUnit

    @property
    def coverage(self) -> Coverage | None:
        return quantization(self.unit)

    def operands(self, count: int) -> Iterator[Line]:
        unit = self.unit
        cases = value_blocks(unit.block, unit.values, self.vectors.seed, count)
        return map(self._with_tensor_scale, cases, itertools.count()) if unit.two_levels else cases

    def _with_tensor_scale(self, inputs: Line, turn: int) -> Line:
        values = [decoder(self.unit.values)(x) for x in inputs]
        amax = largest_magnitude([x for x in values if x.is_finite and not x.is_zero])
        return (*inputs, tensor_scale(amax, self.unit.block, self.unit.profile, turn))

    def near_carry_case(self, inputs: Line, words: Sequence[int], turn: int) -> Line:
        return near_carry_case(quantization(self.unit).where, inputs, words, turn)

    @property
    def answers_in_arrays(self) -> bool:
        return self.unit.in_arrays

    def conventions(self) -> list[dict[str, Any]]:
        unit = self.unit
        row = convention(unit.op, [unit.values.name], unit.block.element, unit.policy)
        return [{**row, "block": block_convention(unit.block, unit.profile)}]


def tensor_scale(amax: Value | None, block: BlockFormat, profile: Profile, turn: int) -> int:
    """The tensor scale of a tensor whose largest magnitude is up to seven binades above this block's; or 1."""
    amax = None if amax is None or turn % 8 == 7 else amax._replace(exponent=amax.exponent + turn % 8)
    return tensor_scale_of(amax, block, profile)


def block_convention(block: BlockFormat, profile: Profile) -> dict[str, Any]:
    """What a reader must know of a block."""
    return {
        "format": block.name,
        "size": block.size,
        "scale_rule": profile.to_dict()["scale_rule"],
        "element_order": "lane i is element i of the block",
    }


def value_blocks(fmt: BlockFormat, values: Format, seed: int, count: int) -> Iterator[tuple[int, ...]]:
    """`count` random blocks of codes of a value format.

    Each has a random largest exponent; the values lie up to 24 binades below it. Some blocks have special values.
    """
    stride = 1 + fmt.size * words_per_code(values)
    known = few_specials(values)
    fields = max((1 << values.exponent_bits) - 2, 1)
    for head, *words in words_of_cases(seed, stride, count):
        top = 1 + head % fields
        with_specials = head >> 60 == 0  # one block in sixteen
        yield tuple(
            _random_value(values, words[j :: fmt.size], top, known if with_specials else ()) for j in range(fmt.size)
        )


def _random_value(values: Format, words: list[int], top: int, known: tuple[int, ...]) -> int:
    control, bits = words[0], join_words(words[1:])
    if known and control & 15 == 0:
        return known[(control >> 4) % len(known)]
    field = max(top - (control >> 4) % _SPREAD_BINADES, 0)
    return bits & (values.sign_bit | (1 << values.mantissa_bits) - 1) | field << values.mantissa_bits
