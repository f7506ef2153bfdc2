"""A netlist's machine, driven cycle by cycle as its port map says: what it is given, what it gives, and what is due."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, NamedTuple

from softfloat_ref.proof.design import Driven
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.stimuli import Vector
from softfloat_ref.proof.unroll import Contents
from softfloat_ref.rtl.bundle import ones
from softfloat_ref.symbolic.known import Pair, known_bits
from softfloat_ref.symbolic.terms import evaluate, evaluator
from softfloat_ref.units.unit import lanes_of

LEAST_OPERATIONS: Final = 250  # whatever time they take, or
LEAST_CYCLES: Final = 4000
_RATES: Final = ((1.0, 1.0), (0.5, 0.6), (0.9, 0.3), (0.3, 1.0))  # of operands offered, and of results taken,
_PHASE_CYCLES: Final = 48  # for that many cycles
_DRAIN_CYCLES: Final = 64  # cycles without anything happening, after which no result is waited for
_INPUTS: Final = {**dict.fromkeys(("reset", "in_valid", "out_ready", "clear", "tag_in", "stimulus"), 0), "enable": 1}


@dataclass(frozen=True)
class Due:
    """What a cycle must show. got: the bits of the result that matter, as ones; vector: of which operation; first:
    whether that is the first one after the reset, or there is none; tag: whether there is a tag; paused: whether the
    clock enable was off since it was offered."""

    got: int = 0
    vector: Vector | None = None
    first: bool = False
    tag: bool = False
    paused: bool = False


@dataclass
class CycleRecording:
    """Cycles: the inputs by name, the machine's outputs, and what is due, None in a reset. operations: given."""

    inputs: list[dict[str, int]] = field(default_factory=list)
    outputs: list[dict[str, int]] = field(default_factory=list)
    due: list[Due | None] = field(default_factory=list)
    operations: int = 0

    @property
    def vectors(self) -> list[Vector]:
        """The operations whose results are due."""
        return [due.vector for due in self.due if due and due.vector]


class Driver:
    """Drives a question's machine as its port map says. free: the random numbers of what the source leaves open."""

    def __init__(self, question: Question) -> None:
        plan = question.design()
        self.question, self.ports, self.machine = question, plan.ports, plan.machine
        self.bound, self.values = plan.driven.bound, plan.driven.values
        self.fixed, self.masks, self.width = plan.driven.fixed, plan.driven.masks, plan.driven.width
        parts = range(len(question.unit.parts))
        self.words = [evaluator([Driven(question.unit, self.bound, self.ports, part).operands]) for part in parts]
        self.names = [
            {n for f in question.unit.inputs if f.name in question.unit.used(part) for n in lanes_of(f)}
            for part in question.unit.parts
        ]
        machine = self.machine
        self.nets = evaluator([*machine.outputs.values(), *machine.nexts.values()])

    def definite(self, recording: CycleRecording) -> Callable[[int, str], int]:
        """The bits of an output in a cycle, as ones, that do not rest on what the source leaves open: undefined values,
        and registers that no reset sets."""
        machine, seen = self.machine, list[dict[str, Pair]]()
        run = known_bits([*machine.outputs.values(), *machine.nexts.values()])
        held = {n: (int(t.value), ones(t.width)) for n, t in machine.starts.items() if t.is_const}

        def bits(cycle: int, output: str) -> int:
            while len(seen) <= cycle:
                inputs = recording.inputs[len(seen)]
                values = {str(machine.registers[n].value): pair for n, pair in held.items()}
                values |= {str(v.value): (inputs[n], ones(v.width)) for n, v in machine.inputs.items() if n in inputs}
                known = run(values)
                held.update(zip(machine.nexts, known[len(machine.outputs) :], strict=True))
                seen.append(dict(zip(machine.outputs, known, strict=False)))
            return seen[cycle][output][1]

        return bits

    def word(self, vector: Vector) -> int:
        """The inputs side by side of an operation."""
        used = self.names[vector.part]
        codes = {n if n in used else f"unused {n}": code for n, code in vector.lanes.items()}
        return self.words[vector.part](codes)[0]

    def start(self, free: Random) -> dict[str, int]:
        """The contents of registers at power-up."""
        starts = {n: int(t.value) for n, t in self.machine.starts.items() if t.is_const}
        return {n: starts.get(n, free.getrandbits(t.width)) for n, t in self.machine.registers.items()}

    def step(self, held: dict[str, int], inputs: Mapping[str, int], free: Random) -> dict[str, int]:
        """The outputs of a cycle; `held` then has the next contents."""
        machine = self.machine
        values = {str(machine.registers[n].value): code for n, code in held.items()}
        for name, v in machine.inputs.items():
            values[str(v.value)] = inputs[name] if name in inputs else free.getrandbits(v.width)
        codes = self.nets(values)
        held.update(zip(machine.nexts, codes[len(machine.outputs) :], strict=True))
        return dict(zip(machine.outputs, codes, strict=False))

    def outputs(self, cycles: Sequence[Mapping[str, int]], free: Random) -> list[dict[str, int]]:
        """The machine's outputs in cycles with these inputs."""
        held = self.start(free)
        return [self.step(held, inputs, free) for inputs in cycles]

    def replayed(self, steps: Sequence[Contents], values: Mapping[str, int]) -> CycleRecording:
        """Cycles from the reset on, as terms: what inputs and registers hold; with these values of variables."""
        inputs = []
        for step in steps:
            terms = [step[v] for v in self.machine.inputs.values()]
            inputs.append(dict(zip(self.machine.inputs, evaluate(terms, values), strict=True)))
        inputs = [{**_INPUTS, **cycle} for cycle in inputs]
        outputs, reset = self.outputs(inputs, Random(2)), self.ports.reset.cycles if self.ports.reset else 0
        care = self.bound.parts[0].care[0] if len(self.bound.parts) == 1 else 0
        shown = [Due(care if codes["out_valid"] else 0, tag=bool(codes["out_valid"])) for codes in outputs[reset:]]
        return CycleRecording(inputs, outputs, [*[None] * reset, *shown], 1)

    def record(self, operations: Iterable[Vector], limit_s: float) -> CycleRecording:
        """Some operations one after the other, until there are no more, the time is over or one is not taken."""
        run, end = _Run(self, Random(1)), time.process_time() + limit_s
        for vector in operations:
            if not run.operate(vector):
                break
            enough = run.recording.operations >= LEAST_OPERATIONS or len(run.recording.inputs) >= LEAST_CYCLES
            if enough and time.process_time() > end:
                break
        run.finish()
        return run.recording


class _Operation(NamedTuple):
    """An operation of the bench: its number from 1, its tag, and the cycle from which on it is offered."""

    number: int
    vector: Vector
    tag: int
    cycle: int


class _Run:
    """A machine from its reset on. flying: the operations taken whose results have not come; begun: of each cycle, for
    a fixed latency."""

    def __init__(self, driver: Driver, words: Random) -> None:
        self.driver, self.ports, self.words = driver, driver.ports, words
        self.held, self.free = driver.start(words), Random(2)
        self.recording = CycleRecording()
        self.flying: list[_Operation] = []
        self.begun: list[_Operation | None] = []
        self.paused = -1  # the last cycle without the clock enable
        reset = self.ports.reset
        for _ in range(reset.cycles if reset else 0):
            active = int(reset is not None and reset.active == "high")
            self._cycle({**self._idle(), "reset": active, "out_ready": self.words.getrandbits(1)})

    def _idle(self) -> dict[str, int]:
        """The inputs of a cycle without an operation."""
        quiet = int(self.ports.reset is not None and self.ports.reset.active == "low")
        return {**_INPUTS, "reset": quiet, "out_ready": 1, "stimulus": self._others()}

    def _others(self) -> int:
        """Any inputs, with the controls of any operation."""
        driver = self.driver
        return self.words.getrandbits(driver.width) & ~driver.fixed | self.words.choice(driver.values) & driver.fixed

    def _cycle(self, inputs: dict[str, int], due: Due | None = None) -> dict[str, int]:
        outputs = self.driver.step(self.held, inputs, self.free)
        self.recording.inputs.append(inputs)
        self.recording.outputs.append(outputs)
        self.recording.due.append(due)
        return outputs

    def operate(self, vector: Vector) -> bool:
        """Give one operation, with pauses, as soon as the port map allows it; whether it was taken."""
        ports, shake = self.ports, self.ports.handshake
        self.recording.operations += 1
        tag = self.recording.operations % (1 << ports.tag.width if ports.tag else 1)
        operation = _Operation(self.recording.operations, vector, tag, len(self.recording.inputs))
        if ports.clock is None:
            self._cycle({**self._idle(), "stimulus": self.driver.word(vector)}, self._due(operation))
            return True
        every = ones(shake.channels)
        taken, offered, waited = 0, 0, 0
        while taken != every and waited <= ports.drain_timeout:
            often, results = _RATES[len(self.recording.inputs) // _PHASE_CYCLES % len(_RATES)]
            self._pause()
            offered |= self._offered(often) & ~taken if offered or taken or self._room else 0
            inputs = {**self._idle(), "in_valid": offered, "out_ready": self._takes(results), "tag_in": tag}
            if offered or taken:
                inputs["stimulus"] = self._stimulus(vector, taken)
            outputs = self._cycle(inputs)
            fired = outputs["in_ready"] & offered
            fired = 0 if shake.joint and fired != every else fired
            taken, offered, waited = taken | fired, offered & ~fired, waited + (1 if offered else 0)
            self._note(operation if taken == every else None, outputs, bool(inputs["out_ready"]))
        return taken == every

    def _pause(self) -> None:
        """Cycles without the clock enable, which count for nothing: anything is offered and taken."""
        enable = self.ports.enable
        while enable is not None and self.words.randrange(100) < enable.pauses:
            channels = self.words.getrandbits(self.ports.handshake.channels)
            others = {"in_valid": channels, "out_ready": self.words.getrandbits(1), "enable": 0}
            self.paused = len(self.recording.inputs)
            self._cycle({**self._idle(), **others})

    def finish(self) -> None:
        """Take the results that are left."""
        for _ in range((self.ports.latency or _DRAIN_CYCLES) if self.ports.clock else 0):
            self._note(None, self._cycle(self._idle()), ready=True)

    def _offered(self, often: float) -> int:
        """The channels of operands that are offered from now on."""
        shake = self.ports.handshake
        if self.ports.latency is not None:
            return ones(shake.channels) if "in_valid" not in shake or self.words.random() < often else 0
        return sum(1 << i for i in range(shake.channels) if self.words.random() < often)

    def _takes(self, results: float) -> int:
        return int("out_ready" not in self.ports.handshake or self.words.random() < results)

    def _stimulus(self, vector: Vector, taken: int) -> int:
        """The operands; anything in place of those that were taken."""
        word, others = self.driver.word(vector), self._others()
        for i, mask in enumerate(self.driver.masks):
            gone = mask & ~self.driver.fixed if taken >> i & 1 else 0
            word = word & ~gone | others & gone
        return word

    @property
    def _room(self) -> bool:
        """Whether the port map allows one more operation in flight."""
        latency = self.ports.latency
        some = self.flying if latency is None else [o for o in self.begun[len(self.begun) - latency :] if o]
        return len(some) < self.ports.limit

    def _note(self, begun: _Operation | None, outputs: Mapping[str, int], ready: bool) -> None:
        """What is due in the cycle that was just run. begun: the operation that is taken in it; ready: whether a result
        is."""
        if self.ports.latency is not None:
            self.begun.append(begun)
            number = len(self.begun) - 1 - self.ports.latency
            self.recording.due[-1] = self._due(self.begun[number] if number >= 0 else None)
            return
        self.flying += [begun] if begun else []
        shown = self._shown(outputs) if outputs["out_valid"] else None
        self.recording.due[-1] = replace(self._due(shown), tag=bool(outputs["out_valid"]))
        if shown is not None and ready:
            self.flying.remove(shown)

    def _shown(self, outputs: Mapping[str, int]) -> _Operation | None:
        """The operation whose result there is: that with its tag, or the first one."""
        some = [o for o in self.flying if not self.ports.tag or o.tag == outputs["tag_out"]]
        return some[0] if some else None

    def _due(self, operation: _Operation | None) -> Due:
        if operation is None:
            return Due()
        care = self.driver.bound.parts[operation.vector.part].care[0]
        return Due(care, operation.vector, operation.number == 1, paused=self.paused >= operation.cycle)
