"""`export`: a unit as a circuit or program in another language."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from softfloat_ref.app.options import NameType
from softfloat_ref.app.requests import OP, UnitRequest, request_options
from softfloat_ref.base.errors import Error, counted
from softfloat_ref.base.files import check_place, write_data
from softfloat_ref.export.c import header_text
from softfloat_ref.export.languages import LANGUAGES, export_circuit, find_language, is_name, source_text


@click.command("export")
@click.argument("ops", metavar="OP...", nargs=-1, type=OP)
@click.option(
    "--lang", type=NameType("LANGUAGE", LANGUAGES), required=True, metavar="|".join(LANGUAGES), help="The language."
)
@click.option("-o", "--output", metavar="FILE", default="-", help="The file; of C, with FILE.h beside it [stdout].")
@click.option("--name", metavar="NAME", help="Name of the module or function [that of FILE, or the unit's].")
@click.option("--stat", is_flag=True, help="sv: print the cells and the depth that Yosys makes of it.")
@request_options
def command(
    request: UnitRequest,
    ops: tuple[str, ...],
    lang: str,
    output: str,
    name: str | None,
    stat: bool,
) -> None:
    """Write what OP computes as SystemVerilog, C, SMT-LIB 2 or BTOR2, bit for bit what the oracle gives.

    The ports are the fields of the unit's vectors: operands and, for a stochastic rounding, random bits in; result and
    flags out. OP may also be an approximation, FILE.toml[:NAME], or a
    vector recipe, whose control fields are inputs. docs/export.md shows how to use the files.
    """
    find_language(lang)
    if stat and lang != "sv":
        raise Error("--stat is for --lang sv")
    if output != "-":
        check_place(output)
    units = [request.circuit_unit(op) for op in ops]
    if not units:
        raise Error("give the operation and --fmt, such as `export fma --fmt fp16 --lang sv`")
    circuits = [export_circuit(unit, _name(name, output, lang, len(units))) for unit in units]
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
