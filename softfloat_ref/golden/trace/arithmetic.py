"""Operations of a trace on FP32 numbers: sums and products, activation functions that select, poolings, patches."""

from __future__ import annotations

from itertools import product

import numpy as np

from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import find_first
from softfloat_ref.golden.trace.case import (
    FP32,
    NAN,
    ONE,
    ByElement,
    Codes,
    NodeCase,
    apply,
    apply_one,
    broadcast_code,
    matrix,
    positive,
    root,
    summed,
    summed_one,
)
from softfloat_ref.nn.operations import TensorOperations
from softfloat_ref.oracle.operations import evaluate


class Binary(ByElement):
    """add, sub, mul, div of two inputs, to nearest even; the smaller one broadcasts."""

    def __init__(self, op: str) -> None:
        self.op = op

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(2)
        shape = case.outputs[0].shape
        return [apply(self.op, *(np.broadcast_to(case.values(i), shape) for i in (0, 1)))]

    def element(self, case: NodeCase, place: int) -> int:
        shape = case.outputs[0].shape
        return apply_one(self.op, *(broadcast_code(case.values(i), shape, place) for i in (0, 1)))


class Relu(ByElement):
    """x if it is above zero or NaN, else +0."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        x = case.values(0)
        return [np.where((x <= FP32.inf_code) | (x == NAN), x, 0).astype(np.uint32)]

    def element(self, case: NodeCase, place: int) -> int:
        code = int(case.values(0).reshape(-1)[place])
        return code if positive(code) or FP32.is_nan(code) else 0


class ReluGradient(ByElement):
    """Inputs dy, y: dy times one where y is above zero, else dy times zero, which keeps the sign."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(2)
        y = case.values(1)
        mask = np.where((y != 0) & (y <= FP32.inf_code), ONE, 0).astype(np.uint32)
        return [apply("mul", case.values(0), mask)]

    def element(self, case: NodeCase, place: int) -> int:
        dy, y = (int(case.values(i).reshape(-1)[place]) for i in (0, 1))
        return apply_one("mul", dy, ONE if positive(y) else 0)


class SquareRoot(ByElement):
    """The square root, to nearest even."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        return [root(case.values(0))]

    def element(self, case: NodeCase, place: int) -> int:
        return int(evaluate("sqrt", (int(case.values(0).reshape(-1)[place]),), FP32).bits)


class RowSum(ByElement):
    """The sum of the rows of a matrix: the first, and the others added to it one after the other."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        return [summed(matrix(case.values(0)))]

    def element(self, case: NodeCase, place: int) -> int:
        return summed_one(matrix(case.values(0))[:, place].tolist())


class PixelSum(ByElement):
    """For images (batch, height, width, channels), the sequential sum of the pixels of each image and channel."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        x = _image(case.values(0))
        return [summed(x.reshape(x.shape[0], -1, x.shape[3]).swapaxes(0, 1))]

    def element(self, case: NodeCase, place: int) -> int:
        x = _image(case.values(0))
        image, channel = divmod(place, x.shape[3])
        return summed_one(x[image, :, :, channel].reshape(-1).tolist())


# -- images ------------------------------------------------------------------------------------------------------------


def _image(codes: Codes) -> Codes:
    if codes.ndim != 4 or not codes.size:
        raise Error(f"expects images (batch, height, width, channels), not an array of shape {codes.shape}")
    return codes


class _Windows:
    """The positions of a convolution's patches: for each output pixel and kernel position, the input pixel, or none."""

    def __init__(self, case: NodeCase, shape: tuple[int, ...]) -> None:
        self.k, self.s = case.integer("kernel", 1, 64), case.integer("stride", 1, 64)
        self.p = case.integer("padding", 0, 64)
        self.n, self.h, self.w, self.c = shape
        self.rows, self.columns = ((x + 2 * self.p - self.k) // self.s + 1 for x in (self.h, self.w))
        if self.rows < 1 or self.columns < 1:
            raise Error("the kernel is larger than the image")

    @property
    def patches(self) -> tuple[int, int, int, int, int, int]:
        """(batch, rows, columns, kernel, kernel, channels)."""
        return (self.n, self.rows, self.columns, self.k, self.k, self.c)

    def slices(self, i: int, j: int) -> tuple[slice, slice]:
        """The input pixels, in the padded image, under a place of the kernel."""
        return (
            slice(i, i + self.s * (self.rows - 1) + 1, self.s),
            slice(j, j + self.s * (self.columns - 1) + 1, self.s),
        )

    def padded(self) -> tuple[int, int, int, int]:
        """The shape of the padded image."""
        return (self.n, self.h + 2 * self.p, self.w + 2 * self.p, self.c)

    def inside(self, padded: Codes) -> Codes:
        """The image without its border."""
        return padded[:, self.p : self.p + self.h, self.p : self.p + self.w]


class Patches(ByElement):
    """Images to patches: one row per output pixel, with (kernel row, kernel column, channel); zero outside."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        x = _image(case.inputs[0])
        at = _Windows(case, x.shape)
        return [TensorOperations().patches(x, at.k, at.s, at.p)]

    def element(self, case: NodeCase, place: int) -> int:
        x = _image(case.inputs[0])
        at = _Windows(case, x.shape)
        n, row, column, i, j, c = np.unravel_index(place, at.patches)
        y, z = row * at.s + i - at.p, column * at.s + j - at.p
        return int(x[n, y, z, c]) if 0 <= y < at.h and 0 <= z < at.w else 0


class PatchSum(ByElement):
    """Patches to images: overlapping values are added to +0, in the order of the kernel's positions."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        at = _Windows(case, self._image(case))
        parts = case.values(0).reshape(at.patches)
        image = np.zeros(at.padded(), np.uint32)
        for i, j in product(range(at.k), repeat=2):
            where = (slice(None), *at.slices(i, j))
            image[where] = apply("add", image[where], parts[:, :, :, i, j])
        return [at.inside(image)]

    def element(self, case: NodeCase, place: int) -> int:
        shape = self._image(case)
        at = _Windows(case, shape)
        parts = case.values(0).reshape(at.patches)
        n, y, z, c = np.unravel_index(place, shape)
        total = 0
        for i, j in product(range(at.k), repeat=2):
            (row, first), (column, second) = divmod(y + at.p - i, at.s), divmod(z + at.p - j, at.s)
            if not first and not second and 0 <= row < at.rows and 0 <= column < at.columns:
                total = apply_one("add", total, int(parts[n, row, column, i, j, c]))
        return total

    @staticmethod
    def _image(case: NodeCase) -> tuple[int, ...]:
        shape = case.options.get("image")
        if not isinstance(shape, list) or len(shape) != 4 or tuple(shape) != case.outputs[0].shape:
            raise Error(f"option image = {shape!r} is not the output's shape")
        return tuple(shape)


class _WindowOperation(ByElement):
    """Windows side by side; an incomplete window at the edge is dropped."""

    @staticmethod
    def windows(case: NodeCase, number: int = 0) -> Codes:
        """Of input `number`: (batch, rows, columns, channels, positions in the window)."""

        def make() -> Codes:
            size, x = case.integer("size", 1, 64), _image(case.values(number))
            n, h, w, c = x.shape
            cut = x[:, : h // size * size, : w // size * size].reshape(n, h // size, size, w // size, size, c)
            return cut.transpose(0, 1, 3, 5, 2, 4).reshape(n, h // size, w // size, c, size * size)

        return case.once("windows", make)


class WindowMax(_WindowOperation):
    """The largest value of each window, which has no NaN; +0 is larger than -0."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        windows = self.windows(case)
        best = _ordered(windows).argmax(axis=-1)
        return [np.take_along_axis(windows, best[..., None], -1)[..., 0]]

    def element(self, case: NodeCase, place: int) -> int:
        window = self.windows(case).reshape(case.outputs[0].size, -1)[place]
        return int(max(window.tolist(), key=_order))


class WindowMaxGradient(_WindowOperation):
    """dy, x: dy where x is the first of the largest in its window, dy times zero elsewhere in it, +0 outside."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(2)
        size, dy, x = case.integer("size", 1, 64), case.values(0), case.values(1)
        windows = self.windows(case, 1)
        values = windows.view(np.float32)
        best = (values == values.max(axis=-1, keepdims=True)).argmax(axis=-1)
        mask = np.where(np.arange(size * size) == best[..., None], ONE, 0).astype(np.uint32)
        n, rows, columns, c, _ = windows.shape
        parts = apply("mul", dy.reshape(n, rows, columns, c, 1), mask).reshape(n, rows, columns, c, size, size)
        image = np.zeros(x.shape, np.uint32)
        image[:, : rows * size, : columns * size] = parts.transpose(0, 1, 4, 2, 5, 3).reshape(
            n, rows * size, columns * size, c
        )
        return [image]

    def element(self, case: NodeCase, place: int) -> int:
        size, dy, x = case.integer("size", 1, 64), case.values(0), _image(case.values(1))
        n, y, z, c = np.unravel_index(place, x.shape)
        rows, columns = x.shape[1] // size, x.shape[2] // size
        if y // size >= rows or z // size >= columns:
            return 0
        window = self.windows(case, 1)[n, y // size, z // size, c].tolist()
        best = max(map(_value, window))
        first = find_first(i for i, code in enumerate(window) if _value(code) == best)
        error = int(dy.reshape(x.shape[0], rows, columns, x.shape[3])[n, y // size, z // size, c])
        return apply_one("mul", error, ONE if first == y % size * size + z % size else 0)


def _order(code: int) -> int:
    """Integers in the order of FP32 codes, -0 below +0."""
    return code if code < FP32.sign_bit else -(code ^ FP32.sign_bit) - 1


def _value(code: int) -> int:
    """The same with a single zero."""
    return 0 if code == FP32.sign_bit else _order(code)


def _ordered(codes: Codes) -> Codes:
    wide = codes.astype(np.int64)
    return np.where(wide < FP32.sign_bit, wide, -(wide ^ FP32.sign_bit) - 1)


class WindowSum(_WindowOperation):
    """The sum of each window: its first value, and the others added to it row by row."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        return [summed(np.moveaxis(self.windows(case), -1, 0))]

    def element(self, case: NodeCase, place: int) -> int:
        return summed_one(self.windows(case).reshape(case.outputs[0].size, -1)[place].tolist())


class WindowFill(_WindowOperation):
    """Images whose windows are each full of one value; +0 outside them."""

    def compute(self, case: NodeCase) -> list[Codes]:
        case.needs(1)
        return [
            TensorOperations().window_fill(_image(case.values(0)), case.outputs[0].shape, case.integer("size", 1, 64))
        ]

    def element(self, case: NodeCase, place: int) -> int:
        x, size = _image(case.values(0)), case.integer("size", 1, 64)
        n, y, z, c = np.unravel_index(place, case.outputs[0].shape)
        inside = y // size < x.shape[1] and z // size < x.shape[2]
        return int(x[n, y // size, z // size, c]) if inside else 0
