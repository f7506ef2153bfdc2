"""The further encodings of formats that store the integer bit of their significand: codes in which that bit is not as
the exponent field has it (Intel SDM vol. 1, table 8-3; SoftFloat 3e, 4.4)."""

from __future__ import annotations

from typing import Final

from softfloat_ref.oracle.formats import Format

PSEUDO_DENORMAL: Final = "pseudo-denormal"
SUPPORTED: Final = (PSEUDO_DENORMAL,)  # by x87: the number that it says
KINDS: Final = (PSEUDO_DENORMAL, "unnormal", "pseudo-zero", "pseudo-infinity", "pseudo-nan")


def kind_of(fmt: Format, code: int) -> str:
    """Which of KINDS a code is: '' for a canonical one."""
    if fmt.is_canonical(code):
        return ""
    field = code >> fmt.field_shift & ((1 << fmt.exponent_bits) - 1)
    fraction = code & ((1 << fmt.mantissa_bits) - 1)
    if not field:
        return PSEUDO_DENORMAL
    if field < (1 << fmt.exponent_bits) - 1:
        return "unnormal" if fraction else "pseudo-zero"
    return "pseudo-nan" if fraction else "pseudo-infinity"


def flipped(fmt: Format, code: int) -> int:
    """The code with the other integer bit."""
    return code ^ 1 << fmt.mantissa_bits


def magnitudes(fmt: Format) -> dict[str, tuple[int, ...]]:
    """Magnitude codes of each kind: the least, the largest, and some between them."""
    m = fmt.mantissa_bits
    ones, half, top = (1 << m) - 1, 1 << (m - 1), (1 << fmt.exponent_bits) - 1
    fractions = (1, half, ones)
    fields = tuple(dict.fromkeys((1, fmt.bias, top - 1)))
    shift = fmt.field_shift
    return {
        PSEUDO_DENORMAL: tuple(1 << m | f for f in (0, *fractions)),
        "unnormal": tuple(e << shift | f for e in fields for f in fractions),
        "pseudo-zero": tuple(e << shift for e in fields),
        "pseudo-infinity": (top << shift,),
        "pseudo-nan": tuple(top << shift | f for f in fractions),
    }
