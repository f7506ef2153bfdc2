"""Synthetic vectors, and images: one simple shape each, of random position, size and colours, with noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.data.model import CENTRES, EXAMPLES, Dataset, bit_fields, random_words

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]

MIN_SIZE: Final = 12
_CHUNK: Final = 512  # images at a time
_PARAMETERS: Final = 4  # words an image, before those of its noise
_UNIT: Final = np.float32(2.0**-15)


def _furthest(x: Numbers, y: Numbers) -> Numbers:
    return np.maximum(abs(x), abs(y))


# x, y: distances from the middle, and r: the radius, all in half pixels
SHAPES: Final[dict[str, Callable[[Numbers, Numbers, Numbers], Mask]]] = {
    "disc": lambda x, y, r: x * x + y * y <= r * r,
    "ring": lambda x, y, r: (x * x + y * y <= r * r) & (3 * (x * x + y * y) >= r * r),
    "square": lambda x, y, r: _furthest(x, y) <= r - 1,
    "frame": lambda x, y, r: (_furthest(x, y) <= r) & (2 * _furthest(x, y) >= r + 2),
    "plus": lambda x, y, r: (_furthest(x, y) <= r) & (np.minimum(abs(x), abs(y)) <= 2),
    "saltire": lambda x, y, r: (_furthest(x, y) <= r) & (abs(abs(x) - abs(y)) <= 2),
    "diamond": lambda x, y, r: abs(x) + abs(y) <= r + 1,
    "triangle": lambda x, y, r: (abs(y) <= r) & (2 * abs(x) <= y + r),
    "wedge": lambda x, y, r: (abs(y) <= r) & (2 * abs(x) <= r - y),
    "bars": lambda x, y, r: (_furthest(x, y) <= r) & ((y + r) % 8 < 4),
}


def shapes(
    *,
    seed: int,
    train: int = 2000,
    test: int = 500,
    classes: int = len(SHAPES),
    size: int = 16,
    channels: int = 3,
    noise: int = 1,
) -> Dataset:
    """Images x (examples, size, size, channels), about -2 to 2; y: the shape, in SHAPES' order.

    noise: the amplitude; at 1 it is the sum of two random bytes per pixel. Raises Error for more classes than there
    are shapes, and for images below 12 x 12.
    """
    if classes > len(SHAPES) or size < MIN_SIZE:
        raise Error(f"data 'shapes': up to {len(SHAPES)} classes, of size {MIN_SIZE} and more, not {classes}, {size}")
    count = train + test
    x, y = np.empty((count, size, size, channels), np.float32), np.empty(count, np.int64)
    for start in range(0, count, _CHUNK):
        part = slice(start, min(start + _CHUNK, count))
        x[part], y[part] = _draw(seed, part, (size, channels), classes, noise)
    return Dataset(x[:train], y[:train], x[train:], y[train:], "classes", classes, "synthetic shapes")


def _draw(seed: int, part: slice, layout: tuple[int, int], classes: int, noise: int) -> tuple[NDArray[Any], Numbers]:
    """Images of some numbers; each depends on its own words alone."""
    size, channels = layout
    pixels = size * size * channels
    each = _PARAMETERS + channels + -(-pixels // 4)  # two bytes a pixel
    count = part.stop - part.start
    drawn = random_words(seed, EXAMPLES, part.start * each, count * each).reshape(count, each)
    chosen = bit_fields(drawn[:, :_PARAMETERS], 32).reshape(count, -1)
    label = chosen[:, 0] % classes
    mask = _masks(label, chosen[:, 1:4], size)
    low, change = _colours(bit_fields(drawn[:, _PARAMETERS : _PARAMETERS + channels], 16))
    grain = bit_fields(drawn[:, _PARAMETERS + channels :], 8).reshape(count, -1, 2)[:, :pixels].sum(axis=-1) - 255
    level = low[:, None, None, :] + mask[..., None] * change[:, None, None, :]
    image = level + noise * grain.reshape(count, size, size, channels) // 4
    return image.astype(np.float32) * np.float32(2.0**-6), label


def _masks(label: Numbers, chosen: Numbers, size: int) -> Mask:
    """Where each image has its shape."""
    radius = size // 2 + chosen[:, 0] % (size // 2 - 1)  # in half pixels: a quarter of the size to nearly a half
    room = size + 1 - radius
    middle = [size - 1 - room // 2 + chosen[:, i] % room for i in (1, 2)]
    places = 2 * np.arange(size, dtype=np.int64)
    x = places[None, None, :] - middle[0][:, None, None]
    y = places[None, :, None] - middle[1][:, None, None]
    x, y = np.broadcast_arrays(x, y)
    mask = np.zeros(x.shape, bool)
    for i, inside in enumerate(SHAPES.values()):
        own = label == i
        mask[own] = inside(x[own], y[own], radius[own, None, None])
    return mask


def _colours(drawn: Numbers) -> tuple[Numbers, Numbers]:
    """Background, and what the shape adds to it or takes from it, a channel; in units of 1/64."""
    low = drawn[..., 0] % 128 - 64
    change = 24 + drawn[..., 1] % 72
    return low, np.where(drawn[..., 2] & 1, change, -change)


def blobs(
    *, seed: int, train: int = 2000, test: int = 500, classes: int = 10, features: int = 16, spread: int = 1
) -> Dataset:
    """Vectors around one centre per class, x (examples, features).

    Centres lie uniformly in the cube from -1 to 1. Around them, each coordinate has the sum of four uniform numbers,
    which is nearly normal, with a standard deviation of 0.58 times the spread.
    """
    centres = bit_fields(random_words(seed, CENTRES, 0, classes * features), 16)[:, 0].reshape(classes, features) - (
        1 << 15
    )
    count = train + test
    drawn = random_words(seed, EXAMPLES, 0, count * (features + 1)).reshape(count, features + 1)
    y = (drawn[:, 0] % np.uint64(classes)).astype(np.int64)
    noise = bit_fields(drawn[:, 1:], 16).sum(axis=-1) - 2 * (1 << 16)  # in units of 2^-16: half of the centres'
    x = (centres[y] + spread * noise // 2).astype(np.float32) * _UNIT
    return Dataset(x[:train], y[:train], x[train:], y[train:], "classes", classes, "synthetic blobs")
