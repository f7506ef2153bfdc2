"""Functions of float32 arrays, correctly rounded to nearest even: the bits of `operations.evaluate`, from values to
values, of arrays of any size by the compiled loop."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays.kernels.dispatch import read_only
from softfloat_ref.arrays.kernels.function_plans import FunctionPlan, function_plan
from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.arrays.operations import by_oracle
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.operations import OPERATIONS, signature
from softfloat_ref.oracle.policies import Policy

_POLICY: Final = Policy()
_NO_WORDS: Final = np.empty(0, np.int64)

Floats = NDArray[np.float32]


def correctly_rounded(op: str, x: Floats) -> Floats:
    """The results of a function that has the compiled loop."""
    from softfloat_ref.arrays.kernels.exponentials import LOOPS

    operands, out = read_only(np.ascontiguousarray(x).reshape(-1)), np.empty(x.shape, np.float32)
    flat, codes = out.reshape(-1), operands.view(np.uint32)
    quick = OPERATIONS[op].quick
    if quick is None:
        _settle(op, codes, flat.view(np.uint32))
    elif LOOPS[quick](operands, flat):
        left = np.flatnonzero(np.isnan(flat))
        results = np.empty(left.size, np.uint32)
        _settle(op, read_only(codes[left]), results)
        flat.view(np.uint32)[left] = results
    return out


def lstm_gates(sums: Floats) -> Floats:
    """The gates of an LSTM for their sums (batch, 4 width): sigmoid of the input, the forget and the output gate, tanh
    of the cell gate, which is the third."""
    from softfloat_ref.arrays.kernels.lstm_loops import gates_of

    gates = np.empty(sums.shape, np.float32)
    if gates_of(read_only(np.ascontiguousarray(sums)), gates):
        width = sums.shape[1] // 4
        for i, part in enumerate(range(0, 4 * width, width)):
            gates[:, part : part + width] = correctly_rounded(
                "tanh" if i == 2 else "sigmoid", sums[:, part : part + width]
            )
    return gates


def lstm_gate_errors(gates: Floats, before: Floats, bounded: Floats, dc: Floats, dh: Floats) -> Floats:
    """The errors of the gates' sums: see lstm_loops.gate_errors."""
    from softfloat_ref.arrays.kernels.lstm_loops import gate_errors

    errors = np.empty_like(gates)
    gate_errors(gates, before, bounded, dc, dh, errors)
    return errors


def _settle(op: str, operands: NDArray[np.uint32], codes: NDArray[np.uint32]) -> None:
    """The codes of the results, by the loop of all functions, or by the oracle."""
    from softfloat_ref.arrays.kernels import functions

    flags = np.empty(operands.size, np.uint8)
    if functions.evaluate(*_plan(op), operands, _NO_WORDS, codes, flags) & UNKNOWN:
        left = np.flatnonzero(flags == UNKNOWN)
        codes[left], _ = by_oracle(signature(op, "fp32"), _POLICY, [operands[left].astype(np.int64)])


@lru_cache(maxsize=64)
def _plan(op: str) -> FunctionPlan:
    plan = function_plan(signature(op, "fp32"), _POLICY)
    if plan is None:
        raise Error(f"{op} has no compiled loop")
    return plan
