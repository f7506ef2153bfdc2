"""The text of the sources that simulators compile, where it is not the one that the netlist is made of.

A netlist is read with SYNTHESIS and YOSYS defined, and without what stands between comments such as translate_off and
translate_on. Sources that ask for these macros, or have such comments, have a second text, for simulators. What it
computes is proved by itself: an input at which it is wrong may be too rare for a simulation to find.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text
from softfloat_ref.proof.prove import Proof
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import MACROS, Rtl, read_rtl
from softfloat_ref.rtl.sources import Sources

_SYNTHESIS_OFF: Final = r"(?://|/\*)\s*\w+\s+(?i:translate|synthesis)_off\b.*"


@dataclass(frozen=True)
class SimulatedText:
    """The sources without the macros that only a netlist has, and with what comments leave out of that. rtl: None if
    Yosys does not read them, and unread why; same: whether it is the same circuit; question, proof: of another circuit,
    once it is proved or refuted."""

    rtl: Rtl | None
    unread: str = ""
    same: bool = False
    question: Question | None = None
    proof: Proof | None = None


def simulated_text(question: Question, sources: Sources) -> SimulatedText | None:
    """The other text of the sources; None if they have none."""
    rtl = question.rtl
    names = [name for name, macro in rtl.reading.macros.items() if macro == MACROS.get(name)]
    if not any(macro_lines(names, (file.path for file in rtl.reading.files))):
        return None
    try:
        other = read_rtl(question.unit, rtl.ports, sources, simulated=True)
    except Error as e:
        return SimulatedText(None, str(e))
    return SimulatedText(other, same=other.netlist.hash == rtl.netlist.hash)


def macro_lines(macros: Iterable[str], files: Iterable[Path]) -> Iterator[str]:
    """The lines of files that ask whether one of some macros is defined, or begin to leave out text of a netlist."""
    asks = re.compile(rf"`(?:ifn?def|elsif)\s+(?:{'|'.join(map(re.escape, macros)) or '(?!)'})\b.*|{_SYNTHESIS_OFF}")
    here = Path.cwd()
    for file in files:
        shown = file.relative_to(here) if file.is_relative_to(here) else file
        for number, line in enumerate(read_text(file, limits.SOURCE, errors="replace").splitlines(), 1):
            if asked := asks.search(line):
                yield f"{shown}:{number}: {asked[0].strip()}"
