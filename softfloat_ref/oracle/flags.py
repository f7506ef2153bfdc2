"""The exception flags, with the bits of TestFloat and RISC-V."""

from __future__ import annotations

from enum import IntFlag
from typing import Final

# Plain numbers, which Numba compiles as constants.
INVALID: Final = 0x10
DIVIDE_BY_ZERO: Final = 0x08
OVERFLOW: Final = 0x04
UNDERFLOW: Final = 0x02
INEXACT: Final = 0x01


class Flags(IntFlag):
    """The flags as a type: `Flags(5)` is `Flags.OVERFLOW | Flags.INEXACT`."""

    INVALID = INVALID
    DIVIDE_BY_ZERO = DIVIDE_BY_ZERO
    OVERFLOW = OVERFLOW
    UNDERFLOW = UNDERFLOW
    INEXACT = INEXACT
