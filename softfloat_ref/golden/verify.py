"""Verification of a folder of vectors: hashes, counts, and every expected value, recomputed by the scalar oracle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from softfloat_ref.errors import Error
from softfloat_ref.files import read_bytes
from softfloat_ref.golden import writers
from softfloat_ref.golden.generate import HEADER, MANIFEST, SCHEMA
from softfloat_ref.golden.sets import Field, VectorSet

MAX_PROBLEMS: Final = 10


@dataclass
class Report:
    """What was found: how many lines were recomputed, and the first problems."""

    name: str
    checked: int = 0
    problems: list[str] = field(default_factory=list)
    more: int = 0

    @property
    def passed(self) -> bool:
        """Whether everything agreed, and there was something to check."""
        return self.checked > 0 and not self.problems

    def add(self, problem: str) -> None:
        """Note a problem; beyond the first ten only their number is kept."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more += 1


def verify(folder: str | Path) -> Report:
    """Check a folder against its manifest and the oracle. Raises Error where there is no readable manifest."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    vectors = VectorSet.from_dict(manifest["set"])
    report = Report(vectors.name)
    names = _check_files(folder, manifest, vectors, report)
    if not report.problems:
        _check_lines(folder, manifest, vectors, names, report)
    if report.checked == 0 and not report.problems:
        report.add(f"{folder}: no vectors")
    return report


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder. Raises Error for one that is missing, broken or newer than this version."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as e:
        raise Error(f"{path}: not valid JSON: {e}") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("schema"), int):
        raise Error(f"{path}: no manifest of vectors")
    if manifest["schema"] != SCHEMA:
        raise Error(f"{path}: schema {manifest['schema']}; this version reads schema {SCHEMA}")
    for key, kind in (("set", dict), ("files", list), ("count", int), ("fields", list)):
        if not isinstance(manifest.get(key), kind):
            raise Error(f"{path}: {key} is missing or no {kind.__name__}")
    return manifest


def _check_files(folder: Path, manifest: dict[str, Any], vectors: VectorSet, report: Report) -> list[str]:
    expected = [f"{vectors.name}.tv", f"{vectors.name}.memh", HEADER]
    entries = {str(f.get("name")): f for f in manifest["files"] if isinstance(f, dict)}
    if sorted(entries) != sorted(expected):  # so no path of a manifest is ever opened but these
        report.add(f"{MANIFEST}: files {sorted(entries)}, but this set has {sorted(expected)}")
        return expected
    for name in expected:
        data = read_bytes(folder / name)
        if hashlib.sha256(data).hexdigest() != entries[name].get("sha256"):
            report.add(f"{name}: SHA-256 differs from the manifest's: the file was changed or cut")
    return expected


def _check_lines(folder: Path, manifest: dict[str, Any], vectors: VectorSet, names: list[str], report: Report) -> None:
    text, words, header = (read_bytes(folder / n).decode("ascii", "replace") for n in names)
    lines = text.splitlines()
    memory = [w for w in words.splitlines() if w and not w.startswith("//")]
    if not lines:
        report.add(f"{names[0]}: no vectors")
        return
    for name, found in ((names[0], lines), (names[1], memory)):
        if len(found) != manifest["count"]:
            report.add(f"{name}: {len(found)} lines, but the manifest counts {manifest['count']}")
            return
    if header != writers.svh(vectors, len(lines)):
        report.add(f"{HEADER}: is not what this set's header must be")
    as_text, as_word = writers.text_line(vectors.fields), writers.word_line(vectors.fields)
    inputs = sum(f.lanes for f in vectors.fields if f.role in ("operand", "random"))
    for number, (line, word) in enumerate(zip(lines, memory, strict=True), 1):
        given = _parse(line, vectors.fields)
        if given is None:
            report.add(f"{names[0]}:{number}: not a line of this set: {line[:80]!r}")
            continue
        expected = vectors.line(given[:inputs])
        report.checked += 1
        if expected is None or given != expected:
            shown = "no defined result" if expected is None else as_text(expected).strip()
            report.add(f"{names[0]}:{number}: {line} but the oracle says {shown}")
        elif word + "\n" != as_word(expected):
            report.add(f"{names[1]}: word {number} is {word}, but the text's line says {as_word(expected).strip()}")


def _parse(line: str, fields: tuple[Field, ...]) -> tuple[int, ...] | None:
    """The codes of a line, or None where it is not exactly one of the set's."""
    parts = line.split(" ")
    lanes = [f for f in fields for _ in range(f.lanes)]
    if len(parts) != len(lanes):
        return None
    codes = []
    for part, f in zip(parts, lanes, strict=True):
        if len(part) != f.digits or any(c not in "0123456789ABCDEF" for c in part):
            return None
        code = int(part, 16)
        if code >> f.width:
            return None
        codes.append(code)
    return tuple(codes)


def problems(report: Report) -> Iterator[str]:
    """The lines to print of a report that did not pass."""
    yield from report.problems
    if report.more:
        yield f"... and {report.more} more"
