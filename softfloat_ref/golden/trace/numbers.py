"""FP32 arithmetic on codes: on arrays, and one by one by the scalar oracle."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial, reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert, operations
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.operations import evaluate

Codes = NDArray[Any]

FP32: Final = CATALOGUE["fp32"]
ONE: Final = 0x3F800000
NAN: Final = FP32.canonical_nan
_UFUNCS: Final = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def fp32_codes(codes: Codes, fmt: Format) -> Codes:
    """The FP32 codes of values of a format that FP32 contains; every NaN is the canonical one."""
    bits = codes.astype(np.uint32) if fmt == FP32 else np.asarray(convert.decode(codes, fmt)).view(np.uint32)
    return canonical(bits)


def canonical(codes: Codes) -> Codes:
    """FP32 codes with one NaN."""
    return np.where((codes & 0x7FFFFFFF) > FP32.inf_code, np.uint32(NAN), codes).astype(np.uint32)


def apply(op: str, a: Codes, b: Codes) -> Codes:
    """add, sub, mul or div of FP32 codes, to nearest even; shapes broadcast."""
    if convert.flushes_subnormals():
        return np.asarray(operations.evaluate(op, (a, b), FP32))
    with np.errstate(all="ignore"):
        values = _UFUNCS[op](a.view(np.float32), b.view(np.float32))
    return canonical(np.asarray(values, np.float32).view(np.uint32))


def root(a: Codes) -> Codes:
    """The square roots of FP32 codes, to nearest even."""
    if convert.flushes_subnormals():
        return np.asarray(operations.evaluate("sqrt", (a,), FP32))
    with np.errstate(all="ignore"):
        return canonical(np.sqrt(a.view(np.float32)).view(np.uint32))


def apply_one(op: str, a: int, b: int) -> int:
    """The same of two codes, by the oracle."""
    return int(evaluate(op, (a, b), FP32).bits)


def summed(rows: Codes) -> Codes:
    """The sequential sum over the first axis: the first, and the others added to it one after the other."""
    return reduce(partial(apply, "add"), rows)


def summed_one(codes: Iterable[int]) -> int:
    """The same of codes, by the oracle."""
    return int(reduce(partial(apply_one, "add"), codes))


def positive(code: int) -> bool:
    """Whether an FP32 code is a number above zero, or Inf."""
    return 0 < code <= FP32.inf_code


def matrix(codes: Codes) -> Codes:
    """The codes. Raises Error if they are not a matrix."""
    if codes.ndim != 2 or not codes.size:
        raise Error(f"expects a matrix, not an array of shape {codes.shape}")
    return codes
