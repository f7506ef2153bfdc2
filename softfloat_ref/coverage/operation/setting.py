"""An operation under a policy, and the exact facts of one case, which decide the bins; nothing is rounded here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import Final

from softfloat_ref.coverage.classes import class_of
from softfloat_ref.coverage.codes import TailPlace, place_of
from softfloat_ref.coverage.engine.framework import ENUMERATED, BaseSetting, Line, Model, signs_of
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder, target
from softfloat_ref.oracle.exact import FINITE, Value, finite
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Evaluator, Signature, evaluator, unrounded
from softfloat_ref.oracle.operations.curve import Curve
from softfloat_ref.oracle.operations.formula import (
    DIFFERENCE,
    IDENTITY,
    PRODUCT,
    QUOTIENT,
    RECIPROCAL,
    RECIPROCAL_ROOT,
    ROOT,
    SUM,
    Formula,
)
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import Target, cut

_LEAST_TAIL_BITS: Final = (
    60  # bits below the guard bit to look at: as far as any wider format of the catalogue's has them
)
MONOTONE: Final = (IDENTITY, ROOT, RECIPROCAL, RECIPROCAL_ROOT)  # and alike in every binade, or every other
_MOST_SOLVED_OPERANDS: Final = 3  # operands at most of the operations whose operands are solved for


class OperationSetting(BaseSetting):
    """An operation with its formats under a policy, and what is derived from them once."""

    tries = 400

    def __init__(self, sig: Signature, policy: Policy) -> None:
        super().__init__()
        self.sig = sig
        self.asked = policy
        self.policy = sig.operation.rounded_as(policy)  # of the exact result
        self.formats: tuple[Format, ...] = sig.formats
        self.out: Format = sig.out
        self.space = None if policy.random_count else sum(f.width for f in self.formats)
        self.formula: Formula | None = sig.operation.formula
        self.curve: Curve | None = sig.operation.curve
        solved = self.formula is not None and sig.operation.arity <= _MOST_SOLVED_OPERANDS
        self.rounded = solved or self.curve is not None
        self.converts = sig.operation.is_conversion
        self.modular = sig.operation.modular
        self.to_integer = (self.converts and self.out.is_integer) or self.modular
        self.integral = sig.operation.integral
        self.adds = self.formula in (SUM, DIFFERENCE)
        self.fused = self.formula is not None and self.formula.is_multiply_add
        self.minus = self.formula.minus if self.formula is not None else ()
        self.two_terms = self.adds or self.fused
        self.product = self.formula == PRODUCT
        self.quotient = self.formula == QUOTIENT
        self.scales = self.formula in MONOTONE
        self.unary = self.scales or self._is_searched(sig)
        self.flushes = policy.flush_inputs and sig.operation.flushes

    def _is_searched(self, sig: Signature) -> bool:
        """Whether all operands of a function's results are found: on a whole curve, or in a table of all."""
        if self.curve is None or sig.operation.arity > 1:
            return False
        return self.curve.whole or sig.formats[0].width <= ENUMERATED

    def events(self, line: Line) -> OperationEvents:
        n = len(self.formats)
        return OperationEvents(self, line[:n], line[n] if len(line) > n else 0)

    def every(self) -> Iterator[Line]:
        return product(*(range(1 << f.width) for f in self.formats))

    @cached_property
    def target(self) -> Target:
        """The target of the rounding to the output format."""
        return target(self.out, self.policy)

    @cached_property
    def tail_bits(self) -> int:
        """The number of bits below the guard bit that are kept separately."""
        return max(2 * max(f.precision for f in (*self.formats, self.out)) + 4, _LEAST_TAIL_BITS)

    @cached_property
    def run(self) -> Evaluator:
        """The oracle: codes and random bits to result and flags."""
        return evaluator(self.sig, self.asked)

    def decode(self, i: int, code: int) -> Value:
        """Operand i's value, flushed where the policy flushes operands."""
        return decoder(self.formats[i], self.flushes)(code)

    def product_term(self, a: int, b: int) -> Value:
        """The term of an fma's sum that two codes give."""
        product = exact.multiply(self.decode(0, a), self.decode(1, b))
        return exact.negate(product) if self.minus[0] else product

    def addend(self, term: Value) -> Value:
        """The addend of an fma, of the term that it is in the sum."""
        return exact.negate(term) if self.minus[1] else term

    def exactly(self, codes: Sequence[int], random_bits: int = 0) -> Value:
        """The exact result: NaN, Inf or a number, with a sticky bit if its expansion is infinite."""
        return unrounded(self.sig, self.asked, self.tail_bits)(codes, random_bits)[0]

    def encode(self, x: Value) -> int:
        """The code a number rounds to, under this policy with no random bits."""
        return encoder(self.out, self.policy)(x, 0)[0]

    def limit(self, sign: int) -> int:
        """The magnitude code of the largest finite value of that sign."""
        t = self.target
        return t.max_negative_code if sign and not t.drop_sign else t.max_code

    def largest(self, sign: int) -> Value | None:
        """The largest finite value of the output format of that sign; None if it has no value of that sign."""
        fmt = self.out
        if sign and not fmt.signed and not self.target.drop_sign:
            return None
        code = fmt.max_negative_code if sign and fmt.signed else fmt.max_code
        return finite(sign, *((code, 1 - fmt.bias - fmt.mantissa_bits) if fmt.twos_complement else fmt.magnitude(code)))

    @property
    def signs(self) -> dict[int, str]:
        """The signs of the output format's values, with their names."""
        return signs_of(self.out)

    @property
    def gradual(self) -> bool:
        """Whether the output format has both subnormal and normal numbers."""
        return self.out.has_normals and self.out.subnormals == "gradual"


OperationModel = Model[OperationSetting, "OperationEvents"]


class OperationEvents:
    """A case, and its facts, each computed when it is first read. Raises Undefined if no result is defined."""

    def __init__(self, where: OperationSetting, codes: Sequence[int], random_bits: int = 0) -> None:
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
        computed = self.where.sig.operation.result in ("float", "boolean")
        return self.where.exactly(self.codes, self.random_bits) if computed else exact.GENERATED

    @cached_property
    def place(self) -> TailPlace | None:
        """The position of the exact result in the output format; None if it is zero or not a number."""
        x = self.exact
        if not self.where.rounded or x.kind != FINITE or x.significand == 0:
            return None
        return place_of(x, self.where.target, self.where.tail_bits)

    @cached_property
    def in_range(self) -> TailPlace | None:
        """The position, if not beyond the largest finite value."""
        place = self.place
        return place if place is not None and 0 <= place.code <= self.where.limit(self.exact.sign) else None

    @cached_property
    def unit(self) -> TailPlace | None:
        """Where a finite operand lies among the integers; its code is its integral part."""
        x = self.operands[0]
        if x.kind != FINITE or x.significand == 0:
            return None
        n = self.where.tail_bits
        whole, discarded, rest = cut(x.significand, x.significand.bit_length(), 0, -x.exponent, n)
        return TailPlace(whole, whole, discarded, rest, n)

    @cached_property
    def numbers(self) -> bool:
        """Whether every operand is a number."""
        return all(x.kind == FINITE for x in self.operands)

    @cached_property
    def terms(self) -> tuple[Value, Value] | None:
        """The two terms of a sum, exactly, an fma's product first; None if one is zero, and of other operations."""
        formula = self.where.formula
        if not self.where.two_terms or formula is None or not self.numbers:
            return None
        first, second = formula.values(self.operands)
        return (first, second) if first.significand and second.significand else None

    @cached_property
    def shift(self) -> int:
        """How far the exponent of the first operand's term is above the other's; for an fma, of the addend's."""
        assert self.terms is not None
        first, second = self.terms[::-1] if self.where.fused else self.terms
        return exact.top(first) - exact.top(second)
