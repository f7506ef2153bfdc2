"""`python -m tests.mutation`: run the campaign, print its table, and write it as JSON."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from softfloat_ref.errors import Error

from . import campaign, report, stimuli
from .circuits import CIRCUITS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="How soon small bugs show.")
    parser.add_argument("circuit", nargs="*", choices=[*CIRCUITS, []], help="example circuits (default: all)")
    parser.add_argument("-n", type=int, default=20_000, help="cases a setting (20000)")
    parser.add_argument("--method", action="append", choices=(*stimuli.METHODS, "none"), help="kinds of cases (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the random cases (0)")
    parser.add_argument("--bug", type=int, action="append", default=[], help="numbers of bugs (default: all)")
    parser.add_argument("--work", type=Path, help="where to build (default: a folder that is removed)")
    parser.add_argument("--json", type=Path, help="a file for the outcomes")
    options = parser.parse_args()
    methods = [m for m in options.method or stimuli.METHODS if m != "none"]
    outcomes: list[campaign.Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.circuit or CIRCUITS:
            work = (options.work or Path(folder)) / name
            outcomes += campaign.run(
                CIRCUITS[name], work, options.n, methods, options.seed, options.bug, lambda line: print(line, file=sys.stderr)
            )
    print(report.text(outcomes, methods, options.n))
    if options.json:
        options.json.write_text(report.as_json(outcomes, methods, options.n))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Error as error:
        print(error, file=sys.stderr)
        sys.exit(2)
