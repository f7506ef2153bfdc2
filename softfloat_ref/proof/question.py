"""What is to be proved: a circuit equal to a unit, for all inputs or those that are assumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any, Final

from softfloat_ref.base.errors import Error, Undefined
from softfloat_ref.proof.assume import assumption
from softfloat_ref.proof.design import Design, design
from softfloat_ref.proof.rtl import Rtl
from softfloat_ref.symbolic.cases import cases
from softfloat_ref.symbolic.circuit import Case, Circuit
from softfloat_ref.symbolic.terms import TRUE, Term, and_, const, evaluator, not_, or_, variables
from softfloat_ref.symbolic.units import circuit
from softfloat_ref.testing.compare import Answer
from softfloat_ref.units import Field, Unit, stored
from softfloat_ref.units.unit import lanes_of

ALL: Final = "all inputs"
_SAMPLES: Final = 600  # inputs that references are tried on,
_TRIED: Final = 40  # so many of a case


@dataclass(frozen=True)
class Question:
    """A unit and a circuit. registers: what registers hold when the operation begins (design); assumed: as text."""

    unit: Unit
    rtl: Rtl
    registers: Mapping[str, str] = field(default_factory=dict)
    assumed: str = ""

    @cached_property
    def design(self) -> Design:
        """The circuit as terms of the unit's inputs. Raises Error."""
        return design(self.unit, self.rtl, self.registers)

    @cached_property
    def assumption(self) -> Term:
        """What is assumed of the inputs, as a bit. Raises Error."""
        return assumption(self.assumed, self.unit)

    @cached_property
    def cases(self) -> dict[str, Case]:
        """The cases of the unit, by name."""
        return {case.name: case for case in cases(self.unit)}

    def case(self, name: str) -> Case:
        """A case of the unit, or all inputs."""
        return Case(ALL, TRUE) if name == ALL else self.cases[name]

    def reference(self, case: Case) -> Circuit:
        """The oracle's answers to the inputs of a case, as terms. Raises Error for what is not supported."""
        return circuit(self.unit, case)

    @cached_property
    def samples(self) -> list[tuple[int, ...]]:
        """Some inputs, the same each time: random ones, many with few ones or zeros, and the codes at the edges."""
        words = Random(0)
        fields = [f for f in self.unit.inputs for _ in range(f.lanes)]
        return [tuple(_sample(words, f) for f in fields) for _ in range(_SAMPLES)]

    @property
    def outside_cases(self) -> list[Term]:
        """Together, whether an input is in no case."""
        return [self.assumption, not_(or_(*(case.assumption for case in self.cases.values())))]

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the definition, with that of the circuit's netlist."""
        table = {
            "unit": stored(self.unit),
            "ports": repr(self.rtl.ports),
            "netlist": self.rtl.netlist.hash,
            "registers": dict(self.registers),
            "assumed": self.assumed,
        }
        return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """The definition only: terms are made again by other processes."""
        return {name: self.__dict__[name] for name in ("unit", "rtl", "registers", "assumed")}


@dataclass(frozen=True)
class Counterexample:
    """Inputs to which the circuit's answer is wrong, as the terms of the circuit and the oracle have it.

    others: what else the circuit's answer rests on, such as inputs in other cycles. protocol: whether the handshake is
    wrong, and not the answer.
    """

    inputs: tuple[int, ...]
    expected: tuple[int, ...]
    got: tuple[int, ...]
    others: Mapping[str, int] = field(default_factory=dict)
    protocol: bool = False

    def answer(self, unit: Unit) -> Answer:
        """The circuit's answer."""
        count = len(unit.result_formats)
        return Answer(self.got[:count], self.got[count] if unit.has_flags else None)


def _sample(words: Random, f: Field) -> int:
    """A code of a field."""
    code, low, kind = words.getrandbits(f.width), words.randrange(f.width + 1), words.randrange(4)
    if kind == 0 and f.fmt is not None:
        edges = (0, 1, f.fmt.min_normal_code, f.fmt.max_code, f.fmt.inf_code, f.fmt.canonical_nan)
        return (max(words.choice(edges), 0) | (code & f.fmt.sign_bit)) & (1 << f.width) - 1
    return code if kind < 2 else code >> low << low if kind == 2 else code | (1 << low) - 1


def check_reference(question: Question, case: Case, reference: Circuit) -> None:
    """Compare the terms of a case with the oracle, for some inputs. Raises Error for a difference."""
    names = _names(question.unit)
    chosen = evaluator([and_(question.assumption, case.assumption, not_(reference.undefined))])
    run, count = evaluator(reference.roots), 0
    for inputs in question.samples:
        values = dict(zip(names, inputs, strict=True))
        if count < _TRIED and chosen(values)[0]:
            count += 1
            _same(question.unit, inputs, tuple(run(values)), _oracle(question.unit, inputs))


def tried(question: Question, reference: Circuit, model: Mapping[str, int]) -> Counterexample | None:
    """A solver's model on the real terms and the oracle; None if the circuit's answer to it is right.

    Raises Error if the terms of the reference differ from the oracle.
    """
    found, expected = counterexample(question, model), _oracle(question.unit, _inputs(question.unit, model))
    ours = tuple(evaluator(reference.roots)({n: model.get(n, 0) for n in _names(question.unit)}))
    _same(question.unit, _inputs(question.unit, model), ours, expected)
    return found


def counterexample(question: Question, model: Mapping[str, int]) -> Counterexample | None:
    """Inputs, by their names, as a counterexample; None if the circuit's answer to them is the oracle's."""
    unit, plan = question.unit, question.design
    inputs, expected = _inputs(unit, model), _oracle(unit, _inputs(unit, model))
    outputs = [n for f in unit.outputs for n in lanes_of(f)]
    widths = [f.width for f in unit.outputs for _ in range(f.lanes)]
    wants = {n: const(x, w) for n, x, w in zip(outputs, expected, widths, strict=True)}
    theirs = [plan.code(n, wants[n]) for n in outputs]
    roots = [question.assumption, plan.observed.assumed, plan.wrong(wants), plan.observed.wrong, *theirs]
    values = {str(v.value): model.get(str(v.value), 0) for v in variables(roots)}
    holds, state, wrong, protocol, *got = evaluator(roots)(values)
    if not (holds and state and wrong):
        return None
    used = {str(v.value) for v in variables([plan.observed.wrong, *theirs])}
    others = {n: x for n, x in values.items() if n in used and n not in _names(unit)}
    return Counterexample(inputs, expected, tuple(got), others, bool(protocol))


def _names(unit: Unit) -> list[str]:
    """The lanes of the inputs."""
    return [n for f in unit.inputs for n in lanes_of(f)]


def _inputs(unit: Unit, model: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(model.get(n, 0) for n in _names(unit))


def _same(unit: Unit, inputs: Sequence[int], ours: Sequence[int], expected: Sequence[int]) -> None:
    if ours != expected:
        raise Error(
            f"the terms of {unit.name} differ from the oracle at {_hex(inputs)}: {_hex(ours)}, not {_hex(expected)}; "
            "this is a fault of softfloat-ref"
        )


def _oracle(unit: Unit, inputs: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(int(x) for x in unit.answer(inputs))
    except Undefined as e:
        raise Error(f"{unit.name} has no defined result for {_hex(inputs)} ({e}); exclude it by --assume") from None


def _hex(codes: Sequence[int]) -> str:
    return " ".join(f"{x:x}" for x in codes)
