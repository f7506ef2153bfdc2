"""What a reader of files or expressions is, for fuzzing."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz.mutate import Mutator, make

Run = Callable[[bytes, Path], None]


@dataclass(frozen=True)
class Reader:
    """examples: valid inputs. run: reads one, in a folder. words: what such inputs are made of. others: whether a
    definition may name other .toml files, which then are read. mutator: one that knows the kind of file. structure:
    makes inputs of another structure than any example has."""

    name: str
    examples: Sequence[bytes]
    run: Run
    words: Sequence[str] = ()
    others: bool = False
    mutator: Mutator | None = None
    structure: Mutator | None = None

    def input(self, number: int) -> bytes:
        """The input of that number."""
        return make(number, self.examples, self.words, (self.mutator, self.structure), zlib.crc32(self.name.encode()))


def in_file(name: str, read: Callable[[str, Path], object]) -> Run:
    """A reader that is given a path, and the folder."""

    def run(data: bytes, folder: Path) -> None:
        put(folder / name, data)
        read(name, folder)

    return run


def put(path: Path, data: bytes) -> None:
    """Write a file: in place, without the layers of a stream."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(file, data)
    finally:
        os.close(file)
