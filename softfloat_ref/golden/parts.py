"""A set's lines in parts by position, made here or by any workers; joined in order they are the same bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import Any, Final, NamedTuple

from softfloat_ref.base.executors import Workers, in_order
from softfloat_ref.golden import writers
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.tags import Run, TagCursor, defined_runs
from softfloat_ref.golden.writers.batch import Batch, Data
from softfloat_ref.units import Line

CASES_A_PART: Final = 1 << 12  # a part, where each line is made by itself
CHUNKS_A_PART: Final = 1 << 5  # a part, in bulk
_Part = tuple[int, Any, list[Run]]  # number, cases (tuples, or an array with a row for each), their tags


class NumberedBatch(NamedTuple):
    """Some lines in a row, of one part; and the cases among them without a defined result: number and inputs."""

    part: int
    cases: int
    batch: Batch
    left_out: list[tuple[int, Line]]


class EncodedBatch(NamedTuple):
    """The bytes that some lines add to each stream."""

    part: int
    cases: int
    lines: int
    data: list[Data]
    runs: list[Run]
    left_out: list[tuple[int, Line]]


def batches(vectors: VectorSet, first: int = 0, compiled: bool = True) -> Iterator[NumberedBatch]:
    """The set's lines from a part on. compiled: whether large sets of operations and blocks are made in arrays; else
    every line comes from the scalar oracle."""
    if compiled and vectors.cases.chunked:
        from softfloat_ref.golden import bulk

        yield from _in_bulk(
            vectors, range(first * CHUNKS_A_PART, max(bulk.most_chunks(vectors), first * CHUNKS_A_PART + 1))
        )
        return
    for part in _parts(vectors, first, compiled):
        yield _numbered_batch(vectors, *part, compiled)


def _in_bulk(vectors: VectorSet, chunks: range) -> Iterator[NumberedBatch]:
    from softfloat_ref.golden import bulk

    cursor, texts, tables = TagCursor(vectors), bulk.texts(vectors), bulk.Tables(vectors)
    for number, place in bulk.case_ranges(vectors, chunks) if texts is None else bulk.joined_ranges(vectors, chunks):
        runs = cursor.take(place.position, place.size)
        text = None if texts is None else texts(place)
        left_out: list[tuple[int, Line]] = []
        if text is not None:
            batch = Batch(vectors.fields, runs, encoded=text)
        else:
            columns, undefined = tables(place)
            places = undefined.nonzero()[0].tolist()
            array, inputs = bulk.split_undefined(columns, undefined)
            left_out = [(place.position + i, case) for i, case in zip(places, inputs, strict=True)]
            batch = Batch(vectors.fields, defined_runs(runs, places), array=array)
        yield NumberedBatch(number // CHUNKS_A_PART, place.size, batch, left_out)


def _parts(vectors: VectorSet, first: int, compiled: bool = True) -> Iterator[_Part]:
    """The cases from a part on, where each line is made by itself, or cases are drawn in arrays."""
    cursor, drawn = TagCursor(vectors), vectors.cases
    if compiled and drawn.in_arrays and drawn.drawn_in_arrays:
        for number in range(first, -(-vectors.count // CASES_A_PART)):
            start = number * CASES_A_PART
            size = min(CASES_A_PART, vectors.count - start)
            yield number, drawn.rows(start, size), cursor.take(start, size)
        return
    rest = islice(iter(vectors.inputs()), first * CASES_A_PART, None)
    for number in count(first):
        cases = list(islice(rest, CASES_A_PART))
        if not cases:
            return
        yield number, cases, cursor.take(number * CASES_A_PART, len(cases))


def case_inputs(vectors: VectorSet, numbers: Sequence[int]) -> Iterator[tuple[int, Line]]:
    """The inputs of some cases, by increasing number: the set's own, whatever files say."""
    if vectors.cases.chunked:
        yield from _bulk_inputs_at(vectors, numbers)
        return
    rest, at = iter(vectors.inputs()), 0
    for number in numbers:
        for inputs in islice(rest, number - at, number - at + 1):
            yield number, inputs
        at = number + 1


def _bulk_inputs_at(vectors: VectorSet, numbers: Sequence[int]) -> Iterator[tuple[int, Line]]:
    from softfloat_ref.golden import bulk

    # one chunk, the last of the directed cases, need not be full: a case lies at most one chunk further on
    chunks = {n // bulk.CHUNK + i for n in numbers for i in (0, 1)}
    wanted = iter(numbers)
    number = next(wanted, -1)
    for _, place in bulk.case_ranges(vectors, chunks):
        inputs = bulk.columns_at(vectors, place)
        while place.position <= number < place.position + place.size:
            column = inputs[:, number - place.position].copy()
            yield number, tuple(column.view("u8").tolist())
            number = next(wanted, -1)
    if number >= 0:
        raise RuntimeError(f"case {number} is not in any chunk that was generated")


def _numbered_batch(vectors: VectorSet, part: int, cases: Any, runs: list[Run], compiled: bool = True) -> NumberedBatch:
    if compiled and vectors.cases.in_arrays and (codes := _codes(vectors, cases)) is not None:
        return NumberedBatch(part, len(cases), Batch(vectors.fields, runs, codes=codes), [])
    cases = [tuple(case) for case in cases.tolist()] if hasattr(cases, "tolist") else cases
    lines = [vectors.line(inputs) for inputs in cases]
    undefined = [i for i, line in enumerate(lines) if line is None]
    left_out = [(part * CASES_A_PART + i, cases[i]) for i in undefined]
    rows = [line for line in lines if line is not None]
    return NumberedBatch(part, len(cases), Batch(vectors.fields, defined_runs(runs, undefined), rows), left_out)


def _codes(vectors: VectorSet, cases: Any) -> Any:
    """The lines of those cases, a row each; None if they must be made one by one."""
    import numpy as np

    inputs = np.asarray(cases, np.uint64)
    outputs = vectors.unit.answers(inputs)
    return None if outputs is None else np.hstack([inputs, outputs])


def encode_batch(vectors: VectorSet, numbered: NumberedBatch, names: Sequence[str]) -> EncodedBatch:
    """A batch as the writers of those names have it."""
    data = [x for name in names for x in writers.WRITERS[name].part(vectors, numbered.batch)]
    return EncodedBatch(
        numbered.part, numbered.cases, numbered.batch.count, data, numbered.batch.runs, numbered.left_out
    )


def encoded_batches(
    vectors: VectorSet,
    names: Sequence[str],
    first: int,
    workers: Workers | None,
    advance: Callable[[str, int], None] = lambda label, cases: None,
) -> Iterator[EncodedBatch]:
    """The set's lines from a part on, for the writers of those names. workers: processes or threads; None for this
    process. advance: called with a label and the number of cases that are prepared or complete."""
    vectors.cases.prepare(workers or Workers(), advance)
    for encoded in _encoded(vectors, names, first, workers):
        yield encoded
        advance(vectors.name, encoded.cases)


def _encoded(vectors: VectorSet, names: Sequence[str], first: int, workers: Workers | None) -> Iterator[EncodedBatch]:
    if workers is None:
        yield from (encode_batch(vectors, numbered, names) for numbered in batches(vectors, first))
    elif vectors.cases.chunked:
        from softfloat_ref.golden import bulk

        vectors.cases.directed()  # once, not in every thread
        last = -(-bulk.most_chunks(vectors) // CHUNKS_A_PART)
        tasks = ((vectors, names, part) for part in range(first, last))
        for task in itertools.islice(tasks, 1):
            yield from _bulk_part(task)  # it imports what all need: Numba fails if two threads import it at once
        with workers.threads() as threads:
            for part in in_order(threads, _bulk_part, tasks):
                yield from part
    else:
        yield from in_order(workers, _scalar_part, ((vectors, names, *part) for part in _parts(vectors, first)))


def _scalar_part(task: tuple[VectorSet, Sequence[str], int, Any, list[Run]]) -> EncodedBatch:
    vectors, names, part, cases, runs = task
    return encode_batch(vectors, _numbered_batch(vectors, part, cases, runs), names)


def _bulk_part(task: tuple[VectorSet, Sequence[str], int]) -> list[EncodedBatch]:
    vectors, names, part = task
    chunks = range(part * CHUNKS_A_PART, (part + 1) * CHUNKS_A_PART)
    return [encode_batch(vectors, numbered, names) for numbered in _in_bulk(vectors, chunks)]
