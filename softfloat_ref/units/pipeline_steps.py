"""The steps of pipelines: operations, approximations and dot products on lanes, and folds of lanes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.steps import append_zeros, exact_result, on_codes, random_word
from softfloat_ref.oracle.rounding_steps import read, rounded
from softfloat_ref.oracle.steps import Do, step
from softfloat_ref.units.approximation import ApproximationUnit
from softfloat_ref.units.dot import DotUnit
from softfloat_ref.units.folds import check_order, folded
from softfloat_ref.units.operation import OperationUnit
from softfloat_ref.units.unit import Line, restored, stored

Part = OperationUnit | ApproximationUnit | DotUnit
T = TypeVar("T")
MAX_LANES: Final = 1 << 16  # of an operand or a step


def part_in_steps(do: Do, part: Part, inputs: Line) -> tuple[int, int]:
    """`part_result`, step by step."""
    outputs = part.computed(do, inputs)
    return outputs[0], outputs[-1] if part.has_flags else 0


@step("step", "code and flags", part_in_steps, [read, exact_result, rounded, on_codes, append_zeros, random_word])
def part_result(part: Part, inputs: Line) -> tuple[int, int]:
    """The code that a step gives for its inputs, and the flags raised."""
    outputs = part.answer(inputs)
    return outputs[0], outputs[-1] if part.has_flags else 0


@dataclass(frozen=True)
class PipelineStep:
    """A step: what it does, and to what.

    of: the names of operands and of steps before it, or a constant's code. lanes: of its result; an operand of one lane
    is the same for all. order: of a fold of all lanes into one; '' without. columns: of a dot product, b is a matrix
    whose columns count, not its rows.
    """

    name: str
    unit: Part
    of: tuple[str | int, ...]
    lanes: int = 1
    order: str = ""
    columns: bool = False

    @property
    def out(self) -> Format:
        """The format of the result."""
        out: Format | None = self.unit.results[0].fmt
        assert out is not None
        return out

    @property
    def random_count(self) -> int:
        """The random bits of each rounding."""
        return self.unit.policy.random_count if isinstance(self.unit, OperationUnit) else 0

    def calls(self, sizes: Mapping[str, int]) -> int:
        """How many operations it takes. sizes: the lanes of operands and steps."""
        return sizes[str(self.of[0])] - 1 if self.order else self.lanes

    def taken(self, values: Mapping[str, Sequence[T]], lane: int, constant: Callable[[int], T]) -> list[T]:
        """The inputs of a lane. constant: a constant's code, as values are."""
        vectors, scalars = list[T](), self.of
        if isinstance(self.unit, DotUnit):  # the last one is the number that the sum starts from
            vectors, scalars = self._taken_by_dot(values, lane), self.of[2:] or (0,)
        return [*vectors, *(constant(x) if isinstance(x, int) else values[x][lane % len(values[x])] for x in scalars)]

    def _taken_by_dot(self, values: Mapping[str, Sequence[T]], lane: int) -> list[T]:
        a, b, k = values[str(self.of[0])], values[str(self.of[1])], self.unit.k  # type: ignore[union-attr]
        own = b[lane :: self.lanes] if self.columns else b[lane * k : lane * k + k]
        return [*a, *(own if len(b) > k else b)]

    def results(self, do: Do, values: Mapping[str, Sequence[int]], words: Iterator[int]) -> tuple[Line, int]:
        """The codes of all lanes, and the flags of all or-ed. words: the random words, which a stochastic rounding
        takes one by one."""
        flags, part, count = 0, self.unit, 0
        drawn = self.random_count

        def done(*codes: int) -> int:
            nonlocal flags, count
            inputs = (*codes, next(words)) if drawn else codes
            code, raised = do.at(self.name, count)(part_result, part, inputs)
            flags, count = flags | raised, count + 1
            return code

        if self.order:
            return (folded(self.order, values[str(self.of[0])], done),), flags
        return tuple(done(*self.taken(values, k, int)) for k in range(self.lanes)), flags

    def to_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)} | {"unit": stored(self.unit)}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> PipelineStep:
        unit = restored(table["unit"])
        if not isinstance(unit, Part):
            raise Error(f"step {table['name']}: {unit.kind} units are not steps")
        of = tuple(x if isinstance(x, int) else str(x) for x in table["of"])
        return PipelineStep(str(table["name"]), unit, of, table["lanes"], str(table["order"]), table["columns"] is True)


class PartCase(NamedTuple):
    """One call of a step: its name, the number of the call, the inputs, and its code and flags."""

    stage: str
    call: int
    inputs: Line
    code: int
    flags: int


class PartRecorder(NamedTuple):
    """A run that lists the calls of steps."""

    cases: list[PartCase]
    where: tuple[Any, ...]

    def at(self, *where: object) -> PartRecorder:
        return self._replace(where=where)

    def __call__(self, f: Callable[..., Any], *args: Any) -> Any:
        value = f(*args)
        if f is part_result:
            stage, call = self.where
            self.cases.append(PartCase(stage, call, args[1], *value))
        return value


def check_step(stage: PipelineStep, known: Mapping[str, tuple[Format, int]]) -> None:
    """Raise Error for a step whose inputs are not there, or do not fit."""
    where = f"step {stage.name}"
    for x in stage.of:
        if isinstance(x, str) and x not in known:
            raise unknown(f"{where}: operand or step before it:", x, known)
    check_lanes(stage.name, stage.lanes)
    formats = [known[x][0] if isinstance(x, str) else None for x in stage.of]
    sizes = [known[x][1] if isinstance(x, str) else 1 for x in stage.of]
    if isinstance(stage.unit, DotUnit):
        _check_dot(stage, stage.unit, formats, sizes)
        return
    own = stage.unit.input_formats[: len(stage.of) * (2 if stage.order else 1)]
    wanted = formats * 2 if stage.order else formats
    if len(own) != len(wanted) or any(f not in (None, g) for f, g in zip(wanted, own, strict=True)):
        raise Error(
            f"{where}: {stage.unit.name} does not take {', '.join(f.name if f else 'a number' for f in wanted)}"
        )
    if stage.order:
        check_order(stage.order)
        if stage.lanes != 1 or stage.out != formats[0]:
            raise Error(f"{where}: a fold has one result, in the format of its operand")
    elif any(n not in (1, stage.lanes) for n in sizes):
        raise Error(f"{where}: operands of {', '.join(map(str, sizes))} lanes do not fit together")


def _check_dot(stage: PipelineStep, unit: DotUnit, formats: Sequence[Format | None], sizes: Sequence[int]) -> None:
    where, k = f"step {stage.name}", unit.k
    if unit.steps or len(sizes) not in (2, 3) or formats[0] != unit.a or formats[1] != unit.b:
        raise Error(f"{where}: a dot product is of two operands or steps, in its formats, and the number added")
    if formats[2:] and formats[2] not in (None, unit.c):
        raise Error(f"{where}: the number added has another format than {unit.c.name}")
    if sizes[0] != k or sizes[1] not in (k, k * stage.lanes) or any(n not in (1, stage.lanes) for n in sizes[2:]):
        raise Error(f"{where}: operands of {' and '.join(map(str, sizes[:2]))} lanes are not rows of {k}")


def check_lanes(name: str, count: Any) -> None:
    """Raise Error for a number of lanes that is not possible."""
    if type(count) is not int or not 1 <= count <= MAX_LANES:
        raise Error(f"{name} has {count} lanes; 1 to {MAX_LANES} are possible")
