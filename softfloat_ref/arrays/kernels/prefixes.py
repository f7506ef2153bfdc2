"""Conversion of float64 values with numpy and a table of codes, indexed by a value's leading bits and a sticky bit.

For arrays too small to justify loading compiled code. The oracle fills the table.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import encoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy

MAX_TABLE: Final = 1 << 19  # entries
_FP64_BIAS: Final = 1023
_FP64_MANTISSA: Final = 52


class Table(NamedTuple):
    """Codes by index: 0: zero, 1: magnitudes below the first prefix, then the prefixes, then Inf; then all negated."""

    codes: NDArray[np.unsignedinteger[Any]]
    lowest: int  # the first prefix: a float64's exponent field and leading mantissa bits
    prefixes: int
    shift: int  # float64 mantissa bits below the prefix


def table_for(fmt: Format, policy: Policy, size: int, dtype: np.dtype[Any]) -> Table | None:
    """The table of a conversion without random bits, if it is small compared with `size` values; else None."""
    return _table(fmt, policy, dtype) if is_small(fmt, policy, size) else None


def is_small(fmt: Format, policy: Policy, size: int) -> bool:
    """Whether the conversion has a table that is small compared with `size` values."""
    if policy.rounding.stochastic:
        return False
    first, last = fmt.emin - fmt.mantissa_bits - 2, fmt.emax + 2
    entries = 2 * ((last - first) << (fmt.mantissa_bits + 2))
    return entries <= min(MAX_TABLE, 2 * size) and first >= 2 - _FP64_BIAS and last <= _FP64_BIAS


@lru_cache(maxsize=64)
def _table(fmt: Format, policy: Policy, dtype: np.dtype[Any]) -> Table:
    spare = fmt.mantissa_bits + 2
    first, last = fmt.emin - spare, fmt.emax + 2
    encode_value = encoder(fmt, policy)
    prefixes = (last - first) << spare
    codes = np.empty(2 * (prefixes + 3), dtype)
    for sign in (0, 1):
        values = [exact.zero(sign), exact.finite(sign, 1, first - 1)]
        values += [
            exact.finite(sign, (1 << spare) | (i & ((1 << spare) - 1)), first + (i >> spare) - spare)
            for i in range(prefixes)
        ]
        values.append(exact.inf(sign))
        codes[sign * len(values) : (sign + 1) * len(values)] = [encode_value(v, 0)[0] for v in values]
    return Table(codes, (first + _FP64_BIAS) << spare, prefixes, _FP64_MANTISSA - spare)


def indices(x: NDArray[np.float64], table: Table) -> NDArray[np.int64]:
    """Each value's index into the table; NaN gets the index of Inf."""
    bits = x.view(np.int64)
    magnitude = bits & np.int64((1 << 63) - 1)
    prefix = magnitude >> table.shift
    prefix |= (prefix << table.shift) != magnitude
    index = np.clip(prefix - (table.lowest - 2), 1, table.prefixes + 1)
    index[magnitude == 0] = 0
    index[magnitude >= np.int64(0x7FF << _FP64_MANTISSA)] = table.prefixes + 2
    indices: NDArray[np.int64] = index + (bits < 0) * np.int64(table.prefixes + 3)
    return indices
