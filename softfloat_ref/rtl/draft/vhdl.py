"""What VHDL says of a module that is its netlist: the names of the codes of enumerations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from softfloat_ref.base import limits
from softfloat_ref.base.files import read_text
from softfloat_ref.rtl.draft.design import Signal, SourceModule
from softfloat_ref.rtl.sources import Sources
from softfloat_ref.rtl.vhdl_order import without_comments


def with_vhdl_codes(design: SourceModule, sources: Sources) -> SourceModule:
    """The module with the codes of the inputs that are enumerations of VHDL; as it is, if it is not VHDL. Raises
    Error."""
    if sources.vhdl is None:
        return design
    literals = _literals(sources)
    codes = {name: literals[kind] for name, kind in sources.vhdl.bits.types.items() if kind in literals}
    return replace(
        design, signals=tuple(_with_codes(signal, codes.get(signal.name.lower(), {})) for signal in design.signals)
    )


def _with_codes(signal: Signal, codes: Mapping[str, int]) -> Signal:
    if not codes or len(signal.leaves) != 1:
        return signal
    return replace(signal, leaves=(replace(signal.leaves[0], codes=codes, type=""),))


def _literals(sources: Sources) -> dict[str, dict[str, int]]:
    """The names of each enumeration, by its own; not of one that is there twice."""
    known: dict[str, dict[str, int]] = {}
    several = set[str]()
    for file in sources.vhdl.files:
        text = without_comments(read_text(file, limits.SOURCE, errors="replace"))
        for name, listed in re.findall(r"\btype\s+(\w+)\s+is\s*\(([\w\s,]+)\)\s*;", text, re.IGNORECASE):
            several |= {name.lower()} & set(known)
            known[name.lower()] = {literal: code for code, literal in enumerate(listed.replace(",", " ").split())}
    return {name: codes for name, codes in known.items() if name not in several}
