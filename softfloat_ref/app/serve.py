"""Operand lines on stdin, for `eval -` and `eval --serve`; the latter is one process that predicts for any unit.

Every line that is not blank gets exactly one line back, at once; docs/dpi.md describes the lines:

    open OP [ROUNDING|POLICY] --fmt F [...]     ->  context ID a=16 b=16 ... result=16    (the options of eval)
    ID OPERANDS... [RANDOM BITS]                ->  RESULT... [FLAGS]
    library ID                                  ->  library PATH.so    (of a C function `unit`), or process WHY NOT
    anything else                               ->  error WHAT IS WRONG
"""

from __future__ import annotations

import itertools
import os
import select
import shlex
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import click

from softfloat_ref.app.requests import UnitRequest, request_options
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.readers import OPERANDS, LineReader
from softfloat_ref.oracle.literals import MAX_LINE
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS
from softfloat_ref.oracle.sources import RandomSource
from softfloat_ref.units import Field, Unit

_POLL_S: Final = 0.0003
_MAX_ERROR: Final = 400
UNIT_DEFINITION: Final = "unit"  # instead of an operation: --fmt is the definition of a unit, as a UVM package has it
CHUNK: Final = 1 << 16  # bytes read at a time
_WORDS_AT_ONCE: Final = 1024  # words drawn at a time from a random source

Answer = Callable[[bytes], bytes]  # from the operands' text to a line


def blocks(read: Callable[[], bytes], what: str) -> Iterator[bytes]:
    """All whole lines that have arrived. Raises Error for a line that is too long; what: a line's contents."""
    rest = b""
    while chunk := read():
        block, newline, rest = (rest + chunk).rpartition(b"\n")
        if newline:
            yield block + newline
        if len(rest) > MAX_LINE:
            raise Error(f"stdin: a line of more than {MAX_LINE} characters; give one {what} per line")
    if rest.strip():
        yield rest


class Words:
    """The random words of a source, in order; none without a source, since each line has its own."""

    def __init__(self, unit: Unit, source: RandomSource | None) -> None:
        field = unit.random_field
        self.source, self.position = source, 0
        self._width, self._count = (0, 0) if source is None or field is None else (field.width, field.lanes)
        self._known: list[int] = []
        self._start = 0

    def next(self) -> list[int]:
        if self.source is None or not self._count:
            return []  # of a unit that takes none
        at = self.position - self._start
        if at + self._count > len(self._known):
            self._start, at = self.position, 0
            self._known = self.source.bits(self._width, self._start, max(_WORDS_AT_ONCE, self._count))
        self.position += self._count
        return self._known[at : at + self._count]


def given_fields(unit: Unit, source: RandomSource | None) -> list[Field]:
    """The fields of a line; without random bits if a random source gives them."""
    return [f for f in unit.inputs if source is None or f.role != "random"]


def answerer(unit: Unit, words: Words, echo: bool = False, base: str | None = None) -> tuple[LineReader, Answer]:
    """The reader of lines, and the function that answers one with the outputs; with `echo`, with a TestFloat line: the
    inputs first, all in upper case. It raises Error for a malformed line. base: of plain digits."""
    reader = LineReader(unit, OPERANDS, base, given_fields(unit, words.source), has_option=echo)
    fields = [f for f in (unit.fields if echo else unit.outputs) for _ in range(f.lanes)]
    widths = [column.width for column in reader.columns[: reader.width]]
    template = b" ".join(b"%%0%d%c" % (f.digits, b"X" if echo else b"x") for f in fields) + b"\n"

    def answer(text: bytes) -> bytes:
        row = reader.row(text.decode("ascii", "replace"))
        if row is None or row.inputs is None:
            if echo:
                return b""
            raise reader.misshapen(text.decode("ascii", "replace"), 0)
        codes = [*row.inputs]
        for code, width in zip(codes, widths, strict=True):
            if code >> width:
                raise Error(f"{code:x} does not fit {width} bits")
        if words.source is not None:
            codes += words.next()
        outputs = unit.answer(codes)
        return template % ((*codes, *outputs) if echo else tuple(outputs))

    return reader, answer


def excerpt(text: bytes) -> str:
    """The start of a line, for errors."""
    return repr(text[:60].decode("ascii", "replace"))


def serve() -> None:
    """Answer the lines on stdin until it ends."""
    answer, look = Server().answer, select.poll()
    look.register(0, select.POLLIN)
    for block in blocks(partial(_read, look), "request"):
        _write(b"".join([answer(x) for line in block.split(b"\n") if (x := line.strip())]))


def _read(look: select.poll) -> bytes:
    """The next bytes. Polls for a moment before it sleeps: waking up takes several times as long as an answer."""
    end = time.perf_counter() + _POLL_S
    while not look.poll(0) and time.perf_counter() < end:
        pass
    return os.read(0, CHUNK)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


class Server:
    """The open contexts, and the answers to lines."""

    def __init__(self) -> None:
        self._contexts: dict[bytes, Answer] = {}
        self._units: dict[bytes, tuple[Unit, RandomSource | None]] = {}

    def answer(self, line: bytes) -> bytes:
        head, *rest = line.split(None, 1)
        predict = self._contexts.get(head)
        try:
            if predict is not None:
                return predict(rest[0] if rest else b"")
            if head == b"library" and rest and rest[0] in self._units:
                return _library(*self._units[rest[0]])
            return self._open(line)
        except Error as e:
            return _error(str(e))
        except click.ClickException as e:
            return _error(e.format_message())

    def _open(self, line: bytes) -> bytes:
        words = _words(line)
        if words[:1] != ["open"]:
            contexts = f"contexts 0 to {len(self._contexts) - 1} are open" if self._contexts else "no context is open"
            raise Error(f"{excerpt(line)} begins neither with open nor with a context's number ({contexts})")
        arguments = _named(words[1:])
        with _opened.make_context("open", arguments) as ctx:
            unit, source = _opened.invoke(ctx)
        number = b"%d" % len(self._contexts)
        self._contexts[number] = answerer(unit, Words(unit, source))[1]
        self._units[number] = unit, source
        fields = " ".join(map(_field, (*given_fields(unit, source), *unit.results)))
        return b"context %s %s\n" % (number, fields.encode())


def _library(unit: Unit, source: RandomSource | None) -> bytes:
    """Where a unit's C function is; the result, and the flags, are those of the answers to lines."""
    from softfloat_ref.golden.c_units import unit_library

    try:
        if source is not None:
            raise Error("the random bits come from a source")
        return b"library %s\n" % os.fsencode(unit_library(unit))
    except Error as e:
        return b"process " + one_line(str(e))


def _field(f: Field) -> str:
    """A field in the answer to `open`: `a=16`, or with several codes `elements=8x32`."""
    name = "random" if f.role == "random" else f.name
    return f"{name}={f.width}" + (f"x{f.lanes}" if f.lanes > 1 else "")


def _words(line: bytes) -> list[str]:
    try:
        return shlex.split(line.decode("utf-8", "replace"))
    except ValueError as e:
        raise Error(f"{excerpt(line)}: {str(e).lower()}") from None


def _named(words: list[str]) -> list[str]:
    """A bare rounding or policy after the operation is short for its option: `open fma rup --fmt fp16`."""
    arguments = words[:1]
    for before, word in itertools.pairwise(words):
        is_value = before.startswith("-") and "=" not in before
        if word in (*ROUNDINGS, *POLICIES) and not is_value:
            arguments.append("--round" if word in ROUNDINGS else "--policy")
        arguments.append(word)
    return arguments


@click.command("open", add_help_option=False)
@click.argument("op")
@request_options
def _opened(request: UnitRequest, op: str) -> tuple[Unit, RandomSource | None]:
    """The unit that an `open` line describes, and its random source, unless the random bits come from the lines."""
    if op != UNIT_DEFINITION:
        return request.stream(op)
    request.refuse("a unit's definition holds its policy and formats", ("fmt",))
    from softfloat_ref.rtl.uvm import unpacked_unit

    return unpacked_unit(request.fmt or ""), None


def _error(message: str) -> bytes:
    return b"error " + one_line(message)


def one_line(message: str) -> bytes:
    """The start of a message, as the end of a line."""
    return b"%s\n" % " ".join(message.split())[:_MAX_ERROR].encode("ascii", "backslashreplace")
