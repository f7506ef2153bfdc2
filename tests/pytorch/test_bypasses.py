"""Ways past a quantized layer: each is an error of one line, and what only looks like one is not."""

from __future__ import annotations

import copy
import io
import pickle
import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import softfloat_ref as sf

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
checkpoint: Any = pytest.importorskip("torch.utils.checkpoint").checkpoint
prune: Any = pytest.importorskip("torch.nn.utils.prune")
st: Any = pytest.importorskip("softfloat_ref.torch")
nn, F = torch.nn, torch.nn.functional
FMT = "fp4_e2m1"
CONTEXTS = {"grad": nullcontext, "no_grad": torch.no_grad, "inference": torch.inference_mode}
Use = Callable[[Any, Any], Any]


class Model(nn.Module):
    """Layers a and b: b is called, and a is what `use` makes of it."""

    def __init__(self, use: Use) -> None:
        super().__init__()
        self.a, self.b, self.use = nn.Linear(8, 8), nn.Linear(8, 8), use

    def forward(self, x: Any) -> Any:
        return self.use(self, self.b(x))


def x(rows: int = 4) -> Any:
    return torch.randn(rows, 8, generator=torch.Generator().manual_seed(rows))


def swallowed(m: Any, v: Any) -> Any:
    try:
        F.linear(v, m.a.weight)
    except sf.Error:
        return m.a(v)


SCRIPT = torch.jit.CompilationUnit(
    """
def product(x, w):
    return x @ w.t()
def rows(w, i):
    return torch.embedding(w, i)
"""
)
COMPILED = torch.compile(lambda v, w: v @ w, backend="eager")
BYPASSES: dict[str, Use] = {
    "linear": lambda m, v: F.linear(v, m.a.weight),
    "matmul": lambda m, v: v @ m.a.weight,
    "einsum": lambda m, v: torch.einsum("ij,kj->ik", v, m.a.weight),
    "a view": lambda m, v: v @ m.a.weight.detach()[:, 2:6].unsqueeze(0),
    "data": lambda m, v: v @ m.a.weight.data,
    "bias": lambda m, v: v + m.a.bias,
    "an operator": lambda m, v: torch.ops.aten.linear.default(v, m.a.weight),
    "a list": lambda m, v: v @ torch.cat([v, m.a.weight])[:8],
    "in place": lambda m, v: v.mul_(m.a.weight[:4]) if not v.requires_grad else v * m.a.weight[:4],
    "clone": lambda m, v: v @ m.a.weight.clone(),
    "another type": lambda m, v: v @ m.a.weight.double().float(),
    "copy_": lambda m, v: v @ torch.empty(8, 8).copy_(m.a.weight),
    "deepcopy": lambda m, v: F.linear(v, copy.deepcopy(m.a).weight),
    "a number": lambda m, v: v * m.a.weight[0, 0].item(),
    "a comparison": lambda m, v: v * (m.a.weight[:4] > 0),
    "parameters": lambda m, v: v @ next(m.parameters()),
    "state_dict": lambda m, v: v @ m.state_dict()["a.weight"],
    "functional_call": lambda m, v: torch.func.functional_call(nn.Linear(8, 8), {"weight": m.a.weight}, v),
    "attention": lambda m, v: F.multi_head_attention_forward(
        *(v[:, None],) * 3, 8, 2, torch.ones(24, 8), None, None, None, False, 0.0, m.a.weight, m.a.bias
    )[0],
    "vmap": lambda m, v: torch.vmap(lambda row: F.linear(row, m.a.weight))(v),
    "checkpoint": lambda m, v: checkpoint(lambda t: F.linear(t, m.a.weight), v, use_reentrant=False),
    "cond": lambda m, v: torch.cond(v.sum() > 0, lambda t, w: t @ w, lambda t, w: t - w[0], (v, m.a.weight)),
    "a script": lambda m, v: SCRIPT.product(v, m.a.weight),
    "compiled": lambda m, v: COMPILED(v, m.a.weight),
    "numpy": lambda m, v: v @ torch.from_numpy(m.a.weight.detach().numpy().copy()),
    "__array__": lambda m, v: v @ torch.from_numpy(m.a.weight.detach().__array__().copy()),
    "tolist": lambda m, v: v @ torch.tensor(m.a.weight.tolist()),
    "dlpack": lambda m, v: v @ torch.from_dlpack(m.a.weight.detach()),
    "storage": lambda m, v: v @ torch.tensor([]).set_(m.a.weight.untyped_storage(), 0, (8, 8)),
    "an error that is caught": swallowed,
}


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", BYPASSES)
def test_a_use_of_parameters_past_the_layer_is_an_error(name: str, context: str) -> None:
    tuned = st.quantized(Model(BYPASSES[name]), FMT)
    for call in (tuned, tuned.forward, copy.deepcopy(tuned).eval()):
        message = r"a\.(weight|bias) is used by .* in a call of Model"
        with CONTEXTS[context](), pytest.raises(sf.Error, match=message) as e:
            call(x())
        assert "\n" not in str(e.value)
        assert name != "a script" or "used by aten::" in str(e.value)
    assert torch.utils._python_dispatch._get_current_dispatch_mode_stack() == []


HARMLESS: dict[str, Use] = {
    "shape and type": lambda m, v: v.to(m.a.weight.dtype).reshape(-1, m.a.weight.shape[1]) * m.a.weight.numel(),
    "questions": lambda m, v: v * (m.a.weight.is_contiguous() + m.a.weight.is_same_size(v) + m.a.weight.is_pinned()),
    "result_type": lambda m, v: v.to(torch.result_type(m.a.weight, v)),
    "as": lambda m, v: v.type_as(m.a.weight).expand_as(m.a.weight[:4]).view_as(m.a.weight[4:]),
    "factories": lambda m, v: v + torch.zeros_like(m.a.weight)[:4] + m.a.bias.new_full((8,), 1.0),
    "identity": lambda m, v: v * (m.a.weight is not m.b.weight),
    "repr and hash": lambda m, v: v if {m.a.weight} and repr(m.a.weight.shape) else None,
    "a table": lambda m, v: v + F.embedding(torch.tensor([0, 1, 1, 7]), m.a.weight),
    "a table in a script": lambda m, v: v + SCRIPT.rows(m.a.weight, torch.tensor([0, 1, 1, 7])),
    "its own change": lambda m, v: v + 0 * m.a.weight.data.clamp_(-1, 1).shape[0],
    "its own forward": lambda m, v: m.a.forward(v),
    "checkpoint": lambda m, v: checkpoint(m.a, v, use_reentrant=False),
    "a compiled function": lambda m, v: torch.compile(lambda t: t + 1, backend="eager", fullgraph=True)(m.a(v)),
    "cond": lambda m, v: torch.cond(v.sum() > 0, lambda t: (t + 1,), lambda t: (t - 1,), (m.a(v),))[0],
    "another's layer": lambda m, v: F.linear(v, torch.ones(3, 8)),
}


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", HARMLESS)
def test_what_takes_no_values_is_none(name: str, context: str) -> None:
    tuned = st.quantized(Model(HARMLESS[name]), FMT)
    with CONTEXTS[context]():
        y = tuned(x())
    if y.requires_grad:
        y.sum().backward()
        assert tuned.b.weight.grad is not None


def test_compiled_functions_are_compiled_again_after_a_call() -> None:
    graphs: list[Any] = []

    def backend(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    f = torch.compile(lambda v: v + 1, backend=backend)
    st.quantized(Model(lambda m, v: f(v)), FMT)(x())
    assert not graphs
    f(x())
    assert len(graphs) == 1


def call(model: Any) -> Any:
    return model(x())


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_fused_kernels_of_torch_are_not_used(training: bool, compiled: bool) -> None:
    """The case that was silent: two feed-forward layers, in evaluation, without gradients."""
    layer = nn.TransformerEncoderLayer(32, 4, dropout=0.0, batch_first=True)
    plain = nn.TransformerEncoder(layer, 2).train(training)
    tuned = st.quantized(plain, FMT, exempt=("*self_attn*",))
    inputs = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(1))
    for part, whole in ((tuned, plain), (tuned.layers[0], plain.layers[0])):
        expected = part(inputs)
        run = torch.compile(part, backend="eager") if compiled else part
        with torch.no_grad():
            assert torch.equal(run(inputs), expected)
            assert not torch.allclose(whole(inputs), expected, atol=0.01)


def test_a_layer_s_own_forward_cannot_be_replaced() -> None:
    tuned = st.quantized(Model(lambda m, v: m.a(v)), FMT)
    tuned.a.forward = lambda v: F.linear(v, tuned.a.weight)
    with pytest.raises(sf.Error, match="a: a forward of its own replaces the quantized one"):
        tuned(x())
    tuned = st.quantized(Model(lambda m, v: m.a(v)), FMT)
    tuned.forward = lambda v: F.linear(v, tuned.a.weight)
    with pytest.raises(sf.Error, match=r"a\.weight is used by"):
        tuned(x())


def test_modules_that_are_added_later_are_refused() -> None:
    tuned = st.quantized(Model(lambda m, v: m.a(v)), FMT)
    tuned.a = nn.Linear(8, 8)
    with pytest.raises(sf.Error, match=r"a: a Linear that was added after quantized\(\)"):
        tuned(x())
    tuned.a = st.QuantLinear(8, 8, recipe=FMT)
    tuned.norm = nn.LayerNorm(8)
    tuned(x())


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated")
@pytest.mark.parametrize("way", ["parametrized", "weight_norm", "prune"])
def test_weights_that_torch_computes_are_quantized(way: str) -> None:
    change = {
        "parametrized": nn.utils.parametrizations.weight_norm,
        "weight_norm": nn.utils.weight_norm,
        "prune": lambda layer: prune.l1_unstructured(layer, "weight", 0.5),
    }[way]
    tuned = st.quantized(Model(lambda m, v: m.a(v)), FMT).eval()
    change(tuned.a)
    y = tuned(x())
    inner = tuned.b(x())
    weight = st.fake_quantize(tuned.a.weight, FMT)
    assert torch.equal(y, st.fake_quantize(st.fake_quantize(inner, FMT) @ weight.T + tuned.a.bias, FMT))
    past = st.quantized(Model(lambda m, v: F.linear(m.a(v), m.a.weight)), FMT)
    change(past.a)
    with pytest.raises(sf.Error, match=r"a\.(\w+\.)*(weight|original)\w* is used by"):
        past(x())


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated")
@pytest.mark.parametrize("change", [nn.utils.weight_norm, lambda m: prune.identity(m, "weight")])
def test_a_model_that_cannot_be_copied_is_refused(change: Any) -> None:
    with pytest.raises(sf.Error, match="the model cannot be copied: Only Tensors created explicitly") as e:
        st.quantized(nn.Sequential(change(nn.Linear(8, 8))), FMT)
    assert "\n" not in str(e.value)


def test_a_table_may_be_tied_to_a_layer() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = nn.Embedding(8, 8), nn.Linear(8, 8, bias=False)
            self.head.weight = self.table.weight

        def forward(self, words: Any) -> Any:
            return self.head(self.table(words))

    tuned = st.quantized(Tied(), FMT, exempt=("embedding",))
    words = torch.tensor([1, 5])
    assert torch.equal(tuned(words), tuned.head(F.embedding(words, tuned.table.weight)))
    pair = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    pair[1].weight = pair[0].weight
    call(st.quantized(pair, FMT))
    with pytest.raises(sf.Error, match=r"1\.weight is also 0\.weight, of a layer that stays torch's"):
        st.quantized(pair, FMT, exempt=("0",))


def test_parameters_in_one_storage_are_told_apart() -> None:
    tuned = st.quantized(Model(lambda m, v: m.a(v)), FMT, exempt=("a",))
    memory = torch.randn(128)
    tuned.a.weight.data, tuned.b.weight.data = memory[:64].view(8, 8), memory[64:].view(8, 8)
    call(tuned)
    tuned.use = lambda m, v: v @ memory.view(16, 8)[7:9].T
    with pytest.raises(sf.Error, match=r"b\.weight is used by"):
        call(tuned)


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated")
def test_memory_of_a_parameter_that_is_gone_is_not_taken_for_it() -> None:
    """What weight_norm computed for the last call is replaced in this one."""
    tuned = st.quantized(Model(lambda m, v: [F.relu(m.a(v) @ torch.ones(8, 8)) for _ in range(50)].pop()), FMT)
    nn.utils.weight_norm(tuned.a)
    with torch.no_grad():
        for _ in range(3):
            call(tuned)


def test_a_call_in_which_nothing_is_quantized_is_an_error() -> None:
    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts, self.chosen = nn.ModuleList(nn.Linear(8, 8) for _ in range(3)), [1]

        def forward(self, v: Any) -> Any:
            return sum((self.experts[i](v) for i in self.chosen), v)

    tuned = st.quantized(Experts(), FMT)
    call(tuned)
    tuned.chosen = []
    with pytest.raises(sf.Error, match="a call of Experts used none of its quantized layers"):
        call(tuned)


@pytest.mark.parametrize(
    "use",
    [
        lambda m: torch.jit.trace(m.train(), x(), check_trace=False),
        lambda m: torch.jit.script(m),
        lambda m: torch.fx.symbolic_trace(m),
        lambda m: torch.fx.experimental.proxy_tensor.make_fx(m.train())(x()),
        lambda m: torch.export.export(m.train(), (x(),)),
        lambda m: torch.vmap(m)(x()),
        lambda m: torch.func.jvp(m, (x(),), (x(),)),
        lambda m: m(torch.nested.nested_tensor([x(), x()], layout=torch.jagged)),
        lambda m: m(torch.nested.nested_tensor([x(), x()])),
        lambda m: torch.fx.symbolic_trace(lambda v: st.fake_quantize(v, FMT)),
        lambda m: st.fake_quantize(torch.nested.nested_tensor([x(), x()], layout=torch.jagged), FMT),
        lambda m: st.quantized(torch.fx.symbolic_trace(nn.Sequential(nn.Linear(8, 8))), FMT),
        lambda m: st.quantized(torch.jit.script(nn.Linear(8, 8)), FMT),
    ],
)
def test_what_would_freeze_or_lose_quantization_is_refused(use: Any) -> None:
    tuned = st.quantized(nn.Sequential(nn.Linear(8, 8)), FMT).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(sf.Error) as e:
            use(tuned)
    assert "\n" not in str(e.value)


STOCHASTIC = {"weight": {"format": "fp8_e4m3", "policy": {"rounding": "sr", "sr_bits": 8}}}


@pytest.mark.parametrize("fmt", [FMT, "mxfp8", "qint8", STOCHASTIC])
def test_copies_and_files_are_watched_too(fmt: Any) -> None:
    tuned = st.quantized(Model(lambda m, v: m.a(v)), fmt).eval()
    tuned.use = model_a  # which can be pickled
    file = io.BytesIO()
    torch.save(tuned, file)
    file.seek(0)
    for other in (copy.deepcopy(tuned), pickle.loads(pickle.dumps(tuned)), torch.load(file, weights_only=False)):
        assert isinstance(other, Model)
        assert torch.equal(other(x()), tuned(x()))
        other.use = BYPASSES["linear"]
        with pytest.raises(sf.Error, match=r"a\.weight is used by"):
            other(x())


def model_a(m: Any, v: Any) -> Any:
    return m.a(v)


def test_an_interrupted_call_leaves_nothing_behind() -> None:
    def stop(m: Any, v: Any) -> Any:
        raise KeyboardInterrupt

    tuned = st.quantized(Model(stop), FMT)
    with pytest.raises(KeyboardInterrupt):
        tuned(x())
    assert torch.utils._python_dispatch._get_current_dispatch_mode_stack() == []
    assert torch.overrides._get_current_function_mode_stack() == []
    F.linear(x(), tuned.a.weight)
    tuned.use = model_a
    tuned(x())


def test_threads_have_calls_of_their_own() -> None:
    tuned = st.quantized(Model(model_a), FMT).eval()
    outputs: list[Any] = []
    threads = [threading.Thread(target=lambda: outputs.extend(tuned(x()) for _ in range(5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outputs) == 20
    assert all(torch.equal(y, outputs[0]) for y in outputs)
    assert torch._dynamo.eval_frame._stance.stance == "default"


# -- what stays torch's is named ---------------------------------------------------------------------------------------


class Conv1D(nn.Module):
    """A layer of a library: a product without a layer of torch."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8, 8))

    def forward(self, v: Any) -> Any:
        return v @ self.weight


def test_modules_with_weights_that_stay_are_named() -> None:
    model = nn.Sequential(*(Conv1D() for _ in range(6)), nn.Linear(8, 8), nn.LayerNorm(8), nn.Embedding(3, 8))
    message = r"not quantized, though they have weights: Conv1D: 0, 1, 2, 3 and 2 more; Embedding: 8; exempt them"
    with pytest.warns(UserWarning, match=message):
        st.quantized(model, FMT)
    st.quantized(model, FMT, exempt=("conv1d", "8"))  # a warning is an error here
    st.quantized(nn.Sequential(model[0], nn.ReLU()), {"function": FMT})  # which has no format for products
