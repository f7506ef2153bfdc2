"""Exponents of an array's values, and how many values become zero, subnormal or too large in a format.

ExponentCounts are read from the bits; the counts come from the conversion itself, so they match what hardware does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays import affine, blocks, convert
from softfloat_ref.arrays.convert import Source
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.affine import AffineFormat, get_affine_format, is_affine
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.flags import Flags
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy, get_policy
from softfloat_ref.oracle.sources import RandomSource

AnyFormat = Format | BlockFormat | AffineFormat

_FP32: Final = CATALOGUE["fp32"]
_FP64: Final = CATALOGUE["fp64"]
_CHUNK_SIZE: Final = 1 << 22  # values at a time


@dataclass(frozen=True)
class ExponentCounts:
    """How many values have each exponent floor(log2 |x|): counts[i] nonzero finite values have exponent first + i."""

    first: int
    counts: NDArray[np.int64]
    zeros: int
    specials: int

    @property
    def nonzero(self) -> int:
        """The number of finite nonzero values."""
        return int(self.counts.sum())

    @property
    def total(self) -> int:
        """The number of values, including zeros, Inf and NaN."""
        return self.nonzero + self.zeros + self.specials

    @property
    def last(self) -> int:
        """The largest exponent; below `first` if there is no value."""
        return self.first + len(self.counts) - 1

    def __add__(self, other: ExponentCounts) -> ExponentCounts:
        zeros, specials = self.zeros + other.zeros, self.specials + other.specials
        parts = [x for x in (self, other) if len(x.counts)]
        first, last = min((x.first for x in parts), default=0), max((x.last for x in parts), default=-1)
        counts = np.zeros(last - first + 1, np.int64)
        for x in parts:
            counts[x.first - first : x.last - first + 1] += x.counts
        return ExponentCounts(first, counts, zeros, specials)


EMPTY: Final = ExponentCounts(0, np.zeros(0, np.int64), 0, 0)


def exponents(x: ArrayLike) -> ExponentCounts:
    """The exponents of an array of floats or integers; also of subnormals. Raises Error for other dtypes."""
    source = convert.as_source(x)
    if source.fmt not in (_FP32, _FP64):
        source = convert.as_source(convert.to_float64(source))
    codes, total = source.codes.reshape(-1), EMPTY
    for start in range(0, codes.size, _CHUNK_SIZE):
        total += _of_codes(Source(codes[start : start + _CHUNK_SIZE], source.fmt))
    return total


def _of_codes(source: Source) -> ExponentCounts:
    """The exponents of FP32 or FP64 codes, from the exponent field or, for subnormals, from the leading one."""
    codes, fmt = source
    magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
    field = (magnitude >> codes.dtype.type(fmt.mantissa_bits)).astype(np.int64)
    top = (1 << fmt.exponent_bits) - 1
    counts = np.bincount(field, minlength=top + 1)
    small = magnitude[(field == 0) & (magnitude != 0)]
    places = np.frexp(small.astype(np.float64))[1] - 1  # of the leading one: exact, since significands are below 2^52
    subnormal = np.bincount(places, minlength=fmt.mantissa_bits).astype(np.int64)
    whole = np.concatenate([subnormal, counts[1:top]])
    zeros, specials = int(counts[0]) - len(small), int(counts[top])
    used = np.flatnonzero(whole)
    if not used.size:
        return ExponentCounts(0, np.zeros(0, np.int64), zeros, specials)
    first = fmt.emin - fmt.mantissa_bits
    return ExponentCounts(first + int(used[0]), whole[used[0] : used[-1] + 1].astype(np.int64), zeros, specials)


class Shares(NamedTuple):
    """What happens to the finite nonzero values in a format: their number, and how many become zero, become subnormal
    (0 for block and affine formats, where the term does not apply), or overflow or saturate."""

    values: int
    zero: int
    subnormal: int
    beyond: int

    def __add__(self, other: Shares) -> Shares:  # type: ignore[override]
        return Shares(*(a + b for a, b in zip(self, other, strict=True)))

    def part(self, count: int) -> float:
        """A count as a fraction of the values."""
        return count / self.values if self.values else 0.0


NOTHING: Final = Shares(0, 0, 0, 0)


def find_format(name: str | AnyFormat) -> AnyFormat:
    """A scalar, block or affine format by name, by a type of torch, numpy or ml_dtypes, or as it is. Raises Error."""
    if is_affine(name):
        return get_affine_format(name)  # type: ignore[arg-type]
    fmt = any_format(name)  # type: ignore[arg-type]
    if not isinstance(fmt, (Format, BlockFormat)):
        raise Error(f"a format must be a name, not {fmt!r}")
    return fmt


def shares(
    x: ArrayLike,
    fmt: str | AnyFormat,
    policy: Policy | str | None = None,
    random_bits: RandomSource | None = None,
) -> Shares:
    """The counts for an array's values in a format; blocks run along the last axis. Raises Error as conversions do."""
    resolved = find_format(fmt)
    array = np.atleast_1d(np.asarray(x))
    values = convert.to_float64(array)
    counted = np.isfinite(values) & (values != 0)
    if isinstance(resolved, Format):
        return _scalar(array, counted, resolved, get_policy(policy), random_bits)
    if isinstance(resolved, BlockFormat):
        blocked = blocks.encode(array, resolved, axis=-1, profile=None, policy=policy, random_bits=random_bits)
        zero, beyond = blocked.decode() == 0, blocks.saturated(array, blocked)
    else:
        zero = (
            affine.encode(array, resolved, axis=None, profile="exact", policy=policy, random_bits=random_bits).decode()
            == 0
        )
        beyond = 0  # the scale is computed from the tensor itself
    return Shares(int(counted.sum()), int((zero & counted).sum()), 0, beyond)


def _scalar(
    array: NDArray[Any], counted: NDArray[np.bool_], fmt: Format, policy: Policy, source: RandomSource | None
) -> Shares:
    codes, flags = convert.encode_flags(array, fmt, policy, source)
    magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
    if fmt.twos_complement:
        magnitude = np.where(codes & codes.dtype.type(fmt.sign_bit), -codes.astype(np.int64), codes).astype(np.int64)
    zero = (codes == 0) if fmt.nan == "negative-zero" or fmt.twos_complement else (magnitude == 0)
    small = fmt.has_normals & (magnitude < fmt.min_normal_code) & ~zero
    beyond = (flags & int(Flags.OVERFLOW | Flags.INVALID)) != 0
    return Shares(*(int((counted & x).sum()) for x in (np.True_, zero & fmt.zero, small, beyond)))
