"""What comes of a circuit: simulations of its sources first, then a proof of each text that the sources have."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from softfloat_ref.base.errors import Error
from softfloat_ref.proof.cosimulation import Cosimulation, SecondOpinion
from softfloat_ref.proof.prove import Proof
from softfloat_ref.proof.question import Question
from softfloat_ref.proof.texts import SimulatedText, simulated_text
from softfloat_ref.rtl.cycles import SIMULATORS
from softfloat_ref.rtl.sources import Sources


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
        return "mismatch" if self.opinion.difference is not None else self.deciding[1].verdict

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
