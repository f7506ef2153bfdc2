"""`python -m tests.campaigns.mutation`: run the campaign, print its table, and write it as JSON."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.files import write_file
from softfloat_ref.rtl.simulators import find

from . import campaign, report, selector, stimuli
from .circuits import CIRCUITS, Size


def main() -> int:
    options = _options()
    for name in options.circuit:
        if name not in CIRCUITS:
            raise unknown("circuit", name, CIRCUITS)
    if options.source:
        return _write_source(options)
    methods = [m for m in options.method or stimuli.METHODS if m != "none"]
    simulator = find(options.simulator)
    size = Size(options.n, options.level)
    outcomes: list[campaign.Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.circuit or CIRCUITS:
            work = (options.work or Path(folder)) / name
            arguments = work, size, methods, options.seed, options.bug, _tell, simulator
            outcomes += campaign.run(CIRCUITS[name], *arguments)
    print(report.text(outcomes, methods, size))
    if options.json:
        _write(options.json, report.as_json(outcomes, methods, size))
    for outcome in report.unproven(outcomes) if methods else ():
        _tell(f"{outcome.circuit} {outcome.bug.number}: nothing shows it, and it is not said to be equivalent")
    return 1 if methods and report.unproven(outcomes) else 0


def _write_source(options: argparse.Namespace) -> int:
    if len(options.circuit) != 1:
        raise Error("--source: name one circuit")
    circuit = CIRCUITS[options.circuit[0]]
    _write(options.source, selector.source(circuit, campaign.chosen_bugs(circuit, options.bug)))
    return 0


def _write(path: Path, text: str) -> None:
    write_file(path, lambda file: file.write(text.encode()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.mutation",
        description="How many cases it takes until small bugs in the example circuits show.",
    )
    kinds = (*stimuli.METHODS, "none")
    parser.add_argument("circuit", nargs="*", help=f"example circuits (default: all): {', '.join(CIRCUITS)}")
    parser.add_argument("-n", type=int, help="cases a setting (default: those of the level)")
    parser.add_argument(
        "--level",
        default="1",
        choices=("0", "1", "2"),
        help="of the vectors, as `vectors generate` has it (default: 1)",
    )
    parser.add_argument("--method", action="append", choices=kinds, help="kinds of cases (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the random cases (default: 0)")
    parser.add_argument("--bug", type=int, action="append", default=[], help="number of a bug (default: all)")
    parser.add_argument("--simulator", help="verilator or icarus (default: the first found)")
    parser.add_argument("--work", type=Path, help="where to build (default: a folder that is removed)")
    parser.add_argument("--json", type=Path, help="a file for the outcomes")
    parser.add_argument("--source", type=Path, help="only write the circuit with its bugs behind its input `defect`")
    options = parser.parse_args()
    if options.n is not None and options.n < 1:
        parser.error(f"-n {options.n}: at least 1 case")
    return options


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Error as error:
        print(error, file=sys.stderr)
        sys.exit(2)
