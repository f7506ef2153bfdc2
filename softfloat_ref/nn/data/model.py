"""A data set, how minibatches are taken from it, and random numbers for data.

Random numbers are Philox words by position, each purpose with a stream of its own. Everything is computed in integers,
so that the same seed gives the same bits with any libm and numpy version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.sources import WORD_BITS, Philox

Pair = tuple[NDArray[Any], NDArray[Any]]

_FIRST_STREAM: Final = int.from_bytes(b"data") << 32  # streams 0 and on serve roundings and vectors
SHUFFLE: Final = _FIRST_STREAM
SPLIT: Final = _FIRST_STREAM + 1
EXAMPLES: Final = _FIRST_STREAM + 2
CENTRES: Final = _FIRST_STREAM + 3
LINES: Final = _FIRST_STREAM + 4
_EPOCHS: Final = 1 << 40  # words that an epoch may use: no two share one


@dataclass(frozen=True)
class Dataset:
    """Examples for training and for testing.

    kind "classes": x float32, (examples, features) or (examples, height, width, channels); y int64 labels below
    `classes`. kind "text": x one-dimensional int64 symbols below `classes`, in reading order; y is x: the target of a
    symbol is the next one (`text_batches`). source: what was made or read, with the hash of what was.
    """

    train_x: NDArray[Any]
    train_y: NDArray[Any]
    test_x: NDArray[Any]
    test_y: NDArray[Any]
    kind: Literal["classes", "text"]
    classes: int
    source: str = ""


def batches(x: NDArray[Any], y: NDArray[Any], batch: int, *, seed: int, epoch: int) -> Iterator[Pair]:
    """Minibatches of all examples, shuffled again for each epoch; the last one is short if the number of examples is
    not a multiple.

    The order depends on (seed, epoch, number of examples) alone, so a resumed run sees the same minibatches.
    Raises Error for a batch below 1, and where x and y differ in length.
    """
    if batch < 1:
        raise Error(f"a minibatch needs at least one example, not {batch}")
    if len(x) != len(y):
        raise Error(f"{len(x)} examples, but {len(y)} labels")
    return _shuffled(x, y, batch, permutation(seed, SHUFFLE, epoch, len(x)))


def _shuffled(x: NDArray[Any], y: NDArray[Any], batch: int, order: NDArray[np.int64]) -> Iterator[Pair]:
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        yield x[chosen], y[chosen]


def text_batches(symbols: NDArray[Any], batch: int, length: int) -> Iterator[Pair]:
    """Consecutive pieces of a text, cut into `batch` strands that are read side by side: x and y, (length, batch).

    y is x one symbol later. A strand goes on where it ended in the piece before, so that a network may keep its state;
    what does not fill strands and pieces is left out. Raises Error for a text that is too short for one piece.
    """
    if batch < 1 or length < 1:
        raise Error(f"a piece of text needs at least one strand and one symbol, not {batch} and {length}")
    strand = (len(symbols) - 1) // batch
    if strand < length:
        raise Error(f"{len(symbols)} symbols are too few for {batch} strands of {length}; use shorter or fewer strands")
    x = symbols[: batch * strand].reshape(batch, strand).T
    y = symbols[1 : batch * strand + 1].reshape(batch, strand).T
    starts = range(0, strand - length + 1, length)
    return ((np.ascontiguousarray(x[i : i + length]), np.ascontiguousarray(y[i : i + length])) for i in starts)


def random_words(seed: int, stream: int, start: int, count: int) -> NDArray[np.uint64]:
    """Words of 64 bits from a position on. Raises Error for a seed that is not an unsigned integer of 64 bits."""
    return Philox(seed, stream).array(WORD_BITS, start, count)


def permutation(seed: int, stream: int, turn: int, count: int) -> NDArray[np.int64]:
    """A random order of `count` things, different in each turn: each is sorted by a random word."""
    order: NDArray[np.int64] = np.argsort(random_words(seed, stream, turn * _EPOCHS, count), kind="stable").astype(
        np.int64
    )
    return order


def bit_fields(drawn: NDArray[np.uint64], width: int) -> NDArray[np.int64]:
    """Words cut into fields of `width` bits, the lowest first, along an additional axis."""
    shifts = np.arange(0, WORD_BITS, width, dtype=np.uint64)
    mask = np.uint64((1 << width) - 1)
    values: NDArray[np.int64] = ((drawn[..., np.newaxis] >> shifts) & mask).astype(np.int64)
    return values
