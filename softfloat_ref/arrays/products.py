"""Matrix and dot products of arrays as a caller gives them: with leading dimensions, vectors, values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from softfloat_ref.arrays import convert, exchange
from softfloat_ref.arrays.affine_array import AffineArray
from softfloat_ref.arrays.block_array import BlockArray
from softfloat_ref.arrays.block_encoding import encode
from softfloat_ref.arrays.convert import Codes, Floats
from softfloat_ref.arrays.matmul import FP32, Matrix, operand_matrix, product
from softfloat_ref.arrays.random_bits import shape_of
from softfloat_ref.arrays.scalar_array import ScalarArray, from_codes
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.accumulate import Accumulator, default_accumulator, get_accumulator
from softfloat_ref.oracle.accumulate.dots import check_c, setting
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE
from softfloat_ref.oracle.formats import Format, get_format

Operand = BlockArray | ScalarArray


def matmul(
    a: Any,
    b: Any,
    acc: str | Accumulator | Mapping[str, Any] = "",
    *,
    fmt: Any = None,
    c: Any = None,
    to: str | Format = "fp32",
    extrapolate: bool = False,
    out: Floats | None = None,
) -> Floats:
    """a @ b + c, each result accumulated in the order and with the roundings of an accumulator, by default mx-fp32 for
    blocks, else fp32-sequential.

    a: (..., m, k) or (k), b: (..., k, n) or (k): BlockArrays whose blocks run along k, ScalarArrays, codes, or values
    (floats). Leading dimensions broadcast, as for `numpy.matmul`. fmt: for codes, a scalar format; for values, the
    scalar or block format that they are first rounded to (default: that of their type); one, or a pair. c: values of
    the format `to`, broadcast to the result, default +0. extrapolate: apply a unit's model to formats that it does not
    support.

    Second-level scales are factors of the products, as in `dot`. A unit that takes only scales of blocks, as
    nvidia-b200-fp4, has its FP32 results multiplied by the product of both scales, rounded to FP32: an epilogue; then
    there is no c. Returns the values, float32 (float64 if float32 does not hold `to`), in the buffer `out` if given.
    Raises Error if the arguments do not fit together.
    """
    x, y = _operands(a, b, fmt, -2)
    vectors = x.ndim == 1, y.ndim == 1
    x, y = _raised(x, -2) if vectors[0] else x, _raised(y, -1) if vectors[1] else y
    k = x.shape[-1], y.shape[-2]
    if k[0] != k[1]:
        raise Error(f"a has {k[0]} columns, b has {k[1]} rows; a product needs the same number")
    try:
        lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise Error(f"leading dimensions {x.shape[:-2]} and {y.shape[:-2]} cannot be broadcast") from None
    unit, result = get_accumulator(acc or default_accumulator(x.fmt, y.fmt)), get_format(to)
    shape = (*lead, x.shape[-2], y.shape[-1])
    squeezed = tuple(i - 2 for i in (0, 1) if vectors[i])
    added = _addend(c, result, shape, squeezed)
    codes = np.empty(shape, convert.code_dtype(result))
    final = np.squeeze(codes, squeezed) if squeezed else codes
    convert.check_buffer(out, final.shape, convert.value_dtype(result))
    if not k[0]:
        codes[...] = added
    elif codes.size:
        for at in np.ndindex(lead):
            codes[at] = _one(_at(x, at), _at(y, at), unit, result, added[at], extrapolate)
    return convert.store(final.view(np.float32) if result == FP32 else convert.decode(final, result), out)


def dot(
    a: Any,
    b: Any,
    acc: str | Accumulator | Mapping[str, Any] = "",
    *,
    fmt: Any = None,
    c: Any = None,
    to: str | Format = "fp32",
    extrapolate: bool = False,
    out: Floats | None = None,
) -> Floats:
    """Dot products along the last axis of a and b, (..., k), whose other dimensions broadcast: (...).

    Arguments as for `matmul`. `softfloat_ref.dot` is the dot product of two vectors of codes, with flags.
    """
    x, y = _operands(a, b, fmt, -1)
    if x.shape[-1] != y.shape[-1]:
        raise Error(
            f"a has {x.shape[-1]} elements along its last axis, b has {y.shape[-1]}; a dot product needs the same"
        )
    if c is not None:
        c = np.asarray(c)[..., np.newaxis, np.newaxis]
    results = matmul(_raised(x, -2), _raised(y, -1), acc, c=c, to=to, extrapolate=extrapolate)[..., 0, 0]
    convert.check_buffer(out, results.shape, results.dtype)
    return convert.store(results, out)


def _operands(a: Any, b: Any, fmt: Any, axis: int) -> tuple[Operand, Operand]:
    """Both operands as codes with their formats. axis: of the blocks that values of b become, unless b is a vector."""
    pair = fmt if isinstance(fmt, (tuple, list)) else (fmt, fmt)
    if len(pair) != 2:
        raise Error(f"fmt has {len(pair)} formats; give one for both operands, or a pair")
    return _operand(a, pair[0], "a", -1), _operand(b, pair[1], "b", axis)


def _is_values(x: Any) -> bool:
    """Whether an operand is given as values: an array of floats (of numpy, ml_dtypes or torch), or lists of them."""
    if isinstance(x, (BlockArray, ScalarArray, AffineArray)):
        return False
    if exchange.is_torch(x):
        return bool(x.is_floating_point())
    dtype = np.asarray(x).dtype
    return dtype.kind not in "iub" and not dtype.name.startswith(("int", "uint"))


def _operand(x: Any, fmt: Any, name: str, axis: int) -> Operand:
    if isinstance(x, AffineArray):
        raise Error(f"{name}: affine integers are multiplied by affine.matmul")
    if isinstance(x, (BlockArray, ScalarArray)):
        if fmt is not None:
            raise Error(f"{name}: {type(x).__name__} has its own format; leave out fmt, or give None for it")
        operand: Operand = x
    elif _is_values(x) and fmt is not None and isinstance(any_format(fmt), BlockFormat):
        operand = encode(x, fmt, axis=axis if len(shape_of(x)) > 1 else -1)
    elif _is_values(x):
        source = convert.as_source(x)
        operand = ScalarArray(*source) if fmt is None else ScalarArray(convert.encode(x, fmt), get_format(fmt))
    elif fmt is None:
        raise Error(f"{name}: give a BlockArray, values, or codes and fmt=")
    elif isinstance(any_format(fmt), BlockFormat):
        raise Error(f"{name}: codes of {fmt} need their scales; give a BlockArray")
    else:
        operand = from_codes(x, fmt)
    if not operand.ndim:
        raise Error(f"{name}: a number; give a vector or a matrix")
    return operand


def _raised(x: Operand, place: int) -> Operand:
    """The array with an axis of length 1 at `place`, counted from the end of the new shape."""
    at = x.ndim + 1 + place
    if isinstance(x, ScalarArray):
        return replace(x, codes=np.expand_dims(x.codes, at))
    codes, scales = np.expand_dims(x.codes, at), np.expand_dims(x.scales, at) if x.scales.ndim == x.ndim else x.scales
    return replace(x, codes=codes, scales=scales, axis=x.axis + (at <= x.axis))


def _at(x: Operand, at: tuple[int, ...]) -> Operand:
    """The matrix at a position of the broadcast leading dimensions."""
    own = x.shape[:-2]
    index = at[len(at) - len(own) :]
    return x[tuple(0 if n == 1 else i for i, n in zip(index, own, strict=True))] if own else x


def _addend(c: Any, out: Format, shape: tuple[int, ...], squeezed: tuple[int, ...]) -> Codes:
    """The codes of c in the shape of the products. Raises Error for values that the format does not hold."""
    if c is None:
        return np.zeros(shape, convert.code_dtype(out))
    array = np.asarray(c)
    if squeezed:
        array = np.expand_dims(array, squeezed) if array.ndim == len(shape) - len(squeezed) else array
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        raise Error(f"c of shape {np.shape(c)} cannot be broadcast to products of shape {shape}") from None
    if out == FP32 and array.dtype == np.float32:
        return np.ascontiguousarray(array).view(np.uint32)
    codes = convert.encode(array, out)
    wide = convert.to_float64(array)
    if not np.array_equal(convert.decode_float64(codes, out), wide, equal_nan=True):
        raise Error(f"c has values that {out.name} does not hold; round them first")
    return codes


def _one(x: Operand, y: Operand, unit: Accumulator, out: Format, c: Codes, extrapolate: bool) -> Codes:
    """The codes of the product of two matrices."""
    left, right = operand_matrix(x, 1, "a"), operand_matrix(y, 0, "b")
    scales = left.tensor_scale, right.tensor_scale
    if unit.scales == "block" and scales != (FP32_ONE, FP32_ONE) and not extrapolate:
        return _in_epilogue(left, right, unit, out, c)
    s = setting(left.vector(0), right.vector(0), unit, out, extrapolate=extrapolate)
    check_c(s, int(c.max()))
    return product(left, right, s, np.ascontiguousarray(c))


def _in_epilogue(a: Matrix, b: Matrix, unit: Accumulator, out: Format, c: Codes) -> Codes:
    """A product on a unit that takes no second-level scales: its FP32 results times alpha, the product of both scales
    rounded to FP32; each result is rounded once, to nearest even. Raises Error for a c, which would be scaled too."""
    if c.any():
        raise Error(f"{unit.name} applies second-level scales to its results, and would scale c too; add c afterwards")
    left, right = replace(a, tensor_scale=FP32_ONE), replace(b, tensor_scale=FP32_ONE)
    s = setting(left.vector(0), right.vector(0), unit, FP32)
    results = product(left, right, s, np.zeros(c.shape, np.uint32))
    scales = [convert.decode_float64(np.array([m.tensor_scale]), FP32) for m in (a, b)]
    alpha = convert.to_float64(convert.quantize(scales[0] * scales[1], FP32))
    with np.errstate(invalid="ignore", over="ignore"):  # the products are exact in float64
        return convert.encode(convert.decode_float64(results, FP32) * alpha, out)
