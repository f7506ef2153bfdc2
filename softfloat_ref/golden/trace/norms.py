"""Batch normalization in a trace, step by step, as far as its sums are added up one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from softfloat_ref.golden.trace.numbers import FP32
from softfloat_ref.golden.trace.recorder import Array, Made
from softfloat_ref.nn.layers.norms import EPSILON

if TYPE_CHECKING:
    from softfloat_ref.golden.trace.layers import Watcher


class Steps:
    """Operations on rows of channels; each tensor is called after what it is."""

    def __init__(self, watcher: Watcher, rows: tuple[int, int]) -> None:
        self._watcher, self.rows, self.row = watcher, rows, (rows[1],)

    def do(self, op: str, what: str, *of: str, row: bool = False) -> str:
        """An operation of tensors: numbers, rows or matrices, by their sizes."""
        recorder, shape = self._watcher.recorder, self.row if row else self.rows
        views = [recorder.view(x, self._shape(x)) for x in of]
        return recorder.make(op, views, [Made(self._watcher.called(what), FP32, shape)])[0]

    def _shape(self, name: str) -> tuple[int, ...]:
        size = self._watcher.recorder.tensors[name].size
        return () if name.startswith("constants/") else self.row if size == self.row[0] else self.rows

    def number(self, name: str, value: float) -> str:
        """A constant."""
        return self._watcher.recorder.constant(name, np.float32(value))

    def same(self, name: str, x: Array) -> bool:
        """Whether a tensor has these values."""
        return self._watcher.recorder.values(name).tobytes() == np.ascontiguousarray(x).tobytes()

    def total(self, what: str, of: str, x: Array) -> str:
        """The sum of rows, which are x; recorded, where it was added up in another order."""
        name = self.do("row_sum", what, of, row=True)
        if self.same(name, x):
            return name
        recorder = self._watcher.recorder
        return recorder.record(x, self._watcher.called(f"{what}_as_added"), "sum of rows", [recorder.view(of)])


def forward(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    """Mean, variance, centred and scaled values, weight and bias."""
    layer: Any = w.frame.layer
    given = w.frame.seen[0]
    if "mean" not in layer.buffers or x.ndim < 2:
        return
    rows = w.recorder.values(given).reshape(-1, x.shape[-1])
    s = Steps(w, (len(rows), x.shape[-1]))
    count = s.number(f"rows_{len(rows)}", len(rows))
    mean = s.do("div", "mean", s.total("sum", given, rows.sum(axis=0)), count, row=True)
    centred = s.do("sub", "centred", given, mean)
    values = w.recorder.values(centred).reshape(rows.shape)
    squares = s.do("mul", "squares", centred, centred)
    variance = s.do("div", "variance", s.total("sum_of_squares", squares, _squared(values, values)), count, row=True)
    root = s.do(
        "sqrt",
        "deviation",
        s.do("add", "variance_and_epsilon", variance, s.number("epsilon", EPSILON), row=True),
        row=True,
    )
    scale = s.do("div", "scale", s.number("one", 1), root, row=True)
    if not s.same(scale, layer._scale):
        return
    normal = s.do("mul", "normal", centred, scale)
    weight, bias = (w.recorder.given(f"{w.frame.name}/{p}", layer.params[p]) for p in ("weight", "bias"))
    views = [w.recorder.view(s.do("mul", "weighted", normal, weight)), w.recorder.view(bias)]
    yield w.try_one(x.reshape(rows.shape), what or "norm", "add", views)


def _squared(a: Array, b: Array) -> Array:
    found: Array = np.einsum("ij,ij->j", a, b)
    return found


def backward(w: Watcher, x: Array, what: str) -> Iterator[str | None]:
    """The gradients of bias and weight, and of the input through both statistics."""
    layer: Any = w.frame.layer
    if "mean" not in layer.buffers or x.ndim < 2:
        return
    normal = w.recorder.find(layer._normal)
    given = w.frame.seen[0]
    if normal is None:
        return
    rows = w.recorder.values(given).reshape(-1, x.shape[-1])
    s = Steps(w, (len(rows), x.shape[-1]))
    bias = s.total("bias_gradient", given, layer.grads["bias"])
    along = s.total("weight_gradient", s.do("mul", "error_normal", given, normal), layer.grads["weight"])
    part = s.do("div", "weight_share", along, s.number(f"minus_rows_{len(rows)}", -len(rows)), row=True)
    moved = s.do("add", "moved", s.do("mul", "along", normal, part), given)
    share = s.do("div", "bias_share", bias, s.number(f"rows_{len(rows)}", len(rows)), row=True)
    centred = s.do("sub", "centred_error", moved, share)
    weight = w.recorder.given(f"{w.frame.name}/weight", layer.params["weight"])
    scale = w.recorder.find(layer._scale)
    if scale is None:
        return
    factor = s.do("mul", "weight_scale", weight, scale, row=True)
    views = [w.recorder.view(centred), w.recorder.view(factor)]
    yield w.try_one(x.reshape(rows.shape), what or "norm_gradient", "mul", views)
