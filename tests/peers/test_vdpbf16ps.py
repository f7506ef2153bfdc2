"""The processor's own VDPBF16PS, where it has AVX512-BF16: every lane against x86-vdpbf16ps, bit for bit."""

from __future__ import annotations

import os
import platform
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from softfloat_ref.oracle.accumulate import ACCUMULATORS
from softfloat_ref.oracle.accumulate.dots import Operand, accumulate, products, setting
from softfloat_ref.oracle.formats import get_format

CASES = int(os.environ.get("VDPBF16PS_CASES", "60000"))  # 1,200,000 take two minutes
COMPILER = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)
CPU = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="needs an x86-64 processor"),
    pytest.mark.skipif(not {"avx512_bf16", "avx512vl"} <= set(CPU), reason="needs AVX512-BF16"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler (gcc, cc or clang)"),
]

PROGRAM = """
/* Four cases a time on stdin, each three words: a's pair, b's pair, c; answered by four words on stdout. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
int main(void) {
    uint32_t in[12], a[4], b[4], c[4], out[4];
    while (fread(in, sizeof in, 1, stdin) == 1) {
        for (int i = 0; i < 4; i++) {
            a[i] = in[3 * i];
            b[i] = in[3 * i + 1];
            c[i] = in[3 * i + 2];
        }
        __m128 d = _mm_castsi128_ps(_mm_loadu_si128((__m128i *)c));
        d = _mm_dpbf16_ps(d, (__m128bh)_mm_loadu_si128((__m128i *)a), (__m128bh)_mm_loadu_si128((__m128i *)b));
        _mm_storeu_si128((__m128i *)out, _mm_castps_si128(d));
        fwrite(out, sizeof out, 1, stdout);
    }
    return 0;
}
"""
# Zeros, subnormals, the smallest normal, 1, the largest, infinities, quiet and signalling NaNs with payloads.
SPECIAL = (0x0000, 0x0001, 0x007F, 0x0040, 0x0080, 0x0100, 0x3F80, 0x4000, 0x7F00, 0x7F7F, 0x7F80, 0x7FC0, 0x7FC1)
SPECIAL += (0x7F81, 0x7FFF)
Case = tuple[int, int, int, int, int]


def bf16(rng: random.Random) -> int:
    kind, sign = rng.random(), rng.getrandbits(1) << 15
    if kind < 0.3:
        return rng.choice(SPECIAL) | sign
    if kind < 0.6:
        return rng.getrandbits(16)
    middle = rng.choice((127, 62))  # sums that cancel; products about the smallest normal
    return (middle + rng.randrange(-9, 9)) << 7 | rng.getrandbits(7) | sign


def fp32(rng: random.Random) -> int:
    kind, sign = rng.random(), rng.getrandbits(1) << 31
    if kind < 0.3:
        return rng.choice(SPECIAL) << 16 | sign | rng.choice((0, 0, 1, 0x8000, 0xFFFF))
    if kind < 0.6:
        return rng.getrandbits(32)
    return rng.choice((rng.randrange(110, 140), rng.randrange(30))) << 23 | rng.getrandbits(23) | sign


def cases(count: int) -> list[Case]:
    rng = random.Random(count)
    return [(bf16(rng), bf16(rng), bf16(rng), bf16(rng), fp32(rng)) for _ in range(count // 4 * 4)]


def ask(folder: Path, all_cases: list[Case]) -> list[int]:
    """The processor's answers."""
    (folder / "dp.c").write_text(PROGRAM)
    assert COMPILER
    subprocess.run([COMPILER, "-O1", "-mavx512bf16", "-mavx512vl", "-o", "dp", "dp.c"], cwd=folder, check=True)
    words = [w for a0, a1, b0, b1, c in all_cases for w in (a0 | a1 << 16, b0 | b1 << 16, c)]
    done = subprocess.run(
        [folder / "dp"], input=struct.pack(f"={len(words)}I", *words), capture_output=True, check=True
    )
    return list(struct.unpack(f"={len(all_cases)}I", done.stdout))


@pytest.mark.full
def test_instruction(tmp_path: Path) -> None:
    bf, result, unit = get_format("bf16"), get_format("fp32"), ACCUMULATORS["x86-vdpbf16ps"]
    s = setting(Operand(bf, (0, 0)), Operand(bf, (0, 0)), unit, result)
    every = cases(CASES)
    compared = 0
    for (a0, a1, b0, b1, c), expected in zip(every, ask(tmp_path, every), strict=True):
        got = accumulate(s, products(s, Operand(bf, (a0, a1)), Operand(bf, (b0, b1))), c)
        assert got == (expected, 0), [f"{x:x}" for x in (a0, a1, b0, b1, c, expected)]
        compared += 1
    assert compared == CASES // 4 * 4
