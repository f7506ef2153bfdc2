"""What a diagnosis needs to know about units, one file per kind."""

from softfloat_ref.diagnosis.kinds import affine, dequantize, dot, operation, quantize, vector  # noqa: F401
from softfloat_ref.diagnosis.kinds.base import DiagnosedKind, confirming, examiner, kind_of

__all__ = ["DiagnosedKind", "confirming", "examiner", "kind_of"]
