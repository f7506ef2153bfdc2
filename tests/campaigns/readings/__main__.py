"""`python -m tests.campaigns.readings`: circuits in all styles, drawn at random; exit code 1 if a wrong one is proved,
a right one is refuted, or anything fails."""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from readings.circuits import Circuit, drawn, each
from readings.outcomes import Outcome, outcomes, reasons, table, ways


@click.command()
@click.option("--seconds", default=60.0, show_default=True, help="So long, where no last draw is given.")
@click.option("--seed", default=0, show_default=True, help="With a draw's number, it says what is drawn.")
@click.option("--from", "first", default=0, show_default=True, help="The first draw.")
@click.option("--to", "end", default=None, type=int, help="The draw to stop before.")
@click.option("--each", "in_turn", is_flag=True, help="Each way of writing in turn, right and wrong, alone.")
@click.option("--quiet", is_flag=True, help="Without the sources of what must not be.")
def main(seconds: float, seed: int, first: int, end: int | None, in_turn: bool, quiet: bool) -> None:
    """Draw circuits, simulate them, and prove them."""
    began, results = time.monotonic(), list[Outcome]()

    def circuits() -> Iterator[Circuit]:
        for number in range(first, end) if end is not None else itertools.count(first):
            if end is None and time.monotonic() - began > seconds:
                return
            yield each(seed, number) if in_turn else drawn(seed, number)

    with tempfile.TemporaryDirectory() as folder:
        for outcome in outcomes(circuits(), Path(folder)):
            results.append(outcome)
            if outcome.forbidden and not quiet:
                print(outcome.text, flush=True)
    print(f"{len(results)} draws from {first}, seed {seed}")
    print("\n".join(table(results)))
    print("\n".join(["right ones that are not proved:", *reasons(results)]))
    print("\n".join(["what must not be, and what is right by what simulators make of x:", *ways(results)]))
    sys.exit(any(outcome.forbidden for outcome in results))


if __name__ == "__main__":
    main()
