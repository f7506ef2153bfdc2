"""Units that do operations one after another, each result rounded to a format of its own: a softmax as kernels have it.

A step is an operation, an approximation or a dot product; nothing is computed here but the order of a fold.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeVar, cast

from softfloat_ref.base.errors import Error
from softfloat_ref.base.systemverilog import KEYWORDS
from softfloat_ref.oracle.blocks.quantize import lanes
from softfloat_ref.oracle.formats import Format, define_format
from softfloat_ref.oracle.policies import POLICIES, Policy, rounding_name
from softfloat_ref.oracle.steps import Do
from softfloat_ref.units.approximation import ApproximationUnit
from softfloat_ref.units.dot import DotUnit
from softfloat_ref.units.operation import OperationUnit, properties
from softfloat_ref.units.pipeline_steps import PartCase, PartRecorder, PipelineStep, check_lanes, check_step
from softfloat_ref.units.unit import (
    FLAGS,
    Field,
    SteppedUnit,
    file_name,
    operand,
    random_words,
    result,
    split,
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


@dataclass(frozen=True)
class PipelineOperand:
    """An operand. role: mask for one that is added to scores, of zeros and -Inf."""

    name: str
    fmt: Format
    lanes: int = 1
    role: Role = ""


# -- the unit ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PipelineUnit(SteppedUnit):
    """Operations one after another: operands in, the results of the last one and the flags of all out.

    stages: in their order, each of operands and of stages before it. steps: the results of every stage are outputs,
    too. exact: the function of vectors that is computed so, of the same operands, each result rounded once; or None.
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
            check_name(x.name, known)
            check_lanes(x.name, x.lanes)
            known[x.name] = x.fmt, x.lanes
        for stage in self.stages:
            check_name(stage.name, known)
            check_step(stage, known)
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
        return {x.name: x.lanes for x in self.operands} | {s.name: s.lanes for s in self.stages}

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
        words, flags = iter(values.pop("r", ())), 0
        between: list[int] = []
        for stage in self.stages:
            values[stage.name], raised = stage.results(do, values, words)
            flags |= raised
            between += values[stage.name]
        own = values[self.last.name]
        before = between[: len(between) - len(own)] if self.steps else ()
        return (*before, *do(lanes, tuple(own)), flags)

    def part_cases(self, inputs: Sequence[int]) -> list[PartCase]:
        """What each step did for a case, call by call."""
        record = PartRecorder([], ())
        self.computed(cast(Do, record), inputs)
        return record.cases

    def with_stage(self, name: str, changed: PipelineStep) -> PipelineUnit:
        """The unit with another stage of that name. Raises Error."""
        return dataclasses.replace(self, stages=tuple(changed if s.name == name else s for s in self.stages))

    def answers(self, inputs: Rows) -> Rows | None:
        import numpy as np

        from softfloat_ref.units.pipeline_arrays import answers

        columns = answers(self.inputs, self.stages, inputs)
        return None if columns is None else np.hstack([columns[f.name] for f in self.outputs])

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


def check_name(name: str, known: Mapping[str, Any]) -> None:
    """Raise Error for a name that a field cannot have, or that is taken."""
    if not (name.isidentifier() and name.isascii() and name == name.lower()) or name.startswith("_"):
        raise Error(f"{name!r} is not a name of lower-case letters, digits and underscores")
    if name in _RESERVED or name in KEYWORDS:
        raise Error(f"{name!r} is reserved; choose another name")
    if name in known:
        raise Error(f"{name!r} is the name of two operands or steps")
