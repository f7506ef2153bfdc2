"""Verification of a folder of vectors: hashes, counts, and every expected value, recomputed by the scalar oracle."""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from softfloat_ref.errors import Error, one_line
from softfloat_ref.golden import parts
from softfloat_ref.golden.compare import Comparison, Layout, layout
from softfloat_ref.golden.kinds import AnySet, read_set
from softfloat_ref.golden.manifest import LEFT_OUT, MANIFEST, left_out_entry, read_manifest, wrong_descriptions
from softfloat_ref.golden.matmul_files import check_images
from softfloat_ref.golden.matmuls import MatmulSet
from softfloat_ref.golden.sample import check_sample, chosen_cases
from softfloat_ref.golden.sets import Line, Vectors, VectorSet, in_arrays, in_bulk
from softfloat_ref.golden.tags import Run, groups, merged, tag_runs
from softfloat_ref.golden.trace.model import TraceSet
from softfloat_ref.golden.writers import WRITERS, Facts, Writer

MAX_PROBLEMS: Final = 10
ORACLE_LINES: Final = 1 << 20  # a set made in bulk of up to so many lines is recomputed by the oracle alone
ORACLE_SAMPLE: Final = 1 << 16  # of larger ones so many are; the compiled code recomputes all
_BLOCK: Final = 1 << 20
_DIGITS: Final = 19  # so that the number of a case fits 64 bits


@dataclass
class Report:
    """What was found: how many lines the oracle recomputed, how many compiled code did, and the first problems."""

    name: str
    count: int = 0
    checked: int = 0
    compiled: int = 0
    problems: list[str] = field(default_factory=list)
    more: int = 0
    words: str = ""  # the summary, where it is of another kind

    @property
    def passed(self) -> bool:
        """Whether everything agreed, and there was something to check."""
        return self.checked > 0 and not self.problems

    def add(self, problem: str) -> None:
        """Note a problem, as one line; beyond the first ten only their number is kept."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(one_line(problem))  # a manifest's own words may stand in it
        else:
            self.more += 1

    def summary(self) -> str:
        """What was done, in words."""
        if self.words:
            return self.words
        if self.compiled:
            return (
                f"{self.compiled} vectors of {self.name} recomputed by compiled code, "
                f"{self.checked} of them, spread over the set, by the scalar oracle"
            )
        if self.checked < self.count and not self.problems:
            return f"{self.checked} of {self.count} vectors of {self.name} recomputed, spread over the set"
        return f"{self.checked} vectors of {self.name} recomputed"


def verify(folder: str | Path, sample: int | None = None, every: bool = False) -> Report:
    """Check a folder against its manifest and the oracle. Raises Error where there is no readable manifest.

    sample: how many lines, spread over the set, are recomputed, instead of all. every: the scalar oracle recomputes
    every line, also of a set so large that otherwise compiled code does, and the oracle only a sample.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    vectors = stored_set(folder, manifest)
    report = Report(vectors.name, manifest["count"])
    if isinstance(vectors, MatmulSet):
        report.checked, found = check_images(folder, manifest, vectors)
        report.count = report.checked
        for problem in (*wrong_descriptions(manifest, vectors), *found):
            report.add(problem)
        return report
    if isinstance(vectors, TraceSet):
        return _verify_trace(folder, manifest, vectors, sample, every)
    check = _Check(folder, manifest, vectors, report)
    check.files()
    if not check.others():  # where only hashes differ, the lines say where
        check.lines(sample, every)
    if report.checked == 0 and not report.problems:
        report.add(f"{folder}: no vectors")
    return report


def _verify_trace(folder: Path, manifest: dict[str, Any], trace: TraceSet, sample: int | None, every: bool) -> Report:
    from softfloat_ref.golden.trace.check import check_trace

    report = Report(trace.name, manifest["count"])
    tally = check_trace(folder, manifest, trace, report.add, sample, every)
    report.checked, report.words = tally.by_oracle, tally.summary(trace.name)
    if not tally.by_oracle and not report.problems:
        report.add(f"{folder}: no operation to recompute")
    return report


def stored_set(folder: Path, manifest: dict[str, Any]) -> AnySet | MatmulSet | TraceSet:
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
    if isinstance(vectors, (MatmulSet, TraceSet)):
        kind = "memory images of matrix products" if isinstance(vectors, MatmulSet) else "a trace of a training step"
        raise Error(f"{folder}: {kind}; they have no lines to compare with")
    _Check(folder, manifest, vectors, report).files()
    if report.problems:
        raise Error(f"{folder}: {report.problems[0]}")
    return vectors


class _Check:
    """One folder being verified."""

    def __init__(self, folder: Path, manifest: dict[str, Any], vectors: AnySet, report: Report) -> None:
        self.folder = folder
        self.manifest = manifest
        self.vectors = vectors
        self.report = report
        self.entries = {f["name"]: f for f in manifest["files"]}
        self.changed = 0  # files of another hash that are as long as they should be
        self.known = {w.file_name(vectors): w for w in WRITERS.values()}
        self.total = manifest["count"] + manifest["left_out"]["count"]
        self.facts = Facts(manifest["count"], lambda: merged(_line_runs(vectors, self.total, self._left_out())))

    # -- the manifest, and the files as wholes -----------------------------------------------------------------------

    def files(self) -> None:
        """Which files there are, what the manifest says of the set and of them, hashes and counts."""
        add = self.report.add
        listed = [name for name in self.entries if name != LEFT_OUT]
        if not listed or any(name not in self.known for name in listed):
            # so no path of a manifest is ever opened but these
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
        """How many problems there are beside files that were changed, but not cut."""
        return len(self.report.problems) + self.report.more - self.changed

    def _check_manifest(self) -> None:
        """What the manifest says of its own set: fields, and how many cases it has."""
        manifest, add = self.manifest, self.report.add
        for problem in wrong_descriptions(manifest, self.vectors):
            add(problem)
        if manifest["count"] < 1:
            add(f"{MANIFEST}: counts no vectors")
        if manifest["set"].get("count", self.total) != self.total or manifest["left_out"]["count"] < 0:
            add(f"{MANIFEST}: the set's count is not the vectors' and the left out cases'")

    def _check_file(self, name: str, entry: dict[str, Any]) -> None:
        add, path = self.report.add, self.folder / name
        if not os.path.isfile(path):  # which a name too long is not
            add(f"{name}: missing")
            return
        sha256, lines = _read(path)
        writer = self.known.get(name)
        if entry.get("format") != (writer.key if writer else "left_out"):
            add(f"{MANIFEST}: {name} is not of format {entry.get('format')!r}")
        if writer is not None and writer.key == "memh":
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
        """What follows from how many lines there are, and from the cases that are left out."""
        manifest, add = self.manifest, self.report.add
        listed = manifest["left_out"]
        if listed.get("file") != (LEFT_OUT if LEFT_OUT in self.entries else None):
            add(f"{MANIFEST}: left_out does not name the file of the cases that were left out")
        elif LEFT_OUT not in self.entries and not _is_list(listed):
            add(f"{MANIFEST}: left_out lists other than {listed['count']} cases")
        else:
            if manifest.get("groups") != groups(self.facts.runs()):
                add(f"{MANIFEST}: groups are not those of this set")
            for name, entry in self.entries.items():
                lines = listed["count"] if name == LEFT_OUT else self.known[name].lines(self.vectors, self.facts)
                if entry["lines"] != lines:
                    add(f"{name}: {entry['lines']} lines, but {manifest['count']} vectors make {lines}")

    def _left_out(self) -> Iterator[tuple[int, str]]:
        """Number and inputs of the cases without a line, as manifest or file have them."""
        if LEFT_OUT in self.entries:
            with open(self.folder / LEFT_OUT, encoding="ascii", errors="replace") as stream:
                for line in stream:
                    number, _, inputs = line.strip().partition(" ")
                    yield int(number) if number.isdecimal() and len(number) < _DIGITS else -1, inputs
        else:
            listed = self.manifest["left_out"]
            yield from zip(listed["cases"], listed["inputs"], strict=True)

    # -- every line --------------------------------------------------------------------------------------------------

    def lines(self, sample: int | None, every: bool) -> None:
        """Every line, or some, recomputed."""
        before = self.others()
        writers: list[Writer] = [self.known[name] for name in self.entries if name in self.known]
        layouts = [
            layout(w, self.vectors, self.facts, self.folder / w.file_name(self.vectors), self.report.add)
            for w in writers
        ]
        if self.others() > before:
            return
        fast = isinstance(self.vectors, VectorSet) and (in_bulk(self.vectors) or in_arrays(self.vectors))
        lanes = max((f.lanes for f in self.vectors.fields), default=1)
        compiled = fast and self.manifest["count"] * lanes > ORACLE_LINES and sample is None and not every
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

    def _compare_all(self, layouts: list[Layout], compiled: bool) -> int:
        add = self.report.add
        listed = self._left_out()
        cases = 0
        with Comparison(self.vectors, layouts, add) as comparison:
            comparison.opening()
            for given in parts.batches(self.vectors, compiled=compiled):
                comparison.compare(given.batch)
                cases += given.cases
                if not _same_left_out(given.left_out, listed):
                    add(f"{MANIFEST}: the cases that were left out are not those without a defined result")
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


def _same_left_out(found: Iterable[tuple[int, Line]], listed: Iterator[tuple[int, str]]) -> bool:
    """Whether the cases without a result are the next ones listed."""
    return all(next(listed, None) == (number, " ".join(f"{x:x}" for x in case)) for number, case in found)


def _line_runs(vectors: Vectors, total: int, left_out: Iterable[tuple[int, str]]) -> Iterator[Run]:
    """The tags of the set's lines: of its cases, but for those that have no line."""
    skipped = iter(left_out)
    number, _ = next(skipped, (-1, ""))
    start = 0
    for tag, count in tag_runs(vectors):
        kept = count = min(count, total - start)
        start += count
        while 0 <= number < start:
            kept -= 1
            number, _ = next(skipped, (-1, ""))
        if kept:
            yield tag, kept
        if start >= total:
            return


def _read(path: Path) -> tuple[str, int]:
    """SHA-256 and newlines of a file of any size. Raises Error."""
    digest, lines = hashlib.sha256(), 0
    try:
        with open(path, "rb") as stream:
            while data := stream.read(_BLOCK):
                digest.update(data)
                lines += data.count(b"\n")
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from None
    return digest.hexdigest(), lines


def problems(report: Report) -> Iterator[str]:
    """The lines to print of a report that did not pass."""
    yield from report.problems
    if report.more:
        yield f"... and {report.more} more"
