"""`python -m tests.formal.c_library`: functions of exported C libraries, proved from clang's code (docs/testing.md)."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import click

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.executors import in_order, workers
from softfloat_ref.export.library.constants import library_format
from softfloat_ref.export.library.folder import core_hash
from softfloat_ref.export.library.policies import ROUNDING_MODES
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import rounding_name
from softfloat_ref.oracle.rounding import Rounding
from softfloat_ref.proof.engine import Tactics, Verdict
from softfloat_ref.proof.prove import STRATEGIES, Strategy, prove
from softfloat_ref.proof.question import Counterexample
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.units import OperationUnit

from .c_digests import core_digest
from .c_functions import OPTIONS, CFunction, check_width, compiled, compiler
from .c_record import Proved, read_record, table, write_record
from .c_wrappers import INTEGERS, OPERATIONS, c_policy
from .options import jobs_option, limit_option

_SMALL: Final = ("fp4_e2m1", "fp6_e2m3", "fp6_e3m2", "fp8_e4m3", "fp8_e5m2")
_COMPARISONS: Final = ("eq", "le", "lt", "eq_signaling", "le_quiet", "lt_quiet")
_SOON: Final = (
    "sqrt",
    "round_to_integral",
    "round_to_integral_exact",
    *_COMPARISONS,
    "from_fp32",
    "to_fp32",
)  # seconds
_CONVERSIONS: Final = tuple(f"{way}_{name}" for way in ("from", "to") for name in ("fp32", *INTEGERS))
_BY_DEFAULT: Final = {
    **dict.fromkeys(_SMALL, ("add", "mul", "div", "fma", *_SOON)),
    **dict.fromkeys(("fp16", "bf16"), ("add", "mul", *_SOON)),
}
_ROUNDINGS: Final = tuple(rounding_name(r) for r in ROUNDING_MODES)
_FIVE: Final = tuple(name for name in _ROUNDINGS if name != rounding_name(Rounding.RTO))
_DIGITS: Final = 16  # of a question's digest
_ARRAYS: Final = "_n"
_COLUMN: Final = 11


class Task(NamedTuple):
    """A proof. operation: its name; conversions are from_FORMAT and to_FORMAT; with _n, of arrays."""

    fmt: str
    operation: str
    rounding: str = "rne"
    tininess: str = "after"
    policy: str = "ieee"

    @property
    def unit(self) -> OperationUnit:
        """Raises Error."""
        own = c_policy(self.policy)
        policy = own.policy.replace(rounding=self.rounding, tininess=self.tininess)
        name = self.operation.removesuffix(_ARRAYS)
        way, _, other = name.partition("_")
        for fmt in (self.fmt, *([other] if way in ("from", "to") and other not in INTEGERS else ())):
            check_width(get_format(fmt))
            if library_format(get_format(fmt), own).long:
                raise Error(f"{fmt} has words of 128 bits here, which are not proved")
        if way == "from":
            return OperationUnit.make("convert", other, self.fmt, policy)
        if way == "to":
            return OperationUnit.make("convert", self.fmt, other, policy)
        return OperationUnit.make(name, self.fmt, policy=policy)

    @property
    def arrays(self) -> bool:
        """Whether the function is that of arrays."""
        return self.operation.endswith(_ARRAYS)

    @property
    def rounds(self) -> bool:
        """Whether there is something to prove in each rounding."""
        return not (self.arrays or self.operation in _COMPARISONS)

    def compiled(self, files: Mapping[str, str] | None = None) -> CFunction:
        """The function. files: of the library. Raises Error."""
        if self.arrays and self.rounding != _ROUNDINGS[0]:
            raise Error(
                f"{self.operation}: loops over arrays are of {_ROUNDINGS[0]}; others call the function of values"
            )
        text = compiled(self.unit, c_policy(self.policy), files, self.arrays)
        return CFunction(self.unit, text, arrays=self.arrays)

    def digest(self, files: Mapping[str, str] | None = None) -> str:
        """Of the source text that the function is made of."""
        return core_digest(self.unit, c_policy(self.policy), files, self.arrays)


class _Result(NamedTuple):
    """What came of a proof. seconds: of the processor, without the compiler; question: its digest."""

    verdict: Verdict
    seconds: float
    question: str
    note: str = ""


def decide(task: Task, strategy: Strategy, limit_s: float, known: Proved | None = None) -> _Result:
    """Prove a function. known: an earlier proof, which holds if it answered the same question. Raises Error."""
    begin, question = time.process_time(), ""
    try:
        function = task.compiled()
        question = function.question[:_DIGITS]
        if known and known.question == question:
            return _Result("proved", known.seconds, question)
        proof = prove(function, strategy, Tactics(limit_s))
    except Unsupported as e:
        return _Result("undecided", time.process_time() - begin, question, f"not read: {e}")
    note = "" if proof.counterexample is None else shown(task.unit, proof.counterexample)
    return _Result(proof.verdict, time.process_time() - begin, question, note)


def _decide(task: tuple[Task, Strategy, float, Proved | None]) -> _Result:
    return decide(*task)


def shown(unit: OperationUnit, counterexample: Counterexample) -> str:
    """A counterexample in a line: inputs, what else it takes, and both answers."""
    names = zip(unit.inputs, counterexample.inputs, strict=True)
    inputs = [f"{f.name} = {x:#0{2 + (f.width + 3) // 4}x}" for f, x in names]
    inputs += [f"{name} = {x:#x}" for name, x in counterexample.others.items() if x]
    answers = [f"{code:#x}, flags {flags:#04x}" for code, flags, *_ in (counterexample.got, counterexample.expected)]
    reason = f" ({counterexample.said})" if counterexample.said else ""
    return f"{', '.join(inputs)}: C gives {answers[0]}; expected {answers[1]}{reason}"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("fmt", metavar="[FORMAT]", required=False)
@click.argument("operations", metavar="[OPERATION]...", nargs=-1)
@click.option("--rounding", "roundings", multiple=True, metavar="ROUNDING", help=f"One of {', '.join(_ROUNDINGS)} "
              f"(default: {', '.join(_FIVE)}).")  # fmt: skip
@click.option("--tininess", type=click.Choice(["after", "before"]), default="after", show_default=True)
@click.option("--policy", default="ieee", show_default=True, help="NAME[,field=value,...] or a specialization's name.")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True, help="As of prove.")
@limit_option
@jobs_option
@click.option(
    "--record",
    is_flag=True,
    help="Add what is proved to the record; what it has of the same question is not asked again.",
)
@click.option("--renew", is_flag=True, help="Prove again what the record has of another source text.")
@click.option("--table", "only_table", is_flag=True, help="Print the record.")
def command(
    fmt: str | None,
    operations: tuple[str, ...],
    roundings: tuple[str, ...],
    tininess: str,
    policy: str,
    strategy: Strategy,
    limit: float,
    jobs: int | None,
    record: bool,
    renew: bool,
    only_table: bool,
) -> None:
    """Prove functions of the exported C library equal to the oracle, result and flags, for all operands.

    OPERATION is a name as in `softfloat-ref eval`, or a conversion: from_F or to_F, of a format or an integer (i32,
    u32, i64, u64); with _n, the loop over arrays. By default, all of FORMAT; and all that takes minutes, of the formats
    of up to 16 bits. Exit code 1 if a function differs, 3 if one is undecided within the limit.
    """
    try:
        if only_table:
            print("\n".join(table(read_record(), _digest)))
            return
        if renew:
            codes = [prove_all(rows, limit, jobs, True, strategy) for rows in _changed()]
            sys.exit(next((code for code in (1, 3) if code in codes), 0))
        rows = _chosen(fmt, operations)
        tasks = [[Task(*row, rounding, tininess, policy) for rounding in roundings or _FIVE] for row in rows]
        sys.exit(prove_all(tasks, limit, jobs, record, strategy))
    except Error as e:
        print(f"c_library: {e}", file=sys.stderr)
        sys.exit(2)


def _chosen(fmt: str | None, operations: Sequence[str]) -> list[tuple[str, str]]:
    """Formats and operations. Raises Error."""
    if fmt is None:
        return [(name, op) for name, ops in _BY_DEFAULT.items() for op in ops]
    name = get_format(fmt).name
    chosen = operations or [*OPERATIONS, *(op for op in _CONVERSIONS if op.partition("_")[2] != name)]
    for operation in chosen:
        way, _, other = operation.removesuffix(_ARRAYS).partition("_")
        if way not in ("from", "to") and operation.removesuffix(_ARRAYS) not in OPERATIONS:
            raise unknown("operation", operation, OPERATIONS, "; or from_F, to_F")
        if way in ("from", "to") and get_format(other).is_integer and other not in INTEGERS:
            raise unknown("integer format", other, INTEGERS)
        if other == name:
            raise Error(f"{operation}: a conversion is from one format to another")
        check_width(get_format(name))
    return [(name, op) for op in chosen]


def _changed() -> Iterator[list[list[Task]]]:
    """What the record has of another source text, by policy, tininess and rounding."""
    rows: dict[tuple[str, ...], list[list[Task]]] = {}
    for proved in read_record():
        if proved.core != _digest(proved):
            rows.setdefault((proved.policy, proved.tininess, proved.rounding), []).append([_task(proved)])
    yield from rows.values()


def prove_all(
    rows: Sequence[Sequence[Task]],
    limit_s: float,
    jobs: int | None = None,
    record: bool = False,
    strategy: Strategy = "auto",
) -> int:
    """Prove functions, and print a line for each with the roundings as columns; returns the exit code."""
    for task in rows[0]:
        if task.rounding not in _ROUNDINGS:
            raise unknown("rounding", task.rounding, _ROUNDINGS, " (--rounding)")
    for row in rows:
        row[0].unit  # noqa: B018  (an operation that cannot be proved is refused before any proof)
    first = rows[0][0]
    print(f"{compiler()} {OPTIONS[1]}, core {core_hash()}, policy {first.policy}, tininess {first.tininess} rounding;"
          " seconds of a proof")  # fmt: skip
    print(f"{'':40}" + "".join(f"{task.rounding:>{_COLUMN}}" for task in rows[0]), flush=True)
    verdicts: list[Verdict] = []
    tasks = [row if row[0].rounds else row[:1] for row in rows]
    with workers(jobs) as pool:
        known = {proved.key: proved for proved in read_record()} if record else {}
        work = [(task, strategy, limit_s, known.get(task)) for row in tasks for task in row]
        results = in_order(pool, _decide, work)
        for row in tasks:
            done = [next(results) for _ in row]
            verdicts += [r.verdict for r in done]
            print(f"{row[0].fmt:16}{row[0].operation:24}" + "".join(f"{_cell(r):>{_COLUMN}}" for r in done), flush=True)
            for task, result in zip(row, done, strict=True):
                if result.note:
                    print(f"  {task.rounding}: {result.note}", flush=True)
                if record and result.verdict == "proved":
                    write_record(Proved(*task, _digest(task), result.question, round(result.seconds, 1)))
    print(", ".join(_counted(verdicts)))
    return 1 if "counterexample" in verdicts else 3 if "undecided" in verdicts else 0


def _digest(of: Task | Proved) -> str:
    return _task(of).digest()


def _task(of: Task | Proved) -> Task:
    return Task(of.fmt, of.operation, of.rounding, of.tininess, of.policy)


_WORDS: Final[dict[Verdict, str]] = {"proved": "proved", "undecided": "undecided", "counterexample": "WRONG"}


def _cell(result: _Result) -> str:
    return f"{result.seconds:.1f}" if result.verdict == "proved" else _WORDS[result.verdict]


def _counted(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for verdict, word in _WORDS.items():
        if (count := verdicts.count(verdict)) or verdict == "proved":
            yield f"{count} {word}"


if __name__ == "__main__":
    command(prog_name="python -m tests.formal.c_library")
