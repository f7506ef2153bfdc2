"""`python -m tests.formal`: what is proved of this project's own code, by solvers; docs/proved.md lists it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import click

from softfloat_ref.app.options import SCHEDULERS
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.executors import in_order, workers

from .options import jobs_option, limit_option
from .statements import GROUPS, all_statements, decide

_WORDS: Final = {"unsat": "proved", "unknown": "undecided", "sat": "WRONG"}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--part", "parts", multiple=True, metavar="PART", help=f"One of {', '.join(GROUPS)} (default: all).")
@limit_option
@jobs_option
@click.option("--scheduler", metavar=SCHEDULERS, help="On a Dask cluster, whose workers have the same checkout.")
def command(parts: tuple[str, ...], limit: float, jobs: int | None, scheduler: str | None) -> None:
    """Prove statements about the scalar model and the compiled loops, a line for each.

    Exit code 1 if a statement does not hold, 3 if one is undecided within the limit.
    """
    try:
        sys.exit(prove_all(parts, limit, jobs, scheduler))
    except Error as e:
        print(f"formal: {e}", file=sys.stderr)
        sys.exit(2)


def prove_all(parts: Sequence[str], limit_s: float, jobs: int | None = None, scheduler: str | None = None) -> int:
    """Prove the statements of the parts, by default of all, and print a line for each; returns the exit code."""
    for part in parts:
        if part not in GROUPS:
            raise unknown("part", part, GROUPS, " (--part)")
    chosen = [s for s in all_statements() if s.group in (parts or GROUPS)]
    results: list[str] = []
    with workers(jobs, scheduler) as pool:
        tasks = [(s.title, limit_s) for s in chosen]
        for statement, (result, seconds) in zip(chosen, in_order(pool, decide, tasks), strict=True):
            results.append(result)
            print(f"{_WORDS[result]:10} {seconds:7.1f} s  {statement.title} ({statement.by})", flush=True)
    counts = [results.count(word) for word in _WORDS]
    print(", ".join(f"{n} {word}" for n, word in zip(counts, _WORDS.values(), strict=True) if n or word == "proved"))
    return 1 if "sat" in results else 3 if "unknown" in results else 0


if __name__ == "__main__":
    command(prog_name="python -m tests.formal")
