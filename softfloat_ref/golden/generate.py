"""Writing a vector set into a folder: the files of the chosen types, then the manifest."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from softfloat_ref import __version__
from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import Workers, in_background
from softfloat_ref.base.files import new_folder, read_bytes, read_text, sha256
from softfloat_ref.base.trees import parse_json
from softfloat_ref.golden import parts, writers
from softfloat_ref.golden.journal import Journal, discard
from softfloat_ref.golden.manifest import (
    LEFT_OUT,
    MANIFEST,
    MAX_LISTED,
    SCHEMA,
    left_out_entry,
    make_manifest,
    read_manifest,
    refuse_suite,
    to_json,
)
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers import Data, Facts, FileStream, Piece, StreamSlice, Writer

_BLOCK: Final = 1 << 20


def generate(
    vectors: VectorSet,
    folder: str | Path,
    command: Sequence[str] = (),
    workers: Workers | None = None,
    *,
    formats: Sequence[str] = (),
    resume: bool = False,
    advance: Callable[[str, int], None] = lambda label, cases: None,
) -> dict[str, Any]:
    """Write the set's files into a folder; returns the manifest.

    workers: processes that generate the lines; None for this process. formats: names of writers; by default those of
    the kind of unit. resume: keep the complete parts that a killed process has written, and those that this process
    writes if it is stopped. advance: called with a label and a number of cases as the work goes on.
    The manifest is written last, so a folder with a manifest is complete. Raises Error if the folder already holds
    another set, if it cannot be written, and if no case has a defined result.
    """
    folder = Path(folder)
    chosen = writers.choose_writers(formats, vectors, vectors.count)
    _refuse_other(folder, vectors)
    with new_folder(folder):
        if resume and (stored := _finished(folder, vectors, chosen)):
            discard(folder)  # an earlier run may have been killed just before this
            return stored
        openings = {f"{w.key}.{i}": data for w in chosen for i, data in enumerate(w.openings(vectors))}
        try:
            journal = Journal(folder, _request(vectors, chosen), openings, resume)
            try:
                _write_parts(vectors, chosen, journal, workers, advance)
                manifest = _Assembly(vectors, folder, chosen, journal).finish(command)
            except BaseException as e:
                if resume and journal.parts and not isinstance(e, Error):
                    journal.close()
                else:
                    journal.remove()
                raise
        except OSError as e:
            raise Error(f"{folder}: cannot be written: {e.strerror or e}") from None
        journal.remove()
    return manifest


def _request(vectors: VectorSet, chosen: Sequence[Writer]) -> dict[str, Any]:
    """The request on which the parts in a journal depend."""
    formats = [w.key for w in chosen]
    return {"schema": SCHEMA, "version": __version__, "formats": formats, "set": vectors.to_dict()}


def _write_parts(
    vectors: VectorSet,
    chosen: Sequence[Writer],
    journal: Journal,
    workers: Workers | None,
    advance: Callable[[str, int], None],
) -> None:
    counts = [len(writer.openings(vectors)) for writer in chosen]

    def add_placed(batch: parts.EncodedBatch) -> None:
        streams, data = iter(batch.data), list[Data]()
        for writer, count in zip(chosen, counts, strict=True):
            own = list(itertools.islice(streams, count))
            data += writer.placed(vectors, own, journal.lines) if own else []
        journal.add(batch._replace(data=data))

    with in_background(add_placed) as add:
        for batch in parts.encoded_batches(vectors, [w.key for w in chosen], journal.parts, workers, advance):
            add(batch)
    journal.finish()
    if journal.lines == 0:
        raise Error(f"{vectors.name}: no case has a defined result under this policy")


class _Assembly:
    """The files of a set whose lines are complete."""

    def __init__(self, vectors: VectorSet, folder: Path, chosen: Sequence[Writer], journal: Journal) -> None:
        self.vectors = vectors
        self.folder = folder
        self.chosen = chosen
        self.journal = journal
        self.facts = Facts(journal.lines, journal.runs)
        self.temporary: dict[str, Path] = {}  # where the files are before they get their names

    def finish(self, command: Sequence[str]) -> dict[str, Any]:
        """Put the files together, give them their names, and write the manifest."""
        files = list(self._files())
        left_out, listed = self._left_out()
        files += listed
        stale = self._listed_before() - {f["name"] for f in files}
        manifest = make_manifest(self.vectors, command, self.facts.count, left_out, files, self.facts.runs())
        path = self.journal.folder / f"new.{MANIFEST}"
        path.write_bytes(to_json(manifest).encode("ascii") + b"\n")
        (self.folder / MANIFEST).unlink(
            missing_ok=True
        )  # no manifest may describe the new files until they are complete
        for name, temporary in (*self.temporary.items(), (MANIFEST, path)):
            os.replace(temporary, self.folder / name)
        for name in stale:
            (self.folder / name).unlink(missing_ok=True)
        return manifest

    def _listed_before(self) -> set[str]:
        """The files of this set that an earlier manifest lists."""
        known = {w.file_name(self.vectors) for w in writers.of_set(self.vectors)} | {LEFT_OUT}
        with suppress(Error):
            return known & {f["name"] for f in read_manifest(self.folder)["files"]}
        return set()

    def _files(self) -> Iterator[dict[str, Any]]:
        first = 0
        for writer in self.chosen:
            count = len(writer.openings(self.vectors))
            streams = self.journal.streams(first, count)
            pieces = list(writer.pieces(self.vectors, self.facts, streams))
            name = writer.file_name(self.vectors)
            if len(streams) == 1 and pieces == [StreamSlice(0, streams[0].size)]:
                self.temporary[name], sha256 = streams[0].path, self.journal.sha256(first)
            else:
                self.temporary[name] = self.journal.folder / f"new.{name}"
                sha256 = _put_together(pieces, streams, self.temporary[name])
            first += count
            lines = writer.lines(self.vectors, self.facts)
            yield {"name": name, "format": writer.key, "sha256": sha256, "lines": lines}

    def _left_out(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        path, count = self.journal.left_out_path, self.journal.cases - self.facts.count
        if count <= MAX_LISTED:
            return left_out_entry(count, read_text(path, limits.LOG, "ascii").splitlines()), []
        self.temporary[LEFT_OUT] = path
        entry = {"name": LEFT_OUT, "format": "left_out", "sha256": file_sha256(path), "lines": count}
        return left_out_entry(count, ()), [entry]


def _put_together(pieces: Sequence[Piece], streams: Sequence[FileStream], path: Path) -> str:
    """Write a file of pieces; returns its SHA-256."""
    digest = hashlib.sha256()
    with open(path, "wb") as out:
        for piece in pieces:
            blocks = (
                FileStream(streams[piece.stream].path, 0, piece.size).blocks()
                if isinstance(piece, StreamSlice)
                else (piece,)
            )
            for block in blocks:
                digest.update(block)
                out.write(block)
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file of any size. Raises Error if it cannot be read."""
    return sha256(path).hexdigest()


def _finished(folder: Path, vectors: VectorSet, chosen: Sequence[Writer]) -> dict[str, Any] | None:
    """The manifest of a folder that already holds exactly this set, complete."""
    if not (folder / MANIFEST).exists():
        return None
    manifest = read_manifest(folder)
    names = [w.file_name(vectors) for w in chosen]
    stored = [f["name"] for f in manifest["files"] if f["name"] != LEFT_OUT]
    same = manifest.get("version") == __version__ and stored == names
    if not same or manifest["set"] != json.loads(json.dumps(vectors.to_dict())):
        return None
    for entry in manifest["files"]:
        path = folder / entry["name"]
        if not path.is_file() or file_sha256(path) != entry["sha256"]:
            return None
    return manifest


def _refuse_other(folder: Path, vectors: VectorSet) -> None:
    refuse_suite(folder)
    existing = sorted(p.name for p in folder.glob("*.tv"))
    if existing not in ([], [f"{vectors.name}.tv"]):
        raise Error(f"{folder}: already holds {existing[0]}; a folder holds one set")
    if (folder / MANIFEST).exists():
        stored, wanted = _definition(_stored_set(folder)), _definition(vectors.to_dict())
        if stored != json.loads(json.dumps(wanted)):
            raise Error(f"{folder}: already holds a set other than {vectors.name}; choose another folder")


def _stored_set(folder: Path) -> dict[str, Any]:
    """The definition that a manifest of any schema stores; other files are refused."""
    data = read_bytes(folder / MANIFEST, limits.JSON)
    try:
        stored = parse_json(data, MANIFEST)["set"]
    except (Error, KeyError, TypeError):
        stored = None
    if not isinstance(stored, dict):
        raise Error(f"{folder / MANIFEST}: not a manifest of vectors; choose another folder")
    return stored


def _definition(table: dict[str, Any]) -> dict[str, Any]:
    """The definition of a set without its count, level and seed: sets that differ only in these may be replaced."""
    return {k: v for k, v in table.items() if k not in ("count", "level", "seed", "random_sources")}
