"""The compiled conversions against the scalar oracle: every way there is, on all kinds of values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from volume import cases

from softfloat_ref import arrays, blocks
from softfloat_ref.arrays import convert as convert_arrays
from softfloat_ref.arrays import slabs
from softfloat_ref.arrays.kernels import convert, dispatch, jit, nearest, plans
from softfloat_ref.arrays.kernels.random_words import words
from softfloat_ref.arrays.slabs import run_slices
from softfloat_ref.base.errors import Error
from softfloat_ref.oracle.codec import decoder, encoder
from softfloat_ref.oracle.formats import CATALOGUE, Format, get_format
from softfloat_ref.oracle.policies import ROUNDINGS, Policy
from softfloat_ref.oracle.sources import Lfsr, Philox

pytestmark = pytest.mark.usefixtures("compiled")

FP32 = CATALOGUE["fp32"]
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
NAMES = [n for n, f in CATALOGUE.items() if f.width <= 64] + [*MORE, *P3109]
EXTRAS: list[dict[str, object]] = [{}, {"flush_inputs": True}, {"flush_outputs": True}, {"nan": "propagate"}]


def inputs(fmt: Format, dtype: type, seed: int) -> np.ndarray:
    """Any bits; the format's values and the middles between them, and their neighbours in the dtype."""
    rng = np.random.default_rng(seed)
    size = np.dtype(dtype).itemsize
    wild = rng.integers(0, 1 << (8 * size), cases(400, 700), dtype=np.uint64).astype(f"u{size}").view(dtype)
    codes = rng.integers(0, 1 << min(fmt.width, 60), cases(150, 300), dtype=np.uint64).tolist()
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


@pytest.mark.full
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


@pytest.mark.full(keep=4)
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
    for call in (lambda n: arrays.quantize(x, "bf16", threads=n), lambda n: blocks.encode(x, "mxfp8", threads=n)):
        for none in (0, -1):
            with pytest.raises(Error, match=f"threads = {none}: an integer from 1 to 1024"):
                call(none)


@pytest.mark.full
def test_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strided arrays and places, a slab at a time: the same codes, values and random words."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((7, 20, 30)).astype(np.float32)
    policy, words = Policy("sr", sr_bits=8), rng.integers(0, 256, x.shape)
    views = [
        (x.T, words.T),
        (x[::2, :, ::-3], words[::2, :, ::-3]),
        (x.astype(">f4"), words),
        (rng.integers(-500, 500, x.shape), words),
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
        monkeypatch.setattr(slabs, "SLAB_SIZE", size)
        for (v, r), (codes, values, drawn, keyed) in zip(views, wanted, strict=True):
            assert slabs.needs_copy(v, None)
            np.testing.assert_array_equal(arrays.encode(v, "fp8_e4m3", threads=2), codes)
            place = np.zeros((*v.shape, 2), np.float32)[..., 0]
            assert arrays.quantize(v, "fp16", Policy("rup"), out=place) is place
            np.testing.assert_array_equal(place, values)
            np.testing.assert_array_equal(arrays.encode(v, "bf16", policy, r), drawn)
            np.testing.assert_array_equal(arrays.quantize(v, "bf16", policy, Philox(3)), keyed)
        with pytest.raises(Error, match="random bits"):
            arrays.encode(x.T, "bf16", policy, words)
        with pytest.raises(Error, match="beyond 2\\^53"):
            arrays.encode(np.full((200, 2), 1 << 60).T, "bf16")
        monkeypatch.undo()


@pytest.mark.full
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


def test_many_small_arrays_pay_for_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # of `compiled`
    monkeypatch.setattr(dispatch, "_LOOPS_MODULE", "not loaded")
    for weight in (1, dispatch.ONE_BY_ONE):
        monkeypatch.setattr(dispatch._Uncompiled, "values", 0)
        calls = dispatch.COMPILED_AFTER // (999 * weight)
        assert [dispatch.use_compiled(999, weight) for _ in range(calls + 2)] == [False] * calls + [True] * 2
    monkeypatch.setattr(dispatch._Uncompiled, "values", 0)
    assert dispatch.use_compiled(dispatch.COMPILED_AFTER)


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


@pytest.fixture
def without_half(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a processor without F16C."""
    monkeypatch.setattr(jit, "has_half", lambda: False)
    dispatch._nearest.cache_clear()
    yield
    dispatch._nearest.cache_clear()


@pytest.mark.full(keep=8)
@pytest.mark.usefixtures("without_half")
@pytest.mark.parametrize("name", ["fp16", "s1e6m3", "s1e5m9finite"])
@pytest.mark.parametrize("overflow", ["sat-none", "sat-finite"])
@pytest.mark.parametrize("mode", ["rne", "rna", "rtz"])
def test_one_number_out_of_the_normal_range(name: str, overflow: str, mode: str) -> None:
    fmt, policy, x = get_format(name), Policy(mode, overflow), dispatch.read_only(lone())
    loop, (numbers,) = dispatch._nearest(fmt, policy, False) or (None, (None,))
    assert loop is nearest.wide_codes32
    got, wanted = np.empty(x.size, np.uint16), np.empty(x.size, np.uint16)
    loop(x, got, numbers)
    convert.plain_codes32(x, wanted, dispatch._plain(fmt, policy, FP32))
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.full(keep=27)
@pytest.mark.parametrize("name", [*NAMES, "s1e6m3", "s1e7m8", "s1e5m9finite"])
def test_the_loops_for_nearest_are_the_general_ones(name: str) -> None:
    fmt, x, kinds = get_format(name), dispatch.read_only(every_binade()), set()
    got, wanted = np.empty(x.size, np.uint32), np.empty(x.size, np.uint32)
    for mode in ROUNDINGS:
        for overflow in ("sat-none", "sat-finite", "sat-propagate"):
            policy = Policy(mode, overflow, sr_bits=8 if mode.startswith("sr") else None)
            if not plans.is_plain(fmt, policy, FP32):
                continue
            for values in (False, True):
                chosen = dispatch._nearest(fmt, policy, values)
                if chosen is None:
                    continue
                loop, rest = chosen
                loop(x, got, *rest)
                if values:
                    convert.plain_values32(x, wanted, dispatch._value_numbers(fmt, policy))
                else:
                    convert.plain_codes32(x, wanted, dispatch._plain(fmt, policy, FP32))
                np.testing.assert_array_equal(got, wanted, f"{mode} {overflow}")
                kinds.add(loop.__name__)
    if name in ("fp16", "fp8_e4m3", "bf16"):
        first = {"fp16": "wide", "fp8_e4m3": "nearest", "bf16": "same_exponents"}[name]
        second = "nearest" if name == "fp16" else first
        half = {"half_codes32"} if name == "fp16" and jit.has_half() else set()
        assert kinds == {f"{first}_codes32", f"{second}_values32"} | half


@pytest.mark.parametrize(
    ("count", "size", "threads"), [(1 << 20, 1, 3), ((1 << 20) + 5, 1, 2), (5000, 1024, 2), (7, 3, 4)]
)
def test_threads_share_every_element_once(count: int, size: int, threads: int) -> None:
    seen = np.zeros(count, np.uint8)

    def work(part: slice) -> None:
        seen[part] += 1

    run_slices(count, size, threads, work)
    assert seen.min() == seen.max() == 1


def test_an_error_in_a_thread_is_seen() -> None:
    def work(part: slice) -> None:
        if part.start <= 3 << 18 < part.stop:
            raise Error("here")

    with pytest.raises(Error, match="here"):
        run_slices(1 << 20, 1, 2, work)


def test_the_processor_s_conversion_to_fp16_is_the_loop_s() -> None:
    """Of all exponents, and with SOFTFLOAT_FULL=1 of all 2^32 operands."""
    if not jit.has_half():
        pytest.skip("this processor has no F16C")
    fmt, size = CATALOGUE["fp16"], 1 << 16
    loop, (numbers,) = dispatch._nearest(fmt, Policy(), False) or (None, (None,))
    assert loop is nearest.half_codes32
    codes, known = np.empty(size, np.uint16), np.empty(size, np.uint16)
    for start in range(0, 1 << 32, size * cases(64, 1)):
        x = np.arange(start, start + size, dtype=np.uint64).astype(np.uint32)
        loop(x, codes, numbers)
        nearest.nearest_codes32(x, known, numbers)
        np.testing.assert_array_equal(codes, known)
    for other in (Policy(rounding="rtz"), Policy(overflow="sat-finite")):  # type: ignore[arg-type]
        assert (dispatch._nearest(fmt, other, False) or (None,))[0] is not loop


WIDE = (
    "fp64",
    "tf32",
    "fp32",
    "s1e11m20",
    "s1e9m30",
    "s1e8m15",
    "s1e6m15",
    "s1e8m16fn",
    "s1e7m11finite",
    "s1e11m52finite",
)
WIDE_INTEGERS = ("i32", "u32", "i17", "u52", "i53")


def edge_codes(fmt: Format, seed: int, count: int = 1500) -> list[int]:
    """Codes beside the ends of each kind of number, of either sign, and any."""
    ends = [
        0,
        fmt.min_normal_code,
        fmt.max_code,
        fmt.magnitude_mask,
        fmt.quiet_bit,
        *(1 << k for k in range(fmt.width)),
    ]
    near = {(x + d) & fmt.magnitude_mask for x in ends for d in range(-2, 3)}
    drawn = np.random.default_rng(seed).integers(0, (1 << fmt.width) - 1, count, np.uint64, endpoint=True).tolist()
    return [x | sign for x in sorted(near) for sign in {0, fmt.sign_bit}] + drawn


@pytest.mark.parametrize("name", [*WIDE[:-1], *WIDE_INTEGERS, "s0e8m12"])
def test_values_of_wide_codes(name: str) -> None:
    """Of formats of more than 16 bits: each is the scalar oracle's, NaNs with their payloads."""
    fmt = get_format(name)
    codes = np.array(edge_codes(fmt, 1), np.uint64)
    keep = Policy(nan="propagate")
    own = [] if name in ("fp32", "fp64") else [arrays.decode(codes, fmt)]  # which are kept bit by bit
    for got in (*own, convert_arrays.decode_float64(codes, fmt)):
        wide = CATALOGUE[f"fp{8 * got.itemsize}"]
        wanted = [encoder(wide, keep)(decoder(fmt)(code), 0)[0] for code in codes.tolist()]
        assert got.view(f"u{got.itemsize}").tolist() == wanted


@pytest.mark.full(keep=5)
@pytest.mark.parametrize("name", [*WIDE, "s1e11m40", "s1e10m40", "s1e11m23", "i63", "u63", "u62", "i33"])
def test_codes_of_wider_formats(name: str) -> None:
    """From all kinds of values: nothing, or only NaNs, Inf and -0, may change."""
    fmt = get_format(name)
    for source, dtype in (("fp32", np.float32), ("fp64", np.float64), ("bf16", np.uint16)):
        x = np.array(edge_codes(get_format(source), 2, 100), f"u{get_format(source).width // 8}")
        values = arrays.from_codes(x, source).decode() if dtype is np.uint16 else x.view(dtype)
        for more in (
            {},
            {"flush_inputs": True},
            {"flush_outputs": True},
            {"nan": "propagate"},
            {"overflow": "sat-finite"},
        ):
            policy = Policy("rto", **more)  # type: ignore[arg-type]
            try:
                known = wanted(values, fmt, policy, None)
            except Error:
                with pytest.raises(Error):
                    arrays.encode(values, fmt, policy)
                continue
            assert arrays.encode(values, fmt, policy).tolist() == known, more
            codes, _ = arrays.encode_flags(values, fmt, policy)
            assert codes.tolist() == known


def test_the_ways_that_round_nothing() -> None:
    """From float32, and to values: by the loop of numbers that keep their bits, where it applies."""
    for fmt, source in (
        ("fp64", "fp32"),
        ("fp32", "fp32"),
        ("fp32", "tf32"),
        ("fp64", "s1e11m20"),
        ("s1e11m52finite", "fp32"),
    ):
        assert plans.widening_numbers(get_format(fmt), Policy(), get_format(source)), (fmt, source)
    for fmt, source in (("tf32", "fp32"), ("fp32", "fp64"), ("i32", "fp32"), ("s1e8m22", "fp32"), ("s1e7m30", "fp32")):
        assert plans.widening_numbers(get_format(fmt), Policy(), get_format(source)) is None, (fmt, source)
    loop = dispatch.conversion_loop(FP32, get_format("i32"), Policy())
    assert loop.kernel is dispatch._codes_by_fp64
    assert dispatch._decoding_loop(get_format("u32"), CATALOGUE["fp64"]).kernel is convert.decoded_integers
