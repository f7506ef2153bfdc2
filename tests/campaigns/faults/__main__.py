"""`python -m tests.campaigns.faults`: each fault of small_fpu, each pair and triple; exit code 1 for a wrong name."""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from benches import CHEAP

from faults.planted import FAULTS, LEVELS, Campaign

SIZES = {1: "singles", 2: "pairs", 3: "triples"}


@click.command()
@click.option("-n", "count", default=6000, show_default=True, help="Vectors.")
@click.option("--seed", default=1, show_default=True, help="Of the vectors.")
@click.option("--at-once", "sizes", type=click.IntRange(1, 3), multiple=True, help="Faults at once (default: 1, 2, 3).")
@click.option("--only", "chosen", multiple=True, metavar="N,N", help="Only these faults together, such as 6,9.")
@click.option("--sample", type=click.IntRange(min=1), help="Only so many combinations of a size, by chance.")
@click.option("--sim", default=CHEAP, show_default=True, type=click.Choice(["verilator", "icarus"]))
def main(count: int, seed: int, sizes: tuple[int, ...], chosen: tuple[str, ...], sample: int | None, sim: str) -> None:
    """Print the combinations in which a fault is not named everywhere, and a table of all."""
    wrong = False
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), count, seed, sim)
        if chosen:
            wrong = _table(campaign, "chosen", [tuple(sorted(int(x) for x in text.split(","))) for text in chosen])
        for size in () if chosen else sizes or SIZES:
            every = list(itertools.combinations(range(len(FAULTS)), size))
            some = sorted(random.Random(seed).sample(every, min(sample or len(every), len(every))))
            wrong |= _table(campaign, SIZES[size], some)
    sys.exit(wrong)


def _table(campaign: Campaign, title: str, combinations: list[tuple[int, ...]]) -> bool:
    """Print a table, a row for each fault; whether anything wrong was said."""
    rows: dict[int, Counter[str]] = {}
    wrong = left = 0
    for faults in combinations:
        verdict = campaign.verdict(faults)
        for n, level in verdict.named.items():
            rows.setdefault(n, Counter()).update([level])
        wrong, left = wrong + bool(verdict.wrong), left + verdict.open
        short = [f"{n} {level}" for n, level in verdict.named.items() if level != LEVELS[0]]
        for line in (*short, *(f"wrong: {x}" for x in verdict.wrong)):
            print(f"{faults}: {line}", flush=True)
    print(f"{title:60} {' '.join(f'{x:>13}' for x in LEVELS)}")
    for n, counts in sorted(rows.items()):
        print(f"{n} {FAULTS[n].text:58.58} {' '.join(f'{counts[x]:13}' for x in LEVELS)}")
    total = sum(rows.values(), Counter[str]())
    print(f"{'all':60} {' '.join(f'{total[x]:13}' for x in LEVELS)}")
    print(f"{len(combinations)} combinations, {wrong} with a wrong name, {left} cases unexplained", flush=True)
    return wrong > 0


if __name__ == "__main__":
    main()
