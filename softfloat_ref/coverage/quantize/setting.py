"""Quantization of blocks, and the exact facts of one block, which decide the bins; nothing is rounded here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from softfloat_ref.base.search import changes, first_that
from softfloat_ref.coverage.codes import TailPlace, nearest, place_of
from softfloat_ref.coverage.engine.framework import BaseSetting, Line, Model, bits
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.formats import FP32
from softfloat_ref.oracle.blocks.quantize import element_policy, resolve
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.blocks.scales import flush, largest_magnitude, scale_of
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE
from softfloat_ref.oracle.codec import decoder, target
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.rounding import Target
from softfloat_ref.units import QuantizeUnit

_ENUMERATED_BITS: Final = 8  # of scales that are all looked at
_SAMPLED_SCALES: Final = 32  # scales in a row, of those of others
_TAIL_BITS: Final = 40  # bits below the guard bit that are looked at


class ScaleStretch(NamedTuple):
    """Magnitude codes of the value format, from first to last, whose block has one scale."""

    scale: int
    first: int
    last: int


class BlockSetting(BaseSetting):
    """A block quantizer, and what is derived from it once."""

    def __init__(self, unit: QuantizeUnit) -> None:
        super().__init__()
        self.unit, self.values, self.two_levels = unit, unit.values, unit.two_levels
        self.fmt, self.profile = resolve(unit.block, unit.profile)
        self.policy = element_policy(unit.policy, self.profile)
        self.decode = decoder(self.values, self.policy.flush_inputs)  # of a value of the block
        self.element, self.scale, self.size = self.fmt.element, self.fmt.scale, self.fmt.size
        self.sign_bit = self.values.sign_bit
        self.one = self.code(exact.finite(0, 1, 0))

    def events(self, line: Line) -> BlockEvents:
        return BlockEvents(self, line)

    def complete(self, case: Line, turn: int) -> Line:
        """Values with a tensor scale of one and random words, unless the model has chosen these itself."""
        n = self.policy.random_count
        line = self.line(case) if len(case) == self.size else case
        words = len(line) == self.size + self.two_levels and n > 0
        return (*line, *(bits(turn, i, n) for i in range(self.size))) if words else line

    def line(self, values: Line) -> Line:
        """The inputs of a line: a tensor scale of one follows the values where there are two levels."""
        return (*values, FP32_ONE) if self.two_levels else values

    def filled(self, first: Sequence[int], rest: int = 0) -> Line:
        """A block with these first codes; the rest is one code."""
        return (*first, *[rest] * self.size)[: self.size]

    def alone(self, lane: int, code: int, rest: int) -> Line:
        """A block of one code in a lane, and another everywhere else."""
        return (*[rest] * lane, code, *[rest] * (self.size - 1 - lane))

    def shrunk(self, magnitude: int) -> list[int]:
        """Codes below a magnitude's: with different significands and signs, decreasing."""
        m, sign = self.values.mantissa_bits, self.values.sign_bit
        steps = (magnitude - (i * 0x2545F491 % (1 << m)) - (i // 3 << m) for i in range(1, self.size))
        return [max(x, 0) | (sign if i % 3 == 1 else 0) for i, x in enumerate(steps)]

    def code(self, x: Value) -> int:
        """The nearest value's code; beyond the range, the largest finite one."""
        return nearest(self.values, x)

    def factor(self, scale: int) -> Value:
        """The value of a scale."""
        return decoder(self.scale)(scale)

    @cached_property
    def target(self) -> Target:
        """The target of the rounding to elements."""
        return target(self.element, self.policy)

    @cached_property
    def largest_element(self) -> Value:
        """The largest finite element."""
        return exact.finite(0, *self.element.magnitude(self.element.max_code))

    def scale_at(self, magnitude: int, rule: str = "") -> int:
        """The scale of a block whose largest magnitude has that code, by the profile's rule or by another."""
        profile = self.profile.replace(scale_rule=rule) if rule else self.profile
        return scale_of(self.decode(magnitude), self.fmt, profile)

    @cached_property
    def stretches(self) -> tuple[ScaleStretch, ...]:
        """The scale of each largest magnitude: every rule is monotone, so a bisection finds where it changes.

        Scales of more than eight bits are sampled: those of the smallest magnitudes, of magnitudes from about the
        largest element on, whose scale is about one, and of the largest magnitudes.
        """
        if self.has_all_stretches:
            return tuple(self._stretches(self.smallest, self.values.max_code, ""))
        by_first = dict[int, ScaleStretch]()
        for first in (self.smallest, self._begin(max(self.code(largest(self.element)), self.smallest))):
            by_first |= {s.first: s for s in islice(self._stretches(first, self.values.max_code, ""), _SAMPLED_SCALES)}
        last = self.values.max_code
        for _ in range(_SAMPLED_SCALES):
            if last < self.smallest:
                break
            first = self._begin(last)
            by_first[first] = ScaleStretch(self.scale_at(first), first, last)
            last = first - 1
        return tuple(by_first[first] for first in sorted(by_first))

    @property
    def has_all_stretches(self) -> bool:
        """Whether `stretches` is complete."""
        return min(self.scale.width, self.values.width) <= _ENUMERATED_BITS

    def _begin(self, code: int) -> int:
        """The smallest magnitude's code with the same scale."""
        scale = self.scale_at(code)
        return first_that(self.smallest, code, lambda m: self.scale_at(m) == scale, near=code)

    @cached_property
    def smallest(self) -> int:
        """The smallest magnitude's code that is not flushed to zero."""
        return first_that(1, self.values.max_code, lambda m: not flush([self.decode(m)], self.profile)[0].is_zero)

    @property
    def smallest_beside(self) -> int:
        """The smallest magnitude's code that is not flushed to zero if there is a large value in the block."""
        return 1 if self.profile.flush == "block" else self.smallest

    def _stretches(self, first: int, last: int, rule: str) -> Iterator[ScaleStretch]:
        begin, here = first, -1
        for following, scale in changes(lambda m: self.scale_at(m, rule), first, last) if first <= last else ():
            if here >= 0:
                yield ScaleStretch(here, begin, following - 1)
            begin, here = following, scale
        if here >= 0:
            yield ScaleStretch(here, begin, last)

    def thresholds(self, rule: str, binade: int) -> Iterator[int]:
        """The magnitude codes in a binade of values (its exponent field) at which a rule changes the scale."""
        first = max(binade << self.values.mantissa_bits, self.smallest + 1)
        last = min(((binade + 1) << self.values.mantissa_bits) - 1, self.values.max_code)
        return (s.first for s in islice(self._stretches(first - 1, last, rule), 1, None))

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules with relevant thresholds: those of the same kind of scale."""
        power = self.scale.mantissa_bits == 0
        return ("floor", "ceil", "rceil", "even", "nearest") if power else ("rne", "rceil", "amax")


class BlockEvents:
    """A block, and its facts, each computed when it is first read."""

    def __init__(self, where: BlockSetting, line: Line) -> None:
        size = where.size
        self.where, self.line = where, line
        self.codes = line[:size]
        self.tensor_scale = line[size] if where.two_levels else FP32_ONE
        self.factor = decoder(FP32)(self.tensor_scale) if where.two_levels else exact.finite(0, 1, 0)
        self.words = line[size + where.two_levels :]

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The values, before the profile flushes any."""
        return tuple(map(self.where.decode, self.codes))

    @cached_property
    def result(self) -> tuple[int, tuple[int, ...]]:
        """Scale and elements, from the unit. Raises Undefined."""
        scale, *codes = self.where.unit.answer(self.line)
        return scale, tuple(codes)

    @property
    def scale(self) -> int:
        return self.result[0]

    @cached_property
    def flushed(self) -> Sequence[Value]:
        """The values, after the profile's flushing."""
        return flush(self.values, self.where.profile)

    @cached_property
    def amax(self) -> Value | None:
        """The largest finite magnitude, after flushing; None if all are zero."""
        return largest_magnitude([x for x in self.flushed if x.kind == FINITE and x.significand])

    @cached_property
    def plain_amax(self) -> Value | None:
        """The largest magnitude of a block without specials under a tensor scale of one."""
        plain = all(x.kind == FINITE for x in self.values) and self.tensor_scale == FP32_ONE
        return self.amax if plain else None

    @cached_property
    def amax_code(self) -> int:
        """The magnitude code of the largest finite value; 0 if all are zero."""
        return 0 if self.amax is None else self.where.code(self.amax)

    def is_largest(self, x: Value) -> bool:
        """Whether a value's magnitude is the largest."""
        return self.amax is not None and bool(x.significand) and exact.compare(exact.magnitude(x), self.amax) == 0

    @cached_property
    def places(self) -> tuple[TailPlace | None, ...]:
        """The position of each value over its scale among the elements; None for zeros and specials, and if the scale
        cannot divide."""
        factor = self.where.factor(self.scale)
        if factor.kind != FINITE or not factor.significand:
            return (None,) * len(self.codes)
        divisor, t = exact.multiply(factor, self.factor), self.where.target
        return tuple(
            place_of(exact.divide(x, divisor, 2 * _TAIL_BITS), t, _TAIL_BITS)
            if x.kind == FINITE and x.significand
            else None
            for x in self.flushed
        )


BlockModel = Model[BlockSetting, BlockEvents]
