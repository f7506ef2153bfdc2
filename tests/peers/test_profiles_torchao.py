"""Block profiles against torchao 0.18.0 on its CPU path, bit for bit; where it leaves its own rule is asserted too.

Its rule (`to_mx`): one scale a block of 32 by FLOOR, CEIL, EVEN or RCEIL, elements rounded to nearest even under it.
What it does differently, and nothing else:

- an Inf in a block, no NaN: the scale that 2^128 would have (RCEIL: FE), the Inf the largest element;
- a NaN in a block: scale FF as the rule has it, but elements that are no NaN: under RCEIL one code for all, under the
  others a zero of its sign for each number, and that code for NaN and Inf. FP6 and FP4 have no NaN: 0e, 0c and 3, its
  own bits cut off;
- scale byte 00, which is 2^-127: the elements are divided by 2^-126, under RCEIL by 1;
- RCEIL takes ceil(log2(amax / largest)) in FP32, one lower where that logarithm rounds down to an integer.
"""

from __future__ import annotations

import platform
import warnings
from typing import Any, Final

import numpy as np
import pytest

from softfloat_ref import arrays, blocks
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, BlockFormat
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.policies import Policy

pytestmark = pytest.mark.extra
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch = pytest.importorskip("torch")
    torchao = pytest.importorskip("torchao")
    if torchao.__version__.split("+")[0] != "0.18.0":
        pytest.skip("needs torchao 0.18.0, whose deviations are asserted", allow_module_level=True)
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

Array = np.ndarray[Any, Any]
COUNT: Final = 100_000
ELEMENTS: Final = {
    "mxfp8_e4m3": (torch.float8_e4m3fn, 0x7F),
    "mxfp8_e5m2": (torch.float8_e5m2, 0x7F),
    "mxfp6_e2m3": ("fp6_e2m3", 0x0C),
    "mxfp6_e3m2": ("fp6_e3m2", 0x0E),
    "mxfp4_e2m1": (torch.float4_e2m1fn_x2, 0x03),
}  # torchao's name, and the code it makes of a NaN
RULES: Final = {"floor": "binade", "ceil": "binade", "even": "binade", "rceil": "largest"}  # and what Inf counts as
ELEMENT: Final = BLOCK_FORMATS["nvfp4"].element
OF_ZERO_BY_INF: Final = 0xB if platform.machine() in ("x86_64", "AMD64") else 0x3  # the sign of the processor's NaN
NEAREST: Final = Policy(overflow="sat-finite")


def float32(bits: Any) -> Array:
    return np.asarray(bits, np.uint32).view(np.float32)


def inputs(element: Format, size: int = 32) -> Array:
    """100,000 blocks: random ones of all exponents; amax within 16 ulp of every rule's thresholds in every binade, some
    elements at ties; specials, zeros and subnormals."""
    rng = np.random.default_rng(21)
    significand, _ = element.magnitude(element.max_code)
    m = significand.bit_length() - 1
    tops = [0, int((2 - 2.0 ** -(m + 1) - 1) * 2**23), int((significand / 2**m - 1) * 2**23)]
    exponents = np.repeat(np.arange(0, 255), 3 * 33)
    thresholds = np.tile((np.array(tops)[:, np.newaxis] + np.arange(-16, 17)).reshape(-1), 255)
    bits = np.clip((exponents << 23) + thresholds, 0, 0x7F7FFFFF)
    near = rng.integers(0, 1 << 32, (bits.size, size), np.uint64).astype(np.uint32)
    down = (rng.integers(0, 12, near.shape) << 23).astype(np.uint32)  # up to twelve binades below the largest
    limit = (bits & 0x7F800000)[:, np.newaxis].astype(np.uint32)
    keep = np.where(rng.integers(0, 2, near.shape) == 1, 0x807FFFFF, 0x80780000).astype(np.uint32)  # or few bits: ties
    near = (near & keep) | np.where(limit > down, limit - down, 0).astype(np.uint32)
    near = np.where((near & 0x7FFFFFFF) > bits[:, np.newaxis], near & 0x80000000, near).astype(np.uint32)
    near[:, 3] = bits | (near[:, 3] & 0x80000000)
    special = rng.integers(0, 1 << 32, (3000, size), np.uint64).astype(np.uint32)
    special[:, 0] = np.resize([0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000], 3000)
    special[1000:2000] &= 0x807FFFFF  # subnormals
    special[2000:2500] &= 0x80000000  # zeros
    special[2500:, 1:] &= 0xBFFFFFFF
    count = COUNT - len(near) - len(special)
    x = float32(rng.integers(0, 1 << 32, (count, size), np.uint64).astype(np.uint32) & 0xBFFFFFFF)
    x = np.where(np.abs(x) < 2.0**-100, np.float32(0.0), x)
    spread = np.ldexp(rng.standard_normal((count, size)), rng.integers(-149, 125, (count, 1)))
    x[::2] = spread.astype(np.float32)[::2]
    x = np.concatenate([float32(near), float32(special), x])
    return np.where(np.isnan(x), np.copysign(np.float32(np.nan), x), x)  # one payload: it shows in torchao's FP6 codes


def unpacked(data: Any, element: Format) -> Array:
    codes: Array = data.view(torch.uint8).numpy()
    return np.stack([codes & 15, codes >> 4], -1).reshape(len(codes), -1) if element.width == 4 else codes


def theirs(x: Array, element: Format, kind: Any, rule: str) -> tuple[Array, Array]:
    scales, data = to_mx(torch.from_numpy(x), kind, 32, ScaleCalculationMode(rule))
    return scales.view(torch.uint8).numpy().reshape(-1), unpacked(data, element)


def rounds_to_integer(amax: Array, largest: float) -> Array:
    """Where FP32's log2(amax / largest) is an integer that is below the true one."""
    with np.errstate(all="ignore"):
        ratio = (amax / np.float32(largest)).astype(np.float64)
        log = np.log2(ratio).astype(np.float32)
        return (np.ceil(log) == log) & (np.exp2(log.astype(np.float64)) < amax.astype(np.float64) / largest)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.full(gate=8)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ELEMENTS)
def test_to_mx(name: str, rule: str) -> None:
    fmt, (kind, nan_code) = BLOCK_FORMATS[name], ELEMENTS[name]
    x = inputs(fmt.element)
    assert len(x) >= COUNT
    ours = blocks.encode(x, fmt, profile=f"torchao-{rule},inf={RULES[rule]}")
    scales, codes = theirs(x, fmt.element, kind, rule)
    mine = ours.scales.reshape(-1)
    amax = np.abs(x).max(axis=-1)
    nan, lowest = np.isnan(amax), (mine == 0) & (amax > 0)
    low = (
        rounds_to_integer(amax, float(arrays.decode([fmt.element.max_code], fmt.element)[0]))
        if rule == "rceil"
        else nan & False
    )
    low &= ~nan & ~lowest & np.isfinite(amax)
    # the rule, everywhere else
    plain = ~(nan | lowest | low)
    assert plain.sum() > 0.85 * len(x)
    assert (scales[plain] == mine[plain]).all()
    assert (codes[plain] == ours.codes[plain]).all()
    check_nan(x[nan], scales[nan], codes[nan], fmt, nan_code, rule)
    check_lowest(x[lowest], scales[lowest], codes[lowest], fmt, rule)
    assert rule != "rceil" or low.sum() > 1000
    check_low(x[low], scales[low], codes[low], mine[low], fmt)
    by_rule = blocks.encode(x, fmt, profile=f"torchao-{rule}")
    infinite = np.isinf(amax)
    assert (by_rule.scales.reshape(-1)[~infinite] == mine[~infinite]).all()
    assert infinite.sum() > 100
    assert (by_rule.scales[infinite] == 0xFF).all()


def check_nan(x: Array, scales: Array, codes: Array, fmt: BlockFormat, nan_code: int, rule: str) -> None:
    assert len(x) > 100
    assert (scales == 0xFF).all()
    sign = fmt.element.sign_bit
    if rule == "rceil":
        assert (codes & ~np.uint8(sign) == nan_code).all()
        return
    zeros = np.where(np.signbit(x), sign, 0)
    finite = np.isfinite(x)
    assert (codes[finite] == zeros[finite]).all()
    assert (codes[~finite] & ~np.uint8(sign) == nan_code).all()


def check_lowest(x: Array, scales: Array, codes: Array, fmt: BlockFormat, rule: str) -> None:
    """Under scale byte 00: half the right elements, or no scaling at all."""
    assert len(x) > 100
    assert (scales == 0).all()
    divisor = 1.0 if rule == "rceil" else 2.0**-126
    assert (codes == arrays.encode(x.astype(np.float64) / divisor, fmt.element, NEAREST)).all()
    assert (codes != arrays.encode(x.astype(np.float64) / 2.0**-127, fmt.element, NEAREST)).any(axis=-1).mean() > 0.3


def check_low(x: Array, scales: Array, codes: Array, mine: Array, fmt: BlockFormat) -> None:
    """One scale lower: the largest element saturates (and under byte 00 nothing is scaled)."""
    assert (scales == mine - 1).all()
    divisors = np.where(scales == 0, 1.0, np.exp2(scales.astype(np.float64) - 127))[:, np.newaxis]
    assert (codes == arrays.encode(x.astype(np.float64) / divisors, fmt.element, NEAREST)).all()


def nvfp4_inputs() -> Array:
    """100,000 blocks of 16; the scales' ties and thresholds are amax = 6 * (E4M3 midpoints)."""
    fmt = BLOCK_FORMATS["nvfp4"]
    x = inputs(fmt.element, 16)
    values = arrays.decode(np.arange(0x7F), fmt.scale).astype(np.float64)
    middles = np.concatenate([values, (values[1:] + values[:-1]) / 2, [464.0, 480.0, 1000.0]])
    near = (6 * middles[middles > 0]).astype(np.float32).view(np.uint32)
    bits = (near[:, np.newaxis] + np.arange(-8, 9)).reshape(-1)
    rng = np.random.default_rng(22)
    more = rng.uniform(-1, 1, (bits.size, 16)).astype(np.float32) * float32(bits)[:, np.newaxis]
    more[:, 5] = float32(bits)
    return np.concatenate([x, more])


@pytest.mark.full(gate=2)
@pytest.mark.parametrize("scale", [None, 1.0, 0.3, 2.0**-20, 2.0**-126, 2.0**-128, 2.0**-130, 2.0**-149, 1e30])
def test_nvfp4_quantize(scale: float | None) -> None:
    """Bit for bit, but for what becomes of a NaN: torchao makes 4 (c) of all elements of a block that holds one, and b
    (3 where the processor's NaN is positive) of 0 * Inf, where 1 / tensor scale / scale is beyond FP32; the profile has
    0 under a scale of NaN, and 7."""
    x = nvfp4_inputs()
    given = None if scale is None else torch.tensor(scale, dtype=torch.float32)
    got, data = nvfp4_quantize(torch.from_numpy(x), 16, given)
    codes = unpacked(data, BLOCK_FORMATS["nvfp4"].element)
    profile = "nvfp4-torchao,tensor_scale=none" if scale is None else "nvfp4-torchao"
    ours = blocks.encode(x, "nvfp4", profile=profile, tensor_scale=None if scale is None else float(np.float32(scale)))
    assert (got.view(torch.uint8).numpy().reshape(-1) == ours.scales.reshape(-1)).all()
    nan = np.isnan(x).any(axis=-1)
    with np.errstate(over="ignore"):
        step = np.float32(1) / np.float32(1 if scale is None else scale)
        factors = step / arrays.decode(ours.scales, ours.fmt.scale).reshape(-1, 1)
    lost = (x == 0) & np.isinf(factors)
    assert lost.any() == (scale is not None and scale <= 2.0**-122)
    same = ~lost & ~nan[:, np.newaxis]
    assert same.sum() > 0.7 * x.size
    assert (codes[same] == ours.codes[same]).all()
    assert (codes[lost] == OF_ZERO_BY_INF).all()
    assert (codes[nan] & 7 == 4).all()
    assert (ours.codes[lost] == 7).all()
    assert (ours.codes[nan] == 0).all()
    assert nan.sum() > 100


def test_nvfp4_tensor_scale() -> None:
    """From the tensor's largest magnitude."""
    rng = np.random.default_rng(23)
    for e in range(-120, 120, 7):
        x = np.ldexp(rng.standard_normal((64, 32)), e).astype(np.float32)
        scale = per_tensor_amax_to_scale(torch.from_numpy(np.abs(x).max()[np.newaxis]))
        ours = blocks.encode(x, "nvfp4", profile="nvfp4-torchao")
        assert ours.tensor_scale == float(scale)
        got, data = nvfp4_quantize(torch.from_numpy(x), 16, scale)
        assert (got.view(torch.uint8).numpy().reshape(-1) == ours.scales.reshape(-1)).all()
        assert (unpacked(data, ours.fmt.element) == ours.codes).all()


def nvfp4_of(x: Array) -> tuple[float, Array, Array]:
    """Tensor scale, scales and codes of torchao, with its own tensor scale."""
    values = torch.from_numpy(x)
    scale = per_tensor_amax_to_scale(values.abs().amax().reshape(1))
    got, data = nvfp4_quantize(values, 16, scale)
    return float(scale), got.view(torch.uint8).numpy().reshape(-1), unpacked(data, ELEMENT)


def test_nvfp4_of_every_magnitude() -> None:
    """Where torchao's tensor scale is positive and finite, only the codes of 0 * Inf differ, below 2688 * 2^-122."""
    rng = np.random.default_rng(24)
    differ = []
    for e in range(-138, 128):
        x = np.ldexp(rng.uniform(0.5, 1, (4, 32)) * rng.choice([-1, 1], (4, 32)), e).astype(np.float32)
        x[:, ::3], x[:, 3], x[1] = 0, -0.0, 0
        x[2:, 16:] *= np.float32([[2.0**-5], [2.0**-20]])
        scale, scales, codes = nvfp4_of(x)
        ours = blocks.encode(x, "nvfp4", profile="nvfp4-torchao")
        assert (ours.tensor_scale, ours.scales.reshape(-1).tolist()) == (scale, scales.tolist())
        other = codes != ours.codes
        assert (x[other] == 0).all()
        assert (codes[other] == OF_ZERO_BY_INF).all()
        assert (ours.codes[other] == 7).all()
        differ += [e] if other.any() else []
    assert differ == [*range(-138, -110)]


LEAST = float(np.ldexp(2688.0, -150))  # the largest magnitude whose tensor scale is 0


@pytest.mark.parametrize(
    ("numbers", "theirs", "mine"),
    [
        ({}, (0.0, "ff ff", "c" * 32), (1.0, "08 08", "0" * 32)),
        ({0: -0.0}, (0.0, "ff ff", "c" * 32), (1.0, "08 08", "8" + "0" * 31)),
        ({0: 1e-43, 1: -1e-45}, (0.0, "7e ff", "7fZ" + "Z" * 13 + "c" * 16), (1.0, "08 08", "08" + "0" * 30)),
        ({20: LEAST}, (0.0, "ff 7e", "c" * 16 + "ZZZZ7" + "Z" * 11), (1.0, "08 08", "0" * 32)),
        (
            {0: 1, 1: np.inf, 20: 3},
            (np.inf, "ff 08", "c" * 16 + "0" * 16),
            (3 / 2688, "7e 7e", "47" + "0" * 18 + "7" + "0" * 11),
        ),
    ],
)
def test_nvfp4_tensor_scales_that_are_not_positive_and_finite(numbers: Any, theirs: Any, mine: Any) -> None:
    """torchao divides by them all the same; the profile's tensor scale is 1, or that of the finite numbers."""
    x = np.zeros((1, 32), np.float32)
    x[0, list(numbers)] = list(numbers.values())
    scale, scales, codes = nvfp4_of(x)
    text = "".join(f"{c:x}" for c in codes.reshape(-1))
    assert (scale, scales.tobytes().hex(" ")) == theirs[:2]
    assert text == theirs[2].replace("Z", f"{OF_ZERO_BY_INF:x}")
    ours = blocks.encode(x, "nvfp4", profile="nvfp4-torchao")
    assert ours.tensor_scale == float(np.float32(mine[0]))
    assert ours.scales.tobytes().hex(" ") == mine[1]
    assert "".join(f"{c:x}" for c in ours.codes.reshape(-1)) == mine[2]


def test_nvfp4_tensor_scale_of_a_nan() -> None:
    """The tensor scale is NaN, and so are all scales, of either sign; the profile's is that of the finite numbers."""
    x = np.zeros((1, 32), np.float32)
    x[0, [0, 1, 20]] = 1, np.nan, 3
    scale, scales, codes = nvfp4_of(x)
    assert np.isnan(scale)
    assert (scales & 0x7F == 0x7F).all()
    assert np.isin(codes & 7, (3, 4)).all()
    ours = blocks.encode(x, "nvfp4", profile="nvfp4-torchao")
    assert (ours.tensor_scale, ours.scales.tobytes().hex(" ")) == (float(np.float32(3 / 2688)), "7f 7e")
    assert ours.codes.reshape(-1).tolist() == [7 if i == 20 else 0 for i in range(32)]
