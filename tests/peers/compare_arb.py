"""Functions against Arb, without sampling: `python tests/peers/compare_arb.py small`, `half` or `wide`.

For each operand, or pair, Arb's balls say with certainty that the oracle's exact result is the function's (balls.py):
exact, or cut to a prefix with a sticky bit. Every rounding under every overflow rule must then be that number's, by
the definition of rounding (definition.py): the evaluated code and its flags.

small: every format of up to 8 bits, every operand; every pair of formats of up to 6 bits, and of some of 8.
half: every operand of fp16 and bf16. wide: a sample of fp32, fp64 and others.
values: three results of each function at 200 bits, beside Arb's, and MPFR's where it has the function.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1] / "support")]

import balls
import definition
import gmpy2

from softfloat_ref.golden.cases import random_cases
from softfloat_ref.oracle import reals
from softfloat_ref.oracle.codec import decoder, encoder, to_value
from softfloat_ref.oracle.exact import Value, finite
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.literals import parse_number, shortest
from softfloat_ref.oracle.operations import OPERATIONS, Signature, context, evaluator, signature, unrounded
from softfloat_ref.oracle.policies import Policy, rounding_name

P3109 = [f"binary{k}p{p}{s}{d}" for k in range(3, 9) for s in "su" for d in "ef" for p in range(1, k + (s == "u"))]
SMALL = [f for f in CATALOGUE.values() if f.width <= 8] + [get_format(n) for n in P3109]
PAIRED = ("fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "binary8p4se", "binary8p3sf")
FUNCTIONS = [name for name, row in OPERATIONS.items() if row.curve]
FIVE = ("rne", "rna", "rtz", "rup", "rdn")
NEAREST = ("rne", *FIVE[1:], "rto", "rnu", "rhz")
STOCHASTIC = ("sr", "sr-b", "sr-c")
SATURATIONS = ("sat-none", "sat-propagate", "sat-finite")
WORD_BITS = 3


class Count(NamedTuple):
    """Operands whose exact result Arb confirmed, results compared, and those that were wrong."""

    operands: int = 0
    results: int = 0
    wrong: int = 0


def policies(roundings: Iterable[str]) -> list[Policy]:
    return [
        Policy(mode, overflow, sr_bits=WORD_BITS if mode.startswith("sr") else None)
        for mode in roundings
        for overflow in SATURATIONS
    ]


def compare(sig: Signature, cases: Iterable[Sequence[int]], tried: Sequence[Policy]) -> Count:
    """Exact results against Arb; evaluated ones, under each policy, against the definition."""
    name, formats, out = sig.operation.name, sig.formats, sig.out
    decoders = [decoder(f) for f in formats]
    compute = unrounded(sig, Policy("sr", sr_bits=WORD_BITS))
    runs = [(p, evaluator(sig, p), Definition(out, p)) for p in tried]
    operands = results = wrong = 0
    for number, codes in enumerate(cases):
        values = [decode(code) for decode, code in zip(decoders, codes, strict=True)]
        value, raised = compute(codes, 0)
        if not confirmed(name, values, value):
            print(f"wrong: {name} {[f.name for f in formats]} {[f'{c:x}' for c in codes]}: {value}")
            wrong += 1
            continue
        operands += 1
        for policy, run, rounded in runs:
            word = number % (1 << WORD_BITS) if policy.random_count else 0
            code, flags = rounded(value, word)
            if run(codes, word) != (code, flags | raised):
                print(f"wrong: {name} {out.name} {rounding_name(policy.rounding)} {[f'{c:x}' for c in codes]}")
                wrong += 1
            results += 1
    return Count(operands, results, wrong)


def confirmed(name: str, values: Sequence[Value], value: Value) -> bool:
    """Whether Arb agrees. Infinities, NaNs, poles at zero and pairs with a zero have tests of their own."""
    numbers, zeros = all(x.is_finite for x in values), any(x.is_zero for x in values)
    if not numbers or (zeros and (len(values) > 1 or not value.is_finite)):
        return True
    if not value.is_finite:
        return value.is_inf or not balls.is_defined(name, values)
    return balls.is_right(name, values, value)


class Definition:
    """How a result is rounded: to a small format by the list of its values, to a wide one by `encode`."""

    def __init__(self, fmt: Format, policy: Policy) -> None:
        self.fmt, self.mode = fmt, rounding_name(policy.rounding)
        self.n = policy.random_count
        self.encode = encoder(fmt, policy)
        self.small = fmt.width <= 8 and fmt.zero
        self.lines = [definition.Line.of(fmt, bool(sign)) for sign in (0, 1)] if self.small else []
        overflow = str(policy.overflow_for(fmt))
        flags = 0x10 if fmt.is_integer else 0x05
        self.past = [(definition.past_the_end(fmt, overflow, self.mode, bool(s)), flags) for s in (0, 1)]

    def __call__(self, value: Value, word: int) -> tuple[int, int]:
        if not self.small or not value.is_finite or not value.significand:
            return self.encode(value, word)
        exponent = max(min(value.exponent, 1 << 12), -1 << 12)
        x = gmpy2.mpq(2 * value.significand + value.sticky) * gmpy2.mpq(2) ** (exponent - 1)
        negative = bool(value.sign)
        found = definition.expected(x, negative, self.lines[negative], self.fmt, self.mode, self.n, word)
        return self.past[negative] if found[0] == definition.UNBOUNDED else found


def every(formats: Sequence[Format]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(1 << f.width) for f in formats))


# -- the runs ----------------------------------------------------------------------------------------------------------


def small(name: str) -> Iterator[tuple[str, int, Count]]:
    """Every format of up to 8 bits, in 11 roundings and 3 saturations; of pairs, up to 5 bits, and one policy above."""
    arity, full = OPERATIONS[name].arity, policies((*NEAREST, *STOCHASTIC))
    for fmt in SMALL:
        sig = signature(name, fmt)
        if arity == 1:
            yield "up to 8 bits", len(full), compare(sig, every(sig.formats), full)
        elif fmt.width <= 5:
            yield "up to 5 bits", len(full), compare(sig, every(sig.formats), full)
        elif fmt.width == 6 or fmt.name in PAIRED:
            yield "6 bits, some of 8", 1, compare(sig, every(sig.formats), [Policy()])


def half(name: str) -> Iterator[tuple[str, int, Count]]:
    """Every operand of 16 bits, in the five roundings; of pairs, 65536 of each format."""
    for fmt in ("fp16", "bf16"):
        sig = signature(name, fmt)
        cases = every(sig.formats) if len(sig.formats) == 1 else random_cases(sig.formats, 1, 1 << 16)
        yield fmt, len(FIVE), compare(sig, cases, [Policy(mode) for mode in FIVE])


WIDE = (("fp32",), ("fp64",), ("fp128",), ("tf32",), ("fp8_e4m3", "fp32"), ("fp32", "bf16"))


def wide(name: str, count: int = 20000) -> Iterator[tuple[str, int, Count]]:
    """Random operands of wider and mixed formats, in the five roundings."""
    for formats in WIDE:
        sig = signature(name, [formats[0]] * OPERATIONS[name].arity, formats[-1])
        most = count // 20 if sig.out.width > 64 else count
        yield (
            " to ".join(formats),
            len(FIVE),
            compare(sig, random_cases(sig.formats, 1, most), [Policy(mode) for mode in FIVE]),
        )


RUNS = {"small": small, "half": half, "wide": wide}


# -- three values of each ----------------------------------------------------------------------------------------------

SHOWN = ("0x1.4p-1", "0x1.9p+0", "-0x1.8p-2", "0x1.5p+2")
DIGITS = 40
VALUE_BITS = 200


def values(*names: str) -> int:
    """Print three results of each function, and whether the digits of all three libraries agree."""
    different = 0
    for name in names or FUNCTIONS:
        for given in [v for v in operand_tuples(name) if balls.is_defined(name, v)][:3]:
            ours, arb, mpfr = ours_at(name, given), arb_at(name, given), mpfr_at(name, given)
            different += ours != arb or mpfr not in ("", ours)
            shown = ", ".join(shortest(x) for x in given)
            beside = f"Arb {'same' if arb == ours else arb}   MPFR {'same' if mpfr == ours else mpfr or '-'}"
            print(f"{name + '(' + shown + ')':26}{ours:>{DIGITS + 8}}   {beside}")
    return int(different > 0)


def operand_tuples(name: str) -> list[tuple[Value, ...]]:
    """Operands to be shown, as many as the function takes, of different sizes and signs."""
    found = [to_value(parse_number(text), VALUE_BITS) for text in SHOWN]
    arity = OPERATIONS[name].arity
    return [tuple(found[(i + k) % len(found)] for k in range(arity)) for i in range(len(found))]


def ours_at(name: str, given: Sequence[Value]) -> str:
    """The oracle's exact result, or its first 200 bits, in decimal digits."""
    row = OPERATIONS[name]
    ctx = context(signature(row, ["fp32"] * row.arity), Policy())._replace(bits=VALUE_BITS)
    return f"{reals.number(row.function(ctx, *given)[0]._replace(sticky=0)):.{DIGITS}e}"


def arb_at(name: str, given: Sequence[Value]) -> str:
    """Arb's, from the middle of a ball."""
    middle = balls.evaluated(name, given, VALUE_BITS + 40).mid()
    significand, exponent = middle.man_exp()
    size = finite(int(significand < 0), abs(int(significand)), int(exponent))
    return f"{reals.number(size):.{DIGITS}e}"


def mpfr_at(name: str, given: Sequence[Value]) -> str:
    """MPFR's own function, if it has one of that name."""
    function = getattr(gmpy2.context(precision=VALUE_BITS), name, None)
    return "" if function is None else f"{function(*map(reals.number, given)):.{DIGITS}e}"


def main(which: str, *names: str) -> int:
    """Print a row for each function and group of formats."""
    if which == "values":
        return values(*names)
    print(f"{'function':11}{'formats':20}{'policies':>9}{'operands':>11}{'results':>11}{'wrong':>7}{'seconds':>9}")
    total = Count()
    for name in names or FUNCTIONS:
        groups: dict[tuple[str, int], Count] = {}
        start = time.process_time()
        for group, number, found in RUNS[which](name):
            before = groups.get((group, number), Count())
            groups[group, number] = Count(*map(sum, zip(before, found, strict=True)))
        for (group, number), count in groups.items():
            row = f"{name:11}{group:20}{number:9}{count.operands:11}{count.results:11}{count.wrong:7}"
            print(f"{row}{time.process_time() - start:9.0f}", flush=True)
            total = Count(*map(sum, zip(total, count, strict=True)))
    print(f"{'all':40}{total.operands:11}{total.results:11}{total.wrong:7}")
    return int(total.wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
