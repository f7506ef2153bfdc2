"""`vectors generate`, `verify`, `diff`, `vhdl` and `list`."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import click

from softfloat_ref.app.options import SCHEDULERS, Commands, base_option
from softfloat_ref.app.output import progress
from softfloat_ref.app.requests import OP, UnitRequest, request_options, where_option
from softfloat_ref.app.vector_files import (
    Files,
    LevelChoice,
    command_line,
    file_options,
    level_options,
    print_list,
    print_trace,
    verify_folders,
    write_suite,
)
from softfloat_ref.base.errors import Error, one_line, unknown
from softfloat_ref.base.executors import Workers, workers
from softfloat_ref.base.files import stream_lines, write_data
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.manifest import read_manifest, require_file
from softfloat_ref.golden.parts import batches
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.suites import find_suite
from softfloat_ref.golden.vector_recipes import DEFAULT_COUNT, suite_files
from softfloat_ref.golden.verify import MAX_ORACLE_LINES, check_hashes
from softfloat_ref.rtl.tolerance import CompareNan
from softfloat_ref.workflow.units import DEFAULT_LANES, DEFAULT_PRODUCTS, fewest, is_name_of_recipe, is_operation

_RTL_COMMANDS: Final = ("ports", "testbench")


class _Group(Commands):
    """The commands of this module, and those that read RTL, whose modules are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_RTL_COMMANDS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _RTL_COMMANDS:
            return super().get_command(ctx, cmd_name)
        subcommand: click.Command = getattr(importlib.import_module(f"softfloat_ref.app.{cmd_name}"), cmd_name)
        return subcommand


@click.group("vectors", cls=_Group)
def command() -> None:
    """Generate, verify and list golden vectors."""


@command.command("generate")
@click.argument("recipe", required=False, metavar="[OP|RECIPE|SUITE]", type=OP)
@click.option(
    "--op",
    type=OP,
    help="Operation, or quantize, requantize, dot, matmul, softmax, BlockAdd, ..., or FILE.toml of an approximation.",
)
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=1),
    help=f"Number of vectors [{DEFAULT_COUNT}; softmax, norms: {DEFAULT_LANES}; matmul: {DEFAULT_PRODUCTS}].",
)
@level_options
@click.option(
    "-o", "--output", "folder", required=True, metavar="DIR", help="Output folder; - writes the lines to stdout."
)
@click.option("--operands", is_flag=True, help="With -o -: write operands only.")
@where_option
@click.option(
    "--from",
    "tensors",
    multiple=True,
    metavar="[FIELD=]FILE::TENSOR",
    help="Operands from a model: values of quantize; a and b of dot, matmul.",
)
@file_options
@click.option("--jobs", type=click.IntRange(1, 1024), help="Number of local processes [1].")
@click.option("--scheduler", metavar=SCHEDULERS, help="A Dask cluster that makes the lines.")
@request_options
def generate_vectors(
    request: UnitRequest,
    recipe: str | None,
    op: str | None,
    count: int | None,
    folder: str,
    operands: bool,
    where: str | None,
    tensors: tuple[str, ...],
    jobs: int | None,
    scheduler: str | None,
    files: Files,
    level: LevelChoice,
) -> int:
    """Write golden vectors of an operation and --fmt, or of a vector recipe or suite (see `vectors list`). --op OP is
    the same as OP.

    Directed cases come first, each made for a bin of a coverage model, then random cases. The folder gets TestFloat
    lines (.tv), $readmemh words (.memh), their SystemVerilog header (vectors.svh) and manifest.json, or the types of
    files that --format names; a suite gets a folder for each of its sets. The same request gives the same bytes.
    """
    _refuse_together(recipe, op, folder, operands, jobs or scheduler, files)
    if recipe is not None and (suite := find_suite(recipe)) is not None:
        request.refuse("a suite has its own formats and policies", ("seed",))
        if folder == "-":
            raise Error("a suite has several sets; give -o a folder")
        if where is not None or tensors:
            option = "--from" if where is None else "--where"
            raise Error(f"a suite has sets of many operands; leave {option} out")
        with workers(jobs, scheduler) if jobs or scheduler else nullcontext() as pool:
            write_suite(suite, folder, count, request.choices.seed, level.name, files, pool)
        return 0
    if recipe is not None and not is_operation(recipe) and not is_name_of_recipe(recipe):
        raise unknown("operation, vector recipe or suite", recipe, (*OP.names, *suite_files()))
    vectors = request.vectors(op or recipe, count, level.name, where=where, tensors=tensors)
    level.confirm(vectors)
    if folder == "-":
        _to_stdout(vectors, operands)
        return 0
    with workers(jobs, scheduler) if jobs or scheduler else nullcontext() as pool:
        _write(files.with_intermediate(vectors), folder, pool, files)
    return level.missed(vectors)


def _refuse_together(
    recipe: str | None, op: str | None, folder: str, operands: bool, shared: object, files: Files
) -> None:
    """Raises Error for options that do not go together."""
    if (recipe is None) == (op is None):
        raise Error("give a vector recipe, or --op and --fmt (`softfloat-ref vectors list` shows the recipes)")
    if shared and folder == "-":
        raise Error("--jobs and --scheduler are for sets of lines in a folder")
    if operands and folder != "-":
        raise Error("--operands needs -o -: it only works when streaming")
    if folder == "-":
        files.refuse()


def _write(vectors: VectorSet, folder: str, pool: Workers | None, files: Files) -> None:
    """Write a set of lines, and report it."""
    if files.pack:
        raise Error("--pack is for suites (`softfloat-ref vectors list` shows them)")
    several = len(vectors.unit.parts) > 1  # then the cases of each part are found before the lines are made
    with progress(vectors.count * (1 + several)) as bar:
        manifest = generate(
            vectors, folder, command_line(), pool, formats=files.formats, resume=files.resume, advance=bar.advance
        )
    left_out = manifest["left_out"]["count"]
    note = f", {left_out} without a defined result left out" if left_out else ""
    print(
        f"{manifest['count']} {vectors.cases.noun} of {vectors.name}{note} in {folder}: "
        f"{', '.join(f['name'] for f in manifest['files'])}, manifest.json",
        file=sys.stderr,
    )


def _to_stdout(vectors: VectorSet, operands: bool) -> None:
    fields = vectors.unit.inputs if operands else [f for f in vectors.fields if f.role != "intermediate"]
    for part in batches(vectors):
        sys.stdout.write(bytes(part.batch.of(fields).text).decode("ascii"))


@command.command("verify")
@click.argument("folders", nargs=-1, required=True, metavar="[DIR...|-]")
@click.option("--golden", metavar="DIR", help="With -: the vectors that a bench ran, whose log the lines are.")
@click.option("--op", type=OP, help="With -: the operation of the lines, with its formats and options.")
@click.option("-n", "count", type=click.IntRange(min=1), help="With -: expected number of lines.")
@click.option("--compare-nan", type=click.Choice([str(c) for c in CompareNan]), help="With -: comparison of NaNs.")
@click.option("--no-flags", is_flag=True, help="With -: ignore flags; lines may omit them.")
@click.option("--where", metavar="RANGE", help="With -: only compare lines with operands within this range.")
@base_option
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Recompute N lines, spread over the set.")
@click.option("--every", is_flag=True, help=f"Recompute every line by the oracle, even beyond {MAX_ORACLE_LINES}.")
@click.option("--from", "models", multiple=True, metavar="MODEL", help="Compare operands with the model's tensors.")
@request_options
def verify_vectors(
    request: UnitRequest,
    folders: tuple[str, ...],
    golden: str | None,
    op: str | None,
    count: int | None,
    compare_nan: str | None,
    no_flags: bool,
    where: str | None,
    base: str | None,
    sample: int | None,
    every: bool,
    models: tuple[str, ...],
) -> int:
    """Check folders of vectors, or of suites: hashes, counts, and every expected value recomputed by the oracle.

    All hashes and counts are always checked. If a set is so large that compiled code made it, compiled code recomputes
    every line, and the oracle recomputes a sample.

    With -, check TestFloat lines from stdin: operands, result and flags of --op under the policy options, or of the
    unit in --golden DIR, as in a bench's log. Give -n with -; without it, a device that stops halfway passes. Exit code
    1 if anything differs.
    """
    if sample is not None and every:
        raise Error("--sample N and --every contradict each other")
    if folders == ("-",):
        if sample is not None or every or models:
            raise Error("--sample, --every and --from are for folders")
        if golden is not None:
            why = "--golden has its own operation, formats and policy"
            if op is not None:
                raise Error(f"{why}; leave --op out")
            request.refuse(why)
            vectors = check_hashes(Path(golden), read_manifest(Path(golden))).compared()
        elif op is None:
            raise Error("verify - needs --op and --fmt, or --golden DIR")
        else:
            vectors = request.vectors(op, None, default=fewest)
        return _verify_lines(vectors, count, CompareNan(compare_nan or "exact"), not no_flags, where or "", base)
    if any(x is not None for x in (golden, op, count, compare_nan, where, base)) or no_flags:
        names = "--golden, --op, -n, --compare-nan, --no-flags, --where and --base"
        raise Error(f"{names} only apply to -; a folder has its own")
    request.refuse("a folder has its own operation, formats and policy")
    return verify_folders(folders, sample, every, models)


def _verify_lines(
    vectors: VectorSet, count: int | None, nan: CompareNan, flags: bool, where: str, base: str | None
) -> int:
    from softfloat_ref.diagnosis.parts import explanation
    from softfloat_ref.testing import report as reports
    from softfloat_ref.testing.check import check_lines

    report = check_lines(
        vectors, stream_lines(sys.stdin, "stdin"), nan=nan, flags=flags, where=where, count=count, base=base
    )
    for line in reports.report_lines(report):
        print(line)
    sys.stdout.flush()  # a diagnosis may take a while
    cause = explanation(report)
    for line in cause.lines() if cause else []:
        print(line)
    print("\n".join([*reports.reading(report.form, report.not_compared), reports.summary(report)]), file=sys.stderr)
    return 0 if report.passed else 1


@command.command("diff")
@click.argument("first", metavar="DIR")
@click.argument("second", metavar="DIR")
def diff_vectors(first: str, second: str) -> int:
    """Compare two folders of vectors: definition, cases, expected values. Exit code 1 if anything differs."""
    from softfloat_ref.golden.diff import SHOWN, diff

    difference = diff(first, second)
    for title, lines in (
        ("definition", difference.definition),
        (f"only in {first}", difference.only_first),
        (f"only in {second}", difference.only_second),
        ("expected values", difference.changed),
    ):
        if lines:
            print(f"{title}: {len(lines)}")
            print("\n".join(f"  {one_line(line)}" for line in lines[:SHOWN]))
            if len(lines) > SHOWN:
                print(f"  ... and {len(lines) - SHOWN} more")
    print("no difference" if difference.same else "they differ", file=sys.stderr)
    return 0 if difference.same else 1


@command.command("vhdl")
@click.argument("folder", metavar="DIR")
@click.option("-o", "--output", metavar="FILE.vhd", default="-", help="The package to write [stdout].")
def vhdl(folder: str, output: str) -> None:
    """Write the VHDL-2008 package vectors_pkg for the vectors in DIR.

    It contains their count, word width and field positions, and procedures that read the .memh words or the .tv lines.
    These end the simulation if a file is truncated, has wrong digits, or holds a different number of vectors.
    """
    from softfloat_ref.rtl.ghdl import package_text

    manifest = read_manifest(Path(folder))
    name = check_hashes(Path(folder), manifest).name
    require_file(Path(folder), manifest, "memh", "tv")
    text = package_text(manifest, name)
    if output == "-":
        sys.stdout.write(text)
        return
    write_data(output, text.encode("ascii"))
    print(f"{output}: vectors_pkg, {manifest['count']} vectors of {name}", file=sys.stderr)


@command.command("list")
@click.argument("folder", required=False, metavar="[DIR]")
def list_vectors(folder: str | None) -> None:
    """List the vector recipes and suites that `vectors generate` takes by name, or the tensors of the trace in DIR.

    Of each tensor: its name, the operation that makes it, its format and its shape.
    """
    if folder is None:
        print_list()
    else:
        print_trace(folder)
