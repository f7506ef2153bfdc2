"""`eval`: operations on codes, one or a stream of them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

import click

from softfloat_ref.app.options import Choices, Name, operand_formats, policy_options
from softfloat_ref.codec import check_code, check_random
from softfloat_ref.errors import Error, Undefined
from softfloat_ref.literals import parse_code
from softfloat_ref.ops import OPERATIONS, Signature, evaluator, get_operation, signature

_CHUNK = 1 << 16


@click.command("eval")
@click.option("--fmt", required=True, help="Format, or one an operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32.")
@click.option("--out", default=None, help="The result's format (default: the operands' one).")
@click.argument("op", type=Name("OP", OPERATIONS))
@click.argument("operands", nargs=-1, required=True, metavar="[BITS...|-]")
@policy_options
def command(choices: Choices, seed: int | None, fmt: str, out: str | None, op: str, operands: tuple[str, ...]) -> None:
    """Evaluate OP on codes: prints result and flags. With -, reads operand lines and writes TestFloat lines.

    For a stochastic rounding the random bits are a line's last operand, unless a random source is named.
    """
    operation = get_operation(op)
    sig = signature(operation, operand_formats(fmt, operation.arity, operation.name), out)
    if operands == ("-",):
        stream(sig, choices)
        return
    if len(operands) != operation.arity:
        raise Error(f"{operation.name} takes {operation.arity} operands, not {len(operands)}")
    codes = [check_code(parse_code(x), f) for x, f in zip(operands, sig.formats, strict=True)]
    bits, flags = evaluator(sig, choices.policy)(codes, check_random(choices.policy, choices.one_word()))
    print(f"{sig.out.hex(bits)} {flags:02x}")


def stream(sig: Signature, choices: Choices) -> None:
    """Operand lines on stdin to TestFloat lines on stdout, answered as they come."""
    n = choices.policy.random_count
    run = evaluator(sig, choices.policy)
    digits = [f.digits for f in sig.formats] + ([-(-n // 4)] if n else [])
    widths = [f.width for f in sig.formats] + ([n] if n else [])
    line_format = " ".join(f"%0{d}X" for d in [*digits, sig.out.digits, 2]) + "\n"
    columns = len(widths) - (1 if choices.source else 0)
    pattern = re.compile(r"\s+".join([rb"(?:0[xX])?([0-9a-fA-F]{1,64})".decode()] * columns) + r"\s*")
    arity = len(sig.formats)
    number = 0
    for lines in _line_chunks():
        out: list[str] = []
        words = choices.source.bits(n, number, len(lines)) if choices.source else None
        for i, line in enumerate(lines):
            number += 1
            match = pattern.match(line)
            if match is None or match.end() != len(line):
                sys.stdout.write("".join(out))
                raise _line_error(line, number, columns)
            codes = [int(x, 16) for x in match.groups()]
            if words is not None:
                codes.append(words[i])
            if any(c >> w for c, w in zip(codes, widths, strict=True)):
                sys.stdout.write("".join(out))
                raise _too_wide(codes, widths, number)
            try:
                out.append(line_format % (*codes, *run(codes[:arity], codes[-1] if n else 0)))
            except Undefined as e:
                sys.stdout.write("".join(out))
                raise Error(f"stdin:{number}: {e}") from None
        sys.stdout.write("".join(out))
        sys.stdout.flush()


def _line_chunks() -> Iterator[list[str]]:
    """Whole lines, as many as have come; blank ones left out."""
    rest = b""
    while chunk := os.read(0, _CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _CHUNK:
            raise Error("stdin: a line of more than 65536 characters; one case a line")
        yield [x.decode("ascii", "replace") for line in lines if (x := line.strip())]
    if rest.strip():
        yield [rest.strip().decode("ascii", "replace")]


def _line_error(line: str, number: int, columns: int) -> Error:
    words = line.split()
    if len(words) != columns:
        return Error(f"stdin:{number}: {len(words)} fields, but {columns} operands are needed: {line[:60]!r}")
    for word in words:
        parse_code(word, f"stdin:{number}")
    return Error(f"stdin:{number}: {line[:60]!r} is no line of {columns} hexadecimal operands")


def _too_wide(codes: list[int], widths: list[int], number: int) -> Error:
    code, width = next((c, w) for c, w in zip(codes, widths, strict=True) if c >> w)
    return Error(f"stdin:{number}: {code:x} does not fit {width} bits")
