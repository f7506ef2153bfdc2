"""What passes through `Numerics`: formats by role, products, random bits; each against the library's own functions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref import affine, arrays, blocks
from softfloat_ref.base.errors import Error
from softfloat_ref.nn import layers as nn
from softfloat_ref.nn.numerics import Numerics, RunState
from softfloat_ref.nn.operations import TensorOperations
from softfloat_ref.nn.quantizers import quantizer, rounding, stochastic_rounding
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.oracle.policies import POLICIES, get_policy
from softfloat_ref.oracle.sources import Philox

Array = np.ndarray[Any, Any]
SR = {"rounding": "sr", "sr_bits": 16}
FOUR = ("weight", "activation", "error", "weight_gradient")


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def specials(count: int = 4096) -> Array:
    """Random bit patterns of float32, with its specials among them."""
    bits = np.random.default_rng(3).integers(0, 1 << 32, count, dtype=np.uint32)
    bits[:10] = [0, 1 << 31, 1, 0x807FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFA00001, 0x7F7FFFFF, 0x00800000]
    return bits.view(np.float32)


def same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and bool((a.view(np.uint32) == b.view(np.uint32)).all())


def numerics(run: RunState | None = None, accumulator: str = "blas", **formats: Any) -> Numerics:
    specs = {k: v if isinstance(v, TensorFormat) else TensorFormat(v) for k, v in formats.items()}
    return Numerics("layer", specs, accumulator, run)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("fmt", ["s1e5m2", "s1e6m1b46", "fp16", "bf16", "fp8_e4m3", "fp4_e2m1", "tf32", "dlfloat16"])
def test_scalar_values_are_the_arrays(fmt: str, policy: str) -> None:
    x = specials()
    for values in (x, x[:7], x[~np.isnan(x)], x[::3]):
        assert same(rounding(sf.get_format(fmt), get_policy(policy))(values), arrays.quantize(values, fmt, policy))


@pytest.mark.parametrize("fmt", ["s1e5m2", "s1e6m1b46", "fp16", "bf16", "fp8_e4m3", "tf32", "dlfloat16"])
@pytest.mark.parametrize("policy", ["ieee", "tpu-bf16", "dlfloat"])
def test_stochastic_values_are_the_arrays(fmt: str, policy: str) -> None:
    chosen = get_policy(policy, rounding="sr-b", sr_bits=11)
    for x in (specials(), specials()[:7], draw(100, 301), draw(100, 301)[:, ::2]):
        expected = arrays.quantize(x, fmt, chosen, Philox(3))
        assert same(stochastic_rounding(sf.get_format(fmt), chosen)(x, Philox(3)), expected)


def test_plain_numerics_copy_nothing() -> None:
    plain, x = Numerics(), draw(3, 4)
    held = plain.hold(x, "activation")
    assert held.values is x
    assert held.along(0) is x
    assert plain.result(x, "error") is plain.vector(x) is plain.function(x) is x


@pytest.mark.parametrize("fmt", ["s1e5m2", "s1e6m1b46", "fp16", "fp8_e4m3"])
@pytest.mark.parametrize("rounding", ["sr", "sr-b", "sr-c"])
def test_stochastic_rounding_of_exact_values_needs_no_words(fmt: str, rounding: str) -> None:
    """All values of the format; also with a few others among them, and beyond the largest."""
    policy = get_policy(None, rounding=rounding, sr_bits=9)
    x = arrays.decode(np.arange(1 << sf.get_format(fmt).width, dtype=np.uint16), fmt)
    beyond = np.array([x[np.isfinite(x)].max() * np.float32(4)], np.float32)
    for values in (x, np.append(x, beyond), np.append(x, np.float32(0.3)), np.insert(x, 0, np.float32(-0.7))):
        assert same(stochastic_rounding(sf.get_format(fmt), policy)(values, Philox(8)),
                    arrays.quantize(values, fmt, policy, Philox(8)))  # fmt: skip


@pytest.mark.parametrize("fmt", ["flexfp_e4m3", "flexfp_e5m2", "flexfp_e3m4"])
@pytest.mark.parametrize("policy", [None, SR])
def test_a_shared_exponent_is_the_block_format(fmt: str, policy: Any) -> None:
    by = quantizer(TensorFormat(fmt, policy))
    assert by is not None
    source = None if policy is None else Philox(5)
    for exponent in (-130, -60, -1, 0, 3, 90, 124):
        x = (draw(40, 30, seed=exponent + 200) * np.float64(2.0) ** exponent).astype(np.float32)
        expected = blocks.encode(x, fmt, policy=policy and get_policy(policy), random_bits=source).decode()
        assert same(by.values(x, source), expected)
    for x in (np.zeros((3, 3), np.float32), specials(), np.full((2, 2), 480, np.float32)):
        assert same(by.values(x, None), blocks.encode(x, fmt).decode())


@pytest.mark.full(keep=22)
@pytest.mark.parametrize("fmt", ["qint8", "quint8", "qint8_sym", "qint4_sym_narrow"])
@pytest.mark.parametrize("rounding", ["rne", "rna", "rtz", "rup", "rdn", "rto", "rnu", "rhz", "sr", "sr-b", "sr-c"])
def test_affine_values_are_the_integers(fmt: str, rounding: str) -> None:
    stochastic = rounding.startswith("sr")
    policy = get_policy(None, rounding=rounding, **({"sr_bits": 12} if stochastic else {}))
    bits = Philox(5) if stochastic else None
    scaled = draw(7, 53) * np.float32(10.0) ** np.random.default_rng(1).integers(-20, 3, (7, 53)).astype(np.float32)
    ties = np.random.default_rng(2).integers(-300, 300, (7, 53)).astype(np.float32) / 2
    for x in (draw(7, 53), scaled, ties, specials(371).reshape(7, 53), np.zeros((7, 53), np.float32)):
        for axis in (None, 0, 1):
            expected = affine.encode(x, fmt, axis=axis, profile="exact", policy=policy, random_bits=bits).decode()
            assert same(affine.quantize(x, fmt, axis=axis, profile="exact", policy=policy, random_bits=bits), expected)
    if "sym" not in fmt:
        parameters = {"scale": np.float32(0.5), "zero_point": np.int32(3)}
        expected = affine.encode(
            ties, fmt, axis=None, profile="exact", policy=policy, random_bits=bits, **parameters
        ).decode()
        assert same(
            affine.quantize(ties, fmt, axis=None, profile="exact", policy=policy, random_bits=bits, **parameters),
            expected,
        )


# -- products ----------------------------------------------------------------------------------------------------------


def test_scalar_formats_quantize_once_and_products_add_in_fp32() -> None:
    by, x, w = numerics(weight="fp8_e4m3", activation="fp8_e5m2"), draw(6, 64), draw(5, 64, seed=1)
    held, weight = by.hold(x, "activation"), by.hold(w, "weight")
    expected = arrays.quantize(x, "fp8_e5m2") @ arrays.quantize(w, "fp8_e4m3").T
    np.testing.assert_array_equal(by.product(held, weight, 1, 1), expected)
    assert held.along(0) is held.along(1)


def test_blocks_run_along_the_axis_that_is_reduced() -> None:
    """W and its transpose are quantized apart (MX training flow)."""
    by, x, w = numerics(weight="mxfp8", activation="mxfp4"), draw(64, 96), draw(96, 64, seed=1)
    held, weight = by.hold(x, "activation"), by.hold(w, "weight")

    def q(v: Array, fmt: str, axis: int) -> Array:
        return blocks.encode(v, fmt, axis=axis).decode()

    np.testing.assert_array_equal(by.product(held, weight, 1, 0), q(x, "mxfp4", 1) @ q(w, "mxfp8", 0))
    np.testing.assert_array_equal(by.product(held, weight, 0, 1), q(x, "mxfp4", 0).T @ q(w, "mxfp8", 1).T)
    assert (q(w, "mxfp8", 0) != q(w, "mxfp8", 1)).any()


def test_a_named_accumulator_is_bit_exact() -> None:
    x, w = draw(3, 70), draw(4, 70, seed=1)
    by = numerics(accumulator="fp16-sequential", weight="fp16", activation="fp16")
    product = by.product(by.hold(x, "activation"), by.hold(w, "weight"), 1, 1)
    a, b = arrays.encode(x, "fp16"), arrays.encode(w, "fp16")
    for i in range(3):
        for j in range(4):
            bits = sf.dot(a[i].tolist(), b[j].tolist(), "fp16", acc="fp16-sequential").bits
            assert product.view(np.uint32)[i, j] == bits
    by = numerics(accumulator="mx-fp32", weight="mxfp8", activation="mxfp8")
    product = by.product(by.hold(x, "activation"), by.hold(w, "weight"), 1, 1)
    expected = blocks.matmul(
        blocks.encode(x, "mxfp8", axis=1), blocks.encode(np.ascontiguousarray(w.T), "mxfp8", axis=0)
    )
    np.testing.assert_array_equal(product, expected)
    for fmt in ("qint8", "flexfp_e4m3"):
        by = numerics(accumulator="exact", weight=fmt, activation=fmt)
        with pytest.raises(Error, match="blas"):
            by.product(by.hold(x, "activation"), by.hold(w, "weight"), 1, 1)


def test_the_chosen_accumulator_shows() -> None:
    """2048 + 1 is 2048 in an FP16 accumulator, not in FP32."""
    x = np.array([[2048, 1, 1, 1]], np.float32)
    one = np.ones((1, 4), np.float32)
    for accumulator, expected in (("fp16-sequential", 2048), ("blas", 2051)):
        by = numerics(accumulator=accumulator, weight="fp16", activation="fp16")
        assert by.product(by.hold(x, "activation"), by.hold(one, "weight"), 1, 1).item() == expected


@pytest.mark.parametrize("channels", [32, 64, 24])
@pytest.mark.parametrize("fmt", ["mxfp8", "mxfp4", "mxint8"])
def test_conv_in_blocks_is_the_product_of_quantized_patches(channels: int, fmt: str) -> None:
    """Quantizing along channels before the patches are taken gives the bits of quantizing the patches."""
    conv, x = nn.Conv2d(channels, 8, seed=2), draw(2, 6, 5, channels)
    conv.numerics = numerics(**dict.fromkeys(FOUR, fmt))
    y = conv.forward(x)
    patches, weight = TensorOperations().patches(x, 3, 1, 1), conv.params["weight"].reshape(8, -1)
    quantized = blocks.encode(patches, fmt, axis=1).decode()
    if channels % 32 == 0:
        assert same(TensorOperations().patches(blocks.encode(x, fmt, axis=3).decode(), 3, 1, 1), quantized)
    expected = quantized @ blocks.encode(weight, fmt, axis=1).decode().T + conv.params["bias"]
    np.testing.assert_array_equal(y.reshape(-1, 8), expected)
    dy = draw(*y.shape, seed=4)
    conv.backward(dy)
    rows = dy.reshape(-1, 8)
    dw = blocks.encode(rows, fmt, axis=0).decode().T @ blocks.encode(patches, fmt, axis=0).decode()
    expected = blocks.encode(dw, fmt, axis=-1).decode().reshape(conv.params["weight"].shape)
    np.testing.assert_array_equal(conv.grads["weight"], expected)


def test_a_linear_layer_in_fp8_step_by_step() -> None:
    """Quantized at the input and the output of every product (SOURCES: FP8 training's data flow)."""
    layer = nn.Linear(48, 16, seed=1)
    layer.numerics = numerics(**dict.fromkeys(FOUR, "s1e5m2"))

    def q(v: Array) -> Array:
        return arrays.quantize(v, "s1e5m2")  # type: ignore[return-value]

    x, dy = draw(5, 48), draw(5, 16, seed=2)
    w, b = layer.params["weight"], layer.params["bias"]
    np.testing.assert_array_equal(layer.forward(x), q(q(x) @ q(w).T + b))
    np.testing.assert_array_equal(layer.backward(dy), q(q(dy) @ q(w)))
    np.testing.assert_array_equal(layer.grads["weight"], q(q(dy).T @ q(x)))
    np.testing.assert_array_equal(layer.grads["bias"], q(dy).sum(axis=0))


def test_an_lstm_in_fp8_holds_every_gate() -> None:
    layer = nn.LSTM(5, 4)
    layer.numerics = numerics(**dict.fromkeys((*FOUR, "function"), "s1e4m3"))
    y = layer.forward(draw(3, 2, 5))
    layer.backward(draw(3, 2, 4))
    for tensor in (layer._gates, layer._bounded, layer._states, layer.grads["input_weight"]):
        np.testing.assert_array_equal(tensor, arrays.quantize(tensor, "s1e4m3"))
    assert (y != arrays.quantize(y, "s1e4m3")).any()  # the state's product is a vector operation, here FP32


# -- the straight-through estimator ------------------------------------------------------------------------------------


def test_gradients_pass_straight_through() -> None:
    layer = nn.Linear(3, 2)
    layer.params["weight"][:] = [[1000, 0.25, -1000], [0.5, 1, 2]]
    x, dy = np.ones((1, 3), np.float32), np.array([[1, 2]], np.float32)
    for clip, expected in ((False, [[1, 1, 1], [2, 2, 2]]), (True, [[0, 1, 0], [2, 2, 2]])):
        layer.numerics = numerics(weight=TensorFormat("fp8_e4m3", clip=clip))
        layer.forward(x)
        layer.backward(dy)
        assert layer.grads["weight"].tolist() == expected


# -- random bits -------------------------------------------------------------------------------------------------------


def test_random_bits_depend_on_seed_step_and_tensor() -> None:
    x = draw(64, 64)

    def held(seed: int, step: int, name: str = "layer", before: int = 0) -> Array:
        by = Numerics(name, {"weight": TensorFormat("s1e5m2", SR)}, run=RunState(seed))
        by.run.begin(step)
        for _ in range(before):
            by.hold(x, "weight")
        return by.hold(x, "weight").values

    assert same(held(1, 1), held(1, 1))
    for other in (held(2, 1), held(1, 2), held(1, 1, "other"), held(1, 1, before=1)):
        assert not same(held(1, 1), other)


def test_stochastic_rounding_is_unbiased_in_training_and_absent_in_inference() -> None:
    run = RunState(1)
    by = numerics(run, weight=TensorFormat("s1e5m2", SR))
    x = np.full(100_000, 1.0625, np.float32)  # a quarter of the way from 1 to 1.25
    run.begin(1)
    values = by.hold(x, "weight").values
    assert set(np.unique(values)) == {1.0, 1.25}
    assert abs(float((values == 1.25).mean()) - 0.25) < 0.01
    run.begin(2, training=False)
    assert (by.hold(x, "weight").values == 1.0).all()


def test_stochastic_values_are_the_scalar_model() -> None:
    """Each value by `encode` with its own bits of the source."""
    run = RunState(9)
    by = numerics(run, error=TensorFormat("s1e6m1b46", SR))
    x = draw(300)
    run.begin(4)
    values = by.hold(x, "error").values
    run.begin(4)
    words = run.source("layer/error").bits(16, 0, x.size)
    policy = get_policy(None, **SR)
    for v, r, result in zip(x.tolist(), words, values.tolist(), strict=True):
        bits = sf.encode(Fraction(v), "s1e6m1b46", policy, r).bits
        assert sf.decode(bits, "s1e6m1b46").as_fraction() == Fraction(result)


# -- what a role may be ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"format": "fp8_e4m"}, "did you mean fp8_e4m3"),
        ({"format": "s1e5m2", "policy": {"rounding": "sr"}}, "sr_bits"),
        ({"format": "s1e5m2", "profile": "ocp"}, "not a block format"),
        ({"format": "qint8", "observer": "minimax"}, "did you mean minmax"),
        ({"format": "fp16", "axis": 0}, "affine formats"),
        ({"format": "mxfp8", "profile": "opc"}, "ocp"),
    ],
)
def test_bad_formats_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(Error, match=message):
        TensorFormat(**table)


def test_formats_beyond_float32_are_refused() -> None:
    with pytest.raises(Error, match="float32 does not hold"):
        numerics(weight="fp64")
