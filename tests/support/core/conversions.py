"""Rounding, codec, exact numbers, scales."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from core.samples import (
    FORMATS,
    MODES,
    MORE,
    NAMED,
    ODD,
    SMALL,
    Sample,
    numbers,
    said,
    sample,
)
from softfloat_ref.oracle import exact, flags, rounding
from softfloat_ref.oracle.blocks.scale_rules import SCALE_RULES, get_scale_rule, quotient
from softfloat_ref.oracle.codec import (
    FLAGS,
    check_random,
    decode,
    encode,
    encoder,
    needed_bits,
    target,
    tf32_from_register,
    to_value,
)
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluate
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding import align, round_pack, round_shift, round_to_unit


@sample
def decisions() -> Sample:
    """The functions that Numba compiles too, by themselves: every decision, and what they are given and give."""
    modes, few = range(11), range(16)
    yield [
        rounding.rounds_up(m, negative, odd, discarded, sticky, 3, r)
        for m, negative, odd, discarded, sticky, r in itertools.product(modes, (0, 1), (0, 1), few, (0, 1), range(8))
    ]
    yield [
        rounding.rounds_up(m, negative, odd, discarded, sticky, 0, 0)
        for m, negative, odd, discarded, sticky in itertools.product(range(8), (0, 1), (0, 1), (0, 1), (0, 1))
    ]
    yield [rounding.goes_beyond(m, negative, beyond) for m in modes for negative in (0, 1) for beyond in range(4)]
    yield [
        rounding.cut(s, s.bit_length(), sticky, shift, n)
        for s, sticky, shift, n in itertools.product((1, 5, 6, 44), (0, 1), range(-2, 10), (0, 3))
    ]
    for f, n in itertools.product((ODD[-4], get_format("fp6_e2m3"), ODD[11]), (0, 3)):
        t = target(f, Policy("sr", sr_bits=n) if n else Policy())
        for s, e, sticky in itertools.product((1, 3, 7, 13), range(-9, 5), (0, 1)):
            yield (
                rounding.position(s, e, s.bit_length(), sticky, n, t),
                rounding.cut_in_gap(s, e, s.bit_length(), sticky, n, t),
            )
            yield [rounding.is_tiny(0, s, e, s.bit_length(), sticky, 0, after, t) for after in (0, 1)]
    constants = {**vars(flags), **vars(rounding)}
    yield {name: int(x) for name, x in sorted(constants.items()) if name.isupper() and isinstance(x, int)}
    yield (
        [(m.name, int(m), m.stochastic) for m in rounding.Rounding],
        [(x.name, int(x)) for x in flags.Flags],
    )


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
            for code in {
                f.min_code,
                f.max_code,
                f.min_normal_code,
                f.max_code // 2 + 1,
            }:
                for third in (
                    Fraction(1, 3),
                    Fraction(2, 3),
                    Fraction(1, 7),
                    Fraction(1),
                ):
                    s, e = f.magnitude(min(code, f.max_code))
                    x = to_value((s + third) * Fraction(2) ** e, bits)
                    yield (
                        x,
                        run(x, 3 if p.random_count else 0),
                        run(exact.negate(x), 6 if p.random_count else 0),
                    )


@sample
def whole_small_formats() -> Sample:
    for f in SMALL:
        yield [decode(c, f) for c in range(1 << f.width)]
        yield [encode(decode(c, "fp8_e5m2"), f, p) for p in (None, "ptx", MODES[1]) for c in range(0, 256, 3)]
    for f in FORMATS:
        if f.width > 8:
            edge = [
                1,
                f.inf_code,
                f.sign_bit,
                f.sign_bit | 1,
                f.canonical_nan,
                (1 << f.width) - 1,
                f.quiet_bit | f.inf_code | f.sign_bit,
                f.inf_code + 1,
            ]
            yield (
                [said(decode, c, f) for c in edge],
                [str(said(lambda c=c, f=f: float(decode(c, f)))) for c in edge],
            )


@sample
def rounding_pieces() -> Sample:
    for negative, (s, e), mode in itertools.product(
        (0, 1), ((5, -3), (1, 0), (12, -2), (7, -1), (9, 4), (3, -9)), MODES
    ):
        n = mode.random_count
        yield round_to_unit(negative, s, e, s.bit_length(), int(mode.rounding), n, 5 if n else 0)
    for negative, s, e, unit, down in itertools.product((0, 1), (0, 1, 6, 11), (-4, 0, 3), (-5, -1, 0, 2, 9), (0, 1)):
        yield align(negative, s, e, s.bit_length(), unit, down)
    for mode in MODES:
        if not mode.random_count:
            yield [round_shift(x, shift, int(mode.rounding)) for x in range(-21, 22) for shift in (-2, 0, 1, 2, 4, 5)]
    t = target(get_format("fp4_e2m1"), Policy("rto", overflow="sat-none"))
    yield [
        round_pack(n, s, e, s.bit_length(), k, 0, t)
        for n in (0, 1)
        for s in (1, 3, 97)
        for e in (-9, -1, 2)
        for k in (0, 1)
        if s > 50 or not k
    ]


@sample
def modular_conversions() -> Sample:
    for fmt, out, mode in itertools.product(("fp8_e5m2", "fp8_e4m3"), ("i4", "u4", "i8", "u8"), ("rtz", "rne")):
        yield [evaluate("convert_modular", (code,), fmt, out, Policy(mode)) for code in range(256)]


@sample
def conversions() -> Sample:
    from decimal import Decimal

    values = [
        0.3,
        -0.0,
        0.0,
        float("nan"),
        float("-inf"),
        5,
        -5,
        0,
        1 << 200,
        Fraction(1, 3),
        Fraction(-5, 4),
        Decimal("0.1"),
        Decimal("-0"),
        Decimal("nan"),
        Decimal("-sNaN"),
        Decimal("-Infinity"),
        True,
        "1.5",
        b"1",
        None,
        [],
        1e-320,
        Value(0, 1, 3, 2),
    ]
    for x in values:
        yield (
            said(to_value, x, 20),
            said(encode, x, "fp16"),
            said(encode, x, "fp8_e4m3", "ptx"),
        )
    yield to_value(Decimal("0"), 20), len(FLAGS), check_random(Policy(), None)
    for fmt in ("i32", "i33"):
        yield (
            encode(exact.GENERATED, fmt, "ptx"),
            encode(Value(exact.NAN, 0, 1, 51), fmt, "ptx"),
        )
    yield encoder(get_format("fp8_e4m3"), Policy("sr", sr_bits=3))(to_value(Fraction(255, 128), 20))
    for code in (0, -1, 1 << 16, 1.5, "1", True):
        yield said(decode, code, "fp16"), said(tf32_from_register, code)
    for bits in (None, 0, 3, 7, 8, -1, 1.0, "1"):
        yield (
            said(encode, 0.3, "fp16", None, bits),
            said(encode, 0.3, "fp16", Policy("sr", sr_bits=3), bits),
        )


# -- exact numbers -----------------------------------------------------------------------------------------------------


@sample
def exact_numbers() -> Sample:
    some = [
        exact.finite(n, s, e)
        for n in (0, 1)
        for s, e in (
            (0, 0),
            (1, 0),
            (3, -2),
            (6, -3),
            (5, 7),
            (255, -90),
            (1, 300),
            (12, 1),
            (4, -1),
        )
    ]
    for b in (exact.finite(0, 5, 0), exact.finite(1, 7, 3), exact.finite(0, 11, -1), exact.finite(0, 1, 2)):
        yield [exact.remainder(exact.finite(0, s, e), b) for s in (1, 3, 13) for e in range(290, 302)]
    for a, b in itertools.product(some, some):
        yield (
            exact.add(a, b),
            exact.add(a, b, 1),
            exact.multiply(a, b),
            exact.compare(a, b),
        )
        if b.significand:
            yield exact.divide(a, b, 9), exact.remainder(a, b), exact.divide(a, b, 1)
    for a in (
        *some,
        exact.inf(0),
        exact.inf(1),
        exact.GENERATED,
        exact.negate(exact.GENERATED),
        Value(0, 0, 1, 0, 1),
        Value(0, 1, 5, -1, 1),
        Value(0, 0, 0, 3, 1),
    ):
        yield (
            a,
            exact.negate(a),
            exact.magnitude(a),
            a.is_nan,
            a.is_inf,
            a.is_finite,
            a.is_zero,
            said(a.as_fraction),
            str(float(a)),
            math.copysign(1.0, float(a)),
        )
        if a.kind != exact.NAN:
            yield [exact.compare(a, b) for b in (*some[::3], exact.inf(0), exact.inf(1))]
        if a.kind == exact.FINITE and a.significand and not a.sign:
            yield (
                exact.top(a),
                [(exact.square_root(a, n), exact.reciprocal_square_root(a, n)) for n in (1, 2, 5, 12)],
            )
    yield exact.square_root(exact.zero(1), 5)
    yield [exact.whole(a) for a in some]
    for e in (
        -1250,
        -1202,
        -1201,
        -1200,
        -1080,
        -1074,
        1022,
        1023,
        1024,
        1097,
        1098,
        1099,
        1100,
        1101,
        2000,
    ):
        yield e, str(float(exact.finite(0, 7, e))), str(float(exact.finite(1, 1, e)))
    for x in (
        Fraction(3, 4),
        Fraction(-1, 3),
        Fraction(0),
        Fraction(22, 7),
        Fraction(-1 << 70),
    ):
        yield exact.from_fraction(x, 5), exact.from_fraction(x, 17)


@sample
def scales() -> Sample:
    for name, rule in SCALE_RULES.items():
        yield get_scale_rule(name) is rule
        for element in (
            "fp8_e4m3",
            "fp8_e5m2",
            "fp6_e3m2",
            "fp4_e2m1",
            "int8",
            "s1e3m0",
        ):
            f = get_format(element)
            s, e = f.magnitude(f.max_code)
            amaxes = [exact.finite(0, n, e + k) for n in (s - 1, s, s + 1) for k in (0, 1, -7) if n > 0] + [
                exact.finite(0, n, -3) for n in range(1, 34)
            ]
            amaxes += [
                exact.finite(0, x, -40) for x in (11863283, 11863282, 5931642 * 3, 92681, 92682, 46341, 185363)
            ] + [Value(0, 0, 1 << 30, -30, 1), Value(0, 0, (1 << 30) + 77, 9, 1)]
            yield [rule(a, f, 12) for a in amaxes]
    yield (
        said(get_scale_rule, "cell"),
        said(get_scale_rule, 3),
        quotient(exact.finite(0, 3, 0), exact.finite(0, 4, 0), 5),
        quotient(exact.finite(0, 3, 0), exact.finite(0, 7, 0), 5),
    )
