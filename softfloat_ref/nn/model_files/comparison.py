"""Two models compared tensor by tensor: errors of values, and codes and scales that differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.arrays.error_counts import Errors, compare_values
from softfloat_ref.nn.model_files.quantized import QuantizedTensor
from softfloat_ref.nn.model_files.tensors import ModelTensor
from softfloat_ref.nn.tensor_kinds import what_of

_SLAB: Final = 1 << 20  # values at a time


class Difference(NamedTuple):
    """A tensor of a model against that of the same name of another. errors: of its values, with the other's as the
    right ones. values, codes, scales: how many differ; None where the two have not the same kind of codes, or of
    scales. blocks: the number of scales. parts: what else differs, such as a tensor_scale. problem: why they were not
    compared."""

    tensor: ModelTensor
    other: ModelTensor
    errors: Errors = Errors()
    values: int = 0
    codes: int | None = None
    scales: int | None = None
    blocks: int = 0
    parts: tuple[str, ...] = ()
    problem: str = ""

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.problem or self.values or self.codes or self.scales or self.parts)


def differences(tensors: Sequence[ModelTensor], others: Mapping[str, ModelTensor]) -> Iterator[Difference]:
    """The tensors that both models have, compared."""
    for tensor in tensors:
        if tensor.name in others:
            yield _compared(tensor, others[tensor.name])


def _compared(tensor: ModelTensor, other: ModelTensor) -> Difference:
    problem = tensor.problem or other.problem or tensor.unmeasurable or other.unmeasurable
    if not problem and tensor.shape != other.shape:
        problem = f"shape {_shape(tensor)} against {_shape(other)}"
    if problem or not tensor.size:
        return Difference(tensor, other, problem=problem or "empty")
    errors, values, same_codes, codes = Errors(), 0, _have_same_codes(tensor, other), 0
    for first in range(0, tensor.size, _SLAB):
        count = min(_SLAB, tensor.size - first)
        mine, right = _values(tensor, first, count), _values(other, first, count)
        errors += compare_values(right, mine)
        values += int(((mine != right) & ~(np.isnan(mine) & np.isnan(right))).sum())
        if same_codes:
            codes += int((tensor.codes(first, count) != other.codes(first, count)).sum())
    scales, blocks, parts = _scales(tensor, other)
    return Difference(tensor, other, errors, values, codes if same_codes else None, scales, blocks, parts)


def _values(tensor: ModelTensor, first: int, count: int) -> NDArray[np.float64]:
    if isinstance(tensor, QuantizedTensor):
        return tensor.read_exactly(first, count)
    return convert.to_float64(tensor.read(first, count))


def _have_same_codes(tensor: ModelTensor, other: ModelTensor) -> bool:
    """Whether codes of both mean the same elements."""
    if isinstance(tensor, QuantizedTensor) and isinstance(other, QuantizedTensor):
        return tensor.element == other.element
    plain = not isinstance(tensor, QuantizedTensor) and not isinstance(other, QuantizedTensor)
    return plain and tensor.fmt == other.fmt


def _scales(tensor: ModelTensor, other: ModelTensor) -> tuple[int | None, int, tuple[str, ...]]:
    """How many scales of blocks differ, None if they are not comparable; their number; and the other parts of the
    scales, such as the second-level scale, that differ or that only one of the two has."""
    if not (isinstance(tensor, QuantizedTensor) and isinstance(other, QuantizedTensor)):
        return None, 0, ()
    mine, right = tensor.stored_scales(), other.stored_scales()
    scales = _different(mine.pop("scales"), blocks := right.pop("scales"))
    names = [*mine, *(name for name in right if name not in mine)]
    both = {name for name in mine if name in right and _different(mine[name], right[name]) == 0}
    parts = tuple(name for name in names if name not in both)
    return scales, 0 if scales is None else np.asarray(blocks).size, parts


def _different(mine: ArrayLike, right: ArrayLike) -> int | None:
    """How many codes differ; None for arrays of another shape or type."""
    x, y = np.asarray(mine), np.asarray(right)
    if x.shape != y.shape or x.dtype != y.dtype:
        return None
    return int(((x != y) & ((x == x) | (y == y))).sum())


def _shape(tensor: ModelTensor) -> str:
    return "x".join(map(str, tensor.shape)) or "()"


def size_of(tensors: Sequence[ModelTensor]) -> tuple[int, int]:
    """The values of all tensors, and their bytes."""
    return sum(t.size for t in tensors), sum(t.nbytes for t in tensors)


def entry(x: Difference) -> dict[str, Any]:
    """A row of a file; numbers that are not finite as text."""
    e = x.errors
    row = {
        "tensor": x.tensor.name,
        "shape": _shape(x.tensor),
        "stored": x.tensor.fmt or x.tensor.type,
        "against": x.other.fmt or x.other.type,
        "bits": bits(x.tensor),
        "against_bits": bits(x.other),
        "bytes": x.tensor.nbytes,
        "values": x.tensor.size,
        "sqnr_db": None if x.problem else float(f"{e.sqnr:.4f}"),
        "max_error": e.largest_error,
        "max_relative_error": e.largest_relative,
        "different_values": x.values,
        "different_codes": x.codes,
        "different_scales": x.scales,
        "problem": x.problem,
        "scale_count": x.blocks,
        "different_parts": list(x.parts),
        **what_of(x.tensor.name, x.tensor.shape),
    }
    return {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


def bits(tensor: ModelTensor) -> float:
    """Bits of the file for each value."""
    return 8 * tensor.nbytes / tensor.size if tensor.size else 0.0
