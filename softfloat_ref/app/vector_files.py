"""Sets of vectors for the commands: the options for their files and sizes, suites, folders to verify, recipes."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from softfloat_ref.app.options import bundled
from softfloat_ref.app.output import print_table, progress
from softfloat_ref.base.errors import Error, one_line
from softfloat_ref.base.executors import Workers
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE, LEVELS
from softfloat_ref.golden.kinds import Cases
from softfloat_ref.golden.manifest import SUITE
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.suites import Suite, find_suite, generate_suite, verify_suite
from softfloat_ref.golden.vector_recipes import load_recipe, recipe_files, suite_files
from softfloat_ref.golden.verify import VerifyReport, problem_lines, verify
from softfloat_ref.golden.writers import NAMES, parse_names

MAX_UNCONFIRMED: Final = 1 << 24  # cases that need no confirmation
_LEVELS: Final = (*LEVELS, EXHAUSTIVE)
_WORKER_OPTIONS: Final = ("--jobs", "--scheduler")


@dataclass(frozen=True)
class Files:
    """The options of `vectors generate` about files."""

    formats: tuple[str, ...]
    formats_typed: bool
    resume: bool
    intermediate: bool
    pack: bool

    def refuse(self) -> None:
        """Raises Error for options that apply only to lines in a folder."""
        for name, value in (
            ("format", self.formats_typed),
            ("resume", self.resume),
            ("intermediate", self.intermediate),
        ):
            if value:
                raise Error(f"--{name} is for sets of lines in a folder")

    def with_intermediate(self, vectors: VectorSet) -> VectorSet:
        """The set, with its unrounded intermediate if requested. Raises Error if it has none."""
        if not self.intermediate:
            return vectors
        return dataclasses.replace(vectors, unit=vectors.unit.with_intermediate())


def _files(params: dict[str, Any]) -> dict[str, Any]:
    text = params.pop("format_names")
    formats = () if text is None else parse_names(text)
    return {"files": Files(formats, text is not None, *(params.pop(n) for n in ("resume", "intermediate", "pack")))}


file_options: Final = bundled(
    _files,
    click.option(
        "--format", "format_names", metavar="NAMES", help=f"Some of {','.join(NAMES)} [{','.join(Cases.default)}]."
    ),
    click.option("--resume", is_flag=True, help="Continue an interrupted run."),
    click.option(
        "--intermediate", is_flag=True, help="Add columns: kept bits, guard and sticky bit of the exact result."
    ),
    click.option("--pack", is_flag=True, help="Write the small excerpt of a suite."),
)


@dataclass(frozen=True)
class LevelChoice:
    """The values of the options."""

    name: str | None
    yes: bool
    required: bool

    def applied(self, vectors: VectorSet, count: int | None) -> VectorSet:
        return vectors if self.name is None else vectors.at_level(self.name, count)

    def confirm(self, vectors: Any) -> None:
        """Print the number of cases; ask for confirmation if it is large. Raises Error if stdin is not a terminal."""
        if self.name != EXHAUSTIVE:
            return
        print(f"exhaustive: {vectors.count} cases of {vectors.name}", file=sys.stderr)
        if vectors.count <= MAX_UNCONFIRMED or self.yes:
            return
        if not sys.stdin.isatty():
            raise Error(f"{vectors.count} cases are more than {MAX_UNCONFIRMED}: confirm with --yes")
        click.confirm("Write them all?", abort=True, err=True)

    def missed(self, vectors: Any) -> int:
        """With --require-coverage: print the empty bins of a set; returns the exit code."""
        if not self.required:
            return 0
        from softfloat_ref.coverage.engine.measure import require, set_report

        report = set_report(vectors)
        if report is None:
            raise Error(f"--require-coverage: there are no coverage models for {vectors.name}")
        return require(report)


def _level(params: dict[str, Any]) -> dict[str, Any]:
    return {"level": LevelChoice(params.pop("level_name"), params.pop("yes"), params.pop("require_coverage"))}


_SIZES: Final = ", ".join(f"{name} ({level.cases})" for name, level in LEVELS.items())
level_options: Final = bundled(
    _level,
    click.option(
        "--level",
        "level_name",
        type=click.Choice(_LEVELS),
        help=f"Number of cases, including all directed ones: {_SIZES}, or every possible case.",
    ),
    click.option(
        "--yes", is_flag=True, help=f"Write more than {MAX_UNCONFIRMED} exhaustive cases without confirmation."
    ),
    click.option("--require-coverage", is_flag=True, help="Exit code 1 where a reachable bin is empty."),
)


def command_line() -> list[str]:
    """The command line for a manifest: without --jobs, --scheduler and --resume, which do not change the files."""
    arguments = iter(sys.argv[1:])
    words = ["softfloat-ref"]
    for arg in arguments:
        if arg in _WORKER_OPTIONS:
            next(arguments, None)
        elif arg != "--resume" and not arg.startswith(tuple(f"{x}=" for x in _WORKER_OPTIONS)):
            words.append(arg)
    return words


def write_suite(
    suite: Suite,
    folder: str,
    count: int | None,
    seed: int | None,
    level: str | None,
    files: Files,
    pool: Workers | None,
) -> None:
    """`vectors generate SUITE`. Raises Error."""
    if files.intermediate:
        raise Error("--intermediate is for a set of one operation that rounds")
    if files.pack and (count, seed, level) != (None, None, None):
        raise Error("--pack has its own count, seed and level")
    suite = suite.packed() if files.pack else suite.replaced(count, seed, level)
    manifest = generate_suite(suite, folder, command_line(), pool, formats=files.formats, resume=files.resume)
    sets = len(manifest["sets"])
    print(f"{manifest['count']} vectors of {suite.name} in {folder}: {sets} sets, {SUITE}", file=sys.stderr)


def verify_folders(folders: Sequence[str], sample: int | None, every: bool, models: Sequence[str] = ()) -> int:
    """Check folders of sets and of suites; prints what is wrong, and returns the exit code."""
    failed = unreadable = 0
    for folder in folders:
        try:
            for name, report in _reports(folder, sample, every, models):
                for line in problem_lines(report):
                    print(line)
                failed += not report.passed
                verdict = "verified" if report.passed else "FAILED"
                print(f"{name}: {verdict}, {one_line(report.summary())}", file=sys.stderr)
        except Error as e:
            print(f"softfloat-ref: {e}", file=sys.stderr)
            unreadable += 1
    return 2 if unreadable else int(failed > 0)


def _reports(folder: str, sample: int | None, every: bool, models: Sequence[str]) -> Iterator[tuple[str, VerifyReport]]:
    if Path(folder, SUITE).exists():
        if models:
            raise Error(f"{folder}: holds a suite, which has no operands of tensors; leave --from out")
        yield from verify_suite(Path(folder), sample, every)
    else:
        yield folder, verify(folder, sample, every, progress, models)


def print_list() -> None:
    """List the vector recipes and the suites."""
    files, suites = recipe_files(), suite_files()
    width = max(map(len, (*files, *suites)), default=0) + 1
    for name, path in files.items():
        vectors = load_recipe(str(path))
        print(f"{name:{width}}{vectors.count:>7}  {vectors.description}")
    for name, path in suites.items():
        suite = find_suite(str(path))
        assert suite is not None
        total = sum(v.count for v in suite.sets.values())
        print(f"{name:{width}}{total:>7}  {len(suite.sets)} sets: {suite.description}")


def print_trace(folder: str) -> None:
    """List the tensors of a trace."""
    from softfloat_ref.golden.trace.files import shape_text
    from softfloat_ref.golden.trace.loader import load_trace

    tensors = load_trace(folder).tensors()
    print_table(
        [(t.name, t.operation.op if t.operation else "given", t.format.name, shape_text(t.shape)) for t in tensors]
    )
