"""The numbers by which the compiled loop of operations is told what to do; plain constants, so that importing them
loads no compiler."""

from __future__ import annotations

from typing import Final

# What the exact line is.
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
SELECT: Final = 13  # one of two operands, or what the table says, by their classes and the order of their magnitudes

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

# Columns of the table by classes, and its actions.
ACTION: Final = 0
CODE: Final = 1
FLAGS: Final = 2
ORACLE: Final = 0  # ask the oracle about each
CONSTANT: Final = 1  # the code and flags that stand here
COMPUTE: Final = 2  # the exact line (of SELECT: the first operand), rounded; the flags that stand here too
SECOND: Final = 3  # the second operand, rounded

# The numbers of an operation.
KIND: Final = 0
LONGEST: Final = 1  # bits of a significand that the rounding takes
BITS: Final = 2  # bits a quotient or root must have
ZERO_SIGN: Final = 3  # the sign of a zero sum of opposite numbers
MODE: Final = 4  # of rounding to an integer
RANDOM: Final = 5  # how many random bits that takes
ZERO_CODE: Final = 6  # what zero is encoded as, for each sign
ZERO_FLAGS: Final = 8
NUMBERS: Final = 10

UNKNOWN: Final = 0x80  # in place of flags: the oracle must say
