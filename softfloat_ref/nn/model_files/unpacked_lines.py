"""Models' tensors as lines of codes: the operands of a quantizer, or of a dequantizer, for `eval` and devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from softfloat_ref.base.errors import Error, counted
from softfloat_ref.nn.model_files.quantized import LayoutTensor, QuantizedTensor, Span
from softfloat_ref.nn.model_files.tensors import ModelTensor
from softfloat_ref.oracle.formats import get_format


def lines(tensors: Sequence[ModelTensor], count: int, parts: bool, arithmetic: str) -> Iterator[str]:
    """The values of one tensor, `count` in a line, as FP32 (or FP64, where they are) in hexadecimal; or its blocks of
    that many elements, the scale first. Rows that are no multiple of `count` are refused. Raises Error."""
    chosen = [t for t in tensors if not t.skipped]
    if len(chosen) != 1:
        raise Error(f"--lines is for one tensor, not {counted(len(chosen), 'tensor')}; choose it with --tensor")
    (t,) = chosen
    if t.shape[-1] % count:
        raise Error(f"{t.name}: rows of {counted(t.shape[-1], 'value')} are not lines of {count}")
    yield from _blocks(t, count) if parts else _values(t, count, arithmetic)


def _values(t: ModelTensor, count: int, arithmetic: str) -> Iterator[str]:
    length = t.shape[-1]
    for first in range(0, t.size, length):
        x = t.read(first, length, arithmetic=arithmetic) if isinstance(t, QuantizedTensor) else t.read(first, length)
        values = x.astype(np.float32) if x.dtype == np.float16 else x
        yield from _hex(values.view(f"u{values.itemsize}"), 2 * values.itemsize, count)


def _blocks(t: ModelTensor, count: int) -> Iterator[str]:
    """The scale of a block, then its elements."""
    scales = t.part("scales") if isinstance(t, LayoutTensor) else None
    if scales is None or not isinstance(t, LayoutTensor):
        raise Error(f"{t.name}: {t.fmt or t.type} has no blocks of codes with a scale each")
    if scales.block[-1] % count or (count != scales.block[-1] and scales.block[-1] < t.shape[-1]):
        raise Error(f"{t.name}: has blocks of {scales.block[-1]} elements, not of {count}")
    digits = [-(-get_format(name).width // 4) for name in (scales.fmt, t.element)]
    for row in range(t.size // t.shape[-1]):
        span = Span(row, row + 1, 0, t.shape[-1])
        own = scales.codes(span, t.shape)[0]
        elements = _hex(t.elements(span), digits[1], count)
        for i, line in enumerate(elements):
            yield f"{int(own[i * count // scales.block[-1]]):0{digits[0]}x} {line}"


def _hex(codes: Any, digits: int, count: int) -> Iterator[str]:
    for line in codes.reshape(-1, count).tolist():
        yield " ".join(f"{x:0{digits}x}" for x in line)
