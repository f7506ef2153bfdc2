"""The errors of arrays in formats: against fractions, by any division into boxes, compiled or not."""

from __future__ import annotations

import math
from dataclasses import astuple
from fractions import Fraction

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref.arrays import error_counts, errors
from softfloat_ref.arrays.error_counts import UNIT_EXPONENT, Errors
from softfloat_ref.oracle.sources import Philox

SCALARS = ["fp8_e4m3", "fp16", "e8m0", "i8"]
SCALED = ["mxfp8", "nvfp4", "fp4_e2m1@fp32/tensor", "fp8_e4m3@e8m0/axis", "qint8", "flexfp_e4m3", "msfp12", "mxint8"]
REFUSE_NAN = ("msfp12", "flexfp_e4m3")
SHAPES = [((4, 96), None), ((7, 40), 0), ((3, 33, 4), 1), ((100,), None)]


def drawn(shape: tuple[int, ...], specials: bool) -> np.ndarray:
    random = np.random.default_rng(3)
    x = (random.normal(size=shape) * np.exp2(random.integers(-12, 10, shape))).astype(np.float32)
    if specials:
        x.reshape(-1)[[5, 17, 3, 4, 2]] = np.nan, np.inf, 1e-42, 3e38, 0
    return x


def by_definition(x: np.ndarray, y: np.ndarray) -> tuple[Fraction, Fraction]:
    """The sums of squares of the values and of the errors, in fractions."""
    pairs = zip(x.reshape(-1).tolist(), y.reshape(-1).tolist(), strict=True)
    finite = [(Fraction(a), Fraction(b)) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
    return sum((a * a for a, _ in finite), Fraction(0)), sum(((b - a) ** 2 for a, b in finite), Fraction(0))


def same(a: Errors, b: Errors) -> bool:
    return all(x == y or (x != x and y != y) for x, y in zip(astuple(a), astuple(b), strict=True))


@pytest.mark.full(keep=18)
@pytest.mark.parametrize("specials", [False, True])
@pytest.mark.parametrize("fmt", [*SCALARS, *SCALED])
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_errors_are_exact_and_do_not_depend_on_the_boxes(
    shape: tuple[int, ...], axis: int | None, fmt: str, specials: bool
) -> None:
    if specials and fmt in REFUSE_NAN:
        pytest.skip("the profile refuses NaN")
    axis = None if fmt in SCALARS else axis
    x = drawn(shape, specials)
    y = sf.quantize(x, fmt, axis=axis)
    total = sf.quantization_error(x, fmt, axis=axis)
    signal, noise = by_definition(x, y)
    assert (total.signal * Fraction(2) ** UNIT_EXPONENT, total.noise * Fraction(2) ** UNIT_EXPONENT) == (signal, noise)
    counted = np.isfinite(x) & np.isfinite(y)
    assert (total.values, total.counted, total.flushed) == (
        x.size,
        counted.sum(),
        (counted & (x != 0) & (y == 0)).sum(),
    )
    assert total.largest_error == np.abs(x[counted].astype(float) - y[counted]).max(initial=0)
    measure, flat = errors.ErrorMeasure.make(fmt, axis=axis), x.reshape(-1)
    whole = errors.measure_errors(measure, lambda first, n: flat[first : first + n], shape, bins=5)
    assert same(whole.errors, total)
    for slab in (1, 40, 100):
        parts = errors.measure_errors(measure, lambda first, n: flat[first : first + n], shape, slab, bins=5)
        assert same(parts.errors, total), slab
        if whole.bins is not None and parts.bins is not None:
            assert all(np.array_equal(a, b) for a, b in zip(astuple(whole.bins), astuple(parts.bins), strict=True))


@pytest.mark.parametrize("fmt", ["fp8_e4m3", "mxfp4", "fp4_e2m1@fp32/tensor", "qint8"])
def test_random_words_belong_to_positions(fmt: str) -> None:
    """An error is that of the quantization with the same source, and the same in any boxes."""
    x, source = drawn((6, 64), False), Philox(5)
    policy = sf.Policy(rounding="sr", sr_bits=8)
    total = sf.quantization_error(x, fmt, policy, source)
    signal, noise = by_definition(x, sf.quantize(x, fmt, policy, source))
    assert total.noise * Fraction(2) ** UNIT_EXPONENT == noise > 0
    assert signal > 0
    measure, flat = errors.ErrorMeasure.make(fmt, policy, source), x.reshape(-1)
    assert same(errors.measure_errors(measure, lambda i, n: flat[i : i + n], x.shape, 50).errors, total)


def test_compiled_and_by_definition() -> None:
    """Over the whole range of float64: subnormals, differences that float64 does not hold, overflow."""
    random = np.random.default_rng(4)
    x = random.normal(size=4000) * np.exp2(random.integers(-1050, 1000, 4000))
    x[:6] = math.nan, math.inf, 5e-324, 1.7e308, -1e-310, 0.0
    y = np.where(random.random(4000) < 0.5, x * 1.01, np.roll(x, 1))
    y[3] = -1.7e308
    one, other = error_counts._one_by_one(x, y), error_counts._compiled(x, y)
    assert one == other
    signal, noise = by_definition(x, y)
    assert (one.signal, one.noise) == (signal / Fraction(2) ** UNIT_EXPONENT, noise / Fraction(2) ** UNIT_EXPONENT)
    assert one.largest_error == math.inf  # beyond a float64


def test_decibels() -> None:
    exact = sf.quantization_error([1.0, 2.0, 0.0], "fp16")
    assert (exact.sqnr, exact.rms_error, exact.rms) == (math.inf, 0.0, math.sqrt(5 / 3))
    assert math.isnan(sf.quantization_error([0.0, math.nan], "fp16").sqnr)
    assert sf.quantization_error([0.0], "e8m0").sqnr == -math.inf  # it has no zero
    one = sf.quantization_error([1.0, 1.0625], "fp8_e4m3")  # the tie goes to 1: an error of 1/16
    assert one.sqnr == 10 * math.log10((1 + 1.0625**2) * 256)
    assert (one.largest_error, one.largest_relative, one.flushed) == (0.0625, 0.0625 / 1.0625, 0)
    tiny = Errors(1, signal=1 << 4000, noise=1)
    assert tiny.sqnr == pytest.approx(40000 * math.log10(2))


def test_counts() -> None:
    x = [500.0, -449.0, 448.0, 1e-9, 0.0, math.inf]
    errors = sf.quantization_error(x, "fp8_e4m3")
    assert (errors.saturated, errors.flushed, errors.specials, errors.lost) == (3, 1, 1, 0)
    assert sf.quantization_error(x, "fp8_e5m2").lost == 0
    lost = sf.quantization_error([1e6, 1.0], "fp16")
    assert (lost.lost, lost.counted, lost.saturated) == (1, 1, 0)
    blocks = sf.quantization_error(np.array([1.0, 2.0**-30, *[0.0] * 30, 1.99, *[0.0] * 63], np.float32), "mxfp8")
    assert (blocks.blocks, blocks.saturated, blocks.flushed) == (3, 1, 1)
    assert (blocks.low_scale, blocks.high_scale) == (2.0**-8, 2.0**-8)  # not that of the block of zeros


def test_what_is_refused() -> None:
    for arguments, message in (
        (([1.0], "fp8", None, None), "unknown format"),
        (([], "fp16"), "empty array"),
        ((["a"], "fp16"), "array of"),
        (([1.0], "fp16", None, [3]), "random source"),
    ):
        with pytest.raises(sf.Error, match=message):
            sf.quantization_error(*arguments)
    with pytest.raises(sf.Error, match="scalar format and has none"):
        sf.quantization_error([1.0], "fp16", axis=0)
    with pytest.raises(sf.Error, match="out of range"):
        sf.quantization_error([1.0], "mxfp8", axis=1)
    with pytest.raises(sf.Error, match="searches scales by the errors of whole blocks, which are cut"):
        sf.quantization_error([1.0], "fp4_e2m1@ue4m3/tensor", profile="nvfp4-4over6-mse")


# -- bits ------------------------------------------------------------------------------------------------------------

FULL = [(4, 96), (8, 3, 64), (128,)]
CASES = [(fmt, shape) for fmt in (*SCALARS, *SCALED, "fp6_e3m2@e8m0/32") for shape in FULL]


@pytest.mark.parametrize(("fmt", "shape"), [*CASES, ("fp8_e4m3@fp32/4x8", (4, 96))], ids=str)
def test_stored_bits_are_those_of_packed_bytes(fmt: str, shape: tuple[int, ...]) -> None:
    """Whole blocks and rows, whose bytes have no padding."""
    bits = errors.ErrorMeasure.make(fmt).stored_bits(shape)
    if fmt in SCALARS:
        assert bits == math.prod(shape) * sf.get_format(fmt).width
        return
    encode = sf.affine.encode if fmt.startswith("q") else sf.blocks.encode
    packed = encode(drawn(shape, False), fmt).pack()
    parts = [packed.data, *(x for x in (packed.scales, packed.zero_points) if x is not None)]
    assert bits == 8 * sum(x.size for x in parts) + 32 * (packed.tensor_scale is not None)


@pytest.mark.parametrize(("fmt", "shape", "axis", "bits"), [
    ("mxfp4", (3, 40), None, 3 * 40 * 4 + 6 * 8),
    ("mxfp4", (40, 3), 0, 3 * 40 * 4 + 6 * 8),
    ("mxfp4", (16, 2, 3), None, 96 * 4 + 32 * 8),
    ("fp8_e4m3@fp32/axis", (5, 7), None, 35 * 8 + 5 * 32),
    ("fp8_e4m3@fp32/tensor", (5, 7), None, 35 * 8 + 32),
    ("nvfp4", (2, 20), None, 40 * 4 + 4 * 8 + 32),
    ("qint4", (5, 7), 0, 35 * 4 + 5 * 64),
    ("qint4", (5, 7), None, 35 * 4 + 64),
])  # fmt: skip
def test_stored_bits_of_short_blocks(fmt: str, shape: tuple[int, ...], axis: int | None, bits: int) -> None:
    """Codes of the values only, and a scale for each block."""
    assert errors.ErrorMeasure.make(fmt, axis=axis).stored_bits(shape) == bits
