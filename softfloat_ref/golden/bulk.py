"""Vectors of scalar operations in bulk: the cases of `cases.cases`, evaluated and written as arrays, the same bytes."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.array_ops import Bulk
from softfloat_ref.formats import Format
from softfloat_ref.golden import cases
from softfloat_ref.golden.sets import SHARP, Field, Line, VectorSet
from softfloat_ref.kernels.opcodes import UNKNOWN
from softfloat_ref.ops import Signature, get_operation
from softfloat_ref.sources import WORD_BITS, Philox

CHUNK: Final = 1 << 13
_STREAM: Final = 1  # of the cases' random words
_WORDS_A_CODE: Final = 2

Table = NDArray[np.int64]


def batches(vectors: VectorSet, chunks: Container[int] | None = None) -> Iterator[tuple[Table, list[Line]]]:
    """The set's lines: rows of codes, one a field; and the inputs of those cases that have no defined result.

    chunks: some of the chunks that they are made in, by number; all where none are named."""
    for _, columns, undefined in numbered(vectors, chunks):
        yield defined(columns, undefined)


def defined(columns: Table, undefined: NDArray[np.bool_]) -> tuple[Table, list[Line]]:
    """The rows without the cases that have no defined result, and those cases' inputs."""
    if not undefined.any():
        return columns, []
    inputs = columns[:-2, undefined].view(np.uint64)
    return np.ascontiguousarray(columns[:, ~undefined]), [tuple(case) for case in inputs.T.tolist()]


def numbered(
    vectors: VectorSet, chunks: Container[int] | None = None
) -> Iterator[tuple[int, Table, NDArray[np.bool_]]]:
    """Chunk by chunk the number of its first case, its rows, and which cases have no defined result."""
    sig = Signature(get_operation(vectors.op), vectors.formats, vectors.out)
    run = Bulk(sig, vectors.policy, vectors.count)
    n, arity = vectors.policy.random_count, len(vectors.formats)
    wanted = range(most_chunks(vectors)) if chunks is None else chunks
    for position, operands in _operands(vectors, wanted):
        size = operands.shape[1]
        columns = np.empty((len(vectors.fields), size), np.int64)
        columns[:arity] = operands
        words = None
        if n:
            words = columns[arity]
            words[:] = vectors.random_array(position, size)
            if vectors.op == "convert":
                _sharpen(vectors, columns[0], words, position)
        codes, flags = run(list(columns[:arity]), words)
        columns[-2], columns[-1] = codes, flags
        yield position, columns, flags == UNKNOWN


def most_chunks(vectors: VectorSet) -> int:
    """How many chunks a set has at most: the last directed one and the last random one need not be full."""
    return vectors.count // CHUNK + 2


def _operands(vectors: VectorSet, wanted: Container[int]) -> Iterator[tuple[int, Table]]:
    """The operands of the cases in those chunks, and the position of each one's first: the directed cases, then the
    random ones."""
    target = vectors.out if vectors.op == "convert" else None
    emitted = number = 0
    directed = cases.directed(vectors.formats, vectors.count, target)
    for number, chunk in enumerate(_chunks(directed), 1):
        if number - 1 in wanted:
            yield emitted, chunk
        emitted += chunk.shape[1]
    count = vectors.count - emitted
    for i, start in enumerate(range(0, count, CHUNK), number):
        if i in wanted:
            size = min(CHUNK, count - start)
            yield emitted + start, random_cases(vectors.formats, vectors.seed, size, start)


def _chunks(listed: Iterable[tuple[int, ...]]) -> Iterator[Table]:
    rest = iter(listed)
    while chunk := list(itertools.islice(rest, CHUNK)):
        yield np.array(chunk, np.uint64).view(np.int64).T


def random_cases(formats: Sequence[Format], seed: int, count: int, start: int = 0) -> Table:
    """`cases.random_cases` as an array, a row an operand; formats of at most 64 bits."""
    from softfloat_ref.golden import compiled
    from softfloat_ref.kernels import random_words

    weighted_codes: Any = compiled.weighted_codes
    stride = _WORDS_A_CODE * len(formats)
    words = random_words.words(Philox(seed, _STREAM), WORD_BITS, start * stride, count * stride)
    out = np.empty((len(formats), count), np.int64)
    for i, f in enumerate(formats):
        mask = (1 << f.width) - 1
        numbers = [f.width, mask, f.mantissa_bits, f.exponent_bits, f.bias, f.sign_bit]
        known = np.array(cases.specials(f), np.uint64).view(np.int64)
        settings = np.array([x % (1 << 64) for x in numbers], np.uint64).view(np.int64)
        weighted_codes(words, stride, _WORDS_A_CODE * i, settings, known, out[i])
    return out


def _sharpen(vectors: VectorSet, operands: Table, words: Table, position: int) -> None:
    """As VectorSet.inputs does it, one in so many."""
    for i in range(-position % SHARP, operands.size, SHARP):
        case = (int(operands.view(np.uint64)[i]),)
        operands.view(np.uint64)[i] = vectors.sharpened(case, int(words[i]), (position + i) // SHARP)[0]


def text(columns: Table, fields: Sequence[Field]) -> NDArray[np.uint8]:
    """The bytes of lines of TestFloat text; `columns` has a row for each field."""
    from softfloat_ref.golden import compiled

    text_lines: Any = compiled.text_lines
    digits = np.array([f.digits for f in fields], np.int64)
    size = columns.shape[1] * int(digits.sum() + digits.size)
    out = np.empty(size + compiled.PADDING, np.uint8)
    text_lines(columns, digits, out)
    return out[:size]


def words(lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Lines of text as memory words."""
    from softfloat_ref.golden import compiled

    as_words: Any = compiled.as_words
    out = np.empty_like(lines)
    as_words(lines, out)
    return out


def parse(data: bytes) -> Table | None:
    """The codes of lines of hexadecimal digits, a row a column; None where the lines differ in layout, or are not of
    digits and single spaces only."""
    from softfloat_ref.golden import compiled

    first = data.find(b"\n") + 1
    digits = np.array([len(word) for word in data[: first - 1].split(b" ")], np.int64)
    if first == 0 or len(data) % first or int(digits.min()) == 0 or int(digits.max()) > 16:
        return None
    lines = len(data) // first
    out = np.empty((digits.size, lines), np.int64)
    parse_lines: Any = compiled.parse_lines
    return out if parse_lines(np.frombuffer(data, np.uint8), lines, digits, out) else None
