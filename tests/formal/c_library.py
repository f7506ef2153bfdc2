"""`python -m tests.formal.c_library`: functions of exported C libraries, proved from clang's code (docs/testing.md)."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import click

from softfloat_ref.app.options import Seconds
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.executors import in_order, workers
from softfloat_ref.export.library import library_files, library_policy
from softfloat_ref.export.library.folder import CORE_FILES
from softfloat_ref.export.library.policies import ROUNDING_MODES
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import rounding_name
from softfloat_ref.oracle.rounding import Rounding
from softfloat_ref.proof.engine import Tactics, Verdict
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.question import Counterexample
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.units import OperationUnit

from .c_functions import OPERATIONS, OPTIONS, CFunction, check_width, compiled, compiler

LIMIT_S: Final = 300.0  # for a question to a solver
_SMALL: Final = ("fp4_e2m1", "fp6_e2m3", "fp6_e3m2", "fp8_e4m3", "fp8_e5m2")
_BY_DEFAULT: Final = {
    **dict.fromkeys(_SMALL, ("add", "mul", "div", "sqrt", "fma", "convert")),
    **dict.fromkeys(("fp16", "bf16"), ("add", "mul", "sqrt", "convert")),
}
_ROUNDINGS: Final = tuple(rounding_name(r) for r in ROUNDING_MODES)
_FIVE: Final = tuple(name for name in _ROUNDINGS if name != rounding_name(Rounding.RTO))
_SOURCE: Final = "fp32"  # of conversions
_COLUMN: Final = 11


class _Task(NamedTuple):
    """A proof."""

    fmt: str
    operation: str
    rounding: str
    tininess: str
    limit_s: float

    @property
    def unit(self) -> OperationUnit:
        """Raises Error."""
        policy = {"rounding": self.rounding, "tininess": self.tininess}
        if self.operation == "convert":
            return OperationUnit.make("convert", _SOURCE, self.fmt, policy)
        return OperationUnit.make(self.operation, self.fmt, policy=policy)


class _Result(NamedTuple):
    """What came of a proof. seconds: of the processor, without the compiler."""

    verdict: Verdict
    seconds: float
    note: str = ""


def decide(task: _Task) -> _Result:
    """Prove a function. Raises Error."""
    begin, unit = time.process_time(), task.unit
    try:
        proof = prove(CFunction(unit, compiled(unit)), "auto", Tactics(task.limit_s))
    except Unsupported as e:
        return _Result("undecided", time.process_time() - begin, f"not read: {e}")
    note = "" if proof.counterexample is None else shown(unit, proof.counterexample)
    return _Result(proof.verdict, time.process_time() - begin, note)


def shown(unit: OperationUnit, counterexample: Counterexample) -> str:
    """A counterexample in a line: inputs, and both answers."""
    names = zip(unit.inputs, counterexample.inputs, strict=True)
    inputs = ", ".join(f"{f.name} = {x:#0{2 + (f.width + 3) // 4}x}" for f, x in names)
    answers = [f"{code:#x}, flags {flags:#04x}" for code, flags in (counterexample.got, counterexample.expected)]
    reason = f" ({counterexample.said})" if counterexample.said else ""
    return f"{inputs}: C gives {answers[0]}; expected {answers[1]}{reason}"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("fmt", metavar="[FORMAT]", required=False)
@click.argument("operation", metavar="[OPERATION]", required=False)
@click.option("--rounding", "roundings", multiple=True, metavar="ROUNDING", help=f"One of {', '.join(_ROUNDINGS)} "
              f"(default: {', '.join(_FIVE)}).")  # fmt: skip
@click.option("--tininess", type=click.Choice(["after", "before"]), default="after", show_default=True)
@click.option(
    "--limit",
    type=Seconds(min=0, min_open=True),
    default=LIMIT_S,
    show_default=True,
    help="Seconds for a question to a solver.",
)
@click.option("--jobs", type=click.IntRange(1, 1024), help="Number of processes (default: one per processor).")
def command(
    fmt: str | None, operation: str | None, roundings: tuple[str, ...], tininess: str, limit: float, jobs: int | None
) -> None:
    """Prove functions of the exported C library equal to the oracle, result and flags, for all operands.

    OPERATION is one of add, sub, mul, div, sqrt, fma and convert, which is from FP32 to FORMAT. By default, all of
    FORMAT; and all that takes minutes, of the formats of up to 16 bits. Exit code 1 if a function differs, 3 if one is
    undecided within the limit.
    """
    try:
        sys.exit(prove_all(_chosen(fmt, operation), roundings or _FIVE, tininess, limit, jobs))
    except Error as e:
        print(f"c_library: {e}", file=sys.stderr)
        sys.exit(2)


def _chosen(fmt: str | None, operation: str | None) -> list[tuple[str, str]]:
    """Formats and operations."""
    if fmt is None:
        return [(name, op) for name, ops in _BY_DEFAULT.items() for op in ops]
    if operation is not None and operation not in OPERATIONS:
        raise unknown("operation", operation, OPERATIONS)
    of = get_format(fmt)
    check_width(of)
    operations = [operation] if operation else [op for op in OPERATIONS if op != "convert" or of.name != _SOURCE]
    if operation == "convert" and of.name == _SOURCE:
        raise Error(f"{_SOURCE} convert: the operation is from {_SOURCE} to another format")
    return [(of.name, op) for op in operations]


def prove_all(
    rows: Sequence[tuple[str, str]], roundings: Sequence[str], tininess: str, limit_s: float, jobs: int | None = None
) -> int:
    """Prove functions, and print a line for each with the roundings as columns; returns the exit code."""
    for name in roundings:
        if name not in _ROUNDINGS:
            raise unknown("rounding", name, _ROUNDINGS, " (--rounding)")
    print(f"{compiler()} {OPTIONS[1]}, core {core_hash()[:16]}, tininess {tininess} rounding; seconds of a proof")
    print(f"{'':24}" + "".join(f"{name:>{_COLUMN}}" for name in roundings), flush=True)
    verdicts: list[Verdict] = []
    with workers(jobs) as pool:
        tasks = [_Task(fmt, op, name, tininess, limit_s) for fmt, op in rows for name in roundings]
        results = in_order(pool, decide, tasks)
        for fmt, op in rows:
            row = [next(results) for _ in roundings]
            verdicts += [r.verdict for r in row]
            print(f"{fmt:16}{op:8}" + "".join(f"{_cell(r):>{_COLUMN}}" for r in row), flush=True)
            for name, result in zip(roundings, row, strict=True):
                if result.note:
                    print(f"  {name}: {result.note}", flush=True)
    print(", ".join(_counted(verdicts)))
    return 1 if "counterexample" in verdicts else 3 if "undecided" in verdicts else 0


def core_hash() -> str:
    """SHA-256 of the core's sources, in the order of their names."""
    files = library_files([get_format("fp16")], library_policy())
    return hashlib.sha256("".join(files[name] for name in sorted(CORE_FILES)).encode()).hexdigest()


_WORDS: Final[dict[Verdict, str]] = {"proved": "proved", "undecided": "undecided", "counterexample": "WRONG"}


def _cell(result: _Result) -> str:
    return f"{result.seconds:.1f}" if result.verdict == "proved" else _WORDS[result.verdict]


def _counted(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for verdict, word in _WORDS.items():
        if (count := verdicts.count(verdict)) or verdict == "proved":
            yield f"{count} {word}"


if __name__ == "__main__":
    command(prog_name="python -m tests.formal.c_library")
