"""An estimate of 1/x or 1/sqrt(x) by a table, as data, and the one integer function that looks it up.

Numba compiles `estimated` for arrays: hence plain integers only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, eq=False)
class Estimate:
    """A table of significands, indexed by the leading bits of the operand's fraction.

    root: 1/sqrt(x); the table then has a second half, for odd exponents. index_bits: of the fraction. bits: of the
    estimate, below its leading one. make: computes the entries, which are those bits. exact: powers of two (for roots,
    of four) have exact results. flushed: subnormal operands and results are zeros. silent: no flag is raised, and an
    overflow is Inf in every rounding.
    """

    root: bool
    index_bits: int
    bits: int
    make: Callable[[], Sequence[int]]
    exact: bool = False
    flushed: bool = False
    silent: bool = False

    @cached_property
    def table(self) -> tuple[int, ...]:
        """The entries; of a root, those for even exponents first."""
        return tuple(self.make())


def estimated(
    fraction: int, width: int, exponent: int, root: int, index_bits: int, bits: int, exact: int, table: Sequence[int]
) -> tuple[int, int]:
    """The estimate for (1 + fraction / 2^width) 2^exponent: its significand, of bits + 1 bits, and the exponent of its
    leading bit."""
    odd = exponent & root
    if exact and fraction == 0 and odd == 0:
        return 1 << bits, -(exponent >> root)
    index = fraction >> (width - index_bits) if width >= index_bits else fraction << (index_bits - width)
    return (1 << bits) + table[odd << index_bits | index], -(exponent >> root) - 1
