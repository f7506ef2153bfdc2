"""Units as circuits of terms: the oracle's own functions, read for all inputs at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from typing import Any, Final, NamedTuple

from softfloat_ref.oracle import operations
from softfloat_ref.oracle.codec import _decode, encoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.symbolic.bounds import Infeasible
from softfloat_ref.symbolic.circuit import Circuit, Port
from softfloat_ref.symbolic.integers import Path, at, bits, free, here
from softfloat_ref.symbolic.reader import Reading, Returned, call, joined, reading, returns
from softfloat_ref.symbolic.terms import FALSE, TRUE, and_, or_, var
from softfloat_ref.symbolic.values import symbolic
from softfloat_ref.units.operation import OperationUnit
from softfloat_ref.units.unit import Field, Unit


def _decode_known(outer: Mapping[str, Any], code: Any) -> list[Returned]:
    """A decoder that remembers values."""
    return returns(_decode, code, outer["fmt"], outer["flush"])


SUBSTITUTES: Final[dict[str, Callable[..., list[Returned]]]] = {
    "decoder.<locals>.decode_known": _decode_known,
    "check_code": lambda outer, code, fmt: [Returned(here(), code)],  # of as many bits, by its port
}


class Way(NamedTuple):
    """A value of one kind, and the inputs that give it."""

    path: Path
    value: Any


def ports(fields: Sequence[Field]) -> tuple[Port, ...]:
    """The ports of fields."""
    return tuple(Port(f.name, f.width, f.lanes, f.format) for f in fields)


def circuit(unit: Unit) -> Circuit:
    """What a unit computes, as terms. Raises Unsupported."""
    inputs, outputs = ports(unit.inputs), ports(unit.outputs)
    variables = [var(name, p.width) for p in inputs for name in p.names]
    with reading(Reading(SUBSTITUTES)) as found:
        answers = answer(unit, [free(v) for v in variables])
    widths = [p.width for p in outputs for _ in p.names]
    terms = [bits(x, width) for x, width in zip(answers, widths, strict=True)]
    names = [name for p in outputs for name in p.names]
    return Circuit(unit.name, inputs, outputs, dict(zip(names, terms, strict=True)), found.names)


@singledispatch
def answer(unit: Unit, inputs: Sequence[Any]) -> Sequence[Any]:
    """The outputs for symbolic inputs: by reading `answer` of the unit."""
    found: Sequence[Any] = call(unit.answer, inputs)
    return found


# -- operations ------------------------------------------------------------------------------------------------------


@answer.register
def _operation(unit: OperationUnit, inputs: Sequence[Any]) -> Sequence[Any]:
    """Each combination of kinds of the operands by itself, so that decisions on these are taken before."""
    sig, policy = unit.signature, unit.policy
    arity = len(unit.formats)
    word = inputs[arity] if len(inputs) > arity else 0
    operation, ctx = sig.operation, operations.context(sig, policy)
    if operation.result in ("same", "class"):
        return tuple(call(operation.function, ctx, *inputs[:arity]))
    flush = operation.flushes and policy.flush_inputs
    operands = [decoded(x, f, flush) for x, f in zip(inputs[:arity], unit.formats, strict=True)]
    ctx = ctx._replace(random_bits=word)
    encode = encoder(unit.out, policy)
    found: list[Returned] = []
    for combination in itertools.product(*operands):
        for way in _within(combination, lambda values: returns(operations.exactly, operation, ctx, list(values))):
            with at(way.path):
                code, flags = call(encode, way.value[0], word)
                found.append(Returned(here(), (code, way.value[1] | flags)))
    return tuple(joined(found[::-1]))  # numbers first, as circuits and programs take them


def _within(combination: Sequence[Way], compute: Callable[[list[Any]], list[Returned]]) -> list[Way]:
    """The outcomes for operands of certain kinds, by the kind of the outcome."""
    guard = and_(*(w.path.guard for w in combination))
    if guard is FALSE:
        return []
    facts = tuple(f for w in combination for f in w.path.facts)
    with at(Path(TRUE, guard, facts, frozenset([guard]))):
        try:
            outcomes = compute([w.value for w in combination])
        except Infeasible:
            return []
    found = []
    for way in by_kind(outcomes, _kind_of):
        inner = and_(guard, way.path.guard)
        found.append(Way(Path(inner, inner, way.path.facts, way.path.known), way.value))
    return found


def decoded(code: Any, fmt: Format, flush: bool) -> list[Way]:
    """The values of a code, one of each kind."""
    return [Way(w.path, w.value) for w in by_kind(returns(_decode, code, fmt, flush), lambda x: x.kind)]


def _kind_of(outcome: Any) -> Any:
    """The kind of an outcome; zeros that are always zero are a kind."""
    x = outcome[0]
    return x.kind, isinstance(x.significand, int) and x.significand == 0


def by_kind(outcomes: Sequence[Returned], kind: Callable[[Any], Any]) -> list[Way]:
    """Outcomes, those of one kind as one; a symbolic kind is one."""
    kinds: dict[Any, list[Returned]] = {}
    for outcome in outcomes:
        found = kind(outcome.value)
        kinds.setdefault("any" if symbolic(found) else found, []).append(outcome)
    return [_one(group) for group in kinds.values()]


def _one(group: list[Returned]) -> Way:
    """Outcomes of one kind as one, chosen by their guards."""
    if len(group) == 1:
        return Way(*group[0])
    guard = or_(*(r.path.guard for r in group))
    return Way(Path(guard, guard, here().facts, frozenset([guard])), joined(group))
