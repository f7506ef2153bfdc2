"""`eval`: operations on codes, one case or a stream of cases."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any, Final

import click

from softfloat_ref.app.lines import CHUNK, Words, answerer, blocks
from softfloat_ref.app.options import Choices, Name, operand_formats, operands_option, policy_options
from softfloat_ref.app.requests import (
    case_codes,
    case_options,
    random_codes,
    refuse_dots,
    request,
    vector_unit,
)
from softfloat_ref.app.serve import serve as run_server
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import RandomSource
from softfloat_ref.oracle.vector_functions import VECTOR_FUNCTIONS
from softfloat_ref.units import OperationUnit, Unit, find_operation, is_definition
from softfloat_ref.units.unit import split

_BULK_FROM: Final = 1 << 16  # lines answered one by one before loading compiled code pays off
_BULK_LEAST: Final = 64  # lines per bulk answer
_NO_CHOICES = Choices(Policy(), None, None)


@click.command("eval")
@operands_option
@click.option("--out", metavar="FORMAT", help="Format of the result [that of the operands].")
@click.option("--serve", is_flag=True, help="Answer requests for any operation on stdin; see docs/dpi.md.")
@click.argument("op", type=Name("OP", [*OPERATIONS, *BLOCK_OPERATIONS, *VECTOR_FUNCTIONS]), required=False)
@click.argument("operands", nargs=-1, metavar="[BITS...|-]")
@case_options
@policy_options
def command(
    choices: Choices,
    dots: dict[str, Any],
    fmt: str | None,
    out: str | None,
    serve: bool,
    op: str | None,
    operands: tuple[str, ...],
) -> None:
    """Evaluate OP on codes, and print result and flags. With -, read operand lines and write TestFloat lines.

    An operation on blocks (BlockAdd, ScaledMultiply, ConvertToBlock, ...) takes block formats, and for each operand its
    scale and elements, then the result's scale if the result is a block. OP may also be an approximation,
    FILE.toml[:NAME], which has its own formats.

    A function of vectors (softmax, rms_norm, ...) takes the codes of its fields, lane by lane, and prints a result per
    lane, then the flags; its length follows from their number, unless --length gives it.

    For a stochastic rounding, the random bits are a line's last operand, unless a random source is given. With --serve
    alone, requests on stdin open any operation with its own formats and policy.
    """
    if serve:
        if (choices, fmt, out, op) != (_NO_CHOICES, None, None, None) or any(dots.values()):
            raise Error("--serve takes no other arguments: each `open` line gives an operation, formats and policy")
        run_server()
        return
    choices.check_seed()
    if op is None or not operands or (fmt is None and not is_definition(op)):
        raise Error("eval needs OP, --fmt FORMAT and the operands' codes (or - for lines on stdin); or --serve alone")
    if operands == ("-",):
        stream(_unit(op, fmt, out, choices, dots, None), choices)
        return
    unit = _unit(op, fmt, out, choices, dots, len(operands))
    found = unit.answer([*case_codes(unit, operands), *random_codes(unit, choices)])
    print(" ".join(f"{x:0{f.digits}x}" for f, own in split(unit.outputs, found) for x in own))


def _unit(op: str, fmt: str | None, out: str | None, choices: Choices, dots: dict[str, Any], count: int | None) -> Unit:
    """The unit that the options describe. count: of the operands' codes, if it is known. Raises Error."""
    if fmt is None or is_definition(op):
        return request(op, fmt, out, choices, None, dots, count=1).unit
    name = own_name(op)
    refuse_dots(name, dots, name)
    if name in VECTOR_FUNCTIONS:
        return vector_unit(name, fmt, out, choices, dots, count)
    if name in BLOCK_OPERATIONS:
        return request(op, fmt, out, replace(choices, random_bits=None), None, dots, count=1).unit
    operation = find_operation(op)
    return OperationUnit.make(op, operand_formats(fmt, operation.arity, operation.name), out, choices.policy)


def stream(unit: Unit, choices: Choices) -> None:
    """Operand lines on stdin to TestFloat lines on stdout, answered as they arrive, in bulk once many have arrived."""
    if choices.random_bits is not None:
        raise Error("--random-bits is for one result; in a stream, they are the last operand of each line")
    words = Words(unit, choices.source)
    answer = answerer(unit, words, echo=True)
    number = 0
    for block in blocks(lambda: os.read(0, CHUNK), "case"):
        out: list[bytes] = []
        try:
            answered = _in_bulk(unit, words, block) if number >= _BULK_FROM else None
            if answered is not None:
                out.append(answered)
                number += block.count(b"\n")
                continue
            for text in block.removesuffix(b"\n").split(b"\n"):
                number += 1
                if line := text.strip():
                    out.append(answer(line))
        except Error as e:
            raise Error(f"stdin:{number}: {e}") from None
        finally:
            sys.stdout.write(b"".join(out).decode("ascii"))
            sys.stdout.flush()


def _in_bulk(unit: Unit, words: Words, block: bytes) -> bytes | None:
    """The answers to lines of one plain shape; None if they must be read one by one, such as lines with errors."""
    if (
        not isinstance(unit, OperationUnit)
        or block.count(b"\n") < _BULK_LEAST
        or unit.policy.random_count > 63
        or max(f.width for f in (*unit.formats, unit.out)) > 64
    ):
        return None
    found = bulk_answers(unit, words.source, words.position, block)
    if found is not None and words.source is not None:
        words.position += block.count(b"\n")
    return found


def bulk_answers(unit: OperationUnit, source: RandomSource | None, position: int, block: bytes) -> bytes | None:
    """TestFloat lines for operand lines; None if any line is not plain, does not fit the formats, or has no result.

    source: where the random words come from, starting at `position`; without one, they are each line's last operand.
    """
    import numpy as np

    from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
    from softfloat_ref.arrays.operations import COMPILED_FROM, Bulk
    from softfloat_ref.golden import bulk

    inputs = bulk.parse(block)
    n, arity, widths = unit.policy.random_count, len(unit.formats), [f.width for f in unit.inputs]
    if inputs is None or len(inputs) != len(widths) - (source is not None):
        return None
    rows = np.empty((len(widths) + 2, inputs.shape[1]), np.int64)
    rows[: len(inputs)] = inputs
    if source is not None:
        rows[arity] = source.array(n, position, inputs.shape[1]).view(np.int64)
    if any(w < 64 and int(np.bitwise_or.reduce(row)) >> w for row, w in zip(rows, widths, strict=False)):
        return None
    words = rows[arity] if n else None
    rows[-2], flags = Bulk(unit.signature, unit.policy, COMPILED_FROM)(list(rows[:arity]), words)
    if (flags == UNKNOWN).any():
        return None
    rows[-1] = flags
    return bulk.text(rows, unit.fields).tobytes()
