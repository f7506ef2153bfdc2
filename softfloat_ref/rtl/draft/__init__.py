"""Drafts of port maps from the sources of modules."""

from __future__ import annotations

from collections.abc import Collection

from softfloat_ref.base.errors import Error
from softfloat_ref.base.tables import toml_string
from softfloat_ref.rtl.draft import codes, fields, names, protocol
from softfloat_ref.rtl.draft.design import Signal, SourceModule
from softfloat_ref.rtl.draft.lines import Draft


def draft(design: SourceModule, known: Collection[str] | None = None) -> Draft:
    """The draft for a module. known: the fields of the vectors that it is for, if they are known. Raises Error for a
    module without outputs, and for structures that carry more than data."""
    for signal in design.signals:
        _refuse(signal)
    port_map = Draft(design, known)
    port_map.add("", f"module = {toml_string(design.name)}")
    clocked = protocol.add_clock_and_reset(port_map)
    fields.add_flags(port_map)
    protocol.add_tag(port_map)
    if clocked:
        protocol.add_valids(port_map)
    codes.add_controls(port_map)
    operands = fields.add_operands(port_map)
    if clocked:
        protocol.add_readys(port_map, operands)
        protocol.add_latency(port_map)
    codes.add_constants(port_map)
    fields.add_results(port_map, operands)
    return port_map


def _refuse(signal: Signal) -> None:
    """Raise Error for a port that only a wrapper connects."""
    if not signal.packed:
        why = f"is unpacked ({signal.type}), which a port map cannot connect"
    elif signal.direction == "output" and any(names.PROTOCOL & set(names.core(x.path)) for x in signal.leaves):
        why = f"is a structure of more than results ({signal.type}), which a port map cannot take apart"
    else:
        return
    raise Error(f"port {signal.name} {why}: give --wrapper FILE")
