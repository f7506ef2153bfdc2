"""Inputs made from nothing but a structure: nested, shared, repeated, with sizes that they claim and do not have. All
are small: what takes long of them would take without end of larger ones."""

from __future__ import annotations

import io
import json
import pickle
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from fuzz.mutate import archived

Generator = Callable[[random.Random, bytes], bytes]  # from an example
COUNTS: Final = (1, 2, 20, 63, 64, 65, 200, 1000, 5000, 20_000)
SIZES: Final = (0, 1, 9, 255, 65_535, 65_536, 10_001, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
HIDDEN: Final = ("\x1b[31m", "a\nb", "\x00", "\u202e", "\u2028", "\ud800", "\x7f", "\x9b", "é", "\\x1b")


def _count(rng: random.Random, limit: int = 20_000) -> int:
    return min(rng.choice(COUNTS), limit)


def _picked(rng: random.Random, choices: Sequence[Callable[[], Any]]) -> Any:
    return rng.choice(choices)()


# -- TOML --------------------------------------------------------------------------------------------------------------


def toml(rng: random.Random, example: bytes) -> bytes:
    """A few lines, before, in or after an example."""
    n = _count(rng)
    hidden = json.dumps(rng.choice(HIDDEN))
    key = rng.choice(("a", '"a"', "'a'", '""', "a ", "-", "1"))
    text: str = _picked(
        rng,
        (
            lambda: ".".join([key] * n) + " = 1\n",
            lambda: "[" + ".".join([key] * n) + "]\n",
            lambda: "[[" + ".".join([key] * n) + "]]\n",
            lambda: "a = {" + ".".join([key] * n) + " = 1}\n",
            lambda: "\n".join(".".join([f"k{i}", *["a"] * 60]) + " = 1" for i in range(min(n, 300))) + "\n",
            lambda: "a = " + "[" * n + "]" * n + "\n",
            lambda: "a = " + "{b = " * n + "1" + "}" * n + "\n",
            lambda: f"a = [{'[], ' * n}]\n",
            lambda: f"a = [{'{}, ' * n}]\n",
            lambda: "[[a]]\n" * n,
            lambda: "".join(f"[a{i}]\n" for i in range(n)),
            lambda: "".join(f"a{i} = 1\n" for i in range(n)),
            lambda: f"a = 0x{'f' * n}\n",
            lambda: f"a = {'9' * n}\n",
            lambda: f"a = {'9' * n}.5e{'9' * min(n, 20)}\n",
            lambda: 'a = "' + "\\u0041" * n + '"\n',
            lambda: 'a = """' + '\\"""' * n + '"""\n',
            lambda: '"""' + '\\"""' * n + "\\",
            lambda: "a = '''" + "''" * n + "\n",
            lambda: f"{hidden} = 1\na = {hidden}\n",
            lambda: f"[{hidden}]\nlike = {hidden}\n",
            lambda: "a = 1\n" * 2,
            lambda: "a = [1979-05-27, 07:32:00, 1979-05-27T07:32:00Z, inf, nan]\n",
            lambda: "#" + "." * n + "\n",
        ),
    )
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.5:  # in place of a value of the example's, so that a reader is given it
        lines = example.splitlines(keepends=True)
        places = [i for i, line in enumerate(lines) if b" = " in line]
        if places and b" = " in data:
            at = rng.choice(places)
            lines[at] = lines[at].split(b" = ")[0] + b" = " + data.partition(b" = ")[2]
        return b"".join(lines)
    return data + example if rng.random() < 0.5 else example + b"\n" + data


# -- JSON --------------------------------------------------------------------------------------------------------------


def json_text(rng: random.Random, example: bytes) -> bytes:
    """A value of an example replaced, by its text."""
    n = _count(rng)
    hidden = json.dumps(rng.choice(HIDDEN))
    new: str = _picked(
        rng,
        (
            lambda: "[" * n + "]" * n,
            lambda: '{"a":' * n + "1" + "}" * n,
            lambda: "[" + ",".join(["[]"] * n) + "]",
            lambda: "[" + ",".join(["{}"] * n) + "]",
            lambda: "{" + ",".join(f'"a{i}":1' for i in range(n)) + "}",
            lambda: '{"a":1,"a":2}',
            lambda: "9" * n,
            lambda: f"{'9' * n}.5e{'9' * min(n, 20)}",
            lambda: "1" + "0" * 400,
            lambda: hidden,
            lambda: f"{{{hidden}: {hidden}}}",
            lambda: '"' + "\\u0041" * n + '"',
            lambda: "NaN",
            lambda: "-Infinity",
        ),
    )
    text = example.decode("utf-8", "surrogateescape")
    places = [i for i, c in enumerate(text) if c in ",]}" and i and text[i - 1] in '"0123456789el']
    if not places or rng.random() < 0.1:
        return new.encode("utf-8", "surrogatepass")
    end = rng.choice(places)
    start = max(text.rfind(c, 0, end) for c in ":,[")
    return (text[: start + 1] + new + text[end:]).encode("utf-8", "surrogatepass")


def json_line(rng: random.Random, example: bytes) -> bytes:
    """A line of a log replaced, or repeated."""
    lines = example.splitlines(keepends=True) or [b"{}\n"]
    at = rng.randrange(len(lines))
    if rng.random() < 0.2:
        return b"".join(lines) + lines[at] * _count(rng, 1000)
    lines[at] = json_text(rng, lines[at].rstrip(b"\n")).replace(b"\n", b" ") + b"\n"
    return b"".join(lines)


# -- texts -------------------------------------------------------------------------------------------------------------


def text(rng: random.Random, example: bytes) -> bytes:
    """Long lines, many lines, long words, hidden characters."""
    n = _count(rng)
    lines = example.splitlines(keepends=True) or [b"1\n"]
    word = rng.choice(
        (
            b"0",
            b"f",
            b"1,",
            b"1 ",
            b"x",
            b"-",
            b"\x1b[31m",
            b"\xff",
            b"\0",
            b"\r",
            b"//",
            b"9",
            b"e",
            b"_",
            b"/* ",
            b'"\\',
            b"`define ",
            b"'h ",
        )
    )
    odd = rng.choice(
        (word * n, word * n + b"\n", (word + b"\n") * n, b"0x" + word * n + b"\n", b"1e" + word * n + b"\n")
    )
    at = rng.randrange(len(lines) + 1)
    return b"".join([*lines[:at], odd, *lines[at:]])


# -- archives and arrays -----------------------------------------------------------------------------------------------


def npy(rng: random.Random, example: bytes = b"") -> bytes:
    """An array whose header claims something."""
    n = _count(rng, 5000)
    shape = rng.choice(
        (f"({n},)", f"({1 << 40},)", "(" + "1, " * 40 + ")", "(" * n, f"({'9' * n},)", "(0,)", "()", "(-1,)")
    )
    kind = rng.choice(
        ("'<f4'", "'|O'", "'<f8'", "[('a', '<f4')]", "'|V3'", "'<U1'", f"[('a', '<f4', ({n},))]", "-" * n + "1")
    )
    fields = f"{{'descr': {kind}, 'fortran_order': {rng.choice(('True', 'False'))}, 'shape': {shape}, }}\n"
    if rng.random() < 0.2:
        fields += rng.choice((" ", "(", "#", "\n")) * n
    version = rng.choice((1, 1, 2, 3))
    size = len(fields) if rng.random() < 0.6 else rng.choice(SIZES)
    length = struct.pack("<I", min(size, (1 << 32) - 1)) if version > 1 else struct.pack("<H", min(size, 65535))
    return b"\x93NUMPY" + bytes([version, 0]) + length + fields.encode() + bytes(rng.choice((0, 4, 8, 4 * n)))


def npz(rng: random.Random, example: bytes) -> bytes:
    """Members of an example's names, that claim something."""
    with zipfile.ZipFile(io.BytesIO(example)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    name = rng.choice([*members, "x.npy"])
    n = _count(rng)
    match rng.randrange(9):
        case 0:
            members[name] = npy(rng)
        case 1:  # of zeros: a thousandth of what it becomes
            head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({n * 100},), }}\n".encode()
            members[name] = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + bytes(n * 100)
            return archived(members, deflated=True)
        case 2:
            members |= {f"{i}.npy": b"" for i in range(n)}
        case 3:
            members[rng.choice(HIDDEN).encode("utf-8", "replace").decode() + ".npy"] = members.get(name, npy(rng))
        case 4:
            out = io.BytesIO()
            method = rng.choice((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED))
            with zipfile.ZipFile(out, "w", method) as archive:
                for key, content in members.items():
                    archive.writestr(key, content)
            return out.getvalue()
        case 5:
            return _claiming(rng, archived(members, deflated=rng.random() < 0.5))
        case 6:
            return _twice(archived(members))
        case 7:
            return _overlapping(members, min(n, 2000))
        case _:
            return archived(members) + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, n, n, rng.choice(SIZES), 0, 0)
    return archived(members, deflated=rng.random() < 0.3)


def _claiming(rng: random.Random, data: bytes) -> bytes:
    """A size in the directory, or in its end, replaced."""
    at = rng.choice([i for i in range(len(data) - 3) if data[i : i + 4] in (b"PK\1\2", b"PK\5\6")])
    field = rng.choice((20, 24, 42) if data[at : at + 4] == b"PK\1\2" else (8, 12, 16))
    return data[: at + field] + struct.pack("<L", rng.choice(SIZES)) + data[at + field + 4 :]


def _twice(data: bytes) -> bytes:
    """The first entry of the directory twice."""
    start, end = data.index(b"PK\1\2"), data.rindex(b"PK\5\6")
    size = 46 + sum(struct.unpack("<3H", data[start + 28 : start + 34]))
    entry = data[start : start + size]
    count = struct.unpack("<H", data[end + 10 : end + 12])[0] + 1
    tail = struct.pack("<4H2LH", 0, 0, count, count, end - start + size, start, 0)
    return data[:start] + entry + data[start:end] + b"PK\5\6" + tail


def _overlapping(members: dict[str, bytes], count: int) -> bytes:
    """One member by many names."""
    name, content = next(iter(members.items()))
    packed = zlib.compress(content, 1, -15)
    common = struct.pack("<5H3L", 20, 0x800, 8, 0, 33, zlib.crc32(content), len(packed), len(content))
    body = b"PK\3\4" + common + struct.pack("<2H", len(name), 0) + name.encode() + packed
    index = b""
    for i in range(count):
        other = f"{i}.npy".encode()
        index += b"PK\1\2\x14\0" + common + struct.pack("<5H2L", len(other), 0, 0, 0, 0, 0, 0) + other
    return body + index + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, count, count, len(index), len(body), 0)


def gz(rng: random.Random, example: bytes) -> bytes:
    """Zeros, packed; members one after the other; a size of its own."""
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = packed.compress(bytes(_count(rng) * 500)) + packed.flush()
    return rng.choice((data, example + data, data[:-8] + struct.pack("<2L", 0, rng.choice(SIZES)), example * 20))


# -- PyTorch -----------------------------------------------------------------------------------------------------------

_DICT, _LIST, _MARK, _STOP = b"}", b"]", b"(", b"."


def _text_of(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<L", len(data)) + data


def _put(i: int) -> bytes:
    return b"r" + struct.pack("<L", i)


def _get(i: int) -> bytes:
    return b"j" + struct.pack("<L", i)


def _storage(key: bytes, kind: str, count: bytes) -> bytes:
    return _MARK + _text_of("storage") + f"ctorch\n{kind}\n".encode() + key + _text_of("cpu") + count + b"tQ"


def _tensor(rng: random.Random, strange: bytes) -> bytes:
    """A call that makes a tensor, with something strange in one place."""
    shape = rng.choice((b"K\2K\3\x86", b"K\6\x85", strange, b"\x8a\x09" + b"\xff" * 8 + b"\0\x85"))
    strides = rng.choice((b"K\3K\1\x86", b"K\1\x85", strange, b"K\0K\0\x86"))
    key = rng.choice((_text_of("0"), _text_of("0"), _text_of("9"), strange))
    count = rng.choice((b"K\6", b"K\6", b"M\x58\2", strange, b"J\xff\xff\xff\xff"))
    kind = rng.choice(("FloatStorage", "FloatStorage", "LongStorage", "UntypedStorage", "\x1b[31mStorage"))
    first = rng.choice((b"K\0", b"K\0", b"K\5", strange))
    rest = b"\x89ccollections\nOrderedDict\n)Rt"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n"
        + _MARK
        + _storage(key, kind, count)
        + first
        + shape
        + strides
        + rest
        + b"R"
    )


def pickled(rng: random.Random) -> bytes:
    """A pickle whose parts are shared, nested, or many."""
    n, k = _count(rng), rng.choice((2, 10, 19, 20, 21, 40, 200))
    twice = [_LIST + _get(i) + b"a" + _get(i) + b"a" + _put(i + 1) + b"0" for i in range(k)]
    shared_lists = b"]" + _put(0) + b"0" + b"".join(twice) + _get(k)
    pairs = [_get(i) + _get(i) + b"\x86" + _put(i + 1) + b"0" for i in range(k)]
    shared_tuples = b")" + _put(0) + b"0" + b"".join(pairs) + _get(k)
    strange = rng.choice(
        (shared_lists, shared_tuples, b"N", b"]", b"\x8a\xff" + b"\x7f" * 255, _text_of("x" * n), b"U\x03abc")
    )
    tensor = _tensor(rng, strange)
    body: bytes = _picked(
        rng,
        (
            lambda: shared_lists,
            lambda: shared_lists + _LIST + tensor + b"a" + _get(k) + b"a",
            lambda: _DICT + shared_tuples + tensor + b"s",
            lambda: _DICT + _MARK + shared_tuples + tensor + b"u",
            lambda: _MARK + shared_tuples + tensor + b"d",
            lambda: b"\x8f" + _MARK + shared_tuples + b"\x90",
            lambda: _MARK + shared_tuples + b"\x91",
            lambda: b"ccollections\nOrderedDict\n" + _LIST + _LIST + shared_tuples + b"a" + tensor + b"aa\x85R",
            lambda: _MARK * n,
            lambda: _MARK * n + b"t" * n,
            lambda: _MARK * n + b"1" * (n - 1),
            lambda: _LIST * n + b"a" * (n - 1),
            lambda: b")" + b"\x85" * n,
            lambda: _DICT * n,
            lambda: b"N" + _put(rng.choice(SIZES)),
            lambda: b"\x96" + struct.pack("<Q", rng.choice((*SIZES, 1 << 40, (1 << 63) - 1))),
            lambda: b"\x8e" + struct.pack("<Q", rng.choice((*SIZES, 1 << 40, (1 << 63) - 1))),
            lambda: b"\x95" + struct.pack("<Q", rng.choice((*SIZES, 1 << 40, 1 << 63))) + b"N",
            lambda: b"\x8b" + struct.pack("<L", n) + b"\x7f" * n,
            lambda: b"L" + b"9" * n + b"L\n",
            lambda: b"I" + b"9" * n + b"\n",
            lambda: b"]" + _put(0) + _get(0) + b"a",
            lambda: b"]" + _put(0) + _MARK + b"N" * n + b"e" + b"".join(_get(0) + b"\x85R" for _ in range(k)),
            lambda: _LIST + _put(0) + _MARK + b"K\1" * n + b"e0"
            + _DICT + b"".join(b"ccollections\nOrderedDict\n" + _get(0) + b"\x85R0" for _ in range(k)),
            lambda: _MARK + b"K\1" * n + b"t" + _put(0) + b"0" + _DICT + (_get(0) + b"Ns") * k,
            lambda: _DICT + _text_of("x" * n) + tensor + b"s",
            lambda: _DICT + (_text_of("x") * 2 + b"s") * n,
            lambda: _DICT + b"".join(_text_of(h) + tensor + b"s" for h in HIDDEN),
            lambda: b"".join(_DICT + _text_of(f"k{i}") for i in range(k)) + tensor + b"s" * k,
            lambda: b"cos\nsystem\n" + _text_of("true") + b"\x85R",
            lambda: b"\x82\x01",
            lambda: b"ctorch.nn\nLinear\n)\x81" + _DICT + _text_of("weight") + tensor + b"sb",
            lambda: _DICT + _text_of("w") + tensor + b"s",
            lambda: _DICT + b"".join(_text_of(f"w{i}") + tensor + b"s" for i in range(min(n, 200))),
        ),
    )  # fmt: skip
    return b"\x80\x02" + body + _STOP


def pt(rng: random.Random, example: bytes) -> bytes:
    """An archive of torch.save's with such a pickle."""
    members = {"m/data.pkl": pickled(rng), "m/byteorder": b"little", "m/data/0": bytes(24)}
    if rng.random() < 0.1:
        return npz(rng, archived(members))
    if rng.random() < 0.1:
        members["m/byteorder"] = bytes(_count(rng))
    return archived(members, deflated=rng.random() < 0.05)


def plain_pickle(value: object) -> bytes:
    """An ordinary pickle, as no reader takes it."""
    return pickle.dumps(value)


# -- safetensors and ONNX ----------------------------------------------------------------------------------------------


def safetensors(rng: random.Random, example: bytes) -> bytes:
    """A header that claims something."""
    size = int.from_bytes(example[:8], "little")
    head, rest = example[8 : 8 + size], example[8 + size :]
    if rng.random() < 0.2:
        return rng.choice((*SIZES, 1 << 40, (1 << 64) - 1)).to_bytes(8, "little") + head + rest
    n = _count(rng, 3000)
    begin = rng.choice(SIZES)
    one = {"dtype": "F32", "shape": rng.choice(([2, 3], [1 << 40], [1] * n, [])), "data_offsets": [begin, begin + 24]}
    head = _picked(
        rng,
        (
            lambda: json_text(rng, head),
            lambda: json.dumps({rng.choice(HIDDEN): one}).encode(),
            lambda: json.dumps(
                {f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(n)}
            ).encode(),
            lambda: json.dumps({"__metadata__": {rng.choice(HIDDEN): "x" * n, "meta": "[" * n}}).encode(),
            lambda: json.dumps({"a": one}).encode() + b" " * n,
        ),
    )
    return len(head).to_bytes(8, "little") + head + rest


def gguf(rng: random.Random, example: bytes) -> bytes:
    """A header whose counts, lengths and types claim something."""
    count = rng.choice((*SIZES, 1 << 40, (1 << 64) - 1)).to_bytes(8, "little")
    kind, other = (rng.choice((0, 1, 2, 4, 8, 9, 10, 12, 14, 39, 40, 99)).to_bytes(4, "little") for _ in range(2))
    name, n = (1).to_bytes(8, "little") + b"x", _count(rng, 3000)
    entries = _picked(
        rng,
        (
            lambda: name + (8).to_bytes(4, "little") + count,
            lambda: name + (9).to_bytes(4, "little") + kind + count + bytes(n),
            lambda: name + ((9).to_bytes(4, "little") + (1).to_bytes(8, "little")) * n,
            lambda: name + kind + bytes(n),
            lambda: count + bytes(n),
        ),
    )
    info = name + (2).to_bytes(4, "little") + count + (32).to_bytes(8, "little") + other + count
    sizes = ((1, 1), (0, 1), (1, 0), (n, 0), (0, n))
    tensors, metadata = rng.choice(sizes)
    head = b"GGUF" + (3).to_bytes(4, "little") + tensors.to_bytes(8, "little") + metadata.to_bytes(8, "little")
    return head + entries * bool(metadata) + info * min(tensors, 9) + bytes(n)


def _varint(x: int) -> bytes:
    out = b""
    while x > 127:
        out, x = out + bytes([x & 127 | 128]), x >> 7
    return out + bytes([x])


def _field(number: int, content: bytes, claims: int | None = None) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content) if claims is None else claims) + content


def onnx(rng: random.Random, example: bytes) -> bytes:
    """A model by its wire format: IR version, then a graph of initializers and nodes."""
    n, k = _count(rng), rng.choice((2, 30, 90, 110, 300))
    name = _field(8, rng.choice(HIDDEN).encode("utf-8", "replace"))
    dims = b"".join(
        b"\x08" + _varint(d) for d in rng.choice(((2, 3), (1 << 40,), (0,), (1,) * 40, ((1 << 64) - 1,), (6,)))
    )
    kind = b"\x10" + _varint(rng.choice((1, 1, 1, 10, 11, 16, 17, 7, 8, 23, 99)))
    raw = _field(9, bytes(rng.choice((0, 6, 12, 24))), rng.choice((None, None, 1 << 30)))
    typed = _field(4, bytes(4 * min(n, 6)))
    external = b"\x70\x01" + _field(
        13, _field(1, b"location") + _field(2, rng.choice((b"../x", b"/dev/zero", b"x.onnx", b"\x1b")))
    )
    tensor = dims + kind + name + rng.choice((raw, typed, raw + typed, external, b""))
    inner = b""
    for _ in range(k):  # graphs in attributes of nodes
        inner = _field(1, _field(5, _field(1, b"g") + _field(6, inner)))
        if len(inner) > 100_000:
            break
    graph = rng.choice((_field(5, tensor), _field(5, tensor) * min(n, 200), _field(1, b"") * n, inner, b"\x0a\0" * n))
    if rng.random() < 0.1:
        return b"\x08\x09" + b"\x3b" * n
    return b"\x08\x09" + _field(7, graph, rng.choice((None, None, None, 1 << 31)))
