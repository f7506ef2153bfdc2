"""What a diagnosis needs to know about units, one file per kind."""

from softfloat_ref.diagnosis.kinds import (  # noqa: F401
    affine,
    approximation,
    block_operation,
    dequantize,
    dot,
    integer_dot,
    operation,
    pipeline,
    quantize,
    requantize,
    vector,
)
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, confirming, examiner, kind_of

__all__ = ["DiagnosedKind", "confirming", "examiner", "kind_of"]


def __dir__() -> list[str]:
    return sorted(__all__)
