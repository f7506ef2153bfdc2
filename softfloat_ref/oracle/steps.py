"""Steps: plain functions with a name, of which computations are made; runs that call, record, and replace them.

A computation is a plain function that does its steps through a run: `do(step, *args)`, and `do.at("elements", k)(step,
*args)` where there are several. Under PLAIN that is `step(*args)`: the answer of a unit. A Traced run records what each
step gives, and may have some steps replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, ParamSpec, Protocol, TypeVar, cast

from softfloat_ref.base.search import find_first

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
_COMPOSITE: Final[dict[Function, frozenset[Function]]] = {}  # those with an inner form, and the steps inside


def step(name: str, kind: str, inner: Function | None = None, inside: Iterable[Function] = ()) -> Callable[[F], F]:
    """Register a function as a step. It stays that function: for Numba, mypy and the symbolic reader nothing changes.

    inside: the steps that `inner` does; those inside these are added.
    """
    every = frozenset(x for f in inside for x in (f, *STEPS[f].inside))

    def register(f: F) -> F:
        STEPS[f] = Step(name, kind, inner, every)
        if inner is not None:
            _COMPOSITE[f] = every
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
    this one. here: the Traced run.

    parts: where it is replaced: in parts of the computation as `at` enters them, by one name ("elements", "a") or all
    of them (("product", 3)), each inside the one before. reads: steps whose values `wrong` asks the run for. placed:
    `wrong` asks for the run's path.
    """

    step: Function
    wrong: Function
    parts: tuple[object, ...] = ()
    reads: tuple[Function, ...] = ()
    placed: bool = False


class Plan:
    """What a Traced run does besides its steps: the changes of each, those done in inner steps, those recorded."""

    def __init__(self, changes: Iterable[Change] = (), record_all: bool = False) -> None:
        self.every, self.record_all = tuple(changes), record_all
        self.placed = record_all or any(c.placed for c in self.every)
        self.parts = frozenset(c.parts[0] for c in self.every if c.parts)
        self.changes: dict[Function, tuple[Change, ...]] = {}
        for c in self.every:
            if not c.parts:
                self.changes[c.step] = (*self.changes.get(c.step, ()), c)
        self._within: dict[Path, Plan] = {}
        self._plans: dict[frozenset[object], Plan] = {frozenset(): self}

    @cached_property
    def expanded(self) -> frozenset[Function]:
        """The steps that are done in their inner steps."""
        asked = self.recorded | {c.step for c in self.every}
        return frozenset(f for f, inside in _COMPOSITE.items() if inside & asked)

    @cached_property
    def recorded(self) -> frozenset[Function]:
        """The steps that are recorded."""
        return frozenset(STEPS) if self.record_all else frozenset(f for c in self.every for f in c.reads)

    @cached_property
    def other(self) -> dict[Function, Callable[[Traced, tuple[Any, ...]], Any]]:
        """How the steps are done that are more than their function."""
        return {f: self._done(f) for f in self.changes.keys() | self.expanded | self.recorded}

    def _done(self, f: Function) -> Callable[[Traced, tuple[Any, ...]], Any]:
        changes, name, keep = self.changes.get(f, ()), STEPS[f].name, f in self.recorded
        inner = STEPS[f].inner if f in self.expanded else None
        if len(changes) == 1 and inner is None and not keep:
            wrong = changes[0].wrong
            return lambda here, args: wrong(here, f, *args)

        def done(here: Traced, args: tuple[Any, ...]) -> Any:
            run = f if inner is None else partial(inner, here.inside(name))
            for c in changes:
                run = partial(c.wrong, here, run)
            value = run(*args)
            if keep:
                here.record.append(Recorded(here.path if self.placed else (), f, value, args))
            return value

        return done

    def within(self, where: Path) -> Plan:
        """The plan in a part of the computation."""
        plan = self._within.get(where)
        if plan is None:
            plan = self._within[where] = self._entered(self.parts & {*where, where})
        return plan

    def _entered(self, parts: frozenset[object]) -> Plan:
        plan = self._plans.get(parts)
        if plan is None:
            moved = (c._replace(parts=c.parts[1:]) if c.parts and c.parts[0] in parts else c for c in self.every)
            plan = self._plans[parts] = Plan(moved, self.record_all)
        return plan


class Known:
    """The values that the steps of a case give without changes: until one gives another, the next ones need not be
    done. same: whether all have given these."""

    __slots__ = ("next", "same", "values")

    def __init__(self, values: Sequence[Any]) -> None:
        self.values, self.next, self.same = values, 0, True


def values_of(computation: Callable[[Do], object]) -> list[Any]:
    """What the steps of a computation give, in their order; those with inner steps as one."""
    values: list[Any] = []

    def do(f: Function, /, *args: Any) -> Any:
        value = f(*args)
        values.append(value)
        return value

    setattr(do, "at", lambda *where: do)  # noqa: B010
    computation(cast(Do, do))
    return values


class Traced:
    """A run that follows a plan, one for each case. case: what changes may look at besides the steps."""

    __slots__ = ("_parent", "_parts", "_where", "case", "known", "other", "plan", "record")

    def __init__(self, plan: Plan, case: Any = None, known: Known | None = None) -> None:
        self.plan, self.case, self.known, self.other = plan, case, known, plan.other
        self.record: list[Recorded] = []
        self._parts: dict[object, Traced] = {}
        self._parent: Traced | None = None
        self._where: Path = ()

    def at(self, *where: object) -> Traced:
        """The run in a part of the computation."""
        plan = self.plan
        if plan.placed:
            return self._part(plan.within(where), where, self.known)
        parts = plan.parts  # those without changes of their own are one
        if not parts or (where[0] not in parts and where[-1] not in parts and where not in parts):
            return self
        inner = plan.within(where)
        return self._parts.get(inner) or self._parts.setdefault(inner, self._part(inner, where, self.known))

    def inside(self, name: str) -> Traced:
        """The run inside a step, which is done in inner steps."""
        if self.plan.placed:
            return self._part(self.plan.within((name,)), (name,), None)
        return self._parts.get(name) or self._parts.setdefault(
            name, self._part(self.plan.within((name,)), (name,), None)
        )

    def _part(self, plan: Plan, where: Path, known: Known | None) -> Traced:
        part = Traced(plan, self.case, known)
        part.record, part._parent, part._where = self.record, self, where
        return part

    @property
    def path(self) -> Path:
        """Where this run is in the computation, if the plan is placed."""
        return self._where if self._parent is None else (*self._parent.path, *self._where)

    if TYPE_CHECKING:

        def __call__(self, f: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    else:

        def __call__(self, f, /, *args):
            done, known = self.other.get(f), self.known
            if known is None or not known.same:
                return f(*args) if done is None else done(self, args)
            right = known.values[known.next]
            known.next += 1
            if done is None:
                return right
            value = done(self, args)
            known.same = value == right
            return value

    def all(self, f: Function, *within: object) -> Iterator[Recorded]:
        """The recorded steps of that function, in a part of the computation."""
        return (x for x in self.record if x.function is f and x.path[: len(within)] == within)

    def first(self, f: Function, *within: object) -> Recorded:
        """The first such step. Raises LookupError if there was none."""
        return find_first(self.all(f, *within))

    def last(self, f: Callable[P, T], *within: object) -> T | None:
        """What the last such step gave; None if there was none."""
        n = len(within)
        values = (x.value for x in reversed(self.record) if x.function is f and x.path[:n] == within)
        return next(values, None)


def recording() -> Traced:
    """A run that records every step."""
    return Traced(Plan((), record_all=True))
