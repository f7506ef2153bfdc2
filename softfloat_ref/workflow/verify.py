"""`verify`: from the sources of a module to a verdict: its port map, vectors, a simulation, a diagnosis, a proof."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.files import make_folder, read_text, write_data
from softfloat_ref.base.search import find_first
from softfloat_ref.diagnosis.parts import ReportDiagnosis, explanation
from softfloat_ref.diagnosis.suspicion import unknown_answers
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.proof.certify import certificate
from softfloat_ref.proof.cosimulation import Cosimulation
from softfloat_ref.proof.engine import Decided, Tactics
from softfloat_ref.proof.outcome import ProofOutcome, decide_circuit
from softfloat_ref.proof.prove import prove
from softfloat_ref.proof.words import outcome_lines, simulated_lines
from softfloat_ref.rtl.assumptions import guessed_lines
from softfloat_ref.rtl.bench_runs import EndedError, ToolError
from softfloat_ref.rtl.bench_simulation import BenchSimulation, VectorBench
from softfloat_ref.rtl.draft import DraftedPortMap, draft
from softfloat_ref.rtl.draft.design import SourceModule, WrapperError, read_design
from softfloat_ref.rtl.draft.vhdl import with_vhdl_codes
from softfloat_ref.rtl.draft.wrapper import wrapper_module, wrapper_text
from softfloat_ref.rtl.fit import Misfit
from softfloat_ref.rtl.latency import MOST, find_latency, trial
from softfloat_ref.rtl.module_ports import elaborate
from softfloat_ref.rtl.port_map import PortMap, read_ports
from softfloat_ref.rtl.quick_verilator import SHORT_RUN, for_short_runs
from softfloat_ref.rtl.reading import DesignReading
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.units import Unit
from softfloat_ref.workflow.operand_places import (
    OTHER_PLACES,
    are_clearly_better,
    are_mostly_wrong,
    input_settings,
    movable_sums,
    with_sums,
)
from softfloat_ref.workflow.prove import question_of
from softfloat_ref.workflow.unit_simulation import (
    UnitSimulation,
    ended_input,
    error_words,
    explaining_unit,
    failure_lines,
    first_shown,
    mismatches_words,
    of_other_unit,
    results_of,
    simplest_lines,
    smallest_input,
)
from softfloat_ref.workflow.units import circuit_unit
from softfloat_ref.workflow.verification import (
    PORTS,
    Stage,
    StageVerdict,
    Verification,
    VerifyRequest,
    note_file,
)

WRAPPER: Final = "wrapper.sv"
CERTIFICATE: Final = "certificate.json"
WAVE: Final = "failure.vcd"
_MOST_UNITS: Final = 3  # that are simulated: the one that was asked for, and those that explain the module
_IN_LABELS: Final = re.compile("^(rounding = |rule )")  # changes of a unit that its label has
_GUESSED_LATENCY: Final = re.compile(r"^latency = \d+  # guess: .*$", re.MULTILINE)


@dataclass
class Verifier:
    """A verification, stage by stage. note: called with each stage as it ends; begin: with what begins, in words;
    ended: how a simulation ended that a proof asks for."""

    request: VerifyRequest
    note: Callable[[Stage], None]
    begin: Callable[[str], None]
    stages: list[Stage] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    guesses: list[str] = field(default_factory=list)
    not_compared: str = ""
    differences: list[str] = field(default_factory=list)
    diagnoses: list[ReportDiagnosis] = field(default_factory=list)
    reading: DesignReading | None = None
    ports: PortMap | None = None
    ports_file: str = ""
    ended: str = ""
    draft_text: str = ""
    design: SourceModule | None = None
    guesses_sums: bool = False
    found: list[str] = field(default_factory=list)
    learned: str = ""
    names: dict[Unit, str] = field(default_factory=dict)
    sources: Sources = field(init=False)

    def __post_init__(self) -> None:
        self.sources = self.request.sources

    def verify(self) -> Verification:
        """All stages, and the verdict. Raises Error for sources and options that cannot be used."""
        asked = self.request.vectors
        folder = self._vectors(asked, "vectors")
        self._port_map(folder)
        look = first = self._simulate(folder, "simulation")
        if not look.passed and (moved := self._other_sums(folder, look)) is not None:
            look = first = moved
            asked = self.request.vectors
        units = [asked.unit]
        cause = why = None if look.passed else self._diagnose(look)
        while not look.passed and len(units) < _MOST_UNITS:
            named = None if cause is None else explaining_unit(cause)
            if named is None or named[0] in units:
                break
            other, name = named
            self.names[other] = name
            units.append(other)
            number = len(units)
            folder = self._vectors(of_other_unit(asked, other), f"vectors_{number}")
            look = self._simulate(folder, f"simulation of {self._name(other)}")
            cause = None if look.passed else self._diagnose(look)
        outcome = self._prove(look) if look.passed else None
        if not look.passed and not look.run.ended:
            self._wave(look)
            self._compare_netlist(look)
        return self._verdict(first, why, look, cause, outcome)

    # -- vectors and port map ------------------------------------------------------------------------------------------

    def _vectors(self, vectors: VectorSet, name: str) -> Path:
        """The vectors in a folder of this name."""
        folder = self.request.folder / name
        with self._stage("vectors", f"{counted(vectors.count, 'vector')} of {vectors.unit.label}") as stage:
            typed = ("softfloat-ref", "verify", *self.request.words, *self._range)
            manifest = generate(vectors, folder, typed, resume=True)
            stage.end("done", [f"{manifest['count']} {vectors.cases.noun} of {vectors.name}"])
            stage.command = self._vectors_command(vectors, name)
        return folder

    def _vectors_command(self, vectors: VectorSet, name: str) -> str:
        """The command that makes vectors; '' if options cannot say it."""
        if (words := self._words(vectors.unit)) is None:
            return ""
        size = ("-n", str(vectors.count)) if not vectors.level else ("--level", vectors.level)
        return self._command("vectors generate", *words, *size, "-o", self._path(name))

    def _port_map(self, vectors: Path) -> None:
        request = self.request
        with self._stage("port map", f"the ports of {request.module}") as stage:
            if request.ports_file is not None:
                self.ports_file, self.ports = request.ports_file, read_ports(request.ports_file)
                stage.end("done", [f"{request.ports_file}: as it was given"])
                return
            design = self._design()
            needs_wrapper, self.design = False, design
            try:
                drafted = self._drafted(vectors)
            except WrapperError:
                needs_wrapper, self.design = True, wrapper_module(design)
                drafted = self._drafted(vectors)
            self.guesses_sums = drafted.guesses_sums
            if needs_wrapper:
                self._write(WRAPPER, wrapper_text(design))
                wrapper = Path(os.path.abspath(request.folder / WRAPPER))
                self.sources = dataclasses.replace(self.sources, files=(*self.sources.files, wrapper))
            self.draft_text, self.ports = drafted.text, drafted.ports
            self._write(PORTS, self.draft_text)
            self.ports_file = self._path(PORTS)
            self.guesses = [str(guess) for guess in drafted.guesses]
            self.not_compared = ", ".join(drafted.not_compared)
            stage.end("done", [f"{len(drafted.design.signals)} ports", *self._assumed()])
            stage.command = self._ports_command()

    def _ports_command(self, settings: Iterable[str] = ()) -> str:
        """The command that drafts the port map. settings: what simulations found out."""
        request = self.request
        wrapped = ("--wrapper", self._path(WRAPPER)) if self.sources is not request.sources else ()
        found = [word for line in settings for word in ("--set", line)]
        return self._command(
            "vectors ports", "--top", request.module, *request.source_words, "--vectors", self._path("vectors"),
            *request.draft_words, *found, *wrapped, "-o", self.ports_file,
        )  # fmt: skip

    def _settle(self, *settings: str) -> None:
        """Give the command that drafts the port map what a simulation found out."""
        self.found += settings
        self._recommand("port map", self._ports_command(self.found))

    def _recommand(self, name: str, text: str) -> None:
        """Give a stage another command."""
        at = find_first(i for i, stage in enumerate(self.stages) if stage.name == name)
        self.stages[at] = dataclasses.replace(self.stages[at], command=text)

    def _drafted(self, vectors: Path, sums: str = "") -> DraftedPortMap:
        request = self.request
        assert self.design is not None
        return draft(self.design, vectors, settings=request.settings, protocols=request.protocols, sums=sums)

    def _design(self) -> SourceModule:
        request, sources = self.request, self.request.sources
        elaborated = elaborate(
            sources.files,
            request.module,
            request.parameters,
            include_dirs=sources.searched,
            defines=sources.defines,
            libraries=sources.libraries,
        )
        return with_vhdl_codes(read_design(elaborated, request.module, request.parameters), sources)

    # -- simulation ----------------------------------------------------------------------------------------------------

    def _simulate(self, vectors: Path, name: str) -> UnitSimulation:
        """The bench of some vectors, built and run; a latency that is only guessed is looked for first."""
        assert self.ports is not None
        if any(guess.startswith("latency") for guess in self.guesses):
            self._find_latency(vectors)
        with self._stage(name, f"{self.request.simulator.name} simulates {self.ports.module}") as stage:
            look = self._look(vectors, self.ports, "bench")
            count = look.bench.manifest["count"]
            if look.passed:
                stage.end("passed", [f"{count} of {count} vectors agree"])
            else:
                stage.end("failed", list(failure_lines(look)))
            stage.command = self._command(
                "vectors testbench", self._path(vectors.name), "--ports", self.ports_file, "--run", *self._source_words
            )
        return look

    @property
    def _source_words(self) -> tuple[str, ...]:
        wrapped = self.sources is not self.request.sources
        return (*self.request.source_words, *((self._path(WRAPPER),) if wrapped else ()))

    def _look(self, vectors: Path, ports: PortMap, place: str) -> UnitSimulation:
        """Raises Error."""
        request = self.request
        guesses = guessed_lines(read_text(self._ports_path, limits.TOML))
        bench = VectorBench.of(vectors, ports, self.ports_file, guesses)
        timed = not any(guess.removeprefix("a ").startswith("latency") for guess in self.guesses)
        bench = dataclasses.replace(bench, timed=timed)
        work = make_folder(request.folder / place)
        is_short = bench.manifest["count"] <= SHORT_RUN
        simulator = for_short_runs(request.simulator) if is_short else request.simulator
        simulation = BenchSimulation(self.sources, simulator, request.timeout_s)
        build = simulation.build(bench.write(work), bench.top, work)
        log = self._log(vectors)
        try:
            read = simulation.reading(bench, build)
            run = simulation.run(bench, build, log, read)
        except Misfit as e:
            raise Error(f"{self.ports_file}: {e}") from None
        except ToolError as e:
            raise Error(e.reason) from None
        files = [file for file in read.files if file.role != "build"]  # which every run writes anew
        self.reading = dataclasses.replace(read, files=()) if self.reading is None else self.reading
        self.reading = self.reading.adding(files)
        return UnitSimulation(bench, build, run, None if run.ended else results_of(bench.vectors, log))

    def _log(self, vectors: Path) -> Path:
        """The results of some vectors."""
        return self.request.folder / f"{vectors.name}_results.txt"

    def _find_latency(self, vectors: Path) -> None:
        """Find the fixed latency, and write it into the port map."""
        assert self.ports is not None
        with self._stage("latency", "the latency is looked for") as stage:
            latency, look = self._latency(vectors, self.ports)
            if latency is None:
                self.guesses = [x.replace("latency", "a latency", 1) for x in self.guesses]  # is not looked for again
                why = "the simulation ended" if look.run.ended else f"none of 0 to {MOST} fits"
                stage.end("undecided", [f"{why}; latency = {self.ports.latency} is kept"])
                return
            self.ports = dataclasses.replace(self.ports, latency=latency)
            self._write(PORTS, _GUESSED_LATENCY.sub(f"latency = {latency}  # by simulation", self.draft_text))
            self.guesses = [x for x in self.guesses if not x.startswith("latency")]
            self._settle(f"latency={latency}")
            stage.end("done", [f"results come {counted(latency, 'rising edge')} after their operands"])

    def _latency(self, vectors: Path, ports: PortMap) -> tuple[int | None, UnitSimulation]:
        """The latency at which results are right, and the simulation that shows it."""
        look = self._look(vectors, trial(ports), "latency")
        report = look.report or results_of(look.bench.vectors, self._log(vectors))  # as far as it went
        answers = () if report is None else report.first
        width = look.unit.compared().input_width
        latency = find_latency(
            [line[width : width + len(answer.codes)] for line, answer in answers],
            [tuple(answer.codes) for _, answer in answers],
        )
        return latency, look

    # -- which operands are added --------------------------------------------------------------------------------------

    def _other_sums(self, folder: Path, look: UnitSimulation) -> UnitSimulation | None:
        """The simulation of sums of other operands, of a unit of three, where that is clearly what the unit adds."""
        ops = movable_sums(self.request.vectors)
        if not (ops or self.guesses_sums) or not are_mostly_wrong(look.report):
            return None
        with self._stage("operands", "the operands of sums are looked for") as stage:
            tries = map(partial(self._moved, folder), OTHER_PLACES)
            trial_ = next((x for x in tries if are_clearly_better(look.report, x.look.report)), None)
            if trial_ is None:
                stage.end(
                    "undecided", [f"sums of a and b, or of {' or '.join(OTHER_PLACES)}, are wrong; a and b are kept"]
                )
                return None
            self.learned = f"{' and '.join(ops or ('the sum',))} of operands {' and '.join(trial_.place)}"
            stage.end("done", [f"{self.learned}, by simulation"])
        self._take(trial_)
        return self._simulate(trial_.folder, "simulation")

    def _moved(self, folder: Path, place: str) -> SumTrial:
        """The simulation of sums of other operands."""
        assert self.ports is not None
        vectors, ports, drafted = self.request.vectors, self.ports, None
        if movable_sums(vectors):
            vectors = with_sums(vectors, place)
            folder = self.request.folder / f"{folder.name}_{place}"
            generate(vectors, folder, ("softfloat-ref", "verify", *self.request.words, *self._range), resume=True)
        else:
            drafted = self._drafted(folder, place)
            ports = drafted.ports
            latency = None if ports.latency is None else self._latency(folder, ports)[0]
            if latency is not None:
                ports = dataclasses.replace(ports, latency=latency)
        return SumTrial(place, vectors, folder, ports, drafted, self._look(folder, ports, "operands"))

    def _take(self, chosen: SumTrial) -> None:
        """Go on with the operands of a trial."""
        earlier = self.stages[-2]
        earlier = dataclasses.replace(earlier, name="simulation of sums of a and b", verdict="done", command="")
        self.stages[-2] = earlier  # its failure was the draft's, not the module's
        if chosen.drafted is None:
            words = self.request.options_of(chosen.vectors.unit) or self.request.words
            self.request = dataclasses.replace(self.request, vectors=chosen.vectors, words=words)
            self._recommand("vectors", self._vectors_command(chosen.vectors, chosen.folder.name))
            return
        self._settle(*input_settings(self.draft_text, chosen.drafted.text))
        self.draft_text = chosen.drafted.text
        self._write(PORTS, self.draft_text)
        self.ports, self.guesses = chosen.drafted.ports, [str(guess) for guess in chosen.drafted.guesses]

    # -- what a failure means ------------------------------------------------------------------------------------------

    def _diagnose(self, look: UnitSimulation) -> ReportDiagnosis | None:
        if look.report is None or not look.report.mismatched:
            return None
        with self._stage("diagnosis", "the mismatches are explained") as stage:
            cause = explanation(look.report)
            self.diagnoses += [] if cause is None else [cause]
            lines = cause.lines() if cause else [unknown_answers(look.report) or "no diagnosis"]
            stage.end("done", [line.removeprefix("diagnosis: ") for line in lines])
        return cause

    def _wave(self, look: UnitSimulation) -> None:
        """A waveform of the first failure, if it is kept: of another build, which can write one."""
        request = self.request
        if not request.shown or look.bench.ports.is_judged:  # then no cycle is known to be the first
            return
        with self._stage("waveform", "the first failure is simulated again") as stage:
            path = str(request.folder / WAVE)
            simulation = BenchSimulation(self.sources, request.simulator, request.timeout_s, wave=path)
            work = make_folder(request.folder / "wave")
            build = simulation.build(look.bench.write(work), look.bench.top, work)
            try:
                run = simulation.run(look.bench, build, work / "results.txt")
                text = simulation.dump(look.bench, build, run)
            except Error as e:
                stage.end("left out", [str(e)])
                return
            self.files.append(WAVE)
            stage.end("done", [text.replace(path, self._path(WAVE))])

    def _compare_netlist(self, look: UnitSimulation) -> None:
        """Whether a netlist of the sources does what the simulation does; nothing without the extra `prove`."""
        if self.request.limit_s is None:
            return
        with self._stage("netlist", "the netlist is compared with simulations") as stage:
            try:
                question = self._question(look.unit)
                with Cosimulation(question, self.sources) as simulated:
                    opinion = simulated.look()
            except Error as e:
                stage.end("left out", [e.reason if isinstance(e, ToolError) else str(e)])
                return
            if opinion.difference is None:
                stage.end("done", ["as simulated"])
            else:
                lines = list(simulated_lines(question, opinion.difference))
                self.differences += lines
                stage.end("failed", lines)

    # -- proof ---------------------------------------------------------------------------------------------------------

    def _question(self, unit: Unit) -> Any:
        return question_of(circuit_unit(unit), str(self._ports_path), self.sources, self.request.vectors.where)

    def _prove(self, look: UnitSimulation) -> ProofOutcome | None:
        """The proof of a unit with which the simulation agrees; None without one."""
        limit_s = self.request.limit_s
        if limit_s is None:
            return None
        with self._stage("proof", f"{self.request.module} is proved") as stage:
            tactics = Tactics(limit_s)
            try:
                prover = partial(prove, strategy="auto", tactics=tactics, note=self._note_case)
                outcome = decide_circuit(self._question(look.unit), self.sources, prover)
            except EndedError as e:
                self.ended = str(e)
                stage.end("failed", [self.ended])
                return None
            except Error as e:
                stage.end("left out", [str(e)])
                return None
            self._write(CERTIFICATE, json.dumps(certificate(outcome, "auto", tactics, self.request.folder), indent=1))
            verdicts: dict[str, StageVerdict] = {"proved": "passed", "undecided": "undecided"}
            stage.end(verdicts.get(outcome.verdict, "failed"), list(outcome_lines(outcome, self._title(look.unit))))
            if (words := self._words(look.unit)) is not None:
                stage.command = self._command("prove", *words, "--ports", self.ports_file, *self._source_words)
        return outcome

    def _note_case(self, decided: Decided, done: int, of: int) -> None:
        self.begin(f"{done} of {counted(of, 'case')} decided; the last, {decided.case}: {decided.verdict}")

    # -- the verdict ---------------------------------------------------------------------------------------------------

    def _verdict(
        self,
        first: UnitSimulation,
        why: ReportDiagnosis | None,
        look: UnitSimulation,
        cause: ReportDiagnosis | None,
        outcome: ProofOutcome | None,
    ) -> Verification:
        """first, why: what was asked for, and its diagnosis; look, cause: the unit that was simulated last."""
        asked, module = first.unit, self.request.module
        is_proved = outcome is not None and outcome.verdict == "proved"
        lines: list[str] = []
        if look is not first:
            lines.append(f"{module} is not {self._name(asked)}: {mismatches_words(first)}")
            lines += [f"  {line}" for line in smallest_input(why)]
        if self.ended:
            lines.append(f"{module} is not {self._name(look.unit)}: no vector shows it, another simulation does")
        elif look.passed and (outcome is None or outcome.verdict in ("proved", "undecided")):
            how = "proved for every input" if is_proved else f"{look.bench.manifest['count']} vectors agree"
            how += error_words(look.bench.ports)
            lines.append(f"{module} is {self._name(look.unit)}: {how}")
        elif look.passed:
            lines.append(f"{module} is not {self._name(look.unit)}: no vector shows it, the proof does")
        else:
            lines.append(f"{module} is not {self._name(look.unit)}: {mismatches_words(look)}")
        shown = (*simplest_lines(cause), *ended_input(look))
        if cause is None and not look.passed and not shown:
            shown = tuple(first_shown(look))
        lines += [f"  {line}" for line in shown]
        lines += [f"  {line}" for line in self._proof_state(look, outcome)]
        lines += [f"  {line}" for line in self.differences[:1]]
        lines += [f"  by simulation: {self.learned}"] if self.learned else []
        lines += [f"  {line}" for line in self._assumed()]
        return Verification(
            f"{module}: {asked.label}", self._state(first, look, outcome), tuple(lines), tuple(self.stages),
            tuple(self.files), tuple(self.guesses),
        )  # fmt: skip

    def _state(
        self, first: UnitSimulation, look: UnitSimulation, outcome: ProofOutcome | None
    ) -> Literal["passed", "failed", "undecided"]:
        if look is not first or not look.passed or self.ended:
            return "failed"
        if outcome is None:  # a proof that was asked for, and is not there, is open
            wanted = self.request.limit_s is not None and not look.bench.ports.is_judged
            return "undecided" if wanted else "passed"
        return {"proved": "passed", "undecided": "undecided"}.get(outcome.verdict, "failed")  # type: ignore[return-value]

    def _proof_state(self, look: UnitSimulation, outcome: ProofOutcome | None) -> Iterator[str]:
        if outcome is not None:
            first, *rest = outcome_lines(outcome, self._title(look.unit))
            yield from (first, *(rest if outcome.verdict != "proved" else ()))
        elif not look.passed:
            yield f"no proof: a simulation already {'ends early' if look.run.ended else 'differs'}"
        else:
            stage = next((stage for stage in self.stages if stage.name == "proof"), None)
            yield f"no proof: {stage.lines[0] if stage else self.request.no_proof}"

    def _assumed(self) -> Iterator[str]:
        """What is only guessed of the module's ports, and which of its outputs are left out."""
        yield from (f"guessed: {guess}" for guess in self.guesses)
        if self.not_compared:
            yield f"not compared: {self.not_compared}"

    # -- small things --------------------------------------------------------------------------------------------------

    def _words(self, unit: Unit) -> tuple[str, ...] | None:
        """The operation and options of a unit; None if options cannot say it."""
        words = self.request.words if unit == self.request.vectors.unit else self.request.options_of(unit)
        return None if words is None else (*words, *self._range)

    @property
    def _range(self) -> tuple[str, ...]:
        """The words for the range of the operands."""
        where = self.request.vectors.where
        return ("--where", where) if where else ()

    @property
    def _ports_path(self) -> Path:
        own = self.request.ports_file
        return self.request.folder / PORTS if own is None else Path(own)

    def _name(self, unit: Unit) -> str:
        """A unit in words, and the range of its operands."""
        where = self.request.vectors.where
        return f"{self._title(unit)} where {where}" if where else self._title(unit)

    def _title(self, unit: Unit) -> str:
        """A unit in words, with what is different from the one that was asked for and is not in its label."""
        words = unit.label.split()
        changes = [x for x in self.names.get(unit, "").split(", ") if x and _IN_LABELS.sub("", x, 1) not in words]
        return f"{unit.label} with {', '.join(changes)}" if changes else unit.label

    def _path(self, name: str) -> str:
        """A file of the folder, as commands name it."""
        return f"{self.request.shown}/{name}" if self.request.shown else name

    def _write(self, name: str, text: str) -> None:
        write_data(self.request.folder / name, text)
        self.files += [name] if name not in self.files else []
        if name == PORTS:
            note_file(self.request.folder, name)

    def _command(self, name: str, *words: str) -> str:
        """A command that repeats something, if a command asked."""
        return command(name, *words) if self.request.has_commands else ""

    @contextmanager
    def _stage(self, name: str, words: str) -> Iterator[_Open]:
        self.begin(words)
        stage, start = _Open(), time.monotonic()
        yield stage
        done = Stage(name, stage.verdict, tuple(stage.lines), stage.command, time.monotonic() - start)
        self.stages.append(done)
        self.note(done)


@dataclass(frozen=True)
class SumTrial:
    """A simulation of sums of other operands than a and b. drafted: another draft, of a set of one operation."""

    place: str
    vectors: VectorSet
    folder: Path
    ports: PortMap
    drafted: DraftedPortMap | None
    look: UnitSimulation


@dataclass
class _Open:
    """A stage that has not ended."""

    verdict: StageVerdict = "done"
    lines: Sequence[str] = ()
    command: str = ""

    def end(self, verdict: StageVerdict, lines: Sequence[str]) -> None:
        self.verdict, self.lines = verdict, lines


def command(name: str, *words: str) -> str:
    """A line of shell."""
    return f"softfloat-ref {name} {shlex.join(words)}"
