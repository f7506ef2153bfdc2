"""Readers of training: recipes, checkpoints, logs, outcomes, traces, data sets, and arrays to draw."""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import random
import tomllib
from pathlib import Path
from typing import Final

import numpy as np

from fuzz import structures
from fuzz.mutate import json_tree, npz_members
from fuzz.reader import Reader, in_file, instead, put, refuse
from softfloat_ref.app import plot, plot_tensors
from softfloat_ref.app.options import Choices
from softfloat_ref.arrays.kernels import dispatch
from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import _address
from softfloat_ref.golden.trace.step import write_step
from softfloat_ref.golden.verify import verify
from softfloat_ref.nn import checkpoint, compare
from softfloat_ref.nn.data import Dataset, load
from softfloat_ref.nn.numerics import ROLES
from softfloat_ref.nn.runlog import RunLog, read_log
from softfloat_ref.nn.train import CHECKPOINT, TrainingRun
from softfloat_ref.nn.trainer import Diverged
from softfloat_ref.nn.training_recipe import KINDS, Recipe, load_recipe, read_recipe, recipe_files
from softfloat_ref.oracle.formats import get_format

SMALL: Final = 64  # the sum of a recipe's sizes up to which its network is made, and trained for a step
RECIPE: Final = """
[model]
kind = "cnn"
channels = [2]
[data]
name = "shapes"
train = 4
test = 2
size = 12
channels = 1
[training]
epochs = 2
batch = 4
log_every = 1
[optimizer]
rate = 0.05
momentum = 0.9
[loss_scaling]
kind = "dynamic"
interval = 3
[swa]
kind = "after"
apart = 1
count = 1
[formats]
weight = { format = "qint8_sym", axis = -1, observer = "moving-average", momentum = 0.1 }
activation = { format = "qint8", observer = "moving-average" }
error = { format = "fp8_e5m2", policy = { rounding = "sr", sr_bits = 8 } }
weight_gradient = "mxfp8"
accumulator = "blas"
[[override]]
layers = ["last", "norm*"]
exempt = true
"""
OTHERS: Final = (
    """
[model]
kind = "lstm"
width = 4
layers = 2
dropout = 0.5
[data]
name = "text"
[training]
epochs = 1
batch = 2
length = 3
[optimizer]
clip_norm = 0.25
[schedule]
kind = "cyclical"
factors = [1, 0.5]
[formats]
weight = "s1e4m3b11"
vector = { format = "bf16", policy = "tpu-bf16" }
accumulator = "fp32-sequential"
""",
    """
[model]
kind = "mlp"
hidden = [3]
function = "tanh"
[data]
name = "blobs"
features = 4
train = 8
test = 2
[loss_scaling]
kind = "enhanced"
floors = [[4, 2.0], [9, 8.0]]
[swa]
kind = "every"
[formats]
weight = "flexfp_e4m3"
[[override]]
layers = ["linear*"]
error = { format = "fp16", clip = true }
""",
    """
[model]
kind = "transformer"
layers = 1
width = 8
heads = 2
context = 4
[data]
name = "text"
[training]
batch = 4
length = 4
shards = 2
[optimizer]
kind = "adamw"
[formats]
weight = "nvfp4"
activation = "nvfp4"
error = { format = "nvfp4", policy = { rounding = "sr", sr_bits = 16 } }
hadamard = 4
""",
    """
[model]
kind = "resnet"
depth = 8
width = 2
[data]
name = "shapes"
size = 12
train = 4
test = 2
[training]
batch = 4
[swa]
kind = "every"
[formats]
weight = "s1e5m2"
""",
)
RUN_LOG: Final = b"""{"recipe": "a", "seed": 1}
{"step": 1, "epoch": 1, "loss": 0.5, "scale": "inf"}
{"step": 1, "epoch": 1, "train_loss": 0.5, "test_loss": 2, "accuracy": 0.25}
{"step": 2, "epoch": 2, "train_loss": 0.4, "test_loss": 1, "accuracy": 0.5}
"""
LOG_WORDS: Final = ("step", "epoch", "test_loss", "accuracy", "nan", "{", "}")
TRACED: Final = """
[model]
kind = "mlp"
hidden = []
[data]
name = "blobs"
features = 2
classes = 3
train = 2
test = 1
[formats]
weight = "mxfp8"
activation = "qint8"
error = { format = "fp8_e5m2", policy = { rounding = "sr", sr_bits = 8 } }
"""
PASSENGERS: Final = b"""PassengerId,Survived,Pclass,Name,Sex,Age,SibSp,Parch,Ticket,Fare,Cabin,Embarked
1,0,3,"Braund, Mr. Owen",male,22,1,0,A/5,7.25,,S
2,1,1,"Cumings, ""F"" Mrs.",female,38,1,0,PC,71.2833,C85,C
3,1,3,Heikkinen,female,,0,0,ST,,,
4,0,2,Moran,male,0.42,0,0,33,8.4583,,Q
5,1,2,Nasser,female,14,1,0,23,30.0708,,C
6,0,3,Palsson,male,2,3,1,34,21.075,,S
"""
WORDS: Final = (
    *(
        'kind = "lstm"',
        'kind = "transformer"',
        'kind = "dcgan"',
        'kind = "adamw"',
        'kind = "resnet"',
        "depth = 8",
        "hadamard = ",
        "shards = ",
        "width = ",
        "hidden = [",
        "epochs = ",
        "[formats]\n",
        "fp32",
    ),
    *("[[override]]\nlayers = [", "[schedule]\n", "[swa]\n", "[loss_scaling]\n", "policy = ", "axis = ", "profile = "),
    *('observer = "moving-average"', "clip = true", "mxfp4", "qint4", "flexfp_e4m3", "fp8_e5m2"),
    *(f"{x} = " for x in ROLES),
    *(f'"{x}"' for x in KINDS),
)


def _small(value: object) -> bool:
    """Whether the numbers of a table are few and small."""
    return _sum_of(value) <= SMALL


def _sum_of(value: object) -> float:
    if isinstance(value, dict):
        return sum(map(_sum_of, value.values()))
    if isinstance(value, (list, tuple)):
        return len(value) + sum(map(_sum_of, value))
    return min(abs(value), SMALL + 1) if isinstance(value, (int, float)) else 0


def _data(recipe: Recipe) -> Dataset:
    """What the recipe's [data] makes, or, where it reads files, four examples."""
    table = dict(recipe.data)
    name, sizes = str(table.pop("name", "")), {k: v for k, v in table.items() if k not in ("root", "seed")}
    if recipe.model["kind"] in ("lstm", "transformer"):
        symbols = np.arange(100, dtype=np.int64) % 7
        return Dataset(symbols, symbols, symbols, symbols, "text", 7)
    if name in ("blobs", "shapes") and _small(sizes):
        return load(name, seed=0, **{"train": 4, "test": 2, **sizes})
    x = np.ones((4, 12, 12, 1), np.float32)
    return Dataset(x, np.arange(4), x, np.arange(4), "classes", 10)


def _use_recipe(path: str, _: Path) -> None:
    """What is written out again is read as the same; a small network takes a step."""
    recipe = load_recipe(path)
    text = recipe.to_toml()
    assert read_recipe(tomllib.loads(text), recipe.name).to_toml() == text
    if _small(dict(recipe.model)) and recipe.training.batch * recipe.training.length < 1000:
        training = TrainingRun(recipe, _data(recipe))
        for epoch in (0, 1):
            training.factor(epoch)
        _step(training)


def _step(training: TrainingRun) -> None:
    for x, y in training._batches(0):
        training.number += 1
        try:
            # nothing need be compiled for so little
            with instead((dispatch, "use_compiled", lambda size, weight=1: False)):
                training.trainer.step(training.number, x[:4], y[:4], training.factor(0))
        except Diverged as e:
            raise Error(str(e)) from None
        return


def _checkpoints(folder: Path) -> Reader:
    """A run goes on from it."""
    place = folder / "training"
    recipe = read_recipe(tomllib.loads(RECIPE), "small")
    data = _data(recipe)
    TrainingRun(recipe, data, place).run()
    example = (place / CHECKPOINT).read_bytes()
    training = TrainingRun(recipe, data, place)  # one for all: what is restored is its whole state

    def run(changed: bytes, _: Path) -> None:
        put(place / CHECKPOINT, changed)
        training._restore(place)
        with np.errstate(all="ignore"):  # weights that no training gives
            _step(training)

    words = ("meta", "param/", "range/", "swa/", "low", "high")
    return Reader("checkpoints", [example], run, words, mutator=npz_members, structure=structures.npz)


def _safetensors(folder: Path) -> Reader:
    arrays = {"a": np.ones((2, 3), np.float32), "b": np.arange(4, dtype=np.uint8), "c": np.zeros((), np.float64)}
    checkpoint.save(folder / "x.safetensors", arrays, {"step": 3, "loss": float("inf")})
    example = (folder / "x.safetensors").read_bytes()

    def head(rng: random.Random, data: bytes) -> bytes:
        size = int.from_bytes(data[:8], "little")
        text = json_tree(rng, data[8 : 8 + size])
        return len(text).to_bytes(8, "little") + text + data[8 + size :]

    words = ("dtype", "shape", "data_offsets", "F32", "BF16", "F8_E4M3", "__metadata__", "meta")
    return Reader(
        "safetensors",
        [example],
        in_file("x.safetensors", _load),
        words,
        mutator=head,
        structure=structures.safetensors,
    )


def _load(path: str, folder: Path) -> None:
    """What was read is written again, as the other kind of file."""
    arrays, meta = checkpoint.load(path)
    checkpoint.save(folder / "copy.npz", arrays, meta)


def _log(path: str, _: Path) -> None:
    """It is drawn, and a run goes on from it."""
    plot.draw_training([path], None)
    RunLog(path).truncate_after(2)
    read_log(path)


def _one_line(rng: random.Random, data: bytes) -> bytes:
    """One of the JSON texts changed."""
    lines = data.splitlines()
    at = rng.randrange(len(lines))
    lines[at] = json_tree(rng, lines[at])
    return b"\n".join(lines) + b"\n"


def _outcomes(folder: Path) -> Reader:
    """What a comparison kept of a run: taken for what it is, or made anew."""
    recipe = read_recipe(tomllib.loads(OTHERS[1]), "small").with_training(epochs=2)
    place = folder / "compared"
    compare._saved(compare.run_recipe(recipe), recipe, place)
    path = compare.folder_of(recipe, place) / compare.OUTCOME
    example = path.read_bytes()

    def run(data: bytes, _: Path) -> None:
        put(path, data)
        outcome = compare._stored(recipe, place)
        if outcome is None:
            raise Error("made anew")
        compare.summaries([outcome])
        json.dumps(compare.as_json([outcome]), allow_nan=False)

    return Reader(
        "outcomes",
        [example],
        run,
        ("identity", "epochs", "averaged"),
        mutator=json_tree,
        structure=structures.json_text,
    )


def _traces(folder: Path) -> Reader:
    path = folder / "trace" / "manifest.json"
    write_step(read_recipe(tomllib.loads(TRACED), "small"), 1, path.parent, [])

    def run(data: bytes, _: Path) -> None:
        put(path, data)
        refuse(verify(path.parent, sample=2))

    words = ("tensors", "nodes", "inputs", "outputs", "options", "shape", "definition", "fp32", "convert", "matmul")
    return Reader("manifest_trace", [path.read_bytes()], run, words, mutator=json_tree, structure=structures.json_text)


# -- data sets ---------------------------------------------------------------------------------------------------------


def _idx(*shape: int) -> bytes:
    content = bytes(i * 7 % 10 for i in range(int(np.prod(shape))))
    return bytes([0, 0, 8, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape) + content


def _files(folder: Path, name: str, kind: str, contents: dict[str, bytes], examples: list[bytes] | None = None,
           **sizes: int) -> Reader:  # fmt: skip
    """A set of files of which the first is changed; it is read again packed where its name ends in .gz."""
    place = folder / name
    place.mkdir()
    for file, content in contents.items():
        put(place / file, content)
    first = next(iter(contents))

    def run(data: bytes, _: Path) -> None:
        put(place / first, data)
        loaded = load(kind, seed=0, root=place / first if kind == "text" else place, **sizes)
        assert len(loaded.train_x) == len(loaded.train_y)
        assert loaded.train_y.max() < loaded.classes

    words = ("male", "S", "22", "Survived", "<unk>", ",", '"', "\n")
    structure = structures.gz if first.endswith(".gz") else structures.text
    return Reader(name, examples or [contents[first]], run, words, structure=structure)


def _data_sets(folder: Path) -> list[Reader]:
    record = bytes([3]) + bytes(range(256)) * 12
    images, labels = _idx(6, 3, 4), _idx(6)
    mnist = {"train-images-idx3-ubyte": images, "train-labels-idx1-ubyte": labels, "t10k-images-idx3-ubyte": images,
             "t10k-labels-idx1-ubyte": labels}  # fmt: skip
    packed = {"train-images-idx3-ubyte.gz": gzip.compress(images, 1, mtime=0), **dict(list(mnist.items())[1:])}
    cifar = {f"data_batch_{i}.bin": record * 2 for i in range(1, 6)} | {"test_batch.bin": record}
    text = b"the cat <unk> sat\non the mat\n"
    return [
        _files(folder, "mnist", "mnist", mnist),
        _files(folder, "mnist_packed", "mnist", packed),
        _files(folder, "cifar10", "cifar10", cifar),
        _files(folder, "titanic", "titanic", {"train.csv": PASSENGERS}),
        _files(folder, "penn_treebank", "ptb", {"ptb.train.txt": text, "ptb.test.txt": b"a cat\n"}),
        _files(folder, "text", "text", {"a.txt": text}, [text, "naïve — \U0001f600\r\n".encode() * 3]),
    ]


# -- arrays to draw ----------------------------------------------------------------------------------------------------


def _archive() -> bytes:
    out = io.BytesIO()
    np.savez(out, weight=np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6), error=np.array([1e-9, np.inf, 0.0]))
    return out.getvalue()


def _drawn(path: str, _: Path) -> None:
    """Their exponents are counted."""
    plot_tensors._measured(list(plot_tensors._npz(Path(path))), [get_format("fp8_e4m3")], 1.0, Choices())


def readers(folder: Path) -> list[Reader]:
    """Those of training; folder: where they may make folders of their own."""
    recipes = [p.read_bytes() for p in recipe_files().values()] + [t.encode() for t in (RECIPE, *OTHERS)]
    packed = [_safetensors(folder)] if importlib.util.find_spec("safetensors") else []
    return [
        Reader(
            "training_recipes",
            recipes,
            in_file("x.toml", _use_recipe),
            WORDS,
            others=True,
            structure=structures.toml,
        ),
        _checkpoints(folder),
        *packed,
        Reader(
            "run_logs",
            [RUN_LOG],
            in_file("log.jsonl", _log),
            LOG_WORDS,
            mutator=_one_line,
            structure=structures.json_line,
        ),
        _outcomes(folder),
        _traces(folder),
        *_data_sets(folder),
        Reader("drawn_arrays", [_archive()], in_file("x.npz", _drawn), mutator=npz_members, structure=structures.npz),
        Reader(
            "schedulers",
            [b'{"type": "Scheduler", "address": "tcp://127.0.0.1:8786", "workers": {}}'],
            in_file("x.json", lambda p, _: _address(p)),
            ("address", "tcp://", "tls://a:1"),
            mutator=json_tree,
            structure=structures.json_text,
        ),
    ]
