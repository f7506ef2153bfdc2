"""`export`: a unit as a circuit or program in another language."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from softfloat_ref.app.options import NameType, option_name, parameter
from softfloat_ref.app.requests import OP, UnitRequest, request_options
from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.files import check_place, write_data
from softfloat_ref.export.c import header_text
from softfloat_ref.export.languages import LANGUAGES, export_circuit, find_language, is_name, source_text
from softfloat_ref.export.library import (
    SPECIALIZATIONS,
    TABLE_WIDTH,
    library_files,
    library_policy,
    specialization,
    write_library,
)
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.formats import Format

_LIBRARY_FORMATS: Final = "fp16,bf16,fp32,fp64,extf80,fp128"  # by default: those that SoftFloat has


@click.command("export")
@click.argument("ops", metavar="OP...", nargs=-1, type=OP)
@click.option("--lang", type=NameType("LANGUAGE", LANGUAGES), metavar="|".join(LANGUAGES), help="The language.")
@click.option("-o", "--output", metavar="FILE", default="-", help="The file; of C, with FILE.h beside it [stdout].")
@click.option("--name", metavar="NAME", help="Name of the module or function [that of FILE, or the unit's].")
@click.option("--stat", is_flag=True, help="sv: print the cells and the depth that Yosys makes of it.")
@click.option("--library", metavar="DIR", help="A C library of all operations on --fmt F,F,... in a new folder.")
@click.option("--mixed", is_flag=True, help="--library: also operations whose result has a wider format.")
@click.option("--tables", is_flag=True, help="--library: add, sub, mul and div of up to 8 bits by tables.")
@click.option("--prefix", metavar="PREFIX", help="--library: what every name in C begins with.")
@click.option(
    "--specialization",
    "special",
    type=NameType("NAME", SPECIALIZATIONS),
    metavar="|".join(SPECIALIZATIONS),
    help="--library: the NaNs and integers of SoftFloat's, in place of a policy.",
)
@request_options
def command(
    request: UnitRequest,
    ops: tuple[str, ...],
    lang: str | None,
    output: str,
    name: str | None,
    stat: bool,
    library: str | None,
    mixed: bool,
    tables: bool,
    prefix: str | None,
    special: str | None,
) -> None:
    """Write what OP computes as SystemVerilog, C, SMT-LIB 2 or BTOR2, bit for bit what the oracle gives.

    With --library, write a C library with the functions of Berkeley SoftFloat for --fmt FORMAT,FORMAT,...

    The ports are the fields of the unit's vectors: operands and, for a stochastic rounding, random bits in; result and
    flags out. OP may also be an approximation, FILE.toml[:NAME], or a
    vector recipe, whose control fields are inputs. docs/export.md shows how to use the files.
    """
    if library is not None:
        others = {"OP": ops, "--lang": lang, "-o": output != "-", "--name": name, "--stat": stat}
        for other in (x for x, value in others.items() if value):
            raise Error(f"--library has every operation, as C, in a folder; leave {other} out")
        _write_library(request, library, prefix or "", special, mixed, tables)
        return
    flags = {"--mixed": mixed or None, "--tables": tables or None}
    for option, value in {"--prefix": prefix, "--specialization": special, **flags}.items():
        if value is not None:
            raise Error(f"{option} is for --library")
    if lang is None:
        raise Error(f"give --lang ({', '.join(LANGUAGES)}), or --library DIR")
    find_language(lang)
    if stat and lang != "sv":
        raise Error("--stat is for --lang sv")
    if output != "-":
        check_place(output)
    units = [request.circuit_unit(op) for op in ops]
    if not units:
        raise Error("give the operation and --fmt, such as `export fma --fmt fp16 --lang sv`")
    circuits = [export_circuit(unit, _name(name, output, lang, len(units)), lang) for unit in units]
    header = Path(output).with_suffix(".h").name if lang == "c" and output != "-" else None
    text = source_text(circuits, lang, header)
    if output == "-":
        sys.stdout.write(text)
    else:
        if header:
            _write(Path(output).with_suffix(".h"), header_text(circuits))
        _write(Path(output), text)
    if stat:
        _print_synthesis(text, [c.name for c in circuits])


def _write_library(
    request: UnitRequest, folder: str, prefix: str, special: str | None, mixed: bool, tables: bool
) -> None:
    table = request.choices.table
    allowed = ("fmt", "profile", "acc", *map(parameter, table))
    request.refuse("--library has every operation, in every rounding", allowed)
    if special is not None and table:
        raise Error(f"--specialization is a policy; leave {option_name(next(iter(table), ''))} out")
    formats = [any_format(name) for name in (request.fmt or _LIBRARY_FORMATS).split(",")]
    profile = request.options.get("profile")
    if profile is not None and not any(isinstance(x, BlockFormat) for x in formats):
        raise Error("--profile is for block formats; name one in --fmt, or leave --profile out")
    _check_effects(table, [x for x in formats if isinstance(x, Format)])
    if tables and not any(isinstance(x, Format) and x.width <= TABLE_WIDTH for x in formats):
        raise Error(f"--tables is for formats of up to {TABLE_WIDTH} bits; name one in --fmt, or leave it out")
    policy = library_policy(table) if special is None else specialization(special)
    acc = request.options.get("acc") or ""
    accumulators = [get_accumulator(x) for x in ([acc] if "(" in acc else acc.split(",")) if x]
    files = library_files(formats, policy, prefix, profile, accumulators, mixed, tables)
    write_library(folder, files)
    print(f"{folder}: {counted(len(files), 'file')}, for {counted(len(formats), 'format')}", file=sys.stderr)


def _check_effects(table: Mapping[str, Any], formats: Sequence[Format]) -> None:
    """Raise Error for fields of a policy that no format of a library reads."""
    extended = any(fmt.explicit_bit for fmt in formats)
    concerned = {
        "e8m0": any(not fmt.zero for fmt in formats),
        "unnormals": extended,
        "rounding_precision": extended,
    }
    for field in (x for x, has_effect in concerned.items() if x in table and not has_effect):
        raise Error(f"{option_name(field)} has no effect on a library of these formats; leave it out")


def _write(path: Path, text: str) -> None:
    write_data(path, text)
    print(f"{path}: {counted(text.count(chr(10)), 'line')}", file=sys.stderr)


def _print_synthesis(text: str, modules: list[str]) -> None:
    from softfloat_ref.export.languages import synthesized

    for module in modules:
        synthesis = synthesized(text, module)
        print(f"{module}: {synthesis.cells} cells, depth {synthesis.depth}", file=sys.stderr)


def _name(name: str | None, output: str, lang: str, units: int) -> str | None:
    """The name of the only unit, if it has not its own."""
    if name is None:
        stem = Path(output).stem
        return stem if units == 1 and output != "-" and is_name(stem, lang) else None
    if units > 1:
        raise Error("--name is for one OP; several have their own names")
    if not is_name(name, lang):
        raise Error(f"--name {name}: not an identifier; use letters, digits and underscores")
    return name
