"""A second opinion on a netlist: the terms that are proved, beside simulations of the sources.

A proof is about the circuit as Yosys and this package read it. A simulator reads the same sources by itself: where it
shows another result for an operation, the two texts differ (macros), or the language does (a sensitivity list, a
variable that is read before it is written), or one of the readers is wrong. Nothing is proved then.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.drive import CycleRecording, Driver, Due
from softfloat_ref.proof.prove import Proof
from softfloat_ref.proof.question import Question, input_names
from softfloat_ref.proof.rtl import TOP, bound, top_text
from softfloat_ref.proof.stimuli import Vector, directed, literals, vectors
from softfloat_ref.proof.unroll import ANY, CHANGING, POWER_UP, RESET
from softfloat_ref.rtl.bench_runs import ToolError
from softfloat_ref.rtl.bundle import ones
from softfloat_ref.rtl.cycles import SIMULATORS, CycleBench, cycle_bench, short_simulator
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.vhdl_units import PLUSARG, TRACE
from softfloat_ref.symbolic.terms import evaluator, variable_widths

MACROS: Final = ("SYNTHESIS", "YOSYS")  # defined for the netlist, not for a simulation
GHDL: Final = "ghdl"
DRIVE_S: Final = 0.3  # for the netlist's side of the operations
_RUNS: Final[Mapping[str, Sequence[Sequence[str]]]] = {  # the arguments of each run of a simulator
    "icarus": ((),),
    "verilator": tuple((f"+verilator+seed+{seed}", "+verilator+rand+reset+2") for seed in (1, 2)),
}


@dataclass(frozen=True)
class SimulatedDifference:
    """An output of a cycle in which a simulation is not the netlist.

    netlist, simulated: its bits that matter, in binary, with x and z where the simulator has them, others as dots;
    inputs: the lanes of the operation; cycle: from the reset on. agreeing: other simulators, which agree with the
    netlist; macros: with which the simulation does; ports: the inputs of a VHDL entity, in binary, whose source is not
    the netlist that GHDL makes of it.
    """

    simulator: str
    output: str
    cycle: int
    netlist: str
    simulated: str
    inputs: Mapping[str, int] = field(default_factory=dict)
    agreeing: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    ports: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SecondOpinion:
    """What simulations of the sources say of a netlist. simulators: those that looked, with their versions; absent:
    those that did not, and why. operations: simulated; directed: those of them that a solver chose."""

    simulators: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    operations: int = 0
    directed: int = 0
    seconds: float = 0.0
    difference: SimulatedDifference | None = None


class _Check(NamedTuple):
    """Bits of an output, as ones, that a cycle must show, and their values."""

    cycle: int
    output: str
    bits: int
    value: int


class Cosimulation:
    """A question's circuit as it was read, and benches of its sources; a context, in which these exist.

    names: of the simulators; those that cannot be had or do not take the sources are left out, with the reason.
    """

    def __init__(self, question: Question, sources: Sources, names: Sequence[str] = SIMULATORS) -> None:
        self.question, self.sources, self.names, self.driver = question, sources, names, Driver(question)
        self.benches: dict[str, CycleBench] = {}
        self.opinion = SecondOpinion()
        self._stack = ExitStack()
        self._proved: dict[int, tuple[Callable[[Mapping[str, int]], list[int]], dict[str, int]]] = {}

    def __enter__(self) -> Cosimulation:
        begin, absent = time.monotonic(), {}
        for name in self.names:
            try:
                self.benches[name] = self._bench(name, self.sources.defines)
            except Error as e:
                absent[name] = e.reason if isinstance(e, ToolError) else str(e)  # the log is deleted
        versions = {name: short_simulator(name).version for name in self.benches}
        if (vhdl := self.sources.vhdl) is not None:
            if not self.benches:
                self._stack.close()
                raise Error(f"the netlist of {vhdl.name} cannot be compared with GHDL: {'; '.join(absent.values())}")
            versions["ghdl"] = vhdl.version
        self.opinion = SecondOpinion(versions, absent, seconds=time.monotonic() - begin)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def look(self) -> SecondOpinion:
        """Compare directed and random operations, then those that a solver finds for conditions which none of these
        met."""
        begin = time.monotonic()
        recording = self.driver.record(vectors(self.question, literals(self.sources.files)), DRIVE_S)
        self.look_at(recording)
        if self.opinion.difference is None and self.benches:
            rare = list(directed(self.question, recording.vectors))
            self.opinion = replace(self.opinion, directed=len(rare))
            self.look_at(self.driver.record([*rare, *rare], DRIVE_S))
        self.opinion = replace(self.opinion, seconds=self.opinion.seconds + time.monotonic() - begin)
        return self.opinion

    def look_at(self, recording: CycleRecording) -> SecondOpinion:
        """Compare some operations."""
        if self.benches and recording.inputs:
            difference = self._difference(recording)
            self.opinion = replace(
                self.opinion, operations=self.opinion.operations + recording.operations, difference=difference
            )
        return self.opinion

    def look_at_counterexample(self, proof: Proof) -> SecondOpinion:
        """Compare the operations of a proof's counterexample, if it has one that can be driven."""
        counterexample, later = proof.counterexample, proof.later
        if counterexample is None or self.question.source is not None:
            return self.opinion
        case = next((d.case for d in proof.cases if d.counterexample is counterexample), None)
        part = 0 if case is None else self.question.case(case).part or 0
        observed, lanes = self.question.design(part).observed, input_names(self.question.unit)
        steps = later.steps if case is None and later is not None else observed.steps
        if case is None or observed.start in (RESET, POWER_UP):
            values = {**counterexample.others, **dict(zip(lanes, counterexample.inputs, strict=True))}
            return self.look_at(self.driver.replayed(steps, values))
        vector = Vector(part, dict(zip(lanes, counterexample.inputs, strict=True)))
        return self.look_at(self.driver.record([vector] * 3, DRIVE_S))

    # -- the sources' side ---------------------------------------------------------------------------------------------

    def _bench(self, name: str, defines: Mapping[str, str]) -> CycleBench:
        """A bench of the sources with these macros. Raises Error."""
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        ports, outputs = self.driver.ports, self.driver.machine.outputs
        inputs = {"in_valid": ports.handshake.channels, "tag_in": ports.tag.width if ports.tag else 1}
        inputs |= {"reset": 1, "out_ready": 1, "clear": 1, "stimulus": self.driver.width}
        inputs |= {"enable": 1} if ports.enable else {}
        return cycle_bench(
            short_simulator(name),
            TOP,
            top_text(bound(self.question.unit, ports), ports),
            inputs,
            {n: outputs[n].width for n in ("in_ready", "out_valid", "tag_out", "got")},
            self.sources,
            {**defines, **({} if self.sources.vhdl is None else {TRACE: "1"})},
            folder,
            Path.cwd(),
        )

    def _difference(self, recording: CycleRecording) -> SimulatedDifference | None:
        """The first difference in some cycles, with the macros without which it is not there."""
        checks = list(self._checks(recording))
        by_simulator = {name: self._first(name, bench, recording, checks) for name, bench in self.benches.items()}
        first = next((difference for difference in by_simulator.values() if difference is not None), None)
        if first is None:
            return self._vhdl_difference(recording)
        agreeing = tuple(name for name, difference in by_simulator.items() if difference is None)
        return replace(first, agreeing=agreeing, macros=self._macros(first.simulator, recording, checks))

    def _vhdl_difference(self, recording: CycleRecording) -> SimulatedDifference | None:
        """The first state in which GHDL's simulation of VHDL is not its netlist, as a simulator has it."""
        if self.sources.vhdl is None:
            return None
        bench = self.benches[min(self.benches)]  # of Icarus, if it is there, which has x
        trace = bench.build.folder / "trace.txt"
        bench.run([[inputs[n] for n in bench.inputs] for inputs in recording.inputs], [f"+{PLUSARG}={trace}"])
        different, _ = self.sources.vhdl.with_ports(self.driver.ports).compare(trace)
        if different is None:
            return None
        return SimulatedDifference(GHDL, different.output, 0, different.netlist, different.ghdl, ports=different.inputs)

    def _first(
        self, name: str, bench: CycleBench, recording: CycleRecording, checks: Sequence[_Check]
    ) -> SimulatedDifference | None:
        cycles = [[inputs[n] for n in bench.inputs] for inputs in recording.inputs]
        place = {output: i for i, output in enumerate(bench.outputs)}
        definite = self.driver.definite(recording)
        for plusargs in _RUNS[name]:
            rows = bench.run(cycles, plusargs)
            for check in checks:
                text = rows[check.cycle][place[check.output]]
                wrong = _unlike(text, check.value) & check.bits
                if wrong and wrong & definite(check.cycle, check.output):
                    due = recording.due[check.cycle]
                    lanes = due.vector.lanes if due and due.vector else {}
                    shown = _shown(f"{check.value:0{len(text)}b}", check.bits), _shown(text, check.bits)
                    return SimulatedDifference(name, check.output, check.cycle, *shown, lanes)
        return None

    def _macros(self, name: str, recording: CycleRecording, checks: Sequence[_Check]) -> tuple[str, ...]:
        """The macros of the netlist with which the simulation agrees with it; none if it does not, or they are the
        user's."""
        own = [macro for macro in MACROS if macro not in self.sources.defines]
        for some in (*((macro,) for macro in own), tuple(own)):
            try:
                bench = self._bench(name, {**self.sources.defines, **dict.fromkeys(some, "1")})
                if some and self._first(name, bench, recording, checks) is None:
                    return some
            except Error:
                continue
        return ()

    # -- the netlist's side --------------------------------------------------------------------------------------------

    def _checks(self, recording: CycleRecording) -> Iterator[_Check]:
        """What simulations must show: what the netlist's registers and outputs give, cycle by cycle, and what the proof
        says of the operation's inputs."""
        shake = self.driver.ports.handshake
        for cycle, (outputs, due) in enumerate(zip(recording.outputs, recording.due, strict=True)):
            if due is None:
                continue
            for name in ("in_ready", "out_valid"):
                if name in shake:
                    yield _Check(cycle, name, ones(shake.channels), outputs[name])
            if due.tag and self.driver.ports.tag:
                yield _Check(cycle, "tag_out", ones(self.driver.ports.tag.width), outputs["tag_out"])
            if due.got:
                yield _Check(cycle, "got", due.got, outputs["got"])
                if (code := self._proved_code(due)) is not None:
                    yield _Check(cycle, "got", due.got, code)

    def _proved_code(self, due: Due) -> int | None:
        """The outputs, by the terms of the operation's inputs of which the proof is; None where they say nothing."""
        vector = due.vector
        if vector is None or self.question.registers or due.paused:
            return None
        observed = self.question.design(vector.part).observed
        if not due.first and observed.start not in ("", ANY, CHANGING):
            return None
        if vector.part not in self._proved:
            self._proved[vector.part] = evaluator([observed.got]), variable_widths([observed.got])
        run, widths = self._proved[vector.part]
        lanes = {n: code for n, code in vector.lanes.items() if n in widths}
        rest = {n: width for n, width in widths.items() if n not in lanes}
        ways = [{n: Random(f"{n} {way}").getrandbits(w) for n, w in rest.items()} for way in range(3 if rest else 1)]
        codes = {run({**lanes, **way})[0] for way in ways}
        return codes.pop() if len(codes) == 1 else None


def _unlike(text: str, value: int) -> int:
    """The bits of a simulator's text that are not those of a value, as ones; x and z are none."""
    defined = text.translate({ord(c): "0" for c in "xXzZ"})
    undefined = text.translate({ord("1"): "0", **{ord(c): "1" for c in "xXzZ"}})
    return int(defined, 2) ^ value | int(undefined, 2)


def _shown(text: str, bits: int) -> str:
    """The bits that matter, others as dots."""
    return "".join(c if bits >> i & 1 else "." for i, c in zip(range(len(text) - 1, -1, -1), text, strict=True))
