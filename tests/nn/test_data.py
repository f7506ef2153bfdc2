"""Data: synthetic sets by their definition, readers on small files of the real layout, and on broken ones."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.data import DATA, batches, load, text_batches
from softfloat_ref.nn.data.synthetic import SHAPES
from softfloat_ref.nn.data.text import unicode_names
from softfloat_ref.oracle.sources import Philox

HEADER = "PassengerId,Survived,Pclass,Name,Sex,Age,SibSp,Parch,Ticket,Fare,Cabin,Embarked\n"
PASSENGERS = (
    HEADER
    + '1,0,3,"Braund, Mr. Owen ""Harris""",male,22,1,0,A/5 21171,7.25,,S\n'
    + '2,1,1,"Cumings, Mrs. John",female,38,1,0,PC 17599,71.2833,C85,C\n'
    + '3,1,3,"Heikkinen, Miss. Laina",female,,0,0,STON/O2,7.925,,\n'
    + '4,0,2,"Allen, Mr. William",male,35,0,2,373450,,,Q\n'
) * 1


def idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return head + array.astype(np.uint8).tobytes()


def mnist(folder: Path, packed: bool = False) -> None:
    for kind, count in (("train", 12), ("t10k", 5)):
        images = np.arange(count * 6).reshape(count, 2, 3)
        for name, data in (("images-idx3", images), ("labels-idx1", np.arange(count) % 10)):
            content = idx(data)
            path = folder / f"{kind}-{name}-ubyte{'.gz' * packed}"
            path.write_bytes(gzip.compress(content) if packed else content)


def cifar(folder: Path) -> None:
    for i, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        record = bytes([i]) + bytes([10 + i]) * 1024 + bytes([20]) * 1024 + bytes([30]) * 1024
        (folder / f"{name}.bin").write_bytes(record * 2)


def refusal(name: str, root: Path | None = None, **sizes: int) -> str:
    with pytest.raises(Error) as e:
        load(name, seed=1, root=root, **sizes)
    assert "\n" not in str(e.value)
    return str(e.value)


# -- synthetic -------------------------------------------------------------------------------------------------------


def test_blobs_are_their_definition() -> None:
    """In plain integers: a coordinate is its class's centre plus four uniform numbers, an example's words in order."""
    d = load("blobs", seed=5, train=6, test=3, classes=4, features=3, spread=2)
    first = int.from_bytes(b"data") << 32
    centres = [(w & 0xFFFF) - 32768 for w in Philox(5, first + 3).words(0, 12)]
    for k in range(9):
        label, *drawn = Philox(5, first + 2).words(4 * k, 4)
        noise = [sum(w >> s & 0xFFFF for s in (0, 16, 32, 48)) - 131072 for w in drawn]
        expected = [(centres[label % 4 * 3 + i] + 2 * n // 2) / 32768 for i, n in enumerate(noise)]
        x, y = (d.train_x[k], d.train_y[k]) if k < 6 else (d.test_x[k - 6], d.test_y[k - 6])
        assert y == label % 4
        assert x.tolist() == expected


@pytest.mark.parametrize("name", ["blobs", "shapes", "text"])
def test_the_same_bits_always(name: str) -> None:
    """Hashes, so that a change of any bit of the data is seen. Unicode's names are the same in every Python."""
    sizes = {} if name == "text" else {"train": 600, "test": 20}
    d = load(name, seed=1, **sizes)
    whole = hashlib.sha256(b"".join(x.tobytes() for x in (d.train_x, d.train_y, d.test_x, d.test_y))).hexdigest()
    assert whole[:16] == {"blobs": "d874ee3363075d20", "shapes": "704ec5685e06cf97", "text": "5e152671c546a3bc"}[name]


def test_shapes_do_not_depend_on_how_many_are_made() -> None:
    few, more = load("shapes", seed=3, train=20, test=5), load("shapes", seed=3, train=1000, test=5)
    assert (few.train_x == more.train_x[:20]).all()
    assert (few.test_x == more.train_x[20:25]).all()
    other = load("shapes", seed=4, train=20, test=5)
    assert (few.train_x != other.train_x).mean() > 0.9


def test_shapes_are_what_they_are_called() -> None:
    """Without noise an image has two colours a channel, in a mask that mirrors as its shape does."""
    d = load("shapes", seed=2, train=300, test=1, noise=1)
    assert d.train_x.shape == (300, 16, 16, 3)
    assert d.train_x.dtype == np.float32
    assert np.bincount(d.train_y, minlength=10).min() > 10
    x, y = np.meshgrid(np.arange(-15, 16, 2), np.arange(-15, 16, 2))
    masks = {name: inside(x, y, np.array(10)) for name, inside in SHAPES.items()}
    for name, mask in masks.items():
        assert 0.05 < mask.mean() < 0.6, name
        assert (mask == mask[:, ::-1]).all(), name
        assert (mask == mask[::-1]).all() == (name not in ("triangle", "wedge")), name
    assert (masks["triangle"] == masks["wedge"][::-1]).all()
    assert len({m.tobytes() for m in masks.values()}) == len(SHAPES)


@pytest.mark.parametrize("name", ["blobs", "shapes"])
def test_a_nearest_mean_classifier_says_how_hard_it_is(name: str) -> None:
    """Blobs are all but separable by their means; shapes, anywhere and of any colour, are not at all."""
    d = load(name, seed=1)
    x, t = (a.reshape(len(a), -1).astype(float) for a in (d.train_x, d.test_x))
    means = np.stack([x[d.train_y == k].mean(axis=0) for k in range(d.classes)])
    nearest = ((t[:, None] - means[None]) ** 2).sum(axis=-1).argmin(axis=1)
    assert {"blobs": 0.85, "shapes": 0.1}[name] < (nearest == d.test_y).mean() < {"blobs": 0.99, "shapes": 0.4}[name]


# -- minibatches -----------------------------------------------------------------------------------------------------


def test_batches_hold_every_example_once() -> None:
    x, y = np.arange(23) * 2, np.arange(23)
    orders = []
    for epoch in (0, 1):
        minibatches = list(batches(x, y, 5, seed=9, epoch=epoch))
        assert [len(a) for a, _ in minibatches] == [5, 5, 5, 5, 3]
        assert all((a == 2 * b).all() for a, b in minibatches)
        orders.append(np.concatenate([b for _, b in minibatches]).tolist())
        assert sorted(orders[-1]) == list(range(23))
    assert orders[0] != orders[1]
    words = Philox(9, int.from_bytes(b"data") << 32).words(1 << 40, 23)
    assert orders[1] == sorted(range(23), key=words.__getitem__)
    with pytest.raises(Error, match="at least one example"):
        batches(x, y, 0, seed=1, epoch=0)
    with pytest.raises(Error, match="23 examples, but 22 labels"):
        batches(x, y[1:], 5, seed=1, epoch=0)


def test_text_batches_read_strands_side_by_side() -> None:
    symbols = np.arange(100, 126)
    pieces = list(text_batches(symbols, 2, 5))
    assert len(pieces) == 2  # strands of 12: two pieces of 5
    assert [x.shape for x, _ in pieces] == [(5, 2)] * 2
    strands = np.concatenate([x for x, _ in pieces])
    assert strands[:, 0].tolist() == list(range(100, 110))
    assert strands[:, 1].tolist() == list(range(112, 122))
    assert all((y == x + 1).all() for x, y in pieces)
    with pytest.raises(Error, match="26 symbols are too few for 6 strands of 5"):
        text_batches(symbols, 6, 5)


# -- texts -----------------------------------------------------------------------------------------------------------


def test_text_is_unicode_names() -> None:
    lines = unicode_names().splitlines()
    assert len(lines) == len(set(lines)) > 10_000
    assert {"LATIN SMALL LETTER A", "GREEK CAPITAL LETTER XI", "KANGXI RADICAL STOP"} <= set(lines)
    d = load("text", seed=1, train=50, test=20)
    alphabet = sorted(set(unicode_names()))
    assert d.classes == len(alphabet) == 39
    assert "".join(alphabet[i] for i in d.train_x) == unicode_names()[:50]
    assert len(d.test_x) == 20
    assert d.train_y is d.train_x


def test_text_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("abracadabra\u00e9" * 10, encoding="utf-8")
    d = load("text", seed=1, root=tmp_path / "a.txt")
    assert d.classes == 6
    assert d.train_x[:4].tolist() == [0, 1, 4, 0]
    assert (len(d.train_x), len(d.test_x)) == (108, 12)
    assert hashlib.sha256(("abracadabra\u00e9" * 10).encode()).hexdigest() in d.source
    (tmp_path / "b.txt").write_bytes(b"ab\xff")
    assert "byte 2 is not UTF-8" in refusal("text", tmp_path / "b.txt")
    assert "reads one UTF-8 file" in refusal("text", tmp_path)
    (tmp_path / "c.txt").write_text("a")
    assert "at least 20 characters" in refusal("text", tmp_path / "c.txt")


def test_ptb(tmp_path: Path) -> None:
    (tmp_path / "ptb.train.txt").write_text(" the cat sat \n the <unk> sat \n")
    (tmp_path / "ptb.test.txt").write_text(" the dog sat \n")
    d = load("ptb", seed=1, root=tmp_path)
    # twice each: <eos>, sat, the; once: <unk>, cat
    assert d.train_x.tolist() == [2, 4, 1, 0, 2, 3, 1, 0]
    assert d.test_x.tolist() == [2, 3, 1, 0]
    assert (d.kind, d.classes) == ("text", 5)
    (tmp_path / "ptb.train.txt").write_text(" the cat sat \n")
    assert "'dog' is not in ptb.train.txt, which has no <unk>" in refusal("ptb", tmp_path)
    (tmp_path / "ptb.train.txt").write_text("")
    assert "ptb.train.txt: no words" in refusal("ptb", tmp_path)


# -- images ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_mnist(packed: bool, tmp_path: Path) -> None:
    mnist(tmp_path, packed)
    d = load("mnist", seed=1, root=tmp_path, train=11)
    assert (d.train_x.shape, d.test_x.shape) == ((11, 2, 3, 1), (5, 2, 3, 1))
    assert (d.train_x[1, :, :, 0] * 255).tolist() == [[6, 7, 8], [9, 10, 11]]
    assert d.train_y.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0]
    assert d.test_y.dtype == np.int64


def test_mnist_by_its_other_names(tmp_path: Path) -> None:
    mnist(tmp_path)
    (tmp_path / "train-images-idx3-ubyte").rename(tmp_path / "train-images.idx3-ubyte")
    assert len(load("mnist", seed=1, root=tmp_path).train_x) == 12


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("train-images-idx3-ubyte", lambda b: b[:-1], "71 bytes for shape \\(12, 2, 3\\): the file is truncated"),
        ("train-images-idx3-ubyte", lambda b: b[:9], "not an IDX file of unsigned bytes in 3 dimensions"),
        ("train-images-idx3-ubyte", lambda b: b"\0\0\x0d" + b[3:], "not an IDX file"),
        ("train-images-idx3-ubyte", lambda b: bytes([0, 0, 8, 3, *[255] * 12]), "for shape \\(4294967295, 4294967295"),
        ("t10k-images-idx3-ubyte", lambda b: bytes([0, 0, 8, 3, *[0] * 12]), "the file is truncated or empty"),
        ("t10k-labels-idx1-ubyte", lambda b: idx(np.arange(4)), "4 labels, but t10k-images-idx3-ubyte has 5 images"),
        ("t10k-labels-idx1-ubyte", lambda b: idx(np.arange(5) + 6), "label 10; labels are 0 to 9"),
        ("train-labels-idx1-ubyte", None, "has no train-labels-idx1-ubyte"),
    ],
)
def test_broken_mnist(name: str, change: Callable[[bytes], bytes] | None, message: str, tmp_path: Path) -> None:
    mnist(tmp_path)
    path = tmp_path / name
    if change is None:
        path.unlink()
    else:
        path.write_bytes(change(path.read_bytes()))
    with pytest.raises(Error, match=message):
        load("mnist", seed=1, root=tmp_path)


def test_a_cut_gzip_file(tmp_path: Path) -> None:
    mnist(tmp_path, packed=True)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    for broken in (path.read_bytes()[:-9], path.read_bytes()[:30], b"plain"):
        path.write_bytes(broken)
        assert "incomplete or damaged gzip file" in refusal("mnist", tmp_path)


def test_cifar10(tmp_path: Path) -> None:
    cifar(tmp_path)
    d = load("cifar10", seed=1, root=tmp_path)
    assert d.train_x.shape == (10, 32, 32, 3)
    assert d.train_x.flags.c_contiguous
    assert d.train_y.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert d.test_y.tolist() == [5, 5]
    pixel = d.train_x[2, 7, 9].astype(float)  # 11, 20, 30: red, green, blue
    mean, deviation = np.array([0.4914, 0.4822, 0.4465]), np.array([0.2470, 0.2435, 0.2616])
    assert np.allclose(pixel * deviation + mean, np.array([11, 20, 30]) / 255, atol=1e-6)


def test_broken_cifar10(tmp_path: Path) -> None:
    cifar(tmp_path)
    path = tmp_path / "data_batch_3.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert "data_batch_3.bin: 6145 bytes are not a whole number of records of 3073" in refusal("cifar10", tmp_path)
    path.write_bytes(b"\x0a" + whole[1:])
    assert "label 10" in refusal("cifar10", tmp_path)
    path.rename(tmp_path / "data_batch_3")
    assert "has no data_batch_3.bin; the python version of CIFAR-10 is pickled" in refusal("cifar10", tmp_path)


@pytest.mark.extra("sklearn")
def test_digits() -> None:
    d = load("digits", seed=1)
    assert (d.train_x.shape, d.test_x.shape) == ((1437, 8, 8, 1), (360, 8, 8, 1))
    assert (d.train_x.min(), d.train_x.max()) == (-1, 1)
    other = load("digits", seed=2, test=100)
    assert len(other.test_x) == 100
    totals = [np.concatenate([a.train_y, a.test_y]) for a in (d, other)]
    assert (np.bincount(totals[0]) == np.bincount(totals[1])).all()
    assert (totals[0] != totals[1]).any()
    assert "leaves none for training" in refusal("digits", test=1797)


# -- tables ----------------------------------------------------------------------------------------------------------


def test_titanic(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("\ufeff" + PASSENGERS, encoding="utf-8")
    d = load("titanic", seed=1, root=tmp_path, test=25)
    assert (d.train_x.shape, d.test_x.shape, d.classes) == ((3, 12), (1, 12), 2)
    rows = {
        int(y) * 10 + int(x[:3].argmax()): x
        for x, y in zip([*d.train_x, *d.test_x], [*d.train_y, *d.test_y], strict=True)
    }
    assert sorted(rows) == [1, 2, 10, 12]  # who survived, by class
    assert [rows[k][3] for k in (2, 10, 12, 1)] == [0, 1, 1, 0]  # female
    assert [rows[k][8:11].tolist() for k in (2, 10, 12, 1)] == [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert [rows[k][11] for k in (2, 10, 12, 1)] == [1, 1, 0, 1]  # age known
    numbers = d.train_x[:, 4:8].astype(float)
    assert np.allclose(numbers.mean(axis=0), 0, atol=1e-6)
    spread = numbers.std(axis=0)
    assert np.all(np.isclose(spread, 1, atol=1e-6) | (spread == 0))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Survived,", "", ":1: no column Survived"),
        (",22,", ",old,", ":2: Age 'old' is not a number"),
        (",22,", ",inf,", ":2: Age 'inf' is not a number"),
        ("female,38", "lady,38", ":3: Sex 'lady' is not one of male, female"),
        ("2,1,1,", "2,,1,", ":3: Survived is empty"),
        ("4,0,2,", "4,0,9,", ":5: Pclass '9' is not one of 1, 2, 3"),
        (",,,Q\n", "", ":5: the row ends before column Fare"),
        ('"Braund', '"Bra"und', "not CSV"),
        (PASSENGERS.removeprefix(HEADER), "", "0 passengers"),
    ],
)
def test_broken_titanic(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in PASSENGERS
    (tmp_path / "train.csv").write_text(PASSENGERS.replace(old, new))
    assert message in refusal("titanic", tmp_path, test=25)


# -- names and sizes -------------------------------------------------------------------------------------------------


def test_bad_arguments(tmp_path: Path) -> None:
    assert "unknown data 'shape'; did you mean shapes" in refusal("shape")
    assert "did you mean features" in refusal("blobs", feature=3)
    assert "train is a number from 1, not 0" in refusal("blobs", train=0)
    assert "up to 10 classes" in refusal("shapes", classes=11)
    assert "takes no folder" in refusal("blobs", tmp_path)
    assert "give the folder with train-images-idx3-ubyte" in refusal("mnist")
    assert "no such folder" in refusal("mnist", tmp_path / "none")
    with pytest.raises(Error, match="an unsigned integer of 64 bits"):
        load("blobs", seed=-1)


def test_every_set_has_a_loader() -> None:
    for entry in DATA.values():
        assert (entry.loader().__doc__ or "").strip()
