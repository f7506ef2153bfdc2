"""check: devices that are functions of arrays, in Python and in a shared library."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command import refused, run

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.rtl.tolerance import CompareNan
from softfloat_ref.testing.check import check_arrays
from softfloat_ref.testing.library import LibraryDevice


def test_arrays() -> None:
    vectors = VectorSet.make("mul", "fp32", 5000)

    def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return (a.view(np.float32) * b.view(np.float32)).view(np.uint32)

    assert check_arrays(vectors, multiply, nan=CompareNan.ANY).passed
    assert not check_arrays(vectors, lambda a, b: multiply(a, b) ^ 1).passed
    assert "shape (1,)" in check_arrays(vectors, lambda a, b: np.array([1])).failure
    assert "neither an array" in check_arrays(vectors, lambda a, b: (a, b, a)).failure
    assert "float64" in check_arrays(vectors, lambda a, b: a * 1.0).failure
    flags = check_arrays(vectors, lambda a, b: (multiply(a, b), a))
    assert "flags of uint32 with" in flags.failure
    signed = check_arrays(vectors, lambda a, b: multiply(a, b).view(np.int32))
    assert re.search(r"results of int32 with -\d+ at index \d+; .* give .view\(np.uint32\)", signed.failure)


LIBRARY = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void sum(size_t n, const uint64_t *a, const uint64_t *b, uint64_t *result) {
    for (size_t i = 0; i < n; i++) {
        uint32_t x = a[i], y = b[i]; float f, g; memcpy(&f, &x, 4); memcpy(&g, &y, 4);
        f += g; memcpy(&x, &f, 4); result[i] = x;
    }
}
#define DEVICE(name, before) \\
void name(size_t n, const uint64_t *a, const uint64_t *b, uint64_t *result, uint8_t *flags) { \\
    static int calls; calls++; before; sum(n, a, b, result); }
DEVICE(add, (void)flags)
DEVICE(talks, (puts("a line that is no answer"), fflush(stdout)))
DEVICE(crashes, if (calls == 2) *(volatile int *)0 = 1)
DEVICE(hangs, while (calls == 2))
DEVICE(leaves, if (calls == 2) exit(7))
DEVICE(some, flags[5] = 0)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lib")
    (folder / "dut.c").write_text(LIBRARY)
    command = ["g++", "-x", "c", "-O1", "-shared", "-fPIC", folder / "dut.c", "-o", folder / "dut.so"]
    subprocess.run(command, check=True)
    return folder / "dut.so"


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", ["add", "talks"])
def test_shared_library(library: Path, name: str) -> None:
    done = run("check", "add", "--fmt", "fp32", "--dut-lib", f"{library}:{name}", "-n", "20000", "--compare-nan", "any")
    assert (done.returncode, done.stdout) == (0, "")
    assert "20000 compared, 0 mismatched" in done.stderr


@pytest.mark.full(keep=2)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("crashes", "after 4096 answers: a call did not return; it died of signal SIGSEGV"),
        ("hangs", "after 4096 answers: a call did not return within 2 s"),
        ("leaves", "after 4096 answers: a call did not return; it ended with exit code 7"),
        ("some", "after 0 answers: it returned flags of uint8 with 255 at index 0; flags are at most 31"),
    ],
)
def test_broken_libraries(library: Path, name: str, message: str) -> None:
    """A library cannot take the check along."""
    args = ["check", "add", "--fmt", "fp32", "-n", "20000", "--compare-nan", "any", "--timeout", "2"]
    done = run(*args, "--dut-lib", f"{library}:{name}")
    assert done.returncode == 1
    assert f"device failure: {message}" in done.stdout


def test_libraries_that_cannot_be_had(library: Path) -> None:
    with pytest.raises(Error, match="undefined symbol"):
        LibraryDevice(f"{library}:sub", 2)
    assert "give PATH.so:FUNCTION" in refused("check", "add", "--fmt", "fp32", "--dut-lib", "x")
    assert "cannot open shared object" in refused("check", "add", "--fmt", "fp32", "--dut-lib", "x.so:y")
    assert "up to 64 bits" in refused("check", "add", "--fmt", "fp128", "--dut-lib", f"{library}:add")
