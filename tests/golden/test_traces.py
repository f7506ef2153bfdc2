"""Golden traces: each operation against the oracle, whole steps against plain training, and every change of a byte."""

from __future__ import annotations

import dataclasses
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
from softfloat_ref.golden.trace.case import Case
from softfloat_ref.golden.trace.files import memory_text, read_tensor, write_trace
from softfloat_ref.golden.trace.model import Tensor, TraceSet
from softfloat_ref.golden.trace.numerics import RecordingNumerics
from softfloat_ref.golden.trace.operations import OPERATIONS, RECORDED
from softfloat_ref.golden.trace.recorder import Recorder
from softfloat_ref.golden.trace.step import Traced, trace_step
from softfloat_ref.golden.verify import verify
from softfloat_ref.nn.numerics import Numerics
from softfloat_ref.nn.train import Training, load_data
from softfloat_ref.nn.training_recipe import Recipe, read_recipe
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.blocks.formats import get_block_format
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.units.dot import stored_format

FP32 = get_format("fp32")
SPECIALS = [0, 0x80000000, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x3F800000, 0x00800000]

# -- operations --------------------------------------------------------------------------------------------------------


def numbers(*shape: int, seed: int = 1, special: bool = True) -> np.ndarray:
    random = np.random.default_rng(seed)
    codes = (random.normal(size=shape) * np.exp2(random.integers(-6, 6, shape))).astype(np.float32).view(np.uint32)
    if special:
        flat = codes.reshape(-1)
        places = random.permutation(flat.size)[: len(SPECIALS)]
        flat[places] = SPECIALS[: len(places)]
    return codes


def case(
    shapes: list[tuple[tuple[int, ...], Format]], *inputs: Any, formats: tuple[Format, ...] = (), **options: Any
) -> Case:
    outputs = tuple(Tensor(f"out{i}", fmt, shape) for i, (shape, fmt) in enumerate(shapes))
    found = formats or (FP32,) * len(inputs)
    return Case(tuple(map(np.asarray, inputs)), found, outputs, options)


def policy(**fields: Any) -> dict[str, Any]:
    return Policy(**fields).to_dict()


MX = stored_format(get_block_format("mxfp8"))
E4M3 = get_format("fp8_e4m3")
WORDS = np.random.default_rng(5).integers(0, 256, (6, 40)).astype(np.uint8)
CASES: dict[str, list[Case]] = {
    "add": [
        case([((5, 7), FP32)], numbers(5, 7), numbers(7, seed=2)),
        case([((10, 10), FP32)], np.array(SPECIALS, np.uint32)[:, None], np.array(SPECIALS, np.uint32)),
    ],
    "sub": [case([((10, 10), FP32)], np.array(SPECIALS, np.uint32)[:, None], np.array(SPECIALS, np.uint32))],
    "mul": [case([((10, 10), FP32)], np.array(SPECIALS, np.uint32)[:, None], np.array(SPECIALS, np.uint32)),
            case([((4, 3, 3, 2), FP32)], numbers(4, 1, 1, 2), numbers(1, seed=7, special=False).reshape(()))],
    "div": [case([((10, 10), FP32)], np.array(SPECIALS, np.uint32)[:, None], np.array(SPECIALS, np.uint32))],
    "relu": [case([((20,), FP32)], numbers(20)),
             case([((256,), FP32)], np.arange(256, dtype=np.uint8), formats=(E4M3,))],
    "relu_gradient": [case([((10, 10), FP32)], np.repeat(SPECIALS, 10).astype("u4"),
                           np.tile(SPECIALS, 10).astype("u4"))],
    "row_sum": [case([((6,), FP32)], numbers(9, 6)), case([((3,), FP32)], numbers(1, 3, special=False))],
    "pixel_sum": [case([((2, 3), FP32)], numbers(2, 3, 4, 3))],
    "patches": [
        case([((2, 5, 4, 3, 3, 2), E4M3)], np.arange(80).reshape(2, 5, 4, 2), formats=(E4M3,),
             kernel=3, stride=1, padding=1),
        case([((1, 3, 3, 3, 3, 1), FP32)], numbers(1, 6, 6, 1), kernel=3, stride=2, padding=1),
        case([((2, 2, 2, 1, 1, 2), FP32)], numbers(2, 3, 3, 2), kernel=1, stride=2, padding=0),
    ],
    "patch_sum": [
        case([((2, 5, 4, 2), FP32)], numbers(40, 18), kernel=3, stride=1, padding=1, image=[2, 5, 4, 2]),
        case([((1, 6, 6, 1), FP32)], numbers(9, 9), kernel=3, stride=2, padding=1, image=[1, 6, 6, 1]),
    ],
    "max_pool": [case([((2, 2, 2, 3), FP32)], np.where(numbers(2, 5, 4, 3) == 0x7FC00000, 1, numbers(2, 5, 4, 3)),
                      size=2)],
    "max_pool_gradient": [
        case([((1, 5, 4, 2), FP32)], numbers(1, 2, 2, 2), numbers(1, 5, 4, 2, special=False) >> 24 << 24,
             size=2),
        case([((1, 2, 2, 1), FP32)], numbers(1, 1, 1, 1),
             np.array([0x80000000, 0, 0, 0x80000000], "u4").reshape(1, 2, 2, 1), size=2),
    ],
    "gather": [case([((3, 4), FP32)], numbers(5, 4), np.array([4, 0, 4], np.uint32),
                    formats=(FP32, get_format("u32")))],
    "scatter_sum": [
        case([((6, 4), FP32)], numbers(9, 4), np.array([5, 0, 5, 5, 2, 0, 2, 2, 4], np.uint32),
             formats=(FP32, get_format("u32")), count=6),
    ],
    "slice": [case([((3, 2, 4), E4M3)], np.arange(60).reshape(3, 5, 4), formats=(E4M3,), axis=1, start=2, stop=4),
              case([((2, 7), FP32)], numbers(5, 7), axis=0, start=3, stop=5)],
    "concatenate": [
        case([((3, 9), E4M3)], *(np.arange(3 * n).reshape(3, n) for n in (2, 3, 4)), formats=(E4M3,) * 3, axis=1),
        case([((5, 4), FP32)], numbers(2, 4), np.arange(12).reshape(3, 4), formats=(FP32, E4M3), axis=0),
    ],
    "inside": [case([((6, 7), FP32)], numbers(6, 7), np.array(0x3F800000, "u4")),
               case([((10,), FP32)], np.array(SPECIALS, "u4"), np.array(0x7F800000, "u4"))],
    "keep": [case([((6, 40), FP32)], WORDS, np.array(0x3FA00000, "u4"), formats=(get_format("u8"), FP32),
                  threshold=77)],
    "random": [case([((3, 5), get_format("u8"))], source="philox:seed=3"),
               case([((3, 5), get_format("u8"))], source="philox:seed=3", transposed=True)],
    "convert": [
        case([((40,), E4M3)], numbers(40), policy=policy()),
        case([((40,), get_format("bf16"))], numbers(40), policy=sf.get_policy("tpu-bf16").to_dict()),
        case([((6, 40), get_format("s1e5m2"))], numbers(6, 40), WORDS, formats=(FP32, get_format("u8")),
             policy=policy(rounding="sr", sr_bits=8)),
        case([((256,), FP32)], np.arange(256), formats=(E4M3,), policy=policy()),
    ],
    "dequantize": [
        case([((6, 40), FP32)], np.arange(240).reshape(6, 40),
             np.array([0, 1, 127, 128, 250, 254, 255, 3, 9, 120, 20, 60], "u1").reshape(6, 2),
             formats=(E4M3, get_format("e8m0")), format=MX, profile=get_profile("ocp").to_dict()),
    ],
    "sqrt": [case([((30,), FP32)], numbers(30))],
    "affine_range": [
        case([((), FP32), ((), get_format("i8"))], numbers(4, 6), format="qint8", axis=None),
        case([((4,), FP32), ((4,), get_format("u4"))], numbers(4, 6), format="quint4", axis=0),
        case([((6,), FP32), ((6,), get_format("i8"))], numbers(4, 6), format="qint8_sym", axis=1),
    ],
    "affine": [
        case([((4, 6), get_format("i8"))], numbers(4, 6), np.array(0x3D000000, "u4"), np.array(250, "u1"),
             format="qint8", formats=(FP32, FP32, get_format("i8")), axis=None, policy=policy()),
        case([((6, 40), get_format("u4"))], numbers(6, 40), numbers(6, special=False) & 0x7FFFFFFF,
             np.arange(6, dtype="u1"), WORDS, format="quint4", axis=0,
             formats=(FP32, FP32, get_format("u4"), get_format("u8")), policy=policy(rounding="sr", sr_bits=8)),
    ],
    "affine_values": [
        case([((256,), FP32)], np.arange(256), np.array(0x3D100001, "u4"), np.array(250, "u1"), format="qint8",
             formats=(get_format("i8"), FP32, get_format("i8")), axis=None),
        case([((2, 16), FP32)], np.arange(32).reshape(2, 16) % 16, np.array([1, 0x7F000000], "u4"),
             np.array([3, 15], "u1"), format="quint4", formats=(get_format("u4"), FP32, get_format("u4")), axis=0),
    ],
    "quantize": [
        case([((6, 40), E4M3), ((6, 2), get_format("e8m0"))], numbers(6, 40), axis=1, format=MX, policy=policy(),
             profile=get_profile("ocp").to_dict()),
        case([((40, 6), E4M3), ((40, 1), get_format("e8m0"))], numbers(6, 40), axis=0, format=MX, policy=policy(),
             profile=get_profile("ocp").to_dict()),
        case([((6, 40), E4M3), ((6, 2), get_format("e8m0"))], numbers(6, 40), WORDS, axis=1, format=MX,
             formats=(FP32, get_format("u8")), policy=policy(rounding="sr", sr_bits=8),
             profile=get_profile("ocp").to_dict()),
    ],
    "matmul": [
        case([((4, 5), FP32)], numbers(4, 7), numbers(5, 7, seed=2), blocks=[None, None], axes=[1, 1],
             accumulator=get_accumulator("fp32-sequential").to_dict()),
        case([((7, 5), FP32)], numbers(4, 7, special=False), np.arange(20).reshape(4, 5), formats=(FP32, E4M3),
             blocks=[None, None], axes=[0, 0], accumulator=get_accumulator("nvidia-h100").to_dict()),
        case([((2, 3), FP32)], np.arange(80).reshape(2, 40), np.array([[120, 127], [1, 130]]),
             np.arange(120).reshape(3, 40),
             np.array([[127, 127], [3, 9], [120, 255]]), formats=(E4M3, get_format("e8m0")) * 2, blocks=[MX, MX],
             axes=[1, 1], accumulator=get_accumulator("mx-fp32").to_dict()),
    ],
}  # fmt: skip


def test_every_operation_has_a_case() -> None:
    assert CASES.keys() == OPERATIONS.keys()


@pytest.mark.parametrize(("op", "given"), [(op, c) for op, cases in CASES.items() for c in cases])
def test_arrays_are_the_oracle(op: str, given: Case) -> None:
    """Every code, on special values too; the units are all the codes, each once."""
    operation = OPERATIONS[op]
    made = [x.reshape(-1) for x in operation.compute(given)]
    assert [x.size for x in made] == [t.size for t in given.outputs]
    seen = [np.zeros(x.size, int) for x in made]
    for unit in range(operation.units(given)):
        for part in operation.one(given, unit):
            assert [int(made[part.output][i]) for i in part.places] == part.codes, unit
            seen[part.output][part.places] += 1
    assert all((x == 1).all() for x in seen)


@pytest.mark.parametrize(("op", "change"), [("patches", {"kernel": 0}), ("patches", {"kernel": 9}),
                                            ("max_pool", {"size": "2"}),
                                            ("patch_sum", {"image": [1, 2]}), ("quantize", {"axis": 2}),
                                            ("convert", {"policy": None}), ("matmul", {"axes": [2, 0]}),
                                            ("random", {"source": "dice"}),
                                            ("slice", {"axis": 3}), ("slice", {"stop": 6}), ("slice", {"start": 5}),
                                            ("concatenate", {"axis": 2}), ("scatter_sum", {"count": 5}),
                                            ("keep", {"threshold": -1}), ("quantize", {"format": {}})])  # fmt: skip
def test_bad_options(op: str, change: dict[str, Any]) -> None:
    given = CASES[op][0]
    with pytest.raises((Error, KeyError)):
        OPERATIONS[op].compute(dataclasses.replace(given, options={**given.options, **change}, _known={}))


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fp32", "fp8_e4m3", "fp6_e3m2", "u16", "u1", "e8m0"])
def test_tensor_files(name: str, tmp_path: Path) -> None:
    fmt = get_format(name)
    codes = np.random.default_rng(1).integers(0, 1 << fmt.width, (3, 5), dtype=np.uint64)
    tensor = Tensor("a/b", fmt, (3, 5))
    data = memory_text(tensor, codes)
    assert data.decode().splitlines()[2:] == [fmt.hex(int(c)) for c in codes.reshape(-1)]
    (tmp_path / "a.b.memh").write_bytes(data)
    assert (read_tensor(tmp_path, tensor) == codes).all()
    for broken in (data[:-1], data + b"0\n", data.replace(b"a/b", b"b/a"), data[:-2] + b"g\n", data[:-1] + b" "):
        (tmp_path / "a.b.memh").write_bytes(broken)
        with pytest.raises(Error, match=r"a\.b\.memh: (not|the tensor needs)"):
            read_tensor(tmp_path, tensor)


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
def traced() -> Callable[[str], Traced]:
    found: dict[str, Traced] = {}

    def of(name: str) -> Traced:
        if name not in found:
            found[name] = trace_step(recipe(name), 2 if name != "mx-sr-residual" else 1)
        return found[name]

    return of


@pytest.fixture(scope="module")
def folders(traced: Callable[[str], Traced], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    top = tmp_path_factory.mktemp("traces")

    def of(name: str) -> Path:
        if not (top / name).exists():
            write_trace(*traced(name), top / name, ["test"])
        return top / name

    return of


@pytest.mark.parametrize("name", SMALL)
def test_a_trace_verifies(name: str, folders: Callable[[str], Path]) -> None:
    report = verify(folders(name), every=name == "fp8-mlp")
    assert report.passed, report.problems
    assert "by the scalar oracle" in report.summary()
    assert report.checked > 500


def test_what_is_recorded_and_not_recomputed(traced: Callable[[str], Traced]) -> None:
    """Of networks of products, selections and sums only the loss."""
    for name in ("fp8-mlp", "mx-cnn"):
        trace = traced(name).trace
        assert [n.outputs for n in trace.nodes if n.op == RECORDED] == [("loss/softmax_cross_entropy/gradient",)]


def test_of_an_lstm_only_exponentials_are_recorded(traced: Callable[[str], Traced]) -> None:
    """Gates and time steps have names, and each gate is computed from what the step before left."""
    trace = traced("lstm").trace
    recorded = [n.outputs[0] for n in trace.nodes if n.op == RECORDED]
    gates = ["input_gate_sigmoid", "forget_gate_sigmoid", "cell_gate_tanh", "output_gate_sigmoid", "cell_tanh"]
    steps = [f"lstm1/forward/t{t}/{x}" for t in range(3) for x in gates]
    assert recorded == [*steps, "loss/softmax_cross_entropy/gradient"]
    by_output = {x: n for n in trace.nodes for x in n.outputs}
    for t in range(3):
        written = by_output[f"lstm1/forward/t{t}/cell"]
        assert written.op == "add"
        kept, added = (by_output[v.tensor] for v in written.inputs)
        before = f"lstm1/forward/t{t - 1}/cell_vector" if t else "lstm1/forward/cell_before"
        assert [v.tensor for v in kept.inputs] == [f"lstm1/forward/t{t}/forget_gate", before]
        assert [v.tensor for v in added.inputs] == [f"lstm1/forward/t{t}/{x}_gate" for x in ("input", "cell")]


def test_nothing_goes_unrecorded() -> None:
    """What is not an operation of Numerics refuses a recorded tensor, and the operations one that is not recorded."""
    recorder = Recorder()
    numerics = RecordingNumerics(Numerics("layer"), recorder)
    x = recorder.given("x", np.ones((2, 3), np.float32))
    for wrong in (lambda: x + 1, lambda: np.exp(x), lambda: x.sum(), lambda: x[0], lambda: x @ x.T):
        with pytest.raises(TypeError, match="recorded"):
            wrong()
    with pytest.raises(TypeError, match="recorded"):
        x[0] = 1
    with pytest.raises(TypeError, match="not recorded"):
        numerics.add(x, np.ones((2, 3), np.float32))
    with pytest.raises(TypeError, match="not recorded"):
        numerics.relu(x.T)
    y = numerics.add(x, x, out=x)
    assert (np.asarray(y) == 2).all()
    with pytest.raises(TypeError, match="not recorded"):
        numerics.relu(x)


def test_a_traced_step_is_the_plain_one(traced: Callable[[str], Traced]) -> None:
    """With the accumulator named, the recorded update has the bits of training as ever."""
    name = "fp8-mlp"
    training = Training(recipe(name), load_data(recipe(name)))
    steps = iter(training._batches(0))
    for number in (1, 2):
        training.trainer.step(number, *next(steps))
    found = traced(name)
    for key, weight in training.trainer.parameters().items():
        place = key.replace(".", "/")
        last = [n.outputs[0] for n in found.trace.nodes if n.outputs[0].startswith(f"{place}/")][-1]
        fmt = found.trace.tensors[last].fmt
        assert fmt.name == "fp16"
        assert (sf.arrays.decode(found.codes[last], fmt) == weight).all(), key
        before = found.codes[place].view(np.float32)
        assert (before != weight).any()


def test_products_by_hand(traced: Callable[[str], Traced]) -> None:
    """A product of blocks, its operands from the files' codes, by the public functions."""
    found = traced("mx-cnn")
    node = next(n for n in found.trace.nodes if n.op == "matmul" and n.options["blocks"][0])
    a, a_scale, b, b_scale = (found.codes[v.tensor] for v in node.inputs)
    for i, j in ((0, 0), (17, 3)):
        pair = [sf.blocks.BlockArray(x[r], s[r], get_block_format("mxfp8"), 0, get_profile("ocp"))
                for x, s, r in ((a, a_scale, i), (b, b_scale, j))]  # fmt: skip
        assert sf.dot(*pair, acc="mx-fp32").bits == found.codes[node.outputs[0]][i, j]
    quantized = next(n for n in found.trace.nodes if n.outputs[0] == node.inputs[0].tensor)
    x = found.codes[quantized.inputs[0].tensor].view(np.float32).reshape(quantized.inputs[0].shape)
    made = sf.blocks.quantize(x, "mxfp8", axis=1)
    assert (made.codes == a).all()
    assert (made.scales == a_scale).all()


def test_random_words_are_the_source_s(traced: Callable[[str], Traced]) -> None:
    found = traced("fp8-mlp")
    node = next(n for n in found.trace.nodes if n.op == "random")
    seed = int(node.options["source"].rpartition("=")[2])
    codes = found.codes[node.outputs[0]].reshape(-1)
    assert codes.tolist() == Philox(seed).bits(8, 0, codes.size)


def test_tensors_link(traced: Callable[[str], Traced]) -> None:
    """What no node makes is data, weights before the step, velocities and constants."""
    trace = traced("fp8-mlp").trace
    made = [name for n in trace.nodes for name in n.outputs]
    assert len(made) == len(set(made))
    given = set(trace.tensors) - set(made)
    assert given == {
        "input/x", "input/labels", "constants/loss_scale", "constants/weight_decay", "constants/momentum",
        "constants/rate",
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


def test_every_changed_file_is_found(folders: Callable[[str], Path], tmp_path: Path) -> None:
    """By its hash; made to fit, by recomputation, but for what no operation takes or makes. Every other file."""
    folder = folders("fp8-mlp")
    trace = json.loads((folder / "manifest.json").read_text())["set"]
    used = {v["tensor"] for n in trace["nodes"] for v in n["inputs"] if n["op"] != RECORDED}
    made = {x for n in trace["nodes"] for x in n["outputs"] if n["op"] != RECORDED}
    files = {f"{t['name'].replace('/', '.')}.memh": t["name"] for t in trace["tensors"]}
    for i, path in enumerate(sorted(folder.glob("*.memh"))):
        data = flipped(path.read_bytes())
        if i % 2:
            continue
        if i % 8 == 0:
            report = verify(altered(folder, tmp_path / f"h{i}", path.name, data, vouch=False))
            assert "SHA-256 differs" in report.problems[0]
        report = verify(altered(folder, tmp_path / f"v{i}", path.name, data, vouch=True), sample=1)
        assert report.passed == (files[path.name] not in used | made), path.name
    assert len(files) > 40


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
        found: dict[str, Any] = next(n for n in manifest["set"]["nodes"] if n["op"] == op)
        return found

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


@pytest.mark.sim
def test_a_product_of_a_step_through_the_example_circuit(folders: Callable[[str], Path], tmp_path: Path) -> None:
    """The convolution's forward product, files as they are, against mxfp8_dot; a planted bug shows."""
    from softfloat_ref.rtl.simulators import find

    top = Path(__file__).parents[2]
    trace = json.loads((folders("mx-cnn") / "manifest.json").read_text())["set"]
    shapes = {t["name"]: t["shape"] for t in trace["tensors"]}
    node = next(n for n in trace["nodes"] if n["op"] == "matmul" and n["options"]["blocks"][0])
    names = [*(v["tensor"] for v in node["inputs"]), *node["outputs"]]
    assert names[0] == "conv2/forward/activation_elements"
    (m, k), (n, _) = shapes[names[0]], shapes[names[2]]
    lines = [f"localparam int {x} = {size};" for x, size in (("M", m), ("N", n), ("K", k), ("DEFECT", 6))]
    for key, name in zip(("A", "A_SCALE", "B", "B_SCALE", "EXPECTED"), names, strict=True):
        path = folders("mx-cnn") / f"{name.replace('/', '.')}.memh"
        lines.append(f'localparam string {key}_FILE = "{path}";')
    (tmp_path / "product.svh").write_text("\n".join(lines) + "\n")
    sources = [top / "tests" / "rtl" / "trace_product_tb.sv", top / "docs" / "examples" / "mxfp8_dot" / "mxfp8_dot.sv"]
    done = find().run(sources, "tb", include_dirs=[tmp_path], work_dir=tmp_path)
    assert done.passed, done.output
    assert f"PASS: {m * n} of {m * n} vectors" in done.output
