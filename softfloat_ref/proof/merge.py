"""Terms of one side replaced by terms of the other that are equal, each proved by a small question.

Where two circuits compute the same number, they have the same values for some inputs; a solver proves it, arguments
first, so that what is made of equal terms is the same term by itself. What is left to prove is smaller, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from softfloat_ref.proof.cut import resized, same_number
from softfloat_ref.proof.solver import Wishes
from softfloat_ref.symbolic.build import make, not_
from softfloat_ref.symbolic.terms import Term, evaluator, known_values, subterms

_QUESTION_S: Final = 0.2  # for two terms
_MOST_OPEN: Final = 6  # questions without an answer, before the sides are too different


def merged(
    ours: Sequence[Term], theirs: Sequence[Term], assumed: Sequence[Term], samples: Sequence[Mapping[str, int]]
) -> list[Term] | None:
    """The second roots with terms of the first in place of equal ones, where the assumptions hold; None if too many
    seem to be equal and are not proved in time. samples: values of the variables, for which the assumptions hold."""
    solver, values = Wishes(assumed), _Values(subterms(ours), subterms(theirs), samples)
    by: dict[Term, Term] = {}
    left_open = 0
    for t in values.theirs:
        new = make(t.op, t.width, *(by[a] for a in t.args), value=t.value) if t.args else t
        while not new.is_const and (same := values.same(t)) is not None and same is not new:
            answer = solver.ask([not_(same_number(new, same))], _QUESTION_S)
            if answer.result == "sat":
                values.add(answer.model)
                if values.same(t) is not same:
                    continue
            left_open += answer.result == "unknown"
            new = resized(same, t.width) if answer.result == "unsat" else new
            break
        by[t] = new
        if left_open > _MOST_OPEN:
            return None
    return [by[t] for t in theirs]


class _Values:
    """The values of terms for some inputs, and the terms of the first side by them."""

    def __init__(self, ours: Sequence[Term], theirs: Sequence[Term], samples: Sequence[Mapping[str, int]]) -> None:
        self.ours, self.theirs, self._roots = ours, theirs, [*ours, *theirs]
        self._run = evaluator(self._roots)
        rows = [self._run(known_values(self._roots, values)) for values in samples]
        self._columns = [tuple(column) for column in zip(*rows, strict=True)]
        self._index()

    def _index(self) -> None:
        self._known = dict(zip(reversed(self._columns[: len(self.ours)]), reversed(self.ours), strict=True))
        self._of = dict(zip(self.theirs, self._columns[len(self.ours) :], strict=True))

    def same(self, term: Term) -> Term | None:
        """The first term of the first side that has the values of one of the second."""
        return self._known.get(self._of[term])

    def add(self, values: Mapping[str, int]) -> None:
        """Values that tell terms apart."""
        row = self._run(known_values(self._roots, values))
        self._columns = [(*column, x) for column, x in zip(self._columns, row, strict=True)]
        self._index()
