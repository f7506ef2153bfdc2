"""Arm's estimates and their refinement steps against QEMU: results and cumulative flags, in each rounding of FPCR, with
and without flushing.

QEMU computes them by its own code. FPCR.AH and FPCR.DN are 0: NaN operands are passed on, quieted.
"""

from __future__ import annotations

import itertools
import random
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import volume

from softfloat_ref.golden.cases import crossed, random_cases
from softfloat_ref.oracle.operations import Signature, evaluator, signature
from softfloat_ref.oracle.policies import get_policy

CASES = volume.cases(4_000, 1_200_000)  # per instruction, over the 8 states of FPCR
ASSEMBLER, QEMU = "aarch64-linux-gnu-as", "qemu-aarch64"
pytestmark = [
    pytest.mark.sim,
    pytest.mark.skipif(shutil.which(ASSEMBLER) is None, reason="needs an Arm assembler (binutils-aarch64-linux-gnu)"),
    pytest.mark.skipif(shutil.which(QEMU) is None, reason="needs QEMU for Arm (qemu-user)"),
]
REGISTERS = {"fp16": "h", "fp32": "s", "fp64": "d"}
WORDS = {"urecpe": "v0.2s, v1.2s", "ursqrte": "v0.2s, v1.2s"}
OPERATIONS = [(op, fmt) for op in ("frecpe", "frsqrte", "frecpx", "frecps", "frsqrts") for fmt in REGISTERS]

PROGRAM = """
/* Records on stdin, FPCR a b of 64 bits each; answered by result and FPSR. */
    .arch armv8.2-a+fp16
    .globl _start
_start:
    ldr x19, =buffer
    mov x20, x19
1:  mov x0, #0
    mov x1, x20
    mov x2, #0x100000
    mov x8, #63
    svc #0
    add x20, x20, x0
    cbnz x0, 1b
    mov x21, x19
    mov x22, x19
2:  cmp x21, x20
    b.hs 3f
    ldp x1, x2, [x21]
    ldr x3, [x21, #16]
    msr fpcr, x1
    msr fpsr, xzr
    fmov d1, x2
    fmov d2, x3
    movi v0.2d, #0
    INSTRUCTION
    mrs x4, fpsr
    fmov x5, d0
    stp x5, x4, [x22], #16
    add x21, x21, #24
    b 2b
3:  mov x0, #1
    mov x1, x19
    sub x2, x22, x19
    mov x8, #64
    svc #0
    add x19, x19, x0
    cmp x19, x22
    b.lo 3b
    mov x0, #0
    mov x8, #93
    svc #0
    .bss
buffer: .skip 0x4000000
"""
ROUNDINGS = ("rne", "rup", "rdn", "rtz")  # in the order of FPCR.RMode
FLAGS = {0x01: 0x10, 0x02: 0x08, 0x04: 0x04, 0x08: 0x02, 0x10: 0x01}  # FPSR's: this project's


def instruction(op: str, fmt: str, arity: int) -> str:
    letter = REGISTERS.get(fmt, "")
    operands = WORDS.get(op) or ", ".join(f"{letter}{i}" for i in range(arity + 1))
    return f"{op} {operands}"


def built(folder: Path, text: str) -> Path:
    (folder / "p.s").write_text(PROGRAM.replace("INSTRUCTION", text))
    subprocess.run([ASSEMBLER, "-o", "p.o", "p.s"], cwd=folder, check=True)
    subprocess.run([ASSEMBLER[:-2] + "ld", "-o", "p", "p.o"], cwd=folder, check=True)
    return folder / "p"


def ask(program: Path, fpcr: int, cases: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    words = [x for case in cases for x in (fpcr, *case, *(0,) * (2 - len(case)))]
    records = struct.pack(f"<{len(words)}Q", *words)
    done = subprocess.run([QEMU, "-cpu", "max", program], input=records, capture_output=True, check=True)
    return struct.iter_unpack("<QQ", done.stdout)


def cases(sig: Signature, part: int) -> list[tuple[int, ...]]:
    count = CASES // 8
    if len(sig.formats) == 1 and sig.formats[0].width == 16 and count >= 1 << 16:
        return [(code,) for code in range(1 << 16)]
    return [
        *itertools.islice(crossed(sig.formats), part, count // 2 * 8, 8),
        *random_cases(sig.formats, part, count),
        *near_ends(sig, random.Random(part), count // 4),
    ]


def near_ends(sig: Signature, rng: random.Random, count: int) -> Iterator[tuple[int, ...]]:
    """Operands near the ends of the range, where estimates overflow or are subnormal; second ones near 1/a."""
    fmt = sig.formats[0]
    for _ in range(count):
        field = rng.choice((0, 0, 1, 2, (1 << fmt.exponent_bits) - rng.randrange(2, 5)))
        a = field << fmt.mantissa_bits | rng.getrandbits(fmt.mantissa_bits) >> rng.randrange(fmt.mantissa_bits)
        b = ((2 * fmt.bias - field) << fmt.mantissa_bits) % fmt.inf_code + rng.getrandbits(fmt.mantissa_bits)
        yield (a | fmt.sign_bit * rng.getrandbits(1), b | fmt.sign_bit * rng.getrandbits(1))[: len(sig.formats)]


@pytest.mark.full(keep=5)
@pytest.mark.parametrize(("op", "fmt"), OPERATIONS)
def test_instruction(op: str, fmt: str, tmp_path: Path) -> None:
    sig = signature(op, fmt)
    program = built(tmp_path, instruction(op, fmt, len(sig.formats)))
    mask = (1 << sig.out.width) - 1
    for part, ((mode, rounding), flush) in enumerate(itertools.product(enumerate(ROUNDINGS), (0, 1))):
        policy = get_policy("arm", rounding=rounding, flush_inputs=bool(flush), flush_outputs=bool(flush))
        run, given = evaluator(sig, policy), cases(sig, part)
        fpcr = mode << 22 | flush << (19 if fmt == "fp16" else 24)
        for case, (result, fpsr) in zip(given, ask(program, fpcr, given), strict=True):
            expected = result & mask, sum(ours for theirs, ours in FLAGS.items() if fpsr & theirs)
            assert run(case, 0) == expected, (op, policy, [*map(hex, case)], *map(hex, expected))


@pytest.mark.parametrize("op", WORDS)
def test_words(op: str, tmp_path: Path) -> None:
    """Every value of the nine bits that decide, with various bits below."""
    program = built(tmp_path, instruction(op, "u32", 1))
    low = (0, 1, 0x7FFFFF, 0x400000, 0x2AAAAA)
    given = [(top << 23 | x,) for top in range(1 << 9) for x in low]
    run = evaluator(signature(op, "u32"), get_policy("arm"))
    assert [run(case, 0)[0] for case in given] == [x & 0xFFFFFFFF for x, _ in ask(program, 0, given)]
