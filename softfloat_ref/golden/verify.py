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
from softfloat_ref.golden.generate import HEADER, MANIFEST, make_manifest, read_manifest
from softfloat_ref.golden.kinds import AnySet, read_set
from softfloat_ref.golden.matmul_files import check_images
from softfloat_ref.golden.matmuls import MatmulSet
from softfloat_ref.golden.sets import Field, Vectors

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
    vectors = stored_set(folder, manifest)
    report = Report(vectors.name)
    if isinstance(vectors, MatmulSet):
        report.checked, found = check_images(folder, manifest, vectors)
        for problem in found:
            report.add(problem)
        return report
    names = _check_files(folder, manifest, vectors, report)
    if not report.problems:
        _check_lines(folder, manifest, vectors, names, report)
    if report.checked == 0 and not report.problems:
        report.add(f"{folder}: no vectors")
    return report


def stored_set(folder: Path, manifest: dict[str, Any]) -> AnySet | MatmulSet:
    """The set a manifest defines. Raises Error, naming the manifest."""
    try:
        return read_set(manifest["set"])
    except Error as e:
        raise Error(f"{folder / MANIFEST}: {e}") from None
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError, RecursionError) as e:
        raise Error(f"{folder / MANIFEST}: the set's definition is incomplete or wrong: {str(e)[:80]}") from None


def check_hashes(folder: Path, manifest: dict[str, Any]) -> AnySet:
    """The set of a folder. Raises Error where its vectors are not those that its manifest describes."""
    vectors, report = stored_set(folder, manifest), Report(str(folder))
    if isinstance(vectors, MatmulSet):
        raise Error(f"{folder}: memory images of matrix products; they have no lines to compare with")
    _check_files(folder, manifest, vectors, report)
    if report.problems:
        raise Error(f"{folder}: {report.problems[0]}")
    return vectors


def _check_files(folder: Path, manifest: dict[str, Any], vectors: Vectors, report: Report) -> list[str]:
    expected = [f"{vectors.name}.tv", f"{vectors.name}.memh", HEADER]
    entries = {str(f.get("name")): f for f in manifest["files"] if isinstance(f, dict)}
    if sorted(entries) != sorted(expected):  # so no path of a manifest is ever opened but these
        report.add(f"{MANIFEST}: files {sorted(entries)}, but this set has {sorted(expected)}")
        return expected
    _check_manifest(manifest, vectors, report)
    for name in expected:
        if not (folder / name).is_file():
            report.add(f"{name}: missing")
            continue
        data = read_bytes(folder / name)
        if hashlib.sha256(data).hexdigest() != entries[name].get("sha256"):
            report.add(f"{name}: SHA-256 differs from the manifest's: the file was changed or cut")
        elif not data:
            report.add(f"{name}: no vectors")
        elif entries[name].get("lines") != _count_lines(name, data):
            counted = entries[name].get("lines")
            report.add(f"{name}: {_count_lines(name, data)} lines, but the manifest counts {counted}")
    return expected


def _count_lines(name: str, data: bytes) -> int:
    """Lines of a file, but for the comments in front of memory words."""
    comments = data.count(b"\n//") + data.startswith(b"//") if name.endswith(".memh") else 0
    return data.count(b"\n") - comments


def _check_manifest(manifest: dict[str, Any], vectors: Vectors, report: Report) -> None:
    """What the manifest says of its own set: fields, and how many cases it has."""
    wanted = json.loads(json.dumps(make_manifest(vectors, [], 0, [], [])))
    for key in ("fields", "flags", "block_order"):
        if manifest.get(key) != wanted[key]:
            report.add(f"{MANIFEST}: {key} are not those of this set")
    if manifest["set"].get("count", manifest["count"]) != manifest["count"] + int(manifest["left_out"].get("count", 0)):
        report.add(f"{MANIFEST}: the set's count is not the vectors' and the left out cases'")


def _check_lines(folder: Path, manifest: dict[str, Any], vectors: Vectors, names: list[str], report: Report) -> None:
    text, words, header = (read_bytes(folder / n).decode("ascii", "replace") for n in names)
    lines = _lines(text)
    memory = [w for w in _lines(words) if w and not w.startswith("//")]
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
    inputs = sum(f.lanes for f in vectors.fields if f.role in ("control", "operand", "random"))
    foreign = False
    cases: Iterator[Any] = (c for c in vectors.inputs() if vectors.line(c) is not None)
    for number, (line, word) in enumerate(zip(lines, memory, strict=True), 1):
        given = _parse(line, vectors.fields)
        if given is None:
            report.add(f"{names[0]}:{number}: not a line of this set: {line[:80]!r}")
            continue
        if next(cases, None) != given[:inputs] and not foreign:
            foreign = True
            report.add(f"{names[0]}:{number}: from here on, not the cases of this set's seed and generator")
        expected = vectors.line(given[:inputs])
        report.checked += 1
        if expected is None or given != expected:
            shown = "no defined result" if expected is None else as_text(expected).strip()
            report.add(f"{names[0]}:{number}: {line} but the oracle says {shown}")
        elif word + "\n" != as_word(expected):
            report.add(f"{names[1]}: word {number} is {word}, but the text's line says {as_word(expected).strip()}")


def _lines(text: str) -> list[str]:
    """The lines of a file; they end with LF and nothing else, since a set has the same bytes anywhere."""
    return text.removesuffix("\n").split("\n") if text else []


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
