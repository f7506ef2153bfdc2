"""Accumulators: the catalogue, trees, dot products."""

from __future__ import annotations

import hashlib

from core.samples import Sample, said, sample
from softfloat_ref.oracle.accumulate import (
    ACCUMULATORS,
    define_accumulator,
    dot,
    get_accumulator,
    parse_operand_formats,
)
from softfloat_ref.oracle.accumulate.grammar import parse_tree, tree_text
from softfloat_ref.oracle.accumulate.model import summary
from softfloat_ref.oracle.accumulate.probes import PROBES, answer
from softfloat_ref.oracle.accumulate.trees import step_of, walk
from softfloat_ref.oracle.formats import get_format


@sample
def accumulators() -> Sample:
    for name, acc in ACCUMULATORS.items():
        yield (
            name,
            acc.to_dict(),
            acc.source,
            acc.status,
            summary(acc),
            tree_text(acc.root),
            step_of(acc.root),
            len(walk(acc.root)),
            sorted(acc.operand_formats),
            acc.operand_format and acc.operand_format.name,
        )
        yield (
            acc.steps_by_format,
            acc.results,
            str(acc.nan_rule),
            [said(lambda f=f, a=acc: a.result_format(get_format(f)).name) for f in ("fp16", "fp32", "bf16")],
        )
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
            yield said(
                dot,
                block,
                block[::-1],
                "mxfp8_e4m3",
                0x3F800000,
                name,
                "fp32",
                scales=(scale, scale[::-1]),
                extrapolate=True,
            )
    for args in (
        ([0], [0, 0], "fp16"),
        ([0], [0], "fp999"),
        ([1 << 16], [0], "fp16"),
        ("0", [0], "fp16"),
        ([0], [0], "mxfp8"),
        ([0], [0], None),
        ([], [], "fp16"),
        ([0], [0], "a=fp16,b=fp16,c=mxfp8"),
        ([0], [0], "fp16", 1 << 40),
        ([0], [0], "fp16", 0, "x"),
        ([0], [0], "fp16", 0, 5),
    ):
        yield said(dot, *args)
    for given in (
        "fp16",
        "a=fp16,b=fp32",
        "a=fp16",
        "b=fp16",
        "a=1,b=2,c=3",
        "a=fp16,a=fp16",
        "c=",
        ("fp16", "fp32"),
        ("a", "b", "c"),
        ("a",),
        5,
        None,
    ):
        yield said(parse_operand_formats, given)


TREES = (
    "fuse(16+c,F=25,rz)->fp32:rz",
    "fuse(p[0:4]+p[4:8]+c)->fp32",
    "chain(c+p)->fp32:rne",
    "pairs(p)->fp16 ",
    "fuse(chain(4)->fp16:rz + c)->out",
    "fuse(8@3:rd:1+c@4,F=20,rd)->fp32:rz:13",
    "fuse(4+c,F=11,rz,floor=-133)->fp32|fp16:rz",
    "fuse(4+c,F=11,rz,floor=fp16:-24|fp8_e4m3:-20,floor_when=always)->fp32:rz",
    "fuse(16+c,F=35,rz,exponent=scale)->fp32:rz",
    "fuse(p[::2]+p[1::2]+c,F=inf)->fp32",
    "fuse(p[3]+c)->fp32",
    "fuse(2+zero)->fp32",
    "chain(c+fuse(4)->fp32)->fp32:rd",
    "fuse(8+c,F=25)->fp32:rz:8",
    "fuse(2+2+c)->fp32:rup",
)
BROKEN = (
    "",
    "fuse",
    "fuse(",
    "fuse(16",
    "fuse(16)",
    "16->fp32",
    "fuse(16+c)->",
    "fuse(16+c)->fp32:xx",
    "fuse(0+c)->fp32",
    "fuse(c)->fp32",
    "fuse(p[-1]+c)->fp32",
    "fuse(p[3:0]+c)->fp32",
    "fuse(16+p+c)->fp32",
    "fuse(16+c,F=999999)->fp32",
    "fuse(16+c,rz)->fp32",
    "fuse(16+c,x=3)->fp32",
    "fuse(16+c,F=25,rz)->fp32 x",
    "fuse(16+c)->fp32|fp32",
    "fuse(16+c)->fp32|out",
    "chain(p)",
    "fuse(chain(p)+c)->fp32",
    "fuse(16+c)->fp32:sr",
    "fuse(16+c)->fp32:rz:257",
    "fuse(16+c,F=-1)->fp32",
    "fuse(16@999+c)->fp32",
    "fuse(16+c)->nofmt",
    "?",
    "fuse(p[0:4:0]+c)->fp32",
    "(" * 80,
    "fuse(" * 60 + "p",
    "a" * 4001,
    "fuse(16+c,floor=fp16)->fp32",
    "fuse(16+c,exponent=x)->fp32",
    "fuse(16+c,F=25,rz,floor_when=x)->fp32",
)


@sample
def trees() -> Sample:
    for text in (*TREES, *BROKEN):
        tree = said(parse_tree, text)
        yield (
            text,
            tree,
            isinstance(tree, str) or tree_text(tree),
            isinstance(tree, str) or (step_of(tree), len(walk(tree))),
        )  # type: ignore[arg-type]
    a, b = words(1, 11, 16), words(2, 11, 16)
    for text in (
        *TREES,
        *(f"{t},nan=ones,zero=positive" for t in TREES[:2]),
        "like=nvidia-h100,step=4",
        "nvidia-h100,x=1",
        "nvidia-v100",
    ):
        for mask in (0x7FFF, 0xB7FF, 0xC3FF):
            yield said(
                dot, [x & mask for x in a], [x & mask for x in b], "fp16", 0x40490FDB, text, "fp32", extrapolate=True
            )
    base = {"tree": "fuse(4+c,F=20,rd)->fp32:rne"}
    for more in (
        {},
        {"like": "nvidia-h100"},
        {"nan": "ones"},
        {"nan": "zz"},
        {"step": 4},
        {"step": 0},
        {"step": "block"},
        {"step": "all"},
        {"step": 1 << 14},
        {"step": (1 << 14) + 1},
        {"x": 1},
        {"flags": 1},
        {"steps": "fp16=2"},
        {"steps": "fp16"},
        {"steps": "fp16=0"},
        {"formats": "fp16 bf16"},
        {"formats": "x"},
        {"product_limit": 10},
        {"product_limit": "x"},
        {"product_exponent": 3},
        {"product_exponent": 1 << 17},
        {"product_exponent": -(1 << 16)},
        {"flush_inputs": "on"},
        {"flush_outputs": "on"},
        {"c": "x"},
        {"overflow": "x"},
        {"zero": "positive"},
        {"scales": "x"},
        {"converts": False},
        {"tree": 5},
        {"status": "x"},
        {"flush_inputs": "x"},
    ):
        acc = said(define_accumulator, {**base, **more}, "a")
        yield (
            more,
            acc if isinstance(acc, str) else acc.to_dict(),
            isinstance(acc, str)
            or [
                said(dot, [x & 0xBFFF for x in a], b, "fp16", c, acc, "fp32", extrapolate=True)
                for c in (0, 0x80000000, 0x7F800001, 1)
            ],
        )  # type: ignore[union-attr]
    for given in ("exact", " EXACT ", "exac", 5, None, {"tree": "x"}, [], "x.toml", "no(", {}):
        yield said(lambda g=given: get_accumulator(g).name)
