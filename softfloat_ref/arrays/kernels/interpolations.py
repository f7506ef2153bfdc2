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

from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import encoder
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import Signature, evaluator, interpolation
from softfloat_ref.oracle.operations.interpolation import Interpolation
from softfloat_ref.oracle.policies import Policy

for _name in ("square", "parabola", "_below_one", "_root", "_normalized", "_power", "_logarithm", "_turns", "_sine"):
    register_jitable(getattr(interpolation, _name))
register_jitable(interpolation._tanh)
register_jitable(interpolation.evaluated)
_evaluated: Any = interpolation.evaluated

# The rows of constants: a code and its flags for each sign.
ZERO: Final = 0
INF: Final = 1
QUIET: Final = 2
SIGNALING: Final = 3
NEGATIVE: Final = 4  # numbers; flags UNKNOWN: the function has them
OVERFLOW: Final = 5
TINY: Final = 6  # results that are below all numbers, or are flushed
NOTHING: Final = 7  # results of which even the root is flushed
_CONSTANTS: Final = 8

_FP32: Final = get_format("fp32")
_EXPONENTS: Final = _FP32.bias
_BELOW: Final = -160  # of 2^x: rounded to zero, or to the smallest number
_NO_ROOT: Final = -252

Ints = NDArray[np.int64]


def loop(sig: Signature, policy: Policy, unit: Interpolation) -> Any:
    """A function that fills codes and flags for operands; None for other formats than FP32, and for NaN payloads."""
    if sig.formats != (_FP32,) or sig.out != _FP32 or policy.nan_rule.propagate != "no":
        return None
    rows, constants = np.array(unit.rows, np.int64), _constants(sig, policy)
    zeros, flushed = int(policy.flush_inputs), int(policy.flush_outputs)

    def run(operands: Sequence[Ints], words: Ints | None, codes: Ints, flags: NDArray[np.uint8]) -> None:
        evaluate(unit.kind, zeros, flushed, rows, constants, operands[0], codes, flags)

    return run


def _constants(sig: Signature, policy: Policy) -> Ints:
    run, encode = evaluator(sig, policy), encoder(_FP32, policy)
    found = np.zeros((_CONSTANTS, 2, 2), np.int64)
    quiet = _FP32.canonical_nan & _FP32.magnitude_mask
    for sign in (0, 1):
        at = _FP32.sign_bit * sign
        given = {ZERO: 0, INF: _FP32.inf_code, QUIET: quiet, SIGNALING: _FP32.inf_code + 1}
        for row, code in given.items():
            found[row, sign] = run((code | at,), 0)
        found[OVERFLOW, sign] = encode(exact.inf(sign), 0)
        found[TINY, sign] = encode(exact.finite(sign, 1, 2 * _BELOW), 0)
    one = run((_FP32.bias << _FP32.mantissa_bits | _FP32.sign_bit,), 0)
    found[NEGATIVE] = one if _FP32.is_nan(one[0]) else (0, UNKNOWN)
    return found


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
        elif sign and constants[NEGATIVE, 0, 1] != UNKNOWN:
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
