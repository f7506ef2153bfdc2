"""Steps in shards: any number of workers gives the bits of one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster import cluster
from command import ok, refused, run

from softfloat_ref.nn.shards import ShardedTrainer
from softfloat_ref.nn.train import load_data
from softfloat_ref.nn.trainer import Trainer
from softfloat_ref.nn.training_recipe import Recipe, read_recipe

SR = {"rounding": "sr", "sr_bits": 8}
TRANSFORMER = """
[model]
kind = "transformer"
layers = 1
width = 32
heads = 2
context = 8
dropout = 0.1
[data]
name = "text"
train = 600
test = 100
[training]
epochs = 1
batch = 8
length = 8
[optimizer]
kind = "adamw"
clip_norm = 1.0
[formats]
weight = "mxfp8"
activation = "mxfp8"
error = { format = "nvfp4", policy = { rounding = "sr", sr_bits = 16 } }
hadamard = 16
"""


def mlp(shards: int = 2, **table: Any) -> Recipe:
    base: dict[str, Any] = {
        "model": {"kind": "mlp", "hidden": [6]},
        "data": {"name": "blobs", "train": 10, "test": 4, "features": 5},
        "training": {"epochs": 1, "batch": 4, "shards": shards},
    }
    return read_recipe(base | table)


def digest(out: Path) -> str:
    return hashlib.sha256((out / "checkpoint.npz").read_bytes()).hexdigest()


def trained(tmp_path: Path, name: str, *options: str) -> str:
    (tmp_path / "small.toml").write_text(TRANSFORMER)
    ok("train", "small.toml", "--shards", "4", "-o", name, *options, cwd=tmp_path)
    return digest(tmp_path / name)


@pytest.mark.full
def test_two_processes_give_the_bits_of_one(tmp_path: Path) -> None:
    """Of weights, moments and losses."""
    alone = trained(tmp_path, "one")
    assert trained(tmp_path, "two", "--jobs", "2") == alone
    ok("train", "small.toml", "-o", "whole", cwd=tmp_path)
    assert digest(tmp_path / "whole") != alone


@pytest.mark.extra
def test_a_cluster_gives_the_bits_of_one_process(tmp_path: Path) -> None:
    with cluster(tmp_path, 2) as (file, _):
        assert trained(tmp_path, "two", "--scheduler", str(file)) == trained(tmp_path, "one")


def test_gradients_are_those_of_the_shards_one_after_the_other() -> None:
    """Each of its share of the mean loss, added in FP32; a short minibatch has fewer shards."""
    recipe = mlp(4, training={"epochs": 1, "batch": 8, "shards": 4})
    data = load_data(recipe)
    x, y = data.train_x[:5], data.train_y[:5]
    trainer = ShardedTrainer(recipe, data)
    trainer.run.begin(1)
    passed = trainer._passes("", x, y, 16.0)
    total: dict[str, Any] = {}
    loss = 0.0
    for part in (slice(0, 2), slice(2, 4), slice(4, 5)):
        alone, count = Trainer(recipe, data), len(y[part])
        alone.run.begin(1)
        loss += alone._passes("", x[part], y[part], 16.0 * count / 5).loss * count / 5
        total = {k: total[k] + g if total else g for k, g in alone.gradients().items()}
    gradients = trainer.gradients()
    assert gradients.keys() == total.keys()
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, total[name])
    assert passed.loss == pytest.approx(loss, rel=1e-12)


def test_shards_draw_random_words_of_their_own() -> None:
    recipe = mlp(2, formats={"error": {"format": "s1e4m3", "policy": SR}})
    data = load_data(recipe)
    x, y = (np.concatenate([part[:2], part[:2]]) for part in (data.train_x, data.train_y))
    trainer = ShardedTrainer(recipe, data)
    trainer.run.begin(1)
    first, second = map(trainer.part, trainer._shards(x, y, 1.0))
    assert first.passed.loss == second.passed.loss
    assert any((first.gradients[k] != second.gradients[k]).any() for k in first.gradients)


def test_running_statistics_are_those_of_the_first_shard() -> None:
    recipe = mlp(2, model={"kind": "cnn", "channels": [4]}, data={"name": "shapes", "train": 8, "test": 2, "size": 12})
    data = load_data(recipe)
    trainer, alone = ShardedTrainer(recipe, data), Trainer(recipe, data)
    trainer.step(1, data.train_x[:4], data.train_y[:4])
    alone.step(1, data.train_x[:2], data.train_y[:2])
    for key, values in trainer.layers["norm1"].buffers.items():
        np.testing.assert_array_equal(values, alone.layers["norm1"].buffers[key])


@pytest.mark.full
def test_a_run_that_diverges_in_a_worker_is_reported(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(
        '[model]\nkind = "mlp"\nhidden = [4]\n[data]\nname = "blobs"\ntrain = 64\n'
        "[optimizer]\nrate = 1e30\n[training]\nshards = 2\n"
    )
    alone, two = (run("train", "bad.toml", "--jobs", jobs, cwd=tmp_path) for jobs in ("1", "2"))
    assert alone.returncode == two.returncode == 1
    assert two.stdout == alone.stdout
    assert "diverged at step 2: output output: overflow" in two.stdout


@pytest.mark.full(keep=4)
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("fp32-dcgan", "--shards", "2"), "training.shards: model 'dcgan' is trained in turns; give shards = 1"),
        (("fp32-lstm", "--shards", "2"), "training.shards: lstm1 (lstm) carries a state from step to step"),
        (("fp32-mlp", "--shards", "7"), "[training]: shards = 7 must divide batch = "),
        (("fp32-mlp", "--shards", "2", "--statistics"), "training.shards: statistics need steps in one shard"),
        (("fp32-mlp", "--shards", "2", "--trace", "1", "-o", "x"), "training.shards: a step in shards is not traced"),
        (("fp32-mlp", "--jobs", "2"), "--jobs and --scheduler are for the shards of a step; give --shards"),
        (("fp32-mlp", "--shards", "2", "--show", "--jobs", "2"), "--jobs and --scheduler are for the shards of a step"),
    ],
)
def test_what_has_no_shards_is_refused(args: tuple[str, ...], message: str, tmp_path: Path) -> None:
    assert message in refused("train", *args, cwd=tmp_path)


def test_ranges_that_are_averaged_are_refused(tmp_path: Path) -> None:
    observed = 'formats.activation={ format = "qint8", observer = "moving-average" }'
    assert "activation of " in refused("train", "fp32-mlp", "--shards", "2", "--set", observed, cwd=tmp_path)


def test_shards_are_part_of_the_recipe() -> None:
    assert "shards = 4" in ok("train", "--show", "fp32-mlp", "--shards", "4")
    assert "shards" not in ok("train", "--show", "fp32-mlp")
