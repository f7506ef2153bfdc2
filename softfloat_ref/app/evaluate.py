"""`eval`: operations on codes, one case or a stream of cases."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Final

import click

from softfloat_ref.app.options import Choices, Name, operand_formats, policy_options
from softfloat_ref.app.serve import serve as run_server
from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.oracle.codec import check_code, check_random
from softfloat_ref.oracle.literals import parse_code
from softfloat_ref.oracle.operations import OPERATIONS, Signature, evaluator, get_operation, signature
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import RandomSource

_CHUNK: Final = 1 << 16
_WORDS: Final = 1024
_BULK_FROM: Final = 1 << 16  # lines answered one by one before loading compiled code pays off
_BULK_LEAST: Final = 64  # lines per bulk answer
_NO_CHOICES = Choices(Policy(), None, None)


@click.command("eval")
@click.option("--fmt", default=None, help="Format, or one per operand: a=fp8_e4m3,b=fp8_e5m2,c=fp32.")
@click.option("--out", default=None, help="The format of the result [that of the operands].")
@click.option("--serve", is_flag=True, help="Answer requests for any operation on stdin; see docs/dpi.md.")
@click.argument("op", type=Name("OP", OPERATIONS), required=False)
@click.argument("operands", nargs=-1, metavar="[BITS...|-]")
@policy_options
def command(
    choices: Choices,
    seed: int | None,
    fmt: str | None,
    out: str | None,
    serve: bool,
    op: str | None,
    operands: tuple[str, ...],
) -> None:
    """Evaluate OP on codes, and print result and flags. With -, read operand lines and write TestFloat lines.

    For a stochastic rounding, the random bits are a line's last operand, unless a random source is given. With --serve
    alone, requests on stdin open any operation with its own formats and policy.
    """
    if serve:
        if (choices, seed, fmt, out, op) != (_NO_CHOICES, None, None, None, None):
            raise Error("--serve takes no other arguments: each `open` line gives an operation, formats and policy")
        run_server()
        return
    if op is None or fmt is None or not operands:
        raise Error("eval needs OP, --fmt FORMAT and the operands' codes (or - for lines on stdin); or --serve alone")
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
    """Operand lines on stdin to TestFloat lines on stdout, answered as they arrive, in bulk once many have arrived."""
    if choices.random_bits is not None:
        raise Error("--random-bits is for one result; in a stream, they are the last operand of each line")
    words = _Words(choices.source, choices.policy.random_count)
    answer = _answerer(sig, choices.policy, words)
    number = 0
    for block in _blocks():
        out: list[str] = []
        try:
            answered = _in_bulk(sig, choices.policy, words, block) if number >= _BULK_FROM else None
            if answered is not None:
                out.append(answered)
                number += block.count(b"\n")
                continue
            for line in _lines(block):
                number += 1
                if line:
                    out.append(answer(line, number))
        finally:
            sys.stdout.write("".join(out))
            sys.stdout.flush()


class _Words:
    """The random words of a source, one per line, in order; none if each line has its own."""

    def __init__(self, source: RandomSource | None, n: int) -> None:
        self.source, self.n, self.position = source, n, 0
        self._known: list[int] = []
        self._start = 0

    def next(self) -> int:
        """The next word."""
        assert self.source is not None
        at = self.position - self._start
        if not 0 <= at < len(self._known):
            self._start, at = self.position, 0
            self._known = self.source.bits(self.n, self._start, _WORDS)
        self.position += 1
        return self._known[at]


def _in_bulk(sig: Signature, policy: Policy, words: _Words, block: bytes) -> str | None:
    """The answers to lines of one plain shape; None if they must be read one by one, such as lines with errors."""
    if (
        block.count(b"\n") < _BULK_LEAST
        or policy.random_count > 63
        or max(f.width for f in (*sig.formats, sig.out)) > 64
    ):
        return None
    from softfloat_ref.app.eval_bulk import answers

    found = answers(sig, policy, words.source, words.position, block)
    if found is not None and words.source is not None:
        words.position += block.count(b"\n")
    return found


def _answerer(sig: Signature, policy: Policy, words: _Words) -> Callable[[str, int], str]:
    """A function from an operand line and its number to a TestFloat line. It raises Error, naming the line."""
    n = policy.random_count
    run = evaluator(sig, policy)
    digits = [f.digits for f in sig.formats] + ([-(-n // 4)] if n else [])
    widths = [f.width for f in sig.formats] + ([n] if n else [])
    template = " ".join(f"%0{d}X" for d in [*digits, sig.out.digits, 2]) + "\n"
    columns = len(widths) - (1 if words.source else 0)
    pattern = re.compile(r"\s+".join([r"(?:0[xX])?([0-9a-fA-F]{1,80})"] * columns))
    arity = len(sig.formats)

    def answer(line: str, number: int) -> str:
        match = pattern.fullmatch(line)
        if match is None:
            raise _line_error(line, number, columns)
        codes = [int(x, 16) for x in match.groups()]
        if words.source is not None:
            codes.append(words.next())
        if any(c >> w for c, w in zip(codes, widths, strict=True)):
            raise _too_wide(codes, widths, number)
        try:
            return template % (*codes, *run(codes[:arity], codes[-1] if n else 0))
        except Undefined as e:
            raise Error(f"stdin:{number}: {e}") from None

    return answer


def _blocks() -> Iterator[bytes]:
    """All whole lines that have arrived."""
    rest = b""
    while chunk := os.read(0, _CHUNK):
        block, newline, rest = (rest + chunk).rpartition(b"\n")
        if len(rest) > _CHUNK:
            raise Error("stdin: a line of more than 65536 characters; give one case per line")
        if newline:
            yield block + newline
    if rest.strip():
        yield rest


def _lines(block: bytes) -> list[str]:
    """The lines of a block; blank ones as ''."""
    return [line.strip().decode("ascii", "replace") for line in block.removesuffix(b"\n").split(b"\n")]


def _line_error(line: str, number: int, columns: int) -> Error:
    words = line.split()
    if len(words) != columns:
        return Error(f"stdin:{number}: {len(words)} fields, but {columns} operands are needed: {line[:60]!r}")
    for word in words:
        parse_code(word, f"stdin:{number}")
    return Error(f"stdin:{number}: {line[:60]!r} is not a line of {columns} hexadecimal operands")


def _too_wide(codes: list[int], widths: list[int], number: int) -> Error:
    code, width = next((c, w) for c, w in zip(codes, widths, strict=True) if c >> w)
    return Error(f"stdin:{number}: {code:x} does not fit {width} bits")
