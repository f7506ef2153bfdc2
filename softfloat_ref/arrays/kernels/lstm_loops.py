"""The element-wise work of a time step of an LSTM in FP32, each in one loop: the operations of nn/layers/lstm.py, each
rounded, in the same order.

Matrices have a row for each example. Those of gates and of sums have four parts side by side: input, forget, cell and
output gate.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from softfloat_ref.arrays.kernels.exponentials import F32, quick_sigmoid, quick_tanh
from softfloat_ref.arrays.kernels.jit import compiled

_ONE: Final = F32(1.0)


@compiled(nogil=True, error_model="numpy")
def gates_of(sums: Any, gates: Any) -> int:
    """The gates for their sums: sigmoid, but tanh of the cell's. Returns how many are exponentials.UNDECIDED."""
    width, left = sums.shape[1] // 4, 0
    for row in range(sums.shape[0]):
        x, y = sums[row], gates[row]
        for j in range(2 * width):
            y[j] = quick_sigmoid(x[j])
            left += y[j] != y[j]
        for j in range(2 * width, 3 * width):
            y[j] = quick_tanh(x[j])
            left += y[j] != y[j]
        for j in range(3 * width, 4 * width):
            y[j] = quick_sigmoid(x[j])
            left += y[j] != y[j]
    return left


@compiled(nogil=True, error_model="numpy")
def forward(sums: Any, product: Any, before: Any, gates: Any, cell: Any, bounded: Any, state: Any) -> Any:
    """The gates of sums + product; from the cell before, the cell, its tanh and the state. Returns how many results are
    UNDECIDED: if any is, none is valid."""
    width, total = cell.shape[1], np.empty(gates.shape, np.float32)
    for row in range(cell.shape[0]):
        x, p, y = sums[row], product[row], total[row]
        for j in range(4 * width):
            y[j] = x[j] + p[j]
    left = gates_of(total, gates)
    for row in range(cell.shape[0]):
        y, c, t, h, b = gates[row], cell[row], bounded[row], state[row], before[row]
        for j in range(width):
            c[j] = y[width + j] * b[j] + y[j] * y[2 * width + j]
        for j in range(width):
            t[j] = quick_tanh(c[j])
            left += t[j] != t[j]
        for j in range(width):
            h[j] = y[3 * width + j] * t[j]
    return left


@compiled(nogil=True)
def gate_errors(gates: Any, before: Any, bounded: Any, cell_error: Any, state_error: Any, errors: Any) -> None:
    """The errors of the gates' sums from those of the cell and of the state after the step: the gates' errors times the
    slopes of their functions. before: the cell before the step; bounded: tanh of that after it."""
    width = before.shape[1]
    for row in range(before.shape[0]):
        y, e, b, t, dc, dh = gates[row], errors[row], before[row], bounded[row], cell_error[row], state_error[row]
        i, f, g, o = y[:width], y[width : 2 * width], y[2 * width : 3 * width], y[3 * width :]
        ei, ef, eg, eo = e[:width], e[width : 2 * width], e[2 * width : 3 * width], e[3 * width :]
        for j in range(width):
            ei[j] = (dc[j] * g[j]) * (i[j] * (_ONE - i[j]))
            eg[j] = (dc[j] * i[j]) * (_ONE - g[j] * g[j])
        for j in range(width):
            ef[j] = (dc[j] * b[j]) * (f[j] * (_ONE - f[j]))
            eo[j] = (dh[j] * t[j]) * (o[j] * (_ONE - o[j]))


@compiled(nogil=True)
def backward(
    gates: Any, before: Any, bounded: Any, output_error: Any, state_error: Any, cell_error: Any, errors: Any
) -> None:
    """`gate_errors`, state_error being without the output's. cell_error: that of the cell after the step, which becomes
    that of the cell before it."""
    width, total = before.shape[1], np.empty(before.shape, np.float32)
    for row in range(before.shape[0]):
        o, dc, dh = gates[row, 3 * width :], cell_error[row], total[row]
        t, dy, more = bounded[row], output_error[row], state_error[row]
        for j in range(width):
            dh[j] = dy[j] + more[j]
            dc[j] += (dh[j] * o[j]) * (_ONE - t[j] * t[j])
    gate_errors(gates, before, bounded, cell_error, total, errors)
    for row in range(before.shape[0]):
        f, dc = gates[row, width : 2 * width], cell_error[row]
        for j in range(width):
            dc[j] = dc[j] * f[j]
