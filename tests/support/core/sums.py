"""Sums of products where accumulators differ: block scales, NaNs, signs of zeros, floors, what a trace shows."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from core.accumulators import words
from core.samples import Sample, said, sample
from softfloat_ref.oracle.accumulate import (
    Accumulator,
    define_accumulator,
    dot,
    get_accumulator,
    parse_operand_formats,
)
from softfloat_ref.oracle.accumulate.dots import Operand, operand, run, setting
from softfloat_ref.oracle.accumulate.grammar import parse_tree, tree_text
from softfloat_ref.oracle.accumulate.model import summary
from softfloat_ref.oracle.accumulate.probes import PROBES, answer
from softfloat_ref.oracle.accumulate.terms import holds, operand_decoder
from softfloat_ref.oracle.accumulate.trace import trace, trace_dict
from softfloat_ref.oracle.blocks.formats import any_format
from softfloat_ref.oracle.codec import decoder
from softfloat_ref.oracle.exact import Value
from softfloat_ref.oracle.formats import get_format

# Codes of bf16, whose products' exponents are easily read: powers of two, zeros, ends, NaNs.
ONE, TWO, MINUS = 0x3F80, 0x4000, 0xBF80
ZERO, NEGATIVE_ZERO, TINY, MINUS_TINY = 0x0000, 0x8000, 0x0001, 0x8001
HUGE, INF, MINUS_INF = 0x7F7F, 0x7F80, 0xFF80
NAN, SIGNALING, OTHER_NAN = 0x7FC1, 0x7F82, 0xFFC5


def power(e: int) -> int:
    """The code of 2^e."""
    return (e + 127) << 7


def shown(a: Operand, b: Operand, acc: Any, c: int, out: str, c_fmt: str | None = None) -> object:
    """What a trace shows of a dot product, without the accumulator."""
    given = get_format(c_fmt) if c_fmt else None
    found = trace_dict(trace(setting(a, b, get_accumulator(acc), get_format(out), given, extrapolate=True), a, b, c))
    return [found[key] for key in ("formats", "products", "stages", "result", "flags")]


# -- scales ------------------------------------------------------------------------------------------------------------

BLOCKS = (
    ("fp8_e4m3@e8m0/2", "fp8_e4m3@e8m0/2"),
    ("fp8_e4m3@e8m0/1", "fp4_e2m1@ue4m3/4"),
    ("fp8_e5m2@fp8_e5m2/2", "fp6_e2m3@fp8_e4m3/4"),
    ("fp4_e2m1@fp8_e5m2/4", "fp8_e5m2"),
    ("fp8_e5m2", "fp8_e4m3@bf16/axis"),
    ("fp6_e3m2@fp16/tensor", "fp6_e2m3@e8m0/2"),
    ("fp8_e4m3@e8m0/2", "fp8_e4m3@e8m0/3"),
    ("fp8_e4m3@e8m0/2", "fp8_e4m3@e8m0/5"),
    ("fp8_e4m3@e8m0/2", "fp8_e4m3@e8m0/7"),
    ("fp8_e4m3@e8m0/4", "fp8_e4m3@e8m0/6"),
)
SCALED = (
    "exact",
    "mx-fp32",
    "nvidia-b200-fp8",
    "fuse(c+p[0:2],F=20,rz,exponent=scale)->fp32:rne",
    "fuse(fuse(4,exponent=scale)+fuse(c,exponent=scale),F=9,rd)->fp32:rne",
    "fuse(fuse(4,F=9,rz)+zero,exponent=scale)->fp32:rz; nan=propagate",
)


def scale_codes(fmt: Any, seed: int, count: int) -> list[int] | None:
    """Codes of the scales of so many elements: near one, then whatever there is."""
    if not hasattr(fmt, "element"):
        return None
    number = -(-count // fmt.size) if fmt.size > 0 else 1
    one = fmt.scale.bias << fmt.scale.mantissa_bits
    if seed % 3 == 0:
        return words(seed, number, fmt.scale.width)
    return [one + x for x in words(seed, number, 2)]


@sample
def block_dots() -> Sample:
    count = 6
    for i, (names, acc, turn) in enumerate(itertools.product(BLOCKS, SCALED, range(4))):
        fmts = [any_format(x) for x in names]
        sides = []
        for j, fmt in enumerate(fmts):
            element = getattr(fmt, "element", fmt)
            codes = [x & ~(1 << (element.width - 2)) for x in words(40 * i + j, count, element.width)]
            sides.append((codes, names[j], scale_codes(fmt, 4 * i + turn + j, count)))
        made = [said(operand, *side, "ab"[j]) for j, side in enumerate(sides)]
        yield made
        yield said(shown, *made, acc, 0x3F800001 if turn else 0, "fp32")
        for tensor in ((0x3F800000, 0x40400000), (0xBF000001, 0x3F800000), (0, 0x7F800000), (0xFFC00001, 0)):
            (a, fa, sa), (b, fb, sb) = sides
            scales = None if sa is None or sb is None else (sa, sb)
            yield said(dot, a, b, (fa, fb), 0, acc, scales=scales, tensor_scales=fp32(tensor), extrapolate=turn > 1)


@sample
def scale_specials() -> Sample:
    """Every pair of kinds of scales, some second-level ones, and elements of every kind."""
    scales = (0x00, 0x80, 0x01, 0x3C, 0xBD, 0x7C, 0xFC, 0x7F)  # of fp8_e5m2
    tensors = (0x3F800000, 0x80000001, 0x7F800000, 0xFFC00000)
    pairs = (([0x01], [0x3C]), ([0x81, 0x00], [0xBC, 0x7B]), ([0x7C], [0x80]), ([0x00], [0xFC]), ([0x7C], [0xBC]))
    units = ("exact", "fuse(2+c,F=9,rz)->fp32:rz; nan=propagate")
    for s, t, tensor, (a, b), acc in itertools.product(scales, scales, tensors, pairs, units):
        both, second = ([s], [t]), (tensor, 0x3F800000)
        yield said(dot, a, b, "fp8_e5m2@fp8_e5m2/2", 0x3F800000, acc, scales=both, tensor_scales=fp32(second))


def fp32(codes: tuple[int, int]) -> tuple[Value, Value]:
    """The values of a pair of codes."""
    decode = decoder(get_format("fp32"))
    return decode(codes[0]), decode(codes[1])


@sample
def wider_formats() -> Sample:
    """Which formats hold which, and operands as they are held."""
    narrow = ("fp8_e4m3", "fp8_e5m2", "s1e5m2b26", "fp8_e5m2fnuz", "fp6_e3m2", "fp4_e2m1", "fp16", "bf16", "tf32")
    for fmt in (get_format(name) for name in narrow):
        for wide in (get_format(name) for name in ("fp16", "bf16", "fp32", "fp8_e5m2", "fp8_e4m3", "s1e5m3", "s1e4m2")):
            yield fmt.name, wide.name, holds(wide, fmt)
            for flush in ("off", "positive", "on"):
                decode = operand_decoder(fmt, flush, wide)
                yield [said(decode, code) for code in range(0, 1 << fmt.width, 1 << max(0, fmt.width - 8))]


@sample
def operands() -> Sample:
    """Vectors in every way they are given, and what is refused."""
    half = [0x38, 0x30]
    view = memoryview(bytes(half))
    mx = "fp8_e4m3@e8m0/2"
    for codes in (view, SimpleNamespace(codes=half, scales=[127], fmt=mx, axis=0), range(3), (), 5, "38", b"8"):
        yield said(operand, codes, "fp8_e4m3", None, "a")
    for array, scale in ((view, [128]), (view.cast("B", (2, 1)), [128]), (half, [128, 128])):
        for more in ({}, {"tensor_scale": 2.0}, {"tensor_scale": 0.1}, {"tensor_scale": 2}):
            yield said(operand, SimpleNamespace(codes=array, scales=scale, fmt=mx, axis=0, **more), None, None, "b")
    for scales in ([127], [127, 1], None, 5, [256], []):
        for fmt in (mx, "fp8_e4m3@e8m0/1", "fp8_e4m3@e8m0/axis", "fp8_e4m3@e8m0/tensor", "fp8_e4m3"):
            yield said(operand, half, fmt, scales, "a", None)
    yield said(operand, half, "fp8_e4m3", None, "a", 1.0)
    for start, stop in ((-1, (1 << 24) - 1), (-1, 1 << 24), (0, (1 << 24) + 1)):
        yield said(operand, range(start, stop), "fp8_e4m3", None, "a")  # as many as may be, and one more
    e8m0, e4m3 = get_format("e8m0"), get_format("fp8_e4m3")
    whole = Operand(e4m3, (0x38,) * 40, e8m0, (128,))  # one scale for all
    plain = Operand(e4m3, (0x38,) * 40)
    for acc in ("mx-fp32", "nvidia-h100-fp8-mma"):
        for a, b in ((whole, plain), (plain, whole), (plain, plain)):
            yield said(lambda p=a, q=b, u=acc: run(setting(p, q, get_accumulator(u), get_format("fp32")), p, q, 0))
    yield said(setting, plain, plain, get_accumulator("nvidia-v100"), get_format("fp32"))
    for acc in ("nvidia-h100", "nvidia-b200-fp8", "mx-fp32"):
        for extrapolate in (False, True):
            for tensor in (1.0, 2.0):
                more = {"scales": ([128], [127]), "tensor_scales": (1.0, tensor), "extrapolate": extrapolate}
                yield said(dot, half, half, mx, 0, acc, **more)
    yield said(dot, half, half, "fp8_e4m3"), said(dot, [0x38], [0x38], "fp8_e4m3", 0, "nvidia-v100")
    for pair in ([[127]] * 3, [[127]], "ab", 5, ([127], [127])):
        yield said(dot, half, half, mx, scales=pair), said(dot, half, half, mx, tensor_scales=pair)
    yield said(parse_operand_formats, "a=fp16=x,b=fp16")
    long = [power(24), *[0] * 31, ONE, ONE]  # a block of 32 and one of 2, where nothing has blocks
    yield said(dot, long, [ONE] * len(long), "bf16", 0, "mx-fp32")


@sample
def second_scales() -> Sample:
    """Second-level scales: of an array, with codes, missing, and what is refused."""
    half, mx = [0x08, 0x04], "fp4_e2m1@e8m0/2"
    for more in ({"fmt": mx}, {"scales": [127]}, {"tensor_scale": 1.0}, {}):
        given = {"fmt": None, "scales": None} | more
        yield said(operand, SimpleNamespace(codes=half, scales=[127], fmt=mx, axis=0), name="b", **given)
    for fmt in ("nvfp4", mx, "fp16"):
        for second in (None, 0.5, 1 / 3, 1, Fraction(3, 4), "1"):
            yield said(operand, half, fmt, None if fmt == "fp16" else [56], "a", second)
            array = SimpleNamespace(codes=half, scales=[56], fmt=fmt, axis=0, tensor_scale=second)
            yield said(operand, array, None, None, "b")


@sample
def addends() -> Sample:
    """c in formats of its own, and results in formats that the running result does not have."""
    for acc in ("exact", "fp16-sequential", "fp32-sequential", "nvidia-h100", "amd-cdna2", "arm-bfdot", "x86-amx-bf16"):
        for fmt, out in itertools.product(("fp16", "bf16", "fp32"), ("fp16", "fp32", "bf16")):
            for code in (1, 0x8001, 0x7C01, 0xFFC1, 0x3C01, 0x3F800001, 0x7F800000, 0x00400000, 0x47FFF000):
                code &= (1 << get_format(fmt).width) - 1
                for factors in ([0], [0x4000, 0xC000], [0x0001]):
                    b = [0x3C00] * len(factors)
                    formats = f"a=fp16,b=fp16,c={fmt}"
                    yield said(dot, factors, b, formats, code, acc, out, extrapolate=True)
        a, b = (Operand(get_format("fp16"), (0x3C00,)) for _ in range(2))
        for out, fmt in (("fp16", "fp32"), ("fp32", "bf16"), ("bf16", "fp32")):
            yield said(shown, a, b, acc, 0x3C01, out, fmt)


# -- special numbers, zeros, floors ------------------------------------------------------------------------------------

PLACES = (
    "fuse(4+c)->fp32",
    "fuse(c+4)->fp32:rz",
    "chain(c+fuse(2)->fp32)->fp32",
    "fuse(fuse(2+zero,F=3,rz)+2+c)->fp32",
)
NAN_RULES = (
    "canonical",
    "propagate",
    "propagate-signaling",
    "propagate,addend-first",
    "propagate,fma-generated",
    "propagate,fma-quiet",
    "propagate,fma-quiet,addend-first,fma-generated",
    "ones",
    "negative",
)
SPECIALS = (
    ([NAN, OTHER_NAN], [ONE, ONE]),
    ([ONE, SIGNALING], [OTHER_NAN, ONE]),
    ([INF], [ZERO]),
    ([NEGATIVE_ZERO], [MINUS_INF]),
    ([INF, NAN], [ZERO, ONE]),
    ([ZERO, NAN], [INF, NEGATIVE_ZERO]),
    ([NAN], [ZERO]),
    ([NAN], [INF]),
    ([INF], [OTHER_NAN]),
    ([ZERO], [NAN]),
    ([INF, MINUS_INF], [ONE, ONE]),
    ([INF, INF], [ONE, MINUS]),
    ([MINUS_INF, TWO], [ONE, MINUS]),
    ([HUGE, HUGE], [HUGE, MINUS]),
    ([ZERO, ZERO, ONE, power(-20)], [INF, ONE, ONE, power(-20)]),
    ([ONE, power(-9), ZERO, ZERO], [ONE, ONE, INF, ONE]),
    ([ONE, INF, ONE, power(-9)], [ONE, ZERO, ONE, ONE]),
)


@sample
def special_sums() -> Sample:
    for (a, b), rule, place in itertools.product(SPECIALS, NAN_RULES, PLACES):
        for c in (0x3F800000, 0x7FC00003, 0x7F800001, 0xFF800000):
            yield said(dot, a, b, "bf16", c, f"{place}; nan={rule}")
    for a, b in SPECIALS:
        sides = (Operand(get_format("bf16"), tuple(x)) for x in (a, b))
        yield said(shown, *sides, "fuse(fuse(p[0:2],F=5,rz)+fuse(p[2:4],F=5,rd)+c,F=9,rz)->fp32", 0x3F800000, "fp32")


ZEROS = (ZERO, NEGATIVE_ZERO, TINY, MINUS_TINY, ONE, MINUS)
FLUSHES = ("", "flush_inputs=on", "flush_inputs=positive", "zero=positive", "flush_outputs=after; flush_inputs=on")
ZERO_TREES = (
    "fuse(3+c)->fp32",
    "fuse(2+zero)->fp32",
    "chain(c+2)->fp32:rdn",
    "pairs(4)->fp32",
    "fuse(2+c@4:rd:2,F=9,rz)->fp32",
    "fuse(p[3:2]+fuse(c)->fp32)->fp32",
    "chain(p[4:])->fp32",
    "fuse(pairs(p[1::9])->fp32)->fp32",
)


@sample
def zero_sums() -> Sample:
    for x, y, tree, more in itertools.product(ZEROS, (ZERO, NEGATIVE_ZERO, MINUS), ZERO_TREES, FLUSHES):
        for c in (0, 0x80000000, 1):
            yield said(dot, [x, y], [ONE, ONE], "bf16", c, f"{tree}; {more}")
    for x, y, tree, c in itertools.product(ZEROS, ZEROS, ZERO_TREES, (0, 0x80000000)):
        yield said(dot, [x], [y], "bf16", c, tree)
    for x in ZEROS:
        yield said(dot, [0x00, 0x80], [0x7F, 0x7F], "s1e5m2", 0x80000000, f"fuse(2+c)->fp32; {FLUSHES[2]}", "fp32")
        yield said(dot, [x & 0xFF], [0x80], "s1e7m0", 0x80000000, f"fuse(1+c)->fp32; {FLUSHES[2]}", "fp32")


LEVELS = (
    "fuse(4+c,F=9,rz)->fp32",
    "fuse(4+c,F=9,rd,floor=-20)->fp32",
    "fuse(4+c,F=9,rz,floor=fp16:-3|fp32:-20)->fp32|fp16",
    "fuse(2+c,F=9,rz,floor=-20,floor_when=always)->fp32:rz",
    "fuse(fuse(4,F=0,rz)+c@20:rd:6,F=12,rz)->fp32",
    "fuse(fuse(2,F=4096,rz)+zero+c,F=5,rd,floor=-20)->fp32",
    "fuse(2+c,F=9,rz,floor=-3)->fp32",
    "fuse(fuse(fuse(2)+zero,exponent=scale)+c,F=9,rz)->fp32",
    "fuse(4+c)->fp32:rz:7",
    "fuse(4+c)->fp32:rne:23",
    "fuse(4+c)->fp32:rup:26->fp32:rz",
    "fuse(2+c)->fp32:rz; overflow=inf",
    "fuse(2+c)->fp32:rz",
    "fuse(2+c)->s1e8m23fnuz:rz; overflow=inf",
    "fuse(2+c)->fp32; flush_outputs=after",
    "fuse(2+c)->fp32; flush_outputs=before",
    "fuse(p)->fp32; product_limit=-24",
    "fuse(p+c)->fp32; product_limit=0; product_exponent=3; step=2",
)
MAGNITUDES = (
    [power(-14), power(-16)],
    [power(-10), power(-16), MINUS],
    [power(-21), power(-12), 0x3F81],
    [0xC07F, power(-9), 0x0000, 0x3F81, 0x3F81],
    [HUGE, HUGE, 0x0081],
    [0x0080, 0x807F, 0x8080],
)


@sample
def levels() -> Sample:
    """Alignment, floors, limits and roundings of sums whose terms are far apart: as traces."""
    bf16 = get_format("bf16")
    for acc, x in itertools.product(LEVELS, MAGNITUDES):
        out = "s1e8m23fnuz" if "fnuz" in acc else "fp32"
        for scale, c in ((power(0), 0), (power(-11), 0x2F800001), (HUGE, 0x80000000), (0x0100, 0x00000003)):
            a, b = Operand(bf16, tuple(x)), Operand(bf16, (scale,) * len(x))
            yield said(shown, a, b, acc, c, out)
    for e in (-5, -6, -7):  # the last is left out, so that nothing is floored
        yield said(dot, [ONE], [ONE], "bf16", (power(e) | 0x8000) << 16, "fuse(1+c@4:rd:6,F=12,rz)->fp32")
    a, b = words(7, 9, 8), words(8, 9, 8)
    for fmt in ("a=fp8_e5m2,b=fp8_e4m3", "a=fp8_e4m3,b=fp8_e5m2"):
        yield said(dot, [x & 0xBB for x in a], [x & 0xBB for x in b], fmt, 0x3F800000, "fuse(4+c,F=5,rz)->fp32")


# -- definitions -------------------------------------------------------------------------------------------------------

EXPRESSIONS = (
    "fuse(1+c)->fp32",
    "fuse(2+2+2+c)->fp32",
    "fuse(p[0]+p[1:2]+p[::1]+p[:1]+c)->fp32",
    "fuse(p[::0]+c)->fp32",
    "fuse(p[:0]+c)->fp32",
    "fuse(p[0:4:2:9]+c)->fp32",
    "fuse(4+c,F=0,rz)->fp32",
    "fuse(4+c,F=4096,rz)->fp32",
    "fuse(4+c,F=4097,rz)->fp32",
    "fuse(4@0+c)->fp32",
    "fuse(4+c)->bf16:rz:0->fp32",
    "fuse(4+c)->e8m0:rz:0->fp32",
    "fuse(4+c)->fp32:rz:256->fp32",
    "fuse(4+c)->fp32:rz:23",
    "fuse(4+c)->fp32:rz:24",
    "fuse(p->fp32:rz|fp16:rz+c)->bf16:rne",
    "fuse(p->fp32:rz|fp16:rz+c)->fp16:rne|fp32:rz",
    "fuse(4+c)->fp32; like=nvidia-h100; nan=zz",
    "fuse(4+c)->fp32; like=nvidia-h100; steps=fp16=4",
    "fuse(4+c)->fp32; like=nvidia",
    "fuse(4+c)->fp32; flags=false; converts=true; step=",
    "fuse(4+c)->fp32; flags=true; step=8",
    "fuse(4+c)->fp32; nan",
    "fuse(4+c)->fp32; steps=fp16=2=3",
    "fuse(4+c)->fp32; steps=fp16=x",
    "fuse(4+c)->fp32; steps=fp16=\N{SUPERSCRIPT TWO}",
    "fuse(4+c)->fp32; step=\N{ARABIC-INDIC DIGIT TWO}",
    "fuse(4+c)->fp32; product_exponent=-5",
    "fuse(4+c)->fp32; product_exponent=5-",
    "fuse(4+c)->fp32; product_exponent=123456789",
    "fuse(4+c)->fp32; product_exponent=-12345678",
    "fuse(4+c)->fp32; product_exponent=1234567890",
    "fuse(4+c)->fp32; product_exponent=-",
    "p->fp32->fp32",
    "c->fp32->fp16(",
    "zero->fp32(",
    "chain(4+c)->fp32->out",
)


@sample
def definitions_of_sums() -> Sample:
    """Expressions: the accumulator, or the error; what tables say of it; what it makes of a few products."""
    for text in EXPRESSIONS:
        acc = said(lambda t=text: get_accumulator(t if "(" in t else {"tree": t}))
        if not isinstance(acc, Accumulator):
            yield text, acc
            continue
        yield text, acc.to_dict(), summary(acc), tree_text(acc.root)
        for out in ("fp32", "fp16", "bf16"):
            yield said(dot, [ONE, TWO, power(-30), MINUS], [0x3F81] * 4, "bf16", 0x3F81, acc, out)
    for length in (80, 81, 4000, 4001):
        yield said(parse_tree, "x" * length), said(parse_tree, ("fuse(p)->fp32" + " " * length)[:length])
    tree = "fuse(4+c)->fp32"
    one = define_accumulator({"tree": tree}, "a")
    others = ({"status": "definition"}, {"source": "x"}, {"flags": False}, {"name": "b"})
    yield [define_accumulator({"tree": tree, **more}, "a") == one for more in others]
    for p in PROBES:
        yield p.name, p.shows, p.c, p.pairs
        for text in (
            "fuse(16)->fp32",
            "fuse(p[0]+p[15])->fp32:rz",
            "fuse(p+c)->fp32; product_exponent=1",
            "fuse(p+c)->fp16",
        ):
            yield said(answer, p, get_accumulator(text))
