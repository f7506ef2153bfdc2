"""Steps: plain functions with a name, of which computations are made; runs that call, record, and replace them.

A computation is a plain function that does its steps through a run: `do(step, *args)`, and `do.at("elements", k)(step,
*args)` where there are several. Under PLAIN that is `step(*args)`: the answer of a unit. A Traced run records what each
step gives, and may have some steps replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, Final, NamedTuple, ParamSpec, Protocol, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
T = TypeVar("T")
Function = Callable[..., Any]
Path = tuple[object, ...]  # where a step is done: ("elements", 3, "round")


class Do(Protocol):
    """A run of steps, as a computation sees it: do(step, *args) has the type of step(*args)."""

    def __call__(self, f: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    def at(self, *where: object) -> Do:
        """The run in a part of the computation, such as a lane."""


class Step(NamedTuple):
    """What is known of a step. kind: the kind of its value. inner: the same function in steps of its own, (do, *args);
    inside: those steps. An inner form runs where one of them is recorded or replaced, the function itself elsewhere."""

    name: str
    kind: str
    inner: Function | None = None
    inside: frozenset[Function] = frozenset()


STEPS: Final[dict[Function, Step]] = {}


def step(name: str, kind: str, inner: Function | None = None, inside: Iterable[Function] = ()) -> Callable[[F], F]:
    """Register a function as a step. It stays that function: for Numba, mypy and the symbolic reader nothing changes.

    inside: the steps that `inner` does; those inside these are added.
    """
    every = frozenset(x for f in inside for x in (f, *STEPS[f].inside))

    def register(f: F) -> F:
        STEPS[f] = Step(name, kind, inner, every)
        return f

    return register


def _plain(f: Function, /, *args: Any) -> Any:
    return f(*args)


setattr(_plain, "at", lambda *where: _plain)  # noqa: B010  (a function, which the symbolic reader reads)
PLAIN: Final = cast(Do, _plain)


class Recorded(NamedTuple):
    """A step that was done: where, which, what it gave, from what."""

    path: Path
    function: Function
    value: Any
    args: tuple[Any, ...]

    @property
    def name(self) -> str:
        return STEPS[self.function].name


class Change(NamedTuple):
    """A replaced step: wrong(here, right, *args) in place of right(*args), which is the step with the changes before
    this one. here: the Traced run. where: whether a path is replaced. reads: steps whose values `wrong` asks for."""

    step: Function
    wrong: Function
    where: Callable[[Path], bool] | None = None
    reads: tuple[Function, ...] = ()


class Plan:
    """What a Traced run does besides its steps: the changes of each, those done in inner steps, those recorded."""

    def __init__(self, changes: Sequence[Change] = (), record_all: bool = False) -> None:
        self.record_all = record_all
        self.changes: dict[Function, tuple[Change, ...]] = {}
        for c in changes:
            self.changes[c.step] = (*self.changes.get(c.step, ()), c)
        self.reads = frozenset(f for c in changes for f in c.reads)

    @cached_property
    def plainly(self) -> frozenset[Function]:
        """The steps that are nothing but their function."""
        if self.record_all:
            return frozenset()
        asked = self.changes.keys() | self.reads
        return frozenset(f for f, known in STEPS.items() if f not in asked and not known.inside & asked)


class Traced:
    """A run that follows a plan, one for each case. case: what changes may look at besides the steps."""

    __slots__ = ("_parent", "_where", "case", "plainly", "plan", "record")

    def __init__(self, plan: Plan, case: Any = None) -> None:
        self.plan, self.case, self.plainly = plan, case, plan.plainly
        self.record: list[Recorded] = []
        self._parent: Traced | None = None
        self._where: Path = ()

    def at(self, *where: object) -> Traced:
        """The run in a part of the computation."""
        part = _new(Traced)
        part.plan, part.case, part.plainly, part.record = self.plan, self.case, self.plainly, self.record
        part._parent, part._where = self, where
        return part

    @property
    def path(self) -> Path:
        """Where this run is in the computation."""
        return self._where if self._parent is None else (*self._parent.path, *self._where)

    def __call__(self, f: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        if f in self.plainly:
            return f(*args, **kwargs)
        plan = self.plan
        name, _, inner, inside = STEPS[f]
        run: Function = f
        if inner is not None and (plan.record_all or inside & (plan.changes.keys() | plan.reads)):
            run = partial(inner, self.at(name))
        for c in plan.changes.get(f, ()):
            if c.where is None or c.where(self.path):
                run = partial(c.wrong, self, run)
        value = run(*args)
        if plan.record_all or f in plan.reads:
            self.record.append(Recorded(self.path, f, value, args))
        return cast(T, value)

    def all(self, f: Function, *within: object) -> Iterator[Recorded]:
        """The recorded steps of that function, in a part of the computation."""
        return (x for x in self.record if x.function is f and x.path[: len(within)] == within)

    def last(self, f: Callable[P, T], *within: object) -> T | None:
        """What the last such step gave; None if there was none."""
        n = len(within)
        found = (x.value for x in reversed(self.record) if x.function is f and x.path[:n] == within)
        return next(found, None)


_new = object.__new__
