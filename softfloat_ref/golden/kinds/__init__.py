"""The cases of sets, one module per kind of unit."""

from softfloat_ref.golden.kinds import (  # noqa: F401
    affine,
    approximation,
    block_operation,
    dequantize,
    dot,
    integer_dot,
    matmul,
    mixed,
    operation,
    quantize,
    requantize,
    vector,
)
from softfloat_ref.golden.kinds.base import Cases as Cases
from softfloat_ref.golden.kinds.base import cases_class as cases_class
