"""Each bug of the mutation campaign: an input that shows it, or a proof that it changes nothing.

A circuit with a bug is compared with the correct one, which the goals prove; an input that tells the two apart is tried
on the oracle.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from softfloat_ref.proof.later import later
from softfloat_ref.proof.question import ALL, Question, counterexample
from softfloat_ref.proof.solver import solve
from softfloat_ref.symbolic.terms import Term, const
from softfloat_ref.units.unit import lanes_of

from ..bugs import Bug, bugs, module, module_name
from ..circuits import CIRCUITS, Circuit, Setting
from .tasks import Task, ports_of, source_of

REGISTERS = {"bf16_stochastic": {"state": "r"}}
SOURCES = {"bf16_stochastic": "lfsr:width=16,taps=16.14.13.11,seed=1,bits=15:0"}
SHOWN, EQUIVALENT, UNDECIDED = "shown", "equivalent", "undecided"


class Outcome(NamedTuple):
    """What came of a bug. setting: which shows it; inputs: that do; said: what is wrong, if other operations have a
    part in it."""

    verdict: str
    seconds: float
    setting: str = ""
    inputs: Sequence[int] = ()
    said: str = ""


def run(names: Sequence[str], numbers: Sequence[int] | None, limit_s: float) -> int:
    """Print a line for each bug and a summary for each circuit; 1 if a bug is undecided, or not what its table says."""
    summaries, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            outcomes = []
            for bug in bugs(CIRCUITS[name]):
                if numbers is None or bug.number in numbers:
                    outcomes.append(outcome := decide(CIRCUITS[name], bug, Path(folder), limit_s))
                    print(_line(name, bug, outcome), flush=True)
                    wrong |= (outcome.verdict == EQUIVALENT) != bool(bug.equivalent) or outcome.verdict == UNDECIDED
            summaries.append(_summary(name, outcomes))
    print("\n".join(summaries))
    return int(wrong)


def decide(circuit: Circuit, bug: Bug, folder: Path, limit_s: float) -> Outcome:
    """Compare the circuit with a bug with the correct one, setting by setting, until an input shows it."""
    begin, undecided = time.process_time(), False
    for setting in sorted(circuit.settings, key=lambda s: not bug.witness.startswith(f"{s.name} ")):
        correct = _correct(circuit.name, setting.name)
        asked = _task(circuit, setting, bug, folder).question()
        answer = solve(_apart(asked, correct), limit_s)
        if answer.result == "sat" and (shown := counterexample(asked, asked.case(ALL), answer.model)):
            return Outcome(SHOWN, time.process_time() - begin, setting.name, shown.inputs)
        more = later(asked, limit_s) if answer.result == "unsat" else None
        if more is not None and more.verdict != "proved":
            if more.counterexample is not None:
                return Outcome(
                    SHOWN, time.process_time() - begin, setting.name, more.counterexample.inputs, more.message
                )
            undecided = True
        undecided |= answer.result != "unsat"
    return Outcome(UNDECIDED if undecided else EQUIVALENT, time.process_time() - begin)


@cache
def _correct(circuit: str, setting: str) -> Question:
    known = CIRCUITS[circuit]
    return _task(known, known.setting(setting), None, Path()).question()


def _task(circuit: Circuit, setting: Setting, bug: Bug | None, folder: Path) -> Task:
    ports, source = ports_of(circuit.name), source_of(circuit.name)
    if bug is not None and bug.edits:
        ports["module"] = module_name(circuit, bug)
        source = folder / f"{ports['module']}.sv"
        source.write_text(module(circuit, bug))
    elif bug is not None:
        inputs = dict(ports["inputs"])
        ports["inputs"] = {**inputs, "defect": {**inputs["defect"], "value": bug.number}}
    options: dict[str, Any] = {"out": setting.out, "policy": setting.policy}
    options = {key: value for key, value in options.items() if value is not None}
    registers, lfsr = REGISTERS.get(circuit.name, {}), SOURCES.get(circuit.name, "")
    return Task(setting.name, setting.op, setting.fmt, ports, [source], options, registers, lfsr)


def _apart(asked: Question, correct: Question) -> list[Term]:
    """Together, whether the two circuits answer otherwise."""
    lanes = [(name, f.width) for f in asked.unit.outputs for name in lanes_of(f)]
    wants = {name: correct.design().code(name, const(0, width)) for name, width in lanes}
    return [asked.design().observed.assumed, correct.design().observed.assumed, asked.design().wrong(wants)]


def _line(name: str, bug: Bug, outcome: Outcome) -> str:
    codes = " ".join(f"{x:x}" for x in outcome.inputs[:4])
    where = f"{outcome.setting}: {codes}" if outcome.inputs else outcome.verdict
    more = " ..." if len(outcome.inputs) > 4 else ""
    reason = f"; {outcome.said}" if outcome.said else ""
    return f"{name} {bug.number:3} {outcome.seconds:6.1f} s  {bug.text[:60]:60}  {where}{more}{reason}"


def _summary(name: str, outcomes: Sequence[Outcome]) -> str:
    counts, seconds = Counter(o.verdict for o in outcomes), sorted(o.seconds for o in outcomes)
    words = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    times = f"median {seconds[len(seconds) // 2]:.1f} s, slowest {seconds[-1]:.1f} s" if seconds else ""
    return f"{name}: {len(outcomes)} bugs: {words}; {times}"
