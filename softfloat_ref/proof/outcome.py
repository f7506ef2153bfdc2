"""What comes of a circuit: simulations of its sources first, then a proof of each text that the sources have.

A netlist is read with SYNTHESIS and YOSYS defined, and without what stands between comments such as translate_off and
translate_on. Sources that ask for these macros, or have such comments, have a second text, for simulators. What it
computes is proved by itself: an input at which it is wrong may be too rare for a simulation to find.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text
from softfloat_ref.proof.cosimulation import Cosimulation, SecondOpinion
from softfloat_ref.proof.prove import Proof
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.rtl import MACROS, Rtl, read_rtl
from softfloat_ref.rtl.cycles import SIMULATORS
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


@dataclass(frozen=True)
class ProofOutcome:
    """A proof of the netlist, what simulations of the sources say, and a proof of the text that simulators compile, if
    that is another circuit."""

    question: Question
    proof: Proof
    opinion: SecondOpinion
    text: SimulatedText | None = None

    @property
    def verdict(self) -> Literal["proved", "counterexample", "undecided", "mismatch"]:
        """Of all of it. mismatch: a simulation shows something else than the netlist."""
        if self.opinion.difference is not None:
            return "mismatch"
        return "undecided" if self.is_text_unseen else self.deciding[1].verdict

    @property
    def is_text_unseen(self) -> bool:
        """Whether simulators compile another text, of which nothing is known: not proved, and not simulated."""
        return self.text is not None and self.text.rtl is None and not self.opinion.simulators

    @property
    def deciding(self) -> tuple[Question, Proof]:
        """The proof that decides: the other text's, if it is open or refuted."""
        text = self.text
        if text is None or text.question is None or text.proof is None or text.proof.verdict == "proved":
            return self.question, self.proof
        return text.question, text.proof


def decide_circuit(
    question: Question, sources: Sources, prove: Callable[[Question], Proof], simulator: str | None = None
) -> ProofOutcome:
    """What comes of the circuit of these sources. simulator: the one that must simulate them; None: all there are.
    Raises Error."""
    with Cosimulation(question, sources, SIMULATORS if simulator is None else (simulator,)) as simulated:
        for name, why in simulated.opinion.absent.items():
            if name == simulator:
                raise Error(f"--sim {name}: {why}")
        opinion = simulated.look()
        if opinion.difference is not None:
            return ProofOutcome(question, Proof("undecided", ()), opinion)
        proof = prove(question)
        opinion = simulated.look_at_counterexample(proof)
    text = simulated_text(question, sources) if proof.verdict == "proved" else None
    if text is not None and text.rtl is not None and not text.same:
        other = dataclasses.replace(question, rtl=text.rtl)
        text = dataclasses.replace(text, question=other, proof=prove(other))
    return ProofOutcome(question, proof, opinion, text)


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
