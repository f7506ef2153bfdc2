"""Operations one after the other, at random from the reset on: they may show what is wrong where no proof decides."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, repeat
from random import Random
from typing import Final

from softfloat_ref.proof.operations import (
    EXTRA_RESULT,
    NO_RESULT,
    WRONG_RESULT,
    WRONG_TAG,
    Cycle,
    Event,
    NumberedOperations,
    OperationFault,
    paused_signals,
)
from softfloat_ref.proof.solver import solve
from softfloat_ref.proof.unroll import Contents, after_reset, has_pauses
from softfloat_ref.rtl.port_map import ClockEnable
from softfloat_ref.symbolic.terms import Term, const, evaluator, known_values, variable_widths, variables

WALK_S: Final = 10.0  # for all walks of a circuit
_LENGTHS: Final = (6, 12, 24, 48, 96, 192)  # in cycles; the first ones tell the shortest stories
_WALKS_PER_LENGTH: Final = 12  # walks of a length
_TRIES: Final = 100  # operands until some are assumed
_IDLE_CYCLES: Final = 8  # without a result, beyond those of the first operation; then a walk draws nothing more

Signals = Mapping[str, int]


def walk_at_random(of: NumberedOperations) -> OperationFault | None:
    """Something wrong, as it is seen in some walks; None if nothing is. The random numbers are always the same."""
    walks, end = _Walks(of), time.monotonic() + WALK_S
    if of.preset or walks.base is None:  # what registers hold for an operation is not at random
        return None
    for length in chain.from_iterable(repeat(n, _WALKS_PER_LENGTH) for n in _LENGTHS):
        if time.monotonic() > end:
            return None
        if (fault := _Walk(walks).go(length)) is not None:
            return fault
    return None


class _Walks:
    """What the walks of a circuit have in common. base: inputs of an operation that are assumed; None if there are
    none, or if that is not decided. zeros: of what registers may hold that a result is not made of, as is proved."""

    def __init__(self, of: NumberedOperations) -> None:
        self.of, self.words = of, Random(0)
        machine = of.machine
        self.reset = after_reset(machine, of.ports)
        self.free = variables([*self.reset.contents.values()])
        self.begin = evaluator([*self.reset.contents.values()])
        self.nets = evaluator([*machine.outputs.values(), *machine.nexts.values()])
        self.answer, self.chosen = evaluator([of.got, of.care]), evaluator([of.assumed])
        self.inputs = variable_widths([of.word, of.assumed, of.care])
        self.zeros = known_values([of.got], {})

    @cached_property
    def base(self) -> Mapping[str, int] | None:
        answer = solve([self.of.assumed], WALK_S)
        return answer.model if answer.result == "sat" else None

    def draw(self) -> dict[str, int]:
        """An operation's inputs, some of them of zeros or ones alone."""
        for _ in range(_TRIES):
            values = {name: self._bits(width) for name, width in self.inputs.items()}
            if self.chosen(values)[0]:
                return values
        return {name: (self.base or {}).get(name, 0) for name in self.inputs}

    def _bits(self, width: int) -> int:
        return self.words.choice((0, (1 << width) - 1, *(self.words.getrandbits(width) for _ in range(8))))


class _Walk:
    """A run of the circuit. model: the values of variables, with those of operations by their number; flying: the
    numbers of operations taken whose results have not come; number: of the next one; taken, offered: its channels."""

    def __init__(self, walks: _Walks) -> None:
        self.walks, self.of, self.words, self.latency = walks, walks.of, walks.words, walks.of.ports.latency
        self.model = {str(v.value): self.words.getrandbits(v.width) for v in walks.free}
        self.contents = walks.begin(self.model)
        self.steps: list[Contents] = [*walks.reset.steps]
        self.events: list[Event] = []
        self.flying: list[int] = []
        self.number, self.taken, self.offered, self.drawn, self.waits, self.quiet = 0, 0, 0, -1, False, 0

    def go(self, length: int) -> OperationFault | None:
        """So many cycles at random, then as many as it takes until all results have come."""
        of, often, patience = self.of, self.words.choice((0.3, 0.6, 0.9)), self.of.cycles + _IDLE_CYCLES
        while length > 0 or (self._open and self.latency is None):
            at_random = length > 0 and self.quiet < patience
            if of.ports.enable is not None:
                self._pause(of.ports.enable)
            cycle = self._choice(often) if at_random else of.eager(self.taken, self.offered)
            if (fault := self._cycle(cycle)) is not None:
                return fault
            if self.quiet > of.ports.drain_timeout:
                return self._fault(NO_RESULT, min([*self.flying, self.number]), 0)
            length -= 1
        return None

    def _pause(self, enable: ClockEnable) -> None:
        """Cycles without the clock enable, as often as a bench has them."""
        while self.words.randrange(100) < enable.pauses:
            self._step(paused_signals(self.of.ports, self.of.driven, f" in {len(self.steps)}"))
            self.events.append(Event(None, None, ready=True, paused=True))

    def _choice(self, often: float) -> Cycle:
        """What a bench does: operands stay offered until they are taken."""
        shake = self.of.ports.handshake
        more = sum(1 << i for i in range(shake.channels) if self.words.random() < often)
        if self.latency is not None:
            more = self.of.channels if more or "in_valid" not in shake else 0
        offered = self.of.open(len(self.flying), self.taken, self.offered) & (more | self.offered)
        if offered and self.drawn < self.number:
            self._draw()
        return Cycle(offered, "out_ready" not in shake or self.words.random() < often)

    def _draw(self) -> None:
        """Inputs and a tag for the next operation."""
        self.drawn, values = self.number, self.walks.draw()
        if self.of.ports.tag:
            tags = {self._tag(n) for n in self.flying}
            values["tag"] = self.words.choice([t for t in range(1 << self.of.ports.tag.width) if t not in tags])
        self.model |= {f"{name}#{self.number}": value for name, value in values.items()}

    def _tag(self, number: int) -> int:
        return self.model.get(f"tag#{number}", -1)

    def _cycle(self, cycle: Cycle) -> OperationFault | None:
        of = self.of
        outputs = self._step(of.signals(self.number, cycle, len(self.steps)))
        fired = of.fired(outputs["in_ready"], cycle)
        begun = bool(fired) and self.taken | fired == of.channels
        flying = [*self.flying, self.number] if begun else self.flying
        whole = self.taken | cycle.offered == of.channels
        self.events.append(Event(self.number if begun else None, None, cycle.ready))
        about = self._due() if self.latency is not None else self._shown(outputs, flying or [self.number])
        shown = about is not None
        self.events[-1] = self.events[-1]._replace(shown=about)
        if self.latency is not None:
            kind = self._pauses(outputs, shown)
        else:
            kind = of.broken(cycle, shown, self.waits, len(flying), whole)
        if not kind and about is not None and of.counts(cycle):
            kind = self._answers(outputs, about)
        if kind:
            return self._fault(kind, self.number if about is None else about, outputs["got"])
        self.flying = [n for n in flying if not (cycle.ready and n == about)]
        self.number, self.taken = self.number + begun, 0 if begun else self.taken | fired
        self.offered, self.waits = cycle.offered & ~fired, shown and not cycle.ready
        moves = fired or (shown and cycle.ready) or not self._open
        self.quiet = 0 if moves else self.quiet + 1
        return None

    @property
    def _open(self) -> bool:
        """Whether an operation is begun or offered whose result has not come."""
        return bool(self.flying or self.taken or self.offered)

    def _due(self) -> int | None:
        """The operation whose result is due, after a fixed latency."""
        latency, events = self.latency or 0, self._enabled
        return events[-1 - latency].begun if len(events) > latency else None

    @property
    def _enabled(self) -> list[Event]:
        """The cycles with the clock enable."""
        return [event for event in self.events if not event.paused]

    def _shown(self, outputs: Signals, flying: Sequence[int]) -> int | None:
        """The operation whose result there is: that with its tag, or the first one."""
        if not outputs["out_valid"]:
            return None
        if self.of.ports.tag:
            return next((n for n in flying if self._tag(n) == outputs["tag_out"]), flying[0])
        return flying[0]

    def _pauses(self, outputs: Signals, due: bool) -> str:
        """What is wrong with out_valid, after a fixed latency."""
        if due:
            return NO_RESULT if "out_valid" in self.of.ports.handshake and not outputs["out_valid"] else ""
        begun = len(self._enabled) > (self.latency or 0)  # before, it may tell of registers that no reset sets
        return EXTRA_RESULT if begun and has_pauses(self.of.ports) and outputs["out_valid"] else ""

    def _answers(self, outputs: Signals, about: int) -> str:
        """What is wrong with the result of an operation."""
        if self.of.ports.tag and outputs["tag_out"] != self._tag(about):
            return WRONG_TAG
        inputs = {name: self.model[f"{name}#{about}"] for name in self.walks.inputs}
        want, care = self.walks.answer(self.walks.zeros | inputs)
        return WRONG_RESULT if (outputs["got"] ^ want) & care else ""

    def _step(self, signals: Mapping[str, Term]) -> dict[str, int]:
        """The outputs of a cycle; then the registers take their next contents."""
        machine = self.of.machine
        for v in variables(signals.values()):
            self.model.setdefault(str(v.value), self.words.getrandbits(v.width))
        driven = dict(zip(signals, evaluator([*signals.values()])(self.model), strict=True))
        held = dict(zip(machine.registers, self.contents, strict=True))
        step: dict[Term, int] = {v: held[name] for name, v in machine.registers.items()}
        for name, v in machine.inputs.items():
            step[v] = driven[name] if name in driven else self.words.getrandbits(v.width)
        codes = self.walks.nets({str(v.value): value for v, value in step.items()})
        self.contents = codes[len(machine.outputs) :]
        self.steps.append({v: const(value, v.width) for v, value in step.items()})
        return dict(zip(machine.outputs, codes, strict=False))

    def _fault(self, kind: str, number: int, got: int) -> OperationFault:
        return OperationFault(kind, self.events, number, self.model, const(got, self.of.got.width), self.steps)
