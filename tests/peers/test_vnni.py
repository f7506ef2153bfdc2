"""The processor's own dot products of integers, where it has AVX512-VNNI: every lane, bit for bit; VPMADDUBSW, too."""

from __future__ import annotations

import platform
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
import volume

from softfloat_ref.units import IntegerDotUnit

CASES = volume.cases(4_000, 100_000)
COMPILER = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)
CPU = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="needs an x86-64 processor"),
    pytest.mark.skipif(not {"avx512_vnni", "avx512vl"} <= set(CPU), reason="needs AVX512-VNNI"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler (gcc, cc or clang)"),
]

# Intrinsic, formats, accumulator, elements: of 32 bits of a and b.
INSTRUCTIONS = {
    "_mm_dpbusd_epi32(c, a, b)": ("a=u8,b=i8,c=i32", "wrap", 4),
    "_mm_dpbusds_epi32(c, a, b)": ("a=u8,b=i8,c=i32", "saturate", 4),
    "_mm_dpwssd_epi32(c, a, b)": ("a=i16,b=i16,c=i32", "wrap", 2),
    "_mm_dpwssds_epi32(c, a, b)": ("a=i16,b=i16,c=i32", "saturate", 2),
    "_mm_and_si128(_mm_maddubs_epi16(a, b), _mm_set1_epi32(0xffff))": ("a=u8,b=i8,c=i16", "saturate", 2),
}
PROGRAM = """
/* Four cases a time on stdin, each three words: a, b, c; answered by four words. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    uint32_t in[12], x[4], y[4], z[4], out[4];
    int instruction = atoi(argv[argc - 1]);
    while (fread(in, sizeof in, 1, stdin) == 1) {
        for (int i = 0; i < 4; i++) {
            x[i] = in[3 * i];
            y[i] = in[3 * i + 1];
            z[i] = in[3 * i + 2];
        }
        __m128i a = _mm_loadu_si128((__m128i *)x), b = _mm_loadu_si128((__m128i *)y), c = _mm_loadu_si128((__m128i *)z);
        __m128i d = c;
        switch (instruction) {
CASES
        }
        _mm_storeu_si128((__m128i *)out, d);
        fwrite(out, sizeof out, 1, stdout);
    }
    return 0;
}
"""
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vnni")
    cases = "\n".join(f"        case {i}: d = {text}; break;" for i, text in enumerate(INSTRUCTIONS))
    (folder / "vnni.c").write_text(PROGRAM.replace("CASES", cases))
    assert COMPILER
    options = ["-O1", "-mavx512vnni", "-mavx512vl", "-mssse3"]
    subprocess.run([COMPILER, *options, "-o", "vnni", "vnni.c"], cwd=folder, check=True)
    return folder / "vnni"


def elements(rng: random.Random, width: int, k: int) -> tuple[int, ...]:
    """Any elements, or only ends of the range."""
    mask = (1 << width) - 1
    if rng.random() < 0.5:
        return tuple(rng.choice(EXTREMES) & mask for _ in range(k))
    return tuple(rng.getrandbits(width) for _ in range(k))


@pytest.mark.parametrize("number", range(len(INSTRUCTIONS)), ids=[x.split("(")[0] for x in INSTRUCTIONS])
def test_instruction(number: int, program: Path) -> None:
    fmt, acc, k = [*INSTRUCTIONS.values()][number]
    unit, rng = IntegerDotUnit.make(fmt, acc=acc, k=k), random.Random(number)
    lines = []
    for _ in range(CASES // 4 * 4):
        c = rng.choice(
            (*EXTREMES, rng.getrandbits(32), 0x7FFFFFFF - rng.getrandbits(16), 0x80000000 | rng.getrandbits(16))
        )
        lines.append((*elements(rng, unit.a.width, k), *elements(rng, unit.b.width, k), c if unit.c.width == 32 else 0))

    def packed(codes: tuple[int, ...], width: int) -> int:
        return sum(x << width * i for i, x in enumerate(codes))

    words = [
        w for x in lines for w in (packed(x[:k], unit.a.width), packed(x[k : 2 * k], unit.b.width), x[-1])
    ]  # fmt: skip
    done = subprocess.run(
        [program, str(number)], input=struct.pack(f"={len(words)}I", *words), capture_output=True, check=True
    )
    results = struct.unpack(f"={len(lines)}I", done.stdout)
    beyond = 0
    for line, got in zip(lines, results, strict=True):
        result, flags = unit.answer(line)
        assert result == got, [*map(hex, line)]
        beyond += bool(flags)
    assert beyond > CASES // 100
