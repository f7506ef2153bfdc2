"""Parts of a set while they are written: streams under temporary names, and a journal with their hashes.

After each part the journal gets a line: the number of cases and lines so far, the size and SHA-256 of each
stream up to there, and a SHA-256 of the line itself. The files of a killed process are used as far as these hashes
agree, and cut there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import open_file, open_to_append, rest_of, sha256, text_lines
from softfloat_ref.base.trees import parse_json
from softfloat_ref.golden.parts import EncodedBatch
from softfloat_ref.golden.tags import Run, merge_runs
from softfloat_ref.golden.writers.batch import FileStream

UNFINISHED: Final = ".unfinished"
_JOURNAL: Final = "journal.jsonl"
_RUNS: Final = "runs"
_LEFT_OUT: Final = "left_out"
_BLOCK: Final = 1 << 20
_MAX_LINE: Final = 1 << 20


@dataclass
class _Output:
    """A stream being written: knows its size and the hash of its bytes."""

    path: Path
    stream: IO[bytes]
    sha256: Any
    size: int = 0

    def write(self, data: Any) -> None:
        """Bytes, or an array of them."""
        self.sha256.update(data)
        self.stream.write(data)
        self.size += len(data)


class Journal:
    """The streams of a set that is being written. Close or remove it at the end."""

    def __init__(self, folder: Path, request: dict[str, Any], openings: dict[str, bytes], resume: bool) -> None:
        """request: the definition of the streams; openings: the beginning of each stream, by name.

        Raises Error if another process writes here, and if the parts to be continued are of a different request."""
        self.folder = folder / UNFINISHED
        self.parts = self.cases = self.lines = 0
        self._request = json.loads(json.dumps(request))
        self._names = [*openings, _RUNS, _LEFT_OUT]
        self._outputs: list[_Output] = []
        mine = False
        try:
            with suppress(FileExistsError):
                self.folder.mkdir()
                mine = not resume
            self._journal: IO[bytes] = open_to_append(self.folder / _JOURNAL, "a+b")
            _lock(self._journal, self.folder)
            mine = not resume
            good = self._trusted() if resume else None
            if good is None:
                self._remove_streams()
                self._start(openings)
            else:
                self._go_on(good)
        except BaseException:  # a signal, say
            if hasattr(self, "_journal"):
                self.close()
            if mine:
                shutil.rmtree(self.folder, ignore_errors=True)
            raise

    # -- continuing --------------------------------------------------------------------------------------------------

    def _trusted(self) -> tuple[list[bytes], dict[str, Any]] | None:
        """The journal's lines up to the last part whose bytes are all there, and that part's entry."""
        self._journal.seek(0)
        lines = rest_of(self._journal, self.folder / _JOURNAL, limits.LOG).splitlines(keepends=True)
        entries = [entry for entry in takewhile(lambda x: x is not None, map(_entry, lines)) if entry is not None]
        if not entries:
            return None
        if entries[0] != self._request:
            raise Error(f"{self.folder}: holds parts of a different request or version; omit --resume to delete them")
        sizes = [e["streams"] for e in takewhile(lambda e: _is_part(e, len(self._names)), entries[1:])]
        good = len(sizes)
        for i, name in enumerate(self._names):
            good = min(good, _agreeing(self.folder / name, [s[i] for s in sizes[:good]]))
        return (lines[: good + 1], entries[good]) if good else None

    def _go_on(self, good: tuple[list[bytes], dict[str, Any]]) -> None:
        lines, entry = good
        self.parts, self.cases, self.lines = entry["part"] + 1, entry["cases"], entry["lines"]
        self._journal.truncate(sum(map(len, lines)))
        self._outputs = []
        for name, (size, _) in zip(self._names, entry["streams"], strict=True):
            path = self.folder / name
            os.truncate(path, size)
            self._outputs.append(_Output(path, open_to_append(path), sha256(path), size))

    def _start(self, openings: dict[str, bytes]) -> None:
        self._journal.truncate(0)
        self._outputs = []
        for name in self._names:
            path = self.folder / name
            self._outputs.append(_Output(path, open(path, "xb"), hashlib.sha256()))  # noqa: SIM115
            self._outputs[-1].write(openings.get(name, b""))
        self._note(self._request)

    # -- writing -----------------------------------------------------------------------------------------------------

    def add(self, batch: EncodedBatch) -> None:
        """Append the text of some lines and, if a part is complete, its entry."""
        if batch.part != self.parts:
            self._checkpoint()
            self.parts = batch.part
        runs = "".join(f"{count} {json.dumps(tag)}\n" for tag, count in batch.runs).encode("ascii")
        left_out = "".join(f"{i} {' '.join(f'{code:x}' for code in case)}\n" for i, case in batch.left_out)
        data = batch.data or [b""] * (len(self._outputs) - 2)
        for output, part in zip(self._outputs, (*data, runs, left_out.encode("ascii")), strict=True):
            output.write(part)
        self.cases += batch.cases
        self.lines += batch.lines

    def _checkpoint(self) -> None:
        """Write a journal entry for all bytes so far."""
        for output in self._outputs:
            output.stream.flush()
        marks = [[output.size, output.sha256.hexdigest()] for output in self._outputs]
        entry = {"part": self.parts, "cases": self.cases, "lines": self.lines, "streams": marks}
        self._note({**entry, "sha256": _digest(entry)})

    def _note(self, entry: dict[str, Any]) -> None:
        self._journal.write(json.dumps(entry).encode("ascii") + b"\n")
        self._journal.flush()

    # -- reading, when all is written --------------------------------------------------------------------------------

    def finish(self) -> None:
        """Write the last entry and close the streams, but not the journal."""
        self._checkpoint()
        for output in self._outputs:
            output.stream.close()

    def streams(self, start: int, count: int) -> list[FileStream]:
        """Some of the writers' streams."""
        return [FileStream(o.path, 0, o.size) for o in self._outputs[start : start + count]]

    def sha256(self, number: int) -> str:
        digest: str = self._outputs[number].sha256.hexdigest()
        return digest

    def runs(self) -> Iterator[Run]:
        """The runs of the lines' tags, neighbours merged."""
        return merge_runs(_read_runs(self.folder / _RUNS))

    @property
    def left_out_path(self) -> Path:
        """The cases without a defined result: one line each, with number and inputs."""
        return self.folder / _LEFT_OUT

    def close(self) -> None:
        """Close the files and keep them."""
        for output in self._outputs:
            output.stream.close()
        self._journal.close()

    def remove(self) -> None:
        """Remove everything, the folder included."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _remove_streams(self) -> None:
        for path in self.folder.iterdir():
            if path.name != _JOURNAL:
                path.unlink()


def discard(folder: Path) -> None:
    """Remove the files of a killed process from a folder. Raises Error if another process writes there."""
    path = folder / UNFINISHED
    if path.is_dir():
        with open_to_append(path / _JOURNAL) as stream:
            _lock(stream, path)
            shutil.rmtree(path, ignore_errors=True)


def _lock(stream: IO[bytes], folder: Path) -> None:
    """A lock so that no two processes write the same parts; without such locks in the system, users must avoid it."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Error(f"{folder}: another process is writing to this folder") from None


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = parse_json(line, "a line") if line.endswith(b"\n") and len(line) < _MAX_LINE else None
    except Error:
        return None
    return entry if isinstance(entry, dict) else None


def _digest(entry: dict[str, Any]) -> str:
    """The SHA-256 of an entry, whose counts are stored nowhere else."""
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode("ascii")).hexdigest()


def _is_part(entry: dict[str, Any], streams: int) -> bool:
    """Whether an entry is the unchanged entry of a part."""
    rest = {k: v for k, v in entry.items() if k != "sha256"}
    marks = rest.get("streams")
    return (
        entry.get("sha256") == _digest(rest)
        and all(type(rest.get(key)) is int for key in ("part", "cases", "lines"))
        and isinstance(marks, list)
        and len(marks) == streams
        and all(isinstance(m, list) and len(m) == 2 for m in marks)
    )


def _agreeing(path: Path, marks: Sequence[Sequence[Any]]) -> int:
    """The number of marks (size, SHA-256 of all bytes up to there), from the first on, with which a file agrees."""
    digest, at = hashlib.sha256(), 0
    try:
        with open_file(path) as stream:
            for number, (size, sha256) in enumerate(marks):
                while at < size and (data := stream.read(min(_BLOCK, size - at))):
                    digest.update(data)
                    at += len(data)
                if at != size or digest.hexdigest() != sha256:
                    return number
    except (OSError, TypeError, ValueError):
        return 0
    return len(marks)


def _read_runs(path: Path) -> Iterator[Run]:
    for line in text_lines(path):
        count, tag = line.split(" ", 1)
        yield parse_json(tag, str(path)), int(count)
