"""Patches and windows of images (batch, height, width, channels), as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error

Array = NDArray[Any]


def output_size(shape: tuple[int, ...], kernel: int, stride: int, padding: int) -> tuple[int, int]:
    """Rows and columns of a convolution's output."""
    rows, columns = ((n + 2 * padding - kernel) // stride + 1 for n in shape[1:3])
    return rows, columns


def patches(x: Array, kernel: int, stride: int, padding: int) -> Array:
    """(batch x places, kernel x kernel x channels); outside the image is zero."""
    k, s, p = kernel, stride, padding
    if k == 1 and p == 0:
        return np.ascontiguousarray(x[:, ::s, ::s]).reshape(-1, x.shape[-1])
    n, h, w, c = x.shape
    padded = x
    if p:
        padded = np.zeros((n, h + 2 * p, w + 2 * p, c), x.dtype)
        padded[:, p:-p, p:-p] = x
    rows, columns = output_size(x.shape, k, s, p)
    rows_of_patches = np.empty((n, rows, columns, k, k * c), x.dtype)
    # a patch's row is contiguous in the image: kernel x channels values at once
    lines = padded.reshape(n, h + 2 * p, (w + 2 * p) * c)
    windows = sliding_window_view(lines, k * c, axis=2)[:, :, :: s * c]
    for i in range(k):
        rows_of_patches[:, :, :, i] = windows[:, i : i + s * (rows - 1) + 1 : s, :columns]
    return rows_of_patches.reshape(n * rows * columns, k * k * c)


def patch_sum(x: Array, image: Sequence[int], kernel: int, stride: int, padding: int) -> Array:
    """The images that patches are of: what overlaps is added."""
    k, s, p = kernel, stride, padding
    n, h, w, c = image
    rows, columns = output_size((n, h, w, c), k, s, p)
    parts = x.reshape(n, rows, columns, k, k, c)
    images = np.zeros((n, h + 2 * p, w + 2 * p, c), x.dtype)
    for i in range(k):
        for j in range(k):
            images[:, i : i + s * (rows - 1) + 1 : s, j : j + s * (columns - 1) + 1 : s] += parts[:, :, :, i, j]
    return images[:, p : p + h, p : p + w] if p else images


def _corners(x: Array, size: int) -> Iterator[Array]:
    """The values at each place of windows side by side, as (batch, windows, windows, channels) views of x; what is
    left at the edge is dropped."""
    height, width = (n // size * size for n in x.shape[1:3])
    if not height or not width:
        raise Error(f"pooling by {size}: the image is {x.shape[1]} x {x.shape[2]}")
    for i in range(size):
        for j in range(size):
            yield x[:, i:height:size, j:width:size]


def max_pool(x: Array, size: int) -> Array:
    """The largest value of each window."""
    first, *rest = _corners(x, size)
    y = first.copy()
    for corner in rest:
        np.maximum(y, corner, out=y)
    return y


def max_pool_gradient(dy: Array, x: Array, size: int, y: Array) -> Array:
    """dy where x is the first of its window that equals y, the largest; zero elsewhere."""
    dx = np.zeros_like(x)
    left = np.ones(dy.shape, bool)
    for corner, target in zip(_corners(x, size), _corners(dx, size), strict=True):
        chosen = left & (corner == y)
        np.multiply(dy, chosen, out=target)
        left &= ~chosen
    return dx


def window_sum(x: Array, size: int) -> Array:
    """The sum of each window."""
    first, *rest = _corners(x, size)
    y = first.copy()
    for corner in rest:
        y += corner
    return y


def window_fill(x: Array, image: Sequence[int], size: int) -> Array:
    """Images whose windows are each full of one value; zero outside them."""
    images = np.zeros(image, x.dtype)
    for target in _corners(images, size):
        target[...] = x
    return images


def in_sequence(x: Array) -> Array:
    """The sum over the first axis: the first, and the others added to it one after the other.

    numpy adds so where the last axis has several numbers; along memory it adds in another order, but never accumulates
    so.
    """
    if x.shape[-1] > 1:
        total: Array = np.add.reduce(x, axis=0)
    else:
        total = np.add.accumulate(x, axis=0)[-1]
    return total
