"""Models, layers, optimizers and data sets of a user's own, by package.module:Name; other values by --set."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import TOP, ok, refused

from softfloat_ref.base.errors import Error
from softfloat_ref.base.tables import with_settings
from softfloat_ref.nn.data import load
from softfloat_ref.nn.models import Input, build
from softfloat_ref.nn.numerics import Numerics
from softfloat_ref.nn.optimizers import SGD, Updates
from softfloat_ref.nn.train import TrainingRun, load_data, train
from softfloat_ref.nn.training_recipe import load_recipe, read_recipe

EXAMPLE = TOP / "docs" / "examples" / "training"
BASE: dict[str, Any] = {"model": {"kind": "mlp"}, "data": {"name": "blobs"}}
MODULE = """
import dataclasses
from softfloat_ref.nn.layers import Layer, ReLU
from softfloat_ref.nn.optimizers import Optimizer

class Idle(Optimizer):
    pass

class Odd(Layer):
    kind = "not a name"

class Needy(Layer):
    def __init__(self, width): super().__init__()

def hidden(of, *, width: "Unknown" = 3): return ReLU()
def needs(of, *, width: int): return ReLU()
def number(of): return 3
def table(*, seed): return {}
def unseeded(): return {}
"""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules that Python finds: the example's, one with what does not fit, one that fails when it is imported."""
    (tmp_path / "own_wrong.py").write_text(MODULE)
    (tmp_path / "own_broken.py").write_text("1 / 0\n")
    for folder in (tmp_path, EXAMPLE):
        monkeypatch.syspath_prepend(folder)
    yield
    for name in ("own_training", "own_wrong", "own_broken"):
        sys.modules.pop(name, None)


def test_the_example_trains_and_goes_on(tmp_path: Path) -> None:
    recipe = load_recipe(str(EXAMPLE / "own.toml"))
    assert read_recipe(tomllib.loads(recipe.to_toml()), "own") == recipe
    result = train(recipe.with_training(epochs=2), tmp_path / "run")
    assert result.final.loss < result.epochs[0].test.loss
    again, whole = (
        train(recipe.with_training(epochs=3), tmp_path / "run", resume=True),
        train(recipe.with_training(epochs=3)),
    )
    assert [e.test for e in again.epochs] == [e.test for e in whole.epochs]


def test_the_example_is_short() -> None:
    """A data set, a layer, a model and an optimizer, whole."""
    assert len((EXAMPLE / "own_training.py").read_text().splitlines()) <= 60


def test_an_own_layer_is_one_among_others() -> None:
    """By its kind in overrides, and as a model's activation function or norm."""
    recipe = load_recipe(str(EXAMPLE / "own.toml"))
    layers = TrainingRun(recipe, load_data(recipe)).trainer.layers
    assert layers["relu1"].numerics.specs["vector"].format == "fp16"
    assert layers["norm1"].numerics.specs["vector"].format == "bf16"
    function = "own_training:SquaredReLU"
    network = build({"kind": "mlp", "hidden": [4], "function": function}, Input((3,), 2, 1))
    assert list(dict(network.walk())) == ["linear1", "squared_relu1", "output"]
    table = {"kind": "transformer", "layers": 1, "width": 4, "heads": 1, "function": function,
             "norm": "softfloat_ref.nn.layers:RMSNorm"}  # fmt: skip
    assert "block1_mlp.body.squared_relu" in dict(build(table, Input((), 2, 1)).walk())


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nowhere:Model", "model 'nowhere:Model' cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        ("math:Model", "model 'math:Model' cannot be imported: AttributeError"),
        ("own_broken:Model", "model 'own_broken:Model' cannot be imported: ZeroDivisionError: division by zero"),
        ("math:", "model 'math:': write package.module:Name"),
        (":Model", "write package.module:Name"),
        ("a b:Model", "write package.module:Name"),
        ("math:pi", "model 'math:pi' is not a class or a function"),
        ("own_wrong:number", "model 'own_wrong:number' makes int, not a Layer"),
        ("own_wrong:needs", "does not take what a recipe gives it: missing a required argument: 'width'"),
        ("own_wrong:hidden", "model 'own_wrong:hidden': its annotations are not known: name 'Unknown'"),
        ("builtins:dict", "model 'builtins:dict' has no known parameters"),
        ("own_wrong:Odd", "model 'own_wrong:Odd'"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(kind: str, message: str) -> None:
    with pytest.raises(Error) as e:
        build({"kind": kind}, Input((3,), 2, 1))
    assert message in str(e.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"optimizer": {"kind": "nowhere:Adam"}}, "optimizer 'nowhere:Adam' cannot be imported"),
        ({"optimizer": {"kind": "own_wrong:Idle"}}, "optimizer 'own_wrong:Idle' has no update"),
        ({"optimizer": {"kind": "own_wrong:Needy"}}, "is not a subclass of softfloat_ref.nn.optimizers.Optimizer"),
        ({"optimizer": {"kind": "own_training:RMSProp", "dekay": 1.0}}, "did you mean decay"),
        ({"optimizer": {"kind": "own_training:RMSProp", "decay": "1"}}, "decay = '1' is not of type float"),
        ({"model": {"kind": "own_training:normed", "wdith": 3}}, "did you mean width"),
        ({"model": {"kind": "own_training:normed", "width": "3"}}, "width = '3' is not of type int"),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(Error, match=message):
        read_recipe({**BASE, **table})


def test_an_optimizer_that_returns_no_weight_is_refused() -> None:
    class Forgetful(SGD):
        def update(self, *args: Any) -> Any:
            super().update(*args)

    updates, weight = Updates(Forgetful()), np.ones(3, np.float32)
    with pytest.raises(Error, match="optimizer 'sgd': update must return the weight"):
        updates.update("w", weight, weight.copy(), 1.0, Numerics())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("own_wrong:number", "is not a subclass of softfloat_ref.nn.layers.base.Layer"),
        ("own_wrong:Needy", "does not take what a recipe gives it: missing a required argument: 'width'"),
        ("own_wrong:Odd", "makes Odd, not a Layer whose kind is a name"),
    ],
)
def test_a_layer_that_does_not_fit_is_refused(function: str, message: str) -> None:
    with pytest.raises(Error) as e:
        build({"kind": "mlp", "function": function}, Input((3,), 2, 1))
    assert message in str(e.value)


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("nowhere:waves", {}, "data 'nowhere:waves' cannot be imported"),
        ("own_wrong:table", {}, "data 'own_wrong:table' makes dict, not a Dataset"),
        ("own_wrong:unseeded", {}, "data 'own_wrong:unseeded' does not take what a recipe gives it"),
        ("own_training:waves", {"tain": 3}, "did you mean train"),
        ("own_training:waves", {"root": Path("x")}, "is generated: it takes no folder"),
    ],
)
def test_data_that_does_not_fit_is_refused(name: str, sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(Error, match=message):
        load(name, seed=1, **sizes)


# -- settings ----------------------------------------------------------------------------------------------------------


def test_settings_replace_values() -> None:
    table = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    settings = ["a.b=5", "a.c.d = 'x'", "e=text", "f.g=[1, 2]", "h={ i = 1 }", "j=1\nk=2"]
    assert with_settings(table, settings) == {
        "a": {"b": 5, "c": {"d": "x"}}, "e": "text", "f": {"g": [1, 2]}, "h": {"i": 1}, "j": "1\nk=2"
    }  # fmt: skip
    assert table == {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    for wrong in ("a", "=1", "a..b=1", ".a=1"):
        with pytest.raises(Error, match=r"write table\.key=value"):
            with_settings(table, [wrong])
    with pytest.raises(Error, match=r"'e\.x=1': e is not a table"):
        with_settings(table, ["e.x=1"])


def test_the_command_shows_and_sets() -> None:
    settings = "--set", "training.epochs=2", "--set", "formats.weight=mxfp6", "--set", "swa={}"
    shown = tomllib.loads(ok("train", "--show", "demo", *settings, "--seed", "9"))
    assert (shown["training"]["epochs"], shown["training"]["seed"]) == (2, 9)
    assert shown["formats"]["weight"]["format"] == "mxfp6"
    assert "swa" not in shown
    assert read_recipe(shown, "demo") == load_recipe("demo", settings[1::2]).with_training(seed=9)
    assert "--show excludes --out" in refused("train", "--show", "demo", "-o", "x")
    assert "give a training recipe" in refused("train", "--show")
    assert "did you mean epochs" in refused("train", "demo", "--set", "training.epoch=1")
    assert "write table.key=value" in refused("train", "demo", "--set", "training")
    assert "did you mean training" in refused("train", "compare", "demo", "--set", "trainin.epochs=1")
