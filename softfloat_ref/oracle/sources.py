"""Named sources of random bits: each word depends only on the source and the position.

Chunks, threads and workers therefore do not change results, and a circuit's own generator can be reproduced.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol, TypeGuard, runtime_checkable

from softfloat_ref.base import assignments
from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.numbers import settle

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD_BITS: Final = 64
MAX_DIGITS: Final = 100
_KEYS: Final = {"philox": ("seed",), "lfsr": ("width", "taps", "seed", "bits")}


@runtime_checkable
class RandomSource(Protocol):
    """Random bits by position: `count` integers of n bits from position `start`. Raises Error if n is too large."""

    def bits(self, n: int, start: int, count: int) -> list[int]: ...

    def array(self, n: int, start: int, count: int) -> NDArray[np.uint64]: ...

    def spec(self) -> str: ...


@dataclass(frozen=True)
class Philox:
    """`philox:seed=S`: numpy's Philox4x64-10 with key (S, 0) (Salmon et al., SC 2011).

    Position i is word i mod 4 of the block at counter i // 4 + 1; r is its top n bits. stream: the key's second word;
    streams other than 0 are not used for rounding.
    """

    seed: int = 0
    stream: int = 0

    def __post_init__(self) -> None:
        settle(self, "seed")
        if not 0 <= self.seed < 1 << WORD_BITS:
            raise Error(f"seed {self.seed} is not an unsigned integer of 64 bits")

    def _raw(self, start: int, count: int) -> NDArray[np.uint64]:
        import numpy as np

        generator = np.random.Philox(counter=start // 4, key=np.array([self.seed, self.stream], dtype=np.uint64))
        skip = start % 4
        return np.asarray(generator.random_raw(skip + count), dtype=np.uint64)[skip:]

    def words(self, start: int, count: int) -> list[int]:
        """64-bit words from position `start`, as plain integers."""
        words: list[int] = self._raw(start, count).tolist()
        return words

    def bits(self, n: int, start: int, count: int) -> list[int]:
        words: list[int] = self.array(n, start, count).tolist()
        return words

    def array(self, n: int, start: int, count: int) -> NDArray[np.uint64]:
        if n > WORD_BITS:
            raise Error(f"philox has {WORD_BITS} bits a position, not {n}")
        words = self._raw(start, count)
        return words >> words.dtype.type(WORD_BITS - n)

    def spec(self) -> str:
        return f"philox:seed={self.seed}"


@dataclass(frozen=True)
class Lfsr:
    """`lfsr:width=W,taps=T1.T2...,seed=S,bits=HI:LO`: a Fibonacci shift register, stepped once per element.

    Taps count from 1; a step shifts left and puts the xor of the tapped bits (tap t is bit t - 1) into bit 0. Element i
    uses the state after i steps; r is its bits HI..LO, reduced to the top n of them.
    """

    width: int
    taps: tuple[int, ...]
    seed: int
    high: int
    low: int

    def __post_init__(self) -> None:
        if not 1 <= self.width <= 256:
            raise Error(f"lfsr: width {self.width} is not 1 to 256")
        if not self.taps or any(not 1 <= t <= self.width for t in self.taps):
            raise Error(f"lfsr: taps must be 1 to {self.width}, as in taps=16.14.13.11")
        if not 0 < self.seed < 1 << self.width:
            raise Error(f"lfsr: seed must be 1 to 2^{self.width} - 1 (0 never leaves 0)")
        if not 0 <= self.low <= self.high < self.width:
            raise Error(f"lfsr: bits {self.high}:{self.low} are not inside a register of {self.width} bits")

    def states(self, start: int = 0) -> Iterator[int]:
        """The register's states from step `start` on."""
        state, step = self._state_at(start), self.step()
        while True:
            yield state
            state = step(state)

    def step(self) -> Callable[[int], int]:
        """The function from a state to the next one."""
        mask, tapped = (1 << self.width) - 1, sum(1 << (t - 1) for t in set(self.taps))
        return lambda state: (state << 1 | (state & tapped).bit_count() & 1) & mask

    def _state_at(self, steps: int) -> int:
        """The state after `steps` steps. A step is linear over the bits, so its powers are computed by squaring."""
        state, power = self.seed, self.images()
        while steps:
            if steps & 1:
                state = _sum_of_bits(power, state)
            power = [_sum_of_bits(power, x) for x in power]
            steps >>= 1
        return state

    def images(self) -> list[int]:
        """What a step makes of each bit of a state, which is linear over them."""
        return list(map(self.step(), (1 << i for i in range(self.width))))

    def bits(self, n: int, start: int, count: int) -> list[int]:
        available = self.high - self.low + 1
        if n > available:
            raise Error(f"lfsr: bits={self.high}:{self.low} gives {available} bits, but {n} are needed")
        low, mask = self.high + 1 - n, (1 << n) - 1
        return [state >> low & mask for state in islice(self.states(start), count)]

    def array(self, n: int, start: int, count: int) -> NDArray[np.uint64]:
        import numpy as np

        return np.array(self.bits(n, start, count), np.uint64)

    def spec(self) -> str:
        taps = ".".join(map(str, self.taps))
        return f"lfsr:width={self.width},taps={taps},seed={self.seed},bits={self.high}:{self.low}"


def is_source(x: object) -> TypeGuard[RandomSource]:
    """Whether this is a source. Asking a protocol takes longer than small tensors do, so the usual one comes first."""
    return isinstance(x, Philox) or isinstance(x, RandomSource)  # noqa: SIM101


def _sum_of_bits(images: list[int], state: int) -> int:
    """A linear function of a state, given the image of each of its bits."""
    total = 0
    while state:
        total ^= images[(state & -state).bit_length() - 1]
        state &= state - 1
    return total


def key(text: str) -> int:
    """The key of Philox that belongs to a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def keyed(seed: int | None, name: str | None) -> Philox:
    """The random bits of a tensor of that name under a seed: `philox:seed=S` with S = key("SEED/NAME"). Raises Error
    if one of the two is missing: two tensors under one seed alone would share their bits."""
    if seed is None:
        raise Error("key= has no effect without seed=")
    if name is None:
        raise Error(
            f"seed={seed} needs key=, the name of this tensor, so that no two tensors share their random bits; the "
            f"plain source is random_bits='philox:seed={seed}'"
        )
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or not isinstance(name, str):
        raise Error(f"seed is an integer and key a name, not {seed!r} and {name!r}")
    return Philox(key(f"{operator.index(seed)}/{name}"))


def parse_source(spec: str, seed: int | None = None) -> RandomSource:
    """A source from its text; `seed` supplies a seed that the text omits. Raises Error."""
    kind, _, rest = spec.strip().lower().partition(":")
    if kind not in _KEYS:
        raise unknown("random source", kind, _KEYS)
    fields = assignments.parse(rest, f"random source {spec[:60]!r}", _KEYS[kind])
    if seed is not None:
        fields.setdefault("seed", str(seed))
    if kind == "philox":
        return Philox(_integer(spec, fields.get("seed", "0")))
    missing = [k for k in ("width", "taps") if k not in fields]
    if missing:
        raise Error(f"random source {spec!r}: {', '.join(missing)} missing")
    width = _integer(spec, fields["width"])
    high, _, low = fields.get("bits", f"{width - 1}:0").partition(":")
    taps = tuple(_integer(spec, t) for t in fields["taps"].split("."))
    return Lfsr(width, taps, _integer(spec, fields.get("seed", "1")), _integer(spec, high), _integer(spec, low))


def _integer(spec: str, text: str) -> int:
    try:
        return int(text[:MAX_DIGITS], 0)
    except ValueError:
        raise Error(f"random source {spec[:60]!r}: {text[:60]!r} is not an integer") from None
