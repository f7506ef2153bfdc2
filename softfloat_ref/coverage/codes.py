"""Values as codes: the nearest one, the exact one, and those around; and places among the values of a format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from softfloat_ref.coverage.classes import complete
from softfloat_ref.oracle import exact, rounding_steps
from softfloat_ref.oracle.codec import encoder, target
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import POLICIES, Overflow, Policy
from softfloat_ref.oracle.rounding import Target, position

_SATURATE: Final = Policy(overflow=Overflow.SAT_FINITE)


def nearest(fmt: Format, x: Value) -> int:
    """The code of the nearest value; beyond the range, of the largest finite one."""
    return encoder(fmt, _SATURATE)(x, 0)[0]


def below(fmt: Format, x: Value) -> tuple[int, bool]:
    """The magnitude code at or below |x|, and whether it is |x|. -1 below all."""
    if x.significand == 0:
        return (0 if fmt.zero else -1), fmt.zero
    t = target(fmt, POLICIES["ieee"])
    code, _, guard, rest = position(x.significand, x.exponent, x.significand.bit_length(), x.sticky, 0, t)
    largest = fmt.max_negative_code if x.sign and fmt.signed else fmt.max_code
    if code > largest:
        return largest, False
    return max(code, -1), guard == 0 and rest == 0


def operand(fmt: Format, x: Value) -> int | None:
    """The code of a number; None if the format does not have it."""
    if x.sign and not fmt.signed:
        return None
    if x.significand == 0:
        return complete(fmt, x.sign if fmt.negative_zero else 0, 0) if fmt.zero else None
    if exact.normal(x).significand.bit_length() > (fmt.width if fmt.twos_complement else fmt.precision):
        return None  # most numbers; the rest takes longer
    code, same = below(fmt, x)
    return complete(fmt, x.sign, code) if same else None


def infinities(fmt: Format) -> list[int]:
    """The codes of the infinities."""
    return list(dict.fromkeys((fmt.inf_code, fmt.inf_code | fmt.sign_bit))) if fmt.infinity else []


def near(fmt: Format, x: Value) -> Iterator[int]:
    """The codes at, just below and just above a number, of its sign."""
    if x.sign and not fmt.signed:
        return
    code, _ = below(fmt, x)
    largest = fmt.max_negative_code if x.sign else fmt.max_code
    for c in (code, code + 1, code - 1, code + 2):
        if fmt.min_code <= c <= largest:
            yield complete(fmt, x.sign, c)


class TailPlace(rounding_steps.Place):
    """A place whose n bits below the guard bit are looked at. Its code is above max_code beyond the largest one."""

    __slots__ = ()

    @property
    def tail(self) -> int:
        """The n bits that follow the guard bit."""
        return self.below & (1 << self.n) - 1

    @property
    def zeros(self) -> int:
        """The number of zero bits after the guard bit, at most n."""
        return self.n - self.tail.bit_length()

    @property
    def ones(self) -> int:
        """The number of one bits after the guard bit, at most n."""
        return self.n - (self.tail ^ ((1 << self.n) - 1)).bit_length()

    @property
    def is_exact(self) -> bool:
        """Whether nothing is discarded."""
        return not self.below and not self.rest

    @property
    def is_tie(self) -> bool:
        """Whether it lies halfway between two magnitudes, the lower one even."""
        return bool(self.guard and not self.sticky and not self.kept & 1)


def place_of(x: Value, t: Target, n: int) -> TailPlace:
    """The place of a finite number that is not zero among the magnitudes of a target."""
    return TailPlace(*rounding_steps.place_of(x, n, t))
