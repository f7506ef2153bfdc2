"""Pipelines by name or from a TOML file.

A PipelineDefinition is what the file has: operands with symbolic sizes, steps by name. `make_pipeline` gives it
formats, numbers of lanes and a policy; the result is a PipelineUnit, in which each step is a unit of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error, errors_of, unknown
from softfloat_ref.base.search import find_first
from softfloat_ref.base.tables import from_table, load_definition, read_toml
from softfloat_ref.oracle import codec
from softfloat_ref.oracle.accumulate import Accumulator
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.oracle.operations import OPERATIONS, get_operation
from softfloat_ref.oracle.operations.p3109 import own_name
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.units.approximation import ApproximationUnit
from softfloat_ref.units.dot import DotUnit
from softfloat_ref.units.folds import check_order
from softfloat_ref.units.operation import OperationUnit
from softfloat_ref.units.pipeline import PipelineOperand, PipelineUnit, check_name
from softfloat_ref.units.pipeline_steps import Part, PipelineStep
from softfloat_ref.units.vector import DEFAULT_DEPTH, DEFAULT_LENGTH, EPSILON, VectorUnit, parse_epsilon

TABLE: Final = Path(__file__).with_name("pipelines.toml")
KIND: Final = "pipelines"
SIZES: Final = ("length", "depth", "length x depth", "one", "mask")
STEPS: Final = "steps"  # the format of steps that have none of their own
_CONSTANTS: Final = ("length", "depth", "epsilon")


@dataclass(frozen=True)
class StepDefinition:
    """A step as a file has it. op: an operation, dot, or FILE.toml[:NAME] of an approximation; of: operands, steps
    before it, numbers, length, depth, epsilon; out: its format; policy: a name, or fields that differ from the
    pipeline's; order: of a fold; acc: a dot product's accumulator; columns: b is a matrix by columns."""

    name: str
    op: str
    of: tuple[str, ...]
    out: str = ""
    policy: Any = None
    order: str = ""
    acc: str = ""
    columns: bool = False


@dataclass(frozen=True)
class PipelineDefinition:
    """A pipeline as a file has it. operands: their sizes by name; steps: in their order, the last one's results are the
    pipeline's; exact: the function of vectors it computes; the others: defaults of the options of the same names."""

    name: str
    operands: dict[str, Any]
    steps: tuple[StepDefinition, ...]
    summary: str = ""
    exact: str = ""
    fmt: str = ""
    out: str = ""
    policy: Any = None
    length: int = DEFAULT_LENGTH
    depth: int = DEFAULT_DEPTH
    epsilon: str = EPSILON

    def __post_init__(self) -> None:
        for name, size in self.operands.items():
            if size not in SIZES:
                raise unknown(f"size of operand {name}:", str(size), SIZES)
        if not self.operands or not self.steps:
            raise Error("operands and steps: at least one each")

    @property
    def options(self) -> frozenset[str]:
        """The options of a unit that change something."""
        sizes, taken = {*self.operands.values()}, {x for s in self.steps for x in s.of}
        named = {"length": "length" in taken or bool(sizes & {"length", "length x depth", "mask"})}
        named["depth"] = "depth" in taken or bool(sizes & {"depth", "length x depth"})
        named["acc"] = any(s.op == "dot" and not s.acc for s in self.steps)
        return frozenset({STEPS, "policy", *(n for n, x in named.items() if x), *({"epsilon"} & taken)})


def define_pipeline(table: Mapping[str, Any], name: str) -> PipelineDefinition:
    """A pipeline from its table. Raises Error."""
    return from_table(PipelineDefinition, {"name": name, **table}, f"pipeline {name}")


@cache
def named_pipelines() -> Mapping[str, PipelineDefinition]:
    """The pipelines of the package, by name."""
    with errors_of(str(TABLE)):
        return {name: define_pipeline(table, name) for name, table in read_toml(str(TABLE))[KIND].items()}


def is_pipeline_file(op: str) -> bool:
    """Whether FILE.toml[:NAME] defines pipelines. Raises Error for a file that cannot be read."""
    path, dot, _ = op.partition(".toml")
    return bool(dot) and KIND in read_toml(path + dot)


def get_pipeline(op: str) -> PipelineDefinition:
    """A pipeline by name, or of FILE.toml[:NAME]. Raises Error."""
    if ".toml" in op:
        return load_definition(op, KIND, define_pipeline)
    known = named_pipelines()
    if op not in known:
        raise unknown("pipeline", op, known)
    return known[op]


def make_pipeline(
    op: str | PipelineDefinition,
    fmt: Any = None,
    out: str | Format | None = None,
    policy: Policy | str | Mapping[str, Any] | None = None,
    length: int | None = None,
    depth: int | None = None,
    epsilon: str | None = None,
    acc: str | Accumulator = "",
    steps: bool = False,
) -> PipelineUnit:
    """The unit of a pipeline. fmt: of all operands and steps, or NAME=FORMAT,... for operands, steps by name, and
    `steps` for all others; out: of the last step; acc: of dot products that have none of their own. Raises Error."""
    definition = get_pipeline(op) if isinstance(op, str) else op
    for name, value in (("length", length), ("depth", depth), ("epsilon", epsilon), ("acc", acc or None)):
        if value is not None and name not in definition.options:
            raise Error(f"{definition.name} has no {name}")
    return _Builder(definition, fmt, out, policy, length, depth, epsilon, acc).unit(steps)


class _Builder:
    """Makes the unit of a definition, step by step.

    by_name: the operands and the steps so far, which later steps may take; stages: the steps so far, conversions among
    them; named: formats that the user chose by name; base: the format of all others; out: of the last step, or None.
    """

    def __init__(
        self,
        definition: PipelineDefinition,
        fmt: Any,
        out: str | Format | None,
        policy: Any,
        length: int | None,
        depth: int | None,
        epsilon: str | None,
        acc: str | Accumulator,
    ) -> None:
        d = self.definition = definition
        self.policy = get_policy(d.policy if policy is None else policy)
        self.length, self.depth = d.length if length is None else length, d.depth if depth is None else depth
        self.epsilon = Fraction(parse_epsilon(d.epsilon if epsilon is None else epsilon, EPSILON))
        self.named, self.base = self._formats(d.fmt if fmt is None else fmt)
        self.out, self.acc = out if out is not None else d.out or None, acc
        self.by_name: dict[str, PipelineOperand | PipelineStep] = {}
        self.stages: list[PipelineStep] = []

    def _formats(self, fmt: Any) -> tuple[dict[str, Format], Format]:
        """The formats by name, and that of the others. fmt: a format; NAME=FORMAT,...; or one for each operand, of
        which the first one is that of the steps. Raises Error."""
        d, names = self.definition, [*self.definition.operands, STEPS, *(s.name for s in self.definition.steps)]
        if not fmt:
            raise Error(f"{d.name} needs a format: one, or {','.join(f'{x}=FORMAT' for x in names[:3])},...")
        if isinstance(fmt, str) and "=" in fmt:
            named = {k: get_format(v) for k, v in assignments.parse(fmt, f"format {fmt!r}", names).items()}
            return named, named.get(STEPS) or find_first(named.values())
        if isinstance(fmt, str | Format):
            return {}, get_format(fmt)
        formats = [get_format(x) for x in fmt]
        if len(formats) != len(d.operands):
            raise Error(f"{d.name} takes {len(d.operands)} operands, but {len(formats)} formats were given")
        return dict(zip(d.operands, formats, strict=True)), formats[0]

    def unit(self, steps: bool) -> PipelineUnit:
        """The unit. steps: with the results of every step as outputs. Raises Error."""
        d, length, depth = self.definition, self.length, self.depth
        sizes = {"length": length, "depth": depth, "length x depth": length * depth, "one": 1, "mask": length}
        for name, size in d.operands.items():
            role: Any = "mask" if size == "mask" else ""
            self.by_name[name] = PipelineOperand(name, self.named.get(name, self.base), sizes[size], role)
        operands = tuple(x for x in self.by_name.values() if isinstance(x, PipelineOperand))
        for s in d.steps:
            with errors_of(f"{d.name}, step {s.name}"):
                self._add(s)
        return PipelineUnit(d.name, operands, tuple(self.stages), steps, self._exact(operands))

    def _exact(self, operands: Sequence[PipelineOperand]) -> VectorUnit | None:
        """The function of vectors that is computed, of the same operands; stochastic roundings become rne."""
        d = self.definition
        if not d.exact:
            return None
        sized = {"length": self.length} | ({"epsilon": str(self.epsilon)} if "epsilon" in d.options else {})
        sized |= {"depth": self.depth} if "depth" in d.options else {}
        policy = self.policy.replace(rounding="rne", sr_bits=None) if self.policy.random_count else self.policy
        formats, out = [x.fmt for x in operands], self.stages[-1].out
        with errors_of(f"{d.name}, exact"):
            return VectorUnit.make(d.exact, formats, out, policy, **sized)  # type: ignore[arg-type]

    def _add(self, s: StepDefinition) -> None:
        """Make a step, after conversions that it needs. Raises Error."""
        check_name(s.name, self.by_name)
        for x in s.of:
            if x not in self.by_name and x not in _CONSTANTS and not _is_number(x):
                raise unknown("operand or step before it:", x, [*self.by_name, *_CONSTANTS])
        step = self._fold(s) if s.order else self._dot(s) if s.op == "dot" else self._elementwise(s)
        self._append(step)

    def _append(self, step: PipelineStep) -> None:
        self.by_name[step.name] = step
        self.stages.append(step)

    def _out(self, s: StepDefinition) -> Format:
        """The format of a step's results: the user's, then the step's own, then the base."""
        last = s is self.definition.steps[-1]
        if last and self.out is not None:
            return get_format(self.out)
        return self.named.get(s.name) or get_format(s.out or self.base)

    def _policy(self, s: StepDefinition) -> Policy:
        """The policy of a step; fields without `like` change the pipeline's."""
        if isinstance(s.policy, Mapping) and "like" not in s.policy:
            return self.policy.replace(**s.policy)
        return self.policy if s.policy is None else get_policy(s.policy)

    def _format_of(self, x: str) -> Format:
        """The format of an operand, or of a step's results."""
        source = self.by_name[x]
        return source.fmt if isinstance(source, PipelineOperand) else source.out

    def _elementwise(self, s: StepDefinition) -> PipelineStep:
        """An operation on every lane."""
        if s.acc or s.columns:
            raise Error(f"{'acc' if s.acc else 'columns'} is for dot")
        taken = [x for x in s.of if x in self.by_name]  # the others are numbers
        if not taken:
            raise Error("of: names no operand and no step before it")
        formats = [self._format_of(x if x in self.by_name else taken[0]) for x in s.of]
        unit: Part
        if ".toml" in s.op:
            unit = ApproximationUnit.make(s.op, formats[0], s.out or None)
        else:
            unit = self._operation(s, formats)
        of = tuple(x if x in self.by_name else self._constant(x, f) for x, f in zip(s.of, formats, strict=True))
        return PipelineStep(s.name, unit, of, max(self.by_name[x].lanes for x in taken))

    def _operation(self, s: StepDefinition, formats: Sequence[Format]) -> OperationUnit:
        name = own_name(s.op)
        if name not in OPERATIONS:
            raise unknown("operation", s.op, (*OPERATIONS, "dot"))
        out = self._out(s) if get_operation(name).result == "float" else None
        return OperationUnit.make(name, formats, out, self._policy(s))

    def _constant(self, x: str, fmt: Format) -> int:
        """The code of a number: the nearest one in a format."""
        numbers: dict[str, Any] = {"length": self.length, "depth": self.depth, "epsilon": self.epsilon}
        number = numbers[x] if x in numbers else parse_number(x, "number")
        return codec.encode(Fraction(number) if isinstance(number, int) else number, fmt).bits

    def _fold(self, s: StepDefinition) -> PipelineStep:
        """All lanes combined into one; first converted, in a step of its own, if the result has another format."""
        check_order(s.order)
        if s.acc or s.columns:
            raise Error("order is for operations of two operands; a dot product has an accumulator")
        if len(s.of) != 1 or s.of[0] not in self.by_name:
            raise Error("a fold is of one operand, or one step before it")
        source, out = s.of[0], self._out(s)
        if self._format_of(source) != out:
            converted = f"{source}_{out.name}".lower()
            if converted not in self.by_name:
                unit = OperationUnit.make("convert", self._format_of(source), out, self._policy(s))
                self._append(PipelineStep(converted, unit, (source,), self.by_name[source].lanes))
            source = converted
        return PipelineStep(s.name, self._operation(s, (out, out)), (source,), 1, s.order)

    def _dot(self, s: StepDefinition) -> PipelineStep:
        """Products of a and each row, or column, of b, added by an accumulator. A third operand is what it starts
        from."""
        if len(s.of) not in (2, 3) or not all(x in self.by_name for x in s.of[:2]):
            raise Error("dot is of two operands or steps before it, and the number that the sum starts from")
        if s.policy is not None:
            raise Error("an accumulator has its own roundings; leave policy out")
        a, b, out = self._format_of(s.of[0]), self._format_of(s.of[1]), self._out(s)
        k, size = self.by_name[s.of[0]].lanes, self.by_name[s.of[1]].lanes
        formats = a, b, self._format_of(s.of[2]) if s.of[2:] and s.of[2] in self.by_name else out
        unit = DotUnit.make(formats, out, s.acc or self.acc, k)
        c = (self._constant(x, unit.c) if x not in self.by_name else x for x in s.of[2:])
        return PipelineStep(s.name, unit, (*s.of[:2], *c), max(size // k, 1), columns=s.columns)


def _is_number(text: str) -> bool:
    try:
        parse_number(text, "number")
    except Error:
        return False
    return True
