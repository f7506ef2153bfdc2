"""Checks that a port map fits its module.

Simulators only warn of a port of a different width, an undriven input, or an unknown parameter, and the simulation may
still agree with the vectors. So each of these is an error before the simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.binding import Connection, Controls, bind, connections
from softfloat_ref.rtl.module_ports import Elaborated, ModulePort, elaborate
from softfloat_ref.rtl.port_map import PortMap
from softfloat_ref.rtl.sources import NO_LIBRARIES, Libraries


class Misfit(Error):
    """A port map that does not fit its module. lines: the misfits, one port or parameter each."""

    def __init__(self, module: str, lines: Sequence[str]) -> None:
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        super().__init__(f"the port map does not fit {module}: {lines[0]}{more}")
        self.lines = tuple(lines)


def check_fit(
    manifest: Mapping[str, Any],
    controls: Sequence[Controls],
    ports: PortMap,
    sources: Iterable[str | Path],
    *,
    include_dirs: Iterable[str | Path] = (),
    defines: Mapping[str, object] | None = None,
    libraries: Libraries = NO_LIBRARIES,
) -> Elaborated:
    """The module, if a bench of these vectors and ports fits it; raises Misfit if not.

    Raises Error if the module cannot be read.
    """
    wanted = connections(bind(manifest, controls, ports), ports)
    module = elaborate(
        sources, ports.module, ports.parameters, include_dirs=include_dirs, defines=defines, libraries=libraries
    )
    if lines := [*_parameters(ports.parameters, module), *port_misfits(wanted, module.ports)]:
        raise Misfit(ports.module, lines)
    return module


def _parameters(names: Iterable[str], module: Elaborated) -> Iterator[str]:
    for name in names:
        if name not in module.parameters:
            yield f"the module has no parameter {name}; correct its name under [parameters]"
    for name in module.unset:
        yield f"parameter {name} of the module has no default; give its value under [parameters]"


def port_misfits(wanted: Sequence[Connection], module: Mapping[str, ModulePort]) -> Iterator[str]:
    """What is wrong with the connections of a bench to the ports of a module: a line for each port."""
    for connection in wanted:
        if port := module.get(connection.port):
            yield from _port(connection, port)
        else:
            yield f"the module has no port {connection.port}; correct its name in the port map"
    connected = {c.port for c in wanted}
    for port in module.values():
        if port.name not in connected and port.direction == "input":
            yield f"input {port.name} of the module is not in the port map; to hold it: {port.name} = {{ value = 0 }}"


def _port(connection: Connection, port: ModulePort) -> Iterator[str]:
    ways = ("input",) if connection.drives else ("output", "inout")
    if port.direction not in ways:
        place = f"{port.direction} in the module and {ways[0]} in the port map"
        yield f"port {port.name} is {place}; correct its name, or its place in the port map"
    elif port.width == 0:
        yield f"port {port.name} of the module is of type {port.type}, which is not a vector"
    elif port.width is not None and port.width != connection.width:
        bits = "1 bit" if port.width == 1 else f"{port.width} bits"
        yield (
            f"port {port.name} has {bits} in the module and {connection.width} in the port map; give its bits, or width"
        )
