"""Which open intervals hold a quotient, or a product, of two significands: a pair, or a proof that there is none."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_TRIED: Final = 1 << 12  # factors that are tried one by one


@lru_cache(maxsize=4096)
def simplest(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    """The fraction in the open interval from a/b to c/d (0 <= a/b < c/d; d = 0: no end) with the least numerator and
    denominator: every other one there has larger ones (Stern and Brocot's tree)."""
    whole = a // b
    if d == 0 or (whole + 1) * d < c:
        return whole + 1, 1
    # both ends lie in [whole, whole + 1]: take the whole part off and turn the rest over
    low, high = (a - whole * b, b), (c - whole * d, d)
    if low[0] == 0:
        y = high[1] // high[0] + 1  # the least y with 1/y below the upper end
        return whole * y + 1, y
    y, x = simplest(high[1], high[0], low[1], low[0])
    return whole * y + x, y


@lru_cache(maxsize=4096)
def quotient(s: int, first: int, second: int) -> tuple[int, int, int] | None:
    """x, y, t: x < 2^first, y < 2^second and s < (x/y) * 2^t < s + 1; None if there are none. s > 0."""
    for t in (s.bit_length() - 1 - first + second, s.bit_length() - first + second):
        # x of `first` bits over y of `second` bits lies in two binades: every quotient has such a form
        a, b, c, d = (s, 1 << t, s + 1, 1 << t) if t >= 0 else (s << -t, 1, (s + 1) << -t, 1)
        x, y = simplest(a, b, c, d)
        if x.bit_length() <= first and y.bit_length() <= second:
            return x, y, t
    return None


@lru_cache(maxsize=4096)
def product_between(s: int, first: int, second: int) -> bool:
    """Whether s < x * y * 2^t < s + 1 for some x < 2^first, y < 2^second; True if there are too many candidates.
    s > 0."""
    if min(first, second) > _TRIED.bit_length() - 1:
        return True
    few, many = sorted((first, second))
    for x in range(1 << (few - 1), 1 << few):
        for shift in range(max(0, many + few - 1 - s.bit_length()), many + few + 1 - s.bit_length() + 1):
            y = (s << shift) // x + 1
            if y.bit_length() <= many and x * y < (s + 1) << shift:
                return True
    return False
