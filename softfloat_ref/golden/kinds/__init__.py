"""The cases of sets, one module per kind of unit."""

from softfloat_ref.golden.kinds import affine, dequantize, dot, matmul, mixed, operation, quantize, vector  # noqa: F401
from softfloat_ref.golden.kinds.base import Cases, cases_class, register

__all__ = ["Cases", "cases_class", "register"]
