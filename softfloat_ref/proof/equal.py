"""Two units against each other, without a circuit: whether any input tells them apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.proof.engine import Tactics, decide
from softfloat_ref.proof.question import (
    ALL,
    Counterexample,
    Obligation,
    Problem,
    check_reference,
    input_names,
    same_as_oracle,
    table_hash,
)
from softfloat_ref.symbolic.build import and_, eq, make, not_, or_, substitute
from softfloat_ref.symbolic.cases import cases
from softfloat_ref.symbolic.circuit import Circuit, ProofCase
from softfloat_ref.symbolic.paths import Unsupported
from softfloat_ref.symbolic.terms import FALSE, Term, evaluator, var
from softfloat_ref.symbolic.units import circuit, lane_widths
from softfloat_ref.units import Field, SelectionUnit, Unit, stored
from softfloat_ref.units.unit import lanes_of


@dataclass(frozen=True)
class Equality(Problem):
    """Two units of the same inputs and outputs. flags: whether these must be equal too. Raises Error for units that
    cannot be compared.

    An input for which only one of them has a result tells them apart; one for which neither has does not.
    """

    unit: Unit
    other: Unit
    assumed: str = ""
    flags: bool = True

    def __post_init__(self) -> None:
        _check_alike("inputs", self.unit.inputs, self.other.inputs)
        if _selected(self.unit) != _selected(self.other):
            raise Error("the two have other operations, or other codes of their control fields")
        _check_alike("outputs", _compared(self.unit, self.flags), _compared(self.other, self.flags))

    def posed(self, case: ProofCase) -> Obligation:
        """The answers of both, as terms."""
        ours, theirs = self.circuits(case)
        check_reference(self, case, ours)
        check_reference(self, case, theirs, self.other)
        differ, results = (self._differ(ours, theirs, flags) for flags in (self.flags, False))
        wrong = or_(make("xor", 1, ours.undefined, theirs.undefined), and_(not_(ours.undefined), differ))
        one, two = ([*x.roots, x.undefined] for x in (ours, theirs))
        undefined = and_(case.assumption, ours.undefined) is not FALSE
        tried = partial(self._tried, ours, theirs)
        return Obligation([self.assumption, case.assumption], wrong, one, two, undefined, tried, [results])

    def circuits(self, case: ProofCase) -> tuple[Circuit, Circuit]:
        """Both, as terms of the unit's inputs. Raises Error for what is not supported."""
        same = self._others_cases.get(case.name)
        if same is not None and same.assumption is not case.assumption:
            same = None
        try:
            return _read(self.unit, case), self._renamed(_read(self.other, same))
        except Unsupported as e:
            labels = " and ".join(dict.fromkeys((self.unit.label, self.other.label)))
            raise Unsupported(f"two definitions of {labels} cannot be compared yet: {e}") from None

    @cached_property
    def _others_cases(self) -> dict[str, ProofCase]:
        return {case.name: case for case in cases(self.other)}

    def _renamed(self, read: Circuit) -> Circuit:
        """The other's circuit with the names of the unit's inputs."""
        names = zip(input_names(self.other), lane_widths(self.unit.inputs).items(), strict=True)
        by = {var(n, width): var(name, width) for n, (name, width) in names if n != name}
        *roots, undefined = substitute([*read.terms.values(), read.undefined], by)
        terms = dict(zip(read.terms, roots, strict=True))
        return dataclasses.replace(read, terms=terms, undefined=undefined)

    def _differ(self, ours: Circuit, theirs: Circuit, flags: bool) -> Term:
        """Whether the outputs differ."""
        codes = ([x.terms[n] for f in _compared(u, flags) for n in lanes_of(f)] for u, x in self._sides(ours, theirs))
        return or_(*(not_(eq(a, b)) for a, b in zip(*codes, strict=True)))

    def _sides(self, ours: Circuit, theirs: Circuit) -> tuple[tuple[Unit, Circuit], tuple[Unit, Circuit]]:
        return (self.unit, ours), (self.other, theirs)

    def _tried(self, ours: Circuit, theirs: Circuit, model: Mapping[str, int]) -> Counterexample | None:
        """A solver's model on the real terms and the oracle; None if it does not tell the two apart."""
        values = {n: model.get(n, 0) for n in input_names(self.unit)}
        inputs = tuple(values.values())
        for unit, read in self._sides(ours, theirs):
            undefined, *codes = evaluator([read.undefined, *read.roots])(values)
            same_as_oracle(unit, inputs, None if undefined else tuple(codes), _answer(unit, inputs))
        return self.told_apart(inputs)

    def told_apart(self, inputs: Sequence[int]) -> Counterexample | None:
        """The oracle's answers to inputs, if they tell the two apart."""
        first, second = _answer(self.unit, inputs), _answer(self.other, inputs)
        same = _told(self.unit, first, self.flags) == _told(self.other, second, self.flags)
        return None if same else Counterexample(tuple(inputs), first or (), second or ())

    def by_results(self, counterexample: Counterexample) -> bool:
        """Whether the results differ, not only the flags."""
        first, second = counterexample.expected or None, counterexample.got or None
        return _told(self.unit, first, False) != _told(self.other, second, False)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the definition."""
        both = [stored(self.unit), stored(self.other)]
        return table_hash({"equal": both, "assumed": self.assumed, "flags": self.flags})


def compare_units(
    first: Unit, second: Unit, flags: bool, limit_s: float, where: str = ""
) -> tuple[int, ...] | bool | None:
    """Whether two units answer alike, within a range of the operands: True if that is proved, inputs that tell them
    apart, None if neither is found in time."""
    try:
        decided = decide(Equality(first, second, where, flags), ALL, Tactics(limit_s, cut=False))
    except Unsupported:
        return None
    return decided.counterexample.inputs if decided.counterexample else decided.verdict == "proved" or None


@lru_cache(maxsize=8)
def _read(unit: Unit, case: ProofCase | None) -> Circuit:
    return circuit(unit, case)


def _compared(unit: Unit, flags: bool) -> list[Field]:
    """The outputs, with or without flags."""
    return [f for f in unit.outputs if flags or f.role != "flags"]


def _answer(unit: Unit, inputs: Sequence[int]) -> tuple[int, ...] | None:
    """The oracle's answer; None where no result is defined."""
    try:
        return tuple(int(x) for x in unit.answer(inputs))
    except Undefined:
        return None


def _told(unit: Unit, answer: Sequence[int] | None, flags: bool) -> list[int] | None:
    """An answer, with or without flags."""
    if answer is None:
        return None
    roles = [f.role for f in unit.outputs for _ in range(f.lanes)]
    return [x for x, role in zip(answer, roles, strict=True) if flags or role != "flags"]


def _selected(unit: Unit) -> set[tuple[int, ...]]:
    """The codes of control fields that select an operation."""
    return set(unit.by_codes) if isinstance(unit, SelectionUnit) else set()


def _check_alike(what: str, ours: Sequence[Field], theirs: Sequence[Field]) -> None:
    """Raise Error for fields of other widths."""
    one, two = ([f.width for f in fields for _ in range(f.lanes)] for fields in (ours, theirs))
    if one != two:
        raise Error(f"the two have other {what}: {_text(ours)}, and {_text(theirs)} (bits)")


def _text(fields: Sequence[Field]) -> str:
    return ", ".join(f"{f.name} {f.width}" + (f" x {f.lanes}" if f.lanes > 1 else "") for f in fields)
