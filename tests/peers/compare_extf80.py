"""Operations of the 80-bit extended format beside another implementation: an x87 processor, or Berkeley SoftFloat.

`python tests/peers/compare_extf80.py x87` builds `extf80_device.c` and compares a million cases;
`python tests/peers/compare_extf80.py softfloat SOURCE` does so with the library of a folder in which SoftFloat's own
makefile was run (build/Linux-x86_64-GCC, the specialization 8086-SSE). The differences are printed by operation and by
what the operands are. Of 999,994 cases on a processor, 728,482 of them of canonical operands, none differed. Of 999,978
cases by SoftFloat none of the 757,550 canonical ones differed; it does not define the others (its section 4.4): it
adds, compares and converts some unnormals, pseudo-denormals and pseudo-infinities as other numbers.
"""

from __future__ import annotations

import itertools
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from softfloat_ref.oracle.codec import decode
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluator, signature
from softfloat_ref.oracle.policies import Policy, get_policy

FORMAT = get_format("extf80")
ONES = (1 << 63) - 1  # of the mantissa field
BIT = 1 << 63  # the integer bit
SIGN = 1 << 79
ROUNDINGS = ("rne", "rtz", "rdn", "rup", "rna", "rto")
SOURCE = Path(__file__).with_name("extf80_device.c")
_X87_FORMATS = ("fp32", "fp64", "i16", "i32", "i64")
_MORE_FORMATS = ("u32", "u64", "fp16", "fp128")
_ARITHMETIC = ("add", "sub", "mul", "div", "sqrt")
_REST = ("rem", "round_to_integral_exact", "eq", "lt", "le", "eq_signaling", "lt_quiet", "le_quiet")
OPERATIONS = {
    **{op: (i, op, "extf80", None) for i, op in enumerate((*_ARITHMETIC, *_REST))},
    **{f"to {f}": (13 + i, "convert", "extf80", f) for i, f in enumerate(_X87_FORMATS)},
    **{f"from {f}": (18 + i, "convert", f, "extf80") for i, f in enumerate(_X87_FORMATS)},
    **{f"to {f}": (23 + i, "convert", "extf80", f) for i, f in enumerate(_MORE_FORMATS)},
    **{f"from {f}": (27 + i, "convert", f, "extf80") for i, f in enumerate(_MORE_FORMATS)},
}


class Device(NamedTuple):
    """A program, the operations and roundings that it has, and the policy that it is compared with."""

    path: Path
    operations: Sequence[str]
    roundings: Sequence[str]
    tininess: Sequence[str]
    policy: str


class Case(NamedTuple):
    """An operation on codes. precision: the rounding precision."""

    op: str
    rounding: str
    precision: int
    tininess: str
    operands: tuple[int, ...]


Answer = tuple[int, int]  # a code and flags
Difference = tuple[Case, Answer, Answer]  # what the oracle says, and the device


def build(folder: Path, softfloat: Path | None = None) -> Path:
    """The program, built by gcc."""
    device = folder / "extf80_device"
    more = []
    if softfloat is not None:
        library = softfloat / "build/Linux-x86_64-GCC/softfloat.a"
        more = [
            "-DSOFTFLOAT",
            "-DSOFTFLOAT_FAST_INT64",
            "-DLITTLEENDIAN",
            f"-I{softfloat / 'source/include'}",
            str(library),
        ]
    subprocess.run(["gcc", "-O1", "-o", str(device), str(SOURCE), *more], check=True)
    return device


def x87(path: Path) -> Device:
    """The processor: it has neither unsigned integers nor fp16 and fp128, and rounds in four ways."""
    others = {f"{way} {f}" for way in ("to", "from") for f in _MORE_FORMATS}
    return Device(path, [op for op in OPERATIONS if op not in others], ROUNDINGS[:4], ("after",), "x87")


def softfloat(path: Path) -> Device:
    """SoftFloat, which has no integers of 16 bits."""
    return Device(
        path, [op for op in OPERATIONS if not op.endswith("i16")], ROUNDINGS, ("after", "before"), "softfloat-8086"
    )


# -- cases -------------------------------------------------------------------------------------------------------------


def magnitudes() -> list[int]:
    """One code of each kind and at each end: canonical ones, pseudo-denormals, unnormals, pseudo-infinities, ..."""
    fractions = (0, 1, ONES, ONES - 1, 1 << 62, (1 << 62) - 1, 0x123456789ABCDEF0, 0x7FF, 0x400, 1 << 39, ONES ^ 0xFF)
    exponents = (0, 1, 2, 0x3FFE, 0x3FFF, 0x4000, 0x403E, 0x7FFD, 0x7FFE, 0x7FFF)
    return [e << 64 | bit | f for e in exponents for f in fractions for bit in (0, BIT)]


def directed() -> Iterator[tuple[int, int]]:
    """Pairs of all of these, of a sign that depends on the pair."""
    for i, (a, b) in enumerate(itertools.product(magnitudes(), repeat=2)):
        yield a | (SIGN if i & 1 else 0), b | (SIGN if i >> 1 & 1 else 0)


def drawn(rng: Random) -> Iterator[tuple[int, int]]:
    """Random pairs: of any exponents, of close ones, and at the ends of the range; with patterns in the significand."""
    while True:
        e = rng.choice((rng.randrange(0x8000), 0x3FFF + rng.randrange(-70, 70), rng.randrange(70), 0x7FFE))
        other = rng.choice((rng.randrange(0x8000), e + rng.randrange(-66, 67), 0x7FFD - e + rng.randrange(-70, 70)))
        yield _code(rng, e), _code(rng, min(max(other, 0), 0x7FFF))


def _code(rng: Random, e: int) -> int:
    fraction = rng.getrandbits(63)
    shape = rng.randrange(6)
    if shape == 1:
        fraction &= ONES << rng.randrange(63) & ONES
    elif shape == 2:
        fraction = ONES ^ 1 << rng.randrange(63)
    elif shape == 3:
        fraction = rng.getrandbits(rng.choice((11, 12, 13, 40, 41)))
    bit = BIT if (e > 0) != (rng.randrange(40) == 0) else 0
    return rng.getrandbits(1) << 79 | e << 64 | bit | fraction


def narrowed(code: int, name: str, rng: Random) -> int:
    """An operand of another format, from random bits; often a number that a pair has too."""
    fmt = get_format(name)
    return rng.choice((rng.getrandbits(fmt.width), code & ((1 << fmt.width) - 1), rng.getrandbits(fmt.width // 2)))


def cases(device: Device, count: int, seed: int = 1) -> Iterator[Case]:
    """So many cases of each operation: directed pairs first in turn with random ones."""
    for k, op in enumerate(device.operations):
        rng = Random(f"{seed} {op}")
        _, name, source, _ = OPERATIONS[op]
        arity = 2 if name not in ("sqrt", "round_to_integral_exact", "convert") else 1
        listed = list(directed())
        rng.shuffle(listed)
        random, chosen = drawn(rng), itertools.cycle(listed)
        for i in range(count):
            a, b = next(chosen if i % 2 else random)
            operands = (a, b)[:arity] if source == "extf80" else (narrowed(a, source, rng),)
            precision = (80, 64, 32)[i // 2 % 3]
            yield Case(
                op,
                device.roundings[(i + k) // 3 % len(device.roundings)],
                precision,
                device.tininess[i // 7 % len(device.tininess)],
                operands,
            )


# -- comparison --------------------------------------------------------------------------------------------------------


def answers(device: Device, rows: Sequence[Case]) -> Iterator[tuple[int, int]]:
    """The result and the flags of each case."""
    packed = b"".join(
        struct.pack("<4B", OPERATIONS[c.op][0], ROUNDINGS.index(c.rounding), c.precision, c.tininess == "before")
        + b"".join(x.to_bytes(16, "little") for x in (*c.operands, 0)[:2])
        for c in rows
    )
    out = subprocess.run([device.path], input=packed, capture_output=True, check=True, timeout=600).stdout
    assert len(out) == 17 * len(rows)
    for i in range(0, len(out), 17):
        yield int.from_bytes(out[i : i + 16], "little"), out[i + 16]


def expected(case: Case, policy: Policy) -> tuple[int, int]:
    """The oracle's answer."""
    _, name, source, out = OPERATIONS[case.op]
    run = evaluator(signature(name, source, out), policy)
    return run(case.operands, 0)


def differences(device: Device, rows: Sequence[Case], **fields: Any) -> Iterator[Difference]:
    """The cases whose answers differ: each with the expected answer and the device's. fields: of the policy."""
    base = get_policy(device.policy, **fields)
    policies: dict[tuple[str, int, str], Policy] = {}
    for case, got in zip(rows, answers(device, rows), strict=True):
        key = case.rounding, case.precision, case.tininess
        if key not in policies:
            policies[key] = base.replace(rounding=key[0], rounding_precision=key[1], tininess=key[2])
        wanted = expected(case, policies[key])
        if wanted != got:
            yield case, wanted, got


def is_canonical(case: Case) -> bool:
    """Whether all operands in the extended format are canonical."""
    return OPERATIONS[case.op][2] != "extf80" or all(map(FORMAT.is_canonical, case.operands))


def kinds(case: Case) -> str:
    """What its operands in the extended format are."""
    return ",".join(kind(x) for x in case.operands) if OPERATIONS[case.op][2] == "extf80" else "other"


def kind(code: int) -> str:
    """What a code is."""
    e, bit, fraction = code >> 64 & 0x7FFF, code & BIT, code & ONES
    if FORMAT.is_canonical(code):
        value = decode(code, FORMAT)
        return "snan" if value.signaling else "nan" if value.is_nan else "inf" if value.is_inf else "number"
    if bit:
        return "pseudo-denormal"
    if e < 0x7FFF:
        return "unnormal" if fraction else "pseudo-zero"
    return "pseudo-nan" if fraction else "pseudo-infinity"


def main(args: Sequence[str]) -> None:
    """Compare, and print the differences by operation and kinds of operands."""
    peer, count = args[0], int(args[-1]) if args[-1].isdigit() else 10**6
    with tempfile.TemporaryDirectory() as folder:
        device = x87(build(Path(folder))) if peer == "x87" else softfloat(build(Path(folder), Path(args[1])))
        compared, canonical = 0, 0
        counted: Counter[tuple[str, str]] = Counter()
        example: dict[tuple[str, str], str] = {}
        for op in device.operations:
            rows = list(cases(device._replace(operations=[op]), count // len(device.operations)))
            compared += len(rows)
            canonical += sum(map(is_canonical, rows))
            for case, wanted, got in differences(device, rows):
                key = case.op, kinds(case)
                counted[key] += 1
                shown = " ".join(f"{x:020x}" for x in case.operands)
                example.setdefault(
                    key,
                    f"{case.rounding} {case.precision} {case.tininess} {shown}: "
                    f"{wanted[0]:x} {wanted[1]:02x}, {peer} {got[0]:x} {got[1]:02x}",
                )
        print(f"{compared} cases, {canonical} of canonical operands, {sum(counted.values())} differences")
        for (op, name), n in sorted(counted.items()):
            print(f"{n:6} {op:24} {name}: {example[op, name]}")


if __name__ == "__main__":
    main(sys.argv[1:])
