"""Processors' estimates: their tables, special cases, roundings and flags; arrays; and which estimate a device is.

Every operand against emulators and processors: tests/peers/test_arm_estimates.py, test_x86_estimates.py, and the
self-checking assembly of tests/golden/test_riscv_programs.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from softfloat_ref.arrays.operations import evaluate as evaluate_arrays
from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.operations import OPERATIONS, evaluate
from softfloat_ref.oracle.operations.estimate import Estimate
from softfloat_ref.oracle.operations.estimates import arm, riscv
from softfloat_ref.oracle.operations.interpolation import Interpolation
from softfloat_ref.oracle.policies import get_policy

TABLES = [name for name, row in OPERATIONS.items() if isinstance(row.estimate, Estimate)]
PARABOLAS = [name for name, row in OPERATIONS.items() if isinstance(row.estimate, Interpolation)]
FLOATS = ("fp16", "fp32", "fp64")
# The manual's tables in its order; that of vfrsqrt7 has operands of [2, 4) first.
VFREC7 = """
127 125 123 121 119 117 116 114 112 110 109 107 105 104 102 100 99 97 96 94 93 91 90 88 87 85 84 83 81 80 79 77
76 75 74 72 71 70 69 68 66 65 64 63 62 61 60 59 58 57 56 55 54 53 52 51 50 49 48 47 46 45 44 43
42 41 40 40 39 38 37 36 35 35 34 33 32 31 31 30 29 28 28 27 26 25 25 24 23 23 22 21 21 20 19 19
18 17 17 16 15 15 14 14 13 12 12 11 11 10 9 9 8 8 7 7 6 5 5 4 4 3 3 2 2 1 1 0
"""
VFRSQRT7 = """
52 51 50 48 47 46 44 43 42 41 40 39 38 36 35 34 33 32 31 30 30 29 28 27 26 25 24 23 23 22 21 20
19 19 18 17 16 16 15 14 14 13 12 12 11 10 10 9 9 8 7 7 6 6 5 4 4 3 3 2 2 1 1 0
127 125 123 121 119 118 116 114 113 111 109 108 106 105 103 102 100 99 97 96 95 93 92 91 90 88 87 86 85 84 83 82
80 79 78 77 76 75 74 73 72 71 70 70 69 68 67 66 65 64 63 63 62 61 60 59 59 58 57 56 56 55 54 53
"""
CASES = [
    # op, format, operand, policy, rounding, result, flags
    ("vfrec7", "fp32", 0x3F800000, "riscv", "rne", 0x3F7F0000, 0),
    ("vfrec7", "fp32", 0x80000000, "riscv", "rne", 0xFF800000, 0x08),
    ("vfrec7", "fp32", 0x7F800001, "riscv", "rne", 0x7FC00000, 0x10),
    ("vfrec7", "fp32", 0x001FFFFF, "riscv", "rne", 0x7F800000, 0x05),
    ("vfrec7", "fp32", 0x001FFFFF, "riscv", "rtz", 0x7F7FFFFF, 0x05),
    ("vfrec7", "fp32", 0x801FFFFF, "riscv", "rup", 0xFF7FFFFF, 0x05),
    ("vfrec7", "fp32", 0x801FFFFF, "riscv", "rdn", 0xFF800000, 0x05),
    ("vfrec7", "fp32", 0x00200000, "riscv", "rtz", 0x7F7F0000, 0),
    ("vfrec7", "fp32", 0x7F000000, "riscv", "rne", 0x003FC000, 0),
    ("vfrsqrt7", "fp32", 0x80000000, "riscv", "rne", 0xFF800000, 0x08),
    ("vfrsqrt7", "fp32", 0xBF800000, "riscv", "rne", 0x7FC00000, 0x10),
    ("vfrsqrt7", "fp64", 0x4010000000000000, "riscv", "rne", 0x3FDFE00000000000, 0),
    ("frecpe", "fp16", 0x3C00, "arm", "rne", 0x3BFC, 0),
    ("frecpe", "fp32", 0xFFA00001, "arm", "rne", 0xFFE00001, 0x10),
    ("frsqrte", "fp32", 0x7F800000, "arm", "rne", 0, 0),
    ("urecpe", "u32", 0x7FFFFFFF, "arm", "rne", 0xFFFFFFFF, 0),
    ("urecpe", "u32", 0x80000000, "arm", "rne", 0xFF800000, 0),
    ("ursqrte", "u32", 0x3FFFFFFF, "arm", "rne", 0xFFFFFFFF, 0),
    ("frecpx", "fp32", 0x80000001, "arm", "rne", 0xFF000000, 0),
    ("frecpx", "fp32", 0x40490FDB, "arm", "rne", 0x3F800000, 0),
    ("vrcp14", "fp32", 0x40000000, "x86-sse", "rup", 0x3F000000, 0),
    ("vrcp14", "fp32", 0x00000000, "x86-sse", "rne", 0x7F800000, 0),
    ("vrcp14", "fp32", 0x7F800001, "x86-sse", "rne", 0x7FC00001, 0),
    ("vrsqrt14", "fp32", 0xBF800000, "x86-sse", "rne", 0xFFC00000, 0),
    ("rcpps_zen4", "fp32", 0x3F800000, "x86-sse", "rne", 0x3F7FF000, 0),
    ("rcpps_zen4", "fp32", 0x00000001, "x86-sse", "rne", 0x7F800000, 0),
    ("rsqrtps_zen4", "fp32", 0x40000000, "x86-sse", "rne", 0x3F350000, 0),
]


@pytest.mark.parametrize(("op", "fmt", "code", "policy", "rounding", "result", "flags"), CASES)
def test_cases(op: str, fmt: str, code: int, policy: str, rounding: str, result: int, flags: int) -> None:
    assert evaluate(op, (code,), fmt, policy=get_policy(policy, rounding=rounding)) == (result, flags)


def test_steps() -> None:
    """Infinity times zero is no error here; an exact zero has the sign of the rounding; a NaN a is negated."""
    inf, two, three = 0x7F800000, 0x40000000, 0x40400000
    assert evaluate("frecps", (inf, 0x80000000), "fp32") == (two, 0)
    assert evaluate("frsqrts", (0, inf), "fp32") == (0x3FC00000, 0)
    assert evaluate("frecps", (inf, two), "fp32") == (inf | 0x80000000, 0)
    assert evaluate("frecps", (two, 0x3F800000), "fp32", policy=get_policy(rounding="rdn")) == (0x80000000, 0)
    assert evaluate("frsqrts", (three, 0x3F800000), "fp32") == (0, 0)
    assert evaluate("frecps", (0x7FC00003, 0), "fp32", policy="arm") == (0xFFC00003, 0)
    assert evaluate("frecps", (0, 0x7F800003), "fp32", policy="arm") == (0x7FC00003, 0x10)


def test_the_manual_has_these_tables() -> None:
    assert riscv.reciprocals() == [int(x) for x in VFREC7.split()]
    listed = [int(x) for x in VFRSQRT7.split()]
    assert riscv.roots() == listed[64:] + listed[:64]


def test_arm_counts() -> None:
    """RecipSqrtEstimate as the pseudocode has it, with its loop."""

    def counted(a: int) -> int:
        a = 2 * a + 1 if a < 256 else 2 * (a // 2 * 2 + 1)
        b = 512
        while a * (b + 1) * (b + 1) < 1 << 28:
            b += 1
        return (b + 1) // 2 - 256

    found = arm.roots()
    assert found[256:] == [counted(a) for a in range(256, 512)]
    assert found[:256:2] == found[1:256:2] == [counted(a) for a in range(128, 256)]


@pytest.mark.parametrize("op", TABLES)
def test_errors_are_below_the_promised_bound(op: str) -> None:
    """2^-7 for RISC-V, 2^-8 for Arm, 2^-14, and 1.5 * 2^-12 for RCPPS: at both ends of every entry."""
    e = OPERATIONS[op].estimate
    assert isinstance(e, Estimate)
    bound = {7: 2.0**-7, 8: 2.0**-8, 16: 2.0**-14, 12: 1.5 * 2.0**-12}[e.bits]
    index = np.arange(1 << e.index_bits, dtype=np.uint64) << np.uint64(52 - e.index_bits)
    ends = np.concatenate([index, index | np.uint64((1 << (52 - e.index_bits)) - 1)])
    for exponent in (1023, 1024):
        codes = ends | np.uint64(exponent << 52)
        x, y = (c.view(np.float64) for c in (codes, evaluate_arrays(op, [codes], "fp64").astype(np.uint64)))
        assert np.abs(y * (np.sqrt(x) if e.root else x) - 1).max() < bound


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("policy", ["riscv", "arm", "x86-sse", "ptx"])
@pytest.mark.parametrize("op", TABLES + PARABOLAS)
def test_arrays(op: str, policy: str) -> None:
    """The compiled loop over both ends of each binade, with flushing and each direction of overflow."""
    fields = np.arange(512, dtype=np.uint32) << np.uint32(23)
    parts = [fields + np.uint32(d) for d in (0, 1, 0x200000, 0x400000, 0x400001, 0x7FFFFF)]
    parts += [np.uint32(sign) | np.uint32(1) << np.arange(23, dtype=np.uint32) for sign in (0, 1 << 31)]
    codes = np.tile(np.concatenate(parts), 22)[: 1 << 16]
    kinds: list[dict[str, Any]] = [
        {},
        {"rounding": "rtz", "flush_inputs": True},
        {"rounding": "rup", "flush_outputs": True},
    ]
    for fields_ in kinds:
        given = get_policy(policy, **fields_)
        found, flags = evaluate_arrays(op, [codes], "fp32", policy=given, flags="each")
        for code, got, raised in list(zip(codes, found, flags, strict=True))[:3200:3]:
            assert evaluate(op, (int(code),), "fp32", policy=given) == (got, raised), hex(code)


def test_estimates_in_narrow_formats_are_cut_where_subnormals_end() -> None:
    """bf16 has no bits for the last of a subnormal vfrec7, as Zvfbfa has it: cut, without a flag."""
    assert evaluate("vfrec7", (0x7F7F,), "bf16", policy="riscv") == (0x0020, 0)
    assert evaluate("vfrec7", (0x7F00,), "bf16", policy=get_policy("riscv", rounding="rup")) == (0x003F, 0)
    assert float(decode(0x003F, "bf16")) < 2.0**-127
