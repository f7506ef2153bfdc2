"""The errors of a model's tensors in several formats, measured box by box in any number of processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from softfloat_ref.arrays.boxes import SLAB, Box, BoxPlan, boxes
from softfloat_ref.arrays.error_counts import Errors
from softfloat_ref.arrays.errors import ErrorMeasure, MeasuredErrors, ValueRange
from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import Workers, in_order
from softfloat_ref.nn.model_files.tensors import ModelTensor, Unreadable


class ModelErrorRow(NamedTuple):
    """A tensor in a format. problem: why there is no result."""

    tensor: ModelTensor
    measure: ErrorMeasure
    measured: MeasuredErrors
    problem: str = ""


@dataclass(frozen=True)
class Work:
    """What is measured: the tensors, each in every format. bins: of blocks, for pictures; slab: values of a box."""

    tensors: Sequence[ModelTensor]
    measures: Sequence[ErrorMeasure]
    bins: int = 0
    slab: int = SLAB

    @property
    def total(self) -> int:
        """The number of values to be quantized."""
        return sum(t.size for t in self.tensors) * len(self.measures)

    def rows(
        self, pool: Workers, done: Callable[[str, int], None] = lambda name, count: None
    ) -> Iterator[ModelErrorRow]:
        """The results, tensor by tensor. done: is told of finished work. Raises Error for a file that cannot be read;
        a tensor that a format refuses has a problem instead."""
        jobs = [_Job(t, m, self.bins) for t in self.tensors for m in self.measures]
        plans = [_planned(job) for job in jobs]
        ranges = self._ranges(pool, jobs, plans)
        tasks = [
            (i, _Task(jobs[i], plan, part, ranges[i]))
            for i, plan in enumerate(plans)
            if isinstance(plan, BoxPlan)
            for part in self._parts(jobs[i], plan)
        ]
        results = zip(tasks, in_order(pool, _measured, (task for _, task in tasks)), strict=True)
        waiting = next(results, None)
        for i, job in enumerate(jobs):
            measured, problem = MeasuredErrors(Errors()), "" if isinstance(plans[i], BoxPlan) else str(plans[i])
            while waiting is not None and waiting[0][0] == i:
                (_, task), part = waiting
                done(job.tensor.name, sum(prod(box.shape) for box in task.parts))
                if isinstance(part, MeasuredErrors):
                    measured += part
                else:
                    problem = problem or part
                waiting = next(results, None)
            yield ModelErrorRow(job.tensor, job.measure, MeasuredErrors(Errors()) if problem else measured, problem)

    def _parts(self, job: _Job, plan: BoxPlan) -> Iterator[tuple[Box, ...]]:
        """The boxes of each task; values in memory are sent to a worker only once."""
        tensor_boxes = tuple(boxes(plan, self.slab))
        yield from [tensor_boxes] if job.tensor.data is not None else ((box,) for box in tensor_boxes)

    def _ranges(self, pool: Workers, jobs: Sequence[_Job], plans: Sequence[BoxPlan | str]) -> list[ValueRange | None]:
        """The ranges of the tensors that are divided, where the format has a scale of the whole tensor."""
        ranges: list[ValueRange | None] = [None] * len(jobs)
        tasks = []
        for i, plan in enumerate(plans):
            if isinstance(plan, BoxPlan) and plan.ranged and len(list(boxes(plan, self.slab))) > 1:
                ranges[i] = ValueRange()
                tasks += [(i, _Task(jobs[i], plan, part, None)) for part in self._parts(jobs[i], plan)]
        for (i, _), part in zip(tasks, in_order(pool, _range, [task for _, task in tasks]), strict=True):
            known = ranges[i]
            assert known is not None
            ranges[i] = known + part
        return ranges


@dataclass(frozen=True)
class _Job:
    """One tensor in one format."""

    tensor: ModelTensor
    measure: ErrorMeasure
    bins: int


@dataclass(frozen=True)
class _Task:
    """Some boxes of a job, for a worker."""

    job: _Job
    plan: BoxPlan
    parts: tuple[Box, ...]
    whole: ValueRange | None


def _planned(job: _Job) -> BoxPlan | str:
    try:
        return job.measure.plan(job.tensor.shape)
    except Error as e:
        return str(e)


def _measured(task: _Task) -> MeasuredErrors | str:
    """The errors of the boxes, or why the format refuses them."""
    measured, job = MeasuredErrors(Errors()), task.job
    try:
        for box in task.parts:
            measured += job.measure.box(job.tensor.read, task.plan, box, task.whole, job.bins)
    except Unreadable:
        raise
    except Error as e:
        return str(e)
    return measured


def _range(task: _Task) -> ValueRange:
    whole, job = ValueRange(), task.job
    for box in task.parts:
        for run in box.runs(task.plan.view):
            whole += job.measure.range_of(job.tensor.read(*run))
    return whole
