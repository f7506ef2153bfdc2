"""Formats given as types of torch, numpy and ml_dtypes. None of these packages is imported."""

from __future__ import annotations

import re
from typing import Any, Final

from softfloat_ref.base.errors import Error

_PACKAGES: Final = ("numpy", "ml_dtypes", "torch")
_INTEGER: Final = re.compile(r"(u?)int(\d+)")
_PAIRS: Final = re.compile(r"(.*)_?x(\d)")  # several codes in a byte: float4_e2m1fn_x2, quint4x2
_EXTENDED: Final = ("longdouble", "float96", "float128")  # of numpy: not binary128, but what the processor has


def spelled(fmt: Any) -> Any:
    """The name of a format that is given as a type (`torch.float8_e4m3fn`, `numpy.float16`, `numpy.dtype("int8")`,
    `ml_dtypes.bfloat16`, `torch.qint8`); anything else unchanged. Raises Error for a type that is no format.

    Integer types are integers (i8, u16), unlike the name int8, which is the element of OCP's MXINT8.
    """
    name = _type_name(fmt)
    if name is None:
        return fmt
    if match := _PAIRS.fullmatch(name):
        name = match[1].rstrip("_")
    if match := _INTEGER.fullmatch(name):
        return f"{'u' if match[1] else 'i'}{match[2]}"
    if not name.startswith(("float", "bfloat", "qint", "quint")) or name in _EXTENDED:
        raise Error(f"{fmt} is not a type of floats or integers that is a format; give the format's name")
    return name


def _type_name(x: Any) -> str | None:
    """The name of a type of one of the packages; None for anything else."""
    kind = x if isinstance(x, type) else type(x)
    if isinstance(x, str) or kind.__module__.partition(".")[0] not in _PACKAGES:
        return None
    if isinstance(x, type):
        return x.__name__
    if kind.__module__ == "torch" and kind.__name__ == "dtype":
        return str(x).removeprefix("torch.")
    return str(x.name) if hasattr(x, "newbyteorder") and hasattr(x, "fields") else None  # a numpy.dtype
