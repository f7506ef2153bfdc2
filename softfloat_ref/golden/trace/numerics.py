"""A layer's numerics that record: they compute, and every operation and product becomes a node of the trace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from softfloat_ref.golden.trace.case import FP32
from softfloat_ref.golden.trace.model import CodeTensor, TensorView
from softfloat_ref.golden.trace.quantizers import RecordingQuantizer
from softfloat_ref.golden.trace.recorder import Array, RecordedArray, Recorder
from softfloat_ref.nn.numerics import BLAS, Held, Numerics
from softfloat_ref.nn.operations import CELL_GATE, GATES, TensorOperations
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.units.dot import stored_format

BLOCK_ACCUMULATOR: Final = "mx-fp32"  # the accumulator of block products if the recipe names none
OTHER_ACCUMULATOR: Final = "fp32-sequential"
_NOT_OPTIONS: Final = ("self", "name", "out", "known")  # arguments of operations that are neither inputs nor options


class ProductOperand(NamedTuple):
    """An operand of a product: tensors, the axis that is reduced, the block format or None, remaining values, whether
    the last tensor is a second-level scale."""

    tensors: list[TensorView]
    axis: int
    block: dict[str, Any] | None
    size: int
    rows: int
    two_levels: bool = False


class RecordingNumerics(Numerics):
    """The numerics of a layer, with its formats and ranges; every operation of `TensorOperations` is recorded.

    Products that the training recipe leaves to BLAS, whose order of additions is undefined, are summed by a named
    accumulator.
    """

    takes_values = False
    records = True

    def __init__(self, of: Numerics, recorder: Recorder) -> None:
        super().__init__(of.name, of.specs, of.accumulator, of.run, of.hadamard_size)
        self._recorder = recorder
        self._blocks: dict[
            tuple[str, Any, TensorView, int], list[TensorView]
        ] = {}  # with BLAS, made once along an axis
        for role in of.specs:
            by = of.quantizer(role)
            self._by_role[role] = None if by is None else RecordingQuantizer(by, role, recorder, self._called)

    def _called(self, what: str) -> str:
        """The full name of a tensor."""
        return f"{self.name.replace('.', '/')}/{self.run.phase}/{what}"

    # -- tensors -----------------------------------------------------------------------------------------------------

    def given(self, name: str, x: Array) -> Array:
        return self._recorder.input(self._called(name), x)

    def number(self, name: str, value: float) -> Any:
        return self._recorder.constant(name, value)

    def assign(self, target: Array, values: Array) -> Array:
        """The values; the target does not change."""
        del target
        return values

    def words(self, source: Philox, n: int, shape: tuple[int, ...], name: str) -> Array:
        view = self._recorder.random(self._called(f"{name}_random"), source, n, shape)
        return self._recorder.words(view)

    def computed(self, op: str, inputs: Sequence[Array], x: Array, name: str, **options: Any) -> Array:
        return self._recorder.record(op, [*map(self._recorder.view, inputs)], x, self._called(name), options)

    def row_dot(self, a: Array, b: Array, name: str = "") -> Array:
        return self.row_sum(self.mul(a, b, f"{name}_products"), name)

    def gates(self, sums: Array, name: str = "gates") -> Array:
        parts = [
            self.tanh(part, f"{gate}_tanh") if gate == CELL_GATE else self.sigmoid(part, f"{gate}_sigmoid")
            for gate, part in zip(GATES, self.parts(sums, [f"{gate}_sum" for gate in GATES]), strict=True)
        ]
        return self.concatenate(parts, 1, name)

    def gate_slopes(self, gates: Array, known: Sequence[Array], name: str = "gate_slopes") -> Array:
        slopes = [
            self.tanh_slope(part, f"{gate}_slope") if gate == CELL_GATE else self.sigmoid_slope(part, f"{gate}_slope")
            for gate, part in zip(GATES, known, strict=True)
        ]
        return self.concatenate(slopes, 1, name)

    # -- products ----------------------------------------------------------------------------------------------------

    def product(self, a: Held, b: Held, a_axis: int, b_axis: int) -> Array:
        left, right = self._operand(a, a_axis, 1), self._operand(b, b_axis, 0)
        blocked = left.size > 0 and left.size == right.size
        by = (BLOCK_ACCUMULATOR if blocked else OTHER_ACCUMULATOR) if self.accumulator == BLAS else self.accumulator
        options = {
            "accumulator": get_accumulator(by).to_dict(),
            "blocks": [left.block, right.block],
            "axes": [left.axis, right.axis],
        }
        if left.two_levels or right.two_levels:
            options["tensor_scales"] = [left.two_levels, right.two_levels]
        batch = a.values.shape[:-2]
        if batch:
            options["batch"] = batch[0]
        shape = (*batch, left.rows, right.rows)
        result = CodeTensor(self._called(f"{a.role}_{b.role}_product"), FP32, shape)
        (view,) = self._recorder.make("matmul", [*left.tensors, *right.tensors], [result], options)
        return self._recorder.tensor(view)

    def _operand(self, held: Held, axis: int, place: int) -> ProductOperand:
        view, by, rows = self._recorder.view(held.values), held.quantizer, held.values.shape[-1 - axis]
        batch, along = 1, axis
        if held.values.ndim > 2:
            batch, along, view = len(held.values), 1, self._rows(view, axis)
        if not isinstance(by, RecordingQuantizer) or not by.by_product:
            return ProductOperand([view], along, None, 0, rows)
        key = held.role, held.source, view, along  # each tensor that is held draws random words of its own
        if key not in self._blocks or self.accumulator != BLAS:
            source = None if held.source is None else held.source(axis)
            self._blocks[key] = by.blocks(view, along, source, transposed=place == 0, batch=batch)
        return ProductOperand(self._blocks[key], 1, stored_format(by.fmt), by.fmt.size, rows, by.profile.two_levels)

    def _rows(self, x: TensorView, axis: int) -> TensorView:
        """Matrices one above the other, the reduced axis last."""
        count, rows, columns = x.shape
        if axis == 0:
            result = CodeTensor(f"{x.tensor}_transposed", self._recorder.tensors[x.tensor].fmt, (count, columns, rows))
            (x,) = self._recorder.make("transpose", [x], [result], {"axes": [0, 2, 1]})
            rows, columns = columns, rows
        return TensorView(x.tensor, (count * rows, columns))


def _recorded(op: str, work: Callable[..., Array]) -> Callable[..., Array]:
    """An operation that computes and records. Recorded values do not change: a tensor that the result would have
    replaced can no longer be used."""
    signature = inspect.signature(work)

    def record(self: RecordingNumerics, *args: Any, **keywords: Any) -> Array:
        arguments = dict(signature.bind(self, *args, **keywords).arguments)
        replaced = arguments.get("out")
        if isinstance(replaced, RecordedArray):
            del arguments["out"]
        y = work(**{key: _as_arrays(value) for key, value in arguments.items()})
        recorded = {key: value for key, value in arguments.items() if key not in _NOT_OPTIONS}
        inputs = [x for value in recorded.values() for x in _tensors(value)]
        options = {key: list(v) if isinstance(v, tuple) else v for key, v in recorded.items() if not _tensors(v)}
        result = self.computed(op, inputs, y, arguments.get("name") or op, **options)
        if isinstance(replaced, RecordedArray):
            replaced.name = ""
        return result

    return record


def _tensors(value: Any) -> list[Array]:
    """The recorded tensors in an argument."""
    return value if isinstance(value, list) else [value] if isinstance(value, np.ndarray) else []


def _as_arrays(value: Any) -> Any:
    if isinstance(value, list):
        return [np.asarray(x) for x in value]
    return np.asarray(value) if isinstance(value, np.ndarray) else value


for _op, _work in vars(TensorOperations).items():
    if not _op.startswith("_") and _op not in vars(RecordingNumerics):
        setattr(RecordingNumerics, _op, _recorded(_op, _work))
