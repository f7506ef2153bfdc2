"""The core in seconds: a fixed sample of everything that formats, rounding, codec, operations, scales, policies and
accumulators say, as hashes. The other tests say that the answers are right; this one, that none of them changes
unnoticed: a changed hash is a change of the library's bits, and an entry in the changelog.

`python tests/test_core.py` prints the hashes of this checkout. The mutation tests (`python -m tests.mutants`) run on
this file: it must stay quick, and see every small change.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from softfloat_ref import exact
from softfloat_ref.accumulate import ACCUMULATORS, define_accumulator, dot, get_accumulator, parse_operand_formats
from softfloat_ref.accumulate.grammar import parse_tree, tree_text
from softfloat_ref.accumulate.model import summary
from softfloat_ref.accumulate.probes import PROBES, answer
from softfloat_ref.accumulate.trees import step_of, walk
from softfloat_ref.codec import decode, encode, encoder, needed_bits, target, tf32_from_register, to_value
from softfloat_ref.errors import Error
from softfloat_ref.exact import Value
from softfloat_ref.formats import ALIASES, CATALOGUE, define_format, get_format, p3109
from softfloat_ref.ops import OPERATIONS, evaluate, get_operation, parse_formats, signature
from softfloat_ref.policies import POLICIES, Policy, get_policy
from softfloat_ref.rounding import Rounding, align, round_pack, round_to_unit
from softfloat_ref.scales import SCALE_RULES, get_scale_rule, quotient

Sample = Iterator[object]
SAMPLES: dict[str, Callable[[], Sample]] = {}


def sample(function: Callable[[], Sample]) -> Callable[[], Sample]:
    SAMPLES[function.__name__] = function
    return function


def said(function: Callable[..., object], *args: Any, **more: Any) -> object:
    """What a function returns, or the error's words."""
    try:
        return function(*args, **more)
    except Error as e:
        return f"error: {e}"


ODD = [get_format(f) for f in ("s1e3m0", "s0e4m2", "s1e2m3finite", "s1e3m2fnuz", "s1e4m1fn", "binary4p1se", "binary5p3uf", "binary6p3sf",
                               "binary4p4ue", "i3", "u3", "s1e1m2", "s1e4m3b20", "s0e3m3fn")]  # fmt: skip
ODD += [
    define_format({"like": "fp6_e2m3", "subnormals": "none"}, "no_subnormals"),
    define_format({"like": "fp6_e2m3", "subnormals": "normal"}, "all_normal"),
    define_format({"like": "fp6_e2m3", "subnormals": "normal", "zero": False, "signed": False}, "no_zero"),
    define_format({"like": "e8m0", "overflow": "max"}, "no_zero_max"),
]
FORMATS = [*CATALOGUE.values(), *ODD]
SMALL = [f for f in FORMATS if f.width <= 8]
NAMED = list(POLICIES.values())
MODES = [Policy(m) for m in Rounding if m < Rounding.SR] + [Policy(m, sr_bits=3) for m in Rounding if m >= Rounding.SR]
MORE = [
    *(Policy(m, overflow=o, tininess="before") for m in ("rne", "rtz", "rup", "rto") for o in ("sat-none", "sat-propagate", "sat-finite")),
    *(Policy(m, flush_outputs=True, flush_rule=r) for m in ("rne", "rdn", "rna") for r in ("after", "before")),
    Policy(overflow="sat-narrow"), Policy(nan_missing="zero", integers="x86"), Policy("rna", nan_missing="error", integers="arm"),
    Policy("rdn", nan="propagate", integers="ptx"), Policy("rup", nan="negative", flush_inputs=True), Policy("rtz", nan="ones"),
]  # fmt: skip


def numbers(fmt: Any) -> list[Value]:
    """On and around a format's codes: ends, the smallest normal, ties, and just beside them."""
    found = []
    codes = {fmt.min_code, fmt.min_code + 1, fmt.max_code - 1, fmt.max_code, fmt.min_normal_code, fmt.min_normal_code - 1, fmt.max_code // 2}
    for code in sorted(c for c in codes if 0 <= c <= fmt.max_code):
        s, e = fmt.magnitude(code)
        found += [exact.finite(0, n, e - 3) for n in (8 * s - 4, 8 * s - 1, 8 * s, 8 * s + 1, 8 * s + 3, 8 * s + 4, 8 * s + 5) if n > 0]
    top = exact.finite(0, *fmt.magnitude(fmt.max_code))
    found += [exact.finite(0, 1, exact.top(top) + 1), exact.finite(0, 5, exact.top(top) + 300), exact.finite(0, 1, fmt.emin - fmt.mantissa_bits - 9)]
    return found + [exact.negate(x) for x in found] + SPECIAL


SPECIAL = [
    exact.zero(0), exact.zero(1), exact.inf(0), exact.inf(1), exact.GENERATED, Value(exact.NAN, 1, 5, 10, 0, True),
    Value(exact.NAN, 0, (1 << 51) + 3, 51), Value(exact.NAN, 1, 1, 0), Value(exact.NAN, 0, 0, 6, 0, True),
]  # fmt: skip


# -- formats, policies -------------------------------------------------------------------------------------------------


@sample
def formats() -> Sample:
    for f in FORMATS:
        yield f.to_dict()
        names = [n for n in dir(type(f)) if not n.startswith("_") and not callable(getattr(type(f), n))]
        yield [(n, getattr(f, n)) for n in sorted(names) if n not in {x.name for x in dataclasses.fields(f)}]
        codes = range(1 << f.width) if f.width <= 8 else {0, 1, f.max_code, f.sign_bit, f.inf_code, f.canonical_nan, f.min_normal_code, (1 << f.width) - 1}
        yield [(c, f.is_nan(c), f.hex(c), f.magnitude(c & f.magnitude_mask) if c & f.magnitude_mask <= f.max_code else "") for c in sorted(codes)]
    yield sorted(ALIASES.items())


@sample
def format_names() -> Sample:
    for name in ("s1e5m2", "S1E5M2 ", "s1e5m2b15", "s1e4m3b-3fn", "s0e3m3fnuz", "s1e0m3", "s1e20m256", "s1e21m2", "s1e5m257", "s2e1m1", "i0", "i256",
                 "i257", "u1", "binary3p1se", "binary2p1se", "binary16p16ue", "binary8p9se", "binary8p8sf", "binary8p8uf", "fp8", "fp17", "", "half", 5,
                 "s1e1m0", "s1e1m0fn", "s1e2m0fn", "s0e1m1fn", "s1e1m1finite", "s1e1m1fnuz", "s1e4m3b99999999", "s0e5m2", "s1e2m1fnuz"):  # fmt: skip
        yield name, said(lambda n=name: get_format(n).to_dict())
    for k, p, signed, extended in itertools.product(range(2, 6), range(7), (True, False), (True, False)):
        yield said(lambda *a: p3109(a[0], a[1], signed=a[2], extended=a[3]).to_dict(), k, p, signed, extended)
    good = {"exponent_bits": 4, "mantissa_bits": 3, "bias": 7}
    for change in ({}, {"bias": "x"}, {"bias": True}, {"x": 1}, {"like": "fp16"}, {"signed": 1}, {"nan": "none"}, {"nan": "none", "overflow": "max"},
                   {"nan": "none", "infinity": False, "overflow": "max"}, {"nan": "top", "infinity": False}, {"nan": "top", "overflow": "nan", "infinity": False},
                   {"nan": "odd"}, {"zero": False}, {"zero": False, "subnormals": "normal"}, {"zero": False, "subnormals": "normal", "signed": False},
                   {"twos_complement": True}, {"twos_complement": True, "nan": "none", "infinity": False, "overflow": "max", "exponent_bits": 0},
                   {"signaling": True}, {"mantissa_bits": 0, "signaling": True}, {"mantissa_bits": 1, "signaling": True}, {"mantissa_bits": 2, "signaling": True},
                   {"symmetric": True}, {"nan": "negative-zero", "signed": False}, {"bias": 1 << 30}, {"mantissa_bits": -1}, {"mantissa_bits": 257},
                   {"exponent_bits": 0}, {"exponent_bits": 21}, {"overflow": "x"}, {"subnormals": "none"}, {"subnormals": "odd"}, {"name": "b c"},
                   {"exponent_bits": 1, "mantissa_bits": 0}, {"exponent_bits": 0, "mantissa_bits": 0}):  # fmt: skip
        yield change, said(lambda c=change: define_format({**good, **c}, "a").to_dict())
    for table, name in (({}, None), ({"name": "b"}, None), ({"name": 3}, "a"), ([], None), ("x", "y"), ({"like": "fp16", "bias": 3}, None)):
        yield said(lambda t=table, n=name: define_format(t, n).to_dict())


@sample
def policies() -> Sample:
    for p in (*NAMED, *MODES, *MORE):
        yield p.to_dict(), p.random_count, [str(p.overflow_for(f)) for f in FORMATS]
        yield [said(p.nan_rule.code, f) if f.has_nan else "" for f in FORMATS], p.nan_rule, [p.nan_rule.has_code(f) for f in FORMATS]
    for fields in ({"rounding": "x"}, {"rounding": 3}, {"rounding": "SR"}, {"rounding": "sr", "sr_bits": 0}, {"rounding": "sr", "sr_bits": 64}, {"sr_bits": 65},
                   {"sr_bits": 1}, {"sr_bits": True}, {"nan": "7fc0"}, {"nan": "0x7FC0"}, {"nan": "fp16=7e00,fp32=7fc00001"}, {"nan": "fp16=7c00"}, {"nan": "zz"},
                   {"nan": ""}, {"nan": "fp16="}, {"nan": 0x7FC0}, {"nan": True}, {"nan": -1}, {"nan": "propagate,fp16=7e01"}, {"nan": "propagate,canonical"},
                   {"nan": "propagate-signaling"}, {"flush_inputs": "on"}, {"flush_inputs": 1}, {"flush_outputs": "off"}, {"overflow": "sat"}, {"overflow": None},
                   {"tininess": "x"}, {"integers": "x86"}, {"specials": "p3109"}, {"bare_widening": "x"}, {"x": 1}, {"nan_missing": "zero"}):  # fmt: skip
        yield fields, said(lambda f=fields: get_policy(None, **f).to_dict()), said(lambda f=fields: get_policy("arm").replace(**f).to_dict())
        p = said(lambda f=fields: get_policy(None, **f))
        if isinstance(p, Policy):
            yield said(lambda p=p: p.random_count), [said(p.nan_rule.code, f) if f.has_nan else "" for f in FORMATS[:16]]
            yield [p.nan_rule.has_code(f) for f in FORMATS[:16]]
    for given in ("ieee", "ARM", " x86-sse", "nothing", 3, {"like": "riscv", "rounding": "rtz"}, {"rounding": "x"}, None, Policy("rtz")):
        yield said(lambda g=given: get_policy(g).to_dict()), said(lambda g=given: get_policy(g, tininess="before").to_dict())


# -- rounding, codec ---------------------------------------------------------------------------------------------------


@sample
def targets() -> Sample:
    for f in FORMATS:
        for p in (*NAMED, *MORE, Policy("sr", sr_bits=5)):
            yield target(f, p), needed_bits(f, p)


@sample
def encodings() -> Sample:
    for f in FORMATS:
        values = numbers(f)
        for p in (*MODES, *MORE) if f.width < 33 else (*MODES[:2], *MORE[::5]):
            run = encoder(f, p)
            for i, x in enumerate(values):
                yield said(run, x, i * 5 % 8 if p.random_count else 0)


@sample
def sticky_encodings() -> Sample:
    """Of what was cut: more bits than needed, and a sticky."""
    for f in (*SMALL, get_format("fp16")):
        for p in (*MODES, *MORE[::3]):
            bits = needed_bits(f, p)
            run = encoder(f, p)
            for code in {f.min_code, f.max_code, f.min_normal_code, f.max_code // 2 + 1}:
                for third in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 7), Fraction(1)):
                    s, e = f.magnitude(min(code, f.max_code))
                    x = to_value((s + third) * Fraction(2) ** e, bits)
                    yield x, run(x, 3 if p.random_count else 0), run(exact.negate(x), 6 if p.random_count else 0)


@sample
def whole_small_formats() -> Sample:
    for f in SMALL:
        yield [decode(c, f) for c in range(1 << f.width)]
        yield [encode(decode(c, "fp8_e5m2"), f, p) for p in (None, "ptx", MODES[1]) for c in range(0, 256, 3)]
    for f in FORMATS:
        if f.width > 8:
            edge = [1, f.inf_code, f.sign_bit, f.sign_bit | 1, f.canonical_nan, (1 << f.width) - 1, f.quiet_bit | f.inf_code | f.sign_bit, f.inf_code + 1]
            yield [said(decode, c, f) for c in edge], [str(said(lambda c=c, f=f: float(decode(c, f)))) for c in edge]


@sample
def rounding_pieces() -> Sample:
    for negative, (s, e), mode in itertools.product((0, 1), ((5, -3), (1, 0), (12, -2), (7, -1), (9, 4), (3, -9)), MODES):
        n = mode.random_count
        yield round_to_unit(negative, s, e, s.bit_length(), int(mode.rounding), n, 5 if n else 0)
    for negative, s, e, unit, down in itertools.product((0, 1), (0, 1, 6, 11), (-4, 0, 3), (-5, -1, 0, 2, 9), (0, 1)):
        yield align(negative, s, e, s.bit_length(), unit, down)
    t = target(get_format("fp4_e2m1"), Policy("rto", overflow="sat-none"))
    yield [round_pack(n, s, e, s.bit_length(), k, 0, t) for n in (0, 1) for s in (1, 3, 97) for e in (-9, -1, 2) for k in (0, 1) if s > 50 or not k]


@sample
def conversions() -> Sample:
    from decimal import Decimal

    values = [0.3, -0.0, 0.0, float("nan"), float("-inf"), 5, -5, 0, 1 << 200, Fraction(1, 3), Fraction(-5, 4), Decimal("0.1"), Decimal("-0"), Decimal("nan"),
              Decimal("-sNaN"), Decimal("-Infinity"), True, "1.5", b"1", None, [], 1e-320, Value(0, 1, 3, 2)]  # fmt: skip
    for x in values:
        yield said(to_value, x, 20), said(encode, x, "fp16"), said(encode, x, "fp8_e4m3", "ptx")
    for code in (0, -1, 1 << 16, 1.5, "1", True):
        yield said(decode, code, "fp16"), said(tf32_from_register, code)
    for bits in (None, 0, 3, 7, 8, -1, 1.0, "1"):
        yield said(encode, 0.3, "fp16", None, bits), said(encode, 0.3, "fp16", Policy("sr", sr_bits=3), bits)


# -- exact numbers -----------------------------------------------------------------------------------------------------


@sample
def exact_numbers() -> Sample:
    some = [exact.finite(n, s, e) for n in (0, 1) for s, e in ((0, 0), (1, 0), (3, -2), (6, -3), (5, 7), (255, -90), (1, 300), (12, 1), (4, -1))]
    for a, b in itertools.product(some, some):
        yield exact.add(a, b), exact.add(a, b, 1), exact.multiply(a, b), exact.compare(a, b)
        if b.significand:
            yield exact.divide(a, b, 9), exact.remainder(a, b), exact.divide(a, b, 1)
    for a in (*some, exact.inf(0), exact.inf(1), exact.GENERATED, Value(0, 0, 1, 0, 1), Value(0, 1, 5, -1, 1), Value(0, 0, 0, 3, 1)):
        yield a, exact.negate(a), exact.magnitude(a), a.is_nan, a.is_inf, a.is_finite, a.is_zero, said(a.as_fraction), str(float(a))
        if a.kind != exact.NAN:
            yield [exact.compare(a, b) for b in (*some[::3], exact.inf(0), exact.inf(1))]
        if a.kind == exact.FINITE and a.significand and not a.sign:
            yield exact.top(a), [(exact.square_root(a, n), exact.reciprocal_square_root(a, n)) for n in (1, 2, 5, 12)]
    yield exact.square_root(exact.zero(1), 5)
    for e in (-1250, -1202, -1201, -1200, -1080, -1074, 1022, 1023, 1024, 1097, 1098, 1099, 1100, 1101, 2000):
        yield e, str(float(exact.finite(0, 7, e))), str(float(exact.finite(1, 1, e)))
    for x in (Fraction(3, 4), Fraction(-1, 3), Fraction(0), Fraction(22, 7), Fraction(-1 << 70)):
        yield exact.from_fraction(x, 5), exact.from_fraction(x, 17)


# -- operations --------------------------------------------------------------------------------------------------------

OPERANDS = {"fp16": (0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x3C01, 0x4500, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7D01, 0xFE02),
            "fp8_e4m3": (0, 0x80, 1, 0x88, 0x38, 0xB9, 0x7E, 0xFE, 0x7F, 0xFF), "binary5p3se": tuple(range(0, 32, 2)) + (15, 31), "fp4_e2m1": tuple(range(16)),
            "binary4p2ue": tuple(range(16)), "int8": (0, 1, 0x7F, 0x80, 0x81, 0x40), "e8m0": (0, 1, 0x7F, 0x80, 0xFE, 0xFF), "i8": (0, 1, 0x7F, 0x80, 0xFF)}  # fmt: skip


@sample
def operations() -> Sample:
    for name, operation in OPERATIONS.items():
        yield name, operation.arity, operation.summary, operation.operands, operation.result
        for fmt, codes in OPERANDS.items():
            cases = list(itertools.product(codes, repeat=min(operation.arity, 2)))
            step = max(1, len(cases) // (40 if operation.arity < 4 else 6))
            for k, policy in enumerate((None, "arm", Policy("rdn", nan="propagate"), Policy("rup", flush_inputs=True, flush_outputs=True, overflow="sat-none"), "p3109", "x86-sse")):
                if k and fmt not in ("fp16", "fp8_e4m3", "binary5p3se"):
                    continue
                for i in range(k % step, len(cases), step * (1 if k < 1 else 2)):
                    case = cases[i]
                    full = (*case, *(codes[(i * 7 + j) % len(codes)] for j in range(operation.arity - len(case))))
                    yield said(evaluate, name, full, fmt, None, policy)


@sample
def special_operations() -> Sample:
    """Every pair, and every triple of some, where special cases meet."""
    few = OPERANDS["fp16"]
    for op in ("add", "sub", "mul", "div", "rem", "minimum", "maximum_number", "min", "lt", "eq", "total_order", "unordered", "copysign", "minimum_magnitude"):
        for policy in (None, "p3109", Policy("rdn", nan="propagate")):
            yield [said(evaluate, op, pair, "fp16", None, policy) for pair in itertools.product(few, few)]
    for op in ("fma", "faa", "clamp"):
        yield [said(evaluate, op, x, "fp16") for x in itertools.product(few[::2], few[1::2], few[::3])]
        yield [said(evaluate, op, x, "fp16", None, "p3109") for x in itertools.product(few[::3], few[2::3], few[::2])]
    for op in ("sqrt", "rsqrt", "recip", "logb", "class", "next_up", "next_down", "abs", "neg", "round_to_integral"):
        for fmt in (*SMALL, "fp16"):
            codes = few if fmt == "fp16" else range(1 << fmt.width)
            yield [said(evaluate, op, (c,), fmt, None, p) for c in codes for p in (None, "p3109")]
    for n in (0, 1, 5, 127, 128, 200, 255, 0x80000000, 0x7FFFFFFF):
        for fmt in ("i8", "i32"):
            yield [said(evaluate, "scaleb", (c, n & ((1 << get_format(fmt).width) - 1)), ["fp16", fmt], "fp16") for c in few]
    for source, out in itertools.product(("fp16", "fp8_e4m3", "i8", "u8", "int8", "e8m0", "binary5p3se"), repeat=2):
        for policy in (None, "x86-sse", "arm", "ptx", "tpu-bf16", Policy("rtz", integers="x86", overflow="sat-none")):
            yield [said(evaluate, "convert", (c,), source, out, policy) for c in OPERANDS.get(source, OPERANDS["i8"])]
    yield [said(evaluate, "convert", (c,), "bf16", "fp32", p) for c in (0, 1, 0x7F81, 0xFFC1, 0x3F80) for p in ("tpu-bf16", None)]


@sample
def signatures() -> Sample:
    for args in (("fma", "fp16"), ("fma", "a=fp16,b=bf16,c=fp32"), ("fma", "a=fp16,b=bf16,c=fp32", "fp32"), ("add", ["fp16", "fp16"]), ("add", ["fp16"]),
                 ("lt", ["fp16", "bf16"]), ("lt", "fp16", "fp16"), ("lt", "fp16", "u1"), ("class", "fp16", "fp16"), ("neg", "fp16", "fp16"), ("neg", "fp16", "bf16"),
                 ("scaleb", "fp16"), ("scaleb", ["fp16", "fp16"]), ("scaleb", "i8"), ("nothing", "fp16"), ("ad", "fp16"), ("ADD ", "fp16"), ("round-to-integral", "fp16"),
                 ("add", 5), ("convert", "i8", "fp16"), ("dot2", "fp8_e4m3", "fp32"), ("add", "a=fp16"), ("add", "a=fp16,a=fp16"), ("add", "a,b"), ("add", "a=fp16,c=fp16")):  # fmt: skip
        yield args, said(lambda a=args: str(signature(*a)[1:]))
    yield said(parse_formats, "a=fp16, b=bf16", 2, "x"), said(parse_formats, "b=fp16", 2, "x"), said(get_operation, "fmaa")
    for given in ((0,), (0, 0, 0), 5, (0, 1 << 16), ("0", 0), "00"):
        yield said(evaluate, "add", given, "fp16")
    yield said(evaluate, "add", (0x3C00, 0x0401), "fp16", None, Policy("sr", sr_bits=4), 9), said(evaluate, "add", (0, 0), "fp16", None, Policy("sr", sr_bits=4))


# -- scales ------------------------------------------------------------------------------------------------------------


@sample
def scales() -> Sample:
    for name, rule in SCALE_RULES.items():
        yield get_scale_rule(name) is rule
        for element in ("fp8_e4m3", "fp8_e5m2", "fp6_e3m2", "fp4_e2m1", "int8", "s1e3m0"):
            f = get_format(element)
            s, e = f.magnitude(f.max_code)
            amaxes = [exact.finite(0, n, e + k) for n in (s - 1, s, s + 1) for k in (0, 1, -7) if n > 0] + [exact.finite(0, n, -3) for n in range(1, 34)]
            amaxes += [exact.finite(0, x, -40) for x in (11863283, 11863282, 5931642 * 3, 92681, 92682, 46341, 185363)] + [Value(0, 0, 1 << 30, -30, 1), Value(0, 0, (1 << 30) + 77, 9, 1)]
            yield [rule(a, f, 12) for a in amaxes]
    yield said(get_scale_rule, "cell"), said(get_scale_rule, 3), quotient(exact.finite(0, 3, 0), exact.finite(0, 4, 0), 5), quotient(exact.finite(0, 3, 0), exact.finite(0, 7, 0), 5)


# -- accumulators ------------------------------------------------------------------------------------------------------


@sample
def accumulators() -> Sample:
    for name, acc in ACCUMULATORS.items():
        yield name, acc.to_dict(), acc.source, acc.status, summary(acc), tree_text(acc.root), step_of(acc.root), len(walk(acc.root)), sorted(acc.operand_formats)
        yield acc.steps_by_format, acc.results, str(acc.nan_rule), [said(lambda f=f, a=acc: a.result_format(get_format(f)).name) for f in ("fp16", "fp32", "bf16")]
        yield [said(answer, probe, acc) for probe in PROBES]


def words(seed: int, count: int, width: int) -> list[int]:
    """Bits that are the same everywhere."""
    data = hashlib.shake_128(seed.to_bytes(4, "big")).digest(8 * count)
    return [int.from_bytes(data[8 * i : 8 * i + 8], "big") & ((1 << width) - 1) for i in range(count)]


@sample
def dots() -> Sample:
    for i, (name, acc) in enumerate(ACCUMULATORS.items()):
        for fmt in sorted(acc.operand_formats) or ["fp8_e5m2", "fp16"]:
            width = get_format(fmt).width
            for out in [x for x in acc.results if x != "out"] or ["fp32", "fp16"]:
                for k, turn in ((1, 0), (5, 1), (20, 2), (20, 3)):
                    a, b = (words(1000 * i + 10 * turn + s, k, width) for s in (0, 1))
                    if turn == 2:  # no special numbers: exponents in the middle
                        half = 1 << (width - 2)
                        a, b = ([x & (2 * half + (half >> 1) - 1) | half >> 1 for x in y] for y in (a, b))
                    c = words(77 + turn, 1, get_format(out).width)[0] & ~(1 << (get_format(out).width - 2))
                    yield name, said(dot, a, b, fmt, c, acc, out, extrapolate=True), said(dot, a, b, fmt, 0, acc, out)
    block = words(5, 64, 8)
    for name in ("mx-fp32", "exact", "nvidia-b200", "fp32-sequential", "nvidia-h100"):
        for scale in ([127, 130], [1, 254], [255, 0]):
            yield said(dot, block, block[::-1], "mxfp8_e4m3", 0x3F800000, name, "fp32", scales=(scale, scale[::-1]), extrapolate=True)
    for args in (([0], [0, 0], "fp16"), ([0], [0], "fp999"), ([1 << 16], [0], "fp16"), ("0", [0], "fp16"), ([0], [0], "mxfp8"), ([0], [0], None), ([], [], "fp16"),
                 ([0], [0], "a=fp16,b=fp16,c=mxfp8"), ([0], [0], "fp16", 1 << 40), ([0], [0], "fp16", 0, "x"), ([0], [0], "fp16", 0, 5)):  # fmt: skip
        yield said(dot, *args)
    for given in ("fp16", "a=fp16,b=fp32", "a=fp16", "b=fp16", "a=1,b=2,c=3", "a=fp16,a=fp16", "c=", ("fp16", "fp32"), ("a", "b", "c"), ("a",), 5, None):
        yield said(parse_operand_formats, given)


TREES = ("fuse(16+c,F=25,rz)->fp32:rz", "fuse(p[0:4]+p[4:8]+c)->fp32", "chain(c+p)->fp32:rne", "pairs(p)->fp16 ", "fuse(chain(4)->fp16:rz + c)->out", "fuse(8@3:rd:1+c@4,F=20,rd)->fp32:rz:13",
         "fuse(4+c,F=11,rz,floor=-133)->fp32|fp16:rz", "fuse(4+c,F=11,rz,floor=fp16:-24|fp8_e4m3:-20,floor_when=always)->fp32:rz", "fuse(16+c,F=35,rz,exponent=scale)->fp32:rz", "fuse(p[::2]+p[1::2]+c,F=inf)->fp32",
         "fuse(p[3]+c)->fp32", "fuse(2+zero)->fp32", "chain(c+fuse(4)->fp32)->fp32:rd", "fuse(8+c,F=25)->fp32:rz:8", "fuse(2+2+c)->fp32:rup")  # fmt: skip
BROKEN = ("", "fuse", "fuse(", "fuse(16", "fuse(16)", "16->fp32", "fuse(16+c)->", "fuse(16+c)->fp32:xx", "fuse(0+c)->fp32", "fuse(c)->fp32", "fuse(p[-1]+c)->fp32", "fuse(p[3:0]+c)->fp32",
          "fuse(16+p+c)->fp32", "fuse(16+c,F=999999)->fp32", "fuse(16+c,rz)->fp32", "fuse(16+c,x=3)->fp32", "fuse(16+c,F=25,rz)->fp32 x", "fuse(16+c)->fp32|fp32", "fuse(16+c)->fp32|out", "chain(p)", "fuse(chain(p)+c)->fp32",
          "fuse(16+c)->fp32:sr", "fuse(16+c)->fp32:rz:257", "fuse(16+c,F=-1)->fp32", "fuse(16@999+c)->fp32", "fuse(16+c)->nofmt", "?", "fuse(p[0:4:0]+c)->fp32", "(" * 80, "fuse(" * 60 + "p", "a" * 4001,
          "fuse(16+c,floor=fp16)->fp32", "fuse(16+c,exponent=x)->fp32", "fuse(16+c,F=25,rz,floor_when=x)->fp32")  # fmt: skip


@sample
def trees() -> Sample:
    for text in (*TREES, *BROKEN):
        tree = said(parse_tree, text)
        yield text, tree, isinstance(tree, str) or tree_text(tree), isinstance(tree, str) or (step_of(tree), len(walk(tree)))  # type: ignore[arg-type]
    a, b = words(1, 11, 16), words(2, 11, 16)
    for text in (*TREES, *(f"{t},nan=ones,zero=positive" for t in TREES[:2]), "like=nvidia-h100,step=4", "nvidia-h100,x=1", "nvidia-v100"):
        for mask in (0x7FFF, 0xB7FF, 0xC3FF):
            yield said(dot, [x & mask for x in a], [x & mask for x in b], "fp16", 0x40490FDB, text, "fp32", extrapolate=True)
    base = {"tree": "fuse(4+c,F=20,rd)->fp32:rne"}
    for more in ({}, {"like": "nvidia-h100"}, {"nan": "ones"}, {"nan": "zz"}, {"step": 4}, {"step": 0}, {"step": "block"}, {"step": "all"}, {"step": 1 << 14}, {"step": (1 << 14) + 1}, {"x": 1}, {"flags": 1}, {"steps": "fp16=2"},
                 {"steps": "fp16"}, {"steps": "fp16=0"}, {"formats": "fp16 bf16"}, {"formats": "x"}, {"product_limit": 10}, {"product_limit": "x"}, {"product_exponent": 3}, {"product_exponent": 1 << 17}, {"product_exponent": -(1 << 16)},
                 {"flush_inputs": "on"}, {"flush_outputs": "on"}, {"c": "x"}, {"overflow": "x"}, {"zero": "positive"}, {"scales": "x"}, {"converts": False}, {"tree": 5}, {"status": "x"}, {"flush_inputs": "x"}):  # fmt: skip
        acc = said(define_accumulator, {**base, **more}, "a")
        yield more, acc if isinstance(acc, str) else acc.to_dict(), isinstance(acc, str) or [said(dot, [x & 0xBFFF for x in a], b, "fp16", c, acc, "fp32", extrapolate=True) for c in (0, 0x80000000, 0x7F800001, 1)]  # type: ignore[union-attr]
    for given in ("exact", " EXACT ", "exac", 5, None, {"tree": "x"}, [], "x.toml", "no(", {}):
        yield said(lambda g=given: get_accumulator(g).name)


# -- the hashes --------------------------------------------------------------------------------------------------------

HASHES: dict[str, str] = {
    "formats": "c393cdf664ede3fa",
    "format_names": "fa530d6b9a731d20",
    "policies": "d27f903dc345325f",
    "targets": "ef1f1eaa12abff9d",
    "encodings": "bb503378f54fe84c",
    "sticky_encodings": "9366f5153983314c",
    "whole_small_formats": "af38e0721de46288",
    "rounding_pieces": "dbea76abf530c650",
    "conversions": "4988ed365ef73d3c",
    "exact_numbers": "f16cd6fb6e9b68d1",
    "operations": "65c9cc4dd50e4aa5",
    "special_operations": "22dcb9f69121b6bc",
    "signatures": "c5b40617ab3aab05",
    "scales": "68cff505e08cf62a",
    "accumulators": "f1d20917dc006f32",
    "dots": "36d5f0f861ad23a8",
    "trees": "b0562656746e4757",
}


def digest(name: str) -> str:
    found = hashlib.sha256()
    for x in SAMPLES[name]():
        found.update(repr(x).encode() + b"\n")
    return found.hexdigest()[:16]


def pytest_generate_tests(metafunc: Any) -> None:
    metafunc.parametrize("name", SAMPLES)


def test_sample(name: str) -> None:
    assert digest(name) == HASHES[name]


if __name__ == "__main__":
    import time

    for key in SAMPLES:
        start = time.process_time()
        print(f'    "{key}": "{digest(key)}",  # {time.process_time() - start:.2f} s')
