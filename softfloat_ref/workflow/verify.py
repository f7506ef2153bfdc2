"""`verify`: from the sources of a module to a verdict: its port map, vectors, a simulation, a diagnosis, a proof."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from softfloat_ref.diagnosis.parts import ReportDiagnosis
from softfloat_ref.proof.outcome import ProofOutcome
from softfloat_ref.proof.words import outcome_lines
from softfloat_ref.workflow.unit_simulation import (
    UnitSimulation,
    ended_input,
    error_words,
    explaining_unit,
    first_shown,
    mismatches_words,
    of_other_unit,
    simplest_lines,
    smallest_input,
)
from softfloat_ref.workflow.verification import Verification
from softfloat_ref.workflow.verify_ports import find_ports
from softfloat_ref.workflow.verify_proof import compare_netlist, diagnose, prove_unit, write_wave
from softfloat_ref.workflow.verify_run import VerifyRun
from softfloat_ref.workflow.verify_simulation import make_vectors, simulate, simulate_other_sums

_MOST_UNITS: Final = 3  # that are simulated: the one that was asked for, and those that explain the module


class Conclusion(NamedTuple):
    """What a run ends with. first, why: what was asked for, and its diagnosis; look, cause: the unit that was simulated
    last; outcome: of its proof."""

    first: UnitSimulation
    why: ReportDiagnosis | None
    look: UnitSimulation
    cause: ReportDiagnosis | None
    outcome: ProofOutcome | None

    @property
    def is_only_simulated(self) -> bool:
        """Whether the simulation agrees, and no proof says otherwise."""
        return self.look.passed and (self.outcome is None or self.outcome.verdict in ("proved", "undecided"))


class Verifier(VerifyRun):
    """A verification with all its stages."""

    def verify(self) -> Verification:
        """All stages, and the verdict. Raises Error for sources and options that cannot be used."""
        asked = self.request.vectors
        folder = make_vectors(self, asked, "vectors")
        find_ports(self, folder)
        look = first = simulate(self, folder, "simulation")
        if not look.passed and (moved := simulate_other_sums(self, folder, look)) is not None:
            look = first = moved
            asked = self.request.vectors
        units = [asked.unit]
        cause = why = None if look.passed else diagnose(self, look)
        while not look.passed and len(units) < _MOST_UNITS:
            named = None if cause is None else explaining_unit(cause)
            if named is None or named[0] in units:
                break
            other, name = named
            self.names[other] = name
            units.append(other)
            number = len(units)
            folder = make_vectors(self, of_other_unit(asked, other), f"vectors_{number}")
            look = simulate(self, folder, f"simulation of {self.name(other)}")
            cause = None if look.passed else diagnose(self, look)
        outcome = prove_unit(self, look) if look.passed else None
        if not look.passed and not look.run.ended:
            write_wave(self, look)
            compare_netlist(self, look)
        return self._verification(Conclusion(first, why, look, cause, outcome))

    # -- the verdict ---------------------------------------------------------------------------------------------------

    def _verification(self, end: Conclusion) -> Verification:
        lines: list[str] = []
        module, asked = self.request.module, end.first.unit
        if end.look is not end.first:
            lines.append(f"{module} is not {self.name(asked)}: {mismatches_words(end.first)}")
            lines += [f"  {line}" for line in smallest_input(end.why)]
        lines.append(self._headline(end))
        shown = (*simplest_lines(end.cause), *ended_input(end.look))
        if end.cause is None and not end.look.passed and not shown:
            shown = tuple(first_shown(end.look))
        lines += [f"  {line}" for line in shown]
        lines += [f"  {line}" for line in self._proof_state(end)]
        lines += [f"  {line}" for line in self.differences[:1]]
        lines += [f"  by simulation: {line}" for line in self.learned]
        lines += [f"  {line}" for line in self.assumed()]
        return Verification(
            f"{module}: {asked.label}", self._state(end), tuple(lines), tuple(self.stages), tuple(self.files),
            tuple(self.guesses),
        )  # fmt: skip

    def _headline(self, end: Conclusion) -> str:
        """What the module is, or is not."""
        module, look = self.request.module, end.look
        name = self.name(look.unit)
        if self.ended:
            return f"{module} is not {name}: no vector shows it, another simulation does"
        if end.is_only_simulated:
            is_proved = end.outcome is not None and end.outcome.verdict == "proved"
            how = "proved for every input" if is_proved else f"{look.bench.manifest['count']} vectors agree"
            return f"{module} is {name}: {how}{error_words(look.bench.ports)}"
        why = "no vector shows it, the proof does" if look.passed else mismatches_words(look)
        return f"{module} is not {name}: {why}"

    def _state(self, end: Conclusion) -> Literal["passed", "failed", "undecided"]:
        if end.look is not end.first or not end.look.passed or self.ended:
            return "failed"
        if end.outcome is None:  # a proof that was asked for, and is not there, is open
            wanted = self.request.limit_s is not None and not end.look.bench.ports.is_judged
            return "undecided" if wanted else "passed"
        return {"proved": "passed", "undecided": "undecided"}.get(end.outcome.verdict, "failed")  # type: ignore[return-value]

    def _proof_state(self, end: Conclusion) -> Iterator[str]:
        if end.outcome is not None:
            first, *rest = outcome_lines(end.outcome, self.title(end.look.unit))
            yield from (first, *(rest if end.outcome.verdict != "proved" else ()))
        elif not end.look.passed:
            yield f"no proof: a simulation already {'ends early' if end.look.run.ended else 'differs'}"
        else:
            stage = next((stage for stage in self.stages if stage.name == "proof"), None)
            yield f"no proof: {stage.lines[0] if stage else self.request.no_proof}"
