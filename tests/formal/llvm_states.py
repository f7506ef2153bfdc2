"""Places in a compiled function that some inputs reach, and where two of them meet again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.symbolic.build import and_, ite, not_, or_
from softfloat_ref.symbolic.terms import Term

from . import llvm_integers
from .llvm_integers import Bits
from .llvm_source import Pointer

Guard = tuple[Term, ...]  # bits, all of which are set
Memory = Mapping[int, Any]  # arrays: lists of Bits; room for single values: dicts, by bytes


@dataclass(frozen=True)
class State:
    """A place in a function: the values known there, by their numbers, and the memory."""

    guard: Guard
    values: Mapping[int, Any]
    memory: Memory


def under(guard: Guard, condition: Term) -> Guard:
    """The inputs of a guard for which a condition holds, too."""
    return guard if condition.is_const or condition in guard else (*guard, condition)


def met(states: Sequence[State]) -> State:
    """States at one place as one."""
    first, *others = sorted(states, key=lambda s: -len(s.guard))
    for other in others:
        first = _both(first, other)
    return first


def _both(a: State, b: State) -> State:
    same = 0
    while same < min(len(a.guard), len(b.guard)) and a.guard[same] is b.guard[same]:
        same += 1
    mine, theirs = and_(*a.guard[same:]), and_(*b.guard[same:])
    either = or_(mine, theirs)
    guard = a.guard[:same] if mine is not_(theirs) else (*a.guard[:same], either)

    def meet(x: Any, y: Any) -> Any:
        return _choice(mine, x, y)

    return State(guard, _common(meet, a.values, b.values), _common(meet, a.memory, b.memory))


_LEFT_OUT: Final = object()


def _common(meet: Callable[[Any, Any], Any], a: Mapping[int, Any], b: Mapping[int, Any]) -> dict[int, Any]:
    """What both have, where it can be chosen."""
    common = {k: x if x is b[k] else meet(x, b[k]) for k, x in a.items() if k in b}
    return {k: x for k, x in common.items() if x is not _LEFT_OUT}


def _choice(condition: Term, a: Any, b: Any) -> Any:
    if isinstance(a, Bits) and isinstance(b, Bits):
        return Bits(llvm_integers.either(condition, a.term, b.term), ite(condition, a.poison, b.poison))
    if isinstance(a, Pointer):
        return Pointer(a.array, ite(condition, a.at, b.at)) if a.array == b.array else _LEFT_OUT
    if isinstance(a, dict):
        return _common(lambda x, y: _choice(condition, x, y), a, b)
    kind = type(a)
    return kind(x if x is y else _choice(condition, x, y) for x, y in zip(a, b, strict=True))
