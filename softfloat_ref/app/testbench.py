"""`vectors testbench`: write a bench for a module, and run it."""

from __future__ import annotations

import dataclasses
import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from softfloat_ref.app.options import NameType, Seconds
from softfloat_ref.app.output import running
from softfloat_ref.app.source_options import source_options
from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import check_place, make_folder, read_text, write_data
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.literals import ulp_limit
from softfloat_ref.rtl.assumptions import guessed_lines
from softfloat_ref.rtl.bench_runs import RUN_TIMEOUT_S, BenchRun, ToolError
from softfloat_ref.rtl.bench_simulation import BenchSimulation, VectorBench
from softfloat_ref.rtl.fit import Misfit
from softfloat_ref.rtl.port_map import PortMap, read_ports
from softfloat_ref.rtl.simulators import is_fst, with_fst_advice
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.vendors import NAMES, choose_simulator
from softfloat_ref.rtl.vhdl_units import with_netlist

if TYPE_CHECKING:
    pass

_SHOWN_MISMATCHES: Final = 3
_PACKED_MISMATCH: Final = re.compile(r"\S+\.memh:\d+: .* expected |\.\.\. and \d+ more")


@click.command("testbench")
@click.argument("folder", metavar="DIR")
@source_options
@click.option("--ports", "ports_file", required=True, metavar="FILE.toml", help="The port map of the module.")
@click.option("-o", "--output", metavar="FILE.sv", help="The testbench to write.")
@click.option("--run", "run", is_flag=True, help="Build the testbench with the SOURCEs and run it.")
@click.option("--print-command", is_flag=True, help="Print the commands of --run instead of executing them.")
@click.option("--sim", type=NameType("SIMULATOR", NAMES), help="With --run: the simulator.")
@click.option("--ulp", metavar="N", help="Largest error allowed, in ulp, as in `check` [that of the port map].")
@click.option("--kappa", type=click.IntRange(min=0), help="Largest kappa allowed, as in `check` [the port map's].")
@click.option("--results", metavar="FILE", help="With --run: write a line for every vector.")
@click.option("--wave", metavar="FILE", help="With --run: dump the cycles around the first failure (.fst or .vcd).")
@click.option("--work", metavar="DIR", help="With --run: build in DIR, and only if something changed.")
@click.option("--top", "tops", metavar="MODULE", multiple=True, help="With --run: another top module, such as glbl.")
@click.option("--sim-arg", "arguments", metavar="ARG", multiple=True, help="With --run: an argument for the build.")
@click.option("--plusarg", "plusargs", metavar="ARG", multiple=True, help="With --run: a plusarg, such as seed=7.")
@click.option(
    "--timeout",
    type=Seconds(min=1),
    help=f"With --run: timeout of the build, and of the simulation, in seconds [{RUN_TIMEOUT_S}].",
)
def testbench(
    folder: str,
    sources: Sources,
    ports_file: str,
    output: str | None,
    run: bool,
    print_command: bool,
    sim: str | None,
    ulp: str | None,
    kappa: int | None,
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
    guesses = guessed_lines(read_text(ports_file, limits.TOML))
    bench = VectorBench.of(Path(folder), _ports(ports_file, ulp, kappa), ports_file, guesses)
    _check_judged(bench)
    if wave is not None and bench.ports.is_judged:
        raise Error(
            "--wave needs the first failure; where an error is allowed, results are judged after the simulation"
        )
    if output is not None:
        write_data(output, bench.text)
        print(f"{output}: {bench.top}, {bench.manifest['count']} vectors for {bench.ports.module}", file=sys.stderr)
    if not run:
        return 0
    sources = with_netlist(sources, bench.ports.module, bench.ports.parameters)
    runtime = tuple(f"+{text.removeprefix('+')}" for text in plusargs)
    simulator = choose_simulator(sim, print_command)
    simulation = BenchSimulation(sources, simulator, timeout or RUN_TIMEOUT_S, tops, arguments, runtime, wave)
    if print_command:
        logged = [] if results is None else [f"+results={Path(results).resolve()}"]
        printed = (*simulation.runtime(bench), *logged)
        if sources.vhdl is not None and sources.vhdl.live:
            raise Error(
                f"--print-command: GHDL makes no netlist of {sources.vhdl.name}, and simulates it with --run only"
            )
        if sources.vhdl is not None:
            print(f"these simulate the netlist of {sources.vhdl.name}, which --run compares with GHDL", file=sys.stderr)
        _print_commands(bench, dataclasses.replace(simulation, plusargs=printed), output, work)
        return 0
    print(f"{bench.top}: simulated by {simulation.simulator.name}{_of_vhdl(sources)}", file=sys.stderr)
    try:
        return _simulated(bench, simulation, work, results)
    except Misfit as e:
        print("\n".join(f"FAIL: {line}" for line in e.lines))
        return 1


def _of_vhdl(sources: Sources) -> str:
    """How VHDL is simulated."""
    if sources.vhdl is None:
        return ""
    if sources.vhdl.live:
        return f", {sources.vhdl.name} by GHDL, which makes no netlist of it: {sources.vhdl.problem}"
    return " as GHDL's netlist, which is compared with GHDL"


def _ports(path: str, ulp: str | None, kappa: int | None) -> PortMap:
    """The port map, with the error that options allow. Raises Error."""
    ports = read_ports(path)
    if ulp is not None and kappa is not None:
        raise Error("--ulp and --kappa are two measures of one error; give one of them")
    if ulp is not None:
        ulp_limit(ulp)
    return ports if ulp is None and kappa is None else ports.allowing(ulp, kappa)


def _check_judged(bench: VectorBench) -> None:
    """Raise Error for a unit whose results may have no error."""
    from softfloat_ref.testing.judge import Judge
    from softfloat_ref.testing.kappa import Allowance

    ports, vectors = bench.ports, bench.vectors.compared()
    if ports.is_judged:
        kappa = None if ports.kappa is None else Allowance(ports.kappa)
        Judge(vectors, limit=ulp_limit(ports.ulp) if ports.ulp else None, kappa=kappa)


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


def _print_commands(bench: VectorBench, simulation: BenchSimulation, output: str | None, work: str | None) -> None:
    """A line for each command; the bench, and a module with the other tops, are written."""
    folder = make_folder(work or ".")
    build = simulation.build(Path(output) if output else bench.write(folder), bench.top, folder)
    print("\n".join(build.shell(simulation.plusargs)))


def _simulated(bench: VectorBench, simulation: BenchSimulation, work: str | None, results: str | None) -> int:
    """Build a bench, unless `work` holds the same build, run it and print its lines; 0 if it passed. Raises Error."""
    with nullcontext(work) if work else tempfile.TemporaryDirectory() as place:
        folder = make_folder(place)
        build = simulation.build(bench.write(folder), bench.top, folder)
        log = build.folder / "results.txt" if results is None else Path(results).resolve()
        try:
            with running(f"{simulation.simulator.name} builds and runs {bench.top}"):
                result = simulation.run(bench, build, log)
            if simulation.wave is not None:
                print(simulation.dump(bench, build, result), file=sys.stderr)
        except ToolError as e:
            if e.shown:
                print("\n".join(e.shown), file=sys.stderr)
            raise Error(with_fst_advice(str(e) if work else e.reason)) from None  # without work the log is deleted
        return _verdict(bench, result, log)


def _verdict(bench: VectorBench, result: BenchRun, log: Path) -> int:
    """Print the bench's lines, and the diagnosis if it failed; 0 if it passed."""
    if result.ended:
        print("\n".join([*bench.lines(result), *bench.ended_lines(result)]))
        return 1
    if bench.ports.is_judged and bench.passed(result):
        return _judged(bench, log)
    if bench.passed(result):
        print("\n".join(bench.lines(result)))
        return 0
    print_failure(bench.lines(result), bench.vectors, log)
    return 1


def _judged(bench: VectorBench, log: Path) -> int:
    """Print the verdict on the results in a log, by the error that the bench allows; 0 if it is allowed."""
    from softfloat_ref.diagnosis.parts import explanation
    from softfloat_ref.testing import report as reports
    from softfloat_ref.testing.check import check_results

    report = check_results(bench.vectors.compared(), log, shown=_SHOWN_MISMATCHES)
    count = bench.manifest["count"]
    for line in reports.report_lines(report):
        print(line)
    errors = report.errors.summary() if report.errors is not None else ""
    if report.passed and report.errors is not None and report.compared == count:
        print(f"PASS: {report.compared} of {count} vectors{errors}")
        return 0
    kinds = ", ".join(f"{n} {kind}" for kind, n in report.kinds.most_common())
    compared = f"{report.compared} of {count} vectors compared{errors}"
    print(f"FAIL: {report.mismatched} mismatches, {compared}" + (f" ({kinds})" if kinds else ""), flush=True)
    cause = explanation(report)
    for text in cause.lines() if cause else ():
        print(text)
    return 1


def print_failure(output: Sequence[str], vectors: VectorSet, log: Path) -> None:
    """Print what a failed bench printed, and the diagnosis of the results in its log, if it has any.

    A bench packs the lanes of a result into one number; its mismatches are shown from the log instead, lane by lane.
    """
    from softfloat_ref.diagnosis.parts import explanation
    from softfloat_ref.testing import report as reports
    from softfloat_ref.workflow.unit_simulation import results_of

    wide = len(vectors.unit.compared().result_formats) > 1
    report = results_of(vectors, log, _SHOWN_MISMATCHES if wide else 0)
    if report is None:
        print("\n".join(output), flush=True)
        return
    wide = wide and report.mismatched > 0
    print("\n".join(x for x in output if not (wide and _PACKED_MISMATCH.match(x))))
    if wide:
        print("\n".join(reports.report_lines(report)))
    sys.stdout.flush()  # a diagnosis may take a while
    cause = explanation(report)
    for line in cause.lines() if cause else ():
        print(line)
