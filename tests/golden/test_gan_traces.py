"""Golden traces of a step that trains two networks in turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref.golden.trace.files import write_trace
from softfloat_ref.golden.trace.numerics import RecordingNumerics
from softfloat_ref.golden.trace.operations import OPERATIONS
from softfloat_ref.golden.trace.recorder import Recorder
from softfloat_ref.golden.trace.step import TracedStep, trace_step
from softfloat_ref.golden.verify import verify
from softfloat_ref.nn.numerics import Numerics
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.nn.train import TrainingRun, load_data
from softfloat_ref.nn.training_recipe import Recipe, read_recipe

SR = {"policy": {"rounding": "sr", "sr_bits": 8}}
BASE: dict[str, dict[str, Any]] = {
    "model": {"kind": "dcgan", "channels": [4, 4], "noise": 5, "largest": 2.5, "dropout": 0.3},
    "data": {"name": "shapes", "train": 6, "test": 2, "size": 12, "noise": 0},
    "training": {"epochs": 1, "batch": 3, "log_every": 100},
    "optimizer": {"kind": "adam", "beta1": 0.5},
}
FORMATS: dict[str, dict[str, Any]] = {
    "fp8": {r: {"format": "s1e5m2", **SR} for r in ("weight", "activation", "error", "weight_gradient", "function")},
    "mx": {r: {"format": "mxfp8_e4m3", **SR} for r in ("weight", "activation", "error")},
}


def recipe(name: str, accumulator: str) -> Recipe:
    formats = {**FORMATS[name], "accumulator": accumulator}
    scaling = {"kind": "constant", "scale": 64}
    return read_recipe({**BASE, "formats": formats, "loss_scaling": scaling}, name)


@pytest.fixture(scope="module", params=FORMATS)
def traced(request: pytest.FixtureRequest) -> tuple[str, TracedStep]:
    exact = "fp32-sequential" if request.param == "fp8" else "mx-fp32"
    return request.param, trace_step(recipe(request.param, exact), 2)


@pytest.mark.full
def test_a_trace_of_both_turns_verifies(traced: tuple[str, TracedStep], tmp_path: Path) -> None:
    _, step = traced
    assert {n.op for n in step.trace.nodes} <= OPERATIONS.keys()
    write_trace(*step, tmp_path / "trace", ["test"])
    report = verify(tmp_path / "trace")
    assert report.passed, report.problems
    assert report.checked > 500


def test_the_traced_step_is_the_plain_one(traced: tuple[str, TracedStep]) -> None:
    """Both networks' weights after it, and so the discriminator of the generator's turn, which is the updated one."""
    name, step = traced
    training_recipe = recipe(name, "fp32-sequential" if name == "fp8" else "mx-fp32")
    training = TrainingRun(training_recipe, load_data(training_recipe))
    for number, pair in enumerate(training._batches(0), 1):
        training.trainer.step(number, *pair)
    assert number == 2
    for key, weight in training.trainer.parameters().items():
        last = f"{key.replace('.', '/')}/updated"
        fmt = step.trace.tensors[last].fmt
        assert (sf.arrays.decode(step.codes[last], fmt) == weight).all(), key


def test_passes_and_noise_have_names(traced: tuple[str, TracedStep]) -> None:
    _, step = traced
    by_output = {x: n for n in step.trace.nodes for x in n.outputs}
    noise = by_output["generator/noise/generated/forward/noise"]
    assert noise.op == "uniform"
    assert by_output[noise.inputs[0].tensor].op == "random"
    for what, before in (("data", ""), ("generated", ""), ("as_data", "/updated")):
        product = by_output[f"discriminator/output/{what}/forward/activation_weight_product"]
        chain, seen = [v.tensor for v in product.inputs], set()
        while chain:
            name = chain.pop()
            seen.add(name)
            if name in by_output and "/forward/" in name:
                chain += [v.tensor for v in by_output[name].inputs]
        assert f"discriminator/output/weight{before}" in seen, what
    summed = by_output["discriminator/output/weight/gradient_sum"]
    assert [v.tensor.split("/")[2] for v in summed.inputs] == ["data", "generated"]


@pytest.mark.parametrize(("policy", "count"), [(None, 1), (SR["policy"], 2)])
def test_a_weight_of_two_passes_is_rounded_in_each(policy: dict[str, Any] | None, count: int) -> None:
    """By random words of its own, also where BLAS adds up; to nearest, once."""
    recorder = Recorder()
    plain = Numerics("layer", {"weight": TensorFormat("mxfp8_e4m3", policy=policy)})
    numerics = RecordingNumerics(plain, recorder)
    x, weight = (recorder.input(name, np.ones((2, 3), np.float32)) for name in ("x", "weight"))
    for _ in range(2):
        numerics.product(numerics.hold(x, "activation"), numerics.hold(weight, "weight"), 1, 1)
    assert [n.op for n in recorder.nodes].count("quantize") == count
