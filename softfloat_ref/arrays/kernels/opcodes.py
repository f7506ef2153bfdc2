"""The integer constants that control the compiled loop of operations. Plain numbers, so that importing them loads no
compiler."""

from __future__ import annotations

from typing import Final

# The exact computation.
CONVERT: Final = 0
ADD: Final = 1
SUB: Final = 2
MUL: Final = 3
FMA: Final = 4
FAA: Final = 5
DIV: Final = 6
RECIP: Final = 7
SQRT: Final = 8
INTEGRAL: Final = 9
INTEGRAL_EXACT: Final = 10
SCALEB: Final = 11
LOGB: Final = 12
SELECT: Final = 13  # one of two operands, or a table entry, by their classes and the order of their magnitudes

# Classes of operands: +0 -0, finite, Inf of each sign, quiet NaN, signalling NaN.
CLASSES: Final = 8
FINITE_CLASS: Final = 2
FIRST_SPECIAL: Final = 4
INF_CLASS: Final = 4
QUIET_CLASS: Final = 6
SIGNALING_CLASS: Final = 7

# Columns of a field of a format: the significand is BASE + FACTOR * (the bits below the field).
BASE: Final = 0
FACTOR: Final = 1
EXPONENT: Final = 2
CLASS: Final = 3

# Of a function, rows of `starts`, which has a column for each field: the first segment of the binade less 2^k (ASK if
# the field alone does not tell); the significand of 62 bits, to which the shifted bits below the field are added; and a
# shift, with 64 more if the sign of the result is turned. Columns of `whole`, which has a row for each segment: the sum
# of what is known and the polynomial is the least integer, from which a span reaches to the largest.
START_FIRST: Final = 0
START_SIGNIFICAND: Final = 1
START_LEFT: Final = 2
PLAN_LOW: Final = 0
PLAN_SPAN: Final = 1
PLAN_MULTIPLE: Final = 2
PLAN_UNIT: Final = 3

# Columns of the table by classes, and its actions.
ACTION: Final = 0
CODE: Final = 1
FLAGS: Final = 2
ORACLE: Final = 0  # ask the oracle about each case
CONSTANT: Final = 1  # the code and flags in the table
COMPUTE: Final = 2  # the exact computation (SELECT: the first operand), rounded; plus the flags in the table
SECOND: Final = 3  # the second operand, rounded

# Indices into the numbers of an operation.
KIND: Final = 0
LONGEST: Final = 1  # bits of a significand that the rounding accepts
BITS: Final = 2  # bits a quotient or root must have
ZERO_SIGN: Final = 3  # the sign of a zero sum of opposite numbers
MODE: Final = 4  # of rounding to an integer
RANDOM: Final = 5  # number of random bits for that
ZERO_CODE: Final = 6  # the code for zero, for each sign
ZERO_FLAGS: Final = 8
PLAIN: Final = 10  # 1: the target is one that has PLAIN_TARGET
OUTSIDE_CODE: Final = 11  # of a function at operands outside its domain
OUTSIDE_FLAGS: Final = 12
MINUS_PRODUCT: Final = 13  # 1: an fma's product, or its addend, is negated
MINUS_ADDEND: Final = 14
NUMBERS: Final = 15

# Of the target of most operations: a binary format as in IEEE 754, to nearest even, no flushing.
PLAIN_TARGET: Final = {
    "mode": 0,
    "random_count": 0,
    "code_parity": 0,
    "gap": 0,
    "zero": 1,
    "drop_sign": 0,
    "negate_from": 0,
    "negative_zero": 1,
    "flush": 0,
}

UNKNOWN: Final = 0x80  # in place of flags: the oracle must decide
