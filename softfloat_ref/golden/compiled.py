"""Compiled loops for vectors in bulk: codes from random words, lines of hexadecimal text, and both with an operation
between them.

The codes come from the compiled `cases.draw_code`.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import intrinsic, register_jitable

from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.arrays.kernels.operations import operate
from softfloat_ref.arrays.kernels.random_words import fill
from softfloat_ref.golden import cases

register_jitable(forceinline=True)(cases.draw_code)
_drawn: Any = cases.draw_code

_LINES_AT_ONCE: Final = 256  # at a time: their words stay in the first cache
_WORDS_A_CODE: Final = 2


@compiled(nogil=True, error_model="numpy")
def weighted_codes(words: Any, stride: int, at: int, masks: Any, rows: Any, table: Any, out: Any) -> None:
    """out[i] = the code from word `at` of a case's words (its kind) and the next one (its bits)."""
    mask = masks[0]
    for i in range(out.size):
        control = words[i * stride + at]
        kind, choice = np.int64(control & np.uint64(7)), np.int64(control >> np.uint64(3))
        out[i] = _drawn(kind, choice, np.int64(words[i * stride + at + 1]) & mask, rows, table)


@intrinsic
def _first_byte_low(context: Any, word: Any) -> Any:
    """A word whose bytes, the most significant first, become the bytes in memory."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0]) if sys.byteorder == "little" else arguments[0]

    return types.uint64(types.uint64), generate


@intrinsic
def _store(context: Any, out: Any, place: Any, word: Any) -> Any:
    """Store eight bytes into an array of bytes from an index on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils

        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        gep: Any = cgutils.gep_inbounds
        place = builder.bitcast(gep(builder, array.data, arguments[1]), ir.IntType(64).as_pointer())
        builder.store(arguments[2], place, align=1)
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


@compiled(forceinline=True)
def _words_of(column: Any, right: int, left: int, out: Any) -> None:
    """The digits of a column as words in memory. The codes are first shifted right or left: a loop without branches,
    which the compiler turns into vector instructions."""
    for i in range(column.size):
        value = np.uint64(column[i]) >> np.uint64(right) << np.uint64(left)
        out[i] = _first_byte_low(_hexadecimal(value))  # type: ignore[call-arg]


@compiled(forceinline=True)
def _words_a_line(digits: Any) -> int:
    """The number of words of eight digits in a line."""
    words = 0
    for j in range(digits.size):
        words += (digits[j] + 7) // 8
    return words


@compiled()
def _text_at(columns: Any, first: int, lines: int, digits: Any, room: Any, out: Any, place: int) -> int:
    """Some lines of the text of columns, from a place in the output on; returns the place after them.

    First all their words of eight digits, column by column, then the stores: a word's surplus bytes are overwritten by
    what follows them. room: space for these words; its last column takes the digits of each, negative for the last word
    of a column.
    """
    word, last = 0, room.shape[1] - 1
    for j in range(digits.size):
        column, left = columns[j, first : first + lines], digits[j]
        while left > 0:
            size = min(left, 8)
            left -= size
            _words_of(column, 4 * left, 32 - 4 * size, room[word])
            room[word, last] = np.uint64(size if left else -size)
            word += 1
    for i in range(lines):
        for w in range(word):
            _store(out, place, room[w, i])  # type: ignore[call-arg]
            size = np.int64(room[w, last])
            place += abs(size)
            if size < 0:
                out[place] = 32
                place += 1
        out[place - 1] = 10
    return place


@compiled(nogil=True)
def text_lines(columns: Any, digits: Any, out: Any) -> None:
    """Lines of upper-case hexadecimal, single spaces between the columns; `out` has eight bytes more than they need."""
    room = np.empty((_words_a_line(digits), _LINES_AT_ONCE + 1), np.uint64)
    count, place = columns.shape[1], 0
    for first in range(0, count, _LINES_AT_ONCE):
        place = _text_at(columns, first, min(_LINES_AT_ONCE, count - first), digits, room, out, place)


@compiled(nogil=True, error_model="numpy")
def operation_lines(
    draw: Any, masks: Any, rows: Any, tables: Any, numbers: Any, fields: Any, layouts: Any, table: Any, targets: Any,
    inputs: Any, digits: Any, words: Any, columns: Any, flags: Any, room: Any, out: Any, done: Any,
) -> None:  # fmt: skip
    """The text of cases of an operation without random bits: operands, result and flags.

    draw: the number of lines, the seed, the stream, and the number of the first case, for operands that are drawn
    (masks, rows, tables: `weighted_codes`, a row for each operand); inputs: the operands of lines that are not, else
    without columns. numbers to targets: the operation's plan. done[0]: the number of lines written, all
    unless the oracle must compute one. words, columns,
    flags, room: space for the words, the columns and the flags of some lines at a time, and as in `_text_at`.
    """
    arity, count, block, place = masks.shape[0], draw[0], max(flags.size, 1), 0  # a step of 0 would be an error
    stride = _WORDS_A_CODE * arity
    seed, stream = np.uint64(draw[1]), np.uint64(draw[2])
    nothing = columns[0, :0]
    for first in range(0, count, block):
        n = min(block, count - first)
        if inputs.shape[1]:
            for j in range(arity):
                for i in range(n):
                    columns[j, i] = inputs[j, first + i]
        else:
            fill(seed, stream, (draw[3] + first) * stride, np.uint64(0), words[: n * stride])
            for j in range(arity):
                weighted_codes(words, stride, _WORDS_A_CODE * j, masks[j], rows[j], tables[j], columns[j, :n])
        a, b, c = columns[0, :n], nothing, nothing
        if arity > 1:
            b = columns[1, :n]
        if arity > 2:
            c = columns[2, :n]
        operate(numbers, fields, layouts, table, targets, a, b, c, nothing, columns[arity, :n], flags[:n])
        unknown = 0
        for i in range(n):
            unknown |= flags[i] & UNKNOWN
            columns[arity + 1, i] = flags[i]
        if unknown:
            return
        done[0] += n
        place = _text_at(columns, 0, n, digits, room, out, place)


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
