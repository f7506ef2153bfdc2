"""Data by name: synthetic sets, sets included in packages and in Python itself, and readers for a user's files."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from softfloat_ref.base.errors import Error, unknown
from softfloat_ref.base.names import checked_call, entry, is_own, parameters
from softfloat_ref.nn.data.model import Dataset, batches, text_batches

__all__ = ["DATA", "Data", "Dataset", "batches", "load", "text_batches"]

Loader = Callable[..., Dataset]
_FROM_ZERO: Final = ("noise",)  # sizes that may be 0


class Data(NamedTuple):
    """Where a set is made: module and function; what it is; what its folder must hold ("" where it takes none)."""

    module: str
    function: str
    what: str
    files: str = ""

    def loader(self) -> Loader:
        """The function, its module imported."""
        loader: Loader = getattr(import_module(f"softfloat_ref.nn.data.{self.module}"), self.function)
        return loader


DATA: Final = {
    "blobs": Data("synthetic", "blobs", "vectors around one centre per class"),
    "shapes": Data("synthetic", "shapes", "noisy images of simple shapes"),
    "digits": Data("images", "digits", "scikit-learn's 1,797 handwritten digits of 8 x 8"),
    "mnist": Data("images", "mnist", "MNIST", "train-images-idx3-ubyte and its three companions, also as .gz"),
    "cifar10": Data("images", "cifar10", "CIFAR-10, binary version", "data_batch_1.bin to 5, test_batch.bin"),
    "titanic": Data("titanic", "titanic", "Titanic passengers, Kaggle's columns", "train.csv"),
    "text": Data("text", "characters", "characters: the names in Unicode 3.2 (included in Python), or a file"),
    "ptb": Data("text", "ptb", "words of the Penn Treebank", "ptb.train.txt and ptb.test.txt"),
}


def load(name: str, *, seed: int, root: Path | None = None, **sizes: int) -> Dataset:
    """A data set by name; the same arguments give the same bits on every machine.

    root: the folder of the files, for sets that are read (`text` takes one file). sizes: of synthetic sets, and how
    many examples are kept, by the names that the set's function has; others are an error that lists them.
    Raises Error, also for files that are missing or broken.
    """
    function = _function(name, root)
    arguments = parameters(f"data {name!r}", function)
    known = [p for p in arguments if p not in ("seed", "root")]
    for key, value in sizes.items():
        if key not in known:
            raise unknown(f"size of data {name!r}:", key, known)
        least = 0 if key in _FROM_ZERO else 1
        if type(value) is not int or value < least:
            raise Error(f"data {name!r}: {key} is a number from {least}, not {value!r}")
    folder: dict[str, Path | None] = {"root": root} if "root" in arguments else {}
    if root is not None and not folder:
        raise Error(f"data {name!r} is generated: it takes no folder")
    dataset = checked_call(f"data {name!r}", function, seed=seed, **folder, **sizes)
    if not isinstance(dataset, Dataset):
        raise Error(f"data {name!r} makes {type(dataset).__name__}, not a Dataset")
    return dataset


def _function(name: str, root: Path | None) -> Loader:
    """The function of a data set by name, or of a user's own."""
    if is_own(name):
        return entry("data", name, dict[str, Loader]())
    made_by = entry("data", name, DATA)
    if made_by.files and root is None:
        raise Error(f"data {name!r} is read from files: give the folder with {made_by.files}")
    return made_by.loader()


def __dir__() -> list[str]:
    return sorted(__all__)
