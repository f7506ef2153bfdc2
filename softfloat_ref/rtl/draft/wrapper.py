"""A module around a module, with plain vectors for ports, for what no port map can connect: structures that carry
control, unpacked arrays and structures, enumerations where simulators insist on their type, parameters of any kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.rtl.draft.design import Leaf, Signal, SourceModule
from softfloat_ref.rtl.module_ports import instance

_NAMED: Final = re.compile(
    r"((?:\w+::\w+|(?:logic|bit|reg|byte|shortint|int|longint|integer)(?: signed| unsigned)?)(?:\[[\d:]+\])*)"
    r"(?:\$((?:\[[\d:]+\])+))?"
)


def wrapper_module(design: SourceModule) -> SourceModule:
    """The wrapper of a module as a module: its parameters are set, and the members of structures are ports."""
    taken = {signal.name for signal in design.signals}
    signals = tuple(_vector(part) for signal in design.signals for part, _ in _parts(signal, taken))
    return replace(design, name=f"{design.name}_wrapper", signals=signals, parameters=(), values={})


def _vector(signal: Signal) -> Signal:
    """A port of the wrapper: a vector, of which only the codes are known."""
    return replace(signal, leaves=tuple(replace(leaf, type="") for leaf in signal.leaves))


def wrapper_text(design: SourceModule) -> str:
    """The wrapper, in SystemVerilog. Raises Error for a type that it cannot name."""
    taken = {signal.name for signal in design.signals}
    parts = {signal.name: _parts(signal, taken) for signal in design.signals}
    outer = wrapper_module(design)
    ports = ",\n".join(f"    {s.direction:6} logic {_range(s.width)}{s.name}" for s in outer.signals)
    lines = [
        "// SPDX-License-Identifier: 0BSD",
        f"// {design.name} with vectors for ports, for a port map; written from {design.source}.",
        "",
        f"module {outer.name} (",
        ports,
        ");",
        *(f"  {_declared(signal)};" for signal in design.signals if not signal.packed),
        f"  {instance(design.name, design.values)} (",
        ",\n".join(f"    .{s.name}({_connected(s, parts[s.name])})" for s in design.signals),
        "  );",
        *(f"  {line}" for s in design.signals if not s.packed for line in _assigned(s, parts[s.name])),
        "endmodule",
        "",
    ]
    return "\n".join(lines)


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _parts(signal: Signal, taken: set[str]) -> list[tuple[Signal, int]]:
    """The ports of the wrapper for a port, each with its lowest bit there: the members of a structure."""
    if signal.plain:
        return [(replace(signal, packed=True), 0)]
    members: dict[str, list[Leaf]] = {}
    for leaf in signal.leaves:
        members.setdefault(_member(leaf.path), []).append(leaf)
    ports = []
    for member, leaves in members.items():
        name, base = f"{signal.name}_{member}", min(leaf.lsb for leaf in leaves)
        while name in taken:
            name += "_"
        rest = tuple(replace(x, path=x.path[len(member) + 1 :], lsb=x.lsb - base) for x in leaves)
        kind = rest[0].type if len(rest) == 1 else f"{signal.type}.{member}"
        part = Signal(name, signal.direction, kind, rest, True, rest[0].path.startswith("["))
        ports += [(inner, base + lsb) for inner, lsb in _parts(part, taken)]
    return ports


def _member(path: str) -> str:
    return re.split(r"[.\[]", path[1:], maxsplit=1)[0]


def _declared(signal: Signal) -> str:
    """The declaration of what has an unpacked port's type: a net where it can be one, since Icarus does not connect
    variables that are arrays to outputs."""
    match = _NAMED.fullmatch(signal.type)
    if match is None:
        raise Error(
            f"port {signal.name}: its type {signal.type} has no name outside the module, so that no wrapper can "
            "connect it; declare it in a package"
        )
    return f"{'wire ' if signal.net else ''}{match[1]} {_variable(signal)}{' ' + match[2] if match[2] else ''}"


def _variable(signal: Signal) -> str:
    return f"{signal.name}__value"


def _connected(signal: Signal, parts: list[tuple[Signal, int]]) -> str:
    """The expression that a port of the module is connected to."""
    if not signal.packed:
        return _variable(signal)
    if len(parts) > 1:
        return "{" + ", ".join(part.name for part, _ in reversed(parts)) + "}"
    return _cast(signal.leaves[0], parts[0][0].name, signal.direction == "input" and not signal.array)


def _cast(leaf: Leaf, text: str, into: bool) -> str:
    """A value for a number of the module, in its enumeration if it has one."""
    return f"{leaf.type}'({text})" if into and leaf.codes and _NAMED.fullmatch(leaf.type) else text


def _assigned(signal: Signal, parts: list[tuple[Signal, int]]) -> Iterator[str]:
    """An assignment for each number in an unpacked port."""
    for leaf in signal.leaves:
        part, base = find_first((p, b) for p, b in reversed(parts) if b <= leaf.lsb)
        lsb = leaf.lsb - base
        outside = part.name if part.width == leaf.width else f"{part.name}[{lsb + leaf.width - 1}:{lsb}]"
        inside = f"{_variable(signal)}{leaf.path}"
        if signal.direction == "input":
            yield f"assign {inside} = {_cast(leaf, outside, True)};"
        else:
            yield f"assign {outside} = {inside};"
