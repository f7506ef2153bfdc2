"""`verify`: from the sources of a module to a verdict."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from softfloat_ref.app.options import NameType, Seconds, option_name
from softfloat_ref.app.output import running
from softfloat_ref.app.ports import parameter, protocol_option, setting_option
from softfloat_ref.app.requests import OP, UnitRequest, request_options, where_option
from softfloat_ref.app.source_options import SOURCE_PARAMETERS, source_options
from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import MAX_JOBS
from softfloat_ref.explanation.scalar import choice_text
from softfloat_ref.rtl.bench_runs import RUN_TIMEOUT_S
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.units import MixedUnit, OperationUnit, Unit, options_of
from softfloat_ref.units.several import with_places
from softfloat_ref.units.unit import LETTERS
from softfloat_ref.workflow.units import default_count
from softfloat_ref.workflow.verification import LIMIT_S, Stage, Verification
from softfloat_ref.workflow.verify_module import CommandWords, Watcher, verify_module

_OWN: Final = (
    *("module", "values", "settings", "protocols", "ulp", "ports_file", "count", "where"),
    *("sim", "timeout", "limit", "jobs", "no_prove", "folder"),
)
_MARKS: Final = {"done": " ", "passed": "+", "failed": "-", "undecided": "?", "left out": " "}


class _OperationsCommand(click.Command):
    """A command that takes several operations before its sources."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take words of operations from the sources."""
        rest = super().parse_args(ctx, args)
        files = ctx.params["source_files"]
        more = [*takewhile(_is_operation, files)] if ctx.params["op"] is not None else []
        if more:
            ctx.params |= {"op": ",".join((ctx.params["op"], *more)), "source_files": files[len(more) :]}
        return rest


def _is_operation(word: str) -> bool:
    """Whether a word is rather an operation than a source: it has no suffix and no folder, and is no file."""
    return not set(word) & {".", "/", "\\"} and not Path(word).exists()


@click.command("verify", cls=_OperationsCommand)
@click.argument("op", required=False, type=OP, metavar="OP...")
@source_options
@click.option("--top", "module", required=True, metavar="MODULE", help="The module to verify.")
@click.option("-G", "values", metavar="NAME=VALUE", multiple=True, help="Set a parameter, to a SystemVerilog text.")
@click.option("--ports", "ports_file", metavar="FILE.toml", help="The port map of the module [drafted].")
@setting_option
@protocol_option
@click.option("--ulp", metavar="N", help="Largest error that the module may have, in ulp, such as 0.75.")
@click.option("-n", "count", type=click.IntRange(min=1), help="Number of vectors [as `vectors generate`].")
@where_option
@click.option("--sim", type=NameType("SIMULATOR", ("verilator", "icarus")), help="The simulator [the first there is].")
@click.option(
    "--timeout", type=Seconds(min=1), help=f"Timeout of each build and simulation, in seconds [{RUN_TIMEOUT_S}]."
)
@click.option(
    "--limit",
    type=Seconds(min=0, min_open=True),
    help=f"Time limit of a question to the solver, in seconds of the processor [{LIMIT_S}].",
)
@click.option(
    "--jobs", type=click.IntRange(1, MAX_JOBS), help="Number of processes for cases of the proof [processors]."
)
@click.option("--no-prove", is_flag=True, help="End with the verdict of the simulation.")
@click.option(
    "-o", "--output", "folder", metavar="DIR", help="Keep all files and a report in DIR; go on from there later."
)
@request_options
def command(
    request: UnitRequest,
    sources: Sources,
    op: str | None,
    module: str,
    values: tuple[str, ...],
    ports_file: str | None,
    settings: tuple[str, ...],
    protocols: tuple[str, ...],
    ulp: str | None,
    count: int | None,
    where: str | None,
    sim: str | None,
    timeout: float | None,
    limit: float | None,
    jobs: int | None,
    no_prove: bool,
    folder: str | None,
) -> int:
    """Verify that a module computes OP: draft its port map, simulate vectors, diagnose, and prove.

    Several operations are those of a unit with an operation code: `verify add sub mul convert:fp16:i32 --fmt fp16`;
    OP:FORMAT:OUT has its own formats, and OP@bc takes operands b and c.

    If another policy, profile or accumulator explains a module that fails, it is simulated against that one, too. With
    -o DIR, everything is kept there, with a report (report.md, report.html, junit.xml), and an unchanged module is not
    verified again.

    Exit code 0: nothing differs, and it is proved unless a proof is left out; 1: something differs; 3: undecided,
    nothing differs so far. docs/verify.md has more.
    """
    for option, value in (("--limit", limit), ("--jobs", jobs)):
        if no_prove and value is not None:
            raise Error(f"{option} is for the proof; leave it or --no-prove out")
    vectors = request.vectors(op, count, where=where, default=default_count)
    unit_words = tuple(_typed(lambda n: n not in (*_OWN, *SOURCE_PARAMETERS)))
    words = CommandWords(
        unit_words,
        tuple(_typed(lambda n: n in SOURCE_PARAMETERS)),
        tuple(_typed(lambda n: n in ("values", "settings", "protocols"))),
        partial(_options_of, vectors.unit, unit_words),
    )
    with _Progress() as progress:
        verification = verify_module(
            vectors,
            sources,
            module,
            dict(map(parameter, values)),
            ports=ports_file,
            settings=settings,
            protocols=protocols,
            ulp=ulp,
            sim=sim,
            timeout_s=timeout or RUN_TIMEOUT_S,
            limit_s=None if no_prove else limit or LIMIT_S,
            jobs=jobs,
            folder=folder,
            watcher=progress,
            words=words,
            spell=_option,
        )
    _print_verdict(verification)
    if verification.is_stored:
        print("nothing has changed: this is the result of the last run", file=sys.stderr)
    elif folder:
        print(f"{folder.rstrip('/')}: {', '.join(verification.files)}", file=sys.stderr)
    return verification.exit_code


def _option(name: str) -> str:
    return {"settings": "--set", "protocols": "--protocol"}.get(name) or option_name(name)


class _Progress(ExitStack, Watcher):
    """What is done at the moment on stderr, and each stage as it ends on stdout."""

    def begin(self, words: str) -> None:
        """Show what begins."""
        self.close()
        self.enter_context(running(words))

    def end(self, stage: Stage) -> None:
        """Print a stage."""
        self.close()
        _print_stage(stage)

    def say(self, line: str) -> None:
        """Print a line on stderr."""
        print(line, file=sys.stderr)


def _print_stage(stage: Stage) -> None:
    first, *rest = stage.lines or ("",)
    print(f"{_MARKS[stage.verdict]} {stage.name}: {first}")
    print("".join(f"    {line}\n" for line in rest), end="", flush=True)


def _print_verdict(verification: Verification) -> None:
    print(
        "\n".join(["", *verification.lines, "", "to repeat:", *(f"  {x}" for x in verification.commands)]), flush=True
    )


# -- the command line --------------------------------------------------------------------------------------------------


def _typed(wanted: Callable[[str], bool]) -> Iterator[str]:
    """The words of the command line for some parameters."""
    context = click.get_current_context()
    for parameter_ in context.command.params:
        name = parameter_.name or ""
        if not wanted(name) or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        for item in value if isinstance(value, tuple) else (value,):
            option = [parameter_.opts[0]] if isinstance(parameter_, click.Option) else []
            yield from (*option, *(() if item is True else (str(item),)))


def _options_of(asked: Unit, words: Sequence[str], unit: Unit) -> tuple[str, ...] | None:
    """The words of a command for a unit that differs from the one that was asked for; None if options cannot say it."""
    from softfloat_ref.app.prove import second_unit  # with all of proof

    changed: list[str] = []
    if isinstance(asked, OperationUnit) and isinstance(unit, OperationUnit) and asked.formats != unit.formats:
        formats = ",".join(f"{x}={fmt.name}" for x, fmt in zip(LETTERS, unit.formats, strict=False))
        words = [formats if before == "--fmt" else word for before, word in zip(("", *words), words, strict=False)]
    for name in ("profile", "accumulator", "rule", "policy"):
        ours, theirs = getattr(asked, name, None), getattr(unit, name, None)
        if ours == theirs or theirs is None:
            continue
        if name == "policy":
            before, after = ours.to_dict(), theirs.to_dict()  # type: ignore[union-attr]
            differing = {k: v for k, v in after.items() if v != before[k]}
            changed += [word for k, v in differing.items() for word in (option_name(k), choice_text(v))]
        else:
            changed += [option_name(_option_of(name, asked)), str(theirs.name)]
    typed = (*words, *changed)
    if isinstance(asked, MixedUnit) and isinstance(unit, MixedUnit):
        places = dict(zip((part.op for part in unit.operations), unit.places, strict=False))
        typed = (with_places(words[0], places), *words[1:])
    try:
        return typed if second_unit(shlex.join(typed)) == unit else None
    except Error:
        return None


def _option_of(field: str, unit: Unit) -> str:
    """The option that gives a field of a unit."""
    if field == "rule":
        return field if field in options_of(unit.properties()["op"]) else "profile"
    return "acc" if field == "accumulator" else field
