"""Inputs from valid examples, each by its number: the same number gives the same bytes, everywhere."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final

Mutator = Callable[[random.Random, bytes], bytes]
Pick = Callable[[], tuple[Any, Any]]  # a holder and a key of a tree

NUMBERS: Final = (0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 4096, 4097, 65535, 65536, 10**6)
HUGE: Final = (2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**12, 10**18, 10**30, 10**400)
TOKENS: Final = (
    *("../../outside.toml:a", "../outside.toml", "/etc/passwd", "outside.toml:a", "/dev/zero", "C:\\x", "~", "."),
    *("inf", "-inf", "nan", "true", "false", "null", "None", "1e999", "-0", "0x", "1e-5000", "1/0", "#", "//", "--"),
    *(
        "\x00",
        "\ufeff",
        "\u2028",
        "\r",
        "\n",
        "\t",
        "é",
        "１",
        "\U0001f600",
        "'",
        '"',
        '"""',
        "\\",
        "\\u0000",
        "%s",
        "{}",
    ),
    *("{", "}", "[", "]", "[[", "]]", "(", ")", ":", ",", "=", "@", "|", "->", "*", "?", "__import__('os')"),
    *("!!python/object/apply:os.system", "cos\nsystem\n(S'x'\ntR.", "$(x)", "`x`"),
)
LONG: Final = ("9" * 5000, "(" * 3000, "[" * 30_000, "{" * 3000, "a" * 70_000, "f" * 300, "-" * 300, "1," * 3000)
_WORD: Final = re.compile(rb"(?<![\w.])[A-Za-z_][\w.]*")
_NUMBER: Final = re.compile(rb"(?<!\d)-?\d+")
_RANDOM: Final = 0.04  # of the inputs are no mutated example
_STRUCTURES: Final = 0.2


def make(
    number: int,
    examples: Sequence[bytes],
    words: Sequence[str],
    ways: tuple[Mutator | None, Mutator | None],
    salt: int,
) -> bytes:
    """The input of that number. ways: a mutator that knows the kind of file, used for half of the inputs, and one that
    makes a structure of its own, used for a fifth."""
    rng = random.Random(number << 32 | salt)
    if rng.random() < _RANDOM:
        return _from_nothing(rng, words)
    data = rng.choice(examples)
    mutator, structure = ways
    if structure is not None and rng.random() < _STRUCTURES:
        return structure(rng, data)
    if mutator is not None and rng.random() < 0.5:
        return mutator(rng, data)
    for _ in range(_steps(rng)):
        data = rng.choice(BYTES)(rng, data, examples, words)
    return data


def _steps(rng: random.Random) -> int:
    """Mostly one change or two: most of the input stays valid."""
    count = 1
    while count < 12 and rng.random() < 0.45:
        count += 1
    return count


def _from_nothing(rng: random.Random, words: Sequence[str]) -> bytes:
    if rng.random() < 0.3:
        return rng.randbytes(rng.choice((0, 1, 2, 7, 64, 300)))
    parts = (_token(rng, words) if rng.random() < 0.8 else str(_number(rng)) for _ in range(rng.randrange(1, 20)))
    return rng.choice(("", " ", "\n", ",", "=")).join(parts).encode("utf-8", "surrogatepass")


def _number(rng: random.Random) -> int:
    number = rng.choice(NUMBERS if rng.random() < 0.8 else HUGE)
    return -number if rng.random() < 0.15 else number


def _token(rng: random.Random, words: Sequence[str]) -> str:
    if rng.random() < 0.01:
        return rng.choice(LONG)
    return rng.choice(words) if words and rng.random() < 0.6 else rng.choice(TOKENS)


def _span(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 2, 4, 8, 30, 200)))


# -- changes of bytes --------------------------------------------------------------------------------------------------


def _flip(rng: random.Random, data: bytes, *_: Any) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _put(rng: random.Random, data: bytes, *_: Any) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return (
        data[:at]
        + bytes([rng.choice((0, 9, 10, 13, 32, 34, 39, 48, 92, 127, 128, 255, rng.randrange(256)))])
        + data[at + 1 :]
    )


def _delete(rng: random.Random, data: bytes, *_: Any) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def _repeat(rng: random.Random, data: bytes, *_: Any) -> bytes:
    start, end = _span(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 50)) + data[end:]


def _cut(rng: random.Random, data: bytes, *_: Any) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert(rng: random.Random, data: bytes, _: Any, words: Sequence[str]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + _token(rng, words).encode("utf-8", "surrogatepass") + data[at:]


def _splice(rng: random.Random, data: bytes, examples: Sequence[bytes], _: Any) -> bytes:
    other = rng.choice(examples)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _replace_word(rng: random.Random, data: bytes, _: Any, words: Sequence[str]) -> bytes:
    return _replaced(rng, data, _WORD, _token(rng, words).encode("utf-8", "surrogatepass"))


def _replace_number(rng: random.Random, data: bytes, *_: Any) -> bytes:
    return _replaced(rng, data, _NUMBER, str(_number(rng)).encode())


def _same_numbers(rng: random.Random, data: bytes, *_: Any) -> bytes:
    """One number for another wherever it stands, so that what counts the same thing still agrees."""
    places = _found(rng, data, _NUMBER)
    if places is None:
        return data
    old, new = places[0], str(_number(rng)).encode()
    return _NUMBER.sub(lambda match: new if match[0] == old else match[0], data)


def _replaced(rng: random.Random, data: bytes, pattern: re.Pattern[bytes], new: bytes) -> bytes:
    match = _found(rng, data, pattern)
    if match is None:
        return data + new
    return data[: match.start()] + new + data[match.end() :]


def _found(rng: random.Random, data: bytes, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
    """The next match from a random place on; so that not all of them need be found first."""
    return pattern.search(data, rng.randrange(len(data) + 1)) or pattern.search(data)


def _swap_lines(rng: random.Random, data: bytes, *_: Any) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def _drop_line(rng: random.Random, data: bytes, *_: Any) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        del lines[rng.randrange(len(lines))]
    return b"".join(lines)


BYTES: Final = (
    *(_flip, _put, _delete, _repeat, _cut, _insert, _splice, _swap_lines, _drop_line),
    *(_replace_word, _replace_word, _replace_number, _replace_number, _same_numbers),
)


# -- JSON --------------------------------------------------------------------------------------------------------------

_VALUES: Final = (None, True, False, 0, -1, 1, 1.5, "", "x", [], {}, [[]], ["x"], {"like": "outside.toml:a"}, 1e300)


def json_tree(rng: random.Random, data: bytes) -> bytes:
    """JSON with some values, keys and whole parts changed; the text stays JSON."""
    value, paths = json.loads(data), _paths(data)
    if not paths:
        return data
    pick: Pick = lambda: _follow(value, rng.choice(paths))  # noqa: E731
    for step in range(_steps(rng)):
        if step:
            places = _places(value)  # what the first change left and brought
            if not places:
                break
            pick = functools.partial(rng.choice, places)
        _change(rng, *pick(), pick)
    text = json.dumps(value)
    return text.replace('"Infinity"', "Infinity").encode()


@functools.lru_cache
def _paths(data: bytes) -> list[tuple[Any, ...]]:
    """The keys that lead to every place of an example's tree."""
    paths: list[tuple[Any, ...]] = []
    todo: list[tuple[Any, tuple[Any, ...]]] = [(json.loads(data), ())]
    while todo:
        holder, path = todo.pop()
        if isinstance(holder, (dict, list)):
            inner = holder.items() if isinstance(holder, dict) else enumerate(holder)
            todo += [(x, (*path, key)) for key, x in inner]
            paths += [(*path, key) for key in (holder if isinstance(holder, dict) else range(len(holder)))]
    return paths


def _follow(value: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    """Holder and key at the end of a path."""
    for key in path[:-1]:
        value = value[key]
    return value, path[-1]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every holder and key of a tree."""
    places, todo = list[tuple[Any, Any]](), [value]
    while todo:
        holder = todo.pop()
        inner = holder.values() if isinstance(holder, dict) else holder
        places += [(holder, key) for key in (holder if isinstance(holder, dict) else range(len(holder)))]
        todo += [x for x in inner if isinstance(x, (dict, list))]
    return places


def _change(rng: random.Random, holder: Any, key: Any, pick: Pick) -> None:
    other, at = pick()
    match rng.randrange(7):
        case 0:
            del holder[key]
        case 1:
            holder[key] = _copy(other.get(at) if isinstance(other, dict) else other[at] if at < len(other) else None)
        case 2:
            holder[key] = _number(rng)
        case 3:
            holder[key] = rng.choice(TOKENS)
        case 4 if isinstance(holder, dict):
            holder[rng.choice((*TOKENS, "like", "name", "count", "seed", "op"))] = _copy(holder[key])
        case 5 if isinstance(holder, list):
            holder[key:key] = [_copy(holder[key])] * rng.choice((1, 2, 300))
        case _:
            holder[key] = _copy(rng.choice(_VALUES))


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


# -- archives ----------------------------------------------------------------------------------------------------------


def npz_members(rng: random.Random, data: bytes) -> bytes:
    """An archive whose members are changed and whose sums are right."""
    members = list(_members(data))
    for _ in range(_steps(rng)):
        _change_member(rng, members)
    return archived(dict(members), deflated=rng.random() > 0.8)


def archived(members: dict[str, bytes], deflated: bool = False) -> bytes:
    """A zip file of them, written here: the standard library's takes longer than what is fuzzed."""
    body, index = bytearray(), bytearray()
    for name, content in members.items():
        packed = zlib.compress(content, 1, -15) if deflated else content
        start, title = len(body), name.encode()
        common = struct.pack(
            "<5H3L2H",
            *(20, 0x800, 8 if deflated else 0, 0, 33, zlib.crc32(content)),
            *(len(packed), len(content), len(title), 0),
        )
        body += b"PK\3\4" + common + title + packed
        index += b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<3H2L", 0, 0, 0, 0, start) + title
    counts = struct.pack("<4H2LH", 0, 0, len(members), len(members), len(index), len(body), 0)
    return bytes(body + index + b"PK\5\6" + counts)


@functools.lru_cache
def _members(data: bytes) -> tuple[tuple[str, bytes], ...]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return tuple((name, archive.read(name)) for name in archive.namelist())


def _change_member(rng: random.Random, members: list[tuple[str, bytes]]) -> None:
    if not members:
        return
    at = rng.randrange(len(members))
    name, content = members[at]
    match rng.randrange(8):
        case 0:
            del members[at]
        case 1:
            members[at] = rng.choice(("x.npy", "../x.npy", "/x.npy", "", name + "/", "codes.npy")), content
        case 2:
            members.append((name, members[rng.randrange(len(members))][1]))
        case 3 | 4 if name in ("definition.npy", "meta.npy"):
            head = content.find(b"\n") + 1
            with contextlib.suppress(ValueError):  # it was changed before
                members[at] = name, with_shape(json_tree(rng, content[head:]))
        case _:
            members[at] = name, npy_header(rng, content)


def npy_header(rng: random.Random, data: bytes) -> bytes:
    """An array with another header, whose length is right, or with other data."""
    if len(data) < 12 or rng.random() < 0.2:
        return rng.choice(BYTES)(rng, data, [data], TOKENS)
    size = int.from_bytes(data[8:10], "little")
    header, rest = data[10 : 10 + size], data[10 + size :]
    match rng.randrange(4):
        case 0:
            kind = rng.choice(
                ("|O", "O8", "<f2", "<f8", "<c8", "<U1", "|S1", "|V3", "<M8[s]", "<i8", ">u4", "<u3", "[('a', '<f4')]")
            )
            header = re.sub(rb"'descr': '[^']*'", b"'descr': '" + kind.encode() + b"'", header)
        case 1:
            shape = ",".join(str(_number(rng)) for _ in range(rng.choice((0, 1, 2, 3, 40))))
            header = re.sub(rb"\([^)]*\)", f"({shape},)".encode(), header)
        case _:
            for _ in range(_steps(rng)):
                header = rng.choice(BYTES)(rng, header, [header], TOKENS)
    version = bytes([rng.choice((1, 1, 1, 1, 2, 3, 9)), 0])
    length = len(header).to_bytes(4, "little")[: 2 if version[0] == 1 else 4]
    return data[:6] + version + length + header + rest


def with_shape(text: bytes) -> bytes:
    """Bytes as a member of an archive."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(text)},), }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + text
