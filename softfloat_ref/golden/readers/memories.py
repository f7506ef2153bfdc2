"""Images of memories: $readmemh text with addresses, .coe of AMD (Xilinx), .mif of Intel (Altera), and Intel .hex as
Quartus writes it, with one word per record. Each word is a row, in the order of the addresses, none of which may be
missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.readers.lines import WordReader
from softfloat_ref.golden.readers.shapes import NumberedLines, Row
from softfloat_ref.golden.readers.words import Misread

Rows = Callable[[WordReader, NumberedLines], Iterator[Row]]

_MIF: Final = re.compile(r"\s*(?:(?:width|depth|address_radix|data_radix)\s*=|content\b|%)", re.IGNORECASE)
_COE: Final = re.compile(r"\s*(?:memory_initialization_(?:radix|vector)\s*=|;)", re.IGNORECASE)
_HEX: Final = re.compile(r":[0-9a-fA-F]{10,}\s*")
_SETTING: Final = re.compile(r"(width|depth|address_radix|data_radix)\s*=\s*(\w+)", re.IGNORECASE)
_ENTRY: Final = re.compile(r"(?:([0-9a-f]+)|\[([0-9a-f]+)\s*\.\.\s*([0-9a-f]+)\])\s*:\s*([-0-9a-f\s]+)", re.IGNORECASE)
_RADIX: Final = {"hex": 16, "bin": 2, "oct": 8, "uns": 10, "dec": 10}
_MAX_WIDTH: Final = 1 << 24
_MAX_WORDS: Final = 1 << 16  # that an entry for several addresses may be


def form(text: str) -> Rows | None:
    """The reader of an image that begins with that line; None if it is none."""
    for pattern, rows in ((_MIF, mif_rows), (_COE, coe_rows), (_HEX, hex_rows)):
        if pattern.match(text):
            return rows
    return memh_rows if text.lstrip().startswith("@") else None


class _Addresses:
    """The addresses of words, which must follow each other."""

    def __init__(self) -> None:
        self._next: int | None = None

    def at(self, address: int, count: int = 1) -> None:
        """Words at an address. Raises Misread if others are missing, or come again."""
        if self._next not in (None, address):
            raise Misread(f"address {address:x} follows {self._next - 1:x}; words must be there from first to last")
        self._next = address + count

    def word(self) -> None:
        """A word at the next address."""
        self._next = (self._next or 0) + 1


def without_block_comments(lines: Iterable[str]) -> Iterator[str]:
    """The lines without /* comments */, which may be several lines."""
    inside = False
    for text in lines:
        if not inside and "/*" not in text:
            yield text
            continue
        parts, at = list[str](), 0
        while at >= 0:
            end = text.find("*/" if inside else "/*", at)
            if not inside:
                parts.append(text[at : end if end >= 0 else len(text)])
            inside ^= end >= 0
            at = end + 2 if end >= 0 else -1
        if any(part.strip() for part in parts):
            yield " ".join(parts)


def memh_rows(reader: WordReader, lines: NumberedLines) -> Iterator[Row]:
    """Words for $readmemh."""
    reader.image, reader.kind = True, "words of a memory ($readmemh)"
    addresses = _Addresses()
    for text in without_block_comments(lines):
        for word in text.partition("//")[0].split():
            if word.startswith("@"):
                digits = word[1:].replace("_", "")
                if not re.fullmatch("[0-9a-fA-F]{1,16}", digits):
                    raise Misread(f"{word[:80]!r} is not an address")
                addresses.at(int(digits, 16), 0)
            else:
                addresses.word()
                yield reader.of_words(word)


def coe_rows(reader: WordReader, lines: NumberedLines) -> Iterator[Row]:
    """A coefficient file."""
    reader.image, reader.kind = True, "a .coe memory image"
    radix, inside = 0, False
    for line in lines:
        text = "" if line.lstrip().startswith(";") else line
        if match := re.match(r"\s*memory_initialization_radix\s*=\s*(\d+)\s*;?", text, re.IGNORECASE):
            radix, text = int(match[1][:4]), text[match.end() :]
        if match := re.match(r"\s*memory_initialization_vector\s*=", text, re.IGNORECASE):
            inside, text = True, text[match.end() :]
        words, end, rest = text.partition(";")
        if (words.strip() and not inside) or rest.strip():
            raise Misread(f"{text.strip()[:80]!r} is not a line of a .coe file")
        if inside and radix not in (2, 16):
            raise Misread(f"memory_initialization_radix = {radix}; 2 and 16 can be read, which say how wide a word is")
        for word in words.replace(",", " ").split():
            yield reader.of_words(word) if radix == 16 else _binary(reader, word)
        if end and inside:
            return


def _binary(reader: WordReader, word: str) -> Row:
    if not re.fullmatch("[01]+", word):
        raise Misread(f"{word[:80]!r} is not binary")
    return reader.of_number(int(word, 2), len(word))


def mif_rows(reader: WordReader, lines: NumberedLines) -> Iterator[Row]:
    """A memory initialization file."""
    reader.image, reader.kind = True, "a .mif memory image"
    settings = {"address_radix": "hex", "data_radix": "hex"}
    addresses, inside = _Addresses(), False
    for statement in _statements(lines):
        if match := _SETTING.fullmatch(statement):
            settings[match[1].lower()] = match[2].lower()
            continue
        if match := re.match(r"content\s+begin\b", statement, re.IGNORECASE):
            inside, statement = True, statement[match.end() :].strip()
        if not inside:
            raise Misread(f"{statement[:80]!r} is not a line of a .mif file")
        if statement.lower() == "end":
            return
        if statement:
            yield from _entry(reader, statement, settings, addresses)


def _statements(lines: Iterable[str]) -> Iterator[str]:
    """What ends in a semicolon, without comments."""
    parts, size, comment = list[str](), 0, False
    for line in lines:
        for i, part in enumerate(line.partition("--")[0].split("%")):
            comment ^= i > 0
            if comment:
                continue
            *ended, rest = part.split(";")
            for text in ended:
                yield "".join([*parts, text]).strip()
                parts, size = [], 0
            parts.append(rest)
            size += len(rest)
        if size > limits.LINE:
            raise Misread("an entry without an end")
    if text := "".join(parts).strip():
        yield text


def _entry(reader: WordReader, text: str, settings: dict[str, str], addresses: _Addresses) -> Iterator[Row]:
    match, width = _ENTRY.fullmatch(text), settings.get("width", "")
    if match is None or not re.fullmatch(r"[0-9]{1,8}", width) or int(width) > _MAX_WIDTH:
        raise Misread(f"{text[:80]!r} is not an entry of a .mif file with WIDTH = {width or 'nothing'}")
    numbers = [_number(x, settings["address_radix"], 64) for x in match.groups()[:3] if x]
    words = [_number(x, settings["data_radix"], int(width)) for x in match[4].split()]
    count = len(words) if len(numbers) == 1 else numbers[1] - numbers[0] + 1
    if not words or not 0 < count <= max(_MAX_WORDS, len(words)):
        raise Misread(f"{text[:80]!r}: {count} addresses")
    addresses.at(numbers[0], count)
    for i in range(count):
        yield reader.of_number(words[i % len(words)], int(width))


def _number(digits: str, radix: str, width: int) -> int:
    try:
        if radix not in _RADIX:
            raise Misread(f"radix {radix[:20]}: choose from {', '.join(_RADIX).upper()}")
        number = int(digits, _RADIX[radix])
    except Error:
        raise
    except ValueError:
        raise Misread(f"{digits[:80]!r} is not a number of radix {radix.upper()}") from None
    if radix == "dec" and -(1 << width) <= 2 * number < 0:
        number += 1 << width
    if number < 0 or number >> width:
        raise Misread(f"{digits[:80]!r} does not fit {width} bits")
    return number


def hex_rows(reader: WordReader, lines: NumberedLines) -> Iterator[Row]:
    """Intel .hex with one word per record, the highest byte first, and addresses of words."""
    reader.image, reader.kind = True, "an Intel .hex memory image"
    addresses, high = _Addresses(), 0
    for text in lines:
        if not text.strip():
            continue
        kind, address, data = _record(text.strip())
        if kind == 1:
            return
        if kind in (2, 4):
            high = int.from_bytes(data, "big") << (4 if kind == 2 else 16)
        elif kind == 0:
            _check_words(lines, address, data)
            addresses.at(high + address)
            yield reader.of_number(int.from_bytes(data, "big"), 8 * len(data))
    raise Misread("no end record: the file was cut")


def _check_words(lines: NumberedLines, address: int, data: bytes) -> None:
    """Raise Misread for addresses of bytes, which do not say which byte of a word comes first."""
    following = next(lines, None)
    if following is None:
        return
    lines.put_back(following)
    kind, other, _ = _record(following.strip()) if following.strip() else (1, 0, b"")
    if kind == 0 and len(data) > 1 and other == address + len(data):
        raise Misread("a .hex file with addresses of bytes, which does not say how they lie in a word; addresses of "
                      "words, one word per record, can be read")  # fmt: skip


def _record(text: str) -> tuple[int, int, bytes]:
    """Kind, address and data of a record."""
    try:
        raw = bytes.fromhex(text[1:]) if text.startswith(":") else b""
    except ValueError:
        raw = b""
    if len(raw) < 5 or raw[0] != len(raw) - 5 or sum(raw) & 0xFF:
        raise Misread(f"{text[:80]!r} is not a record of a .hex file, or its checksum is wrong")
    if raw[3] not in range(6):
        raise Misread(f"{text[:80]!r}: records of type {raw[3]} are unknown")
    return raw[3], int.from_bytes(raw[1:3], "big"), raw[4:-1]
