"""`dpi`: the files through which SystemVerilog queries the oracle, and the commands that compile them."""

from __future__ import annotations

from pathlib import Path

import click

from softfloat_ref.app.options import NameType
from softfloat_ref.app.requests import OP, UnitRequest, request_options
from softfloat_ref.app.source_options import source_options
from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.vendors import NAMES, choose_simulator
from softfloat_ref.units import Unit
from softfloat_ref.workflow.units import is_name_of_recipe

_SIMULATORS = tuple(name for name in NAMES if name != "icarus")


@click.command("dpi")
@source_options
@click.option("-o", "--output", required=True, metavar="DIR", help="The folder to write to, created if needed.")
@click.option("--uvm", "op", type=OP, metavar="OP", help="Also write a UVM package for a unit: OP, or a vector recipe.")
@click.option("--print-command", is_flag=True, help="Print the commands that compile the files with the SOURCEs.")
@click.option("--sim", type=NameType("SIMULATOR", _SIMULATORS), help="With --print-command: the simulator.")
@click.option("--top", metavar="MODULE", help="With --print-command: the module that is simulated.")
@click.option("--sim-arg", "arguments", metavar="ARG", multiple=True, help="With --print-command: for the build.")
@request_options
def command(
    request: UnitRequest,
    sources: Sources,
    output: str,
    op: str | None,
    print_command: bool,
    sim: str | None,
    top: str | None,
    arguments: tuple[str, ...],
) -> int:
    """Write a C file and a SystemVerilog package whose functions predict one transaction at a time.

    They start `softfloat-ref eval --serve` and query it; docs/dpi.md shows how to use them. With --uvm, also write a
    package with a transaction class, a predictor and a scoreboard.
    """
    options: dict[str, object] = {"SOURCE": sources.files, "--sim": sim, "--top": top, "--sim-arg": arguments}
    options |= {"-I": sources.include_dirs, "-D": sources.defines}
    options |= {"-y": sources.libraries.folders, "-v": sources.libraries.files}
    for option, value in options.items():
        if value and not print_command:
            raise Error(f"{option} needs --print-command")
    if print_command and top is None:
        raise Error("--print-command needs --top MODULE, the module that is simulated")
    if sim == "icarus":
        raise Error(f"icarus has no DPI; choose {', '.join(_SIMULATORS)}")
    from softfloat_ref.rtl.uvm import write_dpi

    simulator = choose_simulator(sim or "verilator", printed=True) if print_command else None
    if op is None:
        request.refuse("these options describe a unit, for --uvm OP")
    unit = [] if op is None else [_write_uvm(output, request.input_unit(op), op)]
    c_file, package = write_dpi(output)
    if simulator is None or top is None:
        print("\n".join(map(str, [c_file, package, *unit])))
        return 0
    build = simulator.build(
        [package, c_file, *unit, *sources.files],
        top,
        work_dir=output,
        include_dirs=sources.searched,
        defines=sources.defines,
        libraries=sources.libraries,
        arguments=arguments,
    )
    print("\n".join(build.shell()))
    return 0


def _write_uvm(output: str, unit: Unit, op: str) -> Path:
    """The package of a unit, named after the recipe or the unit."""
    from softfloat_ref.rtl.uvm import write_uvm

    return write_uvm(output, unit, Path(op).stem if is_name_of_recipe(op) else unit.name)
