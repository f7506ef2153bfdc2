"""Some lines of a set, spread over it, against the scalar oracle: for sets too large to recompute every line."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import open_file
from softfloat_ref.golden.compare import Add, FileLayout, Region, difference_text
from softfloat_ref.golden.parts import case_inputs
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.tags import TagCursor
from softfloat_ref.golden.writers import Batch
from softfloat_ref.oracle.sources import Philox

_STREAM: Final = 5  # of the keyed generator, for the choice of cases
_CASES_AT_ONCE: Final = 1 << 16  # cases that are held in memory


def chosen_cases(total: int, count: int, seed: int) -> list[int]:
    """The numbers of that many cases, one from each of as many equal stretches, by the keyed generator."""
    count = min(count, total)
    words = Philox(seed % (1 << 64), _STREAM).words(0, count)
    edges = [k * total // count for k in range(count + 1)]
    return [low + word % (high - low) for low, high, word in zip(edges, edges[1:], words, strict=False)]


def check_sample(
    vectors: VectorSet, layouts: Sequence[FileLayout], numbers: Sequence[int], left_out: Sequence[int], add: Add
) -> int:
    """Recompute those cases and compare their line in every file; returns how many there were.

    left_out: the numbers of the cases that have no line."""
    cursor = TagCursor(vectors)
    checked = 0
    for start in range(0, len(numbers), _CASES_AT_ONCE):
        expected = list(_expected(vectors, numbers[start : start + _CASES_AT_ONCE], left_out, cursor, add))
        for file in layouts:
            for i, region in enumerate(file.regions):
                _compare(vectors, file, i, region, expected, add)
        checked += len(expected)
    return checked


def _expected(
    vectors: VectorSet, numbers: Sequence[int], left_out: Sequence[int], cursor: TagCursor, add: Add
) -> Iterator[tuple[int, Batch]]:
    """The number and content of the lines of those cases."""
    for number, inputs in case_inputs(vectors, numbers):
        skipped = bisect_left(left_out, number)
        listed = skipped < len(left_out) and left_out[skipped] == number
        runs, line = cursor.take(number, 1), vectors.line(inputs)
        if (line is None) != listed:
            add(f"case {number}: {'has a' if line else 'has no'} defined result, contrary to the manifest")
        elif line is not None:
            yield number - skipped, Batch(vectors.fields, runs, [line])


def _compare(
    vectors: VectorSet, file: FileLayout, stream: int, region: Region, expected: Sequence[tuple[int, Batch]], add: Add
) -> None:
    numbers = [number for number, _ in expected]
    read = _fixed if region.record else _scanned
    for (number, batch), got in zip(expected, read(file.path, region, numbers), strict=True):
        written = file.writer.placed(vectors, file.writer.part(vectors, batch), number)
        wanted = bytes(memoryview(written[stream]))
        if got != wanted and not (region.trim and got == wanted[: -region.trim]):
            text = file.writer.text
            add(difference_text(file.path.name, region, number, text, got, wanted))


def _fixed(path: Path, region: Region, numbers: Sequence[int]) -> Iterator[bytes]:
    """Lines that are all as long."""
    end = region.stream.start + region.stream.size
    with open_file(path) as stream:
        for number in numbers:
            at = region.stream.start + len(region.opening) + number * region.record
            stream.seek(at)
            yield stream.read(max(0, min(region.record, end - at)))


def _scanned(path: Path, region: Region, numbers: Sequence[int]) -> Iterator[bytes]:
    """Lines of any length: the file is read once, and newlines are counted."""
    skip = region.opening.count(b"\n")
    first, lines, rest = 0, list[bytes](), b""  # the number of the first of some whole lines, and what follows them
    blocks = region.stream.blocks()
    for number in numbers:
        wanted = number + skip
        while first + len(lines) <= wanted and (block := next(blocks, b"")):
            first += len(lines)
            ends = block.count(b"\n")
            if ends and first + ends <= wanted:  # no requested line ends here
                first, lines, rest = first + ends, [], block[block.rindex(b"\n") + 1 :]
            else:
                *lines, rest = (rest + block).split(b"\n")
            if len(rest) > limits.LINE:
                raise Error(f"{path.name}: a line of more than {limits.LINE} bytes")
        at = wanted - first
        if at < len(lines):
            yield lines[at] + b"\n"
        else:
            yield rest if at == len(lines) else b""
