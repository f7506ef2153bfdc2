"""What simulations of the sources say of a netlist, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from softfloat_ref.proof.cosimulation import Difference, SecondOpinion
from softfloat_ref.proof.question import Question

_LANES: Final = 8


def mismatch_lines(question: Question, opinion: SecondOpinion, found: Difference) -> Iterator[str]:
    """The verdict where a simulation shows something else than the netlist."""
    yield f"MISMATCH: {question.rtl.ports.module} is not in {found.simulator} what it is as Yosys reads it"
    for name, code in list(found.inputs.items())[:_LANES]:
        yield f"  {name:<9}{code:x}"
    when = f" in cycle {found.cycle}" if question.rtl.ports.clock else ""
    yield f"  {found.output}{when}, in binary:"
    yield f"    netlist   {found.netlist}"
    yield f"    {found.simulator:<10}{found.simulated}"
    if found.macros:
        names = " and ".join(found.macros)
        yield f"  with {names} defined, as for the netlist, {found.simulator} agrees"
        yield from (f"  {place}" for place in places(found.macros, [file.path for file in question.rtl.reading.files]))
    yield "  nothing is proved of a netlist that is not its sources"


def nobody_looked(opinion: SecondOpinion) -> Iterator[str]:
    """That no simulator read the sources, and why."""
    if not opinion.simulators:
        yield f"no simulation of the sources: {'; '.join(opinion.absent.values())}"


def places(macros: Sequence[str], files: Iterable[Path]) -> Iterator[str]:
    """The lines of files that ask whether one of these macros is defined."""
    asks = re.compile(rf"`(?:ifn?def|elsif)\s+(?:{'|'.join(map(re.escape, macros))})\b.*")
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if asked := asks.search(line):
                yield f"{file}:{number}: {asked[0].strip()}"
