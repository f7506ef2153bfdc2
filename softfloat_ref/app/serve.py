"""`eval --serve`: one process predicts for any operation, formats and policy, a line at a time.

Every line that is not blank gets exactly one line back, at once; docs/dpi.md describes them:

    open OP [ROUNDING|POLICY] --fmt F [...]     ->  context ID a=16 b=16 ... result=16    (eval's own options)
    ID OPERANDS... [RANDOM BITS]                ->  RESULT FLAGS
    anything else                               ->  error WHAT IS WRONG
"""

from __future__ import annotations

import itertools
import os
import re
import select
import shlex
import time
from collections.abc import Callable, Iterator
from typing import Final

import click

from softfloat_ref.app.options import Choices, operand_formats, policy_options
from softfloat_ref.errors import Error
from softfloat_ref.literals import parse_code
from softfloat_ref.ops import Signature, evaluator, get_operation, signature
from softfloat_ref.policies import POLICIES, ROUNDINGS

Predictor = Callable[[bytes], bytes]  # the operands' text to the answer's line

_CHUNK: Final = 1 << 16
_LOOK_S: Final = 0.0003
_MAX_LINE: Final = 1 << 16
_MAX_ERROR: Final = 400
_WORDS: Final = 1024  # drawn at a time from a source of random bits
_CODE: Final = rb"(?:0[xX])?([0-9a-fA-F]{1,80})"


def serve() -> None:
    """Answer the lines on stdin until it ends."""
    answer = Server().answer
    for lines in _chunks():
        _write(b"".join([answer(line) for line in lines]))


def _chunks() -> Iterator[list[bytes]]:
    """Whole lines, as many as have come; blank ones left out."""
    rest = b""
    look = select.poll()
    look.register(0, select.POLLIN)
    while chunk := _read(look):
        *lines, rest = (rest + chunk).split(b"\n")
        yield [x for line in lines if (x := line.strip())]
        if len(rest) > _MAX_LINE:
            raise Error(f"stdin: a line of more than {_MAX_LINE} characters; one request a line")
    if rest := rest.strip():
        yield [rest]


def _read(look: select.poll) -> bytes:
    """The next bytes. Looks for a moment before it sleeps: waking up takes several times as long as an answer."""
    end = time.perf_counter() + _LOOK_S
    while not look.poll(0) and time.perf_counter() < end:
        pass
    return os.read(0, _CHUNK)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


class Server:
    """The contexts that were opened, and the answer to a line."""

    def __init__(self) -> None:
        self._contexts: dict[bytes, Predictor] = {}

    def answer(self, line: bytes) -> bytes:
        """One line for one line."""
        head, *rest = line.split(None, 1)
        predict = self._contexts.get(head)
        try:
            return self._open(line) if predict is None else predict(rest[0] if rest else b"")
        except Error as e:
            return _error(str(e))
        except click.ClickException as e:
            return _error(e.format_message())

    def _open(self, line: bytes) -> bytes:
        words = _words(line)
        if words[:1] != ["open"]:
            known = f"contexts 0 to {len(self._contexts) - 1} are open" if self._contexts else "no context is open"
            raise Error(f"{_shown(line)} begins neither with open nor with a context's number ({known})")
        arguments = _named(words[1:])
        with _opened.make_context("open", arguments) as ctx:
            sig, choices = _opened.invoke(ctx)
        number = b"%d" % len(self._contexts)
        self._contexts[number] = predictor(sig, choices)
        fields = " ".join(f"{name}={width}" for name, width in [*_inputs(sig, choices), ("result", sig.out.width)])
        return b"context %s %s\n" % (number, fields.encode())


def _words(line: bytes) -> list[str]:
    try:
        return shlex.split(line.decode("utf-8", "replace"))
    except ValueError as e:
        raise Error(f"{_shown(line)}: {str(e).lower()}") from None


def _named(words: list[str]) -> list[str]:
    """A bare rounding or policy after the operation is short for its option: `open fma rup --fmt fp16`."""
    found = words[:1]
    for before, word in itertools.pairwise(words):
        is_value = before.startswith("-") and "=" not in before
        if word in (*ROUNDINGS, *POLICIES) and not is_value:
            found.append("--round" if word in ROUNDINGS else "--policy")
        found.append(word)
    return found


@click.command("open", add_help_option=False)
@click.option("--fmt", required=True)
@click.option("--out", default=None)
@click.argument("op")
@policy_options
def _opened(choices: Choices, seed: int | None, fmt: str, out: str | None, op: str) -> tuple[Signature, Choices]:
    """What an `open` line asks for."""
    if choices.random_bits is not None:
        raise Error("--random-bits: here they are each line's last operand, unless a random source is named")
    operation = get_operation(op)
    sig = signature(operation, operand_formats(fmt, operation.arity, operation.name), out)
    if operation.result == "float" and sig.out.has_nan:
        choices.policy.nan_rule.code(sig.out)  # a rule that does not fit the format is refused now, not at some NaN
    return sig, choices


def _inputs(sig: Signature, choices: Choices) -> list[tuple[str, int]]:
    """Names and widths of the fields of a request."""
    fields = [(name, f.width) for name, f in zip("abcdefghi", sig.formats, strict=False)]
    n = choices.policy.random_count
    return [*fields, ("random", n)] if n and choices.source is None else fields


def predictor(sig: Signature, choices: Choices) -> Predictor:
    """The function that answers a context's lines. Raises Error for a line that is wrong."""
    run, arity = evaluator(sig, choices.policy), len(sig.formats)
    inputs = _inputs(sig, choices)
    widths = [width for _, width in inputs]
    match = re.compile(rb"\s+".join([_CODE] * len(inputs))).fullmatch
    template = b"%%0%dx %%02x\n" % sig.out.digits
    drawn = _drawn(choices)
    has_random = len(inputs) > arity

    def predict(text: bytes) -> bytes:
        found = match(text)
        if found is None:
            raise _misread(text, len(inputs))
        codes = [int(x, 16) for x in found.groups()]
        for code, width in zip(codes, widths, strict=True):
            if code >> width:
                raise Error(f"{code:x} does not fit {width} bits")
        random_bits = codes.pop() if has_random else drawn()
        return template % run(codes, random_bits)

    return predict


def _drawn(choices: Choices) -> Callable[[], int]:
    """The next random bits of the context's source; 0 where none are needed."""
    source, n = choices.source, choices.policy.random_count
    if source is None:
        return lambda: 0
    starts = itertools.count(0, _WORDS)
    return itertools.chain.from_iterable(source.bits(n, start, _WORDS) for start in starts).__next__


def _misread(text: bytes, count: int) -> Error:
    words = text.split()
    if len(words) != count:
        return Error(f"{len(words)} fields, but {count} operands are needed: {_shown(text)}")
    for word in words:
        parse_code(word.decode("ascii", "replace"))
    return Error(f"{_shown(text)} is no line of {count} hexadecimal operands")


def _shown(text: bytes) -> str:
    return repr(text[:60].decode("ascii", "replace"))


def _error(message: str) -> bytes:
    one_line = " ".join(message.split())
    return b"error %s\n" % one_line[:_MAX_ERROR].encode("ascii", "backslashreplace")
