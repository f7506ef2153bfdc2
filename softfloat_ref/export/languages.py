"""The languages in which a unit is exported, and what Yosys makes of an exported module."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.files import read_text
from softfloat_ref.base.systemverilog import KEYWORDS, first_error, run_yosys, yosys_path
from softfloat_ref.export import c, smt2, sv
from softfloat_ref.export.btor2 import btor2_text
from softfloat_ref.export.core_functions import core_function
from softfloat_ref.export.plan import identifier, simplify, wrap_line
from softfloat_ref.oracle.policies import POLICIES, RARE_FIELDS
from softfloat_ref.symbolic.circuit import Circuit
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import FALSE, Term
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.units import Unit

LANGUAGES: Final[dict[str, Callable[[Sequence[Circuit]], str]]] = {
    "sv": sv.sv_text,
    "c": c.c_text,
    "smt2": smt2.smt2_text,
    "btor2": btor2_text,
}
_KEYWORDS: Final = {"sv": KEYWORDS, "c": c.KEYWORDS, "smt2": smt2.KEYWORDS}


def find_language(name: str) -> str:
    """The language of that name. Raises Error."""
    if name not in LANGUAGES:
        raise unknown("language", name, LANGUAGES)
    return name


def is_name(text: str, language: str) -> bool:
    """Whether a module or function may have this name."""
    return bool(text) and identifier(text) == text and text not in _KEYWORDS.get(language, ())


def export_circuit(unit: Unit, name: str | None = None, language: str = "") -> Circuit:
    """The circuit of a unit as it is printed; in C, a call of the library's core if that has the operation. name: of
    the module or function; by default the unit's. Raises Error."""
    own = name or identifier(unit.name)
    if language == "c" and (function := core_function(unit, own, _comment(unit, FALSE))) is not None:
        return function
    try:
        tidy = simplify(circuit(unit, short=True))
    except Unsupported as e:
        raise Error(f"{unit.label} cannot be exported yet: {e}") from None
    return replace(tidy, name=own, comment=_comment(unit, tidy.undefined))


def _comment(unit: Unit, undefined: Term) -> str:
    """What the circuit computes: the unit's properties, and where its policy differs from IEEE 754's."""
    lines = [f"{unit.label}, by softfloat-ref export."]
    for part in unit.parts:
        lines += wrap_line(f"{_words(part)}.", "")
    lines += ["Inputs for which no result is defined give any outputs."] if undefined is not FALSE else []
    return "\n".join(lines)


def _words(part: Unit) -> str:
    policy = getattr(part, "policy", POLICIES["ieee"]).to_dict()
    default = POLICIES["ieee"].to_dict() | RARE_FIELDS
    own = {key: value for key, value in policy.items() if value != default[key]}
    return ", ".join(f"{key} = {value}" for key, value in {**own, **part.properties()}.items() if key != "width")


def source_text(circuits: Sequence[Circuit], language: str, header: str | None = None) -> str:
    """The text. header: of C, the file that declares the functions, if there is one."""
    names = [x.name for x in circuits]
    if twice := [name for name in names if names.count(name) > 1]:
        raise Error(f"{twice[0]} would be exported twice")
    return c.c_text(circuits, header) if language == "c" else LANGUAGES[language](circuits)


class Synthesis(NamedTuple):
    """cells: gates of two inputs, inverters, multiplexers; depth: of them, on the longest way from input to output."""

    cells: int
    depth: int


def synthesized(text: str, module: str) -> Synthesis:
    """A module's cells and depth after Yosys' `synth`, without a cell library. Raises Error."""
    with tempfile.TemporaryDirectory() as name:
        source, report = (Path(name).resolve() / file for file in ("module.sv", "report.txt"))
        source.write_text(text, encoding="utf-8")
        script = f"read_verilog -sv {yosys_path(source)}; synth -flatten -top {module}"
        log = run_yosys(f"{script}; tee -o {yosys_path(report)} stat; tee -a {yosys_path(report)} ltp")
        statistics = read_text(report, limits.SOURCE) if report.exists() else ""
    cells = re.search(r"^\s*(\d+) cells$", statistics, re.M)
    depth = re.search(r"\(length=(\d+)\)", statistics)
    if depth is None:
        raise Error(f"--stat: {module}: {first_error(log)}")
    return Synthesis(int(cells[1]) if cells else 0, int(depth[1]))
