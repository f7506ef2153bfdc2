"""The compiled loop of approximations by parabolas: FP32 codes in, codes and flags out, with the oracle's own function.

Zeros, infinities, NaNs and results that leave the normal range are constants that the oracle gives; subnormals that
are not flushed are left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.estimates import (
    CONSTANTS,
    FLUSHED,
    INF,
    NEGATIVE,
    OVERFLOW,
    QUIET,
    SIGNALING,
    ZERO,
    ends,
)
from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import encoder
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import Signature, interpolation
from softfloat_ref.oracle.operations.interpolation import Interpolation
from softfloat_ref.oracle.policies import Policy

for _name in ("square", "parabola", "_below_one", "_root", "_normalized", "_power", "_logarithm", "_turns", "_sine"):
    register_jitable(getattr(interpolation, _name))
register_jitable(interpolation._tanh)
register_jitable(interpolation.evaluated)
_evaluated: Any = interpolation.evaluated

# Rows of constants beside those of other estimates; of negative numbers, flags UNKNOWN: the function has them.
TINY: Final = FLUSHED  # results that are below all numbers, or are flushed
NOTHING: Final = CONSTANTS  # results of which even the root is flushed

_FP32: Final = get_format("fp32")
_EXPONENTS: Final = _FP32.bias
_BELOW: Final = -160  # of 2^x: rounded to zero, or to the smallest number
_NO_ROOT: Final = -252

Ints = NDArray[np.int64]


def loop(sig: Signature, policy: Policy) -> Any:
    """A function that fills codes and flags for operands; None for other operations, for other formats than FP32, and
    for NaN payloads."""
    unit = sig.operation.estimate
    if not isinstance(unit, Interpolation) or sig.formats != (_FP32,) or sig.out != _FP32:
        return None
    if policy.nan_rule.propagate != "no":
        return None
    rows, constants = np.array(unit.rows, np.int64), _constants(sig, policy)
    zeros, flushed = int(policy.flush_inputs), int(policy.flush_outputs)

    def run(operands: Sequence[Ints], words: Ints | None, codes: Ints, flags: NDArray[np.uint8]) -> None:
        evaluate(unit.kind, zeros, flushed, rows, constants, operands[0], codes, flags)

    return run


def _constants(sig: Signature, policy: Policy) -> Ints:
    encode, constants = encoder(_FP32, policy), ends(sig, policy, NOTHING + 1)
    for sign in (0, 1):
        constants[OVERFLOW, sign] = encode(exact.inf(sign), 0)
        constants[TINY, sign] = encode(exact.finite(sign, 1, 2 * _BELOW), 0)
    if not _FP32.is_nan(constants[NEGATIVE, 1, 0]):
        constants[NEGATIVE] = 0, UNKNOWN
    return constants


@compiled(nogil=True)
def evaluate(
    kind: int, zeros: int, flushed: int, rows: Any, constants: Any, operands: Any, codes: Any, flags: Any
) -> None:
    """The approximation of each code. An element whose flags are UNKNOWN is left to the oracle."""
    for i in range(operands.size):
        code = operands[i]
        sign = (code >> 31) & 1
        field = (code >> 23) & 255
        fraction = code & 0x7FFFFF
        row = -1
        if field == 255:
            row = INF if fraction == 0 else QUIET if fraction >> 22 else SIGNALING
        elif field == 0 and (fraction == 0 or zeros):
            row = ZERO
        elif sign and constants[NEGATIVE, 1, 1] != UNKNOWN:
            row = NEGATIVE
        elif field == 0:
            codes[i] = 0
            flags[i] = UNKNOWN
        else:
            negative, significand, top = _evaluated(kind, sign, field - _EXPONENTS, fraction, rows)
            sign = negative
            flags[i] = 0
            if significand == 0:
                codes[i] = negative << 31
            elif top > _EXPONENTS:
                row = OVERFLOW
            elif top < 1 - _EXPONENTS:
                codes[i] = 0
                flags[i] = UNKNOWN
                if flushed or top < _BELOW:
                    row = TINY if flushed or top >= _NO_ROOT else NOTHING
            else:
                codes[i] = (negative << 31) + ((top + _EXPONENTS - 1) << 23) + significand
        if row >= 0:
            codes[i] = constants[row, sign, 0]
            flags[i] = constants[row, sign, 1]
