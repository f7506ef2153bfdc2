"""Operations that a circuit's machine and a simulation of its sources are both given, cycle by cycle."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.proof.design import Driven
from softfloat_ref.proof.question import Question, input_names
from softfloat_ref.proof.solver import Wishes, solve
from softfloat_ref.proof.unroll import Contents
from softfloat_ref.rtl.bundle import ones
from softfloat_ref.symbolic.terms import evaluator, in_order, not_, variables
from softfloat_ref.units.unit import lanes_of

EXHAUSTIVE_BITS: Final = 12  # inputs of no more bits are all tried
_LITERAL: Final = re.compile(r"(?:\d+\s*)?'[sS]?([hHdDoObB])\s*([0-9a-fA-F_]+)|\b(\d+)\b")
_BASES: Final = {"h": 16, "d": 10, "o": 8, "b": 2}
_MAX_LITERALS: Final = 200
MIN_OPERATIONS: Final = 250
MAX_OPERATIONS: Final = 3000  # where not all inputs are tried
_GOLDEN: Final = 1500  # lanes of vectors of the unit, with its special and rounding cases,
_LEAST: Final = 30  # and vectors at least
_RATES: Final = ((1.0, 1.0), (0.5, 0.6), (0.9, 0.3), (0.3, 1.0))  # of operands offered, and of results taken,
_PHASE: Final = 48  # for that many cycles
_SOLVE_S: Final = 5.0
_DIRECTED_S: Final = 0.5  # for a solver, in all,
_ASK_S: Final = 0.1  # and for a question
_LOOKED_AT: Final = 300  # operations, for the conditions that they meet
_CONDITIONS: Final = ("eq", "ult", "slt", "and", "or", "xor", "not")
_DRAIN: Final = 64  # cycles without anything happening, after which no result is waited for

_UNUSED: Final = {"reset": 0, "in_valid": 0, "out_ready": 0, "clear": 0, "tag_in": 0, "stimulus": 0}  # by the circuit

Lanes = Mapping[str, int]  # the codes of an operation's inputs, by lane


class Vector(NamedTuple):
    """An operation: the number of the unit's part, and its inputs."""

    part: int
    lanes: Lanes


def literals(files: Iterable[Path]) -> list[int]:
    """The numbers that sources name, each once, in order, up to some."""
    found: dict[int, None] = {}
    for file in files:
        for base, digits, plain in _LITERAL.findall(file.read_text(encoding="utf-8", errors="replace")):
            try:
                found[int(digits.replace("_", ""), _BASES[base.lower()]) if base else int(plain)] = None
            except ValueError:
                continue  # digits of another base
    return list(found)[:_MAX_LITERALS]


def vectors(question: Question, numbers: Sequence[int]) -> Iterator[Vector]:
    """Operations for which a proof is asked: all if they are few; else without end the unit's own directed and random
    vectors, each with another that differs from it in one lane: a code, one bit, or a number that the sources name."""
    unit, words = question.unit, Random(0)
    names = input_names(unit)
    widths = dict(zip(names, (f.width for f in unit.inputs for _ in range(f.lanes)), strict=True))
    chosen = evaluator([question.domain])
    base = _base(question, widths)
    if base is None:
        return

    def assumed(lanes: Lanes) -> bool:
        return bool(chosen(lanes)[0])

    def part(lanes: Lanes) -> int | None:
        try:
            return unit.parts.index(unit.selected([lanes[n] for n in names])[0]) if len(unit.parts) > 1 else 0
        except Undefined:
            return None

    if sum(widths.values()) <= EXHAUSTIVE_BITS:
        everything = list(range(1 << sum(widths.values())))
        order = words.sample(everything, len(everything))
        drawn: Iterator[Lanes] = (_split(code, widths) for code in chain(order, everything))
    else:
        drawn = islice(_drawn(question, widths, numbers, base, words), MAX_OPERATIONS)
    known = ((part(lanes), lanes) for lanes in drawn if assumed(lanes))
    yield from (Vector(number, lanes) for number, lanes in known if number is not None)


def _base(question: Question, widths: Mapping[str, int]) -> Lanes | None:
    """An operation that is assumed; None if none is found."""
    found = solve([question.domain], _SOLVE_S)
    return {n: found.model.get(n, 0) for n in widths} if found.result == "sat" else None


def _split(code: int, widths: Mapping[str, int]) -> dict[str, int]:
    found, low = {}, 0
    for name, width in widths.items():
        found[name] = code >> low & ones(width)
        low += width
    return found


def _drawn(
    question: Question, widths: Mapping[str, int], numbers: Sequence[int], base: Lanes, words: Random
) -> Iterator[Lanes]:
    names = list(widths)
    before: Lanes = base
    for codes in chain(_golden(question), _random(widths, words)):
        lanes = dict(zip(names, codes, strict=True))
        yield lanes
        name = words.choice(names)
        kind, width = words.randrange(4), widths[name]
        if kind == 0 and numbers:
            number = words.choice(numbers)
            other = number << max(width - number.bit_length(), 0) if words.random() < 0.3 else number
        elif kind == 1:
            other = lanes[name] ^ 1 << words.randrange(width)
        else:
            other = before[name] if kind == 2 else words.getrandbits(width)
        yield {**lanes, name: other & ones(width)}
        yield {**base, name: lanes[name]}  # where little is assumed, most of the others are not
        before = lanes


def _golden(question: Question) -> Iterator[Sequence[int]]:
    try:
        count = max(_GOLDEN // question.unit.input_width, _LEAST)
        mixed = list(islice(VectorSet(question.unit, count).inputs(), count))
    except Error:  # a unit of which there are no vectors
        return
    Random(0).shuffle(mixed)
    yield from mixed


def _random(widths: Mapping[str, int], words: Random) -> Iterator[Sequence[int]]:
    while True:
        yield [words.getrandbits(width) for width in widths.values()]


def directed(question: Question, recording: Recording) -> Iterator[Vector]:
    """Operations for which a condition of the circuit is what it is for none of the recorded ones, as a solver finds
    them, in limited time: comparisons, choices, divisors that are zero."""
    end = time.monotonic() + _DIRECTED_S
    for part in range(len(question.unit.parts)):
        plan = question.design(part)
        roots = [t for t in in_order([plan.observed.got]) if t.width == 1 and t.op in _CONDITIONS]
        lanes = [due.vector.lanes for due in recording.due if due and due.vector and due.vector.part == part]
        names = {str(v.value): v.width for v in variables([*roots, question.domain])}
        run, seen = evaluator(roots), [0] * len(roots)  # 1: was 0; 2: was 1
        for some in lanes[:_LOOKED_AT]:
            for i, bit in enumerate(run({n: some.get(n, 0) for n in names})):
                seen[i] |= 1 << bit
        asked = Wishes([question.domain, plan.observed.assumed])
        for t, met in zip(roots, seen, strict=True):
            for missing in (t,) if met == 1 else (not_(t),) if met == 2 else (t, not_(t)) if not met else ():
                if time.monotonic() > end:
                    return
                if (model := asked.model(missing, _ASK_S)) is not None:
                    yield Vector(part, {n: model.get(n, 0) for n in input_names(question.unit)})


class Fill(Random):
    """What the source leaves open, at random, or all zeros or ones."""

    @staticmethod
    def zeros() -> Fill:
        return _Same(0)

    @staticmethod
    def ones() -> Fill:
        return _Same(-1)


class _Same(Fill):
    """The same bit everywhere."""

    def __init__(self, bits: int) -> None:
        super().__init__(0)
        self.bits = bits

    def getrandbits(self, k: int, /) -> int:
        return self.bits & ones(k)


@dataclass(frozen=True)
class Due:
    """What a cycle must show. got: the bits of the outputs that matter, as ones; vector: of the operation, if it is
    known; first: whether that is the first one after the reset."""

    got: int = 0
    vector: Vector | None = None
    first: bool = False
    tag: bool = False


@dataclass
class Recording:
    """Cycles: the inputs by name, the machine's outputs, and what is due; of a reset, None."""

    inputs: list[dict[str, int]] = field(default_factory=list)
    outputs: list[dict[str, int]] = field(default_factory=list)
    due: list[Due | None] = field(default_factory=list)
    operations: int = 0


class Driver:
    """Drives a question's machine as its port map says. free: the random numbers of what the source leaves open."""

    def __init__(self, question: Question) -> None:
        plan = question.design()
        self.question, self.ports, self.machine = question, plan.ports, plan.machine
        self.bound, self.values = plan.driven.bound, plan.driven.values
        self.fixed, self.masks, self.width = plan.driven.fixed, plan.driven.masks, plan.driven.width
        parts = range(len(question.unit.parts))
        self.words = [
            evaluator([Driven(question.unit, self.bound, self.ports, part).operands]) for part in parts
        ]
        self.names = [
            {n for f in question.unit.inputs if f.name in question.unit.used(part) for n in lanes_of(f)}
            for part in question.unit.parts
        ]
        machine = self.machine
        self.nets = evaluator([*machine.outputs.values(), *machine.nexts.values()])

    def word(self, vector: Vector) -> int:
        """The inputs side by side of an operation."""
        used = self.names[vector.part]
        return self.words[vector.part](
            {**{n: c for n, c in vector.lanes.items() if n in used}, **{f"unused {n}": c for n, c in vector.lanes.items()}}
        )[0]

    def start(self, free: Fill) -> dict[str, int]:
        """The contents of registers at power-up."""
        starts = {n: int(t.value) for n, t in self.machine.starts.items() if t.is_const}
        return {n: starts.get(n, free.getrandbits(t.width)) for n, t in self.machine.registers.items()}

    def step(self, held: dict[str, int], inputs: Mapping[str, int], free: Fill) -> dict[str, int]:
        """The outputs of a cycle; `held` then has the next contents."""
        machine = self.machine
        values = {str(machine.registers[n].value): code for n, code in held.items()}
        for name, v in machine.inputs.items():
            values[str(v.value)] = inputs[name] if name in inputs else free.getrandbits(v.width)
        found = self.nets(values)
        held.update(zip(machine.nexts, found[len(machine.outputs) :], strict=True))
        return dict(zip(machine.outputs, found, strict=False))

    def outputs(self, cycles: Sequence[Mapping[str, int]], free: Fill) -> list[dict[str, int]]:
        """The machine's outputs in cycles with these inputs."""
        held = self.start(free)
        return [self.step(held, inputs, free) for inputs in cycles]

    def replayed(self, steps: Sequence[Contents], values: Mapping[str, int]) -> Recording:
        """Cycles from the reset on, as terms: what inputs and registers hold; with these values of variables."""
        inputs = []
        for step in steps:
            terms = [step[v] for v in self.machine.inputs.values()]
            known = {str(v.value): values.get(str(v.value), 0) for v in variables(terms)}
            inputs.append(dict(zip(self.machine.inputs, evaluator(terms)(known), strict=True)))
        inputs = [{**_UNUSED, **cycle} for cycle in inputs]
        outputs, reset = self.outputs(inputs, Fill(2)), self.ports.reset.cycles if self.ports.reset else 0
        care = self.bound.parts[0].care[0] if len(self.bound.parts) == 1 else 0
        shown = [Due(care if found["out_valid"] else 0, tag=bool(found["out_valid"])) for found in outputs[reset:]]
        return Recording(inputs, outputs, [*[None] * reset, *shown], 1)

    def record(self, given: Iterable[Vector], limit_s: float) -> Recording:
        """Some operations one after the other, until there are no more or the time is over, and their results."""
        run = _Run(self, Fill(1))
        end = time.process_time() + limit_s
        for count, vector in enumerate(given, 1):
            run.operate(vector)
            if count >= MIN_OPERATIONS and time.process_time() > end:
                break
        run.finish()
        return run.recording


class _Run:
    """A machine from its reset on. flying: the operations taken whose results have not come, with their tags."""

    def __init__(self, driver: Driver, words: Fill) -> None:
        self.driver, self.ports, self.rng = driver, driver.ports, words
        self.held, self.free = driver.start(words), Fill(2)
        self.recording = Recording()
        self.flying: list[tuple[int, Vector, int]] = []
        self.begun: list[Vector | None] = []  # of each cycle after the reset, for a fixed latency
        self.tags = 0
        reset = self.ports.reset
        for _ in range(reset.cycles if reset else 0):
            self._cycle({**self._idle(), "reset": int(reset is not None and reset.active == "high")}, None)

    def _idle(self) -> dict[str, int]:
        quiet = int(self.ports.reset is not None and self.ports.reset.active == "low")
        return {"clk": 0, "reset": quiet, "in_valid": 0, "out_ready": 1, "clear": 0, "tag_in": 0, "stimulus": self._junk()}

    def _junk(self) -> int:
        """Any inputs, with the controls of any operation."""
        driver = self.driver
        return self.rng.getrandbits(driver.width) & ~driver.fixed | self.rng.choice(driver.values) & driver.fixed

    def _cycle(self, inputs: dict[str, int], due: Due | None) -> dict[str, int]:
        outputs = self.driver.step(self.held, inputs, self.free)
        self.recording.inputs.append(inputs)
        self.recording.outputs.append(outputs)
        self.recording.due.append(due)
        return outputs

    def operate(self, vector: Vector) -> None:
        """Give one operation, with pauses, as soon as the port map allows it."""
        ports, shake = self.ports, self.ports.handshake
        self.recording.operations += 1
        if ports.clock is None:
            word = self.driver.word(vector)
            self._cycle({**self._idle(), "stimulus": word}, Due(self._care(vector), vector, first=True))
            return
        every = ones(shake.channels)
        taken, offered, quiet = 0, 0, 0
        tag, self.tags = self.tags, (self.tags + 1) % (1 << ports.tag.width if ports.tag else 1)
        while taken != every and quiet <= ports.drain_timeout:
            often, results = _RATES[len(self.recording.inputs) // _PHASE % len(_RATES)]
            room = len(self._in_flight()) < ports.limit
            if room or taken or offered:
                if ports.latency is not None:
                    offered = every if offered or self.rng.random() < often or "in_valid" not in shake else 0
                else:
                    more = sum(1 << i for i in range(shake.channels) if self.rng.random() < often)
                    offered = (offered | more) & ~taken
            inputs = {**self._idle(), "in_valid": offered, "out_ready": self._takes(results), "tag_in": tag}
            if offered or taken or "in_valid" not in shake:
                inputs["stimulus"] = self._stimulus(vector, taken)
            ready = self._shown(inputs, vector if offered == every else None)
            fired = ready & offered
            fired = 0 if shake.joint and fired != every else fired
            taken, offered = taken | fired, offered & ~fired
            if taken == every:
                self.flying.append((self.recording.operations, vector, tag))
            quiet = 0 if fired else quiet + 1

    def finish(self) -> None:
        """Take the results that are left."""
        quiet = 0
        for _ in range(min((self.ports.latency or 0) + 1, 1 << 12) if self.ports.latency is not None else 0):
            self._shown(self._idle(), None)
        while self.flying and self.ports.latency is None and quiet < min(self.ports.drain_timeout, _DRAIN):
            before = len(self.flying)
            self._shown(self._idle(), None)
            quiet = 0 if len(self.flying) < before else quiet + 1

    def _takes(self, results: float) -> int:
        return int("out_ready" not in self.ports.handshake or self.rng.random() < results)

    def _stimulus(self, vector: Vector, taken: int) -> int:
        word, other = self.driver.word(vector), self._junk()
        for i, mask in enumerate(self.driver.masks):
            if taken >> i & 1:
                word = word & ~mask | other & mask & ~self.driver.fixed | word & mask & self.driver.fixed
        return word

    def _in_flight(self) -> Sequence[object]:
        latency = self.ports.latency
        if latency is None:
            return self.flying
        return [v for v in self.begun[len(self.begun) - latency :] if v] if latency else []

    def _shown(self, inputs: dict[str, int], offered: Vector | None) -> int:
        """A cycle, with what is due in it; the channels that the circuit is ready to take. offered: what begins if it
        is."""
        ports, at = self.ports, len(self.recording.inputs)
        outputs = self._cycle(inputs, None)
        ready, shake = outputs["in_ready"], ports.handshake
        if ports.latency is not None:
            self.begun.append(offered if ready == ones(shake.channels) else None)
            number = len(self.begun) - 1 - ports.latency
            vector = self.begun[number] if number >= 0 else None
            self.recording.due[at] = Due(self._care(vector) if vector else 0, vector)
        elif outputs["out_valid"]:
            number, vector, _ = self._answered(outputs, offered)
            self.recording.due[at] = Due(self._care(vector) if vector else 0, vector, number == 1, tag=True)
            if inputs["out_ready"] and self.flying and self.flying[0][0] <= number:
                self.flying = [op for op in self.flying if op[0] != number]
        else:
            self.recording.due[at] = Due()
        return ready

    def _answered(self, outputs: Mapping[str, int], offered: Vector | None) -> tuple[int, Vector | None, int]:
        """The operation whose result there is: by its tag, the first one, or one that is answered as it is taken."""
        tagged = [op for op in self.flying if op[2] == outputs["tag_out"]] if self.ports.tag else self.flying
        return (tagged or self.flying or [(self.recording.operations, offered, 0)])[0]

    def _care(self, vector: Vector) -> int:
        return self.driver.bound.parts[vector.part].care[0]
