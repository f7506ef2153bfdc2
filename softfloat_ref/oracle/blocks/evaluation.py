"""The results of operations on blocks (IEEE P3109 clause 5): scales decoded, one exact operation, one rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.elements import used_scale
from softfloat_ref.oracle.blocks.operations import BlockOperation
from softfloat_ref.oracle.blocks.quantize import lanes as in_lanes
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import FINITE, GENERATED, INF, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Context, Signature, context, exactly, get_operation
from softfloat_ref.oracle.operations.steps import exact_result
from softfloat_ref.oracle.operations.table import LETTERS
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding_steps import Destination, destination, read, rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step


class Side(NamedTuple):
    """The formats of an operand or a result: of its elements, and of their scale (None: values without one)."""

    element: Format
    scale: Format | None


class BlockCodes(NamedTuple):
    """Codes of an operand or a result; scale: 0 without one."""

    codes: tuple[int, ...]
    scale: int = 0


_PRODUCT: Final = get_operation("mul")
_LARGEST: Final = get_operation("maximum_finite")


@step("product", "value")
def scaled(scale: Value, x: Value, ctx: Context) -> Value:
    """An element times its scale (5.1.1)."""
    return exactly(_PRODUCT, ctx, (scale, x))[0]


@step("reduction", "value")
def reduced(values: Sequence[Value], row: BlockOperation, ctx: Context) -> Value:
    """The exact sum or product of all lanes (5.3)."""
    combine, total = get_operation(row.fold), exact.finite(0, row.start, 0)
    for x in values:
        total = exactly(combine, ctx, (total, x))[0]
    return total


@step("amax", "value")
def largest_finite(values: Sequence[Value], ctx: Context) -> Value:
    """The number that a block's scale is rounded from (5.2.3): NaN if every value is."""
    largest = GENERATED
    for x in values:
        largest = exactly(_LARGEST, ctx, (largest, exact.magnitude(x)))[0]
    return largest


@step("quotient", "value")
def divided(x: Value, scale: Value, bits: int) -> Value:
    """A number divided by a result's scale (5.1.2), with at least `bits` bits, and a sticky bit.

    x: exact, or cut to as many bits as `dividend_bits` says. NaN if either is one; divided by zero, it is zero; by an
    infinity, its sign.
    """
    if x.kind == NAN or scale.kind == NAN:
        return x if x.kind == NAN else scale._replace(signaling=False)
    sign = x.sign ^ scale.sign
    if scale.is_zero:
        return exact.zero(0)
    if x.is_zero or (x.kind == INF and scale.kind == FINITE):
        return x._replace(sign=sign)
    if scale.kind == INF:
        return exact.finite(sign, 1, 0)
    unit = exact.normal(scale)
    if unit.significand == 1:
        return x._replace(sign=sign, exponent=x.exponent - unit.exponent)
    return _quotient(x, scale, bits)


def dividend_bits(scale: Value, bits: int) -> int:
    """How many bits of a number give `bits` bits of its quotient by a scale."""
    if scale.kind != FINITE or not scale.significand or exact.normal(scale).significand == 1:
        return bits
    return bits + scale.significand.bit_length()


@dataclass(frozen=True)
class BlockEvaluation:
    """An operation on blocks with its formats and policies: of the elements, and of a scale that it finds."""

    row: BlockOperation
    sides: tuple[Side, ...]
    out: Side
    policy: Policy
    scale_policy: Policy

    @cached_property
    def context(self) -> Context:
        """The context of each lane's operation."""
        formats = tuple(side.element for side in self.sides)
        return context(Signature(self.row.operation, formats, self.out.element), self.policy)

    @cached_property
    def destination(self) -> Destination:
        """Where each lane's result is rounded to."""
        return destination(self.out.element, self.policy)

    def run(
        self,
        operands: Sequence[BlockCodes],
        scale: int,
        words: Sequence[int],
        scale_word: int = 0,
        do: Do = PLAIN,
        more_bits: int = 0,
    ) -> BlockCodes:
        """The result, step by step. scale: the code of the result's, where that is an operand; words: random bits, one
        a result. more_bits: of a number without a finite form, beyond those that rounding needs."""
        row, ctx = self.row, self.context
        ctx = ctx._replace(bits=ctx.bits + more_bits)
        sides = zip(LETTERS, self.sides, operands, strict=False)
        rows = [self.decoded(side, block, letter, do) for letter, side, block in sides]
        lanes = list(zip(*rows, strict=True))
        if row.fold:
            values = [do.at("elements", k)(exact_result, row.operation, ctx, x)[0] for k, x in enumerate(lanes)]
            return BlockCodes((do(rounded, do(reduced, values, row, ctx), words[0], self.destination)[0],))
        if row.finds_scale:
            scale = self._found(do, rows[0], scale_word, ctx)
        codes = self._elements(do, lanes, self._factor(do, scale), words, ctx)
        return BlockCodes(do(in_lanes, tuple(codes)), scale)

    def decoded(self, side: Side, block: BlockCodes, name: str = "", do: Do = PLAIN) -> list[Value]:
        """The exact values of an operand: scale times element. name: of the operand."""
        decode = decoder(side.element, self.policy.flush_inputs)
        values = [do.at(name, k)(read, code, decode, side.element) for k, code in enumerate(block.codes)]
        if side.scale is None:
            return values
        scale = do.at(f"{name}_scale")(read, block.scale, decoder(side.scale), side.scale)
        return [do.at(name, k)(scaled, scale, x, self.context) for k, x in enumerate(values)]

    def element(self, values: Sequence[Value]) -> Value:
        """The exact result of a lane."""
        return exactly(self.row.operation, self.context, values)[0]

    def _found(self, do: Do, values: Sequence[Value], word: int, ctx: Context) -> int:
        """The code of the scale that a block gets."""
        if self.out.scale is None:
            raise Error(f"{self.row.name} needs a block format for its result")
        largest = do(largest_finite, values, ctx)
        return do.at("scale")(rounded, largest, word, destination(self.out.scale, self.scale_policy))[0]

    def _factor(self, do: Do, code: int) -> Value | None:
        """The scale that results are divided by; None if they have none."""
        scale = self.out.scale
        if scale is None:
            return None
        return do.at("scale")(read, do(used_scale, code, scale), decoder(scale), scale)

    def _elements(
        self, do: Do, lanes: Sequence[Sequence[Value]], factor: Value | None, words: Sequence[int], ctx: Context
    ) -> list[int]:
        """The codes of the results, lane by lane."""
        operation, bits, codes = self.row.operation, ctx.bits, []
        if factor is not None:
            ctx = ctx._replace(bits=dividend_bits(factor, bits))
        for k, (values, word) in enumerate(zip(lanes, words, strict=True)):
            lane = do.at("elements", k)
            x = lane(exact_result, operation, ctx, values)[0]
            if factor is not None:
                x = lane(divided, x, factor, bits)
            codes.append(lane(rounded, x, word, self.destination)[0])
        return codes


def _quotient(x: Value, scale: Value, bits: int) -> Value:
    """A number divided by a scale that is not a power of two.

    If x was cut, the number lies between x and the next multiple of its unit. x has so many bits that its quotient by
    the scale's significand is cut at that unit, and no multiple of the significand lies between the two: the number has
    the same quotient, and is not exact.
    """
    quotient = exact.divide(x, scale, bits)
    return quotient._replace(sticky=quotient.sticky | x.sticky)
