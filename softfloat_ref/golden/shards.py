"""A set's lines in shards by position, done by any workers; joined in order they are the bytes of one process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from softfloat_ref.executors import Workers, in_order
from softfloat_ref.golden import writers
from softfloat_ref.golden.sets import Line, Vectors, VectorSet, in_bulk

_CASES: Final = 1 << 12  # a shard, where each line is made by itself
_CHUNKS: Final = 1 << 5  # a shard, in bulk


class Lines(NamedTuple):
    """Some lines as both files have them; and the inputs of cases without a defined result."""

    text: bytes
    words: bytes
    made: int
    left_out: list[Line]


def lines(vectors: Vectors, crew: Workers) -> Iterator[Lines]:
    """The set's lines, shard by shard, in order."""
    if isinstance(vectors, VectorSet) and in_bulk(vectors):
        from softfloat_ref.golden import bulk

        starts = range(0, bulk.most_chunks(vectors), _CHUNKS)
        return in_order(crew, _in_bulk, ((vectors, start) for start in starts))
    return in_order(crew, _one_by_one, _cases(vectors))


def _cases(vectors: Vectors) -> Iterator[tuple[Vectors, list[Line]]]:
    rest = iter(vectors.inputs())
    while part := list(islice(rest, _CASES)):
        yield vectors, part


def _one_by_one(task: tuple[Vectors, list[Line]]) -> Lines:
    vectors, cases = task
    made = [(inputs, vectors.line(inputs)) for inputs in cases]
    defined = [line for _, line in made if line is not None]
    as_text, as_word = writers.text_line(vectors.fields), writers.word_line(vectors.fields)
    text, words = ("".join(map(to, defined)).encode("ascii") for to in (as_text, as_word))
    return Lines(text, words, len(defined), [inputs for inputs, line in made if line is None])


def _in_bulk(task: tuple[VectorSet, int]) -> Lines:
    from softfloat_ref.golden import bulk

    vectors, start = task
    text, words, left_out, count = [], [], list[Line](), 0
    for columns, undefined in bulk.batches(vectors, range(start, start + _CHUNKS)):
        shown = bulk.text(columns, vectors.fields)
        text.append(shown.tobytes())
        words.append(bulk.words(shown).tobytes())
        left_out += undefined
        count += columns.shape[1]
    return Lines(b"".join(text), b"".join(words), count, left_out)
