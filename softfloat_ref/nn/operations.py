"""The operations that layers, the loss and the optimizer are made of: numpy's, and what they lack.

These compute, and nothing else. A training step that is recorded has numerics whose operations do the same and record
it; dataflow is what was passed. So a layer does nothing to a tensor but by these operations, besides `reshape`, and
`numpy.asarray` where it only looks.

name: what the result is called in a record, by default as the operation. out: where it may go, as in numpy; who gives a
tensor there uses the result in its place. known: what the inputs imply.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from softfloat_ref.arrays.functions import correctly_rounded, lstm_gates
from softfloat_ref.base.errors import Error
from softfloat_ref.nn import hadamard

Array = NDArray[Any]  # float32; float64 where gradients are checked numerically
GATES: Final = ("input_gate", "forget_gate", "cell_gate", "output_gate")
CELL_GATE: Final = "cell_gate"


class _InDouble:
    """The functions of float64, in which gradients are checked numerically."""

    exp, tanh, log1p = np.exp, np.tanh, np.log1p
    erf = np.vectorize(math.erf, otypes=[np.float64])

    @staticmethod
    def sigmoid(x: Array) -> Array:
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-x))

    @staticmethod
    def gelu(x: Array) -> Array:
        return x / 2 * (1 + _InDouble.erf(x * math.sqrt(0.5)))  # type: ignore[no-any-return]

    @staticmethod
    def gelu_tanh(x: Array) -> Array:
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))  # type: ignore[no-any-return]

    @staticmethod
    def silu(x: Array) -> Array:
        return x * _InDouble.sigmoid(x)


def real_function(name: str, x: Array) -> Array:
    """A real function: of float32 correctly rounded to nearest even, as the operation of that name, so that training
    has the same bits on every machine and a trace recomputes them; of float64 numpy's."""
    return correctly_rounded(name, x) if x.dtype == np.float32 else getattr(_InDouble, name)(x)


def _cell_gate(gates: Array) -> slice:
    width, i = gates.shape[1] // len(GATES), GATES.index(CELL_GATE)
    return slice(i * width, (i + 1) * width)


class TensorOperations:
    """Every public method is an operation."""

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    def add(self, a: Any, b: Any, name: str = "", out: Array | None = None) -> Array:
        """a + b."""
        return np.add(a, b, out)  # type: ignore[no-any-return]

    def sub(self, a: Any, b: Any, name: str = "", out: Array | None = None) -> Array:
        """a - b."""
        return np.subtract(a, b, out)  # type: ignore[no-any-return]

    def mul(self, a: Any, b: Any, name: str = "", out: Array | None = None) -> Array:
        """a times b."""
        return np.multiply(a, b, out)  # type: ignore[no-any-return]

    def div(self, a: Any, b: Any, name: str = "", out: Array | None = None) -> Array:
        """a / b."""
        return np.divide(a, b, out)  # type: ignore[no-any-return]

    def sqrt(self, x: Array, name: str = "") -> Array:
        """The square root."""
        return np.sqrt(x)

    def inside(self, x: Array, limit: Any, name: str = "") -> Array:
        """Whether the magnitude is at most the limit."""
        return np.abs(x) <= limit  # type: ignore[no-any-return]

    def keep(self, words: Array, value: Any, threshold: int, name: str = "") -> Array:
        """The value where a random word is not below the threshold, else zero."""
        return (words >= np.uint64(threshold)) * value  # type: ignore[no-any-return]

    def leak(self, x: Array, slope: Any, name: str = "") -> Array:
        """One where x is above zero, else the slope."""
        return np.where(x > 0, x.dtype.type(1), slope)  # type: ignore[no-any-return]

    def uniform(self, words: Array, bits: int, name: str = "") -> Array:
        """Words of so many bits as numbers from -1 to below 1: (w - 2^(bits - 1)) / 2^(bits - 1)."""
        return from_words(words, bits)

    # -- sums ----------------------------------------------------------------------------------------------------------

    def row_sum(self, x: Array, name: str = "") -> Array:
        """The sum of the rows of a matrix, one after the other."""
        return _in_sequence(x)

    def row_dot(self, a: Array, b: Array, name: str = "") -> Array:
        """The sum of the rows of a times b."""
        return _in_sequence(np.multiply(a, b))

    def pixel_sum(self, x: Array, name: str = "") -> Array:
        """The sum over height and width, pixel after pixel."""
        return _in_sequence(x.reshape(x.shape[0], -1, x.shape[3]).swapaxes(0, 1))

    def last_sum(self, x: Array, name: str = "") -> Array:
        """The sum over the last axis, which stays with a size of 1: of neighbours, level by level."""
        while x.shape[-1] > 1:
            whole = x.shape[-1] // 2 * 2
            pairs = np.add(x[..., :whole:2], x[..., 1:whole:2])
            x = pairs if whole == x.shape[-1] else np.concatenate([pairs, x[..., whole:]], -1)
        return x

    def hadamard(self, x: Array, words: Array, name: str = "") -> Array:
        """The random Hadamard transform of each n rows of a matrix, with signs by n words of one bit."""
        return hadamard.transform(x, words)

    def last_max(self, x: Array, name: str = "") -> Array:
        """The first of the largest over the last axis, which stays with a size of 1; a NaN if there is one."""
        largest: Array = np.take_along_axis(x, x.argmax(axis=-1)[..., np.newaxis], -1)
        return largest

    def one_hot(self, rows: Array, count: int, name: str = "") -> Array:
        """For each number from 0 a row of `count` zeros, with a one in that place."""
        hot: Array = rows[:, np.newaxis] == np.arange(count)
        return hot.astype(np.float32)

    def scatter_sum(self, x: Array, rows: Array, count: int, name: str = "") -> Array:
        """A table of `count` rows: of each the sum of the rows of x that `rows` assigns to it."""
        order = np.argsort(rows, kind="stable")
        used, starts = np.unique(rows[order], return_index=True)
        table = np.zeros((count, x.shape[1]), x.dtype)
        table[used] = np.add.reduceat(x[order], starts, axis=0)
        return table

    # -- activation functions ------------------------------------------------------------------------------------------

    def relu(self, x: Array, name: str = "") -> Array:
        """max(x, 0); NaN stays NaN."""
        return np.maximum(x, 0)  # of numbers of a format: one of them

    def relu_gradient(self, dy: Array, y: Array, name: str = "") -> Array:
        """dy where y is above zero; times zero elsewhere."""
        return dy * (y > 0)

    def exp(self, x: Array, name: str = "") -> Array:
        """e^x."""
        return real_function("exp", x)

    def sigmoid(self, x: Array, name: str = "") -> Array:
        """1 / (1 + exp(-x))."""
        return real_function("sigmoid", x)

    def tanh(self, x: Array, name: str = "") -> Array:
        """Hyperbolic tangent."""
        return real_function("tanh", x)

    def erf(self, x: Array, name: str = "") -> Array:
        """The error function."""
        return real_function("erf", x)

    def gelu(self, x: Array, name: str = "") -> Array:
        """x/2 (1 + erf(x / sqrt 2))."""
        return real_function("gelu", x)

    def gelu_tanh(self, x: Array, name: str = "") -> Array:
        """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
        return real_function("gelu_tanh", x)

    def silu(self, x: Array, name: str = "") -> Array:
        """x / (1 + exp(-x))."""
        return real_function("silu", x)

    def gates(self, sums: Array, name: str = "") -> Array:
        """The gates of an LSTM, side by side in the order of GATES: sigmoid, but tanh of the cell's."""
        if sums.dtype == np.float32:
            return lstm_gates(sums)
        part, gates = _cell_gate(sums), np.empty_like(sums)
        gates[:, : part.start] = real_function("sigmoid", sums[:, : part.start])
        gates[:, part] = real_function("tanh", sums[:, part])
        gates[:, part.stop :] = real_function("sigmoid", sums[:, part.stop :])
        return gates

    def gate_slopes(self, gates: Array, known: Sequence[Array], name: str = "") -> Array:
        """The derivatives of the gates' functions where these are their values. known: gate by gate."""
        slopes: Array = gates * (1 - gates)
        cell = known[GATES.index(CELL_GATE)]
        slopes[:, _cell_gate(gates)] = 1 - cell * cell
        return slopes

    # -- selections ----------------------------------------------------------------------------------------------------

    def gather(self, table: Array, rows: Array, name: str = "") -> Array:
        """Rows of a table."""
        return table[rows]

    def slice(self, x: Array, axis: int, start: int, stop: int, name: str = "") -> Array:
        """Part of the first axis, or the second."""
        return x[:, start:stop] if axis else x[start:stop]

    def concatenate(self, parts: Sequence[Array], axis: int, name: str = "") -> Array:
        """Tensors side by side."""
        return np.concatenate(parts, axis)

    def transpose(self, x: Array, axes: Sequence[int], name: str = "") -> Array:
        """The axes in another order."""
        return np.ascontiguousarray(np.transpose(x, axes))

    def causal(self, x: Array, name: str = "") -> Array:
        """Matrices over the last two axes: -Inf above the diagonal."""
        return np.where(np.tri(*x.shape[-2:], dtype=np.bool_), x, x.dtype.type(-np.inf))

    # -- images --------------------------------------------------------------------------------------------------------

    def patches(self, x: Array, kernel: int, stride: int, padding: int, name: str = "") -> Array:
        """The patches of a convolution as rows, (batch x places, kernel x kernel x channels); outside the image is
        zero."""
        k, s, p = kernel, stride, padding
        if k == 1 and p == 0:
            return np.ascontiguousarray(x[:, ::s, ::s]).reshape(-1, x.shape[-1])
        n, h, w, c = x.shape
        padded = x
        if p:
            padded = np.zeros((n, h + 2 * p, w + 2 * p, c), x.dtype)
            padded[:, p:-p, p:-p] = x
        rows, columns = output_size(x.shape, k, s, p)
        patches = np.empty((n, rows, columns, k, k * c), x.dtype)
        # a patch's row is contiguous in the image: kernel x channels values at once
        lines = padded.reshape(n, h + 2 * p, (w + 2 * p) * c)
        windows = sliding_window_view(lines, k * c, axis=2)[:, :, :: s * c]
        for i in range(k):
            patches[:, :, :, i] = windows[:, i : i + s * (rows - 1) + 1 : s, :columns]
        return patches.reshape(n * rows * columns, k * k * c)

    def patch_sum(
        self, x: Array, image: Sequence[int], kernel: int, stride: int, padding: int, name: str = ""
    ) -> Array:
        """Images of that shape from the gradients of their patches: what overlaps is added."""
        k, s, p = kernel, stride, padding
        n, h, w, c = image
        rows, columns = output_size((n, h, w, c), k, s, p)
        parts = x.reshape(n, rows, columns, k, k, c)
        images = np.zeros((n, h + 2 * p, w + 2 * p, c), x.dtype)
        for i in range(k):
            for j in range(k):
                images[:, i : i + s * (rows - 1) + 1 : s, j : j + s * (columns - 1) + 1 : s] += parts[:, :, :, i, j]
        return images[:, p : p + h, p : p + w] if p else images

    def max_pool(self, x: Array, size: int, name: str = "") -> Array:
        """The largest value of each window."""
        first, *rest = _corners(x, size)
        y = first.copy()
        for corner in rest:
            np.maximum(y, corner, out=y)
        return y

    def max_pool_gradient(self, dy: Array, x: Array, size: int, known: Array, name: str = "") -> Array:
        """dy at the first of the largest in each window of x; zero elsewhere. known: the largest."""
        dx = np.zeros_like(x)
        left = np.ones(dy.shape, bool)
        for corner, target in zip(_corners(x, size), _corners(dx, size), strict=True):
            chosen = left & (corner == known)
            np.multiply(dy, chosen, out=target)
            left &= ~chosen
        return dx

    def window_sum(self, x: Array, size: int, name: str = "") -> Array:
        """The sum of each window."""
        first, *rest = _corners(x, size)
        y = first.copy()
        for corner in rest:
            y += corner
        return y

    def window_fill(self, x: Array, image: Sequence[int], size: int, name: str = "") -> Array:
        """Images of that shape whose windows are each full of one value; zero outside them."""
        images = np.zeros(image, x.dtype)
        for target in _corners(images, size):
            target[...] = x
        return images


def from_words(words: NDArray[Any], bits: int) -> NDArray[Any]:
    """(w - 2^(bits - 1)) / 2^(bits - 1) of each word of so many bits, up to 24: exact float32 numbers from -1 to below
    1."""
    half = np.float32(1 << (bits - 1))
    return (words.astype(np.float32) - half) * (1 / half)


def output_size(shape: tuple[int, ...], kernel: int, stride: int, padding: int) -> tuple[int, int]:
    """Rows and columns of a convolution's output."""
    rows, columns = ((n + 2 * padding - kernel) // stride + 1 for n in shape[1:3])
    return rows, columns


def _corners(x: Array, size: int) -> Iterator[Array]:
    """The values at each place of windows side by side, as (batch, windows, windows, channels) views of x; what is
    left at the edge is dropped."""
    height, width = (n // size * size for n in x.shape[1:3])
    if not height or not width:
        raise Error(f"pooling by {size}: the image is {x.shape[1]} x {x.shape[2]}")
    for i in range(size):
        for j in range(size):
            yield x[:, i:height:size, j:width:size]


def _in_sequence(x: Array) -> Array:
    """The sum over the first axis: the first, and the others added to it one after the other.

    numpy adds so where the last axis has several numbers; along memory it adds in another order, but never accumulates
    so.
    """
    if x.shape[-1] > 1:
        total: Array = np.add.reduce(x, axis=0)
    else:
        total = np.add.accumulate(x, axis=0)[-1]
    return total
