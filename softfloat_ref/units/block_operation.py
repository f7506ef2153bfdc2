"""Units that compute one operation on blocks, or on scaled numbers, as IEEE P3109 defines these (clause 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.search import find_first
from softfloat_ref.oracle.blocks.evaluation import BlockCodes, BlockEvaluation, Side
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS, BlockOperation
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import format_names
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.oracle.policies import POLICIES, Policy, get_policy, rounding_name
from softfloat_ref.oracle.steps import Do
from softfloat_ref.units.dot import AnyFormat, restored_format, stored_format, without_profile
from softfloat_ref.units.operation import format_words, properties
from softfloat_ref.units.quantize import check_size
from softfloat_ref.units.unit import LETTERS, Field, SteppedUnit, file_name, operand, random_words, result, split


@dataclass(frozen=True)
class BlockOperationUnit(SteppedUnit):
    """An operation on blocks: for each operand, its scale and elements, then the result's scale, where that is an
    operand, and random words in; the result's scale and elements, or its values, out. It raises no flags.

    op: its name. operands: a format per operand, of blocks where the operation takes blocks. size: elements of a block.
    scale_policy: how a scale is rounded that the unit finds itself.
    """

    kind: ClassVar[str] = "block_operation"

    op: str
    operands: tuple[AnyFormat, ...]
    out: AnyFormat
    policy: Policy = POLICIES["ieee"]
    scale_policy: Policy = POLICIES["ieee"]

    def __post_init__(self) -> None:
        row, op = self.row, self.op
        if len(self.operands) != row.arity:
            raise Error(f"{op} takes {row.arity} operands, but {len(self.operands)} formats were given")
        for x in self.operands:
            _check_kind(op, "operands", x, row.scaled)
        _check_kind(op, "result", self.out, row.to == "block")
        for x in self._blocks:
            check_size(x)
            if x.size != self.size:
                raise Error(f"{op}: blocks of {self.size} and of {x.size} elements; all have one size")
        if row.single and self.size != 1:
            raise Error(f"{op} works on single elements with scales: give ELEMENT@SCALE/1, not {self._blocks[0].name}")
        if self._found_words and self.policy.random_count not in (0, self._found_words):
            raise Error("a scale and elements that both take random bits must take equally many")
        if not row.finds_scale and self.scale_policy != POLICIES["ieee"]:
            raise Error(f"{op} does not round a scale; leave the scale's rounding and overflow out")

    @staticmethod
    def make(
        op: str,
        fmt: Any,
        out: Any = None,
        policy: Policy | str | Mapping[str, Any] | None = None,
        scale_policy: Policy | str | Mapping[str, Any] | None = None,
    ) -> BlockOperationUnit:
        """An operation on blocks from names. fmt: one format for all operands, or one each; out: by default that of the
        operands, of their elements for a result without scale. Raises Error."""
        row = block_operation_named(op)
        if isinstance(fmt, str) and "=" in fmt:
            fmt = format_names(fmt, LETTERS[: row.arity], row.name)
        formats = (fmt,) * row.arity if isinstance(fmt, str | Format | BlockFormat) else tuple(fmt)
        operands = tuple(without_profile(any_format(x)) for x in formats)
        to = _default(row, operands) if out is None else without_profile(any_format(out))
        return BlockOperationUnit(row.name, operands, to, get_policy(policy), get_policy(scale_policy))

    @property
    def row(self) -> BlockOperation:
        """What it computes."""
        return block_operation_named(self.op)

    @cached_property
    def _blocks(self) -> list[BlockFormat]:
        return [x for x in (*self.operands, self.out) if isinstance(x, BlockFormat)]

    @property
    def size(self) -> int:
        """The number of elements of each operand."""
        return self._blocks[0].size

    @cached_property
    def evaluation(self) -> BlockEvaluation:
        """The exact answer to a case."""
        return BlockEvaluation(
            self.row, tuple(map(side, self.operands)), side(self.out), self.policy, self.scale_policy
        )

    @property
    def _found_words(self) -> int:
        """Random bits of a scale that it finds."""
        return self.scale_policy.random_count if self.row.finds_scale else 0

    @cached_property
    def name(self) -> str:
        formats = format_words(self.operands, self.out)
        scale = ["scale", rounding_name(self.scale_policy.rounding)] if self.row.finds_scale else []
        return file_name(self.op, *formats, rounding_name(self.policy.rounding), *scale)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        takes = self.row.takes_scale
        to = 1 if self.row.to == "value" else self.size
        words = bool(self._found_words) + to * bool(self.policy.random_count)
        return (
            *(f for letter, x in zip(LETTERS, self.operands, strict=False) for f in self._side_fields(letter, x)),
            *([operand("scale", self.evaluation.out.scale)] if takes and self.evaluation.out.scale else []),
            *random_words(self._found_words or self.policy.random_count, words),
            *([result("result_scale", self.evaluation.out.scale)] if self.evaluation.out.scale else []),
            result("result", self.evaluation.out.element, to),
        )

    def _side_fields(self, letter: str, x: AnyFormat) -> Iterator[Field]:
        """The scale of an operand, if it has one, and its elements."""
        element, scale = side(x)
        if scale is not None:
            yield operand(f"{letter}_scale", scale)
        yield operand(letter, element, self.size)

    def taken(self, inputs: Sequence[int]) -> tuple[list[BlockCodes], int, Sequence[int], int]:
        """The inputs of a case: operands, the result's scale, random words, that of the scale."""
        fields = {f.name: tuple(codes) for f, codes in split(self.inputs, inputs)}
        letters = LETTERS[: len(self.operands)]
        operands = [BlockCodes(fields[x], *fields.get(f"{x}_scale", ())) for x in letters]
        words = fields.get("r", ())
        first = bool(self._found_words)
        return operands, fields.get("scale", (0,))[0], words[first:] or (0,) * self.size, words[0] if first else 0

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        if len(inputs) != self.input_width:
            raise Error(f"{self.op} takes {self.input_width} codes, not {len(inputs)}")
        block = self.evaluation.run(*self.taken(inputs), do, more_bits)
        return (block.scale, *block.codes) if self.evaluation.out.scale else block.codes

    def properties(self) -> dict[str, str]:
        first, *others = self.operands
        more = {f"fmt_{letter}": x.name for letter, x in zip(LETTERS[1:], others, strict=False)}
        return properties(self.op, first, self.out, self.policy, self.evaluation.out.element.width, **more)

    def to_dict(self) -> dict[str, Any]:
        return {
            "op": self.op,
            "operands": [stored_format(x) for x in self.operands],
            "out": stored_format(self.out),
            "policy": self.policy.to_dict(),
            **({"scale_policy": self.scale_policy.to_dict()} if self.row.finds_scale else {}),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> BlockOperationUnit:
        return BlockOperationUnit(
            str(table["op"]),
            tuple(map(restored_format, table["operands"])),
            restored_format(table["out"]),
            Policy(**table["policy"]),
            Policy(**table.get("scale_policy", {})),
        )


def block_operation_named(op: str) -> BlockOperation:
    """The operation on blocks of that name, or of P3109's. Raises Error, listing the closest ones."""
    row = BLOCK_OPERATIONS.get(own_name(op))
    if row is None:
        raise unknown("operation on blocks", op, BLOCK_OPERATIONS)
    return row


def side(x: AnyFormat) -> Side:
    """The formats of elements and scale."""
    return Side(x.element, x.scale) if isinstance(x, BlockFormat) else Side(x, None)


def _check_kind(op: str, where: str, x: AnyFormat, is_block: bool) -> None:
    """Raise Error for a scalar format where blocks are needed, and for a block format elsewhere."""
    if isinstance(x, BlockFormat) != is_block:
        size = 1 if op.startswith("scaled_") else 32
        what = f"a block format, such as binary8p4se@binary8p1uf/{size}," if is_block else "a scalar format"
        raise Error(f"{op} takes {what} for its {where}, not {x.name}")
    if isinstance(x, Format):
        x.needs_hidden("operations on blocks")


def _default(row: BlockOperation, operands: Sequence[AnyFormat]) -> AnyFormat:
    """The result's format, if none is given: that of all operands, or of their elements. Raises Error."""
    if any(isinstance(x, BlockFormat) != row.scaled for x in operands):
        return operands[0]  # refused with the operands
    formats = set(operands) if row.to == "block" else {side(x).element for x in operands}
    if len(formats) > 1 or isinstance(find_first(formats), BlockFormat) != (row.to == "block"):
        what = "a block format" if row.to == "block" else "a scalar format"
        raise Error(f"{row.name}: the result's format is missing; give it, {what}")
    return find_first(formats)
