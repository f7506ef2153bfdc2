"""A clock enable: cycles without it, which may come at any time and must change nothing that matters.

Registers matter if an output rests on them in a cycle with the enable, or the next contents of a register that matters
do. If each of these keeps what it holds in a cycle without the enable, for any inputs and any contents, then such
cycles make no difference: what is proved of the circuit with the enable always on holds for all others.

Where one of them changes, the result of a fixed latency may still be the same: of any contents, for each cycle of an
operation, a cycle without the enable that comes before it must lead to the same result. By induction, any number may.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import or_ as or_bits
from typing import Final

from softfloat_ref.proof.design import BoundDesign
from softfloat_ref.proof.later import Later, shown_or
from softfloat_ref.proof.operations import (
    EXTRA_RESULT,
    NO_RESULT,
    WRONG_RESULT,
    Cycle,
    Event,
    NumberedOperations,
    OperationFault,
    paused_signals,
)
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.solver import solve
from softfloat_ref.proof.unroll import (
    ANY,
    CHANGING,
    after_reset,
    has_pauses,
    kept_contents,
)
from softfloat_ref.proof.walk import walk_at_random
from softfloat_ref.symbolic.build import eq, make, not_, substitute
from softfloat_ref.symbolic.terms import FALSE, Term, const, var, variables

_SEARCH_S: Final = 30.0  # for an operation with pauses that is wrong
_LONGEST_PAUSE: Final = 2  # cycles, of those that are tried
_SHOWN_REGISTERS: Final = 3
Nets = Mapping[str, Term]


def with_pauses(question: Question, outcome: Later | None, limit_s: float) -> Later | None:
    """What is proved with the clock enable on, where it may be off in any cycle after the reset, too. outcome: what
    else is proved beyond one operation; limit_s: for a question to the solver."""
    enable = question.rtl.ports.enable
    if enable is None:
        return outcome
    designs = [question.design(part) for part in range(len(question.unit.parts))]
    moving = _moving_registers(designs[0], limit_s)
    is_alone = question.source is None  # else the next operation's random bits must be the same, too
    if not moving or (is_alone and all(_result_is_unchanged(design, limit_s) for design in designs)):
        message = f"{enable.port} may be off in any cycle{' after the reset' if question.rtl.ports.reset else ''}"
        return replace(outcome or Later("proved"), pauses=message)
    shown = ", ".join(name.removeprefix("dut.") for name in moving[:_SHOWN_REGISTERS])
    more = f" and {len(moving) - _SHOWN_REGISTERS} more" if len(moving) > _SHOWN_REGISTERS else ""
    noun = "register" if len(moving) == 1 else "registers"
    why = f"{noun} {shown}{more} may change while {enable.port} is off"
    return replace(shown_or(question, _fault(question), why), about="pauses")


# -- registers ---------------------------------------------------------------------------------------------------------


class _CycleTerms:
    """What a circuit does in one cycle after the reset, with the clock enable or without it, as terms of the contents
    of its registers. fixed: what those hold that never change after the reset."""

    def __init__(self, design: BoundDesign) -> None:
        self.design, self.machine, self.ports = design, design.machine, design.ports
        fixed = kept_contents(self.machine, self.ports, after_reset(self.machine, self.ports).contents)
        self.fixed = {self.machine.registers[name]: t for name, t in fixed.items()}

    def cycle(self, name: str, enabled: bool) -> tuple[Nets, Nets]:
        """The outputs, and the next contents, by name. name: the end of the names of the inputs' variables, so that
        those of several cycles differ; enabled: whether the clock enable is on."""
        signals = paused_signals(self.ports, self.design.driven, name)
        signals |= {"enable": const(enabled, 1)}
        values = dict(self.fixed)
        for port, v in self.machine.inputs.items():
            values[v] = signals[port] if port in signals else var(f"{port}{name}", v.width)
        outputs, nexts = self.machine.outputs, self.machine.nexts
        terms = substitute([*outputs.values(), *nexts.values()], values)
        return (
            dict(zip(outputs, terms, strict=False)),
            dict(zip(nexts, terms[len(outputs) :], strict=True)),
        )


def _moving_registers(design: BoundDesign, limit_s: float) -> list[str]:
    """The registers that matter and may change in a cycle without the clock enable."""
    steps = _CycleTerms(design)
    outputs, nexts = steps.cycle(" enabled", enabled=True)
    _, paused = steps.cycle(" paused", enabled=False)
    names = {v: name for name, v in design.machine.registers.items()}
    left, matter = list(outputs.values()), dict[str, None]()
    while left:  # from the outputs back through the next contents, with the enable
        used = [names[v] for v in variables(left) if v in names]
        new = [name for name in used if name not in matter]
        matter |= dict.fromkeys(new)
        left = [nexts[name] for name in new]
    moved = {name: not_(eq(paused[name], design.machine.registers[name])) for name in matter}
    return [name for name, bit in moved.items() if bit is not FALSE and solve([bit], limit_s).result != "unsat"]


def _result_is_unchanged(design: BoundDesign, limit_s: float) -> bool:
    """Whether the result of an operation of a fixed latency, from any contents of the registers, is the same with
    cycles without the clock enable; of a circuit that is not told when there is an operation."""
    ports, latency = design.ports, design.ports.latency
    if latency is None or design.observed.start not in (ANY, CHANGING) or ports.handshake.signals:
        return False
    steps = _CycleTerms(design)
    care = const(reduce(or_bits, (part.care[0] for part in design.driven.bound.parts)), design.observed.got.width)
    outputs, _ = steps.cycle(f" in {latency}", enabled=True)
    _, paused = steps.cycle(" paused", enabled=False)
    registers = design.machine.registers
    without = {registers[name]: t for name, t in paused.items()}
    result = make("and", care.width, outputs["got"], care)
    for cycle in range(latency, 0, -1):  # from the last cycle back; result: as terms of the contents before it
        differs = not_(eq(result, substitute([result], without)[0]))
        if differs is not FALSE and solve([differs], limit_s).result != "unsat":
            return False
        _, nexts = steps.cycle(f" in {cycle - 1}", enabled=True)
        result = substitute([result], {registers[name]: t for name, t in nexts.items()})[0]
    return True


# -- an operation with pauses that is wrong ----------------------------------------------------------------------------


def _fault(question: Question) -> OperationFault | None:
    """Something wrong, from the reset on, with cycles without the clock enable; None if none is found."""
    design = question.design()
    if design.preset:  # what registers hold for an operation is not followed
        return None
    of = NumberedOperations(design, question.assumption)
    ports = design.ports
    if ports.latency is not None and design.observed.start in (ANY, CHANGING) and "in_ready" not in ports.handshake:
        end = time.monotonic() + _SEARCH_S
        for before, count in _pauses(ports.latency):
            if time.monotonic() > end:
                break
            if (fault := _timed_fault(of, before, count, end)) is not None:
                return fault
    return walk_at_random(of)


def _pauses(latency: int) -> Iterator[tuple[int, int]]:
    """Before which cycle of an operation a pause is, and how long it is."""
    for count in range(1, _LONGEST_PAUSE + 1):
        yield from ((cycle, count) for cycle in range(latency, -1, -1))


def _timed_fault(of: NumberedOperations, before: int, count: int, end: float) -> OperationFault | None:
    """Something wrong in the first operation after the reset, of a fixed latency, with a pause before one of its
    cycles. Without a signal for operands, an operation begins in each cycle."""
    ports, latency = of.ports, of.ports.latency or 0
    run, events, facts = after_reset(of.machine, ports), list[Event](), list[Term]()
    for cycle in range(latency + 1):
        for _ in range(count if cycle == before else 0):
            run.step(paused_signals(ports, of.driven, f" in {len(run.steps)}"))
            events.append(Event(None, None, ready=True, paused=True))
        begins = cycle == 0 or "in_valid" not in ports.handshake
        number, due = cycle if begins else 1, cycle == latency
        facts += [] if not begins else of.facts([number])
        outputs = run.step(of.signals(number, Cycle(of.channels if begins else 0, ready=True), len(run.steps)))
        events.append(Event(number if begins else None, 0 if due else None, ready=True))
        valid = outputs["out_valid"]
        kinds = {WRONG_RESULT: of.wrong(outputs, 0)} if due else {}
        if "out_valid" in ports.handshake and due:
            kinds |= {NO_RESULT: not_(valid)}
        elif has_pauses(ports):
            kinds |= {EXTRA_RESULT: valid}
        for kind, wrong in kinds.items():
            answer = solve([*facts, wrong], max(end - time.monotonic(), 1.0)) if wrong is not FALSE else None
            if answer is not None and answer.result == "sat":
                return OperationFault(kind, events, 0, answer.model, outputs["got"], run.steps)
    return None
