"""Accumulators that are chains of operations, against those chains by `evaluate`."""

from __future__ import annotations

from fractions import Fraction

import pytest
from dot_inputs import fractions, vectors
from hypothesis import given
from hypothesis import strategies as st

import softfloat_ref as sf
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.operations import evaluate


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("out", ["fp32", "fp16"])
@given(data=st.data())
def test_fma_chain(out: str, data: st.DataObject) -> None:
    a, b = data.draw(vectors("fp16", st.integers(1, 8)))
    code = data.draw(st.integers(0, (1 << get_format(out).width) - 1))
    got, flags = sf.dot(a, b, "fp16", code, "fma-chain", out), 0
    for x, y in zip(a, b, strict=True):
        code, more = evaluate("fma", (x, y, code), ("fp16", "fp16", out), out)
        flags |= more
    assert got == (code, flags)


@pytest.mark.parametrize(("acc", "fmt"), [("fp32-sequential", "fp32"), ("fp16-sequential", "fp16")])
@given(data=st.data())
def test_sequential(acc: str, fmt: str, data: st.DataObject) -> None:
    a, b = data.draw(vectors("bf16", st.integers(1, 8)))
    code = data.draw(st.integers(0, (1 << get_format(fmt).width) - 1))
    got, flags = sf.dot(a, b, "bf16", code, acc, fmt), 0
    for x, y in zip(a, b, strict=True):
        product = evaluate("mul", (x, y), "bf16", fmt)
        added = evaluate("add", (code, product.bits), fmt)
        code, flags = added.bits, flags | product.flags | added.flags
    assert got == (code, flags)


@given(vectors("fp16", st.integers(1, 20)), st.integers(0, (1 << 32) - 1))
def test_pairwise(pair: tuple[list[int], ...], c: int) -> None:
    products = [evaluate("mul", xy, "fp16", "fp32") for xy in zip(*pair, strict=True)]
    flags, level = 0, [p.bits for p in products]
    for p in products:
        flags |= p.flags
    while True:
        if len(level) == 1:
            last = evaluate("add", (level[0], c), "fp32")
            break
        sums = [evaluate("add", level[i : i + 2], "fp32") for i in range(0, len(level) - 1, 2)]
        for s in sums:
            flags |= s.flags
        level = [s.bits for s in sums] + level[len(level) & ~1 :]
    assert sf.dot(*pair, "fp16", c, "fp32-pairwise") == (last.bits, flags | last.flags)


@pytest.mark.full
@given(vectors("fp8_e5m2", st.integers(1, 150)), st.integers(0, (1 << 16) - 1))
def test_chunked(pair: tuple[list[int], ...], c: int) -> None:
    total = c
    for k in range(0, len(pair[0]), 64):
        chunk = 0
        for x, y in zip(pair[0][k : k + 64], pair[1][k : k + 64], strict=True):
            product = evaluate("mul", (x, y), "fp8_e5m2", "s1e6m9").bits
            chunk = evaluate("add", (chunk, product), "s1e6m9").bits
        total = evaluate("add", (total, chunk), "s1e6m9").bits
    assert sf.dot(*pair, "fp8_e5m2", c, "chunked-fp16", "s1e6m9").bits == total


X86 = sf.get_policy("x86-sse", flush_inputs=True, flush_outputs=True)


@given(vectors("bf16", st.integers(1, 5).map(lambda n: 2 * n)), st.integers(0, (1 << 32) - 1))
def test_vdpbf16ps_is_two_fmas(pair: tuple[list[int], ...], code: int) -> None:
    a, b = pair
    got = sf.dot(a, b, "bf16", code, "x86-vdpbf16ps")
    for k in range(0, len(a), 2):
        for i in (k + 1, k):
            code = evaluate("fma", (a[i], b[i], code), ("bf16", "bf16", "fp32"), "fp32", X86).bits
    assert got == (code, 0)


@given(vectors("bf16", st.integers(1, 40)), st.integers(0, (1 << 32) - 1))
def test_amx_is_two_chains(pair: tuple[list[int], ...], code: int) -> None:
    a, b = ([*x, *[0] * (-len(x) % 32)] for x in pair)
    got = sf.dot(*pair, "bf16", code, "x86-amx-bf16")
    for k in range(0, len(a), 32):
        even = odd = 0
        for i in range(k, k + 32, 2):
            even = evaluate("fma", (a[i], b[i], even), ("bf16", "bf16", "fp32"), "fp32", X86).bits
            odd = evaluate("fma", (a[i + 1], b[i + 1], odd), ("bf16", "bf16", "fp32"), "fp32", X86).bits
        both = evaluate("add", (even, odd), "fp32", policy=X86).bits
        code = evaluate("add", (code, both), "fp32", policy=X86).bits
    assert got == (code, 0)


ARM = sf.get_policy("ieee", flush_inputs=True, flush_outputs=True, flush_rule="before", rounding="rto")


@given(vectors("bf16", st.just(2)), st.integers(0, (1 << 32) - 1))
def test_bfdot_rounds_to_odd(pair: tuple[list[int], ...], c: int) -> None:
    """Products, their sum and the sum with c; an overflow is Inf, which IEEE's rounding to odd never gives."""

    def operation(op: str, x: int, y: int, fmt: str) -> int:
        bits, flags = evaluate(op, (x, y), fmt, "fp32", ARM)
        return bits + 1 if flags & 4 else bits

    p = [operation("mul", x, y, "bf16") for x, y in zip(*pair, strict=True)]
    expected = operation("add", c, operation("add", *p, "fp32"), "fp32")
    assert sf.dot(*pair, "bf16", c, "arm-bfdot") == (expected, 0)


@given(vectors("bf16", st.just(2)), st.integers(0, (1 << 32) - 1))
def test_bfdot_ebf(pair: tuple[list[int], ...], c: int) -> None:
    (a0, a1), (b0, b1) = pair
    both = evaluate("dot2", (a0, b0, a1, b1, 0x80000000), ["bf16"] * 4 + ["fp32"], "fp32").bits
    assert sf.dot(*pair, "bf16", c, "arm-bfdot-ebf") == (evaluate("add", (c, both), "fp32").bits, 0)


@given(vectors("fp8_e4m3", st.just(4)), st.integers(0, (1 << 32) - 1), st.integers(0, 127))
def test_fp8_fdot(pair: tuple[list[int], ...], c: int, lscale: int) -> None:
    unit = {"like": "arm-fp8-fdot", "product_exponent": -lscale}
    got = sf.dot(*pair, "fp8_e4m3", c, unit)
    x, y, z = fractions(pair[0], "fp8_e4m3"), fractions(pair[1], "fp8_e4m3"), fractions([c], "fp32")
    if x is None or y is None or z is None:
        return
    total = sum((p * q for p, q in zip(x, y, strict=True)), Fraction(0)) / 2**lscale + z[0]
    assert got.bits & 0x7FFFFFFF == sf.encode(total, "fp32").bits & 0x7FFFFFFF
    assert total == 0 or got.bits == sf.encode(total, "fp32").bits
