"""`prove`: a circuit equal to the oracle for all inputs, or an input where it is not."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from softfloat_ref.app.options import SCHEDULERS, NameType, Seconds
from softfloat_ref.app.output import Running
from softfloat_ref.app.requests import OP, UnitRequest, request_options, where_option
from softfloat_ref.app.source_options import source_options
from softfloat_ref.base.errors import Error, counted, one_line
from softfloat_ref.base.executors import workers
from softfloat_ref.base.files import check_place, write_data
from softfloat_ref.oracle.sources import Lfsr, parse_source
from softfloat_ref.proof.certificate import other_versions, problems, read_certificate
from softfloat_ref.proof.certify import certificate
from softfloat_ref.proof.engine import Decided, Tactics
from softfloat_ref.proof.equal import Equality
from softfloat_ref.proof.outcome import decide_circuit
from softfloat_ref.proof.prove import STRATEGIES, Proof, prove
from softfloat_ref.proof.question import Problem
from softfloat_ref.proof.solver import SOLVERS
from softfloat_ref.proof.wave import check_wave
from softfloat_ref.proof.words import comparison_lines, outcome_lines, waveform_line
from softfloat_ref.proof.yosys import FRONTENDS
from softfloat_ref.rtl.cycles import SIMULATORS
from softfloat_ref.rtl.fit import Misfit
from softfloat_ref.rtl.port_map import read_ports
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.vhdl_units import NoNetlistError
from softfloat_ref.units import Unit
from softfloat_ref.workflow.prove import circuit_sources, compare, question_of
from softfloat_ref.workflow.verification import LIMIT_S

UNDECIDED: Final = 3
_MODULE_PARAMETERS: Final = (
    "ports_file", "held", "first", "frontend", "sim", "output", "wave", "source_files", "include_dirs", "defines",
    "file_lists", "relative_lists", "library_files", "library_dirs",
    "targets",
)  # fmt: skip
_EXIT_CODES: Final = {"proved": 0, "mismatch": 1, "counterexample": 1, "undecided": UNDECIDED}


@click.command("prove")
@click.argument("op", required=False, type=OP)
@click.option(
    "--equal",
    metavar="TEXT",
    help="Compare with another definition, not with a module: options that change this one, such as"
    " '--tininess before', or a whole one, such as 'mul --fmt fp16 --policy arm'.",
)
@click.option("--no-flags", is_flag=True, help="--equal: compare the results only.")
@click.option("--ports", "ports_file", metavar="FILE.toml", help="The port map of the module.")
@where_option
@click.option(
    "--register", "held", metavar="NAME=FIELD", multiple=True, help="A register that holds an input at first."
)
@click.option("--first-operation", "first", is_flag=True, help="Only the first operation after the reset.")
@click.option(
    "--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True, help="How cases are made."
)
@click.option(
    "--limit",
    type=Seconds(min=0, min_open=True),
    default=LIMIT_S,
    show_default=True,
    help="Time limit of a question to the solver, in seconds of the processor.",
)
@click.option("--confirm", type=click.Choice(list(SOLVERS)), help="Another solver that must agree.")
@click.option(
    "--frontend", type=click.Choice(FRONTENDS), default="slang", show_default=True, help="What reads the SOURCEs."
)
@click.option("--sim", type=NameType("SIMULATOR", SIMULATORS), help="The one simulator of the SOURCEs [all there are].")
@click.option("--jobs", type=click.IntRange(1, 1024), default=None, help="Number of processes for cases [1].")
@click.option("--scheduler", metavar=SCHEDULERS, help="A Dask cluster for the cases.")
@click.option("--work", metavar="DIR", help="Keep results of cases in DIR, and go on from there.")
@click.option("--wave", metavar="FILE.vcd", help="The counterexample's waveform to write.")
@click.option("-o", "--output", metavar="FILE.json", help="The certificate to write.")
@click.option("--check", "checked", metavar="FILE.json", help="Check a certificate and the files it names.")
@source_options
@request_options
def command(
    request: UnitRequest,
    sources: Sources,
    op: str | None,
    equal: str | None,
    no_flags: bool,
    ports_file: str | None,
    where: str | None,
    held: tuple[str, ...],
    first: bool,
    strategy: Any,
    limit: float,
    confirm: str | None,
    frontend: Any,
    sim: str | None,
    jobs: int | None,
    scheduler: str | None,
    work: str | None,
    wave: str | None,
    output: str | None,
    checked: str | None,
) -> int:
    """Prove that a module computes OP, for every input, or find an input where it does not.

    With --equal, prove that two definitions of OP are one, or find the simplest input that tells them apart:
    `softfloat-ref prove fma --fmt fp16 --equal '--tininess before'`.

    Exit code 0: proved; 1: a counterexample, or simulations of the sources show something else than the netlist; 3:
    undecided within the limit, or GHDL makes no netlist of VHDL. docs/prove.md explains what a proof says.
    """
    if checked is not None:
        _refuse(lambda n: n not in ("checked", "confirm"), "--check reads a certificate, which names unit and files")
        return _check(checked, confirm or "bitwuzla")
    source, request = _source(request, held)
    unit, how = request.circuit_unit(op), Tactics(limit, confirm=confirm or "")
    doing = Running("Yosys reads the sources" if equal is None else "vectors are compared")
    prover = _prover(strategy, how, jobs, scheduler, work, first, doing)
    if equal is not None:
        _refuse(lambda n: n in _MODULE_PARAMETERS, "--equal compares two definitions, without a module")
        equality = Equality(unit, second_unit(equal), where or "", not no_flags)
        with doing.shown():
            proof = compare(equality, prover)
        print("\n".join(comparison_lines(equality, equal, proof, limit)))
        return _EXIT_CODES[proof.verdict]
    if no_flags:
        raise Error("--no-flags is for --equal; for a module, the port map names outputs to ignore")
    if ports_file is None or not sources.files:
        raise Error("prove needs --ports FILE.toml and the module's SOURCEs, or --equal with another definition")
    if output is not None:
        check_place(output)
    if wave is not None:
        check_wave(wave)
        check_place(wave)
    try:
        options: dict[str, Any] = {"frontend": frontend, "held": dict(map(_register, held)), "source": source}
        sources = circuit_sources(sources, ports_file)
        with doing.shown():
            question = question_of(unit, ports_file, sources, where or "", first=first, **options)
            doing.now("simulations are compared with the netlist")
            outcome = decide_circuit(question, sources, prover, sim)
    except Misfit as e:
        print("\n".join(f"FAIL: {line}" for line in e.lines))
        return 1
    except NoNetlistError as e:
        print(f"UNDECIDED: no proof that {read_ports(ports_file).module} is {unit.label}\n  {e}")
        print(f"  `verify --ports {ports_file}` simulates it")
        return UNDECIDED
    if output is not None:
        table = certificate(outcome, strategy, how, Path(output).parent)
        write_data(output, json.dumps(table, indent=1))
    print("\n".join(outcome_lines(outcome)))
    if wave is not None:
        print(waveform_line(outcome, wave))
    return _EXIT_CODES[outcome.verdict]


def _refuse(refused: Callable[[str], bool], why: str) -> None:
    """Raise Error for an argument that has no effect."""
    context = click.get_current_context()
    for parameter in context.command.params:
        typed = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if typed and refused(parameter.name or ""):
            raise Error(f"{why}; leave {parameter.opts[0]} out")


def _register(text: str) -> tuple[str, str]:
    name, equals, field = text.partition("=")
    if not (name and equals and field):
        raise Error(f"--register {text!r}: give NAME=FIELD, such as state=r")
    return name, field


def _source(request: UnitRequest, held: tuple[str, ...]) -> tuple[Lfsr | None, UnitRequest]:
    """The source of which a register is the state, if one is given, and the other options."""
    choices = request.choices
    if choices.spec is None or not held:
        return None, request
    source = parse_source(choices.spec, choices.seed)
    if len(held) > 1 or not isinstance(source, Lfsr):
        raise Error("--random-source is an lfsr, of which the one --register is the state")
    return source, dataclasses.replace(request, choices=dataclasses.replace(choices, spec=None))


def _prover(
    strategy: Any,
    how: Tactics,
    jobs: int | None,
    scheduler: str | None,
    work: str | None,
    first: bool,
    doing: Running,
) -> Callable[[Problem], Proof]:
    """The function that proves, and says how far it is."""

    def proved(question: Problem) -> Proof:
        doing.now("the whole question is asked")
        with workers(jobs if jobs or scheduler else 1, scheduler) as pool:

            def note(decided: Decided, done: int, of: int) -> None:
                doing.now(f"{done} of {counted(of, 'case')} decided; the last, {decided.case}: {decided.verdict}")

            return prove(question, strategy, how, pool, work, note, first)

    return proved


def _check(path: str, solver: str) -> int:
    """Check a certificate: 0 if it holds."""
    table = read_certificate(path)
    faults = list(problems(table, Path(path).parent, solver))
    for line in faults:
        print(f"FAIL: {one_line(line)}")
    for line in other_versions(table):
        print(f"note: {one_line(line)}", file=sys.stderr)
    if not faults:
        cases, files = counted(len(table["cases"]), "case"), counted(len(table["reading"]["files"]), "file")
        of = one_line(f"{table.get('module')}, {table.get('name')}")
        print(f"PASS: {of}: {cases} proved, none left out; {files} unchanged")
        print(one_line(_looked(table["second_opinion"])), file=sys.stderr)
    sys.stdout.flush()
    return 1 if faults else 0


def _looked(opinion: Mapping[str, Any]) -> str:
    """Who simulated the sources."""
    if not opinion["simulators"]:
        return "no simulator looked at the sources"
    return f"simulated by {', '.join(opinion['simulators'].values())}: {counted(opinion['operations'], 'operation')}"


# -- the second definition of --equal ----------------------------------------------------------------------------------


@click.command("prove --equal", add_help_option=False)
@click.argument("op", required=False)
@request_options
def _definition(request: UnitRequest, op: str | None) -> Unit:
    return request.circuit_unit(op)


def second_unit(text: str) -> Unit:
    """The unit of a text: a whole definition, or options that change that of the command line. Raises Error."""
    try:
        words = shlex.split(text)
    except ValueError as e:
        raise Error(f"--equal {text!r}: {e}") from None
    try:
        with _definition.make_context("--equal", words) as context:
            params = {p.name or "": context.params[p.name or ""] for p in _definition.params}
            typed = {k for k in params if context.get_parameter_source(k) is ParameterSource.COMMANDLINE}
    except click.UsageError as e:
        raise Error(f"--equal: {e.format_message()}") from None
    if not typed:
        raise Error("--equal: give options such as '--tininess before', or a whole definition")
    if "op" not in typed:
        first = click.get_current_context().params
        params = {k: value if k in typed else first[k] for k, value in params.items()}
    assert _definition.callback is not None
    unit: Unit = _definition.callback(**params)
    return unit
