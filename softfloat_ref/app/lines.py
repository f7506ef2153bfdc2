"""Operand lines on stdin, for `eval -` and `eval --serve`: whole lines as they arrive, and the function that answers
one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from softfloat_ref.base.errors import Error, counted
from softfloat_ref.oracle.literals import MAX_LINE, parse_code
from softfloat_ref.oracle.sources import RandomSource
from softfloat_ref.units import Field, Unit

Answer = Callable[[bytes], bytes]  # from the operands' text to a line

CHUNK: Final = 1 << 16  # bytes read at a time
_WORDS_AT_ONCE: Final = 1024  # words drawn at a time from a random source
_CODE: Final = rb"(?:0[xX])?[0-9a-fA-F]{1,80}"


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


def answerer(unit: Unit, words: Words, echo: bool = False) -> Answer:
    """The function that answers a line with the outputs; with `echo`, with a TestFloat line: the inputs first, all in
    upper case. It raises Error for a malformed line."""
    parse = _parser([f.width for f in given_fields(unit, words.source) for _ in range(f.lanes)])
    fields = [f for f in (unit.fields if echo else unit.outputs) for _ in range(f.lanes)]
    template = b" ".join(b"%%0%d%c" % (f.digits, b"X" if echo else b"x") for f in fields) + b"\n"

    def answer(text: bytes) -> bytes:
        codes = parse(text)
        if words.source is not None:
            codes += words.next()
        outputs = unit.answer(codes)
        return template % ((*codes, *outputs) if echo else tuple(outputs))

    return answer


def _parser(widths: Sequence[int]) -> Callable[[bytes], list[int]]:
    """The function that reads a line's codes. It raises Error."""
    match = re.compile(rb"%b(?:\s+%b){%d}" % (_CODE, _CODE, len(widths) - 1)).fullmatch

    def parse(text: bytes) -> list[int]:
        if match(text) is None:
            raise _misread(text, len(widths))
        codes = [int(x, 16) for x in text.split()]
        for code, width in zip(codes, widths, strict=True):
            if code >> width:
                raise Error(f"{code:x} does not fit {width} bits")
        return codes

    return parse


def _misread(text: bytes, count: int) -> Error:
    words = text.split()
    if len(words) != count:
        needed = f"{counted(count, 'operand')} {'is' if count == 1 else 'are'} needed"
        return Error(f"{counted(len(words), 'field')}, but {needed}: {excerpt(text)}")
    for word in words:
        parse_code(word.decode("ascii", "replace"))
    return Error(f"{excerpt(text)} is not a line of {count} hexadecimal operands")


def excerpt(text: bytes) -> str:
    """The start of a line, for errors."""
    return repr(text[:60].decode("ascii", "replace"))
