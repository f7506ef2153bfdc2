"""Verification of a folder of vectors: hashes, counts, and every expected value, recomputed by the scalar oracle."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from softfloat_ref.base.errors import Error, one_line
from softfloat_ref.base.files import open_file, text_lines
from softfloat_ref.golden import parts
from softfloat_ref.golden.compare import Comparison, FileLayout, file_layout
from softfloat_ref.golden.manifest import LEFT_OUT, MANIFEST, left_out_entry, read_manifest, wrong_descriptions
from softfloat_ref.golden.sample import check_sample, chosen_cases
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.tags import Run, TagCursor, defined_runs, groups, merge_runs
from softfloat_ref.golden.trace.model import TRACE, TraceSet
from softfloat_ref.golden.writers import Facts, Writer, of_set
from softfloat_ref.oracle.formats import in_full
from softfloat_ref.units import Line

MAX_PROBLEMS: Final = 10
MAX_ORACLE_LINES: Final = 1 << 20  # a bulk set of at most this many lines is recomputed by the oracle alone
ORACLE_SAMPLE: Final = 1 << 16  # lines of larger sets that it recomputes; the compiled code recomputes all
_BLOCK: Final = 1 << 20
_MAX_DIGITS: Final = 19  # so that the number of a case fits 64 bits


@dataclass
class VerifyReport:
    """The result: the numbers of lines that the oracle and compiled code recomputed, and the first problems."""

    name: str
    count: int = 0
    checked: int = 0
    compiled: int = 0
    problems: list[str] = field(default_factory=list)
    more: int = 0
    words: str = ""  # the summary, where it is of another kind
    noun: str = "vectors"
    note: str = ""  # what the summary ends with

    @property
    def passed(self) -> bool:
        """Whether everything agreed, and at least one line was checked."""
        return self.checked > 0 and not self.problems

    def add(self, problem: str) -> None:
        """Note a problem, as one line; beyond the first ten only their number is kept."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(one_line(problem))  # it may quote the manifest
        else:
            self.more += 1

    def summary(self) -> str:
        if self.words:
            return self.words
        if self.compiled:
            return (
                f"{self.compiled} {self.noun} of {self.name} recomputed by compiled code, "
                f"{self.checked} of them, spread over the set, by the scalar oracle"
            )
        if self.checked < self.count and not self.problems:
            return f"{self.checked} of {self.count} {self.noun} of {self.name} recomputed, spread over the set"
        return f"{self.checked} {self.noun} of {self.name} recomputed{self.note}"


def verify(
    folder: str | Path,
    sample: int | None = None,
    every: bool = False,
    progress: Callable[[int], AbstractContextManager[Bar]] | None = None,
    models: Sequence[str] = (),
) -> VerifyReport:
    """Check a folder against its manifest and the oracle. Raises Error if there is no readable manifest.

    sample: the number of lines to recompute, spread over the set; by default all. every: the scalar oracle recomputes
    every line; by default, compiled code recomputes large sets, and the oracle only a sample. progress: makes a bar for
    a number of codes, for traces. models: files with the tensors of which the set has its operands, to be compared.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    vectors = stored_set(folder, manifest)
    report = VerifyReport(vectors.name, manifest["count"])
    if models and (isinstance(vectors, TraceSet) or vectors.operands is None):
        raise Error(f"{folder}: has no operands of tensors; leave --from out")
    if isinstance(vectors, TraceSet):
        return _verify_trace(folder, manifest, vectors, sample, every, progress)
    report.noun = vectors.cases.noun
    if vectors.operands is not None:
        report.note = _operands_note(vectors, models, report.add)
    check = _FolderCheck(folder, manifest, vectors, report)
    check.files()
    if not check.others():  # if only hashes differ, comparing the lines shows where
        check.lines(sample, every)
    if report.checked == 0 and not report.problems:
        report.add(f"{folder}: no vectors")
    return report


def _operands_note(vectors: VectorSet, models: Sequence[str], add: Callable[[str], None]) -> str:
    """What is known of operands of tensors: they are compared if there are models."""
    assert vectors.operands is not None
    names = ", ".join(dict.fromkeys(str(x) for x in vectors.operands.tensors))
    if not models:
        return f"; operands of {names} not compared with it (--from)"
    from softfloat_ref.golden.from_model import difference

    if wrong := difference(vectors.unit, vectors.operands, models):
        add(f"{MANIFEST}: {wrong}")
    return f"; operands compared with {names}"


class Bar(Protocol):
    """Shows progress."""

    def advance(self, label: str, done: int) -> None:
        """Add `done` to the work finished; the label names the current part."""


def _verify_trace(
    folder: Path,
    manifest: dict[str, Any],
    trace: TraceSet,
    sample: int | None,
    every: bool,
    progress: Callable[[int], AbstractContextManager[Bar]] | None,
) -> VerifyReport:
    from softfloat_ref.golden.trace.check import check_trace

    report = VerifyReport(trace.name, manifest["count"])
    with nullcontext() if progress is None else progress(2 * trace.count) as bar:
        advance = (lambda label, done: None) if bar is None else bar.advance
        tally = check_trace(folder, manifest, trace, report.add, sample, every, advance)
    report.checked, report.words = tally.by_oracle, tally.summary(trace.name)
    if report.problems:
        report.words = f"{trace.name}: restore the files, or write the trace again (its command is in {MANIFEST})"
    elif not tally.by_oracle:
        report.add(f"{folder}: no operation can be recomputed")
    return report


def stored_set(folder: Path, manifest: dict[str, Any]) -> VectorSet | TraceSet:
    """The set a manifest defines. Raises Error, naming the manifest."""
    table = manifest["set"]
    try:
        if table.get("op") == TRACE:
            with in_full():
                return TraceSet.from_dict(table)
        return dataclasses.replace(VectorSet.from_dict(table), description=str(manifest.get("description", "")))
    except Error as e:
        raise Error(f"{folder / MANIFEST}: {e}") from None
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError, RecursionError) as e:
        raise Error(f"{folder / MANIFEST}: the set's definition is incomplete or wrong: {str(e)[:80]}") from None


def check_hashes(folder: Path, manifest: dict[str, Any]) -> VectorSet:
    """The set of a folder. Raises Error if its vectors do not match its manifest."""
    vectors, report = stored_set(folder, manifest), VerifyReport(str(folder))
    if isinstance(vectors, TraceSet):
        raise Error(f"{folder}: holds a trace of a training step, which has no lines to compare with")
    _FolderCheck(folder, manifest, vectors, report).files()
    if report.problems:
        raise Error(f"{folder}: {report.problems[0]}")
    return vectors


class _FolderCheck:
    """One folder being verified."""

    def __init__(self, folder: Path, manifest: dict[str, Any], vectors: VectorSet, report: VerifyReport) -> None:
        self.folder = folder
        self.manifest = manifest
        self.vectors = vectors
        self.report = report
        self.entries = {f["name"]: f for f in manifest["files"]}
        self.changed = 0  # files with a wrong hash but the right length
        self.known = {w.file_name(vectors): w for w in of_set(vectors)}
        self.total = manifest["count"] + manifest["left_out"]["count"]
        self.facts = Facts(manifest["count"], self._line_runs)

    # -- the manifest, and the files as wholes -----------------------------------------------------------------------

    def files(self) -> None:
        """Check the list of files, the manifest's entries about the set and the files, hashes and counts."""
        add = self.report.add
        listed = [name for name in self.entries if name != LEFT_OUT]
        if not listed or any(name not in self.known for name in listed):
            # so no other path of a manifest is ever opened
            add(f"{MANIFEST}: files {sorted(self.entries)}, but this set has {sorted(self.known)}")
            return
        there = set(os.listdir(self.folder))
        for name in (*self.known, LEFT_OUT):
            if name in there and name not in self.entries:
                add(f"{name}: is in the folder, but not in the manifest")
        self._check_manifest()
        for name, entry in self.entries.items():
            self._check_file(name, entry)
        if not self.others():
            self._check_facts()

    def others(self) -> int:
        """The number of problems except for files that were changed, but not cut."""
        return len(self.report.problems) + self.report.more - self.changed

    def _check_manifest(self) -> None:
        """Check the manifest's entries about its own set: fields, and number of cases."""
        manifest, add = self.manifest, self.report.add
        for problem in wrong_descriptions(manifest, self.vectors):
            add(problem)
        if manifest["count"] < 1:
            add(f"{MANIFEST}: the count of vectors is 0")
        if manifest["set"].get("count", self.total) != self.total or manifest["left_out"]["count"] < 0:
            add(f"{MANIFEST}: the set's count is not vectors plus cases left out")

    def _check_file(self, name: str, entry: dict[str, Any]) -> None:
        add, path = self.report.add, self.folder / name
        if not os.path.isfile(path):  # a name that is too long does not exist either
            add(f"{name}: missing")
            return
        sha256, lines = _read(path)
        writer = self.known.get(name)
        if entry.get("format") != (writer.key if writer else "left_out"):
            add(f"{MANIFEST}: {name} is not of format {entry.get('format')!r}")
        if writer is not None and writer.comments:
            lines -= sum(x.count(b"\n") for x in writer.openings(self.vectors))
        empty, counted = not path.stat().st_size, writer is None or writer.text
        count = f"{lines} lines, but the manifest counts {entry['lines']}"
        if sha256 != entry["sha256"]:
            cut = counted and lines != entry["lines"]
            self.changed += not (cut or empty)
            more = f": {count}" if cut else ""
            add(f"{name}: SHA-256 differs from the manifest's: the file was changed or cut{more}")
        elif empty:
            add(f"{name}: no vectors")
        elif counted and lines != entry["lines"]:
            add(f"{name}: {count}")

    def _check_facts(self) -> None:
        """Check the entries that follow from the number of lines and the cases left out."""
        manifest, add = self.manifest, self.report.add
        listed = manifest["left_out"]
        if listed.get("file") != (LEFT_OUT if LEFT_OUT in self.entries else None):
            add(f"{MANIFEST}: left_out does not name the file that lists the cases left out")
        elif LEFT_OUT not in self.entries and not _is_list(listed):
            add(f"{MANIFEST}: left_out does not list {listed['count']} cases")
        else:
            if manifest.get("groups") != groups(self.facts.runs()):
                add(f"{MANIFEST}: groups do not match this set")
            for name, entry in self.entries.items():
                lines = listed["count"] if name == LEFT_OUT else self.known[name].lines(self.vectors, self.facts)
                if entry["lines"] != lines:
                    add(f"{name}: {entry['lines']} lines, but {manifest['count']} vectors make {lines}")

    def _left_out(self) -> Iterator[tuple[int, str]]:
        """Number and inputs of the cases without a line, as listed in the manifest or the file."""
        if LEFT_OUT in self.entries:
            for line in text_lines(self.folder / LEFT_OUT):
                number, _, inputs = line.strip().partition(" ")
                yield int(number) if number.isdecimal() and len(number) < _MAX_DIGITS else -1, inputs
        else:
            listed = self.manifest["left_out"]
            yield from zip(listed["cases"], listed["inputs"], strict=True)

    def _line_runs(self) -> Iterator[Run]:
        """The tags of the set's lines: of its cases, except those without a line."""
        runs = TagCursor(self.vectors).take(0, self.total)
        return merge_runs(defined_runs(runs, (number for number, _ in self._left_out())))

    # -- every line --------------------------------------------------------------------------------------------------

    def lines(self, sample: int | None, every: bool) -> None:
        """Every line, or some, recomputed."""
        before = self.others()
        writers: list[Writer] = [self.known[name] for name in self.entries if name in self.known]
        layouts = [
            file_layout(w, self.vectors, self.facts, self.folder / w.file_name(self.vectors), self.report.add)
            for w in writers
        ]
        if self.others() > before:
            return
        lanes = max((f.lanes for f in self.vectors.fields), default=1)
        compiled = (
            self.vectors.compiled and self.manifest["count"] * lanes > MAX_ORACLE_LINES and sample is None and not every
        )
        if sample is None:
            count = self._compare_all(layouts, compiled)
            if not compiled:
                self.report.checked = count
                return
            self.report.compiled = count
        if self.others() == before:
            numbers = chosen_cases(
                self.total, sample or ORACLE_SAMPLE // lanes, int(self.manifest["set"].get("seed", 0))
            )
            left_out = array("q", (number for number, _ in self._left_out()))
            self.report.checked = check_sample(self.vectors, layouts, numbers, left_out, self.report.add)

    def _compare_all(self, layouts: list[FileLayout], compiled: bool) -> int:
        add = self.report.add
        listed = self._left_out()
        cases = 0
        with Comparison(self.vectors, layouts, add) as comparison:
            comparison.opening()
            for numbered in parts.batches(self.vectors, compiled=compiled):
                comparison.compare(numbered.batch)
                cases += numbered.cases
                if not _same_left_out(numbered.left_out, listed):
                    add(f"{MANIFEST}: the cases left out are not the cases without a defined result")
                    return comparison.lines
            comparison.finish()
        if comparison.lines != self.manifest["count"] or cases != self.total:
            add(f"{MANIFEST}: {self.manifest['count']} vectors, but this set has {comparison.lines}")
        return comparison.lines


def _is_list(listed: dict[str, Any]) -> bool:
    """Whether a manifest's `left_out` lists as many cases as it counts, numbers and inputs."""
    cases, inputs = listed.get("cases"), listed.get("inputs")
    if not isinstance(cases, list) or not isinstance(inputs, list) or not all(type(x) is int for x in cases):
        return False
    return len(cases) == len(inputs) == listed["count"] and listed == left_out_entry(
        len(cases), [f"{case} {text}" for case, text in zip(cases, inputs, strict=True)]
    )


def _same_left_out(left_out: Iterable[tuple[int, Line]], listed: Iterator[tuple[int, str]]) -> bool:
    """Whether the next cases listed are the cases without a result."""
    return all(next(listed, None) == (number, " ".join(f"{x:x}" for x in case)) for number, case in left_out)


def _read(path: Path) -> tuple[str, int]:
    """SHA-256 and newlines of a file of any size. Raises Error."""
    digest, lines = hashlib.sha256(), 0
    try:
        with open_file(path) as stream:
            while data := stream.read(_BLOCK):
                digest.update(data)
                lines += data.count(b"\n")
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from None
    return digest.hexdigest(), lines


def problem_lines(report: VerifyReport) -> Iterator[str]:
    """The lines to print of a report that did not pass."""
    yield from report.problems
    if report.more:
        yield f"... and {report.more} more"
