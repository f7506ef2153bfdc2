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

from softfloat_ref.proof.question import ALL, Question, counterexample
from softfloat_ref.proof.solver import solve
from softfloat_ref.proof.unroll import ANY
from softfloat_ref.symbolic.terms import Term, const, eq, not_, or_, replaced
from softfloat_ref.units.unit import lanes_of

from ..bugs import Bug, bugs, module, module_name
from ..circuits import CIRCUITS, Circuit, Setting
from .tasks import Task, ports_of, source_of

REGISTERS = {"bf16_stochastic": {"state": "r"}}
SHOWN, EQUIVALENT, UNDECIDED = "shown", "equivalent", "undecided"
LATER = "not shown by one operation"


class Outcome(NamedTuple):
    """What came of a bug. setting: which shows it; inputs: that do."""

    verdict: str
    seconds: float
    setting: str = ""
    inputs: Sequence[int] = ()


def run(names: Sequence[str], numbers: Sequence[int] | None, limit_s: float) -> int:
    """Print a line for each bug and a summary for each circuit; 1 if a bug is undecided, or not what its table says."""
    summaries, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            outcomes = []
            for bug in bugs(CIRCUITS[name]):
                if numbers is None or bug.number in numbers:
                    outcomes.append(found := decide(CIRCUITS[name], bug, Path(folder), limit_s))
                    print(_line(name, bug, found), flush=True)
                    wrong |= (found.verdict == EQUIVALENT) != bool(bug.equivalent) or found.verdict == UNDECIDED
            summaries.append(_summary(name, outcomes))
    print("\n".join(summaries))
    return int(wrong)


def decide(circuit: Circuit, bug: Bug, folder: Path, limit_s: float) -> Outcome:
    """Compare the circuit with a bug with the correct one, setting by setting, until an input shows it."""
    begin, undecided, later = time.process_time(), False, False
    for setting in sorted(circuit.settings, key=lambda s: not bug.witness.startswith(f"{s.name} ")):
        correct = _correct(circuit.name, setting.name)
        asked = _task(circuit, setting, bug, folder).question()
        found = solve(_apart(asked, correct), limit_s)
        if found.result == "sat" and (shown := counterexample(asked, asked.case(ALL), found.model)):
            return Outcome(SHOWN, time.process_time() - begin, setting.name, shown.inputs)
        undecided |= found.result != "unsat"
        later |= _remembers(asked, correct, limit_s)
    verdict = UNDECIDED if undecided else LATER if later else EQUIVALENT
    return Outcome(verdict, time.process_time() - begin)


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
    registers = REGISTERS.get(circuit.name, {})
    return Task(setting.name, setting.op, setting.fmt, ports, [source], options, registers)


def _apart(asked: Question, correct: Question) -> list[Term]:
    """Together, whether the two circuits answer otherwise."""
    lanes = [(name, f.width) for f in asked.unit.outputs for name in lanes_of(f)]
    wants = {name: correct.design().code(name, const(0, width)) for name, width in lanes}
    return [asked.design().observed.assumed, correct.design().observed.assumed, asked.design().wrong(wants)]


def _remembers(asked: Question, correct: Question, limit_s: float) -> bool:
    """Whether what the circuit remembers may show the bug in later operations: there are registers that an answer rests
    on, or it waits, and from any state on the two do not do the same."""
    ports = asked.rtl.ports
    if ports.clock is None or (asked.design().observed.start == ANY and not asked.registers):
        return False
    one, other = asked.design().machine, correct.design().machine
    if one.registers.keys() != other.registers.keys():
        return True
    mine, theirs = ([*_driven(q, "nexts"), *_driven(q, "outputs"), *_driven(q, "starts")] for q in (asked, correct))
    return solve([or_(*(not_(eq(a, b)) for a, b in zip(mine, theirs, strict=True)))], limit_s).result != "unsat"


def _driven(question: Question, what: str) -> list[Term]:
    """Contents or outputs in order of their names, with the bug's number among the inputs."""
    machine, found = question.design().machine, getattr(question.design().machine, what)
    stimulus = machine.inputs["stimulus"]
    return replaced([found[name] for name in sorted(found)], {stimulus: question.design().observed.steps[-1][stimulus]})


def _line(name: str, bug: Bug, found: Outcome) -> str:
    where = f"{found.setting}: {' '.join(f'{x:x}' for x in found.inputs[:4])}" if found.inputs else found.verdict
    more = " ..." if len(found.inputs) > 4 else ""
    return f"{name} {bug.number:3} {found.seconds:6.1f} s  {bug.text[:60]:60}  {where}{more}"


def _summary(name: str, outcomes: Sequence[Outcome]) -> str:
    counts, seconds = Counter(o.verdict for o in outcomes), sorted(o.seconds for o in outcomes)
    words = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    times = f"median {seconds[len(seconds) // 2]:.1f} s, slowest {seconds[-1]:.1f} s" if seconds else ""
    return f"{name}: {len(outcomes)} bugs: {words}; {times}"
