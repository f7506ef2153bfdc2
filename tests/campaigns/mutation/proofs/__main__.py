"""`python -m tests.campaigns.mutation.proofs`: prove the example circuits, or show what bugs or rare faults do."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.prove import prove

from ..circuits import CIRCUITS
from . import bugs, rare
from .goals import Row, groups
from .tasks import Task


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    if options.bugs:
        return bugs.run(_known(options.names, list(CIRCUITS), "circuit"), options.bug, options.limit)
    known = groups()
    if options.rare:
        return rare.run(_known(options.names, list(known), "group"), options.rare, options.first, options.limit)
    print(f"{'what':50}{'goal':>7}{'proved':>10}{'median':>10}{'slowest':>10}")
    worst = 0
    for name in _known(options.names, list(known), "group"):
        for row in known[name]:
            worst = max(worst, _row(row, options.limit))
    return worst


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.mutation.proofs", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"{', '.join(groups())}; with --bugs: {', '.join(CIRCUITS)}")
    parser.add_argument("--bugs", action="store_true", help="of each bug a counterexample, or a proof that it is none")
    parser.add_argument("--bug", type=int, action="append", help="only this one, by its number")
    parser.add_argument(
        "--rare", type=int, default=0, metavar="N", help="N faults of each circuit that few inputs show"
    )
    parser.add_argument("--first", type=int, default=0, help="with --rare: the number of the first one (0)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a question to the solver (300)")
    return parser.parse_args(argv)


def _known(names: Sequence[str], every: Sequence[str], kind: str) -> Sequence[str]:
    for name in names:
        if name not in every:
            raise unknown(kind, name, every)
    return names or every


def _row(row: Row, limit_s: float) -> int:
    """Print a row; 1 if something is not proved."""
    proofs = [_proved(task, limit_s) for task in row.tasks]
    seconds = sorted(s for _, s in proofs)
    counts = Counter(verdict for verdict, _ in proofs)
    goal = "-" if row.goal_s is None else f"{row.goal_s:g} s"
    others = "".join(f", {n} {verdict}" for verdict, n in counts.items() if verdict != "proved")
    times = f"{seconds[len(seconds) // 2]:8.1f} s{seconds[-1]:8.1f} s"
    proved = f"{counts['proved']} of {len(proofs)}"
    print(f"{row.name:50}{goal:>7}{proved:>10}{times}{others}", flush=True)
    return int(counts["proved"] < len(proofs))


def _proved(task: Task, limit_s: float) -> tuple[str, float]:
    """The verdict, and the seconds of the processor, those of Yosys left out."""
    question = task.question()
    begin = time.process_time()
    return prove(question, "auto", Tactics(limit_s)).verdict, time.process_time() - begin


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Error as error:
        print(error, file=sys.stderr)
        sys.exit(2)
