"""Operands whose square roots lie next to a rounding boundary, by square roots modulo powers of two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from softfloat_ref.coverage.engine.framework import Line
from softfloat_ref.coverage.operation.setting import Setting
from softfloat_ref.coverage.operation.solve import operand
from softfloat_ref.oracle.exact import finite

_TRIES: Final = 24


def root_modulo(n: int, k: int) -> int:
    """s with s*s = n modulo 2^k, of an n that is 1 modulo 8, one bit at a time (Hensel's lemma)."""
    s = 1
    for i in range(3, k):
        if (s * s - n) >> i & 1:
            s += 1 << (i - 1)
    return s % (1 << k)


def sticky_roots(where: Setting, guard: int, place: int) -> Iterator[Line]:
    """Operands whose root has that guard bit, then zeros, and the next one at a place below the guard.

    With m the root's kept and guard bits, the operand is (m*m + r) / 2^k, where r is about 2m * 2^-place: m is a root
    of -r modulo 2^k. If the guard bit is 0, half of m is.
    """
    p = where.out.precision
    size = p + guard  # bits of the odd root, half of m or m
    for k in (2 * size - p - 1, 2 * size - p):
        low = 1 << max(size - place + guard, 0)
        for i in range(_TRIES):
            r = (low + (low * i // _TRIES)) | 7
            s = root_modulo(-r % (1 << k), k)
            for m in (s, -s, s + (1 << k >> 1), -s + (1 << k >> 1)):
                root = m % (1 << k)
                root += 1 << k if root.bit_length() < size else 0
                x = root * root + r
                if root.bit_length() == size and x % (1 << k) == 0:
                    code = operand(where.formats[0], finite(0, x >> k, k - 2 * size))
                    if code is not None:
                        yield (code,)
