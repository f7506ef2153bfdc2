"""Training runs: the same bits for the same seed, resumed or not; what they log; how they end when they diverge."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import TOP, ok, refused, run

from softfloat_ref import arrays
from softfloat_ref.base.errors import Error
from softfloat_ref.nn import checkpoint
from softfloat_ref.nn.data import Dataset
from softfloat_ref.nn.train import TrainingRun, train
from softfloat_ref.nn.trainer import Diverged, Trainer
from softfloat_ref.nn.training_recipe import Recipe, read_recipe

Array = np.ndarray[Any, Any]
SR = {"rounding": "sr", "sr_bits": 16}
FP8 = dict.fromkeys(("weight", "activation", "error", "weight_gradient", "function"), "s1e5m2")
CNN = {
    "model": {"kind": "cnn", "channels": [4, 8]},
    "data": {"name": "shapes", "train": 96, "test": 32},
    "training": {"epochs": 3, "batch": 16},
    "optimizer": {"rate": 0.05, "momentum": 0.9, "weight_decay": 1e-4},
}
DCGAN = {**CNN, "model": {"kind": "dcgan", "channels": [4, 8], "noise": 4}, "optimizer": {"kind": "adam"}}
TRANSFORMER = {
    "model": {"kind": "transformer", "layers": 1, "width": 32, "heads": 2, "context": 8, "dropout": 0.1},
    "data": {"name": "text", "train": 700, "test": 200},
    "optimizer": {"kind": "adamw", "clip_norm": 1.0},
}
MLP = {"model": {"kind": "mlp", "hidden": [8]}, "data": {"name": "blobs"}, "training": {"epochs": 2, "batch": 8}}


def recipe(base: dict[str, Any] = CNN, **tables: Any) -> Recipe:
    return read_recipe({**base, **tables})


def blobs(count: int = 64, scale: float = 1.0) -> Dataset:
    """Two classes that a line parts."""
    x = np.random.default_rng(1).standard_normal((count, 6)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    return Dataset(scale * x, y, x, y, "classes", 2)


def final(out: Path) -> dict[str, Array]:
    return checkpoint.load(out / "checkpoint.npz")[0]


def same(a: dict[str, Array], b: dict[str, Array]) -> bool:
    return a.keys() == b.keys() and all(a[k].tobytes() == b[k].tobytes() for k in a)


def test_the_same_seed_gives_the_same_bits(tmp_path: Path) -> None:
    fp8 = recipe(formats=FP8, policy=SR)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(fp8.with_training(seed=seed), tmp_path / name)
    assert same(final(tmp_path / "a"), final(tmp_path / "b"))
    assert not same(final(tmp_path / "a"), final(tmp_path / "c"))
    assert (tmp_path / "a" / "checkpoint.npz").read_bytes() == (tmp_path / "b" / "checkpoint.npz").read_bytes()


@pytest.mark.full(keep=1)
@pytest.mark.parametrize(
    ("swa", "optimizer"),
    [
        ({}, CNN["optimizer"]),
        ({"kind": "after", "apart": 1, "count": 2}, {"kind": "adam"}),
        ({"kind": "every", "begin": 1}, CNN["optimizer"]),
    ],
)
def test_a_resumed_run_gives_the_same_bits(tmp_path: Path, swa: dict[str, Any], optimizer: dict[str, Any]) -> None:
    formats = {**FP8, "activation": {"format": "qint8", "observer": "moving-average"}}
    stochastic = recipe(
        formats=formats, policy=SR, swa=swa, optimizer=optimizer, loss_scaling={"kind": "dynamic", "scale": 64.0}
    )
    whole = train(stochastic, tmp_path / "whole")
    stopped = TrainingRun(stochastic, TrainingRun(stochastic, *_data(stochastic)).data, tmp_path / "parts")
    stopped._finish = stopped.watch.epoch = _stop_after_two(stopped)  # type: ignore[method-assign]
    with pytest.raises(InterruptedError):
        stopped.run()
    again = train(stochastic, tmp_path / "parts", resume=True)
    assert same(final(tmp_path / "whole"), final(tmp_path / "parts"))
    assert again.averaged == whole.averaged
    assert [dataclasses.replace(e, seconds=0.0) for e in again.epochs] == [
        dataclasses.replace(e, seconds=0.0) for e in whole.epochs
    ]
    assert steps(tmp_path / "whole") == steps(tmp_path / "parts")


def _data(of: Recipe) -> tuple[Dataset]:
    from softfloat_ref.nn.train import load_data

    return (load_data(of),)


def _stop_after_two(training: TrainingRun) -> Any:
    def stop(epoch: Any = None) -> None:
        if epoch is None or epoch.number == 2:
            raise InterruptedError

    return stop


def steps(out: Path) -> list[dict[str, Any]]:
    """The lines of the log, without times."""
    lines = [json.loads(x) for x in (out / "log.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k != "seconds"} for line in lines]


MX = {**dict.fromkeys(("weight", "activation", "error"), "mxfp8"), "vector": "bf16"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("base", "formats"),
    [(CNN, FP8), (DCGAN, FP8), (TRANSFORMER, MX)],
    ids=["cnn", "dcgan", "transformer"],
)
def test_a_killed_run_is_resumed_to_the_same_bits(
    base: dict[str, Any], formats: dict[str, Any], tmp_path: Path
) -> None:
    """Weights, optimizer, statistics and random words; the same files, too."""
    path = tmp_path / "r.toml"
    training = {"epochs": 6, "batch": 16, "length": 8, "log_every": 1}
    path.write_text(recipe(base, formats=formats, policy=SR, training=training).to_toml())
    ok("train", str(path), "-o", str(tmp_path / "whole"))
    argv = [sys.executable, "-m", "softfloat_ref", "train", str(path), "-o", str(tmp_path / "killed")]
    killed = subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": str(TOP)}, stdout=subprocess.DEVNULL)
    log = tmp_path / "killed" / "log.jsonl"
    while not (log.exists() and log.read_text().count('"step"') > 10) and killed.poll() is None:
        time.sleep(0.002)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    ok(*argv[3:], "--resume")
    whole, parts = ((tmp_path / name / "checkpoint.npz").read_bytes() for name in ("whole", "killed"))
    assert whole == parts
    assert steps(tmp_path / "whole") == steps(tmp_path / "killed")


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("fp32-lstm", "test=9", "[data] test = 9: 9 symbols are too few for "),
        ("fp32-lstm", "train=9", "[data] train = 9: 9 symbols are too few for "),
        ("fp32-dcgan", "test=1", "[data] test = 1: a distance between features needs at least two images"),
    ],
)
def test_too_little_data_is_refused_before_training(name: str, size: str, message: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert message in refused("train", name, "--set", f"data.{size}", "-o", str(out))
    assert not out.exists()


def test_a_run_too_short_for_its_average_says_what_to_set() -> None:
    assert "4 checkpoints 1 apart need 4 epochs, not 1; train longer, or without an average: --set swa={}" in refused(
        "train", "fp32-cnn", "--epochs", "1"
    )


def test_what_a_run_leaves(tmp_path: Path) -> None:
    fp8 = recipe(formats=FP8, training={"epochs": 2, "batch": 16, "log_every": 3})
    result = train(fp8, tmp_path / "run", statistics=True)
    head, *lines = steps(tmp_path / "run")
    assert head["products"] == result.products == "BLAS in FP32 on decoded values"
    assert [line["step"] for line in lines] == [3, 6, 6, 9, 12, 12]
    assert lines[2]["test_loss"] == result.epochs[0].test.loss
    assert lines[2]["accuracy"] == result.epochs[0].test.counted
    shares = lines[0]["tensors"]["conv2.weight_gradient"]
    assert set(shares) >= {"zero", "flushed", "overflowed", "saturated", "mean_relative_error"}
    assert set(lines[0]["tensors"]) >= {f"conv2.{role}" for role in ("weight", "activation", "error")}
    gradients, _ = checkpoint.load(tmp_path / "run" / "gradients.npz")
    assert gradients["conv2.weight_gradient"].size == 4 * 9 * 8
    assert (arrays.quantize(gradients["conv2.weight_gradient"], "s1e5m2") != gradients["conv2.weight_gradient"]).any()
    import tomllib

    written = tomllib.loads((tmp_path / "run" / "recipe.toml").read_text())
    assert read_recipe(written) == fp8


def test_flushed_gradients_are_counted() -> None:
    """FP16's smallest subnormal is 2^-24: tiny errors vanish without loss scaling, and stay with it."""
    shares = []
    for scale in (1.0, 65536.0):
        scaled = recipe(MLP, formats={"error": "fp16"}, loss_scaling={"kind": "constant", "scale": scale})
        training = TrainingRun(scaled, blobs(scale=1e-4), count=True)
        for _, layer in training.trainer.network.walk():
            for name in layer.params:
                layer.params[name] *= np.float32(1e-5)
        training.trainer.step(1, training.data.train_x, training.data.train_y)
        assert training.statistics is not None
        shares.append(training.statistics.take()["output.error"]["flushed"])
    assert shares[0] > 0.1
    assert shares[1] < 0.01


def test_inference_does_not_round_stochastically() -> None:
    fp8 = recipe(formats=FP8, policy=SR)
    training = TrainingRun(fp8, *_data(fp8))
    pairs = list(training._test())
    assert training.trainer.evaluate(pairs) == training.trainer.evaluate(pairs)
    x, y = pairs[0]
    first, second = (training.trainer.step(i, x, y, 0.0).loss for i in (1, 2))
    assert first != second  # in training it does


def test_a_step_is_an_update_of_the_master_weights() -> None:
    """FP32 master weights, unscaled gradients: the loss scale leaves no trace where nothing overflows or is flushed."""
    weights = []
    for scale in (1.0, 1024.0):
        training = TrainingRun(recipe(MLP, loss_scaling={"kind": "constant", "scale": scale}), blobs())
        training.trainer.step(1, training.data.train_x, training.data.train_y)
        weights.append({k: v.copy() for k, v in training.trainer.parameters().items()})
    assert same(*weights)


def test_master_weights_and_state_in_a_format() -> None:
    mlp = recipe(MLP, formats={"master": "bf16", "optimizer": "fp16"}, optimizer={"rate": 0.1, "momentum": 0.9})
    trainer = Trainer(mlp, blobs())
    trainer.step(1, blobs().train_x, blobs().train_y)
    for array in trainer.parameters().values():
        np.testing.assert_array_equal(array, arrays.quantize(array, "bf16"))
    for array in trainer.optimizers[""].state().values():
        np.testing.assert_array_equal(array, arrays.quantize(array, "fp16"))


def test_gradients_are_clipped_to_a_length() -> None:
    mlp = recipe(MLP, optimizer={"rate": 1.0, "clip_norm": 1e-3})
    trainer = Trainer(mlp, blobs())
    before = {k: v.copy() for k, v in trainer.parameters().items()}
    trainer.step(1, blobs().train_x, blobs().train_y)
    moved = sum(float(((v - before[k]) ** 2).sum()) for k, v in trainer.parameters().items())
    assert np.sqrt(moved) == pytest.approx(1e-3, rel=1e-3)


def test_dynamic_scaling_skips_what_overflows() -> None:
    scaling = {"kind": "dynamic", "scale": 2.0**22, "interval": 1000}
    mlp = recipe(MLP, formats={"weight_gradient": "fp16"}, loss_scaling=scaling)
    trainer = Trainer(mlp, blobs())
    before = {k: v.copy() for k, v in trainer.parameters().items()}
    assert not trainer.step(1, blobs().train_x, blobs().train_y).taken
    assert same(before, trainer.parameters())
    assert trainer.scaler.scale == 2.0**21
    taken = [trainer.step(i, blobs().train_x, blobs().train_y).taken for i in range(2, 12)]
    assert taken[-1]
    assert taken == sorted(taken)


@pytest.mark.full
def test_layers_within_layers_are_kept(tmp_path: Path) -> None:
    """A residual block's name begins the names of the layers in it."""
    formats = {"activation": {"format": "qint8", "observer": "moving-average"}}
    resnet = recipe(model={"kind": "resnet", "depth": 8}, swa={"kind": "after", "count": 2}, formats=formats)
    whole = train(resnet, tmp_path / "whole")
    stopped = TrainingRun(resnet, TrainingRun(resnet, *_data(resnet)).data, tmp_path / "parts")
    stopped._finish = stopped.watch.epoch = _stop_after_two(stopped)  # type: ignore[method-assign]
    with pytest.raises(InterruptedError):
        stopped.run()
    assert train(resnet, tmp_path / "parts", resume=True).averaged == whole.averaged
    assert same(final(tmp_path / "whole"), final(tmp_path / "parts"))
    assert "buffer/block1_1.body.norm1.mean" in final(tmp_path / "whole")


def test_averaged_weights_have_their_own_statistics(tmp_path: Path) -> None:
    swa = recipe(swa={"kind": "after", "apart": 1, "count": 2})
    result = train(swa, tmp_path / "run")
    assert result.averaged is not None
    averaged, plain = checkpoint.load(tmp_path / "run" / "averaged.npz")[0], final(tmp_path / "run")
    assert (averaged["param/conv1.weight"] != plain["param/conv1.weight"]).any()
    trainer = Trainer(swa, *_data(swa))
    trainer.restore(averaged)
    x = _data(swa)[0].train_x
    patches = trainer.layers["conv1"].forward(x)
    np.testing.assert_allclose(averaged["buffer/norm1.mean"], patches.mean(axis=(0, 1, 2)), rtol=1e-3, atol=1e-5)


@pytest.mark.full
def test_a_language_model_learns() -> None:
    text = np.tile(np.arange(7), 200)
    data = Dataset(text, text, text[:400], text[:400], "text", 7)
    table = {
        "model": {"kind": "lstm", "width": 16},
        "data": {"name": "text"},
        "training": {"epochs": 3, "batch": 4, "length": 10},
        "optimizer": {"rate": 0.5, "momentum": 0.9},
    }
    transformer = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "context": 10, "function": "silu"}
    adam = {"kind": "adamw", "rate": 0.01}
    mxfp8 = dict.fromkeys(("weight", "activation", "error", "weight_gradient"), "mxfp8")
    for formats in ({}, mxfp8):
        result = train(read_recipe({**table, "formats": formats, "model": transformer, "optimizer": adam}), data=data)
        assert result.final.perplexity < 1.5
    with pytest.raises(Error, match="sequences of 10 symbols, but the model's context is 8"):
        train(read_recipe({**table, "model": {**transformer, "context": 8}}), data=data)
    for formats in ({}, mxfp8, FP8):
        result = train(read_recipe({**table, "formats": formats}), data=data)
        assert result.final.perplexity < 1.5
        assert result.epochs[0].test.perplexity > result.final.perplexity


# -- divergence --------------------------------------------------------------------------------------------------------


def test_an_overflow_in_the_forward_pass_is_named() -> None:
    mlp = recipe(MLP, formats={"activation": {"format": "s1e4m3", "policy": {"overflow": "sat-none"}}})
    trainer = Trainer(mlp, blobs())
    trainer.layers["output"].params["weight"][:] = 1e6
    with pytest.raises(Diverged, match=r"step 3: output output: overflow, \d+ Inf.* among 128 values") as e:
        trainer.step(3, blobs().train_x, blobs().train_y)
    assert (e.value.tensor, e.value.step) == ("output output", 3)


def test_a_gradient_that_overflows_is_named() -> None:
    mlp = recipe(MLP, formats={"weight_gradient": "s1e4m3"}, loss_scaling={"kind": "constant", "scale": 1e6})
    trainer = Trainer(mlp, blobs())
    with pytest.raises(Diverged, match=r"step 1: linear1.weight gradient: overflow"):
        trainer.step(1, blobs().train_x, blobs().train_y)
    assert trainer.network.forward(blobs().train_x).shape == (64, 2)  # its layers are as before


def test_nan_data_is_named() -> None:
    data = blobs()
    data.train_x[0, 0] = np.nan
    with pytest.raises(Diverged, match="linear1 output: 8 NaN among 512 values"):
        Trainer(recipe(MLP), data).step(1, data.train_x, data.train_y)


def test_a_run_that_diverges_ends_with_a_report(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(recipe(optimizer={"rate": 1e30}).to_toml())
    done = run("train", str(path), "-o", str(tmp_path / "run"))
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith("r: diverged at step ")
    assert "Inf" in last or "NaN" in last
    assert steps(tmp_path / "run")[-1]["diverged"] in last
    assert "Warning" not in done.stderr


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_shows_what_it_did(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(recipe(formats=FP8).to_toml())
    lines = ok("train", str(path), "--epochs", "2", "--seed", "5").splitlines()
    assert lines[0] == "epoch  train loss  test loss  accuracy"
    assert [x.split()[0] for x in lines[1:3]] == ["1", "2"]
    assert lines[3] == "products: BLAS in FP32 on decoded values"
    assert not list(tmp_path.glob("*/"))


def test_a_bit_exact_accumulator_is_named(tmp_path: Path) -> None:
    mlp = recipe(MLP, formats={"weight": "fp16", "activation": "fp16", "accumulator": "fp16-sequential"})
    assert TrainingRun(mlp, blobs()).result.products == "bit-exact fp16-sequential"
    mlp = recipe(MLP, formats={"accumulator": "exact"}, override=[{"layers": ["last"], "exempt": True}])
    assert (
        TrainingRun(mlp, blobs()).result.products == "bit-exact exact; BLAS in FP32 on decoded values in exempt layers"
    )


def test_the_list_has_every_recipe() -> None:
    from softfloat_ref.nn.training_recipe import recipe_files

    assert [line.split()[0] for line in ok("train", "--list").splitlines()] == list(recipe_files())


def test_bad_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(recipe().to_toml())
    assert "give a training recipe" in refused("train")
    assert "did you mean demo" in refused("train", "demmo")
    assert "--out" in refused("train", str(path), "--resume")
    out = str(tmp_path / "run")
    ok("train", str(path), "--epochs", "1", "-o", out)
    assert "--resume" in refused("train", str(path), "-o", out)
    assert "another training recipe or seed" in refused("train", str(path), "-o", out, "--resume", "--seed", "7")
    (tmp_path / "run" / "checkpoint.npz").write_bytes(b"nothing")
    assert "checkpoint" in refused("train", str(path), "-o", out, "--resume")
    path.write_text("[model]\nkind = 'mlp'\n[data]\nname = 'shaeps'\n")
    assert "did you mean shapes" in refused("train", str(path))
    with pytest.raises(Error, match="name = "):
        train(read_recipe({**MLP, "data": {}}))
