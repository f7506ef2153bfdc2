"""What simulations of the sources say of a netlist, in words."""

from __future__ import annotations

from collections.abc import Iterator
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
        yield f"  with {names} defined, as for the netlist, {found.simulator} agrees: give -D to both, or one text for both"
    yield "  nothing is proved of a netlist that is not its sources"


def nobody_looked(opinion: SecondOpinion) -> Iterator[str]:
    """That no simulator read the sources, and why."""
    if not opinion.simulators:
        yield f"no simulation of the sources: {'; '.join(opinion.absent.values())}"
