"""`fake_quantize` and quantized layers in what torch makes of a program: one node of a graph each, with the bits and
gradients of a plain call."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref.oracle.formats import Format

pytestmark = [pytest.mark.extra("torch"), pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch")
st: Any = pytest.importorskip("softfloat_ref.torch")
fake_quantize = st.fake_quantize
nn, F = torch.nn, torch.nn.functional
make_fx: Any = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx

RANDOM = {"round": "sr", "sr_bits": 8, "seed": 1, "key": "x"}
# Each kind of format, with the options that have a text, or are tensors.
CALLS: dict[str, dict[str, Any]] = {
    "scalar": {"fmt": "fp8_e4m3"},
    "a policy": {"fmt": "bf16", "policy": {"rounding": "rtz", "flush_outputs": True}},
    "random": {"fmt": "fp8_e5m2", **RANDOM},
    "a source": {"fmt": "fp8_e5m2", "round": "sr", "sr_bits": 8, "random_bits": "lfsr:width=16,taps=16.14.13.11"},
    "blocks": {"fmt": "mxfp4", "axis": 0, "profile": "microxcaling"},
    "a tensor scale": {"fmt": "nvfp4", "tensor_scale": torch.tensor(0.25)},
    "a number": {"fmt": "nvfp4", "tensor_scale": 0.25},
    "affine": {"fmt": "qint8", "axis": 1},
    "scales": {"fmt": "qint8", "scale": torch.full((64,), 0.3), "zero_point": torch.full((64,), 3), "axis": 1},
    "a shared exponent": {"fmt": "flexfp_e4m3"},
}


def x(rows: int = 4, seed: int = 0) -> Any:
    return 3 * torch.randn(rows, 64, generator=torch.Generator().manual_seed(seed))


def gradient(f: Callable[[Any], Any], v: Any) -> Any:
    v = v.clone().requires_grad_()
    (f(v) * torch.arange(64)).sum().backward()
    return v.grad


def compiled(f: Callable[[Any], Any], v: Any) -> Callable[[Any], Any]:
    torch.compiler.reset()  # it takes numbers that differed between functions for variables
    compiled_function: Callable[[Any], Any] = torch.compile(f, backend="aot_eager", fullgraph=True)
    return compiled_function


def traced(f: Callable[[Any], Any], v: Any) -> Callable[[Any], Any]:
    graph: Callable[[Any], Any] = torch.jit.trace(f, v)
    return graph


class Module(nn.Module):  # type: ignore[misc]
    def __init__(self, f: Callable[[Any], Any]) -> None:
        super().__init__()
        self.f = f

    def forward(self, v: Any) -> Any:
        return self.f(v)


def exported(f: Callable[[Any], Any], v: Any) -> Callable[[Any], Any]:
    """To a file and back; its first axis may have any size."""
    program = torch.export.export(
        f if isinstance(f, nn.Module) else Module(f), (v,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
    )
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    module: Callable[[Any], Any] = torch.export.load(file).module()
    return module


WAYS = {"compile": compiled, "export": exported, "make_fx": lambda f, v: make_fx(f)(v), "jit.trace": traced}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", CALLS.values(), ids=CALLS)
def test_a_graph_has_the_bits_of_a_call(options: dict[str, Any], way: str) -> None:
    """Of other values than those with which it was recorded."""

    def f(v: Any) -> Any:
        return fake_quantize(v + 1, **options) * 2

    graph = WAYS[way](f, x())
    assert torch.equal(graph(x(seed=1)), f(x(seed=1)))
    assert not torch.equal(graph(x(seed=1)), (x(seed=1) + 1) * 2)
    if way == "export":
        rows = x(7, seed=2)
        assert torch.equal(graph(rows), f(rows))


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("way", ["compile", "export"])
def test_a_graph_has_the_gradients_of_a_call(way: str, clip: bool) -> None:
    def f(v: Any) -> Any:
        return fake_quantize(v * 4, "fp4_e2m1", clip=clip)

    graph = WAYS[way](f, x().requires_grad_())
    assert torch.equal(gradient(graph, x(seed=1)), gradient(f, x(seed=1)))
    assert gradient(f, x(seed=1)).eq(0).any(0)[1:].any() == clip


@pytest.mark.parametrize("options", CALLS.values(), ids=CALLS)
def test_a_batch_is_its_parts(options: dict[str, Any]) -> None:
    """Axes, scales and random bits are those of each part."""
    options = {k: v for k, v in options.items() if k != "axis"} | ({"axis": 1} if "zero_point" in options else {})
    batch = torch.stack([x(seed=i) for i in range(3)], 1)
    results = torch.vmap(lambda v: fake_quantize(v, **options), in_dims=1, randomness="same")(batch)
    assert torch.equal(results, torch.stack([fake_quantize(batch[:, i], **options) for i in range(3)]))


def test_scales_of_a_batch_and_gradients_of_its_parts() -> None:
    scales = torch.tensor([0.1, 0.2, 0.4, 0.8])
    per_row = torch.vmap(lambda v, s: fake_quantize(v, "qint8", scale=s, zero_point=0))(x(), scales)
    rows = [fake_quantize(v, "qint8", scale=float(s), zero_point=0) for v, s in zip(x(), scales, strict=True)]
    assert torch.equal(per_row, torch.stack(rows))
    of_rows = torch.vmap(torch.func.grad(lambda v: fake_quantize(8 * v, "fp4_e2m1", clip=True).sum()))(x())
    assert torch.equal(of_rows, torch.where((8 * x()).abs() <= 6, 8.0, 0.0))


def test_random_bits_of_a_batch_must_be_meant_to_be_the_same() -> None:
    with pytest.raises(sf.Error, match="the same random bits"):
        torch.vmap(lambda v: fake_quantize(v, "fp8_e5m2", **RANDOM))(x())


def test_a_file_is_read_by_another_process(tmp_path: Path) -> None:
    program = torch.export.export(Module(lambda v: fake_quantize(v, "mxfp8", profile="ocp")), (x(),))
    torch.export.save(program, tmp_path / "program.pt2")
    code = "import torch, softfloat_ref.torch\nx = torch.linspace(-1, 1, 256).reshape(4, 64)\n"
    code += f"print(torch.export.load({str(tmp_path / 'program.pt2')!r}).module()(x).tolist())"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == f"{fake_quantize(torch.linspace(-1, 1, 256).reshape(4, 64), 'mxfp8').tolist()}\n"


def test_shapes_without_values() -> None:
    y = fake_quantize(torch.zeros(3, 64, device="meta", dtype=torch.bfloat16), "mxfp8")
    assert (y.shape, y.dtype, y.device.type) == ((3, 64), torch.bfloat16, "meta")


OWN: dict[str, Callable[[], dict[str, Any]]] = {
    "a generator": lambda: {"fmt": "fp8_e5m2", "round": "sr", "sr_bits": 8, "random_bits": np.random.default_rng(0)},
    "a format": lambda: {"fmt": Format("own", 3, 2, 3, subnormals="none")},
}


@pytest.mark.parametrize("options", OWN.values(), ids=OWN)
def test_what_has_no_text_is_of_one_call(options: Callable[[], dict[str, Any]]) -> None:
    assert fake_quantize(x(), **options()).shape == (4, 64)
    graph = make_fx(lambda v: fake_quantize(v, **options()))(x())
    fake_quantize(x(), **options())
    with pytest.raises(sf.Error, match="a graph cannot hold a Generator"):
        graph(x())


# -- quantized models, in evaluation ----------------------------------------------------------------------------------

BY_ROLE = {"weight": "mxfp4", "activation": "mxfp8", "error": "mxfp8_e5m2"}
RECIPES: dict[str, Any] = {
    "a format": "fp8_e4m3",
    "blocks by role": BY_ROLE,
    "an accumulator": BY_ROLE | {"accumulator": "mx-fp32"},
    "policies": {"weight": {"format": "fp8_e5m2", "policy": {"rounding": "rtz"}}, "activation": "fp16"},
    "ranges": {
        "weight": {"format": "qint8", "axis": 0},
        "activation": {"format": "quint8", "observer": "moving-average", "momentum": 0.5},
    },
    "functions": BY_ROLE | {"function": "bf16", "vector": "fp16"},
    "one layer apart": {"formats": {"weight": "mxfp4"}, "override": [{"layers": ["last"], "weight": "fp8_e4m3"}]},
}


def model() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(128, 16, bias=False), nn.Tanh(),
        nn.Linear(16, 4),
    )  # fmt: skip


def images(n: int, seed: int) -> Any:
    return torch.randn(n, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("way", ["export", "make_fx", "jit.trace"])
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_a_recorded_model_has_its_bits(recipe: Any, way: str) -> None:
    """Of other images than those with which it was recorded; ranges were seen in training."""
    tuned = st.quantized(model(), recipe)
    tuned(images(2, 5))
    tuned.eval()
    graph = WAYS[way](tuned, images(4, 0))
    for n in (4, 0, 7) if way == "export" else (4,):
        assert torch.equal(graph(images(n, 1)), tuned(images(n, 1)))
    assert not torch.equal(graph(images(4, 1)), model()(images(4, 1)))


USES: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda m, v: F.linear(v, m.a.weight),
    "an attribute": lambda m, v: v @ m.a.weight.T,
    "data": lambda m, v: v @ m.a.weight.data,
    "a view": lambda m, v: v @ m.a.weight.t(),
    "bias": lambda m, v: v + m.a.bias,
    "an operator": lambda m, v: torch.ops.aten.linear.default(v, m.a.weight),
    "a list": lambda m, v: v @ torch.cat([v, m.a.weight])[:8],
    "parameters": lambda m, v: v @ next(m.parameters()),
    "a part": lambda m, v: v @ dict(m.a.named_parameters())["weight"],
    "a number": lambda m, v: v * m.a.bias.sum().item(),
}


class Past(nn.Module):  # type: ignore[misc]
    def __init__(self, use: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.a, self.b, self.use = nn.Linear(8, 8), nn.Linear(8, 8), use

    def forward(self, v: Any) -> Any:
        return self.use(self, self.b(v))


@pytest.mark.parametrize("way", ["export", "make_fx", "jit.trace"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_nothing_passes_a_layer_in_a_graph(use: Callable[[Any, Any], Any], way: str) -> None:
    tuned = st.quantized(Past(use), "mxfp8").eval()
    with pytest.raises(sf.Error, match=r"a\.(weight|bias) is used by [\w.]+ in a call of Past"):
        WAYS[way](tuned, torch.ones(8, 8))


def test_shapes_of_parameters_may_be_read_in_a_graph() -> None:
    tuned = st.quantized(Past(lambda m, v: m.a(v) * m.a.weight.shape[0] + len(m.a.bias)), "mxfp8").eval()
    assert torch.equal(exported(tuned, torch.ones(3, 8))(x()[:, :8]), tuned(x()[:, :8]))


def test_a_graph_of_no_layer_is_refused() -> None:
    tuned = st.quantized(Past(lambda m, v: m.a(v)), "mxfp8").eval()
    tuned.b.forward = tuned.a.forward = lambda v: v
    with pytest.raises(sf.Error, match="replaces the quantized one"):
        exported(tuned, torch.ones(3, 8))
