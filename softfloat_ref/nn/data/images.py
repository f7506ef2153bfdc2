"""Image sets that are read: scikit-learn's digits, MNIST, CIFAR-10."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.data.files import digest, find_file, read_unpacked
from softfloat_ref.nn.data.model import SPLIT, Dataset, permutation

_CLASSES: Final = 10
_LABELS, _IMAGES = 0x801, 0x803  # IDX: unsigned bytes of one and of three dimensions
_RECORD: Final = 1 + 32 * 32 * 3  # of CIFAR-10: a label, then the planes red, green, blue
_MEAN: Final = (0.4914, 0.4822, 0.4465)  # of CIFAR-10's training images, a channel
_DEVIATION: Final = (0.2470, 0.2435, 0.2616)
_BATCHES: Final = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
_PICKLED_ADVICE: Final = "; the python version of CIFAR-10 is pickled and cannot be read; use the binary version"


class Examples(NamedTuple):
    """Bytes of images (examples, height, width, channels), and labels."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def first(self, count: int | None) -> Examples:
        """The first `count` of them, or all."""
        return Examples(self.images[:count], self.labels[:count])


def digits(*, seed: int, test: int = 360) -> Dataset:
    """scikit-learn's digits, x (examples, 8, 8, 1) from -1 to 1; `test` of them for the test, chosen by the seed.

    Raises Error without scikit-learn, and where the test would take all.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise Error("data 'digits' comes with scikit-learn: pip install 'softfloat-ref[train]'") from None
    bunch = load_digits()
    images = np.asarray(bunch.images).astype(np.float32)
    if test >= len(images):
        raise Error(f"data 'digits': {len(images)} examples; a test of {test} leaves none for training")
    order = permutation(seed, SPLIT, 0, len(images))
    x = ((images - 8) / 8)[order][..., np.newaxis]
    y = np.asarray(bunch.target).astype(np.int64)[order]
    source = f"scikit-learn's digits, {digest(images.astype(np.uint8).tobytes())}"
    return Dataset(x[test:], y[test:], x[:test], y[:test], "classes", _CLASSES, source)


# -- MNIST -----------------------------------------------------------------------------------------------------------


def mnist(*, seed: int, root: Path, train: int | None = None, test: int | None = None) -> Dataset:
    """MNIST's four IDX files, plain or .gz, x (examples, height, width, 1) from 0 to 1. Raises Error."""
    del seed  # the files say what is for training
    (learn, first), (proof, second) = (_idx_pair(root, kind) for kind in ("train", "t10k"))
    return _dataset(learn.first(train), proof.first(test), _unit, f"MNIST, {digest(first, second)}")


def _unit(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    return images.astype(np.float32) / np.float32(255)


def _idx_pair(root: Path, kind: str) -> tuple[Examples, bytes]:
    paths = [_idx_file(root, f"{kind}-{name}") for name in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    parts = [read_unpacked(p) for p in paths]
    images, labels = _idx(paths[0], parts[0], _IMAGES), _idx(paths[1], parts[1], _LABELS)
    if len(images) != len(labels):
        raise Error(f"{paths[1]}: {len(labels)} labels, but {paths[0].name} has {len(images)} images")
    return Examples(images[..., np.newaxis], _checked(paths[1], labels)), b"".join(parts)


def _idx_file(root: Path, name: str) -> Path:
    dotted = name.replace("-idx", ".idx")  # as one distribution names them
    return find_file(root, name, f"{name}.gz", dotted, f"{dotted}.gz")


def _idx(path: Path, data: bytes, magic: int) -> NDArray[np.uint8]:
    """The array of an IDX file: magic number, dimensions, bytes."""
    dimensions = magic & 0xFF
    head = 4 * (1 + dimensions)
    if len(data) < head or int.from_bytes(data[:4], "big") != magic:
        raise Error(f"{path}: not an IDX file of unsigned bytes in {dimensions} dimensions")
    shape = tuple(int.from_bytes(data[i : i + 4], "big") for i in range(4, head, 4))
    size = 1
    for n in shape:
        size *= n
    if len(data) - head != size or not size:
        raise Error(f"{path}: {len(data) - head} bytes for shape {shape}: the file is truncated or empty")
    return np.frombuffer(data, np.uint8, offset=head).reshape(shape)


# -- CIFAR-10 --------------------------------------------------------------------------------------------------------


def cifar10(*, seed: int, root: Path, train: int | None = None, test: int | None = None) -> Dataset:
    """CIFAR-10's six files of the binary version, x (examples, 32, 32, 3), less the channels' mean over all training
    images, over their standard deviation. Raises Error; the python version is pickled and never read."""
    del seed
    learn = [_cifar_file(root, name) for name in _BATCHES]
    proof, last = _cifar_file(root, "test_batch.bin")
    whole = Examples(*(np.concatenate(x) for x in zip(*(examples for examples, _ in learn), strict=True)))
    source = f"CIFAR-10, {digest(*(data for _, data in learn), last)}"
    return _dataset(whole.first(train), proof.first(test), _standard, source)


def _standard(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    mean, deviation = np.array(_MEAN, np.float32), np.array(_DEVIATION, np.float32)
    scaled: NDArray[np.float32] = (_unit(images) - mean) / deviation
    return scaled


def _cifar_file(root: Path, name: str) -> tuple[Examples, bytes]:
    path = find_file(root, name, advice=_PICKLED_ADVICE if (root / name.removesuffix(".bin")).is_file() else "")
    data = read_unpacked(path)
    if not data or len(data) % _RECORD:
        raise Error(f"{path}: {len(data)} bytes are not a whole number of records of {_RECORD}: the file is truncated")
    records = np.frombuffer(data, np.uint8).reshape(-1, _RECORD)
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return Examples(images, _checked(path, records[:, 0])), data


# -- both ------------------------------------------------------------------------------------------------------------


def _checked(path: Path, labels: NDArray[np.uint8]) -> NDArray[np.int64]:
    if labels.max() >= _CLASSES:
        raise Error(f"{path}: label {labels.max()}; labels are 0 to {_CLASSES - 1}")
    return labels.astype(np.int64)


def _dataset(learn: Examples, proof: Examples, scaled: Any, source: str) -> Dataset:
    images = [np.ascontiguousarray(scaled(x.images)) for x in (learn, proof)]
    return Dataset(images[0], learn.labels, images[1], proof.labels, "classes", _CLASSES, source)
