"""Ordinary numbers, as of `coverage.operation.operands.ordinary`, many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from softfloat_ref.coverage.operation.reach import span
from softfloat_ref.oracle.formats import Format

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SEED: Final = 23  # of significands
_EXPONENTS: Final = 900  # beyond which float64 may not hold every number
_FIRST, _SECOND, _STEP = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15


def can_draw(fmt: Format | None) -> bool:
    """Whether float64 holds the numbers of a format of floats."""
    if fmt is None or not fmt.exponent_bits or fmt.precision > 53 or fmt.width > 64:
        return False
    return max(fmt.emax, fmt.mantissa_bits - fmt.emin) <= _EXPONENTS


def ordinaries(fmt: Format, i: NDArray[np.uint64], e: NDArray[np.int64], signed: bool) -> NDArray[np.uint64]:
    """`ordinary(fmt, i, e)` of each i and e, with signs or without. Requires `can_draw`."""
    import numpy as np

    reach, u = span(fmt), np.uint64
    e = np.clip(e, reach.least, reach.most)
    if not fmt.has_normals or fmt.twos_complement or not fmt.mantissa_bits:
        return _encoded(fmt, i, e, signed)
    # The codes of normal numbers are their exponents and fractions.
    m, mask = u(fmt.mantissa_bits), u((1 << fmt.mantissa_bits) - 1)
    codes: NDArray[np.uint64] = (u(fmt.min_normal_code) + ((e - fmt.emin).astype(u) << m)) + (_words(i) & mask)
    others = (e < fmt.emin) | (codes > u(fmt.max_code))
    if signed and fmt.signed:
        codes |= (i >> u(1) & u(1)) * u(fmt.sign_bit)
    if others.any():
        codes[others] = _encoded(fmt, i[others], e[others], signed)
    return codes


def _encoded(fmt: Format, i: NDArray[np.uint64], e: NDArray[np.int64], signed: bool) -> NDArray[np.uint64]:
    """The same by conversions, of any numbers. e: exponents that the format has."""
    import numpy as np

    from softfloat_ref.arrays import convert

    u = np.uint64
    p = np.minimum(fmt.precision, e - (fmt.emin - fmt.mantissa_bits) + 1)
    top = u(1) << (p - 1).astype(u)
    signs = np.where(signed and fmt.signed, 1.0 - 2.0 * (i >> u(1) & u(1)), 1.0)
    codes = np.full(e.shape, fmt.min_code, u)
    for significand in (top, top | _words(i) & (top - u(1))):  # the second is taken where the format has it
        values = signs * np.ldexp(significand.astype(np.float64), e - p + 1)
        found = convert.encode(values, fmt)
        same = convert.decode_float64(found, fmt) == values
        codes[same] = found[same]
    return codes


def _words(i: NDArray[np.uint64]) -> Any:
    """coverage's `word(23, i)`."""
    import numpy as np

    u = np.uint64
    z = u(_SEED * 0xD1342543DE82EF95 % (1 << 64)) + (i + u(1)) * u(_STEP)
    z = (z ^ z >> u(30)) * u(_FIRST)
    z = (z ^ z >> u(27)) * u(_SECOND)
    return z ^ z >> u(31)
