"""Compiled loops for vectors in bulk: codes from random words, and lines of hexadecimal text.

The codes come from the compiled `cases.weighted`.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import intrinsic, register_jitable

from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.golden import cases

for _function in (cases.weighted, cases.pattern):
    register_jitable(forceinline=True)(_function)
_weighted: Any = cases.weighted

PADDING: Final = 8


@compiled(nogil=True, error_model="numpy")
def weighted_codes(words: Any, stride: int, at: int, numbers: Any, known: Any, out: Any) -> None:
    """out[i] = the code from word `at` of a case's words (its kind) and the next one (its bits)."""
    width, mask, m, exponent_bits = numbers[0], numbers[1], numbers[2], numbers[3]
    bias, sign_bit = numbers[4], numbers[5]
    for i in range(out.size):
        control = words[i * stride + at]
        kind, choice = np.int64(control & np.uint64(7)), np.int64(control >> np.uint64(3))
        if kind == 7:
            out[i] = known[choice % known.size]
        else:
            uniform = np.int64(words[i * stride + at + 1]) & mask
            out[i] = _weighted(kind, choice, uniform, width, m, exponent_bits, bias, sign_bit)


@intrinsic
def _store(context: Any, out: Any, place: Any, word: Any) -> Any:
    """Store eight bytes into an array of bytes from an index on, the most significant first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils

        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        gep: Any = cgutils.gep_inbounds
        place = builder.bitcast(gep(builder, array.data, arguments[1]), ir.IntType(64).as_pointer())
        word = builder.bswap(arguments[2]) if sys.byteorder == "little" else arguments[2]
        builder.store(word, place, align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.uint64), generate


@compiled(forceinline=True)
def _hexadecimal(value: Any) -> Any:
    """The lower 32 bits as eight upper-case hexadecimal digits, the first the most significant byte."""
    x = value & np.uint64(0xFFFFFFFF)
    x = (x | x << np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    x = (x | x << np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    x = (x | x << np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    letters = (x + np.uint64(0x0606060606060606)) >> np.uint64(4) & np.uint64(0x0101010101010101)
    return x + np.uint64(0x3030303030303030) + letters * np.uint64(7)


@compiled(nogil=True)
def text_lines(columns: Any, digits: Any, out: Any) -> None:
    """Lines of upper-case hexadecimal, single spaces between the columns; `out` has PADDING bytes more than they need.

    Eight bytes are stored at a time; the next store overwrites surplus bytes.
    """
    place = 0
    for i in range(columns.shape[1]):
        for j in range(digits.size):
            value, left = np.uint64(columns[j, i]), digits[j]
            while left > 8:
                left -= 8
                _store(out, place, _hexadecimal(value >> np.uint64(4 * left)))  # type: ignore[call-arg]
                place += 8
            _store(out, place, _hexadecimal(value << np.uint64(32 - 4 * left)))  # type: ignore[call-arg]
            place += left
            out[place] = 32
            place += 1
        out[place - 1] = 10


@compiled(nogil=True)
def as_words(text: Any, out: Any) -> None:
    """Lines of text as memory words: lower case, `_` for a space."""
    for i in range(text.size):
        byte = text[i]
        letter = np.uint8(byte + np.uint8(32)) if byte >= np.uint8(65) else byte
        out[i] = np.uint8(95) if byte == np.uint8(32) else letter


@compiled(nogil=True)
def parse_lines(text: Any, lines: int, digits: Any, out: Any) -> bool:
    """The columns of lines of hexadecimal digits, all of the same layout; False if a line has a different layout."""
    place = 0
    for i in range(lines):
        for j in range(digits.size):
            value = np.uint64(0)
            for at in range(place, place + digits[j]):
                byte = np.int64(text[at])
                digit = byte - 48
                if digit > 9:
                    digit = (byte | 32) - 87
                    if digit < 10:
                        return False
                if digit < 0 or digit > 15:
                    return False
                value = value << np.uint64(4) | np.uint64(digit)
            out[j, i] = np.int64(value)
            place += digits[j] + 1
            if text[place - 1] != (10 if j == digits.size - 1 else 32):
                return False
    return True
