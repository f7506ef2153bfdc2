"""`python -m tests.campaigns.constants`: constants drawn at random; exit code 1 if a front end reads one wrongly."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))

from constants.compare import compared, declarations


@click.command()
@click.option("--first", default=0, show_default=True, help="The first draw; its number says what is drawn.")
@click.option("-n", "count", default=25, show_default=True, help="So many draws of 40 constants.")
@click.option("--icarus", "show", is_flag=True, help="Icarus beside slang, in place of Yosys' front ends.")
def main(first: int, count: int, show: bool) -> None:
    """Draw constants, half of them with real numbers for the front end slang, and compare their values."""
    failed = False
    for reader in ("icarus",) if show else ("slang", "verilog"):
        totals = Counter[str]()
        for draw in range(first, first + count):
            frontend = "verilog" if reader == "verilog" else "slang"
            for of in compared(declarations(draw, frontend, reals=reader == "slang" and draw % 2 == 1), reader):
                totals[of.said] += 1
                if of.said == "wrong":
                    values = f"{of.number(of.slang)}, and not {of.number(of.other)}"
                    print(f"{reader}: {of.text.strip()}: {values}", flush=True)
        counts = ", ".join(f"{totals[outcome]} {outcome}" for outcome in ("right", "free", "refused", "wrong"))
        print(f"{reader}: {count} draws from {first}: {counts}")
        failed |= reader != "icarus" and totals["wrong"] > 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
