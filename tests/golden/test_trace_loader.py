"""Traces in Python: tensors by name, layer, phase and time step; their codes and values; one verified by itself."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from command import ok, refused

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.trace.files import write_trace
from softfloat_ref.golden.trace.loader import load_trace
from softfloat_ref.golden.trace.step import TracedStep, trace_step
from softfloat_ref.golden.verify import verify
from softfloat_ref.nn.train import TrainingRun, load_data
from softfloat_ref.nn.training_recipe import read_recipe

TRAINING = {"epochs": 1, "batch": 4, "length": 3}
RECIPES = {
    name: read_recipe({"model": model, "data": data, "training": TRAINING, "formats": formats}, name)
    for name, model, data, formats in (
        ("lstm", {"kind": "lstm", "width": 8}, {"name": "text", "train": 200, "test": 100}, {"vector": "bf16"}),
        ("residual", {"kind": "resnet", "depth": 8, "width": 4},
         {"name": "shapes", "train": 4, "test": 4, "size": 12}, {"weight": "mxfp4", "activation": "mxfp6"}),
        ("mlp", {"kind": "mlp", "hidden": [6]}, {"name": "blobs", "train": 8, "test": 4, "features": 4}, {}),
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def traced() -> Callable[[str], TracedStep]:
    return cache(lambda name: trace_step(RECIPES[name], 1))


@pytest.fixture(scope="module")
def folders(traced: Callable[[str], TracedStep], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    top = tmp_path_factory.mktemp("traces")

    def of(name: str) -> Path:
        if not (top / name).exists():
            write_trace(*traced(name), top / name)
        return top / name

    return of


def changed(folder: Path, target: Path, name: str, *, vouch: bool) -> Path:
    """A copy in which the last digit of a file is another; vouch: and its hash in the manifest fits."""
    shutil.copytree(folder, target)
    data = (folder / name).read_bytes()
    data = data[:-2] + (b"1" if data[-2:-1] != b"1" else b"0") + b"\n"
    (target / name).write_bytes(data)
    if vouch:
        manifest = json.loads((target / "manifest.json").read_text())
        next(f for f in manifest["files"] if f["name"] == name)["sha256"] = hashlib.sha256(data).hexdigest()
        (target / "manifest.json").write_text(json.dumps(manifest))
    return target


def test_a_loaded_trace_is_the_recorded_one(
    traced: Callable[[str], TracedStep], folders: Callable[[str], Path]
) -> None:
    """Every tensor's codes and values, by name; layers, phases and time steps are those of the recipe's network."""
    for name in ("lstm", "residual"):
        recorded, loaded = traced(name), load_trace(folders(name))
        assert (loaded.name, loaded.step, len(loaded)) == (
            recorded.trace.name,
            recorded.trace.step,
            len(recorded.trace.tensors),
        )
        for tensor in loaded.tensors():
            assert (tensor.codes == recorded.codes[tensor.name]).all()
            if tensor.format.name == "fp32":
                assert tensor.values.tobytes() == recorded.codes[tensor.name].tobytes()
            parts = (tensor.layer.replace(".", "/"), tensor.phase, tensor.role)
            steps = "" if tensor.time_step is None else f"t{tensor.time_step}/"
            phase = "" if tensor.phase in ("", "update") else f"{tensor.phase}/"
            assert tensor.name == f"{parts[0]}/{phase}{steps}{parts[2]}"
        network = TrainingRun(RECIPES[name], load_data(RECIPES[name])).trainer.layers
        layers = {x for x, layer in network.items() if layer.params}
        assert layers <= set(loaded.layers)
        assert set(loaded.layers) <= network.keys() | {"input", "constants", "loss"}
        assert {t.layer for t in loaded.tensors(phase="update")} == layers


def test_tensors_are_found_by_gate_and_time_step(folders: Callable[[str], Path]) -> None:
    loaded = load_trace(folders("lstm"))
    gates = loaded.tensors("*/forget_gate", layer="lstm1", phase="forward")
    assert [(t.time_step, t.operation.op if t.operation else "") for t in gates] == [(t, "slice") for t in range(3)]
    assert {t.name for t in loaded.tensors(time_step=2)} == {x for x in loaded.set.tensors if "/t2/" in x}
    assert loaded.tensors("*/forget_gate", phase="update") == []
    gate = loaded["lstm1/forward/t1/forget_gate"]
    assert gate.shape == gate.values.shape == (4, 8)
    assert ((gate.values > 0) & (gate.values < 1)).all()
    assert gate.operation is not None
    assert [v.tensor for v in gate.operation.inputs] == ["lstm1/forward/t1/gates_vector"]
    with pytest.raises(
        Error, match=r"unknown tensor of trace_lstm_step_1 'lstm1/forward/t1/forget'; did you mean lstm1"
    ):
        loaded["lstm1/forward/t1/forget"]


def test_one_tensor_is_verified(folders: Callable[[str], Path], tmp_path: Path) -> None:
    """A changed code of an input and of an output is found if the hash fits, and refused if it does not."""
    folder, name = folders("mlp"), "linear1/forward/biased"
    loaded = load_trace(folder)
    assert loaded[name].verify(every=True) == loaded["linear1/weight"].verify() == []
    node = loaded[name].operation
    assert node is not None
    for other in (name, *(v.tensor for v in node.inputs)):
        file = f"{other.replace('/', '.')}.memh"
        (problem,) = load_trace(changed(folder, tmp_path / f"v{file}", file, vouch=True))[name].verify()
        assert re.match(rf"linear1\.forward\.biased\.memh:\d+: {name}\[\d, \d+\] = \w+, but add of its", problem)
        broken = load_trace(changed(folder, tmp_path / f"h{file}", file, vouch=False))
        with pytest.raises(Error, match=rf"{re.escape(file)}: SHA-256 differs from the manifest's; `softfloat-ref vec"):
            broken[name].verify()
        with pytest.raises(Error, match="SHA-256 differs"):
            _ = broken[other].codes


def test_what_is_not_a_trace(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"manifest\.json"):
        load_trace(tmp_path)
    ok("vectors", "generate", "--op", "add", "--fmt", "fp16", "-n", "20", "-o", str(tmp_path / "v"))
    with pytest.raises(Error, match="holds vectors of add_fp16_rne, not a trace"):
        load_trace(tmp_path / "v")
    assert "not a trace" in refused("vectors", "list", str(tmp_path / "v"))


def test_the_listing(folders: Callable[[str], Path]) -> None:
    lines = [x.split("  ") for x in ok("vectors", "list", str(folders("lstm"))).splitlines()]
    rows = {x[0]: [y.strip() for y in x[1:] if y] for x in lines}
    assert rows["lstm1/forward/t2/forget_gate"] == ["slice", "bf16", "4 x 8"]
    assert rows["constants/one"] == ["given", "fp32", "one number"]


def test_progress_counts_every_code_twice(folders: Callable[[str], Path]) -> None:
    """Once as it is read and once as it is recomputed; only an operation counts the second time."""
    shown: list[tuple[str, int]] = []

    class Bar(NamedTuple):
        total: int

        def advance(self, label: str, done: int) -> None:
            shown.append((label, done))

    assert verify(folders("mlp"), sample=1, progress=lambda total: nullcontext(Bar(total))).passed
    trace = load_trace(folders("mlp")).set
    computed = sum(trace.tensors[x].size for n in trace.nodes for x in n.outputs)
    assert sum(done for _, done in shown) == trace.count + computed
    assert shown[-1][0] == trace.nodes[-1].name
