"""What fuzzing found in the readers of training: checkpoints, logs, outcomes of comparisons, data, arrays to draw."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ok, refused

from softfloat_ref.base import limits, npz
from softfloat_ref.base.errors import Error
from softfloat_ref.nn import checkpoint, compare
from softfloat_ref.nn.data import files, load
from softfloat_ref.nn.train import CHECKPOINT, train
from softfloat_ref.nn.training_recipe import Recipe, read_recipe

TABLES: dict[str, Any] = {
    "model": {"kind": "cnn", "channels": [2]},
    "data": {"name": "shapes", "train": 4, "test": 2, "size": 12, "channels": 1},
    "training": {"epochs": 1, "batch": 4},
    "optimizer": {"momentum": 0.9},
    "swa": {"kind": "after", "count": 1},
    "formats": {"activation": {"format": "qint8", "observer": "moving-average"}},
    "loss_scaling": {"kind": "dynamic"},
}
RANGE = "range/conv1.activation/low"


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return read_recipe(TABLES)


@pytest.fixture(scope="module")
def whole(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> checkpoint.Loaded:
    out = tmp_path_factory.mktemp("run")
    train(recipe, out)
    return checkpoint.load(out / CHECKPOINT)


def renamed(arrays: dict[str, Any], name: str) -> None:
    arrays[f"{name}x"] = arrays.pop(name)


Change = Callable[[dict[str, Any], dict[str, Any]], object]
CHANGES: dict[str, Change] = {
    "weight of another type": lambda a, _: a.update({"param/conv1.weight": a["param/conv1.weight"].astype("f8")}),
    "velocity of another type": lambda a, _: a.update({"velocity/conv1.weight": np.ones((2, 3, 3, 1), ">u4")}),
    "velocity of another shape": lambda a, _: a.update({"velocity/output.bias": np.zeros(0, np.float32)}),
    "velocity of another weight": lambda a, _: renamed(a, "velocity/output.bias"),
    "statistics of another shape": lambda a, _: a.update({"buffer/norm1.mean": np.zeros((1, 2), np.float32)}),
    "statistics of another name": lambda a, _: renamed(a, "buffer/norm1.mean"),
    "range that is NaN": lambda a, _: a.update({RANGE: np.float32("nan")}),
    "range upside down": lambda a, _: a.update({RANGE: np.float32(1e9)}),
    "range of channels": lambda a, _: a.update({RANGE: np.zeros(7, np.float32)}),
    "average of integers": lambda a, _: a.update({"swa/mean/output.bias": np.zeros(10, np.int64)}),
    "average as integers": lambda a, _: a.update({"swa/type/output.bias": np.zeros(0, np.int8)}),
    "count of an average in three": lambda a, _: a.update({"swa/count": np.zeros(3, np.int64)}),
    "average of none": lambda a, _: a.update({"swa/count": np.int64(0)}),
    "scale without end": lambda _, meta: meta["scaler"].update(good=float("inf")),
    "steps without end": lambda _, meta: meta.update(step=float("inf")),
    "epochs that are not there": lambda _, meta: meta.update(epoch=5),
    "loss in words": lambda _, meta: meta["epochs"][0].update(loss="low"),
    "loss of many digits": lambda _, meta: meta["epochs"][0].update(loss=10**400),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_that_is_not_of_the_run(
    change: str, recipe: Recipe, whole: checkpoint.Loaded, tmp_path: Path
) -> None:
    arrays, meta = dict(whole[0]), json.loads(json.dumps(whole[1]))
    CHANGES[change](arrays, meta)
    checkpoint.save(tmp_path / CHECKPOINT, arrays, meta)
    with pytest.raises(Error):
        train(recipe.with_training(epochs=2), tmp_path, resume=True)


def test_the_checkpoint_itself_is_taken(recipe: Recipe, whole: checkpoint.Loaded, tmp_path: Path) -> None:
    checkpoint.save(tmp_path / CHECKPOINT, *whole)
    assert len(train(recipe, tmp_path, resume=True).epochs) == 1


EPOCH = '{"recipe": "a", "seed": 1}\n{"epoch": 1, "train_loss": 1, "accuracy": 0.5}\n'
LOGS = {
    "a measure that some lines lack": ('{"epoch": 2, "accuracy": 0.5}\n', "is missing from some lines of epochs"),
    "many digits": ('{"epoch": 2, "train_loss": 1%s, "accuracy": 1}\n' % ("0" * 400), "log.jsonl:3: not a line"),
}


@pytest.mark.parametrize("name", LOGS)
def test_logs_that_cannot_be_drawn(name: str, tmp_path: Path) -> None:
    line, message = LOGS[name]
    (tmp_path / "log.jsonl").write_text(EPOCH + line)
    assert message in refused("plot", "training", ".", cwd=tmp_path)


def test_a_line_whose_epoch_is_none_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(EPOCH + '{"epoch": true, "train_loss": "x"}\n')
    assert ok("plot", "training", ".", cwd=tmp_path).splitlines()[-1].split()[:3] == ["a", "1", "1"]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "one"},
        {"averaged": "1/0"},
        {"averaged": ["a", "b"]},
        {"seconds": ["x"]},
        {"text": {}},
        {"products": 3},
        {"epochs": []},
        {"epochs": [[10**400, 1, 1]]},
        {"recipe": {}},
        {"diverged": 1},
        {"measure": ["x"]},
    ],
)
def test_an_outcome_that_is_none_is_made_anew(change: dict[str, Any], recipe: Recipe, tmp_path: Path) -> None:
    outcome = compare._saved(compare.run_recipe(recipe), recipe, tmp_path)
    assert compare._stored(recipe, tmp_path) == outcome
    path = compare.folder_of(recipe, tmp_path) / compare.OUTCOME
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert compare._stored(recipe, tmp_path) is None


@pytest.mark.parametrize("kind", [[], {}, 1])
def test_a_kind_that_is_no_name(kind: object, tmp_path: Path) -> None:
    with pytest.raises(Error, match="unknown"):
        train(read_recipe({**TABLES, "schedule": {"kind": kind}}), tmp_path)


def test_a_file_that_unpacks_to_more_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DATA", 1 << 20)
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(bytes(1 << 20)))
    assert files.read_unpacked(path) == bytes(1 << 20)
    path.write_bytes(gzip.compress(bytes((1 << 20) + 1)))
    with pytest.raises(Error, match="decompresses to more than 1048576 bytes"):
        files.read_unpacked(path)


def test_a_fare_beyond_fp32(tmp_path: Path) -> None:
    head = "Survived,Pclass,Sex,Age,SibSp,Parch,Fare,Embarked\n"
    (tmp_path / "train.csv").write_text(head + "1,1,male,22,0,0,1,S\n" * 5 + "0,3,female,,0,0,-1e13,Q\n")
    with pytest.raises(Error, match=r":7: Fare '-1e13' is not a number, or is beyond 1e\+12"):
        load("titanic", seed=1, root=tmp_path)


def test_archives_of_what_is_no_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.ones(3), words=np.array(["a"]), b=np.ones((2, 2), order="F"))
    assert set(npz.load(tmp_path / "x.npz", kinds=npz.PLAIN)) == {"a", "words", "b"}
    assert npz.load(tmp_path / "x.npz", ["b", "c"], kinds=npz.NUMBERS)["b"].tolist() == [[1, 1], [1, 1]]
    with pytest.raises(Error, match=r"words\.npy: an array of <U1, not of numbers"):
        npz.load(tmp_path / "x.npz", kinds=npz.NUMBERS)
    data = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(data.replace(b"'shape': (3,)", b"'shape': (-9**99,)"[:13]))
    refused("plot", "histogram", "x.npz", "--fmt", "fp16", cwd=tmp_path)
