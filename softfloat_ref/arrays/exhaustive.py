"""Every float32 through `convert.encode`, compared with codes that come from the scalar oracle alone.

Bisection with the oracle finds the patterns at which the code changes; between two changes the code is constant. The
expected codes of a range are thus made by repetition, without any arithmetic of the arrays layer: they depend only on
the oracle and on conversions being monotone.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.arrays import convert
from softfloat_ref.base.errors import Error
from softfloat_ref.base.search import changes
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import CATALOGUE, Format
from softfloat_ref.oracle.policies import Policy, rounding_name
from softfloat_ref.oracle.rounding import Rounding

PATTERNS: Final = 1 << 32
BLOCK: Final = 1 << 16  # patterns; slices are made of whole blocks
MAX_WIDTH: Final = 19  # tf32's: wider formats have too many thresholds
SR_BITS: Final = 8
SR_WORDS: Final = (0x00, 0x5B, 0xFF)
MAX_SHOWN: Final = 8  # mismatches reported
_SHARD_BLOCKS: Final = 1 << 10  # blocks
_CHUNK_SIZE: Final = 1 << 18  # patterns at a time, so that the temporaries stay in the cache
_FP32: Final = CATALOGUE["fp32"]
_INF: Final = _FP32.inf_code
_SIGN: Final = _FP32.sign_bit


class ConversionRun(NamedTuple):
    """One conversion to check: a format, a policy, and the random word of a stochastic rounding."""

    fmt: Format
    policy: Policy
    word: int | None = None

    @property
    def name(self) -> str:
        mode = rounding_name(self.policy.rounding)
        return f"{self.fmt.name} {mode}" + ("" if self.word is None else f" r={self.word:02x}/{SR_BITS}")


class RunShard(NamedTuple):
    """Some blocks of the patterns of a run."""

    run: ConversionRun
    blocks: range


class CodeMismatch(NamedTuple):
    """An input's bits, the expected code and the actual one."""

    bits: int
    expected: int
    actual: int


class ShardResult(NamedTuple):
    """The outcome of a shard. digest: a hash of the patterns at which the code changes and of the codes."""

    inputs: int
    wrong: int
    first: tuple[CodeMismatch, ...]
    digest: bytes = b""
    seconds: float = 0.0  # worker time


# -- the work ----------------------------------------------------------------------------------------------------------


def default_formats() -> list[Format]:
    """Every format of the catalogue up to 8 bits, bf16, fp16 and tf32."""
    return [f for f in CATALOGUE.values() if f.width <= 8] + [CATALOGUE[n] for n in ("bf16", "fp16", "tf32")]


def runs(formats: Iterable[Format], roundings: Iterable[Rounding]) -> list[ConversionRun]:
    """The runs of each format under each rounding; a stochastic rounding has one run per fixed random word.

    Raises Error for a format that has too many codes.
    """
    conversions = []
    modes = list(roundings)
    for fmt in formats:
        if fmt.width > MAX_WIDTH:
            raise Error(f"{fmt.name} has {fmt.width} bits; the exhaustive test takes formats of at most {MAX_WIDTH}")
        for mode in modes:
            if mode.stochastic:
                conversions += [ConversionRun(fmt, Policy(rounding=mode, sr_bits=SR_BITS), word) for word in SR_WORDS]
            else:
                conversions.append(ConversionRun(fmt, Policy(rounding=mode)))
    return conversions


def shards(run: ConversionRun, index: int = 1, of: int = 1) -> list[RunShard]:
    """The shards of a run, or of slice `index` of `of`, which has every `of`-th block."""
    blocks = range(index - 1, PATTERNS // BLOCK, of)
    return [RunShard(run, blocks[i : i + _SHARD_BLOCKS]) for i in range(0, len(blocks), _SHARD_BLOCKS)]


def combine(parts: Iterable[ShardResult]) -> ShardResult:
    """The outcome of several shards, in order."""
    parts = list(parts)
    first = tuple(x for part in parts for x in part.first)[:MAX_SHOWN]
    digest = hashlib.sha256(b"".join(part.digest for part in parts)).digest()
    inputs, wrong = sum(part.inputs for part in parts), sum(part.wrong for part in parts)
    return ShardResult(inputs, wrong, first, digest, sum(part.seconds for part in parts))


# -- the oracle's codes ------------------------------------------------------------------------------------------------


class Steps(NamedTuple):
    """The codes of a range of patterns: each code holds from its start to the next start."""

    starts: NDArray[np.int64]
    codes: convert.Codes

    def expected(self, low: int, high: int) -> convert.Codes:
        """The codes of the patterns from low to high - 1."""
        first = int(np.searchsorted(self.starts, low, "right")) - 1
        last = int(np.searchsorted(self.starts, high, "left"))
        bounds = np.append(self.starts[first:last], high)
        bounds[0] = low
        codes: convert.Codes = np.repeat(self.codes[first:last], np.diff(bounds))
        return codes


def steps(run: ConversionRun, low: int, high: int) -> Steps:
    """The oracle's codes of the float32 patterns from low to high - 1."""
    decode, encode, word = decoder(_FP32), encoder(run.fmt, run.policy), run.word or 0

    def code(pattern: int) -> int:
        return encode(decode(pattern), word)[0]

    starts: list[int] = []
    codes: list[int] = []
    for first, last in _parts(low, high):
        for start, value in changes(code, first, last):
            starts.append(start)
            codes.append(value)
    return Steps(np.array(starts, np.int64), np.array(codes, convert.code_dtype(run.fmt)))


def _parts(low: int, high: int) -> Iterator[tuple[int, int]]:
    """The first and last pattern of each monotone part of a range: the zeros, the finite numbers, the infinities and
    the NaNs of each sign."""
    for sign in (0, _SIGN):
        for first, last in ((0, 0), (1, _INF - 1), (_INF, _INF), (_INF + 1, _SIGN - 1)):
            a, b = max(low, sign + first), min(high - 1, sign + last)
            if a <= b:
                yield a, b


# -- the comparison ----------------------------------------------------------------------------------------------------


def check(shard: RunShard) -> ShardResult:
    """Run a shard's patterns through `convert.encode` and compare with the oracle's codes."""
    begin = time.perf_counter()
    digest = hashlib.sha256()
    parts = []
    for low, high in _pieces(shard.blocks):
        oracle = steps(shard.run, low, high)
        digest.update(oracle.starts.astype("<i8").tobytes())
        digest.update(oracle.codes.astype("<u4").tobytes())
        parts += [_compare(shard.run, oracle, a, min(a + _CHUNK_SIZE, high)) for a in range(low, high, _CHUNK_SIZE)]
    return combine(parts)._replace(digest=digest.digest(), seconds=time.perf_counter() - begin)


def _pieces(blocks: range) -> Iterator[tuple[int, int]]:
    """The ranges of patterns of some blocks: a single range if the blocks are adjacent."""
    if blocks.step == 1:
        yield blocks.start * BLOCK, blocks.stop * BLOCK
    else:
        for block in blocks:
            yield block * BLOCK, (block + 1) * BLOCK


def _compare(run: ConversionRun, oracle: Steps, low: int, high: int) -> ShardResult:
    inputs = _inputs(low, high)
    words = None if run.word is None else np.full(inputs.shape, run.word, np.uint64)
    codes = convert.encode(inputs, run.fmt, run.policy, words)
    expected = oracle.expected(low, high)
    if np.array_equal(codes, expected):
        return ShardResult(inputs.size, 0, ())
    wrong = np.flatnonzero(codes != expected)
    first = tuple(CodeMismatch(low + i, int(expected[i]), int(codes[i])) for i in wrong[:MAX_SHOWN].tolist())
    return ShardResult(inputs.size, wrong.size, first)


def _inputs(low: int, high: int) -> NDArray[Any]:
    patterns = np.arange(high - low, dtype=np.uint32)
    patterns += np.uint32(low)
    return patterns.view(np.float32)
