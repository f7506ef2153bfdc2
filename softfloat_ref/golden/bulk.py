"""VectorSet of scalar operations in bulk: the cases of `Cases.inputs`, evaluated and written as arrays."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.arrays.operations import Bulk
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE
from softfloat_ref.golden import cases as codes_of
from softfloat_ref.golden import compiled
from softfloat_ref.golden.kinds.base import SHARP
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.sources import WORD_BITS, Philox
from softfloat_ref.units import Field, Line

CHUNK: Final = 1 << 13
_STREAM: Final = 1  # of the cases' random words
_WORDS_A_CODE: Final = 2

Table = NDArray[np.int64]


def defined(columns: Table, undefined: NDArray[np.bool_]) -> tuple[Table, list[Line]]:
    """The rows without the cases that have no defined result, and those cases' inputs."""
    if not undefined.any():
        return columns, []
    inputs = columns[:-2, undefined].view(np.uint64)
    return np.ascontiguousarray(columns[:, ~undefined]), [tuple(case) for case in inputs.T.tolist()]


def numbered(vectors: Any, chunks: Container[int] | None = None) -> Iterator[tuple[int, Table, NDArray[np.bool_]]]:
    """For each chunk the number of its first case, its rows, and which cases have no defined result."""
    unit = vectors.unit
    run = Bulk(unit.signature, unit.policy, vectors.count)
    n, arity = unit.policy.random_count, len(unit.formats)
    for position, inputs in _inputs(vectors, range(most_chunks(vectors)) if chunks is None else chunks):
        columns = np.empty((len(vectors.fields), inputs.shape[1]), np.int64)
        columns[:-2] = inputs
        words = columns[arity] if n else None
        codes, flags = run(list(columns[:arity]), words)
        columns[-2], columns[-1] = codes, flags
        yield position, columns, flags == UNKNOWN


def most_chunks(vectors: Any) -> int:
    """The maximum number of chunks of a set: the last directed one and the last random one need not be full."""
    return int(vectors.count) // CHUNK + 2


def _inputs(vectors: Any, wanted: Container[int]) -> Iterator[tuple[int, Table]]:
    """The inputs of the cases in those chunks, one row per field, and the position of each chunk's first: the directed
    cases, then the others."""
    directed = vectors.cases.directed_inputs()
    number = -(-len(directed) // CHUNK)
    for i in range(number):
        if i in wanted:
            yield i * CHUNK, np.array(directed[i * CHUNK : (i + 1) * CHUNK], np.uint64).view(np.int64).T
    for i, start in enumerate(range(len(directed), vectors.count, CHUNK), number):
        if i in wanted:
            yield start, _numbered(vectors, start, min(CHUNK, vectors.count - start), start - len(directed))


def _numbered(vectors: Any, position: int, size: int, first: int) -> Table:
    """The inputs of cases that are not directed, from a position in the set on; first: their number among them."""
    formats, cases = vectors.unit.formats, vectors.cases
    n, arity = vectors.unit.policy.random_count, len(formats)
    table = np.empty((arity + (n > 0), size), np.int64)
    if vectors.level == EXHAUSTIVE:
        table[:arity] = _every_case(formats, first, size)
    else:
        table[:arity] = random_cases(formats, vectors.seed, size, first)
    if n:
        table[arity] = cases.random_array(position, size)
        if cases.makes_near_carry_cases:
            _put_near_carry(cases, table[0], table[arity], position)
    return table


def _every_case(formats: Sequence[Format], first: int, size: int) -> Table:
    """Cases first, first + 1, ... of the exhaustive enumeration: the last operand changes fastest."""
    numbers = np.arange(first, first + size, dtype=np.int64)
    rows = []
    for f in reversed(formats):
        rows.append(numbers & ((1 << f.width) - 1))
        numbers = numbers >> f.width
    return np.array(rows[::-1])


def random_cases(formats: Sequence[Format], seed: int, count: int, start: int = 0) -> Table:
    """`cases.random_cases` as an array, one row per operand; formats of at most 64 bits."""
    from softfloat_ref.arrays.kernels import random_words

    stride = _WORDS_A_CODE * len(formats)
    words = random_words.words(Philox(seed, _STREAM), WORD_BITS, start * stride, count * stride)
    out = np.empty((len(formats), count), np.int64)
    for i, f in enumerate(formats):
        compiled.weighted_codes(words, stride, _WORDS_A_CODE * i, *_kinds(f), out[i])
    return out


@lru_cache(maxsize=64)
def _kinds(fmt: Format) -> list[NDArray[np.int64]]:
    """`cases.kinds` as the compiled loop takes them, 64-bit patterns as signed integers, and the mask of a code."""
    given = codes_of.kinds(fmt)
    return [
        np.array([x % (1 << WORD_BITS) for x in row], np.uint64).view(np.int64)
        for row in (((1 << fmt.width) - 1,), given.rows, given.table)
    ]


def _put_near_carry(cases: Any, operands: Table, words: Table, position: int) -> None:
    """Replaces one case in N, as Cases.inputs does."""
    for i in range(-position % SHARP, operands.size, SHARP):
        case = (int(operands.view(np.uint64)[i]),)
        operands.view(np.uint64)[i] = cases.near_carry_case(case, (int(words[i]),), (position + i) // SHARP)[0]


def text(columns: Table, fields: Sequence[Field]) -> NDArray[np.uint8]:
    """The bytes of lines of TestFloat text; `columns` has a row for each field."""
    digits = np.array([f.digits for f in fields], np.int64)
    size = columns.shape[1] * int(digits.sum() + digits.size)
    out = np.empty(size + compiled.PADDING, np.uint8)
    compiled.text_lines(columns, digits, out)
    return out[:size]


def words(lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Lines of text as memory words."""
    out = np.empty_like(lines)
    compiled.as_words(lines, out)
    return out


def parse(data: bytes) -> Table | None:
    """The codes of lines of hexadecimal digits, one row per column; None if the lines differ in layout, or contain
    anything except digits and single spaces."""
    first = data.find(b"\n") + 1
    digits = np.array([len(word) for word in data[: first - 1].split(b" ")], np.int64)
    if first == 0 or len(data) % first or int(digits.min()) == 0 or int(digits.max()) > 16:
        return None
    lines = len(data) // first
    out = np.empty((digits.size, lines), np.int64)
    return out if compiled.parse_lines(np.frombuffer(data, np.uint8), lines, digits, out) else None
