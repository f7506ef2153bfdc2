"""The compiled conversions against the scalar oracle: every way there is, on all kinds of values."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable

import numpy as np
import pytest

from softfloat_ref import arrays, blocks, slabs
from softfloat_ref.block_formats import BlockFormat, dequantize_to_fp32, get_block_format, quantize_block
from softfloat_ref.codec import decoder, encoder
from softfloat_ref.errors import Error
from softfloat_ref.formats import CATALOGUE, Format, get_format
from softfloat_ref.kernels import block_dispatch, convert, dispatch, nearest, plans
from softfloat_ref.kernels.random_words import words
from softfloat_ref.kernels.threads import shared
from softfloat_ref.policies import ROUNDINGS, Policy
from softfloat_ref.sources import Lfsr, Philox

FP32 = CATALOGUE["fp32"]
MANY = int(os.environ.get("SOFTFLOAT_BLOCKS", "200"))  # blocks of a kind and format
EDGES = [1 << k for k in range(23)] + [0x7FFFFF >> k for k in range(24)]
MORE = (
    "s1e1m2",
    "s1e1m2b-9",
    "s1e6m1b46",
    "s1e5m10fn",
    "s1e8m1",
    "s1e8m15",
    "s1e8m22",
    "s1e3m20",
    "s1e8m0",
    "s1e4m0fn",
    "s1e5m0finite",
    "s1e8m5",
    "i8",
    "u8",
    "i16",
    "u16",
    "i32",
)
P3109 = ("binary8p1se", "binary8p1ue", "binary8p3sf", "binary8p4uf", "binary16p10se")
NAMES = [n for n in CATALOGUE if n != "fp128"] + [*MORE, *P3109]
EXTRAS: list[dict[str, object]] = [{}, {"flush_inputs": True}, {"flush_outputs": True}, {"nan": "propagate"}]


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays too."""
    monkeypatch.setattr(dispatch, "worthwhile", lambda size: size > 0)


def inputs(fmt: Format, dtype: type, seed: int) -> np.ndarray:
    """Any bits; the format's values and the middles between them, and their neighbours in the dtype."""
    rng = np.random.default_rng(seed)
    size = np.dtype(dtype).itemsize
    wild = rng.integers(0, 1 << (8 * size), 700, dtype=np.uint64).astype(f"u{size}").view(dtype)
    codes = rng.integers(0, 1 << min(fmt.width, 60), 300, dtype=np.uint64).tolist()
    values = np.array([float(decoder(fmt)(c)) for c in codes])
    with np.errstate(all="ignore"):
        near = np.concatenate([values, (values[:-1] + values[1:]) / 2, values * 2]).astype(dtype)
        bits = near.view(f"u{size}")
        return np.concatenate([wild, near, (bits + 1).view(dtype), (bits - 1).view(dtype)])


def wanted(x: np.ndarray, fmt: Format, policy: Policy, words: np.ndarray | None) -> list[int]:
    source = arrays.as_source(x)
    decode, encode = decoder(source.fmt, policy.flush_inputs), encoder(fmt, policy)
    drawn = [0] * x.size if words is None else words.tolist()
    return [encode(decode(code), r)[0] for code, r in zip(source.codes.tolist(), drawn, strict=True)]


@pytest.mark.parametrize("name", NAMES)
def test_codes_and_values(name: str) -> None:
    fmt = get_format(name)
    for i, mode in enumerate(ROUNDINGS):
        n = 8 if mode.startswith("sr") else None
        overflow = ("sat-none", "sat-finite", "sat-propagate")[i % 3]
        policy = Policy(mode, overflow, sr_bits=n, **EXTRAS[(i + len(name)) % 4])
        dtype = (np.float32, np.float64, np.float32, np.float16)[(i * 7 + len(name)) % 4]
        x = inputs(fmt, dtype, i)
        words = np.random.default_rng(i).integers(0, 256, x.size) if n else None
        try:
            got = arrays.encode(x, fmt, policy, words)
        except Error:
            continue
        np.testing.assert_array_equal(got, np.array(wanted(x, fmt, policy, words), got.dtype), f"{mode} {policy}")
        try:
            values = arrays.quantize(x, fmt, policy, words)
        except Error:
            continue
        size = values.dtype.itemsize
        np.testing.assert_array_equal(values.view(f"u{size}"), arrays.decode(got, fmt).view(f"u{size}"))


@pytest.mark.parametrize("name", NAMES)
def test_flags(name: str) -> None:
    fmt = get_format(name)
    for i, mode in enumerate(("rne", "rup", "rto", "sr")):
        n = 8 if mode == "sr" else None
        policy = Policy(mode, sr_bits=n, tininess=("after", "before")[i % 2], **EXTRAS[i])
        x = inputs(fmt, (np.float32, np.float64, np.float16)[i % 3], i)
        words = np.random.default_rng(i).integers(0, 256, x.size) if n else None
        source = arrays.as_source(x)
        decode, encode = decoder(source.fmt, policy.flush_inputs), encoder(fmt, policy)
        drawn = [0] * x.size if words is None else words.tolist()
        try:
            pairs = [encode(decode(code), r) for code, r in zip(source.codes.tolist(), drawn, strict=True)]
        except Error:
            continue
        codes, flags = arrays.encode_flags(x, fmt, policy, words)
        assert codes.tolist() == [code for code, _ in pairs]
        assert flags.tolist() == [flag for _, flag in pairs]


@pytest.mark.parametrize("name", ["s1e8m4", "s1e8m5", "bf16", "s1e7m5", "fp8_e5m2"])
def test_what_is_flushed_around_the_smallest_normal(name: str) -> None:
    """One bit more decides it than the code: the significand's full precision below that number."""
    fmt = get_format(name)
    exponents = np.arange(-2, 2) + fmt.emin
    fractions = np.arange(1 << (fmt.mantissa_bits + 2)) / (1 << (fmt.mantissa_bits + 2)) + 1
    grid = np.ldexp(fractions, exponents[:, np.newaxis]).astype(np.float32).ravel().view(np.uint32)
    x = np.concatenate([grid - 1, grid, grid + 1]).view(np.float32)
    for mode, rule in itertools.product(("rne", "rna", "rtz", "rup", "rto"), ("before", "after")):
        policy = Policy(mode, flush_outputs=True, flush_rule=rule)
        assert arrays.encode(x, fmt, policy).tolist() == wanted(x, fmt, policy, None), (mode, rule)


@pytest.mark.parametrize("name", ["s1e4m0fn", "s1e5m0finite", "s1e6m0", "s1e7m0fn", "s0e5m0", "binary8p1se"])
def test_ties_between_powers_of_two(name: str) -> None:
    """The significand is odd there, whatever the code, but for P3109's formats."""
    fmt = get_format(name)
    ties = np.ldexp(np.float32(1.5), np.arange(fmt.emin - 3, fmt.emax + 2)).astype(np.float32)
    x = np.concatenate([ties, -ties] if fmt.signed else [ties])
    x = np.concatenate([x, np.tile(ties, 40)])  # long runs of normal numbers
    for mode in ("rne", "rna", "rhz", "rnu", "rto"):
        codes = arrays.encode(x, fmt, Policy(mode))
        assert codes.tolist() == wanted(x, fmt, Policy(mode), None), mode
        values = arrays.quantize(x, fmt, Policy(mode))
        np.testing.assert_array_equal(values, arrays.decode(codes, fmt), mode)


def test_each_way_is_taken() -> None:
    """A table, near, plain, stochastic, round_pack: each has its formats."""
    rne, flushed = Policy(), Policy(flush_outputs=True)
    assert plans.fits_table(CATALOGUE["fp8_e4m3"], flushed)
    assert plans.is_near(CATALOGUE["bf16"], rne)
    assert not plans.is_near(CATALOGUE["fp16"], rne)
    assert plans.is_plain(CATALOGUE["fp16"], rne, FP32)
    assert not plans.is_plain(CATALOGUE["fp16"], flushed, FP32)
    assert plans.is_generic(CATALOGUE["dlfloat16"], rne)
    assert plans.is_stochastic(CATALOGUE["bf16"], Policy("sr", sr_bits=16), FP32)


def test_the_truth_table_is_the_decision() -> None:
    """_addend puts into one sum what decisions says case by case."""
    for mode in ROUNDINGS:
        if mode.startswith("sr"):
            continue
        table = plans.decisions(plans.target(CATALOGUE["bf16"], Policy(mode)))
        for case in (0, 4, 8, 12):
            add = plans._addend(table >> case, 4)
            for rest in range(16):
                guard, sticky = rest >> 3, int(rest & 7 != 0)
                assert (rest + add) >> 4 == table >> (case + 2 * guard + sticky) & 1


def test_out_strides_shapes_and_threads() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((300, 1200)).astype(np.float32)
    for fmt in ("fp8_e4m3", "bf16", "fp16"):
        whole = arrays.encode(x, fmt)
        out = np.empty_like(whole)
        assert arrays.encode(x, fmt, out=out, threads=2) is out
        np.testing.assert_array_equal(out, whole)
        np.testing.assert_array_equal(arrays.encode(x[::2, ::-3], fmt), whole[::2, ::-3])
        np.testing.assert_array_equal(arrays.encode(x.T, fmt), whole.T)
        strided = np.zeros((300, 2400), whole.dtype)
        arrays.encode(x, fmt, out=strided[:, ::2])
        np.testing.assert_array_equal(strided[:, ::2], whole)
        values = np.empty(x.shape, np.float32)
        assert arrays.quantize(x, fmt, out=values, threads=2) is values
        np.testing.assert_array_equal(values, arrays.decode(whole, fmt, threads=2))
        assert arrays.encode(x[0, 0], fmt).shape == ()
        assert arrays.encode(x[:0], fmt).shape == (0, 1200)
    for bad in (np.empty(3, np.uint8), np.empty(x.shape, np.uint16), "x"):
        with pytest.raises(Error):
            arrays.encode(x, "fp8_e4m3", out=bad)


def test_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strided arrays and places, a slab at a time: the same codes, values and random words."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((7, 20, 30)).astype(np.float32)
    policy, given = Policy("sr", sr_bits=8), rng.integers(0, 256, x.shape)
    views = [
        (x.T, given.T),
        (x[::2, :, ::-3], given[::2, :, ::-3]),
        (x.astype(">f4"), given),
        (rng.integers(-500, 500, x.shape), given),
    ]
    wanted = [
        (
            arrays.encode(v, "fp8_e4m3"),
            arrays.quantize(v, "fp16", Policy("rup")),
            arrays.encode(v, "bf16", policy, r),
            arrays.quantize(v, "bf16", policy, Philox(3)),
        )
        for v, r in views
    ]
    for size in (1, 64, 500):
        monkeypatch.setattr(slabs, "SIZE", size)
        for (v, r), (codes, values, drawn, keyed) in zip(views, wanted, strict=True):
            assert slabs.is_copied(v, None)
            np.testing.assert_array_equal(arrays.encode(v, "fp8_e4m3", threads=2), codes)
            place = np.zeros((*v.shape, 2), np.float32)[..., 0]
            assert arrays.quantize(v, "fp16", Policy("rup"), out=place) is place
            np.testing.assert_array_equal(place, values)
            np.testing.assert_array_equal(arrays.encode(v, "bf16", policy, r), drawn)
            np.testing.assert_array_equal(arrays.quantize(v, "bf16", policy, Philox(3)), keyed)
        with pytest.raises(Error, match="random bits"):
            arrays.encode(x.T, "bf16", policy, given)
        with pytest.raises(Error, match="beyond 2\\^53"):
            arrays.encode(np.full((200, 2), 1 << 60).T, "bf16")
        monkeypatch.undo()


def test_random_words_by_position() -> None:
    """A source gives each element its own word, whatever the chunks and threads."""
    x = np.random.default_rng(3).standard_normal(200_001).astype(np.float32)
    policy = Policy("sr", sr_bits=8)
    for source in (Philox(7), Lfsr(16, (16, 14, 13, 11), 1, 15, 0)):
        whole = arrays.encode(x, "fp8_e4m3", policy, source)
        np.testing.assert_array_equal(arrays.encode(x, "fp8_e4m3", policy, source, threads=3), whole)
        np.testing.assert_array_equal(arrays.encode(x, "fp8_e4m3", policy, source.array(8, 0, x.size)), whole)
        assert whole[:500].tolist() == wanted(x[:500], CATALOGUE["fp8_e4m3"], policy, source.array(8, 0, 500))


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 1001, 4 * ((1 << 32) - 2)])
@pytest.mark.parametrize("n", [1, 8, 32, 33, 64])
def test_philox_is_numpys(start: int, n: int) -> None:
    for seed, stream in ((0, 0), ((1 << 64) - 1, 1), (123, 3)):
        for count in (1, 2, 37, 40):
            source = Philox(seed, stream)
            assert words(source, n, start, count).tolist() == source.bits(n, start, count)


BLOCKS = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8", "fp8_e4m3@e8m0/16")
RULES = ("torchao-ceil,tail=pad", "torchao-even,tail=pad", "mlx", "ocp,scale_rule=nearest")
PROFILES = ("ocp", *RULES, "ocp,integers=full", "ocp,flush=never", "ocp,scale_high=nan", "microxcaling")


@pytest.mark.parametrize(
    ("name", "rounding", "axis", "way"),
    [
        ("mxfp8_e4m3", "rne", -1, "compiled"),
        ("mxfp8_e4m3", "rne", 0, "compiled"),
        ("mxfp4_e2m1", "sr", -1, "compiled"),
        ("nvfp4", "rne", 1, "general"),
        ("fp8_e4m3@fp32/axis", "rne", 0, "general"),
    ],
)
def test_blocks_overwrite_an_earlier_result(name: str, rounding: str, axis: int, way: str) -> None:
    x, y = np.random.default_rng(8).standard_normal((2, 50, 70)).astype(np.float32)
    policy = Policy(rounding=rounding, sr_bits=8 if rounding == "sr" else None)  # type: ignore[arg-type]
    drawn = Philox(1) if rounding == "sr" else None
    out = blocks.quantize(y, name, axis, policy=policy, random_bits=drawn)
    scattered = dataclasses.replace(out, codes=np.empty((50, 140), np.uint8)[:, ::2])
    fresh = blocks.quantize(x, name, axis, policy=policy, random_bits=drawn)
    assert not np.array_equal(fresh.codes, out.codes)
    for given in (out, scattered):
        made = blocks.quantize(x, name, axis, policy=policy, random_bits=drawn, out=given)
        assert made.codes is given.codes
        assert made.scales is given.scales
        assert np.array_equal(made.codes, fresh.codes)
        assert np.array_equal(made.scales, fresh.scales)
        assert made.tensor_scale == fresh.tensor_scale
    plain = policy.replace(rounding="rne", sr_bits=None)
    assert (block_dispatch.plan(made.fmt, made.profile, plain, FP32) is not None) == (way == "compiled")


def test_bad_random_words_leave_an_earlier_result_as_it_was() -> None:
    x, y = np.random.default_rng(8).standard_normal((2, 4, 64)).astype(np.float32)
    policy = Policy("sr", sr_bits=8)
    out = blocks.quantize(x, "mxfp8", policy=policy, random_bits=Philox(1))
    before = out.codes.copy(), out.scales.copy()
    for bad in (np.full(y.shape, 256), np.zeros((4, 63), int), None):
        with pytest.raises(Error, match="random"):
            blocks.quantize(y, "mxfp8", policy=policy, random_bits=bad, out=out)
    assert np.array_equal(out.codes, before[0])
    assert np.array_equal(out.scales, before[1])


BIASES = ["s1e2m1b-10", "s1e4m3b-3", "s1e2m3b-30", "s1e1m2b-9", "s1e1m2", "fp8_e4m3", "s1e6m1b244", "s0e4m1b210"]


@pytest.mark.parametrize("element", BIASES)
@pytest.mark.parametrize("rule", ["floor", "ceil", "rceil", "amax"])
@pytest.mark.parametrize("axis", [0, 1])
def test_elements_of_any_bias(element: str, rule: str, axis: int) -> None:
    """The lowest binade of elements may lie above every float32 number, the highest below."""
    fmt, profile, rng = get_block_format(f"{element}@e8m0/32"), f"ocp,scale_rule={rule}", np.random.default_rng(6)
    large = np.where(rng.random((64, 32)) < 0.5, 0x7F7FFFFF, rng.integers(0, 1 << 24, (64, 32))).astype(np.uint32)
    bits = np.concatenate([wild(rng, 64), large, sparse(rng, 64), close(rng, 64)])
    turned = bits if axis else bits.T.copy()
    made, decode = blocks.quantize(turned.view(np.float32), fmt, axis, profile), decoder(FP32)
    codes, scales, values = (array if axis else array.T for array in (made.codes, made.scales, made.dequantize()))
    for given, own, scale, back in zip(bits.tolist(), codes.tolist(), scales.tolist(), values, strict=True):
        found = quantize_block([decode(code) for code in given], fmt, profile)
        assert (found.scale, list(found.codes)) == (scale[0], own), given
        assert dequantize_to_fp32(found.scale, found.codes, fmt, profile) == back.copy().view(np.uint32).tolist()


def test_blocks_do_not_fit_their_place() -> None:
    x = np.ones((4, 64), np.float32)
    out = blocks.quantize(x, "mxfp8")
    with pytest.raises(Error, match=r"out must be an array of uint8 of shape \(2, 64\), not uint8 of shape \(4, 64\)"):
        blocks.quantize(x[:2], "mxfp8", out=out)
    with pytest.raises(Error, match=r"out must be an array of uint8 of shape \(1, 64\), not uint8 of shape \(4, 2\)"):
        blocks.quantize(x, "mxfp8", axis=0, out=out)
    out.scales.flags.writeable = False
    with pytest.raises(Error, match="out is read-only"):
        blocks.quantize(x, "mxfp8", out=out)
    with pytest.raises(Error, match="out must be a BlockArray, not ndarray"):
        blocks.quantize(x, "mxfp8", out=out.codes)  # type: ignore[arg-type]


def test_many_small_arrays_pay_for_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # of `compiled`
    monkeypatch.setattr(dispatch, "_LOOPS", "not loaded")
    monkeypatch.setattr(dispatch._Uncompiled, "values", 0)
    size = dispatch.COMPILED_FROM - 1
    calls = dispatch._COMPILED_AFTER // size
    assert [dispatch.worthwhile(size) for _ in range(calls + 2)] == [False] * calls + [True] * 2
    assert dispatch.worthwhile(dispatch.COMPILED_FROM)


def wild(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(0, 1 << 32, (count, 32), np.uint32)


def normal(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.standard_normal((count, 32), np.float32).view(np.uint32)


def close(rng: np.random.Generator, count: int) -> np.ndarray:
    """Exponents near one another, anywhere in the range; half of the fractions at the places where roundings turn."""
    fields = np.clip(rng.integers(0, 255, (count, 1)) - rng.integers(0, 30, (count, 32)), 0, 254).astype(np.uint32)
    turning = rng.choice(np.array([*EDGES, 4194305, 4194303, 5242880, 6291456, 6291457], np.uint32), (count, 32))
    fractions = np.where(rng.random((count, 32)) < 0.5, turning, rng.integers(0, 1 << 23, (count, 32), np.uint32))
    return fields << np.uint32(23) | fractions | rng.integers(0, 2, (count, 32), np.uint32) << np.uint32(31)


def sparse(rng: np.random.Generator, count: int) -> np.ndarray:
    """Mostly zeros, a third of the blocks nothing else, and a few specials and subnormals."""
    bits = np.where(rng.random((count, 32)) < 0.1, normal(rng, count), np.uint32(0))
    bits[rng.random(count) < 0.3] = 0
    for special in (0x7FC00000, 0xFF800000, 1, 0x80000000):
        bits[rng.random((count, 32)) < 0.0005] = special
    return bits


@pytest.mark.parametrize("name", BLOCKS[:-1])
@pytest.mark.parametrize("kind", [wild, normal, close, sparse])
def test_many_blocks(name: str, kind: Callable[[np.random.Generator, int], np.ndarray]) -> None:
    """Every one against the oracle, a row of any length at a time, there and back."""
    fmt, rng, decode = get_block_format(name), np.random.default_rng(3), decoder(FP32)
    left = MANY
    while left > 0:
        rows = int(rng.choice([1, 2, 8, 70, 128]))
        bits = kind(rng, rows * -(-min(left, 1000) // rows))
        left -= bits.shape[0]
        made = blocks.quantize(bits.view(np.float32).reshape(-1, 32 * rows), fmt)
        codes, scales = made.codes.reshape(-1, 32).tolist(), made.scales.reshape(-1).tolist()
        values = made.dequantize().view(np.uint32).reshape(-1, 32).tolist()
        for given, own, scale, back in zip(bits.tolist(), codes, scales, values, strict=True):
            found = quantize_block([decode(code) for code in given], fmt, "ocp")
            assert (found.scale, list(found.codes)) == (scale, own), given
            assert dequantize_to_fp32(scale, own, fmt) == back


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("profile", PROFILES)
def test_blocks(name: str, profile: str) -> None:
    fmt, rng = get_block_format(name), np.random.default_rng(len(name) + len(profile))
    bits = rng.integers(0, 1 << 32, (6, 96), dtype=np.uint64).astype(np.uint32)
    bits[1] = (rng.standard_normal(96) * 2.0 ** rng.integers(-140, 127)).astype(np.float32).view(np.uint32)
    bits[2] &= 0x807FFFFF
    bits[3] = bits[3] & 0x807FFFFF | np.uint32(rng.integers(1, 255) << 23)
    bits[4, ::3] = 0
    decode, policy = decoder(FP32), Policy("rup") if "flush" in profile else None
    bits[5] = np.repeat([0, 0x80000000, 0x00400000], 32)
    short = bits[:, :70].copy()
    for x, axis in (
        (bits, 1),
        (short, 1),
        (np.ascontiguousarray(bits.T), 0),
        (short.reshape(2, 3, 70).swapaxes(1, 2).copy(), 1),
    ):
        q = blocks.quantize(x.view(np.float32), fmt, axis, profile, policy)
        lanes, codes, scales, back = (
            np.moveaxis(a, axis, -1).reshape(6, -1) for a in (x, q.codes, q.scales, q.dequantize().view(np.uint32))
        )
        for lane, code, scale_row, values in zip(lanes, codes, scales, back, strict=True):
            for i, scale in enumerate(scale_row):
                part = slice(i * fmt.size, (i + 1) * fmt.size)
                block = quantize_block([decode(int(v)) for v in lane[part]], fmt, profile, policy)
                assert (block.scale, list(block.codes)) == (scale, code[part].tolist())
                assert dequantize_to_fp32(block.scale, block.codes, fmt, profile) == values[part].tolist()


@pytest.mark.parametrize("name", BLOCKS[:-1])
def test_values_of_rows_of_32(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scale with every element, and blocks without special elements."""
    fmt = get_block_format(name)
    every = np.tile(np.arange(256, dtype=np.uint8) & np.uint8((1 << fmt.element.width) - 1), (256, 1))
    rows = np.concatenate([np.minimum(every, 3), every | np.uint8(1), every], axis=1)
    scales = np.repeat(np.arange(256, dtype=np.uint8)[:, np.newaxis], 24, axis=1)
    scales[:, 9::5] = 120
    found = [_values(rows, scales, fmt, size, monkeypatch) for size in (32, 0)]
    np.testing.assert_array_equal(*found)
    code = rows[200, 300]
    assert found[0][200, 300] == dequantize_to_fp32(int(scales[200, 300 // 32]), [int(code)], fmt)[0]


def _values(
    codes: np.ndarray, scales: np.ndarray, fmt: BlockFormat, size: int, patch: pytest.MonkeyPatch
) -> np.ndarray:
    patch.setattr(block_dispatch, "SIZE", size)
    return blocks.BlockArray(codes, scales, fmt, 1).dequantize().view(np.uint32)


def every_binade() -> np.ndarray:
    """float32 bits of either sign: a part of the array, as the loops take it, of each exponent field, with fractions
    next to its ends and to powers of two; parts of zeros and FP16's normal numbers; anything."""
    rng = np.random.default_rng(9)
    edges = np.array([*EDGES, 4194305, 4194303, 5242880], np.uint32)
    fractions = np.concatenate([edges, rng.integers(0, 1 << 23, nearest.PART - edges.size, np.uint32)])
    inside = (np.arange(256, dtype=np.uint32)[:, np.newaxis] << np.uint32(23) | fractions).reshape(-1)
    normal = rng.integers(113 << 23, 142 << 23, 1 << 14, dtype=np.uint32)
    normal[::5] = 0
    bits = np.concatenate([inside, normal, rng.integers(0, 1 << 31, 1 << 13, dtype=np.uint32)])
    return np.concatenate([bits, bits | np.uint32(1 << 31)])


def lone() -> np.ndarray:
    """Parts of ones with a single number that is next to, or half a binade above, a power of two."""
    fields = np.arange(1, 256, dtype=np.uint32)[:, np.newaxis] << np.uint32(23)
    odd = (fields + np.array([-1, 0, 1, 1 << 22], np.int64)).astype(np.uint32).reshape(-1)
    bits = np.full((odd.size, nearest.PART), 127 << 23, np.uint32)
    bits[:, 77] = odd
    return bits.reshape(-1)


@pytest.mark.parametrize("name", ["fp16", "s1e6m3", "s1e5m9finite"])
@pytest.mark.parametrize("overflow", ["sat-none", "sat-finite"])
@pytest.mark.parametrize("mode", ["rne", "rna", "rtz"])
def test_one_number_out_of_the_normal_range(name: str, overflow: str, mode: str) -> None:
    fmt, policy, x = get_format(name), Policy(mode, overflow), lone()
    loop, numbers = dispatch._nearest(fmt, policy, False) or (None, None)
    assert loop is nearest.wide_codes32
    got, wanted = np.empty(x.size, np.uint16), np.empty(x.size, np.uint16)
    loop(x, got, numbers)
    convert.plain_codes32(x, wanted, dispatch._plain(fmt, policy, FP32))
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", [*NAMES, "s1e6m3", "s1e7m8", "s1e5m9finite"])
def test_the_loops_for_nearest_are_the_general_ones(name: str) -> None:
    fmt, x, kinds = get_format(name), every_binade(), set()
    got, wanted = np.empty(x.size, np.uint32), np.empty(x.size, np.uint32)
    for mode in ROUNDINGS:
        for overflow in ("sat-none", "sat-finite", "sat-propagate"):
            policy = Policy(mode, overflow, sr_bits=8 if mode.startswith("sr") else None)
            if not plans.is_plain(fmt, policy, FP32):
                continue
            for values in (False, True):
                found = dispatch._nearest(fmt, policy, values)
                if found is None:
                    continue
                loop, numbers = found
                loop(x, got, numbers)
                if values:
                    convert.plain_values32(x, wanted, dispatch._value_numbers(fmt, policy))
                else:
                    convert.plain_codes32(x, wanted, dispatch._plain(fmt, policy, FP32))
                np.testing.assert_array_equal(got, wanted, f"{mode} {overflow}")
                kinds.add(loop.__name__)
    if name in ("fp16", "fp8_e4m3", "bf16"):
        first = {"fp16": "wide", "fp8_e4m3": "nearest", "bf16": "same_exponents"}[name]
        second = "nearest" if name == "fp16" else first
        assert kinds == {f"{first}_codes32", f"{second}_values32"}


@pytest.mark.parametrize("name", BLOCKS[:-1])
def test_rows_of_32_are_the_general_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of every scale, in rows that end in a complete block or not, and the same by the loop for any rows."""
    rng, fmt = np.random.default_rng(4), get_block_format(name)
    bits = rng.integers(0, 1 << 32, (256, 70 * 32), dtype=np.uint64).astype(np.uint32)
    fields = np.arange(256, dtype=np.uint32)[:, np.newaxis]
    bits[:, :1024] = (
        bits[:, :1024] & 0x807FFFFF | np.maximum(fields, rng.integers(0, 12, (256, 1024)) + fields - 12) << 23
    )
    bits[:, 1024:2048] = np.where(rng.random((256, 1024)) < 0.5, bits[:, :1024], bits[:, :1024] & np.uint32(1 << 31))
    for x, profile in itertools.product(
        (bits.view(np.float32), bits[:, :1005].copy().view(np.float32)),
        ("ocp", "torchao-even,tail=pad", "mlx", "ocp,flush=never"),
    ):
        for policy in (None, Policy("rna"), Policy("rtz")):
            monkeypatch.setattr(block_dispatch, "SIZE", 32)
            fast = blocks.quantize(x, fmt, -1, profile, policy)
            back = fast.dequantize()
            monkeypatch.setattr(block_dispatch, "SIZE", 0)
            slow = blocks.quantize(x, fmt, -1, profile, policy)
            np.testing.assert_array_equal(fast.scales, slow.scales)
            np.testing.assert_array_equal(fast.codes, slow.codes)
            np.testing.assert_array_equal(back.view(np.uint32), slow.dequantize().view(np.uint32))


@pytest.mark.parametrize(
    ("count", "size", "threads"), [(1 << 20, 1, 3), ((1 << 20) + 5, 1, 2), (5000, 1024, 2), (7, 3, 4)]
)
def test_threads_share_every_element_once(count: int, size: int, threads: int) -> None:
    seen = np.zeros(count, np.uint8)

    def work(part: slice) -> None:
        seen[part] += 1

    shared(count, size, threads, work)
    assert seen.min() == seen.max() == 1


def test_an_error_in_a_thread_is_seen() -> None:
    def work(part: slice) -> None:
        if part.start <= 3 << 18 < part.stop:
            raise Error("here")

    with pytest.raises(Error, match="here"):
        shared(1 << 20, 1, 2, work)
