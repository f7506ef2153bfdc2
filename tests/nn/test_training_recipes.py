"""Recipes: those that come with the package, TOML there and back, and what is wrong with others."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.models import Input, build
from softfloat_ref.nn.numerics import RunState
from softfloat_ref.nn.training_recipe import Recipe, load_recipe, read_recipe, recipe_files

BASE: dict[str, Any] = {"model": {"kind": "cnn", "channels": [4, 8]}, "data": {"name": "shapes"}}


def assigned(table: dict[str, Any], model: dict[str, Any] | None = None) -> dict[str, Any]:
    """The formats that each layer gets, by its name."""
    recipe = read_recipe({**BASE, **table, **({"model": model} if model else {})})
    shape = () if recipe.model["kind"] in ("lstm", "transformer") else (16, 16, 3)
    network = build(recipe.model, Input(shape, 10, 1))
    recipe.assign(network, RunState())
    return {n: layer.numerics for n, layer in network.walk()}


@pytest.mark.parametrize("name", recipe_files())
def test_recipes_come_back_from_toml(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.description
    assert read_recipe(tomllib.loads(recipe.to_toml()), name) == recipe
    shape = () if recipe.model["kind"] in ("lstm", "transformer") else (16, 16, 3)
    recipe.assign(build(recipe.model, Input(shape, 10, 1)), RunState())


def test_everything_comes_back_from_toml() -> None:
    table = {
        **BASE,
        "description": 'a "quoted" line',
        "training": {"epochs": 3, "batch": 7, "seed": 5, "length": 9, "log_every": 2},
        "optimizer": {"kind": "adamw", "rate": 0.5, "beta1": 0.8, "weight_decay": 1e-4, "clip_norm": 1},
        "schedule": {"kind": "step", "at": [1, 2]},
        "loss_scaling": {"kind": "enhanced", "floors": [[10, 8.0], [20, 16.0]]},
        "swa": {"kind": "after", "apart": 1, "count": 2},
        "policy": {"rounding": "sr", "sr_bits": 8},
        "formats": {
            "weight": {"format": "qint8", "observer": "moving-average", "momentum": 0.1, "axis": 0},
            "activation": {"format": "mxfp8", "profile": "torchao-even", "policy": "ieee"},
            "error": {"format": "s1e5m2", "clip": True},
            "accumulator": "fp32-sequential",
            "hadamard": 16,
        },
        "override": [
            {"layers": ["first", "conv*"], "weight": "fp16", "accumulator": "blas", "hadamard": 0},
            {"layers": ["last"], "exempt": True},
        ],
    }
    recipe = read_recipe(table)
    again = read_recipe(tomllib.loads(recipe.to_toml()))
    assert again == recipe
    assert again.formats["error"].policy == {"rounding": "sr", "sr_bits": 8}
    assert again.formats["activation"].policy == "ieee"
    assert again.optimizer.clip_norm == 1


def test_formats_by_layer() -> None:
    formats = {"weight": "s1e5m2", "vector": "bf16", "master": "fp16"}
    layers = assigned(
        {
            "formats": formats,
            "override": [{"layers": ["first", "last"], "exempt": True}, {"layers": ["norm*"], "vector": "fp32"}],
        }
    )
    for name in ("conv1", "output"):
        assert layers[name].quantizer("weight") is None
        assert layers[name].quantizer("vector") is None
        assert layers[name].quantizer("master") is not None
    assert layers["conv2"].quantizer("weight") is not None
    assert layers["conv2"].quantizer("vector") is not None
    assert layers["norm1"].quantizer("vector") is None


def test_residual_and_embedding_are_exempt_by_kind() -> None:
    table = {"formats": {"weight": "fp16", "vector": "bf16"}, "override": [{"layers": ["residual"], "exempt": True}]}
    layers = assigned(table, {"kind": "resnet", "depth": 8})
    assert layers["block1_1"].quantizer("vector") is None
    assert layers["block1_1.body.conv1"].quantizer("weight") is not None
    table["override"] = [{"layers": ["embedding", "last"], "exempt": True}]
    layers = assigned(table, {"kind": "lstm"})
    assert layers["embedding"].quantizer("weight") is None
    assert layers["lstm1"].quantizer("weight") is not None
    assert layers["output"].quantizer("weight") is None


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"modle": {}}, "key of a recipe: 'modle'; did you mean model"),
        ({"formats": {"weigth": "fp16"}}, "did you mean weight"),
        ({"formats": {"weight": "fp17"}}, "formats: weight: unknown format 'fp17'; did you mean"),
        ({"formats": {"weight": 3}}, "formats: weight = 3"),
        ({"formats": {"weight": {"fromat": "fp16"}}}, "did you mean format"),
        ({"formats": {"weight": {"format": "fp16", "clip": 1}}}, "clip = 1"),
        ({"formats": {"accumulator": "fp32-seqential"}}, "did you mean fp32-sequential"),
        ({"formats": {"accumulator": 32}}, "accumulator = 32"),
        ({"training": {"epoch": 3}}, "did you mean epochs"),
        ({"training": {"epochs": 0}}, "epochs = 0"),
        ({"training": {"epochs": "3"}}, "epochs = '3'"),
        ({"training": {"batch": True}}, "batch = True"),
        ({"training": {"seed": -1}}, "seed = -1"),
        ({"training": 3}, r"a table \[training\]"),
        ({"optimizer": {"kind": "adan"}}, "optimizer 'adan'; did you mean adam"),
        ({"optimizer": {"kind": ["adam"]}}, "unknown optimizer"),
        ({"optimizer": {"kind": "adam", "momentum": 0.9}}, "unknown key 'momentum'"),
        ({"optimizer": {"kind": "adam", "beta1": 1.0}}, "optimizer 'adam': beta1 and beta2 must be below 1"),
        ({"optimizer": {"kind": "adamw", "epsilon": 1e-60}}, "optimizer 'adamw': epsilon must be above 0 in FP32"),
        ({"optimizer": {"nesterov": True}}, "nesterov needs a momentum above 0"),
        ({"optimizer": {"rate": -1.0}}, "rate = -1.0"),
        ({"optimizer": {"rate": float("nan")}}, "rate = nan"),
        ({"policy": "ieeee"}, "did you mean ieee"),
        ({"policy": {"rounding": "sr"}, "formats": {"weight": "fp16"}}, "sr_bits"),
        ({"override": {"layers": ["first"]}}, r"\[\[override\]\]"),
        ({"override": [{"exempt": True}]}, "override 1: layers"),
        ({"override": [{"layers": ["first"], "exempt": True, "weight": "fp16"}]}, "exempt = true or formats by role"),
        ({"override": [{"layers": ["first"], "wieght": "fp16"}]}, "did you mean weight"),
        ({"model": {"kind": "cnn", "chanels": [3]}}, "did you mean channels"),
    ],
)
def test_bad_recipes_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(Error, match=message):
        read_recipe({**BASE, **table})


def test_a_pattern_that_meets_no_layer_is_refused() -> None:
    with pytest.raises(Error, match="did you mean conv1"):
        assigned({"override": [{"layers": ["convo1"], "exempt": True}]})


def test_what_a_recipe_needs() -> None:
    with pytest.raises(Error, match=r"\[data\] is missing"):
        read_recipe({"model": {"kind": "mlp"}})
    with pytest.raises(Error, match="did you mean demo"):
        load_recipe("deno")
    with pytest.raises(Error, match=r"nowhere\.toml: No such file"):
        load_recipe("nowhere.toml")
    assert isinstance(load_recipe("demo").with_training(epochs=2, seed=None), Recipe)
    with pytest.raises(Error, match="epochs = 0"):
        load_recipe("demo").with_training(epochs=0)
