"""`eval`: operations on codes, one case or a stream of cases."""

from __future__ import annotations

import os
import sys
from typing import Final

import click

from softfloat_ref.app.options import base_option
from softfloat_ref.app.requests import OP, UnitRequest, request_options
from softfloat_ref.app.serve import CHUNK, Words, answerer, blocks
from softfloat_ref.app.serve import serve as run_server
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.readers import LineReader
from softfloat_ref.oracle.sources import RandomSource
from softfloat_ref.units import OperationUnit, Unit
from softfloat_ref.units.unit import split

_BULK_FROM: Final = 1 << 16  # lines answered one by one before loading compiled code pays off
_BULK_LEAST: Final = 64  # lines per bulk answer


@click.command("eval")
@click.option("--serve", is_flag=True, help="Answer requests for any operation on stdin; see docs/dpi.md.")
@click.argument("op", type=OP, required=False)
@click.argument("operands", nargs=-1, metavar="[BITS...|-]")
@base_option
@request_options
def command(request: UnitRequest, serve: bool, base: str | None, op: str | None, operands: tuple[str, ...]) -> None:
    """Evaluate OP on codes, and print result and flags. With -, read operand lines and write TestFloat lines.

    OP is an operation, quantize, dequantize, requantize, dot, matmul, an operation on blocks (BlockAdd, ...), a
    function of vectors (softmax, ...), FILE.toml[:NAME] of an approximation, or a vector recipe. The codes are those of
    its fields, in the order of a line of its vectors; each result is printed, then the flags.

    The number of codes tells the elements of a dot product and the lanes of a function of vectors, unless --k or
    --length gives it. For a stochastic rounding, the random bits are a line's last operand, unless a random source is
    given. With --serve alone, requests on stdin open any operation with its own formats and policy.
    """
    if serve:
        if request.typed_options or op is not None or base is not None:
            raise Error("--serve takes no other arguments: each `open` line gives an operation, formats and policy")
        run_server()
        return
    if op is None or not operands:
        raise Error("eval needs OP, --fmt FORMAT and the operands' codes (or - for lines on stdin); or --serve alone")
    if operands == ("-",):
        stream(*request.stream(op), base)
        return
    if base is not None:
        raise Error("--base is for lines on stdin (-); codes on the command line are hexadecimal")
    unit, codes = request.case(op, operands)
    print(" ".join(f"{x:0{f.digits}x}" for f, own in split(unit.outputs, unit.answer(codes)) for x in own))


def stream(unit: Unit, source: RandomSource | None, base: str | None = None) -> None:
    """Operand lines on stdin to TestFloat lines on stdout, answered as they arrive, in bulk once many have arrived."""
    words = Words(unit, source)
    reader, answer = answerer(unit, words, echo=True, base=base)
    number = 0
    for block in blocks(lambda: os.read(0, CHUNK), "case"):
        out: list[bytes] = []
        try:
            answered = _in_bulk(unit, words, reader, block) if number >= _BULK_FROM else None
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
    if reader.form:
        print(f"read as {reader.form}", file=sys.stderr)


def _in_bulk(unit: Unit, words: Words, reader: LineReader, block: bytes) -> bytes | None:
    """The answers to lines of one plain shape; None if they must be read one by one, such as lines with errors."""
    if (
        not isinstance(unit, OperationUnit)
        or block.count(b"\n") < _BULK_LEAST
        or unit.policy.random_count > 63
        or max(f.width for f in (*unit.formats, unit.out)) > 64
        or not reader.is_plain(block[: block.find(b"\n")].decode("ascii", "replace"))
    ):
        return None
    answers = bulk_answers(unit, words.source, words.position, block)
    if answers is not None and words.source is not None:
        words.position += block.count(b"\n")
    return answers


def bulk_answers(unit: OperationUnit, source: RandomSource | None, position: int, block: bytes) -> bytes | None:
    """TestFloat lines for operand lines; None if any line is not plain, does not fit the formats, or has no result.

    source: where the random words come from, starting at `position`; without one, they are each line's last operand.
    """
    import numpy as np

    from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
    from softfloat_ref.arrays.operations import COMPILED_FROM, Bulk
    from softfloat_ref.golden import bulk

    inputs = bulk.parse_columns(block)
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
    return bulk.text_of_columns(rows, unit.fields).tobytes()
