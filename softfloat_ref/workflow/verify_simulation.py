"""The simulations of a verification: of its vectors, and those that find a latency or the operands of sums."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.files import make_folder, read_text
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.assumptions import guessed_lines
from softfloat_ref.rtl.bench_runs import ToolError
from softfloat_ref.rtl.bench_simulation import BenchSimulation, VectorBench
from softfloat_ref.rtl.draft import DraftedPortMap
from softfloat_ref.rtl.fit import Misfit
from softfloat_ref.rtl.latency import MOST, find_latency, trial
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.rtl.quick_verilator import SHORT_RUN, for_short_runs
from softfloat_ref.workflow.operand_places import (
    OTHER_PLACES,
    are_clearly_better,
    are_mostly_wrong,
    input_settings,
    movable_sums,
    with_sums,
)
from softfloat_ref.workflow.unit_simulation import UnitSimulation, failure_lines, mismatches_words, results_of
from softfloat_ref.workflow.verification import PORTS
from softfloat_ref.workflow.verify_ports import drafted_ports, settle, take_draft
from softfloat_ref.workflow.verify_run import VerifyRun

_GUESSED_LATENCY: Final = re.compile(r"^latency = \d+  # guess: .*$", re.MULTILINE)


def make_vectors(run: VerifyRun, vectors: VectorSet, name: str) -> Path:
    """The stage that writes vectors into a folder of this name."""
    folder = run.request.folder / name
    with run.stage("vectors", f"{counted(vectors.count, 'vector')} of {vectors.unit.label}") as stage:
        manifest = generate(vectors, folder, run.typed, resume=True)
        stage.end("done", [f"{manifest['count']} {vectors.cases.noun} of {vectors.name}"])
        stage.command = run.vectors_command(vectors, name)
    return folder


def simulate(run: VerifyRun, vectors: Path, name: str) -> UnitSimulation:
    """The bench of some vectors, built and run; a latency that is only guessed is looked for first."""
    assert run.ports is not None
    if any(guess.startswith("latency") for guess in run.guesses):
        _settle_latency(run, vectors)
    pauses = _settle_enable(run, vectors) if run.enable else ""
    with run.stage(name, f"{run.request.simulator.name} simulates {run.ports.module}") as stage:
        look = _look(run, vectors, run.ports, "bench")
        count = look.bench.manifest["count"]
        if look.passed:
            stage.end("passed", [f"{count} of {count} vectors agree"])
            run.learned += [pauses] if pauses else []
        else:
            stage.end("failed", list(failure_lines(look)))
        stage.command = run.command(
            "vectors testbench", run.path(vectors.name), "--ports", run.ports_file, "--run", *run.source_words
        )
    return look


def _look(run: VerifyRun, vectors: Path, ports: PortMap, place: str) -> UnitSimulation:
    """Raises Error."""
    request = run.request
    guesses = guessed_lines(read_text(run.ports_path, limits.TOML))
    bench = VectorBench.of(vectors, ports, run.ports_file, guesses)
    timed = not any(guess.removeprefix("a ").startswith("latency") for guess in run.guesses)
    bench = dataclasses.replace(bench, timed=timed)
    work = make_folder(request.folder / place)
    is_short = bench.manifest["count"] <= SHORT_RUN
    simulator = for_short_runs(request.simulator) if is_short else request.simulator
    simulation = BenchSimulation(run.sources, simulator, request.timeout_s)
    build = simulation.build(bench.write(work), bench.top, work)
    log = _log(run, vectors)
    try:
        read = simulation.reading(bench, build)
        ran = simulation.run(bench, build, log, read)
    except Misfit as e:
        raise Error(f"{run.ports_file}: {e}") from None
    except ToolError as e:
        raise Error(e.reason) from None
    files = [file for file in read.files if file.role != "build"]  # which every run writes anew
    run.reading = dataclasses.replace(read, files=()) if run.reading is None else run.reading
    run.reading = run.reading.adding(files)
    return UnitSimulation(bench, build, ran, None if ran.ended else results_of(bench.vectors, log))


def _log(run: VerifyRun, vectors: Path) -> Path:
    """The results of some vectors."""
    return run.request.folder / f"{vectors.name}_results.txt"


# -- the latency -------------------------------------------------------------------------------------------------------


def _settle_latency(run: VerifyRun, vectors: Path) -> None:
    """Find the fixed latency, and write it into the port map."""
    assert run.ports is not None
    with run.stage("latency", "the latency is looked for") as stage:
        latency, look = _latency(run, vectors, run.ports)
        if latency is None:
            run.guesses = [x.replace("latency", "a latency", 1) for x in run.guesses]  # is not looked for again
            why = "the simulation ended" if look.run.ended else f"none of 0 to {MOST} fits"
            stage.end("undecided", [f"{why}; latency = {run.ports.latency} is kept"])
            return
        run.ports = dataclasses.replace(run.ports, latency=latency)
        run.write(PORTS, _GUESSED_LATENCY.sub(f"latency = {latency}  # by simulation", run.draft_text))
        run.guesses = [x for x in run.guesses if not x.startswith("latency")]
        settle(run, f"latency={latency}")
        stage.end("done", [f"results come {counted(latency, 'rising edge')} after their operands"])


def _latency(run: VerifyRun, vectors: Path, ports: PortMap) -> tuple[int | None, UnitSimulation]:
    """The latency at which results are right, and the simulation that shows it."""
    look = _look(run, vectors, trial(ports), "latency")
    report = look.report or results_of(look.bench.vectors, _log(run, vectors))  # as far as it went
    answers = () if report is None else report.first
    width = look.unit.compared().input_width
    latency = find_latency(
        [line[width : width + len(answer.codes)] for line, answer in answers],
        [tuple(answer.codes) for _, answer in answers],
    )
    return latency, look


# -- a clock enable ----------------------------------------------------------------------------------------------------


def _settle_enable(run: VerifyRun, vectors: Path) -> str:
    """Find out whether an input that a draft holds on is a clock enable, which may be off in any cycle; what is wrong
    then, '' if nothing is."""
    drafted = drafted_ports(run, vectors, settings=(*run.draft_settings, run.enable))
    assert drafted.ports.enable is not None
    port = drafted.ports.enable.port
    with run.stage("clock enable", f"{port} is off in some cycles") as stage:
        look = _look(run, vectors, drafted.ports, "bench")
        if look.passed:
            take_draft(run, drafted)
            settle(run, run.enable)
            run.enable = ""
            run.learned.append(f"{port} may be off in any cycle")
            stage.end("done", [f"{port} may be off in any cycle, by simulation"])
            return ""
        wrong = f"{port} is held on; with cycles in which it is off, {mismatches_words(look)}"
        stage.end("done", [wrong])
    return wrong


# -- which operands are added ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SumTrial:
    """A simulation of sums of other operands than a and b. drafted: another draft, of a set of one operation."""

    place: str
    vectors: VectorSet
    folder: Path
    ports: PortMap
    drafted: DraftedPortMap | None
    look: UnitSimulation


def simulate_other_sums(run: VerifyRun, folder: Path, look: UnitSimulation) -> UnitSimulation | None:
    """The simulation of sums of other operands, of a unit of three, where that is clearly what the unit adds."""
    ops = movable_sums(run.request.vectors)
    if not (ops or run.guesses_sums) or not are_mostly_wrong(look.report):
        return None
    with run.stage("operands", "the operands of sums are looked for") as stage:
        tries = map(partial(_moved, run, folder), OTHER_PLACES)
        chosen = next((x for x in tries if are_clearly_better(look.report, x.look.report)), None)
        if chosen is None:
            stage.end("undecided", [f"sums of a and b, or of {' or '.join(OTHER_PLACES)}, are wrong; a and b are kept"])
            return None
        learned = f"{' and '.join(ops or ('the sum',))} of operands {' and '.join(chosen.place)}"
        run.learned.append(learned)
        stage.end("done", [f"{learned}, by simulation"])
    _take(run, chosen)
    return simulate(run, chosen.folder, "simulation")


def _moved(run: VerifyRun, folder: Path, place: str) -> SumTrial:
    """The simulation of sums of other operands."""
    assert run.ports is not None
    vectors, ports, drafted = run.request.vectors, run.ports, None
    if movable_sums(vectors):
        vectors = with_sums(vectors, place)
        folder = run.request.folder / f"{folder.name}_{place}"
        generate(vectors, folder, run.typed, resume=True)
    else:
        drafted = drafted_ports(run, folder, place)
        ports = drafted.ports
        latency = None if ports.latency is None else _latency(run, folder, ports)[0]
        if latency is not None:
            ports = dataclasses.replace(ports, latency=latency)
    return SumTrial(place, vectors, folder, ports, drafted, _look(run, folder, ports, "operands"))


def _take(run: VerifyRun, chosen: SumTrial) -> None:
    """Go on with the operands of a trial."""
    earlier = run.stages[-2]
    earlier = dataclasses.replace(earlier, name="simulation of sums of a and b", verdict="done", command="")
    run.stages[-2] = earlier  # its failure was the draft's, not the module's
    if chosen.drafted is None:
        words = run.request.options_of(chosen.vectors.unit) or run.request.words
        run.request = dataclasses.replace(run.request, vectors=chosen.vectors, words=words)
        run.recommand("vectors", run.vectors_command(chosen.vectors, chosen.folder.name))
        return
    settle(run, *input_settings(run.draft_text, chosen.drafted.text))
    take_draft(run, chosen.drafted)
