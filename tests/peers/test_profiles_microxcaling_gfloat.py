"""Block profiles against microxcaling's method, restated here, and against gfloat's blocks."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

from softfloat_ref import arrays, blocks
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, BlockFormat

Array = np.ndarray[Any, Any]
MX: Final = [b for b in BLOCK_FORMATS.values() if b.name.startswith("mx")]
COUNT: Final = 100_000
BELOW_HALF: Final = np.float32(0.5 - 2.0**-25)


def float32(bits: Any) -> Array:
    return np.asarray(bits, np.uint32).view(np.float32)


def inputs(count: int) -> Array:
    """Blocks of all exponents; a third with the largest within 40 ulp of a power of two; specials and zeros."""
    rng = np.random.default_rng(31)
    x = np.ldexp(rng.standard_normal((count, 32)), rng.integers(-149, 125, (count, 1)))
    x = np.ldexp(x, rng.integers(-8, 1, x.shape)).astype(np.float32)
    powers = rng.integers(1, 255, count // 3) << 23
    near = float32(np.minimum(powers + rng.integers(-40, 41, count // 3), 0x7F7FFFFF))
    x[: count // 3] = (
        x[: count // 3] / np.abs(x[: count // 3]).max(-1, keepdims=True, initial=1e-45) * near[:, np.newaxis]
    )
    x[: count // 3] = np.clip(x[: count // 3], -near[:, np.newaxis], near[:, np.newaxis])
    x[: count // 3, 7] = near
    x[-300:-200, 3], x[-250:-150, 9], x[-150:-100, 1] = np.nan, np.inf, -np.inf
    x[-100:], x[-50:] = 0.0, -0.0
    x[::7, 5] = -0.0
    return x


def microxcaling(x: Array, fmt: BlockFormat, flush: bool) -> tuple[Array, Array]:
    """Its default specs, in FP32: the shared exponent is floor(log2 amax) - emax, NaN above 127, at least -127;
    elements are sign(a) * floor(|a| + 1/2) in units of their own binade's last place, and clamped.

    The values, and the a."""
    element, one = fmt.element, np.float32(1)
    significand, exponent = element.magnitude(element.max_code)
    limit = np.float32(significand * 2.0**exponent)
    fraction_bits = 6 if element.twos_complement else element.mantissa_bits
    with np.errstate(all="ignore"):
        amax = np.abs(x).max(axis=-1, keepdims=True)
        shared = np.floor(np.log2(np.where(amax == 0, np.float32(2.0**-126), amax)))
        x = x * np.where(shared > -127, one, np.float32(0)) if flush else x
        shared = shared - np.float32(element.emax)
        shared = np.where(shared > 127, np.float32(np.nan), np.maximum(shared, np.float32(-127)))
        scale = np.where(np.isnan(shared), np.nan, np.ldexp(1.0, np.nan_to_num(shared).astype(int))).astype(np.float32)
        a = x / scale
        binade = np.zeros_like(a)
        if not element.twos_complement:
            binade = np.maximum(np.floor(np.log2(np.where(a == 0, one, np.abs(a)))), np.float32(1 - element.bias))
        unit = np.exp2(np.float32(fraction_bits) - binade)
        a = a * unit
        rounded = np.sign(np.where(a == 0, np.float32(0), a)) * np.floor(np.abs(a) + np.float32(0.5))
        return (np.clip(rounded / unit, -limit, limit) * scale).astype(np.float32), a


@pytest.mark.full(keep=2)
@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("fmt", MX, ids=lambda b: b.name)
def test_microxcaling(fmt: BlockFormat, flush: bool) -> None:
    """Equal, NaN and signs of zeros included, but where FP32's log2 rounds up to an integer (amax just below a power of
    two), and where adding 1/2 does (the number below 1/2)."""
    x = inputs(COUNT)
    theirs, scaled = microxcaling(x, fmt, flush)
    profile = "microxcaling,flush=block" if flush else "microxcaling"
    ours = blocks.encode(x, fmt, profile=profile).decode()
    with np.errstate(all="ignore"):
        amax = np.abs(x).max(axis=-1)
        wrong_log = np.isfinite(amax) & (np.exp2(np.floor(np.log2(amax)).astype(np.float64)) > amax)
    wrong_half = np.abs(scaled) == BELOW_HALF
    same = ~wrong_log[:, np.newaxis] & ~wrong_half
    assert same.mean() > 0.8
    nan = np.isnan(ours)
    assert (np.isnan(theirs) == nan)[same].all()
    assert (theirs == ours)[same & ~nan].all()
    signs = same & ~nan & ((ours != 0) | (not fmt.element.twos_complement))  # INT8 has no -0
    assert (np.signbit(theirs) == np.signbit(ours))[signs].all()
    assert nan.all(axis=-1).sum() == 200
    assert wrong_log.sum() > 1000
    assert (theirs != ours).any(axis=-1)[wrong_log].mean() > 0.5
    assert ours[~nan & same & (x == 0)].any() == np.False_
    assert not np.signbit(ours[~nan & (x == 0)]).any()


@pytest.mark.extra
@pytest.mark.parametrize("name", ["mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8"])
def test_gfloat(name: str) -> None:
    """gfloat 0.5.2's quantize_block with compute_scale_amax: scale FE and saturation for Inf, -128 used, no flush. It
    refuses NaN where the element has none."""
    gfloat = pytest.importorskip("gfloat")
    formats = pytest.importorskip("gfloat.formats")
    info = getattr(formats, f"format_info_{name}")
    x = inputs(900)
    ours = blocks.encode(x, name, profile="ocp,flush=never,integers=full,inf=largest")
    values = ours.codes, ours.scales  # exact, where FP32's dequantized values are not
    elements = arrays.decode(values[0], ours.fmt.element).astype(np.float64)
    exact = elements * arrays.decode(values[1], ours.fmt.scale).astype(np.float64)
    for block, mine in zip(x.astype(np.float64), exact, strict=True):
        if np.isnan(block).any() and not ours.fmt.element.has_nan:
            with pytest.raises(ValueError, match="No NaN in format"), np.errstate(all="ignore"):
                gfloat.quantize_block(info, block, gfloat.compute_scale_amax)
            continue
        with np.errstate(all="ignore"):
            theirs = gfloat.quantize_block(info, block, gfloat.compute_scale_amax)
        assert np.array_equal(theirs, mine, equal_nan=True)
        numbers = ~np.isnan(mine)
        assert (np.signbit(theirs) == np.signbit(mine))[numbers].all()
