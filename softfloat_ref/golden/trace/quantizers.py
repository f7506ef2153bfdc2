"""Quantizers that record: every conversion and random word becomes a node of the trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatchmethod
from typing import Any

import numpy as np

from softfloat_ref.arrays import affine
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.case import FP32
from softfloat_ref.golden.trace.model import CodeTensor, TensorView
from softfloat_ref.golden.trace.recorder import Array, Recorder
from softfloat_ref.nn.quantizers import AffineQuantizer, BlockQuantizer, Quantizer, ScalarQuantizer, SharedQuantizer
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.sources import RandomSource
from softfloat_ref.units.affine import integer_format
from softfloat_ref.units.dot import stored_format


class RecordingQuantizer:
    """The recording quantizer of a role, with the same results. called: the full name of a tensor of the current layer.

    A result is named after its role; one of vector operations or functions also after the tensor that it converts.
    """

    def __init__(self, by: Quantizer, role: str, recorder: Recorder, called: Callable[[str], str]) -> None:
        self._by, self._role, self._recorder, self._called = by, role, recorder, called

    def __getattr__(self, name: str) -> Any:
        return getattr(self._by, name)

    def values(self, x: Array, source: RandomSource | None, axis: int = -1, training: bool = True) -> Array:
        """The values after quantization; blocks run along the last axis."""
        if axis not in (-1, x.ndim - 1):
            raise Error(
                f"blocks along axis {axis} of {x.ndim} are recorded only in products; this is a bug in softfloat-ref"
            )
        y = self._by.values(np.asarray(x), source, axis, training)
        view = self._converted(self._by, self._recorder.view(x), y, source)
        recorded = self._recorder.tensor(view)
        if recorded.tobytes() != np.where(np.isnan(y), np.float32(np.nan), y).tobytes():
            raise Error(
                f"{view.tensor}: the layer's conversion differs from the trace's; this is a bug in softfloat-ref"
            )
        return recorded

    def blocks(
        self, x: TensorView, axis: int, source: RandomSource | None, transposed: bool = False, batch: int = 1
    ) -> list[TensorView]:
        """Elements and scales of a matrix, along an axis, and the second-level scale, of a profile that has one.
        transposed: how the source's positions run, in each of `batch` matrices that these are the rows of."""
        by: Any = self._by
        others, k = x.shape[1 - axis], x.shape[axis]
        outputs = [
            CodeTensor(self._called(f"{self._role}_elements"), by.fmt.element, (others, k)),
            CodeTensor(self._called(f"{self._role}_scales"), by.fmt.scale, (others, -(-k // by.fmt.size))),
            *([CodeTensor(self._called(f"{self._role}_tensor_scale"), FP32, ())] if by.profile.two_levels else []),
        ]
        words = self._words(source, (batch, others // batch, k) if batch > 1 else (others, k), transposed)
        words = [TensorView(w.tensor, (others, k)) for w in words]
        options = {"policy": self._policy(source), **_described(by), "axis": axis}
        return self._recorder.make("quantize", [x, *words], outputs, options)

    def _result(self, x: TensorView) -> str:
        place, _, what = x.tensor.rpartition("/")
        own = self._role in ("vector", "function") and self._called("") == f"{place}/"
        return self._called(f"{what.partition('.')[0]}_{self._role}" if own else self._role)

    def _words(self, source: RandomSource | None, shape: tuple[int, ...], transposed: bool = False) -> list[TensorView]:
        """Random words, if the rounding takes some."""
        policy, words = self._by.rounding(source)
        if words is None:
            return []
        name = self._called(f"{self._role}_random")
        return [self._recorder.random(name, words, policy.random_count, shape, transposed)]

    def _policy(self, source: RandomSource | None) -> dict[str, Any]:
        """The policy of a conversion with random words or, in evaluation, without."""
        return self._by.rounding(source)[0].to_dict()

    def _output(self, op: str, inputs: list[TensorView], output: CodeTensor, options: dict[str, Any]) -> TensorView:
        return self._recorder.make(op, inputs, [output], options)[0]

    # -- kinds of quantizers -----------------------------------------------------------------------------------------

    @singledispatchmethod
    def _converted(self, by: Quantizer, x: TensorView, y: Array, source: RandomSource | None) -> TensorView:
        raise TypeError(f"{type(by).__name__} has no corresponding operation in a trace")

    @_converted.register
    def _(self, by: ScalarQuantizer, x: TensorView, y: Array, source: RandomSource | None) -> TensorView:
        return self._convert(by.fmt, x, source)

    @_converted.register
    def _(self, by: SharedQuantizer, x: TensorView, y: Array, source: RandomSource | None) -> TensorView:
        fmt = by.tensor_format(np.asarray(self._recorder.tensor(x)))
        if fmt is not None:
            return self._convert(fmt, x, source)
        return self._recorder.view(self._recorder.record(by.fmt.name, [x], y, self._result(x), {}))

    def _convert(self, fmt: Format, x: TensorView, source: RandomSource | None) -> TensorView:
        output = CodeTensor(self._result(x), fmt, x.shape)
        return self._output("convert", [x, *self._words(source, x.shape)], output, {"policy": self._policy(source)})

    @_converted.register
    def _(self, by: BlockQuantizer, x: TensorView, y: Array, source: RandomSource | None) -> TensorView:
        blocks = self.blocks(TensorView(x.tensor, (y.size // y.shape[-1], y.shape[-1])), 1, source)
        return self._output("dequantize", blocks, CodeTensor(self._result(x), FP32, y.shape), _described(by))

    @_converted.register
    def _(self, by: AffineQuantizer, x: TensorView, y: Array, source: RandomSource | None) -> TensorView:
        """Parameters, integers, and their values."""
        called, of, role = self._called, integer_format(by.fmt), self._role
        options: dict[str, Any] = {"format": by.fmt.name, "axis": None if by.axis is None else by.axis % y.ndim}
        shape = () if by.axis is None else (y.shape[by.axis],)
        tensors = [
            CodeTensor(called(f"{role}_scale"), FP32, shape),
            CodeTensor(called(f"{role}_zero_point"), of, shape),
        ]
        state = by.state()
        if not state:
            parameters = self._recorder.make("affine_range", [x], tensors, options)
        else:  # of the ranges of steps before too
            scales, zeros = affine.parameters(state["low"], state["high"], by.fmt)
            codes = np.asarray(scales, np.float32).view(np.uint32), zeros & ((1 << by.fmt.bits) - 1)
            parameters = [self._recorder.input_codes(m, np.asarray(c)) for m, c in zip(tensors, codes, strict=True)]
        inputs = [x, *parameters, *self._words(source, y.shape)]
        wanted = CodeTensor(called(f"{role}_integers"), of, y.shape)
        q = self._output("affine", inputs, wanted, {**options, "policy": self._policy(source)})
        return self._output("affine_values", [q, *parameters], CodeTensor(self._result(x), FP32, y.shape), options)


def _described(by: Any) -> dict[str, Any]:
    return {"format": stored_format(by.fmt), "profile": by.profile.to_dict()}
