"""What a reader of files or expressions is, for fuzzing."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fuzz.mutate import Mutator, make
from softfloat_ref.base.errors import Error

Run = Callable[[bytes, Path], None]
# Of lines of vectors and of results.
LINE_WORDS: Final = (
    "0",
    "3C00",
    "7E00",
    "FFFF",
    "3c00_3c00_3c00_00",
    "0x",
    "//",
    " 00\n",
    "\r\n",
    "10",
    "1f",
    "a",
    "b",
    ",",
)


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


def refuse(report: Any) -> None:
    """What is found wrong counts as refused."""
    if report.problems:
        assert all("\n" not in p for p in report.problems)
        raise Error(report.problems[0][:300])


@contextmanager
def instead(*places: tuple[Any, str, Any]) -> Iterator[None]:
    """Attributes of modules with other values for a while; mock.patch would take longer than what is run."""
    before = [getattr(module, name) for module, name, _ in places]
    for module, name, value in places:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(places, before, strict=True):
            setattr(module, name, value)
