"""Integers of few bits whose product is a given value, or whose product or quotient lies in an open interval; or proofs
that there are none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import gcd
from typing import Final

from softfloat_ref.oracle.exact import trailing_zeros

_LARGEST_TRIAL: Final = 1 << 12
_RHO_STEPS: Final = 1 << 15
_RHO_BITS: Final = 128  # bits
# Enough witnesses for every number below 3.3e24 (Sorenson and Webster, 2015).
_WITNESSES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
_PROVED_BELOW: Final = 3317044064679887385961981
_MOST_FACTORS: Final = 1 << 12  # factors that are tried one by one for an interval


def is_prime(n: int) -> bool:
    """Whether n is prime: Miller and Rabin's test, exact below 3.3e24, else a strong probable prime."""
    if n < 2:
        return False
    for p in _WITNESSES:
        if n % p == 0:
            return n == p
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for a in _WITNESSES:
        x = pow(a, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


@lru_cache(maxsize=4096)
def factors(n: int) -> tuple[tuple[int, ...], int]:
    """The prime factors of n that were found, and the rest: 1, or a product of primes that were not found."""
    primes, rest = [], n
    for p in (2, *range(3, _LARGEST_TRIAL, 2)):
        while rest % p == 0:
            primes.append(p)
            rest //= p
        if p * p > rest:
            break
    if 1 < rest < _LARGEST_TRIAL * _LARGEST_TRIAL:
        return (*primes, rest), 1
    left = 1
    waiting = [rest] if rest > 1 else []
    while waiting:
        x = waiting.pop()
        if is_prime(x) and x < _PROVED_BELOW:
            primes.append(x)
        elif (divisor := _rho(x)) == 0:
            left *= x
        else:
            waiting += [divisor, x // divisor]
    return tuple(sorted(primes)), left


def _rho(n: int) -> int:
    """A divisor of n by Pollard's rho method, or 0; numbers too large to have small divisors are skipped."""
    if n.bit_length() > _RHO_BITS:
        return 0
    for c in (1, 3, 5):
        x = y = 2
        product = 1
        for i in range(1, _RHO_STEPS):
            x = (x * x + c) % n
            y = (y * y + c) % n
            y = (y * y + c) % n
            product = product * abs(x - y) % n
            if i % 64 == 0:
                d = gcd(product, n)
                if 1 < d < n:
                    return d
                if d == n:
                    break
    return 0


@lru_cache(maxsize=4096)
def divisors(n: int) -> tuple[int, ...]:
    """The divisors of n made of the primes that were found, at most 256 of them, ascending."""
    products = [1]
    for p in factors(n)[0]:
        products += [d * p for d in products if len(products) < 256]
        products = sorted(set(products))
    return tuple(products)


def pairs(n: int, first: int, second: int) -> Iterator[tuple[int, int]]:
    """x, y with x * y = n, of at most `first` and `second` bits; the most balanced ones first."""
    if n <= 0:
        return
    zeros = trailing_zeros(n)
    odd = n >> zeros
    if odd.bit_length() > first + second:
        return
    fitting = [(d, odd // d) for d in divisors(odd) if d.bit_length() <= first and (odd // d).bit_length() <= second]
    fitting.sort(key=lambda xy: abs(xy[0].bit_length() - xy[1].bit_length()))
    yield from ((x, y << zeros) for x, y in fitting)


def no_pair(n: int, first: int, second: int) -> bool:
    """Whether n is certainly not a product of integers of these numbers of bits, times a power of two."""
    odd = n >> trailing_zeros(n)
    if odd.bit_length() > first + second:
        return True
    if next(pairs(odd, first, second), None) is not None:
        return False
    primes, left = factors(odd)
    return left == 1 and 2 ** len(primes) <= 256


# -- open intervals ----------------------------------------------------------------------------------------------------


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
    if min(first, second) > _MOST_FACTORS.bit_length() - 1:
        return True
    few, many = sorted((first, second))
    for x in range(1 << (few - 1), 1 << few):
        for shift in range(max(0, many + few - 1 - s.bit_length()), many + few + 1 - s.bit_length() + 1):
            y = (s << shift) // x + 1
            if y.bit_length() <= many and x * y < (s + 1) << shift:
                return True
    return False
