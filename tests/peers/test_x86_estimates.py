"""The processor's own VRCP14, VRSQRT14, RCPPS and RSQRTPS against the rows of the table, bit for bit.

With SOFTFLOAT_FULL=1 all 2^32 operands of fp32; else one in some thousands, with both ends of every binade. RCPPS and
RSQRTPS are those of Zen 4, and compared on such a processor only.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import volume

from softfloat_ref.arrays.operations import evaluate
from softfloat_ref.oracle.policies import get_policy

STEP = volume.cases(4093, 1)  # between operands
CHUNK = 1 << 22
COMPILER = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)
INFO = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
CPU = set(INFO.split())
ZEN4 = "AuthenticAMD" in CPU and "cpu family\t: 25" in INFO and any(f"model\t\t: {m}" in INFO for m in (17, 97, 116))

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="needs an x86-64 processor"),
    pytest.mark.skipif(not {"avx512f", "avx512vl"} <= CPU, reason="needs AVX-512"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler (gcc, cc or clang)"),
]

PROGRAM = """
/* usage: program INSTRUCTION MXCSR < operands > results. */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
int main(int argc, char **argv) {
    static uint8_t in[64 << 10];
    int which = atoi(argv[1]);
    size_t size;
    _mm_setcsr((unsigned)strtoul(argv[argc - 1], 0, 16));
    while ((size = fread(in, 1, sizeof in, stdin)) > 0) {
        for (size_t i = 0; i < size; i += 16) {
            __m128 x = _mm_loadu_ps((float *)(in + i)), r = x;
            switch (which) {
            case 0: r = _mm_rcp14_ps(x); break;
            case 1: r = _mm_rsqrt14_ps(x); break;
            case 2: r = _mm_rcp_ps(x); break;
            case 3: r = _mm_rsqrt_ps(x); break;
            case 4: r = _mm_castpd_ps(_mm_rcp14_pd(_mm_castps_pd(x))); break;
            case 5: r = _mm_castpd_ps(_mm_rsqrt14_pd(_mm_castps_pd(x))); break;
            }
            _mm_storeu_ps((float *)(in + i), r);
        }
        fwrite(in, 1, size, stdout);
    }
    return _mm_getcsr() & 0x3D;
}
"""
OPERATIONS = ("vrcp14", "vrsqrt14", "rcpps_zen4", "rsqrtps_zen4")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("estimates")
    (folder / "e.c").write_text(PROGRAM)
    assert COMPILER
    subprocess.run([COMPILER, "-O1", "-mavx512f", "-mavx512vl", "-o", "e", "e.c"], cwd=folder, check=True)
    return folder / "e"


def compare(program: Path, which: int, op: str, operands: np.ndarray, fmt: str, mxcsr: int = 0x1F80) -> int:
    """Compare one part; the number of operands."""
    given = [str(program), str(which), f"{mxcsr:x}"]
    done = subprocess.run(given, input=operands.tobytes(), capture_output=True, check=True)  # a flag would be its code
    got = np.frombuffer(done.stdout, operands.dtype)
    policy = get_policy("x86-sse", flush_inputs=bool(mxcsr & 0x40), flush_outputs=mxcsr >= 0x8000)
    expected = evaluate(op, [operands], fmt, policy=policy)
    wrong = np.flatnonzero(got != expected)
    assert not wrong.size, [hex(int(x[wrong[0]])) for x in (operands, got, expected)]
    return operands.size


def singles() -> np.ndarray:
    """Both ends of each binade, powers of two, and zeros and subnormals of every length."""
    fields = np.arange(512, dtype=np.uint32) << 23
    near = [fields + d for d in (0, 1, 0x7F, 0x80, 0x3FFFFF, 0x400000, 0x7FFFFF)]
    small = [np.uint32(1) << np.arange(23, dtype=np.uint32), (np.uint32(1) << np.arange(23, dtype=np.uint32)) - 1]
    found = np.concatenate([*near, *small])
    return np.resize(found, found.size + -found.size % 4)


@pytest.mark.parametrize("which", range(4), ids=OPERATIONS.__getitem__)
def test_every_single(which: int, program: Path) -> None:
    if which >= 2 and not ZEN4:
        pytest.skip("needs an AMD processor of Zen 4")
    compared = compare(program, which, OPERATIONS[which], singles(), "fp32")
    for start in range(0, 1 << 32, CHUNK * STEP):
        operands = np.arange(start, min(start + CHUNK * STEP, 1 << 32), STEP, dtype=np.uint64).astype(np.uint32)
        compared += compare(program, which, OPERATIONS[which], operands[: operands.size // 4 * 4], "fp32")
    assert compared >= (1 << 32) // STEP - 4


@pytest.mark.parametrize("which", range(2), ids=OPERATIONS.__getitem__)
def test_flushing(which: int, program: Path) -> None:
    for mxcsr in (0x1FC0, 0x9F80, 0x9FC0, 0x7F80):
        compare(program, which, OPERATIONS[which], singles(), "fp32", mxcsr)


@pytest.mark.parametrize("which", range(2), ids=OPERATIONS.__getitem__)
def test_doubles(which: int, program: Path) -> None:
    rng = np.random.default_rng(7)
    shifted = rng.integers(0, 1 << 63, 20_000, dtype=np.uint64) >> rng.integers(0, 60, 20_000).astype(np.uint64)
    fields = np.arange(1 << 12, dtype=np.uint64) << np.uint64(52)
    parts = [rng.integers(0, 1 << 63, 80_000, dtype=np.uint64), shifted, fields, fields | np.uint64(1)]
    compare(program, which + 4, OPERATIONS[which], np.concatenate(parts), "fp64")
