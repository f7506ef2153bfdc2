"""Pipelines: another policy, format, order or accumulator of a step, all steps under another policy, and the defects
that a step may have as an operation by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.diagnosis.defects import Faulty, defective, replaced, within
from softfloat_ref.diagnosis.hypotheses import SHARE, AnsweredCase, Hypothesis, Model
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, kind_of, register
from softfloat_ref.diagnosis.lane_defects import lane_defects, lanes_suggested_by
from softfloat_ref.diagnosis.spaces import Space
from softfloat_ref.diagnosis.stepped_defects import stepped_defects
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.steps import Change, Function, Traced
from softfloat_ref.units import DotUnit, OperationUnit, PipelineUnit
from softfloat_ref.units.pipeline_steps import Part, PipelineStep, part_result

_FORMATS: Final = ("bf16", "fp16", "tf32", "fp32", "fp64")  # that a step may have in place of its own
_ORDERS: Final = {
    "sequential": "one after another",
    "backward": "from the last to the first",
    "pairs": "in pairs of neighbours",
    "halves": "each with the one half of the number further on",
    **{f"interleaved/{n}": f"in {n} interleaved sums, added in pairs" for n in (2, 4, 8, 16, 32)},
}


@dataclass(frozen=True)
class PipelineSpace(Space[PipelineUnit]):
    """The pipelines near one: points are units that differ from it in one step, or in the policy of all."""

    labels: dict[PipelineUnit, tuple[str, str, int]] = field(default_factory=dict, compare=False, repr=False)

    def changes(self, point: PipelineUnit) -> Iterator[PipelineUnit]:
        before = self.labels.get(point)
        for name, text, make in (*_of_all(point), *(x for s in point.stages for x in _of_stage(point, s))):
            try:
                changed = make()
            except Error:
                continue
            if changed not in (point, self.unit) and changed not in self.labels:
                both = (name, text, 2) if before is None else (f"{before[0]}, {name}", f"{before[1]} and {text}", 4)
                self.labels[changed] = both
                yield changed

    def text(self, point: PipelineUnit) -> str:
        return self.labels[point][0] if point in self.labels else super().text(point)

    def description(self, point: PipelineUnit) -> str:
        return self.labels[point][1] if point in self.labels else super().description(point)

    def size(self, point: PipelineUnit) -> int:
        return self.labels[point][2] if point in self.labels else 0

    def model_of(self, unit: PipelineUnit) -> Model:
        return Faulty(unit)

    def defects_of(self, unit: PipelineUnit) -> Iterator[Hypothesis]:
        for stage in unit.stages:
            yield from _left_out(unit, stage)
            for h in kind_of(stage.unit).space().listed:
                yield _in_step(unit, stage, h)
        if unit.last.lanes > 1:
            yield from lane_defects(unit, unit.last.lanes)
        for h in stepped_defects(unit):  # of a rounding that all steps share
            yield h._replace(name=f"{h.name} in every step", description=f"{h.description}, in every step")

    def suggested_of(self, unit: PipelineUnit, cases: Sequence[AnsweredCase]) -> Iterator[Hypothesis]:
        return lanes_suggested_by(unit, cases)


Near = tuple[str, str, Callable[[], PipelineUnit]]  # a name, what such a device does, and the unit


def _of_all(unit: PipelineUnit) -> Iterator[Near]:
    """Every operation under another policy."""
    for name, text, change in _policies(unit.policy, unit):

        def changed(change: Callable[[Policy], Policy] = change) -> PipelineUnit:
            stages = (_with_policy(s, change) if isinstance(s.unit, OperationUnit) else s for s in unit.stages)
            return replace(unit, stages=tuple(stages))

        yield f"{name} in every step", f"{text}, in every step", changed


def _policies(policy: Policy, unit: Any) -> Iterator[tuple[str, str, Callable[[Policy], Policy]]]:
    """Policies that differ in one field, as changes of that field."""
    from softfloat_ref.diagnosis.policy_space import PolicySpace

    space = PolicySpace(unit)
    for point in space.changes(policy):
        own = {k: getattr(point, k) for k in Policy.__dataclass_fields__ if getattr(point, k) != getattr(policy, k)}
        yield space.text(point), space.description(point), lambda p, own=own: p.replace(**own)  # type: ignore[misc]


def _with_policy(stage: PipelineStep, change: Callable[[Policy], Policy]) -> PipelineStep:
    unit = stage.unit
    assert isinstance(unit, OperationUnit)
    return replace(stage, unit=replace(unit, policy=change(unit.policy)))


def _of_stage(unit: PipelineUnit, stage: PipelineStep) -> Iterator[Near]:
    """Another policy, format, order or accumulator of a step."""
    part, where = stage.unit, f"in step {stage.name}"
    if isinstance(part, OperationUnit):
        space = kind_of(part).space()
        for point in space.changes(part.policy):
            if space.key(point) != space.key(part.policy):
                other = replace(stage, unit=space.unit_of(point))
                yield (
                    f"{space.text(point)} {where}",
                    f"{space.description(point)}, {where}",
                    lambda other=other: unit.with_stage(stage.name, other),  # type: ignore[misc]
                )
    for name in _FORMATS if not stage.out.is_integer else ():
        fmt = get_format(name)
        if fmt != stage.out and stage is not unit.last:
            variant = lambda fmt=fmt: with_format(unit, stage.name, fmt)  # noqa: E731
            yield f"step {stage.name} in {name}", f"has the result of step {stage.name} in {name}", variant
    for order, text in _ORDERS.items() if stage.order else ():
        ways = int(order.partition("/")[2] or 0)
        if order != stage.order and ways < unit.sizes[str(stage.of[0])]:  # more ways than lanes are pairs
            variant = lambda order=order: unit.with_stage(stage.name, replace(stage, order=order))  # noqa: E731
            yield f"order {order} {where}", f"combines the lanes {text}, {where}", variant
    if isinstance(part, DotUnit):
        yield from _accumulators(unit, stage, part)


def _accumulators(unit: PipelineUnit, stage: PipelineStep, part: DotUnit) -> Iterator[Near]:
    space = kind_of(part).space()
    for point in (*space.named(), *space.changes(part.accumulator)):

        def variant(point: Any = point) -> PipelineUnit:
            return unit.with_stage(stage.name, replace(stage, unit=space.unit_of(point)))

        yield f"{space.text(point)} in step {stage.name}", f"{space.description(point)}, in step {stage.name}", variant


def with_format(unit: PipelineUnit, name: str, fmt: Format) -> PipelineUnit:
    """The unit with the result of a step in another format, which the steps that take it read. Raises Error."""
    stages = []
    for s in unit.stages:
        own = s.unit
        if s.name == name and s.order:
            raise Error("a fold has its operand's format")
        if isinstance(own, OperationUnit):
            taken = [x == name for x in s.of] * (2 if s.order else 1)
            formats = tuple(fmt if hit else f for f, hit in zip(own.formats, taken, strict=True))
            constants = any(isinstance(x, int) for x in s.of) and formats != own.formats
            if constants:
                raise Error("a constant has its neighbour's format")
            folds = s.order and s.of[0] == name
            out = fmt if s.name == name or folds else own.out
            own = replace(own, formats=formats, out=out)
        elif isinstance(own, DotUnit):
            changed: dict[str, Any] = {letter: fmt for letter, x in zip("ab", s.of, strict=False) if x == name}
            own = replace(own, **changed | ({"out": fmt, "c": fmt} if s.name == name else {}))
        stages.append(replace(s, unit=own))
    return replace(unit, stages=tuple(stages))


def _left_out(unit: PipelineUnit, stage: PipelineStep) -> Iterator[Hypothesis]:
    """A step whose result is its first operand."""
    part = stage.unit
    if isinstance(part, OperationUnit) and not stage.order and part.formats[0] == part.out and stage is not unit.last:
        skipped = _replaced(stage.name, lambda here, right, part, inputs: (inputs[0], 0))
        yield defective(unit, f"step {stage.name} left out", f"leaves step {stage.name} out", *skipped)


def _in_step(unit: PipelineUnit, stage: PipelineStep, h: Hypothesis) -> Hypothesis:
    """A hypothesis on an operation by itself, as one on a step."""

    def wrong(here: Traced, right: Function, part: Part, inputs: tuple[int, ...]) -> tuple[int, int]:
        output = h.model(inputs)
        if output is None:
            return right(part, inputs)  # type: ignore[no-any-return]
        return output[0], output[-1] if part.has_flags else 0

    text = f"{h.description}, in step {stage.name}"
    share = max(h.share, SHARE)
    model = Faulty(unit, _replaced(stage.name, wrong))
    return Hypothesis(f"{h.name} in step {stage.name}", text, model, size=h.size, share=share)


def _replaced(name: str, wrong: Function) -> tuple[Change, ...]:
    return within(name, [replaced(part_result, wrong)])


@register(PipelineUnit)
class DiagnosedPipeline(DiagnosedKind):
    """A pipeline."""

    tried: ClassVar[str] = "policy, format, order or listed defect of a step"
    choices: ClassVar[type[Space[Any]]] = PipelineSpace
    unit: PipelineUnit

    @property
    def title(self) -> str:
        unit = self.unit
        formats = dict.fromkeys(x.fmt.name for x in unit.operands)
        return f"{unit.op} of {', '.join(formats)} to {unit.out.name}"
