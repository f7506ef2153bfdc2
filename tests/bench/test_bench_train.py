"""`bench train`: which steps are compared, and with which FP32 step; not how long they take."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bench import networks, recipe_steps
from softfloat_ref.nn.train import TrainingRun, load_data
from softfloat_ref.nn.training_recipe import load_recipe, read_recipe, recipe_files

SMALL: dict[str, Any] = {
    "model": {"kind": "mlp", "hidden": [4]},
    "data": {"name": "blobs", "train": 12, "test": 4, "features": 4},
    "training": {"batch": 4},
}


def test_every_recipe_is_compared_with_fp32_of_its_network() -> None:
    recipes = {name: load_recipe(name) for name in recipe_files()}
    groups = list(recipe_steps.groups(recipes))
    assert sorted(name for group in groups for name in group) == sorted(recipes)
    names = next(group for group in groups if "fp32-lstm" in group)
    assert {n for n in names if n.startswith("fp32")} == {"fp32-lstm"}
    assert set(names) == {n for n in recipes if "lstm" in n and "layers" not in n}
    assert not recipe_steps.formatted(recipes["fp32-cnn"])
    assert all(recipe_steps.formatted(recipes[n]) for n in ("qint8-forward", "fp16-mlp-fp16-accumulation"))


@pytest.mark.parametrize(
    ("name", "limit"),
    [("bf16-tpu", 1.5), ("fp16-mlp", 1.5), ("hfp8", 2.0), ("mxfp8-cnn", 2.0), ("qint8-forward", 2.0),
     ("flexfp8-dse", 2.0), ("fp16-mlp-fp16-accumulation", None)],
)  # fmt: skip
def test_limits(name: str, limit: float | None) -> None:
    assert recipe_steps.limit_of(load_recipe(name)) == limit


def test_fp32_of_a_recipe_is_the_plain_step() -> None:
    plain = read_recipe(SMALL)
    formats = {"weight": "fp8_e4m3", "accumulator": "fp32-sequential"}
    other = read_recipe({**SMALL, "formats": formats, "loss_scaling": {"kind": "constant", "scale": 8}})
    assert recipe_steps.fp32(other) == plain
    assert recipe_steps.formatted(other)
    assert not recipe_steps.formatted(plain)


def test_each_recipe_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    recipes = {"plain": read_recipe(SMALL), "fp8": read_recipe({**SMALL, "formats": {"weight": "fp8_e4m3"}})}
    recipe_steps.show(recipes, rounds=1)
    first, second = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"mlp, plain +\d+\.\d\d ms per step", first)
    assert re.fullmatch(r"  fp8 +\d+\.\d\d ms per step, ratio \d+\.\d\d \(at most 1\.5\)", second)


def test_the_median_of_interleaved_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two to warm up and to be measured once, then turns, which of short steps have several."""
    order, clock, took = [], [0.0], {"a": 0.001, "b": 0.007}

    def step(name: str) -> None:
        order.append(name)
        clock[0] += took[name]

    monkeypatch.setattr(recipe_steps.time, "process_time", lambda: clock[0])
    times = recipe_steps.medians({x: lambda x=x: step(x) for x in "ab"}, 3)  # type: ignore[misc]
    assert "".join(order) == "aabb" + 3 * "aaaaab"
    assert times == pytest.approx(took)


@pytest.mark.extra("torch")
@pytest.mark.parametrize("name", ["fp32-cnn", "fp32-lstm", "fp32-transformer"])
def test_networks_in_pytorch_have_the_same_parameters(name: str) -> None:
    """But for the second bias of its LSTM."""
    torch: Any = pytest.importorskip("torch")
    recipe = load_recipe(name)
    data = load_data(recipe)
    mine = sum(p.size for p in TrainingRun(recipe, data).trainer.parameters().values())
    if name == "fp32-cnn":
        network = networks.cnn(torch, 3, recipe.model["channels"], data.classes)
    elif name == "fp32-transformer":
        network = networks.transformer(torch, data.classes, recipe.model)
    else:
        network = networks.lstm(torch, data.classes, recipe.model["width"], recipe.model["layers"])
        mine += 4 * recipe.model["width"]
    assert sum(p.numel() for p in network.parameters) == mine
    step = recipe_steps._torch_step(recipe, torch)
    assert step is not None
    step()
