"""Long short-term memory over (time, batch, inputs), by backpropagation through time within a batch's sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from softfloat_ref.nn.layers.base import Array, Layer, uniform
from softfloat_ref.nn.numerics import Held
from softfloat_ref.nn.operations import GATES


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
        self._state: Array | None = None
        self._cell: Array | None = None

    def forward(self, x: Array) -> Array:
        numerics, params = self.numerics, self.params
        time, batch, _ = self._shape = x.shape
        if self._state is None or self._cell is None or self._state.shape[0] != batch:
            self._state, self._cell = (np.zeros((batch, self.width), x.dtype) for _ in range(2))
        self._x = numerics.hold(x.reshape(time * batch, -1), "activation")
        self._wx = numerics.hold(params["input_weight"], "weight")
        self._wh = numerics.hold(params["state_weight"], "weight")
        sums = numerics.product(self._x, self._wx, 1, 1)
        sums = numerics.add(sums, params["bias"], "biased", out=sums).reshape(time, batch, -1)
        state = numerics.given("state_before", self._state)
        self._cells = [numerics.given("cell_before", self._cell)]
        self._parts: list[list[Array]] = []
        self._gates: list[Array] = []
        self._bounded: list[Array] = []
        self._states: list[Array] = []
        states, plain = [], numerics.is_plain(sums)
        for t in numerics.steps(range(time)):
            self._held = held = numerics.hold(state, "activation")
            self._states.append(held.values)
            before, product = numerics.at(sums, t, "biased"), numerics.product(held, self._wh, 1, 1)
            following = self._plain_step(before, product) if plain else None
            if following is None:
                before = numerics.add(before, product, "gate_sums", out=before)
                following = self._step(numerics.result(before, "activation"))
            state = following
            states.append(state)
        self._state, self._cell = state, self._cells[-1]
        return numerics.concatenate(states, 0, "states").reshape(time, batch, -1)

    def _plain_step(self, sums: Array, product: Array) -> Array | None:
        """`_step` without formats, in one loop; None if that cannot decide the rounding of some result."""
        from softfloat_ref.arrays.kernels import lstm_loops

        gates, state = np.empty_like(product), np.empty_like(self._cells[-1])
        cell, bounded = np.empty_like(state), np.empty_like(state)
        if lstm_loops.forward(sums, product, self._cells[-1], gates, cell, bounded, state):
            return None
        self._keep(gates, self.numerics.parts(gates, GATES), cell, bounded)
        return state

    def _step(self, before: Array) -> Array:
        """The state after one step; gates and cells are kept for backward."""
        n = self.numerics
        gates = n.function(n.gates(n.function(before)))
        i, f, g, o = parts = n.parts(gates, GATES)
        cell_kept = n.mul(f, self._cells[-1], "cell_kept")
        cell = n.vector(n.add(cell_kept, n.mul(i, g, "cell_written"), "cell", out=cell_kept))
        bounded = n.function(n.tanh(n.function(cell), "cell_tanh"))
        self._keep(gates, parts, cell, bounded)
        return n.vector(n.mul(o, bounded, "state"))

    def _keep(self, gates: Array, parts: list[Array], cell: Array, bounded: Array) -> None:
        self._gates.append(gates)
        self._parts.append(parts)
        self._cells.append(cell)
        self._bounded.append(bounded)

    def backward(self, dy: Array) -> Array:
        numerics, (time, batch, inputs) = self.numerics, self._shape
        plain = numerics.is_plain(dy)
        errors: list[Array] = []
        state_error = cell_error = numerics.number("zero", 0.0)
        for t in numerics.steps(reversed(range(time))):
            output_error = numerics.at(dy, t, "output_error")
            if plain:
                before, cell_error = self._plain_step_back(t, output_error, state_error, cell_error)
            else:
                dh = numerics.add(output_error, state_error, "state_error")
                before, cell_error = self._step_back(t, dh, cell_error)
            held = numerics.hold(before, "error")
            errors.insert(0, held.values)
            if t:
                state_error = numerics.result(numerics.product(held, self._wh, 1, 0), "error")
        error = held.moved(numerics.concatenate(errors, 0, "errors"))
        self._gradients(error, self._held.moved(numerics.concatenate(self._states, 0, "held_states")))
        dx = numerics.through(numerics.product(error, self._wx, 1, 0), self._x)
        return numerics.result(dx, "error").reshape(time, batch, inputs)

    def _plain_step_back(self, t: int, dy: Array, dh: Any, dc: Any) -> tuple[Array, Array]:
        """`_step_back` without formats, in one loop. dc: may be changed."""
        from softfloat_ref.arrays.kernels import lstm_loops

        dh, dc = (x if isinstance(x, np.ndarray) else np.full_like(dy, x) for x in (dh, dc))
        before = np.empty_like(self._gates[t])
        lstm_loops.backward(self._gates[t], self._cells[t], self._bounded[t], dy, dh, dc, before)
        return before, dc

    def _step_back(self, t: int, dh: Array, dc: Array) -> tuple[Array, Array]:
        """The errors before the gates' functions, and that of the cell before."""
        n, parts, bounded = self.numerics, self._parts[t], self._bounded[t]
        _, f, _, o = parts
        slope = n.tanh_slope(bounded, "cell_tanh_slope")
        through = n.function_error(n.mul(n.mul(dh, o, "cell_tanh_error"), slope, "cell_error", out=slope))
        dc = n.vector(n.add(dc, through, "cell_error_sum", out=through))
        before = n.gate_errors(self._gates[t], parts, self._cells[t], bounded, dc, dh)
        return n.function_error(before), n.vector(n.mul(dc, f, "cell_before_error"))

    def _gradients(self, error: Held, states: Held) -> None:
        numerics = self.numerics
        for name, operand, weight in (("input_weight", self._x, self._wx), ("state_weight", states, self._wh)):
            gradient = numerics.result(numerics.weight_product(error, operand), "weight_gradient")
            self.grads[name] = numerics.through(gradient, weight)
        self.grads["bias"] = numerics.row_sum(error.values, "bias_gradient")
