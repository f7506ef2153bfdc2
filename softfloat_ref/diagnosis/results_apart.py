"""Units with several results, each by a computation of its own: diagnosed by the cases of single results.

These are more, cheaper, and seldom show two faults at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from softfloat_ref.diagnosis.findings import Diagnosis
from softfloat_ref.diagnosis.hypotheses import AnsweredCase, Comparator, Hypothesis, Inputs, Model, Output
from softfloat_ref.diagnosis.peeling import over, peel
from softfloat_ref.diagnosis.ranking import Conditions, diagnosis_from, explains, finding, ranked_diagnosis, spread_out
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.units import MatmulUnit

_MOST: Final = 512  # wrong results, and as many right ones, that are examined


@dataclass(frozen=True)
class DotProducts:
    """The results of a matrix product, each a dot product. space: of the dot products."""

    unit: MatmulUnit
    space: Space[Any]

    def cases(self, cases: Sequence[AnsweredCase]) -> list[AnsweredCase]:
        """The results as cases, the wrong ones first."""
        known: dict[tuple[int, ...], AnsweredCase] = {}
        for c in cases:
            for (_, _, own), expected, got in zip(self.unit.dot_inputs(c.inputs), c.expected, c.got, strict=True):
                known[tuple(own)] = AnsweredCase(tuple(own), (expected,), (got,))
        wrong, right = ([c for c in known.values() if c.agrees == agrees] for agrees in (False, True))
        return [*spread_out(wrong, _MOST), *spread_out(right, _MOST)]

    def whole(self, h: Hypothesis) -> Hypothesis:
        """A hypothesis of a dot product, as that of each result."""
        return h._replace(model=self._model(h.model))

    def _model(self, dot: Model) -> Model:
        def model(inputs: Inputs) -> Output | None:
            results = [dot(tuple(own)) for _, _, own in self.unit.dot_inputs(inputs)]
            return None if None in results else tuple(x[0] for x in results if x is not None)

        return model

    def diagnosis(
        self, comparator: Comparator, cases: Sequence[AnsweredCase], conditions_of: Conditions
    ) -> Diagnosis | None:
        """What explains every case by the results alone; None if nothing does. conditions_of: of dot products."""
        if comparator.leaves_out or comparator.judge is not None or self.unit.dot.steps:
            return None
        own, few = Comparator.of(self.unit.dot, comparator.tolerance, False), self.cases(cases)
        single = ranked_diagnosis(self.space, own, few, conditions_of)
        if single.complete:
            best = [self.whole(f.hypothesis) for f in single.findings]
            findings = [finding(h, [(explains(h, c, comparator), c) for c in cases]) for h in best]
            apart = diagnosis_from(sorted(findings, key=lambda f: f.rank), comparator, cases)
            return apart if apart.complete else None
        several = peel(self.space, own, few, single, conditions_of)
        if several is None:
            return None
        peeled = over([self.whole(h) for h in several.stack], cases, comparator)
        if len(peeled.faults) < 2 or peeled.explained < len(cases):
            return None
        return replace(diagnosis_from([], comparator, cases), several=peeled)
