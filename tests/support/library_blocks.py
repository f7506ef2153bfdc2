"""A compiled library's block quantizers and dequantizers as functions of lists of codes, and blocks to try them on."""

from __future__ import annotations

import ctypes
import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from libraries import STRICT

from softfloat_ref.export.library import library_files, library_policy, write_library
from softfloat_ref.export.library.blocks import LibraryBlock, library_block
from softfloat_ref.oracle.blocks.formats import any_format, get_block_format
from softfloat_ref.oracle.formats import get_format

F32_SPECIALS = (0, 0x80000000, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0xFF7FFFFF)
F32_NOT_NUMBERS = (0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001)


def compiled(texts: dict[str, str], sources: Sequence[str], folder: Path, *options: str, compiler: str = "gcc") -> Any:
    """Some sources of a library as a shared library, with warnings as errors."""
    write_library(folder / "library", texts)
    paths = [str(folder / "library" / name) for name in ("softfloat_state.c", *sources)]
    command = [compiler, *STRICT, *options, "-shared", "-fPIC", *paths, "-o", str(folder / "units.so")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "units.so"))


class CompiledBlock:
    """A block format of a library."""

    def __init__(
        self,
        name: str,
        folder: Path,
        profile: str | None = None,
        options: Sequence[str] = ("-O1",),
        inputs: Sequence[str] = ("fp32",),
        texts: dict[str, str] | None = None,
        **policy: Any,
    ) -> None:
        chosen = library_policy(policy)
        self.own: LibraryBlock = library_block(get_block_format(name), profile, chosen)
        formats = [get_format("fp32"), *(get_format(x) for x in inputs if x != "fp32"), any_format(name)]
        texts = texts or library_files(formats, chosen, profile=profile)
        self.loaded = compiled(texts, [f"{self.own.name}.c"], folder, *options)

    def quantize(
        self,
        values: Sequence[int],
        tensor: int | None = None,
        source: str = "f32",
        storage: int = 4,
        words: Sequence[int] | None = None,
    ) -> tuple[list[int], list[int], list[int]]:
        """Scales, codes and flags; without flags, they are the same."""
        own = self.own
        x = np.array(values, f"u{storage}")
        scales = np.zeros(-(-len(values) // own.size), f"u{own.scale.storage // 8}")
        codes, flags = np.zeros(len(values), f"u{own.element.storage // 8}"), np.zeros(len(values), np.uint8)
        others = scales.copy(), codes.copy()
        random = [] if words is None else [np.array(words, np.uint32)]
        first = [x, *([] if tensor is None else [np.uint32(tensor)])]
        self._call(f"{source}_to_{own.name}", len(values), [*first, scales, codes, *random, flags])
        self._call(f"{source}_to_{own.name}", len(values), [*first, *others, *random, None])
        assert others[0].tolist() == scales.tolist(), "scales without flags"
        assert others[1].tolist() == codes.tolist(), "codes without flags"
        return scales.tolist(), codes.tolist(), flags.tolist()

    def dequantize(self, scales: Sequence[int], codes: Sequence[int], tensor: int | None = None) -> list[int]:
        own, z = self.own, np.zeros(len(codes), np.uint32)
        s, c = np.array(scales, f"u{own.scale.storage // 8}"), np.array(codes, f"u{own.element.storage // 8}")
        self._call(f"{own.name}_to_f32", len(codes), [s, c, *([] if tensor is None else [np.uint32(tensor)]), z])
        values: list[int] = z.tolist()
        return values

    def _call(self, name: str, n: int, arguments: Sequence[Any]) -> None:
        """A structure of 32 bits is passed as an integer on the machines that the tests know."""
        passed = [
            x if x is None else ctypes.c_uint32(int(x)) if x.ndim == 0 else x.ctypes.data_as(ctypes.c_void_p)
            for x in arguments
        ]
        getattr(self.loaded, name)(ctypes.c_size_t(n), *passed)


def blocks_of_codes(size: int, count: int, rng: random.Random) -> Iterator[list[int]]:
    """Blocks of FP32 codes: numbers of close exponents anywhere in the range, with few or many bits; zeros, extremes,
    NaN and Inf among them or alone; short ones."""
    for k in range(count):
        n = size if k % 8 else rng.randint(1, size)
        top = rng.choice((rng.randint(0, 254), rng.randint(100, 150), rng.randint(0, 12), rng.randint(240, 254)))
        block = []
        for _ in range(n):
            exponent = max(0, top - min(rng.getrandbits(5), rng.getrandbits(5)))
            bits = rng.getrandbits(23) & (0x7FFFFF << rng.choice((0, 0, 17, 19, 20, 21, 22)))
            block.append(rng.getrandbits(1) << 31 | exponent << 23 | (bits & 0x7FFFFF))
        for _ in range(rng.choice((0, 0, 1, n // 2))):
            block[rng.randrange(n)] = rng.choice(F32_SPECIALS)
        if k % 5 == 0:
            for _ in range(rng.choice((1, 2, n * 4))):
                block[rng.randrange(n)] = rng.choice(F32_NOT_NUMBERS)
        if k % 17 == 0:
            block = [rng.choice((0, 0x80000000, 1, 0x80000001)) for _ in block]
        yield block
