"""Large sets of scalar operations: the cases of `Cases.inputs`, evaluated in arrays; and their text, where possible
from one compiled loop."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.objects import ObjectLoop
from softfloat_ref.arrays.kernels.op_plans import OperationPlan, plan
from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.arrays.operations import Bulk
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE
from softfloat_ref.golden import cases as codes_of
from softfloat_ref.golden.kinds.base import NEAR_CARRY_EVERY
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.sources import WORD_BITS, Philox
from softfloat_ref.units import Field, Line

CHUNK: Final = 1 << 13
STREAM: Final = 1  # of the cases' random words
WORDS_A_CODE: Final = 2
_PADDING: Final = 8  # bytes after a text, for surplus digits
CHUNKS_A_CALL: Final = 4  # chunks whose text is one call, except where directed cases meet random ones
_LINES_AT_ONCE: Final = 512  # of a call: their columns and words stay in the first cache
_as_words: Final = ObjectLoop("softfloat_ref.golden.compiled", "as_words")
_operation_lines: Final = ObjectLoop("softfloat_ref.golden.compiled", "operation_lines")

Table = NDArray[np.int64]


class CaseRange(NamedTuple):
    """Some cases in a row: the position of the first, and how many. first: its number among those that are not
    directed; None for directed ones."""

    position: int
    size: int
    first: int | None


def split_undefined(columns: Table, undefined: NDArray[np.bool_]) -> tuple[Table, list[Line]]:
    """The rows without the cases that have no defined result, and those cases' inputs."""
    if not undefined.any():
        return columns, []
    inputs = columns[:-2, undefined].view(np.uint64)
    return np.ascontiguousarray(columns[:, ~undefined]), [tuple(case) for case in inputs.T.tolist()]


class Tables:
    """The lines of any cases of a set as columns, by their range."""

    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors
        self._run = Bulk(vectors.unit.signature, vectors.unit.policy, vectors.count)

    def __call__(self, place: CaseRange) -> tuple[Table, NDArray[np.bool_]]:
        """The rows of the cases there, and which of them have no defined result."""
        unit = self.vectors.unit
        inputs, arity = columns_at(self.vectors, place), len(unit.formats)
        columns = np.empty((len(self.vectors.fields), inputs.shape[1]), np.int64)
        columns[:-2] = inputs
        codes, flags = self._run(list(columns[:arity]), columns[arity] if unit.policy.random_count else None)
        columns[-2], columns[-1] = codes, flags
        return columns, flags == UNKNOWN


class Texts:
    """The text of any cases of a set, by their range; needs the operation's plan."""

    def __init__(self, vectors: Any, op_plan: OperationPlan) -> None:
        formats, self.vectors, self.plan = vectors.unit.formats, vectors, op_plan
        self.digits = np.array([f.digits for f in vectors.fields], np.int64)
        kinds = [kind_arrays(f) for f in formats]
        longest = max(table.size for _, _, table in kinds)
        self.kinds = (
            np.array([mask for mask, _, _ in kinds]),
            np.array([rows for _, rows, _ in kinds]),
            np.array([np.pad(table, (0, longest - table.size)) for _, _, table in kinds]),
        )

    def __call__(self, place: CaseRange) -> NDArray[np.uint8] | None:
        """The lines of the cases there; None if the oracle must compute any of them."""
        operands = len(self.kinds[0])
        draw = np.array([place.size, self.vectors.seed, STREAM, place.first or 0], np.uint64)
        if place.first is None:
            inputs = np.ascontiguousarray(columns_at(self.vectors, place))
        else:
            inputs = np.empty((operands, 0), np.int64)
        rooms = (
            np.empty(_LINES_AT_ONCE * WORDS_A_CODE * operands, np.uint64),
            np.empty((operands + 2, _LINES_AT_ONCE), np.int64),
            np.empty(_LINES_AT_ONCE, np.uint8),
            np.empty((int((-(-self.digits // 8)).sum()), _LINES_AT_ONCE + 1), np.uint64),
        )
        out, size = room_for_text(self.digits, place.size)
        done = np.zeros(1, np.int64)
        _operation_lines(draw.view(np.int64), *self.kinds, *self.plan, inputs, self.digits, *rooms, out, done)
        return out[:size] if done[0] == place.size else None


def texts(vectors: Any) -> Texts | None:
    """The texts of a set; None if its lines need more than the loop has."""
    unit = vectors.unit
    if unit.policy.random_count or vectors.level == EXHAUSTIVE:
        return None
    op_plan = plan(unit.signature, unit.policy)
    return None if op_plan is None else Texts(vectors, op_plan)


def most_chunks(vectors: Any) -> int:
    """The maximum number of chunks of a set: the last directed one and the last random one need not be full."""
    return int(vectors.count) // CHUNK + 2


def case_ranges(vectors: Any, wanted: Container[int]) -> Iterator[tuple[int, CaseRange]]:
    """The chunks of those numbers: the directed cases, then the others."""
    directed = len(vectors.cases.directed())
    number = -(-directed // CHUNK)
    for i in range(number):
        if i in wanted:
            yield i, CaseRange(i * CHUNK, min(CHUNK, directed - i * CHUNK), None)
    for i, start in enumerate(range(directed, vectors.count, CHUNK), number):
        if i in wanted:
            yield i, CaseRange(start, min(CHUNK, vectors.count - start), start - directed)


def joined_ranges(vectors: Any, chunks: Container[int]) -> Iterator[tuple[int, CaseRange]]:
    """Those chunks, some neighbours as one range, with the number of the first."""
    ranges = case_ranges(vectors, chunks)
    for (_, directed), run in itertools.groupby(ranges, lambda x: (x[0] // CHUNKS_A_CALL, x[1].first is None)):
        (number, place), *others = run
        if directed:
            yield from ((number, place), *others)
        else:
            yield number, place._replace(size=place.size + sum(other.size for _, other in others))


def columns_at(vectors: Any, place: CaseRange) -> Table:
    """The inputs of the cases there, one row per field."""
    cases, position, size = vectors.cases, place.position, place.size
    if place.first is None:
        return np.array(cases.directed_inputs()[position : position + size], np.uint64).view(np.int64).T
    formats, n = vectors.unit.formats, vectors.unit.policy.random_count
    arity = len(formats)
    table = np.empty((arity + (n > 0), size), np.int64)
    if vectors.level == EXHAUSTIVE:
        table[:arity] = _every_case(formats, place.first, size)
    else:
        table[:arity] = random_columns(formats, vectors.seed, size, place.first)
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


def random_columns(formats: Sequence[Format], seed: int, count: int, start: int = 0) -> Table:
    """`cases.random_cases` as an array, one row per operand; formats of at most 64 bits."""
    from softfloat_ref.arrays.kernels import random_words
    from softfloat_ref.golden import compiled

    stride = WORDS_A_CODE * len(formats)
    words = random_words.words(Philox(seed, STREAM), WORD_BITS, start * stride, count * stride)
    out = np.empty((len(formats), count), np.int64)
    for i, f in enumerate(formats):
        compiled.weighted_codes(words, stride, WORDS_A_CODE * i, *kind_arrays(f), out[i])
    return out


@lru_cache(maxsize=64)
def kind_arrays(fmt: Format) -> list[NDArray[np.int64]]:
    """`cases.code_kinds` as the compiled loops take them, 64-bit patterns as signed integers: the mask of a code, the
    rows, and the table."""
    table = codes_of.code_kinds(fmt)
    return [
        np.array([x % (1 << WORD_BITS) for x in row], np.uint64).view(np.int64)
        for row in (((1 << fmt.width) - 1,), table.rows, table.table)
    ]


def _put_near_carry(cases: Any, operands: Table, words: Table, position: int) -> None:
    """Replaces one case in N, as Cases.inputs does."""
    for i in range(-position % NEAR_CARRY_EVERY, operands.size, NEAR_CARRY_EVERY):
        case = (int(operands.view(np.uint64)[i]),)
        number = (position + i) // NEAR_CARRY_EVERY
        operands.view(np.uint64)[i] = cases.near_carry_case(case, (int(words[i]),), number)[0]


def room_for_text(digits: NDArray[np.int64], lines: int) -> tuple[NDArray[np.uint8], int]:
    """Room for the text of that many lines, and their size in bytes."""
    size = lines * int(digits.sum() + digits.size)
    return np.empty(size + _PADDING, np.uint8), size


def as_columns(codes: NDArray[np.uint64]) -> Table:
    """Codes, a row a line, as a table with a row for each column."""
    return np.ascontiguousarray(codes.T).view(np.int64)


def text_of_columns(columns: Table, fields: Sequence[Field]) -> NDArray[np.uint8]:
    """The bytes of lines of TestFloat text; `columns` has a row for each lane of each field."""
    from softfloat_ref.golden import compiled

    digits = np.array([f.digits for f in fields for _ in range(f.lanes)], np.int64)
    out, size = room_for_text(digits, columns.shape[1])
    compiled.text_lines(columns, digits, out)
    return out[:size]


def memory_words(lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Lines of text as memory words."""
    out = np.empty_like(lines)
    _as_words(lines, out)
    return out


def parse_columns(data: bytes) -> Table | None:
    """The codes of lines of hexadecimal digits, one row per column; None if the lines differ in layout, or contain
    anything except digits and single spaces."""
    first = data.find(b"\n") + 1
    digits = np.array([len(word) for word in data[: first - 1].split(b" ")], np.int64)
    if first == 0 or len(data) % first or int(digits.min()) == 0 or int(digits.max()) > 16:
        return None
    from softfloat_ref.golden import compiled

    lines = len(data) // first
    out = np.empty((digits.size, lines), np.int64)
    return out if compiled.parse_lines(np.frombuffer(data, np.uint8), lines, digits, out) else None
