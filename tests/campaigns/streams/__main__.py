"""`python -m tests.campaigns.streams`: handshakes drawn at random; exit code 1 if what is proved fails in a bench."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from streams.circuits import Outcome, outcome


@click.command()
@click.option("--first", default=0, show_default=True, help="The first draw; its number says what is drawn.")
@click.option("-n", "count", default=None, type=int, help="So many draws.")
@click.option("--seconds", default=60.0, show_default=True, help="So long, where no number is given.")
def main(first: int, count: int | None, seconds: float) -> None:
    """Draw circuits, and prove those whose first operation is right."""
    began, draw, counts = time.monotonic(), first, Counter[Outcome]()
    while draw < first + count if count is not None else time.monotonic() - began < seconds:
        of = outcome(draw)
        if of is not None:
            counts[of] += 1
            if of.verdict == "proved" and of.fails:
                print(f"draw {draw}: proved, and in a bench: {of.fails}", flush=True)
        draw += 1
    print(f"{draw - first} draws from {first}, {counts.total()} with a right first operation")
    print(f"{'':16}{'bench passes':>14}{'bench fails':>14}")
    for verdict in ("proved", "counterexample", "undecided"):
        fails = sum(n for of, n in counts.items() if of.verdict == verdict and of.fails)
        print(f"{verdict:16}{counts[Outcome(verdict, '')]:14}{fails:14}")
    sys.exit(any(of.verdict == "proved" and of.fails for of in counts))


if __name__ == "__main__":
    main()
