"""The exact facts of one case of an operation, on which bins are decided. Integers only; nothing is rounded here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from softfloat_ref import exact
from softfloat_ref.codec import decoder, encoder, target
from softfloat_ref.coverage.classes import class_of
from softfloat_ref.exact import FINITE, INF, NAN, Value
from softfloat_ref.formats import Format
from softfloat_ref.ops import Evaluator, Signature, evaluator, unrounded
from softfloat_ref.policies import Policy
from softfloat_ref.rounding import Target, cut, position

ROUNDED: Final = (
    "convert",
    "add",
    "sub",
    "mul",
    "div",
    "sqrt",
    "recip",
    "rsqrt",
    "fma",
    "faa",
    "scaleb",
)  # whose exact result is then rounded to the output format, in full generality
INTEGRAL: Final = ("round_to_integral", "round_to_integral_exact")
SUMS: Final = ("add", "sub", "faa")
_DEEP: Final = 60  # bits below the guard bit to look at: as far as any wider format of the catalogue's has them


class Place(NamedTuple):
    """Where a magnitude lies among those of the target.

    code: the magnitude code at or below it (above max_code: past the largest finite). kept: the significand's kept
    bits. guard: the first bit below them. tail: the `width` bits that follow. rest: whether anything follows those.
    """

    code: int
    kept: int
    guard: int
    tail: int
    width: int
    rest: int

    @property
    def sticky(self) -> int:
        """Whether anything follows the guard bit."""
        return int(self.tail != 0 or self.rest != 0)

    @property
    def zeros(self) -> int:
        """How many zero bits follow the guard bit, at most `width`."""
        return self.width - self.tail.bit_length()

    @property
    def ones(self) -> int:
        """How many one bits follow the guard bit, at most `width`."""
        return self.width - (self.tail ^ ((1 << self.width) - 1)).bit_length()


class Setting:
    """An operation with its formats under a policy, and what is derived from them once. Made by `setting`."""

    def __init__(self, sig: Signature, policy: Policy) -> None:
        self.sig = sig
        self.policy = policy
        self.name: str = sig.operation.name
        self.formats: tuple[Format, ...] = sig.formats
        self.out: Format = sig.out
        self.rounded: bool = self.name in ROUNDED
        self.integral: bool = self.name in INTEGRAL
        self.memo: dict[str, object] = {}  # what models lay out once

    @cached_property
    def target(self) -> Target:
        """What rounding to the output format must know."""
        return target(self.out, self.policy)

    @cached_property
    def tail_bits(self) -> int:
        """How many bits below the guard bit are looked at one by one."""
        return max(2 * max(f.precision for f in (*self.formats, self.out)) + 4, _DEEP)

    @cached_property
    def run(self) -> Evaluator:
        """The oracle: codes and random bits to result and flags."""
        return evaluator(self.sig, self.policy)

    @cached_property
    def has_value(self) -> bool:
        """Whether the operation computes an exact value (not a code, as negation does)."""
        return self.sig.operation.result in ("float", "boolean")

    def decode(self, i: int, code: int) -> Value:
        """Operand i's value, flushed where the policy flushes operands."""
        return decoder(self.formats[i], self.sig.operation.flushes and self.policy.flush_inputs)(code)

    def exactly(self, codes: Sequence[int], random_bits: int = 0) -> Value:
        """The exact result: NaN, Inf or a number, with a sticky where it has no end."""
        return unrounded(self.sig, self.policy, self.tail_bits)(codes, random_bits)[0]

    def encode(self, x: Value) -> int:
        """The code a number rounds to, under this policy with no random bits."""
        return encoder(self.out, self.policy)(x, 0)[0]

    @cached_property
    def space(self) -> int:
        """Bits of all operands together: 2^space cases."""
        return sum(f.width for f in self.formats)


@lru_cache(maxsize=256)
def setting(sig: Signature, policy: Policy) -> Setting:
    """The setting of an operation under a policy."""
    return Setting(sig, policy)


class Events:
    """A case, and its facts, each worked out when it is asked for. Raises Undefined where no result is defined."""

    def __init__(self, where: Setting, codes: Sequence[int], random_bits: int = 0) -> None:
        self.where = where
        self.codes = tuple(codes)
        self.random_bits = random_bits
        self.result, self.flags = where.run(self.codes, random_bits)

    @cached_property
    def operands(self) -> tuple[Value, ...]:
        """The operands' values, flushed where the policy flushes them."""
        return tuple(self.where.decode(i, code) for i, code in enumerate(self.codes))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The operands' classes, before any flush."""
        return tuple(class_of(f, code) for f, code in zip(self.where.formats, self.codes, strict=True))

    @cached_property
    def exact(self) -> Value:
        """The exact result; NaN for an operation on codes."""
        return self.where.exactly(self.codes, self.random_bits) if self.where.has_value else exact.GENERATED

    @cached_property
    def place(self) -> Place | None:
        """Where the exact result lies in the output format; None where it is no number, or zero."""
        x = self.exact
        if not self.where.rounded or x.kind != FINITE or x.significand == 0:
            return None
        return place_of(x, self.where)

    @cached_property
    def unit(self) -> Place | None:
        """Where a finite operand lies among the integers; its code is its integral part."""
        x = self.operands[0]
        if x.kind != FINITE or x.significand == 0:
            return None
        n = self.where.tail_bits
        kept, discarded, rest = cut(x.significand, x.significand.bit_length(), 0, -x.exponent, n)
        return Place(kept, kept, discarded >> n, discarded & ((1 << n) - 1), n, rest)

    @cached_property
    def finite(self) -> bool:
        """Whether every operand and the exact result are numbers."""
        return self.exact.kind == FINITE and all(x.kind == FINITE for x in self.operands)

    @cached_property
    def terms(self) -> tuple[Value, ...]:
        """What a sum adds up, exactly: its operands, or product and addend. Empty for other operations."""
        if not all(x.kind == FINITE for x in self.operands):
            return ()
        if self.where.name == "fma":
            a, b, c = self.operands
            return exact.multiply(a, b), c
        if self.where.name == "sub":
            a, b = self.operands
            return a, exact.negate(b)
        return self.operands if self.where.name in SUMS else ()

    @cached_property
    def infinite(self) -> bool:
        """Whether an operand is infinite and none is NaN."""
        kinds = {x.kind for x in self.operands}
        return INF in kinds and NAN not in kinds


def place_of(x: Value, where: Setting) -> Place:
    """Where a finite number that is not zero lies in the output format."""
    n = where.tail_bits
    code, kept, discarded, rest = position(
        x.significand, x.exponent, x.significand.bit_length(), x.sticky, n, where.target
    )
    return Place(code, kept, discarded >> n, discarded & ((1 << n) - 1), n, rest)


def limit(where: Setting, sign: int) -> int:
    """The magnitude code of the largest finite value of that sign."""
    t = where.target
    return t.max_negative_code if sign and not t.drop_sign else t.max_code
