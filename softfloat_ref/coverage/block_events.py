"""The exact facts of one quantized block, on which bins are decided: integers only, nothing is rounded here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final, NamedTuple

from softfloat_ref import exact
from softfloat_ref.block_formats import (
    FP32,
    FP32_ONE,
    BlockFormat,
    element_policy,
    flush,
    largest_magnitude,
    quantize_block,
    resolve,
    scale_of,
)
from softfloat_ref.codec import decoder, target
from softfloat_ref.coverage.events import Place
from softfloat_ref.coverage.nearest import nearest
from softfloat_ref.exact import FINITE, INF, NAN, Value
from softfloat_ref.formats import Format
from softfloat_ref.policies import Policy
from softfloat_ref.profiles import Profile
from softfloat_ref.rounding import Target, position
from softfloat_ref.scales import SCALE_RULES, largest

Line = tuple[int, ...]
ONE: Final = FP32_ONE
_FEW_BITS: Final = 8  # of scales that are all looked at
_SOME: Final = 32  # scales in a row, of those of others
_TAIL: Final = 40  # bits below the guard bit that are looked at


class Stretch(NamedTuple):
    """Magnitude codes of the value format, from first to last, whose block has one scale."""

    scale: int
    first: int
    last: int


class BlockSetting:
    """Quantization of blocks of a value format, under a profile and an element policy. Made by `block_setting`."""

    def __init__(self, fmt: BlockFormat, values: Format, profile: Profile, policy: Policy) -> None:
        self.fmt, self.profile = resolve(fmt, profile)
        self.policy = element_policy(policy, self.profile)
        self.values = values
        self.decode = decoder(values, self.policy.flush_inputs)  # of a value of the block
        self.memo: dict[str, object] = {}  # what models lay out once

    @property
    def width(self) -> int:
        """How many numbers a line has: values, a tensor scale, random words."""
        return self.fmt.size * (1 + (self.policy.random_count > 0)) + self.two_levels

    @property
    def two_levels(self) -> bool:
        """Whether a line has a tensor scale."""
        return self.profile.tensor_scale != "none"

    def code(self, x: Value) -> int:
        """The nearest value's code; the largest finite one beyond."""
        return nearest(self.values, x)

    def scale_at(self, magnitude: int, rule: str = "") -> int:
        """The scale of a block whose largest magnitude has that code, by the profile's rule or by another."""
        profile = self.profile.replace(scale_rule=rule) if rule else self.profile
        return scale_of(self.decode(magnitude), self.fmt, profile)

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """The scale of each largest magnitude: every rule is monotone, so a bisection finds where it changes.

        Of scales of more than eight bits, a few: those of the smallest magnitudes, of the largest element, whose scale
        is about one, and a little more, and of the largest.
        """
        if self.has_all_stretches:
            return tuple(self._stretches(self.smallest, self.values.max_code, ""))
        found = dict[int, Stretch]()
        for first in (self.smallest, self._begin(max(self.code(largest(self.fmt.element)), self.smallest))):
            found |= {s.first: s for s in islice(self._stretches(first, self.values.max_code, ""), _SOME)}
        last = self.values.max_code
        for _ in range(_SOME):
            if last < self.smallest:
                break
            first = self._begin(last)
            found[first] = Stretch(self.scale_at(first), first, last)
            last = first - 1
        return tuple(found[first] for first in sorted(found))

    @property
    def has_all_stretches(self) -> bool:
        """Whether `stretches` are all there are."""
        return min(self.fmt.scale.width, self.values.width) <= _FEW_BITS

    def _begin(self, code: int) -> int:
        """The smallest magnitude's code with the same scale."""
        scale, low, step = self.scale_at(code), code, 1
        while low - step >= self.smallest and self.scale_at(low - step) == scale:  # doubling, then halving
            low, step = low - step, 2 * step
        high, low = low, max(low - step, self.smallest - 1)
        while high - low > 1:
            middle = (low + high) // 2
            high, low = (middle, low) if self.scale_at(middle) == scale else (high, middle)
        return high

    @cached_property
    def smallest(self) -> int:
        """The smallest magnitude's code that is not flushed to zero."""
        low, high = 0, self.values.max_code
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if flush([self.decode(middle)], self.profile)[0].is_zero else (low, middle)
        return high

    @property
    def smallest_beside(self) -> int:
        """The smallest magnitude's code that is not flushed to zero where there is a large value in the block."""
        return 1 if self.profile.flush == "block" else self.smallest

    def _stretches(self, first: int, last: int, rule: str) -> Iterator[Stretch]:
        low = first
        while low <= last:
            scale = self.scale_at(low, rule)
            near, far = low, last + 1
            step = 1
            while near + step < far and self.scale_at(near + step, rule) == scale:  # doubling, then halving
                near, step = near + step, 2 * step
            far = min(far, near + step)
            while far - near > 1:
                middle = (near + far) // 2
                near, far = (middle, far) if self.scale_at(middle, rule) == scale else (near, middle)
            yield Stretch(scale, low, near)
            low = near + 1

    def thresholds(self, rule: str, binade: int) -> Iterator[int]:
        """The magnitude codes in a binade of values (its exponent field) at which another scale begins by a rule."""
        first = max(binade << self.values.mantissa_bits, self.smallest + 1)
        last = min(((binade + 1) << self.values.mantissa_bits) - 1, self.values.max_code)
        return (s.first for s in islice(self._stretches(first - 1, last, rule), 1, None))

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """The rules whose thresholds matter here: of the same kind of scale."""
        power = self.fmt.scale.mantissa_bits == 0
        named = ("floor", "ceil", "rceil", "even", "nearest") if power else ("rne", "rceil", "amax")
        return tuple(rule for rule in named if rule in SCALE_RULES)

    @cached_property
    def lowest(self) -> int:
        """The scale's smallest code that the profile gives."""
        return self.stretches[0].scale


class BlockEvents:
    """A block, and its facts, each worked out when it is asked for."""

    def __init__(self, where: BlockSetting, line: Line) -> None:
        size = where.fmt.size
        self.where = where
        self.codes = line[:size]
        self.tensor_scale = line[size] if where.two_levels else ONE
        self.factor = decoder(FP32)(self.tensor_scale) if where.two_levels else exact.finite(0, 1, 0)
        self.words = line[size + where.two_levels :]

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The values, before the profile flushes any."""
        return tuple(map(self.where.decode, self.codes))

    @cached_property
    def result(self) -> tuple[int, tuple[int, ...]]:
        """Scale and elements, from the oracle. Raises Undefined."""
        where = self.where
        words = self.words or None
        found = quantize_block(self.values, where.fmt, where.profile, where.policy, words, self.factor)
        return found.scale, found.codes

    @property
    def scale(self) -> int:
        return self.result[0]

    @cached_property
    def amax(self) -> Value | None:
        """The largest finite magnitude, after flushing; None of zeros."""
        flushed = flush(self.values, self.where.profile)
        return largest_magnitude([x for x in flushed if x.kind == FINITE and x.significand])

    @cached_property
    def plain(self) -> bool:
        """Whether every value is finite, and the tensor scale one."""
        return all(x.kind == FINITE for x in self.values) and self.tensor_scale == ONE

    @cached_property
    def amax_code(self) -> int:
        """The magnitude code of the largest finite value; 0 of zeros."""
        return 0 if self.amax is None else self.where.code(self.amax)

    @cached_property
    def kinds(self) -> set[int]:
        """FINITE, INF, NAN: which there are."""
        return {x.kind for x in self.values}

    @cached_property
    def places(self) -> tuple[Place | None, ...]:
        """Where each value over its scale lies among the elements; None of zeros and specials, and where the scale is
        none to divide by."""
        factor = decoder(self.where.fmt.scale)(self.scale)
        if factor.kind != FINITE or not factor.significand:
            return (None,) * len(self.codes)
        divisor, t = exact.multiply(factor, self.factor), target(self.where.fmt.element, self.where.policy)
        return tuple(_place(x, divisor, t) for x in flush(self.values, self.where.profile))


def _place(x: Value, divisor: Value, t: Target) -> Place | None:
    if x.kind != FINITE or not x.significand:
        return None
    q = exact.divide(x, divisor, 2 * _TAIL)
    code, kept, discarded, rest = position(q.significand, q.exponent, q.significand.bit_length(), q.sticky, _TAIL, t)
    return Place(code, kept, discarded >> _TAIL, discarded & ((1 << _TAIL) - 1), _TAIL, rest)


@lru_cache(maxsize=64)
def block_setting(fmt: BlockFormat, values: Format, profile: Profile, policy: Policy) -> BlockSetting:
    """The setting of a quantization."""
    return BlockSetting(fmt, values, profile, policy)


def kind_name(x: Value) -> str:
    """zero, finite, inf or nan, signed."""
    if x.kind == NAN:
        return "nan"
    size = "inf" if x.kind == INF else "zero" if x.is_zero else "finite"
    return f"{'neg' if x.sign else 'pos'}.{size}"
