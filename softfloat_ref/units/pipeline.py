"""Units that do operations one after another, each result rounded to a format of its own: a softmax as kernels have it.

A step is an operation, an approximation or a dot product; nothing is computed here but the order of a fold.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, TypeVar, cast

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.systemverilog import KEYWORDS
from softfloat_ref.oracle.blocks.quantize import lanes
from softfloat_ref.oracle.formats import Format, define_format
from softfloat_ref.oracle.operations.steps import append_zeros, exact_result, on_codes, random_word
from softfloat_ref.oracle.policies import POLICIES, Policy, rounding_name
from softfloat_ref.oracle.rounding_steps import read, rounded
from softfloat_ref.oracle.steps import Do, step
from softfloat_ref.units.approximation import ApproximationUnit
from softfloat_ref.units.dot import DotUnit
from softfloat_ref.units.folds import check_order, folded
from softfloat_ref.units.operation import OperationUnit, properties
from softfloat_ref.units.unit import (
    FLAGS,
    Field,
    Line,
    SteppedUnit,
    file_name,
    operand,
    random_words,
    restored,
    result,
    split,
    stored,
)
from softfloat_ref.units.vector import VectorUnit

if TYPE_CHECKING:
    from softfloat_ref.units.unit import Rows

Part = OperationUnit | ApproximationUnit | DotUnit
Role = Literal["", "mask"]
T = TypeVar("T")
MAX_LANES: Final = 1 << 16  # of an operand or a step
MAX_STEPS: Final = 64
_RESERVED: Final = frozenset({"flags", "r", "steps", "length", "depth", "epsilon", "visible"})


# -- the steps ---------------------------------------------------------------------------------------------------------


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
        if isinstance(self.unit, DotUnit):
            return [*self._taken_by_dot(values, lane), *self._others(values, lane, constant)]
        return [constant(x) if isinstance(x, int) else values[x][lane % len(values[x])] for x in self.of]

    def _taken_by_dot(self, values: Mapping[str, Sequence[T]], lane: int) -> list[T]:
        a, b, k = values[str(self.of[0])], values[str(self.of[1])], self.unit.k  # type: ignore[union-attr]
        own = b[lane :: self.lanes] if self.columns else b[lane * k : lane * k + k]
        return [*a, *(own if len(b) > k else b)]

    def _others(self, values: Mapping[str, Sequence[T]], lane: int, constant: Callable[[int], T]) -> list[T]:
        """The number that a dot product starts from: zero, unless there is one."""
        return [constant(x) if isinstance(x, int) else values[x][lane % len(values[x])] for x in self.of[2:] or (0,)]

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


@dataclass(frozen=True)
class PipelineOperand:
    """An operand. role: mask for one that is added to scores, of zeros and -Inf."""

    name: str
    fmt: Format
    lanes: int = 1
    role: Role = ""


class PartCase(NamedTuple):
    """One call of a step: its name, the number of the call, the inputs, and its code and flags."""

    stage: str
    call: int
    inputs: Line
    code: int
    flags: int


class _PartRecorder(NamedTuple):
    """A run that lists the calls of steps."""

    cases: list[PartCase]
    where: tuple[Any, ...]

    def at(self, *where: object) -> _PartRecorder:
        return self._replace(where=where)

    def __call__(self, f: Callable[..., Any], *args: Any) -> Any:
        value = f(*args)
        if f is part_result:
            self.cases.append(PartCase(*self.where, args[1], *value))
        return value


# -- the unit ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PipelineUnit(SteppedUnit):
    """Operations one after another: operands in, the results of the last one and the flags of all out.

    stages: in their order, each of operands and of stages before it. steps: the results of every stage are outputs, too.
    exact: the function of vectors that is computed so, with the same operands, each result rounded once; or None.
    """

    kind: ClassVar[str] = "pipeline"

    op: str
    operands: tuple[PipelineOperand, ...]
    stages: tuple[PipelineStep, ...]
    steps: bool = False
    exact: VectorUnit | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.stages) <= MAX_STEPS:
            raise Error(f"{self.op}: a pipeline has 1 to {MAX_STEPS} steps, not {len(self.stages)}")
        known: dict[str, tuple[Format, int]] = {}
        for x in self.operands:
            _check_name(x.name, known)
            _check_lanes(x.name, x.lanes)
            known[x.name] = x.fmt, x.lanes
        for stage in self.stages:
            _check_name(stage.name, known)
            _check_step(stage, known)
            known[stage.name] = stage.out, stage.lanes
        if len({s.random_count for s in self.stages if s.random_count}) > 1:
            raise Error(f"{self.op}: all stochastic roundings must take the same number of random bits")
        inputs = [(f.fmt, f.lanes) for f in self.exact.inputs if f.role == "operand"] if self.exact else []
        if self.exact and inputs != [(x.fmt, x.lanes) for x in self.operands][: len(inputs)]:
            raise Error(f"{self.op}: exact = {self.exact.op} has other operands")

    @property
    def last(self) -> PipelineStep:
        """The last stage, whose results are the unit's."""
        return self.stages[-1]

    @property
    def out(self) -> Format:
        """The format of the results."""
        return self.last.out

    @property
    def policy(self) -> Policy:
        """That of a stage that takes random bits, or of the last one with a policy."""
        own = [s.unit.policy for s in self.stages if isinstance(s.unit, OperationUnit)]
        return next((p for p in own if p.random_count), own[-1] if own else POLICIES["ieee"])

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The lanes of each operand and stage."""
        return {x.name: x.lanes for x in (*self.operands, *self.stages)}

    @cached_property
    def name(self) -> str:
        size = "x".join(str(n) for n in dict.fromkeys((self.operands[0].lanes, self.last.lanes)))
        formats = dict.fromkeys((*(x.fmt.name for x in self.operands), *(s.out.name for s in self.stages)))
        more = ["steps"] if self.steps else []
        return file_name(self.op, size, *formats, rounding_name(self.policy.rounding), *more)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        words = sum(s.calls(self.sizes) for s in self.stages if s.random_count)
        between = [result(s.name, s.out, s.lanes) for s in self.stages[:-1]] if self.steps else []
        return (
            *(operand(x.name, x.fmt, x.lanes) for x in self.operands),
            *(random_words(self.policy.random_count, words) if words else ()),
            *between,
            result(self.last.name, self.out, self.last.lanes),
            FLAGS,
        )

    def computed(self, do: Do, inputs: Sequence[int], more_bits: int = 0) -> Sequence[int]:
        if len(inputs) != self.input_width:
            raise Error(f"{self.op} takes {self.input_width} codes, not {len(inputs)}")
        values: dict[str, Sequence[int]] = {f.name: codes for f, codes in split(self.inputs, inputs)}
        words, flags, between = iter(values.pop("r", ())), 0, []
        for stage in self.stages:
            values[stage.name], raised = stage.results(do, values, words)
            flags |= raised
            between += values[stage.name]
        own = values[self.last.name]
        before = between[: len(between) - len(own)] if self.steps else ()
        return (*before, *do(lanes, tuple(own)), flags)

    def part_cases(self, inputs: Sequence[int]) -> list[PartCase]:
        """What each step did for a case, call by call."""
        record = _PartRecorder([], ())
        self.computed(cast(Do, record), inputs)
        return record.cases

    def with_stage(self, name: str, changed: PipelineStep) -> PipelineUnit:
        """The unit with another stage of that name. Raises Error."""
        return dataclasses.replace(self, stages=tuple(changed if s.name == name else s for s in self.stages))

    def answers(self, inputs: Rows) -> Rows | None:
        from softfloat_ref.units.pipeline_arrays import answers

        return answers(self, inputs)

    def properties(self) -> dict[str, str]:
        others = {f"fmt_{x.name}": x.fmt.name for x in self.operands[1:]}
        return properties(self.op, self.operands[0].fmt, self.out, self.policy, self.out.width, **others)

    def to_dict(self) -> dict[str, Any]:
        return {
            "op": self.op,
            "operands": [{**dataclasses.asdict(x), "fmt": x.fmt.to_dict()} for x in self.operands],
            "stages": [s.to_dict() for s in self.stages],
            "steps": self.steps,
            **({} if self.exact is None else {"exact": self.exact.to_dict()}),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> PipelineUnit:
        return PipelineUnit(
            str(table["op"]),
            tuple(
                PipelineOperand(str(x["name"]), define_format(x["fmt"]), x["lanes"], _role(x["role"]))
                for x in table["operands"]
            ),
            tuple(PipelineStep.from_dict(s) for s in table["stages"]),
            table["steps"] is True,
            VectorUnit.from_dict(table["exact"]) if "exact" in table else None,
        )


def _role(text: Any) -> Role:
    return "mask" if text == "mask" else ""


def _check_name(name: str, known: Mapping[str, Any]) -> None:
    """Raise Error for a name that a field cannot have, or that is taken."""
    if not (name.isidentifier() and name.isascii() and name == name.lower()) or name.startswith("_"):
        raise Error(f"{name!r} is not a name of lower-case letters, digits and underscores")
    if name in _RESERVED or name in KEYWORDS:
        raise Error(f"{name!r} is reserved; choose another name")
    if name in known:
        raise Error(f"{name!r} is the name of two operands or steps")


def _check_lanes(name: str, count: Any) -> None:
    if type(count) is not int or not 1 <= count <= MAX_LANES:
        raise Error(f"{name} has {count} lanes; 1 to {MAX_LANES} are possible")


def _check_step(stage: PipelineStep, known: Mapping[str, tuple[Format, int]]) -> None:
    """Raise Error for a step whose inputs are not there, or do not fit."""
    where = f"step {stage.name}"
    for x in stage.of:
        if isinstance(x, str) and x not in known:
            raise unknown(f"{where}: operand or step before it:", x, known)
    _check_lanes(stage.name, stage.lanes)
    formats = [known[x][0] if isinstance(x, str) else None for x in stage.of]
    sizes = [known[x][1] if isinstance(x, str) else 1 for x in stage.of]
    if isinstance(stage.unit, DotUnit):
        _check_dot(stage, stage.unit, formats, sizes)
        return
    own = stage.unit.input_formats[: len(stage.of) * (2 if stage.order else 1)]
    wanted = formats * 2 if stage.order else formats
    if len(own) != len(wanted) or any(f not in (None, g) for f, g in zip(wanted, own, strict=True)):
        raise Error(f"{where}: {stage.unit.name} does not take {', '.join(f.name if f else 'a number' for f in wanted)}")
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

