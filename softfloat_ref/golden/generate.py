"""Writing a vector set into a folder: text, memory words, SystemVerilog header, manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from softfloat_ref.errors import Error
from softfloat_ref.executors import Workers
from softfloat_ref.files import made_folder, new_file, read_bytes, write_file
from softfloat_ref.golden import shards, writers
from softfloat_ref.golden.sets import Field, Line, Vectors, VectorSet, in_bulk

MANIFEST: Final = "manifest.json"
HEADER: Final = "vectors.svh"
SCHEMA: Final = 1


@dataclass
class _Output:
    """A file being written: counts its lines and hashes its bytes."""

    name: str
    stream: IO[bytes]
    sha256: Any
    lines: int = 0

    def write(self, text: str, lines: int) -> None:
        self.write_bytes(text.encode("ascii"), lines)

    def write_bytes(self, data: Any, lines: int) -> None:
        """Bytes, or an array of them."""
        self.sha256.update(data)
        self.stream.write(data)
        self.lines += lines


def generate(
    vectors: Vectors, folder: str | Path, command: Sequence[str] = (), crew: Workers | None = None
) -> dict[str, Any]:
    """Write the set's files into a folder; returns the manifest. crew: who makes the lines, where not this process.

    The manifest is written last, so a folder with one is complete. Raises Error where the folder already holds
    another set, where nothing could be written, and where no case has a defined result.
    """
    folder = Path(folder)
    _refuse_other(folder, vectors)
    with made_folder(folder), ExitStack() as stack:
        text, words = (
            _Output(name, stack.enter_context(new_file(folder / name)), hashlib.sha256())
            for name in (f"{vectors.name}.tv", f"{vectors.name}.memh")
        )
        words.write(writers.word_header(vectors), 0)
        count, left_out = _write_lines(vectors, text, words, crew)
        if count == 0:
            raise Error(f"{vectors.name}: no case has a defined result under this policy")
        (folder / MANIFEST).unlink(missing_ok=True)  # until the new files stand, nothing may vouch for them
    header = writers.svh(vectors, count).encode("ascii")
    write_file(folder / HEADER, lambda stream: stream.write(header))
    files = [{"name": f.name, "sha256": f.sha256.hexdigest(), "lines": f.lines} for f in (text, words)]
    files.append({"name": HEADER, "sha256": hashlib.sha256(header).hexdigest(), "lines": header.count(b"\n")})
    manifest = make_manifest(vectors, command, count, left_out, files)
    data = json.dumps(manifest, indent=1).encode() + b"\n"
    write_file(folder / MANIFEST, lambda stream: stream.write(data))
    return manifest


def _refuse_other(folder: Path, vectors: Vectors) -> None:
    existing = sorted(p.name for p in folder.glob("*.tv"))
    if existing not in ([], [f"{vectors.name}.tv"]):
        raise Error(f"{folder}: already holds {existing[0]}; a folder holds one set")
    if (folder / MANIFEST).exists():
        stored, wanted = _definition(read_manifest(folder)["set"]), _definition(vectors.to_dict())
        if stored != json.loads(json.dumps(wanted)):
            raise Error(f"{folder}: already holds another set named {vectors.name}; choose another folder")


def _definition(table: dict[str, Any]) -> dict[str, Any]:
    """A set but for how many cases it has, and which: those may be made anew in place."""
    return {k: v for k, v in table.items() if k not in ("count", "level", "seed", "random_source", "parts")}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder. Raises Error for one that is missing, broken or newer than this version."""
    path = folder / MANIFEST
    data = read_bytes(path)
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise Error(f"{path}: not valid JSON: {str(e)[:80]}") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("schema"), int):
        raise Error(f"{path}: no manifest of vectors")
    if manifest["schema"] != SCHEMA:
        raise Error(f"{path}: schema {manifest['schema']}; this version reads schema {SCHEMA}")
    for key, kind in (("set", dict), ("files", list), ("count", int), ("fields", list), ("left_out", dict)):
        if not isinstance(manifest.get(key), kind):
            raise Error(f"{path}: {key} is missing or no {kind.__name__}")
    fields = manifest["fields"]
    if not all(
        isinstance(f, dict) and isinstance(f.get("lanes"), int) and isinstance(f.get("role"), str) for f in fields
    ):
        raise Error(f"{path}: fields are no tables with name, role, width and lanes")
    if not all(isinstance(f, dict) and {"name", "sha256", "lines"} <= f.keys() for f in manifest["files"]):
        raise Error(f"{path}: files are no tables with name, sha256 and lines")
    if type(manifest["left_out"].get("count")) is not int:
        raise Error(f"{path}: left_out has no count")
    return manifest


def _write_lines(vectors: Vectors, text: _Output, words: _Output, crew: Workers | None) -> tuple[int, list[Line]]:
    """The lines of both files; returns how many, and the inputs of the cases without a defined result."""
    if crew is not None:
        return _write_shards(vectors, text, words, crew)
    if isinstance(vectors, VectorSet) and in_bulk(vectors):
        return _write_batches(vectors, text, words)
    as_text, as_word = writers.text_line(vectors.fields), writers.word_line(vectors.fields)
    count, left_out = 0, list[Line]()
    batch: list[Line] = []
    for inputs in vectors.inputs():
        line = vectors.line(inputs)
        if line is None:
            left_out.append(inputs)
            continue
        batch.append(line)
        if len(batch) == 4096:
            _flush(batch, text, words, as_text, as_word)
            count += 4096
            batch = []
    _flush(batch, text, words, as_text, as_word)
    return count + len(batch), left_out


def _write_shards(vectors: Vectors, text: _Output, words: _Output, crew: Workers) -> tuple[int, list[Line]]:
    """As `_write_lines`, by any workers."""
    count, left_out = 0, list[Line]()
    for part in shards.lines(vectors, crew):
        text.write_bytes(part.text, part.made)
        words.write_bytes(part.words, part.made)
        count += part.made
        left_out += part.left_out
    return count, left_out


def _write_batches(vectors: VectorSet, text: _Output, words: _Output) -> tuple[int, list[Line]]:
    """As `_write_lines`, in arrays."""
    from softfloat_ref.golden import bulk

    count, left_out = 0, list[Line]()
    for columns, undefined in bulk.batches(vectors):
        lines = bulk.text(columns, vectors.fields)
        text.write_bytes(lines, columns.shape[1])
        words.write_bytes(bulk.words(lines), columns.shape[1])
        count += columns.shape[1]
        left_out += undefined
    return count, left_out


def _flush(batch: list[Line], text: _Output, words: _Output, as_text: Any, as_word: Any) -> None:
    text.write("".join(map(as_text, batch)), len(batch))
    words.write("".join(map(as_word, batch)), len(batch))


def make_manifest(
    vectors: Vectors, command: Sequence[str], count: int, left_out: Sequence[Line], files: list[dict[str, Any]]
) -> dict[str, Any]:
    """Everything a reader needs to use the files and to make them again."""
    from softfloat_ref import __version__

    return {
        "schema": SCHEMA,
        "tool": "softfloat-ref",
        "version": __version__,
        "command": list(command),
        "description": vectors.description,
        "count": count,
        "left_out": {
            "count": len(left_out),
            "why": "no defined result under this policy",
            "inputs": [" ".join(f"{code:x}" for code in line) for line in left_out],
        },
        "set": vectors.to_dict(),
        "flags": "10 invalid, 08 divide by zero, 04 overflow, 02 underflow, 01 inexact",
        "block_order": "lane 0 first in text, lowest in a word",
        "fields": field_entries(vectors.fields),
        "files": files,
    }


def field_entries(fields: Sequence[Field]) -> list[dict[str, Any]]:
    """The fields of a line as a manifest describes them."""
    lsb = writers.positions(fields)
    return [_field_entry(f, lsb[f.name]) for f in fields]


def _field_entry(f: Field, lsb: int) -> dict[str, Any]:
    entry = {
        "name": f.name,
        "role": f.role,
        "width": f.width,
        "lanes": f.lanes,
        "format": f.format or None,
        "lsb": lsb,
        "msb": lsb + 4 * f.digits * f.lanes - 1,
        "stride": 4 * f.digits,
    }
    if f.codes:
        entry["codes"] = list(f.codes)
    if f.padding:
        entry["padding"] = f.padding
    return entry
