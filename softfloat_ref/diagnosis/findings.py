"""What a diagnosis finds: hypotheses with the cases that they explain, several faults, the diagnosis of a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from softfloat_ref.diagnosis.conditions import Common
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Hypothesis

FEWEST_CASES: Final = 8  # for a finding without "perhaps"
WHERE: Final = ", where "  # between the name of a hypothesis and a condition


@dataclass(frozen=True)
class Finding:
    """A hypothesis and the number of cases that it explains; mismatches: how many of these the device got wrong."""

    hypothesis: Hypothesis
    explained: int
    mismatches: int = 0

    @property
    def rank(self) -> tuple[int, int, bool]:
        """Sort key, the best first: more explained cases, then simpler, then usual choices."""
        return -self.explained, self.hypothesis.size, not self.hypothesis.usual

    def is_telling(self, right: int) -> bool:
        """Whether it explains more cases than assuming no fault, and not by chance: of the right answers, it would get
        at most half as many wrong as it explains mismatches. right: their number."""
        broken = right - (self.explained - self.mismatches)
        return self.explained > right and 2 * broken <= self.mismatches


class PeeledFault(NamedTuple):
    """One of several faults. mismatches: how many it explains of those that the faults before it leave open."""

    hypothesis: Hypothesis
    mismatches: int


class Peeled(NamedTuple):
    """Several faults that together explain some cases; open: a case that they leave open. stack: the faults as they
    were found, each with those before it."""

    faults: tuple[PeeledFault, ...]
    explained: int
    open: AnsweredCase | None = None
    stack: tuple[Hypothesis, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether no fault is restricted to a condition."""
        return not any(WHERE in f.hypothesis.name for f in self.faults)

    @property
    def usual(self) -> bool:
        """Whether every fault is a usual choice."""
        return all(f.hypothesis.usual for f in self.faults)

    @property
    def rank(self) -> tuple[int, int, int]:
        """Sort key, the best first: more explained cases, then fewer faults and conditions, then simpler ones. A usual
        choice counts half: two of them come before one other fault and a condition."""
        faults = [f.hypothesis for f in self.faults]
        count = sum((1 if h.usual else 2) + (WHERE in h.name) for h in faults)
        return -self.explained, count, sum(h.size for h in faults)


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of a device.

    findings: best first; all that explain as many as the best are possible. examined: the number of cases they were
    run on, of which the device got `wrong` wrong. simplest: the simplest mismatch; alone:
    whether the device also gets it wrong when asked only that, if it was asked. shared: what all mismatches have in
    common; codes: the same for wrong codes of blocks, in words. late: by how many lines the answers are late (early:
    less than 0), if a shift explains nearly all, `in_order` of them. several: faults that together explain more than
    the best finding. elsewhere: mismatches that the same explains in other parts of the unit. Without findings, facts
    has what wrong answers share, tried the number of hypotheses, and nearest the one that gives most of them.
    """

    examined: int
    wrong: int
    findings: tuple[Finding, ...] = ()
    refutation: AnsweredCase | None = None
    exception: AnsweredCase | None = None
    simplest: AnsweredCase | None = None
    alone: bool | None = None
    shared: Common | None = None
    codes: str = ""
    late: int = 0
    in_order: int = 0
    several: Peeled | None = None
    elsewhere: int = 0
    facts: tuple[str, ...] = ()
    tried: int = 0
    nearest: Finding | None = None

    @property
    def best(self) -> tuple[Finding, ...]:
        """The findings that explain as many cases as the first."""
        return tuple(f for f in self.findings if f.explained == self.findings[0].explained)

    @property
    def runner_up(self) -> Finding | None:
        """The best of those that explain fewer."""
        return next((f for f in self.findings if f.explained < self.findings[0].explained), None)

    @property
    def sure(self) -> bool:
        """Whether nearly all cases are explained, and there are enough of them."""
        evidence = self.wrong + self.elsewhere >= self.findings[0].hypothesis.evidence
        return self.explains_nearly_all and evidence and self.examined >= FEWEST_CASES

    @property
    def explained(self) -> int:
        """The number of cases that the best explains; without one, those that the device got right."""
        if self.several is not None:
            return self.several.explained
        return self.findings[0].explained if self.findings else self.examined - self.wrong

    @property
    def explains_nearly_all(self) -> bool:
        """Whether few cases remain unexplained, by the number of mismatches."""
        return 20 * (self.examined - self.explained) <= self.wrong

    @property
    def complete(self) -> bool:
        """Whether the best explains every case."""
        return bool(self.findings) and self.findings[0].explained == self.examined
