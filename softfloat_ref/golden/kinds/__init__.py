"""The cases of sets, one module per kind of unit."""

from softfloat_ref.golden.kinds import (  # noqa: F401
    affine,
    approximation,
    block_operation,
    dequantize,
    dot,
    matmul,
    mixed,
    operation,
    quantize,
    vector,
)
from softfloat_ref.golden.kinds.base import Cases, cases_class, register

__all__ = ["Cases", "cases_class", "register"]


def __dir__() -> list[str]:
    return sorted(__all__)
