"""What is collected while functions are read, and values of several paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from softfloat_ref.oracle.formats import Format
from softfloat_ref.symbolic.bounds import Infeasible
from softfloat_ref.symbolic.build import not_, or_
from softfloat_ref.symbolic.integers import SymBool, SymInt
from softfloat_ref.symbolic.paths import Path, at, here
from softfloat_ref.symbolic.terms import TRUE, Term
from softfloat_ref.symbolic.values import Either, merged, resolved


class Returned(NamedTuple):
    """A value that a function returns, and the path on which it does."""

    path: Path
    value: Any


class Rounded(NamedTuple):
    """What a unit rounds on the way to its result. where: the inputs for which it is a sum of numbers. code, flags: of
    the rounding; flags with those raised before."""

    where: Term
    code: SymInt
    flags: SymInt
    fmt: Format


class SumOfTwo(NamedTuple):
    """A sum of two numbers inside a unit. distance: the exponent of the first, less that of the second. far: from which
    distance on the second one is only a sticky bit, and up to which one the first is."""

    path: Path
    distance: SymInt
    far: tuple[int, int]


@dataclass
class Collection:
    """What is collected while functions are read.

    substitutes: in place of functions, by full name: from the variables outside a function and its arguments to
    what it returns. names: of terms: "function.variable", "function" for what it returns, or else "function.".
    errors: the inputs for which an error would be raised, and where. short: whether sums have a sticky bit for a number
    far below the other one. rounded, sums: inside a unit.
    """

    substitutes: Mapping[str, Callable[..., list[Returned]] | None] = field(default_factory=dict)
    names: dict[Term, str] = field(default_factory=dict)
    errors: list[tuple[Term, str]] = field(default_factory=list)
    short: bool = False
    rounded: list[Rounded] = field(default_factory=list)
    sums: list[SumOfTwo] = field(default_factory=list)

    @property
    def undefined(self) -> Term:
        """Whether an error would be raised."""
        return or_(*(where for where, _ in self.errors))


class _Now:
    reading: Collection = Collection()


@contextmanager
def reading(what: Collection) -> Iterator[Collection]:
    """Collect in that object what is read."""
    before, _Now.reading = _Now.reading, what
    try:
        yield what
    finally:
        _Now.reading = before


def current_reading() -> Collection:
    """What is being collected."""
    return _Now.reading


@contextmanager
def substituting(more: Mapping[str, Callable[..., list[Returned]] | None]) -> Iterator[None]:
    """Read these in place of functions, too; None: the function itself."""
    before = current_reading().substitutes
    current_reading().substitutes = {**before, **more}
    try:
        yield
    finally:
        current_reading().substitutes = before


def full_name(function: Any) -> str:
    """The name of a function with its module and the functions around it."""
    return f"{function.__module__}.{function.__qualname__}"


def note(name: str, value: Any) -> None:
    """Name the terms of a value, unless they have a name; of a tuple, by its fields."""
    if isinstance(value, tuple):
        for own, item in zip(getattr(value, "_fields", [""] * len(value)), value, strict=True):
            note(f"{name.removesuffix('.')}.{own}" if own else name, item)
    names = current_reading().names
    if isinstance(value, (SymInt, SymBool)) and value.node.args and names.get(value.node, ".").endswith("."):
        names[value.node] = name


def joined(ways: Sequence[Returned]) -> Any:
    """The values of several paths, of which each input takes one, as one value."""
    if not ways:
        raise Infeasible
    *others, last = ways
    value, facts = last.value, last.path.facts
    for path, other in reversed(others):
        value = merged(path.guard, other, value, path.facts, facts)
        facts = here().facts
    return value


def of_both(choice: Either, use: Callable[[Any], Any]) -> Any:
    """A function of a choice, computed for either value."""
    ways = []
    for node, value in ((choice.condition, choice.yes), (not_(choice.condition), choice.no)):
        try:
            with at(here().under(SymBool(node))):
                ways.append(Returned(here(), use(resolved(value))))
        except Infeasible:
            continue
    return joined(
        [Returned(r.path._replace(guard=g), r.value) for r, g in zip(ways, (choice.condition, TRUE), strict=False)]
    )
