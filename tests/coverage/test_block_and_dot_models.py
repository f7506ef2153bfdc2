"""Coverage of blocks and dot products: cases hit the bins they are made for; nothing hits one that is out of reach."""

from __future__ import annotations

import itertools

import pytest
import volume

from softfloat_ref.coverage.dequantize import dequantization
from softfloat_ref.coverage.dot.models import dot_products
from softfloat_ref.coverage.dot.setting import DotEvents
from softfloat_ref.coverage.engine.framework import Coverage
from softfloat_ref.coverage.quantize import models, setting
from softfloat_ref.coverage.quantize.element_carry import near_carry_case
from softfloat_ref.coverage.quantize.setting import BlockEvents, BlockSetting
from softfloat_ref.golden.kinds.dequantize import code_blocks
from softfloat_ref.golden.kinds.dot import line_inputs, operands_of
from softfloat_ref.golden.kinds.dot_codes import random_case
from softfloat_ref.golden.kinds.quantize import value_blocks
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.blocks.scale_rules import largest
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.policies import get_policy
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.units import DequantizeUnit, DotUnit, QuantizeUnit


def quantization(fmt: str, values: str, profile: str = "", **policy: object) -> Coverage:
    block, chosen = get_block_format(fmt), get_policy("ieee").replace(**policy)
    return models.quantization(QuantizeUnit.make(block, values, chosen, profile or None))


def products(a: str, b: str, out: str, acc: str, k: int) -> Coverage:
    return dot_products(DotUnit.make(f"a={a},b={b}", out, acc, k, extrapolate=True))


def each_bin_is_hit(coverage: Coverage) -> None:
    """Which has a name of its own."""
    for model, bins in coverage.bins().items():
        assert len({b.id for b in bins}) == len(bins) == len(coverage.cells(model))
    for name in itertools.chain(*coverage.names().values()):
        assert next(coverage.cases(name), None) is not None, name


@pytest.mark.full(gate=5)
@pytest.mark.parametrize(
    ("fmt", "values", "profile", "policy"),
    [
        ("mxfp8_e4m3", "fp32", "", {}),
        ("mxfp4", "fp32", "microxcaling", {}),
        ("mxfp6_e3m2", "bf16", "torchao-even", {}),
        ("mxint8", "fp32", "", {}),
        ("nvfp4", "fp32", "", {}),
        ("mxfp8_e5m2", "fp16", "", {"rounding": "rtz"}),
        *([("mxfp8_e4m3", "fp32", "", {"rounding": "sr", "sr_bits": 8})] if volume.FULL else []),
        ("nvfp4", "bf16", "", {"rounding": "sr", "sr_bits": 16}),
        ("fp16@e8m0/4", "bf16", "", {}),
        ("fp8_e4m3@fp32/16", "fp32", "", {}),
        ("bf16@fp64/2", "fp32", "", {}),
        ("bf16@e8m0/4", "fp32", "", {}),
        ("fp4_e2m1@fp16/4", "bf16", "", {}),
    ],
)
def test_a_block_is_made_for_every_bin_of_a_quantization(
    fmt: str, values: str, profile: str, policy: dict[str, object]
) -> None:
    each_bin_is_hit(quantization(fmt, values, profile, **policy))


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("fmt", "values", "rounding"),
    [
        ("fp4_e2m1@e8m0/2", "fp6_e3m2", "rne"),
        ("fp6_e2m3@e8m0/2", "fp6_e2m3", "rup"),
        ("int8@e8m0/2", "fp6_e3m2", "rne"),
        ("fp4_e2m1@ue4m3/2", "fp6_e3m2", "rne"),
    ],
)
def test_bins_of_quantization_against_every_block_there_is(fmt: str, values: str, rounding: str) -> None:
    coverage = quantization(fmt, values, "ocp", rounding=rounding)
    width = get_format(values).width
    hit = set().union(*map(coverage.hits, itertools.product(range(1 << width), repeat=2)))
    for b in itertools.chain(*coverage.bins().values()):
        assert (b.id in hit) == (not b.unreachable), b


@pytest.mark.parametrize("fmt", ["fp4_e2m1@fp16/2", "int8@ue4m3/2", "fp8_e4m3@bf16/2", "fp4_e2m1@e8m0/2"])
def test_some_stretches_of_scales_are_among_all_of_them(fmt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at of scales of many bits; here of few, so that all are known."""
    unit = QuantizeUnit.make(get_block_format(fmt), "fp8_e5m2", "ieee", "ocp")
    every = BlockSetting(unit).stretches
    monkeypatch.setattr(setting, "_ENUMERATED_BITS", 0)
    monkeypatch.setattr(setting, "_SAMPLED_SCALES", 3)
    where = BlockSetting(unit)
    some = where.stretches
    assert set(some) < set(every)
    assert (some[:3], some[-3:], len(some)) == (every[:3], every[-3:], 9)
    at_one = where.code(largest(where.fmt.element))
    assert some[3].first <= at_one <= some[3].last


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("fmt", "values", "bits"), [("mxfp8_e4m3", "fp32", 8), ("mxfp4", "bf16", 4), ("nvfp4", "fp32", 6)]
)
def test_values_made_to_meet_their_random_words_keep_the_scale(fmt: str, values: str, bits: int) -> None:
    coverage, source = quantization(fmt, values, rounding="sr", sr_bits=bits), Philox(3)
    where = coverage.where
    size, changed = where.fmt.size, 0
    for i, block in enumerate(value_blocks(where.fmt, where.values, 0, 400)):
        line = (*block, 0x3F800000) if where.two_levels else block
        words = source.bits(bits, i * size, size)
        sharp = near_carry_case(where, line, words, i)
        changed += sharp != line
        assert BlockEvents(where, (*sharp, *words)).scale == BlockEvents(where, (*line, *words)).scale
    assert changed > 20


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp4", "mxint8", "nvfp4", "fp8_e4m3@ue4m3/16", "fp16@e8m0/8"])
def test_a_block_is_made_for_every_bin_of_a_dequantization(name: str) -> None:
    fmt = get_block_format(name)
    coverage = dequantization(DequantizeUnit.make(fmt))
    each_bin_is_hit(coverage)
    blocks = list(code_blocks(fmt, 1, 300))
    lines = [(*x, 0x3F800000) if coverage.where.two_levels else x for x in blocks]
    assert not set().union(*map(coverage.hits, lines)) & out_of_reach(coverage)


def out_of_reach(coverage: Coverage) -> set[str]:
    return {b.id for b in itertools.chain(*coverage.bins().values()) if b.unreachable}


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("a", "b", "out", "acc", "k"),
    [
        ("mxfp8_e4m3", "mxfp8_e4m3", "fp32", "mx-fp32", 32),
        ("bf16", "bf16", "fp32", "nvidia-h100", 16),
        ("fp16", "fp16", "fp16", "nvidia-v100", 8),
        ("mxfp4", "mxfp6_e3m2", "fp32", "exact", 64),
        ("mxint8", "mxint8", "fp32", "exact", 32),
        ("fp8_e5m2", "fp8_e4m3", "fp32", "fp32-sequential", 4),
        ("fp8_e4m3", "fp8_e4m3", "fp32", "nvidia-h100-fp8-wgmma", 32),
        ("bf16", "bf16", "fp32", "x86-vdpbf16ps", 2),
        ("fp16", "fp16", "fp32", "fp32-sequential", 1),
    ],
)
def test_operands_are_made_for_every_bin_of_a_dot_product(a: str, b: str, out: str, acc: str, k: int) -> None:
    coverage = products(a, b, out, acc, k)
    each_bin_is_hit(coverage)
    unit = DotUnit.make(f"a={a},b={b}", acc=acc, k=k, out=out, extrapolate=True)
    source = Philox(5)
    lines = [line_inputs(random_case(operands_of(unit), source, i)) for i in range(200)]
    assert not set().union(*map(coverage.hits, lines)) & out_of_reach(coverage)


def test_another_accumulator_really_gives_another_result() -> None:
    coverage = products("bf16", "bf16", "fp32", "nvidia-h100", 16)
    others = [name for (kind, name), _ in coverage.cells("DP").items() if kind != "probe"]
    assert {"nvidia-v100", "amd-cdna2", "exact"} <= set(others)
    for name in others:
        for line in coverage.cases(f"DP/{name}"):
            e = DotEvents(coverage.where, line)
            assert e.by(e.where.by(get_accumulator(name)))[0] != e.result[0]


@pytest.mark.full
@pytest.mark.parametrize(
    ("fmt", "c", "k"),
    [("fp4_e2m1", "fp6_e2m3", 1), ("s1e2m0", "s1e2m1", 2), *([("s1e1m1", "fp4_e2m1", 2)] if volume.FULL else [])],
)
def test_bins_of_dot_products_against_every_case_there_is(fmt: str, c: str, k: int) -> None:
    coverage = products(fmt, fmt, c, "exact", k)
    widths = [get_format(fmt).width] * (2 * k) + [get_format(c).width]
    hit = set().union(*map(coverage.hits, itertools.product(*(range(1 << w) for w in widths))))
    for b in itertools.chain(*coverage.bins().values()):
        assert (b.id in hit) == (not b.unreachable), b
