"""The rounding functions compile with Numba as they are, and give the same codes and flags: one source, two speeds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.extending import register_jitable

from softfloat_ref.oracle import rounding
from softfloat_ref.oracle.codec import target
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import ROUNDINGS, Policy
from softfloat_ref.oracle.rounding import Target

FORMATS = (
    "fp8_e4m3",
    "fp8_e5m2",
    "fp4_e2m1",
    "fp16",
    "bf16",
    "fp32",
    "e8m0",
    "int8",
    "dlfloat16",
    "binary8p1ue",
    "s1e6m1b46",
    "ue4m3",
)
CASES = 1_000_000
PACKAGE = Path(rounding.__file__).parents[1]


@pytest.fixture(scope="module")
def compiled():  # type: ignore[no-untyped-def]
    """A compiled loop over round_pack. register_jitable marks the functions; it does not replace them."""
    for name in ("cut", "rounds_up", "goes_beyond", "is_tiny", "cut_in_gap", "position", "with_sign", "round_pack"):
        register_jitable(getattr(rounding, name))
    round_pack = rounding.round_pack

    @numba.njit
    def loop(negative, significand, exponent, length, sticky, random_bits, t, codes, flags):  # type: ignore[no-untyped-def]
        for i in range(significand.size):
            codes[i], flags[i] = round_pack(
                negative[i], significand[i], exponent[i], length[i], sticky[i], random_bits[i], t
            )

    return loop


@pytest.mark.full
def test_a_million_inputs(compiled) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(1)
    policies = [
        Policy(m, o, tininess=t, sr_bits=8 if m.startswith("sr") else None)
        for m in ROUNDINGS
        for o in ("sat-none", "sat-finite")
        for t in ("after", "before")
    ]
    targets = [target(get_format(f), p) for f in FORMATS for p in policies]
    targets += [
        target(get_format(f), Policy(flush_outputs=True, flush_rule=x)) for f in FORMATS for x in ("after", "before")
    ]
    share = -(-CASES // len(targets))
    compared = 0
    for t in targets:
        compared += compare(compiled, t, rng, share)
    assert compared >= CASES


def compare(compiled, t: Target, rng: np.random.Generator, n: int) -> int:  # type: ignore[no-untyped-def]
    length = rng.integers(1, 31, n)
    significand = (rng.integers(0, 1 << 30, n) >> (30 - length)) | (1 << (length - 1))
    # Around the target's range, its ends and a little beyond.
    exponent = rng.integers(t.emin - t.mantissa_bits - 6, t.emax + 4, n) - length + 1
    sticky = rng.integers(0, 2, n)
    sticky[length < t.mantissa_bits + t.random_count + 3] = 0
    negative, random_bits = rng.integers(0, 2, n), rng.integers(0, 1 << t.random_count, n)
    codes, flags = np.zeros(n, np.int64), np.zeros(n, np.int64)
    columns = (negative, significand, exponent, length, sticky, random_bits)
    compiled(*columns, t, codes, flags)
    rows = zip(*(c.tolist() for c in columns), strict=True)
    assert [rounding.round_pack(*row, t) for row in rows] == list(zip(codes.tolist(), flags.tolist(), strict=True)), t
    return n


@pytest.mark.full
def test_edited_rounding_functions_are_compiled_anew(tmp_path: Path) -> None:
    """A copy of the package whose rounding.py changes between two runs: the second must not use the first's code."""
    shutil.copytree(PACKAGE, tmp_path / "softfloat_ref", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import numpy as np; from softfloat_ref import arrays; x = np.full(1 << 16, 1.0625, np.float64);"
        "print(int(arrays.encode_flags(x, 'fp8_e4m3')[0][0]))"
    )

    def run() -> str:
        shown = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        return shown.stdout.strip()

    assert run() == "56"
    source = tmp_path / "softfloat_ref" / "oracle" / "rounding.py"
    right, wrong = (f"    if mode == RNE:\n        return discarded > {x}" for x in ("half", "0"))
    assert right in source.read_text()
    source.write_text(source.read_text().replace(right, wrong))
    assert run() == "57"
