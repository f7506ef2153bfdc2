"""`fake_quantize`: the values are the array layer's, bit for bit, in every format, type and layout; the gradients are
those of the straight-through estimator."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softfloat_ref as sf
from softfloat_ref import affine, arrays, blocks
from softfloat_ref.nn.numerics import RunState
from softfloat_ref.nn.quantizers import quantizer
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.oracle.affine import is_affine
from softfloat_ref.oracle.blocks.formats import BLOCK_FORMATS, BlockFormat, any_format
from softfloat_ref.oracle.sources import keyed

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
fake_quantize: Any = pytest.importorskip("softfloat_ref.torch").fake_quantize

Array = np.ndarray[Any, Any]
WIDE = ("fp128", "extf80", "i64", "u64")  # which float64 does not hold
SCALARS = ["mx_int8" if n == "int8" else n for n in sf.CATALOGUE if n not in WIDE]
SCALARS += ["s1e6m1b46", "s1e5m2fn", "binary8p4se", "i8", "u8"]
BLOCKS = [*BLOCK_FORMATS, "flexfp_e4m3", "fp4_e2m1@ue5m3/16", "fp8_e4m3@fp32/axis", "fp6_e2m3@e8m0/tensor"]
AFFINE = ["qint8", "quint8", "qint4", "qint8_sym", "qint4_sym_narrow", "quint16"]
DTYPES = ["float32", "bfloat16", "float16", "float64"]


def bits(x: Any) -> Any:
    """A tensor's bits, every NaN the same."""
    kinds = {2: torch.int16, 4: torch.int32, 8: torch.int64}
    return torch.where(x.isnan(), torch.full_like(x, torch.nan), x).contiguous().view(kinds[x.element_size()])


def draw(shape: tuple[int, ...], seed: int, dtype: str = "float32", specials: bool = False) -> Any:
    """Numbers of several binades, with ties and zeros; specials: NaN, Inf and subnormals too."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    x = np.where(rng.random(shape) < 0.3, np.round(x * 4) / 8, x)
    if specials:
        special = rng.choice([np.nan, np.inf, -np.inf, 1e-40, -1e-45, 3e38, -0.0], shape)
        x = np.where(rng.random(shape) < 0.05, special, x)
    return torch.from_numpy(x).to(getattr(torch, dtype))


def numpy_of(x: Any) -> Array:
    """The same values for the array layer: bfloat16 as float32."""
    return (x.float() if x.dtype == torch.bfloat16 else x).contiguous().numpy()


@given(
    fmt=st.sampled_from([*SCALARS, *BLOCKS, *AFFINE]),
    dtype=st.sampled_from(DTYPES),
    shape=st.lists(st.integers(1, 40), min_size=1, max_size=3).map(tuple),
    axis=st.integers(-3, 2) | st.none(),
    seed=st.integers(0, 99),
    turned=st.booleans(),
    specials=st.booleans(),
)
def test_values_are_the_array_layers(
    fmt: str, dtype: str, shape: tuple[int, ...], axis: int | None, seed: int, turned: bool, specials: bool
) -> None:
    if axis is not None:
        axis = axis % len(shape)
    x = draw(shape, seed, dtype, specials)
    x = x.transpose(0, -1) if turned else x
    options = {} if axis is None or fmt in SCALARS else {"axis": axis}
    try:
        expected = torch.from_numpy(np.asarray(sf.quantize(numpy_of(x), fmt, **options)))
    except sf.Error as e:  # MSFP refuses NaN
        with pytest.raises(type(e), match=re.escape(str(e))):
            fake_quantize(x, fmt, **options)
        return
    values = fake_quantize(x, fmt, **options)
    assert values.dtype == x.dtype
    assert values.shape == x.shape
    assert torch.equal(bits(values), bits(expected.to(x.dtype)))


@pytest.mark.parametrize("fmt", [*SCALARS, *BLOCKS, *AFFINE])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_format_and_type(fmt: str, dtype: str) -> None:
    """Without chance; arrays large enough for the compiled loops too."""
    for shape in ((3, 37), (70, 300)):
        x = draw(shape, 5, dtype)
        expected = torch.from_numpy(np.asarray(sf.quantize(numpy_of(x), fmt)))
        assert torch.equal(bits(fake_quantize(x, fmt)), bits(expected.to(x.dtype)))


@pytest.mark.parametrize("fmt", [*SCALARS, *BLOCKS, *AFFINE])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3), (1, 1, 1)])
@pytest.mark.parametrize("clip", [False, True])
def test_shapes_without_axes_or_values(fmt: str, shape: tuple[int, ...], clip: bool) -> None:
    """The result and the gradient have x's shape; the value is that of a vector of one number."""
    x = torch.full(shape, 0.3, requires_grad=True)
    if not shape and fmt in BLOCKS:
        with pytest.raises(sf.Error, match="0-dimensional"):
            fake_quantize(x, fmt, clip=clip)
        return
    y = fake_quantize(x, fmt, clip=clip)
    y.sum().backward()
    assert y.shape == x.grad.shape == x.shape
    if x.numel():
        assert torch.equal(bits(y.reshape(1)), bits(fake_quantize(x.reshape(1), fmt)))


@pytest.mark.parametrize("fmt", ["fp8_e4m3", "qint8"])
def test_one_number_with_random_bits(fmt: str) -> None:
    x, by = torch.tensor(1.1), {"round": "sr", "sr_bits": 8, "seed": 1, "key": "x"}
    assert torch.equal(fake_quantize(x, fmt, **by).reshape(1), fake_quantize(x.reshape(1), fmt, **by))


@pytest.mark.parametrize("fmt", ["fp8_e4m3", "mxfp8", "qint8"])
@pytest.mark.parametrize("clip", [False, True])
def test_tensors_that_are_not_contiguous(fmt: str, clip: bool) -> None:
    whole = draw((6, 8, 4), 3)
    for x in (whole.transpose(0, 2), whole[::2, :, 1:3], whole[:1].expand(5, 8, 4), whole.diagonal(), whole[1, 2, ::3]):
        leaf = x.detach().requires_grad_()
        y = fake_quantize(leaf, fmt, clip=clip)
        y.sum().backward()
        assert torch.equal(bits(y), bits(fake_quantize(x.contiguous(), fmt)))
        assert leaf.grad.shape == x.shape


@pytest.mark.parametrize("fmt", ["s1e5m2", "bf16", "fp8_e4m3", "mxfp8", "mxint8", "nvfp4", "flexfp_e4m3", "qint8"])
@pytest.mark.parametrize("stochastic", [False, True])
def test_values_are_the_numpy_layers(fmt: str, stochastic: bool) -> None:
    """Random bits too: of seed, step and tensor, as in `softfloat_ref.nn`."""
    x = draw((24, 96), 2)
    policy = {"rounding": "sr", "sr_bits": 12} if stochastic else None
    by = quantizer(TensorFormat(fmt, policy))
    assert by is not None
    run = RunState(7)
    run.begin(3)
    source = run.source("conv1/weight") if stochastic else None
    random = {"round": "sr", "sr_bits": 12, "seed": 7, "key": "3/conv1/weight/0"} if stochastic else {}
    expected = by.values(x.numpy(), source)
    assert torch.equal(bits(fake_quantize(x, fmt, **random)), bits(torch.from_numpy(expected)))


@pytest.mark.parametrize("fmt", ["fp8_e5m2", "mxfp4", "qint4"])
def test_random_bits_by_seed_source_text_and_array(fmt: str) -> None:
    x, policy = draw((5, 64), 1), sf.get_policy(None, rounding="sr-b", sr_bits=9)
    source = keyed(11, "x")
    expected = torch.from_numpy(np.asarray(sf.quantize(x.numpy(), fmt, policy, source)))
    words = source.array(9, 0, x.numel()).reshape(x.shape)
    for resolve_bits in (
        {"seed": 11, "key": "x"},
        {"random_bits": source},
        {"random_bits": source.spec()},
        {"random_bits": words},
        {"random_bits": torch.from_numpy(words.astype(np.int64))},
    ):
        assert torch.equal(fake_quantize(x, fmt, policy=policy, **resolve_bits), expected)
    assert not torch.equal(fake_quantize(x, fmt, policy=policy, seed=11, key="y"), expected)


@pytest.mark.parametrize("rounding", ["rne", "rtz", "rup", "rdn", "rto"])
def test_options_reach_the_array_layer(rounding: str) -> None:
    x, policy = draw((64, 6), 3), sf.get_policy("arm", rounding=rounding)
    chosen = sf.get_policy(None, rounding=rounding)
    assert torch.equal(
        fake_quantize(x, "fp8_e5m2", policy="arm", round=rounding),
        torch.from_numpy(arrays.quantize(x.numpy(), "fp8_e5m2", policy)),
    )
    assert torch.equal(
        fake_quantize(x, "mxfp4", axis=0, profile="torchao-ceil", round=rounding),
        torch.from_numpy(blocks.encode(x.numpy(), "mxfp4", axis=0, profile="torchao-ceil", policy=chosen).decode()),
    )
    encoded = affine.encode(x.numpy(), "qint8", profile="torch", policy=chosen)
    assert torch.equal(fake_quantize(x, "qint8", profile="torch", round=rounding), torch.from_numpy(encoded.decode()))


def test_the_second_scale_of_nvfp4() -> None:
    x = draw((6, 64), 3)
    assert blocks.encode(x.numpy(), "nvfp4").tensor_scale != 1
    for scale in (None, 0.125, 3.0):
        expected = blocks.encode(x.numpy(), "nvfp4", tensor_scale=scale).decode()
        assert torch.equal(fake_quantize(x, "nvfp4", tensor_scale=scale), torch.from_numpy(expected))


def test_types_of_torch_are_formats() -> None:
    x = draw((6, 64), 3)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16, torch.float16):
        name = {torch.float8_e4m3fn: "fp8_e4m3"}.get(dtype, str(dtype).removeprefix("torch."))
        assert torch.equal(fake_quantize(x, dtype), fake_quantize(x, name))


# -- gradients ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ["fp8_e4m3", "mxfp4", "nvfp4", "qint4"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_pass_straight_through(fmt: str, dtype: str) -> None:
    x = draw((4, 48), 1, dtype).requires_grad_()
    dy = draw((4, 48), 2, dtype)
    fake_quantize(1000 * x, fmt).backward(dy)
    assert torch.equal(x.grad, 1000 * dy)


@pytest.mark.parametrize("fmt", ["fp8_e4m3", "fp4_e2m1", "ue4m3", "s1e5m2", "mx_int8", "u8"])
def test_clipped_gradients_of_a_scalar_format(fmt: str) -> None:
    """The bounds by the oracle's decoding of every code."""
    scalar = sf.get_format(fmt)
    values = [sf.decode(code, fmt) for code in range(1 << scalar.width)]
    finite = [float(v) for v in values if v.is_finite]
    low, high = min(0.0, *finite), max(finite)
    x = torch.tensor(
        [low, high, np.nextafter(np.float32(high), np.float32(np.inf)), 2 * low - 1, 0.5, np.nan, np.inf, -np.inf],
        dtype=torch.float32,
        requires_grad=True,
    )
    fake_quantize(x, fmt, clip=True).sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("fmt", ["mxfp8", "mxfp4", "mxint8", "nvfp4", "flexfp_e4m3"])
@pytest.mark.parametrize("axis", [0, 1])
def test_clipped_gradients_of_blocks(fmt: str, axis: int) -> None:
    """Zero for as many as the quantizer says saturated, which are the largest of their blocks."""
    x = draw((64, 64), 4)
    encoded = blocks.encode(x.numpy(), fmt, axis=axis)
    count = blocks.saturated(x.numpy(), encoded)
    x.requires_grad_()
    fake_quantize(x, fmt, axis=axis, clip=True).sum().backward()
    zeros = x.grad == 0
    assert int(zeros.sum()) == count
    assert count > 0 or not fmt.startswith("mx")  # whose scale is a binade's; the others' follow the largest value
    values = encoded.decode()
    assert (np.abs(values) <= np.abs(x.detach().numpy()))[zeros.numpy()].all()


def test_a_block_with_nan_has_no_gradient_where_clipped() -> None:
    x = draw((2, 32), 4)
    x[0, 3] = np.nan
    x.requires_grad_()
    fake_quantize(x, "mxfp8", clip=True).nansum().backward()
    assert not x.grad[0].any()
    assert x.grad[1].any()


def test_a_value_that_becomes_infinite_has_no_gradient_where_clipped() -> None:
    """It is within the range of the integers, but 100 times this scale is beyond FP32."""
    x = torch.tensor([3.4028234e38, 1e38], requires_grad=True)
    y = fake_quantize(x, "qint8", scale=np.float32(3.4165e36), zero_point=0, clip=True)
    y.backward(torch.ones(2))
    assert y.isinf().tolist() == [True, False]
    assert x.grad.tolist() == [0, 1]


@pytest.mark.parametrize("zero_point", [0, -5, 17])
def test_affine_as_torchs_fake_quantize(zero_point: int) -> None:
    """Its values bit for bit. Its gradient lets values pass that round to the ends from half a step beyond."""
    x = draw((40, 60), 6) * 4
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    scale = 0.37
    given_scale = {"scale": np.float32(scale), "zero_point": zero_point}
    y = fake_quantize(ours, "qint8", profile="torch-fake", clip=True, **given_scale)
    expected = torch.fake_quantize_per_tensor_affine(theirs, scale, zero_point, -128, 127)
    assert torch.equal(bits(y), bits(expected))
    y.sum().backward()
    expected.sum().backward()
    low, high = ((n - zero_point) * np.float64(np.float32(scale)) for n in (-128, 127))
    between = (x > high) & (x <= high + scale / 2) | (x < low) & (x >= low - scale / 2)
    assert torch.equal(ours.grad == 1, (x >= low) & (x <= high))
    assert torch.equal(ours.grad[~between], theirs.grad[~between])
    assert not ours.grad.all()


def test_channels_of_an_affine_format() -> None:
    x = draw((3, 40), 6)
    scale, zero = torch.tensor([0.25, 0.5, 2.0]), torch.tensor([0, 3, -4], dtype=torch.int32)
    y = fake_quantize(x.requires_grad_(), "qint4", axis=0, scale=scale, zero_point=zero, clip=True)
    y.sum().backward()
    for i in range(3):
        row = x[i].detach().clone().requires_grad_()
        alone = fake_quantize(row, "qint4", scale=scale[i], zero_point=zero[i], clip=True)
        alone.sum().backward()
        assert torch.equal(y[i], alone)
        assert torch.equal(x.grad[i], row.grad)


def test_backward_twice_is_right() -> None:
    """The derivative of a straight-through gradient by what came in is again the mask."""
    x = torch.tensor([0.1, 3.0, 900.0], requires_grad=True)
    dy = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (dx,) = torch.autograd.grad(fake_quantize(x, "fp8_e4m3", clip=True), x, dy, create_graph=True)
    assert dx.tolist() == [1, 2, 0]
    dx.square().sum().backward()
    assert dy.grad.tolist() == [2, 4, 0]
    assert x.grad is None


# -- torch around it -----------------------------------------------------------------------------------------------


def test_functional_and_autocast() -> None:
    x = draw((4, 64), 1).requires_grad_()

    def f(v: Any) -> Any:
        return (fake_quantize(v * 2, "mxfp4", clip=True) + 1).sum()

    f(x).backward()
    assert torch.equal(torch.func.grad(f)(x.detach()), x.grad)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(fake_quantize(x, "mxfp4"), fake_quantize(x.detach(), "mxfp4"))
        assert fake_quantize(x, "mxfp4").dtype == torch.float32


def test_the_input_is_not_changed() -> None:
    x = draw((4, 64), 1)
    before = x.clone()
    fake_quantize(x, "fp32").add_(1)
    fake_quantize(x, "fp4_e2m1").add_(1)
    assert torch.equal(x, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fmt": "fp17"}, "did you mean"),
        ({"fmt": 3}, "must be a name"),
        ({"fmt": "fp16", "axis": 0}, "axis has no effect on fp16, which is a scalar format"),
        ({"fmt": "mxfp8", "scale": 1.0, "zero_point": 0}, "scale has no effect on mxfp8_e4m3"),
        ({"fmt": "qint8", "tensor_scale": 1.0}, "tensor_scale has no effect on qint8"),
        ({"fmt": "qint8", "scale": 1.0}, "both scale and zero_point"),
        ({"fmt": "fp16", "seed": 1, "key": "x"}, "takes no random bits"),
        ({"fmt": "mxfp8", "round": "sr", "sr_bits": 4}, "takes 4 random bits"),
        (
            {"fmt": "mxfp8", "round": "sr", "sr_bits": 4, "seed": 1, "random_bits": "philox"},
            "give either seed and key, or random_bits",
        ),
        ({"fmt": "mxfp8", "axis": 2}, "axis 2 is out of range"),
        ({"fmt": "mxfp8", "profile": "opc"}, "ocp"),
        *(({"fmt": fmt}, "float64 does not hold") for fmt in WIDE),
        ({"fmt": torch.bool}, "not a type of floats"),
        ({"x": [1.0], "fmt": "fp16"}, "list is not a torch tensor"),
        ({"x": torch.zeros(3, dtype=torch.int64), "fmt": "fp16"}, "a tensor of int64"),
        ({"x": torch.zeros(3, dtype=torch.int64, device="meta"), "fmt": "fp16"}, "a tensor of int64"),
        ({"x": torch.eye(3).to_sparse(), "fmt": "fp16"}, "sparse"),
        ({"x": torch.tensor(1.0), "fmt": "mxfp8"}, "0-dimensional"),
    ],
)
def test_bad_input_is_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sf.Error, match=message) as error:
        fake_quantize(**{"x": torch.zeros(2, 3), **options})
    assert "\n" not in str(error.value)


def test_kinds_of_formats_here_are_all() -> None:
    assert all(is_affine(x) for x in AFFINE)
    assert all(isinstance(any_format(x), BlockFormat) for x in BLOCKS)
    assert not any(isinstance(any_format(x), BlockFormat) for x in SCALARS)


def test_a_missing_torch_is_named() -> None:
    code = (
        "import sys, softfloat_ref as sf\nsys.modules['torch'] = None\ntry: sf.torch\nexcept ImportError as e: print(e)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "softfloat_ref.torch needs torch: pip install 'softfloat-ref[torch]'\n"
