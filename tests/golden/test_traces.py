"""Golden traces: whole steps against plain training, and every change of a byte."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ok, refused, run

import softfloat_ref as sf
from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.files import memory_text, parse_codes, write_trace
from softfloat_ref.golden.trace.model import CodeTensor, TraceSet
from softfloat_ref.golden.trace.numerics import RecordingNumerics
from softfloat_ref.golden.trace.operations import OPERATIONS
from softfloat_ref.golden.trace.recorder import Recorder
from softfloat_ref.golden.trace.step import TracedStep, trace_step
from softfloat_ref.golden.verify import verify
from softfloat_ref.nn import layers as nn
from softfloat_ref.nn.numerics import Numerics
from softfloat_ref.nn.train import TrainingRun, load_data
from softfloat_ref.nn.training_recipe import Recipe, read_recipe
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.oracle.sources import Philox

FP32 = get_format("fp32")
SPECIALS = [0, 0x80000000, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x3F800000, 0x00800000]

# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fp32", "fp8_e4m3", "fp6_e3m2", "u16", "u1", "e8m0"])
def test_tensor_files(name: str) -> None:
    fmt = get_format(name)
    codes = np.random.default_rng(1).integers(0, 1 << fmt.width, (3, 5), dtype=np.uint64)
    tensor = CodeTensor("a/b", fmt, (3, 5))
    data = memory_text(tensor, codes)
    assert data.decode().splitlines()[2:] == [fmt.hex(int(c)) for c in codes.reshape(-1)]
    assert (parse_codes(tensor, data) == codes).all()
    for broken in (data[:-1], data + b"0\n", data.replace(b"a/b", b"b/a"), data[:-2] + b"g\n", data[:-1] + b" "):
        with pytest.raises(Error, match=r"a\.b\.memh(:17)?: (not \d|its heading says|1\d lines of codes)"):
            parse_codes(tensor, broken)


# -- steps -------------------------------------------------------------------------------------------------------------

SR = {"policy": {"rounding": "sr", "sr_bits": 8}}
SMALL: dict[str, dict[str, Any]] = {
    "fp8-mlp": {
        "model": {"kind": "mlp", "hidden": [12]},
        "data": {"name": "blobs", "train": 24, "test": 8, "features": 6},
        "optimizer": {"rate": 0.05, "momentum": 0.9, "weight_decay": 0.001},
        "loss_scaling": {"kind": "constant", "scale": 64},
        "formats": {
            "accumulator": "fp32-sequential",
            "weight": {"format": "s1e4m3", **SR},
            "activation": {"format": "s1e4m3", **SR},
            "error": {"format": "s1e5m2", **SR},
            "weight_gradient": {"format": "s1e5m2", **SR},
            "master": "fp16",
            "optimizer": "bf16",
        },
    },
    "mx-cnn": {
        "model": {"kind": "cnn", "channels": [32, 32], "norm": False},
        "data": {"name": "shapes", "train": 8, "test": 4, "size": 12},
        "optimizer": {"rate": 0.05},
        "formats": {"weight": "mxfp8_e4m3", "activation": "mxfp8_e4m3", "error": "mxfp8_e4m3", "vector": "bf16"},
        "override": [{"layers": ["first"], "exempt": True}],
    },
    "nvfp4-mlp": {
        "model": {"kind": "mlp", "hidden": [24]},
        "data": {"name": "blobs", "train": 24, "test": 8, "features": 20},
        "optimizer": {"rate": 0.05},
        "formats": {"weight": "nvfp4", "activation": "nvfp4", "error": {"format": "nvfp4", **SR}, "master": "nvfp4"},
    },
    "hadamard-mlp": {
        "model": {"kind": "mlp", "hidden": [24]},
        "data": {"name": "blobs", "train": 24, "test": 8, "features": 20},
        "formats": {"activation": "nvfp4", "error": {"format": "nvfp4", **SR}, "hadamard": 16},
    },
    "mx-sr-residual": {
        "model": {"kind": "resnet", "depth": 8, "width": 4},
        "data": {"name": "shapes", "train": 4, "test": 4, "size": 12},
        "formats": {
            "weight": {"format": "mxfp4", **SR},
            "activation": "mxfp6",
            "error": {"format": "mxfp8_e5m2", **SR},
        },
    },
    "lstm": {
        "model": {"kind": "lstm", "width": 8},
        "data": {"name": "text", "train": 200, "test": 100},
        "optimizer": {"rate": 0.5, "clip_norm": 0.05},
        "formats": {"weight": "fp8_e4m3", "activation": "fp8_e4m3", "error": "flexfp_e5m2", "vector": "bf16"},
        "override": [{"layers": ["embedding"], "exempt": True}],
    },
    "adam-mlp": {
        "model": {"kind": "mlp", "hidden": [8]},
        "data": {"name": "blobs", "train": 24, "test": 8, "features": 6},
        "optimizer": {"kind": "adamw", "rate": 0.01, "weight_decay": 0.1},
        "formats": {"master": "bf16", "optimizer": {"format": "bf16", **SR}},
    },
    "nesterov-mlp": {
        "model": {"kind": "mlp", "hidden": [8]},
        "data": {"name": "blobs", "train": 24, "test": 8, "features": 6},
        "optimizer": {"rate": 0.05, "momentum": 0.9, "nesterov": True},
    },
    "mx-transformer": {
        "model": {"kind": "transformer", "layers": 1, "width": 32, "heads": 2, "context": 4, "function": "silu"},
        "data": {"name": "text", "train": 200, "test": 100},
        "optimizer": {"kind": "adamw", "rate": 0.01},
        "formats": {
            "weight": "mxfp8",
            "activation": "mxfp8",
            "error": {"format": "mxfp8_e5m2", **SR},
            "vector": "bf16",
        },
    },
    "affine-mlp": {
        "model": {"kind": "mlp", "hidden": [8], "function": "tanh"},
        "data": {"name": "blobs", "train": 24, "test": 8, "features": 6},
        "formats": {
            "weight": {"format": "qint8_sym", "axis": 0},
            "activation": {"format": "qint8", "observer": "moving-average", "momentum": 0.5},
            "error": {"format": "qint8", **SR},
        },
    },
}


def recipe(name: str, **training: int) -> Recipe:
    fields = {"epochs": 1, "batch": 4, "length": 3, "log_every": 100} | training
    return read_recipe({**SMALL[name], "training": fields}, name)


@pytest.fixture(scope="module")
def traced() -> Callable[[str], TracedStep]:
    steps: dict[str, TracedStep] = {}

    def of(name: str) -> TracedStep:
        if name not in steps:
            steps[name] = trace_step(recipe(name), 2 if name != "mx-sr-residual" else 1)
        return steps[name]

    return of


@pytest.fixture(scope="module")
def folders(traced: Callable[[str], TracedStep], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    top = tmp_path_factory.mktemp("traces")

    def of(name: str) -> Path:
        if not (top / name).exists():
            write_trace(*traced(name), top / name, ["test"])
        return top / name

    return of


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("name", SMALL)
def test_a_trace_verifies(name: str, folders: Callable[[str], Path]) -> None:
    report = verify(folders(name), every=name == "fp8-mlp")
    assert report.passed, report.problems
    assert "by the scalar oracle" in report.summary()
    assert report.checked > 500


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("name", SMALL)
def test_every_operation_is_recomputed(name: str, traced: Callable[[str], TracedStep]) -> None:
    """Exponentials and sums too: none is what the host made of it."""
    nodes = traced(name).trace.nodes
    assert {n.op for n in nodes} <= OPERATIONS.keys()
    names = [n.op for n in nodes if n.outputs[0].endswith(("/exponentials", "/sums"))]
    assert names == ["exp", "last_sum"] * (2 if name == "mx-transformer" else 1)  # attention has a softmax, too


def test_of_an_lstm_gates_and_time_steps_have_names(traced: Callable[[str], TracedStep]) -> None:
    """Each gate is computed from what the step before left."""
    trace = traced("lstm").trace
    functions = [n.outputs[0] for n in trace.nodes if n.op in ("sigmoid", "tanh")]
    gates = ["input_gate_sigmoid", "forget_gate_sigmoid", "cell_gate_tanh", "output_gate_sigmoid", "cell_tanh"]
    assert functions == [f"lstm1/forward/t{t}/{x}" for t in range(3) for x in gates]
    by_output = {x: n for n in trace.nodes for x in n.outputs}
    for t in range(3):
        written = by_output[f"lstm1/forward/t{t}/cell"]
        assert written.op == "add"
        retained, added = (by_output[v.tensor] for v in written.inputs)
        before = f"lstm1/forward/t{t - 1}/cell_vector" if t else "lstm1/forward/cell_before"
        assert [v.tensor for v in retained.inputs] == [f"lstm1/forward/t{t}/forget_gate", before]
        assert [v.tensor for v in added.inputs] == [f"lstm1/forward/t{t}/{x}_gate" for x in ("input", "cell")]


LAYERS: dict[str, tuple[Callable[[], nn.Layer], tuple[int, ...]]] = {
    "layer norm": (lambda: nn.LayerNorm(7), (3, 7)),
    "batch norm": (lambda: nn.BatchNorm(1), (5, 1)),
    "avg pool": (lambda: nn.AvgPool(2), (2, 5, 4, 3)),
    "global avg pool": (nn.GlobalAvgPool, (2, 3, 3, 1)),
    "rms norm": (lambda: nn.RMSNorm(7), (3, 7)),
    "positions": (lambda: nn.Positions(6, 8), (5, 2, 8)),
    "tanh": (nn.Tanh, (3, 8)),
    "sigmoid": (nn.Sigmoid, (3, 8)),
    "lstm": (lambda: nn.LSTM(3, 4), (2, 2, 3)),
}


@pytest.mark.full(keep=3)
@pytest.mark.parametrize("name", LAYERS)
def test_a_recorded_layer_has_the_bits_of_a_plain_one(name: str) -> None:
    """Forward and back, by the accumulator that the record has for products, too."""
    make, shape = LAYERS[name]
    x = np.random.default_rng(3).normal(0, 2, shape).astype(np.float32)

    def run(layer: nn.Layer, tensor: Callable[[str, Any], Any]) -> list[Any]:
        layer.params = {key: tensor(key, value) for key, value in layer.params.items()}
        layer.buffers = {key: tensor(key, value) for key, value in layer.buffers.items()}
        y = layer.forward(tensor("x", x))
        dx = layer.backward(tensor("dy", np.asarray(y)[::-1].copy()))
        return [np.asarray(v) for v in (y, dx, *layer.grads.values())]

    plain, recording, recorder = make(), make(), Recorder()
    plain.numerics = Numerics("layer", accumulator="fp32-sequential")
    recording.numerics = RecordingNumerics(Numerics("layer", accumulator="fp32-sequential"), recorder)
    wanted, recorded = run(plain, lambda _, v: v), run(recording, recorder.input)
    assert [v.tobytes() for v in wanted] == [v.tobytes() for v in recorded]
    assert {n.op for n in recorder.nodes} <= OPERATIONS.keys()


def test_nothing_goes_unrecorded() -> None:
    """What is not an operation of Numerics refuses a recorded tensor, and the operations one that is not recorded."""
    recorder = Recorder()
    numerics = RecordingNumerics(Numerics("layer"), recorder)
    x = recorder.input("x", np.ones((2, 3), np.float32))
    for wrong in (lambda: x + 1, lambda: np.exp(x), lambda: x.sum(), lambda: x[0], lambda: x @ x.T):
        with pytest.raises(Error, match=r"computes .* of (x|a tensor), which no trace records: use an operation"):
            wrong()
    for wrong in (
        lambda: np.concatenate([x, x]),
        lambda: np.sort(x),
        lambda: np.where(x, x, 0),
        lambda: np.reshape(x, 6),
    ):
        with pytest.raises(Error, match=r"computes numpy's \w+ of x"):
            wrong()
    assert (np.shape(x), np.size(x), np.ndim(x)) == ((2, 3), 6, 2)
    with pytest.raises(Error, match="changes x, which is being recorded, in place"):
        x[0] = 1
    with pytest.raises(Error, match="that no operation of its numerics made"):
        numerics.add(x, np.ones((2, 3), np.float32))
    with pytest.raises(Error, match="that no operation of its numerics made"):
        numerics.relu(x.T)
    y = numerics.add(x, x, out=x)
    assert (np.asarray(y) == 2).all()
    with pytest.raises(Error, match="that no operation of its numerics made"):
        numerics.relu(x)


def test_a_traced_step_is_the_plain_one(traced: Callable[[str], TracedStep]) -> None:
    """With the accumulator named, the recorded update has the bits of training as ever."""
    name = "fp8-mlp"
    training = TrainingRun(recipe(name), load_data(recipe(name)))
    steps = iter(training._batches(0))
    for number in (1, 2):
        training.trainer.step(number, *next(steps))
    step = traced(name)
    for key, weight in training.trainer.parameters().items():
        place = key.replace(".", "/")
        last = [n.outputs[0] for n in step.trace.nodes if n.outputs[0].startswith(f"{place}/")][-1]
        fmt = step.trace.tensors[last].fmt
        assert fmt.name == "fp16"
        assert (sf.arrays.decode(step.codes[last], fmt) == weight).all(), key
        before = step.codes[place].view(np.float32)
        assert (before != weight).any()


def test_products_by_hand(traced: Callable[[str], TracedStep]) -> None:
    """A product of blocks, its operands from the files' codes, by the public functions."""
    step = traced("mx-cnn")
    node = next(n for n in step.trace.nodes if n.op == "matmul" and n.options["blocks"][0])
    a, a_scale, b, b_scale = (step.codes[v.tensor] for v in node.inputs)
    for i, j in ((0, 0), (17, 3)):
        pair = [sf.blocks.BlockArray(x[r], s[r], get_block_format("mxfp8"), 0, get_profile("ocp"))
                for x, s, r in ((a, a_scale, i), (b, b_scale, j))]  # fmt: skip
        assert sf.dot(*pair, acc="mx-fp32").bits == step.codes[node.outputs[0]][i, j]
    quantized = next(n for n in step.trace.nodes if n.outputs[0] == node.inputs[0].tensor)
    x = step.codes[quantized.inputs[0].tensor].view(np.float32).reshape(quantized.inputs[0].shape)
    array = sf.blocks.encode(x, "mxfp8", axis=1)
    assert (array.codes == a).all()
    assert (array.scales == a_scale).all()


def test_random_words_are_the_source_s(traced: Callable[[str], TracedStep]) -> None:
    step = traced("fp8-mlp")
    node = next(n for n in step.trace.nodes if n.op == "random")
    seed = int(node.options["source"].rpartition("=")[2])
    codes = step.codes[node.outputs[0]].reshape(-1)
    assert codes.tolist() == Philox(seed).bits(8, 0, codes.size)


def test_tensors_link(traced: Callable[[str], TracedStep]) -> None:
    """What no node makes is data, weights before the step, velocities and constants."""
    trace = traced("fp8-mlp").trace
    computed = [name for n in trace.nodes for name in n.outputs]
    assert len(computed) == len(set(computed))
    inputs = set(trace.tensors) - set(computed)
    assert inputs == {
        "input/x", "input/labels", "constants/loss_scale", "constants/scale_over_4", "constants/weight_decay",
        "constants/momentum", "constants/rate",
        *(f"{layer}/{p}{end}" for layer in ("linear1", "output") for p in ("weight", "bias")
          for end in ("", "/velocity_before")),
    }  # fmt: skip
    assert TraceSet.from_dict(json.loads(json.dumps(trace.to_dict()))) == trace


# -- tampering ---------------------------------------------------------------------------------------------------------


def altered(folder: Path, target: Path, name: str, data: bytes, *, vouch: bool) -> Path:
    """A copy with one file changed; vouch: and its hash in the manifest."""
    target.mkdir()
    manifest = json.loads((folder / "manifest.json").read_text())
    for path in folder.iterdir():
        (target / path.name).write_bytes(data if path.name == name else path.read_bytes())
    if vouch:
        next(f for f in manifest["files"] if f["name"] == name)["sha256"] = hashlib.sha256(data).hexdigest()
        (target / "manifest.json").write_text(json.dumps(manifest))
    return target


def flipped(data: bytes) -> bytes:
    """Another first digit on the last line."""
    at = data[:-1].rindex(b"\n") + 1
    old = data[at : at + 1]
    return data[:at] + (b"1" if old != b"1" else b"0") + data[at + 1 :]


@pytest.mark.full
def test_every_changed_file_is_found(folders: Callable[[str], Path], tmp_path: Path) -> None:
    """By its hash; made to fit, by recomputation, but for what no operation takes or makes. Every other file."""
    folder = folders("fp8-mlp")
    trace = json.loads((folder / "manifest.json").read_text())["set"]
    used = {v["tensor"] for n in trace["nodes"] for v in n["inputs"]}
    computed = {x for n in trace["nodes"] for x in n["outputs"]}
    files = {f"{t['name'].replace('/', '.')}.memh": t["name"] for t in trace["tensors"]}
    for i, path in enumerate(sorted(folder.glob("*.memh"))):
        data = flipped(path.read_bytes())
        if i % 2:
            continue
        if i % 8 == 0:
            report = verify(altered(folder, tmp_path / f"h{i}", path.name, data, vouch=False))
            name = files[path.name]
            told = f"no operation makes {name}" if name not in computed else f"{path.name}:{data.count(10)}: {name}["
            assert "SHA-256 differs" in report.problems[0]
            assert told in report.problems[0]
        report = verify(altered(folder, tmp_path / f"v{i}", path.name, data, vouch=True), sample=1)
        assert report.passed == (files[path.name] not in used | computed), path.name
    assert len(files) > 40


@pytest.mark.full
def test_changed_manifests_are_found(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = folders("mx-cnn")
    text = (folder / "manifest.json").read_text()
    tables = json.loads(text)

    def refused_when(change: Callable[[dict[str, Any]], object]) -> None:
        manifest = json.loads(text)
        change(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        try:
            report = verify(folder, sample=1)
            assert not report.passed
        except Error:
            pass

    def node(manifest: dict[str, Any], op: str) -> dict[str, Any]:
        table: dict[str, Any] = next(n for n in manifest["set"]["nodes"] if n["op"] == op)
        return table

    changes: list[Callable[[dict[str, Any]], object]] = [
        lambda m: node(m, "quantize")["options"].update(axis=0),
        lambda m: node(m, "patches")["options"].update(padding=0),
        lambda m: node(m, "matmul")["options"].update(axes=[0, 1]),
        lambda m: node(m, "max_pool").update(op="max"),
        lambda m: node(m, "relu").update(op="convert"),
        lambda m: node(m, "add").update(op="sub"),
        lambda m: node(m, "add")["inputs"].pop(),
        lambda m: node(m, "add")["inputs"][0].update(shape=[3]),
        lambda m: node(m, "convert").update(outputs=["nothing"]),
        lambda m: m["set"]["nodes"].reverse(),
        lambda m: m["set"]["nodes"].append(node(m, "add")),
        lambda m: m["set"]["tensors"].pop(),
        lambda m: m["set"]["tensors"][0].update(name="../x"),
        lambda m: m["set"]["definitions"].clear(),
        lambda m: m["set"]["definitions"]["ocp"].update(scale_rule="ceil"),
        lambda m: m["set"]["definitions"]["mx-fp32"].update(tree="fuse(32+c,F=9,rz)->fp32:rz"),
        lambda m: m["set"].update(generator="trace-9"),
        lambda m: m.update(count=1),
        lambda m: m.update(name="other"),
        lambda m: m["files"].pop(),
        lambda m: m["files"].append(m["files"][0]),
        lambda m: m["files"][0].update(lines=1),
    ]
    try:
        for change in changes:
            refused_when(change)
    finally:
        (folder / "manifest.json").write_text(text)
    assert verify(folder, sample=1).passed
    assert tables["set"]["op"] == "trace"
    (folder / "more.memh").write_text("0\n")
    assert "more.memh: is in the folder" in verify(folder, sample=1).problems[0]
    (folder / "more.memh").unlink()


# -- the command -------------------------------------------------------------------------------------------------------


def test_command(tmp_path: Path) -> None:
    out = tmp_path / "trace"
    (tmp_path / "small.toml").write_text(recipe("fp8-mlp").to_toml())
    text = ok("train", str(tmp_path / "small.toml"), "--trace", "2", "-o", str(out))
    assert "tensors of step 2 of small" in text
    assert "trace_small_step_2 recomputed" in run("vectors", "verify", str(out)).stderr
    assert "already holds vectors" in refused("train", str(tmp_path / "small.toml"), "--trace", "2", "-o", str(out))
    late = refused("train", str(tmp_path / "small.toml"), "--trace", "7", "-o", str(tmp_path / "late"))
    assert "step 7: the run has 6 steps" in late
    assert not (tmp_path / "late").exists()
    assert "--trace needs --out" in refused("train", "demo", "--trace", "1")
    line = refused("vectors", "diff", str(out), str(out))
    assert "a trace of a training step" in line


# -- into a circuit ----------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.sim
@pytest.mark.parametrize(
    ("name", "operand", "defect"),
    [
        ("mx-cnn", "conv2/forward/activation_elements", 6),
        ("mx-transformer", "block1_attention/body/attention/forward/values/activation_elements", 4),
    ],
)
def test_a_product_of_a_step_through_the_example_circuit(
    name: str, operand: str, defect: int, folders: Callable[[str], Path], tmp_path: Path
) -> None:
    """A forward product, of attention for each head and example, files as they are, against mxfp8_dot; a planted bug
    shows."""
    from softfloat_ref.rtl.simulators import find

    top = Path(__file__).parents[2]
    trace = json.loads((folders(name) / "manifest.json").read_text())["set"]
    shapes = {t["name"]: t["shape"] for t in trace["tensors"]}
    node = next(n for n in trace["nodes"] if n["op"] == "matmul" and n["inputs"][0]["tensor"] == operand)
    names = [*(v["tensor"] for v in node["inputs"]), *node["outputs"]]
    batch, k = node["options"].get("batch", 1), shapes[names[0]][1]
    m, n = (shapes[names[i]][0] // batch for i in (0, 2))
    sizes = (("BATCH", batch), ("M", m), ("N", n), ("K", k), ("DEFECT", defect))
    lines = [f"localparam int {x} = {size};" for x, size in sizes]
    for key, tensor in zip(("A", "A_SCALE", "B", "B_SCALE", "EXPECTED"), names, strict=True):
        path = folders(name) / f"{tensor.replace('/', '.')}.memh"
        lines.append(f'localparam string {key}_FILE = "{path}";')
    (tmp_path / "product.svh").write_text("\n".join(lines) + "\n")
    sources = [top / "tests" / "rtl" / "trace_product_tb.sv", top / "docs" / "examples" / "mxfp8_dot" / "mxfp8_dot.sv"]
    done = find().run(sources, "tb", include_dirs=[tmp_path], work_dir=tmp_path)
    assert done.passed, done.output
    assert f"PASS: {batch * m * n} of {batch * m * n} vectors" in done.output
