"""`prove`: a circuit equal to the oracle for all inputs, or an input where it is not."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from softfloat_ref.app.equality import cases_words, compared, inputs_words, second_unit, told, undecided
from softfloat_ref.app.options import SCHEDULERS, Choices, Name, operands_option, policy_options, profile_option
from softfloat_ref.app.progress import progress
from softfloat_ref.app.requests import DOT, QUANTIZATIONS, dot_options, input_unit, rounding_input
from softfloat_ref.app.source_options import source_options
from softfloat_ref.base.errors import Error, counted, one_line
from softfloat_ref.base.executors import workers
from softfloat_ref.base.files import check_place, write_file
from softfloat_ref.golden.writers import text_line
from softfloat_ref.oracle.blocks.operations import BLOCK_OPERATIONS
from softfloat_ref.oracle.operations import OPERATIONS
from softfloat_ref.oracle.sources import Lfsr
from softfloat_ref.proof.btor2 import UNDEFINED
from softfloat_ref.proof.certificate import problems, read_certificate
from softfloat_ref.proof.certify import certificate
from softfloat_ref.proof.engine import Decided, How
from softfloat_ref.proof.equal import Equality
from softfloat_ref.proof.later import Later
from softfloat_ref.proof.prove import STRATEGIES, Proof, prove
from softfloat_ref.proof.question import Counterexample, Problem, Question, other_latency
from softfloat_ref.proof.rtl import read_rtl
from softfloat_ref.proof.solver import SOLVERS
from softfloat_ref.proof.unroll import ANY, CHANGING, has_pauses
from softfloat_ref.proof.wave import check_wave, write_wave
from softfloat_ref.proof.yosys import FRONTENDS
from softfloat_ref.rtl.binding import flag_mask
from softfloat_ref.rtl.bundle import ALL_FLAGS
from softfloat_ref.rtl.fit import Misfit
from softfloat_ref.rtl.port_map import read_ports
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.testing import check  # noqa: F401  (the views of all kinds of units enter the table)
from softfloat_ref.testing.compare import CompareNan
from softfloat_ref.testing.report import case_lines
from softfloat_ref.testing.views import view_of

LIMIT_S: Final = 60.0
UNDECIDED: Final = 3
_OF_MODULES: Final = (
    "ports_file", "held", "first", "frontend", "output", "wave", "source_files", "include_dirs", "defines",
    "file_lists", "relative_lists", "library_files", "library_dirs",
)  # fmt: skip
_LEFT_OPEN: Final = {  # what is open, and what leaves it out, by whether it is of operations
    True: ("later operations are", "--first-operation proves the first one alone"),
    False: ("the sequence of random bits is", "without --random-source, it is left out"),
}
_CODES: Final = {"proved": 0, "counterexample": 1, "undecided": UNDECIDED}


@click.command("prove")
@click.argument("op", required=False, type=Name("OP", [*OPERATIONS, *QUANTIZATIONS, DOT, *BLOCK_OPERATIONS]))
@operands_option
@click.option("--out", metavar="FORMAT", help="Format of the result [that of the operands].")
@click.option(
    "--equal",
    metavar="TEXT",
    help="Compare with another definition, not with a module: options that change this one, such as"
    " '--tininess before', or a whole one, such as 'mul --fmt fp16 --policy arm'.",
)
@click.option("--no-flags", is_flag=True, help="--equal: compare the results only.")
@click.option("--ports", "ports_file", metavar="FILE.toml", help="The port map of the module.")
@click.option(
    "--assume", "assumed", metavar="TEXT", default="", help="Assume this of inputs: 'a is normal and b is 3c00'."
)
@click.option(
    "--register", "held", metavar="NAME=FIELD", multiple=True, help="A register that holds an input at first."
)
@click.option("--first-operation", "first", is_flag=True, help="Only the first operation after the reset.")
@click.option(
    "--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True, help="How cases are made."
)
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True),
    default=LIMIT_S,
    show_default=True,
    help="Time limit of a question to the solver, in seconds.",
)
@click.option("--confirm", type=click.Choice(list(SOLVERS)), help="Another solver that must agree.")
@click.option(
    "--frontend", type=click.Choice(FRONTENDS), default="slang", show_default=True, help="What reads the SOURCEs."
)
@click.option("--jobs", type=click.IntRange(1, 1024), default=None, help="Number of processes for cases [1].")
@click.option("--scheduler", metavar=SCHEDULERS, help="A Dask cluster for the cases.")
@click.option("--work", metavar="DIR", help="Keep results of cases in DIR, and go on from there.")
@click.option("--wave", metavar="FILE.vcd", help="The counterexample's waveform to write.")
@click.option("-o", "--output", metavar="FILE.json", help="The certificate to write.")
@click.option("--check", "checked", metavar="FILE.json", help="Check a certificate and the files it names.")
@source_options
@rounding_input
@dot_options
@profile_option
@policy_options
def command(
    choices: Choices,
    dots: dict[str, Any],
    sources: Sources,
    op: str | None,
    fmt: str | None,
    out: str | None,
    profile: str | None,
    equal: str | None,
    no_flags: bool,
    ports_file: str | None,
    assumed: str,
    held: tuple[str, ...],
    first: bool,
    strategy: Any,
    limit: float,
    confirm: str | None,
    frontend: Any,
    jobs: int | None,
    scheduler: str | None,
    work: str | None,
    wave: str | None,
    output: str | None,
    checked: str | None,
    roundings: str | None,
) -> int:
    """Prove that a module computes OP, for every input, or find an input where it does not.

    With --equal, prove that two definitions of OP are one, or find the simplest input that tells them apart:
    `softfloat-ref prove fma --fmt fp16 --equal '--tininess before'`.

    Exit code 0: proved; 1: a counterexample; 3: undecided within the limit. docs/prove.md explains what a proof says.
    """
    if checked is not None:
        _refuse(lambda n: n not in ("checked", "confirm"), "--check reads a certificate, which names unit and files")
        return _check(checked, confirm or "bitwuzla")
    source, choices = _source(choices, held)
    unit, how = input_unit(op, fmt, out, choices, profile, dots, roundings), How(limit, confirm=confirm or "")
    shared = jobs, scheduler, work
    if equal is not None:
        _refuse(lambda n: n in _OF_MODULES, "--equal compares two definitions, without a module")
        equality = Equality(unit, second_unit(equal), assumed, not no_flags)
        proof = told(equality) or _proved(equality, strategy, how, *shared)
        print("\n".join(compared(equality, equal, proof, limit)))
        return _CODES[proof.verdict]
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
        rtl = read_rtl(unit, read_ports(ports_file), sources, frontend)
    except Misfit as e:
        print("\n".join(f"FAIL: {line}" for line in e.lines))
        return 1
    if first and source is not None:
        raise Error("--random-source is about all operations, --first-operation about one; leave one of them out")
    question = Question(unit, rtl, dict(map(_register, held)), assumed, source)
    if first and question.design().observed.start in ("", ANY, CHANGING) and not has_pauses(rtl.ports):
        raise Error("--first-operation has no effect here: the proof covers every operation of this module")
    found = _proved(question, strategy, how, *shared, first)
    if output is not None:
        table = certificate(question, found, strategy, how, [Path(ports_file), *rtl.files], Path(output).parent)
        write_file(output, lambda stream: stream.write(json.dumps(table, indent=1).encode()))
    print("\n".join(_lines(question, found)))
    if wave is not None:
        print(_waved(question, found, wave))
    return _CODES[found.verdict]


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


def _source(choices: Choices, held: tuple[str, ...]) -> tuple[Lfsr | None, Choices]:
    """The source of which a register is the state, if one is given, and the other choices."""
    if "random_source" not in choices.given or not held:
        return None, choices
    if len(held) > 1 or not isinstance(choices.source, Lfsr):
        raise Error("--random-source is an lfsr, of which the one --register is the state")
    given = tuple(name for name in choices.given if name != "random_source")
    return choices.source, dataclasses.replace(choices, source=None, given=given)


def _proved(
    question: Problem,
    strategy: Any,
    how: How,
    jobs: int | None,
    scheduler: str | None,
    work: str | None,
    first: bool = False,
) -> Proof:
    total = max(len(question.cases), 1)
    with progress(total) as bar, workers(jobs if jobs or scheduler else 1, scheduler) as pool:

        def note(decided: Decided, done: int, of: int) -> None:
            bar.advance(f"{decided.case}: {decided.verdict}", 1)

        return prove(question, strategy, how, pool, work, note, first)


# -- in words ----------------------------------------------------------------------------------------------------------


def _lines(question: Question, proof: Proof) -> Iterator[str]:
    unit, module = question.unit, question.rtl.ports.module
    if proof.counterexample is not None:
        yield f"COUNTEREXAMPLE: {module} is not {unit.label}"
        yield from _counterexample(question, proof.counterexample)
        if (latency := other_latency(question)) is not None:
            yield f"  with latency = {latency}, most inputs that were tried have the right result"
    elif proof.verdict == "proved":
        yield f"PROVED: {module} is {unit.label} for {_inputs(question, proof)}{cases_words(proof)}"
        yield f"  {'; '.join([_circuit(question, proof.later), *_accepted(question, proof.later)])}"
    elif proof.later is not None:
        of, hint = _LEFT_OPEN[question.source is None or bool(proof.later.order)]
        yield f"UNDECIDED: {module} is {unit.label} for {_inputs(question, proof)}{cases_words(proof)}"
        yield f"  {'; '.join([_circuit(question, None), *_accepted(question, None)])}"
        yield f"  {of} not decided: {proof.later.said}; {hint}"
    else:
        yield from undecided(f"{module} and {unit.label}", proof)


def _inputs(question: Question, proof: Proof) -> str:
    defined = " with a defined result" if any(d.undefined for d in proof.cases) else ""
    return inputs_words(question, defined)


def _circuit(question: Question, later: Later | None) -> str:
    observed, ports = question.design().observed, question.rtl.ports
    if ports.clock is None:
        return "combinational"
    always = observed.start in (ANY, CHANGING)
    start = f"{'with' if always else 'the first operation'} {observed.start}"
    if later is not None and later.said:
        start = later.said
    if ports.latency is None and len(question.unit.parts) > 1:
        return start
    upto = "" if ports.latency is not None else "at most "
    return f"{upto}{counted(observed.cycles, 'cycle')}, {start}"


def _accepted(question: Question, later: Later | None) -> Iterator[str]:
    """What the proof says nothing of, and what was assumed of registers."""
    ports = question.rtl.ports
    if ports.ignore:
        yield f"without {', '.join(ports.ignore)}"
    yield from (f"{key} = {value}" for key, value in ports.tolerances.items() if value != "exact")
    yield from (f"register {name} holds {text}" for name, text in question.registers.items())
    if later is not None and later.order:
        yield later.order


def _counterexample(question: Question, found: Counterexample) -> Iterator[str]:
    unit, got = question.unit, found.answer(question.unit)
    view, flags = view_of(unit), flag_mask(question.rtl.ports)
    if not flags:
        got = got._replace(flags=None)
    if found.protocol and found.said:
        yield f"counterexample: {view.title}: {found.said}"
    else:
        kind = view.kind(found.inputs, found.expected, got, CompareNan.EXACT, True)
        kind = "no result, or not when it is due" if found.protocol else kind or "bits beside the fields"
        changes = [] if found.said else view.changes(found.inputs, got, unit.has_flags and flags == ALL_FLAGS)
        yield from case_lines("counterexample", view, found.inputs, found.expected, got, found.said or kind, changes)
    yield f"  vector {text_line(unit.fields)((*found.inputs, *found.expected)).strip()}"
    yield from (f"  {line}" for line in found.story)
    if found.others and not found.story:
        named = {name: value for name, value in found.others.items() if not name.startswith(UNDEFINED)}
        if named:
            yield "  with " + ", ".join(f"{name} = {value:x}" for name, value in list(named.items())[:8])
        if len(named) < len(found.others):
            yield "  with a choice for a value that the module leaves undefined (x)"


def _waved(question: Question, proof: Proof, path: str) -> str:
    """Write the waveform; the result in words."""
    later, found = proof.later, next((d for d in proof.cases if d.counterexample is not None), None)
    if later is not None and later.counterexample is not None and later.steps:
        cycles = write_wave(question.design(), later.counterexample, path, later.steps)
    elif found is not None and found.counterexample is not None:
        cycles = write_wave(question.design(question.case(found.case).part), found.counterexample, path)
    else:
        why = (
            "the counterexample is about the sequence of a register's states"
            if proof.counterexample
            else "there is no counterexample"
        )
        return f"{path}: not written, since {why}"
    return f"{path}: {counted(cycles, 'cycle')}"


def _check(path: str, solver: str) -> int:
    """Check a certificate: 0 if it holds."""
    table = read_certificate(path)
    found = list(problems(table, Path(path).parent, solver))
    for line in found:
        print(f"FAIL: {one_line(line)}")
    if not found:
        cases, files = counted(len(table["cases"]), "case"), counted(len(table["files"]), "file")
        of = one_line(f"{table.get('module')}, {table.get('name')}")
        print(f"PASS: {of}: {cases} proved, none left out; {files} unchanged")
    sys.stdout.flush()
    return 1 if found else 0
