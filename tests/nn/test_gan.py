"""Generative adversarial networks: their loss, their two updates a step, and the distance that measures them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ok, refused

from softfloat_ref.base.errors import Error
from softfloat_ref.nn import checkpoint
from softfloat_ref.nn import layers as nn
from softfloat_ref.nn.data import Dataset, load
from softfloat_ref.nn.features import FILE, Features, frechet
from softfloat_ref.nn.models import DISCRIMINATOR, GENERATOR
from softfloat_ref.nn.numerics import Numerics, RunState
from softfloat_ref.nn.train import TrainingRun, load_data, train
from softfloat_ref.nn.trainer import Diverged, Trainer
from softfloat_ref.nn.training_recipe import Recipe, load_recipe, read_recipe

Array = np.ndarray[Any, Any]
SR = {"rounding": "sr", "sr_bits": 16}
FP8 = dict.fromkeys(("weight", "activation", "error", "weight_gradient", "function"), "s1e5m2")
SMALL: dict[str, Any] = {
    "model": {"kind": "dcgan", "channels": [4, 6], "noise": 5, "largest": 2.5, "dropout": 0.3},
    "data": {"name": "shapes", "train": 48, "test": 24, "size": 12, "noise": 0},
    "training": {"epochs": 3, "batch": 16},
    "optimizer": {"kind": "adam", "beta1": 0.5},
}


def recipe(**tables: Any) -> Recipe:
    return read_recipe({**SMALL, **tables})


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load("shapes", seed=0, train=48, test=24, size=12, noise=0)


def final(out: Path) -> dict[str, Array]:
    return checkpoint.load(out / "checkpoint.npz")[0]


def same(a: dict[str, Array], b: dict[str, Array]) -> bool:
    return a.keys() == b.keys() and all(a[k].tobytes() == b[k].tobytes() for k in a)


# -- the loss, and noise -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0, 1])
def test_binary_cross_entropy(target: int) -> None:
    z = np.random.default_rng(1).normal(0, 3, (7, 1))
    loss = nn.binary_cross_entropy(z, target, Numerics(), scale=8.0)
    share = 1 / (1 + np.exp(-z))
    assert loss.value == pytest.approx(-np.log(share if target else 1 - share).mean(), rel=1e-12)
    np.testing.assert_allclose(loss.gradient, 8 * (share - target) / 7, rtol=1e-12)
    assert loss.correct == ((z > 0) == target).sum()
    far = np.array([[-1e4], [1e4], [3e38]], np.float32)
    loss = nn.binary_cross_entropy(far, target, Numerics())
    assert np.isfinite(np.asarray(loss.gradient)).all()
    assert loss.value == pytest.approx((1e4 if target else 1e4 + 3e38) / 3, rel=1e-6)


def test_noise_depends_on_seed_and_step_and_is_the_same_in_every_evaluation() -> None:
    def drawn(seed: int, step: int | None, count: int = 40, turn: str = "") -> Array:
        layer = nn.Noise(5, seed=seed, name="noise")
        layer.numerics = Numerics("noise", run=RunState(seed))
        layer.numerics.run.begin(step or 0, step is not None, turn)
        parts = [layer.forward(np.empty((n, 12, 12, 3), np.float32)) for n in (count - 9, 9)]
        return np.concatenate(parts)

    first = drawn(1, 1)
    assert first.shape == (40, 1, 1, 5)
    assert -1 <= first.min() < -0.9 < 0.9 < first.max() < 1
    assert (first == drawn(1, 1)).all()
    assert (first != drawn(1, 2)).any()
    assert (first != drawn(2, 1)).any()
    assert (first != drawn(1, 1, turn=GENERATOR)).any()
    assert (drawn(1, None)[:20] == drawn(1, None, 20)).all()
    assert len(np.unique(drawn(1, None))) > 190  # batches go on from one another


def test_leaky_relu_of_special_values() -> None:
    x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -3.0], np.float32)
    layer = nn.LeakyReLU(0.25)
    np.testing.assert_array_equal(layer.forward(x), np.array([0, 0, np.nan, np.inf, -np.inf, 1e-45, -0.75], np.float32))
    assert layer.backward(np.ones_like(x)).tolist() == [0.25, 0.25, 0.25, 1, 0.25, 1, 0.25]


# -- a step ------------------------------------------------------------------------------------------------------------


def test_each_turn_updates_its_own_network(data: Dataset) -> None:
    trainer = Trainer(recipe(), data)
    for turn in (DISCRIMINATOR, GENERATOR):
        before = {k: v.copy() for k, v in trainer.parameters().items()}
        trainer._turn(turn, 1, data.train_x, data.train_y, 1.0)
        changed = {k for k, v in trainer.parameters().items() if (v != before[k]).any()}
        assert {k.partition(".")[0] for k in changed} == {turn}
    assert {turn: by.steps for turn, by in trainer.optimizers.items()} == {DISCRIMINATOR: 1, GENERATOR: 1}


def test_the_generator_s_turn_leaves_the_discriminator_s_gradients(data: Dataset) -> None:
    """They are not used; an averaged range sees them all the same. The generator's are what they were."""
    averaged = {"weight_gradient": {"format": "qint8", "observer": "moving-average"}}
    for formats, changed in (({}, False), (averaged, True)):
        trainer = Trainer(recipe(formats=formats), data)
        trainer.run.begin(1, turn=DISCRIMINATOR)
        trainer._passes(DISCRIMINATOR, data.train_x[:16], data.train_y[:16], 1.0)
        before = {k: v.copy() for k, v in trainer.gradients(DISCRIMINATOR).items() if "conv" in k or "image" in k}
        trainer.run.begin(1, turn=GENERATOR)
        trainer._passes(GENERATOR, data.train_x[:16], data.train_y[:16], 1.0)
        after = trainer.gradients(DISCRIMINATOR)
        assert any((after[k] != v).any() for k, v in before.items()) == changed


@pytest.mark.parametrize("turn", [DISCRIMINATOR, GENERATOR])
def test_the_gradients_of_a_turn_are_differences(turn: str, data: Dataset) -> None:
    """Of the discriminator's loss over data and over generated images, and of the generator's."""
    trainer = Trainer(recipe(), data)
    for layer in trainer.layers.values():
        layer.params = {k: v.astype(np.float64) for k, v in layer.params.items()}
        layer.buffers = {k: v.astype(np.float64) for k, v in layer.buffers.items()}
    x = data.train_x[:6].astype(np.float64)

    def loss() -> float:
        trainer.run.begin(1, turn=turn)
        return trainer.objective.forward_and_back(turn, x, data.train_y[:6], 1.0).loss

    loss()
    gradients = {k: v.copy() for k, v in trainer.gradients(turn).items()}
    rng, step = np.random.default_rng(1), 1e-6
    for key, weight in trainer.parameters().items():
        if not key.startswith(turn):
            continue
        place = tuple(rng.integers(0, n) for n in weight.shape)
        value = weight[place]
        weight[place] = value + step
        above = loss()
        weight[place] = value - step
        slope = (above - loss()) / (2 * step)
        weight[place] = value
        assert gradients[key][place] == pytest.approx(slope, rel=1e-4, abs=1e-8), key


def test_a_skipped_update_is_the_turn_s_own(data: Dataset) -> None:
    """The generator's gradients overflow; the discriminator goes on."""
    formats = [{"layers": ["generator.*"], "weight_gradient": "fp16"}]
    gan = recipe(override=formats, loss_scaling={"kind": "dynamic", "scale": 2.0**24, "interval": 1000})
    trainer = Trainer(gan, data)
    before = {k: v.copy() for k, v in trainer.parameters().items()}
    assert not trainer.step(1, data.train_x, data.train_y).taken
    changed = {k.partition(".")[0] for k, v in trainer.parameters().items() if (v != before[k]).any()}
    assert changed == {DISCRIMINATOR}
    assert [by.steps for by in trainer.optimizers.values()] == [1, 0]
    assert trainer.scaler.scale == 2.0**23


def test_a_divergence_names_the_layer(data: Dataset) -> None:
    trainer = Trainer(recipe(), data)
    trainer.layers["generator.image"].params["weight"][0] = np.nan
    with pytest.raises(Diverged, match=r"step 4: generator\.image output: \d+ NaN"):
        trainer.step(4, data.train_x, data.train_y)


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.full(keep=1)
@pytest.mark.parametrize("swa", [{"kind": "after", "apart": 1, "count": 2}, {"kind": "every", "begin": 1}])
def test_a_resumed_run_gives_the_same_bits(tmp_path: Path, swa: dict[str, Any], data: Dataset) -> None:
    gan = recipe(formats=FP8, policy=SR, swa=swa, loss_scaling={"kind": "dynamic", "scale": 64.0})
    whole = train(gan, tmp_path / "whole", data=data)

    def stop(epoch: Any) -> None:
        if epoch.number == 2:
            raise InterruptedError

    stopped = TrainingRun(gan, data, tmp_path / "parts")
    stopped.watch.epoch = stop
    with pytest.raises(InterruptedError):
        stopped.run()
    again = train(gan, tmp_path / "parts", data=data, resume=True)
    assert same(final(tmp_path / "whole"), final(tmp_path / "parts"))
    assert again.averaged == whole.averaged
    assert (whole.averaged is None) == (swa["kind"] == "every")
    assert [dataclasses.replace(e, seconds=0.0) for e in again.epochs] == [
        dataclasses.replace(e, seconds=0.0) for e in whole.epochs
    ]
    assert whole.measure.name == "distance"


def test_averaged_weights_have_their_own_statistics(tmp_path: Path, data: Dataset) -> None:
    """The means over the batches of data, and of generated images after each."""
    model, swa = {**SMALL["model"], "dropout": 0.0}, {"kind": "after", "apart": 1, "count": 2}
    gan = recipe(model=model, swa=swa, training={"epochs": 2, "batch": 48})
    train(gan, tmp_path / "run", data=data)
    trainer = Trainer(gan, data)
    averaged = checkpoint.load(tmp_path / "run" / "averaged.npz")[0]
    trainer.restore(averaged)
    trainer.run.begin(2 + 1)
    generated = trainer.network.layers[GENERATOR].forward(data.train_x)
    inner = list(trainer.network.layers[DISCRIMINATOR].children().values())[:3]
    means = []
    for x in (data.train_x, generated):
        for layer in inner:
            x = layer.forward(x)
        means.append(x.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(
        averaged["buffer/discriminator.norm2.mean"], np.mean(means, axis=0), rtol=1e-4, atol=1e-6
    )


def test_samples_of_a_run(tmp_path: Path) -> None:
    path, out = tmp_path / "r.toml", str(tmp_path / "run")
    path.write_text(
        recipe(swa={"kind": "after", "apart": 1, "count": 1}, training={"epochs": 1, "batch": 16}).to_toml()
    )
    lines = ok("train", str(path), "-o", out).splitlines()
    assert lines[0] == "epoch  train loss  test loss  distance"
    distance = lines[1].split()[-1]
    assert ok("plot", "samples", out, "--count", "9") == f"run: 9 images of step 3, distance of {distance}\n"
    averaged = lines[2].split()[-1]
    assert averaged in ok("plot", "samples", out, "--count", "9", "--averaged")
    assert "test data for 1 to 24" in refused("plot", "samples", out, "--count", "25")
    assert "not a training run: it has no checkpoint.npz" in refused("plot", "samples", str(tmp_path))


@pytest.mark.extra("matplotlib")
def test_a_picture_of_samples(tmp_path: Path) -> None:
    path, out = tmp_path / "r.toml", str(tmp_path / "run")
    path.write_text(recipe(training={"epochs": 1, "batch": 48}).to_toml())
    ok("train", str(path), "-o", out)
    ok("plot", "samples", out, "--count", "5", "-o", str(tmp_path / "samples.png"))
    assert (tmp_path / "samples.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"data": {"name": "text"}}, "takes images, not examples of shape"),
        ({"data": {"name": "blobs"}}, "takes images, not examples of shape"),
        ({"data": {"name": "shapes", "train": 4, "test": 4, "size": 14}}, "images of 4 x as many pixels"),
        ({"data": {"name": "shapes", "train": 4, "test": 4, "size": 12, "channels": 1}}, "of 3 channels, not 1"),
        ({"model": {**SMALL["model"], "largest": 0.0}}, "model dcgan: largest must be above 0"),
        ({"model": {**SMALL["model"], "channels": []}}, "model dcgan: channels is empty"),
        ({"model": {**SMALL["model"], "dropout": 1.5}}, "a probability"),
    ],
)
def test_bad_recipes_are_refused(tables: dict[str, Any], message: str) -> None:
    gan = recipe(**tables)
    with pytest.raises(Error, match=message):
        Trainer(gan, load_data(gan))


def test_other_networks_generate_nothing(tmp_path: Path) -> None:
    path, out = tmp_path / "r.toml", str(tmp_path / "run")
    path.write_text("[model]\nkind = 'mlp'\n[data]\nname = 'blobs'\ntrain = 8\ntest = 8\n[training]\nepochs = 1\n")
    ok("train", str(path), "-o", out)
    assert "generates no images" in refused("plot", "samples", out, "--count", "1")


# -- the distance ------------------------------------------------------------------------------------------------------


def test_the_frechet_distance() -> None:
    """Of covariances that commute: the squared difference of the means and of the deviations along each axis."""
    rng = np.random.default_rng(1)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    x = rng.normal(size=(500, 3))
    x = (x - x.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(x, rowvar=False))).T  # of the covariance one
    deviations, means = np.array([[1, 2, 3], [2, 2, 0.5]]), np.array([[0, 1, 2], [1, 1, 4]])
    a, b = ((x * s) @ turn.T + m for s, m in zip(deviations, means, strict=True))
    assert frechet(a, b) == pytest.approx(1 + 4 + 1 + 6.25, rel=1e-9)
    assert frechet(a, a) == pytest.approx(0, abs=1e-9)
    assert np.isnan(frechet(a, np.where(b == b[0], np.inf, b)))
    with pytest.raises(Error, match="at least two examples"):
        frechet(a[:1], b)


def test_the_classifier_of_the_distance() -> None:
    """It is the one of the recipe, and knows the shapes; noisy ones are far from them."""
    assert checkpoint.load(FILE)[1]["recipe"] == load_recipe("fp32-cnn-features").with_training(epochs=1).to_toml()
    features, data = Features(), load("shapes", seed=0, test=400, noise=0)
    right = features.network.forward(data.test_x).argmax(axis=-1) == data.test_y
    assert right.mean() > 0.97
    noisy = load("shapes", seed=0, train=400, test=400, noise=1).test_x
    near, far = (frechet(features.of(data.test_x), features.of(x)) for x in (data.train_x, noisy))
    assert near < 0.5 < 10 < far


def test_gradients_of_statistics_are_scaled_once() -> None:
    """Those of the discriminator's norms, too, which the generator's turn computes again."""
    gradients = []
    for scale in (1.0, 64.0):
        gan = recipe(training={"epochs": 1, "batch": 16}, loss_scaling={"kind": "constant", "scale": scale})
        training = TrainingRun(gan, load_data(gan), count=True)
        training.run()
        assert training.statistics is not None
        gradients.append(training.statistics.gradients())
    once, scaled = gradients
    assert any(name.startswith("discriminator.norm") for name in once)
    for name, gradient in once.items():
        assert np.array_equal(scaled[name], np.float32(64) * gradient), name
