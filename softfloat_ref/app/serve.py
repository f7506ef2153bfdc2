"""`eval --serve`: one process that predicts for any unit, line by line.

Every line that is not blank gets exactly one line back, at once; docs/dpi.md describes the lines:

    open OP [ROUNDING|POLICY] --fmt F [...]     ->  context ID a=16 b=16 ... result=16    (the options of eval)
    ID OPERANDS... [RANDOM BITS]                ->  RESULT... [FLAGS]
    anything else                               ->  error WHAT IS WRONG
"""

from __future__ import annotations

import itertools
import os
import select
import shlex
import time
from functools import partial
from typing import Final

import click

from softfloat_ref.app.lines import CHUNK, Answer, Words, answerer, blocks, given_fields, shown
from softfloat_ref.app.requests import Request, request_options
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.policies import POLICIES, ROUNDINGS
from softfloat_ref.oracle.sources import RandomSource
from softfloat_ref.units import Field, Unit

_LOOK_S: Final = 0.0003
_MAX_ERROR: Final = 400
DEFINED: Final = "unit"  # instead of an operation: --fmt is the definition of a unit, as a UVM package has it


def serve() -> None:
    """Answer the lines on stdin until it ends."""
    answer, look = Server().answer, select.poll()
    look.register(0, select.POLLIN)
    for block in blocks(partial(_read, look), "request"):
        _write(b"".join([answer(x) for line in block.split(b"\n") if (x := line.strip())]))


def _read(look: select.poll) -> bytes:
    """The next bytes. Polls for a moment before it sleeps: waking up takes several times as long as an answer."""
    end = time.perf_counter() + _LOOK_S
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

    def answer(self, line: bytes) -> bytes:
        """The answer to one line."""
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
            raise Error(f"{shown(line)} begins neither with open nor with a context's number ({known})")
        arguments = _named(words[1:])
        with _opened.make_context("open", arguments) as ctx:
            unit, source = _opened.invoke(ctx)
        number = b"%d" % len(self._contexts)
        self._contexts[number] = answerer(unit, Words(unit, source))
        fields = " ".join(map(_field, (*given_fields(unit, source), *unit.results)))
        return b"context %s %s\n" % (number, fields.encode())


def _field(f: Field) -> str:
    """A field in the answer to `open`: `a=16`, or with several codes `elements=8x32`."""
    name = "random" if f.role == "random" else f.name
    return f"{name}={f.width}" + (f"x{f.lanes}" if f.lanes > 1 else "")


def _words(line: bytes) -> list[str]:
    try:
        return shlex.split(line.decode("utf-8", "replace"))
    except ValueError as e:
        raise Error(f"{shown(line)}: {str(e).lower()}") from None


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
@click.argument("op")
@request_options
def _opened(request: Request, op: str) -> tuple[Unit, RandomSource | None]:
    """The unit that an `open` line describes, and its random source, unless the random bits come from the lines."""
    if op != DEFINED:
        return request.stream(op)
    request.refuse("a unit's definition holds its policy and formats", ("fmt",))
    from softfloat_ref.rtl.uvm import unpacked_unit

    return unpacked_unit(request.fmt or ""), None


def _error(message: str) -> bytes:
    one_line = " ".join(message.split())
    return b"error %s\n" % one_line[:_MAX_ERROR].encode("ascii", "backslashreplace")
