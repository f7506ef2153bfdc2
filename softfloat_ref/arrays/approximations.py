"""Approximations over arrays of codes: bit-identical to `approximated`.

Operands of at most 16 bits are looked up in a table of all results. Of wider ones, the polynomials are computed in
integers by the same function as single ones; every sum fits float64, from which arrays are rounded as any value is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import convert, operations
from softfloat_ref.arrays.odd import odd_sum
from softfloat_ref.oracle.approximation import SHARES, Address, Approximation, Part, get_approximation, horner
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.formats import Format

TABLE_BITS: Final = 16
_CHUNK_SIZE: Final = 1 << 18  # elements at a time: enough for the compiled conversions

Codes = NDArray[Any]


def evaluate(approximation: str | Approximation, codes: ArrayLike) -> Codes:
    """The results for codes of the approximation's format, in their shape. Raises Error for codes that do not fit."""
    a = get_approximation(approximation)
    operands = convert.checked_codes(codes, a.fmt)
    if a.fmt.width <= TABLE_BITS:
        return np.asarray(all_results(a)[operands])
    results = np.empty(operands.shape, convert.code_dtype(a.out))
    flat, into = operands.reshape(-1), results.reshape(-1)
    for start in range(0, flat.size, _CHUNK_SIZE):
        into[start : start + _CHUNK_SIZE] = compute(a, flat[start : start + _CHUNK_SIZE])
    return results


@lru_cache(maxsize=16)
def all_results(a: Approximation) -> Codes:
    """The results for every code of a narrow format."""
    results = compute(a, np.arange(1 << a.fmt.width))
    results.flags.writeable = False
    return results


def compute(a: Approximation, codes: Codes) -> Codes:
    """The results for flat codes, without a table."""
    exactly = values(a, codes)
    results = operations.evaluate("convert", [exactly.view(np.uint64)], "fp64", a.out, a.policy)
    results[np.isnan(exactly)] = a.nan_code
    return results


def values(a: Approximation, codes: Codes) -> NDArray[np.float64]:
    """The results before they are rounded: exactly, or rounded to odd with spare bits."""
    x = _decoded(codes, a.fmt)
    magnitudes = codes.astype(np.int64) & a.fmt.magnitude_mask
    negative = (codes.astype(np.int64) & a.fmt.sign_bit) != 0
    if a.negative is not None:
        results = np.where(negative, _of_part(a, a.negative, magnitudes, x), _of_part(a, a.positive, magnitudes, x))
        return np.where(np.isnan(x), x, results)
    results = _of_part(a, a.positive, magnitudes, np.abs(x))
    if a.symmetry in ("odd", "complement"):
        other = -results if a.symmetry == "odd" else odd_sum(np.ones_like(results), -results)
        results = np.where(negative, other, results)
    return np.where(np.isnan(x), x, results)


def _decoded(codes: Codes, fmt: Format) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return convert.decode(codes, fmt).astype(np.float64)


def _of_part(a: Approximation, part: Part, magnitudes: Codes, x: NDArray[np.float64]) -> NDArray[np.float64]:
    results = np.where(magnitudes < part.first, _outside(a, part.small, x), _outside(a, part.large, x))
    inside = (magnitudes >= part.first) & (magnitudes < part.after)
    steps = addresses(a.address, a.unit, magnitudes[inside], x[inside])
    rows = (steps >> a.shift) - a.row(part.first) if steps.size else steps
    table = np.array(part.rows, np.int64).reshape(-1, len(a.widths))
    total = horner([column[rows] for column in table.T], steps & ((1 << a.shift) - 1), a.cuts)
    exponents = np.array(part.exponents, np.int64)
    results[inside] = np.ldexp(total.astype(np.float64), exponents[rows if exponents.size > 1 else 0])
    return results


def addresses(address: Address, unit: int, magnitudes: Codes, x: NDArray[np.float64]) -> NDArray[np.int64]:
    """The addresses of magnitude codes with those values, as `Approximation.steps` has them."""
    if address == "code":
        return magnitudes.astype(np.int64)
    return np.ldexp(np.abs(x), unit).astype(np.int64)  # without what lies below the unit


def _outside(a: Approximation, text: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ldexp(x, SHARES[text]) if text in SHARES else np.full(x.shape, float(decode(int(text, 16), a.out)))
