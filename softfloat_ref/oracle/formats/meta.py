"""IEEE P3109's operations on formats (4.14), and its names for formats (3.2, 4.14).

They apply to floating-point formats of any family. Codes that a format lacks, such as the largest subnormal of one
without subnormals, are its NaN, or None if it has no NaN either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.formats import Format, get_format

__all__ = [
    "CODES",
    "EXTERNAL",
    "META",
    "bitwidth_of",
    "domain_of",
    "exponent_bias_of",
    "exponent_bitwidth_of",
    "max_finite_of",
    "max_subnormal_of",
    "min_finite_of",
    "min_normal_of",
    "min_positive_of",
    "precision_of",
    "signedness_of",
    "standard_name",
    "trailing_significand_bitwidth_of",
]

EXTERNAL: Final = {"fp64": "binary64", "fp32": "binary32", "fp16": "binary16", "bf16": "BFloat16"}


def standard_name(fmt: str | Format) -> str:
    """P3109's name of a format: Binary8p4se, binary32, BFloat16; of other formats, their own name."""
    name = get_format(fmt).name
    return name.capitalize() if get_format(fmt).p3109 else EXTERNAL.get(name, name)


def bitwidth_of(fmt: str | Format) -> int:
    """The number of bits of a code."""
    return _float(fmt).width


def precision_of(fmt: str | Format) -> int:
    """The number of bits of a normal significand, the hidden one included."""
    return _float(fmt).precision


def signedness_of(fmt: str | Format) -> str:
    """Signed or Unsigned."""
    return "Signed" if _float(fmt).signed else "Unsigned"


def domain_of(fmt: str | Format) -> str:
    """Extended for formats with infinities, else Finite."""
    return "Extended" if _float(fmt).infinity else "Finite"


def exponent_bitwidth_of(fmt: str | Format) -> int:
    """The number of bits of the exponent field."""
    return _float(fmt).exponent_bits


def trailing_significand_bitwidth_of(fmt: str | Format) -> int:
    """The number of bits of the trailing significand field."""
    return _float(fmt).mantissa_bits


def exponent_bias_of(fmt: str | Format) -> int:
    """The bias of the exponent field."""
    return _float(fmt).bias


def max_finite_of(fmt: str | Format) -> int:
    """The code of the largest finite value."""
    return _float(fmt).max_code


def min_finite_of(fmt: str | Format) -> int:
    """The code of the smallest finite value: of an unsigned format zero, or its smallest value."""
    f = _float(fmt)
    return f.max_code | f.sign_bit if f.signed else 0


def min_positive_of(fmt: str | Format) -> int:
    """The code of the smallest positive value."""
    return _float(fmt).min_code


def max_subnormal_of(fmt: str | Format) -> int | None:
    """The code of the largest subnormal value; NaN if no value is subnormal."""
    f = _float(fmt)
    code = (1 << f.mantissa_bits) - 1
    return min(code, f.max_code) if code and f.subnormals == "gradual" else _missing(f)


def min_normal_of(fmt: str | Format) -> int | None:
    """The code of the smallest positive normal value; NaN if no value is normal."""
    f = _float(fmt)
    return f.min_normal_code if f.has_normals else _missing(f)


META: Final[dict[str, Callable[[str | Format], int | str | None]]] = {
    f.__name__: f
    for f in (
        bitwidth_of,
        precision_of,
        signedness_of,
        domain_of,
        exponent_bitwidth_of,
        trailing_significand_bitwidth_of,
        exponent_bias_of,
        max_finite_of,
        min_finite_of,
        min_positive_of,
        max_subnormal_of,
        min_normal_of,
    )
}
CODES: Final = tuple(META)[7:]  # those that give a value of the format


def _float(fmt: str | Format) -> Format:
    f = get_format(fmt)
    if not f.exponent_bits:
        raise Error(f"{f.name} has no exponent; P3109's operations on formats are for floating-point formats")
    return f


def _missing(fmt: Format) -> int | None:
    return fmt.canonical_nan if fmt.has_nan else None


def __dir__() -> list[str]:
    return sorted(__all__)
