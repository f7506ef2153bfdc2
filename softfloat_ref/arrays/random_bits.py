"""Random bits of stochastic roundings, as callers give them: integers, sources, texts, seeds and keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softfloat_ref.arrays.kernels import dispatch
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import check_random
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import RandomSource, is_source, keyed, parse_source

RandomBits = ArrayLike | RandomSource | np.random.Generator | str


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array, or of lists. Raises Error for rows of different lengths."""
    try:
        return np.shape(x)
    except ValueError:
        raise Error("rows of different lengths do not form an array") from None


def resolve_bits(
    random_bits: RandomBits | None, policy: Policy, x: Any, seed: int | None, key: str | None
) -> ArrayLike | RandomSource | None:
    """Random bits as conversions take them, integers in x's shape or a source, from what a caller may give: also the
    text of a source, a Generator of numpy, from which integers are drawn, or a seed and a key. Raises Error."""
    if seed is not None or key is not None:
        if random_bits is not None:
            raise Error("give either seed and key, or random_bits")
        return keyed(seed, key)
    if isinstance(random_bits, str):
        return parse_source(random_bits)
    if isinstance(random_bits, np.random.Generator):
        check_random(policy, 0)
        top = np.uint64((1 << policy.random_count) - 1)
        return random_bits.integers(np.uint64(0), top, shape_of(x), np.uint64, endpoint=True)
    return random_bits


def random_words(
    policy: Policy, random_bits: ArrayLike | RandomSource | None, shape: tuple[int, ...]
) -> NDArray[Any] | None:
    """The random word of each value, checked, in that shape; None if the rounding needs none."""
    if random_bits is None:
        check_random(policy, None)
        return None
    n = policy.random_count
    if n == 0:
        check_random(policy, 0)
    if is_source(random_bits):
        return random_bits.array(n, 0, int(np.prod(shape))).reshape(shape)
    words = np.asarray(random_bits)
    if words.shape != shape or words.dtype.kind not in "iu":
        raise Error(f"random bits must be integers of shape {shape}, not {words.dtype} of shape {words.shape}")
    if words.size and ((words.dtype.kind == "i" and int(words.min()) < 0) or int(words.max()) >> n):
        raise Error(f"random bits must be unsigned integers of {n} bits")
    return words


def words_at(
    policy: Policy, random_bits: NDArray[Any] | RandomSource | None
) -> Callable[[int, int], NDArray[Any]] | None:
    """A function from a position in C order and a count to random words, which are checked; None without any."""
    n = policy.random_count
    if random_bits is None:
        return None
    if is_source(random_bits):
        source = random_bits
        dispatch.draw_words(source, n, 0, 1, True)  # raises Error if it has too few bits
        return lambda start, count: dispatch.draw_words(source, n, start, count, True)
    flat = np.asarray(random_bits).reshape(-1)
    return lambda start, count: flat[start : start + count]
