"""`python -m tests.campaigns.differ [WHAT...]`: fast paths against the oracle; exit code 1 where they differ."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from differ.checks import CHECKS


@click.command()
@click.argument("what", nargs=-1, type=click.Choice(list(CHECKS)), metavar=f"[{'|'.join(CHECKS)}]...")
@click.option("--first", default=0, show_default=True, help="The first draw; its number says what is drawn.")
@click.option("-n", "count", default=None, type=int, help="So many draws of each.")
@click.option("--seconds", default=60.0, show_default=True, help="So long for each, where no number is given.")
def main(what: tuple[str, ...], first: int, count: int | None, seconds: float) -> None:
    """Draw formats, policies, profiles and values, and compare."""
    failed = False
    for name in what or CHECKS:
        began, number, compared, wrong = time.monotonic(), first, 0, 0
        while number < first + count if count is not None else time.monotonic() - began < seconds:
            try:
                compared += CHECKS[name](number)
            except AssertionError as e:
                wrong += 1
                print(str(e)[:1500], flush=True)
            except Exception as e:
                wrong += 1
                print(f"{name} {number}: {type(e).__name__}: {str(e)[:500]}", flush=True)
            number += 1
        print(
            f"{name}: {number - first} draws from {first}, {compared} results compared, {wrong} draws differ",
            flush=True,
        )
        failed |= wrong > 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
