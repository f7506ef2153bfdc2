"""What a diagnosis needs to know about units, one file per kind."""

from softfloat_ref.diagnosis.kinds import affine, dequantize, dot, operation, quantize  # noqa: F401
from softfloat_ref.diagnosis.kinds.base import confirming, examiner, kind_of

__all__ = ["confirming", "examiner", "kind_of"]
