"""Dot products of integers over numpy arrays, with the oracle's bits."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.oracle.flags import OVERFLOW
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.integer_dots import Fit, IntegerSetting, ends

_MOST_BITS: Final = 62  # of a sum, besides its sign
Codes = NDArray[np.uint64]


def integer_dots(s: IntegerSetting, a: Codes, b: Codes, c: Codes, clear: Any, steps: bool) -> Codes | None:
    """The outputs of a unit, a row a case: running sums where asked for, results, flags. a, b: a row an element. None
    where a sum may not fit 63 bits."""
    k = len(a)
    if max(s.a.width + s.b.width + k.bit_length(), s.c.width) > _MOST_BITS:
        return None
    low, high = ends(s.c)
    products = _integers(a, s.a) * _integers(b, s.b)
    running = _integers(c, s.c) * (1 - np.asarray(clear, np.int64))
    size, codes_so_far, flags = s.accumulator.step or k, [], np.zeros(len(c), np.uint64)
    for start in range(0, k, size):
        total = running + products[start : start + size].sum(axis=0)
        if s.accumulator.fit == Fit.SATURATE:
            running = np.clip(total, low, high)
        else:
            running = _integers(total.view(np.uint64) & np.uint64((1 << s.c.width) - 1), s.c)
        flags |= np.where(running != total, np.uint64(OVERFLOW), np.uint64(0))
        codes_so_far.append(running.view(np.uint64) & np.uint64((1 << s.c.width) - 1))
    return np.stack([*(codes_so_far if steps else ()), codes_so_far[-1], flags], axis=1)


def _integers(codes: Codes, fmt: Format) -> NDArray[np.int64]:
    return (codes.astype(np.int64) ^ fmt.sign_bit) - fmt.sign_bit
