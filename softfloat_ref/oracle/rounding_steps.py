"""Reading operands and rounding, in steps: as `round_pack` and the encoder around it do it, by the same functions.

`rounded` is the composite step: it calls the encoder. `rounded_in_steps` is its inner form, used where a step inside it
is recorded or replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from softfloat_ref.oracle.codec import Decoder, complete_code, encoder, target
from softfloat_ref.oracle.exact import FINITE, Value
from softfloat_ref.oracle.flags import INEXACT, UNDERFLOW
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import (
    FLUSH_BEFORE,
    FLUSH_ON,
    TININESS_BEFORE,
    Target,
    goes_beyond,
    is_tiny,
    position,
    round_pack,
    rounds_up,
    with_sign,
)
from softfloat_ref.oracle.steps import Do, step


@step("read", "value")
def read(code: int, decode: Decoder, fmt: Format) -> Value:
    """An operand's value."""
    return decode(code)


@step("answer", "codes")
def answer(codes: tuple[int, ...]) -> tuple[int, ...]:
    """The outputs of a unit, in their order."""
    return codes


class Destination(NamedTuple):
    """Where a number is rounded to. encode: rounds in one call. overflow = inf: every rounding overflows to Inf, also
    toward zero and to odd. zero = positive: there is no -0. variants: others made of this one, by keys."""

    fmt: Format
    policy: Policy
    target: Target
    encode: Callable[[Value, int], tuple[int, int]]
    overflow: str
    zero: str
    variants: dict[Any, Destination]

    def variant(self, key: Any, make: Callable[[], Destination]) -> Destination:
        """Another destination, made once."""
        known = self.variants.get(key)
        if known is None:
            known = self.variants[key] = make()
        return known

    def under(self, **fields: Any) -> Destination:
        """The same format under a policy with some fields replaced."""
        key = tuple(fields.items())
        return self.variant(key, lambda: destination(self.fmt, self.policy.replace(**fields), self.overflow, self.zero))

    def to(self, fmt: Format) -> Destination:
        """Another format, under the same policy."""
        return self.variant(fmt.name, lambda: destination(fmt, self.policy, self.overflow, self.zero))


@lru_cache(maxsize=2048)
def destination(fmt: Format, policy: Policy, overflow: str = "ieee", zero: str = "ieee") -> Destination:
    """The Destination of a format under a policy."""
    encode, t = encoder(fmt, policy), target(fmt, policy)
    if (overflow, zero) == ("ieee", "ieee"):
        return Destination(fmt, policy, t, encode, overflow, zero, {})
    if overflow == "inf" and fmt.infinity:
        least = policy.rounded_format(fmt)
        t = t._replace(largest_positive=least.inf_code, largest_negative=least.inf_code | least.sign_bit)
    positive = zero == "positive"

    def run(x: Value, random_bits: int) -> tuple[int, int]:
        if x.kind == FINITE and x.significand:
            length = x.significand.bit_length()
            code, flags = round_pack(x.sign, x.significand, x.exponent, length, x.sticky, random_bits, t)
            code = complete_code(code, fmt, t)
        else:
            code, flags = encode(x, random_bits)
        return (0, flags) if positive and code == fmt.sign_bit else (code, flags)

    return Destination(fmt, policy, t, run, overflow, zero, {})


class Place(NamedTuple):
    """A magnitude among those of a target: the code at or below it, the kept bits, the first n + 1 bits below these,
    and whether any bit below those is set."""

    code: int
    kept: int
    below: int
    rest: int
    n: int

    @property
    def guard(self) -> int:
        """The first bit below the kept ones."""
        return self.below >> self.n

    def any(self, first: int, last: int) -> int:
        """Whether any of the bits first .. last below the kept ones is set (1 is the guard bit)."""
        return int(self.below >> self.n + 1 - last & (1 << last - first + 1) - 1 != 0)

    @property
    def sticky(self) -> int:
        """Whether any bit below the guard bit is set."""
        return int(self.below & (1 << self.n) - 1 != 0 or self.rest != 0)


def place_of(x: Value, n: int, t: Target) -> Place:
    """The place of a finite number that is not zero, with n + 1 bits below the kept ones."""
    return Place(*position(x.significand, x.exponent, x.significand.bit_length(), x.sticky, n, t), n)


@step("place", "place")
def place(x: Value, t: Target) -> Place:
    """The kept bits and those below."""
    return place_of(x, t.random_count, t)


@step("round up", "decision")
def round_up(negative: int, p: Place, random_bits: int, t: Target) -> bool:
    """Whether the magnitude goes up to the next one."""
    odd = (p.code if t.code_parity else p.kept) & 1
    return rounds_up(t.mode, negative, odd, p.below, p.rest, t.random_count, random_bits)


@step("magnitude", "magnitude")
def magnitude(p: Place, up: bool, t: Target) -> int:
    """The code of the rounded magnitude, the carry into the exponent included."""
    if not up:
        return p.code
    return p.code + (t.min_code if t.gap and p.code == 0 else 1)


@step("overflow", "decision")
def overflow(negative: int, code: int, t: Target) -> bool:
    """Whether the rounded magnitude exceeds the largest finite one."""
    return code > (t.max_negative_code if negative else t.max_code)


@step("beyond", "decision")
def beyond(negative: int, t: Target) -> bool:
    """Whether an overflow goes beyond the largest finite number: to Inf, or to what stands for it."""
    return goes_beyond(t.mode, negative, t.odd_beyond)


@step("tiny", "decision")
def tiny(negative: int, x: Value, random_bits: int, tininess: int, t: Target) -> bool:
    """Whether the number is below all normal ones."""
    return is_tiny(negative, x.significand, x.exponent, x.significand.bit_length(), x.sticky, random_bits, tininess, t)


@step("inexact", "decision")
def inexact(p: Place) -> bool:
    """Whether bits are discarded."""
    return p.below != 0 or p.rest != 0


@step("pack", "code")
def pack(negative: int, code: int, t: Target) -> int:
    """The code of a magnitude with a sign."""
    return with_sign(negative, code, t)


@step("special code", "code and flags")
def special_code(x: Value, random_bits: int, to: Destination) -> tuple[int, int]:
    """The result for a zero, Inf or NaN."""
    return to.encode(x, random_bits)


def rounded_in_steps(do: Do, x: Value, random_bits: int, to: Destination) -> tuple[int, int]:
    """`rounded`, step by step."""
    if x.kind != FINITE or not x.significand:
        return do(special_code, x, random_bits, to)
    code, flags = _finite(do, x, random_bits, to.target)
    code = complete_code(code, to.fmt, to.target)
    return (0, flags) if to.zero == "positive" and code == to.fmt.sign_bit else (code, flags)


def _finite(do: Do, x: Value, r: int, t: Target) -> tuple[int, int]:
    negative = 0 if t.drop_sign else x.sign
    if t.flush == FLUSH_BEFORE and do(tiny, negative, x, r, TININESS_BEFORE, t):
        return do(pack, negative, 0, t), UNDERFLOW
    p = do(place, x, t)
    code = do(magnitude, p, do(round_up, negative, p, r, t), t)
    if do(overflow, negative, code, t):
        if do(beyond, negative, t):
            return t.beyond_negative if negative else t.beyond_positive, t.overflow_flags
        return t.largest_negative if negative else t.largest_positive, t.overflow_flags
    below_all = t.zero == 0 and code < t.min_code
    code = t.min_code if below_all else code
    lossy = do(inexact, p) or below_all
    flags = INEXACT if lossy else 0
    at_or_below_least = x.exponent + x.significand.bit_length() - 1 <= t.emin
    if at_or_below_least and (lossy or t.flush) and do(tiny, negative, x, r, t.tininess, t):
        if t.flush == FLUSH_ON:
            return do(pack, negative, 0, t), UNDERFLOW | INEXACT
        flags |= UNDERFLOW if lossy else 0
    return do(pack, negative, code, t), flags


INSIDE = (place, round_up, magnitude, overflow, beyond, tiny, inexact, pack, special_code)


@step("round", "code and flags", rounded_in_steps, INSIDE)
def rounded(x: Value, random_bits: int, to: Destination) -> tuple[int, int]:
    """The code of an exact value rounded once, and the flags raised."""
    return to.encode(x, random_bits)
