"""What is to be proved of a unit, for all inputs or those that are assumed: that a circuit is equal to it."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from random import Random
from typing import Any, Final, NamedTuple, Protocol

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.sources import Lfsr
from softfloat_ref.proof.design import BoundDesign, design
from softfloat_ref.proof.inside import InnerRounding, rounding_inside
from softfloat_ref.proof.rtl import Rtl
from softfloat_ref.proof.solver import solve
from softfloat_ref.symbolic.build import and_, eq, not_, or_, substitute
from softfloat_ref.symbolic.cases import cases
from softfloat_ref.symbolic.circuit import Adder, Circuit, ProofCase
from softfloat_ref.symbolic.classes import is_in
from softfloat_ref.symbolic.ranges import range_term
from softfloat_ref.symbolic.terms import FALSE, TRUE, Term, const, evaluator, known_values, subterms, var, variables
from softfloat_ref.symbolic.units import adders, circuit, inputs_of, lane_widths, selects
from softfloat_ref.testing.compare import Answer
from softfloat_ref.units import Field, MixedUnit, OperationUnit, SelectionUnit, Unit, stored
from softfloat_ref.units.unit import lanes_of

ALL: Final = "all inputs"
_COMPARED_AT_ONCE: Final = 2  # outputs that are compared at once
_SAMPLE_COUNT: Final = 600  # inputs that references are tried on,
_TRIED_INPUTS: Final = 40  # so many of a case
_VECTOR_COUNT: Final = 1000  # by which a rounding inside is found
_LIKELY_LATENCIES: Final = 9  # cycles after the latency of the port map, for the likely one
_UNBOXED: Final = 4  # one in so many, of those with control fields


class OutputPart(NamedTuple):
    """What may be wrong, with the reference's terms that it is about. name: of the output; empty for all."""

    name: str
    wrong: Term
    reference: Sequence[Term]


class Obligation(NamedTuple):
    """A case as terms. assumed, wrong: bits, all of which a counterexample sets; ours, theirs: the two sides, equal
    products of which may be cut; undefined: whether inputs without a defined result are left out; tried: a solver's
    model on the real terms and the oracle, None if it is no counterexample; wishes: what a counterexample meets, too,
    if it can; apart: the same in parts, if there are many outputs; held: of the case (Case); inside: what stands for a
    rounding that both sides have, and what is known of it.
    """

    assumed: Sequence[Term]
    wrong: Term
    ours: Sequence[Term]
    theirs: Sequence[Term]
    undefined: bool
    tried: Callable[[Mapping[str, int]], Counterexample | None]
    wishes: Sequence[Term] = ()
    apart: Callable[[], Iterator[OutputPart]] | None = None
    held: Mapping[str, tuple[int, int]] | None = None
    inside: tuple[Mapping[Term, Term], Term] | None = None
    adders: Callable[[], Iterator[AdderObligation]] | None = None


class AdderObligation(NamedTuple):
    """An obligation in two: with another adder in the reference, where both operands are numbers other than zero, and
    as it is elsewhere. ours: the terms with that adder; wrong: of a circuit that gives other terms; samples: inputs."""

    adder: Adder
    numbers: Term
    ours: Sequence[Term]
    wrong: Callable[[Term], Term]
    samples: Sequence[Mapping[str, int]]


class CaseGroup(NamedTuple):
    """A case, and those into which it is split if it is not decided at once."""

    whole: str
    cases: tuple[str, ...]


class Problem(ABC):
    """What is to be proved. unit: whose inputs it is about; assumed: the range of these, as text. A frozen dataclass of
    what it is defined by."""

    unit: Unit
    assumed: str

    @cached_property
    def assumption(self) -> Term:
        """What is assumed of the inputs, as a bit. Raises Error."""
        return range_term(self.assumed, self.unit)

    @cached_property
    def cases(self) -> dict[str, ProofCase]:
        """The cases of the unit, by name; what is inside it is of a circuit only."""
        return {case.name: case for case in cases(self.unit) if not case.inside}

    def case(self, name: str) -> ProofCase:
        """A case of the unit, or all inputs."""
        return ProofCase(ALL, TRUE) if name == ALL else self.cases[name]

    @cached_property
    def groups(self) -> list[CaseGroup]:
        """All inputs, or each operation that control fields select, with the cases into which it may be split."""
        parts = [c for c in self.cases.values() if c.part is not None and c.of_part is None]
        if not parts:
            return [CaseGroup(ALL, tuple(self.cases))]
        own = [c for c in self.cases.values() if c.of_part is not None]
        return [CaseGroup(p.name, tuple(c.name for c in own if c.part == p.part)) for p in parts]

    @cached_property
    def domain(self) -> Term:
        """The inputs that a proof is about: as assumed, with the control fields of an operation."""
        if not isinstance(self.unit, SelectionUnit):
            return self.assumption
        inputs = inputs_of(self.unit)
        return and_(self.assumption, or_(*(selects(self.unit, part, inputs) for part in self.unit.parts)))

    def outside(self, names: Sequence[str]) -> list[Term]:
        """Together, whether an input of the domain is in none of these cases."""
        inputs = [case.assumption for name in names if not (case := self.case(name)).inside]
        return [self.domain, not_(or_(*inputs))]

    @cached_property
    def samples(self) -> list[tuple[int, ...]]:
        """Some inputs, the same each time: random ones, many with few ones or zeros, and the codes at the edges."""
        if isinstance(self.unit, SelectionUnit):
            unboxed = _UNBOXED if isinstance(self.unit, MixedUnit) and self.unit.padding == "box" else 0
            return list(VectorSet(self.unit, _TRIED_INPUTS * len(self.unit.parts), unboxed=unboxed).inputs())
        words = Random(0)
        fields = [f for f in self.unit.inputs for _ in range(f.lanes)]
        return [tuple(_sample(words, f) for f in fields) for _ in range(_SAMPLE_COUNT)]

    def check(self, limit_s: float) -> None:
        """Raise Error if no input is as assumed: every statement would hold of none."""
        if solve([self.assumption], limit_s).result == "unsat":
            raise Error(f"where: no input is such that {self.assumed}")

    @abstractmethod
    def posed(self, case: ProofCase) -> Obligation:
        """A case as terms, which have been compared with the oracle. Raises Error."""

    @property
    @abstractmethod
    def hash(self) -> str:
        """SHA-256 of the definition."""

    def __getstate__(self) -> dict[str, Any]:
        """The definition only: terms are made again by other processes."""
        return {f.name: self.__dict__[f.name] for f in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Counterexample:
    """Inputs to which the circuit's answer is wrong, as the terms of the circuit and the oracle have it.

    others: what else the circuit's answer rests on, such as inputs in other cycles. protocol: whether the handshake is
    wrong, and not the answer. said: what is wrong, if it takes other operations, and story: what happens then.
    """

    inputs: tuple[int, ...]
    expected: tuple[int, ...]
    got: tuple[int, ...]
    others: Mapping[str, int] = field(default_factory=dict)
    protocol: bool = False
    said: str = ""
    story: tuple[str, ...] = ()

    def answer(self, unit: Unit) -> Answer:
        """The circuit's answer."""
        count = len(unit.result_formats)
        return Answer(self.got[:count], self.got[count] if unit.has_flags else None)


@dataclass(frozen=True)
class Question(Problem):
    """A unit and a circuit. registers: what registers hold when the operation begins; source: of random bits, of which
    they are the state (design)."""

    unit: Unit
    rtl: Rtl
    registers: Mapping[str, str] = field(default_factory=dict)
    assumed: str = ""
    source: Lfsr | None = None

    @cached_property
    def cases(self) -> dict[str, ProofCase]:
        """The cases of the unit, by name, with that of what is inside it."""
        return {case.name: case for case in cases(self.unit)}

    @cached_property
    def _designs(self) -> dict[int, BoundDesign]:
        return {}

    def design(self, part: int | None = None) -> BoundDesign:
        """The circuit as terms of the unit's inputs, doing an operation that control fields select, if they select one.
        Raises Error."""
        number = part or 0
        if number not in self._designs:
            self._designs[number] = design(self.unit, self.rtl, self.registers, number, self.assumption, self.source)
        return self._designs[number]

    def reference(self, case: ProofCase) -> Circuit:
        """The oracle's answers to the inputs of a case, as terms. Raises Error for what is not supported."""
        return circuit(self.unit, case)

    def posed(self, case: ProofCase) -> Obligation:
        """The circuit's answers beside the oracle's."""
        reference, plan = self.reference(case), self.design(case.part)
        check_reference(self, case, reference)
        apart = partial(parts, plan, reference) if len(reference.terms) > _COMPARED_AT_ONCE else None
        assumed = [self.assumption, case.assumption, plan.observed.assumed, not_(reference.undefined)]
        wrong, got, undefined = plan.wrong(reference.terms), [plan.observed.got], reference.undefined is not FALSE
        real = partial(tried, self, case, reference)
        posed = Obligation(assumed, wrong, reference.roots, got, undefined, real, apart=apart, held=case.held)
        if case.inside:
            shown = partial(_tried_inside, self, real)
            return posed._replace(wrong=FALSE if self.inside is None else self.inside.wrong, tried=shown)
        if case.name == ALL and adders(self.unit):
            return posed._replace(adders=partial(self._with_adders, case))
        if case.name == ALL or self.inside is None:
            return posed
        return posed._replace(inside=(self.inside.by(case.distance is not None), self.inside.facts))

    def _with_adders(self, case: ProofCase) -> Iterator[AdderObligation]:
        """A case with the adders that its reference may have."""
        assert isinstance(self.unit, OperationUnit)  # no other unit has adders
        names, plan = input_names(self.unit), self.design(case.part)
        operands = [(var(f.name, f.width), fmt) for f, fmt in zip(self.unit.inputs, self.unit.formats, strict=False)]
        numbers = and_(*(t for x, fmt in operands for t in (is_in("finite", x, fmt), not_(is_in("zero", x, fmt)))))
        met = evaluator([and_(self.assumption, case.assumption, numbers)])
        samples = [values for x in self.samples if met(values := dict(zip(names, x, strict=True)))[0]]
        for adder in adders(self.unit):
            other = case._replace(adder=adder)
            reference = self.reference(other)
            check_reference(self, other, reference)

            def wrong(got: Term, terms: Mapping[str, Term] = reference.terms) -> Term:
                return or_(plan.broken, plan.giving(got).wrong(terms))

            if reference.undefined is FALSE:
                yield AdderObligation(adder, numbers, reference.roots, wrong, samples)

    @cached_property
    def inside(self) -> InnerRounding | None:
        """A rounding inside the unit that the circuit has, too, if there is a case for it."""
        case = next((case for case in self.cases.values() if case.inside), None)
        if case is None:
            return None
        (rounded,) = self.reference(case).rounded
        names, vectors = input_names(self.unit), VectorSet(self.unit, _VECTOR_COUNT).inputs()  # these have rare sums
        return rounding_inside(
            rounded, [self.design().observed.got], [dict(zip(names, v, strict=True)) for v in vectors]
        )

    def check(self, limit_s: float) -> None:
        """Raise Error also for a circuit that takes no operation, or whose register cannot be followed."""
        super().check(limit_s)
        shake = self.rtl.ports.handshake
        if self.source is not None and shake.channels > 1 and not shake.joint:
            raise Error("a random source needs one in_valid and in_ready for all operands")
        if self.source is not None and len(self.unit.parts) > 1:
            raise Error("a random source is for a module with one operation")
        if solve([self.assumption, self.design().observed.assumed], limit_s).result == "unsat":
            raise Error("in_ready is never raised, so the circuit takes no operation")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the definition, with that of the circuit's netlist."""
        table = {
            "unit": stored(self.unit),
            "ports": repr(self.rtl.ports),
            "netlist": self.rtl.netlist.hash,
            "reading": self.rtl.reading.hash,
            "registers": dict(self.registers),
            "source": self.source and self.source.spec(),
            "assumed": self.assumed,
        }
        return table_hash(table)


class Answers(Protocol):
    """What answers beside the reference. broken: whether it does what it must not."""

    @property
    def broken(self) -> Term: ...

    def code(self, name: str, expected: Term) -> Term:
        """An output; bits that it does not have are the expected ones."""

    def differs(self, name: str, expected: Mapping[str, Term]) -> Term:
        """Whether an output is something else than expected and accepted."""


def parts(plan: Answers, reference: Circuit) -> Iterator[OutputPart]:
    """One output after the other. The next part is taken once the one before is proved: an output is then the
    circuit's, where others are made of it (elements, of the scale)."""
    terms = dict(reference.terms)
    yield OutputPart("protocol", plan.broken, ())
    left = list(terms)
    while left:
        name = left.pop(0)
        want, got = terms[name], plan.code(name, terms[name])
        differs = plan.differs(name, terms)
        yield OutputPart(name, differs, [want])
        if differs is not_(eq(want, got)):  # else something else is accepted, too
            terms |= zip(left, _with_in_place(want, got, [terms[n] for n in left]), strict=True)


def _with_in_place(want: Term, got: Term, roots: list[Term]) -> list[Term]:
    """The roots with a term in place of another, if that is below them."""
    return substitute(roots, {want: got}) if want.args and want in subterms(roots) else roots


def table_hash(table: Mapping[str, Any]) -> str:
    """SHA-256 of a table."""
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


def _sample(words: Random, f: Field) -> int:
    """A code of a field."""
    code, low, kind = words.getrandbits(f.width), words.randrange(f.width + 1), words.randrange(4)
    if kind == 0 and f.fmt is not None:
        edges = (0, 1, f.fmt.min_normal_code, f.fmt.max_code, f.fmt.inf_code, f.fmt.canonical_nan)
        return (max(words.choice(edges), 0) | (code & f.fmt.sign_bit)) & (1 << f.width) - 1
    return code if kind < 2 else code >> low << low if kind == 2 else code | (1 << low) - 1


def check_reference(problem: Problem, case: ProofCase, reference: Circuit, unit: Unit | None = None) -> None:
    """Compare the terms of a case with the oracle, for some inputs. unit: another one than the problem's, of the same
    inputs. Raises Error for a difference."""
    of, names = unit or problem.unit, input_names(problem.unit)
    chosen = evaluator([and_(problem.assumption, case.assumption, not_(reference.undefined))])
    run, count = evaluator(reference.roots), 0
    for inputs in problem.samples:
        values = dict(zip(names, inputs, strict=True))
        if count < _TRIED_INPUTS and chosen(values)[0]:
            count += 1
            same_as_oracle(of, inputs, tuple(run(values)), oracle(of, inputs))


def tried(question: Question, case: ProofCase, reference: Circuit, model: Mapping[str, int]) -> Counterexample | None:
    """A solver's model on the real terms and the oracle; None if the circuit's answer to it is right.

    It may lie outside the case, where what is inside was a variable. Raises Error if the terms of the reference differ
    from the oracle.
    """
    inputs = _inputs(question.unit, model)
    values = dict(zip(input_names(question.unit), inputs, strict=True))
    inside, *ours = evaluator([case.assumption, *reference.roots])(values)
    if inside:
        same_as_oracle(question.unit, inputs, tuple(ours), oracle(question.unit, inputs))
    return counterexample(question, case, model)


def _tried_inside(
    question: Question, real: Callable[[Mapping[str, int]], Counterexample | None], model: Mapping[str, int]
) -> Counterexample | None:
    """The same of a rounding inside; what follows may hide it, but not the addition of -0."""
    added = {f.name: f.fmt.sign_bit for f in question.unit.inputs if f.lanes == 1 and f.name == "c" and f.fmt}
    return real(model) or real({**model, **added})


def counterexample(question: Question, case: ProofCase, model: Mapping[str, int]) -> Counterexample | None:
    """Inputs, by their names, as a counterexample; None if the circuit's answer to them is the oracle's."""
    unit, plan = question.unit, question.design(case.part)
    inputs, expected = _inputs(unit, model), oracle(unit, _inputs(unit, model))
    outputs = lane_widths(unit.outputs)
    wants = {n: const(x, width) for (n, width), x in zip(outputs.items(), expected, strict=True)}
    theirs = [plan.code(n, wants[n]) for n in outputs]
    roots = [question.assumption, plan.observed.assumed, plan.wrong(wants), plan.observed.wrong, *theirs]
    values = known_values(roots, model)
    holds, state, wrong, protocol, *got = evaluator(roots)(values)
    if not (holds and state and wrong):
        return None
    used = {str(v.value) for v in variables([plan.observed.wrong, *theirs])}
    others = {n: x for n, x in values.items() if n in used and n not in input_names(unit)}
    return Counterexample(inputs, expected, tuple(got), others, bool(protocol))


def other_latency(question: Question) -> int | None:
    """The latency at which most inputs that are tried have the right result, if there is one, and the port map gives
    another at which most have not; None otherwise."""
    ports = question.rtl.ports
    if ports.latency is None or len(question.unit.parts) > 1 or _mostly_right(question):
        return None
    others = sorted(range(ports.latency + _LIKELY_LATENCIES), key=lambda n: abs(n - (ports.latency or 0)))[1:]
    for latency in others:
        rtl = replace(question.rtl, ports=replace(ports, latency=latency))
        if _mostly_right(replace(question, rtl=rtl)):
            return latency
    return None


def _mostly_right(question: Question) -> bool:
    """Whether the circuit's results are right for most of some inputs; what else they rest on is zero."""
    unit, plan, right = question.unit, question.design(), 0
    wants = {n: var(f"expected {n}", width) for n, width in lane_widths(unit.outputs).items()}
    wrong = plan.wrong(wants)
    run, names = evaluator([wrong]), [str(v.value) for v in variables([wrong])]
    tries = [inputs for inputs in question.samples if unit.line(inputs) is not None][:_TRIED_INPUTS]
    for inputs in tries:
        codes = zip(wants, unit.answer(inputs), strict=True)
        values = dict(zip(input_names(unit), inputs, strict=True)) | {f"expected {n}": int(x) for n, x in codes}
        right += not run({name: values.get(name, 0) for name in names})[0]
    return right * 2 > len(tries)


def input_names(unit: Unit) -> list[str]:
    """The lanes of the inputs."""
    return [n for f in unit.inputs for n in lanes_of(f)]


def _inputs(unit: Unit, model: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(model.get(n, 0) for n in input_names(unit))


def same_as_oracle(
    unit: Unit, inputs: Sequence[int], ours: Sequence[int] | None, expected: Sequence[int] | None
) -> None:
    """Raise Error if the terms' answer is another one than the oracle's; None where no result is defined."""
    if ours != expected:
        raise Error(
            f"the terms of {unit.name} differ from the oracle at {_hex(inputs)}: {_shown(ours)}, not "
            f"{_shown(expected)}; this is a fault of softfloat-ref"
        )


def oracle(unit: Unit, inputs: Sequence[int]) -> tuple[int, ...]:
    """The oracle's answer. Raises Error where no result is defined."""
    try:
        return tuple(int(x) for x in unit.answer(inputs))
    except Undefined as e:
        raise Error(f"{unit.name} has no defined result for {_hex(inputs)} ({e}); exclude it by --where") from None


def _hex(codes: Sequence[int]) -> str:
    return " ".join(f"{x:x}" for x in codes)


def _shown(codes: Sequence[int] | None) -> str:
    return "undefined" if codes is None else _hex(codes)
