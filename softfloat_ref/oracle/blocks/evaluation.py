"""The results of operations on blocks (IEEE P3109 clause 5): scales decoded, one exact operation, one rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.blocks.operations import BlockOperation
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.exact import FINITE, GENERATED, INF, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Context, Signature, context, exactly, get_operation
from softfloat_ref.oracle.policies import Policy


class Side(NamedTuple):
    """The formats of an operand or a result: of its elements, and of their scale (None: values without one)."""

    element: Format
    scale: Format | None


class Block(NamedTuple):
    """Codes of an operand or a result; scale: 0 without one."""

    codes: tuple[int, ...]
    scale: int = 0


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

    def run(self, operands: Sequence[Block], scale: int, words: Sequence[int], scale_word: int = 0) -> Block:
        """The result. scale: the code of the result's, where that is an operand; words: random bits, one a result."""
        rows = [self.decoded(side, block) for side, block in zip(self.sides, operands, strict=True)]
        lanes = list(zip(*rows, strict=True))
        if self.row.fold:
            return Block((self._rounded(self.folded(lanes), words[0]),))
        if self.row.finds_scale:
            scale = self._found(rows[0], scale_word)
        factor = None if self.out.scale is None else decoder(self.out.scale)(scale)
        codes = (self._rounded(self.result(x, factor), word) for x, word in zip(lanes, words, strict=True))
        return Block(tuple(codes), scale)

    def decoded(self, side: Side, block: Block) -> list[Value]:
        """The exact values of an operand: scale times element (5.1.1)."""
        decode = decoder(side.element, self.policy.flush_inputs)
        values = [decode(code) for code in block.codes]
        if side.scale is None:
            return values
        scale = decoder(side.scale)(block.scale)
        return [exactly(_PRODUCT, self.context, (scale, x))[0] for x in values]

    def element(self, values: Sequence[Value], bits: int = 0) -> Value:
        """The exact result of a lane; of a number without a finite form, at least `bits` bits."""
        ctx = self.context
        return exactly(self.row.operation, ctx._replace(bits=max(bits, ctx.bits)), values)[0]

    def folded(self, lanes: Sequence[Sequence[Value]]) -> Value:
        """The exact sum or product of all lanes (5.3)."""
        combine, start = get_operation(self.row.fold), exact.finite(0, self.row.start, 0)
        return reduce(lambda a, b: exactly(combine, self.context, (a, b))[0], map(self.element, lanes), start)

    def result(self, values: Sequence[Value], scale: Value | None) -> Value:
        """What a lane's result is rounded from: the exact one, divided by the scale of a block."""
        if scale is None:
            return self.element(values)
        return divided(lambda bits: self.element(values, bits), scale, self.context.bits)

    def _found(self, values: Sequence[Value], word: int) -> int:
        """The code of the scale that a block gets (5.2.3): NaN if every value is."""
        if self.out.scale is None:
            raise Error(f"{self.row.name} needs a block format for its result")
        sizes = map(exact.magnitude, values)
        largest = reduce(lambda a, b: exactly(_LARGEST, self.context, (a, b))[0], sizes, GENERATED)
        return encoder(self.out.scale, self.scale_policy)(largest, word)[0]

    def _rounded(self, x: Value, word: int) -> int:
        return encoder(self.out.element, self.policy)(x, word)[0]


_PRODUCT: Final = get_operation("mul")
_LARGEST: Final = get_operation("maximum_finite")


def divided(number: Callable[[int], Value], scale: Value, bits: int) -> Value:
    """A number divided by a result's scale (P3109 5.1.2), with at least `bits` bits, and a sticky bit.

    number: the exact number, or at least so many bits of it and a sticky bit. NaN if either is one; divided by zero, it
    is zero; by an infinity, its sign.
    """
    x = number(bits)
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
    return _quotient(number(bits + scale.significand.bit_length()), scale, bits)


def _quotient(x: Value, scale: Value, bits: int) -> Value:
    """A number divided by a scale that is not a power of two.

    If x was cut, the number lies between x and the next multiple of its unit. x has so many bits that its quotient by
    the scale's significand is cut at that unit, and no multiple of the significand lies between the two: the number has
    the same quotient, and is not exact.
    """
    found = exact.divide(x, scale, bits)
    return found._replace(sticky=found.sticky | x.sticky)
