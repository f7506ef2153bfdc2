"""IEEE P3109's operations on blocks, as data (clause 5): the block and scaled forms of operations, the conversions to
and from blocks, the reductions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from softfloat_ref.oracle.operations import OPERATIONS, Operation, get_operation
from softfloat_ref.oracle.operations.p3109 import form_name

To = Literal["block", "values", "value"]


@dataclass(frozen=True)
class BlockOperation:
    """An operation on blocks.

    op: the name of the operation that each lane computes, exactly. scaled: the operands are blocks; otherwise, values
    without a scale. to: the result is a block, whose scale is an operand; or values; or a single value. fold: the name
    of the operation that then combines the lanes, exactly, from `start`. finds_scale: the result's scale is no operand,
    but the largest finite magnitude of the operand, rounded. single: the blocks have one element.
    """

    name: str
    op: str
    to: To
    summary: str
    scaled: bool = True
    fold: str = ""
    start: int = 0
    finds_scale: bool = False
    single: bool = False

    @property
    def operation(self) -> Operation:
        """The operation that each lane computes."""
        return get_operation(self.op)

    @property
    def arity(self) -> int:
        """The number of blocks, or of sequences of values, that it takes."""
        return self.operation.arity

    @property
    def takes_scale(self) -> bool:
        """Whether the scale of its result is an operand."""
        return self.to == "block" and not self.finds_scale


def _has_forms(operation: Operation) -> bool:
    """Whether its lanes are rounded real results. Those of roundings to an integer have been rounded before, and those
    of a processor's own operations depend on the operand's format, which a number with a scale does not have."""
    is_real = operation.result == "float" and set(operation.operands) == {"float"}
    return is_real and not operation.integral and operation.standing is None


def _rows() -> list[BlockOperation]:
    rows = [
        BlockOperation("convert_from_block", "convert", "values", "scale times element, in a scalar format"),
        BlockOperation("convert_to_block", "convert", "block", "values divided by a given scale", scaled=False),
        BlockOperation(
            "convert_to_block_max_abs_finite",
            "convert",
            "block",
            "values divided by the largest finite magnitude, rounded to the scale's format",
            scaled=False,
            finds_scale=True,
        ),
        BlockOperation("block_reduce_add", "convert", "value", "the sum of a block", fold="add"),
        BlockOperation("block_reduce_multiply", "convert", "value", "the product of a block", fold="mul", start=1),
        BlockOperation("block_dot_product", "mul", "value", "the sum of products of two blocks", fold="add"),
    ]
    for operation in filter(_has_forms, OPERATIONS.values()):
        name, summary = operation.name, operation.summary
        rows.append(BlockOperation(form_name("block", name), name, "block", f"lane by lane: {summary}"))
        rows.append(
            BlockOperation(form_name("scaled", name), name, "value", f"of scaled operands: {summary}", single=True)
        )
    return rows


BLOCK_OPERATIONS: Final[dict[str, BlockOperation]] = {row.name: row for row in _rows()}
