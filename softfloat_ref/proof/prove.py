"""The whole proof: which cases, decided where and in which order, with what was decided before."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from softfloat_ref.base import limits
from softfloat_ref.base.disk_cache import stamp
from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import Workers, in_order
from softfloat_ref.base.files import make_folder, open_to_append, read_text
from softfloat_ref.base.trees import parse_json
from softfloat_ref.proof.enable import with_pauses
from softfloat_ref.proof.engine import Decided, Query, Tactics, Verdict, decide
from softfloat_ref.proof.later import Later, later
from softfloat_ref.proof.question import ALL, Counterexample, Problem, Question
from softfloat_ref.proof.solver import query_hash, solve

Strategy = Literal["auto", "whole", "cut", "split", "split-cut"]
STRATEGIES: Final = ("auto", "whole", "cut", "split", "split-cut")
FIRST_S: Final = 20.0  # auto: for all inputs at once, before they are split
RESULTS: Final = "results.jsonl"
_RESULT_TACTICS: Final = ("cut", "apart", "confirm")  # of Tactics: a result holds for others only if these are the same
Note = Callable[[Decided, int, int], None]  # of a case, the number of those decided, and of all


@dataclass(frozen=True)
class Proof:
    """What came of a proof. cases: those that cover all inputs, decided or not. split: the question whether they do;
    None for one case. tried: undecided cases that were split into others. later: what follows the first operation,
    if that is another question. reason: why there are no cases, if the circuit cannot be had."""

    verdict: Verdict
    cases: tuple[Decided, ...]
    split: Query | None = None
    tried: tuple[Decided, ...] = ()
    open: tuple[str, ...] = field(default=())  # cases that were not begun
    later: Later | None = None
    reason: str = ""

    @property
    def counterexample(self) -> Counterexample | None:
        """The first counterexample."""
        first = next((d.counterexample for d in self.cases if d.counterexample), None)
        return first or (self.later.counterexample if self.later else None)

    @property
    def undecided(self) -> tuple[Decided, ...]:
        """The cases without an answer."""
        return tuple(d for d in self.cases if d.verdict == "undecided")


def prove(
    question: Problem,
    strategy: Strategy,
    tactics: Tactics,
    pool: Workers | None = None,
    work: str | Path | None = None,
    note: Note = lambda *_: None,
    first: bool = False,
) -> Proof:
    """Prove that the circuit gives the oracle's answers, or find a counterexample.

    pool: where cases are decided; work: a folder of results, from which an interrupted proof goes on; note: called
    after each case; first: only in the first operation, with any contents of a register that holds random bits. Raises
    Error for what is not supported, for cases that leave out an input, and if no input is as assumed.
    """
    proof = _first(question, strategy, tactics, pool, work, note)
    if proof.verdict != "proved" or not isinstance(question, Question):
        return proof
    more = None if first else later(question, tactics.limit_s)
    if more is None or more.verdict == "proved":
        more = with_pauses(question, more, tactics.limit_s)
    return proof if more is None else dataclasses.replace(proof, later=more, verdict=more.verdict)


def _first(
    question: Problem, strategy: Strategy, tactics: Tactics, pool: Workers | None, work: str | Path | None, note: Note
) -> Proof:
    """The proof of one operation."""
    question.check(tactics.limit_s)
    decider = _Decider(question, pool or Workers(), _Journal(question, work), note)
    if strategy in ("cut", "split-cut"):
        tactics = dataclasses.replace(tactics, cut=True)
    if strategy in ("whole", "split"):
        tactics = dataclasses.replace(tactics, cut=False)
    groups = question.groups
    divisible = [group.whole for group in groups if group.cases]
    if strategy in ("whole", "cut"):
        whole = dataclasses.replace(tactics, apart=False)
        return _in_cases(decider, [group.whole for group in groups], whole)
    if strategy in ("split", "split-cut"):
        if not divisible:
            raise Error(f"{question.unit.name} is not split into cases; use --strategy cut or whole")
        return _in_cases(decider, [name for group in groups for name in group.cases or (group.whole,)], tactics)
    first = decider.all(divisible, dataclasses.replace(tactics, limit_s=min(FIRST_S, tactics.limit_s)))
    gave_way = tuple(d for d in first if d.verdict == "undecided")
    decider.done = {d.case: d for d in first if d.verdict != "undecided"}
    split = {d.case for d in gave_way}
    names = [name for group in groups for name in (group.cases if group.whole in split else (group.whole,))]
    return dataclasses.replace(_in_cases(decider, names, tactics), tried=gave_way)


def _in_cases(decider: _Decider, names: Sequence[str], tactics: Tactics) -> Proof:
    """The proof in these cases; of others than all inputs, also that they leave out no input."""
    split = None if list(names) == [ALL] else _left_out(decider.question, names, tactics)
    decided = decider.all(names, tactics)
    begun = {d.case for d in decided}
    missing = tuple(name for name in names if name not in begun)
    verdicts = [d.verdict for d in decided]
    undecided = missing or "undecided" in verdicts or (split and split.result == "unknown")
    verdict: Verdict = "undecided" if undecided else "proved"
    return Proof("counterexample" if "counterexample" in verdicts else verdict, tuple(decided), split, open=missing)


def _left_out(question: Problem, names: Sequence[str], tactics: Tactics) -> Query:
    """The question whether an input is in none of the cases. Raises Error if there is one."""
    inputs = question.outside(names)
    answer = solve(inputs, tactics.limit_s)
    if answer.result == "sat":
        raise Error(f"the cases of {question.unit.name} leave out an input: a fault of softfloat-ref")
    return Query("an input in no case", query_hash(inputs), answer.result, answer.seconds)


@dataclass
class _Decider:
    question: Problem
    pool: Workers
    journal: _Journal
    note: Note
    done: dict[str, Decided] = field(default_factory=dict)

    def all(self, names: Sequence[str], tactics: Tactics) -> list[Decided]:
        """Decide cases, in order, until there is a counterexample; those that are known are not decided again."""
        known = {
            name: d for name in names if (d := self.done.get(name) or self.journal.known(name, tactics)) is not None
        }
        tasks = [(self.question, name, tactics) for name in names if name not in known]
        if wrong := [d for d in known.values() if d.verdict == "counterexample"]:
            return wrong
        results = list(known.values())
        pool = self.pool if len(tasks) > 1 or self.pool.is_remote else Workers()  # a process that starts takes longer
        for decided in in_order(pool, _decide, tasks):
            self.journal.keep(decided, tactics)
            results.append(decided)
            self.note(decided, len(results), len(names))
            if decided.verdict == "counterexample":
                self.pool.abort()
                break
        order = {name: i for i, name in enumerate(names)}
        return sorted(results, key=lambda d: order[d.case])


_QUESTIONS: Final[dict[str, Problem]] = {}  # of this process, with their terms


def _decide(task: tuple[Problem, str, Tactics]) -> Decided:
    question, name, tactics = task
    known = _QUESTIONS.setdefault(question.hash, question)
    return decide(known, name, tactics)


class _Journal:
    """The results of finished cases in a folder; without a folder, none."""

    def __init__(self, question: Problem, folder: str | Path | None) -> None:
        self.file = None if folder is None else make_folder(folder) / RESULTS
        self.key = "" if self.file is None else f"{question.hash} {stamp(__name__)}"
        text = "" if self.file is None or not self.file.exists() else read_text(self.file, limits.LOG, errors="replace")
        self.lines = list(_lines(text))
        self.start = "" if not text or text.endswith("\n") else "\n"  # after a line that was cut off

    def known(self, name: str, tactics: Tactics) -> Decided | None:
        """What was decided of a case in the same way; an undecided one only if it had as much time."""
        for line in reversed(self.lines):
            decided: Decided = line["decided"]
            same = line["key"] == self.key and decided.case == name
            same = same and all(line[key] == getattr(tactics, key) for key in _RESULT_TACTICS)
            if same and (decided.verdict != "undecided" or line["limit_s"] >= tactics.limit_s):
                return decided
        return None

    def keep(self, decided: Decided, tactics: Tactics) -> None:
        """Add a result."""
        if self.file is not None:
            line = {"key": self.key, **dataclasses.asdict(tactics), "decided": dataclasses.asdict(decided)}
            with open_to_append(self.file) as stream:
                stream.write(f"{self.start}{json.dumps(line)}\n".encode())
            self.start = ""


def _lines(text: str) -> Iterable[dict[str, Any]]:
    """The lines of a file of results; those that were cut off are left out, and those that were never written."""
    for part in text.splitlines():
        try:
            line = parse_json(part, "a line")
            if {"key", "limit_s", "decided", *_RESULT_TACTICS} <= line.keys():
                yield {**line, "limit_s": float(line["limit_s"]), "decided": read_decided(line["decided"])}
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            continue


def read_decided(table: Mapping[str, Any]) -> Decided:
    """A result from its fields."""
    counterexample = table["counterexample"]
    if counterexample is not None:
        codes = {k: tuple(counterexample[k]) for k in ("inputs", "expected", "got", "story")}
        counterexample = Counterexample(**{**counterexample, **codes})
    queries = tuple(Query(**q) for q in table["queries"])
    return Decided(**{**table, "queries": queries, "counterexample": counterexample})
