"""`vectors ports`: a draft of a port map from the source of a module."""

from __future__ import annotations

import re
import sys

import click

from softfloat_ref.app.source_options import source_options
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import check_place, write_data
from softfloat_ref.rtl.draft import draft
from softfloat_ref.rtl.draft.design import SourceModule, read_design
from softfloat_ref.rtl.draft.lines import parse_value
from softfloat_ref.rtl.draft.vhdl import with_vhdl_codes
from softfloat_ref.rtl.draft.wrapper import wrapper_module, wrapper_text
from softfloat_ref.rtl.module_ports import Expression, Parameters, elaborate
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.vhdl_units import generic_values, with_netlist

_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_$]*)=(.+)", re.DOTALL)

setting_option = click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A line of the port map that is known: inputs.mode='{ value = 1 }', latency=3.",
)
protocol_option = click.option(
    "--protocol",
    "protocols",
    metavar="NAME",
    multiple=True,
    help="Names of a handshake's signals: FILE.toml[:NAME] or package.module:Name.",
)


@click.command("ports")
@source_options
@click.option("--top", "module", required=True, metavar="MODULE", help="The module to draft a port map for.")
@click.option("-G", "values", metavar="NAME=VALUE", multiple=True, help="Set a parameter, to a SystemVerilog text.")
@click.option(
    "--vectors", "folder", metavar="DIR", help="Draft for these vectors: their fields, widths and operations."
)
@setting_option
@protocol_option
@click.option("--wrapper", metavar="FILE.sv", help="Write a module around it whose ports are vectors.")
@click.option("-o", "--output", metavar="FILE.toml", default="-", help="The port map to write [stdout].")
def ports(
    sources: Sources,
    module: str,
    values: tuple[str, ...],
    folder: str | None,
    settings: tuple[str, ...],
    protocols: tuple[str, ...],
    wrapper: str | None,
    output: str,
) -> int:
    """Draft the port map of a module from its SOURCEs.

    Clock, reset, parameters, widths and the codes of enumerations are read from the sources; what its names suggest is
    marked as a guess, with the reason. Check these lines, then run `vectors testbench`. With --vectors, the draft is
    one that `testbench` takes, or an error says what to give. docs/testbench.md explains port maps.
    """
    if not sources.files:
        raise Error("give the module's sources: SOURCE..., -f LIST or -F LIST")
    for path in (wrapper, output):
        if path is not None and path != "-":
            check_place(path)
    parameters = generic_values(sources, dict(map(parameter, values)))
    design = _design(with_netlist(sources, module, parameters), module, parameters)
    port_draft = draft(wrapper_module(design) if wrapper else design, folder, settings=settings, protocols=protocols)
    if wrapper:
        write_data(wrapper, wrapper_text(design))
        print(f"{wrapper}: {port_draft.design.name}; give it to `vectors testbench` with the sources", file=sys.stderr)
    if output == "-":
        sys.stdout.write(port_draft.text)
    else:
        write_data(output, port_draft.text)
    where = "" if output == "-" else f"{output}: "
    count = len(port_draft.guesses)
    guesses = f"{count} guess{'' if count == 1 else 'es'}"
    held = ", ".join(guess.port for guess in port_draft.held)
    print(
        f"{where}{port_draft.design.name}, {len(port_draft.design.signals)} ports, {guesses}"
        f"{f'; held at a constant, as nothing is known of it: {held}' if held else ''}",
        file=sys.stderr,
    )
    return 0


def _design(sources: Sources, module: str, parameters: Parameters) -> SourceModule:
    elaboration = elaborate(
        sources.files,
        module,
        parameters,
        include_dirs=sources.searched,
        defines=sources.defines,
        libraries=sources.libraries,
    )
    if elaboration.problem:
        print(f"{elaboration.problem}: the draft may lack what follows", file=sys.stderr)
    unknown = set(parameters) - {p.name for p in elaboration.body.parameters}
    if unknown:
        raise Error(f"-G {min(unknown)}: {module} has no parameter of that name")
    return with_vhdl_codes(read_design(elaboration, module, parameters), sources)


def parameter(text: str) -> tuple[str, int | str | Expression]:
    """The name and value of a -G. Raises Error."""
    match = _PARAMETER.fullmatch(text)
    if match is None:
        raise Error(f"-G {text}: not NAME=VALUE")
    return match[1], parse_value(match[2])
