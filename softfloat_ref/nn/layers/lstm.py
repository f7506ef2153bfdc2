"""Long short-term memory over (time, batch, inputs), by backpropagation through time within a batch's sequence."""

from __future__ import annotations

import numpy as np

from softfloat_ref.nn.initial import uniform
from softfloat_ref.nn.layers.activations import sigmoid
from softfloat_ref.nn.layers.base import Array, Layer
from softfloat_ref.nn.numerics import Held


class LSTM(Layer):
    """One layer. input_weight: (4 width, inputs), state_weight: (4 width, width), bias: (4 width,); the gates stand in
    the order input, forget, cell, output. State and cell are carried from one sequence to the next until `reset`; no
    gradient flows between sequences.

    The products of all gates are one, and those of the inputs one over the whole sequence. Their sum is one product
    over (inputs, state), in FP32. The cell is in the vector format.
    """

    kind = "lstm"
    products = True

    def __init__(self, inputs: int, width: int, *, seed: int = 0, name: str = "lstm") -> None:
        super().__init__()
        self.width = width
        bound = width**-0.5
        self.params = {
            "input_weight": uniform((4 * width, inputs), bound, seed, f"{name}.input_weight"),
            "state_weight": uniform((4 * width, width), bound, seed, f"{name}.state_weight"),
            "bias": uniform((4 * width,), bound, seed, f"{name}.bias"),
        }
        self.reset()

    def reset(self) -> None:
        """Start from a state of zeros."""
        self._state: Array | None = None
        self._cell: Array | None = None

    def forward(self, x: Array) -> Array:
        numerics, width = self.numerics, self.width
        time, batch = x.shape[:2]
        if self._state is None or self._cell is None or self._state.shape[0] != batch:
            self._state, self._cell = (np.zeros((batch, width), x.dtype) for _ in range(2))
        self._shape = x.shape
        self._x = numerics.hold(x.reshape(time * batch, -1), "activation")
        self._wx = numerics.hold(self.params["input_weight"], "weight")
        self._wh = numerics.hold(self.params["state_weight"], "weight")
        before = numerics.product(self._x, self._wx, 1, 1)
        before += self.params["bias"]
        before = before.reshape(time, batch, 4 * width)
        self._gates, self._cells = np.empty_like(before), np.empty((time + 1, batch, width), x.dtype)
        self._bounded, self._states = (np.empty((time, batch, width), x.dtype) for _ in range(2))
        made = np.empty((time, batch, width), x.dtype)
        self._cells[0] = self._cell
        state = self._state
        for t in range(time):
            self._held = held = numerics.hold(state, "activation")
            self._states[t] = held.values
            before[t] += numerics.product(held, self._wh, 1, 1)
            state = made[t] = self._step(t, numerics.result(before[t], "activation"))
        self._state, self._cell = made[-1], self._cells[-1]
        return made

    def _step(self, t: int, before: Array) -> Array:
        """The state after one step; gates and cells are kept for backward."""
        numerics, width, gates = self.numerics, self.width, self._gates[t]
        before = numerics.function(before)
        gates[:] = sigmoid(before)
        gates[:, 2 * width : 3 * width] = np.tanh(before[:, 2 * width : 3 * width])
        gates[:] = numerics.function(gates)
        i, f, g, o = (gates[:, k * width : (k + 1) * width] for k in range(4))
        self._cells[t + 1] = numerics.vector(f * self._cells[t] + i * g)
        self._bounded[t] = numerics.function(np.tanh(numerics.function(self._cells[t + 1])))
        return numerics.vector(o * self._bounded[t])

    def backward(self, dy: Array) -> Array:
        numerics, (time, batch, inputs) = self.numerics, self._shape
        errors = np.empty((time, batch, 4 * self.width), dy.dtype)
        state_error, cell_error = np.zeros_like(dy[0]), np.zeros_like(dy[0])
        by = None
        for t in reversed(range(time)):
            before, cell_error = self._step_back(t, dy[t] + state_error, cell_error)
            held = numerics.hold(before, "error")
            errors[t], by = held.values, held
            if t:
                state_error = numerics.result(numerics.product(held, self._wh, 1, 0), "error")
        assert by is not None
        error = by.moved(errors.reshape(time * batch, -1))
        states = self._held.moved(self._states.reshape(time * batch, -1))
        self._gradients(error, states)
        dx = numerics.through(numerics.product(error, self._wx, 1, 0), self._x)
        return numerics.result(dx, "error").reshape(time, batch, inputs)

    def _step_back(self, t: int, dh: Array, dc: Array) -> tuple[Array, Array]:
        """The errors before the gates' functions, and that of the cell before."""
        numerics, width, gates = self.numerics, self.width, self._gates[t]
        i, f, g, o = (gates[:, k * width : (k + 1) * width] for k in range(4))
        bounded = self._bounded[t]
        dc = numerics.vector(dc + numerics.function_error(dh * o * (1 - bounded * bounded)))
        before = gates * (1 - gates)
        before[:, :width] *= dc * g
        before[:, width : 2 * width] *= dc * self._cells[t]
        before[:, 2 * width : 3 * width] = dc * i * (1 - g * g)
        before[:, 3 * width :] *= dh * bounded
        return numerics.function_error(before), numerics.vector(dc * f)

    def _gradients(self, error: Held, states: Held) -> None:
        numerics = self.numerics
        for name, operand, weight in (("input_weight", self._x, self._wx), ("state_weight", states, self._wh)):
            made = numerics.result(numerics.product(error, operand, 0, 0), "weight_gradient")
            self.grads[name] = numerics.through(made, weight)
        self.grads["bias"] = error.values.sum(axis=0)
