"""Operations on codes: special cases, signatures."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from core.samples import NAMED, SMALL, Sample, said, sample
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.codec import encode
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.literals import parse_number
from softfloat_ref.oracle.operations import (
    OPERATIONS,
    Operation,
    evaluate,
    get_operation,
    parse_formats,
    signature,
    unrounded,
)
from softfloat_ref.oracle.operations.interpolation import Interpolation, evaluated
from softfloat_ref.oracle.operations.p3109 import GROUPS, NAMES, SCALED, own_name
from softfloat_ref.oracle.operations.table import confused_with
from softfloat_ref.oracle.policies import Policy

# Fractions at which one more, or one less, in the sum of a parabola changes a result.
EDGES = (0x9DF0, 0x436B9, 0xC668, 0x64F, 0x2084C, 0x2A52B, 0x204F7, 0xCF03, 0x232C, 0xC756, 0x58D7, 0x500, 0x200CB)
EDGES += (0x1593, 0x21CD7, 0x40, 0x28F314)
OPERANDS = {
    "fp16": (
        0,
        0x8000,
        1,
        0x8001,
        0x3FF,
        0x400,
        0x3C00,
        0xBC00,
        0x3C01,
        0x4500,
        0x7BFF,
        0xFBFF,
        0x7C00,
        0xFC00,
        0x7D01,
        0xFE02,
    ),
    "fp8_e4m3": (0, 0x80, 1, 0x88, 0x38, 0xB9, 0x7E, 0xFE, 0x7F, 0xFF),
    "binary5p3se": (*tuple(range(0, 32, 2)), 15, 31),
    "fp4_e2m1": tuple(range(16)),
    "binary4p2ue": tuple(range(16)),
    "int8": (0, 1, 0x7F, 0x80, 0x81, 0x40, 0xC0, 0xFF),
    "e8m0": (0, 1, 0x7F, 0x80, 0xFE, 0xFF),
    "i8": (0, 1, 0x7F, 0x80, 0xFF),
}


@sample
def operations() -> Sample:
    yield from _of({name: row for name, row in OPERATIONS.items() if not row.curve and not row.standing})


@sample
def functions() -> Sample:
    rows = {name: row for name, row in OPERATIONS.items() if row.curve}
    yield from _of(rows)
    yield from _rows(rows)
    for curve in (row.curve for row in rows.values() if row.curve):
        yield curve.pieces, curve.whole, curve.most, curve.negative, curve.exact


@sample
def special_functions() -> Sample:
    """Pairs, and multiples of an eighth, where special cases meet; results that are flushed before they are rounded."""
    pairs = list(
        itertools.product(map(_fp16, ("0", "-0", "1", "-1", "2", "-2", "3", "-3", "0.5", "inf", "-inf")), repeat=2)
    )
    pairs += itertools.product((0x7D01, 0x7E00), (0, 0x3C00, 0x4000, 0x7C00, 0x7D01))
    for policy in (None, "p3109", Policy("rdn", nan="propagate")):
        for op in ("pow", "hypot", "atan2", "atan2pi"):
            yield op, policy, [said(evaluate, op, x, "fp16", None, policy) for a, b in pairs for x in ((a, b), (b, a))]
        for op in ("sinpi", "cospi", "tanpi", "asinpi", "acospi", "atanpi", "atanh", "log1p", "acosh", "log2", "exp2"):
            eighths = [_fp16(str(k / 8)) for k in range(-17, 18)]
            yield op, policy, [said(evaluate, op, (x,), "fp16", None, policy) for x in eighths]
    flushed = Policy(flush_outputs=True, flush_rule="before")  # type: ignore[arg-type]
    for name, row in OPERATIONS.items():
        if row.curve:
            yield (
                name,
                [said(evaluate, name, (x, 0x3C00)[: row.arity], "fp16", None, flushed) for x in (3, 0x8003, 0xD000)],
            )


def _fp16(number: str) -> int:
    return encode(parse_number(number), "fp16").bits


@sample
def processors() -> Sample:
    """Operations of processors: estimates and their steps."""
    rows = {name: row for name, row in OPERATIONS.items() if row.standing}
    yield from _of(rows)
    yield from _rows(rows)
    for name, row in rows.items():
        yield name, row.standing
        e = row.estimate
        if isinstance(e, Interpolation):
            yield e.kind, e.root, e.index_bits, e.rows
        elif e:
            yield e.root, e.index_bits, e.bits, e.exact, e.flushed, e.silent, e.table
        for policy in (None, "arm", "riscv", "x86-sse", "ptx", Policy("rdn", flush_inputs=True, flush_outputs=True)):
            codes = (0, 1, 0x1FFFFF, 0x200000, 0x200001, 0x400000, 0x7FFFFF, 0x800000, 0x3F800000, 0x40490FDB)
            codes += (0x7E800000, 0x7E800001, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00001)
            for a in (y for x in codes for y in (x, x | 0x80000000)):
                fmt = "fp32" if "float" in row.operands else "u32"
                yield said(evaluate, name, (a, 0xBFF00001)[: row.arity], fmt, None, policy)


@sample
def interpolations() -> Sample:
    """Tables of parabolas: operands of every exponent, more of those near one, first and last places of a row."""
    places = [0, 1, 0xFFFF, 0x1FFFF, 0x20000, 0x400000, 0x7C0000, 0x7C8001, 0x7D0001, 0x7FFFFF]
    places += [*((k * 0x9E3779B1 >> 5) & 0x7FFFFF for k in range(6))]
    common = list(range(0, 256, 5)), (0, 0x7FFFFF, 0x2AAAAA)
    near = list(range(112, 138)), places
    codes = [e << 23 | f for exponents, fractions in (common, near) for e in exponents for f in fractions]
    for name, row in OPERATIONS.items():
        if isinstance(e := row.estimate, Interpolation):
            yield from _approximated(name, codes)
            for exponent in (*range(-30, 15), -300, -149, -127, -126, 39, 40, 64, 100, 1023):
                yield [evaluated(e.kind, s, exponent, x, e.rows) for s in (0, 1) for x in (0, 1, 0x7FFFFF, *EDGES)]


def _approximated(name: str, codes: list[int]) -> Sample:
    flushed = Policy(flush_inputs=True, flush_outputs=True)
    for sign in (0, 1):
        yield name, [said(evaluate, name, (x | sign << 31,), "fp32") for x in codes]
        for fmt in (get_format(x) for x in ("fp16", "bf16", "s1e8m22")):
            some = range(0, fmt.sign_bit, fmt.sign_bit // 33)
            yield name, fmt.name, [said(evaluate, name, (x | sign * fmt.sign_bit,), fmt) for x in some]
        some = (x | sign << 31 for x in codes[::7])
        yield name, [said(evaluate, name, (x,), "fp32", None, flushed) for x in some]
    for wide in ("0x1p0", "0x1.fffffffffffffp0", "0x1.23456789abcdep-3", "0x1.8p-1050"):
        yield name, said(evaluate, name, (encode(parse_number(wide), "fp64").bits,), "fp64")


def _of(operations: Mapping[str, Operation]) -> Sample:
    for name, operation in operations.items():
        yield (
            name,
            operation.arity,
            operation.summary,
            operation.operands,
            operation.result,
        )
        for fmt, codes in OPERANDS.items():
            cases = list(itertools.product(codes, repeat=min(operation.arity, 2)))
            step = max(1, len(cases) // (40 if operation.arity < 4 else 6))
            for k, policy in enumerate(
                (
                    None,
                    "arm",
                    Policy("rdn", nan="propagate"),
                    Policy(
                        "rup",
                        flush_inputs=True,
                        flush_outputs=True,
                        overflow="sat-none",
                    ),
                    "p3109",
                    "x86-sse",
                )
            ):
                if k and fmt not in ("fp16", "fp8_e4m3", "binary5p3se"):
                    continue
                for i in range(k % step, len(cases), step * (1 if k < 1 else 2)):
                    case = cases[i]
                    full = (
                        *case,
                        *(codes[(i * 7 + j) % len(codes)] for j in range(operation.arity - len(case))),
                    )
                    yield said(evaluate, name, full, fmt, None, policy)


@sample
def special_operations() -> Sample:
    """Every pair, and every triple of some, where special cases meet."""
    few = OPERANDS["fp16"]
    for op in (
        "add",
        "sub",
        "mul",
        "div",
        "rem",
        "minimum",
        "maximum_number",
        "min",
        "lt",
        "eq",
        "total_order",
        "unordered",
        "copysign",
        "minimum_magnitude",
    ):
        for policy in (None, "p3109", Policy("rdn", nan="propagate")):
            yield [said(evaluate, op, pair, "fp16", None, policy) for pair in itertools.product(few, few)]
    larger = Policy(nan="propagate-larger")
    nans = ((0x7C01, 0x7E00, 0x7F00, 0x7DFF, 0xFE00), (0x7D, 0x7E, 0x7F, 0xFE, 0xFF))
    for a, b in itertools.product(*nans):
        yield (
            evaluate("add", (a, b), ("fp16", "fp8_e5m2"), "fp16", larger),
            evaluate("add", (b, a), ("fp8_e5m2", "fp16"), "fp16", larger),
        )
    for op in ("fma", "faa", "clamp"):
        yield [said(evaluate, op, x, "fp16") for x in itertools.product(few[::2], few[1::2], few[::3])]
        yield [said(evaluate, op, x, "fp16", None, "p3109") for x in itertools.product(few[::3], few[2::3], few[::2])]
    for op in (
        "sqrt",
        "rsqrt",
        "recip",
        "logb",
        "class",
        "next_up",
        "next_down",
        "abs",
        "neg",
        "round_to_integral",
        "is_sign_minus",
    ):
        for fmt in (*SMALL, "fp16"):
            codes = few if fmt == "fp16" else range(1 << fmt.width)
            yield [said(evaluate, op, (c,), fmt, None, p) for c in codes for p in (None, "p3109")]
    for n in (0, 1, 5, 127, 128, 200, 255, 0x80000000, 0x7FFFFFFF):
        for fmt in ("i8", "i32"):
            yield [
                said(
                    evaluate,
                    "scaleb",
                    (c, n & ((1 << get_format(fmt).width) - 1)),
                    ["fp16", fmt],
                    "fp16",
                )
                for c in few
            ]
    for source, out in itertools.product(("fp16", "fp8_e4m3", "i8", "u8", "int8", "e8m0", "binary5p3se"), repeat=2):
        for policy in (
            None,
            "x86-sse",
            "arm",
            "ptx",
            "tpu-bf16",
            Policy("rtz", integers="x86", overflow="sat-none"),
        ):
            yield [said(evaluate, "convert", (c,), source, out, policy) for c in OPERANDS.get(source, OPERANDS["i8"])]
    yield [
        said(evaluate, "convert", (c,), "bf16", "fp32", p)
        for c in (0, 1, 0x7F81, 0xFFC1, 0x3F80)
        for p in ("tpu-bf16", None)
    ]


@sample
def signatures() -> Sample:
    for args in (
        ("fma", "fp16"),
        ("fma", "a=fp16,b=bf16,c=fp32"),
        ("fma", "a=fp16,b=bf16,c=fp32", "fp32"),
        ("add", ["fp16", "fp16"]),
        ("add", ["fp16"]),
        ("lt", ["fp16", "bf16"]),
        ("lt", "fp16", "fp16"),
        ("lt", "fp16", "u1"),
        ("class", "fp16", "fp16"),
        ("neg", "fp16", "fp16"),
        ("neg", "fp16", "bf16"),
        ("scaleb", "fp16"),
        ("scaleb", ["fp16", "fp16"]),
        ("scaleb", "i8"),
        ("nothing", "fp16"),
        ("ad", "fp16"),
        ("ADD ", "fp16"),
        ("round-to-integral", "fp16"),
        ("add", 5),
        ("convert", "i8", "fp16"),
        ("dot2", "fp8_e4m3", "fp32"),
        ("add", "a=fp16"),
        ("add", "a=fp16,a=fp16"),
        ("add", "a,b"),
        ("add", "a=fp16,c=fp16"),
    ):
        yield args, said(lambda a=args: str(signature(*a)[1:]))
    yield (
        said(parse_formats, "a=fp16, b=bf16", 2, "x"),
        said(parse_formats, "b=fp16", 2, "x"),
        said(get_operation, "fmaa"),
    )
    for given in ((0,), (0, 0, 0), 5, (0, 1 << 16), ("0", 0), "00"):
        yield said(evaluate, "add", given, "fp16")
    yield (
        said(evaluate, "add", (0x3C00, 0x0401), "fp16", None, Policy("sr", sr_bits=4), 9),
        said(evaluate, "add", (0, 0), "fp16", None, Policy("sr", sr_bits=4)),
    )
    yield (
        said(parse_formats, "a=b=fp16", 1, "x"),
        said(lambda: str(signature("add", ["fp16", "bf16"])[1:])),
    )
    yield signature(get_operation("neg"), "fp16")[0].name
    third = signature("div", "fp16")
    for more in (0, 1, 5):
        yield (
            unrounded(third, Policy(), more)((0x3C00, 0x4200), 0),
            unrounded(signature("sqrt", "fp16"), Policy(), more)((0x4000,), 0),
        )
    for n, r in ((1, 0), (1, 1), (3, 0), (3, 5), (3, 7)):
        yield [
            evaluate("round_to_integral", (c,), "fp16", None, Policy("sr", sr_bits=n), r)
            for c in (0x3800, 0x3A00, 0x4100, 0xB400)
        ]
    special = (0, 0x7C00, 0xFE02, 0x7E03, 0x7D01, 0x3C00)
    for policy in (
        *NAMED,
        Policy(nan="propagate"),
        Policy(nan="ones"),
        Policy(nan="negative"),
    ):
        for op in ("fma", "faa"):
            yield [said(evaluate, op, x, "fp16", None, policy) for x in itertools.product(special, repeat=3)]
    nans = (0x7C01, 0x7DFF, 0x7E00, 0x7E03, 0xFC01, 0xFDFF, 0xFE02, 0xFFFF, 0x7C00, 0xFC00, 0x3C00, 0x8000)
    wider = (0x7F81, 0x7FBF, 0x7FC0, 0x7FC1, 0x7FC3, 0x7FFF, 0xFF81, 0xFFC3, 0x7F80)
    for policy in (None, "p3109"):
        yield [said(evaluate, "total_order", x, "fp16", None, policy) for x in itertools.product(nans, repeat=2)]
        mixed = ["fp16", "bf16"]
        yield [said(evaluate, "total_order", x, mixed, None, policy) for x in itertools.product(nans, wider)]


@sample
def names_of_p3109() -> Sample:
    """Its names, and what spellings of them are here."""
    yield NAMES, SCALED, GROUPS
    for name in (*NAMES, "Abs", "CopySign", "ScaledAbs", "BlockIsNaN", "ConvertToBlock", "Round-to-Integral"):
        yield name, own_name(name), own_name(name.lower()), own_name(f" {name.upper()}")


@sample
def rows() -> Sample:
    """What rows say of operations beside their results."""
    yield from _rows({name: row for name, row in OPERATIONS.items() if not row.curve and not row.standing})


def _rows(operations: Mapping[str, Operation]) -> Sample:
    a, b, c = (exact.finite(0, 3, 1), exact.finite(1, 5, -1), exact.finite(0, 7, 0))
    for name, row in operations.items():
        yield name, row.operands, row.result, row.flushes, row.nans, row.rounds, row.integral, row.ordering
        yield row.commutes, row.pole, row.p3109, row.family, row.loop and row.loop.name, row.is_conversion, row.fused
        yield [other.name for other in confused_with(row)]
        if row.formula is not None:
            operands = (a, b, c, b, a, c, b, b, a)[: row.arity]
            signs = row.formula.values(operands), row.formula.is_sum, row.formula.scaling(1), row.formula.scaling(-3)
            yield (
                row.formula,
                row.formula.is_multiply_add,
                signs,
                said(row.formula.fraction, (a, c) if row.formula.power else operands),
            )
