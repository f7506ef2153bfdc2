"""A layer's numerics that record: every conversion, random word and product becomes a node of the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from softfloat_ref import affine
from softfloat_ref.accumulate import get_accumulator
from softfloat_ref.errors import Error
from softfloat_ref.formats import Format, get_format
from softfloat_ref.golden.dots import stored
from softfloat_ref.golden.trace.affine import integers
from softfloat_ref.golden.trace.model import View
from softfloat_ref.golden.trace.numbers import FP32
from softfloat_ref.golden.trace.recorder import Array, Made
from softfloat_ref.nn.numerics import BLAS, Held, Numerics
from softfloat_ref.nn.quantizers import AffineQuantizer, BlockQuantizer, Quantizer, ScalarQuantizer, SharedQuantizer
from softfloat_ref.policies import Policy
from softfloat_ref.sources import RandomSource

if TYPE_CHECKING:
    from softfloat_ref.golden.trace.layers import Watcher

BLOCKS: Final = "mx-fp32"  # how products of blocks are added up where the recipe names nothing
OTHERS: Final = "fp32-sequential"


class Operand(NamedTuple):
    """An operand of a product: tensors, their shapes, the axis that is reduced, the block format or none."""

    tensors: list[tuple[str, tuple[int, ...]]]
    axis: int
    block: dict[str, Any] | None
    size: int
    rows: int


class RecordingNumerics(Numerics):
    """The numerics of a layer, with its formats and ranges. Products that the recipe leaves to BLAS, whose order of
    additions nothing defines, are added up by a named accumulator."""

    def __init__(self, of: Numerics, watcher: Watcher) -> None:
        super().__init__(of.name, of.specs, of.accumulator, of.run)
        self._by_role = of._by_role
        self._chosen = of.accumulator
        self._watcher = watcher
        self.accumulator = BLOCKS if of.accumulator == BLAS else of.accumulator  # so no layer takes BLAS's short cuts

    def hold(self, x: Array, role: str) -> Held:
        """As ever; the tensor is known from here on."""
        self._watcher.know(x)
        held = super().hold(x, role)
        self._watcher.held(held.values, role)
        return held

    def product(self, a: Held, b: Held, a_axis: int, b_axis: int) -> Array:
        """The product by the accumulator, as a node."""
        recorder = self._watcher.recorder
        left, right = self._operand(a, a_axis, 1), self._operand(b, b_axis, 0)
        blocked = left.size > 0 and left.size == right.size
        unit = get_accumulator((BLOCKS if blocked else OTHERS) if self._chosen == BLAS else self._chosen)
        options = {
            "accumulator": unit.to_dict(),
            "blocks": [left.block, right.block],
            "axes": [left.axis, right.axis],
        }
        inputs = [recorder.view(name, shape) for name, shape in (*left.tensors, *right.tensors)]
        what = "_".join(self._watcher.role(x.values) for x in (a, b))
        made = Made(self._watcher.called(f"{what}_product"), FP32, (left.rows, right.rows))
        (name,) = recorder.make("matmul", inputs, [made], options)
        self._watcher.product(name)
        return recorder.values(name).copy()

    def _operand(self, held: Held, axis: int, place: int) -> Operand:
        values, by = held.values, held.quantizer
        if isinstance(by, BlockQuantizer):
            return self._blocks(held, by, axis, transposed=place == 0)
        name = self._in_format(values, by.fmt if isinstance(by, ScalarQuantizer) else None)
        return Operand([(name, values.shape)], axis, None, 0, values.shape[1 - axis])

    def _in_format(self, values: Array, fmt: Format | None) -> str:
        """The tensor of these values, in a format that holds them."""
        recorder = self._watcher.recorder
        found = recorder.find(values, fmt) if fmt is not None else None
        if found is not None:
            return found
        name = self._watcher.know(values)
        if fmt is None or (found := recorder.find(values, fmt)) is not None:
            return found or name
        made = Made(self._watcher.called("operand"), fmt, values.shape)
        return recorder.make("convert", [recorder.view(name, values.shape)], [made], {"policy": Policy().to_dict()})[0]

    def _blocks(self, held: Held, by: BlockQuantizer, axis: int, transposed: bool) -> Operand:
        x, recorder = held.values, self._watcher.recorder
        view = recorder.view(self._watcher.know(x), x.shape)
        source = None if held.source is None else held.source(axis)
        names = self._quantized(view, by, axis, source, self._watcher.role(x), transposed)
        tensors = [(name, recorder.tensors[name].shape) for name in names]
        return Operand(tensors, 1, stored(by.fmt), by.fmt.size, x.shape[1 - axis])

    def _quantized(
        self, x: View, by: BlockQuantizer, axis: int, source: RandomSource | None, role: str, transposed: bool = False
    ) -> tuple[str, ...]:
        """Elements and scales of a matrix, along an axis. transposed: how the source's positions run."""
        others, k = x.shape[1 - axis], x.shape[axis]
        inputs = [x]
        if source is not None and by.policy.random_count:
            words = self._words(source, by.policy.random_count, (others, k), role, transposed)
            inputs.append(self._watcher.recorder.view(words))
        made = [
            Made(self._watcher.called(f"{role}_elements"), by.fmt.element, (others, k)),
            Made(self._watcher.called(f"{role}_scales"), by.fmt.scale, (others, -(-k // by.fmt.size))),
        ]
        options = {"policy": by.policy.to_dict(), **_described(by), "axis": axis}
        return self._watcher.recorder.make("quantize", inputs, made, options)

    def _through_blocks(
        self, by: BlockQuantizer, x: View, values: Array, source: RandomSource | None, role: str
    ) -> None:
        """What blocks along the last axis are worth."""
        recorder = self._watcher.recorder
        matrix = View(x.tensor, (values.size // values.shape[-1], values.shape[-1]))
        names = self._quantized(matrix, by, 1, source, role)
        made = [Made(self._watcher.called(role), FP32, values.shape)]
        (name,) = recorder.make("dequantize", [recorder.view(n) for n in names], made, _described(by))
        self._same(name, values)
        self._watcher.made(name)

    def _words(self, source: RandomSource, n: int, shape: tuple[int, ...], of: str, transposed: bool = False) -> str:
        made = Made(self._watcher.called(f"{of}_random"), get_format(f"u{n}"), shape)
        options = {"source": source.spec()} | ({"transposed": True} if transposed else {})
        return self._watcher.recorder.make("random", [], [made], options)[0]

    def _into(self, x: Array, by: Quantizer, role: str) -> Array:
        recorder, before = self._watcher.recorder, x.copy()
        view = recorder.view(self._watcher.know(before), x.shape)
        source = self._source(role) if self._draws(by) else None
        values = by.values(x, source, training=self.run.training)
        if isinstance(by, AffineQuantizer):
            self._affine(by, view, values, source, role)
            return values
        if isinstance(by, BlockQuantizer):
            self._through_blocks(by, view, values, source, role)
            return values
        fmt = _format(by, before)
        if fmt is None:
            self._watcher.recorded(values, role, [view])
            return values
        policy: Policy = by.policy  # type: ignore[attr-defined]
        inputs = [view]
        if source is not None:
            inputs.append(recorder.view(self._words(source, policy.random_count, x.shape, role)))
        made = Made(self._watcher.called(role), fmt, x.shape)
        (name,) = recorder.make("convert", inputs, [made], {"policy": policy.to_dict()})
        self._same(name, values)
        self._watcher.made(name)
        return values

    def _affine(self, by: AffineQuantizer, x: View, values: Array, source: RandomSource | None, role: str) -> None:
        """Parameters, integers, and what they are worth."""
        recorder, called, of = self._watcher.recorder, self._watcher.called, integers(by.fmt)
        options: dict[str, Any] = {"format": by.fmt.name, "axis": None if by.axis is None else by.axis % values.ndim}
        shape = () if by.axis is None else (values.shape[by.axis],)
        seen = by.state()
        if not seen:
            made = [Made(called(f"{role}_scale"), FP32, shape), Made(called(f"{role}_zero_point"), of, shape)]
            scale, zero = recorder.make("affine_range", [x], made, options)
        else:  # of the ranges of steps before too
            scales, zeros = affine.parameters(seen["low"], seen["high"], by.fmt)
            scale = recorder.given(called(f"{role}_scale"), scales)
            zero = recorder.given_codes(Made(called(f"{role}_zero_point"), of, shape), zeros & ((1 << by.fmt.bits) - 1))
        inputs, parameters = [x], [recorder.view(scale), recorder.view(zero)]
        words = [] if source is None else [self._words(source, by.policy.random_count, values.shape, role)]
        inputs += [*parameters, *map(recorder.view, words)]
        made = [Made(called(f"{role}_integers"), of, values.shape)]
        (q,) = recorder.make("affine", inputs, made, {**options, "policy": by.policy.to_dict()})
        made = [Made(called(role), FP32, values.shape)]
        (name,) = recorder.make("affine_values", [recorder.view(q), *parameters], made, options)
        self._same(name, values)
        self._watcher.made(name)

    def _same(self, name: str, values: Array) -> None:
        if self._watcher.recorder.values(name).tobytes() != _clean(values).tobytes():
            raise Error(f"{name}: the layer's own conversion differs from the trace's; a bug of this program")


def _described(by: BlockQuantizer) -> dict[str, Any]:
    return {"format": stored(by.fmt), "profile": by.profile.to_dict()}


def _format(by: Quantizer, x: Array) -> Format | None:
    """The scalar format of a tensor; None for affine integers, and where no scalar format has the same values."""
    if isinstance(by, ScalarQuantizer):
        return by.fmt
    return by.tensor_format(x) if isinstance(by, SharedQuantizer) else None


def _clean(values: Array) -> Array:
    """With the canonical NaN."""
    found = np.ascontiguousarray(values, np.float32).copy()
    found.view(np.uint32)[np.isnan(found)] = FP32.canonical_nan
    return found
