"""Coverage of blocks and dot products: cases hit the bins they are made for; nothing hits one that is out of reach."""

from __future__ import annotations

import itertools

import pytest

from softfloat_ref.accumulate import get_accumulator
from softfloat_ref.block_formats import any_format, get_block_format
from softfloat_ref.coverage.block_events import BlockEvents, BlockSetting, block_setting
from softfloat_ref.coverage.block_model import with_tensor_scale
from softfloat_ref.coverage.block_models import BLOCK_MODELS
from softfloat_ref.coverage.block_stochastic import ElementCarry, sharpened
from softfloat_ref.coverage.dequantize_models import Dequantize, dequantize_setting
from softfloat_ref.coverage.dot_differences import ALL_DOT_MODELS
from softfloat_ref.coverage.dot_events import DotEvents, DotSetting, dot_setting
from softfloat_ref.formats import get_format
from softfloat_ref.golden import block_cases
from softfloat_ref.policies import get_policy
from softfloat_ref.profiles import get_profile
from softfloat_ref.sources import Philox


def quantization(fmt: str, values: str, profile: str = "", **policy: object) -> BlockSetting:
    found = get_block_format(fmt)
    chosen = get_policy("ieee").replace(**policy) if policy else get_policy("ieee")
    return block_setting(found, get_format(values), get_profile(profile or found.profile), chosen)


@pytest.mark.parametrize(
    "where",
    [
        quantization("mxfp8_e4m3", "fp32"),
        quantization("mxfp4", "fp32", "microxcaling"),
        quantization("mxfp6_e3m2", "bf16", "torchao-even"),
        quantization("mxint8", "fp32"),
        quantization("nvfp4", "fp32"),
        quantization("mxfp8_e5m2", "fp16", rounding="rtz"),
        quantization("fp16@e8m0/4", "bf16"),
    ],
    ids=lambda w: f"{w.fmt.name}-{w.values.name}-{w.profile.name}",
)
def test_a_block_is_made_for_every_bin_of_a_quantization(where: BlockSetting) -> None:
    for model in BLOCK_MODELS.values():
        for b in model.bins(where):
            blocks = (BlockEvents(where, with_tensor_scale(where, x)) for x in model.cases(where, b.id))
            hit = not b.unreachable and any(b.id in model.hits(e) for e in blocks)
            assert hit == (not b.unreachable), b.id


@pytest.mark.parametrize(
    "where",
    [
        quantization("fp4_e2m1@e8m0/2", "fp6_e3m2"),
        quantization("fp6_e2m3@e8m0/2", "fp6_e2m3", rounding="rup"),
        quantization("int8@e8m0/2", "fp6_e3m2"),
    ],
    ids=lambda w: w.fmt.name,
)
def test_bins_of_quantization_against_every_block_there_is(where: BlockSetting) -> None:
    hit = set()
    for block in itertools.product(range(1 << where.values.width), repeat=2):
        e = BlockEvents(where, block)
        hit.update(*(model.hits(e) for model in BLOCK_MODELS.values()))
    for model in BLOCK_MODELS.values():
        for b in model.bins(where):
            assert (b.id in hit) == (not b.unreachable), (b.id, b.unreachable)


@pytest.mark.parametrize(
    ("fmt", "values", "bits"), [("mxfp8_e4m3", "fp32", 8), ("mxfp4", "bf16", 4), ("nvfp4", "fp32", 6)]
)
def test_values_are_made_to_meet_their_random_words(fmt: str, values: str, bits: int) -> None:
    where, source, model = quantization(fmt, values, rounding="sr", sr_bits=bits), Philox(3), ElementCarry()
    size, hit = where.fmt.size, set()
    for i, block in enumerate(block_cases.value_blocks(where.fmt, where.values, 0, 400)):
        line, words = with_tensor_scale(where, block), source.bits(bits, i * size, size)
        sharp = sharpened(where, line, words, i)
        assert BlockEvents(where, (*sharp, *words)).scale == BlockEvents(where, (*line, *words)).scale
        hit |= set(model.hits(BlockEvents(where, (*sharp, *words))))
    assert {b.id for b in model.bins(where)} <= hit


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp4", "mxint8", "nvfp4", "fp8_e4m3@ue4m3/16", "fp16@e8m0/8"])
def test_a_block_is_made_for_every_bin_of_a_dequantization(name: str) -> None:
    fmt, model = get_block_format(name), Dequantize()
    where = dequantize_setting(fmt, get_profile(fmt.profile))
    unreachable = {b.id for b in model.bins(where) if b.unreachable}
    hit = set()
    for b in model.bins(where):
        own = {h for x in model.cases(where, b.id) for h in model.hits(x, where)} if not b.unreachable else {b.id}
        assert b.id in own
        hit |= own if not b.unreachable else set()
    for block in block_cases.code_blocks(fmt, 1, 300):
        hit |= set(model.hits(where.line(block[0], block[1:]), where))
    assert not hit & unreachable


def products(a: str, b: str, out: str, acc: str, k: int) -> DotSetting:
    c = get_format(out)
    return dot_setting(any_format(a), any_format(b), c, c, get_accumulator(acc), k, True)


@pytest.mark.parametrize(
    "where",
    [
        products("mxfp8_e4m3", "mxfp8_e4m3", "fp32", "mx-fp32", 32),
        products("bf16", "bf16", "fp32", "nvidia-h100", 16),
        products("fp16", "fp16", "fp16", "nvidia-v100", 8),
        products("mxfp4", "mxfp6_e3m2", "fp32", "exact", 64),
        products("mxint8", "mxint8", "fp32", "exact", 32),
        products("fp8_e5m2", "fp8_e4m3", "fp32", "fp32-sequential", 4),
        products("fp8_e4m3", "fp8_e4m3", "fp32", "nvidia-h100-fp8-wgmma", 32),
        products("bf16", "bf16", "fp32", "x86-vdpbf16ps", 2),
        products("fp16", "fp16", "fp32", "fp32-sequential", 1),
    ],
    ids=lambda w: f"{w.unit.name}-{w.a.fmt.name}-{w.k}",
)
def test_operands_are_made_for_every_bin_of_a_dot_product(where: DotSetting) -> None:
    bins = [(model, b) for model in ALL_DOT_MODELS.values() for b in model.bins(where)]
    unreachable = {b.id for _, b in bins if b.unreachable}
    hit = set()
    for model, b in bins:
        if not b.unreachable:
            made = (DotEvents(where, x) for x in model.cases(where, b.id))
            assert any(b.id in set(model.hits(e)) for e in made), b.id
    source = Philox(5)
    widths = [where.a.fmt.width, where.b.fmt.width]
    ones = [0x7F] * where.a.blocks, [0x7F] * where.b.blocks
    for i in range(200):
        words = source.words(i * 2 * where.k, 2 * where.k + 1)
        a, b = ([w % (1 << widths[s]) for w in words[s * where.k :][: where.k]] for s in (0, 1))
        e = DotEvents(where, (*ones[0], *a, *ones[1], *b, words[-1] % (1 << where.c.width)))
        hit |= {name for model in ALL_DOT_MODELS.values() for name in model.hits(e)}
    assert hit
    assert not hit & unreachable


def test_another_accumulator_really_gives_another_result() -> None:
    where = products("bf16", "bf16", "fp32", "nvidia-h100", 16)
    model = ALL_DOT_MODELS["DP"]
    others = [b.id for b in model.bins(where) if "probe" not in b.id]
    assert {"DP/nvidia-v100", "DP/amd-cdna2", "DP/exact"} <= set(others)
    for name in others:
        for line in model.cases(where, name):
            e = DotEvents(where, line)
            assert e.by(where.by(get_accumulator(name[3:])))[0] != e.result[0]
