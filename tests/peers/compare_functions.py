"""The compiled loop of functions against the scalar oracle: `python tests/peers/compare_functions.py [NAME...] [-n N]`.

N operands of binary32 for each function (a million by default): half of them any codes, half numbers of ordinary size;
each is compared under one of the policies below, codes and flags. It prints a row for each function: operands, how many
the loop left to the oracle, and how many were wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2])]

import numpy as np

from softfloat_ref.arrays.kernels.opcodes import UNKNOWN
from softfloat_ref.arrays.operations import by_oracle, loop_for
from softfloat_ref.oracle.operations import OPERATIONS, signature
from softfloat_ref.oracle.operations.table import Loop
from softfloat_ref.oracle.policies import Policy

NAMES = [name for name, row in OPERATIONS.items() if row.loop is Loop.SEGMENTS]
CHUNK = 50_000
SETTINGS = (
    ("fp32", Policy()),
    ("fp32", Policy("rup")),
    ("bf16", Policy()),
    ("fp8_e4m3", Policy()),
    ("fp32", Policy("rdn")),
    ("fp32", Policy("sr", sr_bits=8)),
    ("fp32", Policy("rtz")),
    ("fp8_e5m2", Policy("rto", "sat-none")),
    ("fp32", Policy("rna", flush_inputs=True, flush_outputs=True)),
    ("fp16", Policy("rtz", tininess="before")),
)


def operands(seed: int, count: int) -> np.ndarray:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal(count // 2).astype(np.float32) * np.float32(4)
    return np.concatenate([rng.integers(0, 1 << 32, count - count // 2), drawn.view(np.uint32).astype(np.int64)])


def compare(op: str, seed: int, count: int) -> tuple[int, int]:
    """How many operands the loop left to the oracle, and how many are wrong."""
    out, policy = SETTINGS[seed % len(SETTINGS)]
    sig, codes = signature(op, "fp32", out), operands(seed, count)
    run = loop_for(sig, policy)
    assert run is not None
    words = np.random.default_rng(seed).integers(0, 1 << policy.random_count, count)
    found, flags = np.empty(count, np.int64), np.empty(count, np.uint8)
    run([codes], words, found, flags)
    wanted, raised = by_oracle(sig, policy, [codes], words if policy.random_count else None)
    left = flags == UNKNOWN
    wrong = np.flatnonzero(~left & ((found != wanted) | (flags != raised)))
    for i in wrong[:3]:
        print(f"wrong: {op} {codes[i]:08x} to {out}, {policy}: {found[i]:x} {flags[i]:02x}")
    return int(left.sum()), len(wrong)


def main() -> int:
    """Print a row for each function."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("-n", type=int, default=1_000_000)
    given = parser.parse_args()
    print(f"{'function':12}{'operands':>12}{'left':>9}{'wrong':>7}{'seconds':>9}")
    every = 0
    for name in given.names or NAMES:
        start, left, wrong = time.process_time(), 0, 0
        for seed in range(-(-given.n // CHUNK)):
            more = compare(name, seed, CHUNK)
            left, wrong = left + more[0], wrong + more[1]
        print(f"{name:12}{(seed + 1) * CHUNK:12}{left:9}{wrong:7}{time.process_time() - start:9.0f}", flush=True)
        every += wrong
    return int(every > 0)


if __name__ == "__main__":
    sys.exit(main())
