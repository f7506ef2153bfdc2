"""The compiled loop of estimates: codes in, codes and flags out, with the oracle's own table and look-up.

Special cases are constants that the oracle gives, by class and sign; NaNs whose payload is passed on are left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.jit import compiled
from softfloat_ref.arrays.kernels.op_plans import signed_word
from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import Signature, evaluator
from softfloat_ref.oracle.operations import estimate as lookup
from softfloat_ref.oracle.operations.estimate import Estimate
from softfloat_ref.oracle.policies import Policy

register_jitable(forceinline=True)(lookup.estimated)
_estimated: Any = lookup.estimated

# The rows of constants: a code and its flags for each sign.
ZERO: Final = 0
INF: Final = 1
QUIET: Final = 2
SIGNALING: Final = 3
NEGATIVE: Final = 4  # of a root
OVERFLOW: Final = 5
FLUSHED: Final = 6  # UNKNOWN: subnormal results are kept
CONSTANTS: Final = 7

Ints = NDArray[np.int64]


class EstimatePlan(NamedTuple):
    """The arguments of `look_up` that precede the operands."""

    mantissa_bits: int
    exponent_bits: int
    root: int
    index_bits: int
    bits: int
    exact: int
    zeros: int  # 1: subnormal operands are zeros
    table: Ints
    constants: Ints


def loop(sig: Signature, policy: Policy) -> Any:
    """A function that fills codes and flags for operands; None if the loop does not support the estimate."""
    arguments = plan(sig, policy)
    if arguments is None:
        return None

    def run(operands: Sequence[Ints], words: Ints | None, codes: Ints, flags: NDArray[np.uint8]) -> None:
        look_up(*arguments, operands[0], codes, flags)

    return run


@lru_cache(maxsize=32)
def plan(sig: Signature, policy: Policy) -> EstimatePlan | None:
    """The plan of an estimate from a format of at most 64 bits with IEEE 754's encoding to itself; else None."""
    e, fmt = sig.operation.estimate, sig.out
    plain = fmt.nan == "ieee" and fmt.subnormals == "gradual" and fmt.infinity and fmt.signed and not fmt.p3109
    if (
        not isinstance(e, Estimate)
        or sig.formats != (fmt,)
        or not plain
        or fmt.width > 64
        or fmt.mantissa_bits < e.bits
    ):
        return None
    zeros = int(e.flushed or (sig.operation.flushes and policy.flush_inputs))
    table = np.array(e.table, np.int64)
    return EstimatePlan(
        fmt.mantissa_bits,
        fmt.exponent_bits,
        int(e.root),
        e.index_bits,
        e.bits,
        int(e.exact),
        zeros,
        table,
        _constants(sig, policy, e),
    )


def _constants(sig: Signature, policy: Policy, e: Estimate) -> Ints:
    fmt = sig.out
    encode, constants = encoder(fmt, policy), ends(sig, policy, CONSTANTS)
    for sign in (0, 1):
        if policy.nan_rule.propagate != "no":
            constants[[QUIET, SIGNALING], sign] = 0, UNKNOWN
        beyond = exact.inf(sign) if e.silent else exact.finite(sign, 1, fmt.emax + 1)
        constants[OVERFLOW, sign] = _signed(encode(beyond, 0))
        constants[FLUSHED, sign] = _flushed(sign, fmt, policy, e)
    return constants


def ends(sig: Signature, policy: Policy, rows: int) -> Ints:
    """The rows of constants, with what the oracle gives for zeros, infinities, NaNs and the largest numbers."""
    fmt, run = sig.out, evaluator(sig, policy)
    constants = np.zeros((rows, 2, 2), np.int64)
    quiet, loud = fmt.canonical_nan & fmt.magnitude_mask, fmt.inf_code + 1
    for sign in (0, 1):
        operands = {ZERO: 0, INF: fmt.inf_code, QUIET: quiet, SIGNALING: loud, NEGATIVE: fmt.max_code}
        for row, code in operands.items():
            constants[row, sign] = _signed(run((code | fmt.sign_bit * sign,), 0))
    return constants


def _flushed(sign: int, fmt: Format, policy: Policy, e: Estimate) -> tuple[int, int]:
    if e.flushed or (e.silent and policy.flush_outputs):
        return _signed(encoder(fmt, policy)(exact.zero(sign), 0))
    code, flags = encoder(fmt, policy)(exact.finite(sign, 1, fmt.emin - 1), 0)
    return (0, UNKNOWN) if decoder(fmt)(code).significand else _signed((code, flags))


def _signed(answer: tuple[int, int]) -> tuple[int, int]:
    return signed_word(answer[0]), answer[1]


@compiled(nogil=True)
def look_up(
    mantissa_bits: int,
    exponent_bits: int,
    root: int,
    index_bits: int,
    bits: int,
    exact_powers: int,
    zeros: int,
    table: Any,
    constants: Any,
    operands: Any,
    codes: Any,
    flags: Any,
) -> None:
    """The estimate of each code. An element whose flags are UNKNOWN is left to the oracle."""
    last = (1 << exponent_bits) - 1
    bias = last >> 1
    low = (1 << mantissa_bits) - 1
    for i in range(operands.size):
        code = operands[i]
        sign = (code >> (mantissa_bits + exponent_bits)) & 1
        field = (code >> mantissa_bits) & last
        fraction = code & low
        row = -1
        if field == last:
            row = INF if fraction == 0 else QUIET if fraction >> (mantissa_bits - 1) else SIGNALING
        elif field == 0 and (fraction == 0 or zeros):
            row = ZERO
        elif sign and root:
            row = NEGATIVE
        if row < 0:
            exponent = field - bias
            if field == 0:
                exponent = 1 - bias
                while fraction <= low:
                    fraction <<= 1
                    exponent -= 1
                fraction &= low
            significand, top = _estimated(
                fraction, mantissa_bits, exponent, root, index_bits, bits, exact_powers, table
            )
            if top > bias:
                row = OVERFLOW
            elif top < 1 - bias:
                significand = significand << (mantissa_bits - bits) >> min(1 - bias - top, mantissa_bits + 1)
                row = FLUSHED if constants[FLUSHED, sign, 1] != UNKNOWN else -1
            else:
                significand = (significand << (mantissa_bits - bits)) + ((top + bias - 1) << mantissa_bits)
            codes[i] = significand | sign << (mantissa_bits + exponent_bits)
            flags[i] = 0
        if row >= 0:
            codes[i] = constants[row, sign, 0]
            flags[i] = constants[row, sign, 1]
