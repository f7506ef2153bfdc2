"""The processor's own SSE2, FMA3 and F16C instructions, under every MXCSR: results and flags.

An independent check of the policy x86-sse: DAZ, FTZ (a tiny result becomes zero, underflow and inexact raised),
tininess after rounding, NaN propagation (the first NaN operand, quieted; else the negative "default NaN"), the integer
indefinite, and 0 * Inf + quiet NaN raising nothing. The denormal flag is ignored.

Which NaN an FMA returns depends on its form: the digits name the operands in the order multiplicand, multiplier,
addend, which is also the order of preference (Intel SDM volume 1, table 14-17). Tested is the form whose order is that
of the operation's operands, vfmadd132 a, c, b = a * b + c.
F16C ignores FTZ, and DAZ where it reads half precision; vcvtps2ph takes the rounding from MXCSR.
"""

from __future__ import annotations

import itertools
import platform
import random
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest
import volume

from softfloat_ref.golden.cases import crossed, random_cases
from softfloat_ref.oracle.codec import encode
from softfloat_ref.oracle.exact import finite
from softfloat_ref.oracle.flags import INVALID
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations import evaluate, evaluator, signature
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.oracle.rounding import Rounding

CASES = volume.cases(20_000, 100_000)  # per instruction, over the 16 states of MXCSR

COMPILER = next(filter(None, map(shutil.which, ("gcc", "g++", "cc", "clang"))), None)
CPU = set(Path("/proc/cpuinfo").read_text().split()) if Path("/proc/cpuinfo").exists() else {"sse2"}

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="needs an x86-64 processor"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler (gcc, g++, cc or clang)"),
]


@dataclass(frozen=True)
class Instruction:
    """One instruction as inline assembly on a, b, c (xmm) and n (64-bit integer), and the operation it is."""

    assembly: str
    op: str
    operands: tuple[str, ...]
    out: str | None
    needs: str = "sse2"
    flushes_inputs: bool = True
    flushes_outputs: bool = True
    directed: Rounding | None = None  # the rounding, where it is not MXCSR's


def _instructions() -> Iterator[Instruction]:
    for suffix, fmt in (("ss", "fp32"), ("sd", "fp64")):
        for op in ("add", "sub", "mul", "div"):
            yield Instruction(f"{op}{suffix} %[b], %[a]", op, (fmt, fmt), fmt)
        yield Instruction(f"sqrt{suffix} %[a], %[a]", "sqrt", (fmt,), fmt)
        for name, op in (("fmadd", "fma"), ("fmsub", "fmsub"), ("fnmadd", "fnmsub"), ("fnmsub", "fnmadd")):
            yield Instruction(f"v{name}132{suffix} %[b], %[c], %[a]", op, (fmt, fmt, fmt), fmt, "fma")
        for name, op in (("eq", "eq"), ("lt", "lt"), ("le", "le"), ("unord", "unordered")):
            yield Instruction(f"cmp{name}{suffix} %[b], %[a]", op, (fmt, fmt), None)
        yield Instruction(f"round{suffix} $4, %[a], %[a]", "round_to_integral_exact", (fmt,), fmt, "sse4_1")
        yield Instruction(f"round{suffix} $12, %[a], %[a]", "round_to_integral", (fmt,), fmt, "sse4_1")
        for letter, integer in (("l", "i32"), ("q", "i64")):
            register = "%k[n]" if letter == "l" else "%q[n]"
            yield Instruction(f"cvt{suffix}2si %[a], {register}", "convert", (fmt,), integer)
            yield Instruction(f"cvtt{suffix}2si %[a], {register}", "convert", (fmt,), integer, directed=Rounding.RTZ)
            yield Instruction(f"cvtsi2{suffix}{letter} {register}, %[a]", "convert", (integer,), fmt)
    yield Instruction("cvtss2sd %[a], %[a]", "convert", ("fp32",), "fp64")
    yield Instruction("cvtsd2ss %[a], %[a]", "convert", ("fp64",), "fp32")
    yield Instruction("vcvtps2ph $4, %[a], %[a]", "convert", ("fp32",), "fp16", "f16c", flushes_outputs=False)
    yield Instruction("vcvtph2ps %[a], %[a]", "convert", ("fp16",), "fp32", "f16c", flushes_inputs=False)


INSTRUCTIONS = tuple(x for x in _instructions() if x.needs in CPU)

PROGRAM = """
/* usage: program INSTRUCTION < operands > results: lines of MXCSR a b c, answered by result, MXCSR; 64 bits each. */
#include <emmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int instruction = atoi(argv[argc - 1]);
    uint64_t line[4], answer[2];
    while (fread(line, sizeof line, 1, stdin) == 1) {
        __m128i a = _mm_cvtsi64_si128((long long)line[1]);
        __m128i b = _mm_cvtsi64_si128((long long)line[2]);
        __m128i c = _mm_cvtsi64_si128((long long)line[3]);
        uint64_t n = line[1];
        uint32_t state = (uint32_t)line[0], before = _mm_getcsr();
        switch (instruction) {
CASES
        }
        __asm__ volatile("ldmxcsr %0" : : "m"(before));
        answer[0] = RESULT[instruction] ? n : (uint64_t)_mm_cvtsi128_si64(a);
        answer[1] = state;
        fwrite(answer, sizeof answer, 1, stdout);
    }
    return 0;
}
"""


def source() -> str:
    """The C program: every case loads MXCSR, executes the one instruction and stores MXCSR."""
    cases = "\n".join(
        f'        case {i}: __asm__ volatile("ldmxcsr %[m]\\n\\t{x.assembly}\\n\\tstmxcsr %[m]"'
        ' : [a] "+x"(a), [n] "+r"(n), [m] "+m"(state) : [b] "x"(b), [c] "x"(c)); break;'
        for i, x in enumerate(INSTRUCTIONS)
    )
    to_register = ", ".join(str(int("2si" in x.assembly)) for x in INSTRUCTIONS)
    table = f"static const int RESULT[] = {{{to_register}}};\n"
    return PROGRAM.replace("CASES", cases).replace("int main", table + "\nint main")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cpu")
    (folder / "cpu.c").write_text(source())
    assert COMPILER
    subprocess.run([COMPILER, "-O1", "-o", "cpu", "cpu.c"], cwd=folder, check=True)
    return folder / "cpu"


# -- MXCSR -----------------------------------------------------------------------------------------------------------

ROUNDINGS = (Rounding.RNE, Rounding.RDN, Rounding.RUP, Rounding.RTZ)  # in the order of MXCSR's rounding control
MASKED, FTZ, DAZ = 0x1F80, 0x8000, 0x0040
FLAGS = {0x01: 0x10, 0x04: 0x08, 0x08: 0x04, 0x10: 0x02, 0x20: 0x01}  # MXCSR's: this project's


def states() -> Iterator[tuple[int, Rounding, bool, bool]]:
    for (control, rounding), ftz, daz in itertools.product(enumerate(ROUNDINGS), (False, True), (False, True)):
        yield MASKED | control << 13 | FTZ * ftz | DAZ * daz, rounding, ftz, daz


def flags(mxcsr: int) -> int:
    return sum(ours for theirs, ours in FLAGS.items() if mxcsr & theirs)


# -- cases -----------------------------------------------------------------------------------------------------------


def near_smallest_normal(
    formats: tuple[Format, ...], out: Format, rng: random.Random, count: int
) -> Iterator[tuple[int, ...]]:
    """First operand around the smallest normal of the result, second around one, third zero or tiny."""
    first, *others = formats
    if first.is_integer or out.is_integer:
        return
    smallest, one = encode(finite(0, 1, out.emin), first).bits, encode(1, first).bits
    for _ in range(count):
        around = [jitter(x, first, rng) for x in (smallest, one)]
        around.append(rng.choice((0, 1, 2)) | first.sign_bit * rng.getrandbits(1))
        yield tuple(around[: len(others) + 1])


def jitter(code: int, fmt: Format, rng: random.Random) -> int:
    """A code some way off, at any scale, and of either sign."""
    off = rng.choice((1, -1)) * rng.getrandbits(rng.randrange(fmt.mantissa_bits))
    return max(code + off, 0) | fmt.sign_bit * rng.getrandbits(1)


@lru_cache(maxsize=16)  # the next instruction of the same formats asks for the same ones
def cases(formats: tuple[Format, ...], out: Format, number: int) -> list[tuple[int, ...]]:
    """A part of the crossed special codes, cases around the smallest normal, and random ones."""
    count = CASES // 16
    return [
        *itertools.islice(crossed(formats), number, count // 4 * 16, 16),
        *near_smallest_normal(formats, out, random.Random(number), count // 4),
        *random_cases(formats, number, count),
    ]


def ask(program: Path, instruction: int, mxcsr: int, operands: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
    """The processor's answers: result and MXCSR."""
    rest = (0,) * (3 - len(operands[0]))
    words = [x for case in operands for x in (mxcsr, *case, *rest)]
    lines = struct.pack(f"={len(words)}Q", *words)
    answer = subprocess.run([program, str(instruction)], input=lines, capture_output=True, check=True).stdout
    return list(struct.iter_unpack("=QQ", answer))


def name(number: int) -> str:
    x = INSTRUCTIONS[number]
    return f"{x.assembly.split()[0]}-{x.op}-{x.out or 'boolean'}"


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("number", range(len(INSTRUCTIONS)), ids=name)
def test_instruction(number: int, program: Path) -> None:
    x = INSTRUCTIONS[number]
    sig = signature(x.op, x.operands, x.out)
    mask = (1 << sig.out.width) - 1
    compared = 0
    for part, (mxcsr, rounding, ftz, daz) in enumerate(states()):
        policy = get_policy(
            "x86-sse",
            rounding=rounding if x.directed is None else x.directed,
            flush_inputs=daz and x.flushes_inputs,
            flush_outputs=ftz and x.flushes_outputs,
        )
        run = evaluator(sig, policy)
        operands = cases(sig.formats, sig.out, part)
        for case, (result, state) in zip(operands, ask(program, number, mxcsr, operands), strict=True):
            expected = result & mask, flags(state)
            assert run(case, 0) == expected, (x.assembly, policy, [*map(hex, case)], *map(hex, expected))
            compared += 1
    assert compared >= CASES


@pytest.mark.skipif("fma" not in CPU, reason="needs FMA3")
def test_zero_times_infinity_and_quiet_nan(program: Path) -> None:
    """Invalid in the default policy, not on x86 (the same table; IEEE 754 7.2 c leaves it open)."""
    number = next(i for i, x in enumerate(INSTRUCTIONS) if (x.op, x.out) == ("fma", "fp32"))
    case = 0x00000000, 0x7F800000, 0x7FC00ABC
    [(result, state)] = ask(program, number, MASKED, [case])
    assert (result & 0xFFFFFFFF, flags(state)) == (0x7FC00ABC, 0)
    assert evaluate("fma", case, "fp32", policy="x86-sse") == (0x7FC00ABC, 0)
    assert evaluate("fma", case, "fp32") == (0x7FC00000, INVALID)
