"""The options --level, --yes and --require-coverage of `vectors generate`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Final

import click

from softfloat_ref.app.options import bundled
from softfloat_ref.base.errors import Error
from softfloat_ref.coverage.engine.directed import EXHAUSTIVE, LEVELS
from softfloat_ref.golden.sets import VectorSet

UNASKED: Final = 1 << 24  # cases that need no confirmation
NAMES: Final = (*LEVELS, EXHAUSTIVE)


@dataclass(frozen=True)
class LevelChoice:
    """The values of the options."""

    name: str | None
    yes: bool
    required: bool

    def applied(self, vectors: VectorSet, given: int | None) -> VectorSet:
        """The set at this level."""
        return vectors if self.name is None else vectors.at_level(self.name, given)

    def confirm(self, vectors: Any) -> None:
        """Print the number of cases; ask for confirmation if it is large. Raises Error if stdin is not a terminal."""
        if self.name != EXHAUSTIVE:
            return
        print(f"exhaustive: {vectors.count} cases of {vectors.name}", file=sys.stderr)
        if vectors.count <= UNASKED or self.yes:
            return
        if not sys.stdin.isatty():
            raise Error(f"{vectors.count} cases are more than {UNASKED}: confirm with --yes")
        click.confirm("Write them all?", abort=True, err=True)

    def missed(self, vectors: Any) -> int:
        """With --require-coverage: print the empty bins of a set; returns the exit code."""
        if not self.required:
            return 0
        from softfloat_ref.coverage.engine.measure import measured, require

        report = measured(vectors)
        if report is None:
            raise Error(f"--require-coverage: there are no coverage models for {vectors.name}")
        return require(report)


def _level(given: dict[str, Any]) -> dict[str, Any]:
    return {"level": LevelChoice(given.pop("level_name"), given.pop("yes"), given.pop("require_coverage"))}


_SIZES: Final = ", ".join(f"{name} ({level.cases})" for name, level in LEVELS.items())
level_options: Final = bundled(
    _level,
    click.option(
        "--level",
        "level_name",
        type=click.Choice(NAMES),
        help=f"Number of cases, including all directed ones: {_SIZES}, or every possible case.",
    ),
    click.option("--yes", is_flag=True, help=f"Write more than {UNASKED} exhaustive cases without confirmation."),
    click.option("--require-coverage", is_flag=True, help="Exit code 1 where a reachable bin is empty."),
)
