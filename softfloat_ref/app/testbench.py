"""`vectors testbench`: write a bench for a module, and run it."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from softfloat_ref.app.options import NameType, Seconds
from softfloat_ref.app.source_options import source_options
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import check_place, make_folder, write_data
from softfloat_ref.golden.manifest import read_manifest, require_file
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.verify import check_hashes
from softfloat_ref.rtl.bench_runs import RUN_TIMEOUT_S, BenchRun, Build, ToolError
from softfloat_ref.rtl.fit import Misfit, check_fit
from softfloat_ref.rtl.inputs import read_inputs
from softfloat_ref.rtl.port_map import PortMap, read_ports
from softfloat_ref.rtl.reading import DesignReading, Macro, ReadFile
from softfloat_ref.rtl.simulators import FIND, Simulator, dump, is_fst, with_fst_advice
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.testbench import bench_text, top_name, tops_text
from softfloat_ref.rtl.vendors import NAMES, choose_simulator
from softfloat_ref.units import controls

if TYPE_CHECKING:
    from softfloat_ref.testing.judge import CheckReport

_SHOWN_MISMATCHES: Final = 3
_PACKED_MISMATCH: Final = re.compile(r"\S+\.memh:\d+: .* expected |\.\.\. and \d+ more")


@dataclass(frozen=True)
class _Bench:
    """A bench, and what it is for."""

    folder: Path
    manifest: dict[str, Any]
    vectors: VectorSet
    ports: PortMap
    text: str

    @property
    def top(self) -> str:
        return top_name(self.ports)

    @property
    def controls(self) -> Any:
        return controls(self.vectors.unit)


@dataclass(frozen=True)
class _Simulation:
    """How --run builds and runs a bench."""

    sources: Sources
    simulator: Simulator
    tops: tuple[str, ...]
    arguments: tuple[str, ...]
    plusargs: tuple[str, ...]
    timeout_s: float
    wave: str | None = None

    def build(self, bench: Path, bench_top: str, work: Path) -> Build:
        """The build of a bench in a file, with the other top modules."""
        files, top = [*self.sources.files, bench], bench_top
        if self.tops:
            top = f"{bench_top}_and_tops"
            files.append(work / f"{top}.sv")
            files[-1].write_text(tops_text(top, [bench_top, *self.tops]), encoding="utf-8")
        sources = self.sources
        wave_arguments = [] if self.wave is None else self.simulator.wave_arguments(is_fst(self.wave))[0]
        build_arguments = [str(Path(text).resolve()) if Path(text).is_file() else text for text in self.arguments]
        return self.simulator.build(
            files,
            top,
            work_dir=work,
            include_dirs=sources.searched,
            defines=sources.defines,
            libraries=sources.libraries,
            arguments=[*wave_arguments, *build_arguments],
            run_in=Path.cwd(),
        )

    def left(self, start: float) -> float:
        """The seconds left of the time limit, for a start on the monotonic clock."""
        return self.timeout_s - (time.monotonic() - start)


@click.command("testbench")
@click.argument("folder", metavar="DIR")
@source_options
@click.option("--ports", "ports_file", required=True, metavar="FILE.toml", help="The port map of the module.")
@click.option("-o", "--output", metavar="FILE.sv", help="The testbench to write.")
@click.option("--run", "run", is_flag=True, help="Build the testbench with the SOURCEs and run it.")
@click.option("--print-command", is_flag=True, help="Print the commands of --run instead of executing them.")
@click.option("--sim", type=NameType("SIMULATOR", NAMES), help="With --run: the simulator.")
@click.option("--results", metavar="FILE", help="With --run: write a line for every vector.")
@click.option("--wave", metavar="FILE", help="With --run: dump the cycles around the first failure (.fst or .vcd).")
@click.option("--work", metavar="DIR", help="With --run: build in DIR, and only if something changed.")
@click.option("--top", "tops", metavar="MODULE", multiple=True, help="With --run: another top module, such as glbl.")
@click.option("--sim-arg", "arguments", metavar="ARG", multiple=True, help="With --run: an argument for the build.")
@click.option("--plusarg", "plusargs", metavar="ARG", multiple=True, help="With --run: a plusarg, such as seed=7.")
@click.option(
    "--timeout",
    type=Seconds(min=1),
    help=f"With --run: timeout of build and simulation, in seconds [{RUN_TIMEOUT_S}].",
)
def testbench(
    folder: str,
    sources: Sources,
    ports_file: str,
    output: str | None,
    run: bool,
    print_command: bool,
    sim: str | None,
    results: str | None,
    wave: str | None,
    work: str | None,
    timeout: float | None,
    tops: tuple[str, ...],
    arguments: tuple[str, ...],
    plusargs: tuple[str, ...],
) -> int:
    """Write a self-checking SystemVerilog testbench for a module, from the vectors in DIR and a port map.

    With --run, build it with the module's SOURCEs and run it: exit code 1 unless it passes. docs/testbench.md explains
    port maps.
    """
    run = run or print_command
    options: dict[str, object] = {
        "--results": results,
        "--wave": wave,
        "--work": work,
        "--sim": sim,
        "--timeout": timeout,
    }
    options |= {"--top": tops, "--sim-arg": arguments, "--plusarg": plusargs}
    options |= {"-I": sources.include_dirs, "-D": sources.defines}
    options |= {"-y": sources.libraries.folders, "-v": sources.libraries.files}
    _refuse_together(sources, output, run, [option for option, value in options.items() if value])
    if print_command and output is None and work is None:
        raise Error("--print-command needs -o FILE.sv or --work DIR, for the testbench that the commands name")
    if print_command and timeout:
        raise Error("--timeout stops what --run starts; with --print-command nothing is started")
    if wave is not None:
        if print_command:
            raise Error("--wave needs the first failure, which --print-command does not look for; use +wave=FILE")
        is_fst(wave)
        check_place(wave)
    bench = _bench(Path(folder), ports_file)
    if output is not None:
        write_data(output, bench.text)
        print(f"{output}: {bench.top}, {bench.manifest['count']} vectors for {bench.ports.module}", file=sys.stderr)
    if not run:
        return 0
    runtime = [f"+vectors={bench.folder.resolve()}", *(f"+{text.removeprefix('+')}" for text in plusargs)]
    runtime += [] if results is None or not print_command else [f"+results={Path(results).resolve()}"]
    simulator = choose_simulator(sim, print_command)
    simulation = _Simulation(sources, simulator, tops, arguments, tuple(runtime), timeout or RUN_TIMEOUT_S, wave)
    if print_command:
        _print_commands(bench, simulation, output, work)
        return 0
    print(f"{bench.top}: simulated by {simulation.simulator.name}", file=sys.stderr)
    try:
        return _simulated(bench, simulation, work, results)
    except Misfit as e:
        print("\n".join(f"FAIL: {line}" for line in e.lines))
        return 1


def _refuse_together(sources: Sources, output: str | None, run: bool, typed: list[str]) -> None:
    """Raises Error for options that do not go together."""
    if run and not sources.files:
        raise Error("--run needs the module's sources")
    if not run and sources.files:
        raise Error(f"{sources.files[0]}: sources are for --run")
    if not run and typed:
        raise Error(f"{typed[0]} needs --run")
    if not run and output is None:
        raise Error("give -o FILE.sv, or --run SOURCE...")


def _bench(folder: Path, ports_file: str) -> _Bench:
    manifest = read_manifest(folder)
    vectors = check_hashes(folder, manifest)
    require_file(folder, manifest, "memh")
    ports = read_ports(ports_file)
    text = bench_text(manifest, controls(vectors.unit), ports, str(folder), f"{folder} and {ports_file}")
    return _Bench(folder, manifest, vectors, ports, text)


def _print_commands(bench: _Bench, simulation: _Simulation, output: str | None, work: str | None) -> None:
    """A line for each command; the bench, and a module with the other tops, are written."""
    folder = make_folder(work or ".")
    build = simulation.build(Path(output) if output else _written(bench, folder), bench.top, folder)
    print("\n".join(build.shell(simulation.plusargs)))


def _simulated(bench: _Bench, simulation: _Simulation, work: str | None, results: str | None) -> int:
    """Build a bench, unless `work` holds the same build, run it and print its lines; 0 if it passed. Raises Error."""
    with nullcontext(work) if work else tempfile.TemporaryDirectory() as place:
        folder = make_folder(place)
        build = simulation.build(_written(bench, folder), bench.top, folder)
        log = build.folder / "results.txt" if results is None else Path(results).resolve()
        plusargs = [*simulation.plusargs, f"+results={log}"]
        start = time.monotonic()
        try:
            if not build.is_current():
                build.make(_fitting(bench, simulation, build), simulation.timeout_s)
            result = build.run([*plusargs, *([FIND] if simulation.wave else [])], simulation.left(start))
            if simulation.wave is not None:
                note = dump(
                    simulation.simulator, build, simulation.plusargs, simulation.wave, result, simulation.left(start)
                )
                print(note, file=sys.stderr)
        except ToolError as e:
            print("\n".join(e.tail), file=sys.stderr)
            raise Error(with_fst_advice(str(e) if work else e.reason)) from None  # without work the log is deleted
        return _verdict(bench, result, log)


def _written(bench: _Bench, folder: Path) -> Path:
    path = folder / f"{bench.top}.sv"
    write_data(path, bench.text)
    return path


def _fitting(bench: _Bench, simulation: _Simulation, build: Build) -> DesignReading:
    """What the build reads. Raises Misfit if the bench does not fit the module."""
    macro = {simulation.simulator.macro: Macro("1", simulation.simulator.name)}
    module = check_fit(
        bench.manifest,
        bench.controls,
        bench.ports,
        simulation.sources.files,
        include_dirs=simulation.sources.searched,
        defines={**{name: definition.value for name, definition in macro.items()}, **simulation.sources.defines},
        libraries=simulation.sources.libraries,
    )
    paths = (Path(argument) for step in build.steps for argument in step[1:])
    others = (path for path in paths if path.is_file() and build.output not in path.parents)
    reading = read_inputs(module, simulation.sources, macro, first=build.folder)
    return reading.adding(ReadFile.of(path, "build") for path in others)


def _verdict(bench: _Bench, result: BenchRun, log: Path) -> int:
    """Print the bench's lines, and the diagnosis if it failed; 0 if it passed."""
    lines, count = result.output.splitlines(), bench.manifest["count"]
    verdicts = [i for i, line in enumerate(lines, 1) if line.startswith(("PASS", "FAIL"))]
    bench_lines = lines[: verdicts[-1]] if verdicts else lines  # the simulator prints more after a verdict
    if result.passed and f"PASS: {count} of {count} vectors" in result.output:
        print("\n".join(bench_lines))
        return 0
    print_failure(bench_lines, bench.vectors, log)
    return 1


def print_failure(output: Sequence[str], vectors: VectorSet, log: Path) -> None:
    """Print what a failed bench printed, and the diagnosis of the results in its log, if it has any.

    A bench packs the lanes of a result into one number; its mismatches are shown from the log instead, lane by lane.
    """
    from softfloat_ref.diagnosis.parts import explanation
    from softfloat_ref.testing import report as reports

    wide = len(vectors.unit.compared().result_formats) > 1
    report = _compared(vectors, log, _SHOWN_MISMATCHES if wide else 0)
    if report is None or not report.mismatched:
        print("\n".join(output), flush=True)
        return
    print("\n".join(x for x in output if not (wide and _PACKED_MISMATCH.match(x))))
    if wide:
        print("\n".join(reports.report_lines(report)))
    sys.stdout.flush()  # a diagnosis may take a while
    cause = explanation(report)
    for line in cause.lines() if cause else ():
        print(line)


def _compared(vectors: VectorSet, log: Path, shown: int) -> CheckReport | None:
    """The results in a log, compared; None without a log, and for units that only benches compare."""
    from softfloat_ref.testing.check import check_results

    try:
        return check_results(vectors.compared(), log, shown=shown) if log.is_file() else None
    except Error:  # such as a matrix product
        return None
