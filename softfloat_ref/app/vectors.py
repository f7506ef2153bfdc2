"""`vectors generate`, `vectors verify`, `vectors diff`, `vectors list`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import click

from softfloat_ref.app.dot_options import (
    DOT_OPERATIONS,
    dot_set,
    matmul_set,
    product_options,
    refuse_dots,
    refuse_matmul,
)
from softfloat_ref.app.levels import LevelChoice, level_options
from softfloat_ref.app.options import ANY, SCHEDULERS, Choices, Name, operand_formats, policy_options, profile_option
from softfloat_ref.app.vector_files import (
    Files,
    command_line,
    file_options,
    print_list,
    verify_folders,
    write_suite,
)
from softfloat_ref.app.vhdl import vhdl
from softfloat_ref.block_formats import get_block_format
from softfloat_ref.errors import Error
from softfloat_ref.executors import Workers, workers
from softfloat_ref.files import write_file
from softfloat_ref.golden.generate import generate
from softfloat_ref.golden.kinds import AnySet, of_count
from softfloat_ref.golden.manifest import read_manifest, require_file
from softfloat_ref.golden.matmuls import MATMUL, MatmulSet
from softfloat_ref.golden.mixed import controls
from softfloat_ref.golden.recipes import load_recipe
from softfloat_ref.golden.sets import BLOCK_OPERATIONS, VectorSet, in_bulk
from softfloat_ref.golden.suites import find_suite
from softfloat_ref.golden.verify import ORACLE_LINES, check_hashes
from softfloat_ref.golden.writers import text_line
from softfloat_ref.ops import OPERATIONS, get_operation
from softfloat_ref.testing.compare import CompareNan

DEFAULT_COUNT: Final = 10_000
DEFAULT_PRODUCTS: Final = 4


@click.group("vectors")
def command() -> None:
    """Generate, verify and list golden vectors."""


command.add_command(vhdl)


@command.command("generate")
@click.argument("recipe", required=False)
@click.option(
    "--op",
    type=Name("OP", [*OPERATIONS, *BLOCK_OPERATIONS, *DOT_OPERATIONS]),
    help="Operation, or quantize, dequantize, dot, matmul.",
)
@click.option("--fmt", type=ANY, help="Format; one an operand as a=..,b=..; a block format for quantize, dequantize.")
@click.option("--out", default=None, help="The result's format; for quantize, the format of the values (fp32).")
@click.option("-n", "count", type=click.IntRange(min=1), default=None, help=f"How many vectors [{DEFAULT_COUNT}].")
@level_options
@click.option(
    "-o", "--output", "folder", required=True, metavar="DIR", help="Where the files go; - writes the lines to stdout."
)
@click.option("--operands", is_flag=True, help="With -o -: operands only, for a device in a pipe.")
@file_options
@click.option("--jobs", type=click.IntRange(1, 1024), default=None, help="Local processes that make the lines [1].")
@click.option("--scheduler", default=None, metavar=SCHEDULERS, help="A Dask cluster that makes the lines.")
@product_options
@profile_option
@policy_options
def generate_vectors(
    choices: Choices,
    seed: int | None,
    dots: dict[str, Any],
    recipe: str | None,
    op: str | None,
    fmt: str | None,
    out: str | None,
    count: int | None,
    folder: str,
    operands: bool,
    jobs: int | None,
    scheduler: str | None,
    profile: str | None,
    files: Files,
    level: LevelChoice,
) -> int:
    """Write golden vectors: RECIPE, a recipe or suite (see `vectors list`), or --op and --fmt.

    Directed cases come first, each made for a bin of a coverage model, then random ones. The folder gets TestFloat
    lines (.tv), $readmemh words (.memh), their SystemVerilog header (vectors.svh) and manifest.json, or the types of
    files that --format names; of a suite, a folder for each of its sets. The same request gives the same bytes.
    """
    _refuse_together(recipe, op, folder, operands, jobs or scheduler, files)
    vectors: AnySet
    if op not in DOT_OPERATIONS:
        refuse_dots(f"--op {op}" if op else "a recipe", dots)
    if recipe is not None:
        _refuse_own_policy(choices, profile, fmt, out)
        if (suite := find_suite(recipe)) is not None:
            if folder == "-":
                raise Error("a suite has several sets; give -o a folder")
            with workers(jobs, scheduler) if jobs or scheduler else nullcontext() as crew:
                write_suite(suite, folder, count, seed, level.name, files, crew)
            return 0
        vectors = level.applied(_from_recipe(recipe, count, seed), count)
    elif op in DOT_OPERATIONS:
        if profile is not None:
            raise Error("--profile is for quantize: a dot product takes codes and scales")
        if op == MATMUL:
            _write_matmul(matmul_set(fmt, out, count or DEFAULT_PRODUCTS, seed, choices, dots), folder)
            return 0
        refuse_matmul(dots)
        vectors = level.applied(dot_set(fmt, out, count or DEFAULT_COUNT, seed, choices, dots), count)
    else:
        vectors = _from_options(str(op), fmt, out, count, seed, choices, profile, level.name)
    level.confirm(vectors)
    if folder == "-":
        _to_stdout(vectors, operands)
        return 0
    with workers(jobs, scheduler) if jobs or scheduler else nullcontext() as crew:
        _write(files.with_intermediate(vectors), folder, crew, files)
    return level.missed(vectors)


def _refuse_together(
    recipe: str | None, op: str | None, folder: str, operands: bool, shared: object, files: Files
) -> None:
    """Raises Error for options that do not go together."""
    if (recipe is None) == (op is None):
        raise Error("give a recipe, or --op and --fmt (`softfloat-ref vectors list` shows the recipes)")
    if shared and (folder == "-" or op == MATMUL):
        raise Error("--jobs and --scheduler are for sets of lines in a folder")
    if op == MATMUL and (operands or folder == "-"):
        raise Error("matmul writes memory images; give -o a folder, and no --operands")
    if operands and folder != "-":
        raise Error("--operands goes with -o -, for a device in a pipe")
    if folder == "-" or op == MATMUL:
        files.refuse()


def _refuse_own_policy(choices: Choices, profile: str | None, fmt: str | None, out: str | None) -> None:
    """Raises Error for options that say what a recipe says."""
    refused = [*choices.given, *(["profile"] if profile is not None else [])]
    if refused:
        raise Error(f"a recipe has its own policy; leave --{refused[0].replace('_', '-')} out, or copy the recipe")
    if fmt is not None or out is not None:
        raise Error("a recipe has its own formats; leave --fmt and --out out")


def _write(vectors: AnySet, folder: str, crew: Workers | None, files: Files) -> None:
    """Write a set of lines, and say so."""
    if files.pack:
        raise Error("--pack is for suites (`softfloat-ref vectors list` shows them)")
    manifest = generate(vectors, folder, command_line(), crew, formats=files.formats, resume=files.resume)
    left_out = manifest["left_out"]["count"]
    note = f", {left_out} without a defined result left out" if left_out else ""
    print(
        f"{manifest['count']} vectors of {vectors.name}{note} in {folder}: "
        f"{', '.join(f['name'] for f in manifest['files'])}, manifest.json",
        file=sys.stderr,
    )


def _write_matmul(vectors: MatmulSet, folder: str) -> None:
    from softfloat_ref.golden.matmul_files import generate_matmul

    manifest = generate_matmul(vectors, folder, ["softfloat-ref", *sys.argv[1:]])
    names = ", ".join(f["name"] for f in manifest["files"])
    print(f"{manifest['count']} products of {vectors.name} in {folder}: {names}, manifest.json", file=sys.stderr)


def _to_stdout(vectors: AnySet, operands: bool) -> None:
    roles = ("control", "operand", "random", *(() if operands else ("result", "flags")))
    fields = [f for f in vectors.fields if f.role in roles]
    if isinstance(vectors, VectorSet) and in_bulk(vectors):
        from softfloat_ref.golden import bulk

        for rows, _ in bulk.batches(vectors):
            sys.stdout.write(bulk.text(rows[: len(fields)], fields).tobytes().decode("ascii"))
        return
    as_text, columns = text_line(fields), sum(f.lanes for f in fields)
    for inputs in vectors.inputs():
        line = vectors.line(inputs)
        if line is not None:
            sys.stdout.write(as_text(line[:columns]))


def _from_recipe(recipe: str, count: int | None, seed: int | None) -> AnySet:
    import dataclasses

    changes: dict[str, Any] = {} if seed is None else {"seed": seed}
    vectors = load_recipe(recipe) if count is None else of_count(load_recipe(recipe), count)
    if seed is not None and isinstance(vectors, VectorSet) and vectors.source.startswith("philox"):
        changes["source"] = f"philox:seed={seed}"
    return dataclasses.replace(vectors, **changes)


def _from_options(
    op: str,
    fmt: str | None,
    out: str | None,
    count: int | None,
    seed: int | None,
    choices: Choices,
    profile: str | None,
    level: str | None = None,
) -> VectorSet:
    if fmt is None:
        raise Error(f"--op {op} needs --fmt")
    if choices.random_bits is not None:
        raise Error("vectors take their random bits from a source: give --random-source or --seed")
    formats: Any = fmt
    if op in BLOCK_OPERATIONS:
        choices = choices.for_blocks(get_block_format(fmt), profile)
    elif profile is not None:
        raise Error("--profile is for quantize and dequantize")
    else:
        operation = get_operation(op)
        formats = operand_formats(fmt, operation.arity, operation.name)
    choices.check()
    source = choices.source.spec() if choices.source else None
    return VectorSet.make(
        op,
        formats,
        count if count or level else DEFAULT_COUNT,
        level=level,
        out=out,
        seed=seed or 0,
        policy=choices.policy,
        profile=profile,
        source=source,
    )


@command.command("verify")
@click.argument("folders", nargs=-1, required=True, metavar="[DIR...|-]")
@click.option("--op", type=Name("OP", OPERATIONS), help="With -: the operation of the lines.")
@click.option("--fmt", default=None, help="With -: the operands' formats.")
@click.option("--out", default=None, help="With -: the result's format.")
@click.option("-n", "count", type=click.IntRange(min=1), default=None, help="With -: how many lines must come.")
@click.option("--compare-nan", type=click.Choice([str(c) for c in CompareNan]), default=None, help="With -: [exact].")
@click.option("--no-flags", is_flag=True, help="With -: flags do not count, and need not be there.")
@click.option(
    "--sample", type=click.IntRange(min=1), default=None, metavar="N", help="Recompute N lines, spread over the set."
)
@click.option("--every", is_flag=True, help=f"The oracle recomputes every line, also beyond {ORACLE_LINES} of them.")
@policy_options
def verify_vectors(
    choices: Choices,
    seed: int | None,
    folders: tuple[str, ...],
    op: str | None,
    fmt: str | None,
    out: str | None,
    count: int | None,
    compare_nan: str | None,
    no_flags: bool,
    sample: int | None,
    every: bool,
) -> int:
    """Check folders of vectors, or of suites: hashes, counts, and every expected value recomputed by the oracle.

    Hashes and counts are always all checked. Where a set is so large that compiled code made it, that also recomputes
    every line, and the oracle a sample.

    With -, TestFloat lines on stdin, whoever wrote them: operands, result and flags of --op under the policy options.
    Give -n there, or a device that stops halfway passes. Exit code 1 if anything differs.
    """
    if sample is not None and every:
        raise Error("--sample N and --every contradict each other")
    if folders == ("-",):
        if sample is not None or every:
            raise Error("--sample and --every are for folders")
        if op is None:
            raise Error("verify - needs --op and --fmt")
        vectors = _from_options(op, fmt, out, None, None, choices, None)
        return _verify_lines(vectors, count, CompareNan(compare_nan or "exact"), not no_flags)
    if any(x is not None for x in (op, fmt, out, count, compare_nan)) or no_flags:
        raise Error("--op, --fmt, --out, -n, --compare-nan and --no-flags go with -; a folder has its own")
    return verify_folders(folders, sample, every)


def _verify_lines(vectors: VectorSet, count: int | None, nan: CompareNan, flags: bool) -> int:
    from softfloat_ref.testing import report as reports
    from softfloat_ref.testing.check import check_lines

    found = check_lines(vectors, sys.stdin, nan=nan, flags=flags, count=count)
    for line in reports.text(found):
        print(line)
    print(reports.summary(found), file=sys.stderr)
    return 0 if found.passed else 1


@command.command("diff")
@click.argument("first", metavar="DIR")
@click.argument("second", metavar="DIR")
def diff_vectors(first: str, second: str) -> int:
    """What changed between two folders of vectors: definition, cases, expected values. Exit code 1 if anything did."""
    from softfloat_ref.golden.diff import SHOWN, diff

    found = diff(first, second)
    for title, lines in (
        ("definition", found.definition),
        (f"only in {first}", found.only_first),
        (f"only in {second}", found.only_second),
        ("expected values", found.changed),
    ):
        if lines:
            print(f"{title}: {len(lines)}")
            print("\n".join(f"  {line}" for line in lines[:SHOWN]))
            if len(lines) > SHOWN:
                print(f"  ... and {len(lines) - SHOWN} more")
    print("no difference" if found.same else "they differ", file=sys.stderr)
    return 0 if found.same else 1


@command.command("testbench")
@click.argument("folder", metavar="DIR")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--ports", "ports_file", required=True, metavar="FILE.toml", help="What the module's ports carry.")
@click.option("-o", "--output", metavar="FILE.sv", default=None, help="The bench.")
@click.option("--run", "run", is_flag=True, help="Build the bench with the SOURCEs and run it.")
@click.option("--sim", type=Name("SIMULATOR", ("verilator", "icarus")), default=None, help="Which, with --run.")
@click.option("--results", metavar="FILE", default=None, help="With --run: a line of what came out for every vector.")
def testbench(
    folder: str,
    sources: tuple[str, ...],
    ports_file: str,
    output: str | None,
    run: bool,
    sim: str | None,
    results: str | None,
) -> int:
    """Write a self-checking SystemVerilog bench for a module, from the vectors in DIR and a port map.

    With --run it is built with the module's SOURCEs and run: exit code 1 unless it passes. docs/testbench.md says what
    a port map is.
    """
    from softfloat_ref.rtl.ports import read_ports
    from softfloat_ref.rtl.testbench import bench_text, top_name

    if run != bool(sources):
        raise Error("--run needs the module's sources" if run else f"{sources[0]}: sources are for --run")
    if not run and (output is None or results is not None):
        raise Error("give -o FILE.sv, or --run SOURCE...; --results goes with --run")
    manifest = read_manifest(Path(folder))
    vectors = check_hashes(Path(folder), manifest)
    require_file(Path(folder), manifest, "memh")
    ports = read_ports(ports_file)
    text = bench_text(manifest, controls(vectors), ports, folder, f"{folder} and {ports_file}")
    if output is not None:
        write_file(output, lambda stream: stream.write(text.encode()))
        print(f"{output}: {top_name(ports)}, {manifest['count']} vectors for {ports.module}", file=sys.stderr)
    if not run:
        return 0
    plusargs = [f"+vectors={Path(folder).resolve()}"]
    plusargs += [] if results is None else [f"+results={Path(results).resolve()}"]
    return _simulate(text, top_name(ports), plusargs, sources, sim, manifest["count"])


def _simulate(text: str, top: str, plusargs: list[str], sources: tuple[str, ...], sim: str | None, count: int) -> int:
    """Build and run a bench; prints what it says."""
    import tempfile

    from softfloat_ref.rtl.fit import Misfit
    from softfloat_ref.rtl.simulators import ToolError, find

    simulator = find(sim)
    with tempfile.TemporaryDirectory() as work:
        bench = Path(work, f"{top}.sv")
        bench.write_text(text, encoding="utf-8")
        print(f"{top}: simulated by {simulator.name}", file=sys.stderr)
        try:
            result = simulator.run([bench, *sources], top, work_dir=work, plusargs=plusargs, bench=bench)
        except Misfit as e:
            print("\n".join(f"FAIL: {line}" for line in e.lines))
            return 1
        except ToolError as e:  # its log goes with the folder
            print("\n".join(e.tail), file=sys.stderr)
            raise Error(e.reason) from None
    lines = result.output.splitlines()
    verdicts = [i for i, line in enumerate(lines, 1) if line.startswith(("PASS", "FAIL"))]
    print("\n".join(lines[: verdicts[-1]] if verdicts else lines))  # what follows a verdict is the simulator's
    return 0 if result.passed and f"PASS: {count} of {count} vectors" in result.output else 1


@command.command("list")
def list_vectors() -> None:
    """The recipes and suites that `vectors generate` takes by name."""
    print_list()
